# SPDX-License-Identifier: MIT
"""What the tests of sort share: runs of the program, and the order that it must give, in Python."""
import math
import os
import pathlib
import subprocess

SORT = str(pathlib.Path(os.environ["SCAN_BIN"]) / "sort")


def run(*args, stdin=b"", env=None, preexec=None):
    done = subprocess.run([SORT, *map(str, args)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **(env or {})}, preexec_fn=preexec, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


def good(*args, stdin=b""):
    """Returns the standard output of a run that must succeed without a message."""
    code, out, err = run(*args, stdin=stdin)
    assert (code, err) == (0, ""), err
    return out


def bad(*args, stdin=b"", code=2):
    """Returns the only line of error of a run that must fail, without its "sort: "; nothing may be written."""
    got, out, err = run(*args, stdin=stdin)
    assert got == code, err
    assert out == b""
    assert err.startswith("sort: ") and err.endswith("\n") and err.count("\n") == 1, err
    return err[len("sort: "):-1]


def order(values, descending=False, nan_first=False):
    """Returns the stable order of numbers; None is a missing one. Integers are compared exactly."""
    def rank(i):
        value = values[i]
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return (0 if nan_first else 2, 0)
        return (1, -value if descending else value)
    return sorted(range(len(values)), key=rank)
