# SPDX-License-Identifier: MIT
"""Every example of --help and of the manuals runs as it is written: without a word on stderr, and what it names as an
output is there. Files that an example reads are made by the suffixes of their names."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest

from conftest import BIN, HAS_PCRE2, in_release

pytestmark = in_release("documents")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("compact", "equalize", "prefix", "sort")
OUTPUT_OPTIONS = ("-o", ">", "--rejected", "--indices", "--counts", "--plot", "--out-dir", "--json")
TABLE = [("time", "magnitude", "depth_km", "place", "region", "price", "cost", "stock", "amount"),
         ("2018-02-05", 6.1, 80, "", "south", 4, 9, 0, 7), ("2018-02-06T15:50:42.4Z", 6.4, 10, "Anchorage, Alaska", "north", 3, 2, 1, 5)]


def manual(program):
    for line in re.findall(r"^\.Dl (.*)$", (ROOT / f"apps/man/scan-{program}.1.in").read_text(), re.M):
        yield line.replace(r"\(dq", '"').replace(r"\(or", "|").replace(r"\-", "-").replace(r"\&", "")


def short_help(program):
    text = subprocess.run([BIN / program, "--help"], capture_output=True, check=True, timeout=20).stdout.decode()
    for line in re.search(r"^Examples:\n((?:  .*\n)+)", text).group(1).splitlines():
        yield re.split(r" {2,}", line.strip())[0]


def make(path, comments=False):
    """An input: arrays, lines and times are in order, for what merges."""
    if path.name in ("preise.csv", "konto.csv"):
        path.write_text("preis;Betrag\n9,25;1.234,50\n;2\n" if path.name == "preise.csv" else "Betrag;preis\n1.234,50;1\n2;3\n")
    elif path.name == "plain.csv":
        path.write_text('7,"1,234"\n#\n8,NA\n' if comments else '7,"1,234"\n8,NA\n')
    elif path.suffix in (".csv", ".tsv"):
        mark = "," if path.suffix == ".csv" else "\t"
        path.write_text("".join(mark.join(f'"{v}"' if "," in str(v) else str(v) for v in row) + "\n" for row in TABLE))
    elif path.name == "matrix.npy":
        np.save(path, np.array([[1, 2], [1, 2], [3, 4]]))
    elif path.name == "mask.npy":
        np.save(path, np.array([[True, False], [False, True], [True, True]]))
    elif path.name == "keep.npy":
        np.save(path, np.array([True, False, True, True]))
    elif path.suffix == ".npy":
        np.save(path, np.array([1, 5.5, 5.5, np.nan]))
    elif path.suffix in (".png", ".jpg"):
        shutil.copy(ROOT / ("data/cell.png" if path.suffix == ".png" else "data/retina.jpg"), path)
    elif not path.suffix:
        path.mkdir()
        make(path / "a.png")
    else:
        path.write_text("error: 1\nwarning\n" if path.name == "log.txt" else "1\n1\n2\n")


def run(example, program, folder):
    folder.mkdir()
    for place in re.findall(r" (/\w+) ", example):  # a folder elsewhere
        (folder / place[1:]).mkdir()
        example = example.replace(f" {place} ", f" {folder}{place} ")
    words = shlex.split(example)
    outputs = [after for word, after in zip(words, words[1:]) if word in OUTPUT_OPTIONS and after != "-"]
    for word in words:
        if word not in outputs and (re.fullmatch(r"[\w-]+\.(csv|tsv|npy|txt|png|jpg|raw)", word) or word == "photos"):
            make(folder / word, "--comment" in words)
    (folder / "bin").mkdir()
    for name in PROGRAMS:
        (folder / f"bin/scan-{name}").symlink_to(BIN / name)
    (folder / f"bin/{program}").symlink_to(BIN / program)
    script = "set -o pipefail\nproducer() { head -c 400 /dev/zero; }\n" + example
    done = subprocess.run(["bash", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
                          env=dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}"))
    assert (done.returncode, done.stderr.decode()) == (0, ""), example
    assert done.stdout or outputs, example
    assert all((folder / name).exists() for name in outputs), example


@pytest.mark.parametrize("examples", [manual, short_help])
@pytest.mark.parametrize("program", PROGRAMS)
def test_examples(program, examples, tmp_path):
    found = list(examples(program))
    assert len(found) >= 4
    for k, example in enumerate(found):
        if HAS_PCRE2 or " matches " not in example:
            run(example, program, tmp_path / str(k))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_option_has_an_example(program):
    text = subprocess.run([BIN / program, "--help"], capture_output=True, check=True, timeout=20).stdout.decode()
    shown = " ".join([*manual(program), *short_help(program)]).split()
    options = re.findall(r"^ {2,8}(?:(-\w), )?(--[\w-]+)(?:, (--[\w-]+))?", text, re.M)
    assert len(options) > 15
    for short, option, more in options:
        for name in filter(None, (option, more)):
            assert name in shown or (short and short in shown) or name in ("--help", "--version"), name
