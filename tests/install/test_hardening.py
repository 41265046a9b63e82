# SPDX-License-Identifier: MIT
"""The programs and the library are hardened: as their ELF files show it, and for what leaves no trace in them, as they
were compiled."""
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin")).parent
CACHE = (BUILD / "CMakeCache.txt").read_text() if (BUILD / "CMakeCache.txt").exists() else ""
RELEASE = "SCAN_SANITIZE:STRING=\n" in CACHE and re.search("^CMAKE_BUILD_TYPE:.*=(Release|RelWithDebInfo|MinSizeRel)$",
                                                          CACHE, re.M)
FILES = ["bin/compact", "bin/equalize", "bin/prefix", "bin/sort", "lib/libscan.so"]

pytestmark = pytest.mark.skipif(not RELEASE or not shutil.which("readelf"),
                                reason="needs an optimized build without sanitizers, and readelf")


def readelf(option, name):
    return subprocess.run(["readelf", option, "-W", BUILD / name], capture_output=True, check=True, timeout=60,
                          encoding="utf-8").stdout


@pytest.mark.parametrize("name", FILES)
def test_loaded_in_safety(name):
    """Anywhere in memory, its tables read-only from the start, its stack without code."""
    assert re.search(r"Type:\s+DYN", readelf("-h", name))
    segments, dynamic = readelf("-l", name), readelf("-d", name)
    assert "GNU_RELRO" in segments
    assert re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic)
    assert name.startswith("lib/") or re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic)
    stack = [line.split() for line in segments.splitlines() if "GNU_STACK" in line]
    assert len(stack) == 1 and stack[0][6] == "RW"
    assert not re.search(r"LOAD.* (RWE|WE) ", segments) and "TEXTREL" not in dynamic


@pytest.mark.parametrize("name", FILES)
def test_stack_protector_and_checked_calls(name):
    """Canaries are checked, and calls into the C library go through functions that know the sizes of buffers."""
    imported = {line.split()[7].split("@")[0] for line in readelf("--dyn-syms", name).splitlines()
                if len(line.split()) > 7 and line.split()[6] == "UND"}
    assert "__stack_chk_fail" in imported
    assert {symbol for symbol in imported if re.fullmatch(r"__\w+_chk", symbol)}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="is of x86-64")
def test_branch_targets_are_marked():
    """Every object of the library; a linked file loses the note if the C library's start files have none."""
    members = re.split("^File: ", readelf("-n", "lib/libscan.a"), flags=re.M)
    ours = [member for member in members if re.match(r"\S*\(\w+[.]c[.]o\)", member)]
    assert len(ours) > 20
    assert [member.split("\n")[0] for member in ours if "IBT, SHSTK" not in member] == []


def test_every_source_is_compiled_so():
    """Probes of large frames leave no trace in a file; nor does an object that has no array."""
    wanted = ["-fstack-protector-strong", "-fstack-clash-protection"]
    wanted += ["-fcf-protection=full"] if platform.machine() == "x86_64" else []
    commands = [entry["command"] for entry in json.loads((BUILD / "compile_commands.json").read_text())
                if re.search(r"/(scan|apps)/", entry["file"])]
    assert len(commands) > 50
    for command in commands:
        assert [flag for flag in wanted if flag not in command] == [], command
        assert re.search(r"[.]cu\b", command) or re.search("-D_FORTIFY_SOURCE=[23]", command), command


@pytest.mark.skipif(not shutil.which("nm"), reason="needs nm")
def test_names_are_defined_once():
    """In the archives that programs are linked from: of two functions of one name a linker takes either, and says nothing."""
    listed = subprocess.run(["nm", "-g", "--defined-only", BUILD / "lib/libsupport.a", BUILD / "lib/libscan.a"],
                            capture_output=True, check=True, timeout=60, encoding="utf-8").stdout
    names = [fields[2] for fields in map(str.split, listed.splitlines()) if len(fields) == 3 and fields[1] in "TDBR"]
    assert len(names) > 500
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
