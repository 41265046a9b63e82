# SPDX-License-Identifier: MIT
"""The parts of tools/faults: what fails, at which points, and how a run with it may end. A point is named by a tuple of
words that begins with the part and the job, so that it can be run again."""
import errno
import os
import pathlib
import shutil
import signal
import subprocess

from device import Cuda
from jobs import JOBS
from runs import MESSAGE, RIGHT, Fault

HERE = pathlib.Path(__file__).parent


def compile_helper(name, folder, *options):
    """Compiles a source beside this file; returns the result's path, or None and says why."""
    target = pathlib.Path(folder) / name
    done = subprocess.run(["cc", "-O1", *options, "-o", target, HERE / f"{name.split('.')[0]}.c"], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        print(f"left out: {name} cannot be compiled here: {done.stderr.strip().splitlines()[0]}", flush=True)
        return None
    return target


class Allocations:
    """malloc and its kin fail, the N-th time once or from then on."""
    name, jobs = "allocations", JOBS

    def __init__(self, tools):
        self.library = compile_helper("allocations.so", tools, "-shared", "-fPIC", "-ldl")

    def missing(self):
        return None if self.library else "no compiler for its library"

    def environment(self, folder, **fault):
        return {"LD_PRELOAD": str(self.library), **{f"FAULT_{key.upper()}": str(value) for key, value in fault.items()}}

    def points(self, folder, job):
        counter = folder.path / "count"
        counter.unlink(missing_ok=True)
        folder.prepare(job, folder.reference(job).files)
        folder.run(job, environment=self.environment(folder, at=0, count=counter))
        for at in range(1, counter.stat().st_size + 1):
            yield from ((how, str(at)) for how in ("once", "ever"))

    def run(self, folder, job, how, at):
        ever = {"ever": 1} if how == "ever" else {}
        return folder.try_fault(job, Fault(late=True), environment=self.environment(folder, at=at, **ever))


# Which errors a call may give. EINTR is left out where no call gives it, and for ever, which would be a hang by right.
USUAL = (errno.EIO, errno.ENOSPC, errno.EACCES)
WAITING = (*USUAL, errno.EINTR)
KINDS = {
    "read": (*WAITING, errno.EINVAL, "short", "end"), "pread": (*WAITING, errno.EINVAL, "short", "end"), "write": (*WAITING, errno.EINVAL, errno.EDQUOT, "short"),
    "open": (*WAITING, errno.EMFILE, errno.EOPNOTSUPP), "flags": (errno.EINVAL, errno.EBADF), "list": USUAL,
    "system": (errno.EIO, errno.ENOSYS), "folder": (*USUAL, errno.EEXIST), "wait": (errno.EINTR, errno.ECHILD),
    "close": WAITING, "sync": WAITING, "rename": (*USUAL, errno.EXDEV), "link": (*USUAL, errno.EPERM, errno.EMLINK),
    "unlink": USUAL, "stat": (*USUAL, errno.ESTALE), "map": (errno.ENOMEM, errno.EACCES), "resize": WAITING, "seek": USUAL,
    "lock": WAITING, "mode": (*USUAL, errno.EPERM), "owner": (*USUAL, errno.EPERM), "attribute": (*USUAL, errno.ENOTSUP),
    "random": (errno.EINTR, errno.ENOSYS), "clone": (errno.EAGAIN, errno.ENOMEM), "pipe": (errno.EMFILE, errno.ENOMEM),
    "message": (errno.EINTR, errno.ENOMEM, errno.EPIPE), "poll": (errno.EINTR, errno.ENOMEM), "dup": (errno.EMFILE,
                                                                                                      errno.EINTR),
    "access": USUAL, "readlink": USUAL, "limit": (errno.EPERM, errno.EFAULT), "process": (errno.EINVAL, errno.EPERM),
    "advise": (errno.EINVAL, errno.ENOMEM),
}
# What fails once and must be overcome, and what is always to be reported.
OVERCOME = {("read", errno.EINTR), ("read", "short"), ("pread", errno.EINTR), ("pread", "short"), ("write", errno.EINTR), ("write", "short"), ("sync", errno.EINTR),
            ("message", errno.EINTR), ("poll", errno.EINTR)}
REPORTED = {("write", kind) for kind in (errno.EIO, errno.ENOSPC, errno.EDQUOT)}


class Traced:
    """What is shared by the parts that run a program under calls.c."""
    jobs = JOBS

    def __init__(self, tools):
        self.tracer = compile_helper("calls", tools)
        if self.tracer and subprocess.run([self.tracer, "-r", "/dev/null", "--", "/bin/true"], capture_output=True,
                                          check=False).returncode:
            self.tracer = None

    def missing(self):
        return None if self.tracer else "ptrace or seccomp is not allowed, or this is no x86-64"

    def trace(self, folder, *options):
        return [str(self.tracer), "-r", str(folder.path / "report"), *map(str, options), "--"]

    @staticmethod
    def report(folder):
        lines = (folder.path / "report").read_text().splitlines()
        return {name: int(number) for name, number in (line.split() for line in lines)}

    def counts(self, folder, job):
        folder.prepare(job, folder.reference(job).files)
        folder.run(job, self.trace(folder))
        return self.report(folder)

    def try_call(self, folder, job, fault, *options):
        outcome, why = folder.try_fault(job, fault, self.trace(folder, *options))
        report = self.report(folder)
        if outcome in (RIGHT, MESSAGE) and report["crashed"]:
            return "crash", "a child process crashed"
        return outcome if report["injected"] else None, why


class Calls(Traced):
    """A system call of the program, its threads or its children fails."""
    name = "calls"

    def points(self, folder, job):
        counts = self.counts(folder, job)
        for group, kinds in KINDS.items():
            for at in range(1, counts[group] + 1):
                for kind in kinds:
                    if job.pipe and (group, kind) == ("read", "end"):  # the input of a pipe ends where a read says so
                        continue
                    yield group, str(kind), "once", str(at)
                    if kind != errno.EINTR:
                        yield group, str(kind), "ever", str(at)

    def run(self, folder, job, group, kind, how, at):
        what = (group, int(kind) if kind.isdigit() else kind)
        must = RIGHT if what in OVERCOME else MESSAGE if what in REPORTED and not job.batch else None
        if (job.program, group) == ("equalize", "write"):  # its decoders write notes, which may be lost, into pipes
            must = None
        leaves = group == "unlink" or (group == "stat" and how == "ever")  # the file cannot be removed, or not be known
        late = group in ("sync", "close", "unlink", "rename", "link", "stat", "map", "advise", "open", "lock")
        fault = Fault(late=late, leaves=leaves, must=must)
        return self.try_call(folder, job, fault, "-c", group, "-a", at, "-k", kind, *(["-e"] if how == "ever" else []))


SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1, signal.SIGXCPU,
           signal.SIGKILL)


class Kills(Traced):
    """A signal ends the program before or after a system call, which is where the state of files changes, or at any
    instant."""
    name = "kills"
    INSTANTS = 25

    def points(self, folder, job):
        calls = self.counts(folder, job)["any"]
        for number in SIGNALS:
            for at in range(1, calls + 1):
                yield from ((str(int(number)), when, str(at)) for when in ("before", "after"))
            yield from ((str(int(number)), "instant", str(k)) for k in range(self.INSTANTS))

    def run(self, folder, job, number, when, at):
        number = int(number)
        fault = Fault(signal=number, late=True, leaves=number == signal.SIGKILL)
        if when == "instant":  # most runs take some 5 to 40 ms here
            seconds = (0.04 if job.program == "equalize" else 0.015) * int(at) / self.INSTANTS
            return folder.try_fault(job, fault, kill=(seconds, number))
        return self.try_call(folder, job, fault, "-c", "any", "-a", at, "-k", f"signal:{number}",
                             *(["-x"] if when == "after" else []))


class Disks:
    """The outputs go to file systems of 4, 8, 12 ... KiB, until they fit."""
    name, jobs = "disks", JOBS

    def __init__(self, tools):
        del tools
        self.mounted = {}

    def missing(self):
        return None if os.getuid() == 0 and shutil.which("mount") else "only root mounts"

    def mount(self, folder):
        """Mounts a file system as the folder of work, once."""
        if folder not in self.mounted:
            done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "none", folder.work], capture_output=True,
                                  check=False)
            self.mounted[folder] = done.returncode == 0
        return self.mounted[folder]

    def resize(self, folder, size):
        subprocess.run(["mount", "-o", f"remount,size={size}", folder.work], check=True, capture_output=True)

    def points(self, folder, job):
        if job.to_stdout:
            return
        total = sum(len(data or b"") for data, *_ in folder.reference(job).files.values())
        for kilobytes in range(4, total // 1024 + 4 * len(folder.reference(job).files) + 9, 4):
            yield (str(kilobytes),)

    def run(self, folder, job, kilobytes):
        good = folder.reference(job)
        if not self.mount(folder):
            return None, ""
        try:
            before = folder.prepare(job, good.files)
            self.resize(folder, f"{kilobytes}k")
        except (subprocess.CalledProcessError, OSError):  # the old files alone do not fit
            self.resize(folder, "1g")
            return None, ""
        result = folder.run(job)
        self.resize(folder, "1g")
        return folder.judge(job, Fault(), before, good, result)

    def close(self):
        for folder, done in self.mounted.items():
            if done:
                subprocess.run(["umount", folder.work], check=False)


class Limits:
    """Low limits of address space, open files, file size and processes, as a shell's ulimit sets them."""
    name, jobs = "limits", JOBS
    VALUES = {
        "as": [mib << 20 for mib in (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 28, 32, 48, 64, 96, 128, 192, 256)],
        "nofile": list(range(3, 24)),
        "fsize": [0, 1, 100, 512, 1024, 4095, 4096, 8192, 30_000, 65_536, 100_000, 200_000, 320_000],
        "nproc": list(range(1, 8)),
    }

    def __init__(self, tools):
        del tools
        self.starting = {}

    def missing(self):
        return None if shutil.which("prlimit") else "prlimit is not here"

    def points(self, folder, job):
        del folder
        for limit, values in self.VALUES.items():
            if limit != "nproc" or os.getuid() == 0:  # processes of a user of its own are counted
                yield from ((limit, str(value)) for value in values)

    def starts(self, program, wrapper):
        """The kernel ends by a signal a program that does not fit into its address space, before its first instruction."""
        key = (program, *wrapper)
        if key not in self.starting:
            result = subprocess.run([*wrapper, program, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.starting[key] = result.returncode >= 0
        return self.starting[key]

    def run(self, folder, job, limit, value):
        wrapper = ["prlimit", f"--{limit}={value}", "--core=0"]
        if limit == "as" and not self.starts(str(folder.programs / job.program), wrapper):
            return None, ""
        options = folder.as_somebody() if limit == "nproc" else {}
        outcome, why = folder.try_fault(job, Fault(late=limit != "fsize"), wrapper, **options)
        not_started = "error while loading shared libraries" in why or "prlimit: " in why
        return (None, "") if not_started else (outcome, why)


PARTS = {part.name: part for part in (Allocations, Calls, Cuda, Kills, Disks, Limits)}
