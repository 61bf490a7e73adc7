#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: bench/figures/publish.py FILE.json

Publishes what `script/bench --json FILE.json` measured. It writes the numbers and tables between the markers of
docs/explanation/performance.md and bench/targets.md, draws docs/explanation/performance.svg, and copies FILE.json beside them as
performance-intel.json or performance-amd.json. All figures are from this file, except that tables with a vendor in each row or
column also have those of the other copies. A file of `script/bench --tables --json` becomes big-tables.json, and changes only the
tables about what operators wait for. The text outside the markers is written by hand and has no figures.
"""

import json
import re
import sys
from pathlib import Path

import tables
import waits
from plot import svg

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs/explanation/performance.md"
PAGES = (PAGE, TREE / "bench/targets.md")
MARKED = re.compile(r"<!--begin ([\w-]+)-->\n(.*?)<!--end-->|<!--is ([\w-]+)-->(.*?)<!---->", flags=re.DOTALL)
BLOCKS = {**tables.BLOCKS, **waits.BLOCKS}
NOISY_SHARE = 0.1  # of the figures; a file with more is from a busy machine


def render(figures, page):
    """The text of the page with these figures between its markers. A table keeps its text if the file is older than one of its figures."""
    values = tables.values(figures)

    def fill(match):
        block, value = match[1], match[3]
        known = BLOCKS if block else values
        if (block or value) not in known:
            sys.exit(f"unknown marker '{block or value}'; known: {', '.join(known)}")
        if block:
            try:
                return f"<!--begin {block}-->\n{known[block](waited() if block in waits.BLOCKS else figures)}\n<!--end-->"
            except tables.Missing:
                return match[0]
        return f"<!--is {value}-->{values[value]}<!---->"

    return MARKED.sub(fill, page)


def published():
    """The figures that the page has: those of the file that it names, and those of other CPUs beside it."""
    named = next(match[4] for match in MARKED.finditer(PAGE.read_text(encoding="utf-8")) if match[3] == "file")
    return read(PAGE.with_name(named))


def waited():
    """The published figures of script/bench --tables."""
    try:
        return json.loads(PAGE.with_name("big-tables.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise tables.Missing("big tables") from error


def publish_waits(source):
    """Publishes the file if it is one of script/bench --tables. False: it is not."""
    try:
        rows = json.loads(Path(source).read_text(encoding="utf-8"))
        if not any("step" in row for row in rows):
            return False
        for block in waits.BLOCKS.values():
            block(rows)
    except (OSError, ValueError, TypeError):
        return False
    except tables.Missing as missing:
        sys.exit(f"{source}: the figure of {missing} is missing: run script/bench --tables --json without --quick, --size and --step")
    PAGE.with_name("big-tables.json").write_bytes(Path(source).read_bytes())
    for page in PAGES:
        page.write_text(render(published(), page.read_text(encoding="utf-8")), encoding="utf-8")
    print("published big-tables.json: look at the differences, then commit docs/explanation and bench/targets.md")
    return True


def read(source):
    """The figures in the file, with those of other CPUs that are already published."""
    try:
        rows = json.loads(Path(source).read_text(encoding="utf-8"))
        own = tables.Figures(rows).file()
    except (OSError, ValueError, KeyError, AttributeError, tables.Missing) as error:
        sys.exit(f"{source}: not a file of script/bench --json: {error}")
    others = [path for path in sorted(PAGE.parent.glob("performance-*.json")) if path.name != own]
    return tables.Figures(rows, [tables.Figures(json.loads(path.read_text(encoding="utf-8"))) for path in others])


def main(source):
    if publish_waits(source):
        return
    figures = read(source)
    noisy = sum(row["noisy"] for row in figures.rows)
    if noisy > NOISY_SHARE * len(figures.rows):
        sys.exit(f"{source}: {noisy} of {len(figures.rows)} figures are noisy: run script/bench again when nothing else runs on the machine")
    try:
        for block in tables.BLOCKS.values():
            block(figures)
        texts = [render(figures, page.read_text(encoding="utf-8")) for page in PAGES]
    except tables.Missing as missing:
        sys.exit(f"{source}: the figure of {missing} is missing: run script/bench without --quick, --only and --isa")
    copy = Path(source).read_bytes()
    for page, rendered in zip(PAGES, texts):
        page.write_text(rendered, encoding="utf-8")
    PAGE.with_suffix(".svg").write_text(svg(figures.rows), encoding="utf-8")
    PAGE.with_name(figures.file()).write_bytes(copy)
    print(f"published {figures.cpu('model name')} as {figures.file()}: look at the differences, then commit docs/explanation and bench/targets.md")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
