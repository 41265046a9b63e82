# SPDX-License-Identifier: MIT
"""What newcomers type first: tools/demo, and every example of README.md.

README.md: each fenced block marked `sh` is run by bash, in a folder with data/ and build/bin/ and with the installed names
(scan-sort ...) on the PATH; a command that fails fails the test. A block marked `console` is a session: lines after `$ `
are commands, and the lines after those must be what they print, byte for byte. A block marked `c` or `cpp` with a main() is
compiled, linked with the library and run; one marked `python` is run with the library on its path. A block right after the comment `<!-- not run: reason -->` is skipped.
"""
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from conftest import SANITIZED, in_release

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin"))
PROGRAMS = ["compact", "equalize", "prefix", "sort"]
README = ROOT / "README.md"

pytestmark = [
    in_release("documents"),
    pytest.mark.skipif(not all((BIN / program).exists() for program in PROGRAMS), reason="programs not built"),
]


def private_libraries():
    """Returns what libscan.a must be linked with, according to pkg-config --static."""
    return re.search(r"^Libs.private: *(.*)$", (BIN.parent / "scan/scan.pc").read_text(), re.M).group(1).split()


def blocks():
    """Returns (line, language, text) of every block that is to be run."""
    found, open_at, language, lines, exempt = [], 0, "", [], False
    for number, line in enumerate(README.read_text().splitlines() if README.exists() else [], 1):
        fence = re.match(r"\s*```+\s*(\w*)\s*$", line)
        if fence and not open_at:
            open_at, language, lines = number, fence.group(1), []
        elif fence:
            if language in ("sh", "console", "c", "cpp", "python") and not exempt:
                found.append(pytest.param(language, "\n".join(lines) + "\n", id=f"line {open_at}, {language}"))
            open_at, exempt = 0, False
        elif open_at:
            lines.append(line)
        elif line.strip():
            exempt = line.startswith("<!-- not run:")
    return found


@pytest.fixture
def home(tmp_path):
    """A folder like the project's own after a build, and the programs under their installed names."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    (tmp_path / "build").mkdir()
    (tmp_path / "build/bin").symlink_to(BIN)
    (tmp_path / "installed").mkdir()
    for program in PROGRAMS:
        (tmp_path / f"installed/scan-{program}").symlink_to(BIN / program)
    return tmp_path


def run(command, home, **more):
    environment = dict(os.environ, PATH=f"{home}/installed:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    return subprocess.run(command, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False, **more)


def bash(script, home):
    done = run(["bash", "-euo", "pipefail", "-c", script], home)
    assert done.returncode in (0, 141), done.stdout.decode()  # 141: head had enough
    return done.stdout.decode()


@pytest.mark.skipif(not README.exists(), reason="there is no README.md")
@pytest.mark.parametrize("language, text", blocks())
def test_readme(language, text, home):
    if language == "sh":
        bash(text, home)
    elif language == "console":
        for step in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command, _, expected = step.partition("\n")
            assert bash(command, home) == expected, command
    elif "main(" in text or language == "python":
        if SANITIZED:
            pytest.skip("a plain program cannot use a sanitizer build")
        source = f"example.{language}"
        (home / source).write_text(text)
        command = [sys.executable, source]
        if language != "python":
            compiler = ["cc", "-std=c11"] if language == "c" else ["c++", "-std=c++17", "-pedantic"]
            done = run([*compiler, "-Wall", "-Wextra", "-Werror", "-I", str(ROOT), source, str(BIN.parent / "lib/libscan.a"),
                        *private_libraries(), "-o", "example"], home)
            assert done.returncode == 0, done.stdout.decode()
            command = ["./example"]
        done = run(["env", f"LD_LIBRARY_PATH={BIN.parent / 'lib'}", *command], home)
        assert done.returncode == 0, done.stdout.decode()


def test_demo(tmp_path):
    """The results of tools/demo, against Python."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    done = subprocess.run([str(tmp_path / "tools/demo")], env=dict(os.environ, SCAN_BIN=str(BIN)), cwd="/",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                          check=False)
    assert done.returncode == 0 and done.stderr == b"", (done.stdout, done.stderr)
    out = tmp_path / "out/demo"

    def rows(path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.reader(file))
    quakes = rows(tmp_path / "data/earthquakes.csv")
    body = quakes[1:]
    assert rows(out / "strongest.csv") == quakes[:1] + sorted(body, key=lambda row: -float(row[4]))
    shallow = [row for row in body if float(row[4]) >= 4.5 and float(row[3]) < 70]
    assert rows(out / "shallow.csv") == quakes[:1] + shallow and shallow
    hours = rows(out / "degree-hours.csv")
    total = 0.0
    for row in hours[1:]:
        total += float(row[1])
        assert abs(float(row[2]) - total) < 1e-6
    delays = np.load(tmp_path / "data/flight_delays.npy")
    assert (np.load(out / "delays-sorted.npy") == np.sort(delays)).all()
    assert (np.load(out / "delays-over-an-hour.npy") == delays[delays >= 60]).all()
    assert (np.load(out / "delays-running-sum.npy") == np.cumsum(delays, dtype=np.int64)).all()
    assert b"<svg" in (out / "moon-histogram.svg").read_bytes()
    assert (out / "moon.png").read_bytes()[:4] == b"\x89PNG" and (out / "hubble.png").stat().st_size > 100_000


def test_picture(home):
    """The picture and the plot in README.md are what equalize makes."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    bash("scan-equalize data/moon.png -o moon.png --plot moon.svg", home)
    made, shown = (np.asarray(image.open(home / path)) for path in ("moon.png", "data/expected/moon.png"))
    assert np.array_equal(made, shown)
    assert (home / "moon.svg").read_bytes() == (ROOT / "data/expected/moon.svg").read_bytes()
