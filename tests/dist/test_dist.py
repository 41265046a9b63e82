# SPDX-License-Identifier: MIT
"""libscan_dist under mpirun, with more ranks than processors: one run for each number of ranks."""
import os
import pathlib
import shutil
import subprocess

import pytest

BIN = pathlib.Path(os.environ.get("SCAN_BIN", "build/bin")).resolve()
MPIRUN = shutil.which("mpirun")

pytestmark = pytest.mark.skipif(not MPIRUN or not (BIN / "test_dist").exists(),
                                reason="no MPI: libscan_dist is not built, or mpirun is not here")

# Open MPI: root may run, ranks are not bound to processors that others use too, and need no right to trace each other.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   OMPI_MCA_btl="self,vader", OMPI_MCA_btl_vader_single_copy_mechanism="none")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_library(ranks):
    done = subprocess.run([MPIRUN, "-n", str(ranks), str(BIN / "test_dist")], env=ENVIRONMENT, timeout=300, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (done.returncode, done.stdout.decode()) == (0, f"{ranks} ranks: passed\n")
