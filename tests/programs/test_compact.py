# SPDX-License-Identifier: MIT
"""compact against NumPy."""
import json
import math
import operator
import os

import numpy as np
import pytest

from conftest import NO_DEVICE, TYPES, in_sanitized, numbers, same

pytestmark = in_sanitized("parsers of expressions, tables and headers")

PIECE = 2 << 20  # bytes of the input that are processed at once

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
           "!=": operator.ne}


def first_of_runs(x):
    """Returns where runs of equal elements begin, for --unique."""
    if len(x) == 0:
        return np.zeros(0, bool)
    equal = (x[1:] == x[:-1]) | ((x[1:] != x[1:]) & (x[:-1] != x[:-1]))
    return np.concatenate([[True], ~equal])


def check(box, x, keep, *arguments):
    """Checks all outputs of one run, and of the inverted run."""
    name = box.save("in.npy", x)
    indices = np.flatnonzero(keep).astype("u4")
    rest = np.flatnonzero(~keep).astype("u4")
    box.good("compact", *arguments, name, "-f", "-o", "o.npy", "--indices", "i.npy", "--rejected", "r.npy", "--verify")
    assert same(box.load("o.npy"), x[keep]) and same(box.load("r.npy"), x[~keep])
    assert same(box.load("i.npy"), indices)
    box.good("compact", *arguments, "--invert", name, "-f", "-o", "o.npy", "--indices", "i.npy", "--rejected", "r.npy",
             "--verify")
    assert same(box.load("o.npy"), x[~keep]) and same(box.load("r.npy"), x[keep])
    assert same(box.load("i.npy"), rest)
    assert same(box.good("compact", *arguments, name, "--verify").array, x[keep])


def few(name, n, seed=0):
    """Random elements with many runs; floats with both zeros, NaN and infinities."""
    rng = np.random.default_rng([seed, n])
    dtype = np.dtype(TYPES[name])
    values = np.array([0, 1, 2, 3, 100], dtype)
    if dtype.kind == "f":
        values = np.array([0.0, -0.0, 1, np.nan, np.inf, -np.inf, -2], dtype)
    return np.repeat(values[rng.integers(0, len(values), n)], rng.integers(1, 4, n))[:n]


SIZES = [0, 1, 2, 63, 64, 65, 1000]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", TYPES)
def test_nonzero(box, name, n):
    x = few(name, n)
    check(box, x, x != 0, "--nonzero")


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", TYPES)
def test_unique(box, name, n):
    x = few(name, n)
    check(box, x, first_of_runs(x), "--unique")


@pytest.mark.parametrize("name", TYPES)
def test_finite(box, name):
    x = few(name, 500)
    check(box, x, np.isfinite(x), "--finite")


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("dtype", ["?", "u1"])
def test_mask(box, name, dtype):
    x = few(name, 500)
    mask = np.random.default_rng(3).integers(0, 2, 500).astype(dtype)
    if dtype == "u1":
        mask *= 200
    check(box, x, mask != 0, "--mask", box.save("mask.npy", mask))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("op", COMPARE)
def test_comparisons(box, name, op):
    x = few(name, 300)
    check(box, x, COMPARE[op](x, x.dtype.type(2)), "--where", f"x {op} 2")
    mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
    assert (box.good("compact", "--where", f"2{mirrored}x", "in.npy").out ==
            box.good("compact", "--where", f"x{op}2", "in.npy").out)


# ---- exactness --------------------------------------------------------------------------------------------------------

CONSTANTS = ["0", "-1", "1.5", "-0.5", "127", "128", "255", "256", "65535.5", "2147483648", "-2147483649", "4294967295.5",
             "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615", "1e19", "1e300",
             "-1e300", "0.1", "inf", "-inf", "1e-400", "16777217", "3.4028235677973366e38"]


def exactly(value):
    """Returns an element or constant as a Python number, which compares exactly with any other."""
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("name", TYPES)
def test_constants_are_exact(box, name):
    dtype = np.dtype(TYPES[name])
    if dtype.kind == "f":
        edges = [0.0, -0.0, 0.1, 1.5, 127, 65535.5, 16777216, 16777218, 2.0**53, 2.0**63, 2.0**64, np.inf, -np.inf, np.nan,
                 np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal]
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        edges = [low, low + 1, 0, 1, 2, 127, high - 1, high]
        edges += [v for v in (2**53, 2**53 + 1, 2**63 - 1, 2**63 - 1024, 2**31, 2**32) if v <= high]
    x = np.array(edges, dtype)
    box.save("in.npy", x)
    for text in CONSTANTS:
        constant = int(text) if text.lstrip("-").isdigit() else float(text)
        for op in ("<", "<=", "=="):  # the other comparisons are their complements
            keep = [COMPARE[op](exactly(v), constant) for v in x]
            got = box.good("compact", "--where", f"x {op} {text}", "in.npy", "--verify").array
            assert same(got, x[np.array(keep)]), (op, text)


# ---- expressions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where, keep", [
    ("x >= 10 && x < 20", lambda x, i: (x >= 10) & (x < 20)),
    ("x < 10 || x > 90", lambda x, i: (x < 10) | (x > 90)),
    ("x<10||x>90&&i<50", lambda x, i: (x < 10) | ((x > 90) & (i < 50))),
    ("(x<10||x>90)&&i<50", lambda x, i: ((x < 10) | (x > 90)) & (i < 50)),
    ("!x < 50", lambda x, i: ~(x < 50)),
    ("!(x < 50 && i > 3)", lambda x, i: ~((x < 50) & (i > 3))),
    ("!!(x == 7)", lambda x, i: x == 7),
    ("!!!x == 7", lambda x, i: x != 7),
    ("((((x == 7))))", lambda x, i: x == 7),
    ("\t x \n>=\r 50 ", lambda x, i: x >= 50),
    ("i >= 100", lambda x, i: i >= 100),
    ("100 <= i", lambda x, i: i >= 100),
    ("i != 0 && x != 0", lambda x, i: (i != 0) & (x != 0)),
    ("x > -1", lambda x, i: x > -1),
    ("x > +1", lambda x, i: x > 1),
    ("-1 < x", lambda x, i: x > -1),
    ("x>1e1", lambda x, i: x > 10),
    ("x > .5", lambda x, i: x > 0.5),
    ("x >= 5.", lambda x, i: x >= 5),
    ("`x` == 3", lambda x, i: x == 3),
    ("`i` == 3", lambda x, i: i == 3),
    ("isnan(x)", lambda x, i: x != x),
    ("isfinite ( x )", lambda x, i: x == x),
    ("!isnan(x) && isfinite(i)", lambda x, i: x == x),
    ("x < inf", lambda x, i: x == x),
    ("x > -Infinity", lambda x, i: x == x),
    (" && ".join(["x != %d" % k for k in range(64)]), lambda x, i: x >= 64),
    (" || ".join(["x == %d" % k for k in range(64)]), lambda x, i: x < 64),
    ("(" * 190 + "x < 5" + ")" * 190, lambda x, i: x < 5),
])
@pytest.mark.parametrize("name", ["u8", "f64"])
def test_expressions(box, name, where, keep):
    x = np.random.default_rng(4).integers(0, 100, 300).astype(TYPES[name])
    check(box, x, keep(x, np.arange(300)), "--where", where)


@pytest.mark.parametrize("where, text", [
    ("", "column 1: the expression ends where a column is expected"),
    ("   ", "the expression ends where a column is expected"),
    ("x", "column 2: the expression ends where < <= > >= == or != is expected"),
    ("x >", "column 4: the expression ends where a number, a column or text is expected"),
    ("> 3", "column 1: '>' stands where a column is expected"),
    ("x = 3", "column 3: equality is written =="),
    ("x === 3", "'=' after == is no operator"),
    ("x <> 3", "'>' after < is no operator"),
    ("x << 3", "'<' after < is no operator"),
    ("x + 1 > 3", "'+' stands where < <="),
    ("x > - 3", "'-' stands where a number, a column or text is expected"),
    ("x > 3 x < 5", "'x' stands where && or || or the end is expected"),
    ("x > 3 & x < 5", "\"and\" is written &&"),
    ("x > 3 and x < 5", "\"and\" is written &&"),
    ("x > 3 | x < 5", "\"or\" is written ||"),
    ("x > 3 OR x < 5", "\"or\" is written ||"),
    ("x > 3 &&", "column 9: the expression ends"),
    ("&& x > 3", "'&' stands where a column is expected"),
    ("x > 3 && && x < 5", "'&' stands where a column is expected"),
    ("1 < x < 3", "comparisons do not chain"),
    ("x < 3 < 5", "comparisons do not chain"),
    ("(x > 3", "column 7: the ')' for column 1 is missing"),
    ("x > 3)", "')' stands where && or ||"),
    ("()", "')' stands where a column is expected"),
    ("x > i", "columns are compared with each other in tables"),
    ("x > `i`", "columns are compared with each other in tables"),
    ("3 > 2", "two numbers are compared"),
    ("3", "the expression ends where < <="),
    ("y > 3", "column 1: there is no column \"y\"; x is the element, i its index"),
    ("x > 3 && X > 3", "column 10: there is no column \"X\""),
    ("`x > 3", "the backtick is not closed"),
    ("`` > 3", "there is no column \"\""),
    ("`" + "n" * 300 + "` > 3", "the name is longer than 255 bytes"),
    ("n" * 300 + " > 3", "the name is longer than 255 bytes"),
    ("größe > 3", "names with other letters than A to Z go in backticks"),
    ("é > 3", "names with other letters than A to Z go in backticks"),
    ("isnan x", "there is no column \"isnan\""),
    ("isnan(3)", "'3' stands where a column is expected"),
    ("isnan(x", "')' is missing"),
    ("isnan()", "')' stands where a column is expected"),
    ("isnan(x) > 3", "'>' stands where && or ||"),
    ("isfinite(x, i)", "isfinite takes one column"),
    ("isinf(x)", "there is no column \"isinf\""),
    ("x == nan", "nothing compares with nan, isnan(COLUMN) tests for it"),
    ("x > 12x", "\"12x\" is not a number"),
    ("x > 0x10", "\"0x10\" is not a number"),
    ("x > 1,5", "',' stands where && or ||"),
    ("x > 1_000", "\"1_000\" is not a number"),
    ("x > 1e999", "\"1e999\""),
    ("x > 18446744073709551616", "\"18446744073709551616\" does not fit"),
    ("x > -9223372036854775809", "does not fit"),
    ("x > 1.2.3", "\"1.2.3\" is not a number"),
    ("x > 1e", "\"1e\" is not a number"),
    ("x > 1e+", "\"1e+\" is not a number"),
    ("x > +-1", "stands where a number, a column or text is expected"),
    ("x > .", "\".\" is not a number"),
    ("x > 'a'", "text goes in double quotes"),
    ("(" * 300 + "x > 3" + ")" * 300, "nested deeper than 200"),
    ("!" * 300 + "x > 3", "nested deeper than 200"),
    (" && ".join(["x != 3"] * 65), "more than 128 comparisons and joins"),
    ("x > 3;", "';' stands where && or ||"),
    ("x > 3 # y", "'#' stands where && or ||"),
])
def test_bad_expressions(box, where, text):
    box.save("in.npy", np.arange(5.0))
    result = box.refused(2, text, "compact", "--where", where, "in.npy", "-o", "out.npy")
    assert "--where '" in result.err


def test_control_characters_in_an_expression(box):
    result = box.refused(2, "--where", "compact", "--where", "x > \x1b[31m\n", input=b"1\n")
    assert "\x1b" not in result.err


# ---- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, text", [
    ([], "no selector"),
    (["--invert"], "no selector"),
    (["--nonzero", "--finite"], "one selector at a time"),
    (["--where", "x > 1", "--where", "x > 2"], "one selector at a time"),
    (["--unique", "--mask", "m.npy"], "one selector at a time"),
    (["--unique", "--unique"], "one selector at a time"),
    (["--where"], "--where needs a value"),
    (["--mask", "-"], "cannot both be stdin"),
    (["--nonzero", "--no-header"], "--no-header is for tables"),
    (["--nonzero", "--text"], "lines of text (--text) are kept by --where, --unique or --mask"),
    (["--unique", "--text", "--csv"], "--text is for lines and excludes --csv"),
])
def test_usage(box, arguments, text):
    box.refused(2, text, "compact", "-o", "out", *arguments, input=b"1\n")


@pytest.mark.parametrize("mask, text", [
    (np.ones(4, bool), "the mask has 4 elements, fewer than the input"),
    (np.ones(0, bool), "the mask has 0 elements, fewer than the input"),
    (np.ones(6, bool), "the mask has 6 elements, the input has 5"),
    (np.ones(5, "i1"), "a mask is bool or u8, this is i8"),
    (np.ones(5, "f8"), "a mask is bool or u8, this is f64"),
    (np.ones(5, "f2"), "half-precision"),
])
def test_bad_masks(box, mask, text):
    box.save("in.npy", np.arange(5))
    box.save("mask.npy", mask)
    result = box.refused(2, text, "compact", "--mask", "mask.npy", "in.npy", "-o", "out.npy")
    assert result.err.startswith("compact: mask.npy: ")
    box.refused(2, text, "compact", "--mask", "mask.npy", "-o", "out.txt", input=b"1\n2\n3\n4\n5\n")


def test_masks_that_are_no_masks(box):
    box.save("in.npy", np.arange(5))
    box.refused(3, "absent.npy: cannot open", "compact", "--mask", "absent.npy", "in.npy", "-o", "out.npy")
    box.write("mask.txt", "1\n1\n")
    box.refused(2, "a mask is an .npy file of bool or u8", "compact", "--mask", "mask.txt", "in.npy", "-o", "out.npy")


def test_a_mask_from_stdin_and_of_two_dimensions(box):
    x = np.arange(6.0)
    box.save("in.npy", x.reshape(2, 3))
    box.save("mask.npy", np.array([[1, 0, 1], [0, 0, 1]], bool))
    for arguments, keywords in ((["--mask", "mask.npy"], {}), (["--mask", "-"], {"input": box.read("mask.npy")})):
        assert box.good("compact", *arguments, "in.npy", **keywords).array.tolist() == [0, 2, 5]


@pytest.mark.parametrize("name", ["i16", "u32", "f64"])
@pytest.mark.parametrize("selector", ["--unique", "--nonzero", "--where", "--mask"])
def test_pieces(box, name, selector):
    size = np.dtype(TYPES[name]).itemsize
    n = (2 if name == "u32" else 1) * PIECE // size + 777
    x = few(name, n)
    x[PIECE // size - 3:PIECE // size + 3] = x[0]  # a run over the end of a piece
    i = np.arange(n)
    arguments, keep = {"--unique": (["--unique"], first_of_runs(x)), "--nonzero": (["--nonzero"], x != 0),
                       "--where": (["--where", f"x > 0 && i >= {n // 3}"], (x > 0) & (i >= n // 3)),
                       "--mask": (["--mask", "mask.npy"], i % 3 == 1)}[selector]
    if selector == "--mask":
        box.save("mask.npy", keep)
    check(box, x, keep, *arguments)
    box.write("in.raw", x.tobytes())
    assert box.good("compact", "--dtype", name, *arguments, "in.raw").out == x[keep].tobytes()
    assert box.good("compact", "--dtype", name, *arguments, input=x.tobytes()).out == x[keep].tobytes()


@pytest.mark.parametrize("d", [-1, 0, 1])
def test_ends_of_pieces(box, d):
    n = PIECE // 8 + d
    x = np.repeat(np.arange(n // 4 + 1, dtype="i8"), 4)[:n]
    check(box, x, first_of_runs(x), "--unique")
    check(box, np.ones(n), np.arange(n) == 0, "--unique")


def test_raw_outputs(box):
    x = numbers("i32", 100)
    box.write("in", x.tobytes())
    box.good("compact", "--where", "x > 0", "--dtype", "i32", "in", "-o", "o", "--indices", "i", "--rejected", "r")
    assert box.read("o") == x[x > 0].tobytes() and box.read("r") == x[x <= 0].tobytes()
    assert box.read("i") == np.flatnonzero(x > 0).astype("u4").tobytes()
    box.good("compact", "--where", "x > 0", "--dtype", "i32", "in", "-o", "o2", "--indices", "i.npy")
    assert same(box.load("i.npy"), np.flatnonzero(x > 0).astype("u4"))


def test_keeping_nothing_and_everything(box):
    box.save("in.npy", np.arange(5))
    assert same(box.good("compact", "--where", "x > 9", "in.npy").array, np.arange(0))
    assert same(box.good("compact", "--where", "x < 9", "in.npy").array, np.arange(5))
    assert box.good("compact", "--where", "x > 9", input=b"1\n").out == b""


def test_report(box):
    box.save("in.npy", np.arange(10, dtype="u1"))
    report = json.loads(box.good("compact", "--where", "x > 6", "in.npy", "-o", "o", "--json", "-").out)
    assert (report["elements"], report["kept"], report["type"]) == (10, 3, "u8")
    report = json.loads(box.good("compact", "--where", "x > 6", "-o", "p", "--json", "-", input=b"1\n7\n").out)
    assert (report["elements"], report["kept"], report["type"]) == (2, 1, "i64")


# ---- text -------------------------------------------------------------------------------------------------------------

TEXT = "3\n3.0\n 3\r\n+4\n-0\n0\nnan\nNaN\ninf\n1e0"


@pytest.mark.parametrize("arguments, expected", [
    (["--where", "x >= 3"], "3\n3.0\n 3\r\n+4\ninf\n"),
    (["--where", "x == 3", "--invert"], "+4\n-0\n0\nnan\nNaN\ninf\n1e0\n"),
    (["--where", "i < 2"], "3\n3.0\n"),
    (["--nonzero"], "3\n3.0\n 3\r\n+4\nnan\nNaN\ninf\n1e0\n"),
    (["--nonzero", "--invert"], "-0\n0\n"),
    (["--finite"], "3\n3.0\n 3\r\n+4\n-0\n0\n1e0\n"),
    (["--unique"], "3\n+4\n-0\nnan\ninf\n1e0\n"),
    (["--unique", "--invert"], "3.0\n 3\r\n0\nNaN\n"),
    (["--mask", "mask.npy"], "3\n 3\r\n-0\nnan\ninf\n"),
    (["--mask", "mask.npy", "--invert"], "3.0\n+4\n0\nNaN\n1e0\n"),
])
def test_text(box, arguments, expected):
    box.save("mask.npy", np.arange(10) % 2 == 0)
    lines = [line + "\n" for line in TEXT.split("\n")]
    box.write("in.txt", TEXT)
    box.good("compact", *arguments, "in.txt", "-o", "o", "--indices", "i", "--rejected", "r", "--verify")
    assert box.read("o").decode() == expected
    kept = [int(k) for k in box.read("i").split()]
    assert "".join(lines[k] for k in kept) == expected
    assert box.read("r").decode() == "".join(line for k, line in enumerate(lines) if k not in kept)
    assert box.good("compact", *arguments, input=TEXT.encode()).out.decode() == expected


@pytest.mark.parametrize("data", [b"", b"a", b"a\na\nb\n\n\na\n", b"x\0\nx\nx\0\n", b"\xff\n\xff\r\n\xff\r\n", b"1\n+1\n1.0\n", b"ab\nabc\nab\n" * 3])
def test_unique_lines_of_text(box, data):
    lines = data.split(b"\n")
    lines = [line + b"\n" for line in (lines if lines[-1] else lines[:-1])]
    first = [i == 0 or line != lines[i - 1] for i, line in enumerate(lines)]
    box.good("compact", "--unique", "--text", "-o", "out", "--rejected", "rest", "--indices", "at", "--verify", input=data)
    assert box.read("out") == b"".join(line for line, keep in zip(lines, first) if keep)
    assert box.read("rest") == b"".join(line for line, keep in zip(lines, first) if not keep)
    assert box.read("at") == b"".join(b"%d\n" % i for i, keep in enumerate(first) if keep)
    assert box.good("compact", "--unique", "--text", "--invert", input=data).out == box.read("rest")


def test_many_lines_of_text(box):
    """Runs of equal lines on both sides of 65,536, where another thread goes on."""
    lines = [b"line %d\n" % (i // 3) for i in range(140_000)]
    assert box.good("compact", "--unique", "--text", input=b"".join(lines)).out == b"".join(lines[::3])
    box.save("mask.npy", np.arange(140_000) % 7 == 0)
    assert box.good("compact", "--mask", "mask.npy", "--text", "--verify", input=b"".join(lines)).out == b"".join(lines[::7])


def test_text_types(box):
    assert box.good("compact", "--where", "x > 9223372036854775807", input=b"1\n18446744073709551615\n").out == \
        b"18446744073709551615\n"
    assert box.good("compact", "--where", "x < -9223372036854775807", input=b"1\n-9223372036854775808\n").out == \
        b"-9223372036854775808\n"
    assert box.good("compact", "--unique", input="\ufeff1\n1\n".encode()).out == "\ufeff1\n".encode()
    assert box.good("compact", "--unique", input=b"").out == b""
    box.good("compact", "--unique", "-o", "o", "--indices", "i.npy", input=b"5\n5\n6\n")
    assert same(box.load("i.npy"), np.array([0, 2], "u4"))


def test_bad_text(box):
    box.refused(2, "stdin: line 2", "compact", "--unique", "-o", "o", input=b"1\nx\n")
    box.refused(2, "in.txt: line 3", "compact", "--nonzero", box.write("in.txt", "1\n2\n\n4\n"), "-o", "o")


# ---- tables -----------------------------------------------------------------------------------------------------------

TABLE = """id,magnitude,place,i,depth km
1,4.5,"near, here",10,7
2,,nowhere,20,-1
3,5.5,"the ""old"" town",30,nan
4,6,there,40,
"""


@pytest.mark.parametrize("where, rows", [
    ("magnitude >= 4.5", [0, 2, 3]),
    ("magnitude >= 4.5 && magnitude < 6", [0, 2]),
    ("magnitude < 100", [0, 2, 3]),
    ("magnitude != 6", [0, 2]),
    ("!magnitude == 6", [0, 1, 2]),
    ("!magnitude != 6", [1, 3]),
    ("isnan(magnitude)", [1]),
    ("isfinite(magnitude)", [0, 2, 3]),
    ("`depth km` != 7", [1, 2]),
    ("isnan(`depth km`)", [2, 3]),
    ("`depth km` < 0 || id == 4", [1, 3]),
    ("i >= 30", [2, 3]),
    ("`2` > 5", [2, 3]),
    ("id != 1 && magnitude != 6 && `depth km` != 100", [2]),
    ("magnitude != 6 && magnitude != 5.5", [0]),
    ("id > 9", []),
])
def test_tables(box, where, rows):
    lines = TABLE.splitlines(keepends=True)
    box.write("in.csv", TABLE)
    box.good("compact", "--where", where, "in.csv", "-o", "o.csv", "--rejected", "r.csv", "--indices", "i", "--verify")
    assert box.read("o.csv").decode() == lines[0] + "".join(lines[1 + k] for k in rows)
    assert box.read("r.csv").decode() == lines[0] + "".join(lines[1 + k] for k in range(4) if k not in rows)
    assert [int(k) for k in box.read("i").split()] == rows
    inverted = box.good("compact", "--where", where, "--invert", "in.csv", "--verify").out
    assert inverted == box.read("r.csv")


@pytest.mark.parametrize("arguments, data, expected", [
    (["--csv", "--where", "i > 0"], "a\n1\n2\n3\n", "a\n2\n3\n"),
    (["--csv", "--where", "x > 1"], "x\n1\n2\n", "x\n2\n"),
    (["--tsv", "--where", "b == 2"], "a\tb\n1\t2\n3\t4\n", "a\tb\n1\t2\n"),
    (["--csv", "--no-header", "--where", "`2` == 2"], "1,2\n3,4\n", "1,2\n"),
    (["--csv", "--where", "a == 1"], "a,b\r\n1,x\r\n2,y", "a,b\r\n1,x\r\n"),
    (["--csv", "--where", "a == 2"], "a,b\r\n1,x\r\n2,y", "a,b\r\n2,y\r\n"),
    (["--csv", "--where", "a == 1"], "\ufeffa,b\n1,x\n", "\ufeffa,b\n1,x\n"),
    (["--csv", "--where", "a == 1"], "a,b\n", "a,b\n"),
    (["--csv", "--where", "a == 1"], "", ""),
    (["--csv", "--where", "isnan == 1"], "isnan\n1\n2\n", "isnan\n1\n"),
    (["--csv", "--where", "`inf` == 1"], "inf\n1\n2\n", "inf\n1\n"),
    (["--csv", "--where", "`größe` == 1"], "größe\n1\n2\n", "größe\n1\n"),
    (["--csv", "--where", "a > 18446744073709551614"], "a\n18446744073709551615\n1\n", "a\n18446744073709551615\n"),
])
def test_small_tables(box, arguments, data, expected):
    assert box.good("compact", *arguments, "--verify", input=data.encode()).out.decode() == expected


@pytest.mark.parametrize("arguments, data, text", [
    (["--unique"], "a\n1\n", "tables are filtered by --where"),
    (["--nonzero"], "a\n1\n", "tables are filtered by --where"),
    (["--finite"], "a\n1\n", "tables are filtered by --where"),
    (["--mask", "m.npy"], "a\n1\n", "tables are filtered by --where"),
    (["--where", "x > 1"], "a\n1\n", "x"),
    (["--where", "b > 1"], "a\n1\n", "b"),
    (["--where", "a > 1"], "a,a\n1,2\n", "a"),
    (["--where", "b > 1"], "a,b\n1,x\n", "line 2"),
    (["--where", "a > 1"], "a,b\n1,2\n3\n", "line 3"),
    (["--where", "a > 1"], "a,b\n1,\"2\n", "line 2"),
    (["--where", "`3` > 1"], "a,b\n1,2\n", "3"),
    (["--where", "a > 1", "--no-header"], "1,2\n", 'no header with "a"; the columns are `1` to `2`, with the backticks'),
])
def test_bad_tables(box, arguments, data, text):
    box.refused(2, text, "compact", "--csv", *arguments, "-o", "o", input=data.encode())


def test_many_columns(box):
    n = 33
    names = [f"c{k}" for k in range(n)]
    table = ",".join(names) + "\n" + ",".join(str(k) for k in range(n)) + "\n"
    where = " && ".join(f"{name} == {k}" for k, name in enumerate(names))
    assert box.good("compact", "--csv", "--where", " && ".join(where.split(" && ")[:32]), input=table.encode()).out \
        == table.encode()
    box.refused(2, "more than 32 columns", "compact", "--csv", "--where", where, input=table.encode())


def test_a_large_table(box):
    rng = np.random.default_rng(6)
    n = 40_000
    a, b = rng.normal(size=n), rng.integers(-50, 50, n)
    rows = [f"{x!r},{'t' * int(k)},{y}" for x, y, k in zip(a.tolist(), b, rng.integers(0, 40, n))]
    box.write("in.csv", "a,text,b\n" + "\n".join(rows) + "\n")
    keep = (a > 0.25) & (b != 3) | (b == -50)
    for threads in (1, 2, 7):
        got = box.good("compact", "--where", "a > 0.25 && b != 3 || b == -50", "in.csv", "--threads", threads, "--verify")
        assert got.out.decode() == "a,text,b\n" + "".join(r + "\n" for r, k in zip(rows, keep) if k)


def test_nan_against_every_constant(box):
    box.save("in.npy", np.array([math.nan]))
    for op in COMPARE:
        assert len(box.good("compact", "--where", f"x {op} 0", "in.npy").array) == (op == "!=")


# ---- algorithms -------------------------------------------------------------------------------------------------------


def test_algorithm(box):
    box.save("in.npy", np.arange(10))
    expected = box.good("compact", "--where", "x > 3", "in.npy").out
    for algorithm in ("auto", "blocked"):
        assert box.good("compact", "--where", "x > 3", "--algorithm", algorithm, "in.npy").out == expected
    for algorithm in ("wave", "look-back"):
        for selector in (["--where", "x > 3"], ["--unique"]):
            box.refused(2, "CPU backend", "compact", *selector, "--algorithm", algorithm, "in.npy", "-o", "out",
                        env=dict(os.environ, **NO_DEVICE))
    for algorithm in ("fast", "", "hierarchical", "wave/warp"):
        box.refused(2, "--algorithm", "compact", "--unique", "--algorithm", algorithm, "in.npy", "-o", "out")
