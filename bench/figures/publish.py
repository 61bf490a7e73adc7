#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: bench/figures/publish.py FILE.json

Publishes what `script/bench --json FILE.json` measured. It writes the numbers and tables between the markers of
docs/explanation/performance.md and bench/targets.md, draws docs/explanation/performance.svg, and copies FILE.json beside it. The text outside
the markers is written by hand and has no figures.
"""

import json
import re
import sys
from pathlib import Path

import tables
from plot import svg

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs/explanation/performance.md"
PAGES = (PAGE, TREE / "bench/targets.md")
MARKED = re.compile(r"<!--begin ([\w-]+)-->\n(.*?)<!--end-->|<!--is ([\w-]+)-->(.*?)<!---->", flags=re.DOTALL)


def render(figures, page):
    """The text of the page with these figures between its markers. A table keeps its text if the file is older than one of its figures."""
    values = tables.values(figures)

    def fill(match):
        block, value = match[1], match[3]
        known = tables.BLOCKS if block else values
        if (block or value) not in known:
            sys.exit(f"unknown marker '{block or value}'; known: {', '.join(known)}")
        if block:
            try:
                return f"<!--begin {block}-->\n{known[block](figures)}\n<!--end-->"
            except tables.Missing:
                return match[0]
        return f"<!--is {value}-->{values[value]}<!---->"

    return MARKED.sub(fill, page)


def main(source):
    text = Path(source).read_text(encoding="utf-8")
    rows = json.loads(text)
    figures = tables.Figures(rows)
    try:
        for block in tables.BLOCKS.values():
            block(figures)
        texts = [render(figures, page.read_text(encoding="utf-8")) for page in PAGES]
    except tables.Missing as missing:
        sys.exit(f"{source}: the figure of {missing} is missing: run script/bench without --quick, --only and --isa")
    for page, rendered in zip(PAGES, texts):
        page.write_text(rendered, encoding="utf-8")
    PAGE.with_suffix(".svg").write_text(svg(rows), encoding="utf-8")
    PAGE.with_suffix(".json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
