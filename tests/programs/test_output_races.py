# SPDX-License-Identifier: MIT
"""The target changes between one look at it and the next step: by other processes, here at a chosen instant, because
filesystem.c makes a call slow. And targets that cannot be replaced are found before the work."""
import os
import resource
import shutil
import signal
import stat
import subprocess
import threading
import time

import pytest

from conftest import BIN, as_nobody, finish, in_release, same, slow
from output_loops import environment
from test_output import SUMS, good, job, open_job, refused  # noqa: F401 (fixtures)

pytestmark = in_release("names of files, signals")

ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


def run_during(job, library, words, change, *arguments):
    """Runs; `change` is called 0.15 s after the start, in the middle of the slow call. Returns the exit code and messages."""
    process = subprocess.Popen([BIN / "prefix", "in.npy", *arguments], cwd=job.path, stderr=subprocess.PIPE,
                               env=environment(library, words))
    time.sleep(0.15)
    change()
    error = process.communicate(timeout=30)[1].decode()
    return process.returncode, error


def precious(job, name="out"):
    """A file of another process; its second name shows what becomes of it."""
    job.write("precious", b"precious" * 500)
    os.link(job.path / "precious", job.path / "kept")
    os.replace(job.path / "precious", job.path / name)


def is_kept(job):
    return job.read("kept") == b"precious" * 500


# ---- what takes the target's place is never written into --------------------------------------------------------------


@pytest.mark.parametrize("slow_call", ["slow_readlink", "slow_look"])
def test_a_file_renamed_over_the_target(job, library, slow_call):
    job.write("out", "old")
    assert run_during(job, library, slow_call, lambda: precious(job), "-f", "-o", "out") == (0, "")
    assert is_kept(job) and same(job.load("out"), SUMS)


def test_a_link_that_is_repointed(job, library):
    job.write("a", "old")
    precious(job, "b")
    os.symlink("a", job.path / "link")

    def repoint():
        os.symlink("b", job.path / "new")
        os.replace(job.path / "new", job.path / "link")
    assert run_during(job, library, "slow_look", repoint, "-f", "-o", "link") == (0, "")
    assert is_kept(job) and job.read("a") == b"old" and same(job.load("b"), SUMS)


def test_a_stale_handle(job, library):
    precious(job)
    good(job, "-f", "-o", "out", env=environment(library, "stale"))
    assert is_kept(job) and same(job.load("out"), SUMS)


@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_takes_the_place_of_a_pipe(job, library, force):
    os.mkfifo(job.path / "out")
    code, error = run_during(job, library, "slow_open", lambda: precious(job), *["-f"] * force, "-o", "out")
    assert is_kept(job)
    if force:
        assert (code, error) == (0, "") and same(job.load("out"), SUMS)
    else:
        assert code == 2 and "out: exists already" in error


def test_a_target_that_goes(job, library):
    job.write("out", "old")
    assert run_during(job, library, "slow_look", (job.path / "out").unlink, "-f", "-o", "out") == (0, "")
    assert same(job.load("out"), SUMS) and job.names() == ["in.npy", "out"]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("in.npy", path)])
def test_a_target_that_becomes_no_regular_file(job, make):
    job.write("out", "old")
    process, write = slow(job, "-f", "-o", "out")
    (job.path / "out").unlink()
    make(job.path / "out")
    before = os.lstat(job.path / "out").st_ino
    code, error = finish(process, write)
    assert code == 3 and error == "prefix: out: is no regular file any more: not replaced\n"
    assert os.lstat(job.path / "out").st_ino == before and job.names() == ["in.npy", "out"]


def test_an_open_file_without_a_name(job):
    job.write("gone", "precious")
    with open(job.path / "gone", "r+b") as f:
        (job.path / "gone").unlink()
        for path in (f"/dev/fd/{f.fileno()}", f"/proc/self/fd/{f.fileno()}"):
            refused(job, 3, "or is an open file that has no name", "-f", "-o", path, pass_fds=[f.fileno()])
        assert f.read() == b"precious"


def test_a_target_replaced_all_the_time(job):
    """Beside a process that renames over the target without a pause: never a mixture."""
    end = threading.Event()

    def replace():
        while not end.is_set():
            job.write("other", b"other" * 1000)
            os.replace(job.path / "other", job.path / "out")
    job.write("out", "old")
    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(20):
            result = job.run("prefix", "in.npy", "-f", "-o", "out")
            assert (result.code, result.err) == (0, "")
            found = job.read("out")
            assert found == b"other" * 1000 or found[-8:] == SUMS[-1:].tobytes()
    finally:
        end.set()
        thread.join()


# ---- what is found before the work ------------------------------------------------------------------------------------


def refused_early(job, text, *arguments, command=None, **keywords):
    """The run ends with code 3 or 2 while its input is still open."""
    read, write = os.pipe()
    os.write(write, bytes(1000))
    before = job.snapshot()
    result = subprocess.run([*(command or [BIN / "prefix"]), "--dtype", "u8", *arguments], stdin=read, cwd=job.path,
                            capture_output=True, timeout=20, **keywords)
    os.close(read)
    os.close(write)
    error = result.stderr.decode()
    assert result.returncode in (2, 3) and text in error and error.count("\n") == 1, error
    assert job.snapshot() == before


@ROOT
@pytest.mark.parametrize("source", ["other", "/dev/shm"])
def test_something_mounted_on_the_target(job, source):
    job.write("out", "old")
    job.write("other", "mounted")
    if source == "/dev/shm":  # another file system
        source = f"/dev/shm/scan-test-{os.getpid()}"
        open(source, "w").close()
    shell = ["unshare", "-m", "sh", "-c", f'mount --bind {source} out && exec "$0" "$@"', BIN / "prefix"]
    try:
        if subprocess.run([*shell[:4], f"mount --bind {source} out"], cwd=job.path, capture_output=True).returncode:
            pytest.skip("cannot mount in a namespace of its own")
        refused_early(job, "out: cannot replace: something is mounted on it", "-f", "-o", "out", command=shell)
    finally:
        if source.startswith("/dev/shm"):
            os.unlink(source)


@ROOT
def test_a_sticky_folder_and_a_folder_without_permission(open_job):
    open_job.write("out", "old")
    os.chmod(open_job.path, 0o1777)
    os.chmod(open_job.path / "out", 0o666)
    shutil.copy(BIN / "prefix", open_job.path.parent / "prefix")
    as_other = {"command": [open_job.path.parent / "prefix"], "preexec_fn": as_nobody}
    refused_early(open_job, "out: cannot replace: it is another user's file in a sticky folder", "-f", "-o", "out",
                  **as_other)
    os.chmod(open_job.path, 0o755)
    refused_early(open_job, "out: cannot create: Permission denied", "-f", "-o", "out", **as_other)


@ROOT
@pytest.mark.parametrize("flag", ["i", "a"])
def test_an_immutable_file(job, flag):
    job.write("out", "old")
    if not shutil.which("chattr") or subprocess.run(["chattr", f"+{flag}", job.path / "out"], capture_output=True).returncode:
        pytest.skip("the file system has no such flag")
    try:
        refused_early(job, "out: cannot replace: the file or its folder is immutable", "-f", "-o", "out")
    finally:
        subprocess.run(["chattr", f"-{flag}", job.path / "out"], check=True)


@ROOT
def test_a_block_device_needs_force(job):
    try:
        os.mknod(job.path / "disk", 0o600 | stat.S_IFBLK, os.makedev(240, 77))  # for local use: nobody drives it
    except OSError as error:
        pytest.skip(f"cannot make a device: {error}")
    refused(job, 2, "disk: is a block device, --force writes to it", "-o", "disk")
    refused(job, 3, "disk: cannot open for writing", "-f", "-o", "disk")


def test_a_folder_that_hangs(job, library):
    """A signal ends a run that waits for it."""
    process = subprocess.Popen([BIN / "prefix", "in.npy", "-o", "out"], cwd=job.path, env=environment(library, "hang"))
    time.sleep(0.3)
    begin = time.monotonic()
    process.terminate()
    assert process.wait(timeout=20) == -signal.SIGTERM and time.monotonic() - begin < 5


# ---- two outputs to one open file -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["/dev/fd/1", "/proc/self/fd/1", "/dev/stdout", "link"])
def test_a_report_among_the_data(job, name):
    os.symlink("/dev/stdout", job.path / "link")
    with_data = ["--json", name]
    refused(job, 2, "two outputs go to ", *with_data)
    refused(job, 2, "two outputs go to ", "-o", "/dev/fd/1", *with_data)
    assert good(job, "-o", "out.npy", *with_data).out.startswith(b"{")
    assert same(job.load("out.npy"), SUMS)


def test_a_report_over_the_file_that_stdout_goes_to(job):
    with open(job.path / "out", "wb") as out:
        refused(job, 2, "two outputs go to ", "--json", "out", "-f", stdout=out)
    assert job.read("out") == b""


def test_two_outputs_to_one_pipe(job):
    os.mkfifo(job.path / "pipe")
    reader = os.open(job.path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    refused(job, 2, "two outputs go to pipe", "-o", "pipe", "--json", "pipe")
    assert os.read(reader, 100) == b""
    os.close(reader)
    with open("/dev/null", "wb") as null:  # takes everything
        assert job.run("prefix", "in.npy", "--json", "/dev/null", stdout=null).code == 0


def test_memory_counts_for_the_limit_on_file_sizes(box):
    """An image is decoded in shared memory, which the kernel takes for a file."""
    box.write("in.pgm", b"P5 64 64 255\n" + bytes(range(64)) * 64)
    box.good("equalize", "in.pgm", "-o", "in.png")
    box.refused(3, "in.png: no shared memory for the decoder: File too large (the limit on file sizes, ulimit -f, counts it)",
                "equalize", "in.png", "-o", "out.png",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
