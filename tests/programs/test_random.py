# SPDX-License-Identifier: MIT
"""The programs on random input, against Python: expressions of --where, tables and lines to sort, and command lines of
words in any order. SCAN_FUZZ_SECONDS=N gives each of them N seconds; without it there are a few dozen runs, the same each
time."""
import itertools
import os
import random
import re
import time

import numpy as np
import pytest

from conftest import in_sanitized
from image_files import pnm

pytestmark = in_sanitized("odd expressions, tables and arguments")

SECONDS = float(os.environ.get("SCAN_FUZZ_SECONDS", "0"))
RUNS = 150


def seeds(name):
    """Yields generators of random numbers: RUNS of them, or as many as there is time for."""
    end = time.monotonic() + SECONDS
    for k in itertools.count():
        if time.monotonic() > end and (SECONDS or k >= RUNS):
            return
        yield random.Random(f"{name} {k} {time.time() if SECONDS else 0}")


# ---- numbers ---------------------------------------------------------------------------------------------------------

INTEGERS = [0, 1, -1, 2, 7, 100, 2**31, -2**31, 2**53, 2**53 + 1, -2**53 - 1, 2**63 - 1, -2**63]
FLOATS = ["0.5", "-0.0", "1e300", "-1e-300", "nan", "inf", "-inf", "2.5", "9007199254740992", "-0", "3", "1e-400"]


def integer(rng):
    return str(rng.choice([rng.choice(INTEGERS), rng.randrange(-9, 9)]))


def column(rng, n):
    """Returns the texts of a column and their values; None is a missing one."""
    kind = rng.choice(["few", "integers", "unsigned", "floats", "missing"])
    if kind == "few":
        texts = [str(rng.randrange(-2, 4)) for _ in range(n)]
    elif kind == "integers":
        texts = [integer(rng) for _ in range(n)]
    elif kind == "unsigned":
        texts = [str(rng.choice([0, 1, 2**53 + 1, 2**63, 2**64 - 1])) for _ in range(n)]
    elif kind == "floats":
        texts = [rng.choice(FLOATS) for _ in range(n)]
    else:
        texts = [rng.choice(["", " ", "1", "2.5"]) for _ in range(n)]
    whole = all(re.fullmatch(r"-?\d+", text) for text in texts)
    return texts, [int(text) if whole else float(text) if text.strip() else None for text in texts]


def quoted(rng, text):
    return rng.choice([text, text, f'"{text}"'])


def table(rng, names, n):
    """Returns lines with their ends, the header first, and the values of each column."""
    columns = [column(rng, n) for _ in names]
    end = rng.choice(["\n", "\n", "\r\n"])
    rows = [",".join(quoted(rng, texts[i]) for texts, _ in columns) + end for i in range(n)]
    return [",".join(names) + end] + rows, [values for _, values in columns]


def is_nan(value):
    return value is None or value != value


# ---- --where ---------------------------------------------------------------------------------------------------------

COMPARE = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
           "==": lambda a, b: a == b, "!=": lambda a, b: a != b}


def a_test(rng, names):
    """Returns a comparison or test: its text, and a function of a row, which is a dict."""
    name = rng.choice(names)
    column_text = f"`{name}`" if " " in name or rng.random() < 0.2 else name
    if rng.random() < 0.2:
        blank = rng.choice(["", " "])
        if rng.random() < 0.5:
            return f"isnan{blank}({column_text})", lambda row: is_nan(row[name])
        return f"isfinite({blank}{column_text})", lambda row: not is_nan(row[name]) and abs(row[name]) != float("inf")
    sign = rng.choice(list(COMPARE))
    text = rng.choice([integer(rng), rng.choice([f for f in FLOATS if f != "nan"]), str(2**64 - 1), "4.5", "+3"])
    constant = int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)

    def holds(row, mirrored=False):
        value = row[name]
        if value is None:
            return False
        return COMPARE[sign](constant, value) if mirrored else COMPARE[sign](value, constant)
    if rng.random() < 0.3:
        return f"{text} {sign} {column_text}", lambda row: holds(row, True)
    return f"{column_text}{rng.choice(['', ' '])}{sign}{rng.choice(['', ' '])}{text}", holds


def expression(rng, names, depth):
    """Returns the text, a function of a row, and the precedence: 0 for ||, 1 for &&, 2 for the rest."""
    kind = rng.choice(["test", "not", "and", "or"]) if depth else "test"
    if kind == "test":
        return (*a_test(rng, names), 2)
    a, holds_a, binds_a = expression(rng, names, depth - 1)
    if kind == "not":
        inner = f"({a})" if binds_a < 2 or rng.random() < 0.5 else a
        return "!" + inner, lambda row: not holds_a(row), 2
    b, holds_b, binds_b = expression(rng, names, depth - 1)
    level = 1 if kind == "and" else 0
    a = f"({a})" if binds_a < level or rng.random() < 0.2 else a
    b = f"({b})" if binds_b < level or rng.random() < 0.2 else b
    if kind == "and":
        return f"{a} && {b}", lambda row: holds_a(row) and holds_b(row), 1
    return f"{a} || {b}", lambda row: holds_a(row) or holds_b(row), 0


def test_where(box):
    names = ["a", "b_2", "the c"]
    for rng in seeds("where"):
        n = rng.choice([0, 1, 5, 60])
        lines, columns = table(rng, names, n)
        text, holds, _ = expression(rng, names, rng.randrange(4))
        kept = [holds({name: values[i] for name, values in zip(names, columns)}) for i in range(n)]
        invert = rng.random() < 0.3
        result = box.run("compact", "--csv", "--verify", *["--invert"] * invert, "--where", text, "--rejected", "rest.csv",
                         "-f", input="".join(lines).encode())
        assert (result.code, result.err) == (0, ""), text
        chosen = [line for line, keep in zip(lines[1:], kept) if keep != invert]
        others = [line for line, keep in zip(lines[1:], kept) if keep == invert]
        assert result.out.decode() == "".join(lines[:1] + chosen), text
        assert box.read("rest.csv").decode() == "".join(lines[:1] + others), text


def test_where_on_arrays(box):
    for rng in seeds("arrays"):
        dtype = rng.choice(["u1", "i1", "u2", "i4", "u8", "i8", "f4", "f8"])
        n = rng.choice([1, 33, 1000])
        raw = np.random.default_rng(rng.randrange(2**32)).integers(0, 256, n * np.dtype(dtype).itemsize, dtype="u1")
        x = raw.view(dtype) if rng.random() < 0.5 else (raw[:n] % 8).astype(dtype)
        text, holds, _ = expression(rng, ["x", "i"], rng.randrange(4))
        kept = np.array([holds({"x": v, "i": i}) for i, v in enumerate(x.tolist())])
        box.save("x.npy", x)
        result = box.good("compact", "--verify", "--where", text, "x.npy")
        assert result.array.tobytes() == x[kept].tobytes(), (text, dtype)


# ---- sort ------------------------------------------------------------------------------------------------------------

def place(value, descending, nan_first):
    if is_nan(value):
        return (0 if nan_first else 2, 0)
    return (1, -value if descending else value)


def test_sorted_tables(box):
    """Sorts by Python's stable sort, one key after another."""
    names = ["a", "b", "c"]
    for rng in seeds("tables"):
        lines, columns = table(rng, names, rng.choice([0, 1, 2, 50]))
        keys, arguments = [], []
        for _ in range(rng.randrange(1, 4)):
            which, descending, nan_first = rng.randrange(3), rng.random() < 0.5, rng.random() < 0.3
            keys.append((which, descending, nan_first))
            name = rng.choice([names[which], str(which + 1)])
            arguments += ["-k", name + ":desc" * descending + ":nan=first" * nan_first]
        places = [tuple(place(columns[k][i], down, first) for k, down, first in keys) for i in range(len(lines) - 1)]
        order = sorted(range(len(places)), key=places.__getitem__)
        unique = rng.random() < 0.3
        if unique:
            order = [i for j, i in enumerate(order) if j == 0 or places[i] != places[order[j - 1]]]
        result = box.good("sort", "--csv", "--verify", *["-u"] * unique, *arguments, input="".join(lines).encode())
        assert result.out.decode() == lines[0] + "".join(lines[1 + i] for i in order), arguments


# ---- command lines ---------------------------------------------------------------------------------------------------

NUMBERS = ["0", "1", "-1", "2", "007", "1024", "1025", "99999999999999999999", "1e3", "0x10", "", " 1", "nan", "½"]
COMMON = ["-o", "-f", "--force", "--verify", "--stats", "--json", "--threads", "--device", "--progress", "--", "-",
          "out", "out.npy", "in.npy", "in.csv", "in.txt", "in.pgm", "in.raw", "absent", ".", "auto", "cpu", "cuda:0",
          "cuda:x", "never", "--threads=2", "--json=report", "/dev/null", "--csv", "--tsv", "--dtype", "u8", "float64",
          "--dtype=i16", "--no-header", "--bogus", "-z", "--help", "--version", "in.npy", "in.csv"]
WORDS = {
    "sort": ["-k", "a", "b:desc", "1", "9", ":desc", "a:nan=last:desc", "a:nan=never", "-r", "-u", "-c", "--check",
             "--argsort", "--nan", "first", "error", "--algorithm", "radix", "quick", "-kb", "-ru"],
    "compact": ["--where", "x > 1", "a>=0&&b<3", "x >", "((((", "`", "i<3", "--unique", "--nonzero", "--finite",
                "--mask", "mask.npy", "--invert", "--indices", "idx.npy", "--rejected", "rest"],
    "prefix": ["--op", "add", "max", "mul", "--exclusive", "--reverse", "--init", "3", "0.5", "--out-dtype", "u64",
               "f32", "-k", "a", "b", "--algorithm", "blocked", "wave"],
    "equalize": ["--method", "clahe", "global", "--clip", "2.5", "--tiles", "8x8", "0x1", "8x", "99999x1", "--like",
                 "pillow", "--color", "luma", "--plot", "plot.svg", "--quality", "101", "--out-dir", "many", "in.pgm",
                 "out.pgm", "out.png", "--mask"],
}


def fill(box):
    for path in box.path.iterdir():
        if path.is_dir():
            for inner in path.iterdir():
                inner.unlink()
        else:
            path.unlink()
    (box.path / "many").mkdir(exist_ok=True)
    box.save("in.npy", np.arange(50.0))
    box.save("mask.npy", np.arange(50, dtype="u1") % 2)
    box.write("in.csv", "a,b\n1,2\n0,\n")
    box.write("in.txt", "3\n1\n2\n")
    box.write("in.raw", bytes(range(48)))
    box.write("in.pgm", pnm(np.arange(12, dtype="u1").reshape(3, 4)))


@pytest.mark.parametrize("program", list(WORDS))
def test_command_lines(box, program):
    """Any words in any order: the run succeeds, or there is one line of error and nothing is changed."""
    fill(box)
    before = box.snapshot()
    for rng in seeds(program):
        words = [rng.choice([rng.choice(WORDS[program]), rng.choice(COMMON), rng.choice(WORDS[program]),
                             rng.choice(NUMBERS)]) for _ in range(rng.randrange(1, 9))]
        if rng.random() < 0.1:
            k = rng.randrange(len(words))
            words[k] = words[k][:rng.randrange(len(words[k]) + 1)] + rng.choice(["=", "é", "\n", "\x1b", "x" * 300, "%s"])
        result = box.run(program, *words, input=rng.choice([b"", b"1\n2\n", b"a,b\n1,2\n", b"\x93NUMPY"]))
        told = [line for line in result.err.split("\n") if line]
        assert result.code in (0, 1, 2, 3, 4), words
        assert not [name for name in box.names() if name.endswith(".scan-tmp")], words
        if result.code and "--out-dir" not in words:
            assert len(told) == 1 and told[0].startswith(program + ": ") and not result.out, (words, result.err)
            assert box.snapshot() == before, words
        elif result.code == 0 and "--stats" not in words:
            assert not told, (words, result.err)
        if box.snapshot() != before:
            fill(box)
            before = box.snapshot()
