# SPDX-License-Identifier: MIT
"""Outputs on file systems that can do less: without O_TMPFILE, /proc, locks, or renaming without replacing. A hidden file with
a name is used there, and removed when a run fails. filesystem.c takes the abilities away."""
import fcntl
import os
import signal
import subprocess
import time

import pytest

from conftest import BIN, SANITIZED, finish, in_release, interrupt, same, slow
from output_loops import ENDING, MODES, environment
from test_output import SUMS, good, job, mode, refused  # noqa: F401 (job is a fixture)

pytestmark = in_release("names of files, signals")

NAMED = [words for words in MODES.values() if words]


@pytest.fixture
def less(library):
    """Returns the environment of a file system that lacks what the words name."""
    return lambda words="no_tmpfile", **stop: environment(library, words, **stop)


def hidden(job):
    return [name for name in job.names() if name.startswith(".out.") and name.endswith(".scan-tmp")]


@pytest.mark.parametrize("words", NAMED)
def test_new_and_over(job, less, words):
    environment = less(words)
    good(job, "-o", "out.npy", env=environment)
    assert same(job.load("out.npy"), SUMS) and job.names() == ["in.npy", "out.npy"]
    refused(job, 2, "exists already", "-o", "out.npy", env=environment)
    job.write("out.npy", "old")
    os.chmod(job.path / "out.npy", 0o640)
    good(job, "-f", "-o", "out.npy", env=environment)
    assert same(job.load("out.npy"), SUMS) and job.names() == ["in.npy", "out.npy"]
    assert mode(job.path / "out.npy") == 0o640


def test_it_goes_with_an_error(job, less):
    job.write("bad.npy", job.read("in.npy")[:-1])
    names = job.names()
    result = job.run("prefix", "-o", "out", env=less(), input=job.read("bad.npy"))
    assert result.code == 2 and job.names() == names


def await_hidden(job):
    deadline = time.monotonic() + 10
    while not hidden(job):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def slow_named(job, env, *arguments):
    process, write = slow(job, *arguments, env=env)
    await_hidden(job)
    return process, write


@pytest.mark.parametrize("number", [n for n in ENDING if (n <= signal.SIGRTMIN or n == signal.SIGRTMAX) and not (
    SANITIZED and n in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL))])  # the sanitizers' own
def test_it_goes_with_every_signal(job, less, number):
    process, write = slow_named(job, less(), "-o", "out")
    assert interrupt(process, write, number) == -number
    assert job.names() == ["in.npy"]


def test_ignored_signals_stay_ignored(job, less):
    """As under nohup."""
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    read, write = os.pipe()
    process = subprocess.Popen([BIN / "prefix", "--dtype", "u8", "-o", "out"], stdin=read, stderr=subprocess.PIPE,
                               cwd=job.path, env=less(), preexec_fn=ignore)
    os.close(read)
    os.write(write, bytes(1000))
    await_hidden(job)
    process.send_signal(signal.SIGHUP)
    assert finish(process, write) == (0, "") and job.names() == ["in.npy", "out"]


@pytest.mark.parametrize("words", ["no_tmpfile", "no_tmpfile flock_writable"])
def test_of_a_killed_run_it_is_removed_by_the_next(job, less, words):
    process, write = slow_named(job, less(words), "-o", "out")
    interrupt(process, write, signal.SIGKILL)
    assert len(hidden(job)) == 1
    good(job, "-o", "out", env=less(words))
    assert job.names() == ["in.npy", "out"]


def test_without_locks_it_stays_and_is_in_nobodys_way(job, less):
    process, write = slow_named(job, less("no_tmpfile no_flock"), "-o", "out")
    interrupt(process, write, signal.SIGKILL)
    good(job, "-o", "out", env=less("no_tmpfile no_flock"))
    assert len(hidden(job)) == 1 and same(job.load("out"), SUMS)
    good(job, "-f", "-o", "out", env=less())  # where there are locks again, it goes
    assert job.names() == ["in.npy", "out"]


@pytest.mark.parametrize("words", ["no_tmpfile", "no_tmpfile no_flock"])
def test_of_a_living_run_it_is_left_alone(job, less, words):
    """Both publish: the second while the first is at work, the first over it."""
    process, write = slow_named(job, less(words), "-f", "-o", "out")
    good(job, "-f", "-o", "out", env=less(words))
    assert same(job.load("out"), SUMS) and len(hidden(job)) == 1
    assert finish(process, write) == (0, "")
    assert job.read("out") == bytes(8000) and job.names() == ["in.npy", "out"]


def test_between_making_and_locking_it_may_be_taken_for_a_leftover(job, less):
    """The maker then makes another: nobody publishes what is not finished."""
    process, write = slow_named(job, less("no_tmpfile slow_create"), "-f", "-o", "out")
    first = hidden(job)
    good(job, "-f", "-o", "out", env=less())
    assert hidden(job) != first and same(job.load("out"), SUMS)
    assert finish(process, write) == (0, "")
    assert job.read("out") == bytes(8000) and job.names() == ["in.npy", "out"]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_foreign_file_under_the_hidden_name_is_neither_published_nor_removed(job, less, replaced):
    job.write("out", "old")
    process, write = slow_named(job, less(), "-f", "-o", "out")
    name, = hidden(job)
    (job.path / name).unlink()
    if replaced:
        job.write(name, "of another")
    code, error = finish(process, write)
    assert code == 3 and f"another process has removed or replaced {name}" in error
    assert job.read("out") == b"old" and (not replaced or job.read(name) == b"of another")


@pytest.mark.parametrize("name", [".out.abcdef.scan-tmp", ".out.npy.abcdef.scan-tmp"])
def test_only_unlocked_leftovers_of_the_target_are_removed(job, name):
    job.write(name, "half a result")
    job.write(".out.abcde.scan-tmp", "not a hidden name")
    job.write(".other.abcdef.scan-tmp", "of another target")
    os.symlink("in.npy", job.path / ".out.linked.scan-tmp")
    (job.path / ".out.folder.scan-tmp").mkdir()
    before = set(job.names())
    with open(job.path / name, "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        good(job, "-f", "-o", "out")
        assert set(job.names()) == before | {"out"}
    good(job, "-f", "-o", "out")
    assert set(job.names()) == (before | {"out"}) - ({name} if name == ".out.abcdef.scan-tmp" else set())


def test_a_name_that_comes_into_existence(job, less):
    process, write = slow_named(job, less(), "-o", "out")
    job.write("out", "of another")
    code, error = finish(process, write)
    assert code == 2 and "out: exists already, made by another process meanwhile" in error
    assert job.read("out") == b"of another" and job.names() == ["in.npy", "out"]


def test_a_long_name_is_cut_between_characters(job, less):
    name = "a" + "ä" * 127
    process, write = slow(job, "-o", name, env=less())
    found, = (n for n in job.names() if n.endswith(".scan-tmp"))
    assert found.startswith(".aää") and len(os.fsencode(found)) == 254
    assert finish(process, write) == (0, "") and job.names() == sorted(["in.npy", name])
