# SPDX-License-Identifier: MIT
"""compact on lines of several chunks of 512 KiB: lines of all lengths lie across their ends. The oracle is the list of lines that made the text."""
import gzip
import itertools
import random

import numpy as np
import pytest

from conftest import in_sanitized

pytestmark = in_sanitized("lines across the ends of buffers")

CHUNK = 512 << 10
MARK = b"\xef\xbb\xbf"


def numbers(seed, total, write):
    """(value, bytes of the line); blanks make lines of all lengths, one longer than two chunks, and equal values follow each other."""
    rng, lines, size = random.Random(seed), [], 0
    while size < total:
        value = rng.choice([lines[-1][0] if lines else 0, rng.randrange(-5, 6)])
        pad = 2 * CHUNK + 9 if len(lines) == 50 else rng.choice([0, 1, 30, 300, 900])
        line = b" " * (pad // 2) + write(rng, value) + b" " * (pad - pad // 2) + rng.choice([b"", b"\r"]) + b"\n"
        lines.append((value, line))
        size += len(line)
    return lines


WRITE = {"i64": lambda rng, v: b"%+d" % v,
         "f64": lambda rng, v: rng.choice([b"%d", b"%d.0", b"%de0"]) % v}


def starts_of_runs(values):
    return [i for i, v in enumerate(values) if i == 0 or v != values[i - 1]]


@pytest.mark.parametrize("kind", WRITE)
def test_numbers(box, kind):
    lines = numbers(kind, 4 * CHUNK, WRITE[kind])
    values = [v for v, _ in lines]
    box.write("in.txt", MARK + b"".join(line for _, line in lines)[:-1])
    box.save("mask.npy", np.array([v > 1 for v in values]))
    runs = starts_of_runs(values)
    jobs = {("--where", "x > 1 && i != 20 || i == 70"): [i for i, v in enumerate(values) if v > 1 and i != 20 or i == 70],
            ("--nonzero",): [i for i, v in enumerate(values) if v],
            ("--mask", "mask.npy"): [i for i, v in enumerate(values) if v > 1],
            ("--unique",): runs}
    for (options, keep), threads in zip(jobs.items(), itertools.cycle((1, 3))):
        chosen = set(keep)
        rest = [i for i in range(len(values)) if i not in chosen]
        for invert, (kept, others) in ((), (keep, rest)), (("--invert",), (rest, keep)):
            box.good("compact", *options, *invert, "in.txt", "--threads", threads, "--verify", "-f", "-o", "kept", "--rejected", "rest", "--indices", "at.npy")
            assert box.read("kept") == MARK + b"".join(lines[i][1] for i in kept)
            assert box.read("rest") == MARK + b"".join(lines[i][1] for i in others)
            at = box.load("at.npy")
            assert at.dtype == np.uint32 and at.tolist() == kept
        assert box.good("compact", *options, "--count", "in.txt").out == b"%d\n" % len(keep)
    piped = box.good("compact", "--unique", "--counts", "n.txt", "--indices", "i.txt", "-f", input=gzip.compress(box.read("in.txt"), 1)).out
    assert piped == MARK + b"".join(lines[i][1] for i in runs)
    assert box.read("n.txt") == b"".join(b"%d\n" % n for n in np.diff(runs + [len(values)]))
    assert box.read("i.txt") == b"".join(b"%d\n" % i for i in runs)


def test_text(box):
    rng, lines, size = random.Random(7), [], 0
    while size < 3 * CHUNK:
        line = lines[-1] if lines and rng.random() < 0.4 else bytes(rng.choices(b"ab\r \0\xff", k=rng.choice([0, 1, 5, 600])))
        if len(lines) == 99:
            line = b"long" * CHUNK
        lines += [line] * (3 if len(lines) == 99 else 1)
        size += len(line)
    box.write("in.txt", b"\n".join(lines))
    runs = starts_of_runs(lines)
    for options, keep in ((("--where", 'x contains "ab" && i > 3'), [i for i, line in enumerate(lines) if b"ab" in line and i > 3]), (("--unique",), runs)):
        box.good("compact", "--text", *options, "in.txt", "--threads", 3, "--verify", "-f", "-o", "kept", "--rejected", "rest", "--indices", "at.npy")
        chosen = set(keep)
        assert box.read("kept") == b"".join(lines[i] + b"\n" for i in keep)
        assert box.read("rest") == b"".join(line + b"\n" for i, line in enumerate(lines) if i not in chosen)
        assert box.load("at.npy").tolist() == keep


def test_many_indices(box):
    """More than are held in memory."""
    text = b"".join(b"%d\n" % (i % 3) for i in range(500_000))
    expected = [i for i in range(500_000) if i % 3]
    box.good("compact", "--nonzero", "--indices", "at.npy", "-o", "kept", input=text)
    assert box.load("at.npy").tolist() == expected
    box.good("compact", "--nonzero", "--indices", "at.txt", "-f", "-o", "kept", input=text)
    assert box.read("at.txt") == b"".join(b"%d\n" % i for i in expected)


@pytest.mark.parametrize("change,message", [
    ({150_000: b"x", 170_000: b"y"}, 'line 150001, column 1: "x" is not a number'),
    ({150_000: b""}, "line 150001 is empty"),
    ({5: b"9007199254740993", 150_000: b"1.5"}, 'line 6, column 1: "9007199254740993" is beyond 2^53'),
    ({5: b"1.5", 150_000: b"9007199254740993"}, 'line 150001, column 1: "9007199254740993" is beyond 2^53'),
    ({5: b"18446744073709551615", 150_000: b"-1"}, 'line 6, column 1: "18446744073709551615" does not fit i64'),
])
def test_errors(box, change, message):
    lines = [change.get(i, b"%d" % i) for i in range(200_000)]
    for options in ("--where", "x > 3"), ("--unique",):
        box.refused(2, message, "compact", *options, "--threads", 3, "-o", "out", input=b"\n".join(lines))
    result = box.run("compact", "--nonzero", input=b"\n".join(lines))
    assert result.code == 2 and message in result.err and b"\n".join(lines[1:] if 0 not in change else lines).startswith(result.out)


def test_unique_across_types(box):
    """The last line of a chunk and the first of the next are compared by their values, whatever the types of their chunks are."""
    for first, second, differ in ((b"7", b"7.0", 0), (b"-0", b"0.0", 0), (b"nan", b"NaN", 0), (b"9223372036854775807", b"9223372036854775808", 1), (b"7", b"7.5", 1)):
        pad = b" " * (CHUNK - 3 * len(first) - 2)
        text = first + b"\n" + pad + first + b"\n" + second + b"\n" + second + b"\n" + b"5\n" * CHUNK
        assert box.good("compact", "--unique", "--count", input=text).out == b"%d\n" % (2 + differ)


def test_masks_of_another_length(box):
    box.save("mask.npy", np.ones(300_000, bool))
    text = b"1\n" * 300_000
    assert box.good("compact", "--mask", "mask.npy", input=text).out == text
    box.refused(2, "the mask has 300000 elements, fewer than the input", "compact", "--mask", "mask.npy", "-o", "out", input=text + b"1\n")
    box.refused(2, "the mask has 300000 elements, the input has 299999", "compact", "--mask", "mask.npy", "-o", "out", input=text[:-2])
    box.refused(2, 'line 5, column 1: "x"', "compact", "--mask", "mask.npy", "-o", "out", input=text[:8] + b"x\n" + text)


def test_empty(box):
    for text in b"", MARK:
        for options in ("--nonzero",), ("--unique",), ("--text", "--unique"):
            assert box.good("compact", *options, input=text).out == text
