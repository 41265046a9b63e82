# SPDX-License-Identifier: MIT
"""The program `equalize`: its results against formulas in NumPy, against the real peers where they are installed, and
against what those made once (data/expected/equalize.txt); its options and its behaviour with many files."""
import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import equalize_goldens as peers
from conftest import in_release, in_sanitized
from equalize_reference import equalized
from image_files import BIN, DATA, bumps, equalize, png, pnm, read_image, read_png, refuse

pytestmark = in_sanitized("headers and options of images; scan_equalize itself is tested in both builds")

LIKES = ["opencv", "pillow", "imagemagick", "vips", "skimage"]
RNG = np.random.default_rng(11)


def through(tmp_path, image, *options):
    """Runs the program on an image; returns its output as an array."""
    source, target = tmp_path / "in.png", tmp_path / "out.png"
    source.write_bytes(png(image, 16 if image.dtype == np.uint16 else 8))
    equalize(*options, "-f", "--verify", source, "-o", target)
    return read_png(target.read_bytes())


def make(kind, dtype, channels):
    top = np.iinfo(dtype).max
    shape = (37, 41) if channels == 1 else (37, 41, channels)
    if kind == "bumps":
        return bumps(37, 41, channels, dtype)
    if kind == "noise":
        return RNG.integers(0, top + 1, shape).astype(dtype)
    if kind == "one level":
        return np.full(shape, 77, dtype)
    if kind == "black":
        return np.zeros(shape, dtype)
    if kind == "white":
        return np.full(shape, top, dtype)
    if kind == "two levels":
        return np.where(RNG.random(shape) < 0.3, 5, top - 9).astype(dtype)
    if kind == "mostly black":
        return np.where(RNG.random(shape) < 0.9, 0, RNG.integers(0, top + 1, shape)).astype(dtype)
    if kind == "mostly white":
        return np.where(RNG.random(shape) < 0.9, top, RNG.integers(0, top + 1, shape)).astype(dtype)
    raise AssertionError(kind)


KINDS = ["bumps", "noise", "one level", "black", "white", "two levels", "mostly black", "mostly white"]


# ---- results --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("like", LIKES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_grey(tmp_path, kind, like, dtype):
    image = make(kind, dtype, 1)
    assert np.array_equal(through(tmp_path, image, "--like", like), equalized(image, like))


@pytest.mark.parametrize("like", LIKES)
@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("color", [None, "luma", "channels"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_color_and_alpha(tmp_path, like, channels, color, dtype):
    image = make("bumps", dtype, channels)
    image[..., -1] = RNG.integers(0, np.iinfo(dtype).max + 1, image.shape[:2])
    options = ["--like", like] + (["--color", color] if color else [])
    got = through(tmp_path, image, *options)
    assert np.array_equal(got, equalized(image, like, color))
    if channels % 2 == 0:
        assert np.array_equal(got[..., -1], image[..., -1])


@pytest.mark.parametrize("like", LIKES)
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("depth", [8, 16])
def test_mask(tmp_path, like, channels, depth):
    image = make("bumps", np.uint8 if depth == 8 else np.uint16, channels)
    mask = (RNG.random(image.shape[:2]) < 0.4) * RNG.integers(1, 256, image.shape[:2])
    (tmp_path / "mask.pgm").write_bytes(pnm(mask.astype(np.uint16) << 8 if depth == 8 else mask.astype(np.uint8)))
    got = through(tmp_path, image, "--like", like, "--mask", tmp_path / "mask.pgm")
    assert np.array_equal(got, equalized(image, like, mask=mask))


def test_empty_mask_changes_nothing(tmp_path):
    image = make("bumps", np.uint8, 1)
    (tmp_path / "mask.pgm").write_bytes(pnm(np.zeros(image.shape, np.uint8)))
    for like in LIKES:
        assert np.array_equal(through(tmp_path, image, "--like", like, "--mask", tmp_path / "mask.pgm"), image)


GOLDENS = [line.split() for line in (DATA / "expected/equalize.txt").read_text().splitlines() if line[0] != "#"]


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda g: " ".join(g[1:]))
def test_goldens(tmp_path, golden):
    target = tmp_path / "out.pnm"
    equalize("--verify", *golden[2:], DATA / golden[1], "-o", target)
    assert hashlib.sha256(target.read_bytes()).hexdigest() == golden[0]


MODULES = {"opencv": "cv2", "pillow": "PIL", "skimage": "skimage"}
PROGRAMS = {"vips": "vips", "imagemagick": "convert-im6.q16"}


def need(like):
    if like in MODULES and not importlib.util.find_spec(MODULES[like]):
        pytest.skip(f"{MODULES[like]} is not installed")
    if like in PROGRAMS and not shutil.which(PROGRAMS[like]):
        pytest.skip(f"{PROGRAMS[like]} is not installed")


@pytest.mark.parametrize("like", LIKES)
@pytest.mark.parametrize("kind", KINDS)
def test_real_peers(tmp_path, like, kind):
    need(like)
    image = make(kind, np.uint8, 1)
    assert np.array_equal(through(tmp_path, image, "--like", like), peers.PEERS[like](image))


@pytest.mark.parametrize("like", ["imagemagick", "vips", "skimage"])
@pytest.mark.parametrize("kind", ["bumps", "noise", "two levels", "mostly black"])
def test_real_peers_16_bits(tmp_path, like, kind):
    need(like)
    image = make(kind, np.uint16, 1)
    assert np.array_equal(through(tmp_path, image, "--like", like), peers.PEERS[like](image))


@pytest.mark.parametrize("like", ["opencv", "pillow", "imagemagick", "vips"])
@pytest.mark.parametrize("kind", ["bumps", "noise", "mostly black"])
def test_real_peers_in_color(tmp_path, like, kind):
    need(like)
    image = make(kind, np.uint8, 3)
    assert np.array_equal(through(tmp_path, image, "--like", like), peers.PEERS[like](image))


@pytest.mark.parametrize("like", ["imagemagick", "vips"])
def test_real_peers_in_16_bit_color(tmp_path, like):
    need(like)
    image = make("bumps", np.uint16, 3)
    assert np.array_equal(through(tmp_path, image, "--like", like), peers.PEERS[like](image))


def test_real_pillow_with_mask(tmp_path):
    need("pillow")
    image = make("bumps", np.uint8, 3)
    mask = (RNG.random(image.shape[:2]) < 0.5).astype(np.uint8)
    (tmp_path / "mask.pgm").write_bytes(pnm(mask))
    got = through(tmp_path, image, "--like", "pillow", "--mask", tmp_path / "mask.pgm")
    assert np.array_equal(got, peers.pillow(image, mask))


@pytest.mark.parametrize("clip,tiles", [("2.0", "8x8"), ("0", "8x8"), ("1", "1x1"), ("40", "3x5"), ("4e1", "3x5"), ("0.01", "7x6"),
                                        ("4.5", "16x2"), ("1000000", "5x5"), ("2.5", "one a pixel"), ("3", "more than pixels")])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_clahe_is_opencv(tmp_path, clip, tiles, dtype):
    need("opencv")
    # A tile of 16 bits has a table of 65,536 entries: there so many tiles are those of a smaller image.
    rows, columns = (9, 11) if dtype == np.uint16 and " " in tiles else (37, 41)
    tiles = {"one a pixel": f"{columns}x{rows}", "more than pixels": f"{columns + columns // 4}x{rows + rows // 2}"}.get(tiles, tiles)
    grid = tuple(map(int, tiles.split("x")))
    for kind in ("bumps", "noise"):
        image = np.ascontiguousarray(make(kind, dtype, 1)[:rows, :columns])
        got = through(tmp_path, image, "--method", "clahe", "--clip", clip, "--tiles", tiles)
        assert np.array_equal(got, peers.opencv_clahe(image, float(clip), grid))


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (8, 8), (16, 24), (17, 16), (100, 7)])
def test_clahe_sizes(tmp_path, size):
    need("opencv")
    image = RNG.integers(0, 256, size).astype(np.uint8)
    assert np.array_equal(through(tmp_path, image, "--method", "clahe").reshape(size), peers.opencv_clahe(image))


def test_clahe_in_color(tmp_path):
    need("opencv")
    image = make("bumps", np.uint8, 4)
    got = through(tmp_path, image, "--method", "clahe")
    assert np.array_equal(got[..., :3], peers.opencv_clahe(np.ascontiguousarray(image[..., :3])))
    assert np.array_equal(got[..., 3], image[..., 3])
    got = through(tmp_path, image, "--method", "clahe", "--color", "channels")
    for c in range(3):
        assert np.array_equal(got[..., c], peers.opencv_clahe(np.ascontiguousarray(image[..., c])))


@in_release("SIMD levels as they ship")
@pytest.mark.parametrize("simd", ["portable", "avx2", "avx512"])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_the_same_everywhere(tmp_path, monkeypatch, simd, threads):
    monkeypatch.setenv("SCAN_SIMD", simd)
    equalize(DATA / "retina.jpg", "--threads", threads, "-o", tmp_path / "a.ppm", "--verify")
    equalize(DATA / "cell.png", "--threads", threads, "--method", "clahe", "-o", tmp_path / "b.pgm", "--verify")
    digest = hashlib.sha256((tmp_path / "a.ppm").read_bytes() + (tmp_path / "b.pgm").read_bytes()).hexdigest()
    expected = tmp_path.parent / "same-everywhere"
    if not expected.exists():
        expected.write_text(digest)
    assert digest == expected.read_text()


# ---- the command line -----------------------------------------------------------------------------------------------

MOON = DATA / "moon.png"

USAGE = {
    "like with clahe": (["--method", "clahe", "--like", "opencv", MOON, "-o", "o.png"], "--like"),
    "mask with clahe": (["--method", "clahe", "--mask", MOON, MOON, "-o", "o.png"], "--mask"),
    "clip without clahe": (["--clip", "3", MOON, "-o", "o.png"], "--clip belongs to --method clahe"),
    "tiles without clahe": (["--tiles", "8x8", MOON, "-o", "o.png"], "--tiles belongs to --method clahe"),
    "quality for PNG": (["--quality", "80", MOON, "-o", "o.png"], "--quality"),
    "unknown method": (["--method", "magic", MOON, "-o", "o.png"], "global, clahe"),
    "unknown like": (["--like", "gimp", MOON, "-o", "o.png"], "imagemagick"),
    "unknown color": (["--color", "hsv", MOON, "-o", "o.png"], "luma, channels"),
    "unknown option": (["--metod", "clahe", MOON, "-o", "o.png"], "--method"),
    "clip of letters": (["--method", "clahe", "--clip", "two", MOON, "-o", "o.png"], "--clip"),
    "clip negative": (["--method", "clahe", "--clip=-1", MOON, "-o", "o.png"], "--clip"),
    "clip nan": (["--method", "clahe", "--clip", "nan", MOON, "-o", "o.png"], "--clip"),
    "clip hex": (["--method", "clahe", "--clip", "0x10", MOON, "-o", "o.png"], "--clip"),
    "clip empty": (["--method", "clahe", "--clip", "", MOON, "-o", "o.png"], "--clip"),
    "clip too large": (["--method", "clahe", "--clip", "1e7", MOON, "-o", "o.png"], "--clip"),
    "tiles 8": (["--method", "clahe", "--tiles", "8", MOON, "-o", "o.png"], "COLSxROWS"),
    "tiles 0x8": (["--method", "clahe", "--tiles", "0x8", MOON, "-o", "o.png"], "--tiles"),
    "tiles 8x": (["--method", "clahe", "--tiles", "8x", MOON, "-o", "o.png"], "--tiles"),
    "tiles 8x8x8": (["--method", "clahe", "--tiles", "8x8x8", MOON, "-o", "o.png"], "--tiles"),
    "tiles huge": (["--method", "clahe", "--tiles", "99999x1", MOON, "-o", "o.png"], "--tiles"),
    "quality 0": (["--quality", "0", MOON, "-o", "o.jpg"], "--quality"),
    "quality 101": (["--quality", "101", MOON, "-o", "o.jpg"], "--quality"),
    "two images": ([MOON, DATA / "cell.png", "-o", "o.png"], "--out-dir"),
    "output and folder": ([MOON, "-o", "o.png", "--out-dir", "."], "exclude"),
    "plot of many": ([MOON, "--out-dir", "x", "--plot", "p.svg"], "--plot"),
    "no images": (["--out-dir", "x"], "images"),
    "stdout taken": ([MOON, "--json", "-"], "stdout is taken by the data"),
    "stdin to a folder": (["-", "--out-dir", "x"], "no name"),
    "same names": ([MOON, pathlib.Path(str(MOON.parent) + "/../data/moon.png"), "--out-dir", "."], "two images"),
    "unknown extension": ([MOON, "-o", "o.gif"], ".pnm"),
    "same output twice": ([MOON, "-o", "o.png", "--plot", "o.png"], "o.png"),
    "json without output": ([MOON, "--json", "-"], "--json"),
}


@pytest.mark.parametrize("name", USAGE)
def test_usage_errors(tmp_path, name):
    arguments, message = USAGE[name]
    refuse(*arguments, message=message, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_mask_errors(tmp_path):
    (tmp_path / "color.ppm").write_bytes(pnm(bumps(512, 512, 3)))
    (tmp_path / "small.pgm").write_bytes(pnm(bumps(5, 6)))
    (tmp_path / "bad.pgm").write_bytes(b"P5 5")
    out = tmp_path / "o.png"
    refuse(MOON, "-o", out, "--mask", tmp_path / "color.ppm", message="must be a grey image")
    refuse(MOON, "-o", out, "--mask", tmp_path / "small.pgm", message="512 x 512 pixels, the mask 6 x 5")
    refuse(MOON, "-o", out, "--mask", tmp_path / "bad.pgm", message="truncated")
    refuse(MOON, "-o", out, "--mask", tmp_path / "none.pgm", message="No such file", code=3)
    assert not out.exists()


def test_help_and_version():
    text = equalize("--help").stdout.decode()
    for word in ("--method", "--clip", "--tiles", "--like", "--color", "--mask", "--plot", "--quality", "--out-dir"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 120
    assert equalize("--version").stdout.startswith(b"equalize (scan) ")


def test_stats_and_json(tmp_path):
    done = equalize(MOON, "-o", tmp_path / "o.png", "--stats", "--json", tmp_path / "o.json", "--verify")
    for word in ("width", "opencv", "compute", "write", "verified"):
        assert word in done.stderr.decode()
    report = json.loads((tmp_path / "o.json").read_text())
    assert report["program"] == "equalize" and report["width"] == 512 and report["verified"] is True
    assert report["bytes_read"] == MOON.stat().st_size
    assert report["bytes_written"] >= (tmp_path / "o.png").stat().st_size
    assert report["seconds"]["total"] > 0
    assert min(report["phase_gb_per_s"][phase] for phase in ("read", "compute", "write")) > 0
    done = equalize(MOON, "-o", tmp_path / "p.png", "--json", "-")
    assert json.loads(done.stdout)["height"] == 512


def test_cuda_without_device_is_exit_4(tmp_path):
    report = tmp_path / "r.json"
    done = subprocess.run([BIN / "equalize", MOON, "-o", tmp_path / "o.png", "--device", "cuda", "--json", report],
                          capture_output=True, check=False, timeout=60)
    if done.returncode == 0:
        pytest.skip("there is a CUDA device")
    assert done.returncode == 4 and not (tmp_path / "o.png").exists()


# ---- the plot -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options,name", [([], "moon.png"), (["--method", "clahe"], "cell.png"),
                                          ([], "jacksboro_dem.pgm"), (["--like", "pillow"], "expected/color.ppm"),
                                          ([], "hubble_deep_field.jpg")])
def test_plot(tmp_path, options, name):
    plot = tmp_path / "plot.svg"
    equalize(*options, DATA / name, "-o", tmp_path / "o.png", "--plot", plot)
    root = ElementTree.parse(plot).getroot()
    text = plot.read_text()
    assert root.tag.endswith("svg") and (DATA / name).name in text and "before" in text
    assert not any(word in text for word in ("http://", "https://", "<script", "@import", "url(")) or \
        text.count("http") == text.count("http://www.w3.org/2000/svg")
    assert plot.stat().st_size < 60_000
    paths = [p for p in root.iter("{http://www.w3.org/2000/svg}path") if p.get("d").count("V") > 200]
    assert len(paths) == (6 if "pillow" in options else 2)
    again = tmp_path / "again.svg"
    equalize(*options, DATA / name, "-o", tmp_path / "o.png", "-f", "--plot", again)
    assert again.read_bytes() == plot.read_bytes()


@pytest.mark.parametrize("name", ["<b>&\"'.png", "caf\u00e9 \u6708.png", "tab\there.png", b"latin\xe9.png", "%s%n.png"])
def test_plot_of_strange_names(tmp_path, name):
    source = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    with open(source, "wb") as file:
        file.write(png(make("one level", np.uint8, 1)))
    equalize(os.fsdecode(source), "-o", tmp_path / "o.png", "--plot", tmp_path / "p.svg")
    ElementTree.parse(tmp_path / "p.svg")


# ---- many images ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_images(tmp_path, threads):
    out = tmp_path / "out"
    out.mkdir()
    images = {}
    for k in range(23):
        image = bumps(20 + k, 31, 1 + k % 4, np.uint16 if k % 3 else np.uint8, seed=k)
        images[f"{k}.png"] = image
        (tmp_path / f"{k}.png").write_bytes(png(image, 16 if k % 3 else 8))
    equalize(*(tmp_path / name for name in images), "--out-dir", out, "--threads", threads, "--verify")
    assert sorted(p.name for p in out.iterdir()) == sorted(images)
    for name, image in images.items():
        assert np.array_equal(read_image((out / name).read_bytes()), equalized(image))


def test_many_images_with_bad_ones(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    good = png(make("bumps", np.uint8, 1))
    (tmp_path / "a.png").write_bytes(good)
    (tmp_path / "b.png").write_bytes(good[:-20])
    (tmp_path / "c.txt").write_bytes(good)
    (tmp_path / "d.jpg").write_bytes(b"GIF89a....")
    (tmp_path / "e.png").write_bytes(good)
    (tmp_path / "f.jpg").write_bytes(png(make("bumps", np.uint8, 4)))
    names = [tmp_path / n for n in ("a.png", "b.png", "c.txt", "d.jpg", "e.png", "f.jpg")]
    done = equalize(*names, "--out-dir", out, code=2)
    lines = done.stderr.decode().splitlines()
    assert [n for n in "abcdef" for line in lines if f"/{n}." in line] == ["b", "c", "d", "f"]
    assert sorted(p.name for p in out.iterdir()) == ["a.png", "e.png"]
    done = equalize(*names, tmp_path / "missing.png", "--out-dir", out, "-f", code=3)
    assert len(done.stderr.decode().splitlines()) == 5


def test_many_images_do_not_replace(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "a.png").write_bytes(png(make("bumps", np.uint8, 1)))
    (tmp_path / "b.png").write_bytes(png(make("noise", np.uint8, 1)))
    (out / "a.png").write_bytes(b"mine")
    refuse(tmp_path / "a.png", tmp_path / "b.png", "--out-dir", out, message="--force")
    assert (out / "a.png").read_bytes() == b"mine" and (out / "b.png").exists()
    equalize(tmp_path / "a.png", tmp_path / "b.png", "--out-dir", out, "-f")
    assert read_png((out / "a.png").read_bytes()).shape == (37, 41)


def test_many_images_over_themselves(tmp_path):
    image = make("bumps", np.uint8, 1)
    for k in range(5):
        (tmp_path / f"{k}.png").write_bytes(png(image))
    equalize(*sorted(tmp_path.iterdir()), "--out-dir", tmp_path, "--force")
    assert all(np.array_equal(read_png(p.read_bytes()), equalized(image)) for p in tmp_path.iterdir())


def test_many_images_with_one_mask(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    images = [bumps(30, 31, seed=k) for k in range(4)]
    mask = (RNG.random((30, 31)) < 0.5).astype(np.uint8)
    (tmp_path / "mask.pgm").write_bytes(pnm(mask))
    for k, image in enumerate(images):
        (tmp_path / f"{k}.pgm").write_bytes(pnm(image))
    (tmp_path / "other.pgm").write_bytes(pnm(bumps(5, 5)))
    names = [tmp_path / f"{k}.pgm" for k in range(4)]
    done = equalize(*names, tmp_path / "other.pgm", "--mask", tmp_path / "mask.pgm", "--out-dir", out, code=2)
    assert "other.pgm" in done.stderr.decode()
    for k, image in enumerate(images):
        assert np.array_equal(read_image((out / f"{k}.pgm").read_bytes()), equalized(image, mask=mask))


def test_folders_among_many(tmp_path):
    """A folder in the place of an output fails like a bad image: the others are done."""
    out, names = tmp_path / "out", []
    for name in ("a", "b", "c", "d"):
        names.append(tmp_path / f"{name}.pgm")
        names[-1].write_bytes(pnm(bumps(9, 9)))
    (out / "c.pgm").mkdir(parents=True)
    done = equalize(names[0], f"{tmp_path}/missing/", *names[1:], "--out-dir", out, "--json", "-", "-f", code=3)
    assert [line.split(": ", 2)[1:] for line in done.stderr.decode().splitlines()] == [
        [f"{tmp_path}/missing/", "cannot open: No such file or directory"],
        [str(out / "c.pgm"), "cannot write: it is a directory"]]
    report = json.loads(done.stdout)
    assert (report["images"], report["failed"]) == (5, 2)
    assert sorted(path.name for path in out.iterdir() if path.is_file()) == ["a.pgm", "b.pgm", "d.pgm"]
