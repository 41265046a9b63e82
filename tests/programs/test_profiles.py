# SPDX-License-Identifier: MIT
"""ICC colour profiles through `equalize`, folders among its images, and the folder of --out-dir."""
import functools
import json
import os
import pathlib
import random
import struct
import tempfile
import zlib

import numpy as np
import pytest

from conftest import in_sanitized
from image_files import DATA, SIGNATURE, equalize, png, pnm, read_png, refuse

pytestmark = in_sanitized("damaged profiles")

SMALL = random.Random(1).randbytes(3000)
LARGE = random.Random(2).randbytes(150_000)  # three segments of a JPEG
IMAGE = np.random.default_rng(3).integers(0, 256, (20, 30, 3), dtype="u1")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def chunks(file):
    assert file.startswith(SIGNATURE)
    at = 8
    while at < len(file):
        size = struct.unpack(">I", file[at:at + 4])[0]
        yield file[at + 4:at + 8], file[at + 8:at + 8 + size]
        at += 12 + size


def with_chunk(content, image=IMAGE):
    file = png(image)
    return file[:33] + chunk(b"iCCP", content) + file[33:]  # behind IHDR


def png_file(profile):
    return with_chunk(b"A name\0\0" + zlib.compress(profile))


def segments_of(profile):
    parts = [profile[at:at + 65519] for at in range(0, len(profile), 65519)]
    return [b"\xff\xe2" + struct.pack(">H", len(part) + 16) + b"ICC_PROFILE\0" + bytes([i + 1, len(parts)]) + part
            for i, part in enumerate(parts)]


@functools.cache
def small_jpeg():
    with tempfile.TemporaryDirectory() as folder:
        equalize("-o", f"{folder}/small.jpg", stdin=pnm(IMAGE))
        return pathlib.Path(folder, "small.jpg").read_bytes()


def jpeg_file(segments):
    return b"\xff\xd8" + b"".join(segments) + small_jpeg()[2:]


def png_profile(file):
    kinds = [kind for kind, _ in chunks(file)]
    found = [data for kind, data in chunks(file) if kind == b"iCCP"]
    assert len(found) <= 1 and kinds.index(b"IDAT") > (kinds.index(b"iCCP") if found else 0)
    if not found:
        return None
    name, rest = found[0].split(b"\0", 1)
    assert 1 <= len(name) <= 79 and rest[:1] == b"\0"
    return zlib.decompress(rest[1:])


def jpeg_profile(file):
    at, parts = 2, {}
    while file[at + 1] != 0xDA:
        size = struct.unpack(">H", file[at + 2:at + 4])[0]
        content = file[at + 4:at + 2 + size]
        if file[at + 1] == 0xE2 and content.startswith(b"ICC_PROFILE\0"):
            parts[content[12]] = content[14:]
            count = content[13]
        at += 2 + size
    assert not parts or sorted(parts) == list(range(1, count + 1))
    return b"".join(parts[i] for i in sorted(parts)) if parts else None


@pytest.mark.parametrize("profile", [SMALL, LARGE, b"x"], ids=["small", "large", "one byte"])
def test_profiles_are_kept(tmp_path, profile):
    shuffled = segments_of(profile)
    random.Random(4).shuffle(shuffled)
    (tmp_path / "in.png").write_bytes(png_file(profile))
    (tmp_path / "in.jpg").write_bytes(jpeg_file(shuffled))
    for source in "in.png", "in.jpg":
        for target, read in ("out.png", png_profile), ("out.jpg", jpeg_profile):
            assert equalize(tmp_path / source, "-o", tmp_path / target, "-f", "--verify").stderr == b""
            assert read((tmp_path / target).read_bytes()) == profile
    plain = equalize("-o", tmp_path / "plain.png", stdin=png(IMAGE)).stderr  # the pixels do not depend on it
    equalize(tmp_path / "in.png", "-o", tmp_path / "out.png", "-f")
    assert plain == b"" and png_profile((tmp_path / "plain.png").read_bytes()) is None
    assert np.array_equal(read_png((tmp_path / "out.png").read_bytes()), read_png((tmp_path / "plain.png").read_bytes()))


def test_a_profile_that_is_dropped_is_said_once(tmp_path):
    for name in "a", "b", "c":
        (tmp_path / f"{name}.png").write_bytes(png_file(SMALL))
    done = equalize(tmp_path / "a.png", "-o", tmp_path / "a.ppm")
    assert done.stderr.decode().startswith(f"equalize: {tmp_path}/a.png: its ICC colour profile is not kept: the output")
    assert done.stderr.count(b"\n") == 1
    bad = with_chunk(b"name\0\0" + zlib.compress(SMALL)[:-9])
    (tmp_path / "d.png").write_bytes(bad)
    assert equalize(tmp_path / "d.png", "-o", tmp_path / "e.png").stderr == b""  # as it was
    done = equalize(tmp_path / "d.png", "-o", tmp_path / "d.jpg")
    assert done.stderr.count(b"is not kept") == 1
    broken = {"no name": with_chunk(b"\0\0" + zlib.compress(SMALL)), "method": with_chunk(b"n\0\1" + zlib.compress(SMALL)),
              "empty": with_chunk(b""), "no data": with_chunk(b"name\0\0"),
              "a part is missing": jpeg_file(segments_of(LARGE)[:2]),
              "a part twice": jpeg_file(segments_of(LARGE)[:2] + segments_of(LARGE)[:1]),
              "part 0": jpeg_file([segments_of(SMALL)[0][:16] + b"\0" + segments_of(SMALL)[0][17:]]),
              "another count": jpeg_file(segments_of(LARGE)[:2] + segments_of(SMALL))}
    folder = tmp_path / "broken"
    folder.mkdir()
    for i, file in enumerate(broken.values()):
        (folder / f"{i}.{'png' if file.startswith(SIGNATURE) else 'jpg'}").write_bytes(file)
    done = equalize(folder, "--out-dir", tmp_path / "out")
    assert done.stderr.decode() == f"equalize: {folder}/0.png: its ICC colour profile is not kept: it is damaged\n"
    for path in (tmp_path / "out").iterdir():
        read = png_profile if path.suffix == ".png" else jpeg_profile
        assert read(path.read_bytes()) is None


def test_a_profile_that_inflates_without_end(tmp_path):
    (tmp_path / "in.png").write_bytes(png_file(bytes(40 << 20)))
    done = equalize(tmp_path / "in.png", "-o", tmp_path / "out.jpg")
    assert done.stderr.count(b"is not kept") == 1 and jpeg_profile((tmp_path / "out.jpg").read_bytes()) is None


def test_folders(tmp_path):
    folder, out = tmp_path / "photos", tmp_path / "new" / "and" / "deeper"
    (folder / "sub.png").mkdir(parents=True)
    (folder / "sub.png" / "not.png").write_bytes(png(IMAGE))
    for name in "b.png", "a.PNG", ".hidden.png":
        (folder / name).write_bytes(png(IMAGE))
    (folder / "c.ppm").write_bytes(pnm(IMAGE))
    (folder / "notes.txt").write_text("no image")
    os.mkfifo(folder / "pipe.png")  # is no image, and is not waited for
    (folder / "null.png").symlink_to("/dev/null")
    single = tmp_path / "d.png"
    single.write_bytes(png(IMAGE))
    done = equalize(folder, single, "--out-dir", f"{out}/", "--json", "-", code=3)  # a folder named as an image is one bad image
    assert "sub.png: " in done.stderr.decode() and done.stderr.count(b"\n") == 1
    assert json.loads(done.stdout)["images"] == 5
    assert sorted(p.name for p in out.iterdir()) == ["a.PNG", "b.png", "c.ppm", "d.png"]
    assert equalize(folder / "b.png", "-o", tmp_path / "one.png").stderr == b""
    assert (out / "b.png").read_bytes() == (tmp_path / "one.png").read_bytes()


def test_folder_errors(tmp_path):
    (tmp_path / "empty").mkdir()
    moon = DATA / "moon.png"
    refuse(tmp_path / "empty", "--out-dir", tmp_path / "out", message="empty: has no images")
    refuse(tmp_path / "empty", "-o", tmp_path / "out.png", message="is a folder; --out-dir DIR")
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.png").exists()
    refuse(moon, "--out-dir", moon, code=3, message="not a folder")
    refuse(moon, "--out-dir", moon / "in", code=3, message="cannot make the folder: Not a directory")
