# SPDX-License-Identifier: MIT
"""equalize --together: one table for all images, of their histograms together; by OpenCV's and Pillow's formulas in NumPy."""
import numpy as np

from conftest import in_sanitized

pytestmark = in_sanitized("tables of several images")


def write_pgm(path, pixels):
    kind = b"P6" if pixels.ndim == 3 else b"P5"
    size = f"{pixels.shape[1]} {pixels.shape[0]}".encode()
    wide = pixels.dtype.itemsize == 2
    path.write_bytes(kind + b"\n" + size + (b"\n65535\n" if wide else b"\n255\n") + (pixels.astype(">u2") if wide else pixels).tobytes())


def read_pixels(path, like):
    return np.frombuffer(path.read_bytes()[-like.nbytes:], ">u2" if like.itemsize == 2 else "u1").reshape(like.shape)


def opencv(counts, top):
    total, first = counts.sum(), np.flatnonzero(counts)[0]
    scale = np.float32(top) / np.float32(total - counts[first])
    table = np.rint((np.cumsum(counts) - counts[first]).astype("f4") * scale)
    return np.clip(table, 0, top) * (np.arange(len(counts)) > first)


def pillow(counts):
    step = (counts.sum() - counts[np.flatnonzero(counts)[-1]]) // 255
    return np.minimum((step // 2 + np.cumsum(counts) - counts) // step, 255)


def make(box, count, shape, dtype="u1"):
    rng = np.random.default_rng(count)
    images = [(rng.gamma(2 + k, 9, shape) + 20 * k).clip(0, 255).astype(dtype) * (257 if dtype == "u2" else 1) for k in range(count)]
    for k, pixels in enumerate(images):
        write_pgm(box.path / f"{k}.{'ppm' if len(shape) == 3 else 'pgm'}", pixels)
    return images


def test_grey(box):
    for dtype, levels in (("u1", 256), ("u2", 65536)):
        images = make(box, 5, (37, 53), dtype)
        counts = sum(np.bincount(i.ravel(), minlength=levels) for i in images)
        box.good("equalize", "--together", *[f"{k}.pgm" for k in range(5)], "--out-dir", dtype)
        for k, pixels in enumerate(images):
            assert np.array_equal(read_pixels(box.path / dtype / f"{k}.pgm", pixels), opencv(counts, levels - 1)[pixels])


def test_channels_each_have_one(box):
    images = make(box, 3, (20, 31, 3))
    box.good("equalize", "--together", "--like", "pillow", "0.ppm", "1.ppm", "2.ppm", "--out-dir", "out", "--threads", "2")
    tables = [pillow(sum(np.bincount(i[..., c].ravel(), minlength=256) for i in images)) for c in range(3)]
    for k, pixels in enumerate(images):
        expected = np.stack([tables[c][pixels[..., c]] for c in range(3)], axis=-1)
        assert np.array_equal(read_pixels(box.path / f"out/{k}.ppm", pixels), expected)


def test_a_bad_image_is_left_out(box):
    images = make(box, 3, (20, 31))
    (box.path / "bad.pgm").write_bytes(b"P5\n9 9\n255\n")
    result = box.run("equalize", "--together", "0.pgm", "bad.pgm", "1.pgm", "2.pgm", "--out-dir", "out")
    assert result.code == 2 and result.err.count("\n") == 1 and "bad.pgm" in result.err
    counts = sum(np.bincount(i.ravel(), minlength=256) for i in images)
    assert np.array_equal(read_pixels(box.path / "out/2.pgm", images[2]), opencv(counts, 255)[images[2]])


def test_what_does_not_go(box):
    make(box, 2, (20, 31))
    make(box, 1, (20, 31, 3))
    result = box.run("equalize", "--together", "0.pgm", "0.ppm", "--out-dir", "out")
    assert result.code == 2 and "of one kind" in result.err and not list((box.path / "out").iterdir())
    box.refused(2, "--out-dir", "equalize", "--together", "0.pgm", "-o", "out.pgm")
    box.refused(2, "--method global", "equalize", "--together", "--method", "clahe", "0.pgm", "--out-dir", "out")
    box.refused(2, "--verify", "equalize", "--together", "--verify", "0.pgm", "1.pgm", "--out-dir", "out")
