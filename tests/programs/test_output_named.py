# SPDX-License-Identifier: MIT
"""Outputs on file systems without O_TMPFILE: a hidden file with a name is used instead, and removed when a run fails."""
import os
import shutil
import signal
import subprocess

import pytest

from conftest import SANITIZED, finish, interrupt, same, slow
from test_output import SUMS, good, job, mode, refused  # noqa: F401 (job is a fixture)

# A library, loaded before the C library, whose calls return what a file system without O_TMPFILE returns.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int deny(int flags) { return (flags & O_TMPFILE) == O_TMPFILE ? (errno = EOPNOTSUPP, 1) : 0; }
int openat(int d, const char *path, int flags, ...) {
    va_list a; va_start(a, flags); int mode = va_arg(a, int); va_end(a);
    if (deny(flags)) return -1;
    return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat"))(d, path, flags, mode);
}
int openat64(int d, const char *path, int flags, ...) {
    va_list a; va_start(a, flags); int mode = va_arg(a, int); va_end(a);
    if (deny(flags)) return -1;
    return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat64"))(d, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list a; va_start(a, flags); int mode = va_arg(a, int); va_end(a);
    if (deny(flags)) return -1;
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64"))(path, flags, mode);
}
int renameat2(int d, const char *a, int e, const char *b, unsigned f) {
    if (getenv("NO_RENAMEAT2")) { errno = EINVAL; return -1; }
    return ((int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2"))(d, a, e, b, f);
}
"""


@pytest.fixture(scope="module")
def no_tmpfile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    if not shutil.which("cc") or subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c",
                                                 "-ldl"]).returncode:
        pytest.skip("no compiler")
    if SANITIZED:
        pytest.skip("sanitizers must be loaded first")
    return dict(os.environ, LD_PRELOAD=str(folder / "shim.so"))


@pytest.mark.parametrize("no_renameat2", [False, True])
def test_named_file_new_and_over(job, no_tmpfile, no_renameat2):
    environment = dict(no_tmpfile, **({"NO_RENAMEAT2": "1"} if no_renameat2 else {}))
    good(job, "-o", "out.npy", env=environment)
    assert same(job.load("out.npy"), SUMS) and job.names() == ["in.npy", "out.npy"]
    refused(job, 2, "exists already", "-o", "out.npy", env=environment)
    job.write("out.npy", "old")
    os.chmod(job.path / "out.npy", 0o640)
    good(job, "-f", "-o", "out.npy", env=environment)
    assert same(job.load("out.npy"), SUMS) and job.names() == ["in.npy", "out.npy"]
    assert mode(job.path / "out.npy") == 0o640


def test_named_file_is_there_and_goes_with_an_error(job, no_tmpfile):
    job.write("bad.npy", job.read("in.npy")[:-1])
    refused_names = job.names()
    result = job.run("prefix", "-o", "out", env=no_tmpfile, input=job.read("bad.npy"))
    assert result.code == 2 and job.names() == refused_names


def slow_named(job, environment, *arguments):
    process, write = slow(job, *arguments, env=environment)
    assert ".out.scan-tmp" in job.names()
    return process, write


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1])
def test_named_file_goes_with_a_signal(job, no_tmpfile, number):
    process, write = slow_named(job, no_tmpfile, "-o", "out")
    assert interrupt(process, write, number) == -number
    assert job.names() == ["in.npy"]


def test_named_file_of_a_killed_run_is_removed_by_the_next(job, no_tmpfile):
    process, write = slow_named(job, no_tmpfile, "-o", "out")
    interrupt(process, write, signal.SIGKILL)
    assert job.names() == [".out.scan-tmp", "in.npy"]
    good(job, "-o", "out", env=no_tmpfile)
    assert job.names() == ["in.npy", "out"]


def test_named_file_of_a_living_run_is_left_alone(job, no_tmpfile):
    process, write = slow_named(job, no_tmpfile, "-o", "out")
    result = job.run("prefix", "in.npy", "-o", "out", env=no_tmpfile)
    assert result.code == 3 and "another process is writing it" in result.err
    assert finish(process, write)[0] == 0
    assert job.read("out") == bytes(8000)
    assert job.names() == ["in.npy", "out"]


def test_named_file_and_a_name_that_comes_into_existence(job, no_tmpfile):
    process, write = slow_named(job, no_tmpfile, "-o", "out")
    job.write("out", "of another")
    code, error = finish(process, write)
    assert code == 2 and "come into existence" in error
    assert job.read("out") == b"of another" and job.names() == ["in.npy", "out"]
