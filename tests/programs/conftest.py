# SPDX-License-Identifier: MIT
"""What the tests of the programs share: the fixture `box`, an empty folder in which programs run."""
import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import numpy as np
import pytest

from output_loops import build_library, default_signals

default_signals()
BIN = pathlib.Path(os.environ.get("SCAN_BIN", pathlib.Path(__file__).resolve().parents[2] / "build/bin"))

# Sanitizers need much address space and must be loaded first.
CACHE = BIN.parent / "CMakeCache.txt"
SANITIZED = CACHE.exists() and re.search(r"^SCAN_SANITIZE:\w+=.", CACHE.read_text(), re.M) is not None
HAS_PCRE2 = CACHE.exists() and re.search(r"^PCRE2_LIBRARY:\w+=/", CACHE.read_text(), re.M) is not None
BUILD = "sanitized" if SANITIZED else "release"
# tools/test asks for this: a case whose mark names another build is left to it. See the head of tests/CMakeLists.txt.
ONCE = os.environ.get("SCAN_TESTS_ONCE", "0") != "0"


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system of so many bytes, as mount writes it, in a new folder. Skips the test where it may not be mounted."""
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def in_release(why):
    """Mark of a case, or as `pytestmark` of a file, in which sanitizers find nothing more, for the reason `why`."""
    return pytest.mark.builds("release", why=why)


def in_sanitized(why):
    """Mark of what finds the same and more in the build with AddressSanitizer. A mark of a case outdoes its file's."""
    return pytest.mark.builds("sanitized", why=why)


def release_only(why):
    """Mark of a case that cannot run with sanitizers."""
    return pytest.mark.builds("release", why=why, must=True)


def pytest_configure(config):
    config.addinivalue_line("markers", "builds(name, why, must): the build in which the case runs")


def pytest_collection_modifyitems(config, items):
    def elsewhere(item):
        mark = item.get_closest_marker("builds")
        return mark is not None and mark.args[0] != BUILD and (ONCE or mark.kwargs.get("must", False))

    config.hook.pytest_deselected(items=[item for item in items if elsewhere(item)])
    items[:] = [item for item in items if not elsewhere(item)]


class Device:
    """What `--device cuda` finds on this machine: no backend in the build, no device, a device, or the emulator."""

    def __init__(self):
        probe = subprocess.run([str(BIN / "prefix"), "--device", "cuda"], input=b"1\n", capture_output=True, timeout=60) \
            if (BIN / "prefix").exists() else None
        error = probe.stderr.decode() if probe else "the programs are not built"
        cache = CACHE.read_text() if CACHE.exists() else ""
        self.available = probe is not None and probe.returncode == 0
        self.built = "no CUDA backend" not in error and probe is not None
        self.emulated = self.available and re.search(r"^SCAN_CUDA:\w+=EMULATED", cache, re.M) is not None
        self.reason = f"needs a CUDA device or the emulator: {error.strip()}"


DEVICE = Device()
NO_DEVICE = {"CUDA_VISIBLE_DEVICES": "", "SCAN_EMULATED_DEVICES": "0"}  # an environment without devices

TYPES = {"u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "u32": "u4", "i32": "i4", "u64": "u8", "i64": "i8",
         "f32": "f4", "f64": "f8"}


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr.decode()

    @property
    def array(self):
        return np.load(io.BytesIO(self.out), allow_pickle=False)


class Box:
    """An empty folder in which programs run; paths are relative to it."""

    def __init__(self, path):
        self.path = path
        self.on_cpu = {}  # of device_jobs.py

    def run(self, program, *arguments, input=b"", **keywords):
        keywords.setdefault("stdout", subprocess.PIPE)
        keywords.setdefault("cwd", self.path)
        if "stdin" not in keywords:
            keywords["input"] = input
        command = [str(BIN / program), *map(str, arguments)]
        return Result(subprocess.run(command, stderr=subprocess.PIPE, timeout=60, **keywords))

    def good(self, program, *arguments, **keywords):
        """Runs; expects success and no message."""
        result = self.run(program, *arguments, **keywords)
        assert (result.code, result.err) == (0, "")
        return result

    def refused(self, code, text, program, *arguments, **keywords):
        """Runs; expects this exit code, one line of error that contains `text`, no output and no new or changed file."""
        before = self.snapshot()
        result = self.run(program, *arguments, **keywords)
        assert result.err.startswith(program + ": ") and result.err.count("\n") == 1, result.err
        assert text in result.err
        assert result.code == code, result.err
        assert not result.out
        assert self.snapshot() == before
        return result

    def snapshot(self):
        return {p.name: p.read_bytes() if p.is_file() else None for p in self.path.iterdir() if not p.is_fifo()}

    def save(self, name, array):
        np.save(self.path / name, array)
        return name

    def load(self, name):
        return np.load(self.path / name, allow_pickle=False)

    def write(self, name, data):
        (self.path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return name

    def read(self, name):
        return (self.path / name).read_bytes()

    def names(self):
        return sorted(p.name for p in self.path.iterdir())


@pytest.fixture
def tmp_path(tmp_path_factory):
    """An empty folder, removed after the test. pytest would keep it, and read all their names before it makes the next."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=tmp_path_factory.getbasetemp()))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


class OpenBox(Box):
    """A box that other users can reach; pytest's own folders are closed to them."""

    def run_as_nobody(self, program, *arguments, **keywords):
        """Runs without the rights of root; returns the exit code and the messages."""
        self.program = self.path.parent / f"{self.path.name}.bin"
        if not self.program.exists():
            shutil.copy(BIN / program, self.program)
            os.chmod(self.program, 0o755)
        result = subprocess.run([self.program, *arguments], cwd=self.path, capture_output=True, preexec_fn=as_nobody,
                                timeout=60, **keywords)
        return result.returncode, result.stderr.decode().replace(self.program.name, program)


@pytest.fixture
def open_box():
    folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    (folder / "box").mkdir()
    os.chmod(folder, 0o755)
    yield OpenBox(folder / "box")
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The preloaded library that takes parts of a file system away."""
    built = build_library(tmp_path_factory.mktemp("filesystem"))
    if not built:
        pytest.skip("no compiler")
    return built


def files_open(process):
    """The names of the files that a process has open."""
    names = []
    for entry in os.scandir(f"/proc/{process.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(entry.path))
    return names


def is_asleep(process):
    return pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def slow(box, *arguments, env=None):
    """A run of prefix that has its output open and waits for the end of its input, which the caller keeps open."""
    read, write = os.pipe()
    process = subprocess.Popen([BIN / "prefix", "--dtype", "u8", *arguments], stdin=read, stderr=subprocess.PIPE,
                               cwd=box.path, env=env)
    os.close(read)
    os.write(write, bytes(1000))
    deadline, looks = time.monotonic() + 10, 0
    while looks < 2:  # between opening and waiting it may have to open again
        has_output = any(name.startswith(f"{box.path}/") for name in files_open(process))
        looks = looks + 1 if has_output and is_asleep(process) else 0
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return process, write


def finish(process, write):
    """Ends the input of a slow run; returns its exit code and its messages."""
    os.close(write)
    _, error = process.communicate(timeout=20)
    return process.returncode, error.decode()


def interrupt(process, write, number):
    """Sends a signal to a slow run; returns its exit code."""
    process.send_signal(number)
    code = process.wait(timeout=20)
    process.stderr.close()
    os.close(write)
    return code


def as_nobody():
    """To be called in a new process: it goes on without the rights of root."""
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def numbers(name, n, seed=0):
    """Random elements of a type by its name here: all bits for integers; floats of both signs and many sizes."""
    rng = np.random.default_rng([seed, n])
    dtype = np.dtype(TYPES[name])
    if dtype.kind == "f":
        return (rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)
    return rng.integers(0, 256, n * dtype.itemsize, dtype="u1").view(dtype)


def same(a, b):
    """Returns whether two arrays are equal in type, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with the inputs that device_jobs.py makes."""
    from device_jobs import make_inputs
    return make_inputs(tmp_path_factory.mktemp("inputs"))
