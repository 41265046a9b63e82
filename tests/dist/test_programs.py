# SPDX-License-Identifier: MIT
"""The programs under mpirun: the bytes of one process, for numbers of ranks that do not divide what they work on; one line
and one exit code when they fail."""
import contextlib
import gzip
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from test_dist import BIN, ENVIRONMENT, MPIRUN

pytestmark = pytest.mark.skipif(not MPIRUN or not (BIN.parent / "lib/libscan_dist.so").exists(),
                                reason="no MPI: libscan_dist is not built, or mpirun is not here")
DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


def make_data(folder):
    rng = np.random.default_rng(22)
    floats = (rng.standard_normal(700001) * 10.0 ** rng.integers(-6, 6, 700001)).astype("f4")
    floats[100::7001] = np.nan
    floats[5::31] = 0
    floats[9::62] = -0.0
    runs = np.repeat(np.arange(3000), rng.integers(0, 900, 3000)).astype("i4")
    runs[600000:900000] = 7  # longer than a piece
    cube = np.sort(rng.standard_normal((2, 60, 50)).astype("f4"), 1)
    cube[1, 40, [7, 30]] = np.nan  # out of order
    arrays = {"floats": floats, "finite": np.nan_to_num(floats), "runs": runs, "equal": np.full(1001, 3, "i2"),
              "few": np.array([9, 2, 5], "u8"), "none": np.array([], "f8"), "matrix": rng.integers(0, 99, (41, 7)).astype(">i4"),
              "truth": rng.integers(0, 2, 7777).astype(bool), "cube": cube, "rows": np.repeat(rng.integers(0, 9, (500, 3)), rng.integers(1, 60, 500), 0), "bytes": rng.integers(0, 4, 1300001).astype("u1"),
              "wide": rng.integers(-(1 << 40), 1 << 40, 1500007), "mask": rng.integers(0, 2, len(runs)).astype(bool),
              "sorted": np.sort(rng.integers(0, 1 << 30, 300001).astype("u4"))}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    floats.tofile(folder / "floats.raw")
    (folder / "empty.raw").touch()
    make_rows(folder, random.Random(22))
    for name in "wide.npy", "table.csv":
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes(), 1))
    (folder / "cut.npy.gz").write_bytes((folder / "wide.npy.gz").read_bytes()[:-9])
    (folder / "images").mkdir()
    (folder / "grey").mkdir()
    for k in range(5):
        pixels = rng.gamma(2 + k, 9, (40, 30)).clip(0, 255).astype("u1")
        (folder / f"grey/{k}.pgm").write_bytes(b"P5\n30 40\n255\n" + pixels.tobytes())
    for name in "cell.png", "jacksboro_dem.pgm", "moon.png":
        shutil.copy(DATA / name, folder / "images")


def make_rows(folder, rng):
    words = ["".join(rng.choice("abcdefgh7") for _ in range(rng.randrange(7))) for _ in range(800)]

    def field(text):
        return '"' + text.replace('"', '""') + '"' if set(text) & set(',\n"') or rng.random() < 0.2 else text

    lines = {"numbers.txt": [f"{rng.randrange(-5000, 5000)}" for _ in range(400000)],
             "reals.txt": [rng.choice([f"{rng.gauss(0, 1):.6g}", "3", "-0", "0", "nan"]) for _ in range(9000)],
             "words.txt": [rng.choice(words) for _ in range(20000)] + [words[0]] * 300000,
             "wrong.txt": [str(i) for i in range(9000)] + ["oops"] + [str(i) for i in range(9000)],
             "mixed.txt": [str(i) for i in range(9000)] + [str((1 << 53) + 1)] + [f"{i}.5" for i in range(9000)],
             "late.txt": [str(i % 9) for i in range(700000)] + ["0.5"],  # of another type than it seemed
             "empty.txt": [],
             "short.csv": ["a,b", "2,x"],
             "title.csv": ["a,b"],
             "ended.csv": ["a,b"],
             "table.csv": ["name,val,time"] + [",".join([
                 field(rng.choice(words) + rng.choice(["", "a,b", "x\ny", 'q"q'])),
                 rng.choice(["", str(rng.randrange(99)), f"{rng.random():.3f}"]),
                 rng.choice(["2020-01-01T00:00:%02d" % rng.randrange(60), ""])]) for _ in range(6000)],
             "plain.csv": [f"{rng.randrange(9)};{i}" for i in range(5000)],
             "noted.csv": ["#top", "a,b"] + [f"{i % 97},{i}" + ('\n#mid,"' if i % 50 == 0 else "") for i in range(4000)] + ["", ""],
             "long.csv": ["a,b", "3," + "x" * 300000, "1,2", "2,4"]}
    for name, rows in lines.items():
        (folder / name).write_text("\n".join(rows) + ("" if name in ("reals.txt", "empty.txt", "ended.csv") else "\n"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    make_data(folder)
    return folder


def ours(text, program):
    return [line for line in text.splitlines() if line.startswith(f"{program}: ")]


def run(ranks, cwd, program, *arguments, launcher=(), **more):
    command = [str(BIN / program), *map(str, arguments)]
    if ranks:
        command = [MPIRUN, *launcher, "-n", str(ranks), *command]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=cwd, timeout=60, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    return done.returncode, done.stdout.decode(errors="replace")


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


JOBS = """
sort floats.npy -o o.npy --verify
sort floats.npy -o o.npy -r -u --nan first --verify
sort floats.npy -o o.npy --argsort
sort floats.npy -o o.txt --argsort -u -r --verify
sort --dtype f32 floats.raw -o o.raw --argsort --nan first --verify
sort equal.npy -o o.npy --argsort
sort equal.npy -o o.raw -u
sort few.npy -o o.npy -S 1M
sort none.npy -o o.npy -u --verify
sort --flat matrix.npy -o o.npy --argsort --verify
sort --axis 0 matrix.npy -o o.npy --verify
sort --axis 1 cube.npy -o o.npy --argsort -r --verify
sort --axis 1 --nan error cube.npy -o o.npy
sort --axis 1 --check cube.npy
sort --axis 0 --check cube.npy
sort truth.npy -o o.npy -r
sort bytes.npy -o o.npy
sort sorted.npy -o o.npy -r
sort wide.npy.gz -o o.npy --verify
sort cut.npy.gz -o o.npy
sort --dtype f32 empty.raw -o o.raw
sort --check sorted.npy
sort --check runs.npy
sort --check -u equal.npy
sort --nan error floats.npy -o o.npy
sort numbers.txt -o o --verify
sort -r -u --argsort numbers.txt -o o
sort --nan first reals.txt -o o
sort --nan error reals.txt -o o
sort --text -u words.txt -o o --verify
sort --text --argsort -r words.txt -o o
sort wrong.txt -o o
sort mixed.txt -o o
sort -k a short.csv -o o
sort -k a title.csv -o o
sort -k a ended.csv -o o
sort -k val:desc -k name:text table.csv -o o --verify
sort -k time:time:nan=first -k name:natural:desc table.csv -o o
sort -u --argsort -k val table.csv -o o
sort -k val:desc -k name:text table.csv.gz -o o
sort empty.txt -o o
sort --no-header --delimiter ; -k 1 plain.csv -o o
sort --comment # -k a:desc noted.csv -o o
sort -k a long.csv -o o
sort --check --text words.txt
sort --check -u numbers.txt
prefix finite.npy -o o.npy --verify
prefix finite.npy -o o.npy --reverse --exclusive --init 0.5 --verify
prefix floats.npy -o o.npy --op max --reverse --verify
prefix --dtype f32 floats.raw --op mul -o o.raw --out-dtype f64
prefix bytes.npy -o o.npy --exclusive --verify
prefix runs.npy -o o.npy --op xor --reverse --verify
prefix wide.npy.gz -o o.npy --reverse --op max
prefix few.npy -o o.txt
prefix none.npy -o o.npy --exclusive
prefix truth.npy -o o.npy --op or
prefix --flat matrix.npy -o o.npy
prefix --axis 0 matrix.npy -o o.npy --reverse --exclusive --verify
prefix --axis 1 cube.npy --op max -o o.raw --verify
prefix numbers.txt -o o --verify
prefix --reverse --exclusive reals.txt -o o --verify
prefix late.txt -o o
prefix --op mul wrong.txt -o o
prefix -k val table.csv -o o --verify
prefix -k val --reverse table.csv -o o
prefix -k a title.csv -o o
prefix --comment # -k a noted.csv -o o
compact --where x>0.5&&i<650000 floats.npy -o o.npy --indices i.npy --rejected r.npy --verify
compact --unique runs.npy -o o.npy --indices i.npy --counts c.npy --verify
compact --unique --invert runs.npy -o o.txt --rejected r.raw
compact --unique --axis 0 rows.npy -o o.npy --indices i.npy --counts c.npy --rejected r.npy --verify
compact --unique --axis 0 --invert rows.npy -o o.txt --indices i.txt
compact --mask mask.npy runs.npy -o o.npy --verify
compact --mask truth.npy runs.npy -o o.npy
compact --count --nonzero bytes.npy -o n.txt
compact --finite none.npy -o o.npy
compact --where x>0 wide.npy.gz -o o.npy --indices i.npy
compact --unique few.npy -o o.npy --counts c.txt
compact --where x>2 numbers.txt -o o --indices i.npy --verify
compact --unique --text --counts c --rejected r words.txt -o o
compact --unique --counts c.npy --indices i numbers.txt -o o
compact --count --finite reals.txt -o o
compact --where x>1 wrong.txt -o o
compact --where x>1 mixed.txt -o o
compact --where val>50||i<9 table.csv -o o --rejected r --indices i
compact --where a>50 title.csv -o o
compact --comment # --where a>50||i<9 noted.csv -o o --indices i
equalize images --out-dir o
equalize grey --together --out-dir o
equalize grey images --together --out-dir o
""".strip().splitlines()


def adapt(word):
    """Inputs are in the folder above that in which a program runs."""
    known = re.fullmatch(r"(floats|finite|runs|equal|few|none|matrix|truth|cube|rows|bytes|wide|mask|sorted|empty|cut)\.(npy|raw)(\.gz)?|images|grey|[a-z]+\.csv(\.gz)?|(empty|numbers|reals|words|wrong|mixed|late)\.txt", word)
    return f"../{word}" if known else word


@pytest.fixture(scope="module")
def alone(data):
    """What one process does: exit code, line and files of each job."""
    results = {}
    for job in JOBS:
        folder = data / "alone"
        folder.mkdir()
        code, text = run(0, folder, *map(adapt, job.split()))
        results[job] = code, ours(text, job.split()[0]), files_of(folder)
        shutil.rmtree(folder)
    return results


RANKS = 2, 3, 4, 7


@pytest.mark.parametrize("ranks", RANKS)
def test_bytes_of_one_process(data, alone, ranks):
    """Each job has an mpirun of its own: MPI starts once in a process, and a second process in the place of a rank that has
    ended is refused by Open MPI."""
    for number, job in enumerate(JOBS):
        if RANKS[number % 4] != ranks:
            continue  # every job with one of the numbers
        folder = data / f"with-{ranks}"
        folder.mkdir()
        code, text = run(ranks, folder, *map(adapt, job.split()))
        assert code == alone[job][0] and files_of(folder) == alone[job][2], (ranks, job, text[:2000])
        lines = ours(text, job.split()[0])
        assert len(lines) == len(alone[job][1]), (ranks, job, lines)
        if "mask" not in job and "grey images" not in job:  # which are compared earlier, and with others
            assert lines == alone[job][1], (ranks, job)
        shutil.rmtree(folder)


def test_a_sort_is_numpys(data, tmp_path):
    floats = np.load(data / "floats.npy")
    assert run(3, tmp_path, "sort", data / "floats.npy", "--argsort", "-o", "o.npy")[0] == 0
    assert np.array_equal(np.load(tmp_path / "o.npy"), np.argsort(floats, kind="stable"))


def test_equal_rows_are_divided(data, tmp_path):
    code, text = run(3, tmp_path, "sort", "--text", data / "words.txt", "-o", "o", "--json", "report")
    assert (code, text) == (0, "")
    shares = [rank["bytes_written"] for rank in json.loads((tmp_path / "report").read_text())["ranks"]]
    assert sum(shares) == (tmp_path / "o").stat().st_size and max(shares) < 0.4 * sum(shares), shares


def test_one_rank_is_a_program_alone(data, tmp_path):
    code, text = run(1, tmp_path, "sort", "--merge", data / "sorted.npy", data / "sorted.npy", "-o", "o.npy")
    assert (code, text) == (0, "")
    assert len(np.load(tmp_path / "o.npy")) == 600002


@pytest.mark.parametrize("words, arguments", [
    ("cannot open", ["absent.npy", "-o", "o.npy"]),
    ("-o FILE names the output", ["few.npy"]),
    ("an input is named", ["-o", "o.npy"]),
    ("give -S more", ["wide.npy", "-o", "o.npy", "-S", "4M"]),
    ("no regular file", ["few.npy", "-o", "/dev/full"]),
    ("exists already", ["few.npy", "-o", "few.npy"]),
])
def test_one_line_of_all(data, words, arguments):
    before = files_of(data)
    code, text = run(3, data, "sort", *arguments)
    lines = ours(text, "sort")
    assert code in (2, 3) and len(lines) == 1 and words in lines[0], text
    assert files_of(data) == before


def test_replaced_and_reported(data, tmp_path):
    shutil.copy(data / "sorted.npy", tmp_path / "o.npy")
    code, text = run(2, tmp_path, "sort", "-r", "o.npy", "-f", "-o", "o.npy", "--stats", "--json", "report")
    assert code == 0 and "rank 0 " in text and "rank 1 " in text
    assert np.array_equal(np.load(tmp_path / "o.npy"), np.load(data / "sorted.npy")[::-1])
    assert (tmp_path / "report").read_text().count('"bytes_read"') == 3


def test_a_launch_that_is_none(data, tmp_path):
    """Without MPI's own launcher each process would take itself for all."""
    more = dict(os.environ, SLURM_STEP_NUM_TASKS="4", SLURM_PROCID="2")
    done = subprocess.run([BIN / "sort", data / "few.npy", "-o", "o.npy"], env=more, cwd=tmp_path, capture_output=True,
                          check=False)
    assert done.returncode == 2 and b"MPI finds 1 of them" in done.stderr and not files_of(tmp_path)
    more["SCAN_DIST"] = "off"
    done = subprocess.run([BIN / "sort", data / "few.npy", "-o", "o.npy"], env=more, cwd=tmp_path, check=False)
    assert done.returncode == 0 and list(files_of(tmp_path)) == ["o.npy"]


def test_full_disk(data, tmp_path):
    """A limit of file sizes that the segments of MPI keep: 8 MiB, and 10 MiB are written."""
    code, text = run(3, tmp_path, "prefix", data / "bytes.npy", "-o", "o.npy",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20)))
    lines = ours(text, "prefix")
    assert code == 3 and len(lines) == 1 and "cannot write: File too large" in lines[0], text
    assert not files_of(tmp_path)


def processes_of(path):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.path.samefile(entry / "exe", BIN / "sort") and os.readlink(entry / "cwd") == str(path):
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def kill_a_rank(folder, rng, ranks, delay, *arguments, launcher=()):
    """Starts a sort that writes o.npy and kills one of its ranks, `delay` seconds after MPI has started, when the output
    exists: before that, launchers of Open MPI were seen to wait for ever. Returns the output, and how long all took to end."""
    command = [MPIRUN, *launcher, "-n", ranks, BIN / "sort", *arguments, "-o", "o.npy"]
    job = subprocess.Popen(list(map(str, command)), env=ENVIRONMENT, cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until = time.monotonic() + 20
    while not list(folder.glob(".o.npy.*")) and job.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(delay)
    victims = processes_of(folder)
    if victims:
        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(rng.choice(victims), signal.SIGKILL)
    begin = time.monotonic()
    text = job.communicate(timeout=60)[0].decode(errors="replace")
    return text, time.monotonic() - begin


def skip_without_recovery(launcher):
    """--enable-recovery: this launcher leaves the other ranks to themselves."""
    if launcher and b"Open MPI" not in subprocess.run([MPIRUN, "--version"], capture_output=True, check=False).stdout:
        pytest.skip("this launcher ends all ranks with the first")


@pytest.mark.parametrize("launcher", [(), ("--enable-recovery",)])
def test_killed(data, tmp_path, launcher):
    skip_without_recovery(launcher)
    seed = time.time_ns() % 1000000
    rng = random.Random(seed)
    ended = 0
    for tries in range(8):  # the first one as soon as the output is there
        text, seconds = kill_a_rank(tmp_path, rng, 4, tries % 3 * rng.uniform(0, 0.1), data / "wide.npy", "--argsort",
                                    "--verify", launcher=launcher)
        assert seconds < 15 and not processes_of(tmp_path), seed
        assert len(ours(text, "sort")) <= 1, (seed, text)
        left = files_of(tmp_path)
        ended += not left
        assert set(left) <= {"o.npy"}, (seed, left.keys())
        if left:
            assert len(np.load(tmp_path / "o.npy")) == 1500007, seed
            (tmp_path / "o.npy").unlink()
        if ended and tries >= 2:
            break
    assert ended, (seed, "no rank was killed before it was done")
