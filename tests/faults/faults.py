#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py: the loop of tools/faults, which says how to call it.

Every point that was tried is a line of a log: its name, how it ended, and for a finding what was wrong. Runs go on where
the last one stopped, in an order that the seed determines, until the log has all points. A log is of one build: when the
programs have changed it is begun anew.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from jobs import JOBS  # noqa: E402
from parts import PARTS  # noqa: E402
from runs import FINDINGS, MESSAGE, RIGHT, Folder  # noqa: E402

JOB_POINTS_MAX = 4000  # of jobs that make thousands of calls which are alike, so many points are drawn
COLUMNS = (RIGHT, MESSAGE, *FINDINGS)
TITLES = {RIGHT: "right result", MESSAGE: "true message", "crash": "crashes", "wrong": "wrong results",
          "damaged": "damaged targets", "leftover": "leftovers", "rights": "wider rights", "other": "other"}


def digest(programs):
    """What says whether a log is of these programs and of these tests."""
    files = sorted(pathlib.Path(__file__).parent.glob("*.[pc]*")) + [pathlib.Path(programs) / name
                                                                   for name in ("prefix", "compact", "sort", "equalize")]
    whole = hashlib.sha256()
    for file in files:
        if file.is_file():
            whole.update(file.read_bytes())
    return whole.hexdigest()


class Log:
    """The points that were tried, in a file that a killed run leaves whole."""

    def __init__(self, path, head):
        self.lock, self.outcomes, self.whys = threading.Lock(), {}, {}
        lines = path.read_text().splitlines() if path.exists() else []
        if lines[:1] == [head]:
            for line in lines[1:]:
                point, outcome, why = (line.split("\t") + ["", ""])[:3]
                self.outcomes[tuple(point.split())], self.whys[tuple(point.split())] = outcome, why
        else:
            path.write_text(head + "\n")
        self.file = path.open("a")

    def add(self, point, outcome, why):
        with self.lock:
            self.outcomes[point], self.whys[point] = outcome, why
            self.file.write("\t".join((" ".join(point), outcome, why.replace("\t", " ").replace("\n", " "))) + "\n")
            self.file.flush()

    def table(self, names):
        """The counts of each part, a line each."""
        rows = collections.defaultdict(collections.Counter)
        for point, outcome in self.outcomes.items():
            rows[point[0]][outcome] += 1
        lines = ["{:12}{:>12}".format("part", "injections") + "".join(f"{TITLES[c]:>17}" for c in COLUMNS)]
        for name in names:
            row = rows[name]
            lines.append(f"{name:12}{sum(row[c] for c in COLUMNS):12}" + "".join(f"{row[c]:17}" for c in COLUMNS))
        return "\n".join(lines)


class Loop:
    """Points of some parts, tried by several workers with a folder each."""

    def __init__(self, parts, programs, log, place, workers, seed, jobs_at_most=None):
        self.parts, self.log, self.random, self.jobs_at_most = parts, log, random.Random(seed), jobs_at_most
        self.folders = [Folder(pathlib.Path(place) / f"worker{k}", programs) for k in range(workers)]
        self.pool = concurrent.futures.ThreadPoolExecutor(workers)
        self.free = list(self.folders)
        self.lock = threading.Lock()

    def with_folder(self, work, *arguments):
        with self.lock:
            folder = self.free.pop()
        try:
            return work(folder, *arguments)
        finally:
            with self.lock:
                self.free.append(folder)

    def points(self):
        """All points that are not in the log, in the order of the seed; the parts take turns, and so do the jobs of a part:
        the first points are of all jobs, however many points one of them has. To name the points of a job takes a run of
        it: a sample may take fewer jobs."""
        def of(folder, part, job):
            if part.jobs is JOBS and b"which this build cannot read" in folder.reference(job).err:  # gzip or zstd
                return []
            points = [(part.name, job.name, *words) for words in part.points(folder, job) or ()]
            return random.Random(job.name).sample(points, min(len(points), JOB_POINTS_MAX)) if part.jobs is JOBS else points

        def in_turns(queues):
            return [point for turn in itertools.zip_longest(*queues) for point in turn if point]
        queues = []
        for part in self.parts:
            jobs = self.random.sample(list(part.jobs.values()), min(len(part.jobs), self.jobs_at_most or len(part.jobs)))
            lists = [self.pool.submit(self.with_folder, of, part, job) for job in jobs]
            lists = [[point for point in each.result() if point not in self.log.outcomes] for each in lists]
            for each in lists:
                self.random.shuffle(each)
            queues.append(in_turns(lists))
        return in_turns(queues)

    def try_one(self, point, deadline=None):
        """Tries a point and notes how it ended, unless it is too late or nothing could be made to fail there."""
        if deadline and time.monotonic() > deadline:
            return
        part = next(part for part in self.parts if part.name == point[0])
        outcome, why = self.with_folder(part.run, part.jobs[point[1]], *point[2:])
        self.log.add(point, outcome or "none", why)
        if outcome in FINDINGS:
            print(f"{outcome}: {why}\n    again: tools/faults --again {shlex.quote(' '.join(point))}", flush=True)

    def run(self, points, deadline):
        for done in [self.pool.submit(self.try_one, point, deadline) for point in points]:
            done.result()

    def close(self):
        self.pool.shutdown(cancel_futures=True)
        for folder in self.folders:
            if folder.snapshot(folder.inputs) != folder.inputs_before:
                self.log.add(("inputs", str(folder.path)), "damaged", "an input has changed")
        for part in self.parts:
            getattr(part, "close", lambda: None)()


def races(programs, minutes, seed):
    """Runs the loops over one output; returns the number of findings."""
    loops = pathlib.Path(__file__).parents[1] / "programs/output_loops.py"
    if not loops.exists():
        print(f"left out: races: there is no {loops}")
        return 0
    runs = int(200 * minutes) if minutes else 10_000
    print(f"races: {runs} concurrent runs in each mode, {runs // 5} kills", flush=True)
    command = [sys.executable, "-B", loops, "--bin", programs, "--runs", str(runs), "--kills", str(runs // 5), "--seed", str(seed)]
    return subprocess.run(command, check=False).returncode


def fast_place():
    """A folder in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--log", required=True, type=pathlib.Path)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--part", action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted and written is removed
    again = tuple(options.again.split()) if options.again else None
    names = [again[0]] if again else options.part or [*PARTS, "races"]
    unknown = [name for name in names if name not in (*PARTS, "races")]
    if unknown:
        parser.error(f"there is no part {unknown[0]}")
    deadline = time.monotonic() + 60 * options.minutes if options.minutes else None
    log = Log(pathlib.Path(os.devnull) if again else options.log, digest(options.programs))
    with tempfile.TemporaryDirectory(dir=fast_place(), prefix="scan-faults-") as place:
        os.chmod(place, 0o755)
        parts = [part(place) for name, part in PARTS.items() if name in names]
        for part in parts:
            if part.missing():
                print(f"left out: {part.name}: {part.missing()}")
        parts = [part for part in parts if not part.missing()]
        loop = Loop(parts, options.programs, log, place, os.cpu_count() or 1, options.seed)
        try:
            points = [again] if again else loop.points()
            loop.run(points, deadline)
        finally:
            loop.close()
    left = sum(point not in log.outcomes for point in points)
    findings = sum(outcome in FINDINGS and point[0] in (*names, "inputs") for point, outcome in log.outcomes.items())
    if "races" in names:
        findings += races(options.programs, options.minutes, options.seed)
    print(log.table([name for name in PARTS if name in names]))
    print(f"{left} points are left; {findings} findings" + (f", listed in {options.log}" if findings and not again else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
