# SPDX-License-Identifier: MIT
"""scan_equalize and scan_clahe, through ctypes, against the programs that they reproduce bit for bit: OpenCV, Pillow, vips,
ImageMagick, scikit-image. The tests of a peer that is not installed are skipped, with a message."""
import functools
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import scan_library

from conftest import in_release

pytestmark = [
    in_release("bits of the library as it ships"),
    pytest.mark.skipif(not scan_library.library_path().exists(), reason="libscan.so is not built"),
    pytest.mark.skipif("san" in scan_library.library_path().parts[-3], reason="sanitizers must be loaded first"),
]

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
SHAPES = [(1, 1), (7, 1), (1, 130), (5, 3), (64, 64), (77, 101), (240, 320)]
DTYPES = [np.uint8, np.uint16]


@pytest.fixture(scope="module")
def library():
    library = scan_library.Library(threads=2)
    yield library
    library.close()


@functools.cache
def generated(dtype, channels):
    """(name, image) pairs: every kind of data at every shape."""
    pairs, top, rng = [], int(np.iinfo(dtype).max), np.random.default_rng(7)
    for height, width in SHAPES:
        shape = (height, width) if channels == 1 else (height, width, channels)
        count = int(np.prod(shape))
        kinds = {"random": rng.integers(0, top + 1, shape),
                 "low contrast": np.clip(rng.normal(top / 3, top / 30, shape), 0, top),
                 "constant": np.full(shape, top // 3), "zero": np.zeros(shape), "full": np.full(shape, top),
                 "two levels": np.where(rng.random(shape) < 0.3, 3, top - 5),
                 "dark": rng.integers(0, min(top, 300) + 1, shape),
                 "gradient": np.linspace(0, top, count).reshape(shape)}
        for kind, image in kinds.items():
            pairs.append((f"{kind} {shape}", np.ascontiguousarray(image.astype(dtype))))
    return pairs


def grey_files():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for name in ("moon.png", "cell.png"):
        yield name, np.array(image.open(DATA / name).convert("L"))


def terrain():
    heights = np.load(DATA / "jacksboro_dem.npy")
    assert heights.min() >= 0 and heights.max() <= 65535
    return np.ascontiguousarray(heights.astype(np.uint16))


def rgb_files():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for name in ("retina.jpg", "hubble_deep_field.jpg"):
        yield name, np.array(image.open(DATA / name).convert("RGB"))


def same(name, ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, name
    different = ours != theirs
    assert not different.any(), (name, int(different.sum()), ours[different][:4], theirs[different][:4])


# ---- OpenCV ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cv2():
    return pytest.importorskip("cv2", reason="OpenCV's Python module is not installed")


def test_opencv_grey(library, cv2):
    for name, image in [*generated(np.uint8, 1), *grey_files()]:
        same(name, library.equalize(image), cv2.equalizeHist(image))


def test_opencv_more_pixels_than_float32_counts(library, cv2):
    """Counts above 2^24 are rounded to float32."""
    image = np.random.default_rng(1).integers(0, 256, (5000, 5001), dtype=np.uint8)
    same("random", library.equalize(image), cv2.equalizeHist(image))


def luma_with(cv2, image, change):
    planes = list(cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb)))
    planes[0] = change(planes[0])
    return cv2.cvtColor(cv2.merge(planes), cv2.COLOR_YCrCb2RGB)


def test_opencv_luma(library, cv2):
    for name, image in [*generated(np.uint8, 3), *rgb_files()]:
        same(name, library.equalize(image), luma_with(cv2, image, cv2.equalizeHist))


def test_opencv_channels_and_alpha(library, cv2):
    for name, image in generated(np.uint8, 4):
        planes = list(cv2.split(image))
        theirs = cv2.merge([*map(cv2.equalizeHist, planes[:3]), planes[3]]).reshape(image.shape)
        same(name, library.equalize(image, color="channels"), theirs)


@pytest.mark.parametrize("clip", [0.5, 1, 2, 3.7, 40, -1])
@pytest.mark.parametrize("tiles", [(8, 8), (1, 1), (2, 3), (7, 5), (16, 4)])
def test_opencv_clahe(library, cv2, clip, tiles):
    images = [*generated(np.uint8, 1), *grey_files(), ("terrain", terrain())]
    if tiles == (2, 3):
        images += generated(np.uint16, 1)
    elif tiles == (8, 8):  # with a table of 65,536 entries for each tile
        images += few(np.uint16, 1)
    for name, image in images:
        theirs = cv2.createCLAHE(clip, tiles).apply(image)
        same(name, library.clahe(image, clip, tiles), theirs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_opencv_clahe_luma(library, cv2, dtype):
    images = list(generated(dtype, 3))
    if dtype == np.uint8:
        images += rgb_files()
    for name, image in images:
        same(name, library.clahe(image), luma_with(cv2, image, cv2.createCLAHE(2.0, (8, 8)).apply))


# ---- Pillow ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 3])
def test_pillow(library, channels):
    pytest.importorskip("PIL.ImageOps", reason="Pillow is not installed")
    from PIL import Image, ImageOps
    for name, image in [*generated(np.uint8, channels), *(grey_files() if channels == 1 else rgb_files())]:
        same(name, library.equalize(image, "pillow"), np.array(ImageOps.equalize(Image.fromarray(image))))
        mask = np.random.default_rng(3).integers(0, 2, image.shape[:2]).astype(np.uint8) * 255
        theirs = ImageOps.equalize(Image.fromarray(image), Image.fromarray(mask))
        same(name + ", mask", library.equalize(image, "pillow", mask=mask), np.array(theirs))


# ---- scikit-image ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_skimage(library, dtype):
    exposure = pytest.importorskip("skimage.exposure", reason="scikit-image is not installed")
    top = np.iinfo(dtype).max
    images = [*generated(dtype, 1), *(grey_files() if dtype == np.uint8 else [("terrain", terrain())])]
    for name, image in images:
        theirs = np.rint(top * exposure.equalize_hist(image, nbins=int(top) + 1)).astype(dtype)
        same(name, library.equalize(image, "skimage"), theirs)


# ---- vips, ImageMagick -----------------------------------------------------------------------------------------------


def write_pnm(path, image):
    """Writes a PNM file, P5 or P6."""
    top = np.iinfo(image.dtype).max
    header = f"P{6 if image.ndim == 3 else 5}\n{image.shape[1]} {image.shape[0]}\n{top}\n"
    path.write_bytes(header.encode() + image.astype(">u2" if top > 255 else "u1").tobytes())


def few(dtype, channels):
    """Some images, where each takes a peer's program or much time."""
    return [item for i, item in enumerate(generated(dtype, channels)) if i % 3 == 0 or "(64, 64" in item[0]]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_vips(library, tmp_path, dtype, channels):
    if not shutil.which("vips"):
        pytest.skip("vips is not installed")
    images = few(dtype, channels)
    if channels == 3 and dtype == np.uint8:
        images += rgb_files()
    without_modules = dict(os.environ, VIPSHOME="/nowhere")  # for other formats, which take more than half of its start
    for name, image in images:
        source, result = tmp_path / "in.ppm", tmp_path / "out.v"
        write_pnm(source, image)
        subprocess.run(["vips", "hist_equal", source, result], env=without_modules, check=True)
        samples = np.fromfile(result, np.uint8)[64:64 + image.nbytes]  # after the header, in the machine's order
        same(name, library.equalize(image, "vips"), samples.view(image.dtype).reshape(image.shape))


def magick():
    for name in ("convert-im6.q16", "convert"):
        if shutil.which(name):
            version = subprocess.run([name, "-version"], stdout=subprocess.PIPE, check=False).stdout
            if b"ImageMagick 6" in version and b"Q16" in version:
                return name
    return None


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_imagemagick(library, tmp_path, dtype, channels):
    program = magick()
    if not program:
        pytest.skip("ImageMagick 6 Q16 is not installed")
    bits, images = np.iinfo(dtype).bits, few(dtype, channels)
    if channels == 3 and dtype == np.uint8:
        images += rgb_files()
    for name, image in images:
        source = tmp_path / "in.ppm"
        write_pnm(source, image)
        kind = "rgb" if channels == 3 else "gray"
        raw = subprocess.run([program, source, "-equalize", "-depth", str(bits), "-endian", "LSB", f"{kind}:-"],
                             stdout=subprocess.PIPE, check=True).stdout
        theirs = np.frombuffer(raw, "<u2" if bits == 16 else "u1").reshape(image.shape)
        same(name, library.equalize(image, "imagemagick"), theirs.astype(dtype))


# ---- threads ---------------------------------------------------------------------------------------------------------


def test_threads_do_not_matter(library):
    """Bytes are the same with 1, 3 and 7 threads, in place and not."""
    rng = np.random.default_rng(5)
    for threads in (1, 3, 7):
        other = scan_library.Library(threads)
        for dtype in DTYPES:
            for channels in (1, 2, 3, 4):
                image = rng.integers(0, np.iinfo(dtype).max + 1, (300, 401, channels)).astype(dtype)
                for like in scan_library.LIKES:
                    expected = library.equalize(image, like)
                    same(like, other.equalize(image, like), expected)
                    place = image.copy()
                    same(like, other.equalize(place, like, out=place), expected)
                same("clahe", other.clahe(image), library.clahe(image))
                assert (other.histogram(image) == library.histogram(image)).all()
        other.close()
