# SPDX-License-Identifier: MIT
"""libscan_dist under mpirun, with more ranks than processors: one run for each number of ranks."""
import os
import pathlib
import shutil
import subprocess
import time

import pytest

BIN = pathlib.Path(os.environ.get("SCAN_BIN", "build/bin")).resolve()
MPIRUN = shutil.which("mpirun")

pytestmark = pytest.mark.skipif(not MPIRUN or not (BIN / "test_dist").exists(),
                                reason="no MPI: libscan_dist is not built, or mpirun is not here")

# Open MPI: root may run, ranks are not bound to processors that others use too, and need no right to trace each other. Each
# would look at every processor and device first, a quarter of its time: hwloc is told of a plain machine, and is without its
# plugins, for which libraries of X11 and OpenCL are loaded, a tenth of the time of a short job. Ranks that wait let others
# run: else they take a third of the processors' time.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader", OMPI_MCA_btl_vader_single_copy_mechanism="none",
                   OMPI_MCA_mpi_yield_when_idle="1",
                   HWLOC_SYNTHETIC=f"core:{os.cpu_count()} pu:1", HWLOC_PLUGINS_PATH=os.devnull)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], env=ENVIRONMENT, timeout=300, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_library(ranks):
    done = run(MPIRUN, "-n", ranks, BIN / "test_dist")
    assert (done.returncode, done.stdout.decode()) == (0, f"{ranks} ranks: passed\n")


@pytest.mark.parametrize("ranks", [1, 3])
def test_memory_is_refused_on_one_rank(ranks):
    done = run(MPIRUN, "-n", ranks, BIN / "test_dist_memory")
    assert done.returncode == 0 and done.stdout.decode().endswith("refusals: passed\n"), done.stdout.decode()


@pytest.mark.parametrize("how, cause, words", [("kill", 13, "the process has ended"), ("leave", 13, "the process has ended"),
                                               ("abort", 7, "no room for more")])
def test_every_rank_hears_of_a_failure(tmp_path, how, cause, words):
    """By itself: this launcher leaves the other ranks alone."""
    if b"Open MPI" not in run(MPIRUN, "--version").stdout:
        pytest.skip("this launcher ends all ranks with the first")
    seed = time.time_ns() % 1000000
    run(MPIRUN, "--enable-recovery", "-n", 4, BIN / "test_dist_failure", how, seed, cwd=tmp_path)
    heard = {path.name: path.read_text() for path in tmp_path.glob("rank-*")}
    ranks = {text.split(":")[0] for text in heard.values()}
    assert len(heard) == 3 and len(ranks) == 1 and f"rank-{min(ranks)}" not in heard, (seed, heard)
    assert set(heard.values()) == {f"{min(ranks)}: 13 {cause}: rank {min(ranks)}: {words}, soon\n"}, seed


def test_a_killed_rank_ends_the_job(tmp_path):
    begin = time.monotonic()
    done = run(MPIRUN, "-n", 4, BIN / "test_dist_failure", "kill", time.time_ns() % 1000000, cwd=tmp_path)
    assert done.returncode != 0 and time.monotonic() - begin < 20
