# SPDX-License-Identifier: MIT
"""tools/bench: every verb and type can be measured, results are checked, the rows are readable by machines."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from conftest import in_release

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin")).parent / "tools/bench"
INTEGERS = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"]
TYPES = INTEGERS + ["f32", "f64"]
OPERATORS, INTEGER_OPERATORS = ["add", "mul", "min", "max"], ["xor", "and", "or"]

CACHE = BUILT.parents[1] / "CMakeCache.txt"
EMULATED = CACHE.exists() and "SCAN_CUDA:STRING=EMULATED" in CACHE.read_text()

pytestmark = [
    in_release("a tool: what it prints and checks"),
    pytest.mark.skipif(not BUILT.exists(), reason="bench is not built"),
]


def run(*arguments, code=0):
    done = subprocess.run([str(BUILT), "--rounds", "1", "--n", "10007", "--numpy-script",
                           str(ROOT / "tools/bench_peers.py"), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert b"wrong:" not in done.stdout and b"failed" not in done.stdout
    return done


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("op", OPERATORS)
def test_prefix(name, op):
    for kind in ([], ["--exclusive"]):
        run("--verb", "prefix", "--type", name, "--op", op, "--no-peers", *kind)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", INTEGER_OPERATORS)
def test_integer_prefix(name, op):
    for kind in ([], ["--exclusive"], ["--reverse", "--threads", "3"]):
        run("--verb", "prefix", "--type", name, "--op", op, "--no-peers", *kind)


@pytest.mark.parametrize("op", OPERATORS + INTEGER_OPERATORS)
def test_peers_of_an_operator(op):
    for kind in ([], ["--exclusive"]):
        run("--verb", "prefix", "--type", "i32", "--op", op, *kind)


def test_operators_are_those_of_the_library():
    text = run("--help").stdout.decode()
    assert f"prefix: {' '.join(OPERATORS + INTEGER_OPERATORS)} (add)" in text


@pytest.mark.parametrize("name, wide", [("u8", "u32"), ("u8", "u64"), ("i8", "i64"), ("u16", "u64"), ("i16", "i64"),
                                        ("u32", "u64"), ("i32", "i64"), ("f32", "f64")])
def test_wider_prefix(name, wide):
    for op in ["add"] + INTEGER_OPERATORS * (name != "f32"):
        peers = [] if op == "add" or name == "u32" else ["--no-peers"]  # which take most of the time
        run("--verb", "prefix", "--type", name, "--out-type", wide, "--op", op, *peers)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("verb", ["compact", "flagged", "indices", "partition", "unique", "lengths", "sort", "pairs",
                                  "argsort"])
def test_every_type(name, verb):
    run("--verb", verb, "--type", name, "--no-peers", "--distribution", "few:9")
    run("--verb", verb, "--type", name, "--no-peers")


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("verb", ["prefix", "compact", "unique", "sort", "pairs", "argsort"])
def test_nan(name, verb):
    run("--verb", verb, "--type", name, "--no-peers", "--nan", "0.1")


@pytest.mark.parametrize("name", ["u8", "u16"])
@pytest.mark.parametrize("verb", ["histogram", "equalize", "clahe"])
def test_images(name, verb):
    run("--verb", verb, "--type", name, "--n", "2^16")


@pytest.mark.parametrize("verb", ["prefix", "compact", "flagged", "indices", "unique", "sort", "pairs", "argsort",
                                  "copy"])
def test_with_peers(verb):
    assert b"scan" in run("--verb", verb).stdout


@pytest.mark.parametrize("verb, name", [("text", "i64"), ("text", "f64"), ("file", "u32"), ("file", "f64")])
def test_programs(verb, name):
    if not (BUILT.parents[1] / "bin/sort").exists():
        pytest.skip("the sort program is not built")
    run("--verb", verb, "--type", name)


@pytest.mark.parametrize("distribution", ["uniform", "bits:7", "zipf", "sorted", "reversed", "constant", "few", "runs",
                                          "mostly", "nearly", "normal", "relu", "lognormal", "prices",
                                          "edges", "clusters", "curve", "kmers:999", "merged", "saw:100"])
def test_distributions(distribution):
    run("--verb", "sort", "--type", "u32", "--distribution", distribution, "--no-peers")


def test_json(tmp_path):
    target = tmp_path / "rows.json"
    run("--verb", "sort", "--no-peers", "--threads", "1", "--simd", "portable", "--pause", "1", "--json", str(target))
    rows = json.loads(target.read_text())
    assert [row["contender"] for row in rows] == ["scan", "copy, 1 thread"]
    for row in rows:
        assert row["n"] == 10007 and row["type"] == "u32" and row["median_ns"] >= row["best_ns"] > 0 and row["runs"] == 1
    assert rows[0]["share_of_copy"] > 0


def rows_of(tmp_path, *arguments):
    target = tmp_path / "rows.json"
    run(*arguments, "--no-peers", "--json", str(target))
    return json.loads(target.read_text())


def test_lists_are_combined(tmp_path):
    rows = rows_of(tmp_path, "--verb", "compact", "--type", "u32,f64", "--n", "100,2^4..2^6,10..1000*10", "--keep", "0.1,0.9",
                   "--distribution", "uniform,few:3")
    jobs = {(row["type"], row["n"], row["job"].split("keep ")[1].split(",")[0], row["job"].split(", ")[-1])
            for row in rows if row["contender"] == "scan"}
    assert len(jobs) == 2 * 7 * 2 * 2 - 2 * 2 * 2  # 100 is listed twice
    assert {n for _, n, _, _ in jobs} == {100, 16, 32, 64, 10, 1000}


def test_bytes_of_a_compaction_are_those_kept(tmp_path):
    rows = rows_of(tmp_path, "--verb", "compact", "--type", "u32", "--n", "2^16", "--keep", "0,1")
    assert [row["bytes"] for row in rows if row["contender"] == "scan"] == [4 << 16, 8 << 16]


@pytest.mark.parametrize("distribution", ["uniform", "bits:7", "zipf", "sorted", "reversed", "constant", "few", "runs",
                                          "mostly", "nearly", "normal", "relu", "lognormal", "prices",
                                          "edges", "clusters", "curve", "kmers:999", "merged", "saw:100"])
def test_threads_make_the_same_input(tmp_path, distribution):
    hashes = {threads: [row["input_hash"] for row in
                        rows_of(tmp_path, "--verb", "unique", "--type", "u32,f32", "--n", "10007", "--nan", "0",
                                "--distribution", distribution, "--threads", threads)] for threads in ("1", "3")}
    assert hashes["1"] == hashes["3"]
    nan = [rows_of(tmp_path, "--verb", "unique", "--type", "f64", "--nan", "0.3", "--distribution", distribution,
                   "--threads", threads)[0]["input_hash"] for threads in ("1", "5")]
    assert nan[0] == nan[1]


@pytest.mark.parametrize("verb, name", [("prefix", "u8"), ("compact", "u8"), ("flagged", "u16"), ("indices", "u8"),
                                        ("partition", "f32"), ("unique", "u8"), ("lengths", "u64"), ("sort", "u8"),
                                        ("pairs", "u16"), ("argsort", "f64"), ("histogram", "u8"), ("equalize", "u8"),
                                        ("clahe", "u16"), ("copy", "u8")])
def test_offset(tmp_path, verb, name):
    rows = rows_of(tmp_path, "--verb", verb, "--type", name, "--offset", "0,1,255")
    each = len(rows) // 3
    aligned, odd = rows[:each], rows[each:]
    assert {row["offset"] for row in aligned} == {0} and {row["offset"] for row in odd} == {1, 255}
    assert len({row["input_hash"] for row in rows}) == 1
    assert not any("offset" in row["job"] or "share_of_aligned" in row for row in aligned)
    assert all(f", offset {row['offset']}, n = " in row["job"] for row in odd)
    for k, row in enumerate(odd):
        same = aligned[k % each]
        assert row["contender"] == same["contender"]
        assert row["share_of_aligned"] == pytest.approx(same["median_ns"] / row["median_ns"], rel=0.02, abs=0.001)


@pytest.mark.parametrize("name, wide", [("u8", "u8"), ("i32", "i64"), ("u32", "u32"), ("f32", "f32"), ("f32", "f64")])
@pytest.mark.parametrize("op", OPERATORS)
def test_reverse(tmp_path, name, wide, op):
    for kind in ([], ["--exclusive"]):
        rows = rows_of(tmp_path, "--verb", "prefix", "--type", name, "--out-type", wide, "--op", op, "--reverse",
                       "--offset", "0,3", "--threads", "3", "--distribution", "uniform", *kind)
        assert all(row["reverse"] and " reversed, " in row["job"] for row in rows)
        assert {row["offset"] for row in rows} == {0, 3} and not any("share_of_aligned" in row for row in rows)


def test_every_algorithm(tmp_path):
    rows = rows_of(tmp_path, "--verb", "prefix", "--algorithm", "all")
    assert [row["contender"] for row in rows][:2] == ["scan", "scan blocked"]
    rows = rows_of(tmp_path, "--verb", "sort", "--algorithm", "radix")
    assert rows[0]["contender"] == "scan radix" and rows[0]["ran"].startswith("radix")


def test_table_of_a_verb():
    assert b"no row" in run("--all", "--verb", "copy").stdout


def test_plot(tmp_path):
    target = tmp_path / "plot.svg"
    run("--verb", "prefix", "--type", "u32,f32", "--n", "2^6..2^12*4", "--plot", str(target), "--algorithm", "all")
    name = "{http://www.w3.org/2000/svg}"
    root = xml.etree.ElementTree.parse(target).getroot()
    figures = root.findall(f"{name}g[@class='figure']")
    assert root.tag == name + "svg" and len(figures) == 2
    for figure, kind in zip(figures, ["u32", "f32"]):
        assert figure.find(f"{name}g[@class='title']/{name}text").text == f"prefix {kind} add, uniform"
        texts = [text.text for text in figure.iter(name + "text")]
        lines = figure.findall(f"{name}polyline")
        series = [line.find(f"{name}title").text for line in lines]
        assert series[:2] == ["scan", "scan blocked"] and any(s.startswith("copy") for s in series)
        assert len(series) % 2 == 0 and series[:len(series) // 2] == series[len(series) // 2:]  # two panels
        assert all(texts.count(s) == 2 for s in series)  # each line has a label at its end
        assert len({(line.get("stroke"), line.get("stroke-dasharray")) for line in lines}) == len(lines) // 2
        for line in lines:
            points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
            assert len(points) == 4 and points == sorted(points)
            assert all(0 <= x <= float(root.get("width")) and 0 <= y <= float(root.get("height")) for x, y in points)
    run("--verb", "sort", "--plot", str(target), "--no-peers")  # one point per line
    xml.etree.ElementTree.parse(target)


def test_hunt_is_repeated_by_its_seeds(tmp_path):
    rows = rows_of(tmp_path, "--hunt", "6", "--seed", "3", "--max-n", "3000")
    seeds = list(dict.fromkeys(row["seed"] for row in rows))
    assert len(seeds) == 6 and all(1000 <= row["n"] <= 3000 for row in rows)
    assert {row["contender"] for row in rows if row["in_place"]} == {"scan, in place"}
    for seed in seeds[:2]:
        again = rows_of(tmp_path, "--hunt", "1", "--seed", str(seed), "--threads", "3")
        first = [row for row in rows if row["seed"] == seed]
        assert {(row["job"], row["input_hash"]) for row in again} == {(row["job"], row["input_hash"]) for row in first}


def test_hunt_of_some_sorts(tmp_path):
    rows = rows_of(tmp_path, "--hunt", "4", "--verb", "argsort", "--type", "f32,u8", "--min-n", "2000", "--max-n", "2100")
    assert {row["verb"] for row in rows} == {"argsort"} and {row["type"] for row in rows} <= {"f32", "u8"}
    assert all(2000 <= row["n"] <= 2100 for row in rows) and len({row["seed"] for row in rows}) == 4


def test_hunt_that_only_checks():
    text = run("--hunt", "20", "--seed", "5", "--check", "--max-n", "5000").stdout.decode()
    assert text.endswith("\nHunt: 20 sets from seed 5, 0 wrong, 0 compared with a peer\n") and " ms" not in text
    text = run("--hunt", "1000000", "--minutes", "0.001", "--check", "--max-n", "5000").stdout.decode()
    assert 0 < int(re.search(r"^Hunt: (\d+) sets", text, re.M).group(1)) < 1_000_000


def test_hunt_with_peers():
    done = subprocess.run([str(BUILT), "--hunt", "4", "--seed", "2", "--max-n", "3000", "--verb", "sort", "--type", "u32,i64"],
                          stdout=subprocess.PIPE, timeout=100, check=True)
    text = done.stdout.decode()
    assert ", 0 wrong, " in text
    if "0 compared" not in text:
        command = re.search(r"tools/bench --hunt 1 --seed (\d+) --threads \d+\n", text)
        assert f"\n{command[1]}: sort " in text and "geomean" in text and "Worst in place:" in text


def test_no_gpu_is_said():
    done = subprocess.run([str(BUILT), "--additions"], stdout=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 0 and b"skipped" in done.stdout
    if not EMULATED and not os.path.exists("/dev/nvidia0"):
        assert b"not run" in run("--verb", "copy", "--device", "cuda", code=1).stdout


emulated = pytest.mark.skipif(not EMULATED, reason="the CUDA backend is not emulated in this build")


@emulated
def test_additions_are_those_of_the_formulas():
    lines = run("--device", "cuda", "--additions").stdout.decode().splitlines()
    counted = {(words[0], int(words[1])): int(words[2]) for words in map(str.split, lines) if len(words) > 4
               and words[1].isdigit()}
    log = {2**k: k for k in range(12)}
    for n in (16, 1024):
        assert counted["kogge-stone", n] == n * log[n] - (n - 1)
        assert counted["brent-kung", n] == 2 * n - 2 - log[n]
    assert counted["warp", 1024] == 5249 and len(counted) == 9


@emulated
@pytest.mark.parametrize("kind", ["u32", "f64"])
def test_every_grid_and_block(tmp_path, kind):
    rows = rows_of(tmp_path, "--device", "cuda", "--verb", "prefix", "--algorithm", "all", "--type", kind, "--n", "3000")
    names = [row["contender"] for row in rows]
    assert names == ["scan"] + [f"scan {grid}/{block}" for grid in ("host-sums", "hierarchical")
                                for block in ("kogge-stone", "brent-kung", "warp")] + \
        ["scan look-back/warp", "scan wave/warp", "memcpy, device to device"]
    for row in rows:
        assert row["alone_ns"] > 0 and row["host_ns"] > 0 and row["batch"] >= 1 and "Emulated" in row["machine"]


@emulated
@pytest.mark.parametrize("kind", ["u8", "u32"])
def test_odd_scans_on_a_device(tmp_path, kind):
    odd = ("--device", "cuda", "--verb", "prefix", "--type", kind, "--n", "20000", "--offset")
    rows = rows_of(tmp_path, *odd, "0,1")
    assert ["share_of_aligned" in row for row in rows] == [False, False, True, True]
    rows = rows_of(tmp_path, *odd, "0,1", "--reverse")
    assert [(row["contender"], row["offset"]) for row in rows if row["contender"] == "scan"] == [("scan", 0), ("scan", 1)]


@emulated
@pytest.mark.parametrize("verb", ["compact", "flagged", "indices", "partition", "unique", "lengths", "sort", "pairs",
                                  "argsort", "merge", "histogram", "equalize", "clahe", "copy"])
def test_every_verb_on_a_device(verb):
    run("--device", "cuda", "--verb", verb, "--n", "1000", "--no-peers", "--offset", "0,1")


@emulated
def test_hunt_makes_the_same_keys_on_a_device(tmp_path):
    here = rows_of(tmp_path, "--hunt", "12", "--seed", "4", "--max-n", "1500", "--rounds", "1", "--threads", "2")
    there = rows_of(tmp_path, "--hunt", "12", "--seed", "4", "--max-n", "1500", "--rounds", "1", "--device", "cuda")
    assert {(row["job"], row["input_hash"]) for row in here} == {(row["job"], row["input_hash"]) for row in there}
    assert len({row["seed"] for row in there}) == 12 and {row["contender"] for row in there} == {"scan"}


TORCH = """
import numpy as np
int32 = np.dtype("int32")
class cuda:
    class Event:
        def __init__(self, enable_timing): pass
        def record(self): pass
        def synchronize(self): pass
        def elapsed_time(self, other): return 1.5
    is_available = staticmethod(lambda: True)
    empty_cache = staticmethod(lambda: None)
class Tensor(np.ndarray):
    to = cpu = lambda self, *device: self
    double = lambda self: self.astype(float).view(Tensor)
    element_size = lambda self: self.itemsize
allclose = np.allclose
from_numpy = lambda a: a.view(Tensor)
cumsum = lambda t, axis, dtype: np.cumsum(t, axis, dtype)
cumprod = cummin = cummax = unique_consecutive = None
sort = lambda t: (np.sort(t), np.argsort(t))
"""


@emulated
def test_torch(tmp_path):
    """With a stand-in for PyTorch: the bench and the script understand each other over two jobs in one process."""
    (tmp_path / "torch.py").write_text(TORCH)
    environment = dict(os.environ, PYTHONPATH=str(tmp_path), PATH="/usr/bin:" + os.environ["PATH"])
    for verb, name in (("prefix", "torch cumsum"), ("sort", "torch sort, with indices")):
        target = tmp_path / "rows.json"
        subprocess.run([str(BUILT), "--device", "cuda", "--verb", verb, "--n", "100,200", "--torch", "--torch-script",
                        str(ROOT / "tools/bench_torch.py"), "--json", str(target)], env=environment, timeout=100,
                       check=True, stdout=subprocess.DEVNULL)
        rows = [row for row in json.loads(target.read_text()) if row["contender"].startswith("torch")]
        assert [(row["contender"], row["median_ns"], row["n"]) for row in rows] == [(name, 1500000, 100), (name, 1500000, 200)]


def test_torch_that_is_missing_is_said(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError")
    device = ["--device", "cuda"] if EMULATED else []
    said = b"no PyTorch with CUDA" if EMULATED else b"PyTorch is measured on a GPU only"
    environment = dict(os.environ, PYTHONPATH=str(tmp_path))
    done = subprocess.run([str(BUILT), *device, "--verb", "sort", "--n", "100,200", "--rounds", "1", "--torch",
                           "--torch-script", str(ROOT / "tools/bench_torch.py")], env=environment, timeout=100,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    assert done.stderr.count(said) == 1 and b"torch" not in done.stdout


def make_cub(folder, version, cub="", thrust="", libcudacxx=""):
    """Writes the headers by which CUB, Thrust and libcudacxx are found. Each name is of a folder inside the folder."""
    for inside, header in ((cub, "cub/version.cuh"), (thrust, "thrust/version.h"), (libcudacxx, "cuda/std/functional")):
        path = folder / inside / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#define CUB_VERSION {version} // one number\n")
    return folder


def chosen_cub(tmp_path, given="", code=0):
    """What CMake says of its choice among the folder given, a toolkit, and a package that python3 finds."""
    if not shutil.which("cmake"):
        pytest.skip("no CMake")
    done = subprocess.run(["cmake", f"-DSCAN_CUB_DIR={given}", f"-DCUDAToolkit_INCLUDE_DIRS={tmp_path}/toolkit", "-P",
                           str(ROOT / "tools/bench_cub.cmake")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, PYTHONPATH=str(tmp_path / "site")), timeout=60, check=False)
    assert (done.returncode != 0) == (code != 0), done.stdout
    return " ".join(done.stdout.decode().split())


@pytest.mark.parametrize("package, version", [("cu13", 9000200), ("cu13", 8030400), ("cuda_cccl", 9000200)])
def test_newest_cub_is_measured(tmp_path, package, version):
    make_cub(tmp_path / "toolkit/cccl", 9000001)
    include = tmp_path / "site/nvidia" / package / "include"
    make_cub(include / "cccl" if package == "cu13" else include, version)
    right = f"CUB 90.2.0: {include}" if version > 9000001 else f"CUB 90.0.1: {tmp_path}/toolkit/cccl"
    assert right in chosen_cub(tmp_path)


def test_cub_that_is_given_is_measured(tmp_path):
    make_cub(tmp_path / "toolkit", 9000001)
    folder = make_cub(tmp_path / "folder", 300500)
    checkout = make_cub(tmp_path / "checkout", 300600, "cub", "thrust", "libcudacxx/include")
    assert f"CUB 3.5.0: {folder}" in chosen_cub(tmp_path, folder)
    said = chosen_cub(tmp_path, checkout)
    assert "CUB 3.6.0: " in said and all(f"{checkout}/{d}" in said for d in ("cub", "thrust", "libcudacxx/include"))


@pytest.mark.parametrize("missing", ["cub", "thrust", "cuda"])
def test_folder_without_cub_is_refused(tmp_path, missing):
    make_cub(tmp_path / "toolkit", 9000001)
    shutil.rmtree(make_cub(tmp_path / "folder", 300500) / missing)
    said = chosen_cub(tmp_path, tmp_path / "folder", code=1)
    assert f"No CUB with Thrust and libcudacxx in: {tmp_path}/folder" in said


@pytest.mark.parametrize("arguments, said", [
    (["--verb", "fly"], b"not a verb"),
    (["--verb", "sort", "--type", "f16"], b"not a type"),
    (["--verb", "sort", "--type", ",u32"], b"not a type"),
    (["--verb", "sort", "--type", ""], b"not a type"),
    (["--verb", "sort", "--n", "2^9..2^x"], b"not a range"),
    (["--verb", "sort", "--n", "1..9*1"], b"not a range"),
    (["--verb", "sort", "--n", "1..2^62"], b"more than memory holds"),
    (["--verb", "sort", "--n", "5,x"], b"not a count"),
    (["--verb", "sort", "--n", "9..2"], b"not a count"),
    (["--verb", "prefix", "--algorithm", "wave/wide"], b"not an algorithm"),
    (["--verb", "pairs", "--value-bytes", "2"], b"4 or 8"),
    (["--verb", "indices", "--n", "2^33"], b"4-byte values"),
    (["--verb", "sort", "--n", "0"], b"at least one"),
    (["--verb", "sort", "--distribution", "flat"], b"no such distribution"),
    (["--verb", "prefix", "--op", "nand"], b"not an operator"),
    (["--verb", "prefix", "--op", "xor", "--type", "u32,f32"], b"not an operator of this --type"),
    (["--verb", "equalize", "--type", "f32"], b"u8 or u16"),
    (["--verb", "compact", "--keep", "2"], b"from 0 to 1"),
    (["--verb", "sort", "--threads", "0"], b"at least one"),
    (["--verb", "sort", "--offset", "256"], b"below 256"),
    (["--verb", "sort", "--offset", "1,x"], b"below 256"),
    (["--verb", "text", "--offset", "1"], b"no alignment"),
    (["--verb", "sort", "--reverse"], b"has a direction"),
    (["--verb", "sort", "file"], b"options only"),
    (["--hunt", "0"], b"at least one"),
    (["--hunt", "5", "--verb", "prefix"], b"a hunt sorts"),
    (["--hunt", "5", "--min-n", "2001", "--max-n", "2000"], b"above --max-n"),
    (["--hunt", "5", "--max-n", "2^31"], b"too large"),
    (["--hunt", "5", "--minutes", "0"], b"above 0"),
    (["--check"], b"with --hunt"),
])
def test_wrong_arguments(arguments, said):
    done = run(*arguments, code=2)
    assert said in done.stderr and done.stderr.count(b"\n") == 1
