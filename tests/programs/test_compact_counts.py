# SPDX-License-Identifier: MIT
"""compact --unique --counts, against itertools.groupby, and --count."""
import itertools
import random

import numpy as np
import pytest

from conftest import in_sanitized

pytestmark = in_sanitized("buffers of growing rows")


def runs(values):
    return [(key, len(list(group))) for key, group in itertools.groupby(values)]


@pytest.mark.parametrize("n, longest", [(0, 1), (1, 1), (2, 1), (1000, 3), (262_145, 1), (600_000, 3), (900_000, 700_000)])
def test_counts_of_arrays(box, n, longest):
    """Arrays go in pieces: runs end within them, at their ends, and far behind. f64: a piece has 2^18 elements."""
    rng = np.random.default_rng(n)
    values = np.repeat(np.arange(n, dtype="f8"), rng.integers(1, longest + 1, n))[:n] if longest < 10 else np.repeat([1.0, 2.0, 3.0], longest)[:n]
    box.save("in.npy", values)
    expected = runs(values.tolist())
    for more in ([], ["--rejected", "rest.npy"], ["--indices", "i.npy"]):
        result = box.good("compact", "--unique", "--counts", "n.npy", "--verify", "-f", *more, "in.npy").array
        assert result.tolist() == [key for key, _ in expected]
        counts = box.load("n.npy")
        assert counts.dtype == np.uint64 and counts.tolist() == [count for _, count in expected]
    box.write("in.raw", values.tobytes())
    box.good("compact", "--unique", "--counts", "n.raw", "--dtype", "f64", "in.raw", "-o", "/dev/null")
    assert np.frombuffer(box.read("n.raw"), "u8").tolist() == [count for _, count in expected]
    assert box.good("compact", "--unique", "--count", "in.npy").out == b"%d\n" % len(expected)


def test_counts_of_special_values(box):
    box.save("in.npy", np.array([np.nan, np.nan, -0.0, 0.0, 0.0, np.inf]))
    box.good("compact", "--unique", "--counts", "n.npy", "in.npy", "-o", "out.npy")
    assert box.load("n.npy").tolist() == [2, 3, 1]


@pytest.mark.parametrize("name, read", [
    ("n.npy", lambda box: box.load("n.npy")), ("n.raw", lambda box: np.frombuffer(box.read("n.raw"), "u8")), ("n.txt", lambda box: np.array(box.read("n.txt").split(), "u8")), ("n", lambda box: box.load("n")),
])
def test_name_says_format_of_counts(box, name, read):
    """As of -o and --indices; of an array by elements and by rows. The count is text, whatever it is called."""
    box.save("in.npy", np.array([[1, 1], [1, 1], [2, 2], [1, 1]]))
    for axis, expected in (["--flat"], [4, 2, 2]), (["--axis", 0], [2, 1, 1]):
        box.good("compact", "--unique", "--counts", name, "-f", "-o", "out.txt", *axis, "in.npy")
        assert read(box).tolist() == expected
        box.good("compact", "--unique", "--count", "-f", "-o", name, *axis, "in.npy")
        assert box.read(name) == b"3\n"


def test_counts_of_lines(box):
    rng = random.Random(1)
    words = sorted(rng.choice(["", "a", "b b", "c", "\xe9"]) for _ in range(70_000))
    result = box.good("compact", "--unique", "--text", "--counts", "n.txt", "--verify", "--threads", 3, input="".join(w + "\n" for w in words).encode())
    assert list(zip(result.out.decode().split("\n")[:-1], map(int, box.read("n.txt").split()))) == runs(words)
    numbers = sorted(rng.randrange(50) for _ in range(1000))
    box.good("compact", "--unique", "--counts", "n.npy", "-o", "out.txt", input="".join(f"{x}\n" for x in numbers).encode())
    assert list(zip(map(int, box.read("out.txt").split()), box.load("n.npy").tolist())) == runs(numbers)
    box.good("compact", "--unique", "--counts", "n.raw", "--indices", "i.raw", input=b"5\n5\n7\n")  # of lines .npy alone is another format
    assert (box.read("n.raw"), box.read("i.raw")) == (b"2\n1\n", b"0\n2\n")
    box.good("compact", "--unique", "--counts", "empty.txt", input=b"")
    assert box.read("empty.txt") == b""


@pytest.mark.parametrize("arguments, data, count", [
    (["--where", "x > 2"], b"1\n2\n3\n4\n", 2), (["--where", "x > 2", "--invert"], b"1\n2\n3\n4\n5\n", 2), (["--csv", "--where", "a > 9"], b"a\n1\n", 0), (["--text", "--where", 'x contains "a"'], b"a\nba\nc\n", 2),
    (["--nonzero", "--dtype", "u8"], bytes([0, 1, 2, 0]), 2), (["--nonzero", "--dtype", "u8", "--invert"], bytes([0, 1, 2, 0]), 2), (["--unique", "--text"], b"a\na\nb\n", 2), (["--finite"], b"nan\n1\n", 1),
])
def test_count(box, arguments, data, count):
    """A line with the number, whatever the input's format."""
    assert box.good("compact", "--count", "--verify", *arguments, input=data).out == b"%d\n" % count
    box.good("compact", "--count", *arguments, "-o", "n.txt", input=data)
    assert box.read("n.txt") == b"%d\n" % count and box.names() == ["n.txt"]


@pytest.mark.parametrize("arguments, text", [
    (["--count", "--unique", "--counts", "n"], "--count writes how many are kept, nothing else: --counts does not go with it"), (["--count", "--finite", "--rejected", "n"], "nothing else: --rejected"),
    (["--count", "--finite", "--indices", "n"], "nothing else: --indices"), (["--counts", "n", "--finite"], "--counts gives the lengths of runs: it goes with --unique, without --invert"),
    (["--counts", "n", "--unique", "--invert"], "--counts gives the lengths of runs"), (["--counts", "", "--unique"], "--counts: the name is empty"),
])
def test_refused(box, arguments, text):
    box.refused(2, text, "compact", *arguments, input=b"1\n")


def test_help_says_what_unique_does_with_text(box):
    assert "--text of lines with the same bytes" in box.good("compact", "--help").out.decode()
