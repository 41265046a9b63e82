# SPDX-License-Identifier: MIT
"""sort of what is larger than its memory (-S), and of sorted files into one (--merge). The oracles are NumPy's stable
sorts and Python's."""
import io
import json
import os
import random
import re
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import BIN, DEVICE, SANITIZED, in_sanitized, release_only, small_disk
from device_jobs import needs_device

pytestmark = in_sanitized("parts of arrays and tables in buffers, files and merges")

SMALL = ("-S", "1M")
# Without -S a merge reserves much memory, which costs nothing; but sanitizers mark and copy all of it.
ROOMY = ("-S", "64M") if SANITIZED else ()


def parts_of(box, *arguments, **keywords):
    """Runs with a report; returns the result's bytes and the number of parts, 0 if it was sorted in memory."""
    box.good("sort", *arguments, "-o", "out", "-f", "--json", "report.json", "--tmp", ".", **keywords)
    report = json.loads(box.read("report.json"))
    return box.read("out"), report.get("parts", 0)


# ---- arrays

def stable_order(x, descending=False):
    if not descending:
        return np.argsort(x, kind="stable")
    nan = np.isnan(x) if x.dtype.kind == "f" else np.zeros(len(x), bool)
    rest = np.flatnonzero(~nan)
    back = rest[::-1]
    return np.concatenate([back[np.argsort(x[back], kind="stable")][::-1], np.flatnonzero(nan)])


def firsts(x):
    """Where a sorted array has the first of equal elements."""
    same = (x[1:] == x[:-1]) | ((x[1:] != x[1:]) & (x[:-1] != x[:-1]))
    return np.concatenate([[True], ~same])


def numbers(kind, n):
    rng = np.random.default_rng(n)
    if kind[0] == "f":
        x = rng.standard_normal(n).astype(kind)
        x[rng.integers(0, n, n // 20)] = np.nan
        x[rng.integers(0, n, n // 20)] = -0.0
        x[rng.integers(0, n, n // 20)] = 0.0
        return x
    return rng.integers(0, 1 << 62, n).astype(kind) >> (3 if kind == "u8" else 0)


@pytest.mark.parametrize("kind", ["u1", "i2", "f4", "u8"])
@pytest.mark.parametrize("arrangement", ["random", "few", "sorted", "backwards"])
def test_arrays(box, kind, arrangement):
    x = numbers(kind, 700_000 if kind == "u1" else 300_000)
    if arrangement == "few":
        x = x[np.random.default_rng(1).integers(0, 40, len(x))]
    elif arrangement != "random":
        x = np.sort(x)[::1 if arrangement == "sorted" else -1].copy()
    name = box.save("x.npy", x)
    order = stable_order(x)
    out, parts = parts_of(box, *SMALL, name, "--verify")
    assert parts > 1
    assert np.load(box.path / "out").tobytes() == x[order].tobytes()
    out, parts = parts_of(box, *SMALL, "--argsort", "-r", name)
    assert parts > 1
    assert np.array_equal(box.load("out"), stable_order(x, descending=True)) and box.load("out").dtype == np.uint32
    out, parts = parts_of(box, *SMALL, "-u", "--argsort", "--verify", name)
    assert parts > 1 and np.array_equal(box.load("out"), order[firsts(x[order])])
    parts_of(box, *SMALL, "-u", name)
    assert box.load("out").tobytes() == x[order][firsts(x[order])].tobytes()


def test_an_array_keeps_its_shape_and_order_of_bytes(box):
    x = numbers("i2", 600_000)
    name = box.save("x.npy", x.astype(">i2").reshape(2, 300_000))
    assert parts_of(box, *SMALL, "--flat", name)[1] > 1
    assert box.load("out").shape == (2, 300_000) and np.array_equal(box.load("out").ravel(), np.sort(x))


@pytest.mark.parametrize("axis, shape", [(-1, (700, 300)), (1, (30, 40, 200)), (1, (40, 4000))])
def test_arrays_along_an_axis_in_parts(box, axis, shape):
    x = numbers("f8", int(np.prod(shape))).reshape(shape)
    name, down = box.save("x.npy", x), -np.sort(-x, axis)
    whole = box.good("sort", "--axis", axis, name).out
    assert box.good("sort", *SMALL, "--axis", axis, name, "--verify").out == whole
    assert np.array_equal(np.load(io.BytesIO(whole)), np.sort(x, axis), equal_nan=True)
    assert np.array_equal(box.good("sort", *SMALL, "--axis", axis, "-r", input=box.read(name)).array, down, equal_nan=True)
    assert np.array_equal(box.good("sort", *SMALL, "--axis", axis, "--argsort", name).array,
                          np.argsort(x, axis, kind="stable"))
    box.write("s.npy", whole)
    assert box.run("sort", *SMALL, "--axis", axis, "--check", "s.npy").code == 0
    last = np.load(io.BytesIO(whole))
    last[-1].flat[-1] = -np.inf
    box.save("s.npy", last)
    place = ", ".join(str(n - 1) for n in shape)
    box.refused(1, f"s.npy: element ({place}) is out of order", "sort", *SMALL, "--axis", axis, "--check", "s.npy")
    nan = tuple(int(i) for i in np.argwhere(np.isnan(x))[0])
    box.refused(2, f"x.npy: element {nan} is NaN", "sort", *SMALL, "--axis", axis, "--nan", "error", name)


def test_parts_begin_where_the_memory_ends(box):
    limit = int((1 << 20) / (2.15 * 4))  # what the program says that a part takes
    for n, parts in ((limit, 0), (limit + 1, 2)):
        x = numbers("f4", n).astype("f4")
        box.save("x.npy", x)
        out, got = parts_of(box, *SMALL, "x.npy")
        assert got == parts and box.load("out").tobytes() == x[stable_order(x)].tobytes()
    out, got = parts_of(box, *SMALL, "-", "--dtype", "f32", input=x.tobytes())
    assert got == 2 and out == x[stable_order(x)].tobytes()
    out, got = parts_of(box, *SMALL, "--dtype", "f32", input=x[:limit - 1].tobytes())
    assert got == 0 and out == x[:limit - 1][stable_order(x[:limit - 1])].tobytes()


def test_many_parts_are_merged_in_levels(box):
    x = numbers("u8", 1_200_000)
    out, parts = parts_of(box, *SMALL, box.save("x.npy", x), "--verify")
    assert parts > 16 and box.load("out").tobytes() == np.sort(x).tobytes()
    lines = [b"%d\n" % (v % 3000) for v in x[:400_000].tolist()]
    box.write("x.txt", b"".join(lines))
    out, parts = parts_of(box, *SMALL, "--argsort", "x.txt", "--verify")
    assert parts > 16 and list(map(int, out.split())) == sorted(range(len(lines)), key=lambda i: int(lines[i]))


@needs_device
def test_arrays_larger_than_the_memory_of_a_device(box):
    x = numbers("f4", 160_000)
    name, order = box.save("x.npy", x), stable_order(x)
    down = stable_order(x, descending=True)
    there = ("--device", "cuda", "--device-memory", "1M")
    for options, want in ((["-r", "-u", "--verify"], x[down][firsts(x[down])]), (SMALL, x[order])):
        out, parts = parts_of(box, *there, *options, name)
        assert parts > 1 and box.load("out").tobytes() == want.tobytes()
        assert "cpu" not in json.loads(box.read("report.json"))["device"]
    assert parts_of(box, *there, "--argsort", name)[1] > 1 and np.array_equal(box.load("out"), order)
    out, parts = parts_of(box, *there, "--dtype", "f32", input=x.tobytes())
    assert parts > 1 and out == x[order].tobytes()
    if DEVICE.emulated:  # memory runs short
        out, parts = parts_of(box, "--device", "cuda", "--device-memory", "1G", name,
                              env={**os.environ, "SCAN_EMULATED_MEMORY": "1000000"})
        assert parts > 1 and box.load("out").tobytes() == x[order].tobytes()
    box.write("x.txt", "2\n1\n")
    box.refused(2, "--device-memory is for arrays", "sort", "--device-memory", "1M", "x.txt")
    box.save("m.npy", np.zeros((10, 10)))
    box.refused(2, "--device-memory and --axis exclude each other", "sort", "--device-memory", "1M", "--axis", "1", "m.npy")


@needs_device
def test_outputs_of_a_device_in_memory(box):
    """On tmpfs the pages of an output are got before it is written, if there are enough."""
    with small_disk(box.path / "small", "1200k") as small:
        for memory, n in (("1M", 140_000), ("1M", 160_000), ("1G", 160_000)):
            x = numbers("i8", n)
            run = ("sort", "--device", "cuda", "--device-memory", memory, box.save("x.npy", x), "-o", "small/out")
            if n == 140_000:
                box.good(*run)
                assert np.array_equal(box.load("small/out"), np.sort(x))
                (small / "out").unlink()
            else:
                box.refused(3, "small/out: cannot write: No space left on device", *run)
            assert not os.listdir(small)


# ---- lines and tables

def test_lines(box):
    rng = random.Random(3)
    texts = [bytes(rng.choice(b"abcd ") for _ in range(rng.randrange(12))) + b"\n" for _ in range(40_000)]
    box.write("lines", b"".join(texts))
    out, parts = parts_of(box, *SMALL, "--text", "lines", "--verify")
    assert parts > 1 and out == b"".join(sorted(texts, key=lambda t: t[:-1]))
    out, parts = parts_of(box, *SMALL, "--text", "-u", "-r", "-", input=b"".join(texts)[:-1])
    assert parts > 1 and out == b"".join(sorted(set(texts), key=lambda t: t[:-1], reverse=True))


def test_rows_longer_than_their_share_of_a_merge(box):
    lines = [b"%d" % (i * 7919 % 97) + b"x" * (90_000 if i % 3 else 10) + b"\n" for i in range(60)]
    box.write("x", b"".join(lines))
    out, parts = parts_of(box, *SMALL, "--text", "x", "--verify")
    assert parts > 4 and out == b"".join(sorted(lines))


def test_long_rows_with_lines_in_quotes(box):
    rng = random.Random(6150)
    texts = ["".join(rng.choice(["x", "\n", ",", '"', "word "]) for _ in range(rng.choice([0, 5, 6000]))) for _ in range(150)]
    rows = ['%d,"%s",%d\n' % (i, text.replace('"', '""'), i % 7) for i, text in enumerate(texts)]
    order = sorted(range(len(rows)), key=lambda i: (i % 7, texts[i]))
    out, parts = parts_of(box, *SMALL, "-k", "m", "-k", "s:text", box.write("in.csv", "id,s,m\n" + "".join(rows)))
    assert parts > 1 and out.decode() == "id,s,m\n" + "".join(rows[i] for i in order)


def test_lines_in_quotes_are_no_rows(box):
    """They do not make parts smaller, between which rows would be merged again and again."""
    rng = random.Random(12)
    rows = [b'%d,"' % rng.randrange(10**6) + b'a\n""bc\n' * rng.randrange(3000) + b'"\n' for _ in range(250)]
    out, parts = parts_of(box, *SMALL, "-k", "a", "--verify", box.write("in.csv", b"a,b\n" + b"".join(rows)))
    assert 1 < parts < 12 and out == b"a,b\n" + b"".join(sorted(rows, key=lambda row: int(row[:row.index(b",")])))


def test_numbers_that_become_floats_in_a_later_part(box):
    values = [f"{random.Random(i).randrange(10**6)}" for i in range(30_000)]
    values += [f" +{v}.50 " for v in values[:3000]] + ["nan", "-0", "0.0"]
    box.write("x.txt", "\ufeff" + "\n".join(values))
    out, parts = parts_of(box, *SMALL, "x.txt", "--verify")
    expected = sorted(values[:-3] + ["-0", "0.0"], key=float) + ["nan"]
    assert parts > 1 and out.decode() == "\ufeff" + "\n".join(expected) + "\n"
    box.write("bad.txt", "9007199254740993\n" + "\n".join(values) + "\n")
    box.refused(2, 'bad.txt: line 1, column 1: "9007199254740993" is beyond 2^53', "sort", *SMALL, "bad.txt")
    box.write("bad.txt", "\n".join(values) + "\nx\n")
    box.refused(2, f"bad.txt: line {len(values) + 1}, column 1", "sort", *SMALL, "bad.txt")


def table_rows():
    rng = random.Random(8)
    rows = []
    for i in range(20_000):
        text = rng.choice(['file%d' % rng.randrange(30), '"a ""b""\nc%d"' % rng.randrange(9), ""])
        rows.append((rng.randrange(500), text, f"{rng.randrange(2000, 2020)}-02-03", i))
    return rows


def test_tables(box):
    rows = table_rows()
    text = ["%d,%s,%s,%d\r\n" % row for row in rows]
    box.write("t.csv", "\ufeff" + "a,b,c,d\r\n" + "".join(text) + "\r\n\r\n")

    def unquoted(row):
        return row[1].strip('"').replace('""', '"').encode()

    keys = {("-k", "a"): lambda r: r[0],
            ("-k", "b:text", "-k", "a:desc"): lambda r: (r[1] == "", unquoted(r), -r[0]),
            ("-k", "c:time:desc", "-k", "2:natural:nan=first"):
                lambda r: (-int(r[2][:4]), r[1] != "", [int(s) if s.isdigit() else s
                                                        for s in re.split(r"(\d+)", unquoted(r).decode())])}
    for arguments, key in keys.items():
        order = sorted(range(len(rows)), key=lambda i: key(rows[i]))
        out, parts = parts_of(box, *SMALL, *arguments, "t.csv", "--verify")
        assert parts > 1 and out.decode() == "\ufeffa,b,c,d\r\n" + "".join(text[i] for i in order)
        out, parts = parts_of(box, *SMALL, *arguments, "t.csv", "--argsort")
        assert parts > 1 and list(map(int, out.split())) == order
        kept, seen = [], None
        for i in order:
            if key(rows[i]) != seen:
                kept.append(i)
            seen = key(rows[i])
        assert parts_of(box, *SMALL, *arguments, "t.csv", "-u", "--verify")[0].decode() == \
            "\ufeffa,b,c,d\r\n" + "".join(text[i] for i in kept)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_that_ends_with_parts_of_empty_lines(box, end):
    rows = [str(i * 7919 % 100_003) for i in range(100_000)]
    box.write("t.csv", end.join(["a", *rows]) + end * 250_000)
    out, parts = parts_of(box, *SMALL, "-k", "a", "t.csv")
    assert parts > 1 and out == box.good("sort", "-k", "a", "t.csv").out
    assert out.decode().split()[1:] == sorted(rows, key=int)


@pytest.mark.parametrize("lines", ["", "#comment\n", "\r\n#\n"])
def test_an_empty_line_before_parts_without_rows(box, lines):
    """Malformed if a row comes after all, whatever the parts between have; if none does it is no row."""
    rows = "".join(f"{i * 7919 % 100_003},x\n" for i in range(50_000))
    head, gap = "a,b\n" + rows, "\n" + (lines or "\n") * (2_400_000 // len(lines or "\n"))
    arguments = ("--csv", "-k", "a", "--comment", "#")
    box.write("t", head + gap)
    out, parts = parts_of(box, *SMALL, *arguments, "t")
    assert parts > 1 and out == box.good("sort", *arguments, input=head.encode()).out
    box.write("t", head + gap + "1,x\n")
    for size in (SMALL, ROOMY):
        box.refused(2, "t: line 50002: 1 field, the first row has 2", "sort", *size, *arguments, "t")


def test_tables_of_other_dialects(box):
    rows = table_rows()
    text = ["%d;%s;%s;%d\n" % row for row in rows]
    order = sorted(range(len(rows)), key=lambda i: rows[i][0])
    body = "".join(('#a "comment\n' if i % 50 == 7 else "") + row for i, row in enumerate(text))
    box.write("t", "#before\n" + body)
    arguments = ("--csv", "--no-header", "--comment", "#", "--delimiter", ";", "-k", "1")
    out, parts = parts_of(box, *SMALL, *arguments, "t", "--verify")
    assert parts > 1 and out.decode() == "#before\n" + "".join(text[i] for i in order)
    box.write("t", body + "1;2;3\n")
    box.refused(2, f"t: line {body.count(chr(10)) + 1}: 3 fields, the first row has 4", "sort", *SMALL, *arguments, "t")
    box.write("t", body + '1;"2;3;4\n')
    box.refused(2, "a quote is opened here", "sort", *SMALL, *arguments, "t")
    tabs = ['%d\tin"ch %d\n' % (row[0], row[3]) for row in rows] * 2
    box.write("t.tsv", "a\tb\n" + "".join(tabs))
    out, parts = parts_of(box, *SMALL, "-k", "a", "t.tsv")
    assert parts > 1 and out.decode() == "a\tb\n" + "".join(sorted(tabs, key=lambda t: int(t.split()[0])))


def test_check_of_parts(box):
    for name, data, options, place in (("x.npy", np.arange(600_000), [], "element 500000"),
                                       ("x.txt", list(range(40_000)), [], "line 30001"),
                                       ("x.csv", list(range(40_000)), ["-k", "a"], "line 30002")):
        for broken in (False, True):
            if name == "x.npy":
                data[500_000] = 7 if broken else 500_000
                box.save(name, data)
            else:
                data[30_000] = 7 if broken else 30_000
                rows = "".join(f"{v},\n" if options else f"{v}\n" for v in data)
                box.write(name, "a,b\n" + rows if options else rows)
            result = box.run("sort", *SMALL, "--check", *options, name)
            assert result.code == broken and (f"{name}: {place}" in result.err) == broken, result.err
    box.write("x.txt", "".join(f"{v // 2}\n" for v in range(40_000)))
    assert box.run("sort", *SMALL, "-c", "x.txt").code == 0
    assert "line 2" in box.refused(1, "is out of order", "sort", *SMALL, "-c", "-u", "x.txt").err


# ---- merging

def test_merge_of_arrays(box):
    rng = np.random.default_rng(5)
    sizes = [100_000, 0, 7, 250_000, 1]
    arrays = [np.sort(rng.integers(0, 1000, n).astype("i4")) for n in sizes]
    names = [box.save(f"{i}.npy", a) for i, a in enumerate(arrays)]
    everything = np.sort(np.concatenate(arrays))
    for options in (ROOMY, SMALL):
        assert np.array_equal(box.good("sort", "--merge", *options, *names, "--verify").array, everything)
    assert np.array_equal(box.good("sort", "--merge", *ROOMY, "-u", *names).array, np.unique(everything))
    piped = box.good("sort", "--merge", *ROOMY, *names[:3], "-", names[4], input=box.read(names[3]))
    assert np.array_equal(piped.array, everything)
    down = [box.save(f"d{i}.npy", a[::-1]) for i, a in enumerate(arrays)] * 8
    merged = box.good("sort", "--merge", "-r", *SMALL, *down, "--verify").array
    assert np.array_equal(merged, np.repeat(everything, 8)[::-1])
    arrays[3][200_000] = -1
    box.save("3.npy", arrays[3])
    box.refused(2, "3.npy: element 200000 is out of order", "sort", "--merge", *SMALL, *names, "-o", "new")
    box.save("f.npy", np.zeros(3))
    box.refused(2, "f.npy: has elements of type f64, those of 0.npy are i32", "sort", "--merge", *ROOMY, "0.npy", "f.npy")
    box.refused(2, "out of order", "sort", "--merge", *ROOMY, "-r", "0.npy")


def test_merge_of_tables_and_lines(box):
    rows = [(v, t.replace("\n", " "), c, i) for v, t, c, i in table_rows()[:4000]]
    files = [sorted(rows[i::5], key=lambda r: r[0]) for i in range(5)]
    for i, part in enumerate(files):
        box.write(f"{i}.csv", "a,b,c,d\n" + "".join("%d,%s,%s,%d\n" % row for row in part))
    names = [f"{i}.csv" for i in range(5)]
    expected = sorted((row for part in files for row in part), key=lambda r: r[0])
    for options in (ROOMY, SMALL):
        out = box.good("sort", "--merge", *options, "-k", "a", *names, "--verify").out.decode()
        assert out == "a,b,c,d\n" + "".join("%d,%s,%s,%d\n" % row for row in expected)
    kept = [row for i, row in enumerate(expected) if i == 0 or row[0] != expected[i - 1][0]]
    out = box.good("sort", "--merge", *ROOMY, "-u", "-k", "a", *names, "--verify").out.decode()
    assert out == "a,b,c,d\n" + "".join("%d,%s,%s,%d\n" % row for row in kept)
    box.write("dis.csv", "a,b,c,d\n1,,,\n5,,,\n4,,,\n")
    box.refused(2, "dis.csv: line 4 is out of order", "sort", "--merge", *ROOMY, "-k", "a", "0.csv", "dis.csv")
    box.write("other.csv", "a,b,c,e\n1,,,\n")
    box.refused(2, "other.csv: has another header than 0.csv", "sort", "--merge", *ROOMY, "-k", "a", "0.csv", "other.csv")
    box.write("narrow.csv", "a\n1\n")
    box.refused(2, "narrow.csv: has 1 columns, 0.csv has 4", "sort", "--merge", *ROOMY, "-k", "a", "0.csv", "narrow.csv")
    box.write("empty", "")
    box.write("a", "a\nc")
    box.write("b", "b\nc\nd\n")
    assert box.good("sort", "--merge", *ROOMY, "--text", "empty", "a", "b", "-").out == b"a\nb\nc\nc\nd\n"
    assert box.good("sort", "--merge", *ROOMY, "--text", "-u", "a", "b", "a").out == b"a\nb\nc\nd\n"
    box.write("i", "1\n9007199254740993\n")
    box.write("f", "0.5\n")
    box.refused(2, "beyond 2^53", "sort", "--merge", *ROOMY, "i", "f")
    many = []
    for i in range(40):
        many.append(box.write(f"m{i}", "".join(f"{v}\n" for v in range(i, 400, 1 + i % 7))))
    want = sorted(v for i in range(40) for v in range(i, 400, 1 + i % 7))
    assert box.good("sort", "--merge", *SMALL, "--verify", *many).out == b"".join(b"%d\n" % v for v in want)


# ---- options, memory, faults

def test_refusals(box):
    box.save("m.npy", np.zeros((1000, 1000)))
    box.refused(2, "does not fit -S, and what lies along this axis is sorted", "sort", *SMALL, "--axis", "0", "m.npy")
    box.save("f.npy", np.asfortranarray(np.ones((600, 600))))
    box.refused(2, "an array in Fortran order", "sort", *SMALL, "--flat", "f.npy")
    for size in ("", "x", "1X", "-1", "5MM", "b"):
        box.refused(2, "a size is a number of K", "sort", "-S", size, "m.npy")
    for size in ("0", "1000", "1023K", "1048575b"):
        box.refused(2, "is less than 1M", "sort", "-S", size, "m.npy")
    box.write("x.txt", "2\n1\n")
    for size in ("1048576b", "1024", "1m", "2M", "1G", "1T", "1P", "1E", "99999999999999999999E", "10%"):
        assert box.good("sort", "-S", size, "x.txt").out == b"1\n2\n"
    box.refused(2, "--merge and --check exclude each other", "sort", "--merge", "--check", "x.txt")
    box.refused(2, "--merge and --argsort exclude each other", "sort", "--merge", "--argsort", "x.txt")
    box.refused(2, "the standard input is named twice", "sort", "--merge", "-", "-")
    box.refused(3, "there/not: cannot", "sort", *SMALL, "--tmp", "there/not", "-", input=b"7\n" * 200_000)
    box.write("long", b"x" * 3_000_000)
    box.refused(3, "long: line 1: begins a row that does not fit the memory", "sort", *SMALL, "--text", "long")


@release_only("sanitizers need more memory")
@pytest.mark.parametrize("name", ["x.npy", "x.txt", "x.csv"])
def test_memory_is_kept(box, name):
    """Eight times the memory of -S, under a limit that ends the sort in memory."""
    rng = np.random.default_rng(2)
    size = 4 << 20
    if name == "x.npy":
        box.save(name, rng.integers(0, 1 << 32, 2 * (size + (64 << 20)) // 16, dtype="u4"))
        options = []
    else:
        rows = np.full((8 * size // 100, 100), ord("x"), dtype="u1")
        rows[:, :10] = rng.integers(97, 123, (len(rows), 10))
        rows[:, 50] = ord(",")
        rows[:, 99] = ord("\n")
        box.write(name, rows.tobytes())
        options = ["--text"] if name == "x.txt" else ["--no-header", "-k", "1:text"]

    def limit():
        bytes_at_most = size + (64 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (bytes_at_most, bytes_at_most))

    box.good("sort", "-S", size // 1024, *options, name, "-o", "parts", preexec_fn=limit)
    in_memory = box.run("sort", "-S", "1G", *options, name, "-o", "whole", preexec_fn=limit)
    # lines and rows are short, so the workspace, which depends on the processor, decides whether they fit
    assert in_memory.code in ((3,) if name == "x.npy" else (0, 3))
    box.good("sort", "-S", "1G", *options, name, "-o", "whole", "-f")
    assert box.read("parts") == box.read("whole")


def test_nothing_is_left_by_a_kill(box):
    box.path.joinpath("tmp").mkdir()
    command = [BIN / "sort", *SMALL, "--tmp", "tmp", "-o", "out"]
    with subprocess.Popen(command, cwd=box.path, stdin=subprocess.PIPE) as run:
        run.stdin.write(b"".join(b"%d\n" % (i * 7919 % 100_003) for i in range(100_000)))
        run.stdin.flush()
        spools = f"/proc/{run.pid}/fd"
        for _ in range(500):
            if any("/tmp/" in os.readlink(f"{spools}/{fd}") for fd in os.listdir(spools)):
                break
            time.sleep(0.01)
        else:
            pytest.fail("no temporary file was made")
        run.send_signal(signal.SIGKILL)
    assert box.names() == ["tmp"] and not os.listdir(box.path / "tmp")


def test_full_disks(box):
    with small_disk(box.path / "small", "512k") as small:
        box.save("x.npy", np.arange(300_000)[::-1])
        result = box.run("sort", *SMALL, "--tmp", "small", "x.npy", "-o", "out")
        assert result.code == 3 and "small: 524288 bytes are free there, and the sort needs 2400000" in result.err
        result = box.run("sort", *SMALL, "--tmp", "small", "--dtype", "i64", "-o", "out",
                         input=box.read("x.npy")[128:])
        assert result.code == 3 and "temporary file in small" in result.err and "No space left" in result.err
        assert box.names() == ["small", "x.npy"] and not os.listdir(small)
