# SPDX-License-Identifier: MIT
"""The short form of output_loops.py: runs at once, runs that are killed. SCAN_LOOPS multiplies them."""
import os
import signal

import pytest

from conftest import BIN, SANITIZED, in_release
from output_loops import MODES, Loops

pytestmark = in_release("names of files, signals")

TIMES = int(os.environ.get("SCAN_LOOPS", "1"))
WITH_LOCKS = [words for mode, words in MODES.items() if mode != "no flock"]  # a file system has locks or not


@pytest.fixture
def loops(tmp_path, library):
    (tmp_path / "box").mkdir()
    loops = Loops(tmp_path / "box", BIN, library)
    yield loops
    assert not loops.wrong, loops.examples


@pytest.mark.parametrize("words", [[""], ["no_tmpfile"], WITH_LOCKS])
def test_the_last_of_many_runs_wins(loops, words):
    loops.replacing(24 * TIMES, words)
    assert loops.counts["replacing runs"] == 24 * TIMES


def test_killed_runs_do_not_disturb_others(loops):
    loops.replacing(32 * TIMES, WITH_LOCKS, kill_share=0.3)
    assert loops.counts["replacing runs"] == 32 * TIMES


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("words", [[""], ["no_tmpfile"], WITH_LOCKS])
def test_one_of_many_runs_makes_the_file(loops, words, force):
    loops.creating(2 * TIMES, words, 6, force)
    assert loops.counts["creating runs"] == 12 * TIMES


@pytest.mark.parametrize("words", ["", "no_tmpfile"])
def test_killed_at_any_instant(loops, words):
    loops.killing(12 * TIMES, words)
    assert loops.counts["kills"] > 0


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("words", MODES.values() if not SANITIZED else WITH_LOCKS[:2])
def test_killed_before_each_step(loops, words, force):
    assert loops.steps(words, force) >= 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGRTMAX] if not SANITIZED else [signal.SIGTERM])
@pytest.mark.parametrize("words", ["", "no_tmpfile"])
def test_ended_before_each_step(loops, words, number):
    assert loops.steps(words, True, number) >= 5
