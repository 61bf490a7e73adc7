# SPDX-License-Identifier: BSD-3-Clause
"""Checks that a test runs every block of commands, or that a comment before the block says why none does:

    <!-- not run: needs a network card with SR-IOV -->

Man pages are no part of this, because blocks of scdoc have no marks: test_man_pages.py runs the examples of glb-director-cli(1), and the
others are commands of these pages. test_docs.py runs the blocks marked `console`. Other tests get theirs from support/pages.py. This command lists all blocks:
PYTHONPATH=.:tests python3 tests/docs/test_blocks.py
"""

import ast
import re

import pytest

from support.pages import COMMANDS, TEXTS, blocks
from support.tree import TREE

TOPS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
PAGES = [*TOPS, "bench/targets.md", *sorted(str(path.relative_to(TREE)) for path in (TREE / "docs").rglob("*.md"))]
STARTS = r"^(?:sudo |[$#] )?(?:apt|apt-get|systemctl|journalctl|ip(?! prefix-list)|birdc|vtysh|podman|docker|buildah|glb-[a-z-]+|(?:script|lab|bench)/\S+) [a-z-]"


def constants(tree):
    """{name: string} of the assignments at the top of a module."""
    return {node.targets[0].id: node.value.value for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant)}


def citations(source):
    """[(page, part of a block or mark)] of the calls and tuples that begin with these two strings."""
    tree = ast.parse(source)
    names, found = constants(tree), []
    for node in ast.walk(tree):
        elements = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
        values = [element.value if isinstance(element, ast.Constant) else names.get(getattr(element, "id", None)) for element in elements[:2]]
        if len(values) == 2 and all(isinstance(value, str) for value in values) and values[0] in PAGES:
            found.append(tuple(values))
    return found


def runners():
    """[(test file, page, part or mark)]"""
    files = [path for path in sorted((TREE / "tests").rglob("*.py")) if path.parent.name not in ("docs", "support")]
    return [(str(path.relative_to(TREE)), *cited) for path in files for cited in citations(path.read_text(encoding="utf-8"))]


RUNNERS = runners()


def runs(block, part):
    return block.mark == part if part in COMMANDS | TEXTS else part in block.text


def run_by(page, block):
    """The test files that run a block."""
    if block.mark == "console":
        return ["tests/docs/test_docs.py"]
    return sorted({file for file, cited, part in RUNNERS if cited == page and runs(block, part)})


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_commands_is_run_or_says_why_not(page):
    found = [(block, run_by(page, block)) for block in blocks(page) if block.mark in COMMANDS]
    neither = [f"{page}:{block.line}: no test runs this block: add one, or write <!-- not run: REASON --> above the fence"
               for block, files in found if not files and not block.reason]
    both = [f"{page}:{block.line}: {', '.join(files)} runs this block: remove the comment" for block, files in found if files and block.reason]
    assert neither + both == []


@pytest.mark.parametrize("page", PAGES)
def test_comments_about_blocks_stand_before_a_block_of_commands(page):
    text = (TREE / page).read_text(encoding="utf-8")
    reasons = [block.reason for block in blocks(page) if block.mark in COMMANDS and block.reason]
    assert len(reasons) == len(re.findall(r"^\s*<!-- *not", text, flags=re.MULTILINE | re.IGNORECASE))
    assert [reason for reason in reasons if len(reason.split()) < 3] == []


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("docs/reference/")])
def test_blocks_of_text_have_no_commands(page):
    """The reference has synopses."""
    texts = [block for block in blocks(page) if block.mark not in COMMANDS]
    assert [f"{page}:{block.line}" for block in texts if re.search(STARTS, block.text, flags=re.MULTILINE)] == []


@pytest.mark.parametrize("file, page, part", RUNNERS)
def test_tests_name_one_block(file, page, part):
    """A test that names no block would run nothing. One that names two would say of both that they are run."""
    found = [block for block in blocks(page) if runs(block, part)]
    assert len(found) == 1 or (found and part in COMMANDS | TEXTS), f"{file} names {len(found)} blocks of {page}: {part}"


def test_tests_that_run_blocks_are_found():
    source = 'PAGE = "docs/tutorial/lab.md"\nwalk("README.md", "script/demo", 1)\nmarked(PAGE, "lab")\n[("CONTRIBUTING.md", "x", 2)]\nf("a.md", "x")\n'
    assert citations(source) == [("README.md", "script/demo"), ("docs/tutorial/lab.md", "lab"), ("CONTRIBUTING.md", "x")]
    assert {file.split("/")[1] for file, _, _ in RUNNERS} >= {"bpf", "healthcheck", "lab", "systemd"}


if __name__ == "__main__":
    for each in PAGES:
        for fenced in blocks(each):
            if fenced.mark in COMMANDS:
                files = run_by(each, fenced)
                print(f"{each}:{fenced.line}: {fenced.mark}: {', '.join(files) or 'not run: ' + (fenced.reason or '?')}")
