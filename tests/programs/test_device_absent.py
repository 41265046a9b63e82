# SPDX-License-Identifier: MIT
"""The programs where there is no device, and what `auto` takes for a job that is large enough."""
import os

import pytest

from conftest import DEVICE, NO_DEVICE
from device_jobs import LARGE, needs_emulator, on_cpu, run

WITHOUT = ["prefix u32.npy -o {}", "compact --nonzero u32.npy -o {}", "sort u32.npy -o {}", "sort delays.txt -o {}",
           "equalize moon.png -o {}.png", "equalize moon.png cell.png --out-dir {}/"]


@pytest.mark.parametrize("job", WITHOUT)
def test_without_a_device(inputs, job):
    expected = on_cpu(inputs, job)
    result, files = run(inputs, job, "cuda", "cuda", **NO_DEVICE)
    assert result.code == 4 and result.err.count("\n") == 1 and not files
    assert ("no CUDA device" if DEVICE.built else "no CUDA backend") in result.err
    result, files = run(inputs, job, "auto", "auto", **NO_DEVICE)
    assert (result.code, result.err, files) == (0, "", expected)
    result, files = run(inputs, job, "auto", "auto", **NO_DEVICE, **LARGE)
    assert (result.code, files) == (0, expected)
    if DEVICE.built:
        assert "no CUDA device" in result.err and result.err.endswith("; the CPU does the job\n")
    assert result.err.count("\n") == DEVICE.built


@pytest.mark.parametrize("value", ["x", "-1", "0", "1e9", " 1"])
def test_threshold_that_is_no_number(inputs, value):
    if not DEVICE.built:
        pytest.skip("this build has no CUDA backend to choose")
    inputs.refused(2, "SCAN_CUDA_FROM", "prefix", "u32.npy", "-o", "out.npy",
                   env=dict(os.environ, SCAN_CUDA_FROM=value))


@needs_emulator
def test_small_jobs_do_not_load_the_driver(inputs):
    """The first call of the CUDA runtime would fail here."""
    for job in WITHOUT:
        result, _ = run(inputs, job, "auto", "auto", SCAN_EMULATED_FAIL="1:35:forever")
        assert (result.code, result.err) == (0, "")


@needs_emulator
def test_the_threshold_is_in_bytes(inputs):
    bytes_of_data = inputs.load("u32.npy").nbytes
    for limit, warns in ((bytes_of_data, True), (bytes_of_data + 1, False)):
        for job in ("prefix u32.npy -o {}", "compact --nonzero u32.npy -o {}", "sort u32.npy -o {}"):
            result, _ = run(inputs, job, "auto", "auto", SCAN_EMULATED_FAIL="1:35:forever", SCAN_CUDA_FROM=str(limit))
            assert result.code == 0 and (result.err != "") == warns
