# SPDX-License-Identifier: MIT
"""Tests of text in compact --where, against Python's comparisons of bytes and its re."""
import fractions
import random
import re

import pytest
from conftest import HAS_PCRE2, in_sanitized

pytestmark = in_sanitized("expressions and strings of any bytes")

needs_pcre2 = pytest.mark.skipif(not HAS_PCRE2, reason="built without PCRE2")

VALUES = [None, b"", b"a", b"ab", b"b", b"Boston", b"boston", b"Boston, MA", b'the "old" town', b'"', b"line\nbreak", b"x\0y", b"x\0z", b"\xff", "é".encode(),
          b"10", b"9", b"aaab", b"aab", b"2018-02-06", b" a"]


def field(value):
    if value is None:
        return b""
    return value if value and not re.search(rb'[",\n]', value) else b'"' + value.replace(b'"', b'""') + b'"'


def kept(box, where, rows, *arguments, data=None):
    data = data if data is not None else b"i,w,n\n" + b"".join(rows)
    result = box.good("compact", "--csv", "--where", where, "--verify", *arguments, input=data)
    assert result.out.startswith(b"i,w,n\n")
    return [int(row.split(b",")[0]) for row in rows if row in result.out]


ROWS = [b"%d,%s,%d\n" % (i, field(value), i % 3) for i, value in enumerate(VALUES)]


def literal(value):
    return '"' + value.decode("utf-8", "surrogateescape").replace('"', '""') + '"'


COMPARE = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
           ">=": lambda a, b: a >= b, "contains": lambda a, b: b in a, "startswith": lambda a, b: a.startswith(b), "endswith": lambda a, b: a.endswith(b)}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@pytest.mark.parametrize("op", COMPARE)
def test_operators(box, op):
    """A command line holds no NUL, so that values with one stand among the rows only."""
    for value in (b"", b"a", b"Boston", b'"', b'the "old" town', b"line\nbreak", b"\xff", b"x", b"b"):
        expected = [i for i, text in enumerate(VALUES) if text is not None and COMPARE[op](text, value)]
        assert kept(box, f"w {op} {literal(value)}", ROWS) == expected
        if op in MIRRORED:
            assert kept(box, f"{literal(value)}{MIRRORED[op]}w", ROWS) == expected
    assert kept(box, f'!(w {op} "Boston")', ROWS) == [
        i for i, text in enumerate(VALUES) if not (text is not None and COMPARE[op](text, b"Boston"))]


@pytest.mark.parametrize("where, keep", [
    ("w is missing", lambda w, n: w is None), ("!w is missing", lambda w, n: w is not None), ('w in ("b", "Boston", "a")', lambda w, n: w in (b"a", b"b", b"Boston")),
    ('w in ("")', lambda w, n: w == b""), ('!(w in ("a"))', lambda w, n: w != b"a"), ("n in (1)", lambda w, n: n == 1), ("n in (2, 0,2)", lambda w, n: n in (0, 2)),
    ('n in (1, 2) && w contains "a"', lambda w, n: n in (1, 2) and w is not None and b"a" in w), ('w contains "o" || n == 0', lambda w, n: (w is not None and b"o" in w) or n == 0),
    ('w > "a" && w < "b" && !(w == "ab")', lambda w, n: w is not None and b"a" < w < b"b" and w != b"ab"), ("`w` is missing || i in (3)", lambda w, n: w is None or w == b"ab"),
    ('w != "a" && w != "b"', lambda w, n: w is not None and w not in (b"a", b"b")), ("n != 1 && !(n in (2))", lambda w, n: n == 0),
])
def test_joined(box, where, keep):
    expected = [i for i, value in enumerate(VALUES) if keep(value, i % 3)]
    assert kept(box, where, ROWS) == expected
    rest = set(range(len(VALUES))) - set(expected)
    assert set(kept(box, where, ROWS, "--invert")) == rest


def test_a_column_as_text_and_as_number(box):
    data = b"i,w,n\n0,10,1\n1,9,1\n2,,1\n3,010,1\n"
    rows = data.splitlines(keepends=True)[1:]
    assert kept(box, 'w >= 9.5 && w startswith "1"', rows, data=data) == [0]
    assert kept(box, 'w == 10 && w != "10"', rows, data=data) == [3]
    assert kept(box, "isnan(w) && w is missing", rows, data=data) == [2]


INTEGERS = ["0", "-1", "9007199254740993", "9007199254740992", "-9223372036854775808", "9223372036854775807", "1"]
UNSIGNED = ["18446744073709551615", "9223372036854775808", "0", "9007199254740993"]
FLOATS = ["", "0.5", "-0.5", "1e0", "9007199254740992.0", "9223372036854775808.0", "-9223372036854775808.0", "1.8446744073709552e19", "nan", "inf", "-inf", "-1.5"]


def exact(text):
    """The number as a fraction or float, None if it is missing."""
    if text == "" or text.lstrip("+-") in ("nan", "inf"):
        return float(text) if text else None
    return fractions.Fraction(text) if text.lstrip("-").isdigit() else fractions.Fraction(float(text))


@pytest.mark.parametrize("left, right", [(FLOATS, INTEGERS), (UNSIGNED, FLOATS), (INTEGERS, UNSIGNED), (FLOATS, FLOATS)])
def test_column_against_column(box, left, right):
    """Exact in Python's fractions, whatever the two types are; missing compares false, with != too."""
    pairs = [(a, b) for a in left for b in right]
    data = "a,a b\n" + "".join(f"{a},{b}\n" for a, b in pairs)
    for op in MIRRORED:
        expected = "a,a b\n" + "".join(f"{a},{b}\n" for a, b in pairs if None not in (exact(a), exact(b)) and eval(f"x {op} y", {"x": exact(a), "y": exact(b)}))
        assert box.good("compact", "--csv", "--verify", "--where", f"a{op}`a b`", input=data.encode()).out.decode() == expected
    rows = "".join(f"{i * 3 % 40000}\n" for i in range(40_000))
    kept_rows = "".join(f"{i * 3 % 40000}\n" for i in range(40_000) if i * 3 % 40000 <= i and i * 3 % 40000 != 3)
    assert box.good("compact", "--csv", "--where", "a <= i && a != 3", "--threads", 3, input=("a\n" + rows).encode()).out.decode() == "a\n" + kept_rows


@pytest.mark.parametrize("n", [0, 16_384, 16_385, 50_000])
def test_many_rows_and_lines(box, n):
    rng = random.Random(n)
    lines = [rng.choice([b"", b"error: disk", b"warning", b"error", b"e" * 50, b"\xfe\xfe", b"ok error"]) for _ in range(n)]
    data = b"".join(line + b"\n" for line in lines)
    for where, keep in [('x contains "error"', lambda x: b"error" in x), ('x == ""', lambda x: not x), ('x >= "ok" && !(x endswith "r")', lambda x: x >= b"ok" and not x.endswith(b"r"))]:
        assert box.good("compact", "--text", "--verify", "--where", where, "--threads", 3, input=data).out == b"".join(x + b"\n" for x in lines if keep(x))
    assert box.good("compact", "--text", "--where", 'i >= 16383 && x == "error"', input=data).out == b"error\n" * lines[16383:].count(b"error")


# ---- patterns --------------------------------------------------------------------------------------------------------

@needs_pcre2
@pytest.mark.parametrize("pattern", ["", "^a+b$", "o", "^Bos", "(?i)^BOSTON$", "\\d+-\\d\\d", "old\" town", "line\\nb", "^.$", "\\xff", "[^a-z ]$", "a{2,}", "x|b", "(a)(?:a)*b", "\\bold\\b", "^$"])
def test_matches(box, pattern):
    """Patterns in which Perl and Python mean the same, over bytes."""
    expected = [i for i, value in enumerate(VALUES) if value is not None and re.search(pattern.encode(), value)]
    assert kept(box, f"w matches {literal(pattern.encode())}", ROWS) == expected


@needs_pcre2
def test_patterns_that_cannot_be_matched(box):
    data = b"a\nx\n" + b"y\n" * 16_384 + b"a" * 60 + b"\n" + b"a" * 60 + b"\n"
    box.refused(2, "stdin: line 16387: matches: match limit exceeded", "compact", "--csv", "--where", 'a matches "^(?:a+)+(?<=a)b|^(?:\\D+|<\\d+>)*[!?]"', input=data)
    box.refused(2, "stdin: line 3: matches: match limit exceeded: a pattern with fewer repeats inside repeats takes fewer steps", "compact", "--text", "--where", 'x matches "^(?:\\D+|<\\d+>)*[!?]"', input=b"\n\n" + b"a" * 60 + b"\n")
    for pattern, reason in [("(a", "missing closing parenthesis, after 2 bytes"), ("[b", "missing terminating ] for character class")]:
        box.refused(2, "matches: " + reason, "compact", "--csv", "--where", f'a matches "{pattern}"', input=b"a\nx\n")
        box.refused(2, "matches: " + reason, "compact", "--csv", "--where", f'a matches "{pattern}"', input=b"a\n")


@pytest.mark.skipif(HAS_PCRE2, reason="built with PCRE2")
def test_matches_needs_pcre2(box):
    box.refused(2, "matches: this build has no PCRE2; build it where libpcre2-dev is installed", "compact", "--csv", "--where", 'a matches "b"', input=b"a\nb\n")


# ---- messages --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("where, text", [
    ("w == Boston", 'the header has no column "Boston"; text goes in double quotes'), 
    ("n > w > 1", "comparisons do not chain"), ("n > w", 'line 2, column 2 ("w"): "x" is not a number'), ("n > `z`", 'the header has no column "z"'), ("n > *", "'*' stands where a number, a column or text is expected"), ("w == 'Boston'", "column 6: text goes in double quotes"),
    ('w == "Boston', "column 6: the quote is not closed"), ("w contains", "the expression ends where \"text\" is expected"), ("w contains 5", 'column 12: "text" in double quotes is expected here'),
    ("w contains 'x'", "text goes in double quotes"), ('"a" == "b"', "two texts are compared, one side must be a column"), ('1 == "b"', "two values are compared"),
    ('"a" contains w', "'c' stands where < <="), ('"a" < w < "b"', "comparisons do not chain"), ('w == "a" == 1', "comparisons do not chain"), ("w in 1", "a list is written (1, 2) or (\"a\", \"b\")"),
    ("w in ()", "a number or text is expected in the list"), ("n in (1, \"a\")", "a list is of numbers or of text, not of both"), ("w in (\"a\", 1)", '"text" in double quotes is expected here'),
    ("n in (1 2)", "',' or ')' is expected in the list"), ("n in (1,", "is expected in the list"), ("w is", "after 'is' stands 'missing'"), ("w is not missing", "after 'is' stands 'missing'; !(COLUMN is missing) is its negation"),
    ("w like \"x\"", "'l' stands where < <= > >= == or != is expected; words are contains, startswith, endswith, matches, in, is"),
    ("i contains \"a\" && i is missing", None), ("w == 5", 'line 2, column 2 ("w"): "x" is not a number'), (" || ".join(['w == "a"'] * 33), "more than 32 tests of text or of two columns"),
    (" || ".join(['w == "a"'] * 32) + " || n == 1", "too many columns"), ("n in (" + ",".join(map(str, range(70))) + ")", "more than 128 comparisons and joins"),
    ("wo == 1", 'the header has no column "wo", it has "i", "w", "n"'),
])
def test_refused(box, where, text):
    data = b"i,w,n\n1,x,2\n"
    if text is None:
        assert box.good("compact", "--csv", "--where", where, input=data).out == b"i,w,n\n"
    else:
        box.refused(2, text, "compact", "--csv", "--where", where, input=data)


@pytest.mark.parametrize("arguments, data, text", [
    (["--where", 'x contains "1"'], b"1\n", "x is a number; text is in tables, and in lines with --text"), (["--where", "x is missing"], b"1\n", "x is a number"),
    (["--text", "--where", "x > 1"], b"1\n", "x is text, which compares with text in double quotes"), (["--text", "--where", 'i == "a"'], b"1\n", "i is the line's index, a number"),
    (["--text", "--where", 'y == "a"'], b"1\n", 'there is no column "y"; x is the line, i its index'), (["--csv", "--where", 'i == "a"'], b"a\n1\n", "i is the row's index, a number"),
    (["--where", "x > i"], b"1\n", "columns are compared with each other in tables"), (["--text", "--where", "x > i"], b"1\n", "columns are compared with each other in tables"),
])
def test_refused_elsewhere(box, arguments, data, text):
    box.refused(2, text, "compact", *arguments, input=data)


@pytest.mark.parametrize("program, arguments", [("sort", ["-k"]), ("prefix", ["-k"]), ("compact", ["--where"])])
@pytest.mark.parametrize("name, nearest", [("magnitud", "magnitude"), ("Place", "place"), ("plcae", "place"), ("depht_km", "depth_km"), ("xyzzy", None), ("tm", None), ("PLACE", "place")])
def test_nearest_name(box, program, arguments, name, nearest):
    where = f"{name} > 1" if program == "compact" else name
    message = f'did you mean "{nearest}"?' if nearest else 'it has "time", "depth_km", "magnitude" and 1 more'
    if program == "compact" and nearest:
        box.refused(2, f'no column "{name}": did you mean "{nearest}"?; text goes in double quotes', program, "--csv", *arguments, f"time < {name}",
                    input=b"time,depth_km,magnitude,place\n1,2,3,4\n")
    box.refused(2, f'the header has no column "{name}"' + (": " if nearest else ", ") + message, program, "--csv", *arguments, where,
                input=b"time,depth_km,magnitude,place\n1,2,3,4\n")
