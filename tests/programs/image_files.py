# SPDX-License-Identifier: MIT
"""Image files for the tests: a PNG writer and a PNG reader that are independent of the libraries under test, PNM, and
runs of the program `equalize`."""
import os
import pathlib
import struct
import subprocess
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin"))
DATA = ROOT / "data"
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def equalize(*arguments, code=0, stdin=None, cwd=None, timeout=60):
    """Runs the program; checks its exit code and that errors are single lines."""
    done = subprocess.run([str(BIN / "equalize"), *map(str, arguments)], input=stdin, cwd=cwd, timeout=timeout,
                          stdin=subprocess.DEVNULL if stdin is None else None, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    if code:
        for line in done.stderr.decode().splitlines():
            assert line.startswith("equalize: "), line
    return done


def refuse(*arguments, message=None, code=2, lines=1, **more):
    """Runs; the program must fail with one line that contains `message`, and write nothing to stdout."""
    done = equalize(*arguments, code=code, **more)
    text = done.stderr.decode()
    assert len(text.splitlines()) == lines, text
    assert done.stdout == b""
    if message:
        assert message in text, text
    return text


def passed(tmp_path, file, extension=".png"):
    """Returns the pixels of a small image as the program reads them."""
    source, target = tmp_path / "in", tmp_path / ("out" + extension)
    source.write_bytes(file)
    equalize("--like", "pillow", "-f", source, "-o", target)
    return read_image(target.read_bytes())


def broken(tmp_path, file, message=None, name="in.png", **more):
    """The file must be refused, and no output left."""
    source, target = tmp_path / name, tmp_path / "out.png"
    source.write_bytes(file)
    text = refuse(source, "-o", target, message=message, **more)
    assert name in text or "stdin" in text
    assert not target.exists()
    return text


# ---- PNG ------------------------------------------------------------------------------------------------------------

def chunk(kind, data=b""):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width, height, depth=8, color=0, interlace=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace))


CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def pack_rows(samples, depth):
    """Filters rows of packed samples, each by another of PNG's filters, with the filter's byte before it."""
    height, width, channels = samples.shape
    step = max(1, channels * depth // 8)
    rows, before = [], None
    for y in range(height):
        flat = samples[y].reshape(-1)
        if depth == 16:
            raw = flat.astype(">u2").tobytes()
        elif depth == 8:
            raw = flat.astype(np.uint8).tobytes()
        else:
            bits = "".join(format(int(v), f"0{depth}b") for v in flat)
            bits += "0" * (-len(bits) % 8)
            raw = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
        up = before or bytes(len(raw))
        kind = y % 5
        out = bytearray([kind])
        for i, value in enumerate(raw):
            a = raw[i - step] if i >= step else 0
            b = up[i]
            c = up[i - step] if i >= step else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            out.append((value - [0, a, b, (a + b) // 2, nearest][kind]) & 255)
        rows.append(bytes(out))
        before = raw
    return b"".join(rows)


def png(samples, depth=8, color=None, interlace=0, palette=None, trns=None, idat=None, before=b""):
    """samples: height x width x channels. Every row filter is used."""
    samples = np.asarray(samples)
    if samples.ndim == 2:
        samples = samples[:, :, None]
    height, width, channels = samples.shape
    if color is None:
        color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    if interlace:
        data = b"".join(pack_rows(samples[y0::dy, x0::dx], depth) for x0, y0, dx, dy in PASSES
                        if samples[y0::dy, x0::dx].size)
    else:
        data = pack_rows(samples, depth)
    data = zlib.compress(data)
    out = SIGNATURE + header(width, height, depth, color, interlace) + before
    if palette is not None:
        out += chunk(b"PLTE", np.asarray(palette, np.uint8).tobytes())
    if trns is not None:
        out += chunk(b"tRNS", trns)
    size = idat or len(data)
    for at in range(0, len(data), size):
        out += chunk(b"IDAT", data[at:at + size])
    return out + chunk(b"IEND")


def read_png(file):
    """Reads a PNG of 8 or 16 bits without interlace. Height x width x channels, without the last axis for grey."""
    assert file[:8] == SIGNATURE
    at, data, head = 8, b"", None
    while at < len(file):
        size, kind = struct.unpack(">I4s", file[at:at + 8])
        body = file[at + 8:at + 8 + size]
        assert struct.unpack(">I", file[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            data += body
        at += size + 12
    width, height, depth, color, _, _, interlace = head
    assert depth in (8, 16) and interlace == 0
    channels = CHANNELS[color]
    row_bytes = width * channels * depth // 8
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, row_bytes + 1)
    assert not rows[:, 0].any(), "the program writes rows without filters"
    flat = rows[:, 1:].tobytes()
    samples = np.frombuffer(flat, ">u2" if depth == 16 else np.uint8).astype(np.uint16 if depth == 16 else np.uint8)
    samples = samples.reshape(height, width, channels)
    return samples[:, :, 0] if channels == 1 else samples


# ---- PNM ------------------------------------------------------------------------------------------------------------

def pnm(samples, maxval=None, plain=False):
    samples = np.asarray(samples)
    color = samples.ndim == 3
    maxval = maxval or (65535 if samples.dtype == np.uint16 else 255)
    kind = {(False, False): 5, (True, False): 6, (False, True): 2, (True, True): 3}[(color, plain)]
    head = f"P{kind}\n{samples.shape[1]} {samples.shape[0]}\n{maxval}\n".encode()
    if plain:
        return head + "\n".join(" ".join(map(str, row.reshape(-1))) for row in samples).encode() + b"\n"
    return head + samples.astype(">u2" if maxval > 255 else np.uint8).tobytes()


def read_pnm(file):
    kind, rest = file.split(b"\n", 1)
    while rest.startswith(b"#"):
        rest = rest.split(b"\n", 1)[1]
    size, maxval, data = rest.split(b"\n", 2)
    width, height = map(int, size.split())
    maxval = int(maxval)
    samples = np.frombuffer(data, ">u2" if maxval > 255 else np.uint8)
    samples = samples.astype(np.uint16 if maxval > 255 else np.uint8)
    return samples.reshape((height, width, 3) if kind == b"P6" else (height, width))


def read_image(file):
    return read_png(file) if file[:8] == SIGNATURE else read_pnm(file)


def bumps(height, width, channels=1, dtype=np.uint8, seed=0):
    """A smooth picture of low contrast, with noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    top = np.iinfo(dtype).max
    planes = []
    for c in range(channels):
        wave = np.sin(x / (9 + 3 * c) + seed) + np.cos(y / (7 + 2 * c)) + rng.normal(0, 0.4, (height, width))
        planes.append(np.clip((0.4 + 0.08 * wave) * top, 0, top).astype(dtype))
    return planes[0] if channels == 1 else np.stack(planes, axis=2)
