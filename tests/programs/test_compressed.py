# SPDX-License-Identifier: MIT
"""Compressed inputs. gzip members are made by Python's gzip, zstd frames by hand: raw blocks and runs, as RFC 8878 has them."""
import gzip
import random
import re
import resource
import struct

import numpy as np
import pytest
from conftest import CACHE, in_sanitized, release_only

pytestmark = in_sanitized("damaged input")

TEXT = CACHE.read_text() if CACHE.exists() else ""
HAS = {"gzip": re.search(r"^(ISAL_LIBRARY|Z_LIBRARY):\w+=/", TEXT, re.M) is not None, "zstd": re.search(r"^ZSTD_LIBRARY:\w+=/", TEXT, re.M) is not None}
SUFFIX = {"gzip": ".gz", "zstd": ".zst"}


def zstd_frame(blocks):
    """A frame without a checksum, with a window of 128 KiB; a block is bytes or a run (byte, count)."""
    out = b"\x28\xb5\x2f\xfd\x00" + bytes([(17 - 10) << 3])
    for i, block in enumerate(blocks):
        run = isinstance(block, tuple)
        count = block[1] if run else len(block)
        out += struct.pack("<I", (i == len(blocks) - 1) | run << 1 | count << 3)[:3] + (block[0] if run else block)
    return out


def zstd(data):
    return zstd_frame([data[i:i + 100_000] for i in range(0, len(data), 100_000)] or [b""])


def gz(data, level=6):
    return gzip.compress(data, level, mtime=0)


COMPRESS = {"gzip": gz, "zstd": zstd}
kinds = pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.skipif(not HAS[kind], reason=f"built without {kind}")) for kind in COMPRESS])


def table(n):
    rng = random.Random(n)
    return "n,word\n" + "".join(f"{rng.randrange(10**9)},{rng.choice(['a', 'bb', 'ccc'])}{i}\n" for i in range(n))


@kinds
def test_all_programs_and_formats(box, kind):
    """As the same bytes that are not compressed; names tell tables apart, with the suffix of the compressor or without."""
    data, values = table(30_000), np.arange(200_000) * 2654435761 % 2**32
    box.write("t.csv", data)
    box.write("l.txt", "".join(f"{x}\n" for x in values[:5000]))
    box.save("a.npy", values)
    box.save("m.npy", values % 2 == 0)
    box.save("f.npy", np.asfortranarray(values[:6000].reshape(30, 200) % 7))
    for name in ("t.csv", "l.txt", "a.npy", "m.npy", "f.npy"):
        box.write(name + SUFFIX[kind], COMPRESS[kind](box.read(name)))
    box.write("u.csv", box.read("t.csv" + SUFFIX[kind]))
    for program, options, name in (("sort", ["-k", "n"], "t.csv"), ("compact", ["--where", "n < 5e8"], "t.csv"), ("prefix", ["-k", "n"], "t.csv"), ("sort", [], "l.txt"), ("sort", ["--text"], "l.txt"),
                                   ("compact", ["--where", "x > 9"], "l.txt"), ("prefix", [], "l.txt"), ("sort", [], "a.npy"), ("prefix", ["--reverse"], "a.npy"), ("compact", ["--nonzero"], "a.npy"),
                                   ("sort", ["--axis", 0], "f.npy"), ("prefix", ["--axis", 0], "f.npy"), ("compact", ["--unique", "--axis", 0], "f.npy")):
        expected = box.good(program, *options, name).out
        assert box.good(program, *options, "--verify", name + SUFFIX[kind]).out == expected
        more = ["--csv"] if name == "t.csv" else []
        assert box.good(program, *options, *more, input=box.read(name + SUFFIX[kind])).out == expected
    assert box.good("sort", "-k", "n", "u.csv").out == box.good("sort", "-k", "n", "t.csv").out
    mask = box.good("compact", "--mask", "m.npy", "a.npy").out
    assert box.good("compact", "--mask", "m.npy" + SUFFIX[kind], "a.npy" + SUFFIX[kind]).out == mask


@kinds
def test_members(box, kind):
    """Members that follow each other are one input; empty ones, too, and pieces that end anywhere."""
    data, compress = table(20_000).encode(), COMPRESS[kind]
    expected = box.good("sort", "--csv", "-k", "n", input=data).out
    for cuts in ([1, 2, 100_000], [0, 0, len(data)], [131_072, 262_144], list(range(1000, len(data), 9973))):
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]
        assert box.good("sort", "--csv", "-k", "n", input=b"".join(map(compress, pieces))).out == expected
        if kind == "zstd":
            note = b"\x5a\x2a\x4d\x18\x04\0\0\0skip"  # a frame to skip
            assert box.good("sort", "--csv", "-k", "n", input=note + note.join(map(compress, pieces)) + note).out == expected
    for n in (0, 1, 262_143, 262_144, 262_145, 2_000_000):
        text = (b"1\n" * (n // 2 + 1))[:n]
        stored = gz(text, 0) if kind == "gzip" else zstd(text)
        assert box.good("prefix", "--op", "max", input=stored).out == b"1\n" * ((n + 1) // 2)
    assert box.good("sort", input=compress(b"")).out == b""


@kinds
def test_cut_short(box, kind):
    data = COMPRESS[kind](table(3000).encode())
    cuts = [len(data) - 1, len(data) - 7, len(data) // 2, 20, 12, 11]
    for cut in cuts:
        box.refused(2, f"in{SUFFIX[kind]}: is cut short: the {kind} data end after {cut} bytes, inside a member", "sort", "--csv", "-k", "n", box.write("in" + SUFFIX[kind], data[:cut]), "-o", "out.csv")
    box.refused(2, "stdin: is cut short", "prefix", input=COMPRESS[kind](b"1\n") + data[:len(data) // 2])
    array = COMPRESS[kind](b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<i8', 'fortran_order': False, 'shape': (300,), }".ljust(117) + b"\n" + bytes(2400))
    for program, options in (("sort", []), ("prefix", ["-o", "out.npy"]), ("compact", ["--nonzero"])):
        box.refused(2, "is cut short", program, *options, input=array[:-1])


@kinds
def test_damaged(box, kind):
    """A changed bit is an error, or it was one that does not matter; never another result."""
    data = COMPRESS[kind](table(300).encode())
    expected = box.good("sort", "--csv", "-k", "n", input=data).out
    rng = random.Random(1)
    places = [*range(3, 11), len(data) - 1, len(data) - 5, len(data) - 8, *rng.sample(range(10, len(data) - 8), 12)] if kind == "gzip" else [4, 5, 6, 7, 8]
    refused = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.randrange(8)
        result = box.run("sort", "--csv", "-k", "n", input=bytes(damaged))
        assert result.code == 2 and not result.out and result.err.count("\n") == 1 or result.out == expected, (place, result.err)
        refused += result.code == 2
    assert refused > len(places) // 2
    result = box.run("sort", "--csv", "-k", "n", input=data[:-8] + bytes([data[-8] ^ 1]) + data[-7:])
    if kind == "gzip":
        assert result.code == 2 and len(data) - 8 <= int(re.search("stdin: the gzip data are damaged near byte (\\d+): ", result.err).group(1)) <= len(data)


@kinds
def test_something_after_the_last_member(box, kind):
    data = COMPRESS[kind](b"2\n1\n")
    for more in (b"\0", b"x" * 300_000, data[:2]):
        box.refused(2, f"stdin: what follows byte {len(data)} is not {kind}: something was appended, or the file is damaged", "sort", input=data + more)


@kinds
@release_only("sanitizers need more address space than the limit")
def test_what_grows_without_end(box, kind):
    """8 GB come out of some kilobytes or megabytes; the limit of memory is 200 MB, and the exit code 3."""
    bomb = zstd_frame([(b"1", 131_071)] * 65_000) if kind == "zstd" else gzip.compress(b"1" * (1 << 20), 9, mtime=0) * 8192
    limit = 200 << 20
    for options in (["--csv", "-k", "1"], ["--text"], []):
        result = box.run("sort", *options, input=bomb, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        assert (result.code, result.out, result.err.count("\n")) == (3, b"", 1) and ("memory" in result.err), result.err


def test_raw_data_are_not_decompressed(box):
    data = gz(b"1234")
    data += bytes(-len(data) % 8)
    assert sorted(struct.unpack(f"<{len(data) // 2}H", data)) == list(struct.unpack(f"<{len(data) // 2}H", box.good("sort", "--dtype", "u16", input=data).out))


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_build_without_it(box, kind):
    if HAS[kind]:
        pytest.skip(f"built with {kind}")
    box.refused(2, f"in.csv: is compressed with {kind}, which this build cannot read: build it with", "sort", "-k", "1", box.write("in.csv", COMPRESS[kind](b"1\n")))


@pytest.mark.parametrize("data, text", [
    (b"PK\3\4rest", "is compressed with zip; only gzip and zstd are read: unzip -p in.csv | sort"), (b"\xfd7zXZ\0\0\4", "is compressed with xz; only gzip and zstd are read: xz -dc in.csv | sort"),
    (b"\x04\x22\x4d\x18d@\xa7", "is compressed with lz4; only gzip and zstd are read: lz4 -dc in.csv | sort"),
    (b"BZh91AY&SY\0", "is compressed with bzip2; only gzip and zstd are read: bzip2 -dc in.csv | sort"), ("a,b\n".encode("utf-16"), "this is UTF-16: convert it to UTF-8"),
    (b'{"a": 1, "b": 2}\n', "in.csv: line 1: this is JSON: make a table of it (jq -r '[.a, .b] | @csv')"), (b'[\n  { "a": 1 }\n]\n', "line 1: this is JSON"), (b'\xef\xbb\xbf{"a": 1}\n', "line 1: this is JSON"),
])
def test_other_formats_are_named(box, data, text):
    box.refused(2, text, "sort", "-k", "1", box.write("in.csv", data))
    box.refused(2, text.replace("in.csv |", "FILE |").replace("in.csv:", "stdin:"), "sort", input=data)
    if b'"' in data and b"," not in data:
        box.refused(2, text, "sort", "--tsv", "-k", "1", "in.csv")


def test_a_dictionary_is_named(box):
    if not HAS["zstd"]:
        pytest.skip("built without zstd")
    frame = bytes.fromhex("28b52ffd 23 2a000000 0a 190000") + b"a\n1"  # of dictionary 42: one raw block
    box.refused(2, "d.csv.zst: was compressed with a dictionary, which is not here: zstd -dc -D DICTIONARY d.csv.zst | compact", "compact", "--where", "a > 0",
                box.write("d.csv.zst", frame))


def test_what_only_looks_like_json(box):
    for data in (b"{\n1\n", b"[\n2\n", b"{a}\n1\n"):
        assert box.good("sort", "--csv", "-k", "1:text", input=data).out == data
    assert box.good("sort", "--tsv", "-k", "b", input=b'{"a"}\tb\n1\t2\n').out == b'{"a"}\tb\n1\t2\n'
    assert box.good("sort", "--text", input=b'{"a": 2}\n{"a": 1}\n').out == b'{"a": 1}\n{"a": 2}\n'


@pytest.mark.parametrize("program, options", [("sort", []), ("prefix", []), ("compact", ["--nonzero"])])
def test_outputs_are_not_compressed(box, program, options):
    for suffix in (".gz", ".zst"):
        box.refused(2, f"out.csv{suffix}: outputs are not compressed: leave out the {suffix}, or pipe them through a compressor", program, *options, "-o", "out.csv" + suffix, input=b"1\n")
