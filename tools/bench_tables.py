#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/bench --tables [--rows N] [--rounds N] [--threads N] [--only WORD] [--folder DIR]

Jobs on a CSV table, on lines of text and on an array, from file to file: the programs here beside GNU sort (LC_ALL=C),
DuckDB, Polars and NumPy, those that there are (`tools/setup bench` gets them); in turns, after one run of each in which
the results are compared. Each row has the median of the wall time and of the processor time, and how many times as long
as ours that is. Peers that are modules of Python are timed without their start.
"""
import argparse
import array
import gzip
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEER_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "build/peers")}
HEAD = "id,price,cost,city,name,when\n"
CITIES = ["Anchorage", "Boston, MA", "Köln", "Łódź", "New York", "Rio de Janeiro", "San Francisco", "Ushuaia"]

# What is done, as: the arguments of our program; DuckDB's SQL behind SELECT * FROM t; Polars on a LazyFrame f with
# columns c(NAME); GNU sort's options, if it can do it.
JOBS = {
    "sort by text, few distinct values": (["sort", "-k", "city:text"], "ORDER BY city", "f.sort('city', maintain_order=True)", ["-t,", "-k4,4", "-s"]),
    "sort by text, many distinct values": (["sort", "-k", "name:text"], "ORDER BY name", "f.sort('name', maintain_order=True)", None),
    "sort by a number": (["sort", "-k", "price"], "ORDER BY price", "f.sort('price', maintain_order=True)", ["-t,", "-k2,2g", "-s"]),
    "filter by numbers": (["compact", "--where", "price < 500 && id > 1000"], "WHERE price < 500 AND id > 1000", "f.filter((c('price') < 500) & (c('id') > 1000))", None),
    "filter column against column": (["compact", "--where", "price > cost"], "WHERE price > cost", "f.filter(c('price') > c('cost'))", None),
    "filter by equal text": (["compact", "--where", 'city == "Boston, MA"'], "WHERE city = 'Boston, MA'", "f.filter(c('city') == 'Boston, MA')", None),
    "filter by text inside": (["compact", "--where", 'name contains "ab1"'], "WHERE contains(name, 'ab1')", "f.filter(c('name').str.contains('ab1', literal=True))", None),
    "filter by a range of dates": (["compact", "--where", 'when >= "2020-03-01" && when < "2020-06-01"'], "WHERE \"when\" >= '2020-03-01' AND \"when\" < '2020-06-01'",
                                   "f.filter((c('when') >= '2020-03-01') & (c('when') < '2020-06-01'))", None),
    "filter by numbers, gzip": (["compact", "--where", "price < 500 && id > 1000"], "WHERE price < 500 AND id > 1000", "f.filter((c('price') < 500) & (c('id') > 1000))", None),
    "sort lines of text": (["sort", "--text"], None, None, []),
    "argsort along the last axis": (["sort", "--argsort", "--axis", "1"], None, None, None),
}

PEER = """
import resource, sys, time
def used():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime
kind, source, target, job, threads = sys.argv[1:]
types = {"id": "BIGINT", "price": "DOUBLE", "cost": "DOUBLE", "city": "VARCHAR", "name": "VARCHAR", "when": "VARCHAR"}
if kind == "duckdb":
    import duckdb
    db = duckdb.connect()
    db.execute("SET threads=" + threads)
    def run():
        db.execute(f"COPY (SELECT * FROM read_csv('{source}', header=true, columns={types}) {job}) TO '{target}' (HEADER)")
elif kind.startswith("numpy"):
    import numpy as np
    order = "stable" if kind.endswith("stable") else None
    def run():
        np.save(target, np.argsort(np.load(source), axis=-1, kind=order).astype(np.uint32))
else:
    import polars as pl
    c = pl.col
    def run():
        f = pl.scan_csv(source, schema_overrides={k: {"B": pl.Int64, "D": pl.Float64, "V": pl.String}[v[0]] for k, v in types.items()})
        eval(job).collect().write_csv(target)
wall, cpu = time.perf_counter(), used()
run()
print(time.perf_counter() - wall, used() - cpu)
"""


def make_table(path, rows):
    rng = random.Random(1)
    with open(path, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for begin in range(0, rows, 100_000):
            out.write("".join(f'{i},{rng.randrange(100_000) / 100},{rng.randrange(100_000) / 100},{city if "," not in city else chr(34) + city + chr(34)},'
                              f'{rng.getrandbits(48):012x},2020-{1 + i % 12:02}-{1 + i % 28:02}T{i % 24:02}:00:00Z\n'
                              for i, city in zip(range(begin, min(begin + 100_000, rows)), iter(lambda: rng.choice(CITIES), None))))


def make_lines(path, rows):
    rng = random.Random(2)
    letters = "abcdefghijklmnopqrstuvwxyz "
    with open(path, "w", encoding="utf-8") as out:
        for _ in range(0, 2 * rows, 1000):  # as many bytes as the table has
            out.write("".join("".join(rng.choices(letters, k=rng.randrange(5, 61))) + "\n" for _ in range(1000)))


def make_array(path, rows):
    """f32 of .npy: each row is another rotation of different numbers, so that any sort has the same result."""
    columns = min(rows, 10_000)
    rng = random.Random(3)
    steps = array.array("f", (float(k) for k in rng.sample(range(1 << 24), columns)))
    with open(path, "wb") as out:
        head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({columns}, {columns}), }}".ljust(117) + "\n"
        out.write(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head.encode())
        for _ in range(columns):
            place = rng.randrange(columns)
            (steps[place:] + steps[:place]).tofile(out)


def content(path):
    """How many lines there are, and a sum over them: the same for the same lines in any order. Of .npy, its elements."""
    count = total = 0
    with open(path, "rb") as lines:
        if path.suffix == ".npy":
            lines.seek(10 + int.from_bytes(lines.read(10)[8:], "little"))
            return 1, zlib.crc32(lines.read())
        for line in lines:
            count += 1
            total += zlib.crc32(line)
    return count, total


def has(module):
    return subprocess.run([sys.executable, "-c", "import " + module], env=PEER_ENVIRONMENT, stderr=subprocess.DEVNULL, check=False).returncode == 0


def program(arguments, **keywords):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(arguments, check=True, **keywords)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def gnu_sort(source, target, options, threads):
    """A header must be kept first by hand."""
    command = f"env LC_ALL=C sort --parallel={threads} {' '.join(options)}"
    text = f"{command} -o {target} {source}" if source.suffix == ".txt" else f"head -n 1 {source} > {target} && tail -n +2 {source} | {command} >> {target}"
    return program(["sh", "-c", text])


def contenders(name, source, target, threads, peers):
    ours, sql, polars, gnu = JOBS[name]
    bin_folder = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin"))
    yield "scan: " + ours[0], lambda: program([bin_folder / ours[0], *ours[1:], "--threads", str(threads), "--device", "cpu", "-f", "-o", target, source])
    if gnu is not None:
        yield "GNU sort", lambda: gnu_sort(source, target, gnu, threads)
    numpy = "argsort" if "--argsort" in ours else None
    for kind, job in (("duckdb", sql), ("polars", polars), ("numpy", numpy), ("numpy, stable", numpy)):
        if job and kind.split(",", maxsplit=1)[0] in peers:
            def run(kind=kind, job=job):
                said = subprocess.run([sys.executable, "-c", PEER, kind, source, target, job, str(threads)], check=True, stdout=subprocess.PIPE,
                                      env={**PEER_ENVIRONMENT, "POLARS_MAX_THREADS": str(threads)}).stdout
                return tuple(map(float, said.split()[-2:]))
            yield kind, run


def measure(name, source, target, options, peers):
    runs = list(contenders(name, source, target, options.threads, peers))
    times, first = {kind: [] for kind, _ in runs}, None
    for kind, run in runs:
        run()
        made = content(target)
        first = first or made
        if made != first:
            print(f"  {kind}: another result than ours, {made} and not {first}")
    for _ in range(options.rounds):
        for kind, run in runs:
            times[kind].append(run())
    wall, cpu = ({kind: statistics.median(t[part] for t in of) for kind, of in times.items()} for part in (0, 1))
    ours = runs[0][0]
    print(f"{name} ({source.stat().st_size / 1e6:.0f} MB)")
    for kind in times:
        print(f"  {kind:14} {wall[kind]:8.3f} s {wall[kind] / wall[ours]:6.2f}    processors {cpu[kind]:8.3f} s {cpu[kind] / max(cpu[ours], 1e-3):6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tools/bench --tables", description=__doc__.split("\n\n", 1)[1], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000, help="of the table (4,000,000: some 260 MB)")
    parser.add_argument("--rounds", type=int, default=5, help="measured runs of each (5)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of all contenders (all)")
    parser.add_argument("--only", default="", help="jobs whose name has this word")
    parser.add_argument("--folder", default=None, help="for the files; a temporary one")
    options = parser.parse_args()
    peers = [kind for kind in ("duckdb", "polars", "numpy") if has(kind)]
    jobs = [name for name in JOBS if options.only in name]
    if not jobs:
        parser.error(f"no job has \"{options.only}\" in its name: {', '.join(JOBS)}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        table, lines, numbers = (pathlib.Path(folder) / part for part in ("table.csv", "lines.txt", "numbers.npy"))
        for name in jobs:
            source = lines if "lines" in name else numbers if "axis" in name else table.with_suffix(".csv.gz") if "gzip" in name else table
            maker = {lines: make_lines, numbers: make_array}.get(source, make_table)
            raw = table if maker == make_table else source
            if not raw.exists():
                maker(raw, options.rows)
            if not source.exists():
                source.write_bytes(gzip.compress(table.read_bytes(), 6))
            measure(name, source, pathlib.Path(folder) / ("out" + raw.suffix), options, peers)


if __name__ == "__main__":
    main()
