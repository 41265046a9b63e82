#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes data/float_order/vectors.txt: what float add and mul give in the order that scan.h fixes.

This is a third statement of the order, beside scan.h and tests/unit/float_order.h and independent of both: whole arrays
padded with the identity, one axis per level. NumPy's float32 and float64 operations on arrays are the IEEE ones.
"""
import pathlib
import struct
import zlib

import numpy as np

SHAPE = (32, 8, 8, 32)  # tiles of a group, chunks of a tile, rows of a chunk, vectors of a row
OPS = {"add": (np.add, -0.0), "mul": (np.multiply, 1.0)}
DTYPES = {"f32": np.dtype("<f4"), "f64": np.dtype("<f8")}


def mix(i, seed):
    """Returns splitmix64 of seed + (i + 1) * golden ratio."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def make_input(name, op, n, seed):
    """Returns the input that README.txt states; every value is exact in the type."""
    dtype = DTYPES[name]
    if seed == 0:
        return np.full(n, -0.0, dtype)
    u = mix(np.arange(n, dtype=np.uint64), seed)
    bits = 24 if name == "f32" else 53
    if op == "add":
        m = (u >> np.uint64(64 - bits)).astype(np.int64) - (1 << (bits - 1))
        return np.ldexp(m.astype(np.float64), -(bits - 1) - (u & np.uint64(7)).astype(np.int64)).astype(dtype)
    small = 13 if name == "f32" else 41
    k = (u >> np.uint64(64 - small)).astype(np.int64) - (1 << (small - 1))
    return (1.0 + np.ldexp(k.astype(np.float64), 1 - bits)).astype(dtype)


def serial(f, x, axis):
    out = np.array(x)
    view = np.moveaxis(out, axis, 0)
    for i in range(1, view.shape[0]):
        view[i] = f(view[i - 1], view[i])
    return out


def kogge_stone(f, z, axis):
    z = np.array(z)
    view = np.moveaxis(z, axis, 0)
    for d in (1, 2, 4, 8, 16):
        view[d:] = f(view[:-d].copy(), view[d:].copy())
    return z


def before_in(scanned, axis, none):
    """Returns the fold of all units before each unit: the inclusive folds, moved up by one."""
    out = np.full_like(scanned, none)
    np.moveaxis(out, axis, 0)[1:] = np.moveaxis(scanned, axis, 0)[:-1]
    return out


def before(x, op, init, dtype):
    """Returns before(0) ... before(n)."""
    f, none = OPS[op]
    none = dtype.type(none)
    e = 16 // dtype.itemsize
    group = e * int(np.prod(SHAPE))
    groups = len(x) // group + 1
    padded = np.full(groups * group, none, dtype)
    padded[: len(x)] = x
    elements = serial(f, padded.reshape(groups, *SHAPE, e), 5)
    vectors = kogge_stone(f, elements[..., -1], 4)
    rows = serial(f, vectors[..., -1], 3)
    chunks = serial(f, rows[..., -1], 2)
    tiles = kogge_stone(f, chunks[..., -1], 1)
    start = np.empty(groups, dtype)
    start[0] = none if init is None else init
    for g in range(1, groups):
        start[g] = f(start[g - 1], tiles[g - 1, -1])

    fold = f(start[:, None], before_in(tiles, 1, none))
    fold = f(fold[..., None], before_in(chunks, 2, none))
    fold = f(fold[..., None], before_in(rows, 3, none))
    fold = f(fold[..., None], before_in(vectors, 4, none))
    fold = f(fold[..., None], before_in(elements, 5, none))
    return fold.reshape(-1)[: len(x) + 1]


def bits_of(dtype, value):
    code = "<f" if dtype.itemsize == 4 else "<d"
    return struct.pack(code, value)[::-1].hex()


def sizes(e):
    row, tile, group = 32 * e, 32 * 64 * e, 32 * 32 * 64 * e
    near = [n + d for n in (row, tile, group) for d in (-1, 0, 1)]
    return [0, 1, 3, 4, 5] + near + [3 * group + 4321]


def lines():
    for name, out_name in (("f32", "f32"), ("f64", "f64"), ("f32", "f64")):
        dtype = DTYPES[out_name]
        for op in OPS:
            for number, n in enumerate(sizes(16 // dtype.itemsize)):
                for seed, init in ((n + 1, None), (n + 2, dtype.type(1.75)), (0, None)):
                    if seed == 0 and (op == "mul" or n > 200):
                        continue
                    x = make_input(name, op, n, seed).astype(dtype)
                    folds = before(x, op, init, dtype)
                    for kind in ("inclusive", "exclusive"):
                        out = folds[1:] if kind == "inclusive" else folds[:-1].copy()
                        if kind == "exclusive" and n and init is None and op == "add":
                            out[0] = 0.0
                        samples = sorted({i for i in (0, n // 3, 2 * n // 3, n - 1) if 0 <= i < n})
                        shown = "".join(f" {i}:{bits_of(dtype, out[i])}" for i in samples)
                        start = "-" if init is None else bits_of(dtype, init)
                        crc = zlib.crc32(out.astype(dtype).tobytes())
                        yield f"{name} {out_name} {op} {kind} {n} {seed} {start} {crc:08x}{shown}\n"


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "data" / "float_order"
    (folder / "vectors.txt").write_text("".join(lines()), encoding="ascii")


if __name__ == "__main__":
    main()
