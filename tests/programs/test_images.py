# SPDX-License-Identifier: MIT
"""Reading and writing of images by `equalize`: every kind of file it reads, and every kind of broken one.

An image of at most 255 pixels goes through `--like pillow` unchanged (its step is 0), which shows the pixels as they
were read."""
import ctypes
import os
import pathlib
import re
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest

from conftest import in_release, in_sanitized
from image_files import (BIN, CHANNELS, DATA, SIGNATURE, broken, bumps, chunk, equalize, header, passed, png, pnm,
                         read_image, read_png, read_pnm, refuse)

pytestmark = in_sanitized("damaged input")

RNG = np.random.default_rng(7)


SMOOTH = (np.add.outer(np.arange(15), np.arange(17)) * 7 + 20).astype(np.uint8)
SMOOTH_RGB = np.stack([SMOOTH, 255 - SMOOTH, SMOOTH // 2 + 60], axis=2)


# ---- PNG ------------------------------------------------------------------------------------------------------------

KINDS = [(color, depth) for color, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16),
                                              6: (8, 16)}.items() for depth in depths]


@pytest.mark.parametrize("interlace", [0, 1])
@pytest.mark.parametrize("color,depth", KINDS)
def test_png_kinds(tmp_path, color, depth, interlace):
    samples = RNG.integers(0, 1 << depth, (13, 19, CHANNELS[color]))
    palette = RNG.integers(0, 256, (1 << depth, 3)) if color == 3 else None
    got = passed(tmp_path, png(samples, depth, color, interlace, palette))
    if color == 3:
        expected = palette[samples[:, :, 0]]
    else:
        expected = samples * (255 // ((1 << depth) - 1)) if depth < 8 else samples
    assert got.dtype == (np.uint16 if depth == 16 else np.uint8)
    assert np.array_equal(got, expected[:, :, 0] if expected.shape[2] == 1 else expected)


@pytest.mark.parametrize("color,depth", [(0, 1), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 4), (3, 8)])
def test_png_transparent_color_becomes_alpha(tmp_path, color, depth):
    samples = RNG.integers(0, min(1 << depth, 4), (15, 17, CHANNELS[color]))
    if color == 3:
        palette, alphas = RNG.integers(0, 256, (16, 3)), np.array([0, 7, 99, 255], np.uint8)
        got = passed(tmp_path, png(samples, depth, 3, 0, palette, alphas.tobytes()))
        expected = np.concatenate([palette[samples[:, :, 0]], alphas[samples[:, :, 0]][:, :, None]], axis=2)
    else:
        key = samples[3, 4]
        got = passed(tmp_path, png(samples, depth, color, trns=key.astype(">u2").tobytes()))
        top = 65535 if depth == 16 else 255
        alpha = np.where((samples == key).all(axis=2), 0, top)[:, :, None]
        expected = np.concatenate([samples * (255 // ((1 << depth) - 1) if depth < 8 else 1), alpha], axis=2)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("width,height", [(1, 1), (1, 200), (200, 1), (2, 3), (5, 5), (8, 8), (9, 7)])
@pytest.mark.parametrize("interlace", [0, 1])
def test_png_sizes(tmp_path, width, height, interlace):
    samples = RNG.integers(0, 256, (height, width))
    assert np.array_equal(passed(tmp_path, png(samples, interlace=interlace)), samples)


def test_png_in_many_pieces_with_other_chunks(tmp_path):
    samples = RNG.integers(0, 256, (15, 17))
    extra = chunk(b"gAMA", struct.pack(">I", 45455)) + chunk(b"tEXt", b"Comment\0hello") + chunk(b"prVt", bytes(3000))
    assert np.array_equal(passed(tmp_path, png(samples, idat=7, before=extra)), samples)


def test_png_large(tmp_path):
    samples = bumps(1500, 1201, 3)
    source = tmp_path / "in.ppm"
    source.write_bytes(pnm(samples))
    equalize(source, "-o", tmp_path / "a.png")
    equalize(source, "-o", tmp_path / "a.ppm")
    assert np.array_equal(read_png((tmp_path / "a.png").read_bytes()), read_pnm((tmp_path / "a.ppm").read_bytes()))
    equalize("--method", "clahe", "--verify", tmp_path / "a.png", "-o", tmp_path / "b.png")


def test_palette_index_outside_palette_is_the_same_every_time(tmp_path):
    samples = RNG.integers(0, 256, (15, 17))
    file = png(samples, 8, 3, 0, RNG.integers(0, 256, (10, 3)))
    first = passed(tmp_path, file)
    assert all(np.array_equal(passed(tmp_path, file), first) for _ in range(5))


GOOD_PNG = png(RNG.integers(0, 256, (15, 17)), idat=40, before=chunk(b"tEXt", b"Comment\0hello"))


@pytest.mark.parametrize("at", sorted({*range(0, len(GOOD_PNG), max(1, len(GOOD_PNG) // 45)), 1, 7, 8, 9, 12, 33,
                                       len(GOOD_PNG) - 1, len(GOOD_PNG) - 4, len(GOOD_PNG) - 12, len(GOOD_PNG) - 13}))
def test_png_truncated(tmp_path, at):
    broken(tmp_path, GOOD_PNG[:at], message="the file is empty" if at == 0 else "truncated")


def test_png_every_flipped_bit_is_found(tmp_path):
    names = []
    for at in range(0, len(GOOD_PNG), 9):
        names.append(tmp_path / f"{at}.png")
        names[-1].write_bytes(GOOD_PNG[:at] + bytes([GOOD_PNG[at] ^ 1 << at % 8]) + GOOD_PNG[at + 1:])
    (tmp_path / "out").mkdir()
    refuse(*names, "--out-dir", tmp_path / "out", lines=len(names))
    assert not list((tmp_path / "out").iterdir())


def rebuilt(ihdr=None, data=None, tail=chunk(b"IEND"), before=b""):
    data = zlib.compress(bytes(18 * 15)) if data is None else data
    return SIGNATURE + (ihdr or header(17, 15)) + before + chunk(b"IDAT", data) + tail


BAD_PNGS = {
    "bomb": (rebuilt(header(65535, 65535, 16, 6)), "too many"),
    "bomb of one bit": (rebuilt(header(65535, 65535, 1, 0)), "too many"),
    "too wide": (rebuilt(header(65536, 1)), "too many"),
    "huge sides": (rebuilt(header(0xffffffff, 0xffffffff, 16, 6)), "too many"),
    "no width": (rebuilt(header(0, 15)), "0 x 15"),
    "no height": (rebuilt(header(17, 0)), "17 x 0"),
    "odd depth": (rebuilt(header(17, 15, 3)), "color type 0 at 3 bits"),
    "palette of 16 bits": (rebuilt(header(17, 15, 16, 3)), "color type 3 at 16 bits"),
    "color type 5": (rebuilt(header(17, 15, 8, 5)), "color type 5"),
    "color type 77": (rebuilt(header(17, 15, 8, 77)), "color type 77"),
    "interlace 2": (rebuilt(header(17, 15, 8, 0, 2)), "interlace"),
    "no IDAT": (SIGNATURE + header(17, 15) + chunk(b"IEND"), "without image data"),
    "empty IDAT": (rebuilt(data=b""), "damaged"),
    "no IHDR": (SIGNATURE + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND"), "IHDR"),
    "short IHDR": (SIGNATURE + chunk(b"IHDR", bytes(12)) + chunk(b"IEND"), "IHDR"),
    "second IHDR": (rebuilt(before=header(9, 9)), "damaged"),
    "too few rows": (rebuilt(data=zlib.compress(bytes(18 * 14))), "not enough pixels"),
    "not zlib": (rebuilt(data=b"\x12\x34\x56\x78" * 9), "damaged"),
    "zlib cut": (rebuilt(data=zlib.compress(RNG.bytes(18 * 15))[:80]), "damaged"),
    "zlib bomb": (rebuilt(data=zlib.compress(bytes(200_000_000), 9)), "larger than its header says"),
    "filter 9": (rebuilt(data=zlib.compress(bytes([9] * 18 * 15))), "invalid filter"),
    "palette without PLTE": (rebuilt(header(17, 15, 8, 3)), "no PLTE"),
    "PLTE of 5 bytes": (rebuilt(header(17, 15, 8, 3), before=chunk(b"PLTE", bytes(5))), "PLTE"),
    "PLTE too long": (rebuilt(header(17, 15, 8, 3), before=chunk(b"PLTE", bytes(3 * 257))), "PLTE"),
    "tRNS longer than PLTE": (rebuilt(header(17, 15, 8, 3), before=chunk(b"PLTE", bytes(6)) + chunk(b"tRNS", bytes(3))),
                              "tRNS"),
    "tRNS of 3 bytes": (rebuilt(before=chunk(b"tRNS", bytes(3))), "tRNS"),
    "unknown critical chunk": (rebuilt(before=chunk(b"ABCD", b"x")), "unknown kind"),
    "CgBI": (SIGNATURE + chunk(b"CgBI", bytes(4)) + GOOD_PNG[8:], "CgBI"),
    "animated": (rebuilt(before=chunk(b"acTL", bytes(8))), "animated"),
    "chunk length 4 GiB": (SIGNATURE + header(17, 15) + b"\xff\xff\xff\xffIDAT" + bytes(50), "truncated"),
    "MNG": (b"\x8aMNG\r\n\x1a\n" + GOOD_PNG[8:], "not an image"),
}


@pytest.mark.parametrize("name", BAD_PNGS)
def test_bad_png(tmp_path, name):
    broken(tmp_path, BAD_PNGS[name][0], BAD_PNGS[name][1])


def test_png_bytes_after_the_end_are_ignored(tmp_path):
    assert passed(tmp_path, GOOD_PNG + b"trailing").shape == (15, 17)


# ---- PGM and PPM ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("maxval", [1, 7, 100, 254, 255, 256, 1000, 4095, 65534, 65535])
def test_pnm_kinds(tmp_path, maxval, color, plain):
    samples = RNG.integers(0, maxval + 1, (13, 11, 3) if color else (13, 11)).astype(np.uint16)
    samples.flat[0] = maxval
    full = 255 if maxval < 256 else 65535
    expected = (samples.astype(np.int64) * full + maxval // 2) // maxval
    got = passed(tmp_path, pnm(samples, maxval, plain), ".ppm" if color else ".pgm")
    assert got.dtype == (np.uint8 if full == 255 else np.uint16)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("head", [b"P5 2 3 255 ", b"P5#c\n2#c\n3#c\n255\n", b"P5\n# a # b\n#\n 2\t\n\v\f3\r\n255\n",
                                  b"P5\r2\r3\r255\r", b"P5\n0000002 00003 00255\n"])
def test_pnm_headers(tmp_path, head):
    assert np.array_equal(passed(tmp_path, head + b"#\n\0\1\2\3"), [[35, 10], [0, 1], [2, 3]])


def test_plain_pnm_layouts(tmp_path):
    assert np.array_equal(passed(tmp_path, b"P2 2 2 9 1 # c\n2\n\n3\t4   "), np.array([[1, 2], [3, 4]]) * 255 // 9 + [[0, 1], [0, 0]])
    assert np.array_equal(passed(tmp_path, b"P2 1 2 65535 00 65535"), [[0], [65535]])


BAD_PNMS = {
    "no width": (b"P5", "not a PGM or PPM"),
    "ends in header": (b"P5\n12", "truncated"),
    "no height": (b"P5\n12 ", "height"),
    "zero width": (b"P5 0 3 255\n", "width"),
    "zero height": (b"P5 3 0 255\n", "height"),
    "negative": (b"P5 -3 3 255\n", "not a number"),
    "letters": (b"P5 x 3 255\n", "not a number"),
    "float": (b"P5 3.0 3 255\n123456789", "neither blank nor end"),
    "maxval 0": (b"P5 3 3 0\n123456789", "maxval"),
    "maxval 65536": (b"P5 3 3 65536\n123456789", "maxval"),
    "huge number": (b"P5 99999999999999999999999999 3 255\n", "width"),
    "huge product": (b"P5 2147483647 2147483647 255\nabc", "too many"),
    "above 64 GiB": (b"P6 2147483647 6 65535\nabc", "all samples are limited to 65536 MiB"),
    "below 64 GiB": (b"P6 2147483647 5 65535\nabc", "truncated: 3 bytes of pixels"),
    "huge color": (b"P6 2147483647 2147483647 65535\nabc", "too many"),
    "huge plain": (b"P2 2147483647 31 255\n1 2 3", "truncated"),
    "plain with too much around": (b"P2 1 1 9" + b" " * 70_000 + b"1", "longer than 16 bytes a sample"),
    "header of 64 KiB": (b"P5 2 2 #" + b"c" * 70_000 + b"\n9\n1234", "header is longer than 64 KiB"),
    "short by one": (b"P5 3 3 255\n12345678", "truncated: 8 bytes"),
    "long by one": (b"P5 3 3 255\n1234567890", "after the last pixel"),
    "short 16 bits": (b"P5 3 3 256\n123456789", "truncated"),
    "two images": (b"P5 1 1 255\naP5 1 1 255\na", "after the last pixel"),
    "CRLF after maxval": (b"P5\r\n1 1\r\n255\r\na", "after the last pixel"),
    "above maxval": (b"P5 3 1 100\n\x01\x65\x02", "sample 1 is 101"),
    "above maxval 16": (b"P5 2 1 256\n\x01\x00\x01\x01", "sample 1 is 257"),
    "plain above maxval": (b"P2 2 1 9\n1 10", "sample 1 is 10"),
    "plain short": (b"P2 2 2 9\n1 2 3", "truncated"),
    "plain long": (b"P2 2 1 9\n1 2 3", "after the last sample"),
    "plain letters": (b"P2 2 1 9\n1 x ", "not a number"),
    "plain negative": (b"P2 2 1 9\n1 -2", "not a number"),
    "plain huge sample": (b"P2 2 1 9\n1 99999999999999999999", "sample"),
    "unclosed comment": (b"P5 # never", "truncated"),
    "no blank after kind": (b"P52 2 255\nabcd", "not a PGM"),
}


@pytest.mark.parametrize("name", BAD_PNMS)
def test_bad_pnm(tmp_path, name):
    broken(tmp_path, BAD_PNMS[name][0], BAD_PNMS[name][1], name="in.pgm")


@pytest.mark.parametrize("at", range(0, 30, 2))
def test_pnm_truncated(tmp_path, at):
    broken(tmp_path, pnm(np.arange(30, dtype=np.uint16).reshape(5, 6))[:at], name="in.pgm")


# ---- other files ----------------------------------------------------------------------------------------------------

FOREIGN = {
    "GIF": b"GIF89a" + bytes(40), "BMP": b"BM" + bytes(60), "TIFF": b"II*\0" + bytes(60), "TIFF ": b"MM\0*" + bytes(60),
    "WebP": b"RIFF\0\0\0\0WEBPVP8 " + bytes(40), "Photoshop": b"8BPS\0\1" + bytes(40),
    "Radiance": b"#?RADIANCE\n" + bytes(40), "OpenEXR": b"v/1\x01" + bytes(40),
    "JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(40), "JPEG XL": b"\xff\x0a" + bytes(40),
    "AVIF": b"\0\0\0\x1cftypavif" + bytes(40), "HEIF": b"\0\0\0\x1cftypheic" + bytes(40),
    "PIC": b"\x53\x80\xf6\x34" + bytes(100), "TGA": bytes(40) + b"TRUEVISION-XFILE.\0", "PBM": b"P4 8 1\n\0",
    "PAM": b"P7\nWIDTH 1\n", "PFM": b"Pf\n1 1\n-1\n\0\0\0\0", "PDF": b"%PDF-1.4\n", "SVG": b"<svg xmlns=''/>",
    ".npy": b"\x93NUMPY\1\0" + bytes(80), "gzip": b"\x1f\x8b\x08" + bytes(30), "QOI": b"qoif" + bytes(30),
    "not an image": b"hello, world\n", "not an image ": bytes(1000), "empty": b"",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files_are_named(tmp_path, name):
    text = broken(tmp_path, FOREIGN[name], name.strip(), name="x.png")
    assert name == "empty" or "PNG, JPEG, PGM and PPM" in text


def test_files_that_cannot_be_read(tmp_path):
    refuse(tmp_path / "missing.png", "-o", tmp_path / "o.png", code=3, message="No such file")
    refuse(tmp_path, "-o", tmp_path / "o.png", message="is a folder")
    refuse("/dev/null", "-o", tmp_path / "o.png", message="empty")
    refuse("/dev/zero", "-o", tmp_path / "o.png", message="not an image")
    large = tmp_path / "large.png"
    large.write_bytes(SIGNATURE)
    os.truncate(large, (1 << 30) + 1)
    refuse(large, "-o", tmp_path / "o.png", message="the file is larger than 1024 MiB")


def test_reads_stdin_and_writes_stdout_in_the_same_format(tmp_path):
    assert read_png(equalize(stdin=GOOD_PNG).stdout).shape == (15, 17)
    assert equalize(DATA / "retina.jpg").stdout[:2] == b"\xff\xd8"
    assert equalize(stdin=pnm(SMOOTH)).stdout.startswith(b"P5\n17 15\n255\n")
    assert equalize(stdin=pnm(SMOOTH_RGB, plain=True)).stdout.startswith(b"P6\n17 15\n255\n")


# ---- writing --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("extension", [".png", ".pgm", ".ppm", ".pnm", ".PNG", ".Ppm"])
def test_output_formats(tmp_path, channels, depth, extension):
    samples = RNG.integers(0, 1 << depth, (11, 13, channels))
    source, target = tmp_path / "in.png", tmp_path / ("out" + extension)
    source.write_bytes(png(samples, depth))
    fits = channels in {".png": (1, 2, 3, 4), ".pgm": (1,), ".ppm": (3,), ".pnm": (1, 3)}[extension.lower()]
    if not fits:
        refuse("--like", "pillow", source, "-o", target, message="cannot hold")
        assert not target.exists()
        return
    equalize("--like", "pillow", source, "-o", target, "--verify")
    assert np.array_equal(read_image(target.read_bytes()), samples[:, :, 0] if channels == 1 else samples)


@pytest.mark.parametrize("name", ["out.gif", "out.tif", "out", "png", "out.png.bmp", ".png/out", "out."])
def test_unknown_extensions(tmp_path, name):
    text = refuse(DATA / "moon.png", "-o", tmp_path / name)
    assert ".png" in text and ".pgm" in text


def test_output_is_safe(tmp_path):
    target = tmp_path / "moon.png"
    shutil.copy(DATA / "moon.png", target)
    refuse(target, "-o", target, message="force")
    assert target.read_bytes() == (DATA / "moon.png").read_bytes()
    equalize(target, "-o", target, "-f")
    assert read_png(target.read_bytes()).shape == (512, 512)
    target.write_bytes(GOOD_PNG[:-1])
    refuse(target, "-o", target, "-f", message="truncated")
    assert target.read_bytes() == GOOD_PNG[:-1]
    refuse(DATA / "moon.png", "-o", tmp_path / "missing" / "a.png", code=3)


# ---- the sandbox ----------------------------------------------------------------------------------------------------

@in_release("the system calls of the program as it ships")
def test_decoder_makes_no_system_call_but_exit(tmp_path):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    log = tmp_path / "log"
    done = subprocess.run(["strace", "-f", "-o", log, BIN / "equalize", DATA / "retina.jpg", "-o", tmp_path / "o.png"],
                          capture_output=True, check=False, timeout=60)
    if done.returncode or not log.exists():
        pytest.skip("strace may not trace here")
    lines = log.read_text().splitlines()
    if not any("SECCOMP" in line for line in lines):
        pytest.skip("this build decodes without the sandbox")
    start = next(i for i, line in enumerate(lines) if "PR_SET_SECCOMP, SECCOMP_MODE_" in line)
    child = lines[start].split()[0]
    after = [line for line in lines[start + 1:] if line.split()[0] == child and "resumed" not in line]
    assert [re.sub(r"^\d+\s+", "", line).split("(")[0] for line in after] in (["exit", "+++ exited with 0 +++"],
                                                                              ["exit"])


def confined():
    """As in a container: a seccomp filter, one that allows everything, is already in force."""
    allow = (ctypes.c_uint8 * 8)(*struct.pack("<HBBI", 6, 0, 0, 0x7fff0000))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]

    program = Program(1, ctypes.addressof(allow))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
        os._exit(77)


def test_decodes_in_a_container(tmp_path):
    done = subprocess.run([BIN / "equalize", DATA / "moon.png", "-o", tmp_path / "o.png"], preexec_fn=confined,
                          capture_output=True, check=False, timeout=60)
    if done.returncode == 77:
        pytest.skip("seccomp filters are not allowed here")
    assert done.returncode == 0, done.stderr
    assert read_png((tmp_path / "o.png").read_bytes()).shape == (512, 512)


def test_many_large_claims_cost_no_memory(tmp_path):
    """A header that claims 1 GiB backed by a few bytes is refused without touching a gigabyte."""
    source = tmp_path / "in.png"
    source.write_bytes(rebuilt(header(32768, 32768)))
    done = subprocess.run(["bash", "-c", 'ulimit -t 20; exec "$0" "$1" -o "$2"', BIN / "equalize", source,
                           tmp_path / "o.png"], capture_output=True, check=False, timeout=60)
    assert done.returncode == 2 and b"damaged" in done.stderr


def test_no_process_is_left(tmp_path):
    """The helper process holds no descriptor of the program: a pipe from stdout ends when the program does."""
    done = subprocess.run(["bash", "-c", '"$0" "$1" | cat >"$2"', BIN / "equalize", DATA / "moon.png",
                           tmp_path / "o.png"], check=False, timeout=20)
    assert done.returncode == 0
    assert read_png((tmp_path / "o.png").read_bytes()).shape == (512, 512)
    running = [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in reading(p)]
    assert not running


def reading(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""
