#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch on the GPU as a contender of tools/bench --torch. Writes `ready`, or an empty line if there is no PyTorch with
CUDA. Then it reads lines as bench_peers.py does: a description of a job, empty lines for runs of it, each timed by CUDA
events; `forget` frees the job's memory. The result of a job that is small enough is checked once, by PyTorch on the CPU.
"""
import sys

# PyTorch's unsigned types have few operators, so signed ones of the same size stand in: the speed of a radix sort or a scan
# does not depend on the sign.
TYPES = {"u8": "uint8", "i8": "int8", "u16": "int16", "i16": "int16", "u32": "int32", "i32": "int32", "u64": "int64",
         "i64": "int64", "f32": "float32", "f64": "float64"}
CHECKED = 1 << 22


def ways(torch, a, out_type, op, limit):
    """Returns a name and a function for every way. The name is empty for an operator that PyTorch has no scan of."""
    scans = {
        "add": ("torch cumsum", lambda t: torch.cumsum(t, 0, dtype=out_type)),
        "mul": ("torch cumprod", lambda t: torch.cumprod(t, 0, dtype=out_type)),
        "min": ("torch cummin, with indices", lambda t: torch.cummin(t, 0)),
        "max": ("torch cummax, with indices", lambda t: torch.cummax(t, 0)),
    }
    flags = a < limit
    return {
        "prefix": scans.get(op, ("", None)),
        "compact": ("torch masked_select(a < x)", lambda t: torch.masked_select(t, t < limit)),
        "flagged": ("torch masked_select", lambda t: torch.masked_select(t, flags.to(t.device))),
        "indices": ("torch nonzero(a < x), 8 bytes", lambda t: torch.nonzero(t < limit)),
        "unique": ("torch unique_consecutive", torch.unique_consecutive),
        "lengths": ("torch unique_consecutive, counts", lambda t: torch.unique_consecutive(t, return_counts=True)),
        "sort": ("torch sort, with indices", torch.sort),
        "argsort": ("torch argsort stable", lambda t: torch.argsort(t, stable=True)),
        "histogram": ("torch bincount", lambda t: torch.bincount(t, minlength=1 << 8 * t.element_size())),
    }


def same(torch, x, y):
    if isinstance(x, (tuple, list)):  # positions of equal keys may differ
        return same(torch, x[0], y[0])
    return torch.allclose(x.cpu().double(), y.double(), rtol=1e-3, atol=1e-3 * len(y) ** 0.5, equal_nan=True)


def main():
    try:
        import numpy as np
        import torch
        ready = torch.cuda.is_available()
    except ImportError:
        ready = False
    print("ready" if ready else "", flush=True)
    if not ready:
        return
    a = job = None
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for line in sys.stdin:
        line = line.rstrip("\n")
        if line == "":
            start.record()
            job(a)
            stop.record()
            stop.synchronize()
            print(round(start.elapsed_time(stop) * 1e6), flush=True)
            continue
        a = job = None
        torch.cuda.empty_cache()
        if line == "forget":
            continue
        way, type_name, out_name, op, threshold, path_in, _ = line.split("\t")
        try:
            dtype = getattr(torch, TYPES[type_name])
            host = torch.from_numpy(np.fromfile(path_in, np.dtype(TYPES[type_name])))
            limit = float(threshold) if type_name[0] == "f" else int(float(threshold))
            if type_name[0] == "u" and type_name != "u8":  # the same share of the signed values
                limit -= 1 << (8 * host.element_size() - 1)
            a = host.to("cuda")
            name, job = ways(torch, a, getattr(torch, TYPES[out_name]), op, limit)[way]
            assert a.dtype == dtype
            result = job(a) if name else None
            if name and len(host) <= CHECKED and not same(torch, result, job(host)):
                name = ""
            del result
        except (RuntimeError, TypeError, AssertionError) as error:
            print(f"bench: PyTorch: {error}".splitlines()[0], file=sys.stderr, flush=True)
            name = ""
        print(name, flush=True)


if __name__ == "__main__":
    main()
