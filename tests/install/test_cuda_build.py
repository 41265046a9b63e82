# SPDX-License-Identifier: MIT
"""The CUDA part of libscan.so, where the build has one: for which GPUs it is, how many kernels it has, how large they are.

The section .nv_fatbin holds device code: images with a header each, whose ELF files have a section for each kernel."""
import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest

BIN = pathlib.Path(os.environ.get("SCAN_BIN", pathlib.Path(__file__).resolve().parents[2] / "build/bin"))
CACHE = BIN.parent / "CMakeCache.txt"
MAX_KERNELS = 360  # of which 53 for an operator on all types, 40 for one on integers
MAX_CODE_BYTES = 12 << 20
ELF_IMAGE = 2
MAX_THREADS = bytes([4, 5, 12, 0])  # in .nv.info: the attribute of three words that __launch_bounds__ makes


def setting(name):
    found = re.search(rf"^{name}:\w+=(.*)$", CACHE.read_text(), re.M) if CACHE.exists() else None
    return found.group(1) if found else ""


def images(fatbin):
    """Yields (architecture, ELF file) of every image of machine code."""
    at = 0
    while at + 16 <= len(fatbin):
        magic, _, header, size = struct.unpack_from("<IHHQ", fatbin, at)
        if magic != 0xBA55ED50:
            at += 8
            continue
        at, end = at + header, at + header + size
        while at < end:
            kind, _, header, size, architecture = struct.unpack_from("<HHIQ12xI", fatbin, at)
            if kind == ELF_IMAGE:
                image = fatbin[at + header:at + header + size]
                assert image.startswith(b"\x7fELF"), "compressed machine code: this test cannot read it"
                yield architecture, image
            at += header + size


def kernels_of(elf):
    """Yields (name, bytes, whether it has __launch_bounds__) of every kernel."""
    table, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + i * size) for i in range(count)]
    strings = headers[names][4]
    sections = {}
    for name, _, _, _, offset, length, _, _, _, _ in headers:
        start = strings + name
        sections[elf[start:elf.index(b"\0", start)].decode()] = elf[offset:offset + length]
    for name, code in sections.items():
        if name.startswith(".text."):
            yield name[6:], len(code), MAX_THREADS in sections.get(".nv.info." + name[6:], b"")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """{90: [(name, bytes, bounded), ...], ...}"""
    if setting("SCAN_CUDA") in ("OFF", "EMULATED") or setting("CMAKE_CUDA_COMPILER") in ("", "NOTFOUND"):
        pytest.skip("this build has no CUDA backend, or an emulated one")
    if not shutil.which("objcopy"):
        pytest.skip("objcopy is not here")
    fatbin = tmp_path_factory.mktemp("fatbin") / "fatbin"
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.nv_fatbin", BIN.parent / "lib/libscan.so", fatbin], check=True)
    found = {}
    for architecture, elf in images(fatbin.read_bytes()):
        found.setdefault(architecture, []).extend(kernels_of(elf))
    return found


def test_code_is_there_for_every_gpu_asked_for(kernels):
    wanted = setting("CMAKE_CUDA_ARCHITECTURES") or "75-real;90"
    assert set(kernels) == {int(a.split("-")[0]) for a in wanted.split(";") if not a.endswith("virtual")}


def test_few_kernels(kernels):
    for architecture, found in kernels.items():
        print(architecture, len(found), "kernels")
        assert 0 < len(found) <= MAX_KERNELS, architecture


def test_little_code(kernels):
    for architecture, found in kernels.items():
        total = sum(size for _, size, _ in found)
        print(architecture, total, "bytes")
        assert 0 < total <= MAX_CODE_BYTES, architecture


def test_every_kernel_says_its_threads(kernels):
    """Without __launch_bounds__ the compiler may take more registers than a launch of that many threads can have."""
    for architecture, found in kernels.items():
        assert [name for name, _, bounded in found if not bounded] == [], architecture
