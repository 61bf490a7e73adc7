#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: bench/publish.py FILE.json

Makes docs/explanation/performance.md say what `script/bench --json FILE.json` measured: keeps the file beside the page, draws the plot,
and writes what is between the page's markers, tables and single numbers. Words outside of them are written by hand, numbers are not.
"""

import json
import re
import sys
from pathlib import Path

import tables
from plot import svg

PAGE = Path(__file__).resolve().parents[1] / "docs/explanation/performance.md"
MARKED = re.compile(r"<!--begin ([\w-]+)-->\n(.*?)<!--end-->|<!--is ([\w-]+)-->(.*?)<!---->", flags=re.DOTALL)


def render(figures, page):
    """The page with these figures."""
    blocks, values = tables.blocks(figures), tables.values(figures)

    def fill(match):
        block, value = match[1], match[3]
        if (block or value) not in (blocks if block else values):
            sys.exit(f"{PAGE.name}: '{block or value}' is none of: {', '.join(blocks if block else values)}")
        if block:
            return f"<!--begin {block}-->\n{blocks[block]}\n<!--end-->"
        return f"<!--is {value}-->{values[value]}<!---->"

    return MARKED.sub(fill, page)


def main(source):
    text = Path(source).read_text(encoding="utf-8")
    rows = json.loads(text)
    try:
        page = render(tables.Figures(rows), PAGE.read_text(encoding="utf-8"))
    except tables.Missing as missing:
        sys.exit(f"{source}: no figure of {missing}: let script/bench run in whole, without --quick, --only and --isa")
    PAGE.write_text(page, encoding="utf-8")
    PAGE.with_suffix(".svg").write_text(svg(rows), encoding="utf-8")
    PAGE.with_suffix(".json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
