# SPDX-License-Identifier: MIT
"""tools/bench: every verb and type can be measured, results are checked, the rows are readable by machines."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin")).parent / "tools/bench"
INTEGERS = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"]
TYPES = INTEGERS + ["f32", "f64"]

pytestmark = pytest.mark.skipif(not BUILT.exists(), reason="bench is not built")


def run(*arguments, code=0):
    done = subprocess.run([str(BUILT), "--rounds", "1", "--n", "10007", "--python-peers",
                           str(ROOT / "tools/bench_peers.py"), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert b"wrong:" not in done.stdout and b"failed" not in done.stdout
    return done


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("op", ["add", "mul", "min", "max"])
def test_prefix(name, op):
    for kind in ([], ["--exclusive"]):
        run("--verb", "prefix", "--type", name, "--op", op, "--no-peers", *kind)


@pytest.mark.parametrize("name, wide", [("u8", "u32"), ("u8", "u64"), ("i8", "i64"), ("u16", "u64"), ("i16", "i64"),
                                        ("u32", "u64"), ("i32", "i64"), ("f32", "f64")])
def test_wider_prefix(name, wide):
    run("--verb", "prefix", "--type", name, "--out-type", wide)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("verb", ["compact", "unique", "sort", "pairs", "argsort"])
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


@pytest.mark.parametrize("verb", ["prefix", "compact", "unique", "sort", "pairs", "argsort", "copy"])
def test_with_peers(verb):
    assert b"scan" in run("--verb", verb).stdout


@pytest.mark.parametrize("verb, name", [("text", "i64"), ("text", "f64"), ("file", "u32"), ("file", "f64")])
def test_programs(verb, name):
    if not (BUILT.parents[1] / "bin/sort").exists():
        pytest.skip("the sort program is not built")
    run("--verb", verb, "--type", name)


@pytest.mark.parametrize("distribution", ["uniform", "bits:7", "zipf", "sorted", "reversed", "constant", "few", "runs",
                                          "normal"])
def test_distributions(distribution):
    run("--verb", "sort", "--type", "u32", "--distribution", distribution, "--no-peers")


def test_json(tmp_path):
    target = tmp_path / "rows.json"
    run("--verb", "sort", "--no-peers", "--threads", "1", "--simd", "portable", "--json", str(target))
    rows = json.loads(target.read_text())
    assert [row["contender"] for row in rows] == ["scan", "copy, 1 thread"]
    for row in rows:
        assert row["n"] == 10007 and row["type"] == "u32" and row["median_ns"] >= row["best_ns"] > 0 and row["runs"] == 1
    assert rows[0]["share_of_copy"] > 0


@pytest.mark.parametrize("arguments, said", [
    (["--verb", "fly"], b"not a verb"),
    (["--verb", "sort", "--type", "f16"], b"not a type"),
    (["--verb", "sort", "--n", "0"], b"at least one"),
    (["--verb", "sort", "--distribution", "flat"], b"no such distribution"),
    (["--verb", "prefix", "--op", "xor"], b"not an operator"),
    (["--verb", "equalize", "--type", "f32"], b"u8 or u16"),
    (["--verb", "compact", "--keep", "2"], b"from 0 to 1"),
    (["--verb", "sort", "--threads", "0"], b"at least one"),
    (["--verb", "sort", "file"], b"options only"),
])
def test_wrong_arguments(arguments, said):
    done = run(*arguments, code=2)
    assert said in done.stderr and done.stderr.count(b"\n") == 1
