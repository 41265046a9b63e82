# SPDX-License-Identifier: MIT
"""sort on arrays against NumPy's stable sort, and its options."""
import io
import json
import os
import subprocess

import numpy as np
import pytest
from conftest import NO_DEVICE, in_release, in_sanitized
from sort_program import SORT, bad, good, run

pytestmark = in_sanitized("parsers and options; scan_sort itself is tested in both builds")

TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
NAMES = dict(zip(TYPES, ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"]))


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def load(data):
    return np.load(io.BytesIO(data), allow_pickle=False)


def sample(kind, n, seed=0, spread="full"):
    rng = np.random.default_rng(seed)
    if kind[0] == "f":
        word = "u4" if kind == "f4" else "u8"
        array = rng.integers(0, np.iinfo(word).max, n, word, endpoint=True).view(kind).copy()
        if spread == "few":
            array = rng.choice(np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan], kind), n)
        return array
    low, high = (np.iinfo(kind).min, np.iinfo(kind).max) if spread == "full" else (0 if kind[0] == "u" else -3, 5)
    return rng.integers(low, high, n, kind, endpoint=True)


def stable(array, descending=False, nan_first=False):
    """Returns the indices of NumPy's stable order; if descending, ties stay in input order and NaN where it was asked for."""
    flat = array.reshape(-1)
    if not descending:
        order = np.argsort(flat, kind="stable")
    else:
        order = len(flat) - 1 - np.argsort(flat[::-1], kind="stable")[::-1]
    if array.dtype.kind == "f":
        nan = np.isnan(flat[order])
        rest, nans = order[~nan], np.sort(order[nan])
        order = np.concatenate([nans, rest] if nan_first else [rest, nans])
    return order


def same(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()


# ---- arrays ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("spread", ["full", "few"])
def test_npy(kind, descending, spread):
    for n in (0, 1, 2, 63, 1000, 70_000):
        array = sample(kind, n, n, spread)
        order = stable(array, descending)
        args = ["--verify"] + ["-r"] * descending
        same(load(good(*args, stdin=npy(array))), array[order])
        same(load(good("--argsort", *args, stdin=npy(array))), order.astype("u4"))


@pytest.mark.parametrize("kind", TYPES[2:])
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_big_endian(kind, descending):
    array = sample(kind, 5000, 3)
    swapped = npy(array.astype(array.dtype.newbyteorder(">")))
    same(load(good(*["-r"] * descending, stdin=swapped)), array[stable(array, descending)])


@pytest.mark.parametrize("kind", TYPES)
def test_raw(kind):
    array = sample(kind, 5000, 4)
    assert good("--dtype", NAMES[kind], stdin=array.tobytes()) == array[stable(array)].tobytes()
    assert good("--dtype", NAMES[kind], "--argsort", stdin=array.tobytes()) == stable(array).astype("u4").tobytes()
    assert good("--dtype", NAMES[kind]) == b""


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_nan_first(kind, descending):
    array = sample(kind, 3000, 5, "few")
    args = ["--nan", "first", "--verify"] + ["-r"] * descending
    same(load(good(*args, stdin=npy(array))), array[stable(array, descending, True)])


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_nan_error(kind):
    array = np.arange(100, dtype=kind)
    assert good("--nan", "error", stdin=npy(array)) == npy(array)
    array[42] = np.nan
    assert bad("--nan", "error", stdin=npy(array)) == "stdin: element 42 is NaN"
    assert good("--nan", "error", "--dtype", "i32", stdin=array[:2].astype("i4").tobytes()) == array[:2].astype("i4").tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3), (4, 1, 5), (1,) * 32])
def test_shape(shape):
    array = np.asarray(sample("i4", int(np.prod(shape, dtype=int)), 6)).reshape(shape)
    same(load(good("--flat", stdin=npy(array))), np.sort(array.reshape(-1)).reshape(shape))
    same(load(good("--flat", "--argsort", stdin=npy(array))), stable(array).astype("u4").reshape(shape))
    same(load(good("--flat", "-u", stdin=npy(array))), np.unique(array).reshape(-1))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_unique(kind, descending):
    for n in (1, 2, 100, 20_000):
        array = sample(kind, n, n, "few")
        order = stable(array, descending)
        first = [i for i, (a, b) in enumerate(zip(array[order], array[order][1:]), 1) if not (a == b or (a != a and b != b))]
        keep = order[[0] + first]
        args = ["-u", "--verify"] + ["-r"] * descending
        same(load(good(*args, stdin=npy(array))), array[keep])
        same(load(good("--argsort", *args, stdin=npy(array))), keep.astype("u4"))


@pytest.mark.parametrize("kind", ["u4", "i8", "f8"])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_and_files(kind, threads, tmp_path):
    array = sample(kind, 400_000, 8)
    np.save(tmp_path / "in.npy", array)
    assert good("--threads", threads, tmp_path / "in.npy", "-o", tmp_path / "out.npy") == b""
    same(np.load(tmp_path / "out.npy"), array[stable(array)])
    good("--threads", threads, tmp_path / "in.npy", "-fo", tmp_path / "in.npy")
    same(np.load(tmp_path / "in.npy"), array[stable(array)])


# ---- check -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("args, values, where", [
    ([], [1, 1, 2], None), ([], [1, 2, 1], 2), (["-u"], [1, 1, 2], 1), (["-r"], [3, 2, 2], None), (["-r"], [3, 2, 3], 2),
    ([], [1.0, np.inf, np.nan, np.nan], None), ([], [1.0, np.nan, 2.0], 2), (["-r"], [2.0, 1.0, np.nan], None),
    (["-r"], [np.nan, 1.0], 1), (["--nan", "first"], [np.nan, 1.0], None), (["--nan", "first"], [1.0, np.nan], 1),
    ([], [0.0, -0.0, 0.0], None), (["-u"], [0.0, -0.0], 1), (["-u"], [np.nan, np.nan], 1), ([], [], None), ([], [5], None),
])
def test_check_array(args, values, where):
    data = npy(np.array(values, "f8"))
    if where is None:
        assert good("-c", *args, stdin=data) == b""
    else:
        assert bad("--check", *args, stdin=data, code=1) == f"stdin: element {where} is out of order"


@pytest.mark.parametrize("kind", TYPES)
def test_check_finds_the_first_of_many(kind):
    array = np.sort(sample(kind, 200_000, 9))
    array = array[~np.isnan(array)] if kind[0] == "f" else array
    assert good("-c", stdin=npy(array)) == b""
    broken = array.copy()
    for place in (170_000, 131_072):
        broken[place] = array[0]
        assert bad("-c", stdin=npy(broken), code=1) == f"stdin: element {place} is out of order"


@pytest.mark.parametrize("args, text, message", [
    ([], "1\n2\n", None), ([], "2\n 1\n", 'line 2: " 1" is out of order'), (["-u"], "1\n+1\r\n", 'line 2: "+1" is out of order'),
    (["-r"], "2\n1\n", None), (["-r"], "1\n2\n", 'line 2: "2" is out of order'), ([], "", None), ([], "1.5\nnan", None),
    ([], "1.5\nnan\n1\n0", 'line 3: "1" is out of order'),
])
def test_check_lines(args, text, message):
    if message is None:
        assert good("-c", *args, stdin=text.encode()) == b""
    else:
        assert bad("-c", *args, stdin=text.encode(), code=1) == "stdin: " + message


# ---- lines -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("args, text, expected", [
    (["-u"], "2\n1\n2\n", "1\n2\n"), (["-u"], "2\n+1\n1\n", "+1\n2\n"), (["-u"], "-0\n0\n", "-0\n"),
    (["-u"], "nan\n1.0\n-nan\n1\n", "1.0\nnan\n"), (["-u", "-r"], "1\n2\n1\n2\n", "2\n1\n"), (["-r"], "1\n+1\n2\nnan\n", "2\n1\n+1\nnan\n"),
    (["--argsort"], "2\n1\n2\n", "1\n0\n2\n"), (["--argsort", "-r"], "2\n1\n2\n", "0\n2\n1\n"), (["--argsort", "-u"], "2\n1\n2\n", "1\n0\n"),
    (["--nan", "first"], "1\nnan\n0\n", "nan\n0\n1\n"), (["-r", "--nan", "first"], "1\nnan\n2\n", "nan\n2\n1\n"), (["--argsort"], "", ""),
    (["-u"], "18446744073709551615\n0\n0\n", "0\n18446744073709551615\n"), (["-r"], "-9223372036854775808\n9223372036854775807\n0\n",
     "9223372036854775807\n0\n-9223372036854775808\n"),
])
def test_line_options(args, text, expected):
    assert good(*args, stdin=text.encode()).decode() == expected
    assert good("--verify", *args, stdin=text.encode()).decode() == expected


def test_nan_error_names_the_line():
    assert bad("--nan", "error", stdin=b"1\n2\nNaN\r\n") == 'stdin: line 3: "NaN" is refused by --nan error'


# ---- methods ---------------------------------------------------------------------------------------------------------

QUICK = "method quick sorts keys of 4 or 8 bytes alone, by all their bits, with AVX2 or AVX-512"
SPLIT = "method split exists on CUDA only"


def ran(tmp_path, *args, stdin):
    """Returns the sorted array, the method that sorted it, and the device."""
    paths = ["-f", "-o", tmp_path / "out", "--json", tmp_path / "report.json"]
    good("--device", "cpu", *args, *paths, stdin=stdin)
    report = json.loads((tmp_path / "report.json").read_text())
    return load((tmp_path / "out").read_bytes()), report["ran"].split()[0], report["device"]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_radix(kind, descending, tmp_path):
    array = sample(kind, 70_000, 10, "few")
    order = stable(array, descending)
    args = ["--algorithm", "radix"] + ["-r"] * descending
    sorted_, method, _ = ran(tmp_path, *args, stdin=npy(array))
    same(sorted_, array[order])
    indices, argsort, _ = ran(tmp_path, "--argsort", *args, stdin=npy(array))
    same(indices, order.astype("u4"))
    assert (method, argsort) == ("radix", "radix")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_quick(kind, descending, tmp_path):
    """A method that cannot serve is refused; no other replaces it."""
    array = sample(kind, 70_000, 11)
    args = ["--algorithm", "quick", "--verify"] + ["-r"] * descending
    _, _, device = ran(tmp_path, stdin=npy(array))
    if array.itemsize >= 4 and not device.endswith("portable"):
        sorted_, method, _ = ran(tmp_path, *args, stdin=npy(array))
        same(sorted_, array[stable(array, descending)])
        assert method == "quick"
    else:
        assert bad("--device", "cpu", *args, stdin=npy(array)) == "stdin: " + QUICK


@pytest.mark.parametrize("args, text", [(["--argsort"], "2\n1\n"), ([], "2\n+1\n"), (["--csv"], "a\n2\n1\n")])
def test_quick_has_no_values(args, text):
    assert bad("--device", "cpu", "--algorithm", "quick", *args, stdin=text.encode()) == "stdin: " + QUICK


def test_quick_needs_simd():
    code, out, err = run("--device", "cpu", "--algorithm", "quick", stdin=b"2\n1\n", env={"SCAN_SIMD": "portable"})
    assert (code, out, err) == (2, b"", f"sort: stdin: {QUICK}\n")


@pytest.mark.parametrize("args, text", [([], "2\n1\n"), (["--argsort"], "2\n1\n"), (["--csv"], "a\n2\n1\n"), (["-u"], "2\n2\n")])
def test_split_needs_a_device(args, text):
    assert bad("--device", "cpu", "--algorithm", "split", *args, stdin=text.encode()) == "stdin: " + SPLIT
    code, out, err = run("--algorithm", "split", *args, stdin=text.encode(), env=NO_DEVICE)
    assert (code, out, err) == (2, b"", f"sort: stdin: {SPLIT}\n")


# ---- command line ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("args, message", [
    (["-k", "1"], "-k is for tables; stdin is read as lines of numbers: add --csv if it is one"), (["--no-header"], "--no-header is for tables"), (["--dtype", "u128"], "--dtype"),
    (["--nan", "middle"], "--nan"), (["--check", "--argsort"], "--check and --argsort"), (["-c", "-o", "x"], "-o"),
    (["--unknown"], "--unknown"), (["-z"], "-z"), (["a", "b"], "b"), (["--key"], "--key"), (["--csv", "--tsv"], "--csv and --tsv"),
    (["--csv", "--dtype", "u8"], "--dtype"), (["--device", "gpu"], "--device"), (["--threads", "x"], "--threads"),
    (["--argsort=1"], "--argsort"), (["--algorithm", "bubble"], "--algorithm"),
])
def test_usage(args, message):
    assert message in bad(*args, stdin=b"1\n")


@pytest.mark.parametrize("args, code", [(["missing"], 3), (["."], 3), (["--device", "cuda"], 4), (["-o", "no/such/place"], 3)])
def test_refused_by_the_system(args, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if code == 4 and run(*args, stdin=b"1\n")[0] == 0:
        pytest.skip("a CUDA device is here")
    bad(*args, stdin=b"1\n", code=code)


def test_bad_data_leaves_no_output(tmp_path):
    bad("-o", tmp_path / "out", stdin=b"1\nx\n")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").write_text("before")
    bad("-fo", tmp_path / "out", stdin=b"1\nx\n")
    assert (tmp_path / "out").read_text() == "before"
    bad("-o", tmp_path / "out", stdin=b"1\n")
    assert (tmp_path / "out").read_text() == "before"


def test_output_over_input(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("2\n1.0\n")
    assert good("-f", "-o", path, path) == b""
    assert path.read_text() == "1.0\n2\n"


def test_help_and_version():
    assert good("--help").startswith(b"Examples:\n")
    assert good("--version").split()[-1].count(b".") == 2


def test_report(tmp_path):
    good("-u", "--json", tmp_path / "report.json", "-o", tmp_path / "out", stdin=b"2\n1\n2\n")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["program"], report["type"], report["lines"], report["kept"]) == ("sort", "i64", 3, 2)
    assert report["bytes_read"] == 6 and report["bytes_written"] == 4


def test_progress(tmp_path):
    code, out, err = run("--progress", "always", stdin=b"2\n1\n")
    assert (code, out) == (0, b"1\n2\n") and "sort: [" in err
    assert run("--progress", "never", "--stats", stdin=b"2\n1\n")[2].count("[") == 0


@in_release("SIMD levels as they ship")
@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_simd_levels_agree(level):
    rng = np.random.default_rng(1)
    text = "".join("%.5f\n" % x for x in rng.standard_normal(3000))
    code, out, _ = run(stdin=text.encode(), env={"SCAN_SIMD": level})
    assert code == 0
    assert out.decode() == "".join(sorted(text.splitlines(True), key=float))


def test_locale_does_not_matter():
    for locale in ("de_DE.UTF-8", "C", "tr_TR.UTF-8"):
        code, out, _ = run(stdin=b"1.5\n1.25\nINF\n", env={"LC_ALL": locale})
        assert (code, out) == (0, b"1.25\n1.5\nINF\n")


def test_pipe_to_head_of_a_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i % 997},{i}\n" for i in range(200_000)))
    command = f"{SORT} -k a:desc {path} | head -n 3; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)
    assert done.stdout == b"a,b\n996,996\n996,1993\n141\n"
    assert done.stderr == b""
