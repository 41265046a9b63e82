#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py BUILD [--lines]: branches that ran, of the parsers and of the code around outputs, file by file; with
--lines the lines that have others. For tools/test --coverage; gcov counts.

A branch is one way out of a condition. Those that gcov marks as taken by exceptions alone are not counted.
"""
import json
import pathlib
import subprocess
import sys

PARSERS = ("npy.c", "text.c", "table.c", "table_column.c", "column.c", "number.cpp", "utf8.c", "expression.c", "pnm.c", "probe.c",
           "cli.c", "options.c", "names.c")


def branches(data):
    """The branches of one file: [(line, count)]."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", data], capture_output=True, check=True,
                          cwd=data.parent)
    name = data.name.rsplit(".gcda")[0]
    for file in json.loads(done.stdout.splitlines()[0])["files"]:
        if pathlib.Path(file["file"]).name == name:
            return [(line["line_number"], branch["count"]) for line in file["lines"] for branch in line["branches"]
                    if not branch["throw"]]
    return []


def print_group(title, names, found, with_lines):
    total = taken = 0
    print(title)
    for name in sorted(names):
        if name not in found or not found[name]:
            continue
        ran = sum(count > 0 for _, count in found[name])
        total, taken = total + len(found[name]), taken + ran
        print(f"  {name:20}{ran:6} of {len(found[name]):5} branches {100 * ran / len(found[name]):6.1f} %")
        if with_lines:
            print("    not all of line", *sorted({line for line, count in found[name] if not count}))
    print(f"  {'all':20}{taken:6} of {total:5} branches {100 * taken / max(total, 1):6.1f} %")


def main():
    data = sorted(pathlib.Path(sys.argv[1]).resolve().rglob("support.dir/**/*.gcda"))
    found = {path.name.rsplit(".gcda")[0]: branches(path) for path in data}
    outputs = [name for name in found if name.startswith("output")]
    print_group("parsers", PARSERS, found, "--lines" in sys.argv)
    print_group("outputs", outputs, found, "--lines" in sys.argv)


if __name__ == "__main__":
    main()
