# SPDX-License-Identifier: MIT
"""Arguments that are nearly right, names of any length, and numbers at the borders of their types."""
import gzip
import subprocess

import numpy as np
import pytest

from conftest import BIN, in_sanitized

pytestmark = in_sanitized("odd arguments")

LONG = "x" * 70
TABLE = f"a,b,{LONG},`d`\n1,t,3,4\n2,\"u,\",5,\n"
TOO_LARGE = "99999999999999999999999"

REFUSED = [
    ("sort -k a:text:natural t.csv", 2, ""),
    ("sort --merge --axis 0 x.npy", 2, "--merge and --axis exclude each other"),
    ("sort --text --dtype u8 x.npy", 2, "--text is for lines and excludes --dtype"),
    ("sort --text --csv t.csv", 2, "--text is for lines and excludes --csv"),
    ("sort --text --tsv t.csv", 2, "--text is for lines and excludes --tsv"),
    ("sort -S 18446744073709551619X x.txt", 2, "a size is a number of K"),
    ("sort -S 1023k x.txt", 2, "is less than 1M"),
    (f"sort -k {LONG}y t.csv", 2, f'no column "{LONG}y"'),
    ("sort -k bb t.csv", 2, 'no column "bb"'),
    ("sort -k 9x t.csv", 2, 'no column "9x"'),
    ("sort -k ` t.csv", 2, "the backtick is not closed"),
    ("sort -k `e t.csv", 2, "the backtick is not closed"),
    ("sort -k `` t.csv", 2, ""),
    ("sort -k :x t.csv", 2, ""),
    ("sort -k 0 t.csv", 2, "columns are 1 to 4"),
    (f"sort -k {TOO_LARGE} t.csv", 2, "columns are 1 to 4"),
    *((f"sort -k a --delimiter {sign} t.csv", 2, "cannot be told from the data") for sign in ("Q", "q", "5", "+", "-", "\r")),
    *((f"sort -k a --delimiter {sign} t.csv", 2, "is not one character of ASCII") for sign in ("ab", "é", "\x7f")),
    ("sort -k a --decimal \\t t.csv", 2, "a blank stands around numbers"),
    (f"sort --{LONG} t.csv", 2, "unknown option"),
    ("sort --chekc t.csv", 2, "--check"),
    ("compact --where a==b==1 t.csv", 2, "comparisons do not chain"),
    ("compact --where a<1<2 t.csv", 2, "comparisons do not chain"),
    ("compact --where a== t.csv", 2, "the expression ends"),
    ("compact --where a==) t.csv", 2, "')' stands where a number"),
    ("compact --where a==`b t.csv", 2, ""),
    ("compact --where a==none t.csv", 2, 'none'),
    ("compact --where none==a t.csv", 2, 'none'),
    ("compact --where b==a t.csv", 2, ""),
    ("compact --where ain(1) t.csv", 2, ""),
    ("compact --where a|in|1 t.csv", 2, "a list is written"),
    ("compact --where a|in|(1,\"t\") t.csv", 2, "a list is of numbers or of text"),
    ("compact --where a|in|(\"t t.csv", 2, ""),
    ("compact --where a|in|(1,) t.csv", 2, "a number or text is expected"),
    ("compact --where a|in|(1;2) t.csv", 2, "',' or ')' is expected"),
    (f"compact --where a|in|({TOO_LARGE}) t.csv", 2, ""),
    ("compact --where isnan|a t.csv", 2, ""),
    ("compact --where isnan(3) t.csv", 2, ""),
    ("compact --where isnan(a t.csv", 2, "')' is missing"),
    ("compact --where isnan(none) t.csv", 2, "none"),
    ("compact --where (a==1 t.csv", 2, "the ')' for column 1 is missing"),
    ("compact --where (a= t.csv", 2, ""),
    ("compact --where !a t.csv", 2, ""),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(box, number):
    """A space stands for the next word, | for one inside a word."""
    command, code, text = REFUSED[number]
    box.write("t.csv", TABLE)
    box.write("x.txt", "2\n1\n")
    box.save("x.npy", np.arange(3))
    box.refused(code, text, *(word.replace("|", " ") for word in command.split(" ")), "-o", "out")


def test_columns_in_backquotes_and_of_long_names(box):
    box.write("t.csv", TABLE)
    assert box.good("sort", "-r", "-k", "`a`", "t.csv").out.splitlines()[1][:1] == b"2"
    assert box.good("sort", "-r", "-k", LONG, "t.csv").out.splitlines()[1][:1] == b"2"
    assert box.good("compact", "--where", f"`{LONG}` >= 5 && b in (\"u,\", \"v\") && a != `{LONG}`", "t.csv").out.splitlines()[1][:1] == b"2"


def test_merge_of_standard_input(box):
    box.write("a.txt", "1\n3\n")
    assert box.good("sort", "--merge", "-S", "1M", "a.txt", "-", input=b"2\n").out == b"1\n2\n3\n"
    box.refused(2, "empty", "sort", "--merge", "a.txt", "")


def test_compressed_names_and_inputs_that_grow(box):
    rows = b"a\n" + b"7\n" * 1000
    for name in ("t.csv.gz", "T.CSV.GZ"):
        box.path.joinpath(name).write_bytes(gzip.compress(rows))
        assert box.good("prefix", "-k", "a", name).out.count(b"\n") == 1001
    box.save("x.npy", np.arange(300_000).reshape(-1, 2))
    for data in (box.read("x.npy"), gzip.compress(box.read("x.npy"), 1)):
        assert box.good("prefix", "--axis", "0", "--op", "max", input=data).out == box.read("x.npy")


def test_no_argument_at_all(box):
    """Not even the program's name, as execve() allows."""
    runs = """
import ctypes, os, sys
environment = [key + b"=" + value for key, value in os.environb.items()]
ctypes.CDLL(None).execve(sys.argv[1].encode(), (ctypes.c_char_p * 1)(),
                         (ctypes.c_char_p * (len(environment) + 1))(*environment))
"""
    done = subprocess.run(["python3", "-c", runs, BIN / "sort"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode in (0, 2, 3) and b"Traceback" not in done.stderr, done
