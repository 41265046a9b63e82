# SPDX-License-Identifier: MIT
"""prefix against NumPy."""
import json
import os

import numpy as np
import pytest

from conftest import NO_DEVICE, TYPES, in_release, in_sanitized, numbers, same

pytestmark = in_sanitized("parsers and pieces; scan_prefix itself is tested in both builds")

FLOAT_OPS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
BIT_OPS = {"xor": np.bitwise_xor, "and": np.bitwise_and, "or": np.bitwise_or}
OPS = {**FLOAT_OPS, **BIT_OPS}
INTEGERS = [name for name in TYPES if name[0] != "f"]
PIECE = 2 << 20  # bytes of the output that are computed at once


def out_type(name, op):
    if op != "add" or name[0] == "f":
        return np.dtype(TYPES[name])
    return np.dtype("i8" if name[0] == "i" else "u8")


def identity(op, dtype):
    if op == "and":
        return ~dtype.type(0)
    if op in ("add", "mul", "xor", "or"):
        return dtype.type(op == "mul")
    if dtype.kind == "f":
        return dtype.type(np.inf if op == "min" else -np.inf)
    return np.iinfo(dtype).max if op == "min" else np.iinfo(dtype).min


def fold(x, op, dtype, exclusive=False, reverse=False, init=None):
    """What prefix gives, by ufunc.accumulate."""
    x = x.astype(dtype)[::-1 if reverse else 1]
    start = [identity(op, dtype) if init is None else init]
    with np.errstate(all="ignore"):
        full = OPS[op].accumulate(np.concatenate([np.array(start, dtype), x]), dtype=dtype)
    result = full[:-1] if exclusive else full[1:]
    return result[::-1 if reverse else 1]


def close(a, b, x):
    """Sums in another order differ by no more than rounding."""
    scale = np.abs(x.astype("f8")).sum() + 1
    return a.dtype == b.dtype and a.shape == b.shape and np.all(np.abs(a - b) <= 1000 * np.finfo(a.dtype).eps * scale)


@pytest.mark.parametrize("n", [0, 1, 2, 130, 5000])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(box, name, op, n):
    x = numbers(name, n)
    dtype = out_type(name, op)
    box.save("in.npy", x)
    assert same(box.good("prefix", "--op", op, "--verify", "in.npy").array, fold(x, op, dtype))
    assert same(box.good("prefix", "--op", op, "--exclusive", "--verify", "in.npy").array,
                fold(x, op, dtype, exclusive=True))


@pytest.mark.parametrize("n", [0, 1, 2, 130, 5000])
@pytest.mark.parametrize("op", ["add", "min", "max"])
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_floats(box, name, op, n):
    x = numbers(name, n)
    box.save("in.npy", x)
    got = box.good("prefix", "--op", op, "--verify", "in.npy").array
    expected = fold(x, op, np.dtype(TYPES[name]))
    assert close(got, expected, x) if op == "add" else same(got, expected)
    before = box.good("prefix", "--op", op, "--exclusive", "--verify", "in.npy").array
    assert same(before[1:], got[:-1]) and (n == 0 or before[0] == identity(op, x.dtype))


@pytest.mark.parametrize("name, op", [(name, op) for op in OPS for name in (TYPES if op in FLOAT_OPS else INTEGERS)])
def test_every_way_agrees(box, name, op):
    """Options in all combinations, checked by --verify and, where it is exact, by NumPy."""
    x = numbers(name, 999)
    if name[0] == "f":
        x = x / np.abs(x) * (1 + np.random.default_rng(2).random(999).astype(x.dtype) / 100)  # products stay small
    box.save("in.npy", x)
    for exclusive in (False, True):
        for reverse in (False, True):
            for init in (None, "3"):
                arguments = (["--exclusive"] * exclusive + ["--reverse"] * reverse + ["--init", init] * (init is not None))
                got = box.good("prefix", "--op", op, "--verify", *arguments, "in.npy").array
                expected = fold(x, op, out_type(name, op), exclusive, reverse, init and int(init))
                if name[0] == "f" and op in ("add", "mul"):
                    assert got.dtype == expected.dtype and np.allclose(got, expected, rtol=1e-3, atol=1e-3)
                else:
                    assert same(got, expected)


@pytest.mark.parametrize("options", [[], ["--exclusive"], ["--reverse"], ["--reverse", "--exclusive"],
                                     ["--reverse", "--init", "7"], ["--init", "7"], ["--op", "max", "--reverse"],
                                     ["--op", "xor"], ["--op", "xor", "--reverse", "--exclusive", "--init", "7"]])
@pytest.mark.parametrize("name", ["u8", "i32", "u64", "f32", "f64"])
def test_pieces(box, name, options):
    """Arrays of several pieces; --verify follows one order over all pieces."""
    op = options[1] if options and options[0] == "--op" else "add"
    if name[0] == "f" and op in BIT_OPS:
        pytest.skip("integers only")
    x = numbers(name, (2 if name == "i32" else 1) * PIECE // (4 if name == "f32" else 8) + 12345)
    box.save("in.npy", x)
    got = box.good("prefix", "--verify", *options, "in.npy").out
    assert box.good("prefix", *options, input=box.read("in.npy")).out == got
    box.write("in.raw", x.tobytes())
    assert got.endswith(box.good("prefix", "--dtype", name, *options, "in.raw").out)
    if name[0] != "f":
        init = 7 if "7" in options else None
        box.write("out.npy", got)
        assert same(box.load("out.npy"), fold(x, op, out_type(name, op), "--exclusive" in options,
                                              "--reverse" in options, init))


@pytest.mark.parametrize("n", [PIECE // 8 + d for d in (-1, 0, 1)] + [2 * PIECE // 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_ends_of_pieces(box, n, reverse):
    x = numbers("i64", n)
    box.save("in.npy", x)
    box.good("prefix", *["--reverse"] * reverse, "in.npy", "-o", "out.npy")
    assert same(box.load("out.npy"), fold(x, "add", np.dtype("i8"), reverse=reverse))


@in_release("SIMD levels as they ship")
def test_sums_do_not_depend_on_threads_or_simd(box):
    box.save("in.npy", numbers("f32", 300_000))
    expected = box.good("prefix", "in.npy").out
    for simd in ("portable", "avx2", "avx512"):
        for threads in (1, 2, 3, 7):
            environment = dict(os.environ, SCAN_SIMD=simd)
            assert box.good("prefix", "in.npy", "--threads", threads, env=environment).out == expected


@pytest.mark.parametrize("op, expected", [("min", [1, -0.0, -0.0, -0.0, -0.0]), ("max", [1, 1, 1, 1, 2])])
def test_zeros_in_order(box, op, expected):
    box.save("in.npy", np.array([1, -0.0, 0.0, -0.0, 2]))
    assert same(box.good("prefix", "--op", op, "--verify", "in.npy").array, np.array(expected, "f8"))


@pytest.mark.parametrize("lines, expected", [("-0 0.5", "-0 -0"), ("0.5 -0 0", "0.5 -0 -0"), ("7 0 -0 .5", "7 0 -0 -0"),
                                             ("1 -0 -0.0 1e0", "1 -0 -0 -0"), ("0 0.5", "0 0")])
def test_minus_zero_among_floats(box, lines, expected):
    """It reads as an integer until the first float comes."""
    words = lines.split()
    box.write("in.csv", "a,b\n" + "".join(f"t,{word}\n" for word in words))
    assert box.good("prefix", "--op", "min", input="\n".join(words).encode()).out.decode().split() == expected.split()
    rows = box.good("prefix", "--op", "min", "-k", "b", "in.csv").out.decode().splitlines()[1:]
    assert [row.split(",")[2] for row in rows] == expected.split()


@pytest.mark.parametrize("op", FLOAT_OPS)
def test_nan_stays(box, op):
    box.save("in.npy", np.array([1, 2, np.nan, 3, np.inf]))
    got = box.good("prefix", "--op", op, "--verify", "in.npy").array
    assert np.isnan(got).tolist() == [False, False, True, True, True]


def test_infinities(box):
    box.save("in.npy", np.array([1, np.inf, 5, -np.inf, 1]))
    got = box.good("prefix", "--verify", "in.npy").array
    assert got[:3].tolist() == [1, np.inf, np.inf] and np.isnan(got[3:]).all()


@pytest.mark.parametrize("op", FLOAT_OPS)
@pytest.mark.parametrize("kind, bits", [("f4", 0x7fc00000), ("f8", 0x7ff8 << 48)])
@pytest.mark.parametrize("options", ["", "--reverse", "--exclusive"])
def test_nan_is_written_as_one(box, op, kind, bits, options):
    """Processors differ in which NaN an addition gives, and they pass on those that come in."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=1_300_007).astype(kind)
    words = values.view(f"u{kind[1]}")
    at = rng.integers(600_000, 700_000, 99)
    words[at] |= bits | 0x12345  # of both signs, with a payload
    values[at[:9] + 1] = np.inf
    values[at[:9] + 2] = -np.inf
    box.save("in.npy", values)
    got = box.good("prefix", "--op", op, *options.split(), "in.npy").array
    nan = np.isnan(got)
    assert nan.sum() > 550_000 and not nan.all()
    assert (got.view(words.dtype)[nan] == bits).all()


def test_exclusive_sum_begins_with_plus_zero(box):
    box.save("in.npy", np.array([-0.0, -0.0]))
    assert box.good("prefix", "--exclusive", "in.npy").array.tobytes() == np.array([0.0, -0.0]).tobytes()
    assert box.good("prefix", "in.npy").array.tobytes() == np.array([-0.0, -0.0]).tobytes()


# ---- bit by bit -------------------------------------------------------------------------------------------------------


def sparse(name, n, op):
    """Elements that change a running and, or by a bit now and then; for xor any."""
    x = numbers(name, n)
    if op == "xor":
        return x
    one = np.ones(n, x.dtype) << (np.arange(n) * 7 % (8 * x.itemsize)).astype(x.dtype)
    one[np.arange(n) % 97 != 5] = 0
    return one if op == "or" else ~one


@pytest.mark.parametrize("options", [[], ["--exclusive"], ["--reverse"], ["--exclusive", "--reverse"],
                                     ["--init", "85"], ["--exclusive", "--init", "85"], ["--reverse", "--init", "85"]])
@pytest.mark.parametrize("op", BIT_OPS)
@pytest.mark.parametrize("name", INTEGERS)
def test_bits(box, name, op, options):
    """.npy, raw, text and tables give the same; the output has the type of the input."""
    x = sparse(name, 3000, op)
    init = 85 if "--init" in options else None
    expected = fold(x, op, x.dtype, "--exclusive" in options, "--reverse" in options, init)
    assert len(set(expected.tolist())) > 2
    options = ["--op", op, "--verify", *options]
    box.save("in.npy", x)
    assert same(box.good("prefix", *options, "in.npy").array, expected)
    box.write("in.raw", x.tobytes())
    assert box.good("prefix", *options, "--dtype", name, "in.raw").out == expected.tobytes()
    box.write("in.txt", "".join(f"{v}\n" for v in x.tolist()))
    if name in ("i64", "u64"):  # what lines of integers are read as
        lines = [str(v) for v in expected.tolist()]
        assert box.good("prefix", *options, "in.txt").out.decode().split() == lines
        box.write("in.csv", "a,b\n" + "".join(f"{v},x\n" for v in x.tolist()))
        rows = box.good("prefix", *options, "-k", "a", "in.csv").out.decode().splitlines()
        assert rows == [f"a,b,a_{op}"] + [f"{v},x,{line}" for v, line in zip(x.tolist(), lines)]


@pytest.mark.parametrize("op", BIT_OPS)
@pytest.mark.parametrize("wide", [("u8", "u32"), ("i8", "i64"), ("u16", "u64"), ("i32", "i64")])
def test_bits_in_a_wider_type(box, op, wide):
    """Elements are extended by their sign; the identity is the wider type's."""
    x = sparse(wide[0], 500, op)
    box.save("in.npy", x)
    for options in ([], ["--exclusive"]):
        got = box.good("prefix", "--op", op, "--out-dtype", wide[1], "--verify", *options, "in.npy").array
        assert same(got, fold(x, op, np.dtype(TYPES[wide[1]]), exclusive=bool(options)))


@pytest.mark.parametrize("op, expected", [("xor", "6,3,5"), ("and", "6,4,4"), ("or", "6,7,7")])
def test_bits_of_a_column(box, op, expected):
    box.write("t.csv", "a,b\nx,6\ny,5\nz,6\n")
    lines = box.good("prefix", "--op", op, "-k", "b", "--verify", "t.csv").out.decode().splitlines()
    assert lines[0] == f"a,b,b_{op}" and ",".join(line.split(",")[2] for line in lines[1:]) == expected


@pytest.mark.parametrize("op", BIT_OPS)
@pytest.mark.parametrize("verify", [[], ["--verify"]])
def test_bits_of_floats_are_refused(box, op, verify):
    options = ["--op", op, *verify]
    for name in ("f32", "f64"):
        box.save("in.npy", numbers(name, 5))
        box.refused(2, f"in.npy: --op {op} takes integers, this is an array of {name}: save it as integers", "prefix",
                    *options, "in.npy", "-o", "out.npy")
        box.write("in.raw", numbers(name, 5).tobytes())
        box.refused(2, f"in.raw: --op {op} takes integers, not {name}: --dtype u{name[1:]} reads the same bytes as",
                    "prefix", *options, "--dtype", name, "in.raw", "-o", "out.raw")
    for lines in ("1\n2.0\n", "1\nnan\n", "1e3\n"):
        box.refused(2, f"in.txt: --op {op} takes integers: write all numbers without a point", "prefix", *options,
                    box.write("in.txt", lines), "-o", "out.txt")
    for table in ("a,b\n1,2\n,3\n", "a,b\n1,2\n1.5,3\n"):
        box.refused(2, f"t.csv: --op {op} takes integers: fill the empty fields of column a", "prefix", *options, "-k",
                    "a", box.write("t.csv", table), "-o", "out.csv")
    box.save("in.npy", numbers("i32", 5))
    box.refused(2, f"--op {op} takes integers: --out-dtype f64 does not apply", "prefix", *options, "--out-dtype",
                "f64", "in.npy")


# ---- types of the output ----------------------------------------------------------------------------------------------

WIDER = {"u8": ["u32", "u64"], "i8": ["i64"], "u16": ["u64"], "i16": ["i64"], "u32": ["u64"], "i32": ["i64"], "u64": [],
         "i64": [], "f32": ["f64"], "f64": []}


@pytest.mark.parametrize("name", TYPES)
def test_out_dtype(box, name):
    x = numbers(name, 777)
    box.save("in.npy", x)
    for wide in [name] + WIDER[name]:
        got = box.good("prefix", "--out-dtype", wide, "--verify", "in.npy").array
        expected = fold(x, "add", np.dtype(TYPES[wide]))
        assert same(got, expected) if name[0] != "f" else close(got, expected, x)
    for other in set(TYPES) - {name, *WIDER[name]}:
        box.refused(2, f"{name} cannot be accumulated in {other}", "prefix", "--out-dtype", other, "in.npy")


@pytest.mark.parametrize("name, init", [
    ("u8", "0"), ("u8", "255"), ("u8", "1e2"), ("u8", "+7"), ("i8", "-128"), ("i8", "127"), ("u16", "65535"),
    ("i16", "-32768"), ("u32", "4294967295"), ("i32", "-2147483648"), ("u64", "18446744073709551615"),
    ("u64", "9223372036854775808"), ("i64", "-9223372036854775808"), ("i64", "9223372036854775807"), ("i64", "-0"),
    ("i64", "2.0"), ("f32", "0.1"), ("f32", "16777216"), ("f32", "-0"), ("f32", "3e38"), ("f32", "inf"),
    ("f64", "1e-400"), ("f64", "9007199254740992"), ("f64", "-infinity"), ("f64", "1e300"),
])
def test_init(box, name, init):
    x = numbers(name, 3)[:0]
    x = np.concatenate([x, np.array([0, 0], x.dtype)])
    box.save("in.npy", x)
    got = box.good("prefix", "--init", init, "--exclusive", "--out-dtype", name, "--verify", "in.npy").array
    value = np.array([float(init)], x.dtype)[0] if name[0] == "f" else int(init) if "e" not in init and "." not in init \
        else int(float(init))
    assert got[0] == np.array([value], x.dtype)[0]
    assert np.signbit(got[0]) == init.startswith("-0") if name[0] == "f" and init == "-0" else True


@pytest.mark.parametrize("name, init, text", [
    ("u8", "256", "cannot be a value of the output type u8"), ("u8", "-1", "output type u8"),
    ("i8", "128", "output type i8"), ("i8", "-129", "output type i8"), ("u16", "65536", "output type u16"),
    ("i32", "2147483648", "output type i32"), ("u32", "-1", "output type u32"), ("u64", "-1", "output type u64"),
    ("i64", "9223372036854775808", "output type i64"), ("i64", "1.5", "output type i64"),
    ("i64", "nan", "output type i64"), ("u64", "inf", "output type u64"), ("u64", "1e20", "output type u64"),
    ("f32", "16777217", "output type f32"), ("f32", "1e39", "output type f32"),
    ("f64", "9007199254740993", "output type f64"), ("u64", "18446744073709551616", "does not fit"),
    ("f64", "1e999", "\"1e999\""), ("f64", "x", "is not a number"), ("f64", "", "--init"), ("f64", "1 2", "is not a"),
    ("f64", "0x10", "is not a number"), ("f64", "1,5", "is not a number"), ("f64", "1_000", "is not a number"),
])
def test_bad_init(box, name, init, text):
    box.save("in.npy", numbers(name, 3))
    box.refused(2, text, "prefix", "--init", init, "--out-dtype", name, "in.npy", "-o", "out.npy")


# ---- algorithms -------------------------------------------------------------------------------------------------------


def test_algorithm(box):
    box.save("in.npy", np.arange(10))
    expected = box.good("prefix", "in.npy").out
    for algorithm in ("auto", "blocked", "auto/auto", "blocked/auto"):
        assert box.good("prefix", "--algorithm", algorithm, "in.npy").out == expected
    for algorithm in ("wave", "look-back/warp", "hierarchical/kogge-stone", "host-sums/brent-kung"):
        box.refused(2, "CPU backend", "prefix", "--algorithm", algorithm, "in.npy", "-o", "out",
                    env=dict(os.environ, **NO_DEVICE))
    for algorithm in ("fast", "", "/", "auto/", "auto/fast", "wave/warp/x", "x" * 1000):
        box.refused(2, "--algorithm", "prefix", "--algorithm", algorithm, "in.npy", "-o", "out")


@pytest.mark.parametrize("op", ["sum", "", "ADD", "add "])
def test_unknown_operators(box, op):
    box.refused(2, "none of add, mul, min, max", "prefix", "--op", op, input=b"1\n")


# ---- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines, options, expected", [
    ("1\n2\n3\n", [], "1\n3\n6\n"),
    ("1\n2\n3\n", ["--exclusive"], "0\n1\n3\n"),
    ("1\n2\n3\n", ["--reverse"], "6\n5\n3\n"),
    ("1\n2\n3\n", ["--op", "mul", "--init", "10"], "10\n20\n60\n"),
    ("3\n1\n2\n", ["--op", "min"], "3\n1\n1\n"),
    ("-3\n-1\n-2", ["--op", "max"], "-3\n-1\n-1\n"),
    ("18446744073709551615\n1\n", [], "18446744073709551615\n0\n"),
    ("9223372036854775807\n1\n", [], "9223372036854775807\n-9223372036854775808\n"),
    ("0.1\n0.2\n", [], "0.1\n0.30000000000000004\n"),
    ("0.5\n1\n", [], "0.5\n1.5\n"),
    ("1e300\n1e300\n", ["--op", "mul"], "1e+300\ninf\n"),
    ("1\nnan\n2\n", [], "1\nnan\nnan\n"),
    (" 1\r\n+2\r\n", [], "1\n3\n"),
    ("", [], ""),
    ("", ["--exclusive", "--init", "5"], ""),
    ("5\n", ["--exclusive", "--init", "7"], "7\n"),
    ("1\n2\n", ["--out-dtype", "i64"], "1\n3\n"),
])
def test_text(box, lines, options, expected):
    for arguments, keywords in ((["in.txt"], {}), ([], {"input": lines.encode()})):
        box.write("in.txt", lines)
        assert box.good("prefix", "--verify", *options, *arguments, **keywords).out.decode() == expected


@pytest.mark.parametrize("lines, text", [
    ("1\nx\n", "line 2"), ("1\n\n2\n", "line 2"), ("1,5\n", "line 1"), ("0x10\n", "line 1"), ("1e999\n", "line 1"),
    ("18446744073709551616\n", "line 1"), ("-1\n18446744073709551615\n", "line 2"), ("1_000\n", "line 1"),
    ("1\n2 3\n", "line 2"), ("1\0\n", "line 1"),
])
def test_bad_text(box, lines, text):
    box.refused(2, "in.txt: " + text, "prefix", box.write("in.txt", lines), "-o", "out.txt")


def test_text_reads_back(box):
    x = numbers("f64", 5000)
    box.save("in.npy", x)
    box.write("in.txt", "".join(f"{v!r}\n" for v in x.tolist()))
    got = [float(line) for line in box.good("prefix", "in.txt").out.decode().split()]
    assert np.array(got).tobytes() == box.good("prefix", "in.npy").array.tobytes()


# ---- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, table, options, expected", [
    ("t.csv", "a,b\n1,x\n2,y\n", ["-k", "a"], "a,b,a_add\n1,x,1\n2,y,3\n"),
    ("t.csv", "a b,b\n1,x\n2,y\n", ["-k", "`a b`"], "a b,b,a b_add\n1,x,1\n2,y,3\n"),
    ("t.csv", "`a`,a\n1,5\n2,7\n", ["-k", "`a`"], "`a`,a,`a`_add\n1,5,1\n2,7,3\n"),
    ("t.csv", "a,b\n1,x\n2,y\n", ["--key", "1", "--op", "mul"], "a,b,a_mul\n1,x,1\n2,y,2\n"),
    ("t.CSV", "a,b\r\n1,x\r\n2,y", ["-ka"], "a,b,a_add\r\n1,x,1\r\n2,y,3\r\n"),
    ("t.tsv", "a\tb\n1\t5\n2\t7\n", ["-k", "b", "--reverse"], "a\tb\tb_add\n1\t5\t12\n2\t7\t7\n"),
    ("t", "1,5\n2,7\n", ["--csv", "--no-header", "-k", "2"], "1,5,5\n2,7,12\n"),
    ("t", 'a,b\n"1","x,""y"""\n2,"l\nm"\n', ["--csv", "-k", "a"], 'a,b,a_add\n"1","x,""y""",1\n2,"l\nm",3\n'),
    ("t.csv", "\ufeffa,b\n1,2\n", ["-k", "a"], "\ufeffa,b,a_add\n1,2,1\n"),
    ("t.csv", "\"q \"\"x\"\"\",b\n1,2\n", ["-k", "q \"x\""], "\"q \"\"x\"\"\",b,\"q \"\"x\"\"_add\"\n1,2,1\n"),
    ("t.csv", "\"a,b\",c\n1,2\n", ["-k", "a,b"], "\"a,b\",c,\"a,b_add\"\n1,2,1\n"),
    ("t.csv", "a\n1\n\n", ["-k", "a"], "a,a_add\n1,1\n,\n"),
    ("t.csv", "a,b\n1,x\n,y\n3,z\n", ["-k", "a"], "a,b,a_add\n1,x,1\n,y,\n3,z,4\n"),
    ("t.csv", "a,b\n1,x\n,y\n3,z\n", ["-k", "a", "--op", "mul"], "a,b,a_mul\n1,x,1\n,y,\n3,z,3\n"),
    ("t.csv", "a,b\n,x\n4,y\n3,z\n", ["-k", "a", "--op", "min"], "a,b,a_min\n,x,\n4,y,4\n3,z,3\n"),
    ("t.csv", "a,b\n,x\n4,y\n", ["-k", "a", "--op", "max", "--reverse"], "a,b,a_max\n,x,\n4,y,4\n"),
    ("t.csv", "a,b\n1.5,x\n2,y\n", ["-k", "a", "--exclusive", "--init", "1"], "a,b,a_add\n1.5,x,1\n2,y,2.5\n"),
    ("t.csv", "a,b\n", ["-k", "a"], "a,b,a_add\n"),
    ("t.csv", "", ["-k", "a"], ""),
    ("t.csv", "a\n5\n", ["-k", "a"], "a,a_add\n5,5\n"),
])
def test_tables(box, name, table, options, expected):
    box.write(name, table)
    assert box.good("prefix", "--verify", *options, name).out.decode() == expected


@pytest.mark.parametrize("table, options, text", [
    ("a,b\n1,2\n", [], "is a table, -k COLUMN says which"),
    ("a,b\n1,2\n", ["-k", "c"], "c"),
    ("a,b\n1,2\n", ["-k", "3"], "3"),
    ("a,b\n1,2\n", ["-k", "0"], "0"),
    ("a,a\n1,2\n", ["-k", "a"], "a"),
    ("a,b\n1,x\n", ["-k", "b"], "line 2"),
    ("a,b\n1,2\n3\n", ["-k", "a"], "line 3"),
    ("a,b\n1,\"2\n", ["-k", "a"], "line 2"),
    ("a,b\n1,2\n", ["-k", "a", "--out-dtype", "f64"], "cannot be accumulated"),
    ("a,b\n1,2\n", ["-k", "a", "-k", "b"], 'one column at a time, but there are "a" and "b"'),
])
def test_bad_tables(box, table, options, text):
    box.refused(2, text, "prefix", *options, box.write("t.csv", table), "-o", "out.csv")


def test_options_of_tables_elsewhere(box):
    box.save("in.npy", np.arange(3))
    box.refused(2, "-k is for tables; in.npy is read as an array", "prefix", "-k", "1", "in.npy")
    box.refused(2, "--no-header is for tables; in.npy is read as an array", "prefix", "--no-header", "in.npy")
    box.refused(2, "-k is for tables; stdin is read as lines of numbers: add --csv if it is one", "prefix", "-k", "1", input=b"1\n")


def test_a_large_table(box):
    rng = np.random.default_rng(5)
    n = 30_000
    values = rng.integers(-1000, 1000, n)
    rows = [f"{v},{'x' * int(k)}" for v, k in zip(values, rng.integers(0, 60, n))]
    rows[100] = f"{values[100]}," + "y" * 700_000
    box.write("t.csv", "v,text\n" + "\n".join(rows) + "\n")
    for threads in (1, 2, 7):
        lines = box.good("prefix", "-k", "v", "--threads", threads, "t.csv").out.decode().split("\n")
        assert lines == ["v,text,v_add"] + [f"{r},{s}" for r, s in zip(rows, np.cumsum(values))] + [""]


def test_report(box):
    box.save("in.npy", np.arange(10, dtype="u1"))
    report = json.loads(box.good("prefix", "--op", "max", "in.npy", "-o", "o", "--json", "-").out)
    assert (report["op"], report["type"], report["out_type"], report["elements"]) == ("max", "u8", "u8", 10)
    assert report["ran"].startswith("blocked")
