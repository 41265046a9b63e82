# SPDX-License-Identifier: MIT
"""The processes that decode images: what became of one is told truly, and there is nothing in its memory but the image.

    program - helper - keeper - decoder

A decoder is caught at work on a large image and stopped; from there a test goes on as slowly as it likes."""
import contextlib
import os
import pathlib
import resource
import signal
import struct
import subprocess
import time
import zlib

import pytest

from conftest import BIN, SANITIZED, in_release
from image_files import SIGNATURE, chunk, header

pytestmark = in_release("processes and signals")

SIDE = 8000


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """64 MB of pixels in a file of 300 KB."""
    path = tmp_path_factory.mktemp("image") / "in.png"
    pack, rows = zlib.compressobj(wbits=-15), SIDE // 100
    piece = pack.compress(bytes(rows * (SIDE + 1))) + pack.flush(zlib.Z_FULL_FLUSH)
    data = b"\x78\x01" + piece * 100 + pack.flush() + struct.pack(">I", zlib.adler32(bytes(SIDE * (SIDE + 1))))
    path.write_bytes(SIGNATURE + header(SIDE, SIDE) + chunk(b"IDAT", data) + chunk(b"IEND"))
    return path


def children(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def descriptors(pid):
    try:
        return os.listdir(f"/proc/{pid}/fd")
    except (FileNotFoundError, ProcessLookupError):
        return ["gone"] * 9


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def wait_until(true, seconds=20):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class Run:
    """A run of equalize. With `image` it is caught while the image is decoded; without it waits for one on stdin."""

    def __init__(self, box, out, image=None, program=BIN / "equalize", env=None):
        for _ in range(20):
            self.process = subprocess.Popen([program, *([image] if image else []), "-o", out, "--threads", "2", "-f"],
                                            cwd=box.path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                                            start_new_session=True)
            wait_until(lambda: children(self.process.pid))
            self.helper = children(self.process.pid)[0]
            if not image:
                wait_until(lambda: descriptors(self.helper) == ["3"])
                return
            if self.catch():
                return
            self.process.communicate(timeout=60)
            (box.path / out).unlink(missing_ok=True)
        pytest.skip("the machine is too fast or too busy to catch a decoder at work")

    def catch(self):
        """Stops the decoder: the last of the processes, without a descriptor once it is confined."""
        while self.process.poll() is None:
            for self.keeper, self.decoder in [(k, d) for k in children(self.helper) for d in children(k)]:
                if len(descriptors(self.decoder)) <= 1:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(self.decoder, signal.SIGSTOP)
                        wait_until(lambda: state(self.decoder) in ("T", "Z", "X", "gone"))
                        if state(self.decoder) == "T":
                            return True
        return False

    def give(self, image):
        self.process.stdin.write(image.read_bytes())
        self.process.stdin.close()
        self.process.stdin = None

    def end(self):
        """Returns the exit code and the message."""
        _, error = self.process.communicate(timeout=60)
        return self.process.returncode, error.decode()


@pytest.fixture(scope="module", autouse=True)
def needs_the_sandbox(tmp_path_factory):
    probe = subprocess.Popen([BIN / "equalize"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(0.2)
    found = children(probe.pid)
    probe.communicate(b"", timeout=20)
    if not found:
        pytest.skip("this build decodes without the sandbox, or /proc does not list children")


ENDS = {
    "killed": (signal.SIGKILL, 3, "its decoder was killed"),
    "ended": (signal.SIGTERM, 3, "its decoder was killed"),
    "out of time": (signal.SIGXCPU, 3, "ran out of processor time"),
    "without a page": (signal.SIGBUS, 3, "no memory for its decoder"),
    "crashed": (signal.SIGSEGV, 2, "damaged: its decoder crashed"),
    "a forbidden call": (signal.SIGSYS, 2, "damaged: its decoder crashed"),
}


@pytest.mark.parametrize("name", ENDS)
def test_end_of_a_decoder(box, image, name):
    number, code, message = ENDS[name]
    if SANITIZED and number == signal.SIGBUS:
        pytest.skip("sanitizers make a crash of it")
    run = Run(box, "out.png", image)
    os.kill(run.decoder, number)
    with contextlib.suppress(ProcessLookupError):  # SIGKILL does not wait for it
        os.kill(run.decoder, signal.SIGCONT)
    got, error = run.end()
    assert message in error and error.count("\n") == 1 and ("damaged" in error) == (code == 2)
    assert got == code and box.names() == []


def test_keeper_killed(box, image):
    run = Run(box, "out.png", image)
    os.kill(run.keeper, signal.SIGKILL)
    got, error = run.end()
    assert got == 3 and "its decoder was killed" in error and box.names() == []


def test_helper_killed(box, image):
    run = Run(box, "out.png")
    os.kill(run.helper, signal.SIGKILL)
    wait_until(lambda: state(run.helper) in ("Z", "X", "gone"))
    run.give(image)
    got, error = run.end()
    assert got == 3 and "cannot start the image decoder" in error and box.names() == []


def test_stopped(box, image):
    """A decoder or helper that stays stopped is given up; a program that was stopped as a whole, as by ^Z, goes on."""
    suspended = Run(box, "suspended.pgm", image)
    os.killpg(suspended.process.pid, signal.SIGSTOP)
    decoder, helper = Run(box, "decoder.png", image), Run(box, "helper.png")
    os.kill(helper.helper, signal.SIGSTOP)
    helper.give(image)
    for run in (decoder, helper):
        code, error = run.end()
        assert code == 3 and "its decoder was stopped by a signal" in error and "damaged" not in error
    os.killpg(suspended.process.pid, signal.SIGCONT)
    assert suspended.end() == (0, "")
    assert box.names() == ["suspended.pgm"]


@pytest.mark.skipif(SANITIZED, reason="sanitizers need much address space")
def test_no_memory_for_a_decoder(box, image):
    run = Run(box, "out.png")
    resource.prlimit(run.helper, resource.RLIMIT_AS, (200 << 20, 200 << 20))
    run.give(image)
    got, error = run.end()
    assert got == 3 and "no memory for its decoder" in error and box.names() == []


def memory_of(pid):
    """The readable memory of a process, piece by piece, without the image's pixels."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if "r" in line.split()[1] and end - begin < 16 << 20 and "[v" not in line:
                memory.seek(begin)
                yield memory.read(end - begin)


def test_decoder_knows_nothing(box, image):
    """Arguments, environment and the program's path are gone from the helper's memory, and from its children's."""
    secret = f"secret{os.getpid()}of{time.monotonic_ns()}"
    program = box.path / f"path-{secret}"
    program.symlink_to(BIN / "equalize")
    named = box.path / f"in-{secret}.png"
    named.symlink_to(image)
    run = Run(box, f"out-{secret}.png", named, program, dict(os.environ, TOKEN=f"token-{secret}"))
    assert secret in pathlib.Path(f"/proc/{run.process.pid}/environ").read_text()
    for pid in (run.helper, run.keeper, run.decoder):
        assert set(pathlib.Path(f"/proc/{pid}/environ").read_bytes()) <= {0}
        assert set(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()) <= {0}
        if not SANITIZED:  # its runtime keeps a copy of the environment
            found = [at for at, piece in enumerate(memory_of(pid)) if secret.encode() in piece]
            assert found == []
    run.process.kill()
    run.process.communicate(timeout=20)
    wait_until(lambda: state(run.decoder) in ("Z", "X", "gone"))
