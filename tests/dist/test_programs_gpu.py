# SPDX-License-Identifier: MIT
"""The programs under mpirun with --device cuda, on a machine with two GPUs or more: the bytes of one process, on its GPU and
on the CPU; and what happens when a rank dies, sees no GPU, or loses it."""
import concurrent.futures
import ctypes
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import time

import numpy as np
import pytest

from test_dist import BIN, ENVIRONMENT, MPIRUN
from test_programs import JOBS, adapt, files_of, kill_a_rank, make_data, ours, processes_of, skip_without_recovery

DEVICE = "cuda"
LARGE = {"SCAN_CUDA_FROM": "1"}  # with auto every job is large enough for a device
AT_ONCE = 6  # jobs, each of which starts a context on two GPUs


def count_gpus():
    if not shutil.which("nvidia-smi"):
        return 0
    return subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, check=False).stdout.count(b"\n")


GPUS = count_gpus()
pytestmark = [
    pytest.mark.skipif(not MPIRUN or not (BIN.parent / "lib/libscan_dist.so").exists(),
                       reason="no MPI: libscan_dist is not built, or mpirun is not here"),
    pytest.mark.skipif(GPUS < 2, reason=f"{GPUS} GPU, two are needed"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    make_data(folder)
    return folder


@pytest.fixture(scope="module")
def long_array(data):
    """256 MiB."""
    np.save(data / "long.npy", np.random.default_rng(23).integers(0, 1 << 32, 1 << 26, dtype="u4"))
    return data / "long.npy"


def contents(folder):
    """Of each file: what is long as a hash, which a failed assertion can show."""
    return {name: data if len(data) < 10000 else hashlib.sha256(data).hexdigest() for name, data in files_of(folder).items()}


def run(folder, arguments, ranks=(), **more):
    """Runs a program in a folder; ranks: of each its environment, none: without a launcher. Returns the exit code, the lines
    of ours, the files, all text, and the seconds."""
    command = [str(BIN / arguments[0]), *map(str, arguments[1:])]
    for number, variables in enumerate(ranks):
        rank = ["-n", "1", "env", *(f"{key}={value}" for key, value in variables.items()), *command]
        launched = [*launched, ":", *rank] if number else [MPIRUN, *rank]
    begin = time.monotonic()
    job = subprocess.Popen(launched if ranks else command, env=dict(ENVIRONMENT, **more), cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        text = job.communicate(timeout=40)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        job.terminate()
        text = "no end after 40 s\n" + job.communicate(timeout=20)[0].decode(errors="replace")
    return job.returncode, ours(text, arguments[0]), contents(folder), text, time.monotonic() - begin


class Place:
    """Folders beside the inputs, one for each run."""

    def __init__(self, data):
        self.data, self.number = data, 0

    def run(self, job, device, ranks=(), **more):
        self.number += 1
        folder = self.data / f"run-{self.number}"
        folder.mkdir()
        try:
            return run(folder, [*map(adapt, job.split()), "--device", device], ranks, **more)
        finally:
            shutil.rmtree(folder)


@pytest.fixture
def place(data):
    return Place(data)


def both(**more):
    return [more, more]


def show(*words):
    print("\n   ", *words, flush=True)


# ---- what one process writes -------------------------------------------------------------------------------------------------


def test_bytes_of_one_process(data):
    """Jobs run side by side."""

    def difference(number):
        job = JOBS[number]
        results = []
        for kind, device, ranks in (("cpu", "cpu", ()), ("gpu", DEVICE, ()), ("ranks", DEVICE, both())):
            folder = data / f"{kind}-{number}"
            folder.mkdir()
            results.append(run(folder, [*map(adapt, job.split()), "--device", device], ranks))
            shutil.rmtree(folder)
        cpu, gpu, two = results
        seconds = " ".join(f"{result[4]:.2f}" for result in results)
        if two[0] != gpu[0] or two[2] != gpu[2] or len(two[1]) != len(gpu[1]):
            return f"{job}: not the same as one GPU: {two[0]} {gpu[0]} {two[1]} {gpu[1]} {two[3][-1500:]}"
        if gpu[0] != cpu[0] or gpu[2] != cpu[2]:
            return f"{job}: one GPU is not the CPU: {gpu[:2]} {cpu[:2]}"
        if "mask" not in job and "grey images" not in job and two[1] != gpu[1]:  # which are compared earlier, and with others
            return f"{job}: other lines: {two[1]} {gpu[1]}"
        show(f"{job}: code {two[0]}, cpu, gpu, ranks: {seconds} s")
        return None

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = [line for line in pool.map(difference, range(len(JOBS))) if line]
    assert not found, "\n".join([f"{len(found)} of {len(JOBS)}", *found])


@pytest.mark.parametrize("job", ["sort LONG -o o.npy", "sort LONG -o o.npy --argsort -r", "prefix LONG -o o.npy",
                                 "compact --where x>1000000000 LONG -o o.npy --indices i.npy",
                                 "compact --unique LONG -o o.npy --counts c.npy"],
                         ids=["sort", "argsort", "prefix", "compact", "unique"])
def test_a_long_array(place, long_array, job):
    job = job.replace("LONG", str(long_array))
    cpu, gpu, two = place.run(job, "cpu"), place.run(job, DEVICE), place.run(job, DEVICE, both())
    show("cpu {:.2f}, gpu {:.2f}, ranks {:.2f} s".format(cpu[4], gpu[4], two[4]))
    assert (two[0], two[1]) == (gpu[0], gpu[1]) == (cpu[0], cpu[1]) == (0, []), two[3]
    assert two[2] == cpu[2] and gpu[2] == cpu[2]


def test_stats(place, data):
    code, _, files, text, _ = place.run("sort floats.npy -o o.npy --stats --json report", DEVICE, both())
    show(text)
    report = json.loads(files["report"])
    assert code == 0 and "rank 0 " in text and "rank 1 " in text
    assert len(report["ranks"]) == 2 and not report["device"].startswith("cpu") and "device_failed" not in report
    size = (data / "floats.npy").stat().st_size
    assert sum(rank["bytes_written"] for rank in report["ranks"]) == report["bytes_written"] >= size - 128
    show(files["report"].decode())


def test_each_rank_sees_one_device(place):
    """As a scheduler does it: each finds its own as the first."""
    job = "sort floats.npy -o o.npy --argsort"
    two = place.run(job, DEVICE, [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}])
    assert (two[0], two[1], two[2]) == (0, [], place.run(job, "cpu")[2]), two[3]


@pytest.mark.parametrize("ranks", [3, 4])
def test_more_ranks_than_devices(place, ranks):
    """NCCL takes no two ranks on one device."""
    job = "sort floats.npy -o o.npy"
    expected = place.run(job, "cpu")[2]
    done = place.run(job, DEVICE, [{}] * ranks)
    show(f"code {done[0]} after {done[4]:.1f} s: {done[1]}")
    if ranks <= GPUS:
        assert (done[0], done[1], done[2]) == (0, [], expected), done[3]
    else:
        assert (done[0], len(done[1]), done[2]) == (4, 1, {}), done[3]
    done = place.run(job, "auto", [{}] * ranks, **LARGE)
    show(f"auto: code {done[0]} after {done[4]:.1f} s: {done[1]}")
    assert (done[0], done[2]) == (0, expected), done[3]
    assert len(done[1]) == (ranks > GPUS), done[3]


# ---- no device, a lost device ------------------------------------------------------------------------------------------------

LOST = {"keys": "sort floats.npy -o o.npy", "argsort": "sort floats.npy -o o.npy --argsort", "prefix": "prefix finite.npy -o o.npy",
        "compact": "compact --where x>0 floats.npy -o o.npy --indices i.npy",
        "unique": "compact --unique runs.npy -o o.npy --counts c.npy", "text": "sort numbers.txt -o o",
        "table": "sort -k val:desc -k name:text table.csv -o o", "equalize": "equalize grey --together --out-dir o"}


@pytest.mark.parametrize("blind", [(0,), (1,), (0, 1)], ids=["first", "second", "both"])
def test_a_rank_sees_no_device(place, blind):
    ranks = [{"CUDA_VISIBLE_DEVICES": ""} if rank in blind else {} for rank in range(2)]
    for job in LOST.values():
        alone = place.run(job, DEVICE, CUDA_VISIBLE_DEVICES="")
        done = place.run(job, DEVICE, ranks)
        show(f"{job}: code {done[0]} after {done[4]:.1f} s: {done[1]}; alone {alone[0]}: {alone[1]}")
        assert (done[0], len(done[1]), done[2]) == (alone[0], len(alone[1]), alone[2]), (job, done[3])
        done = place.run(job, "auto", ranks, **LARGE)
        show(f"auto: code {done[0]} after {done[4]:.1f} s: {done[1]}")
        assert (done[0], done[2]) == (0, place.run(job, "cpu")[2]), (job, done[3])
        assert len(done[1]) == 1 and done[1][0].endswith("; the CPU does the job"), (job, done[3])


@pytest.fixture(scope="module")
def loss(tmp_path_factory):
    """The folder of a libcuda.so.1 that loses its device (loss/device_loss.c)."""
    folder = tmp_path_factory.mktemp("loss")
    made = os.environ.get("SCAN_DEVICE_LOSS")  # where there is no compiler
    real = folder / "libcuda_real.so.1"
    if made:
        shutil.copy(made, folder / "libcuda.so.1")
    else:
        source = pathlib.Path(__file__).with_name("loss") / "device_loss.c"
        (folder / "empty.c").write_text("int cuda_real;\n")
        command = ["cc", "-O1", "-shared", "-fPIC", "-Wl,--no-as-needed"]
        subprocess.run([*command, f"-Wl,-soname,{real.name}", "-o", real, folder / "empty.c"], check=True)
        subprocess.run([*command, "-Wl,-soname,libcuda_loss.so", "-o", folder / "libcuda.so.1", source, real], check=True)
        real.unlink()
    ctypes.CDLL("libcuda.so.1")
    with open("/proc/self/maps", encoding="ascii") as maps:
        real.symlink_to(next(line.split()[-1] for line in maps if "/libcuda.so" in line))
    return folder


def losing(folder, **more):
    path = os.environ.get("LD_LIBRARY_PATH")
    return dict(more, LD_LIBRARY_PATH=f"{folder}:{path}" if path else str(folder))


@pytest.mark.parametrize("name", LOST)
def test_a_rank_loses_its_device(place, data, loss, name):
    """Images of a folder that were written before stay; no other output does."""
    job = LOST[name]
    expected = place.run(job, "cpu")[2]
    counts = [data / f"count-{time.time_ns()}-{rank}" for rank in range(2)]
    done = place.run(job, DEVICE, [losing(loss, LAUNCH_COUNT=count) for count in counts])
    assert (done[0], done[1], done[2]) == (0, [], expected), done[3]
    launches = [count.stat().st_size if count.exists() else 0 for count in counts]
    show(f"{launches} launches")
    losers = [rank for rank in range(2) if launches[rank]]  # a short array of prefix is one rank's
    assert losers
    seed = time.time_ns() % 1000000
    rng = random.Random(seed)
    failed = warned = 0
    for part in 0, 0.5, 1, rng.random(), rng.random():
        loser = rng.choice(losers)
        at = max(1, round(part * launches[loser]))
        ranks = [losing(loss, LOSE_DEVICE_AT=at) if rank == loser else {} for rank in range(2)]
        done = place.run(job, DEVICE, ranks)
        show(f"launch {at} of rank {loser}: code {done[0]} after {done[4]:.1f} s: {done[1]}")
        what = seed, at, loser, done[3]
        if done[0] == 0:  # not all jobs have the same number of launches
            assert (done[1], done[2]) == ([], expected), what
        else:
            assert (done[0], len(done[1])) == (4, 1) and done[4] < 15, what
            assert done[2].items() <= expected.items() if name == "equalize" else not done[2], what
            failed += 1
        done = place.run(job, "auto", ranks, **LARGE)
        show(f"auto: code {done[0]} after {done[4]:.1f} s: {done[1]}")
        what = seed, at, loser, done[3]
        assert (done[0], done[2]) == (0, expected) and done[4] < 15, what
        assert len(done[1]) <= 1 and all(line.endswith("; the CPU does the job") for line in done[1]), what
        warned += len(done[1])
    assert failed >= 1 and warned >= 1


# ---- a rank is killed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launcher", [(), ("--enable-recovery",)], ids=["default", "recovery"])
def test_killed(data, long_array, tmp_path, launcher):
    skip_without_recovery(launcher)
    seed = time.time_ns() % 1000000
    rng = random.Random(seed)
    expected = None
    ended = 0
    for tries in range(12):
        delay = tries % 6 * rng.uniform(0.05, 0.35)  # the device is opened, NCCL starts, the exchange is under way
        text, seconds = kill_a_rank(tmp_path, rng, 2, delay, long_array, "--argsort", "--device", DEVICE,
                                    launcher=launcher)
        left = contents(tmp_path)
        show(f"{delay:.2f} s after the start: ended in {seconds:.2f} s: {ours(text, 'sort')} {list(left)}")
        assert seconds < 15 and not processes_of(tmp_path), seed
        assert len(ours(text, "sort")) <= 1, (seed, text)
        ended += not left
        assert set(left) <= {"o.npy"}, (seed, left.keys())
        if left:
            (tmp_path / "o.npy").unlink()
            if expected is None:
                folder = data / "expected"
                folder.mkdir(exist_ok=True)
                expected = run(folder, ["sort", long_array, "--argsort", "-f", "-o", "o.npy"])[2]
            assert left == expected, seed
    assert ended >= 2, (seed, "no rank was killed before it was done")
