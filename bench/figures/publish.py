#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: bench/figures/publish.py FILE.json

Publishes what `script/bench --json FILE.json` measured. It writes the numbers and tables between the markers of
docs/explanation/performance.md and bench/targets.md, draws docs/explanation/performance.svg, and copies FILE.json beside them as
performance-intel.json or performance-amd.json. All figures are from this file, except that tables with a vendor in each row or
column also have those of the other copies. The text outside the markers is written by hand and has no figures.

A file of `script/bench --redirect` becomes proxies.json, one of `--end-to-end` end-to-end.json, and one of `--tables` big-tables.json. They
change only their own tables.
"""

import functools
import json
import re
import sys
from pathlib import Path

import costs
import paths
import tables
import waits
from plot import svg

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs/explanation/performance.md"
PAGES = (PAGE, TREE / "bench/targets.md")
MARKED = re.compile(r"<!--begin ([\w-]+)-->\n(.*?)<!--end-->|<!--is ([\w-]+)-->(.*?)<!---->", flags=re.DOTALL)
# Files of other measurements, beside the page, and the module with their tables.
OTHERS = {"proxies.json": costs, "end-to-end.json": paths, "big-tables.json": waits}
NOISY_SHARE = 0.1  # of the figures; a file with more is from a busy machine


def known_blocks(figures):
    """{name: function that returns the text}, of these figures and of the other measurements."""
    known = {name: functools.partial(block, figures) for name, block in tables.BLOCKS.items()}
    for name, module in OTHERS.items():
        measured = module.Figures(json.loads(PAGE.with_name(name).read_text(encoding="utf-8")))
        known |= {block: functools.partial(text, measured) for block, text in module.BLOCKS.items()}
    return known


def render(figures, page):
    """The text of the page with these figures between its markers. A table keeps its text if the file is older than one of its figures."""
    values, blocks = tables.values(figures), known_blocks(figures)

    def fill(match):
        block, value = match[1], match[3]
        known = blocks if block else values
        if (block or value) not in known:
            sys.exit(f"unknown marker '{block or value}'; known: {', '.join(known)}")
        if block:
            try:
                return f"<!--begin {block}-->\n{known[block]()}\n<!--end-->"
            except tables.Missing:
                return match[0]
        return f"<!--is {value}-->{values[value]}<!---->"

    return MARKED.sub(fill, page)


def published():
    """The figures that the page has: those of the file that it names, and those of other CPUs beside it."""
    named = next(match[4] for match in MARKED.finditer(PAGE.read_text(encoding="utf-8")) if match[3] == "file")
    return read(PAGE.with_name(named))


def read(source):
    """The figures in the file, with those of other CPUs that are already published."""
    try:
        rows = json.loads(Path(source).read_text(encoding="utf-8"))
        own = tables.Figures(rows).file()
    except (OSError, ValueError, KeyError, AttributeError, tables.Missing) as error:
        sys.exit(f"{source}: not a file of script/bench --json: {error}")
    others = [path for path in sorted(PAGE.parent.glob("performance-*.json")) if path.name != own]
    return tables.Figures(rows, [tables.Figures(json.loads(path.read_text(encoding="utf-8"))) for path in others])


def refuse_noisy(source, rows):
    noisy = sum(row.get("noisy", False) for row in rows)
    if noisy > NOISY_SHARE * len(rows):
        sys.exit(f"{source}: {noisy} of {len(rows)} figures are noisy: run script/bench again when nothing else runs on the machine")


def publish_other(source):
    """Publishes the file if it is one of the other measurements. False: it is not."""
    try:
        rows = json.loads(Path(source).read_text(encoding="utf-8"))
        name = next((name for name, module in OTHERS.items() if any(module.measured(row) for row in rows)), None)
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    if not name:
        return False
    refuse_noisy(source, rows)
    try:
        for block in OTHERS[name].BLOCKS.values():
            block(OTHERS[name].Figures(rows))
    except (tables.Missing, KeyError, StopIteration) as missing:
        sys.exit(f"{source}: the figure of {missing} is missing: run {OTHERS[name].COMMAND} --json again, as a whole")
    PAGE.with_name(name).write_bytes(Path(source).read_bytes())
    figures = published()
    for page in PAGES:
        page.write_text(render(figures, page.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"published {name}: look at the differences, then commit docs/explanation and bench/targets.md")
    return True


def main(source):
    if publish_other(source):
        return
    figures = read(source)
    refuse_noisy(source, figures.rows)
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
