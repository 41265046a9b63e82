# SPDX-License-Identifier: MIT
"""prefix on text and tables of several batches of chunks (four of 512 KiB for each thread), in which the type of the column is known late. The oracles
are NumPy's sums of integers, and for floats the results of the same numbers as an array, whose order of operations other tests check."""
import gzip
import random
import resource

import numpy as np
import pytest

from conftest import in_sanitized, release_only

pytestmark = in_sanitized("rows across the ends of buffers")

CHUNK = 512 << 10
MARK = b"\xef\xbb\xbf"


def text_of(values, pad=0):
    """Lines with blanks, which make few lines many bytes."""
    return b"".join(b"%s%*s\n" % (v, i % (pad + 1), b"") for i, v in enumerate(values))


def array_prefix(box, values, *options):
    """The results for f64 as lines."""
    box.save("oracle.npy", np.array(values, "f8"))
    box.good("prefix", *options, "oracle.npy", "-f", "-o", "oracle.txt")
    return box.read("oracle.txt")


def lines_of(values):
    return b"".join(b"%d\n" % v for v in values)


def ways(box, data, *options):
    """The output by a file, a pipe, a compressed file and a compressed pipe, each with another number of threads."""
    box.write("in", data)
    box.write("in.gz", gzip.compress(data, 1))
    box.good("prefix", *options, "in", "--threads", 1, "-f", "-o", "out")
    yield box.read("out")
    yield box.good("prefix", *options, "--threads", 2, input=data).out
    yield box.good("prefix", *options, "in.gz", "--threads", 3, "--verify").out
    yield box.good("prefix", *options, "--threads", 1, input=box.read("in.gz")).out


def test_a_line_longer_than_chunks(box):
    data = b"1\n" + b" " * (3 * CHUNK) + b"2\n3" + b" " * CHUNK
    for out in ways(box, data):
        assert out == b"1\n3\n6\n"


@pytest.mark.parametrize("late", [b"0.5", b"-0", b"18446744073709551615", b"nan", b"7"])
@pytest.mark.parametrize("reverse", [False, True])
def test_type_that_is_known_late(box, late, reverse):
    """Integers, and in the last line a number that makes floats, or u64, of all of them."""
    rng = random.Random(5)
    words = [b"-0"] + [b"%d" % rng.randrange(1000) for _ in range(6_000)] + [late]
    options = ["--reverse"] if reverse else []
    if late in (b"0.5", b"nan"):
        expected = array_prefix(box, [float(w) for w in words], *options)
    else:
        order = slice(None, None, -1) if reverse else slice(None)
        sums = np.cumsum(np.array([int(w) % 2**64 for w in words], np.uint64)[order], dtype=np.uint64)[order]
        expected = lines_of(sums.tolist())
    for out in ways(box, MARK + text_of(words, 1500), *options):
        assert out == MARK + expected


@pytest.mark.parametrize("options", [(), ("--exclusive",), ("--op", "max", "--init", "3"), ("--reverse",), ("--exclusive", "--reverse", "--init", "0.5")])
def test_floats_beyond_groups(box, options):
    """More elements than two groups of the order of float sums, in batches that end inside groups."""
    values = np.random.default_rng(3).normal(size=300_000).round(3)
    words = [b"%.3f" % v for v in values]
    expected = array_prefix(box, values, *options)
    for out in ways(box, text_of(words), *options):
        assert out == expected


@pytest.mark.parametrize("kind", ["integers", "floats late", "missing late", "missing at once"])
@pytest.mark.parametrize("options", [(), ("--reverse",), ("--op", "min", "--exclusive")])
def test_tables(box, kind, options):
    """Rows of all lengths, one longer than two chunks, with line ends in quotes."""
    rng = random.Random(kind)
    words = [b"%d" % rng.randrange(-500, 500) for _ in range(9_000)]
    words[0 if kind == "missing at once" else -7] = b"2.5" if kind == "floats late" else b"" if "missing" in kind else b"3"
    rows = [b'"%s\n",%s,x\r\n' % (b"w" * (2 * CHUNK if i == 4_000 else rng.choice([0, 1, 900])), w) for i, w in enumerate(words)]
    identity = np.inf if "min" in options else -0.0
    if kind == "integers":
        order = slice(None, None, -1 if "--reverse" in options else 1)
        numbers = np.array([int(w) for w in words])[order]
        results = np.minimum.accumulate(np.append(2**63 - 1, numbers[:-1])) if "min" in options else np.cumsum(numbers)
        results = lines_of(results[order].tolist()).split(b"\n")
    else:
        results = array_prefix(box, [float(w) if w else identity for w in words], *options).split(b"\n")
    op = b"min" if "min" in options else b"add"
    expected = b'a,n,"c ""d""",n_' + op + b"\r\n" + b"".join(row[:-2] + b"," + (r if w else b"") + b"\r\n" for row, w, r in zip(rows, words, results))
    for out in ways(box, b'a,n,"c ""d"""\r\n' + b"".join(rows), "--csv", "-k", "n", *options):
        assert out == expected


@pytest.mark.parametrize("change,message", [
    ({15_000: b"x", 17_000: b"y"}, "line 15001, column 1: \"x\" is not a number"),
    ({5: b"9007199254740993", 15_000: b"1.5"}, 'line 6, column 1: "9007199254740993" is beyond 2^53'),
    ({5: b"1.5", 15_000: b"9007199254740993"}, 'line 15001, column 1: "9007199254740993" is beyond 2^53'),
    ({5: b"18446744073709551615", 15_000: b"-1"}, 'line 6, column 1: "18446744073709551615" does not fit i64'),
])
def test_errors(box, change, message):
    words = [change.get(i, b"%d" % i) for i in range(20_000)]
    text = b"".join(w + b" " * (i not in change and 250) + b"\n" for i, w in enumerate(words))
    table = b"a,b\n" + b"".join(b"%0150d,%s\n" % (i, w) for i, w in enumerate(words))
    in_table = message.replace(message[:message.find(":")], 'line %d, column 2 ("b")' % (int(message.split(",")[0][5:]) + 1))
    for options in (), ("--reverse",), ("--op", "max", "--threads", 1):
        box.refused(2, message, "prefix", *options, "-o", "out", input=text)
        box.refused(2, in_table, "prefix", "--csv", "-k", "b", *options, "-o", "out", input=table)
    if b"1.5" not in change.values():
        box.refused(2, message, "prefix", input=text)  # integers wait until their type is certain


def test_options_that_need_the_type(box):
    """They are judged by the type of all numbers, not by that of the first ones."""
    ints, floats = text_of([b"1"] * 6_000, 1500), text_of([b"1"] * 6_000 + [b"1.5"], 1500)
    expected = array_prefix(box, [1] * 6_000 + [1.5], "--init", "0.5")
    assert box.good("prefix", "--init", "0.5", input=floats).out == expected
    assert box.good("prefix", "--out-dtype", "f64", input=floats).out == array_prefix(box, [1] * 6_000 + [1.5])
    assert box.good("prefix", "--out-dtype", "i64", input=ints).out == lines_of(range(1, 6_001))
    box.refused(2, "--init: 0.5 cannot be a value of the output type i64", "prefix", "--init", "0.5", input=ints)
    box.refused(2, "--op xor takes integers", "prefix", "--op", "xor", "-o", "out", input=floats)
    for data, dtype in ((floats, "i64"), (ints, "f64"), (ints, "u64"), (text_of([b"1"] * 6_000 + [b"18446744073709551615"], 1500), "i64")):
        assert box.run("prefix", "--out-dtype", dtype, "-o", "out", input=data).code == 2
        assert not (box.path / "out").exists()


@release_only("sanitizers have memory of their own")
@pytest.mark.parametrize("program,options,line,megabytes,limit", [
    ("prefix", (), b"1\n", 16, 128), ("prefix", ("--reverse",), b"1\n", 16, 128), ("compact", ("--nonzero",), b"1\n", 16, 128),
    ("prefix", ("--csv", "-k", "1", "--no-header"), b"0.5,%090d\n" % 7, 64, 64),
    ("prefix", ("--csv", "-k", "1", "--no-header", "--reverse"), b"3,%0900d\n" % 7, 64, 64),
    ("compact", ("--unique", "--text"), b"%0900d\n" % 7, 64, 64), ("prefix", ("--dtype", "f64", "--reverse"), b"\0", 64, 64),
], ids=["lines", "lines reverse", "compact lines", "table", "table reverse", "unique", "array reverse"])
def test_memory(box, program, options, line, megabytes, limit):
    """It does not grow with the input, from a pipe or from a file, and is below 128 MiB with the shortest of lines."""
    data = line * ((megabytes << 20) // len(line))
    box.write("in", data)
    for source in (["in"], []):
        keywords = {"stdin": None} if source else {"input": data}
        box.good(program, *options, *source, "--threads", 2, "-f", "-o", "out",
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit << 20, limit << 20)), **keywords)


def test_reversed_arrays_from_pipes(box):
    x = np.random.default_rng(4).normal(size=300_001)
    box.save("x.npy", x)
    box.good("prefix", "--reverse", "x.npy", "-o", "out.npy")
    assert box.good("prefix", "--reverse", "--verify", input=box.read("x.npy")).out == box.read("out.npy")
    assert box.good("prefix", "--reverse", "--dtype", "f64", input=x.tobytes()).out == box.load("out.npy").tobytes()
    assert box.good("prefix", "--reverse", "--dtype", "f64", input=b"").out == b""


def test_a_pipe_without_a_folder_for_its_copy(box):
    """What is short, and what begins with a float, needs none."""
    box.good("prefix", "--tmp", "/nonexistent", input=b"1\n2\n")
    box.good("prefix", "--tmp", "/nonexistent", input=text_of([b"1.5"] * 100))
    box.good("prefix", "--tmp", "/nonexistent", "--out-dtype", "i64", input=text_of([b"1"] * 6_000, 1500))
    box.refused(3, "/nonexistent: cannot make a temporary file there", "prefix", "--tmp", "/nonexistent", input=text_of([b"1"] * 6_000, 1500))
    box.write("in.txt", text_of([b"1"] * 6_000, 1500))
    box.good("prefix", "--tmp", "/nonexistent", "in.txt", "-o", "out")
    assert box.good("prefix", "--tmp", "/nonexistent", "in.txt").out == box.read("out")
