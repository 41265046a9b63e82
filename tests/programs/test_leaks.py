# SPDX-License-Identifier: MIT
"""What a program that succeeds has not freed, by AddressSanitizer's leak checker. It is off in the other tests, because
it makes each run half as long again: here every program runs once for each way in which it holds its input."""
import os
import pathlib

import numpy as np
import pytest

from conftest import SANITIZED, in_sanitized

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
QUAKES = DATA / "earthquakes.csv"
OPTIONS = "allocator_may_return_null=1:detect_leaks=1"

pytestmark = [
    in_sanitized("counts what is not freed"),
    pytest.mark.skipif(not SANITIZED, reason="needs AddressSanitizer"),
]


def leaks_nothing(box, *command):
    result = box.run(*command, env=dict(os.environ, ASAN_OPTIONS=OPTIONS))
    if "LeakSanitizer has encountered a fatal error" in result.err:
        pytest.skip("the leak checker may not trace here")
    assert (result.code, result.err) == (0, ""), result.err


@pytest.mark.parametrize("command", [
    ("prefix", "x.npy", "-o", "out.npy", "--verify"),
    ("prefix", "--axis", "0", "m.npy", "-o", "out.npy"),
    ("prefix", "--reverse", "x.txt", "-o", "out.txt"),
    ("prefix", "-k", "magnitude", QUAKES, "-o", "out.csv"),
    ("compact", "--where", "x > 3 && i < 900", "x.npy", "-o", "out.npy", "--indices", "i.npy", "--rejected", "r.npy"),
    ("compact", "--where", "x > 3", "x.txt", "-o", "out.txt"),
    ("compact", "--where", 'x >= "5" && x != "7"', "--text", "x.txt", "-o", "out.txt"),
    ("compact", "--where", 'place contains "Alaska" && magnitude > depth_km || place in ("a", "b")', QUAKES, "-o", "out.csv"),
    ("compact", "--unique", "--axis", "0", "m.npy", "-o", "out.npy"),
    ("compact", "--unique", "--counts", "n.txt", "--text", "x.txt", "-o", "out.txt"),
    ("compact", "--mask", "mask.npy", "x.npy", "-o", "out.npy", "--verify"),
    ("sort", "x.npy", "-o", "out.npy", "--verify"),
    ("sort", "--argsort", "--axis", "1", "m.npy", "-o", "out.npy"),
    ("sort", "-u", "x.txt", "-o", "out.txt"),
    ("sort", "-S", "1M", "--argsort", "-u", "y.npy", "-o", "out.npy"),
    ("sort", "-S", "1M", "--argsort", "-u", "y.txt", "-o", "out.txt", "--verify"),
    ("sort", "-S", "1M", "--check", "y.txt"),
    ("sort", "--merge", "-S", "4M", "y.npy", "y.npy", "-o", "out.npy"),  # the checker looks at all memory that is held
    ("sort", "--merge", "-S", "4M", "-u", "-k", "a:text", "y.csv", "y.csv", "-o", "out.csv"),
    ("sort", "-k", "magnitude:desc", "-k", "place:natural", "-k", "time:time", QUAKES, "-o", "out.csv", "--verify"),
    ("equalize", DATA / "jacksboro_dem.pgm", "-o", "out.png", "--plot", "plot.svg", "--json", "report.json"),
    ("equalize", "--method", "clahe", DATA / "cell.png", "-o", "out.jpg"),
    ("equalize", "--mask", "mask.pgm", "a.pgm", "-o", "out.png"),
    ("equalize", "-f", "a.pgm", "mask.pgm", "--out-dir", "."),
], ids=lambda command: "-".join(str(word).strip("-") for word in command[:2]))
def test_nothing_leaks(box, command):
    rng = np.random.default_rng(1)
    x = box.load(box.save("x.npy", rng.integers(0, 9, 1000)))
    box.save("m.npy", x.reshape(50, 20))
    box.save("mask.npy", x > 4)
    box.write("x.txt", "".join(f"{v}\n" for v in x))
    box.save("y.npy", np.arange(40_000))
    box.write("y.txt", "".join(f"{2 ** 53 + v}\n" for v in range(20_000)))
    box.write("y.csv", "a\n" + "".join(f"{v}\n" for v in range(1000, 5000)))
    for name in ("a.pgm", "mask.pgm"):
        box.write(name, b"P5 20 15 255\n" + rng.integers(0, 255, 300, dtype="u1").tobytes())
    leaks_nothing(box, *command)
