# SPDX-License-Identifier: MIT
"""compact on tables of several chunks of 512 KiB: rows of all lengths lie across their ends. The oracle is the list of rows that made the table."""
import gzip
import random

import numpy as np
import pytest

CHUNK = 512 << 10
DELIMITERS = {"csv": b",", "tsv": b"\t"}


def make_rows(kind, end, total):
    """(id, word or None, number, bytes of the row); words have quotes, line ends and delimiters in them, some are longer than a chunk."""
    rng, rows, size = random.Random(f"{kind}{end}"), [], 0
    delimiter = DELIMITERS[kind]
    while size < total:
        word = b"".join(rng.choices([b"a", b"bc", b'"', b"\n", b"\r\n", delimiter, "é".encode(), b" "], k=rng.choice([0, 1, 5, 40, 900])))
        if len(rows) == 100:
            word = b'"long\n' * (CHUNK // 4)
        quoted = b'"' in word or b"\n" in word or delimiter in word or rng.random() < 0.2
        value = word if word or quoted else None
        number = rng.randrange(100)
        field = b'"' + word.replace(b'"', b'""') + b'"' if quoted else word
        row = delimiter.join([b"%d" % len(rows), field, b"%d" % number]) + end
        rows.append((len(rows), value, number, row))
        size += len(row)
    return rows


@pytest.mark.parametrize("kind,end", [("csv", b"\n"), ("csv", b"\r\n"), ("tsv", b"\n")])
def test_rows(box, kind, end):
    rows = make_rows(kind, end, 3 * CHUNK)
    head = DELIMITERS[kind].join([b'"i d"', b"word", b"n"]) + end
    name = box.write("t." + kind, b"\xef\xbb\xbf" + head + b"".join(row[3] for row in rows)[:-len(end)] + end * 5)
    where, keep = 'word contains "bc" && n != 7 && i > 20 || word is missing', lambda r: r[0] > 20 and r[1] and b"bc" in r[1] and r[2] != 7 or r[1] is None
    kept, rest = ([r for r in rows if bool(keep(r)) == which] for which in (True, False))
    for threads in (1, 3):
        box.good("compact", "--where", where, name, "--threads", threads, "--verify", "-f", "-o", "kept", "--rejected", "rest", "--indices", "at.npy")
        for file, part in (("kept", kept), ("rest", rest)):
            assert box.read(file) == b"\xef\xbb\xbf" + head + b"".join(r[3] for r in part)
        at = box.load("at.npy")
        assert at.dtype == np.uint32 and at.tolist() == [r[0] for r in kept]
    data = gzip.compress(box.read(name), 1)
    assert box.good("compact", "--" + kind, "--where", where, "--invert", input=data).out == box.read("rest")
    assert box.good("compact", "--count", "--where", where, name).out == b"%d\n" % len(kept)


def table(rows, change):
    lines = [b"%d,%d\n" % (i, i % 10) for i in range(rows)]
    for line, text in change.items():
        lines[line] = text
    return b"a,b\n" + b"".join(lines)


@pytest.mark.parametrize("change,message", [
    ({150_000: b"1\n", 170_000: b"1,2,3\n"}, "line 150002: 1 field, the first row has 2"),
    ({20_000: b"1,x\n", 170_000: b"1\n"}, 'line 20002, column 2 ("b"): "x" is not a number'),
    ({150_000: b'1,"2\n'}, "line 150002: a quote is opened here and never closed"),
    ({150_000: b'"1"x,2\n'}, "line 150002: text after the closing quote"),
    ({10: b'"5\n\n",6\n', 150_000: b'x"1",2\n'}, "line 150004: a quote inside a field"),
    ({5: b"1,9007199254740993\n", 7: b"1,9007199254740995\n", 150_000: b"1,\n"}, 'line 7, column 2 ("b"): "9007199254740993" is beyond 2^53'),
    ({5: b"1,\n", 150_000: b"1,9007199254740993\n"}, 'line 150002, column 2 ("b"): "9007199254740993" is beyond 2^53'),
    ({5: b"1,-1\n", 150_000: b"1,18446744073709551615\n"}, 'line 150002, column 2 ("b"): "18446744073709551615" does not fit i64'),
    ({5: b"\n", 170_000: b"x,y\n"}, "line 7: 1 field, the first row has 2"),
])
def test_errors(box, change, message):
    """The fault of the first chunk that has one is named, whichever thread finds it. There is no file; on stdout there may be rows before the fault."""
    box.refused(2, message, "compact", "--csv", "--where", "b > 3", "--threads", 3, "-o", "out", input=table(200_000, change))
    result = box.run("compact", "--csv", "--where", "b > 3", "--threads", 3, input=table(200_000, change))
    lines = (change.get(i, b"%d,%d\n" % (i, i % 10)) for i in range(200_000))
    kept = b"a,b\n" + b"".join(line for line in lines if b"," in line and line[line.find(b",") + 1:-1].isdigit() and int(line.rsplit(b",")[-1]) > 3)
    assert result.code == 2 and message in result.err and kept.startswith(result.out)


def test_types(box):
    """Integers of one chunk and floats of another compare exactly, and so do integers below and above 2^63."""
    for change, where, expected in (({5: b"1,2.5\n", 190_000: b"1,4503599627370497\n"}, "b == 2.5 || b == 4503599627370497", [5, 190_000]),
                                    ({5: b"1,9223372036854775807\n", 190_000: b"1,18446744073709551615\n"}, "b > 9223372036854775806", [5, 190_000]),
                                    ({5: b"1,\n", 190_000: b"1,nan\n"}, "b != 3 && (isnan(b) || b in (77))", [190_000])):
        box.good("compact", "--csv", "--where", where, "--indices", "at.npy", "-f", "--threads", 2, input=table(200_000, change))
        assert box.load("at.npy").tolist() == expected


def test_empty_lines(box):
    """At the end they are no rows, however many; of one column they are."""
    assert box.good("compact", "--csv", "--where", "a > 5", input=b"a,b\n9,1\n" + b"\n" * 2 * CHUNK).out == b"a,b\n9,1\n"
    assert box.good("compact", "--csv", "--where", "a is missing", "--count", input=b"a\n9\n" + b"\r\n" * CHUNK).out == b"%d\n" % CHUNK
    box.refused(2, "line 3: 1 field", "compact", "--csv", "--where", "a > 5", input=b"a,b\n9,1\n" + b"\n" * 2 * CHUNK + b"1,2\n")


def test_long_header(box):
    """The first row alone is longer than chunks."""
    head = ",".join(f"column{k}" for k in range(80_000)).encode() + b"\n"
    row = b",".join(b"%d" % (k % 7) for k in range(80_000))
    for data in (head + row, head + row + b"\n", head):
        out = box.good("compact", "--csv", "--where", "column79999 == %d" % (79_999 % 7), input=data).out
        assert out == (data if data.endswith(b"\n") else data + b"\n")
