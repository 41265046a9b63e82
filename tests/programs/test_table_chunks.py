# SPDX-License-Identifier: MIT
"""compact on tables of several chunks of 512 KiB: rows of all lengths lie across their ends. The oracle is the list of rows that made the table."""
import gzip
import random
import resource
import subprocess

import numpy as np
import pytest

from conftest import BIN, in_sanitized, release_only

pytestmark = in_sanitized("rows across the ends of buffers")

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
    lines = [b"%0100d,%d\n" % (i, i % 10) for i in range(rows)]
    for line, text in change.items():
        lines[line] = text
    return b"a,b\n" + b"".join(lines)


@pytest.mark.parametrize("change,message", [
    ({15_000: b"1\n", 17_000: b"1,2,3\n"}, "line 15002: 1 field, the first row has 2"),
    ({2_000: b"1,x\n", 17_000: b"1\n"}, 'line 2002, column 2 ("b"): "x" is not a number'),
    ({15_000: b'1,"2\n'}, "line 15002: a quote is opened here and never closed"),
    ({15_000: b'"1"x,2\n'}, "line 15002: text after the closing quote"),
    ({10: b'"5\n\n",6\n', 15_000: b'x"1",2\n'}, "line 15004: a quote inside a field"),
    ({5: b"1,9007199254740993\n", 7: b"1,9007199254740995\n", 15_000: b"1,\n"}, 'line 7, column 2 ("b"): "9007199254740993" is beyond 2^53'),
    ({5: b"1,\n", 15_000: b"1,9007199254740993\n"}, 'line 15002, column 2 ("b"): "9007199254740993" is beyond 2^53'),
    ({5: b"1,-1\n", 15_000: b"1,18446744073709551615\n"}, 'line 15002, column 2 ("b"): "18446744073709551615" does not fit i64'),
    ({5: b"\n", 17_000: b"x,y\n"}, "line 7: 1 field, the first row has 2"),
])
def test_errors(box, change, message):
    """The fault of the first chunk that has one is named, whichever thread finds it. There is no file; on stdout there may be rows before the fault."""
    box.refused(2, message, "compact", "--csv", "--where", "b > 3", "--threads", 3, "-o", "out", input=table(20_000, change))
    result = box.run("compact", "--csv", "--where", "b > 3", "--threads", 3, input=table(20_000, change))
    lines = (change.get(i, b"%0100d,%d\n" % (i, i % 10)) for i in range(20_000))
    kept = b"a,b\n" + b"".join(line for line in lines if b"," in line and line[line.find(b",") + 1:-1].isdigit() and int(line.rsplit(b",")[-1]) > 3)
    assert result.code == 2 and message in result.err and kept.startswith(result.out)


def test_types(box):
    """Integers of one chunk and floats of another compare exactly, and so do integers below and above 2^63."""
    for change, where, expected in (({5: b"1,2.5\n", 19_000: b"1,4503599627370497\n"}, "b == 2.5 || b == 4503599627370497", [5, 19_000]),
                                    ({5: b"1,9223372036854775807\n", 19_000: b"1,18446744073709551615\n"}, "b > 9223372036854775806", [5, 19_000]),
                                    ({5: b"1,\n", 19_000: b"1,nan\n"}, "b != 3 && (isnan(b) || b in (77))", [19_000])):
        box.good("compact", "--csv", "--where", where, "--indices", "at.npy", "-f", "--threads", 2, input=table(20_000, change))
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


# ---- comments

COMMENTS = [b"#\n", b'# "\n', b'#,"a""\n', b"# x\r\n", b"#" * 900 + b"\n", b"#a\n#b\n#c,\"\n"]


def with_comments(rows, rng):
    """The rows with comments among them, one run of which is longer than a chunk; the last has no line end."""
    lines = [text for k, row in enumerate(rows) for text in ([b'# "' + b"y" * 70 + b"\n"] * (CHUNK // 70) if k == 700 else [rng.choice(COMMENTS)] if rng.random() < 0.2 else []) + [row]]
    return b"".join(lines) + rng.choice([b"", b"\n# c\n\n\n", b'\n#"\n']) + b'# no end "'


@pytest.mark.parametrize("kind,end", [("csv", b"\n"), ("csv", b"\r\n"), ("tsv", b"\n")])
def test_comments(box, kind, end):
    """As the same rows without comments, but for those before the header, which stay. Words have lines that begin like comments."""
    delimiter, rng = DELIMITERS[kind], random.Random(f"{kind}{end}")
    head, first = b'# "of\n#\n', delimiter.join([b"a", b"word", b"n"]) + end
    rows = []
    while len(rows) < 1500:
        word = b'"' + b"".join(rng.choices([b"a", b"#", b"\n#", b'\r\n# ""', delimiter, b'""'], k=rng.choice([0, 3, 40, 900]))) + b'"'
        rows.append(delimiter.join([b"%d" % len(rows), word, b"%d" % rng.randrange(100)]) + end)
    plain, noted = first + b"".join(rows), head + first + with_comments(rows, rng)
    for threads in (1, 3):
        for job in (("compact", "--where", "n > 30 && i > 20", "--indices", "at.npy"), ("compact", "--count", "--where", "a > 9"),
                    ("prefix", "-k", "n"), ("prefix", "-k", "n", "--reverse", "--out-dtype", "i64")):
            program, *options = job
            options += ["--" + kind, "--threads", threads, "-f", "-o", "out"]
            box.good(program, *options, "--verify", input=plain)
            expected = box.read("out"), box.read("at.npy") if "at.npy" in options else b""
            box.good(program, *options, "--verify", "--comment", "#", input=noted)
            got = box.read("out"), box.read("at.npy") if "at.npy" in options else b""
            assert got == (expected[0] if "--count" in options else head + expected[0], expected[1])


@pytest.mark.parametrize("change,message", [({15_000: b"1\n"}, "line 22503: 1 field"), ({15_000: b"1,x\n"}, 'line 22503, column 2 ("b"): "x"'),
                                            ({15_000: b'"1"x,2\n'}, "line 22503: text after the closing quote"), ({15_000: b"\n"}, "line 22503: 1 field")])
def test_errors_after_comments(box, change, message):
    """A comment stands before every second row and before the header."""
    data = b"".join((b"#\"\n" if k % 2 == 0 else b"") + line + b"\n" for k, line in enumerate(table(20_000, change).split(b"\n")[:-1]))
    for program, *options in (("compact", "--where", "b > 3"), ("compact", "--where", "b > i"), ("prefix", "-k", "b")):
        box.refused(2, message, program, "--csv", "--comment", "#", *options, "--threads", 3, "-o", "out", input=data)


@release_only("sanitizers need more memory")
@pytest.mark.parametrize("program,option,value", [("compact", "--where", "n < 0"), ("prefix", "-k", "n")])
def test_memory_does_not_grow_with_comments(box, program, option, value):
    """128 MiB, half of them comments, under a limit of 64 MiB."""
    piece = b"# comment of a row, which is so long\n5,a row of the table, of like length\n" * (1 << 14)
    limit = lambda: resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20))
    command = [BIN / program, "--csv", option, value, "--comment", "#", "--threads", "2", "--out-dtype", "i64"][:None if program == "prefix" else -2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit) as run:
        run.stdin.write(b"n,a,b\n")
        for _ in range((128 << 20) // len(piece)):
            run.stdin.write(piece)
        run.stdin.close()
        assert run.wait() == 0, run.stderr.read()
