# SPDX-License-Identifier: MIT
"""Arrays of several dimensions, along an axis or as one row, in C and in Fortran order, against NumPy; bool; and outputs
in another format than the input."""
import io

import numpy as np
import pytest

from conftest import TYPES, in_sanitized

pytestmark = in_sanitized("sizes and strides from headers")

SHAPES = [(7, 11), (3, 5, 4), (1, 40, 1), (2, 3, 1, 5), (300, 70), (33, 1), (4, 0, 3)]


def sample(name, shape, seed=1):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(TYPES[name])
    if dtype.kind == "f":
        data = rng.integers(-9, 9, shape).astype(dtype) / 4
        data[rng.random(shape) < 0.05] = np.nan
        return data
    return rng.integers(0, 30, shape).astype(dtype)


def same(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    assert np.array_equal(got, want, equal_nan=got.dtype.kind == "f")


@pytest.mark.parametrize("shape", SHAPES)
def test_along_every_axis(box, shape):
    name = list(TYPES)[SHAPES.index(shape) * 3 % len(TYPES)]
    data = sample(name, shape)
    box.save("in.npy", data)
    for axis in range(-len(shape), len(shape)):
        run = ("--axis", axis, "in.npy")
        same(box.good("sort", *run).array, np.sort(data, axis, kind="stable"))
        if axis >= 0:
            order = box.good("sort", *run, "--argsort", "--verify").array
            same(order, np.argsort(data, axis, kind="stable").astype("u4"))
            wide = np.dtype("f8" if data.dtype.kind == "f" else f"{data.dtype.kind}8")
            sums = box.good("prefix", *run, "--verify", *(["--out-dtype", "f64"] if name == "f32" else [])).array
            same(sums, np.cumsum(data, axis, dtype=wide))


@pytest.mark.parametrize("order", "CF")
def test_memory_orders(box, order):
    data = np.asarray(sample("f64", (13, 6, 9)), order=order)
    box.save("in.npy", data)
    assert np.load(box.path / "in.npy").flags.f_contiguous == (order == "F")
    same(box.good("sort", "--axis", 1, "-r", "--verify", "in.npy").array, -np.sort(-data, 1))
    same(box.good("sort", "--flat", "in.npy").array, np.sort(data, None).reshape(data.shape))
    same(box.good("sort", "--flat", "--argsort", "in.npy").array.ravel(), np.argsort(data, None, "stable").astype("u4"))
    same(box.good("prefix", "--flat", "--op", "max", "in.npy").array, np.maximum.accumulate(data.ravel()))
    reverse = np.maximum.accumulate(data[:, :, ::-1], 2)[:, :, ::-1]
    same(box.good("prefix", "--axis", -1, "--op", "max", "--reverse", "in.npy").array, reverse)
    same(box.good("compact", "--where", "x > 1", "in.npy").array, data.ravel()[data.ravel() > 1])
    box.save("mask.npy", np.asarray(data > 1, order=order))
    same(box.good("compact", "--mask", "mask.npy", "in.npy", input=b"").array, data.ravel()[data.ravel() > 1])
    with open(box.path / "in.npy", "rb") as pipe:  # as stdin, from a pipe
        same(box.good("sort", "--axis", 0, input=pipe.read()).array, np.sort(data, 0))


def test_prefix_options_along_an_axis(box):
    data = sample("i16", (40, 30), 2)
    box.save("in.npy", data)
    exclusive = box.good("prefix", "--axis", 0, "--exclusive", "--init", 5, "--threads", 3, "in.npy").array
    same(exclusive, np.cumsum(data, 0, dtype="i8") - data + 5)
    same(box.good("prefix", "--axis", 1, "--op", "xor", "in.npy").array, np.bitwise_xor.accumulate(data, 1))


def test_long_lanes(box):
    """Few and long: all threads work on one lane after another, of contiguous elements and of others."""
    data = sample("u32", (3, 1 << 18), 3)
    box.save("rows.npy", data)
    box.save("columns.npy", np.ascontiguousarray(data.T))
    want = np.sort(data, 1)
    same(box.good("sort", "--axis", 1, "--threads", 2, "rows.npy").array, want)
    same(box.good("sort", "--axis", 0, "--threads", 2, "columns.npy").array, want.T)
    order = np.argsort(data, 1, kind="stable").astype("u4")
    same(box.good("sort", "--argsort", "--axis", 1, "--threads", 2, "rows.npy").array, order)
    box.save("small.npy", data[:, :9])
    box.good("sort", "--argsort", "--axis", 1, "small.npy", "-o", "o.txt")
    assert np.array_equal(np.loadtxt(box.path / "o.txt").reshape(3, 9), np.argsort(data[:, :9], 1, kind="stable"))


def test_dimensions_must_be_said(box):
    box.save("m.npy", np.arange(12).reshape(3, 4))
    box.save("v.npy", np.arange(12))
    box.save("s.npy", np.array(5))
    box.write("t.txt", "1\n2\n")
    for program in "sort", "prefix":
        box.refused(2, "m.npy: has the shape (3, 4): --axis N", program, "m.npy")
        box.refused(2, "--flat all elements", program, "m.npy")
        box.refused(2, "--axis 2: m.npy has 2 dimensions, its axes are -2 to 1", program, "--axis", 2, "m.npy")
        box.refused(2, '--axis: "x" is not an axis', program, "--axis", "x", "m.npy")
        box.refused(2, "--axis and --flat exclude each other", program, "--axis", 0, "--flat", "m.npy")
        box.refused(2, "t.txt: is no array, --axis", program, "--axis", 0, "t.txt")
        box.refused(2, "s.npy has no axis", program, "--axis", 0, "s.npy")
        box.good(program, "--axis", -1, "v.npy")
        box.good(program, "s.npy")
    box.refused(2, "sorts along an axis", "sort", "--check", "m.npy")
    box.refused(2, "--unique would leave lanes of different lengths", "sort", "-u", "--axis", 0, "m.npy")
    box.refused(2, "--unique drops whole rows, along axis 0", "compact", "--unique", "--axis", 1, "m.npy")
    box.refused(2, "--axis is for --unique", "compact", "--nonzero", "--axis", 0, "m.npy")
    box.refused(2, "is no array, --flat", "compact", "--unique", "--flat", "t.txt")


def test_check_along_an_axis(box):
    data = np.sort(sample("f32", (50, 20)), 1)
    box.save("in.npy", data)
    box.good("sort", "--check", "--axis", 1, "in.npy")
    data[30, 6], data[30, 7] = 3, 2
    box.save("in.npy", data)
    box.refused(1, "element (30, 7) is out of order", "sort", "--check", "--axis", 1, "in.npy")
    data[30, 6] = np.nan
    box.save("in.npy", data)
    nan = tuple(np.argwhere(np.isnan(data))[0])
    box.refused(2, f"element ({nan[0]}, {nan[1]}) is NaN", "sort", "--nan", "error", "--axis", 1, "in.npy")


@pytest.mark.parametrize("name", ["i32", "f64"])
def test_unique_rows(box, name):
    rng = np.random.default_rng(4)
    data = rng.integers(0, 2, (5000, 2, 3)).astype(TYPES[name])
    data[1:][rng.random(4999) < 0.5] = 0
    if name == "f64":
        data[::2][data[::2] == 0] = -0.0
        data[data == 1] = np.nan
    keep = np.ones(len(data), bool)
    equal = (data[1:] == data[:-1]) | (np.isnan(data[1:]) & np.isnan(data[:-1]))
    keep[1:] = ~equal.all((1, 2))
    box.save("in.npy", data)
    out = box.good("compact", "--unique", "--axis", 0, "--rejected", "rest.npy", "--indices", "at.npy", "--verify", "in.npy")
    assert out.array.tobytes() == data[keep].tobytes() and out.array.shape == data[keep].shape
    assert box.load("rest.npy").tobytes() == data[~keep].tobytes()
    same(box.load("at.npy"), np.flatnonzero(keep).astype("u4"))
    inverted = box.good("compact", "--unique", "--axis", 0, "--invert", "in.npy").array
    assert inverted.tobytes() == data[~keep].tobytes()
    box.good("compact", "--unique", "--axis", 0, "--counts", "n.npy", "--indices", "at.npy", "-f", "in.npy", "-o", "out.npy")
    same(box.load("n.npy"), np.diff(np.append(np.flatnonzero(keep), len(data))).astype("u8"))
    same(box.load("at.npy"), np.flatnonzero(keep).astype("u4"))
    for more, count in ([], keep.sum()), (["--invert"], (~keep).sum()):
        assert box.good("compact", "--unique", "--axis", 0, "--count", *more, "in.npy").out == b"%d\n" % count
    same(box.good("compact", "--unique", "--flat", "in.npy").array, box.good("compact", "--unique", "in.npy").array)


def test_bool(box):
    data = np.random.default_rng(5).random(1000) < 0.5
    box.save("in.npy", data)
    box.save("m.npy", data.reshape(20, 50))
    same(box.good("sort", "in.npy").array, np.sort(data))
    same(box.good("sort", "--axis", 0, "m.npy").array, np.sort(data.reshape(20, 50), 0))
    same(box.good("sort", "-u", "in.npy").array, np.array([False, True]))
    same(box.good("sort", "--argsort", "in.npy").array, np.argsort(data, kind="stable").astype("u4"))
    same(box.good("compact", "--nonzero", "--rejected", "rest.npy", "in.npy").array, data[data])
    same(box.load("rest.npy"), data[~data])
    same(box.good("compact", "--unique", "in.npy").array, data[np.flatnonzero(np.diff(data, prepend=~data[0]))])
    folds = {"min": np.minimum, "max": np.maximum, "xor": np.logical_xor, "and": np.logical_and, "or": np.logical_or}
    for op, fold in folds.items():
        same(box.good("prefix", "--op", op, "--verify", "in.npy").array, fold.accumulate(data))
        exclusive = box.good("prefix", "--op", op, "--exclusive", "in.npy").array
        same(exclusive[1:], fold.accumulate(data)[:-1])
        assert exclusive.view("u1").max() <= 1 and exclusive[0] == (op in ("min", "and"))
        same(box.good("prefix", "--op", op, "--axis", 0, "m.npy").array, fold.accumulate(data.reshape(20, 50), 0))
    same(box.good("prefix", "in.npy").array, np.cumsum(data))
    same(box.good("prefix", "--axis", 1, "m.npy").array, np.cumsum(data.reshape(20, 50), 1))
    same(box.good("prefix", "--op", "mul", "in.npy").array, np.cumprod(data))
    same(box.good("prefix", "--out-dtype", "u64", "in.npy").array, np.cumsum(data, dtype="u8"))
    box.write("odd.npy", (box.path / "in.npy").read_bytes()[:-1000] + bytes([0, 2, 255, 1] * 250))
    same(box.good("sort", "odd.npy").array, np.sort(np.array([0, 1, 1, 1] * 250, bool)))  # bytes but 0 are true


def formats(box, program, data, want, *options):
    """From .npy and raw to each of the formats; the output's type is `want`'s."""
    box.save("in.npy", data)
    box.write("in.raw", data.tobytes())
    raw = ["--dtype", {v: k for k, v in TYPES.items()}[data.dtype.str[1:]], "in.raw"]
    for source in ["in.npy"], raw:
        for name in "out.npy", "out.raw", "out.txt", "out.other":
            box.good(program, *options, *source, "-f", "-o", name)
        same(box.load("out.npy").ravel(), want)
        assert box.read("out.raw") == want.tobytes()
        assert np.array_equal(np.loadtxt(box.path / "out.txt", dtype=want.dtype, ndmin=1), want)
        other = box.read("out.other")
        same(np.load(io.BytesIO(other)).ravel() if source == ["in.npy"] else np.frombuffer(other, want.dtype), want)


def test_outputs_in_other_formats(box):
    data = sample("i32", 3000)
    formats(box, "sort", data, np.sort(data))
    formats(box, "sort", data, np.argsort(data, kind="stable").astype("u4"), "--argsort")
    formats(box, "sort", data, np.unique(data), "-u")
    formats(box, "prefix", data, np.cumsum(data, dtype="i8"))
    formats(box, "prefix", data, np.maximum.accumulate(data[::-1])[::-1], "--op", "max", "--reverse")
    formats(box, "compact", data, data[data > 9], "--where", "x > 9")
    box.good("compact", "--where", "x > 9", "in.npy", "-o", "k.txt", "--rejected", "r.raw", "--indices", "i.txt")
    assert box.read("r.raw") == data[data <= 9].tobytes()
    assert np.array_equal(np.loadtxt(box.path / "i.txt", dtype="i8"), np.flatnonzero(data > 9))
    # a raw pipe, of which the length shows at its end
    box.good("prefix", "--dtype", "i32", "-o", "p.npy", input=data.tobytes())
    same(box.load("p.npy"), np.cumsum(data, dtype="i8"))
    matrix = box.save("m.npy", data.reshape(60, 50))
    box.good("sort", "--axis", 1, matrix, "-o", "m.txt")
    assert np.array_equal(np.loadtxt(box.path / "m.txt", dtype="i4"), np.sort(data.reshape(60, 50), 1).ravel())
