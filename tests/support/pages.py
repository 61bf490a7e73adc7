# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the documentation, and the fenced blocks on them.

Tests get the blocks that they run from block() and marked(). The arguments are literals, so that tests/docs/test_blocks.py can find
out which blocks are run:

    block("docs/howto/first-table.md", "systemctl reload glb-director")    the only block of the page that has this text
    marked("docs/tutorial/lab.md", "lab")                                  all blocks of the page with this mark
"""

import re
from dataclasses import dataclass

from support.tree import TREE

COMMANDS, TEXTS = {"console", "lab", "site", "root", "host"}, {"text", "go", "json", "yaml", "conf", "env", "ini"}
FENCE = re.compile(r"(?:^<!-- not run: (?P<reason>[^\n]*) -->\n)?^```(?P<mark>\S*)\n(?P<text>.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    line: int  # of the opening fence
    mark: str
    text: str
    reason: str = None  # why no test runs it


def blocks(page):
    """All fenced blocks of a page, which is named by its path from the top of the tree."""
    text = (TREE / page).read_text(encoding="utf-8")
    return [Block(text.count("\n", 0, found.start("mark")) + 1, found["mark"], found["text"], found["reason"]) for found in FENCE.finditer(text)]


def block(page, part):
    """The text of the only block that has this part."""
    found = [each.text for each in blocks(page) if part in each.text]
    assert len(found) == 1, f"{page}: {len(found)} blocks have {part!r}"
    return found[0]


def marked(page, mark):
    """The texts of all blocks with this mark."""
    found = [each.text for each in blocks(page) if each.mark == mark]
    assert found, f"{page}: no block is marked {mark}"
    return found


def prose(page):
    """The text of a page without blocks, code in backticks and comments."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", (TREE / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?!`).*?\1(?!`)", "``", text, flags=re.DOTALL)


def anchors(page):
    """The anchors that GitHub gives to the headings of a page. A repeated heading gets a number."""
    text = re.sub(r"^```.*?^```$", "", (TREE / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = []
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        repeated = sum(each == anchor or re.fullmatch(rf"{re.escape(anchor)}-\d+", each) is not None for each in found)
        found.append(f"{anchor}-{repeated}" if repeated else anchor)
    return set(found)


def commands(text):
    """[(command, printed lines)] of a block. The prompt `$ ` or `# ` stands before each command, and `> ` before its other lines."""
    found, prompt = [], text[:2]
    assert prompt in ("$ ", "# "), f"{text!r} does not begin with a prompt"
    for line in text.splitlines():
        if line.startswith(prompt):
            found.append((line[2:], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        else:
            found[-1][1].append(line)
    return found
