#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py BUILD [--lines]: branches that ran, of the parsers and of the code around outputs and temporary files, file by
file; with --lines the lines that have others. For tools/test --coverage; gcov counts.

A branch is one way out of a condition. Those that gcov marks as taken by exceptions alone are not counted.
"""
import collections
import json
import pathlib
import subprocess
import sys

PARSERS = ("npy.c", "text.c", "table.c", "table_chunks.c", "table_column.c", "table_comment.c", "table_index.c", "table_name.c", "dialect.c",
           "column.c", "number.cpp", "timestamp.c", "natural.c", "strings.c", "utf8.c", "expression.c", "expression_token.c", "pnm.c",
           "probe.c", "orientation.c", "profile.c", "decoder.c", "codec_gzip.c", "codec_zstd.c", "cli.c", "options.c", "names.c",
           "memory.c", "text_chunks.c", "row_reader.c", "input.c", "text_test.c", "bands.c")
TEMPORARY = ("spool.c", "uncached.c", "part_file.c", "array_spool.c", "row_spool.c")


def add_branches(data, found):
    """Adds the branches of one compiled source, and of those that it includes, to found: name -> {(line, k): count}."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", data], capture_output=True, check=True,
                          cwd=data.parent)
    for file in json.loads(done.stdout.splitlines()[0])["files"]:
        counts = found.setdefault(pathlib.Path(file["file"]).name, collections.Counter())
        for line in file["lines"]:
            for k, branch in enumerate(line["branches"]):
                if not branch["throw"]:
                    counts[line["line_number"], k] += branch["count"]


def print_group(title, names, found, with_lines):
    total = taken = 0
    print(title)
    for name in sorted(names):
        if name not in found or not found[name]:
            continue
        ran = sum(count > 0 for count in found[name].values())
        total, taken = total + len(found[name]), taken + ran
        print(f"  {name:20}{ran:6} of {len(found[name]):5} branches {100 * ran / len(found[name]):6.1f} %")
        if with_lines:
            print("    not all of line", *sorted({line for (line, _), count in found[name].items() if not count}))
    print(f"  {'all':20}{taken:6} of {total:5} branches {100 * taken / max(total, 1):6.1f} %")


def main():
    found = {}
    for data in sorted(pathlib.Path(sys.argv[1]).resolve().rglob("*.gcda")):
        add_branches(data, found)
    outputs = [name for name in found if name in TEMPORARY or (name.startswith("output") and name.endswith(".c"))]
    print_group("parsers", PARSERS, found, "--lines" in sys.argv)
    print_group("outputs and temporary files", outputs, found, "--lines" in sys.argv)


if __name__ == "__main__":
    main()
