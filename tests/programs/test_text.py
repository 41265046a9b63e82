# SPDX-License-Identifier: MIT
"""Lines of numbers: the grammar, the type that all lines together determine, and lines kept byte for byte."""
import functools
import pathlib
import random
import resource
import subprocess

import numpy as np
import pytest
from conftest import in_sanitized, release_only
from sort_program import SORT, bad, good, order, run

pytestmark = in_sanitized("parsers of untrusted numbers")

# ---- numbers ---------------------------------------------------------------------------------------------------------

NUMBERS = {
    "0": 0, "-0": 0, "7": 7, "+7": 7, "-7": -7, "007": 7, " 7": 7, "7 ": 7, "\t7\t": 7, " \t+7 \r": 7, "7\r": 7,
    "12345678": 12345678, "123456789": 123456789, "1234567890123456": 1234567890123456,
    "12345678901234567": 12345678901234567, "999999999999999999": 10**18 - 1, "1000000000000000000": 10**18,
    "9223372036854775807": 2**63 - 1, "-9223372036854775808": -2**63, "0000000000000000000000000000012": 12,
    "9" * 18: int("9" * 18), "-" + "9" * 18: -int("9" * 18), "0" * 400 + "5": 5,
    "9223372036854775808": 2**63, "18446744073709551615": 2**64 - 1, "10000000000000000000": 10**19,
    "1.": 1.0, ".5": 0.5, "1.5": 1.5, "-1.5": -1.5, "+1.5": 1.5, "1e3": 1e3, "1E3": 1e3, "1e+3": 1e3, "1e-3": 1e-3,
    "1.e2": 100.0, ".5e1": 5.0, "-.5": -0.5, "0.1": 0.1, "1e308": 1e308, "1.7976931348623157e308": 1.7976931348623157e308,
    "4.9e-324": 4.9e-324, "2.2250738585072014e-308": 2.2250738585072014e-308, "1e-400": 0.0, "-1e-400": 0.0,
    "0e99999": 0.0, "0.0e-99999": 0.0, "0." + "0" * 400 + "1": 0.0, "0." + "0" * 400 + "1e401": 1.0,
    "1" + "0" * 400 + "e-400": 1.0, "1." + "7" * 400: 16 / 9, "1e-99999999999999999999999": 0.0,
    "inf": float("inf"), "-inf": -float("inf"), "+inf": float("inf"), "INF": float("inf"), "Infinity": float("inf"),
    "-INFINITY": -float("inf"), "nan": None, "NaN": None, "-nan": None, "+NAN": None, " nan \r": None,
}


@pytest.mark.parametrize("text", NUMBERS, ids=lambda t: ascii(t[:24]))
def test_number(text):
    """A number's place among close neighbours shows which value was read."""
    value = NUMBERS[text]
    line = text.encode() + b"\n"
    if value is None:
        assert good(stdin=b"inf\n" + line + b"-inf\n") == b"-inf\ninf\n" + line
    elif isinstance(value, float) and abs(value) == float("inf"):
        edge = b"1.7976931348623157e308\n" if value > 0 else b"-1.7976931348623157e308\n"
        assert good(stdin=line + edge) == (edge + line if value > 0 else line + edge)
    elif isinstance(value, float):
        below, above = (b"%r\n" % float(np.nextafter(value, s)) for s in (-np.inf, np.inf)) if abs(value) < 1e308 else (
            b"1e307\n", b"inf\n")
        assert good(stdin=above + line + below) == below + line + above
    else:
        below, above = b"%d\n" % (value - 1), b"%d\n" % (value + 1)
        if value == 2**64 - 1:
            above = b""
        if value == -2**63:
            below = b""
        if value == 2**63 - 1:
            above = b""
        assert good(stdin=above + line + below) == below + line + above


NOT_NUMBERS = {
    "12x": 3, "x": 1, "1,5": 2, "1_000": 2, "0x10": 2, "1 2": 2, "--1": 1, "+-1": 1, "-": 1, "+": 1, ".": 1, "-.": 2,
    "e5": 1, "1e": 2, "1e+": 2, "1.5.2": 4, "1f": 2, "nan(abc)": 4, "nanx": 4, "infinit": 4, "in": 1, "1\r\r": 2,
    "\r1": 1, "1\0": 2, "\0": 1, "\x0b1": 1, "1\xa0": 2, "١": 1, "1e5x": 4, "$1": 1, "\"1\"": 1, "- 1": 1, "1e 5": 2,
    "tru": 1, "0b1": 2, "1'000": 2, "1d5": 2, "−1": 1,
}


@pytest.mark.parametrize("text", NOT_NUMBERS, ids=ascii)
def test_not_a_number(text):
    message = bad(stdin=b"1\n" + text.encode() + b"\n3\n")
    assert message.startswith("stdin: line 2, column ")
    assert message.endswith("is not a number; --text sorts lines as text")
    column = NOT_NUMBERS[text]
    if text.isascii() and text not in ("-", "+", "--1", "+-1", "- 1"):
        assert message.startswith(f"stdin: line 2, column {column}: "), message


@pytest.mark.parametrize("text, why", [
    ("1e999", "is too large for a 64-bit float"), ("-1e999", "is too large for a 64-bit float"),
    ("1.8e308", "is too large for a 64-bit float"), ("1" + "0" * 400 + ".5", "is too large for a 64-bit float"),
    ("1e99999999999999999999999", "is too large for a 64-bit float"), ("0.001e999", "is too large for a 64-bit float"),
    ("18446744073709551616", "does not fit a 64-bit integer"), ("9" * 400, "does not fit a 64-bit integer"),
    ("-9223372036854775809", "does not fit a 64-bit integer"), ("-" + "9" * 400, "does not fit a 64-bit integer"),
    ("36893488147419103232", "does not fit a 64-bit integer"),
])
def test_out_of_range(text, why):
    message = bad(stdin=b"1\n\t" + text.encode() + b"\n")
    assert message.startswith("stdin: line 2, column 2: ") and message.endswith(why)


@pytest.mark.parametrize("lines, line, why", [
    (["1", "", "2"], 2, "is empty, a number is needed"), (["", "1"], 1, "is empty, a number is needed"),
    (["1", "\r"], 2, "is empty, a number is needed"),
    (["1", " "], 2, "is empty, a number is needed"), (["1", "\t \r", "x"], 2, "is empty, a number is needed"),
    (["-1", "9223372036854775808"], 2, "does not fit i64, and a negative number does not fit u64"),
    (["1.5", "9007199254740993"], 2, "is beyond 2^53 and stands among floats"),
    (["9007199254740993", "nan"], 1, "is beyond 2^53 and stands among floats"),
    (["1", "-9007199254740993", "1e0"], 2, "is beyond 2^53 and stands among floats"),
    (["18446744073709551615", "inf"], 1, "is beyond 2^53 and stands among floats"),
])
def test_whole_input_is_refused(lines, line, why):
    message = bad(stdin="\n".join(lines + [""]).encode())
    assert message.startswith(f"stdin: line {line}") and message.endswith(why)


def test_message_names_the_file_and_quotes_little(tmp_path):
    path = tmp_path / "n.txt"
    path.write_bytes(b"1\n2\n" + b"\x1b[31m" + b"z" * 100 + b"\n")
    message = bad(path)
    assert message == f'{path}: line 3, column 1: "\\x1b[31m{"z" * 35}"... is not a number; --text sorts lines as text'


@pytest.mark.parametrize("lines, kind", [
    (["1", "-2"], "i64"), (["9223372036854775807", "-9223372036854775808"], "i64"), (["9223372036854775808", "0"], "u64"),
    (["18446744073709551615", "-0"], "u64"), (["1", "2.0"], "f64"), (["1", "1e0"], "f64"), (["1", "nan"], "f64"),
    (["1", "INF"], "f64"), (["9007199254740992", "0.5"], "f64"), (["-9007199254740992", "0.5"], "f64"), ([], "i64"),
])
def test_type(lines, kind):
    code, _, err = run("--stats", stdin="".join(line + "\n" for line in lines).encode())
    assert code == 0
    assert dict(line.split(None, 1) for line in err.splitlines())["type"].strip() == kind


# ---- lines -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("data, expected", [
    (b"", b""), (b"5", b"5\n"), (b"5\n", b"5\n"), (b"2\n1", b"1\n2\n"), (b"2\r\n1\r\n", b"1\r\n2\r\n"),
    (b"2\r\n1", b"1\n2\r\n"), (b"+2\n02\n2\n", b"+2\n02\n2\n"), (b" 2\n1 \n", b"1 \n 2\n"),
    (b"\xef\xbb\xbf2\n1\n", b"\xef\xbb\xbf1\n2\n"), (b"\xef\xbb\xbf", b"\xef\xbb\xbf"), (b"-0\n0\n-0\n", b"-0\n0\n-0\n"),
    (b"0.0\n-0\n0\n-0.0\n", b"0.0\n-0\n0\n-0.0\n"), (b"nan\n1\n-nan\n", b"1\nnan\n-nan\n"),
    (b"7\n" * 5000, b"7\n" * 5000), (b"7\n" * 5000 + b"6", b"6\n" + b"7\n" * 5000),
])
def test_bytes(data, expected):
    assert good(stdin=data) == expected
    assert good("--verify", stdin=data) == expected


def padded(rng, text):
    """Returns the same number in a longer line, in ways that the grammar allows."""
    kind = rng.random()
    if kind < 0.5:
        return text
    if kind < 0.7:
        return " " * rng.randrange(40) + text
    if kind < 0.8:
        return text + "\t" * rng.randrange(5) + "\r"
    return text if text[0] in "+-" else "+" + text


def lines_of(rng, kind, n):
    for _ in range(n):
        if kind == "plain":
            yield str(rng.randrange(-10**rng.randrange(1, 18), 10**rng.randrange(1, 18)))
        elif kind == "wide":
            yield str(rng.randrange(-2**63, 2**63))
        elif kind == "unsigned":
            yield str(rng.randrange(2**64))
        elif kind == "few":
            yield padded(rng, str(rng.randrange(10)))
        elif kind == "fixed":
            yield "%.6f" % rng.gauss(0, 1000)
        elif kind == "shortest":
            yield padded(rng, repr(rng.gauss(0, 1) * 10.0**rng.randrange(-300, 300)))
        else:
            yield rng.choice([str(rng.randrange(1000)), repr(rng.random()), "nan", "inf", "-inf", "-0", "1e5"])


def value_of(line, is_float):
    return float(line) if is_float else int(line)


KINDS = ["plain", "wide", "unsigned", "few", "fixed", "shortest", "mixed"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 100, 5000])
@pytest.mark.parametrize("options", [[], ["-r"]], ids=["up", "down"])
def test_order(kind, n, options):
    rng = random.Random(f"{kind} {n}")
    lines = list(lines_of(rng, kind, n))
    values = [value_of(line, kind in ("fixed", "shortest", "mixed")) for line in lines]
    data = "".join(line + "\n" for line in lines).encode()
    expected = "".join(lines[i] + "\n" for i in order(values, descending=bool(options))).encode()
    assert good("--verify", *options, stdin=data) == expected


@functools.cache
def many_lines(kind):
    """Several pieces of a megabyte, so that lines straddle their ends, and the same sorted."""
    rng = random.Random(kind)
    block = list(lines_of(rng, kind, 20000))
    lines = []
    while len(lines) < 220_000:
        lines += block
        rng.shuffle(block)
    is_float = kind in ("fixed", "shortest", "mixed")
    known = {line: value_of(line, is_float) for line in block}
    expected = [lines[i] for i in order([known[line] for line in lines])]
    return "\n".join(lines).encode(), ("\n".join(expected) + "\n").encode()


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_many_pieces(kind, threads, tmp_path):
    data, expected = many_lines(kind)
    path = tmp_path / "lines.txt"
    path.write_bytes(data)
    assert good("--threads", threads, path) == expected


@functools.cache
def lines_before(late):
    """Several pieces of integers, then a line of another type, and the same sorted."""
    rng = random.Random(5)
    lines = ["-0" if i % 1000 == 0 and "." in late else str(rng.randrange(10**9)) for i in range(250_000)]
    lines += late.split("\n")
    values = [float(x) if "." in late else int(x) for x in lines]
    return "\n".join(lines).encode(), "".join(lines[i] + "\n" for i in order(values)).encode()


@pytest.mark.parametrize("late", ["0.5", "18446744073709551615", "-0\n0.25"])
@pytest.mark.parametrize("threads", [1, 2])
def test_type_is_decided_late(late, threads):
    """A float, or a large integer, in the last piece changes the type of the pieces that were read as i64."""
    data, expected = lines_before(late)
    assert good("--threads", threads, "--verify", stdin=data) == expected


@pytest.mark.parametrize("fault, where", [("x", 150_000), ("x", 0), ("", 249_999), ("1e999", 120_000)])
def test_first_fault_is_named(fault, where):
    lines = ["1234567"] * 250_000
    lines[where] = fault
    lines.append("also bad")
    message = bad("--threads", 2, stdin="\n".join(lines).encode())
    assert message.startswith(f"stdin: line {where + 1}")


@pytest.mark.parametrize("flag", ["-n", "-g"])
def test_same_bytes_as_gnu_sort(flag, tmp_path):
    rng = random.Random(flag)
    numbers = rng.sample(range(-10**11, 10**11), 30000)
    lines = [str(x) if flag == "-n" else "%.7g" % (x / 1e4) for x in dict.fromkeys(numbers)]
    if flag == "-g":
        lines = list({float(line): line for line in lines}.values())
    path = tmp_path / "lines.txt"
    path.write_text("".join(line + "\n" for line in lines))
    expected = subprocess.run(["sort", flag, path], env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE,
                              check=True).stdout
    assert good(path) == expected


# ---- large lines and little memory -----------------------------------------------------------------------------------

def test_long_lines():
    """Blocks of lines too large to gather are written one by one."""
    lines = [b" " * 5_000_000 + b"%d" % i for i in (5, 3, 9, 1, 7, 2, 8)]
    assert good("--verify", stdin=b"\n".join(lines)) == b"".join(
        line + b"\n" for line in sorted(lines, key=lambda line: int(line)))


@release_only("sanitizers need more address space than this limit leaves")
def test_line_longer_than_memory(tmp_path):
    path = tmp_path / "long.txt"
    with open(path, "wb") as file:
        file.write(b"1\n")
        file.truncate(2 << 30)  # zero bytes, no newline
    limit = 512 << 20
    code, out, err = run("--threads", 1, path, preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert (code, out) == (3, b"")
    assert err.startswith("sort: ") and "memory" in err and err.count("\n") == 1


def test_reader_that_stops_early(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{i}\n" for i in range(200_000)))
    done = subprocess.run(f"{SORT} {path} | head -n 2; echo ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stdout == b"0\n1\n141\n"
    assert done.stderr == b""
