# SPDX-License-Identifier: MIT
"""The CUDA part of libscan.so, where the build has one: for which GPUs it is, how many kernels it has, how large they are.

The section .nv_fatbin holds device code: a fat binary for each source, of images with a header each. An image is PTX, which
a driver compiles for its GPU, or an ELF file of machine code, with a section for each kernel."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest

BIN = pathlib.Path(os.environ.get("SCAN_BIN", pathlib.Path(__file__).resolve().parents[2] / "build/bin"))
ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = BIN.parent / "CMakeCache.txt"
MAX_KERNELS = 337  # of which 29 for an operator on all types, 20 for one on integers
MAX_CODE_BYTES = 16 << 20
MAX_QUICK_CODE_BYTES = 8 << 20  # of --Ofast-compile=mid, which unrolls less (tools/test without a GPU)
PTX_IMAGE, ELF_IMAGE = 1, 2
MAX_THREADS = bytes([4, 5, 12, 0])  # in .nv.info: the attribute of three words that __launch_bounds__ makes


def setting(name):
    found = re.search(rf"^{name}:\w+=(.*)$", CACHE.read_text(), re.M) if CACHE.exists() else None
    return found.group(1) if found else ""


def has_cuda():
    return setting("SCAN_CUDA") not in ("OFF", "EMULATED") and setting("CMAKE_CUDA_COMPILER") not in ("", "NOTFOUND")


def asked_for(build):
    """The architectures that a build compiles the library for, as nvcc names them: {"sm_90", "compute_90"}."""
    commands = [entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())
                if "/scan/cuda/" in entry["file"]]
    assert commands
    asked = {frozenset(name for names in re.findall(r"code=\[([^]]*)\]", command) for name in names.split(","))
             for command in commands}
    assert len(asked) == 1, "not all sources are compiled for the same GPUs"
    return asked.pop()


def fat_binaries(section):
    """Yields a list of (kind, architecture, image) for every fat binary in a section."""
    at = 0
    while at + 16 <= len(section):
        magic, _, header, size = struct.unpack_from("<IHHQ", section, at)
        if magic != 0xBA55ED50:
            at += 8
            continue
        at, end = at + header, at + header + size
        images = []
        while at < end:
            kind, _, header, size, architecture = struct.unpack_from("<HHIQ12xI", section, at)
            image = section[at + header:at + header + size]
            assert kind != ELF_IMAGE or image.startswith(b"\x7fELF"), "compressed machine code: this test cannot read it"
            images.append((kind, architecture, image))
            at += header + size
        yield images


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
        if name.startswith(".text.") and ".nv.constant0" + name[5:] in sections:  # its arguments; a function called has none
            yield name[6:], len(code), MAX_THREADS in sections.get(".nv.info." + name[6:], b"")


def read_fat_binaries(path, scratch):
    """The fat binaries of a library or an object."""
    if not shutil.which("objcopy"):
        pytest.skip("objcopy is not here")
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.nv_fatbin", path, scratch], check=True)
    return list(fat_binaries(scratch.read_bytes()))


def kernels_by_architecture(binaries):
    """{90: [(name, bytes, bounded), ...], ...}"""
    found = {}
    for images in binaries:
        for kind, architecture, image in images:
            if kind == ELF_IMAGE:
                found.setdefault(architecture, []).extend(kernels_of(image))
    return found


def code_bytes(kernels):
    """{90: bytes of machine code, ...}"""
    return {architecture: sum(size for _, size, _ in found) for architecture, found in kernels.items()}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The fat binaries of libscan.so."""
    if not has_cuda():
        pytest.skip("this build has no CUDA backend, or an emulated one")
    return read_fat_binaries(BIN.parent / "lib/libscan.so", tmp_path_factory.mktemp("fatbin") / "fatbin")


@pytest.fixture(scope="module")
def kernels(library):
    return kernels_by_architecture(library)


@pytest.fixture(scope="module")
def by_default(tmp_path_factory):
    """The architectures of a build that is told none, with what CMake has found out of the compilers."""
    if not has_cuda():
        pytest.skip("this build has no CUDA backend, or an emulated one")
    build = tmp_path_factory.mktemp("default")
    for known in BIN.parent.glob("CMakeFiles/*/CMakeCUDACompiler.cmake"):
        shutil.copytree(known.parent, build / "CMakeFiles" / known.parent.name)
    environment = {name: value for name, value in os.environ.items() if name != "CUDAARCHS"}
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-DSCAN_CUDA=ON", "-DSCAN_MPI=OFF", "-DSCAN_TESTS=OFF",
                    "-DCMAKE_CUDA_COMPILER=" + setting("CMAKE_CUDA_COMPILER")], env=environment, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return asked_for(build)


def serves(architectures, gpu):
    """Does a GPU find code? Machine code runs on GPUs of its major version from its minor version on; PTX is compiled for
    every GPU from its version on."""
    def fits(name):
        kind, version = name.split("_")
        return int(version) <= gpu and (kind == "compute" or int(version) // 10 == gpu // 10)
    return any(fits(name) for name in architectures)


def test_the_default_architectures(by_default):
    assert by_default == {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "compute_120"}


@pytest.mark.parametrize("gpu", [75, 80, 86, 89, 90, 100, 103, 120, 121, 130])
def test_every_gpu_finds_code_in_a_default_build(by_default, gpu):
    assert serves(by_default, gpu)


def test_sources_compile_for_the_oldest_gpu(tmp_path):
    """What host code needs of a header may be missing where a GPU has no bulk copies: the compiler's front end tells."""
    if not has_cuda():
        pytest.skip("this build has no CUDA backend, or an emulated one")
    nvcc = setting("CMAKE_CUDA_COMPILER")
    can_stop = b"-fdevice-syntax-only" in subprocess.run([nvcc, "--help"], capture_output=True, check=True).stdout
    command = [nvcc, "-arch=compute_75", "-ptx", "-fdevice-syntax-only" if can_stop else "-G", "-std=c++17",
               "--expt-relaxed-constexpr", "-DSCAN_HAS_CUDA", "-D_GNU_SOURCE", "-o", tmp_path / "ptx"]
    sources, unit = sorted((ROOT / "scan/cuda").rglob("*.cu")), tmp_path / "unit.cu"
    assert len(sources) > 20

    def compiled(sources):
        unit.write_text("".join(f'#include "{source}"\n' for source in sources))
        return subprocess.run([*command, unit], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    # Several at a time, which reads the headers once; one by one where two of a unit have something of the same name.
    for unit_sources in (sources[k::5] for k in range(5)):
        for source in unit_sources if compiled(unit_sources).returncode else ():
            done = compiled([source])
            assert done.returncode == 0, done.stderr


def test_the_library_has_the_code_that_was_asked_for(library):
    """Every source's, because kernels of all of them are needed."""
    assert library
    for images in library:
        found = {("sm_" if kind == ELF_IMAGE else "compute_") + str(version) for kind, version, _ in images
                 if kind in (PTX_IMAGE, ELF_IMAGE)}
        assert found == asked_for(BIN.parent)
    print("libscan.so has", ", ".join(sorted(asked_for(BIN.parent))))


def test_few_kernels(kernels):
    for architecture, found in kernels.items():
        print(architecture, len(found), "kernels")
        assert 0 < len(found) <= MAX_KERNELS, architecture


def test_little_code(kernels):
    """Of every architecture that the build has; a default build has them all."""
    most = MAX_QUICK_CODE_BYTES if "--Ofast-compile" in setting("CMAKE_CUDA_FLAGS") else MAX_CODE_BYTES
    total = code_bytes(kernels)
    print("bytes of machine code:", total)
    assert all(total.values())
    assert {architecture: size for architecture, size in total.items() if size > most} == {}, f"at most {most} bytes"


def test_the_code_of_every_architecture_is_counted(tmp_path):
    """Of two kernels for two architectures, of which one has a thousand instructions more, of 16 bytes each."""
    if not has_cuda():
        pytest.skip("this build has no CUDA backend, or an emulated one")
    source = tmp_path / "two.cu"
    source.write_text("""
        __global__ void __launch_bounds__(32) small(int *x) { *x *= 7919; }
        __global__ void grown(volatile int *x) {
        #if __CUDA_ARCH__ == 1000
        #pragma unroll
            for (int i = 0; i < 1000; i++)
                *x = i;
        #endif
        }
    """)
    command = [setting("CMAKE_CUDA_COMPILER"), "-c", source, "-o", tmp_path / "two.o"]
    command += [f"-gencode=arch=compute_{a},code=sm_{a}" for a in (75, 100)]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
    kernels = kernels_by_architecture(read_fat_binaries(tmp_path / "two.o", tmp_path / "fatbin"))
    total = code_bytes(kernels)
    assert sorted(total) == [75, 100]
    assert 0 < total[75] < 4096 and 16 * 1000 <= total[100] - total[75] < 40 * 1000
    assert all(sorted(bounded for _, _, bounded in found) == [False, True] for found in kernels.values())


def test_every_kernel_says_its_threads(kernels):
    """Without __launch_bounds__ the compiler may take more registers than a launch of that many threads can have."""
    for architecture, found in kernels.items():
        assert [name for name, _, bounded in found if not bounded] == [], architecture
