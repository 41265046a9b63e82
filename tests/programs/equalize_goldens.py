#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes data/expected/equalize.txt: what the real peers make of the images in data/, as SHA-256 of the PGM or PPM file
that `equalize` must write. Run by hand where OpenCV, Pillow, scikit-image, vips and ImageMagick 6 are installed:

    /usr/bin/python3 tests/programs/equalize_goldens.py >data/expected/equalize.txt

The peers are also functions here, for tests that run them directly."""
import hashlib
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from image_files import DATA, pnm, read_pnm


def opencv(image):
    import cv2
    if image.ndim == 2:
        return cv2.equalizeHist(image)
    parts = cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb)
    parts[..., 0] = cv2.equalizeHist(parts[..., 0])
    return cv2.cvtColor(parts, cv2.COLOR_YCrCb2RGB)


def opencv_clahe(image, clip=2.0, tiles=(8, 8)):
    import cv2
    clahe = cv2.createCLAHE(clip, tiles)
    if image.ndim == 2:
        return clahe.apply(image)
    parts = cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb)
    parts[..., 0] = clahe.apply(parts[..., 0])
    return cv2.cvtColor(parts, cv2.COLOR_YCrCb2RGB)


def pillow(image, mask=None):
    from PIL import Image, ImageOps
    if mask is not None:
        mask = Image.fromarray(((mask != 0) * 255).astype(np.uint8))
        return np.asarray(ImageOps.equalize(Image.fromarray(image), mask))
    return np.asarray(ImageOps.equalize(Image.fromarray(image)))


def skimage(image):
    from skimage import exposure
    top = np.iinfo(image.dtype).max
    return np.rint(exposure.equalize_hist(image, nbins=256) * top).astype(image.dtype)


def through_files(command, image):
    """A peer that is a program: command with IN and OUT as file names."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "in.pnm"), pathlib.Path(folder, "out.ppm" if image.ndim == 3 else "out.pgm")
        source.write_bytes(pnm(image))
        names = {"IN": str(source), "OUT": str(target)}
        subprocess.run([names.get(word, word) for word in command], check=True, capture_output=True, timeout=60)
        return read_pnm(target.read_bytes())


def vips(image):
    return through_files(["vips", "hist_equal", "IN", "OUT"], image)


def imagemagick(image):
    depth = "16" if image.dtype == np.uint16 else "8"
    return through_files(["convert-im6.q16", "IN", "-equalize", "-depth", depth, "OUT"], image)


PEERS = {"opencv": opencv, "pillow": pillow, "skimage": skimage, "vips": vips, "imagemagick": imagemagick}


def versions():
    import cv2
    import PIL
    import skimage as scikit

    def said(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]

    yield f"OpenCV {cv2.__version__}: equalizeHist, createCLAHE; color by cvtColor RGB2YCrCb and back"
    yield f"Pillow {PIL.__version__}: ImageOps.equalize"
    yield f"scikit-image {scikit.__version__}: rint(exposure.equalize_hist(image, nbins=256) * largest sample)"
    yield said("vips", "--version") + ": vips hist_equal"
    yield said("convert-im6.q16", "--version").removeprefix("Version: ") + ": convert -equalize"


def cases():
    """Yields an image, options of equalize, and what the peer makes of the image."""
    from PIL import Image
    gray = {name: np.asarray(Image.open(DATA / name)) for name in ("moon.png", "cell.png")}
    dem = read_pnm((DATA / "jacksboro_dem.pgm").read_bytes())
    color = read_pnm((DATA / "expected/color.ppm").read_bytes())
    for name, image in gray.items():
        for like, peer in PEERS.items():
            yield name, ["--like", like], peer(image)
        yield name, ["--method", "clahe"], opencv_clahe(image)
        yield name, ["--method", "clahe", "--clip", "0"], opencv_clahe(image, 0.0)
        yield name, ["--method", "clahe", "--clip", "40", "--tiles", "3x5"], opencv_clahe(image, 40.0, (3, 5))
    for like in ("skimage", "vips", "imagemagick"):
        yield "jacksboro_dem.pgm", ["--like", like], PEERS[like](dem)
    yield "jacksboro_dem.pgm", ["--method", "clahe"], opencv_clahe(dem)
    yield "jacksboro_dem.pgm", ["--method", "clahe", "--clip", "3.5", "--tiles", "7x2"], opencv_clahe(dem, 3.5, (7, 2))
    for like in ("opencv", "pillow", "vips", "imagemagick"):
        yield "expected/color.ppm", ["--like", like], PEERS[like](color)
    yield "expected/color.ppm", ["--method", "clahe"], opencv_clahe(color)


def main():
    sys.stdout.write("# Equalized images of the real peers, as SHA-256 of the PGM or PPM file `equalize` must write.\n"
                     "# Made by tests/programs/equalize_goldens.py with\n")
    for line in versions():
        print("#   " + line)
    print("# expected/color.ppm: the middle of retina.jpg, decoded and reduced to 96 x 96 by Pillow.")
    for name, options, image in cases():
        print(hashlib.sha256(pnm(image)).hexdigest(), name, *options)


if __name__ == "__main__":
    main()
