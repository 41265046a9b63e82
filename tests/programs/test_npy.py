# SPDX-License-Identifier: MIT
""".npy and raw arrays: every type, every version, and what is malformed."""
import io
import struct

import numpy as np
import pytest

from conftest import TYPES, in_sanitized, numbers, same

pytestmark = in_sanitized("malformed headers")


def npy(header, data=b"", version=(1, 0), length=None):
    """Makes a .npy file by hand; the header is padded as NumPy pads it."""
    text = header.encode("latin1") if isinstance(header, str) else header
    size = 10 if version[0] == 1 else 12
    text += b" " * (-(size + len(text) + 1) % 64) + b"\n"
    length = len(text) if length is None else length
    return (b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", length) + text + data)


def dictionary(descr="'<i8'", order="False", shape="(3,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


DATA = np.array([1, 2, 4], dtype="<i8").tobytes()
SUMS = [1, 3, 7]


def as_pipe_and_file(box, data):
    box.write("in.npy", data)
    yield ["in.npy"], {}
    yield [], {"input": data}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_types(box, name, n):
    x = numbers(name, n)
    expected = box.good("compact", "--where", "i >= 0", box.save("in.npy", x)).out
    assert same(np.load(io.BytesIO(expected)), x) and expected == box.read("in.npy")
    if name not in ("u8", "i8"):
        big = x.astype(x.dtype.newbyteorder(">"))
        assert box.good("compact", "--where", "i >= 0", box.save("big.npy", big)).out == expected
        assert box.good("compact", "--where", "i >= 0", input=box.read("big.npy")).out == expected
    assert box.good("compact", "--where", "i >= 0", "--dtype", name, input=x.tobytes()).out == x.tobytes()
    box.write("in.raw", x.tobytes())
    assert box.good("compact", "--where", "i >= 0", "--dtype", name, "in.raw").out == x.tobytes()
    assert box.good("compact", "--where", "i >= 0", "--dtype", np.dtype(TYPES[name]).name, "in.raw").out == x.tobytes()


@pytest.mark.parametrize("name", ["u16", "i32", "f64"])
def test_big_endian_in_reverse_and_pieces(box, name):
    x = numbers(name, 3_000_000 if name == "f64" else 5_000_000)
    big = x.astype(x.dtype.newbyteorder(">"))
    for options in ([], ["--reverse"]):
        assert (box.good("prefix", "--op", "max", *options, box.save("big.npy", big)).out ==
                box.good("prefix", "--op", "max", *options, box.save("in.npy", x)).out)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions(box, version):
    for arguments, keywords in as_pipe_and_file(box, npy(dictionary(), DATA, version)):
        assert box.good("prefix", *arguments, **keywords).array.tolist() == SUMS


@pytest.mark.parametrize("header", [
    "{'shape': (3,), 'descr': '<i8', 'fortran_order': False}",
    "{'fortran_order':False,'shape':(3,),'descr':'<i8'}",
    '{"descr": "<i8", "fortran_order": False, "shape": (3,), }',
    "  {  'descr'  :  '<i8' ,\n 'fortran_order'\t:\tFalse , 'shape' : ( 3 , ) , }  \n ",
    "{'descr': '=i8', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '|i8', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': 'i8', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<i8', 'fortran_order': True, 'shape': (3,), }",
    "{'descr': '<i8', 'fortran_order': True, 'shape': (1, 3, 1), }",
    "{'descr': '<i8', 'fortran_order': False, 'shape': (3L,), }",
    "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 1), }",
    "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1, 3,), }",
    "{'descr': '<i8', 'fortran_order': False, 'shape': (" + "1, " * 31 + "3), }",
])
def test_good_headers(box, header):
    for arguments, keywords in as_pipe_and_file(box, npy(header, DATA)):
        result = box.good("prefix", "--flat", *arguments, **keywords).array
        assert result.tolist() == SUMS and result.shape == (3,)


@pytest.mark.parametrize("shape, n", [("()", 1), ("(0,)", 0), ("(0, 5)", 0), ("(99999999999, 0, 99999999999)", 0),
                                      ("(2, 3)", 6), ("(2, 3, 4)", 24)])
def test_shapes(box, shape, n):
    x = np.arange(n, dtype="<i8")
    for arguments, keywords in as_pipe_and_file(box, npy(dictionary(shape=shape), x.tobytes())):
        assert same(box.good("prefix", "--flat", *arguments, **keywords).array, np.cumsum(x))


def test_a_header_with_much_padding(box):
    data = npy(dictionary().ljust(60_000), DATA)
    for arguments, keywords in as_pipe_and_file(box, data):
        assert box.good("prefix", *arguments, **keywords).array.tolist() == SUMS


BAD_HEADERS = {
    "no brace": ("'descr': '<i8'", "malformed: '{' expected"),
    "empty": ("", "malformed"),
    "blank": ("     ", "malformed"),
    "empty dict": ("{}", "lacks the key 'descr'"),
    "open dict": ("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), ", "malformed"),
    "no order": ("{'descr': '<i8', 'shape': (3,), }", "lacks the key 'fortran_order'"),
    "no shape": ("{'descr': '<i8', 'fortran_order': False}", "lacks the key 'shape'"),
    "no descr": ("{'fortran_order': False, 'shape': (3,), }", "lacks the key 'descr'"),
    "descr twice": ("{'descr': '<i8', 'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", "'descr' twice"),
    "shape twice": ("{'descr': '<i8', 'shape': (3,), 'fortran_order': False, 'shape': (3,)}", "'shape' twice"),
    "extra key": ("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), 'x': 1}", "unknown key 'x'"),
    "key of a number": ("{1: '<i8', 'fortran_order': False, 'shape': (3,)}", "a quoted string expected"),
    "no colon": ("{'descr' '<i8', 'fortran_order': False, 'shape': (3,)}", "':' expected"),
    "no comma": ("{'descr': '<i8' 'fortran_order': False, 'shape': (3,)}", "',' expected at byte 17 of its dict"),
    "two commas": ("{'descr': '<i8',, 'fortran_order': False, 'shape': (3,)}", "malformed"),
    "rest": (dictionary() + " x", "something follows the dict"),
    "two dicts": (dictionary() + dictionary(), "something follows the dict"),
    "NUL": (dictionary() + "\0", "something follows the dict"),
    "open quote": ("{'descr': '<i8, ", "malformed"),
    "escape": (r"{'desc\x72': '<i8', 'fortran_order': False, 'shape': (3,)}", "malformed"),
    "long key": ("{'" + "d" * 100 + "': '<i8', 'fortran_order': False, 'shape': (3,)}", "malformed"),
    "control character": ("{'de\x01scr': '<i8', 'fortran_order': False, 'shape': (3,)}", "malformed"),
    "call": ("{'descr': __import__('os').abort(), 'fortran_order': False, 'shape': (3,)}", "a quoted string expected"),
    "order is a number": (dictionary(order="0"), "neither True nor False"),
    "order is a word": (dictionary(order="false"), "neither True nor False"),
    "order goes on": (dictionary(order="Falsehood"), "malformed"),
    "shape is a number": (dictionary(shape="3"), "'(' expected"),
    "shape is no tuple": (dictionary(shape="(3)"), "malformed"),
    "shape is a list": (dictionary(shape="[3]"), "'(' expected"),
    "shape of a comma": (dictionary(shape="(,)"), "not a whole number"),
    "two commas in shape": (dictionary(shape="(3,,)"), "not a whole number"),
    "negative": (dictionary(shape="(-3,)"), "negative dimension"),
    "float": (dictionary(shape="(3.0,)"), "malformed"),
    "expression": (dictionary(shape="(1+2,)"), "malformed"),
    "open shape": (dictionary(shape="(3,"), "malformed"),
    "64 bits": (dictionary(shape="(18446744073709551616,)"), "beyond 64 bits"),
    "many digits": (dictionary(shape="(" + "9" * 500 + ",)"), "beyond 64 bits"),
    "2^61 of 8 bytes": (dictionary(shape="(2305843009213693952,)"), "more than 2^63 bytes"),
    "product": (dictionary(shape="(4294967296, 4294967296)"), "more than 2^63 bytes"),
    "product wraps to 0": (dictionary(shape="(4294967296, 4294967296, 3)"), "more than 2^63 bytes"),
    "33 dimensions": (dictionary(shape="(" + "1, " * 33 + ")"), "more than 32 dimensions"),
}


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_bad_headers(box, case):
    header, text = BAD_HEADERS[case]
    data = npy(header, DATA * 2)
    box.refused(2, text, "prefix", box.write("in.npy", data), "-o", "out.npy")
    result = box.refused(2, text, "compact", "--nonzero", "-o", "out.npy", input=data)
    assert result.err.startswith("compact: stdin: ")


@pytest.mark.parametrize("descr, text", [
    ("'|O'", "Python objects ('|O')"), ("'O'", "Python objects"), ("'|V8'", "structured or void ('|V8')"),
    ("'|S5'", "strings ('|S5')"), ("'<U5'", "strings"), ("'|a5'", "strings"), ("'<c8'", "complex numbers ('<c8')"),
    ("'<c16'", "complex numbers"), ("'<M8[ns]'", "dates ('<M8[ns]')"), ("'<m8[s]'", "time differences"),
    ("'<f2'", "half-precision floats ('<f2')"), ("'<f16'", "long double floats"), ("'<f12'", "long double floats"),
    ("[('a', '<i4'), ('b', '<f8')]", "structured records"), ("('<i4', (2,))", "structured records"),
    ("'<i3'", "of an unknown type ('<i3')"), ("'<i16'", "of an unknown type"), ("'<q'", "of an unknown type"),
    ("''", "of an unknown type"), ("'<'", "of an unknown type"), ("'<i8 '", "of an unknown type"),
    ("'!i8'", "of an unknown type"), ("'<I8'", "of an unknown type"), ("'int64'", "of an unknown type"),
    ("'" + "i" * 100 + "'", "malformed"), ("1", "a quoted string expected"), ("None", "a quoted string expected"),
])
def test_other_types_by_name(box, descr, text):
    box.refused(2, text, "prefix", box.write("in.npy", npy(dictionary(descr), DATA)), "-o", "out.npy")


@pytest.mark.parametrize("array", [
    np.array([1 + 2j]), np.array(["a"]), np.array([b"a"]), np.array([object()], dtype=object),
    np.array(["2020-01-01"], dtype="M8[D]"), np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    np.array([1], dtype="f2"), np.array([1], dtype="g"), np.asfortranarray(np.ones((2, 3))),
])
def test_what_numpy_writes_and_is_refused(box, array):
    np.save(box.path / "in.npy", array, allow_pickle=True)
    box.refused(2, "in.npy: ", "prefix", "in.npy", "-o", "out.npy")


@pytest.mark.parametrize("version", [(0, 0), (1, 1), (2, 1), (4, 0), (255, 255)])
def test_bad_versions(box, version):
    data = bytearray(npy(dictionary(), DATA, (2, 0)))
    data[6:8] = bytes(version)
    box.refused(2, f".npy version {version[0]}.{version[1]} is not", "prefix", box.write("in.npy", bytes(data)))


@pytest.mark.parametrize("n", [6, 7, 8, 9])
@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_cut_before_the_dict(box, n, version):
    data = npy(dictionary(), DATA, version)[:n]
    for arguments, keywords in as_pipe_and_file(box, data):
        box.refused(2, "header is cut short", "prefix", *arguments, **keywords)


@pytest.mark.parametrize("n", [10, 11, 12, 13, 40, 127])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_cut_in_the_dict(box, n, version):
    data = npy(dictionary(), DATA, version)[:n]
    for arguments, keywords in as_pipe_and_file(box, data):
        box.refused(2, "cut short", "prefix", *arguments, **keywords)


@pytest.mark.parametrize("length, text", [(65535, "header of 65535 bytes is cut short"), (0, "malformed"),
                                          (10, "malformed")])
def test_wrong_header_lengths(box, length, text):
    box.refused(2, text, "prefix", box.write("in.npy", npy(dictionary(), DATA, length=length)))


@pytest.mark.parametrize("length", [65537, 1 << 20, 0xffffffff])
def test_huge_headers(box, length):
    box.refused(2, f"header claims {length} bytes", "prefix",
                box.write("in.npy", npy(dictionary(), DATA, (2, 0), length=length)))


@pytest.mark.parametrize("n", range(6))
def test_less_than_the_magic(box, n):
    box.refused(2, "does not begin like an .npy file", "prefix", box.write("in.npy", b"\x93NUMPY"[:n]))


@pytest.mark.parametrize("program", ["prefix", "compact", "sort"])
@pytest.mark.parametrize("have", [0, 1, 8, 23])
def test_shorter_than_the_shape(box, program, have):
    text = f"shape (3,) of i64 needs 24 bytes of data, there are {have}"
    options = ["--nonzero"] if program == "compact" else []
    for arguments, keywords in as_pipe_and_file(box, npy(dictionary(), DATA[:have])):
        box.refused(2, text, program, *options, *arguments, "-o", "out.npy", **keywords)


@pytest.mark.parametrize("program", ["prefix", "compact", "sort"])
@pytest.mark.parametrize("more", [1, 8, 100_000])
@pytest.mark.parametrize("shape, data", [("(3,)", DATA), ("(0,)", b"")])
def test_longer_than_the_shape(box, program, more, shape, data):
    options = ["--nonzero"] if program == "compact" else []
    data = npy(dictionary(shape=shape), data + bytes(more))
    box.refused(2, f"{more} bytes follow the end", program, *options, box.write("in.npy", data), "-o", "out.npy")
    box.refused(2, "data follow the end of the array", program, *options, "-o", "out.npy", input=data)


def test_a_huge_claim_from_a_pipe_takes_no_memory(box):
    data = npy(dictionary(shape="(1000000000000,)"), DATA)
    box.refused(2, "needs 8000000000000 bytes of data, there are 24", "prefix", "--device", "cpu", input=data)
    box.refused(2, "needs 8000000000000 bytes of data, there are 24", "prefix", "--device", "cpu", "--reverse", input=data)
    box.refused(2, "needs 8000000000000 bytes of data, there are 24", "prefix", "--device", "cpu", box.write("in.npy", data))


@pytest.mark.parametrize("descr", ["'|b1'", "'<b1'", "'>b1'", "'|u1'", "'>u1'"])
def test_byte_order_of_bytes_does_not_matter(box, descr):
    data = npy(dictionary(descr, shape="(3,)"), b"\1\0\1")
    assert box.good("prefix", box.write("in.npy", data)).array.tolist() == [1, 1, 2]


def test_dtype_and_npy_must_agree(box):
    box.save("in.npy", np.arange(3, dtype="i8"))
    box.refused(2, "is an .npy file of i64, --dtype u8 does not apply", "prefix", "--dtype", "u8", "in.npy")
    box.refused(2, "is an .npy file, --csv does not apply", "prefix", "--csv", "-k", "1", "in.npy")
    assert box.good("prefix", "--dtype", "i64", "in.npy").array.tolist() == [0, 1, 3]


def test_npy_without_its_ending_and_an_ending_without_npy(box):
    box.write("in.csv", npy(dictionary(), DATA))
    assert box.good("prefix", "in.csv").array.tolist() == SUMS
    box.write("text.npy", "1\n2\n")
    box.refused(2, "does not begin like an .npy file; --dtype T reads raw data", "prefix", "text.npy")
    assert box.good("prefix", "--dtype", "u16", "text.npy").out == np.cumsum(np.frombuffer(b"1\n2\n", "u2")).tobytes()


# ---- raw --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [t for t in TYPES if t not in ("u8", "i8")])
@pytest.mark.parametrize("elements", [0, 5, 1_100_000])
def test_raw_of_broken_length(box, name, elements):
    size = np.dtype(TYPES[name]).itemsize
    data = bytes(elements * size + 1)
    text = f"{len(data)} bytes are not a whole number of {name} elements ({size} bytes each)"
    box.refused(2, text, "prefix", "--dtype", name, box.write("in.raw", data), "-o", "out")
    box.refused(2, text, "prefix", "--dtype", name, "-o", "out", input=data)
    box.refused(2, text, "prefix", "--reverse", "--dtype", name, "-o", "out", input=data)


@pytest.mark.parametrize("name", TYPES)
def test_raw_of_nothing(box, name):
    box.write("empty", "")
    for program, options in (("prefix", []), ("prefix", ["--reverse"]), ("compact", ["--nonzero"]), ("sort", [])):
        assert box.good(program, *options, "--dtype", name, "empty").out == b""
        assert box.good(program, *options, "--dtype", name, input=b"").out == b""
        assert box.good(program, *options, "--dtype", name, "/dev/null").out == b""


def test_stdin_that_is_partly_read(box):
    x = np.arange(100, dtype="u4")
    box.write("in.raw", b"head" + x.tobytes())
    for options in ([], ["--reverse"]):
        with open(box.path / "in.raw", "rb", buffering=0) as file:
            file.read(4)
            result = box.good("prefix", "--dtype", "u32", *options, stdin=file)
        assert result.out == (np.cumsum(x[::-1])[::-1] if options else np.cumsum(x)).astype("u8").tobytes()


def test_files_without_a_size(box):
    result = box.run("prefix", "--dtype", "u8", "--op", "max", "/proc/self/status")
    assert result.code == 0 and len(result.out) > 100
