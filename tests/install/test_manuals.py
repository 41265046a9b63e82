# SPDX-License-Identifier: MIT
"""Manual pages and completions know the options that --help shows, and no others."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin"))
SHARE = BIN.parent / "share"  # configured from apps/man and apps/completion
PROGRAMS = ["compact", "equalize", "prefix", "sort"]
pytestmark = pytest.mark.parametrize("program", PROGRAMS)


def options(program):
    if not (BIN / program).exists():
        pytest.skip(f"{program} is not built")
    said = subprocess.run([str(BIN / program), "--help"], stdout=subprocess.PIPE, check=True, timeout=20).stdout.decode()
    found = set()
    for line in said.splitlines():
        start = re.match(r" {2,8}((?:-\w, )?--\w.*)", line)
        if start:  # the column of options ends at two blanks
            found |= set(re.findall(r"--[a-z][a-z-]*", re.split(r" {2,}", start.group(1))[0]))
    assert len(found) > 8
    return found


def test_manual_names_every_option(program):
    page = (SHARE / f"man/man1/scan-{program}.1").read_text()
    named = set()
    for line in re.findall(r"^\.It Fl (.*)$", page, re.M):
        named |= {"-" + word for word in line.split() if re.fullmatch(r"-[a-z][a-z-]*", word)}
    assert named == options(program)


def test_manual_is_clean(program):
    page = SHARE / f"man/man1/scan-{program}.1"
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(page)], stdout=subprocess.PIPE, timeout=20,
                          check=False)
    assert done.stdout == b"" and done.returncode == 0


def names(program, option):
    """The values that a refusal of the option lists."""
    done = subprocess.run([str(BIN / program), option, "?"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20,
                          check=False)
    return re.search(r"is none of (.*) \(try", done.stderr.decode()).group(1).split(", ")


def complete(program, *words):
    """What bash offers for the last word."""
    script = f"""
. {SHARE}/bash/scan.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_scan_complete scan-{program}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script, "bash", f"scan-{program}", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=20, check=True)
    assert done.stderr == b""
    return {word.strip() for word in done.stdout.decode().splitlines()} - {""}


def test_bash_completes_every_option(program):
    assert complete(program, "--") == options(program)


def test_bash_completes_values(program):
    assert "cpu" in complete(program, "--device", "")
    assert complete(program, "--progress", "a") == {"auto", "always"}


def test_zsh_knows_every_option(program):
    text = (SHARE / "zsh/_scan").read_text()
    section = re.search(rf"^ *scan-{program}\)\n(.*?)^ *;;", text, re.M | re.S).group(1)
    common = re.search(r"^ *common=\(\n(.*?)^ *\)", text, re.M | re.S).group(1)
    table = re.search(r"^ *table=\(\n(.*?)^\)", text, re.M | re.S).group(1) if "$table" in section else ""
    assert set(re.findall(r"--[a-z][a-z-]*", section + common + table)) == options(program)


@pytest.mark.parametrize("option", ["--op", "--dtype"])
def test_every_operator_and_type(program, option):
    if option not in options(program):
        return
    listed = names(program, option)
    page = (SHARE / f"man/man1/scan-{program}.1").read_text()
    assert ".Cm " + " , ".join(listed) + " " in page
    assert complete(program, option, "") == set(listed)
    assert f"({' '.join(listed)})" in (SHARE / "zsh/_scan").read_text()
