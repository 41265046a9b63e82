# SPDX-License-Identifier: MIT
"""Keys that are text, times and natural order, in tables and lines, against Python's sorted()."""
import datetime
import fractions
import random
import re

import pytest
from conftest import in_sanitized
from sort_program import bad, good, order

pytestmark = in_sanitized("strings of any length and bytes")


def key_of(text, natural=False):
    """The bytes, or one element a byte with runs of digits as numbers where their first digit would stand."""
    if not natural:
        return text
    return [(48, int(part)) if part.isdigit() else (part[0], 0) for part in re.findall(rb"[0-9]+|[^0-9]", text, re.S)]


def ranked(values, natural=False, descending=False, first=False):
    """The stable order of strings, of which None is missing: by the ranks of their keys."""
    present = sorted({value for value in values if value is not None}, key=lambda text: key_of(text, natural))
    rank, before = {}, None
    for text in present:
        key = key_of(text, natural)
        rank[text] = (rank[before] + (key_of(before, natural) != key)) if before is not None else 0
        before = text
    return [None if value is None else rank[value] for value in values], order(
        [None if value is None else rank[value] for value in values], descending, first)


def field(text, rng=None):
    """A field of a table with this value: quoted where it must be, and sometimes where it need not."""
    if text is None:
        return b""
    if not text or any(c in text for c in b'",\n\r') or (rng and rng.random() < 0.2):
        return b'"' + text.replace(b'"', b'""') + b'"'
    return text


WORDS = [None, b"", b"a", b"a\0", b"a\0\0", b"ab", b"abc", b"abcdefg", b"abcdefgh", b"abcdefg\0", b"abcdefghijklmn", b"abcdefghijklmno",
         b'say "hi"', b'"', b'""', b"x,y", b"line\nbreak", b"cr\r", "é".encode(), b"\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\x80",
         b"\x7f", b" a", b"a ", b"A", b"10", b"9", b"010", b"a10b", b"a9b", b"a009b", b"a9", b"a:", b"a/", b"https://www.example.com/a",
         b"https://www.example.com/b", b"https://www.example.com/" + b"long" * 30, b"1" * 300, b"1" * 299 + b"2", b"0" * 300 + b"1"]


@pytest.mark.parametrize("suffix, natural, down, first", [
    (":text", False, False, False), (":text:desc", False, True, False), (":text:nan=first", False, False, True),
    (":nan=first:desc:text", False, True, True), (":natural", True, False, False), (":natural:desc", True, True, False),
])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_every_word(suffix, natural, down, first, end):
    rng = random.Random(suffix)
    words = [rng.choice(WORDS) for _ in range(3 * len(WORDS))] + WORDS
    rows = [b"%d,%s%s" % (i, field(word, rng), end) for i, word in enumerate(words)]
    place = ranked(words, natural, down, first)[1]
    head = b"i,w" + end
    expected = head + b"".join(rows[i] for i in place)
    data = head + b"".join(rows)
    assert good("--csv", "-k", "w" + suffix, "--verify", stdin=data) == expected
    assert good("--csv", "-c", "-k", "w" + suffix, stdin=expected) == b""
    ranks = ranked(words, natural)[0]
    distinct = [i for j, i in enumerate(place) if j == 0 or ranks[i] != ranks[place[j - 1]]]
    assert good("--csv", "-uk", "w" + suffix, "--verify", stdin=data) == head + b"".join(rows[i] for i in distinct)
    assert good("--csv", "--argsort", "-k", "w" + suffix, stdin=data) == b"".join(b"%d\n" % i for i in place)


def lines_like(kind, n, rng):
    """Lines of one kind. Sizes of groups are on both sides of 12 and 2,048 rows, columns of 4,096 sampled ones."""
    if kind == "random":
        return [rng.randbytes(rng.randrange(20)).replace(b"\n", b"") for _ in range(n)]
    if kind == "few":  # less than half of a sample is distinct, and some are long
        words = [b"town %d" % i + b"x" * (i % 40) for i in range(300)]
        return [rng.choice(words) for _ in range(n)]
    if kind == "prefix":
        return [b"https://www.example.com/%s/%d" % (rng.choice([b"a", b"b", b"item"]), rng.randrange(n)) for _ in range(n)]
    if kind == "groups":  # equal in seven bytes or more: 1 to 5,000 rows
        return [b"sevenby%02d%s" % (g, rng.choice([b"", b"tail%d" % rng.randrange(3), rng.randbytes(9).hex().encode()]))
                for g, size in enumerate([1, 2, 11, 12, 13, 14, 100, 2047, 2048, 2049, 5000]) for _ in range(size)]
    return [b"same"] * n


@pytest.mark.parametrize("kind, n", [("random", 0), ("random", 1), ("random", 13), ("random", 3000), ("random", 70_000), ("few", 16_383),
                                     ("few", 16_384), ("few", 140_000), ("prefix", 30_000), ("groups", 0), ("same", 5000), ("same", 70_000)])
def test_lines(kind, n):
    rng = random.Random(kind + str(n))
    lines = lines_like(kind, n, rng)
    rng.shuffle(lines)
    down = rng.random() < 0.5
    data = b"".join(line + b"\n" for line in lines)
    expected = sorted(lines, reverse=down)
    assert good("--text", *["-r"] * down, "--threads", rng.randrange(1, 4), "--verify", stdin=data) == b"".join(
        line + b"\n" for line in expected)
    place = order(ranked(lines)[0], down)
    assert good("--text", *["-r"] * down, "--argsort", stdin=data) == b"".join(b"%d\n" % i for i in place)
    distinct = sorted(set(lines), reverse=down)
    assert good("--text", "-u", *["-r"] * down, stdin=data[:-1]) == b"".join(line + b"\n" for line in distinct)


def test_empty_lines_are_first_and_returns_are_bytes():
    assert good("--text", stdin=b"b\n\na\r\na\n\r\n\n\0\nZ") == b"\n\n\0\n\r\nZ\na\na\r\nb\n"
    assert good("--text", "-r", stdin=b"b\n\na") == b"b\na\n\n"
    assert good("--text", stdin=b"\xef\xbb\xbfb\na\n") == b"\xef\xbb\xbfa\nb\n"


@pytest.mark.parametrize("args, text, where", [
    (["--text"], b"\na\na\nb\n", None), (["--text"], b"b\na\n", 'line 2: "a"'), (["--text", "-u"], b"a\nb\nb\n", 'line 3: "b"'),
    (["--text", "-r"], b"b\na\na\n\n", None), (["--text"], b"a\n\n", 'line 2: ""'), (["--csv", "-k", "a:text"], b"a\n9\n10\n", "line 3"),
    (["--csv", "-k", "a:natural"], b"a\n9\n10\n", None), (["--csv", "-k", "a:text"], b"a\nb\n\n\"\"\n", "line 4"),
    (["--csv", "-k", "a:time"], b"a\n2018-01-01\n2017-12-31T23:00:00-02:00\n\n", None),
    (["--csv", "-k", "a:time"], b"a\n2018-01-01\n\n2018-01-02\n", "line 4"),
])
def test_check(args, text, where):
    if where is None:
        assert good("-c", *args, stdin=text) == b""
    else:
        assert bad("-c", *args, stdin=text, code=1) == f"stdin: {where} is out of order"


# ---- times -----------------------------------------------------------------------------------------------------------

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def nanoseconds(text):
    """The nanoseconds of a time by the rules of the manual, by way of datetime and fractions."""
    text = text.strip(" \t")
    number = re.fullmatch(r"([+-]?)(\d+)(?:\.(\d+))?", text)
    if number:
        sign, whole, part = number.groups()
        return (-1 if sign == "-" else 1) * int(fractions.Fraction(whole + "." + (part or "0")[:9]) * 10**9)
    day, clock, second, part, zone = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?([Zz]|[+-].*)?)?", text).groups()
    zone = re.sub(r"^([+-]\d\d):?(\d\d)?$", lambda z: f"{z[1]}:{z[2] or '00'}", zone or "Z").upper()
    moment = datetime.datetime.fromisoformat(f"{day}T{(clock or '00:00').replace('24:', '00:')}:{second or '00'}{zone.replace('Z', '+00:00')}")
    moment += datetime.timedelta(days=clock == "24:00")
    return (moment - EPOCH) // datetime.timedelta(microseconds=1) * 1000 + int(((part or "") + "0" * 9)[:9])


TIMES = ["1970-01-01", "1970-01-01T00:00", "1970-01-01T00:00:00Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00.000000001z", "0", "-0",
         "-0.000000001", "0.0000000019", "-0.0000000019", "1", "-1", "+1.5", "-1.5", "1517932242.400", "2018-02-06T15:50:42.400Z",
         "2018-02-06t15:50:42,4+00:00", "2018-02-06 15:50:42.4", "2018-02-06T15:50:42.4+01:00", "2018-02-06T15:50:42.4-0130", "2018-02-06T15:50:42.4+14",
         "2018-02-06T15:50-00:00", "2000-02-29", "2000-03-01", "2000-02-28", "2000-02-28T24:00:00", "2018-12-31T24:00Z", "2018-12-31T24:00:00,0-01:00", "1900-02-28T23:59:59.9", "1900-03-01", "2016-02-29T23:59:59+23:59",
         "1677-09-21T00:12:43.145224192Z", "1677-09-21T00:12:43.145224193Z", "2262-04-11T23:47:16.854775807Z", "2262-04-12T01:47:16.8547758+02:00",
         "9223372036.854775807", "-9223372036.854775808", "1677-09-21T00:12:43.1452241929999", "2262-04-11T23:47:16.854775807999Z",
         "2018-12-31T23:59:59.1", "2018-12-31T23:59:59.12", "2018-12-31T23:59:59.123456", "2018-12-31T23:59:59.1234567890123", " 2018-12-31 ", "2018"]


@pytest.mark.parametrize("suffix, down, first", [("", False, False), (":desc", True, False), (":nan=first", False, True),
                                                 (":desc:nan=first", True, True)])
@pytest.mark.parametrize("missing", [False, True])
def test_times(suffix, down, first, missing):
    rng = random.Random(suffix)
    times = TIMES + ["", '""', "  "] * missing
    times = times + rng.sample(times, len(times))
    rows = [f"\"{t}\",{i}\n" if t and "," in t else f"{t},{i}\n" for i, t in enumerate(times)]
    values = [nanoseconds(t) if t.strip('" ') else None for t in times]
    place = order(values, down, first)
    data = ("when,i\n" + "".join(rows)).encode()
    assert good("--csv", "-k", "when:time" + suffix, "--verify", stdin=data).decode() == "when,i\n" + "".join(rows[i] for i in place)
    distinct = [i for j, i in enumerate(place) if j == 0 or values[i] != values[place[j - 1]]]
    assert good("--csv", "-uk", "when:time" + suffix, stdin=data).decode() == "when,i\n" + "".join(rows[i] for i in distinct)


def test_random_times():
    rng = random.Random(5)
    times = []
    for _ in range(2000):
        moment = EPOCH + datetime.timedelta(microseconds=rng.randrange(-9 * 10**15, 9 * 10**15))
        zone = datetime.timezone(datetime.timedelta(minutes=rng.randrange(-1439, 1440)))
        times.append(rng.choice([moment.isoformat(), moment.astimezone(zone).isoformat(), moment.strftime("%Y-%m-%d"),
                                 moment.strftime("%Y-%m-%d %H:%M:%S"), str(rng.randrange(-10**9, 10**9))]))
    place = order([nanoseconds(t) for t in times])
    assert good("--csv", "--no-header", "-k", "1:time", stdin="\n".join(times).encode()).decode() == "".join(times[i] + "\n" for i in place)


NOT_A_TIME = "is not a time: those are like 2018-02-06T15:50:42.4Z, or seconds since 1970"
CALENDAR = "is no time of the calendar or the clock"
RANGE = "is outside 1677-09-21T00:12:43.145224192Z to 2262-04-11T23:47:16.854775807Z"


@pytest.mark.parametrize("message, texts", [
    (NOT_A_TIME, ["x", "2018-02", "2018-2-6", "2018/02/06", "2018-02-06T", "2018-02-06T1", "2018-02-06T12", "2018-02-06T12:3", "2018-02-06T12:30:",
                  "2018-02-06T12:30:1", "2018-02-06T12:30:15.", "2018-02-06T12:30:15.Z", "2018-02-06T12:30.5", "2018-02-06Z", "2018-02-06T12:30 Z",
                  "2018-02-06T12:30+1", "2018-02-06T12:30+01:", "2018-02-06T12:30+01:0", "2018-02-06T12:30+01:000", "2018-02-06T12:30ZZ", "1e9",
                  "1.", ".5", "--1", "+", "-", "1 2", "20180206T12:30", "12:30", "nan", "2018-02-06  12:30", "+2018-02-06", "2018-02-06x"]),
    (CALENDAR, ["2018-13-01", "2018-00-01", "2018-01-00", "2018-02-29", "1900-02-29", "2018-04-31", "2018-01-01T24:00:01", "2018-01-01T24:00:00.1", "2018-01-01T24:01", "2018-01-01T25:00", "2018-01-01T23:60",
                "2016-12-31T23:59:60Z", "2018-01-01T00:00+24:00", "2018-01-01T00:00+01:60"]),
    (RANGE, ["1677-09-21T00:12:43.145224191Z", "2262-04-11T23:47:16.854775808Z", "0001-01-01", "9999-12-31", "0000-01-01", "2262-04-11T23:47:16.854775807-00:01",
             "2262-04-11T24:00"]),
    (RANGE + ": digits alone are seconds since 1970", ["9223372036.854775808", "-9223372036.854775809", "99999999999999999999999999", "1700000000000"]),
])
def test_what_is_no_time(message, texts):
    for text in texts:
        assert bad("--csv", "-k", "t:time", stdin=f"t\n\"2018-01-01\"\n\"{text}\"\n".encode()) == f'stdin: line 3, column 1 ("t"): "{text}" {message}'


# ---- several keys ----------------------------------------------------------------------------------------------------

KINDS = {"w": "text", "n": "natural", "t": "time", "x": "number", "d": "text"}


@pytest.mark.parametrize("seed", range(10))
def test_several_keys(seed):
    rng = random.Random(seed)
    n = rng.choice([5, 200, 3000, 20_000]) if seed else 20_000
    pool = rng.sample(WORDS, 6) + [b"common prefix %d" % i for i in range(rng.choice([2, 4000]))]
    days = ["2018-01-%02d" % d for d in range(1, 9)] + [""] * rng.randrange(3)
    columns = {"w": [rng.choice(pool) for _ in range(n)], "n": [rng.choice([None, b"f%d" % rng.randrange(30), b"f0%d" % rng.randrange(30)]) for _ in range(n)],
               "t": [rng.choice(days) for _ in range(n)], "x": [rng.choice([None, -1.5, 0.0, 2.5, 1e300]) for _ in range(n)],
               "d": [rng.choice([b"red", b"green", b"blue"]) for _ in range(n)]}
    ranks = {"w": ranked(columns["w"])[0], "n": ranked(columns["n"], True)[0], "t": [nanoseconds(t) if t else None for t in columns["t"]],
             "x": columns["x"], "d": ranked(columns["d"])[0]}
    rows = [b"%d,%s,%s,%s,%s,%s\n" % (i, field(columns["w"][i], rng), field(columns["n"][i]), columns["t"][i].encode(),
                                     b"" if columns["x"][i] is None else b"%r" % columns["x"][i], columns["d"][i]) for i in range(n)]
    names = rng.sample("wntxd", rng.randrange(2, 6))
    reverse, place, args = rng.random() < 0.3, list(range(n)), []
    for name in reversed(names):
        down, first = rng.random() < 0.5, rng.random() < 0.3
        suffixes = [":" + KINDS[name]] * (name != "x") + [":desc"] * down + [":nan=first"] * first
        rng.shuffle(suffixes)
        args = ["-k", name + "".join(suffixes)] + args
        values = [ranks[name][i] for i in place]
        place = [place[i] for i in order(values, down != reverse, first)]
    args += ["-r"] * reverse + ["--threads", rng.randrange(1, 4)]
    data = b"i,w,n,t,x,d\n" + b"".join(rows)
    expected = b"".join(rows[i] for i in place)
    assert good("--csv", "--verify", *args, stdin=data) == b"i,w,n,t,x,d\n" + expected
    unique, before = [], None
    for i in place:
        if before != (before := tuple(ranks[name][i] for name in names)):
            unique.append(rows[i])
    assert good("--csv", "-u", *args, stdin=data) == b"i,w,n,t,x,d\n" + b"".join(unique)


# ---- names and messages ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("key, head", [("`a:text`:text", "a:text"), ("`a b`:desc:text", "a b"), ("`x`", "x"), ("`1`", "y"), ("`b:desc`", "b:desc")])
def test_names_in_backticks(key, head):
    text = "9\n10\n" if "text" in key.split("`")[2] else "1\n2\n"
    expected = sorted(text.split(), reverse=":desc" in key.split("`")[2])
    assert good("--csv", "-k", key, stdin=f"{head}\n{text}".encode()).decode() == "\n".join([head, *expected, ""])


@pytest.mark.parametrize("args, text, message", [
    (["-k", "place"], "n,place\n1,Boston\n", '"Boston" is not a number; -k place:text sorts by text'),
    (["-k", "2:desc"], "n,place\n1,Boston\n", '"Boston" is not a number; -k 2:text sorts by text'),
    (["-k", "a b"], "a b\n1\n2x\n", 'line 3, column 1 ("a b"): "2x" is not a number; -k `a b`:text sorts by text'),
    (["-k", "when"], "when\n2018-02-06\n", '"2018-02-06" is not a number; -k when:time sorts by time'),
    ([], "when\n2018-02-06T15:50Z\n", "is not a number; -k 1:time sorts by time"),
    (["-k", "a:nan=error:text"], "a,b\nx,1\n,2\n", 'line 3, column 1 ("a"): missing'), (["-k", "a:time", "--nan", "error"], "a,b\n1,1\n,2\n", "line 3, column 1"),
    (["-k", "a:text:time"], "a\n1\n", ":text, :time and :natural exclude each other"), (["-k", "`a"], "a\n1\n", "the backtick is not closed"),
    (["-k", "`a`:txt"], "a\n1\n", ":txt after the name is none of :desc, :asc, :text, :time, :natural and :nan=WHERE"),
    (["-k", "`a`x"], "a\n1\n", "x after the name is none of"), (["-k", "``"], "a\n1\n", "a column's name or number is missing"),
    (["--text"], "a\n1\n", "--text is for lines and excludes --csv"),
])
def test_messages(args, text, message):
    assert message in bad("--csv", *args, stdin=text.encode())


def test_messages_of_lines():
    assert bad(stdin=b"1\nBoston\n") == 'stdin: line 2, column 1: "Boston" is not a number; --text sorts lines as text'
    assert "-k is for tables; stdin is read as lines of text: with --csv in place of --text it is one" in bad("--text", "-k", "a", stdin=b"1\n")
    assert "--text is for lines and excludes --dtype" in bad("--text", "--dtype", "u8", stdin=b"1\n")
    assert "this is UTF-16" in bad("--text", stdin="\ufeffa\n".encode("utf-16-le"))


def test_text_whatever_the_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"b,1\n\"a\n")
    assert good("--text", tmp_path / "a.csv") == b"\"a\nb,1\n"
