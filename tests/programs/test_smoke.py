# SPDX-License-Identifier: MIT
"""Each program on each of its formats, beside NumPy or Python, and each exit code, as they ship: what else they do with
files is tested with sanitizers, where those can host it (tests/CMakeLists.txt)."""
import os

import numpy as np
import pytest

from conftest import NO_DEVICE, TYPES, in_release, numbers, same
from image_files import bumps, png, pnm, read_image

pytestmark = in_release("the programs as they ship")

N = 70_001


def rows(x, y, delimiter=","):
    """A table of two columns, and its rows as bytes."""
    lines = [f"{a}{delimiter}{b}\n".encode() for a, b in zip(x.tolist(), y.tolist())]
    return f"k{delimiter}v\n".encode(), lines


@pytest.mark.parametrize("name", TYPES)
def test_arrays(box, name):
    x = numbers(name, N)
    box.save("x.npy", x)
    box.write("x.raw", x.tobytes())
    assert same(box.good("sort", "x.npy", "--verify").array, np.sort(x))
    assert box.good("sort", "--dtype", name, "-r", "x.raw").out == np.sort(x)[::-1].tobytes()
    assert same(box.good("sort", "--argsort", "x.npy").array.astype("u8"), np.argsort(x, kind="stable").astype("u8"))
    assert same(box.good("prefix", "--op", "max", "x.npy", "--verify").array, np.maximum.accumulate(x))
    assert same(box.good("compact", "--where", "x > 3", "x.npy", "--verify").array, x[x > 3])
    first = np.concatenate([[True], x[1:] != x[:-1]])
    assert box.good("compact", "--unique", "--dtype", name, "x.raw").out == x[first].tobytes()


def test_text(box):
    x = numbers("i32", N) >> 8
    box.write("x.txt", "".join(f"{v}\n" for v in x.tolist()))

    def lines(values):
        return "".join(f"{v}\n" for v in values.tolist()).encode()

    assert box.good("sort", "x.txt").out == lines(np.sort(x))
    assert box.good("prefix", "x.txt").out == lines(np.cumsum(x, dtype="i8"))
    assert box.good("compact", "--where", "x < 0", "x.txt").out == lines(x[x < 0])


@pytest.mark.parametrize("option, delimiter", [("--csv", ","), ("--tsv", "\t")])
def test_tables(box, option, delimiter):
    k, v = numbers("i16", N), np.arange(N)
    head, lines = rows(k, v, delimiter)
    table = head + b"".join(lines)
    order = np.argsort(k, kind="stable")
    assert box.good("sort", option, "-k", "k", "--verify", input=table).out == head + b"".join(lines[i] for i in order)
    assert box.good("compact", option, "--where", "k > 9", input=table).out == \
        head + b"".join(line for line, key in zip(lines, k) if key > 9)
    summed = box.good("prefix", option, "-k", "k", input=table).out.splitlines()[1:]
    assert [int(row.split(delimiter.encode())[-1]) for row in summed] == np.cumsum(k, dtype="i8").tolist()


@pytest.mark.parametrize("extra", [(), ("-S", "1M")])
def test_sorted_files_are_merged(box, extra):
    parts = [np.sort(numbers("u32", n)) for n in (N, 1, 0, 400_000)]
    names = [box.save(f"{i}.npy", part) for i, part in enumerate(parts)]
    assert same(box.good("sort", "--merge", *names, *extra).array, np.sort(np.concatenate(parts)))


@pytest.mark.parametrize("suffix, channels, dtype", [("pgm", 1, "u1"), ("ppm", 3, "u2"), ("png", 3, "u1"), ("jpg", 1, "u1")])
@pytest.mark.parametrize("method", ["global", "clahe"])
def test_images(box, method, suffix, channels, dtype):
    pixels = bumps(150, 181, channels, np.dtype(dtype), 1)
    box.write("in", png(pixels) if suffix in ("png", "jpg") else pnm(pixels))
    box.good("equalize", "--method", method, "--verify", "in", "-o", f"out.{suffix}")
    box.good("equalize", "--method", method, "--verify", f"out.{suffix}", "-o", "again.png")
    assert read_image(box.read("again.png")).shape[:2] == (150, 181)


@pytest.mark.parametrize("code, words", [
    (1, "sort -c x.txt"), (2, "sort --bogus"), (2, "prefix bad.npy"), (2, "compact --where x> x.txt"), (2, "equalize bad.npy -o o.png"),
    (3, "sort absent"), (3, "prefix x.txt -o no/o"), (3, "compact --nonzero x.txt -o no/o"), (3, "equalize absent -o o.png"),
    (4, "sort x.txt --device cuda"), (4, "prefix x.txt --device cuda"), (4, "compact --nonzero x.txt --device cuda")])
def test_exit_codes(box, code, words):
    box.write("x.txt", "2\n1\n")
    box.write("bad.npy", b"\x93NUMPY\x01\x00\x10")
    program, *arguments = words.split()
    box.refused(code, "", program, *arguments, env=dict(os.environ, **NO_DEVICE))
