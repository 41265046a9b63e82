# SPDX-License-Identifier: MIT
"""tools/bench --tables: the jobs run, and contenders that are there agree on the results."""
import pathlib
import subprocess
import sys

from conftest import in_release

pytestmark = in_release("a tool: what it prints and checks")

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/bench_tables.py"


def bench(tmp_path, *arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, "--rows", "1000", "--rounds", "1", "--threads", "2", "--folder", tmp_path, *arguments], capture_output=True,
                          text=True, timeout=100, check=False)


def test_jobs(tmp_path):
    for only, count in (("sort", 5), ("gzip", 1), ("dates", 1)):
        done = bench(tmp_path, "--only", only)
        assert done.returncode == 0 and not done.stderr and "another result" not in done.stdout, done.stderr
        assert done.stdout.count("  scan: ") == count and done.stdout.count("  GNU sort") == (3 if only == "sort" else 0)
    assert not list(tmp_path.iterdir())


def test_no_such_job(tmp_path):
    done = bench(tmp_path, "--only", "xyz")
    assert done.returncode == 2 and 'no job has "xyz" in its name: sort by text' in done.stderr
