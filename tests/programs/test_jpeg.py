# SPDX-License-Identifier: MIT
"""JPEG files that `equalize` reads and writes, against Pillow."""
import io
import re
import struct

import numpy as np
import pytest

from conftest import in_sanitized
from image_files import DATA, broken, bumps, equalize, passed, png, pnm, read_png, read_pnm, refuse

pytestmark = in_sanitized("damaged input")

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed; it makes and reads the JPEG files")
RNG = np.random.default_rng(7)


def jpeg(samples, **more):
    out = io.BytesIO()
    Image.fromarray(samples).save(out, "JPEG", **more)
    return out.getvalue()


SMOOTH = (np.add.outer(np.arange(15), np.arange(17)) * 7 + 20).astype(np.uint8)
SMOOTH_RGB = np.stack([SMOOTH, 255 - SMOOTH, SMOOTH // 2 + 60], axis=2)


@pytest.mark.parametrize("more", [{}, {"progressive": True}, {"optimize": True}, {"quality": 30}], ids=str)
@pytest.mark.parametrize("subsampling", [None, 0, 1, 2])
def test_jpeg_kinds(tmp_path, more, subsampling):
    samples = SMOOTH if subsampling is None else SMOOTH_RGB
    if subsampling is not None:
        more = {**more, "subsampling": subsampling}
    file = jpeg(samples, **{"quality": 95, **more})
    got = passed(tmp_path, file).astype(int)
    expected = np.asarray(Image.open(io.BytesIO(file))).astype(int)
    assert got.shape == expected.shape
    assert abs(got - expected).max() <= (3 if subsampling in (None, 0) else 24) and abs(got - expected).mean() < 3


@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg_large(tmp_path, progressive):
    file = jpeg(bumps(333, 401, 3), quality=90, subsampling=2, progressive=progressive)
    (tmp_path / "in.jpg").write_bytes(file)
    equalize(tmp_path / "in.jpg", "--verify", "-o", tmp_path / "out.png")
    assert read_png((tmp_path / "out.png").read_bytes()).shape == (333, 401, 3)


def test_jpeg_with_restart_markers(tmp_path):
    cv2 = pytest.importorskip("cv2")
    good, file = cv2.imencode(".jpg", bumps(90, 70), [cv2.IMWRITE_JPEG_RST_INTERVAL, 3])
    file = file.tobytes()
    assert good and b"\xff\xd3" in file
    (tmp_path / "in.jpg").write_bytes(file)
    equalize(tmp_path / "in.jpg", "-o", tmp_path / "out.png")


@pytest.mark.parametrize("orientation", range(0, 10))
def test_jpeg_is_turned_upright(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    plain, turned = jpeg(SMOOTH, quality=100), jpeg(SMOOTH, quality=100, exif=exif)
    upright = passed(tmp_path, plain)
    turn = {2: np.fliplr, 3: lambda a: a[::-1, ::-1], 4: np.flipud, 5: np.transpose,
            6: lambda a: np.rot90(a, -1), 7: lambda a: a[::-1, ::-1].T, 8: np.rot90}.get(orientation, np.asarray)
    assert np.array_equal(passed(tmp_path, turned), turn(upright))


GOOD_JPEG = jpeg(SMOOTH_RGB)


@pytest.mark.parametrize("at", sorted({*range(1, len(GOOD_JPEG), len(GOOD_JPEG) // 40), 1, 2, 3, len(GOOD_JPEG) - 1,
                                       len(GOOD_JPEG) - 2}))
def test_jpeg_truncated(tmp_path, at):
    broken(tmp_path, GOOD_JPEG[:at], name="in.jpg")


def test_jpeg_bytes_after_the_end_are_ignored(tmp_path):
    assert passed(tmp_path, GOOD_JPEG + bytes(100)).shape == (15, 17, 3)


def test_jpeg_flipped_bits_never_crash(tmp_path):
    names = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        file = bytearray(GOOD_JPEG)
        for _ in range(1 + seed % 4):
            file[rng.integers(2, len(file))] ^= 1 << rng.integers(0, 8)
        names.append(tmp_path / f"{seed}.jpg")
        names[-1].write_bytes(bytes(file))
    (tmp_path / "out").mkdir()
    done = equalize(*names, "--out-dir", tmp_path / "out", code=2)
    assert len(done.stderr.decode().splitlines()) + len(list((tmp_path / "out").iterdir())) == len(names)


def frame(**fields):
    """GOOD_JPEG with fields of its frame header replaced: marker, precision, height, width."""
    at = re.search(rb"\xff\xc0", GOOD_JPEG).start()
    file = bytearray(GOOD_JPEG)
    file[at + 1] = fields.get("marker", 0xc0)
    file[at + 4] = fields.get("precision", 8)
    file[at + 5:at + 9] = struct.pack(">HH", fields.get("height", 15), fields.get("width", 17))
    return bytes(file)


BAD_JPEGS = {
    "12 bits": (frame(precision=12), "12 bits"),
    "lossless": (frame(marker=0xc3), "lossless"),
    "arithmetic": (frame(marker=0xc9), "arithmetic"),
    "hierarchical": (frame(marker=0xc5), "hierarchical"),
    "no height": (frame(height=0), "17 x 0"),
    "no width": (frame(width=0), "0 x 15"),
    "huge": (frame(width=65535, height=65535), "too many"),
    "two frames": (GOOD_JPEG[:2] + frame()[frame().index(b"\xff\xc0"):][:19] + GOOD_JPEG[2:], "second JPEG frame"),
    "two images": (GOOD_JPEG[:2] + GOOD_JPEG, "second JPEG begins"),
    "only markers": (b"\xff\xd8\xff\xd9", "without image data"),
    "garbage segment": (b"\xff\xd8\xff\xe0\x00\x04ab\x00\x00", "no JPEG marker"),
    "segment of length 1": (b"\xff\xd8\xff\xe0\x00\x01\xff\xd9", "truncated"),
}


@pytest.mark.parametrize("name", BAD_JPEGS)
def test_bad_jpeg(tmp_path, name):
    broken(tmp_path, BAD_JPEGS[name][0], BAD_JPEGS[name][1], name="in.jpg")


def test_cmyk_jpeg_is_refused(tmp_path):
    out = io.BytesIO()
    Image.fromarray(SMOOTH_RGB).convert("CMYK").save(out, "JPEG")
    broken(tmp_path, out.getvalue(), "CMYK", name="in.jpg")


# ---- the JPEG writer ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("extension", [".jpg", ".jpeg", ".Jpg"])
def test_jpeg_output(tmp_path, channels, depth, extension):
    samples = RNG.integers(0, 1 << depth, (11, 13, channels))
    source, target = tmp_path / "in.png", tmp_path / ("out" + extension)
    source.write_bytes(png(samples, depth))
    if depth == 16 or channels % 2 == 0:
        refuse("--like", "pillow", source, "-o", target, message="cannot hold")
        assert not target.exists()
        return
    equalize("--like", "pillow", source, "-o", target, "--verify")
    assert np.asarray(Image.open(target)).shape == (samples[:, :, 0] if channels == 1 else samples).shape


def test_jpeg_quality(tmp_path):
    sizes = []
    for quality in (5, 50, 90, 95, 100):
        target = tmp_path / f"{quality}.jpg"
        equalize(DATA / "retina.jpg", "-o", target, "--quality", quality)
        sizes.append(target.stat().st_size)
    assert sizes == sorted(sizes) and sizes[0] * 5 < sizes[-1]
    equalize(DATA / "retina.jpg", "-o", tmp_path / "default.jpg")
    assert (tmp_path / "default.jpg").read_bytes() == (tmp_path / "95.jpg").read_bytes()


def test_jpeg_output_is_close(tmp_path):
    equalize(DATA / "retina.jpg", "-o", tmp_path / "a.jpg")
    equalize(DATA / "retina.jpg", "-o", tmp_path / "a.png")
    a, b = (np.asarray(Image.open(tmp_path / n)).astype(int) for n in ("a.jpg", "a.png"))
    assert abs(a - b).mean() < 2


def quality_of(path, reference):
    difference = np.asarray(Image.open(path)).astype(float) - reference
    return 10 * np.log10(255**2 / max((difference**2).mean(), 1e-9))


@pytest.mark.parametrize("quality", [1, 10, 50, 75, 90, 91, 95, 100])
@pytest.mark.parametrize("name", ["moon.png", "hubble_deep_field.jpg"])
def test_jpeg_is_as_good_as_pillow_at_the_same_size(tmp_path, name, quality):
    equalize(DATA / name, "-o", tmp_path / "o.png")
    reference = read_png((tmp_path / "o.png").read_bytes())
    equalize(DATA / name, "-o", tmp_path / "o.jpg", "--quality", quality)
    assert Image.open(tmp_path / "o.jpg").mode == ("L" if reference.ndim == 2 else "RGB")
    profile = Image.open(DATA / name).info.get("icc_profile")
    assert Image.open(tmp_path / "o.jpg").info.get("icc_profile") == profile
    Image.fromarray(reference).save(tmp_path / "p.jpg", quality=quality, subsampling=0 if quality > 90 else 2,
                                    icc_profile=profile)
    ours, theirs = quality_of(tmp_path / "o.jpg", reference), quality_of(tmp_path / "p.jpg", reference)
    assert ours > theirs - (1.3 if quality == 100 else 0.1), (ours, theirs)
    assert (tmp_path / "o.jpg").stat().st_size < 1.03 * (tmp_path / "p.jpg").stat().st_size


@pytest.mark.parametrize("pattern", ["rows", "columns", "checker", "noise", "black", "white"])
def test_jpeg_of_extreme_pixels(tmp_path, pattern):
    y, x = np.mgrid[0:64, 0:64]
    samples = {"rows": y // 2 % 2, "columns": x // 2 % 2, "checker": (x + y) % 2,
               "noise": RNG.integers(0, 2, (64, 64)), "black": 0 * x, "white": 0 * x + 1}[pattern] * 255
    (tmp_path / "in.pgm").write_bytes(pnm(samples.astype(np.uint8)))
    equalize(tmp_path / "in.pgm", "-o", tmp_path / "o.jpg", "--quality", 100)
    equalize(tmp_path / "in.pgm", "-o", tmp_path / "o.pgm")
    assert abs(np.asarray(Image.open(tmp_path / "o.jpg")).astype(int)
               - read_pnm((tmp_path / "o.pgm").read_bytes())).max() <= 3


@pytest.mark.parametrize("width,height", [(1, 1), (7, 9), (8, 8), (15, 17), (16, 16), (17, 31), (1, 100)])
@pytest.mark.parametrize("quality", [90, 95])
def test_jpeg_sizes(tmp_path, width, height, quality):
    samples = np.stack([np.full((height, width), v, np.uint8) for v in (200, 120, 40)], axis=2)
    (tmp_path / "in.ppm").write_bytes(pnm(samples))
    equalize("--like", "pillow", tmp_path / "in.ppm", "-o", tmp_path / "o.jpg", "--quality", quality)
    got = np.asarray(Image.open(tmp_path / "o.jpg"))
    assert got.shape == (height, width, 3) and abs(got.astype(int) - samples).max() <= 2
