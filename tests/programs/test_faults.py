# SPDX-License-Identifier: MIT
"""Allocations and system calls fail, runs are killed, disks are full, limits are low: a sample, the same in every run, of
the points that tools/faults tries all. ../faults says what is made to fail and what a run may end with."""
import collections
import pathlib
import sys
import tempfile

import pytest

from conftest import BIN, CACHE, SANITIZED

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
from faults import Log, Loop, fast_place  # noqa: E402
from parts import PARTS  # noqa: E402
from runs import FINDINGS, MESSAGE, RIGHT  # noqa: E402

# Sanitizers bring their own allocator, make calls of their own, need much address space, and start slowly.
FILE_CALLS = {"read", "write", "sync", "rename", "link", "unlink", "resize", "mode", "owner", "attribute"}
SAMPLES = {"calls": 80} if SANITIZED else {"allocations": 400, "calls": 900, "kills": 250, "disks": 150, "limits": 90}
# Where branches are counted, low limits and failed allocations would strike the calls that write the counts too.
if CACHE.exists() and "SCAN_COVERAGE:BOOL=ON" in CACHE.read_text():
    SAMPLES = {"calls": 2000}


@pytest.fixture(scope="module")
def place():
    """A folder in memory, open to the user as whom one part runs programs."""
    with tempfile.TemporaryDirectory(dir=fast_place(), prefix="scan-faults-") as folder:
        pathlib.Path(folder).chmod(0o755)
        yield pathlib.Path(folder)


@pytest.mark.parametrize("name", SAMPLES)
def test_faults(place, name, tmp_path):
    part = PARTS[name](place)
    if part.missing():
        pytest.skip(part.missing())
    log = Log(tmp_path / "log", "")
    loop = Loop([part], BIN, log, place / f"of-{name}", workers=1, seed=1, jobs_at_most=8 if SANITIZED else 24)
    points = [point for point in loop.points() if not SANITIZED or point[2] in FILE_CALLS]
    loop.run(points[:SAMPLES[name]], None)
    loop.close()
    counts = collections.Counter(log.outcomes.values())
    assert not any(counts[finding] for finding in FINDINGS)
    assert counts[MESSAGE] > 5 and (counts[RIGHT] > 5 or name == "allocations")
    assert counts[MESSAGE] + counts[RIGHT] > SAMPLES[name] // 2
