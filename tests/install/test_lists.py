# SPDX-License-Identifier: MIT
"""What a row of scan/lists.h needs, and is missing, is a compile error.

Each case removes one thing from a copy of scan/ - a row, the enum's member, one of the functions that are generated calls
to - and then one source file must not compile. It is compiled with the flags of the build that turn warnings into errors
in every build, and no others."""
import pathlib
import platform
import re
import shutil
import subprocess
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = (ROOT / "scan/lists.h").read_text()
BUILD = (ROOT / "CMakeLists.txt").read_text(), (ROOT / "scan/CMakeLists.txt").read_text()

TYPES = re.findall(r"^    X\((\w+), (\w+), \w+, (?:UNSIGNED|SIGNED|FLOAT)\)", LISTS, re.M)
CUDA_OPERATORS = re.findall(r"^    X\((\w+), (?:INTEGERS|NUMBERS), __VA_ARGS__\)",
                            (ROOT / "scan/cuda/prefix/kernels.h").read_text(), re.M)
OPS = re.findall(r"^    X\((\w+), (\w+), (ORDERED|COMPARED|NONE), __VA_ARGS__\)", LISTS, re.M)
WIDENINGS = re.findall(r"^    X\((\w+), (\w+), \w+, (\w+), (\w+), \w+, \w+\)", LISTS, re.M)
ROWS = "cpu/prefix/assoc_portable.c"  # has switches over both lists
X86 = platform.machine() in ("x86_64", "AMD64")
LEVELS = ["avx2", "avx512"] if X86 else []


class Case(NamedTuple):
    """`remove`, a multi-line regular expression, is deleted from `file` where it stands (once); then `source` must not
    compile. Both are relative to scan/."""
    name: str
    file: str
    remove: str
    source: str


def function(name):
    """The definition of an inline function, from its name to the brace that closes it."""
    return rf"^(?:SCAN_INLINE )[^\n]*\b{name}\([^{{}}]*\{{(?:[^\n]*\}}$|.*?^\}}$)"


def label(function_name, constant):
    """The label of a case in a function's switch."""
    return rf"\b{function_name}\([^;{{}}]*\{{(?:(?!^\}}$).)*?\Kcase {constant}:"


def cpu_cases():
    for TYPE, _ in TYPES:
        yield Case(f"row of {TYPE}", "lists.h", rf"^    X\({TYPE}, \w+, \w+, \w+\)", ROWS)
        yield Case(f"enum of {TYPE}", "scan.h", rf"^    SCAN_{TYPE} = \d+,?$", ROWS)
    for OP, op, floats in OPS:
        yield Case(f"row of {op}", "lists.h", rf"^    X\({OP}, .*?\)", ROWS)
        yield Case(f"enum of {op}", "scan.h", rf"^    SCAN_{OP} = \d+,?$", ROWS)
        yield Case(f"scan_assoc_{op}", "cpu/prefix/assoc.h", function(f"scan_assoc_{op}"), "cpu/prefix/assoc_portable.c")
        yield Case(f"identity of {op}", "cpu/prefix/assoc.h", function(f"scan_assoc_{op}_identity"),
                   "cpu/prefix/assoc_portable.c")
        for level in LEVELS:
            of_all = re.search(function(f"vec_{op}"), (ROOT / "scan/cpu/prefix/vec.h").read_text(), re.M | re.S)
            yield Case(f"vec_{op} {level}", f"cpu/prefix/vec{'' if of_all else '_' + level}.h", function(f"vec_{op}"),
                       f"cpu/prefix/assoc_{level}.c")
        if floats == "ORDERED":
            for part in "FLOATS", "FLOAT_IDENTITY":
                yield Case(f"{op} {part}", "cpu/prefix/ordered.h", rf"^#define SCAN_{OP}_{part}\b.*?$",
                           "cpu/prefix/rows_portable.c")
            for level in LEVELS:
                yield Case(f"vec_float_{op} {level}", f"cpu/prefix/vec_{level}.h", function(f"vec_float_{op}"),
                           f"cpu/prefix/rows_{level}.c")
    for _, name, _, wide in WIDENINGS:
        for level in LEVELS:
            yield Case(f"vec_widen_{name}_{wide} {level}", f"cpu/prefix/vec_{level}.h",
                       function(f"vec_widen_{name}_{wide}"), f"cpu/prefix/assoc_{level}.c")
    last = TYPES[-1][0]  # one label of each switch over types: all are found by the same warning
    for switch in "load", "store", "wrap", "highest":
        yield Case(f"scan_assoc_{switch} of {last}", "cpu/prefix/assoc.h", label(f"scan_assoc_{switch}", f"SCAN_{last}"),
                   "cpu/prefix/assoc_portable.c")
    for level in LEVELS:
        for op in "min", "max":
            yield Case(f"vec_{op} of {last} {level}", f"cpu/prefix/vec_{level}.h", label(f"vec_{op}", f"SCAN_{last}"),
                       f"cpu/prefix/assoc_{level}.c")
    yield Case("kernels of a float pair", "cpu/prefix/rows_portable.c", r'#include "rows_portable.inc"',
               "cpu/prefix/rows_portable.c")
    yield Case("order of a float pair", "cpu/prefix/order.c", r'#include "order.inc"', "cpu/prefix/order.c")


def instance(operator):
    """The .cu file that has the kernels of an operator of element.cuh."""
    return next(path for path in (ROOT / "scan/cuda/prefix").glob("*.cu")
                if re.search(rf"\(SCAN_CUDA_INSTANCE, {operator}\)", path.read_text()))


def cuda_cases():
    for OP, op, _ in OPS:
        yield Case(f"CUDA row of {op}", "cuda/prefix/operators.cu", rf"^static constexpr operator_row of_{OP} = .*?;$",
                   "cuda/prefix/operators.cu")
    for operator in CUDA_OPERATORS:
        yield Case(f"CUDA classes of {operator}", "cuda/prefix/kernels.h", rf"^    X\({operator}, \w+, __VA_ARGS__\)",
                   "cuda/prefix/operators.cu")
        yield Case(f"CUDA struct {operator}", "cuda/device/element.cuh",
                   rf"^template <class T> struct {operator} \{{.*?^\}};$", f"cuda/prefix/{instance(operator).name}")


# .cu files are compiled for the emulator.
CASES = [*cpu_cases(), *cuda_cases()]


def compiler(source):
    """The command that checks a source, less the path."""
    errors = re.findall(r"-Werror=[\w-]+", re.sub(r"#.*", "", BUILD[0]))
    assert "-Werror=switch" in errors
    if source.endswith(".cu"):
        return ["c++", "-x", "c++", "-std=c++17", "-fsyntax-only", "-D_GNU_SOURCE", "-DSCAN_HAS_CUDA", "-DSCAN_EMULATED",
                *(e for e in errors if "implicit" not in e), "-I", str(ROOT / "tests/emulator"), "-include",
                "cuda_runtime.h"]
    flags = {name: re.search(rf"set\({name} (.*)\)", BUILD[1]).group(1).split() for name in ("avx2", "avx512")}
    level = next((name for name in LEVELS if source.endswith(f"_{name}.c")), None)
    own = [flag for flag in flags.get(level, []) if flag.startswith("-m")]
    base = flags["avx2"] if level == "avx512" else []
    return ["cc", "-std=gnu11", "-fsyntax-only", "-D_GNU_SOURCE", *errors, *base, *own]


def compiles(scan, source):
    done = subprocess.run([*compiler(source), str(scan / source)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=False)
    return done.returncode == 0, done.stdout.decode(errors="replace")


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    copy = tmp_path_factory.mktemp("lists") / "scan"
    shutil.copytree(ROOT / "scan", copy)
    return copy


def preprocessed(scan, source):
    command = [flag for flag in compiler(source) if flag != "-fsyntax-only"]
    return subprocess.run([*command, "-E", "-P", str(scan / source)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          timeout=120, check=True).stdout.decode()


def test_every_cuda_instance_is_linked(scan):
    """operators.cu refers to every class, and each is defined by the .cu file of its operator alone: the library does not
    link without that file (--no-undefined)."""
    table = re.search(r"all_kernels\[\] = \{(.*?)\}", preprocessed(scan, "cuda/prefix/operators.cu"), re.S).group(1)
    defined = []
    for operator in CUDA_OPERATORS:
        text = preprocessed(scan, f"cuda/prefix/{instance(operator).name}")
        own = re.findall(r"\bconst prefix_kernels (\w+) = instantiate<", text)
        assert own and all(name.startswith(f"{operator}_") for name in own)
        defined += own
    assert sorted(defined) == sorted(re.findall(r"&(\w+),", table))


@pytest.mark.parametrize("source", sorted({case.source for case in CASES}))
def test_everything_there_compiles(scan, source):
    good, said = compiles(scan, source)
    assert good, said


def remove(text, pattern):
    """Deletes the first match, or what stands after \\K in it."""
    before, _, after = pattern.partition(r"\K")
    if not after:
        return re.subn(pattern, "", text, count=1, flags=re.M | re.S)
    return re.subn(f"({before}){after}", r"\1", text, count=1, flags=re.M | re.S)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_missing_part_does_not_compile(scan, case):
    text = (scan / case.file).read_text()
    less, count = remove(text, case.remove)
    assert count == 1, f"{case.file} has no {case.remove}"
    (scan / case.file).write_text(less)
    try:
        good, said = compiles(scan, case.source)
    finally:
        (scan / case.file).write_text(text)
    assert not good, f"{case.source} compiles without {case.name}"
    assert "fatal error" not in said, said
