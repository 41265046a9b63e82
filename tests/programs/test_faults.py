# SPDX-License-Identifier: MIT
"""Every allocation and every system call that matters fails, once or from then on: the result is right, or the program
exits with code 3 and one line of error and leaves the folder as it was."""
import errno
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

from conftest import BIN, HAS_PCRE2, SANITIZED

JOBS = {
    "prefix .npy": (["prefix", "in.npy", "--threads", "2"], 1),
    "prefix over a file": (["prefix", "in.npy", "-f", "--threads", "2"], 1),
    "prefix --reverse": (["prefix", "--reverse", "in.npy", "--threads", "2"], 1),
    "prefix text": (["prefix", "in.txt", "--threads", "2"], 1),
    "prefix table": (["prefix", "-k", "a", "in.csv", "--threads", "2"], 1),
    "prefix from a pipe": (["prefix", "--threads", "2"], 1),
    "compact .npy": (["compact", "--where", "x > 3", "in.npy", "--indices", "out2", "--rejected", "out3",
                      "--threads", "2"], 3),
    "compact --unique --invert": (["compact", "--unique", "--invert", "in.npy", "--threads", "2"], 1),
    "compact table": (["compact", "--where", "a > 3 && b != 2", "in.csv", "--threads", "2"], 1),
    "compact text": (["compact", "--unique", "in.txt", "--rejected", "out2", "--threads", "2"], 2),
    "prefix raw": (["prefix", "--dtype", "u16", "--out-dtype", "u64", "in.raw", "--threads", "2"], 1),
    "prefix --verify": (["prefix", "--verify", "--reverse", "in.npy", "--threads", "2"], 1),
    "prefix table --exclusive": (["prefix", "-k", "b", "--exclusive", "in.csv", "--threads", "2"], 1),
    "compact raw": (["compact", "--dtype", "i8", "--nonzero", "in.raw", "--threads", "2"], 1),
    "compact --mask": (["compact", "--mask", "mask.npy", "in.npy", "--indices", "out2", "--threads", "2"], 2),
    "compact table --invert": (["compact", "--invert", "--where", "isnan(b)", "in.csv", "--rejected", "out2",
                                "--threads", "2"], 2),
    "sort --argsort": (["sort", "--argsort", "in.npy", "--threads", "2"], 1),
    "sort -u text": (["sort", "-u", "--verify", "in.txt", "--threads", "2"], 1),
    "sort table, two keys": (["sort", "-k", "b:desc", "-k", "a", "in.csv", "--threads", "2"], 1),
    "sort .npy": (["sort", "in.npy", "--threads", "2"], 1),
    "sort text": (["sort", "in.txt", "--threads", "2"], 1),
    "sort table": (["sort", "-k", "a", "in.csv", "--threads", "2"], 1),
    "sort table, text and time": (["sort", "-k", "d:natural", "-k", "a:time", "in.csv", "--threads", "2"], 1),
    "sort lines of text": (["sort", "--text", "in.words", "--threads", "2"], 1),
    "compact lines of text": (["compact", "--text", "--where", 'x in ("town 1", "town 7")' + ' || x matches "^t.*4$"' * HAS_PCRE2,
                               "in.words", "--threads", "2"], 1),
}


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if SANITIZED:
        pytest.skip("sanitizers bring their own allocator")
    library = tmp_path_factory.mktemp("fault") / "fault.so"
    source = pathlib.Path(__file__).with_name("fault.c")
    if not shutil.which("cc") or subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"],
                                                capture_output=True).returncode:
        pytest.skip("no compiler")
    return library


@pytest.fixture
def job(box):
    x = np.random.default_rng(1).integers(0, 9, 40_000)
    box.save("in.npy", x)
    box.write("in.raw", x.tobytes())
    box.save("mask.npy", x > 4)
    box.write("in.txt", "".join(f"{v}\n" for v in x[:5000]))
    box.write("in.csv", "a,b,c,d\n" + "".join(f"{v},{'' if v == 5 else k % 7},t,a{k % 50}\n" for k, v in enumerate(x[:3000])))
    box.write("in.words", "".join(f"town {v}\n" for v in x[:17_000]))
    return box


def run(box, shim, command, **fault):
    environment = dict(os.environ, LD_PRELOAD=str(shim), **{f"FAULT_{k.upper()}": str(v) for k, v in fault.items()})
    arguments = [str(BIN / command[0]), *command[1:], "-o", "out"]
    return subprocess.run(arguments, cwd=box.path, env=environment, capture_output=True, timeout=60,
                          input=box.read("in.npy") if "in." not in " ".join(command) else b"")


def start(box, command):
    """Prepares the folder of a run: no outputs, but an old one for -f."""
    for name in ("out", "out2", "out3"):
        (box.path / name).unlink(missing_ok=True)
    if "-f" in command:
        box.write("out", "old")
    return box.snapshot()


def sweep(box, shim, name, call, kind=0, ever=False, allowed=(3,)):
    """Fails call 1, 2, 3 ... until there are no more; returns how many there were and how many runs succeeded."""
    command, _ = JOBS[name]
    start(box, command)
    reference = run(box, shim, command)
    assert (reference.returncode, reference.stderr) == (0, b"")
    expected = box.snapshot()
    start(box, command)
    counter = box.path.parent / "count"
    counter.unlink(missing_ok=True)
    run(box, shim, command, call=call, at=0, count=counter)
    points = counter.stat().st_size if counter.exists() else 0
    survived = 0
    for at in range(1, points + 1):
        before = start(box, command)
        fault = {"call": call, "at": at, "kind": kind}
        result = run(box, shim, command, **fault, **({"ever": 1} if ever else {}))
        where = f"{name}: {call} {at} of {points}, {kind}: {result}"
        if result.returncode == 0:
            assert box.snapshot() == expected, where
            assert result.stderr == b"", where
            survived += 1
        else:
            assert result.returncode in allowed, where
            assert result.stderr.count(b"\n") == 1 and result.stderr.startswith(command[0].encode() + b": "), where
            assert box.snapshot() == before, where
    return points, survived


@pytest.mark.parametrize("ever", [False, True])
@pytest.mark.parametrize("name", JOBS)
def test_memory(job, shim, name, ever):
    points, _ = sweep(job, shim, name, "malloc", ever=ever)
    assert points >= 5


@pytest.mark.parametrize("ever", [False, True])
@pytest.mark.parametrize("name", JOBS)
def test_threads(job, shim, name, ever):
    points, survived = sweep(job, shim, name, "thread", ever=ever)
    assert survived == points


@pytest.mark.parametrize("kind", [errno.EIO, errno.EINTR, "short"])
@pytest.mark.parametrize("name", JOBS)
def test_read(job, shim, name, kind):
    points, survived = sweep(job, shim, name, "read", kind)
    assert points and (kind == errno.EIO or survived == points)


@pytest.mark.parametrize("kind", [errno.EIO, errno.ENOSPC, errno.EINTR, "short"])
@pytest.mark.parametrize("name", JOBS)
def test_write(job, shim, name, kind):
    points, survived = sweep(job, shim, name, "write", kind)
    assert points and survived == (0 if kind in (errno.EIO, errno.ENOSPC) else points)


@pytest.mark.parametrize("kind", [errno.EIO, errno.EMFILE])
@pytest.mark.parametrize("name", JOBS)
def test_open(job, shim, name, kind):
    sweep(job, shim, name, "open", kind)


@pytest.mark.parametrize("kind", [errno.EIO, errno.ENOSPC, errno.EINTR])
@pytest.mark.parametrize("name", ["prefix .npy", "prefix over a file", "sort text", "compact .npy"])
def test_fsync(job, shim, name, kind):
    """The folder is synced after the file has its name: when that fails it is too late to remove the file."""
    command, outputs = JOBS[name]
    for at in range(1, outputs + 1):
        before = start(job, command)
        result = run(job, shim, command, call="fsync", at=at, kind=kind)
        if kind == errno.EINTR:
            assert result.returncode == 0
        else:
            assert result.returncode == 3 and job.snapshot() == before


@pytest.mark.parametrize("call", ["link", "rename"])
@pytest.mark.parametrize("kind", [errno.EIO, errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("name", ["prefix .npy", "prefix over a file", "sort text"])
def test_naming(job, shim, name, call, kind):
    sweep(job, shim, name, call, kind)
