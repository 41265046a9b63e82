# SPDX-License-Identifier: MIT
"""Outputs are complete or absent."""
import os
import resource
import signal
import stat
import subprocess
import threading
import time

import numpy as np
import pytest

from conftest import BIN, finish, in_release, interrupt, same, slow, small_disk

pytestmark = in_release("names and rights of files, signals; unit/test_output_* have its memory")

X = np.arange(1000, dtype="i8")
SUMS = np.cumsum(X)


@pytest.fixture
def job(box):
    box.save("in.npy", X)
    return box


@pytest.fixture
def open_job(open_box):
    open_box.save("in.npy", X)
    return open_box


def good(job, *arguments, **keywords):
    return job.good("prefix", "in.npy", *arguments, **keywords)


def refused(job, code, text, *arguments, **keywords):
    return job.refused(code, text, "prefix", "in.npy", *arguments, **keywords)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_new_file(job):
    good(job, "-o", "out.npy")
    assert same(job.load("out.npy"), SUMS)
    assert job.names() == ["in.npy", "out.npy"]


@pytest.mark.parametrize("mask, expected", [(0o022, 0o644), (0o077, 0o600), (0o000, 0o666)])
def test_mode_of_a_new_file_follows_umask(job, mask, expected):
    good(job, "-o", "out.npy", preexec_fn=lambda: os.umask(mask))
    assert mode(job.path / "out.npy") == expected


def test_existing_file_needs_force(job):
    job.write("out.npy", "precious")
    refused(job, 2, "out.npy: exists already, --force replaces it", "-o", "out.npy")
    good(job, "-f", "-o", "out.npy")
    assert same(job.load("out.npy"), SUMS)
    assert job.names() == ["in.npy", "out.npy"]


def test_existing_file_is_refused_before_the_input_is_read(job):
    job.write("out.npy", "precious")
    read, write = os.pipe()
    process = subprocess.Popen([BIN / "prefix", "--dtype", "u8", "-o", "out.npy"], stdin=read, stderr=subprocess.PIPE,
                               cwd=job.path)
    os.write(write, b"0123456789abcdef")
    assert process.wait(timeout=20) == 2  # the pipe is still open
    process.stderr.close()
    os.close(write)
    os.close(read)
    assert job.read("out.npy") == b"precious"


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o644, 0o755, 0o444, 0o666])
def test_mode_of_a_replaced_file_is_kept(job, bits):
    job.write("out.npy", "old")
    os.chmod(job.path / "out.npy", bits)
    good(job, "-f", "-o", "out.npy", preexec_fn=lambda: os.umask(0o077))
    assert mode(job.path / "out.npy") == bits
    assert same(job.load("out.npy"), SUMS)


def test_setuid_is_not_kept(job):
    job.write("out.npy", "old")
    os.chmod(job.path / "out.npy", 0o4755)
    good(job, "-f", "-o", "out.npy")
    assert mode(job.path / "out.npy") == 0o755


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_owner_of_a_replaced_file_is_kept(job):
    job.write("out.npy", "old")
    os.chown(job.path / "out.npy", 65534, 65534)
    good(job, "-f", "-o", "out.npy")
    st = os.stat(job.path / "out.npy")
    assert (st.st_uid, st.st_gid) == (65534, 65534)


def test_output_over_the_input(job):
    refused(job, 2, "in.npy: exists already", "-o", "in.npy")
    good(job, "-f", "-o", "in.npy")
    assert same(job.load("in.npy"), SUMS)


def test_output_over_the_input_in_pieces(job):
    x = np.arange(3_000_000, dtype="i8")
    job.save("in.npy", x)
    good(job, "-f", "-o", "in.npy")
    assert same(job.load("in.npy"), np.cumsum(x))


def test_other_names_of_the_replaced_file_keep_the_old_data(job):
    job.write("out.npy", "old")
    os.link(job.path / "out.npy", job.path / "other")
    good(job, "-f", "-o", "out.npy")
    assert job.read("other") == b"old" and same(job.load("out.npy"), SUMS)


# ---- links ------------------------------------------------------------------------------------------------------------


def test_a_link_is_followed(job):
    (job.path / "folder").mkdir()
    job.write("folder/real.npy", "old")
    os.symlink("folder/real.npy", job.path / "link.npy")
    refused(job, 2, "link.npy: exists already", "-o", "link.npy")
    good(job, "-f", "-o", "link.npy")
    assert os.readlink(job.path / "link.npy") == "folder/real.npy"
    assert same(job.load("folder/real.npy"), SUMS)
    assert os.listdir(job.path / "folder") == ["real.npy"]


def test_a_chain_of_links_is_followed(job):
    (job.path / "a").mkdir()
    (job.path / "b").mkdir()
    os.symlink("../b/two", job.path / "a/one")
    os.symlink(job.path / "real.npy", job.path / "b/two")
    os.symlink("a/one", job.path / "link")
    good(job, "-o", "link")
    assert same(job.load("real.npy"), SUMS)


def test_a_link_to_nothing_makes_its_target(job):
    os.symlink("new.npy", job.path / "link.npy")
    good(job, "-o", "link.npy")
    assert os.path.islink(job.path / "link.npy") and not os.path.islink(job.path / "new.npy")
    assert same(job.load("new.npy"), SUMS)


def test_a_circle_of_links(job):
    os.symlink("b", job.path / "a")
    os.symlink("a", job.path / "b")
    result = job.run("prefix", "in.npy", "-o", "a")
    assert result.code == 3 and "Too many levels" in result.err


# ---- places that are no regular files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["sort --dtype u8", "prefix --dtype u8", "compact --dtype u8 --nonzero", "sort",
                                     "compact --nonzero", "prefix"])
@pytest.mark.parametrize("mode", ["ab", "r+b", "wb"])
def test_stdout_is_the_input(box, command, mode):
    """Appending to the input while it is read would never end."""
    data = b"1\n" * 2_000_000
    box.write("in", data)
    for stdin in (False, True):
        with open(box.path / "in", mode) as out, open(box.path / "in", "rb") as source:
            result = box.run(*command.split(), *[] if stdin else ["in"], stdout=out, stdin=source)
        name = "stdin" if stdin else "in"
        assert result.code == 2 and f"{name}: is what stdout goes to: -o FILE -f" in result.err
        assert result.err.count("\n") == 1 and box.read("in") == (b"" if mode == "wb" else data)
    with open(box.path / "in", "ab") as out:  # a named output is not read while it is written
        assert box.run("sort", "in", "-o", "in", "-f", stdout=out).code == 0


def test_dev_null(job):
    good(job, "-o", "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_dev_full(job):
    refused(job, 3, "/dev/full: cannot write: No space left", "-o", "/dev/full")


def test_full_stdout(job):
    with open("/dev/full", "wb") as full:
        refused(job, 3, "stdout: cannot write: No space left", stdout=full)


def test_dev_stdout(job):
    assert good(job, "-o", "/dev/stdout").out == good(job).out


def test_fifo(job):
    os.mkfifo(job.path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((job.path / "pipe").read_bytes()))
    reader.start()
    good(job, "-o", "pipe")
    reader.join(timeout=20)
    assert stat.S_ISFIFO(os.stat(job.path / "pipe").st_mode)
    assert got == [good(job).out]


def test_directory(job):
    (job.path / "folder").mkdir()
    refused(job, 3, "folder: cannot write: it is a directory", "-o", "folder")
    refused(job, 3, "folder/: cannot write: it is a directory", "-f", "-o", "folder/")
    refused(job, 3, "it is a directory", "-o", ".")


@pytest.mark.parametrize("path", ["absent/out.npy", "absent/", "in.npy/out", "/proc/out.npy"])
def test_missing_folder(job, path):
    refused(job, 3, path + ": cannot create", "-o", path)


def test_long_names(job):
    good(job, "-o", "n" * 255)
    assert same(job.load("n" * 255), SUMS)
    good(job, "-f", "-o", "n" * 255)
    assert same(job.load("n" * 255), SUMS)
    refused(job, 3, "File name too long", "-o", "n" * 256)
    refused(job, 3, "File name too long", "-o", "d/" * 2500)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become somebody else")
def test_folder_without_permission(open_job):
    code, error = open_job.run_as_nobody("prefix", "in.npy", "-o", "out.npy")
    assert code == 3 and "out.npy: cannot create: Permission denied" in error
    assert open_job.names() == ["in.npy"]
    os.chmod(open_job.path, 0o777)
    assert open_job.run_as_nobody("prefix", "in.npy", "-o", "out.npy") == (0, "")
    assert same(open_job.load("out.npy"), SUMS)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to mount")
def test_read_only_and_full_file_systems(job):
    with small_disk(job.path / "small", "64k") as small:
        good(job, "-o", "small/fits.npy")
        x = np.arange(30_000, dtype="i8")
        job.save("large.npy", x)
        result = job.run("prefix", "large.npy", "-o", "small/large.npy")
        assert result.code == 3 and "small/large.npy: cannot write: No space left on device" in result.err
        result = job.run("prefix", "large.npy", "-f", "-o", "small/fits.npy")
        assert result.code == 3 and same(job.load("small/fits.npy"), SUMS)
        assert os.listdir(small) == ["fits.npy"]
        with open(small / "direct", "wb") as direct:
            result = job.run("prefix", "large.npy", stdout=direct)
        assert result.code == 3 and "stdout: cannot write: No space left" in result.err
        subprocess.run(["mount", "-o", "remount,ro", small], check=True)
        result = job.run("prefix", "in.npy", "-o", "small/new.npy")
        assert result.code == 3 and "Read-only file system" in result.err


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to mount")
def test_disks_of_every_size(job):
    """A file system of 4, 8, 12 ... KiB: the whole result or nothing, new or over an old file."""
    x = np.arange(10_000, dtype="i8")
    job.save("in.npy", x)
    with small_disk(job.path / "disk", "4k") as disk:
        done = 0
        for kilobytes in range(4, 104, 4):
            subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", disk], check=True)
            result = job.run("prefix", "in.npy", "-o", "disk/new")
            assert result.code in (0, 3)
            assert os.listdir(disk) == (["new"] if result.code == 0 else [])
            if result.code == 0:
                done += 1
                assert same(job.load("disk/new"), np.cumsum(x))
                (disk / "new").unlink()
            job.write("disk/old", "old")
            result = job.run("prefix", "in.npy", "-f", "-o", "disk/old")
            assert os.listdir(disk) == ["old"]
            assert same(job.load("disk/old"), np.cumsum(x)) if result.code == 0 else job.read("disk/old") == b"old"
            (disk / "old").unlink()
        assert done > 1


def test_file_size_limit(job):
    refused(job, 3, "out.npy: cannot write: File too large", "-o", "out.npy",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))


# ---- hidden files -----------------------------------------------------------------------------------------------------


def test_a_leftover_of_a_killed_run_is_removed(job):
    job.write("out.npy", "old")
    job.write(".out.npy.2abcde.scan-tmp", "half a result")
    good(job, "-f", "-o", "out.npy")
    assert same(job.load("out.npy"), SUMS) and job.names() == ["in.npy", "out.npy"]
    job.write(".new.npy.abcdef.scan-tmp", "half a result")
    good(job, "-o", "new.npy")
    assert job.names() == ["in.npy", "new.npy", "out.npy"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL])
@pytest.mark.parametrize("force", [False, True])
def test_signals_leave_nothing(job, number, force):
    if force:
        job.write("out", "old")
    before = job.snapshot()
    process, write = slow(job, *(["-f"] if force else []), "-o", "out")
    assert interrupt(process, write, number) == -number
    assert job.snapshot() == before


def run_for(job, seconds, number, force):
    """Runs; sends a signal to a run that takes longer than `seconds`. Returns the exit code."""
    process = subprocess.Popen([BIN / "compact", "--where", "x >= 0", "in.npy", "-o", "out", "--threads", "2",
                                *(["-f"] if force else [])], cwd=job.path, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    return process.wait(timeout=20)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGALRM,
                                    signal.SIGUSR1, signal.SIGXCPU, signal.SIGKILL])
def test_signals_at_any_instant(job, number, force):
    """The output is the old one or the new one, never a part. Only SIGKILL may leave the hidden file, which is complete then,
    and the next run removes it."""
    x = np.arange(50_000, dtype="i8")
    job.save("in.npy", x)
    new = job.read("in.npy")
    begin = time.monotonic()
    run_for(job, 20, number, force)
    whole = time.monotonic() - begin
    instants = 100 if number == signal.SIGKILL else 25
    for instant in range(instants):
        (job.path / "out").unlink(missing_ok=True)
        if force:
            job.write("out", "old")
        code = run_for(job, whole * 1.2 * instant / instants, number, force)
        assert code in (0, -number)
        for hidden in job.path.glob(".out.*"):
            assert number == signal.SIGKILL and force and hidden.read_bytes() == new
            hidden.unlink()
        found = job.read("out") if (job.path / "out").exists() else None
        assert found == new or (code != 0 and found == (b"old" if force else None))
    job.good("compact", "--where", "x >= 0", "in.npy", "-f", "-o", "out")
    assert job.names() == ["in.npy", "out"] and job.read("out") == new


def test_a_name_that_comes_into_existence_meanwhile(job):
    process, write = slow(job, "-o", "out")
    job.write("out", "of another")
    code, error = finish(process, write)
    assert code == 2 and "out: exists already, made by another process meanwhile" in error
    assert job.read("out") == b"of another" and job.names() == ["in.npy", "out"]


def test_two_runs_replace_one_file(job):
    job.write("out", "old")
    first = slow(job, "-f", "-o", "out")
    second = slow(job, "-f", "-o", "out", "--init", "5")
    assert finish(*first)[0] == 0 and finish(*second)[0] == 0
    assert job.read("out") == np.full(1000, 5, "u8").tobytes() and job.names() == ["in.npy", "out"]


def test_bad_input_leaves_nothing(job):
    job.write("bad.npy", job.read("in.npy")[:-1])
    job.write("out", "old")
    job.refused(2, "is cut short", "prefix", "bad.npy", "-f", "-o", "out")
    job.refused(2, "is cut short", "prefix", "-f", "-o", "out", input=job.read("bad.npy"))
    job.refused(2, "is cut short", "prefix", "-o", "new", input=job.read("bad.npy"))


# ---- several outputs --------------------------------------------------------------------------------------------------


def test_several_outputs(job):
    job.good("compact", "--where", "x < 10", "in.npy", "-o", "a.npy", "--indices", "b.npy", "--rejected", "c.npy",
             "--json", "d.json")
    assert job.load("a.npy").tolist() == job.load("b.npy").tolist() == list(range(10))
    assert job.load("c.npy").tolist() == list(range(10, 1000))
    assert job.names() == ["a.npy", "b.npy", "c.npy", "d.json", "in.npy"]


@pytest.mark.parametrize("existing", ["a.npy", "b.npy", "c.npy"])
def test_one_existing_output_stops_all(job, existing):
    job.write(existing, "old")
    job.refused(2, existing + ": exists already", "compact", "--nonzero", "in.npy", "-o", "a.npy", "--indices",
                "b.npy", "--rejected", "c.npy")


def test_one_place_twice(job):
    (job.path / "folder").mkdir()
    os.symlink("a.npy", job.path / "link")
    for other in ("a.npy", "./a.npy", "folder/../a.npy", str(job.path / "a.npy"), "link"):
        job.refused(2, "two outputs go to", "compact", "--nonzero", "in.npy", "-o", "a.npy", "--indices", other)
        job.refused(2, "two outputs go to", "compact", "--nonzero", "in.npy", "--indices", "a.npy", "--rejected",
                    other, "-o", "b.npy")
    job.refused(2, "two outputs go to stdout", "compact", "--nonzero", "in.npy", "--indices", "-")
    job.good("compact", "--nonzero", "in.npy", "-o", "/dev/null", "--indices", "/dev/null")


def test_indices_on_stdout(job):
    result = job.good("compact", "--where", "x < 3", "in.npy", "-o", "a.npy", "--indices", "-")
    assert same(result.array, np.arange(3, dtype="u4"))


def test_one_output_that_cannot_be_made_stops_all(job):
    job.refused(3, "absent/b.npy: cannot create", "compact", "--nonzero", "in.npy", "-o", "a.npy", "--indices",
                "absent/b.npy")
    job.refused(3, "/dev/full: cannot write", "compact", "--nonzero", "in.npy", "-o", "a.npy", "--indices",
                "/dev/full")


# ---- heads that are known at the end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mebibytes", [8, 20.5])
def test_large_files(box, mebibytes):
    """Large outputs, written in pieces and in one, parts of which reach the disk before the end."""
    x = np.random.default_rng(3).integers(0, 256, int(mebibytes * (1 << 20)) + 3, dtype="u1")
    box.write("in.raw", x.tobytes())
    box.good("prefix", "--dtype", "u8", "--out-dtype", "u8", "in.raw", "-o", "sums.raw")
    assert box.read("sums.raw") == np.cumsum(x, dtype="u1").tobytes()
    box.good("sort", "--dtype", "u8", "in.raw", "-o", "in.raw", "-f")
    assert box.read("in.raw") == np.sort(x).tobytes()


@pytest.mark.parametrize("n", [0, 1, 1000, 32_752, 32_768, 40_000, 1_200_000])
def test_npy_of_unknown_length_to_a_pipe(box, n):
    x = np.arange(n, dtype="i8")
    box.save("in.npy", x)
    piped = box.good("compact", "--where", "x >= 0", "in.npy").out
    box.good("compact", "--where", "x >= 0", "in.npy", "-o", "out.npy")
    assert piped == box.read("out.npy")
    assert same(box.load("out.npy"), x)
    assert piped == box.read("in.npy")  # NumPy's bytes


def test_spool_in_a_missing_folder(box):
    box.save("in.npy", np.arange(100_000, dtype="i8"))
    environment = dict(os.environ, TMPDIR="/nonexistent")
    box.refused(3, "/nonexistent: cannot make a temporary file there: No such file or directory (--tmp or TMPDIR names the folder)",
                "compact", "--nonzero", "in.npy", env=environment)
    box.good("compact", "--nonzero", "in.npy", "-o", "out.npy", env=environment)
    box.good("compact", "--nonzero", "in.npy", "--tmp", ".", env=environment)
    box.refused(3, "/nonexistent: cannot make", "compact", "--nonzero", "in.npy", "--tmp", "/nonexistent")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to mount")
def test_spool_on_a_full_disk(box):
    box.save("in.npy", np.arange(1, 100_000, dtype="i8"))
    with small_disk(box.path / "disk", "64k") as disk:
        environment = dict(os.environ, TMPDIR=str(disk))
        box.refused(3, f"temporary file in {disk}: cannot write: No space left on device (--tmp or TMPDIR names the folder)",
                    "compact", "--nonzero", "in.npy", env=environment)
