# SPDX-License-Identifier: MIT
"""The programs when the device fails at any call: with `auto` they write the CPU's bytes and one line of error, with
`cuda` they exit with code 4 and write no output. The emulator (-DSCAN_CUDA=EMULATED) injects the failures."""
import os

import numpy as np
import pytest

from conftest import SANITIZED
from device_jobs import LARGE, needs_emulator, on_cpu, run

FAILING = [
    "prefix part_f32.npy -o {}",
    "prefix part_f32.npy --reverse --exclusive -o {}",
    "prefix part_f32.npy --algorithm look-back -o {}",
    "prefix delays.txt -o {}",
    "compact --where x>0 part_f32.npy -o {} --indices {}i.npy --rejected {}r.npy",
    "compact --unique --invert sorted.npy -o {}",
    "compact --where a>3 missing.csv -o {}",
    "sort two_f32.npy -o {}",
    "sort -u two_f32.npy -o {}",
    "sort --argsort two_f32.npy -o {}",
    "sort delays.txt -o {}",
    "sort -u -k a -k b few.csv -o {}",
    "sort -k b:text -k c:text few.csv -o {}",
    "equalize small.pgm -o {}.pgm",
    "equalize --method clahe small.pgm --verify -o {}.pgm",
    "equalize small.pgm small2.pgm small3.pgm --out-dir {}/",
]


@pytest.fixture(scope="module")
def small_inputs(inputs):
    rng = np.random.default_rng(8)
    # Two pieces of 1 MiB. A sort copies by smaller ones in the emulator, and sorts all as one. More rows of a table make no
    # more calls, and slower ones; nor do keys of more bits, all of which the device sorts without the host.
    inputs.save("part_f32.npy", rng.normal(size=300_000).astype("f4"))
    inputs.save("two_f32.npy", rng.integers(0, 200, 60_000).astype("f4"))
    inputs.write("few.csv", "".join(inputs.read("missing.csv").decode().splitlines(True)[:1001]))
    for name in ("small", "small2", "small3"):
        inputs.write(f"{name}.pgm", b"P5 60 50 255\n" + rng.integers(40, 90, 3000, dtype="u1").tobytes())
    return inputs


def calls():
    """Yields every call at first, then fewer and fewer; few where each run is slow."""
    call = 1
    while True:
        yield call
        call += 1 + call // (2 if SANITIZED else 6)


@needs_emulator
@pytest.mark.parametrize("job", FAILING)
def test_failures(small_inputs, job):
    """Out of memory once; an illegal address and a failed launch, after which every call fails."""
    box, warned, died = small_inputs, 0, 0
    expected = on_cpu(box, job.replace("--algorithm look-back", ""))
    run(box, job, "cuda", "cuda")
    for k, call in enumerate(calls()):
        fault = f"{call}:{('2', '700:forever', '719:forever')[k % 3]}"
        result, files = run(box, job, "auto", "auto", SCAN_EMULATED_FAIL=fault, **LARGE)
        if "--algorithm" in job and call < 16 and result.code == 2:
            assert "the CPU backend has blocked" in result.err and not files
            continue  # without a device that answers, an algorithm that only a device has is a usage error
        assert (result.code, files) == (0, expected), (fault, result.err)
        assert result.err.count("\n") == (result.err != ""), (fault, result.err)
        assert result.err == "" or result.err.endswith("; the CPU does the job\n"), (fault, result.err)
        strict, files = run(box, job, "cuda", "cuda", SCAN_EMULATED_FAIL=fault)
        if strict.code == 0:
            assert (strict.err, files) == ("", expected), (fault, strict.err)
        else:
            batch = "--out-dir" in job  # every image is a file of its own
            assert strict.code == 4 and (batch or (not files and strict.err.count("\n") == 1)), (fault, strict.err)
            assert all(files[name] == expected[name] for name in files)
        warned += result.err != ""
        died += strict.code == 4
        if k % 3 == 2 and not result.err and not strict.err and call > 60:
            break
    assert warned >= 3 and died >= 3


@needs_emulator
@pytest.mark.parametrize("job", ["prefix big_f64.npy -o {}", "compact --nonzero big_f64.npy -o {} --rejected {}r.npy"])
def test_short_of_device_memory_pieces_are_smaller(inputs, job):
    """64 MiB hold four slots of pieces of 1 MiB, but not of 8 MiB, the size chosen for a pipe of unknown length."""
    expected = on_cpu(inputs, job)
    data = inputs.read("big_f64.npy")
    command = job.replace("big_f64.npy ", "")
    assert command != job
    (inputs.path / "cuda").mkdir(exist_ok=True)
    result = inputs.run(*[word.replace("{}", "cuda/o") for word in command.split()], "-f", "--device", "cuda", input=data,
                        env=dict(os.environ, SCAN_EMULATED_MEMORY=str(64 << 20)))
    assert (result.code, result.err) == (0, "")
    assert inputs.read("cuda/o") == expected["o"]


@needs_emulator
@pytest.mark.parametrize("job", ["prefix big_f64.npy -o {}", "compact --nonzero big_f64.npy -o {}", "sort big_f64.npy -o {}",
                                 "sort --argsort big_f64.npy -o {}", "sort delays.txt -o {}", "equalize moon.png -o {}.png"])
def test_without_device_memory(inputs, job):
    expected = on_cpu(inputs, job)
    little = {"SCAN_EMULATED_MEMORY": str(1 << 12)}
    result, files = run(inputs, job, "auto", "auto", **little, **LARGE)
    assert (result.code, files) == (0, expected)
    assert result.err.count("\n") == 1 and result.err.endswith("; the CPU does the job\n")
    result, files = run(inputs, job, "cuda", "cuda", **little)
    assert result.code == 4 and not files and result.err.count("\n") == 1
    assert "bytes" in result.err or "memory" in result.err


@needs_emulator
@pytest.mark.parametrize("job, launch", [("prefix part_f32.npy -o {}", 2), ("compact --unique sorted.npy -o {}", 1),
                                         ("sort two_f32.npy -o {}", 2), ("sort -k a missing.csv -o {}", 1),
                                         ("equalize small.pgm small2.pgm --out-dir {}/", 2)])
def test_a_device_that_hangs(small_inputs, job, launch):
    """A kernel never ends, and then no call returns that waits for the device, exit() included."""
    box = small_inputs
    hung = {"SCAN_EMULATED_HANG": str(launch), "SCAN_DEVICE_TIMEOUT": "1"}
    result, files = run(box, job, "auto", "auto", **hung, **LARGE)
    expected = on_cpu(box, job)
    assert (result.code, files) == (0, expected), result.err
    assert result.err.count("\n") == 1 and result.err.endswith("; the CPU does the job\n")
    assert "the device has not answered for 1 s (SCAN_DEVICE_TIMEOUT)" in result.err
    result, files = run(box, job, "cuda", "cuda", **hung)
    assert result.code == 4 and "the device has not answered for 1 s" in result.err
    assert not files or ("--out-dir" in job and all(files[name] == expected[name] for name in files))


@needs_emulator
def test_a_timeout_that_nothing_exceeds(small_inputs):
    for job in ("prefix part_f32.npy -o {}", "prefix part_f32.npy --algorithm host-sums -o {}", "equalize small.pgm -o {}.pgm"):
        result, files = run(small_inputs, job, "cuda", "cuda", SCAN_DEVICE_TIMEOUT="600")
        assert (result.code, result.err) == (0, "") and files == run(small_inputs, job, "cuda", "cuda")[1], job
    result, files = run(small_inputs, "prefix part_f32.npy -o {}", "cuda", "cuda", SCAN_DEVICE_TIMEOUT="1s")
    assert not files and "SCAN_DEVICE_TIMEOUT=1s: not a number of seconds" in result.err and result.code == 2


@needs_emulator
@pytest.mark.parametrize("algorithm, code", [("look-back", 0), ("hierarchical", 4)])
def test_only_an_order_that_the_cpu_has_goes_on_there(inputs, algorithm, code):
    job = "prefix f32.npy -o {} --algorithm " + algorithm
    result, files = run(inputs, job, "auto", "auto", SCAN_EMULATED_FAIL="30:719:forever")
    assert result.code == code and result.err.count("\n") == 1
    assert files == ({} if code else on_cpu(inputs, "prefix f32.npy -o {}"))
