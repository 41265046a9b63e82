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
    compile. Both are relative to scan/. Cases of one `batch` are compiled together, and each is an error that names
    `word`."""
    name: str
    file: str
    remove: str
    source: str
    batch: str = ""
    word: str = ""


def missing(name, file, source, batch):
    """The case of a function that is missing."""
    return Case(name, file, function(name), source, batch, name)


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
        yield missing(f"scan_assoc_{op}", "cpu/prefix/assoc.h", ROWS, "operators")
        yield missing(f"scan_assoc_{op}_identity", "cpu/prefix/assoc.h", ROWS, "identities")
        if floats == "ORDERED":
            for part in "FLOATS", "FLOAT_IDENTITY":
                yield Case(f"{op} {part}", "cpu/prefix/ordered.h", rf"^#define SCAN_{OP}_{part}\b.*?$",
                           "cpu/prefix/rows_portable.c")
    last = TYPES[-1][0]  # one label of each switch over types: all are found by the same warning
    for switch in "load", "store", "wrap", "highest":
        yield Case(f"scan_assoc_{switch} of {last}", "cpu/prefix/assoc.h", label(f"scan_assoc_{switch}", f"SCAN_{last}"),
                   ROWS)
    for level in LEVELS:
        yield from level_cases(level, last)
    yield Case("kernels of a float pair", "cpu/prefix/rows_portable.c", r'#include "rows_portable.inc"',
               "cpu/prefix/rows_portable.c")
    yield Case("order of a float pair", "cpu/prefix/order.c", r'#include "order.inc"', "cpu/prefix/order.c")


def level_cases(level, last):
    own, source = f"cpu/prefix/vec_{level}.h", f"cpu/prefix/assoc_{level}.c"
    for _, op, floats in OPS:
        of_all = re.search(function(f"vec_{op}"), (ROOT / "scan/cpu/prefix/vec.h").read_text(), re.M | re.S)
        yield missing(f"vec_{op}", "cpu/prefix/vec.h" if of_all else own, source, f"vec_* {level}")
        if floats == "ORDERED":
            yield missing(f"vec_float_{op}", own, f"cpu/prefix/rows_{level}.c", f"vec_float_* {level}")
    for _, name, _, wide in WIDENINGS:
        yield missing(f"vec_widen_{name}_{wide}", own, source, f"vec_* {level}")
    for op in "min", "max":
        yield Case(f"vec_{op} of {last} {level}", own, label(f"vec_{op}", f"SCAN_{last}"), source)


def instance(operator):
    """The .cu file that has the kernels of an operator of element.cuh."""
    return next(path for path in (ROOT / "scan/cuda/prefix").glob("*.cu")
                if re.search(rf"\(SCAN_CUDA_INSTANCE, {operator}\)", path.read_text()))


def cuda_cases():
    operators = "cuda/prefix/operators.cu"
    for OP, op, _ in OPS:
        yield Case(f"CUDA row of {op}", "cuda/prefix/operator_code.h", rf"^static constexpr operator_row of_{OP} = .*?;$", operators,
                   "CUDA rows", f"of_{OP}")
    for operator in CUDA_OPERATORS:
        yield Case(f"CUDA classes of {operator}", "cuda/prefix/kernels.h",
                   rf"^    X\({operator}, \w+, __VA_ARGS__\)", operators)
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
    """operators.cu refers to every class, and each is defined by the .cu file of its operator alone: the library does
    not link without that file (--no-undefined)."""
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


def batches():
    """The cases, those of one batch together."""
    by_name = {}
    for case in CASES:
        by_name.setdefault(case.batch or case.name, []).append(case)
    return [pytest.param(cases, id=name) for name, cases in by_name.items()]


@pytest.mark.parametrize("cases", batches())
def test_a_missing_part_does_not_compile(scan, cases):
    kept = {case.file: (scan / case.file).read_text() for case in cases}
    less = dict(kept)
    for case in cases:
        less[case.file], count = remove(less[case.file], case.remove)
        assert count == 1, f"{case.file} has no {case.remove}"
    try:
        for file, text in less.items():
            (scan / file).write_text(text)
        good, said = compiles(scan, cases[0].source)
    finally:
        for file, text in kept.items():
            (scan / file).write_text(text)
    assert not good, f"{cases[0].source} compiles without {cases[0].name}"
    assert "fatal error" not in said, said
    errors = "".join(line for line in said.splitlines(True) if " error: " in line)
    for case in cases:
        assert case.source == cases[0].source and re.search(rf"\b{case.word}\b", errors), f"{case.name}: {said}"
