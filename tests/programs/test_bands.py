# SPDX-License-Identifier: MIT
"""equalize of images that are larger than its memory (-S), which go by in bands, against formulas in NumPy."""
import json
import os
import resource
import subprocess

import numpy as np
import pytest

from conftest import in_sanitized, release_only
from equalize_reference import equalized
from image_files import BIN, bumps, equalize, pnm, png, read_image, refuse

pytestmark = in_sanitized("rows of untrusted sizes in buffers of few rows")

LIKES = ["opencv", "pillow", "imagemagick", "vips", "skimage"]
SMALL = ("-S", "1M")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_bytes_of_the_whole(tmp_path, dtype, channels):
    image = bumps(801, 999, channels, dtype)
    name = "in.pgm" if channels == 1 else "in.ppm"
    (tmp_path / name).write_bytes(pnm(image))
    mask = (np.arange(801 * 999).reshape(801, 999) % 7 > 2).astype(np.uint8)
    (tmp_path / "mask.pgm").write_bytes(pnm(mask))
    for i, like in enumerate(LIKES):
        color = None if channels == 1 else ["luma", "channels"][i % 2]
        options = ["--like", like, *SMALL] + (["--color", color] if color else [])
        equalize(*options, name, "-o", "out" + name[2:], "-f", "--json", "report.json", cwd=tmp_path)
        assert np.array_equal(read_image((tmp_path / ("out" + name[2:])).read_bytes()), equalized(image, like, color))
        assert json.loads((tmp_path / "report.json").read_text())["bands"] > 1
    with (tmp_path / name).open("rb") as file:
        done = subprocess.run([BIN / "equalize", *SMALL, "--mask", "mask.pgm"], stdin=file, cwd=tmp_path,
                              capture_output=True, check=True)
    assert np.array_equal(read_image(done.stdout), equalized(image, "opencv", mask=mask))


def test_other_maxval_and_malformed_files(tmp_path):
    image = (np.arange(1_200_000, dtype=np.uint32).reshape(1000, 1200) % 199).astype(np.uint8)
    head = b"P5\n# a comment\n1200 1000\n200\n"
    source, target = tmp_path / "in.pgm", tmp_path / "out.pgm"
    source.write_bytes(head + image.tobytes())
    equalize(*SMALL, source, "-o", target)
    scaled = ((image.astype(np.uint32) * 255 + 100) // 200).astype(np.uint8)
    assert np.array_equal(read_image(target.read_bytes()), equalized(scaled, "opencv"))
    image[800, 7] = 201
    source.write_bytes(head + image.tobytes())
    refuse(*SMALL, source, "-o", tmp_path / "new.pgm", message="sample 960007 is 201, above the maxval 200")
    source.write_bytes(head + image.tobytes() + b"x")
    refuse(*SMALL, source, "-o", tmp_path / "new.pgm", message="there are data after the last pixel")
    (tmp_path / "mask.pgm").write_bytes(pnm(np.ones((3, 4), np.uint8)))
    image[800, 7] = 0
    source.write_bytes(head + image.tobytes())
    refuse(*SMALL, source, "--mask", tmp_path / "mask.pgm", "-o", tmp_path / "new.pgm",
           message="the image has 1200 x 1000 pixels, the mask 4 x 3")
    assert not (tmp_path / "new.pgm").exists()


def test_a_pipe_with_a_name_is_opened_once(tmp_path):
    image = np.arange(6, dtype=np.uint8).reshape(2, 3)
    os.mkfifo(tmp_path / "in.pgm")
    for _ in range(12):
        run = subprocess.Popen([BIN / "equalize", "in.pgm"], cwd=tmp_path, stdout=subprocess.PIPE)
        (tmp_path / "in.pgm").write_bytes(pnm(image))
        try:
            assert np.array_equal(read_image(run.communicate(timeout=20)[0]), equalized(image, "opencv"))
        finally:
            run.kill()


def test_what_is_held_whole_says_what_it_needs(tmp_path):
    image = bumps(801, 999, 1, np.uint8)
    (tmp_path / "in.pgm").write_bytes(pnm(image))
    (tmp_path / "in.png").write_bytes(png(image))
    for options in (["in.png"], ["in.pgm", "--verify"], ["in.pgm", "--method", "clahe"], ["in.pgm", "--plot", "p.svg"]):
        refuse(*SMALL, *options, "-o", "out.pgm", code=3, message="MiB of memory, more than -S says", cwd=tmp_path)
    refuse(*SMALL, "in.pgm", "-o", "out.png", code=3, message="in.pgm: needs 2 MiB of memory", cwd=tmp_path)
    refuse("-S", "12X", "in.pgm", message="a size is a number of K", cwd=tmp_path)
    equalize("-S", "2M", "in.pgm", "-o", "out.png", cwd=tmp_path)


@release_only("sanitizers need more memory")
def test_memory_is_kept(tmp_path):
    """An image of 96 MiB with -S 4M, under a limit that it does not fit."""
    rows = np.random.default_rng(4).integers(0, 200, (1, 8192), dtype=np.uint8)
    (tmp_path / "in.pgm").write_bytes(pnm(np.repeat(rows, 12288, axis=0)))

    limits = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (68 << 20, limits[1]))
    try:
        equalize("-S", "4M", "in.pgm", "-o", "out.pgm", cwd=tmp_path)
        refuse("-S", "1G", "in.pgm", "-o", "new.pgm", code=3, message="no memory for", cwd=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
    assert np.array_equal(read_image((tmp_path / "out.pgm").read_bytes())[-1], equalized(rows, "opencv")[0])
