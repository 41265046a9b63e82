# SPDX-License-Identifier: MIT
"""tools/make_data: the arrays it writes, against a second description of them in Python."""
import io
import os
import pathlib
import resource
import subprocess

import numpy as np
import pytest

from conftest import in_release

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin")).parent / "tools/make_data"
TYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"]
DISTRIBUTIONS = ["uniform", "bits:7", "zipf:6", "sorted", "reversed", "constant", "few:5", "runs:10",
                 "mostly:10", "nearly:10", "normal"]
N = 50_000

pytestmark = [
    in_release("a tool: what it writes"),
    pytest.mark.skipif(not BUILT.exists(), reason="make_data is not built"),
]


def run(*arguments, code=0, **more):
    done = subprocess.run([str(BUILT), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, check=False, **more)
    assert done.returncode == code, done.stderr
    return done


def make(*arguments):
    return np.load(io.BytesIO(run(*arguments).stdout), allow_pickle=False)


def dtype(name):
    return np.dtype({"u": "u", "i": "i", "f": "f"}[name[0]] + str(int(name[1:]) // 8))


MASK = 2**64 - 1


class SplitMix:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


@pytest.mark.parametrize("name", TYPES)
def test_uniform_is_splitmix64(name):
    draws = SplitMix(42)
    draws.next(), draws.next()  # the generator draws two numbers before the elements
    bits = [draws.next() for _ in range(1000)]
    if name[0] == "f":
        kept = {"f32": 24, "f64": 53}[name]
        expected = [((b >> (64 - kept)) - 2 ** (kept - 1)) / 2 ** (kept - 1) for b in bits]
    else:
        width = int(name[1:])
        low = -(2 ** (width - 1)) if name[0] == "i" else 0
        expected = [(b >> (64 - width)) + low for b in bits]
    made = make("--type", name, "--n", "1000", "--seed", "42")
    assert made.dtype == dtype(name)
    assert made.tolist() == np.array(expected, dtype(name)).tolist()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_shape_of_the_distribution(name, distribution):
    a = make("--type", name, "--n", str(N), "--distribution", distribution)
    assert a.shape == (N,) and a.dtype == dtype(name)
    kind = distribution.split(":")[0]
    wide = a.astype(np.float64)
    span = {"f": (-1.0, 1.0)}.get(name[0]) or (float(np.iinfo(a.dtype).min), float(np.iinfo(a.dtype).max))
    middle, width = sum(span) / 2, span[1] - span[0]
    if kind == "uniform":
        assert abs(wide.mean() - middle) < 0.02 * width
    elif kind == "bits":
        assert a.min() == 0 and a.max() == 127 and abs(wide.mean() - 63.5) < 1
    elif kind == "zipf":
        counts = np.bincount(a.astype(np.int64), minlength=64)
        assert len(counts) == 64 and counts[0] == 0
        octaves = [counts[2**e:2 ** (e + 1)].sum() for e in range(6)]
        assert max(octaves) < 1.1 * min(octaves)
    elif kind in ("sorted", "reversed"):
        up = a if kind == "sorted" else a[::-1]
        assert (up[1:] >= up[:-1]).all() and wide.max() - wide.min() > 0.99 * width
    elif kind == "constant":
        assert (a == a[0]).all()
    elif kind == "few":
        values, counts = np.unique(a, return_counts=True)
        assert len(values) == 5 and counts.min() > 0.9 * N / 5
    elif kind == "runs":
        changes = int((a[1:] != a[:-1]).sum())
        assert 0.95 * N / 10 < changes < 1.05 * N / 10
    elif kind == "mostly":
        values, counts = np.unique(a, return_counts=True)
        others = N - counts.max()
        assert 0.95 * N / 10 < others < 1.05 * N / 10
        assert a[a != values[counts.argmax()]].astype(np.float64).std() > 0.2 * width
    elif kind == "nearly":
        ramp = make("--type", name, "--n", str(N), "--distribution", "sorted")
        assert 0.9 * N / 10 < int((a != ramp).sum()) < 1.05 * N / 10
    elif kind == "normal":
        sigma = 1 if name[0] == "f" else width / 12
        centre = 0 if name[0] == "f" else middle
        assert abs(wide.mean() - centre) < 0.03 * sigma + 1
        assert abs(wide.std() - sigma) < 0.03 * sigma + 0.1


def test_activations():
    for name, middle in (("u32", 2**31), ("i64", 0), ("f64", 0)):
        a = make("--type", name, "--n", str(N), "--distribution", "relu")
        assert a.min() == middle and abs((a == middle).mean() - 0.5) < 0.02
    assert abs(a.mean() - 0.3989) < 0.02  # of max(x, 0) for a normal x


@pytest.mark.parametrize("name, bits", [("u64", 64), ("i32", 31), ("f32", 64)])
def test_lognormal(name, bits):
    a = make("--type", name, "--n", str(N), "--distribution", "lognormal")
    assert a.min() >= 1
    logarithms = np.log2(a.astype(np.float64))
    assert abs(logarithms.mean() - bits / 2) < 0.2 and abs(logarithms.std() - bits / 12) < 0.1


def test_prices():
    a = make("--type", "u32", "--n", str(N), "--distribution", "prices")
    assert a.max() < 2**31 and abs(np.log2(a.astype(np.float64)).std() - 30 / 12) < 0.15
    for ending, share in ((99, 3 / 8), (95, 2 / 8), (50, 1 / 8), (0, 1 / 8)):
        assert abs((a % 100 == ending).mean() - share) < 0.02
    small = make("--type", "u8", "--n", str(N), "--distribution", "prices")
    assert 1 < len(np.unique(small)) <= 256


def test_edges():
    nodes, counts = np.unique(make("--type", "u32", "--n", str(N), "--distribution", "edges:10"), return_counts=True)
    zipf = np.unique(make("--type", "u32", "--n", str(N), "--distribution", "zipf:10"), return_counts=True)[1]
    assert nodes.max() < 1024 and nodes[counts.argmax()] > 1
    assert sorted(counts) == sorted(zipf)


def test_clusters():
    a = np.sort(make("--type", "u64", "--n", str(N), "--distribution", "clusters:50"))
    gaps = np.flatnonzero(a[1:] - a[:-1] > 2**44)
    assert len(gaps) == 49
    assert max(int(part[-1] - part[0]) for part in np.split(a, gaps + 1)) < 2**48


def test_curve():
    a = make("--type", "u64", "--n", str(N), "--distribution", "curve")
    bits = (a[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    x = (bits[:, 1::2] << np.arange(32, dtype=np.uint64)).sum(axis=1)
    y = (bits[:, 0::2] << np.arange(32, dtype=np.uint64)).sum(axis=1)
    squares, counts = np.unique((x >> np.uint64(16)) << np.uint64(16) | y >> np.uint64(16), return_counts=True)
    assert counts[np.argsort(counts)[-64:]].sum() > 0.5 * N  # most lie near one of 64 places
    assert len(np.unique(x >> np.uint64(26))) > 16 and len(np.unique(y >> np.uint64(26))) > 16


def test_kmers():
    a = np.unique(make("--type", "u64", "--n", str(N), "--distribution", "kmers:5000"))
    assert 4900 < len(a) <= 5000
    starts = {int(v) >> 2 for v in a}  # of 31 letters
    assert sum((int(v) & 2**62 - 1) in starts for v in a) > 4800  # the next piece is there too


@pytest.mark.parametrize("distribution, length", [("merged:4", N // 4), ("saw:100", 100)])
def test_teeth(distribution, length):
    a = make("--type", "u64", "--n", str(N), "--distribution", distribution)
    falls = np.flatnonzero(a[1:] < a[:-1]) + 1
    assert falls.tolist() == list(range(length, N, length))


def test_same_arguments_same_bytes():
    arguments = ["--type", "f64", "--n", "2^17+1", "--distribution", "runs", "--nan", "0.1"]
    first = run(*arguments).stdout
    assert first == run(*arguments).stdout
    assert first != run(*arguments, "--seed", "2").stdout


def test_nan_and_negative_zero():
    a = make("--type", "f32", "--n", str(N), "--nan", "0.25", "--negative-zero", "0.125")
    assert abs(np.isnan(a).mean() - 0.25) < 0.01
    assert abs(((a == 0) & np.signbit(a)).mean() - 0.125) < 0.01


@pytest.mark.parametrize("name", TYPES)
def test_raw_and_text_hold_the_same_array(name):
    arguments = ["--type", name, "--n", "70000"]
    a = make(*arguments)
    raw = np.frombuffer(run(*arguments, "--format", "raw").stdout, a.dtype)
    lines = run(*arguments, "--format", "text").stdout.decode().split("\n")
    assert raw.tobytes() == a.tobytes()
    assert lines.pop() == "" and len(lines) == 70000
    convert = float if name[0] == "f" else int
    assert np.array([convert(line) for line in lines], a.dtype).tobytes() == a.tobytes()


@pytest.mark.parametrize("text, count", [("0", 0), ("1", 1), ("3K", 3000), ("2^10", 1024), ("2^10+3", 1027),
                                         ("2^10-3", 1021)])
def test_counts(text, count):
    assert make("--type", "u8", "--n", text).shape == (count,)


@pytest.mark.skipif("san" in BUILT.parts[-3], reason="sanitizers need more address space")
def test_more_than_2_to_the_32_elements_in_constant_memory():
    """The header says 2^33 elements; the first ones come at once, and little memory is used."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))
    with subprocess.Popen([str(BUILT), "--type", "u8", "--n", "2^33"], stdout=subprocess.PIPE,
                          preexec_fn=limit) as process:
        head = process.stdout.read(1 << 20)
        process.stdout.close()
        process.wait(timeout=60)
    assert b"(8589934592,)" in head[:128] and len(head) == 1 << 20


@pytest.mark.parametrize("arguments, said", [
    (["--type", "u7"], b"not a type"),
    (["--n", "x"], b"not a count"),
    (["--n", "2^64"], b"not a count"),
    (["--n", "1", "--distribution", "flat"], b"no such distribution"),
    (["--n", "1", "--distribution", "bits:0"], b"from 1"),
    (["--n", "1", "--distribution", "bits:65"], b"at most 64"),
    (["--n", "1", "--distribution", "sorted:3"], b"no parameter"),
    (["--n", "1", "--nan", "0.5"], b"only f32 and f64"),
    (["--n", "1", "--type", "f32", "--nan", "1.5"], b"from 0 to 1"),
    (["--n", "1", "--format", "xml"], b"not npy, raw or text"),
    (["a", "b"], b"one output file"),
])
def test_wrong_arguments(arguments, said):
    done = run(*arguments, code=2)
    assert said in done.stderr and done.stdout == b"" and done.stderr.count(b"\n") == 1


def test_full_disk_leaves_nothing(tmp_path):
    target = tmp_path / "a.npy"
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    done = run("--n", "1M", str(target), code=3, preexec_fn=limit)
    assert b"cannot write" in done.stderr and not target.exists()
