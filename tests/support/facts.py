# SPDX-License-Identifier: BSD-3-Clause
"""Lists of facts that the sources have, and the tables of docs/reference that repeat them. GLB_GOLDEN=write writes the tables again."""

import os
import re

from support.tree import TREE

WRITE = os.environ.get("GLB_GOLDEN") == "write"
RENEW = "run `GLB_GOLDEN=write python3 -m pytest tests/golden tests/docs/test_docs.py`, look at `git diff`, and commit both"


def listed(path, macro):
    """[(name, help)] of a list in a header: X(SYMBOL, "name", "help") or X(name, "help")."""
    body = re.search(rf"#define {macro}\(X\)(.*?)\n\n", (TREE / path).read_text(), flags=re.DOTALL)[1].replace("\\\n", "")
    return [(name, text.replace('\\"', '"')) for name, text in re.findall(r'X\((?:\w+,\s*)?"?(\w+)"?,\s*"((?:[^"\\]|\\.)*)"\)', body)]


VERDICTS = [name for name, _ in listed("src/packet/verdict.h", "VERDICT_LIST")]
DROPS = [name for name in VERDICTS if name.startswith("drop_")]


def same_rows(page, heading, facts):
    """Fails unless the first table below a heading of docs/reference has exactly these rows: a name, and its help."""
    path = TREE / "docs/reference" / page
    text = path.read_text()
    at = text.index(f"\n## {heading}\n")
    table = re.compile(r"(?:^\| `\w+` \| .* \|\n)+", re.MULTILINE).search(text, at)
    rows = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in facts)
    if WRITE:
        path.write_text(text[:table.start()] + rows + text[table.end():])
    else:
        assert table[0] == rows, f"docs/reference/{page}: the table of {heading} is not that of the program: {RENEW}"


def add_rows(page, rows):
    """Adds rows to tables of docs/reference, each behind the row that has this name: [(name, row)]. Fails unless GLB_GOLDEN=write is set."""
    path = TREE / "docs/reference" / page
    text = path.read_text()
    assert WRITE or not rows, f"docs/reference/{page} lacks {[row for _, row in rows]}: {RENEW}"
    for name, row in rows:
        text = re.sub(rf"^\| `{name}` .*\n", lambda found, row=row: found[0] + row + "\n", text, flags=re.MULTILINE)
    if rows:
        path.write_text(text)
