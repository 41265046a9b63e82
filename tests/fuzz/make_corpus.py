#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_corpus.py FOLDER: writes the inputs from which tools/fuzz starts, in FOLDER/TARGET. They are the same in every
run. Each family is one kind of danger: what is nearly valid, at a limit, or valid in an unusual way."""
import itertools
import pathlib
import random
import struct
import sys
import zlib


def npy():
    """Dicts of .npy headers."""
    good = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
    for descr in ("<i8", ">f4", "|u1", "|b1", "=u2", "<f8", "|i1", "<c8", "<M8[s]", "|O", "<U5", "|S3", "<i3", "<f2", "i8", ""):
        yield good % (descr, "False", "(3,)")
    for shape in ("()", "(0,)", "(3)", "(3,)", "(-1,)", "(1, 2, 3)", "(2, 0, 5)", "(18446744073709551615,)",
                  "(4294967296, 4294967296)", "(9223372036854775807, 0)", "(" + "1, " * 32 + ")", "(" + "1, " * 33 + ")",
                  "(3L,)", "[3]", "(0x3,)", "(3.0,)", "( 3 , )", "(,)", "(1_0,)", "(03,)"):
        yield good % ("<i4", "True", shape)
    yield "{'shape': (3,), 'descr': '<i8', 'fortran_order': False}"
    yield "{'descr': '<i8', 'descr': '<i8', 'fortran_order': False, 'shape': (3,)}"
    yield "{'descr': '<i8', 'fortran_order': False}"
    yield "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), 'more': 1}"
    yield "{'descr': [('a', '<i4'), ('b', '<f8')], 'fortran_order': False, 'shape': (3,)}"
    yield '{"descr": "<i8", "fortran_order": false, "shape": (3,)}'
    yield "{'descr': '<i\\x38', 'fortran_order': 0, 'shape': (3,)}"
    yield good % ("<i8", "False", "(3,)") + " " * 70 + "\n"
    yield good % ("<i8", "False", "(3,)") + "{}"
    yield "{" * 500


NUMBERS = ("0", "-0", "+0", "7", "-7", "+7", "007", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
           "-9223372036854775809", "9223372036854775808", "9007199254740993", "1.5", "-1.5e-3", "1e308", "1e309", "1e999",
           "-1e999", "1e-400", "4.9406564584124654e-324", "2.4703282292062328e-324", "1.7976931348623159e308", ".5", "5.",
           ".", "e5", "1e", "1e+", "1,5", "1_000", "0x10", "1f", "nan", "-NaN", "nan(1)", "inf", "-Infinity", "infinit", "",
           " ", " 1 ", "\t1", "1\r", "1\r\r", "1 2", "--1", "+-1", "1e1e1", "0" * 400 + "1", "1" * 400, "0." + "0" * 400 + "1",
           "1" + "0" * 400 + "e-400", "123456789012345678901234567890.5", "\u0661", "1\0", "\xa01")


def times():
    for date in ("2018-02-06", "2020-02-29", "2019-02-29", "1900-02-29", "2000-02-29", "1677-09-21", "1677-09-20", "2262-04-11", "2262-04-12", "0000-01-01", "9999-12-31", "2018-00-10",
                 "2018-13-10", "2018-01-00", "2018-04-31", "2018-2-6", "20180206", "2018-02", "-018-02-06", "2018-02-06T", "2018-037"):
        yield date
        yield date + "T00:12:43.145224192"
    for clock in ("23:59", "24:00", "23:60", "23:59:60", "23:59:59.999999999", "23:47:16.8547758079", "00:00:00.", "00:00:00,1", "1:00", "00:0", "00", "00:00:00.1.2", "0000"):
        yield from (f"2016-12-31{mark}{clock}" for mark in "T tx")
        yield from (f"1970-01-01T{clock}{zone}" for zone in ("Z", "+14:00", "-1200", "+05:3", "+24:00", "-00:60", "+", "-1", "Zz"))
    yield from ("0", "-0", "+1", "--1", "1.", ".5", "1.5", "-0.000000001", "1e9", "9223372036.854775807", "9223372036.854775808", "-9223372036.854775808", "-9223372036.854775809",
                "1" * 60, "1." + "9" * 60, " 7 ", "\t7\r", "7\r\r", "7 8", "", " ", "\r", "\0", "7\0")


def text():
    yield from ("\n".join(pair) for pair in itertools.combinations(("1", "-2", "2.5", "18446744073709551615", "nan", "9007199254740993", "x", ""), 2))
    for end in ("\n", "\r\n", "\r", "\n\n", "\0\n"):
        yield end.join(("1", "2", "3")) + end
    yield "\ufeff1\n2\n"
    yield "\ufeff"
    yield "7\n" * 300
    yield "1" * 3000 + "\n2"
    yield " 1\n2 \n\t3\r\n+4\n"


def tables():
    """Tables; the first byte says which delimiter, and whether there is a header."""
    rows = ("a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n", "a,b\n1,2", "a,b\n1\n", "a,b\n1,2,3\n", "\n1\n", "a\n\n1\n", "a,a\n1,2\n",
            '"a","b"\n"1","2"\n', '"a ""x""",b\n1,2\n', '"a\nb",c\n1,2\n', '"a,b",c\n1,2\n', 'a,b\n"1,2\n', 'a,b\n1"2,3\n',
            'a,b\n"1"2,3\n', "a,b\n,\n", "a,b\n1,\n,2\n", "\ufeffa,b\n1,2\n", "a;b\n1;2\n", "a\rb\rc", "a,b\0c\n1,2\n",
            "a\n1e999\n", "a\n-0\n0.5\n", "a\n18446744073709551615\n-1\n", "a\n9007199254740993\n0.5\n", "," * 300 + "\n",
            '"' * 301, "a" * 2000 + "\n1\n", "a\n" + "1\n" * 300, "\xff\xfea\0", "\xfe\xff\0a", "a,b\n 1 , 2 \n", "a\n\"\"\n")
    for row, head in itertools.product(rows, "02"):
        yield head + row
        if "," in row:
            yield chr(ord(head) + 1) + row.replace(",", "\t")
    # dialects (fuzz_table.c has the bits): comments, words that are missing, decimal commas; each with and without header
    comments = ("# a\na,b\n# \"b\n1,2\n#\n#\n3,4\n# end", "#\n", "#", '"#a",b\n"\n#c",2\n#,\n', "a,b\r\n#\r\n1,2\r\n\r\n#\r\n\r\n", "a,b\n1,2\n\n\n",
                "a,b\n1,2\n\n3,4\n", "a\n1\n\n", "a,b\n#\n1,\"2\n", "a,b\n1,2\n\r", "a,b\n#\n1\n")
    words = ("a,b\nx,7\n\"x\",\"7\"\n x,7 \n,77\n", "a\nx\n7\n-0\n9007199254740993\n")
    numbers = ("1.234,5", "-1.234.567", "1.23", "1,5", ",5", "5,", "1.5", "1234.567", ".123", "1..234", "1.234.", "+1.000,0e3", " 1.000 ", "1.000\r", "1,2,3", "1e1.000",
               "-.5", "1.,5", "nan", "1.nan", "18.446.744.073.709.551.615", "9.007.199.254.740.993", "-0,0")
    for bits, rows in ((4, comments), (8, words), (64, ["a;b\n" + ";\n".join(numbers[i:i + 2]) + ";\n" for i in range(len(numbers))]), (76, ["#\nn;m\n7;x\n1.000,5;2\n#\n\n"])):
        for row, head in itertools.product(rows, (0, 2)):
            yield chr(32 + bits + head) + row
    # commas between groups of three digits, and between fields
    points = [text.translate(str.maketrans(".,", ",.")) for text in numbers]
    for end, head in itertools.product(("\n", "\r\n"), (0, 2)):
        yield bytes([128 + 48 + head]) + "".join(f'"{a}",{b}{end}' for a, b in zip(points, points[::-1]) if "," not in b).encode()
        yield bytes([128 + 48 + 9 + head]) + "".join(f"{a}\t{b}{end}" for a, b in zip(points, points[1:])).encode()
    yield from (bytes([128 + 48]) + f'"{text}"\n'.encode() for text in points)
    for quoted in ('a"b\tc\n5" pipe\t"q\tq"\n', '"a""b"\t"\n"\nx""\t""\n', 'a\tb\n"x"y\t1\n', 'a\t"b\n', 'a""\t"""\n"\n', '"\t"\t"\n', 'a"\n"b"\n'):
        yield from (chr(33 + head) + quoted for head in (0, 2))


def pnm():
    pixels = bytes(range(1, 61))
    for kind, samples in (("5", 1), ("6", 3)):
        for size in ((1, 1), (3, 2), (0, 1), (1, 0), (7, 1), (4294967295, 1), (65536, 65536), (4294967296, 1)):
            for maxval in (1, 255, 256, 65535, 0, 65536):
                yield f"P{kind} {size[0]} {size[1]} {maxval}\n".encode() + pixels[:size[0] * size[1] * samples * (2 if maxval > 255 else 1) % 61]
    for kind in "23":
        for body in ("0 1 2 3 4 5", "0 1 2", "9 9 9 9 9 10", "0 1 2 3 4 5 6 7", "# 1\n0 1 2 3 4 5", "0#\n 1 2 3 4 5", "-1 0 0 0 0 0"):
            yield f"P{kind}\n# comment\n2 1 9\n{body}\n".encode()
    yield b"P5"
    yield b"P5 #"
    yield b"P5 1 1 255"
    yield b"P5 1 1 255\r\nx"
    yield b"P5\t1\v1\f255 x"
    yield b"P5 00000000000000000001 1 255\nx"


def expressions():
    words = ("x", "i", "`a b`", "y", "1", "-1.5", "inf", "nan", "18446744073709551615", "1e400", "(", ")", "!", "&&", "||")
    for op in ("<", "<=", ">", ">=", "==", "!=", "=", "<>", "&", "|", "=<"):
        yield f"x {op} 4.5"
        yield f"3{op}y"
    yield from ("isnan(x)", "isfinite ( y )", "isnan x", "isnan()", "isnan(3)", "!isnan(x)", "!!x>1", "(x>1)", "((x>1)", "x>1)", "",
                " ", "x", "x>", ">1", "x>1>2", "x>y", "1<2", "`x`>1", "`>1", "``>1", "none>1", "x>1 && ", "&& x>1", "x>1 x>1",
                "(" * 200 + "x>1" + ")" * 200, "!" * 300 + "(x>1)", " && ".join(["x>1"] * 64), " && ".join(["x>1"] * 65),
                " || ".join(["i==3"] * 130), "x>0x10", "x>1.5.2", "x>1e", "X>1", "isNaN(x)", "x>1\0", "x > 1 # no", "\u00e9>1")
    order = random.Random(1)
    for _ in range(20):
        yield " ".join(order.choices(words, k=7))


def command_lines():
    options = ("-r", "--reverse", "--rev", "-k", "--key", "--key=", "--key=a:desc", "-ka", "-rk1", "-kr1", "-o", "-oout", "--output=x",
               "-f", "-ff", "--force", "--force=1", "--dtype=u8", "--dtype=float", "--dtype", "--threads=0", "--threads=1024",
               "--threads=1025", "--threads=-1", "--threads=1x", "--threads=", "--device=cpu", "--device=cuda", "--device=cuda:0",
               "--device=cuda:-1", "--device=gpu", "--json=-", "--json", "--progress=always", "--progress=sometimes", "--stats",
               "--verify", "-", "--", "---", "-x", "--unknown", "", "a b", "-\u00e9", "--\0")
    yield from options
    order = random.Random(2)
    for count in (2, 3, 4, 5, 8, 30, 70):
        for _ in range(4):
            yield "\n".join(order.choices(options, k=count))
    yield "x" * 2000


def chunk(kind, data=b"", size=None):
    return struct.pack(">I", len(data) if size is None else size) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width=3, height=2, bits=8, color=2, end=b"\0\0\0", chunks=(b"IDAT", b"IEND")):
    head = chunk(b"IHDR", struct.pack(">IIBB", width, height, bits, color) + end)
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunk(kind, b"" if kind == b"IEND" else b"\x08\x1d" + bytes(9)) for kind in chunks)


def segment(marker, data=b"", size=None):
    return bytes((0xff, marker)) + struct.pack(">H", len(data) + 2 if size is None else size) + data


def jpeg(*middle, frame=0xc0, precision=8, size=(2, 3), components=1, scan=b"data", end=b"\xff\xd9"):
    head = segment(frame, struct.pack(">BHHB", precision, *size, components) + b"\x01\x11\0" * components)
    return b"\xff\xd8" + b"".join(middle) + head + segment(0xda, b"\x01\x01\0\0\x3f\0") + scan + end


def profiles():
    """ICC profiles: in a chunk of PNG, whose name, method and data may be wrong, and in parts of JPEG, which may come in
    any order, and may be missing, empty, twice there or counted wrongly."""
    deflated = zlib.compress(bytes(range(200)))
    good = png()
    for content in (b"p\0\0" + deflated, b"\0\0" + deflated, b"p\0\1" + deflated, b"p" * 79 + b"\0\0" + deflated, b"p" * 90 + b"\0\0" + deflated, b"p\0\0",
                    b"p\0", b"p", b"", b"p\0\0" + deflated[:-5], b"p\0\0damaged", b"p\0\0" + zlib.compress(b""), b"p\0\0" + zlib.compress(bytes(200_000))):
        yield good[:33] + chunk(b"iCCP", content) + good[33:]
        yield good[:33] + chunk(b"gAMA", bytes(4)) + chunk(b"iCCP", content) + chunk(b"iCCP", content) + good[33:]
    yield good[:33] + chunk(b"iCCP", b"p\0\0" + deflated, 4000) + good[33:]

    def part(number, count, data=b"profile"):
        return segment(0xe2, b"ICC_PROFILE\0" + bytes((number, count)) + data)

    for numbers in (((1, 1),), ((1, 2), (2, 2)), ((2, 2), (1, 2)), ((1, 2),), ((0, 1),), ((2, 1),), ((1, 0),), ((1, 1), (1, 1)), ((1, 2), (2, 3)), ((255, 255),)):
        yield jpeg(*(part(*pair) for pair in numbers))
        yield jpeg(b"\xff\xff\xff", b"\x01", *(part(*pair, b"") for pair in numbers), b"\xff\xd0")
    yield jpeg(part(1, 1)[:12], part(1, 1))
    yield jpeg(segment(0xe2, b"ICC_PROFILE\0"), segment(0xe2, b"MPF\0" + bytes(20)), part(1, 1))
    yield jpeg(segment(0xe2, b"ICC_PROFILE\0\1\1", 1), part(1, 1))
    yield jpeg(segment(0xe2, b"ICC_PROFILE\0\1\1", 60000), part(1, 1))
    yield from (jpeg(part(1, 1))[:length] for length in (2, 3, 4, 6, 20, 24))


def exif(order, orientation, kind=3, count=1, at=8, tag=0x112):
    pack = "<" if order == b"II" else ">"
    tiff = order + struct.pack(pack + "HI", 42, at) + struct.pack(pack + "HHHIHH", count, tag, kind, 1, orientation, 0)
    return segment(0xe1, b"Exif\0\0" + tiff)


def images():
    for color, bits in itertools.product((0, 1, 2, 3, 4, 6, 7), (1, 2, 4, 8, 16, 3)):
        yield png(bits=bits, color=color)
    for size in ((0, 1), (1, 0), (65535, 1), (65536, 1), (65535, 65535), (1 << 31, 1)):
        yield png(*size)
    yield from (png(end=end) for end in (b"\1\0\0", b"\0\1\0", b"\0\0\1", b"\0\0\2"))
    for kinds in ((), (b"IEND",), (b"IDAT",), (b"tRNS", b"IDAT", b"IEND"), (b"PLTE", b"IDAT", b"IEND"), (b"acTL", b"IDAT", b"IEND"),
                  (b"ABCD", b"IEND"), (b"abcd", b"IDAT", b"IEND"), (b"IHDR", b"IDAT", b"IEND"), (b"IDAT", b"tRNS", b"IEND")):
        yield png(chunks=kinds)
        yield png(color=3, chunks=kinds)
    good = png()
    yield from (good[:length] for length in (0, 1, 7, 8, 12, 20, 33, 34, len(good) - 1))
    yield good + b"more"
    yield good[:8] + chunk(b"CgBI", bytes(4)) + good[8:]
    yield good[:8] + chunk(b"IDAT", b"x", 0xffffffff)
    yield from (jpeg(frame=marker) for marker in range(0xc0, 0xd0))
    yield from (jpeg(components=n) for n in (0, 1, 2, 3, 4, 5))
    yield from (jpeg(size=size) for size in ((0, 1), (1, 0), (65535, 65535), (1, 65535)))
    yield from (jpeg(precision=bits) for bits in (1, 12, 16))
    yield from (jpeg(exif(order, value)) for order, value in itertools.product((b"II", b"MM", b"XX"), (0, 1, 6, 8, 9)))
    yield from (jpeg(exif(b"MM", 6, **odd)) for odd in ({"kind": 4}, {"count": 9}, {"at": 7}, {"at": 4000000000}, {"tag": 1}))
    yield from (jpeg(scan=scan) for scan in (b"", b"\xff\0\xff\xd0\xff\xff", b"\xff\xd8", b"\xff\xda\0\2", b"\xff"))
    yield from (jpeg(end=end) for end in (b"", b"\xff", b"\xff\xff\xff\xd9", b"\xff\xd9\xff\xd8", b"\xff\x01\xff\xd9"))
    yield from (b"\xff\xd8\xff" + rest for rest in (b"", b"\xd9", b"\xe0", b"\xe0\0\0", b"\xe0\0\1", b"\xe0\xff\xff", b"\0\0"))
    for magic in (b"GIF89a", b"II*\0", b"MM\0*", b"RIFF....WEBP", b"8BPS", b"#?RADIANCE", b"v/1\1", b"....jP  ", b"\xff\x0a",
                  b"....JXL ", b"....ftypavif", b"....ftypheic", b"farbfeld", b"qoif", b"SIMPLE", b"<?xml", b"<svg", b"%PDF", b"P1",
                  b"P4", b"P7", b"Pf", b"PF", b"\x93NUMPY", b"\x1f\x8b", b"BM", b"P5", b"P2", b"P3", b"P6", b"P",
                  bytes(8) + b"TRUEVISION-XFILE.\0", b"text"):
        yield magic
        yield magic + bytes(40)


def compressed():
    """gzip members with every part of a header, and zstd frames; cut, joined, with something after them."""
    texts = (b"", b"1\n", b"n,a\n1,x\n2,y\n", bytes(3000), bytes(range(256)))

    def member(text, level=9, flags=0, fields=b"", method=8):
        deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
        return (b"\x1f\x8b" + bytes((method, flags)) + bytes(6) + fields + deflate.compress(text) + deflate.flush()
                + struct.pack("<II", zlib.crc32(text), len(text) & 0xffffffff))

    def frame(*blocks, head=b"\0\x38", magic=b"\x28\xb5\x2f\xfd"):
        out = magic + head
        for i, (kind, count, data) in enumerate(blocks):
            out += struct.pack("<I", (i == len(blocks) - 1) | kind << 1 | count << 3)[:3] + data
        return out

    good = [member(text, level) for text in texts for level in (0, 9)] + [frame((0, len(text), text)) for text in texts]
    good += [member(b"1\n", flags=1), member(b"1\n", flags=2, fields=b"\0\0"), member(b"1\n", flags=4, fields=b"\3\0abc"), member(b"1\n", flags=8, fields=b"name\0"),
             member(b"1\n", flags=16, fields=b"comment\0"), member(b"1\n", flags=28, fields=b"\1\0xname\0comment\0"), member(b"1\n", flags=0xe0), member(b"1\n", method=7)]
    good += [frame((1, 131072, b"x")), frame((1, 1000, b"x"), (1, 5, b"y"), (0, 2, b"zz")), frame((3, 1, b"x")), frame((2, 4, b"abcd")), frame((0, 2, b"1\n"), head=b"\x20\2"),
             frame((0, 2, b"1\n"), head=b"\4\x38") + bytes(4), frame((0, 2, b"1\n"), head=b"\0\xf8"), frame((0, 2, b"1\n"), head=b"\1\x38\7")]
    for data in good:
        yield from (data, data + data, data[:-1], data[:len(data) // 2], data + b"\0", data + b"x")
    yield good[0] + good[-1]
    yield frame((1, 131072, b"\0")) * 20
    yield b"\x50\x2a\x4d\x18\4\0\0\0skip" + frame((0, 2, b"1\n"))
    yield frame((0, 2, b"1\n")) + b"\x50\x2a\x4d\x18\4\0\0\0skip"
    yield from (b"PK\3\4", b"\xfd7zXZ\0", b"BZh91AY&SY", b"\x1f\x8b", b"\x1f\x8b\x08", b"\x28\xb5\x2f", b"text\n")


def calls():
    """Choices for calls of the library: each verb with small and large counts, then noise that is the same in every run."""
    order = random.Random(3)
    for verb, n in itertools.product(range(8), (0, 1, 2, 31, 64, 219)):
        yield bytes((verb, 0, n)) + order.randbytes(40)
        yield bytes((verb, 0, n)) + bytes(order.choices((0, 1, 2, 3, 9, 100, 160, 249), k=60))
        yield bytes((verb, 0, n)) + order.randbytes(600)


TARGETS = {"npy": npy(), "number": NUMBERS, "time": times(), "text": itertools.chain(text(), NUMBERS), "table": tables(), "pnm": pnm(),
           "expression": expressions(), "cli": command_lines(), "probe": (b"1" + file for file in itertools.chain(images(), profiles())), "library": calls(),
           "compressed": compressed()}


def main():
    total = 0
    for target, inputs in TARGETS.items():
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for k, data in enumerate(inputs):
            (folder / f"{k:03}").write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))
            total += 1
    print(total)


if __name__ == "__main__":
    main()
