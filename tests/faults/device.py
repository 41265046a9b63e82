# SPDX-License-Identifier: MIT
"""The part of tools/faults in which calls of the CUDA runtime fail: in the emulator (-DSCAN_CUDA=EMULATED), once or from
then on. With `auto` the CPU ends the work with the same bytes, with `cuda` the exit code is 4 and nothing is written."""
import os
import pathlib
import subprocess
import threading

import numpy as np

from runs import CRASH, MESSAGE, OTHER, RIGHT, WRONG, Folder

# Small, because a call is a call: what the emulated device takes its time for is the arithmetic.
COMMANDS = {
    "prefix-npy": "prefix f.npy -o {}",
    "prefix-text": "prefix i.txt -o {}",
    "prefix-reverse": "prefix --reverse i.npy -o {}",
    "prefix-csv": "prefix -k a t.csv -o {}",
    "compact-npy": "compact --where x>0 f.npy -o {} --indices {}i.npy --rejected {}r.npy",
    "compact-unique": "compact --unique --invert i.npy -o {}",
    "compact-csv": "compact --where a>3 t.csv -o {}",
    "sort-argsort": "sort --argsort f.npy -o {}",
    "sort-text": "sort i.txt -o {}",
    "sort-csv": "sort -k a -k b t.csv -o {}",
    "sort-keys": "sort keys.npy -o {}",
    "sort-large": "sort large.npy -o {}",
    "sort-merge": "sort --merge -u sorted.npy sorted.npy -o {}",
    "sort-parts": "sort -S 1M --argsort --tmp . large.npy -o {}",
    "sort-device-memory": "sort --device-memory 1G -r large.npy -o {}",
    "equalize-bands": "equalize -S 1M --like vips large.pgm -o {}.pgm",
    "equalize-pgm": "equalize a.pgm -o {}.pgm",
    "equalize-clahe": "equalize --method clahe a.pgm -o {}.pgm",
    "equalize-batch": "equalize a.pgm b.pgm --out-dir {}/",
}
CODES = (2, 35, 46, 100, 700, 719)  # memory; driver too old; device busy; no device; illegal address; launch failure
MEMORY = {"sort-device-memory": "200000"}  # bytes of the emulated device, where the input is not to fit
LARGE = {"SCAN_CUDA_FROM": "1"}  # with auto every job is large enough for a device


class Command:
    def __init__(self, name, text):
        self.name, self.text, self.batch = name, text, "--out-dir" in text
        self.program = text.split()[0]


class Cuda:
    name = "cuda"
    jobs = {name: Command(name, text) for name, text in COMMANDS.items()}

    def __init__(self, tools):
        del tools
        self.programs = os.environ.get("SCAN_EMULATED_BIN")
        self.lock, self.expected = threading.Lock(), {}

    def missing(self):
        return None if self.programs else "SCAN_EMULATED_BIN names no programs"

    @staticmethod
    def inputs(folder):
        """The folder of inputs, which is made with the first run there."""
        place = folder.path / "cuda"
        if not place.exists():
            place.mkdir()
            rng = np.random.default_rng(8)
            np.save(place / "f.npy", rng.normal(size=3000).astype("f4"))
            np.save(place / "i.npy", rng.integers(0, 9, 3000))
            np.save(place / "keys.npy", rng.integers(0, 1 << 62, 9000))
            np.save(place / "large.npy", rng.integers(0, 1 << 62, 32_000))
            np.save(place / "sorted.npy", np.sort(rng.integers(0, 999, 2000)))
            (place / "i.txt").write_text("".join(f"{v}\n" for v in rng.integers(0, 99, 500)))
            (place / "t.csv").write_text("a,b\n" + "".join(f"{v % 7},{v % 5}\n" for v in range(300)))
            (place / "large.pgm").write_bytes(b"P5 720 740 255\n" + bytes(range(40, 90)) * 10656)
            for name in ("a", "b"):
                (place / f"{name}.pgm").write_bytes(b"P5 30 25 255\n" + rng.integers(40, 90, 750, dtype="u1").tobytes())
        return place

    def execute(self, folder, job, device, **environment):
        """Returns (process, output files)."""
        place = self.inputs(folder)
        if job.name in MEMORY:
            environment["SCAN_EMULATED_MEMORY"] = MEMORY[job.name]
        out = place / "out"
        out.mkdir(exist_ok=True)
        for file in out.iterdir():
            file.unlink()
        words = [word.replace("{}", "out/" if job.batch else "out/o") for word in job.text.split()]
        done = subprocess.run([pathlib.Path(self.programs) / words[0], *words[1:], "--device", device], cwd=place,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False,
                              env=dict(os.environ, **LARGE, **environment))
        return done, {name: data for name, (data, *_) in Folder.snapshot(out).items()}

    def points(self, folder, job):
        counter = folder.path / "calls"
        done, files = self.execute(folder, job, "cuda", SCAN_EMULATED_CALLS=str(counter))
        on_cpu = self.execute(folder, job, "cpu")
        if (done.returncode, files) != (0, on_cpu[1]):
            raise SystemExit(f"{job.name} is wrong before anything fails: {done}")
        for call in range(1, int(counter.read_text()) + 1):
            for code in CODES:  # the devices take turns
                yield ("cuda" if (call + code) % 2 else "auto"), str(code), "once", str(call)
                yield ("auto" if (call + code) % 2 else "cuda"), str(code), "ever", str(call)

    def run(self, folder, job, device, code, how, call):
        with self.lock:
            if job.name not in self.expected:
                self.expected[job.name] = self.execute(folder, job, "cpu")[1]
        fault = f"{call}:{code}" + (":forever" if how == "ever" else "")
        done, files = self.execute(folder, job, device, SCAN_EMULATED_FAIL=fault)
        outcome = judge(job, device, done, files, self.expected[job.name])
        return outcome, "" if outcome in (RIGHT, MESSAGE) else f"exit {done.returncode}, {done.stderr!r}, {list(files)}"


def judge(job, device, done, files, expected):
    """Returns how a run ended."""
    lines = done.stderr.decode(errors="replace").splitlines()
    if done.returncode < 0:
        return CRASH
    if done.returncode == 0:
        if files != expected:
            return WRONG
        warned = device == "auto" and len(lines) == 1 and lines[0].endswith("; the CPU does the job")
        return RIGHT if not lines or warned else OTHER
    partial = {name: data for name, data in expected.items() if name in files} if job.batch else {}
    if files != partial:
        return WRONG
    named = all(line.startswith(f"{job.program}: ") for line in lines)
    one = len(lines) == 1 or (job.batch and lines)
    return MESSAGE if done.returncode == 4 and device == "cuda" and one and named else OTHER
