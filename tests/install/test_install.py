# SPDX-License-Identifier: MIT
"""What `cmake --install` installs: usable from CMake and pkg-config, shared and static, with the right symbols."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SCAN_BIN", ROOT / "build/bin")).parent
PROGRAMS = ["compact", "equalize", "prefix", "sort"]

pytestmark = pytest.mark.skipif("SCAN_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text()
                                if (BUILD / "CMakeCache.txt").exists() else True,
                                reason="a sanitizer build is not one to install")

USER = """
#include <scan/scan.h>
#include <stdio.h>
int main(void) {
    uint32_t in[5] = {3, 1, 4, 1, 5}, out[5];
    scan_ctx *ctx;
    scan_prefix_desc sum = {sizeof sum, SCAN_U32};
    if (scan_ctx_create(&ctx, NULL) != SCAN_OK || scan_prefix(ctx, &sum, in, out, 5) != SCAN_OK) return 1;
    printf("%u %s\\n", out[4], scan_version());
    scan_ctx_destroy(ctx);
    return 0;
}
"""


DIST_USER = """
#include <scan/scan_dist.h>
#include <stdio.h>
int main(void) {
    uint32_t in[5] = {3, 1, 4, 1, 5}, out[5];
    scan_ctx *ctx;
    scan_dist_comm *comm;
    scan_prefix_desc sum = {sizeof sum, SCAN_U32};
    if (scan_ctx_create(&ctx, NULL) || scan_dist_comm_create(&comm, NULL) || scan_dist_comm_use(comm, ctx) ||
        scan_dist_prefix(comm, &sum, in, out, 5)) return 1;
    printf("%u %s\\n", out[4], scan_version());
    scan_dist_comm_destroy(comm);
    scan_ctx_destroy(ctx);
    return 0;
}
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False, **more)
    text = done.stdout.decode()
    assert done.returncode == 0, f"{command}\n{text}"
    return text


def needs(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module")
def version():
    found = re.findall(r"#define SCAN_VERSION_[A-Z]+ (\d+)", (ROOT / "scan/scan.h").read_text())
    return ".".join(found)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """The installed tree, moved to another folder: nothing in it may depend on where it was first."""
    first = tmp_path_factory.mktemp("install") / "first"
    run("cmake", "--install", BUILD, "--prefix", first)
    moved = first.parent / "moved"
    first.rename(moved)
    return moved


@pytest.fixture(scope="module")
def library(prefix):
    return next(prefix.glob("lib*/**/libscan.so")).parent


def check_user(program, version, library=None):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library) if library else "")
    assert run(program, env=environment) == f"14 {version}\n"


@pytest.mark.parametrize("target, shared", [("scan::scan", True), ("scan::scan_static", False)])
def test_find_package(prefix, library, version, tmp_path, target, shared):
    """The consumer's project enables only C."""
    (tmp_path / "main.c").write_text(USER)
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(scan {version} REQUIRED)
add_executable(user main.c)
target_link_libraries(user PRIVATE {target})
""")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "b")
    needed = run("readelf", "-d", tmp_path / "b/user")
    assert ("libscan.so.0" in needed) == shared
    check_user(tmp_path / "b/user", version, library if shared else None)


def needs_dist(library):
    if not (library / "libscan_dist.so").exists():
        pytest.skip("no MPI: libscan_dist is not built")


def test_find_package_dist(prefix, library, version, tmp_path):
    """The consumer of libscan_dist needs neither MPI's header nor its library to link."""
    needs_dist(library)
    (tmp_path / "main.c").write_text(DIST_USER)
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(scan {version} REQUIRED)
add_executable(user main.c)
target_link_libraries(user PRIVATE scan::scan_dist)
""")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "b")
    check_user(tmp_path / "b/user", version, library)


def test_pkg_config_dist(prefix, library, version, tmp_path):
    needs_dist(library)
    needs("pkg-config", "cc")
    environment = dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"))
    flags = run("pkg-config", "--cflags", "--libs", "scan_dist", env=environment).split()
    (tmp_path / "main.c").write_text(DIST_USER)
    run("cc", tmp_path / "main.c", "-o", tmp_path / "user", *flags)
    check_user(tmp_path / "user", version, library)


def test_library_needs_no_mpi(library):
    """libscan knows nothing of libscan_dist, which exports what its header declares."""
    needs_dist(library)
    needs("nm", "readelf")
    assert "mpi" not in run("readelf", "-dW", library / "libscan.so")
    names = run("nm", "-D", "--defined-only", library / "libscan_dist.so").split()[2::3]
    declared = set(re.findall(r"^SCAN_API.*?\b(scan_dist_\w+)\(", (ROOT / "scan/dist/scan_dist.h").read_text(), re.M))
    assert {name.split("@")[0] for name in names} - {"SCAN_DIST_0"} == declared


def test_other_versions_are_refused(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(scan 99.0 QUIET)
if(scan_FOUND)
  message(FATAL_ERROR "found")
endif()
""")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")


@pytest.mark.parametrize("options, shared", [([], True), (["--static"], False)])
def test_pkg_config(prefix, library, version, tmp_path, options, shared):
    needs("pkg-config", "cc")
    environment = dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"))
    flags = run("pkg-config", "--cflags", "--libs", *options, "scan", env=environment).split()
    assert run("pkg-config", "--modversion", "scan", env=environment).strip() == version
    (tmp_path / "main.c").write_text(USER)
    run("cc", tmp_path / "main.c", "-o", tmp_path / "user", *([] if shared else ["-static"]), *flags)
    check_user(tmp_path / "user", version, library if shared else None)


def test_files(prefix, library, version):
    expected = {f"bin/scan-{program}" for program in PROGRAMS}
    expected |= {f"share/man/man1/scan-{program}.1" for program in PROGRAMS}
    expected |= {f"share/bash-completion/completions/scan-{program}" for program in PROGRAMS}
    expected |= {"include/scan/scan.h", "share/zsh/site-functions/_scan", "share/doc/scan/LICENSE"}
    expected |= {str((library / name).relative_to(prefix)) for name in
                 ["libscan.a", "libscan.so", "libscan.so.0", f"libscan.so.{version}", "pkgconfig/scan.pc",
                  "cmake/scan/scan-config.cmake", "cmake/scan/scan-config-version.cmake",
                  "cmake/scan/scan-targets.cmake", "cmake/scan/scan-targets-release.cmake"]}
    if (library / "libscan_dist.so").exists():
        expected |= {"include/scan/scan_dist.h"}
        expected |= {str((library / name).relative_to(prefix)) for name in
                     ["libscan_dist.so", "libscan_dist.so.0", f"libscan_dist.so.{version}", "pkgconfig/scan_dist.pc"]}
    found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    found = {re.sub("scan-targets-[a-z]+", "scan-targets-release", name) for name in found}
    assert found == expected


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_runs_by_its_installed_name(prefix, version, program):
    said = run(prefix / f"bin/scan-{program}", "--version")
    assert version in said and f"scan-{program}" in said


def test_shared_library_exports_only_scan(library):
    needs("nm")
    names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library / "libscan.so").splitlines()]
    public = {name.split("@")[0] for name in names} - {"SCAN_0"}
    declared = set(re.findall(r"\b(scan_\w+)\(", (ROOT / "scan/scan.h").read_text()))
    assert all(name.startswith("scan_") for name in public), public
    assert not any(name.startswith("scan_cpu_") for name in public), public
    assert public <= declared and len(public) > 20


def test_static_library_defines_only_scan(library):
    needs("nm")
    text = run("nm", "-g", "--defined-only", library / "libscan.a")
    names = [line.split()[2] for line in text.splitlines() if len(line.split()) == 3]
    assert names and [n for n in names if not n.startswith(("scan_", "_ZN9scan_cuda"))] == []


def test_library_has_no_mutable_globals(library):
    """.data and .bss of the archive are empty: all contexts would share what is there. Exceptions are objects of nvcc, which
    have what registers their kernels, and tables that are complete before main()."""
    needs("readelf")
    members = run("readelf", "-SW", library / "libscan.a").split("\nFile: ")
    sections = re.findall(r"\] (\.(?:data|bss|tdata|tbss)[\w.]*) +\S+ +\S+ +\S+ +([0-9a-f]+)",
                          "".join(m for m in members if not re.match(r".*\(\w+\.cu\.o\)", m)))
    assert len(sections) > 20
    assert [name for name, size in sections if int(size, 16) and not name.startswith(".data.rel.ro")] == []


def test_shared_library_headers(library, version):
    needs("readelf")
    dynamic = run("readelf", "-dW", library / "libscan.so")
    assert "Library soname: [libscan.so.0]" in dynamic
    assert "TEXTREL" not in dynamic and "RUNPATH" not in dynamic and "RPATH" not in dynamic
    needed = set(re.findall(r"Shared library: \[(.*?)\]", dynamic))
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"}
    stack = [line for line in run("readelf", "-lW", library / "libscan.so").splitlines() if "GNU_STACK" in line]
    assert len(stack) == 1 and "RWE" not in stack[0]


@pytest.mark.parametrize("compiler, language, standard", [
    ("cc", "c", "c11"), ("cc", "c", "c17"), ("c++", "c++", "c++17"), ("c++", "c++", "c++20"),
    ("clang", "c", "c11"), ("clang++", "c++", "c++17")])
def test_header_is_strict(prefix, compiler, language, standard):
    needs(compiler)
    headers = [prefix / "include/scan/scan.h", ROOT / "scan/dist/scan_dist.h"]
    run(compiler, "-x", language, f"-std={standard}", "-pedantic-errors", "-Wall", "-Wextra", "-Wconversion", "-Werror",
        "-fsyntax-only", "-I", prefix / "include", *headers,
        *(["-Wno-pragma-once-outside-header"] if compiler.startswith("clang") else []))


def test_header_from_cxx_links(prefix, library, version, tmp_path):
    needs("c++")
    (tmp_path / "main.cpp").write_text(USER.replace("{sizeof sum, SCAN_U32}", "{}").replace(
        "scan_ctx *ctx;", "scan_ctx *ctx;").replace(
        "if (scan_ctx_create", "sum.struct_size = sizeof sum; sum.type = SCAN_U32;\n    if (scan_ctx_create"))
    run("c++", "-std=c++17", tmp_path / "main.cpp", "-o", tmp_path / "user", "-I", prefix / "include", "-L", library,
        "-lscan")
    check_user(tmp_path / "user", version, library)
