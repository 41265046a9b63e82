#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops over one output: many runs to one name at once, and runs that are killed, with counts of what went wrong.

    tests/programs/output_loops.py --bin build/bin --runs 10000 --kills 2000

test_output_loops.py runs the short form. Every run adds a number of its own to the same sums, so that a file shows
whose result it is and whether it is whole."""
import argparse
import collections
import contextlib
import ctypes
import os
import pathlib
import random
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import threading
import time

import numpy as np

MODES = {"O_TMPFILE": "", "no O_TMPFILE": "no_tmpfile", "no /proc": "no_proc", "no renameat2": "no_tmpfile no_renameat2",
         "no flock": "no_tmpfile no_flock"}
X = np.random.default_rng(5).integers(0, 256, 6000, dtype="u1")
SUMS = np.cumsum(X, dtype="u8")
HIDDEN = ".scan-tmp"
MODE = 0o640
NOT_ENDING = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT,
              signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGXFSZ}  # SIGXFSZ is ignored: EFBIG
ENDING = sorted(set(signal.valid_signals()) - NOT_ENDING)


def default_signals():
    """Signals that are ignored here, as under nohup or in the background, would be ignored by the programs too."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def build_library(folder):
    """Compiles filesystem.c; returns the library, or None without a compiler."""
    library = pathlib.Path(folder) / "filesystem.so"
    source = pathlib.Path(__file__).with_name("filesystem.c")
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", library, source]
    return library if shutil.which("cc") and subprocess.run(command, capture_output=True).returncode == 0 else None


def environment(library, words="", **stop):
    """The environment of a run on a file system without what the words name; stop: at, signal, count."""
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"  # it is not loaded first
    stops = {f"STOP_{key.upper()}": str(value) for key, value in stop.items()}
    return dict(os.environ, LD_PRELOAD=str(library), FILESYSTEM=words, ASAN_OPTIONS=sanitizer, **stops)


def result(number):
    return (SUMS + number).tobytes()


def number_of(data):
    """Whose result the bytes are; None if they are not a whole one."""
    number = int.from_bytes(data[:8], "little") - int(SUMS[0]) if len(data) >= 8 else -1
    return number if number >= 0 and data == result(number) else None


class Watch:
    """Counts how often a name came to be in a folder (inotify)."""

    def __init__(self, folder, name):
        self.name, self.count = name, 0
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        # IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE; equal events in a row are reported as one, hence the first
        self.libc.inotify_add_watch(self.fd, os.fsencode(folder), 0x40 | 0x80 | 0x100)

    def drain(self):
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.fd, 1 << 20):
                at = 0
                while at < len(data):
                    length = struct.unpack_from("iIII", data, at)[3]
                    mask, name = struct.unpack_from("I", data, at + 4)[0], data[at + 16:at + 16 + length].rstrip(b"\0")
                    self.count += bool(mask & 0x180) and os.fsdecode(name) == self.name
                    at += 16 + length


class Loops:
    def __init__(self, folder, programs, library, seed=1):
        self.folder, self.programs, self.library = pathlib.Path(folder), pathlib.Path(programs), library
        self.random = random.Random(seed)
        self.out = self.folder / "out"
        self.counts = collections.Counter()
        self.wrong = collections.Counter()  # what must stay 0
        self.examples = []
        (self.folder / "in").write_bytes(X.tobytes())

    def fail(self, kind, text):
        self.wrong[kind] += 1
        if len(self.examples) < 20:
            self.examples.append(f"{kind}: {text}")

    def start(self, number, words, force, **stop):
        command = [self.programs / "prefix", "--dtype", "u8", "--init", str(number), "--threads", "1",
                   *(["-f"] if force else []), "in", "-o", "out"]
        return subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE,
                                env=environment(self.library, words, **stop))

    def hidden(self):
        return [name for name in os.listdir(self.folder) if name.endswith(HIDDEN)]

    def found(self):
        """Whose result stands at the target; None: nothing, or nothing whole."""
        return number_of(self.out.read_bytes()) if self.out.exists() else None

    def look(self):
        """Checks what stands at the target: whole, and no more rights than MODE."""
        with open(self.out, "rb") as f:
            number, mode = number_of(f.read()), stat.S_IMODE(os.fstat(f.fileno()).st_mode)
        if number is None:
            self.fail("damaged target", "a reader saw a part")
        if mode & ~MODE:
            self.fail("widened rights", oct(mode))

    def reset(self, old):
        self.out.unlink(missing_ok=True)
        for name in self.hidden():
            (self.folder / name).unlink()
        if old is not None:
            self.out.write_bytes(result(old))
            self.out.chmod(MODE)

    # ---- many runs at once --------------------------------------------------------------------------------------------

    def replacing(self, runs, words, at_once=8, kill_share=0.0):
        """Runs with -f to one name, some of them killed: each of the others publishes its result."""
        self.reset(0)
        watch, numbers, lock, done = Watch(self.folder, "out"), iter(range(1, runs + 1)), threading.Lock(), [0]

        def work(rng):
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                process = self.start(number, rng.choice(words), True)
                if rng.random() < kill_share:
                    time.sleep(rng.uniform(0, 0.02))
                    process.kill()
                error = process.communicate()[1]
                with lock:
                    done[0] += process.returncode == 0
                    self.counts["replacing runs"] += 1
                    self.counts["killed beside others"] += process.returncode == -signal.SIGKILL
                if process.returncode not in (0, -signal.SIGKILL) or error:
                    self.fail("wrong messages", f"{process.returncode} {error}")

        threads = [threading.Thread(target=work, args=(random.Random(k),)) for k in range(at_once)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            watch.drain()
            self.counts["looks at the target"] += 1
            self.look()
            time.sleep(0.002)
        watch.drain()
        os.close(watch.fd)
        self.look()
        if not done[0] <= watch.count <= done[0] + (runs if kill_share else 0):
            self.fail("results not published", f"{done[0]} runs, {watch.count} publications")
        if kill_share:
            self.start(0, words[0], True).wait()
        if self.hidden():
            self.fail("leftovers", str(self.hidden()))

    def creating(self, rounds, words, at_once=8, force=False):
        """Runs to one new name at the same time: one wins, or with -f all do and the last one stays."""
        for _ in range(rounds):
            self.reset(None)
            running = [(k, self.start(k, self.random.choice(words), force)) for k in range(1, at_once + 1)]
            ends = [(k, process.communicate()[1], process.returncode) for k, process in running]
            winners = [k for k, error, code in ends if code == 0 and not error]
            self.counts["creating runs"] += at_once
            for _, error, code in ends:
                if code and (force or code != 2 or b"out: exists already" not in error or error.count(b"\n") != 1):
                    self.fail("wrong messages", f"{code} {error}")
            if len(winners) != (at_once if force else 1) or self.found() not in winners:
                self.fail("foreign targets", f"{winners}")
            if self.hidden():
                self.fail("leftovers", str(self.hidden()))

    # ---- runs that end early ------------------------------------------------------------------------------------------

    def check_end(self, code, number, old, words):
        """What a killed run left; then the next run."""
        self.counts["leftovers of killed runs"] += len(self.hidden())
        for name in self.hidden():
            mode = stat.S_IMODE(os.stat(self.folder / name).st_mode)
            if old is not None and mode & ~MODE:
                self.fail("widened rights", f"{name} {oct(mode)}")
        found = self.found()
        if found != number and (found != old or code == 0 or self.out.exists() != (old is not None)):
            self.fail("damaged target", f"{code} {found}")
        process = self.start(number + 1, words, True)
        error = process.communicate()[1]
        if process.returncode or error:
            self.fail("wrong messages", f"{process.returncode} {error}")
        if self.found() != number + 1:
            self.fail("damaged target", f"{self.found()} after {number + 1}")
        if self.hidden() and "no_flock" not in words:
            self.fail("leftovers", str(self.hidden()))

    def seconds_of_a_run(self, words):
        begin = time.monotonic()
        self.start(0, words, True).communicate()
        return time.monotonic() - begin

    def killing(self, kills, words):
        """Runs killed at random instants, new and over an old file."""
        self.reset(None)
        whole = min(self.seconds_of_a_run(words) for _ in range(3))  # the first one may take ten times as long
        for k in range(kills):
            old = None if k % 2 else 7
            self.reset(old)
            process = self.start(2 * k + 10, words, True)
            time.sleep(self.random.uniform(0, 1.2 * whole))
            process.kill()
            process.communicate()
            killed = process.returncode == -signal.SIGKILL
            self.counts["kills"] += killed
            whole *= 1.05 if killed else 0.8  # a loaded machine was slower, or will be
            self.check_end(process.returncode, 2 * k + 10, old, words)

    def steps(self, words, force, number=signal.SIGKILL, only=None):
        """Ends a run by a signal before each step that changes the disk, or before some of them."""
        old = 7 if force else None
        counter = self.folder.parent / f"{self.folder.name}.steps"
        counter.unlink(missing_ok=True)
        self.reset(old)
        self.start(1, words, force, count=counter).communicate()
        points = counter.stat().st_size
        for at in range(1, points + 1) if only is None else only(points):
            self.reset(old)
            process = self.start(1, words, force, at=at, signal=int(number))
            error = process.communicate()[1]
            self.counts["steps"] += 1
            if process.returncode != -number or (error and b"Sanitizer" not in error):
                self.fail("wrong messages", f"{process.returncode} {error} at step {at}")
            if number != signal.SIGKILL and self.hidden():
                self.fail("leftovers", f"signal {number} at step {at}: {self.hidden()}")
            self.check_end(process.returncode, 1, old, words)
        return points


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--runs", type=int, default=1000, help="concurrent runs in each mode")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    default_signals()
    with tempfile.TemporaryDirectory() as folder:
        library = build_library(folder)
        box = pathlib.Path(folder) / "box"
        box.mkdir()
        loops = Loops(box, pathlib.Path(a.bin).resolve(), library, a.seed)
        for mode in ("O_TMPFILE", "no O_TMPFILE"):
            words = [MODES[mode]]
            loops.replacing(a.runs // 2, words)
            loops.replacing(a.runs // 4, words, kill_share=0.3)
            loops.creating(a.runs // 4 // 8, words)
            loops.creating(a.runs // 4 // 8, words, force=True)
        mixed = [words for mode, words in MODES.items() if mode != "no flock"]  # a file system has it or not
        loops.replacing(a.runs // 4, mixed, kill_share=0.1)
        loops.creating(a.runs // 4 // 8, mixed)
        for mode, words in MODES.items():
            loops.killing(a.kills // len(MODES), words)
            for force in (False, True):
                loops.steps(words, force)
                for number in ENDING if "no_tmpfile" == words else (signal.SIGTERM, signal.SIGSEGV):
                    loops.steps(words, force, number)
        print(*(f"{key}: {count}" for key, count in loops.counts.items()), sep="\n")
        print(*(f"{kind}: {loops.wrong[kind]}" for kind in ("damaged target", "foreign targets", "leftovers",
                                                            "widened rights", "results not published", "wrong messages")),
              *loops.examples, sep="\n")
        return 1 if loops.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
