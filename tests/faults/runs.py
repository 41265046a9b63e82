# SPDX-License-Identifier: MIT
"""One run of a job in a folder of its own, and the judgement of how it ended."""
import contextlib
import json
import os
import pathlib
import shutil
import stat
import subprocess

from jobs import make_inputs

OLD = b"an old file that must not be damaged\n"
OLD_MODE, OLD_OWNER = 0o640, 65534
SECONDS = 120  # after which a run hangs

# What a run can come to. The first two are right; everything else is a finding.
RIGHT, MESSAGE = "right", "message"
CRASH, WRONG, DAMAGED, LEFTOVER, RIGHTS, OTHER = "crash", "wrong", "damaged", "leftover", "rights", "other"
FINDINGS = (CRASH, WRONG, DAMAGED, LEFTOVER, RIGHTS, OTHER)


class Fault:
    """What a run may end with: `codes` with a message, or `signal`; `must`: RIGHT or MESSAGE where only one is right;
    `late`: it may strike when files have their names already; `leaves`: a hidden file may stay until the next run."""

    def __init__(self, codes=(3,), signal=0, must=None, late=False, leaves=False):
        self.codes, self.signal, self.must, self.late, self.leaves = codes, signal, must, late, leaves


class Result:
    def __init__(self, code, out, err, files):
        self.code, self.out, self.err, self.files = code, out, err, files

    def __str__(self):
        names = {name: len(file[0] or b"") for name, file in self.files.items()}
        return f"exit {self.code}, {self.err.decode(errors='replace')!r}, files {names}"


class Folder:
    """A folder `in` with the inputs and a folder `work` in which programs run, which is emptied before each run."""

    def __init__(self, path, programs):
        self.path, self.programs = pathlib.Path(path), pathlib.Path(path) / "bin"
        self.work, self.inputs = self.path / "work", self.path / "in"
        self.inputs.mkdir(parents=True)
        self.work.mkdir()
        self.programs.mkdir()
        for name in ("prefix", "compact", "sort", "equalize"):  # copies, which no build changes
            shutil.copy(pathlib.Path(programs) / name, self.programs)
        make_inputs(self.inputs, self.programs)
        self.references = {}
        self.inputs_before = self.snapshot(self.inputs)

    @staticmethod
    def snapshot(folder):
        """Name -> (bytes, or None for a folder; mode; owner; group)."""
        files = {}
        for path in sorted(folder.rglob("*")):
            st = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(st.st_mode) else None
            files[str(path.relative_to(folder))] = (data, stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid)
        return files

    def reference(self, job):
        """The result of a run in which nothing fails."""
        if job.name not in self.references:
            self.prepare(job, {})
            self.references[job.name] = self.run(job)
        return self.references[job.name]

    def as_somebody(self):
        """Options of run(): as a user of this folder's own, without rights, who may write to the folder of work."""
        os.chmod(self.work, 0o777)
        user = 60_000 + os.stat(self.path).st_ino % 5000
        return {"user": user, "group": user, "extra_groups": []}

    def clear(self):
        """Empties the folder of work, which may be a mount point."""
        for path in self.work.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def prepare(self, job, outputs):
        """Makes the folder as it is before a run: empty, or with an old file for each of the outputs."""
        self.clear()
        if job.batch:
            (self.work / "out").mkdir()
        for name, (data, *_) in outputs.items():
            if job.old and data is not None:
                path = self.work / name
                path.write_bytes(OLD)
                if os.getuid() == 0:
                    os.chown(path, OLD_OWNER, OLD_OWNER)
                os.chmod(path, OLD_MODE)
        return self.snapshot(self.work)

    def run(self, job, wrapper=(), environment=None, words=None, kill=None, **options):
        """kill: (seconds, signal)."""
        command = [*wrapper, str(self.programs / job.program), *(words or job.words)]
        with stdin_of(self.work, job) as stdin:
            process = subprocess.Popen(command, cwd=self.work, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=dict(os.environ, **(environment or {})), umask=0o022, **options)
            try:
                if kill:
                    try:
                        process.wait(timeout=kill[0])
                    except subprocess.TimeoutExpired:
                        process.send_signal(kill[1])
                out, err = process.communicate(timeout=SECONDS)
                code = process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                code = None
        return Result(code, out, err, self.snapshot(self.work))

    def try_fault(self, job, fault, wrapper=(), environment=None, **options):
        """A run with a fault and, if it leaves a hidden file, the next run. Returns (outcome, what is wrong)."""
        good = self.reference(job)
        before = self.prepare(job, good.files)
        result = self.run(job, wrapper, environment, **options)
        outcome, why = self.judge(job, fault, before, good, result)
        if outcome in (RIGHT, MESSAGE) and hidden(result.files):
            again = self.run(job, words=job.forced())
            if again.code != good.code or hidden(again.files):
                return LEFTOVER, f"after the next run: {again}; after the fault: {result}"
        return outcome, f"{why}: {result}" if why else ""

    def judge(self, job, fault, before, good, result):
        """Returns the outcome and, for a finding, why."""
        why = wrong_end(job, fault, good, result)
        if why:
            return why
        done = result.code == good.code
        for name in sorted(set(before) | set(good.files) | set(result.files)):
            found, old, new = result.files.get(name), before.get(name), good.files.get(name)
            if is_hidden(name):
                if done or not fault.leaves:
                    return LEFTOVER, f"{name} is left"
                continue
            if found and is_wider(found, old, new):
                return RIGHTS, f"{name} has mode {found[1]:o}, owner {found[2]}, group {found[3]}"
            if not old and not new:
                return LEFTOVER, f"{name} is left"
            if done and not is_same(name, found, new):
                return WRONG, f"{name} is not what it should be"
            complete = (fault.late or job.batch) and is_same(name, found, new)
            if not done and found != old and not complete:
                return DAMAGED, f"{name} is neither as it was nor complete"
        if fault.must and fault.must != (RIGHT if done else MESSAGE):
            return WRONG, "the fault is one to be " + ("overcome" if fault.must == RIGHT else "reported")
        return (RIGHT if done else MESSAGE), ""


@contextlib.contextmanager
def stdin_of(folder, job):
    """What a job reads as stdin: a file, or a pipe that cat writes."""
    if not job.pipe:
        with open(folder / job.stdin if job.stdin else os.devnull, "rb") as file:
            yield file
        return
    with subprocess.Popen(["cat", folder / job.stdin], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as cat:
        with cat.stdout:
            yield cat.stdout


def wrong_end(job, fault, good, result):
    """Returns the outcome and the reason if a process did not end as it may."""
    if result.code is None:
        return OTHER, "no end"
    if result.code == good.code:
        return None if (result.out, result.err) == (good.out, good.err) else (WRONG, "its stdout or stderr is not right")
    if fault.signal and result.code == -fault.signal:
        return None if result.out == good.out[:len(result.out)] else (WRONG, "its stdout is not right")
    if result.code < 0:
        return CRASH, "ended by a signal"
    lines = result.err.decode(errors="replace").splitlines()
    if result.code not in fault.codes:
        return OTHER, "an exit code that is not for this"
    if not lines or (len(lines) > 1 and not job.batch) or any(not line.startswith(f"{job.program}: ") for line in lines):
        return OTHER, "not one line of message"
    if result.out != good.out[:len(result.out)] or (result.out and not job.to_stdout):
        return WRONG, "its stdout is not right"
    return None


def is_hidden(name):
    return name.rsplit("/", 1)[-1].startswith(".")


def hidden(files):
    return [name for name in files if is_hidden(name)]


def is_same(name, found, new):
    """Whether a file is what it should be. Times in a report differ from run to run: it must be a whole one."""
    if found is None or new is None or found[0] is None or not name.endswith(".json"):
        return found is not None and new is not None and found[0] == new[0]
    with contextlib.suppress(ValueError):
        return json.loads(found[0]).keys() == json.loads(new[0]).keys()
    return False


def is_wider(found, old, new):
    """Whether somebody may do more with a file than with the one before it or, if it is new, than its umask says."""
    if found[0] is None:
        return False
    data, mode, _, group = old or new
    if old and found[3] != group:  # the group's rights were for another group: this one had those of all others
        mode = (mode & 0o700) | (mode & 0o007) | (mode & 0o007) << 3
    return bool(found[1] & ~mode)

