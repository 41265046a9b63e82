# SPDX-License-Identifier: MIT
"""The parts of the command line that all programs share."""
import json
import os
import pty
import re
import resource
import signal
import subprocess
import time
import unicodedata

import numpy as np
import pytest

from conftest import BIN, DEVICE, NO_DEVICE, as_nobody, in_sanitized, release_only

pytestmark = in_sanitized("odd arguments and inputs")

PROGRAMS = [p for p in ("prefix", "compact", "sort", "equalize") if (BIN / p).exists()]
ARRAYS = [p for p in PROGRAMS if p != "equalize"]
JOB = {"prefix": [], "compact": ["--nonzero"], "sort": []}


@pytest.mark.parametrize("program", PROGRAMS)
def test_help(box, program):
    out = box.good(program, "--help").out.decode()
    lines = out.splitlines()
    assert lines[0] == "Examples:" and "Exit status: 0 done" in out
    assert all(len(line) <= 120 for line in lines)
    for option in ("--output", "--force", "--verify", "--device", "--threads", "--stats", "--json", "--tmp", "--progress"):
        assert option in out
    assert box.good(program, "-h").out.decode() == out


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_names_the_program_as_it_is_called(box, program):
    (box.path / f"scan-{program}").symlink_to(BIN / program)
    called = subprocess.run([str(box.path / f"scan-{program}"), "--help"], stdout=subprocess.PIPE, check=True, timeout=20)
    out = called.stdout.decode()
    assert f"Usage: scan-{program} [" in out or f"Usage: scan-{program} SELECTOR" in out
    assert f"  {program} " not in out and f"| {program} " not in out and "@" not in out


@pytest.mark.parametrize("program", PROGRAMS)
def test_version(box, program):
    out = box.good(program, "--version").out.decode()
    assert out.startswith(program + " (scan) ") and out.count("\n") == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_on_a_full_disk(box, program):
    with open("/dev/full", "wb") as full:
        box.refused(3, "No space left", program, "--help", stdout=full)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_name_in_messages_is_the_name_of_the_file(box, program):
    os.symlink(BIN / program, box.path / "other")
    result = subprocess.run([box.path / "other", "--nonsense"], capture_output=True, timeout=60)
    assert result.returncode == 2 and result.stderr.startswith(b"other: ")


@pytest.mark.parametrize("program", ARRAYS)
@pytest.mark.parametrize("arguments, text", [
    (["--nonsense"], "unknown option --nonsense"),
    (["--forse"], "did you mean --force?"),
    (["--outptu=x"], "did you mean --output?"),
    (["-Z"], "unknown option -Z"),
    (["-fZ"], "unknown option -Z"),
    (["-o"], "-o needs a value"),
    (["--output"], "--output needs a value"),
    (["--force=yes"], "--force takes no value"),
    (["-o", ""], "the name is empty"),
    (["--json", ""], "the name is empty"),
    (["--json", "-"], "needs -o"),
    (["--json", "-", "-o", "-"], "needs -o"),
    (["--threads", "0"], "0 is not from 1 to 1024"),
    (["--threads", "1025"], "1025 is not from 1 to 1024"),
    (["--threads", "-1"], "not a whole number"),
    (["--threads", "+1"], "not a whole number"),
    (["--threads", "2x"], "not a whole number"),
    (["--threads", "0x2"], "not a whole number"),
    (["--threads", " 2"], "not a whole number"),
    (["--threads", "1.0"], "not a whole number"),
    (["--threads="], ": --threads: the number is empty"),
    (["--threads", "99999999999999999999999"], "is not from 1 to 1024"),
    (["--threads", "18446744073709551617"], "is not from 1 to 1024"),
    (["--device", "gpu"], "none of auto, cpu, cuda, cuda:N"),
    (["--device", "cuda:"], "number is empty"),
    (["--device", "cuda:x"], "not a whole number"),
    (["--device", "cuda:4096"], "not from 0 to 1023"),
    (["--progress", "maybe"], "none of auto, always, never"),
    (["--dtype", "u7"], "none of u8, i8"),
    (["--dtype", ""], "none of u8, i8"),
    (["--dtype="], ": --dtype: \"\" is none of u8, i8"),
    (["--csv", "--tsv"], "exclude each other"),
    (["--csv", "--dtype", "u8"], "excludes --csv"),
    (["--tsv", "--dtype", "u8"], "excludes --tsv"),
    (["a", "b"], "one input at a time"),
    (["--", "-a", "-b"], "one input at a time"),
    ([""], "name of the input is empty"),
])
def test_usage_errors(box, program, arguments, text):
    result = box.refused(2, text, program, *JOB[program], *arguments)
    assert result.err.endswith(f"(try '{program} --help')\n")


@pytest.mark.parametrize("program, option", [("compact", "--indices"), ("compact", "--rejected"), ("compact", "--mask"),
                                             ("equalize", "--mask"), ("equalize", "--plot"), ("equalize", "--out-dir"),
                                             ("sort", "--json"), ("prefix", "--output")])
def test_files_without_a_name(box, program, option):
    selector = ["--nonzero"] if option in ("--indices", "--rejected") else []
    box.refused(2, f"{option}: the name is empty (", program, option, "", *selector, "in")


@pytest.mark.parametrize("program", ARRAYS)
def test_ways_to_write_options(box, program):
    box.save("in.npy", np.arange(5, dtype="i8"))
    expected = box.good(program, *JOB[program], "in.npy").out
    for arguments in (["in.npy", "-o", "out"], ["-oout", "in.npy"], ["--output", "out", "in.npy"],
                      ["--output=out", "in.npy"], ["-fo", "out", "in.npy"], ["-foout", "in.npy"],
                      ["-o", "out", "--", "in.npy"]):
        box.good(program, *JOB[program], *arguments)
        assert box.read("out") == expected
        (box.path / "out").unlink()


@pytest.mark.parametrize("program", ARRAYS)
def test_dashes(box, program):
    box.save("-x", np.arange(5, dtype="i8"))
    (box.path / "-x.npy").rename(box.path / "-x")
    expected = box.good(program, *JOB[program], "./-x").out
    assert box.good(program, *JOB[program], "--", "-x").out == expected
    assert box.good(program, *JOB[program], "-", input=box.read("-x")).out == expected
    assert box.good(program, *JOB[program], input=box.read("-x")).out == expected


@pytest.mark.parametrize("program", ARRAYS)
def test_device(box, program):
    box.save("in.npy", np.arange(5, dtype="i8"))
    expected = box.good(program, *JOB[program], "in.npy").out
    assert box.good(program, *JOB[program], "--device", "cpu", "in.npy").out == expected
    assert box.good(program, *JOB[program], "--device", "auto", "in.npy").out == expected


@pytest.mark.parametrize("program", ARRAYS)
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:7"])
def test_no_cuda_device(box, program, device):
    box.save("in.npy", np.arange(5, dtype="i8"))
    box.refused(4, "no CUDA device" if DEVICE.built else "no CUDA backend", program, *JOB[program], "--device", device,
                "in.npy", "-o", "out", env=dict(os.environ, **NO_DEVICE))


@pytest.mark.parametrize("program", ARRAYS)
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads(box, program, threads):
    x = np.random.default_rng(1).normal(size=100_000)
    box.save("in.npy", x)
    assert (box.good(program, *JOB[program], "--threads", threads, "in.npy").out ==
            box.good(program, *JOB[program], "in.npy").out)


@pytest.mark.parametrize("program", ARRAYS)
def test_unreadable_inputs(box, program):
    box.refused(3, "absent: cannot open: No such file", program, *JOB[program], "absent", "-o", "out")
    box.refused(3, "cannot read: Is a directory", program, *JOB[program], ".", "-o", "out")
    box.refused(3, "cannot read: Is a directory", program, *JOB[program], "/", "-o", "out")
    box.refused(3, "cannot open", program, *JOB[program], "/dev/null/x", "-o", "out")
    box.refused(3, "cannot", program, *JOB[program], "/proc/self/mem", "-o", "out")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become somebody else")
@pytest.mark.parametrize("program", ARRAYS)
def test_input_without_permission(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("private")
    (folder / "in.txt").write_bytes(b"1\n")
    os.chmod(folder / "in.txt", 0)
    with open(folder / "in.txt", "rb") as open_file:  # other users cannot enter the folders above: open it through /proc
        result = subprocess.run([BIN / program, *JOB[program], f"/proc/self/fd/{open_file.fileno()}"],
                                capture_output=True, preexec_fn=as_nobody, pass_fds=[open_file.fileno()], timeout=60)
    assert result.returncode in (2, 3, 126) or b"Permission denied" in result.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_pipe_that_does_not_block(box, program):
    """Another process may have made stdin's pipe non-blocking."""
    data = [b"P5 2 2 255\nab", b"cd"] if program == "equalize" else [b"3\n1", b"\n2\n"]
    arguments = ["-o", "out.pgm"] if program == "equalize" else JOB[program]
    expected = box.good(program, *arguments, "-f", input=b"".join(data)).out
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    process = subprocess.Popen([BIN / program, *arguments, "-f"], stdin=reader, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=box.path)
    os.close(reader)
    for part in data:
        time.sleep(0.1)
        os.write(writer, part)
    os.close(writer)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err, out) == (0, b"", expected)


@pytest.mark.parametrize("program", ARRAYS)
def test_control_characters_stay_out_of_messages(box, program):
    result = box.refused(3, "a??[31mb", program, *JOB[program], "a\n\x1b[31mb")
    assert "\x1b" not in result.err


@pytest.mark.parametrize("name, shown", [(b"a\xc2\x9b31m", "a?31m"), (b"a\xff\xc3", "a??"),
                                         ("a\u00a0é€😀".encode(), "a\u00a0é€😀"), (b"\xed\xa0\x80\xc0\xaf", "?????"),
                                         (b"x" * 200 + b"\xe2\x82", "x" * 200 + "??")])
def test_messages_are_text(box, name, shown):
    """Terminals obey some control characters beyond ASCII, and readers of messages expect valid UTF-8."""
    name = os.fsdecode(name)
    box.refused(3, f"prefix: {shown}: cannot open", "prefix", name)
    box.save("in.npy", np.arange(3))
    if len(name) < 100:
        (box.path / "in.npy").rename(box.path / name)
        assert shown + "\n" in box.run("prefix", "--stats", name, "-o", "out.npy").err


@pytest.mark.parametrize("arguments, text", [(["-é"], "unknown option -é"), (["-r€"], "unknown option -€"),
                                             ([os.fsdecode(b"-\xff")], "unknown option -?"), (["--é"], "unknown option --é")])
def test_options_beyond_ascii(box, arguments, text):
    box.refused(2, text + " (", "sort", *arguments)


def on_terminal(program, *arguments, stdin=True, stdout=False, cwd=None):
    """Runs with a terminal; returns the exit status and what came on stderr and on the terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([BIN / program, *map(str, arguments)], stdin=slave if stdin else subprocess.DEVNULL,
                               stdout=slave if stdout else subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
    out, err = process.communicate(timeout=60)
    os.close(slave)
    try:
        shown = os.read(master, 4096)
    except OSError:
        shown = b""
    os.close(master)
    return process.returncode, err.decode(), shown


@pytest.mark.parametrize("program", ARRAYS)
def test_terminal_as_input(program):
    code, err, _ = on_terminal(program, *JOB[program])
    assert code == 2 and err.startswith("Usage: " + program) and "--help" in err


@pytest.mark.parametrize("program", ARRAYS)
def test_terminal_as_output(box, program):
    box.save("in.npy", np.arange(5, dtype="i8"))
    code, err, shown = on_terminal(program, *JOB[program], "in.npy", stdin=False, stdout=True, cwd=box.path)
    assert code == 2 and "binary data are not written to a terminal" in err and shown == b""
    box.write("in.txt", "1\n1\n")
    code, err, shown = on_terminal(program, *JOB[program], "in.txt", stdin=False, stdout=True, cwd=box.path)
    assert (code, err) == (0, "") and shown


@pytest.mark.parametrize("program", ARRAYS)
def test_reader_that_goes_away(box, program):
    box.save("in.npy", np.arange(3_000_000, dtype="i8"))
    process = subprocess.Popen([BIN / program, *JOB[program], "in.npy"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=box.path)
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == -signal.SIGPIPE


def test_reader_that_goes_away_where_sigpipe_was_ignored(box):
    box.save("in.npy", np.arange(3_000_000, dtype="i8"))
    process = subprocess.Popen([BIN / "prefix", "in.npy"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=box.path,
                               restore_signals=False, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == -signal.SIGPIPE


@pytest.mark.parametrize("closed", ["0", "1", "2", "0,1,2", "1,2"])
def test_closed_standard_descriptors(box, closed):
    box.save("in.npy", np.arange(5, dtype="i8"))

    def close():
        for fd in closed.split(","):
            os.close(int(fd))
    process = subprocess.Popen([BIN / "prefix", "in.npy", "-o", "out.npy"], cwd=box.path, preexec_fn=close)
    assert process.wait(timeout=60) == 0
    assert box.load("out.npy").tolist() == [0, 1, 3, 6, 10]
    if "1" in closed:
        process = subprocess.Popen([BIN / "prefix", "in.npy"], cwd=box.path, preexec_fn=close)
        assert process.wait(timeout=60) == 3


@pytest.mark.parametrize("program", ARRAYS)
def test_stats(box, program):
    box.save("in.npy", np.arange(1000, dtype="i8"))
    result = box.run(program, *JOB[program], "--stats", "in.npy", "-o", "out.npy")
    assert result.code == 0 and result.out == b""
    for word in ("input", "in.npy", "output", "out.npy", "type", "i64", "elements", "1000", "device", "cpu", "threads",
                 "read", "compute", "write", "total", " s", "GB/s"):
        assert word in result.err
    for phase in ("read", "compute", "write"):
        assert re.search(rf"^{phase} .* GB/s$", result.err, re.M), phase


@pytest.mark.parametrize("job", [
    "prefix a.npy", "prefix --reverse a.npy", "prefix --verify a.npy", "prefix a.txt", "prefix -k a a.csv",
    "compact --nonzero a.npy", "compact --unique --invert a.npy", "compact --mask mask.npy a.npy --rejected r.npy",
    "compact --unique a.txt", "compact --where a>2 a.csv", "sort a.npy", "sort -u a.npy --verify", "sort --argsort a.npy",
    "sort --argsort -u a.npy", "sort a.txt", "sort -u -k b -k a:desc a.csv",
    "sort --text a.txt", "sort -k b:text -k a:text a.csv"])
def test_rates_of_all_phases(box, job):
    values = np.arange(20_000, dtype="i4") % 1000
    box.save("a.npy", values)
    box.save("mask.npy", values > 500)
    box.write("a.txt", "".join(f"{v}\n" for v in values))
    box.write("a.csv", "a,b\n" + "".join(f"{v},{v % 7}\n" for v in values))
    report = json.loads(box.good(*job.split(), "--device", "cpu", "-o", "out", "--json", "-").out)
    for phase in ("read", "compute", "write"):
        assert report["phase_gb_per_s"][phase] > 0, phase


@pytest.mark.parametrize("job, computed", [
    ("prefix a.npy", 1000 * (4 + 8)), ("prefix --op max a.npy", 1000 * (4 + 4)), ("prefix a.txt", 1000 * (8 + 8)),
    ("compact --where x>=900 a.npy", 1000 * 4 + 100 * 4), ("compact --unique --invert a.npy --rejected r", 2 * 1000 * 4),
    ("compact --mask mask.npy a.npy --indices i.npy", 1000 * (4 + 1) + 100 * (4 + 4)), ("sort a.npy", 2 * 1000 * 4),
    ("sort --argsort a.npy", 1000 * (4 + 4)), ("sort -k a a.csv", 1000 * (8 + 4))])
def test_bytes_computed(box, job, computed):
    """The rate of `compute` counts the bytes of input and output, each once."""
    box.save("a.npy", np.arange(1000, dtype="i4"))
    box.save("mask.npy", np.arange(1000) >= 900)
    box.write("a.txt", "".join(f"{v}\n" for v in range(1000)))
    box.write("a.csv", "a\n" + "".join(f"{v}\n" for v in range(1000)))
    report = json.loads(box.good(*job.split(), "--device", "cpu", "-o", "out", "--json", "-").out)
    seconds, rate = report["seconds"]["compute"], report["phase_gb_per_s"]["compute"]
    assert abs(rate * seconds * 1e9 - computed) <= 1 + seconds * 1e3


@pytest.mark.parametrize("program", ARRAYS)
def test_json(box, program):
    box.save("in.npy", np.arange(1000, dtype="i4"))
    result = box.good(program, *JOB[program], "--json", "-", "--verify", "--threads", 2, "in.npy", "-o", "out.npy")
    report = json.loads(result.out)
    assert report["program"] == program and report["input"] == "in.npy" and report["output"] == "out.npy"
    assert report["elements"] == 1000 and report["type"] == "i32" and report["threads"] == 2
    assert report["verified"] is True and report["bytes_read"] == 4128
    assert report["bytes_written"] == os.path.getsize(box.path / "out.npy")
    seconds = report["seconds"]
    phases = [seconds[k] for k in ("other", "open", "read", "upload", "compute", "download", "write", "verify")]
    assert all(s >= 0 for s in phases) and seconds["compute"] > 0
    assert report["phases_overlap"] or abs(sum(phases) - seconds["total"]) < 1e-6
    box.good(program, *JOB[program], "--json", "report.json", "in.npy", "-o", "out2.npy")
    assert json.loads(box.read("report.json"))["output"] == "out2.npy"


@pytest.mark.parametrize("program", ARRAYS)
def test_json_with_data_on_stdout(box, program):
    box.save("in.npy", np.arange(10, dtype="i4"))
    plain = box.good(program, *JOB[program], "in.npy").out
    assert box.good(program, *JOB[program], "--json", "report.json", "in.npy").out == plain
    assert json.loads(box.read("report.json"))["output"] == "stdout"


@pytest.mark.parametrize("name", [b'quote".npy', b"back\\slash.npy", b"tab\t.npy", "größe.npy".encode(), b"bad\xff.npy",
                                  b"cut\xe2\x82.npy", b"\xed\xa0\x80.npy", "\U0001f600.npy".encode()])
def test_json_names(box, name):
    box.save("in.npy", np.arange(10, dtype="i4"))
    (box.path / "in.npy").rename(os.path.join(os.fsencode(box.path), name).decode("utf-8", "surrogateescape"))
    result = subprocess.run([BIN / "prefix", name, "--json", "-", "-o", "out"], cwd=box.path, capture_output=True)
    assert result.returncode == 0
    assert json.loads(result.stdout.decode())["input"] == name.decode("utf-8", "replace") or b"\xff" in name \
        or b"\xe2\x82." in name or b"\xed" in name


def test_json_keeps_the_rules_of_outputs(box):
    box.save("in.npy", np.arange(10, dtype="i4"))
    box.write("report.json", "precious")
    box.refused(2, "report.json: exists already", "prefix", "in.npy", "-o", "out.npy", "--json", "report.json")
    box.refused(2, "two outputs go to out.npy", "prefix", "in.npy", "-o", "out.npy", "--json", "out.npy")
    box.refused(2, "in.npy: exists already", "prefix", "in.npy", "-o", "out.npy", "--json", "in.npy")
    box.good("prefix", "in.npy", "-f", "-o", "out.npy", "--json", "report.json")
    assert json.loads(box.read("report.json"))["elements"] == 10


def test_progress(box):
    box.save("in.npy", np.arange(3_000_000, dtype="i8"))
    result = box.run("prefix", "--progress", "always", "in.npy", "-o", "out.npy")
    assert result.code == 0 and result.err.startswith("\rprefix: [") and "GB/s" in result.err
    assert result.err.endswith("\r") and "\x1b" not in result.err
    box.good("prefix", "--progress", "never", "in.npy", "-f", "-o", "out.npy")
    box.good("prefix", "--progress", "auto", "in.npy", "-f", "-o", "out.npy")


@pytest.mark.parametrize("locale", ["C", "de_DE.UTF-8", "C.UTF-8"])
def test_locale_does_not_matter(box, locale):
    environment = dict(os.environ, LC_ALL=locale, LANG=locale)
    assert box.good("prefix", input=b"1.5\n2.25\n", env=environment).out == b"1.5\n3.75\n"
    assert box.good("compact", "--where", "x > 1.75", input=b"1.5\n2.25\n", env=environment).out == b"2.25\n"


@release_only("sanitizers need more address space")
@pytest.mark.parametrize("program", ARRAYS)
@pytest.mark.parametrize("megabytes", [8, 38, 68, 98, 128])
def test_too_little_memory(box, program, megabytes):
    room = (megabytes << 20) + (BIN / program).stat().st_size  # GPU code makes programs large

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    box.write("in.txt", b"1234567\n" * 4_000_000)
    result = box.run(program, *JOB[program], "--threads", 2, "in.txt", "-o", "out", preexec_fn=limit)
    if result.code != 0:
        assert result.code == 3 and "memory" in result.err and result.err.count("\n") == 1
        assert box.names() == ["in.txt"]
    assert megabytes > 8 or result.code == 3


VISIBLE_FORMATS = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd,
                   *range(0x13430, 0x13456)} # numbers, abbreviations and hieroglyphs are written with these


def test_messages_show_no_hidden_characters(box):
    """Control, format and line-separating characters of a name could rewrite a terminal's line or turn it around."""
    hidden = [chr(code) for code in range(1, 0x110000) if code not in VISIBLE_FORMATS and
              unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")]
    assert len(hidden) > 150
    for at in range(0, len(hidden), 35):
        name = "ä漢😀" + "é".join(hidden[at:at + 35])
        for program in ("sort", "equalize"):
            shown = re.sub("[" + "".join(map(re.escape, hidden)) + "]", "?", name)
            box.refused(3, f"{program}: {shown}: cannot open", program, name, "-o", "out.png")
    done = subprocess.run(["\x1b]0;x\u202ey", "--nothing"], executable=BIN / "sort", capture_output=True, check=False)
    assert done.stderr.decode().startswith("?]0;x?y: unknown option")
    assert "(try '?]0;x?y --help')" in done.stderr.decode()


def test_json_escapes_hidden_characters(box):
    """The name is the same after JSON's escapes are read, and the file can be shown on a terminal."""
    name = "a\u202e\x7f\u0085\U000e0041\"ä😀.txt"
    box.write(name, "1\n")
    text = box.good("prefix", name, "-o", "out", "--json", "-").out.decode()
    assert json.loads(text)["input"] == name
    assert all(unicodedata.category(c) not in ("Cc", "Cf") or c == "\n" for c in text)
