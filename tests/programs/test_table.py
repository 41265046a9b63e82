# SPDX-License-Identifier: MIT
"""Tables: RFC 4180 read strictly, rows kept byte for byte, columns as numbers, sorting by them."""
import csv
import io
import pathlib
import random

import pytest
from conftest import in_sanitized
from sort_program import bad, good, order, run

pytestmark = in_sanitized("parsers of untrusted tables")

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


def table(args, text, **kwargs):
    return good("--csv", *args, stdin=text.encode(), **kwargs).decode()


# ---- rows ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, expected", [
    ("", ""), ("a\n", "a\n"), ("a", "a\n"), ("a\n2\n1\n", "a\n1\n2\n"), ("a\n2\n1", "a\n1\n2\n"),
    ("a\r\n2\r\n1", "a\r\n1\r\n2\r\n"), ("a\r\n2\n1\r\n", "a\r\n1\r\n2\n"), ("a\n2\r\n1", "a\n1\n2\r\n"),
    ("\ufeffa\n2\n1\n", "\ufeffa\n1\n2\n"), ("\ufeff\"a\"\r\n2\r\n1\r\n", "\ufeff\"a\"\r\n1\r\n2\r\n"),
    ("a,b\n2,x\n1,y\n", "a,b\n1,y\n2,x\n"), ("a,b\n\"2\",x\n1,\"y\"\n", "a,b\n1,\"y\"\n\"2\",x\n"),
    ("a,b\n2,\"x,\n\"\"y\"\n1,\"\n\n\"\n", "a,b\n1,\"\n\n\"\n2,\"x,\n\"\"y\"\n"),
    ("a,b\n2,\n1,\n", "a,b\n1,\n2,\n"), ("a,\"b\n\"\n2,3\n1,4\n", "a,\"b\n\"\n1,4\n2,3\n"),
    ("\"a\"\"b\",c\n2,0\n1,0\n", "\"a\"\"b\",c\n1,0\n2,0\n"), ("a,b\n+2,x\n 1 ,y\n", "a,b\n 1 ,y\n+2,x\n"),
    ("a,b\n2,\"\"\n1,\"\"\"\"\n", "a,b\n1,\"\"\"\"\n2,\"\"\n"), ("a,b\n2,x\r\n1,\"y\"\r\n", "a,b\n1,\"y\"\r\n2,x\r\n"),
    ("a,b\n2,x\ry\n1,z\n", "a,b\n1,z\n2,x\ry\n"), ("a,b\n2,\0\n1,\0\0\n", "a,b\n1,\0\0\n2,\0\n"),
    ("a\n\n1\n", "a\n1\n\n"), ("a,a\n2,x\n1,y\n", "a,a\n1,y\n2,x\n"),
])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows(text, expected, threads):
    assert table(["-k", "1", "--threads", threads], text) == expected
    assert table(["-k", "1", "--verify"], text) == expected


@pytest.mark.parametrize("text, message", [
    ("a,b\n1\n", "line 2: 1 field, the first row has 2"), ("a,b\n1,2,3\n", "line 2: 3 fields, the first row has 2"),
    ("a,b\n1,2\n\n3,4\n", "line 3: 1 field, the first row has 2"), ("a,b\n1,\"\n\n2\"\n3\n", "line 5: 1 field, the first row has 2"),
    ("a\n1\n2,\n", "line 3: 2 fields, the first row has 1"), ("a,b\n1,\"x\n", "line 2: a quote is opened here and never closed"),
    ("a,b\n1,x\n2,\"\n\n\n", "line 3: a quote is opened here and never closed"),
    ("\"a\n1\n", "line 1: a quote is opened here and never closed"), ("a\n\"", "line 2: a quote is opened here and never closed"),
    ("a,b\n1,x\"y\n", "line 2: a quote inside a field: put the field in quotes and double the quote"),
    ("a\n1\n \"2\"\n", "line 3: a quote inside a field: put the field in quotes and double the quote"),
    ("a,b\n1,\"x\"y\n", "line 2: text after the closing quote of a field"),
    ("a,b\n1,\"x\" \n", "line 2: text after the closing quote of a field"),
    ("a,b\n1,\"x\"\r2\n", "line 2: text after the closing quote of a field"),
    ("a,b\r1,2\r", "line 1: a carriage return that no newline follows: convert the line ends (tr '\\r' '\\n')"),
    ("a,\"b\"\n\r1,2\n", "line 2, column 1 (\"a\"): \"\\x0d1\" is not a number; -k 1:text sorts by text"),
    ("a,b\nx,1\n", "line 2, column 1 (\"a\"): \"x\" is not a number; -k 1:text sorts by text"),
    ("a,b\n1,1\n\"12x\",2\n", "line 3, column 1 (\"a\"): \"12x\" is not a number; -k 1:text sorts by text"),
    ("a,b\n1e999,1\n", "line 2, column 1 (\"a\"): \"1e999\" is too large for a 64-bit float"),
    ("a\n99999999999999999999\n", "line 2, column 1 (\"a\"): \"99999999999999999999\" does not fit a 64-bit integer"),
    ("a\n1.5\n9007199254740993\n", "line 3, column 1 (\"a\"): \"9007199254740993\" is beyond 2^53 and stands among floats"),
    ("a,b\n9007199254740993,1\n,2\n", "line 2, column 1 (\"a\"): \"9007199254740993\" is beyond 2^53 and stands among floats"),
])
@pytest.mark.parametrize("threads", [1, 2])
def test_faults(text, message, threads):
    assert bad("--csv", "-k", "1", "--threads", threads, stdin=text.encode()) == "stdin: " + message


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("kind", [["--csv", "-k", "1"], []])
def test_utf_16_is_refused(encoding, kind):
    message = bad(*kind, stdin="\ufeff1\n2\n".encode(encoding))
    assert message == "stdin: line 1: this is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"


def test_carriage_returns_in_quotes():
    assert good("--csv", "-k", "2", stdin=b'"a\rb",c\n"x\r",2\ny,1\n') == b'"a\rb",c\ny,1\n"x\r",2\n'


@pytest.mark.parametrize("args, text, message", [
    (["-k", "c"], "a,b\n1,2\n", 'the header has no column "c", it has "a", "b"'), (["-k", "3"], "a,b\n1,2\n", "no column 3: columns are 1 to 2"),
    (["-k", "A"], "a;b\n1;2\n", 'no column "A", it has "a;b": is --delimiter \';\' meant?'), (["-k", "A"], "a|b\n1|2\n", ": is --delimiter '|' meant?"),
    (["-k", "b"], "a\tb\n1\t2\n", ": is --tsv meant?"), (["-k", "b", "--delimiter", ";"], "a,b\n1,2\n", ": is --csv meant?"),
    (["-k", "a"], "# of 2024\na,b\n1,2\n", "line 2: 2 fields, the first row has 1: is --comment '#' meant?"),
    (["-k", "b"], "a;b\n1,5;2\n", "line 2: 2 fields, the first row has 1: is --delimiter ';' meant?"),
    (["-k", "b:number:desc"], "a,b\n1,2\n", 'no column "b:number", and :number is no suffix for "b"'), (["-k", "c:txt"], "a,b\n1,2\n", 'no column "c:txt", it has'),
    (["-k", "e"], "a,,\"b \"\"c\"\"\",d,\u00e9\n1,2,3,4,5\n", 'it has "a", "", "b "c"" and 2 more'),
    (["-k", "0"], "a,b\n1,2\n", "no column 0"), (["-k", "99999999999999999999999"], "a,b\n1,2\n", "columns are 1 to 2"),
    (["-k", "a"], "a,b,a\n1,2,3\n", 'columns 1 and 3 are both named "a"'), ([], "a,b\n1,2\n", "has 2 columns"),
    (["-k", "a", "--no-header"], "1,2\n", "there is no header"), (["-k", ""], "a\n1\n", "--key"),
    (["-k", ":desc"], "a\n1\n", "--key"), (["-k", "a", "--dtype", "u8"], "a\n1\n", "--dtype"),
    (["-k", "a", "--tsv"], "a\n1\n", "--tsv"), (["-k", "a:nan=error"], "a,b\n1,2\n,3\n", "line 3"),
    (["-k", "a", "--nan", "error"], "a,b\n1,2\nnan,3\n", "line 3"),
])
def test_keys_that_cannot_be(args, text, message):
    assert message in bad("--csv", *args, stdin=text.encode())


@pytest.mark.parametrize("args, text, expected", [
    (["-k", "b"], "a,b\n1,2\n2,1\n", "a,b\n2,1\n1,2\n"), (["-k", "2"], "a,b\n1,2\n2,1\n", "a,b\n2,1\n1,2\n"),
    ([], "a\n2\n1\n", "a\n1\n2\n"),
    (["-k", "x y"], "a,\"x y\"\n1,2\n2,1\n", "a,\"x y\"\n2,1\n1,2\n"), (["-k", "q\"q"], "\"q\"\"q\"\n2\n1\n", "\"q\"\"q\"\n1\n2\n"),
    (["-k", "a:b"], "a:b\n2\n1\n", "a:b\n1\n2\n"), (["-k", "a:b:desc"], "a:b\n1\n2\n", "a:b\n2\n1\n"),
    (["-k", "a:asc"], "a\n2\n1\n", "a\n1\n2\n"), (["-k", "é:desc"], "é\n1\n2\n", "é\n2\n1\n"),
    (["--no-header"], "2\n1\n", "1\n2\n"), (["--no-header", "-k", "2:desc"], "2,3\n1,4\n", "1,4\n2,3\n"),
    (["-k", "a"], "a\n2\n\nnan\n1\n", "a\n1\n2\n\nnan\n"), (["-k", "a:nan=first"], "a\n2\n\nnan\n1\n", "a\n\nnan\n1\n2\n"),
    (["-k", "a:nan=first:desc"], "a\n1\n\"\"\n2\n", "a\n\"\"\n2\n1\n"), (["-k", "a:desc:nan=first"], "a\n1\n \n2\n", "a\n \n2\n1\n"),
    (["-k", "a:desc"], "a\n1\n\n2\n", "a\n2\n1\n\n"), (["-r", "-k", "a:desc"], "a\n2\n\n1\n", "a\n1\n2\n\n"),
    (["-k", "a", "--nan", "first"], "a\n1\n\n", "a\n\n1\n"), (["-k", "a:nan=last", "--nan", "first"], "a\n\n1\n", "a\n1\n\n"),
    (["-k", "a", "-u"], "a,b\n2,x\n1,y\n2,z\n", "a,b\n1,y\n2,x\n"),
    (["-k", "a", "-u"], "a,b\n0.0,x\n-0.0,y\nnan,p\n,q\n", "a,b\n0.0,x\nnan,p\n"),
    (["-k", "a", "--argsort"], "a,b\n2,x\n1,y\n2,z\n", "1\n0\n2\n"), (["-k", "a", "-u", "--argsort"], "a\n2\n1\n2\n", "1\n0\n"),
    (["-k", "a", "-k", "b"], "a,b\n1,2\n0,9\n1,1\n", "a,b\n0,9\n1,1\n1,2\n"),
    (["-k", "a:desc", "-k", "b"], "a,b\n1,2\n0,9\n1,1\n", "a,b\n1,1\n1,2\n0,9\n"),
    (["-r", "-k", "a:desc", "-k", "b"], "a,b\n1,2\n0,9\n1,1\n", "a,b\n0,9\n1,2\n1,1\n"),
    (["-u", "-k", "a", "-k", "b"], "a,b\n1,2\n1,2\n1,1\n", "a,b\n1,1\n1,2\n"), (["-k", "x"], "", ""), (["-k", "7"], "\ufeff", "\ufeff"),
])
def test_keys(args, text, expected):
    assert table(args, text) == expected
    assert table(args + ["--verify"], text) == expected


def test_tsv(tmp_path):
    path = tmp_path / "t.TSV"
    path.write_bytes(b"a\tb\n2\tx,y\n1\t\"q\tr\"\n")
    assert good("-k", "a", path) == b"a\tb\n1\t\"q\tr\"\n2\tx,y\n"
    assert good("--tsv", "-k", "a", stdin=path.read_bytes()) == b"a\tb\n1\t\"q\tr\"\n2\tx,y\n"


@pytest.mark.parametrize("args, text, where", [
    (["-k", "a"], "a\n1\n1\n2\n", None), (["-k", "a"], "a\n1\n3\n2\n", 4), (["-k", "a", "-u"], "a\n1\n1\n", 3),
    (["-k", "a:desc"], "a\n2\n1\n\n", None), (["-k", "a:nan=first"], "a\n1\n\n", 3), (["-k", "a", "-k", "b"], "a,b\n1,2\n1,1\n", 3),
    (["-k", "b"], "a,b\n\"x\n\",1\n\"y\n\",0\n", 4), (["-k", "a"], "a\n", None), (["-k", "a"], "", None),
])
def test_check(args, text, where):
    if where is None:
        assert table(["-c"] + args, text) == ""
    else:
        assert bad("--csv", "-c", *args, stdin=text.encode(), code=1) == f"stdin: line {where} is out of order"


# ---- real and random tables ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("key", ["magnitude", "magnitude:desc", "depth_km", "latitude:desc", "4:desc"])
def test_earthquakes(key):
    data = (DATA / "earthquakes.csv").read_bytes()
    head, *rows = data.splitlines(keepends=True)
    parsed = list(csv.reader(io.StringIO(data.decode())))
    name = key.split(":")[0]
    column = int(name) - 1 if name.isdigit() else parsed[0].index(name)
    values = [float(row[column]) if row[column] else None for row in parsed[1:]]
    expected = head + b"".join(rows[i] for i in order(values, descending=":desc" in key))
    assert good("-k", key, "--verify", DATA / "earthquakes.csv") == expected


def random_field(rng):
    return rng.choice(["", "x", "\"\"", "\"a,b\"", "\"a\nb\"", "\"\r\n\"", "\"\"\"\"", "\"\"\"a\"\",\"\"\n\"\"\"", "long " * 9, "ü"])


def random_table(rng, rows, columns, key):
    """Returns rows as bytes, and the values of their field `key`."""
    out, values = [], []
    for _ in range(rows):
        fields = [random_field(rng) for _ in range(columns)]
        value = rng.choice([rng.randrange(-50, 50), rng.random(), None])
        fields[key] = "" if value is None else str(value)
        if rng.random() < 0.3:
            fields[key] = f"\"{fields[key]}\""
        out.append((",".join(fields) + rng.choice(["\n", "\r\n"])).encode())
        values.append(value)
    return out, values


@pytest.mark.parametrize("seed", range(12))
def test_random(seed):
    rng = random.Random(seed)
    columns = rng.randrange(2, 7)
    key = rng.randrange(columns)
    rows, values = random_table(rng, rng.randrange(400), columns, key)
    head = (",".join(f"c{i}" for i in range(columns)) + "\n").encode()
    down, first = rng.random() < 0.5, rng.random() < 0.5
    name = f"c{key}" + ":desc" * down + ":nan=first" * first
    expected = head + b"".join(rows[i] for i in order(values, down, first))
    assert good("--csv", "-k", name, "--threads", rng.randrange(1, 4), "--verify", stdin=head + b"".join(rows)) == expected


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_many_pieces(threads, tmp_path):
    """Quotes, and newlines inside them, on both sides of every megabyte."""
    rng = random.Random(77)
    rows, values = random_table(rng, 1000, 5, 2)
    long = b"1,2,5,4,\"" + b"\n,\"\"" * 400_000 + b"\"\n"
    picks = [rng.randrange(1000) for _ in range(60_000)]
    rows_all = [rows[i] for i in picks]
    values_all = [values[i] for i in picks]
    rows_all.insert(30_000, long)
    values_all.insert(30_000, 5)
    head = b"a,b,c,d,e\r\n"
    path = tmp_path / "big.csv"
    path.write_bytes(head + b"".join(rows_all))
    assert path.stat().st_size > 3 << 20
    expected = head + b"".join(rows_all[i] for i in order(values_all))
    assert good("-k", "c", "--threads", threads, path) == expected

    broken = path.read_bytes() + b"1,2,3\n" + b"\"open\n" * 100
    line = broken[:broken.index(b"1,2,3\n\"open")].count(b"\n") + 1
    assert bad("--csv", "-k", "c", "--threads", threads, stdin=broken) == f"stdin: line {line}: 3 fields, the first row has 5"


@pytest.mark.parametrize("keys", [["a", "b"], ["a:desc", "b", "c:desc"], ["c", "b:desc", "a:nan=first"]])
@pytest.mark.parametrize("reverse", [False, True])
def test_several_keys(keys, reverse):
    rng = random.Random(str(keys))
    rows = [[rng.randrange(4), rng.choice([0.5, -1.25, 3.0, None]), rng.randrange(2**63, 2**63 + 3)] for _ in range(3000)]
    place = list(range(len(rows)))
    for key in reversed(keys):
        name, *flags = key.split(":")
        column = [rows[i]["abc".index(name)] for i in place]
        place = [place[i] for i in order(column, ("desc" in flags) != reverse, "nan=first" in flags)]
    lines = [",".join("" if x is None else str(x) for x in row) + "\n" for row in rows]
    args = [x for key in keys for x in ("-k", key)] + ["-r"] * reverse
    assert table(args + ["--verify"], "a,b,c\n" + "".join(lines)) == "a,b,c\n" + "".join(lines[i] for i in place)
    unique = {}
    for i in place:
        unique.setdefault(tuple(rows[i]["abc".index(k.split(":")[0])] for k in keys), lines[i])
    assert table(args + ["-u", "--verify"], "a,b,c\n" + "".join(lines)) == "a,b,c\n" + "".join(unique.values())


def test_max_keys():
    args = [x for _ in range(64) for x in ("-k", "a")]
    assert table(args, "a\n2\n1\n") == "a\n1\n2\n"
    code, _, err = run("--csv", *args, "-k", "a", stdin=b"a\n1\n")
    assert code == 2 and "more than 64 keys" in err
