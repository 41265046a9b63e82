#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NumPy as a contender of tools/bench. The first line on stdin describes a job:

    WAY TYPE OUT_TYPE OP THRESHOLD PATH_IN PATH_OUT        (with tabs)

The script writes a name for what is measured, or an empty line if it cannot do the job. Then each empty line on stdin is
a run, after which the script writes the nanoseconds taken.
"""
import sys
import time


def main():
    way, type_name, out_name, op, threshold, path_in, path_out = sys.stdin.readline().rstrip("\n").split("\t")
    try:
        import numpy as np
    except ImportError:
        print(flush=True)
        return

    def dtype(name):
        return np.dtype(name[0] + str(int(name[1:]) // 8))

    ufunc = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "xor": np.bitwise_xor,
             "and": np.bitwise_and, "or": np.bitwise_or}.get(op)
    if ufunc is None:
        print(flush=True)
        return
    a = np.zeros(0) if way == "file" else np.fromfile(path_in, dtype(type_name))
    limit = a.dtype.type(float(threshold) if type_name[0] == "f" else int(float(threshold)))
    values = np.arange(len(a), dtype=np.uint32) if way == "pairs" else None
    flags = a < limit if way == "flagged" else None

    def file():
        with open(path_in, "rb") as source:
            b = np.load(source, allow_pickle=False)
        b.sort(kind="stable")
        with open(path_out, "wb") as target:
            np.save(target, b)

    def pairs():
        order = np.argsort(a, kind="stable")
        return a[order], values[order]

    name, job = {
        "prefix": (f"numpy {ufunc.__name__}.accumulate", lambda: ufunc.accumulate(a, dtype=dtype(out_name))),
        "compact": ("numpy a[a < x]", lambda: a[a < limit]),
        "flagged": ("numpy a[flags]", lambda: a[flags]),
        "indices": ("numpy flatnonzero(a < x)", lambda: np.flatnonzero(a < limit)),
        "unique": ("numpy a[a[1:] != a[:-1]]", lambda: a[np.concatenate(([True], a[1:] != a[:-1]))]),
        "sort": ("numpy sort", lambda: np.sort(a)),
        "stable": ("numpy sort stable", lambda: np.sort(a, kind="stable")),
        "pairs": ("numpy argsort stable, take", pairs),
        "argsort": ("numpy argsort stable", lambda: np.argsort(a, kind="stable")),
        "histogram": ("numpy bincount", lambda: np.bincount(a, minlength=1 << 8 * a.dtype.itemsize)),
        "file": ("numpy load, sort stable, save", file),
    }[way]
    print(name, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        job()
        print(time.perf_counter_ns() - start, flush=True)


if __name__ == "__main__":
    main()
