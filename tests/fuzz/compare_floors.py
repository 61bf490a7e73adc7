#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints which share of the lines of each file the fuzzers reach: `tests/fuzz/compare_floors.py COVERAGE.json FLOORS`.

COVERAGE.json is what `llvm-cov export -summary-only` prints. A line of FLOORS has the path of a file and its least percentage; what
follows a # is a comment. Exits with 1 if a file has less, or if the fuzzers have no code of it.
"""

import json
import sys
from pathlib import Path


def floors(path):
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].split()
        if words:
            yield words[0], int(words[1])


def main(coverage, path):
    files = json.loads(Path(coverage).read_text(encoding="utf-8"))["data"][0]["files"]
    lines = {name[name.rindex("src/"):]: entry["summary"]["lines"] for entry in files if "src/" in (name := entry["filename"])}
    low = []
    for name, floor in floors(path):
        percent = lines[name]["percent"] if name in lines else 0
        verdict = "ok" if percent >= floor else "LOW"
        print(f"{verdict:<5} {name:<50} {percent:5.1f} % of its lines, at least {floor} %")
        low += [name] if percent < floor else []
    if low:
        print(f"{len(low)} of the files are below their floors. If code was added, give the fuzzers seeds that reach it, or lower the floor in {path}")
    return bool(low)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
