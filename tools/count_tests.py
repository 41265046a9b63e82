#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""count_tests.py NAME=FILE...: adds up the test cases inside ctest's JUnit files, for tools/test.

A ctest entry is one cmocka or pytest program with many cases. The cases are read from its output; an entry that fails
without naming a case (a crash, a time-out) counts as one failure, one that passes without cases as one pass. The last
line is `passed failed skipped` in numbers, for the caller; lines before it list what failed and what was skipped.
"""
import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

CMOCKA = re.compile(r"^\[  (PASSED|SKIPPED|FAILED) +\] (\d+) test\(s\)", re.M)
CMOCKA_SKIPPED = re.compile(r"^\[  SKIPPED +\] (?!\d+ test\(s\))(\S+)", re.M)
PYTEST = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s", re.M)
PYTEST_SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] (\S+?): (.*)$", re.M)
KINDS = {"passed": 0, "xfailed": 0, "xpassed": 0, "failed": 1, "error": 1, "errors": 1, "skipped": 2}


def count(entry, output, skips):
    """Returns [passed, failed, skipped] of one ctest entry; adds the reasons to skips."""
    cases = [0, 0, 0]
    for word, number in CMOCKA.findall(output):
        cases[("PASSED", "FAILED", "SKIPPED").index(word)] += int(number)
    for summary in PYTEST.findall(output):
        for number, word in re.findall(r"(\d+) ([a-z]+)", summary):
            if word in KINDS:
                cases[KINDS[word]] += int(number)
    for name in set(CMOCKA_SKIPPED.findall(output)):
        skips[f"{entry.get('name')}: {name}"] += 1
    for number, where, why in PYTEST_SKIPPED.findall(output):
        skips[f"{where.rsplit('/', 1)[-1].split(':')[0]}: {why}"] += int(number)
    status = entry.get("status")
    if status in ("disabled", "notrun"):
        skipped = entry.find("skipped")
        reason = "not run" if skipped is None else skipped.get("message")
        skips[output.strip() if "SKIP_RETURN_CODE" in reason and output.strip() else f"{entry.get('name')}: {reason}"] += 1
        return [0, 0, 1]
    if status == "fail" and cases[1] == 0:
        cases[1] = 1
    if status == "run" and sum(cases) == 0:
        cases[0] = 1
    return cases


def main():
    total = [0, 0, 0]
    for argument in sys.argv[1:]:
        suite, path = argument.split("=", 1)
        sums, skips, failed, seconds = [0, 0, 0], collections.Counter(), [], 0.0
        try:
            entries = ElementTree.parse(path).getroot().iter("testcase")
        except (OSError, ElementTree.ParseError) as problem:
            print(f"{suite}: no results ({problem})")
            total[1] += 1
            continue
        for entry in entries:
            output = "".join(part.text or "" for part in entry.iter("system-out"))
            cases = count(entry, output, skips)
            sums = [a + b for a, b in zip(sums, cases)]
            seconds += float(entry.get("time") or 0)
            if cases[1]:
                failed.append(entry.get("name"))
        print(f"{suite}: {sums[0]} passed, {sums[1]} failed, {sums[2]} skipped ({seconds:.0f} s of tests)")
        for name in failed:
            print(f"  failed: {name}")
        for why, number in sorted(skips.items()):
            print(f"  skipped: {why}" + (f" ({number})" if number > 1 else ""))
        total = [a + b for a, b in zip(total, sums)]
    print(*total)


if __name__ == "__main__":
    main()
