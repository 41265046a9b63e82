# SPDX-License-Identifier: MIT
"""Inputs, and runs of programs on each device, for the tests of --device."""
import os
import pathlib
import shutil

import numpy as np
import pytest

from conftest import DEVICE, SANITIZED, Box, numbers
from image_files import bumps, equalize, png, pnm

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
LARGE = {"SCAN_CUDA_FROM": "1"}  # with auto every job is large enough for a device

needs_device = pytest.mark.skipif(not DEVICE.available, reason=DEVICE.reason)
needs_emulator = pytest.mark.skipif(not DEVICE.emulated, reason="failures of a device are injected by the emulator alone")


# In place of the photographs, for the emulator: height, width, channels, type. Odd sides, more than one CTA of each grid.
SMALL_IMAGES = {"moon.png": (160, 203, 1, "u1"), "cell.png": (201, 150, 1, "u1"), "expected/moon.png": (97, 131, 1, "u1"),
                "expected/color.ppm": (61, 75, 3, "u1"), "jacksboro_dem.pgm": (120, 147, 1, "u2"),
                "retina.jpg": (150, 181, 3, "u1"), "hubble_deep_field.jpg": (133, 160, 3, "u1")}


def make_small_images(folder):
    """Writes them under the photographs' names, in the same formats."""
    for seed, (name, (height, width, channels, dtype)) in enumerate(SMALL_IMAGES.items()):
        path, pixels = folder / name, bumps(height, width, channels, np.dtype(dtype), seed)
        if path.suffix == ".png":
            path.write_bytes(png(pixels))
        elif path.suffix == ".jpg":
            equalize("-", "-f", "-o", path, "--method", "clahe", "--device", "cpu", stdin=pnm(pixels))
        else:
            path.write_bytes(pnm(pixels))


def make_inputs(folder):
    """Writes the data sets, and arrays of every type, some of several pieces."""
    shutil.copytree(DATA, folder, dirs_exist_ok=True)
    if SANITIZED:
        make_small_images(folder)
    rng = np.random.default_rng(7)
    delays = np.load(DATA / "flight_delays.npy")
    if SANITIZED:
        delays = delays[:60_001]
        np.save(folder / "flight_delays.npy", delays)
        np.save(folder / "jacksboro_dem.npy", np.load(DATA / "jacksboro_dem.npy")[:120])
    np.save(folder / "sorted.npy", np.sort(delays))
    np.save(folder / "empty.npy", np.zeros(0, "f4"))
    np.save(folder / "one.npy", np.array([2.5]))
    for name in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"):
        np.save(folder / f"{name}.npy", numbers(name, 20_001 if SANITIZED else 50_001))
    scale = 1 if SANITIZED else 4  # sanitizers are slow; two pieces, which are of 1 MiB at least
    big = rng.normal(size=scale * 300_001).astype("f4")
    big[rng.integers(0, big.size, 50)] = np.nan
    big[rng.integers(0, big.size, 50)] = -0.0
    np.save(folder / "big_f32.npy", big)
    np.save(folder / "mask.npy", rng.random(big.size) < 0.3)
    np.save(folder / "late.npy", delays > 0)
    np.save(folder / "big_f64.npy", rng.normal(size=scale * 150_001).round(2))
    np.save(folder / "big_endian.npy", rng.integers(-1000, 1000, scale * 150_000).astype(">i4"))
    keys = 60_001 if SANITIZED else None  # a sort takes all in one piece
    np.save(folder / "keys_f32.npy", big[:keys])
    np.save(folder / "keys_f64.npy", np.load(folder / "big_f64.npy")[:keys])
    np.save(folder / "keys_big_endian.npy", np.load(folder / "big_endian.npy")[:keys])
    (folder / "big_u8.raw").write_bytes(rng.integers(0, 3, scale * 1_100_000, dtype="u1").tobytes())
    (folder / "big_i16.raw").write_bytes(rng.integers(-9999, 9999, scale * 550_000, dtype="i2").tobytes())
    (folder / "keys_i16.raw").write_bytes(np.fromfile(folder / "big_i16.raw", "i2")[:keys].tobytes())
    (folder / "delays.txt").write_text("".join(f"{v}\n" for v in delays[:20_000]))
    (folder / "floats.txt").write_text("".join(f"{v}\n" for v in big[:20_000].astype("f8").round(4) + 0.0))
    (folder / "missing.csv").write_text("a,b,c\n" + "".join(
        f"{'' if k % 11 == 3 else k % 50},{'' if k % 7 == 1 else k % 9},t{k}\n" for k in range(5000)))
    return Box(folder)


def run(box, job, device, out, **environment):
    """Returns the result of a run and its outputs, as names and bytes."""
    target = box.path / out
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    command = [word.replace("{}", f"{out}/" if "--out-dir" in job else f"{out}/o") for word in job.split()]
    result = box.run(*command, "--device", device, env=dict(os.environ, **environment))
    return result, {str(p.relative_to(target)): p.read_bytes() for p in target.rglob("*") if p.is_file()}


def on_cpu(box, job):
    """The outputs of a job whose inputs do not change: it runs once a folder."""
    if job not in box.on_cpu:
        result, files = run(box, job, "cpu", "cpu")
        assert (result.code, result.err) == (0, ""), job
        assert files
        box.on_cpu[job] = files
    return box.on_cpu[job]
