# SPDX-License-Identifier: MIT
"""The CUDA part of libscan.so, where this build has one: for which GPUs, how many kernels, how large."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

BIN = pathlib.Path(os.environ.get("SCAN_BIN", pathlib.Path(__file__).resolve().parents[2] / "build/bin"))
CACHE = BIN.parent / "CMakeCache.txt"
MAX_KERNELS = 300
MAX_CODE_BYTES = 12 << 20


def setting(name):
    found = re.search(rf"^{name}:\w+=(.*)$", CACHE.read_text(), re.M) if CACHE.exists() else None
    return found.group(1) if found else ""


@pytest.fixture(scope="module")
def cubins(tmp_path_factory):
    """The device code for each architecture: {"sm_90": [(kernel, bytes), ...]}."""
    compiler = setting("CMAKE_CUDA_COMPILER")
    if not compiler or compiler.endswith("NOTFOUND"):
        pytest.skip("this build has no CUDA backend")
    tool = pathlib.Path(compiler).resolve().parent / "cuobjdump"
    if not tool.exists() or not shutil.which("readelf"):
        pytest.skip("cuobjdump or readelf is not here")
    folder = tmp_path_factory.mktemp("cubins")
    subprocess.run([tool, "-xelf", "all", BIN.parent / "lib/libscan.so"], cwd=folder, check=True, capture_output=True)
    found = {}
    for cubin in folder.glob("*.cubin"):
        sections = subprocess.run(["readelf", "-SW", cubin], check=True, capture_output=True, text=True).stdout
        code = re.findall(r"\] \.text\.(\S+)\s+PROGBITS\s+[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", sections)
        found.setdefault(re.search(r"sm_\d+", cubin.name).group(), []).extend((name, int(size, 16)) for name, size in code)
    return found


def test_code_is_there_for_old_and_new_gpus(cubins):
    wanted = setting("CMAKE_CUDA_ARCHITECTURES") or "75-real;90"
    assert set(cubins) == {"sm_" + a.split("-")[0] for a in wanted.split(";") if not a.endswith("virtual")}


def test_few_kernels(cubins):
    for architecture, kernels in cubins.items():
        assert len(kernels) <= MAX_KERNELS, architecture


def test_little_code(cubins):
    for architecture, kernels in cubins.items():
        total = sum(size for _, size in kernels)
        print(architecture, len(kernels), "kernels", total, "bytes")
        assert 0 < total <= MAX_CODE_BYTES, architecture
