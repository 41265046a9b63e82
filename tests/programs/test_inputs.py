# SPDX-License-Identifier: MIT
"""Inputs that change while they are read, and inputs without end: a file is read to the size that it had when it was
opened, and no more of an image is read than its format allows.

A program opens its input, looks at its first bytes, and opens its output. An output that is a pipe without a reader holds
it there, while the test changes the input."""
import io
import os
import subprocess
import time

import numpy as np
import pytest

from conftest import BIN, in_sanitized, release_only

pytestmark = in_sanitized("files that shrink while they are read")

VALUES = np.random.default_rng(3).integers(0, 100, 300_000, dtype="u1")


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def lines(values):
    return "".join(f"{v}\n" for v in values).encode()


# name: arguments, the file's name and content
JOBS = {
    "prefix raw": (["prefix", "--dtype", "u8"], "in.raw", VALUES.tobytes()),
    "prefix raw, reverse": (["prefix", "--dtype", "u8", "--reverse"], "in.raw", VALUES.tobytes()),
    "prefix .npy": (["prefix"], "in.npy", npy(VALUES)),
    "prefix table": (["prefix", "-k", "1"], "in.csv", b"a\n" + lines(VALUES)),
    "compact raw": (["compact", "--nonzero", "--dtype", "u8"], "in.raw", VALUES.tobytes()),
    "compact .npy": (["compact", "--unique"], "in.npy", npy(VALUES)),
    "compact text": (["compact", "--nonzero"], "in.txt", lines(VALUES)),
    "sort raw": (["sort", "--dtype", "u8"], "in.raw", VALUES.tobytes()),
    "sort .npy": (["sort"], "in.npy", npy(VALUES)),
    "sort text": (["sort"], "in.txt", lines(VALUES)),
    "sort table": (["sort", "-k", "1"], "in.csv", b"a\n" + lines(VALUES)),
    "sort raw, by several threads": (["sort", "--dtype", "u8"], "in.raw", VALUES.tobytes() * 18),
    "sort table, by several threads": (["sort", "-k", "1"], "in.csv", b"a\n" + lines(VALUES) * 6),
}


def change(box, name, job):
    """Runs a job whose input changes after the program has opened it and looked at it; returns code, output, messages."""
    command, file, content = JOBS[name]
    box.write(file, content)
    os.mkfifo(box.path / "out")
    process = subprocess.Popen([BIN / command[0], *command[1:], file, "-o", "out", "--threads", "2"], cwd=box.path,
                               stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not looked_at(process, box.path / file):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    job(box.path / file)
    with open(box.path / "out", "rb") as pipe:
        out = pipe.read()
    error = process.communicate(timeout=20)[1].decode()
    return process.returncode, out, error


def looked_at(process, path):
    """Whether the process has read the file's first bytes."""
    for fd in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            if os.readlink(f"/proc/{process.pid}/fd/{fd}") == str(path):
                with open(f"/proc/{process.pid}/fdinfo/{fd}", encoding="ascii") as info:
                    return int(info.readline().split()[1]) > 0
        except FileNotFoundError:
            pass
    return False


@pytest.mark.parametrize("name", JOBS)
def test_file_becomes_shorter(box, name):
    code, _, error = change(box, name, lambda path: os.truncate(path, 200_000))
    size = len(JOBS[name][2])
    assert error.endswith(f": is shorter now: it ends after 200000 bytes and had {size} when it was opened\n")
    assert code == 3 and error.count("\n") == 1


@pytest.mark.parametrize("name", JOBS)
def test_file_grows(box, name):
    def grow(path):
        with path.open("ab") as file:
            file.write(b"7\n" * 1001)

    expected = box.run(*JOBS[name][0], box.write("same" + JOBS[name][1][2:], JOBS[name][2])).out
    code, out, error = change(box, name, grow)
    assert (code, error) == (0, "") and out == expected


@pytest.mark.parametrize("path", ["/proc/sys/kernel/pid_max", "/sys/class/net/lo/mtu"])
@pytest.mark.parametrize("program", [["prefix"], ["compact", "--nonzero"], ["sort"]])
def test_file_without_a_size(box, program, path):
    """Files in /proc have the size 0, those in /sys that of a page."""
    if not os.path.exists(path):
        pytest.skip("it is not there")
    with open(path, "rb") as file:
        assert os.fstat(file.fileno()).st_size in (0, 4096)
        assert box.good(*program, path).out == file.read()


def test_stdin_partly_read(box):
    """A regular file on stdin is read from where it stands; at its end it is empty."""
    box.write("in", VALUES.tobytes())
    for start in (0, 1000, len(VALUES), len(VALUES) + 5):
        with open(box.path / "in", "rb") as file:
            file.seek(start)
            got = np.frombuffer(box.good("prefix", "--dtype", "u8", stdin=file).out, "u8")
        assert np.array_equal(got, np.cumsum(VALUES[start:], dtype="u8"))


def test_image_becomes_shorter(box):
    """The program reads 400 MB after it has looked at the image's head: time enough to cut them off."""
    for _ in range(5):
        image = box.path / box.write("in.pgm", b"P5 20000 20000 255\n")
        os.truncate(image, 400_000_019)
        process = subprocess.Popen([BIN / "equalize", "in.pgm", "-o", "out.pgm", "-f"], cwd=box.path,
                                   stderr=subprocess.PIPE)
        while not looked_at(process, image) and process.poll() is None:
            pass
        os.truncate(image, 70_000)
        error = process.communicate(timeout=60)[1].decode()
        if process.returncode:
            break
    assert process.returncode == 3
    assert error.startswith("equalize: in.pgm: is shorter now: it ends after ") and error.count("\n") == 1
    assert error.endswith(" bytes and had 400000019 when it was opened\n") and box.names() == ["in.pgm"]


ENDLESS = {
    "binary": (b"P5 10 10 255\n", b"\0", "data after the last pixel"),
    "color of 16 bits": (b"P6 10 10 65535\n", b"\0", "data after the last pixel"),
    "plain, blanks": (b"P2 2 2 9\n", b" ", "longer than 16 bytes a sample"),
    "plain, a comment": (b"P3 1 1 9\n1 #", b"c", "longer than 16 bytes a sample"),
    "header": (b"P5 #", b"c", "header is longer than 64 KiB"),
    "header's number": (b"P5 10 ", b"1", "header is longer than 64 KiB"),
    "not an image": (b"hello", b"\0", "not an image"),
    "P and no more": (b"P", b"\0", "not an image"),
    "bitmap": (b"P4 8 1\n", b"\0", "PBM"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_image_without_end_on_stdin(box, name):
    """A file and a pipe have the same limits. 8 MB in a pipe that nobody reads would not get through."""
    head, rest, message = ENDLESS[name]
    box.write("in.pgm", head + rest * 200_000)
    box.refused(2, message, "equalize", "in.pgm", "-o", "out.png")
    process = subprocess.Popen([BIN / "equalize", "-o", "out.png"], cwd=box.path, stdin=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    with pytest.raises(BrokenPipeError):
        process.stdin.write(head)
        for _ in range(80):
            process.stdin.write(rest * 100_000)
    error = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=20) == 2
    assert message in error and error.count("\n") == 1


MIB = 1 << 20
SHAPES = {
    "commas": (["sort", "-k", "1"], b"," * (4 * MIB) + b"\n", 4),
    "many names": (["prefix", "-k", "n7"], b",".join(b"n%d" % i for i in range(400_000)) + b"\n", 4),
    "wide rows": (["compact", "--where", "`7` > 0"], (b"," * (MIB // 2) + b"\n") * 6, 4),
    "one quoted field": (["sort", "-k", "1"], b"a\n\"" + b'""' * (2 * MIB) + b'"\n', 4),
    "a row a byte": (["sort", "-k", "1"], b"\n" * (2 * MIB), 40),
    "a row a byte, prefix": (["prefix", "-k", "1"], b"\n" * (2 * MIB), 40),
    "a row a byte, text": (["sort", "-k", "1:text"], b"\n" * (2 * MIB), 57),
    "rows of text": (["sort", "-k", "1:text"], b"".join(b"%07d\n" % (k * 7919 % 300_007) for k in range(300_000)), 8),
    "a line for two bytes": (["sort"], b"1\n" * MIB, 20),
}


@release_only("sanitizers take memory of their own")
@pytest.mark.parametrize("name", SHAPES)
def test_memory_of_strange_shapes(box, name):
    """A program takes a few times the bytes of a table, and at most 40 bytes for each row, 56 for one of text, of whatever shape it is."""
    command, content, times = SHAPES[name]
    table = box.write("in.txt" if command == ["sort"] else "in.csv", content)
    idle = peak(box, command[0], "--version")
    assert peak(box, *command, table, "--threads", "2") - idle < times * len(content) + 4 * MIB


def peak(box, program, *arguments):
    """The largest resident memory of a run, in bytes."""
    process = subprocess.Popen([BIN / program, *arguments, "-o", "/dev/null"], cwd=box.path, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024
