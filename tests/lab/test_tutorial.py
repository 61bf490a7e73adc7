# SPDX-License-Identifier: BSD-3-Clause
"""docs/tutorial/lab.md shows what its commands print. PYTHONPATH=.:tests python3 tests/lab/test_tutorial.py makes it so.

Its blocks marked `lab` are run, in order, at the top of the tree: lines after `$ ` and `> ` are commands, the rest is what they
print. Numbers may differ, and which proxy answers; so only the words are compared.
"""

import re
import subprocess
import tempfile

from lab_process import environment, lab
from support.tree import TREE

PAGE = TREE / "docs/tutorial/lab.md"
BLOCK = re.compile(r"^```lab\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block):
    """[(the command's lines, what it prints)]"""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(([line], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return found


def run(lines):
    script = "\n".join(line[2:] for line in lines)
    # No pipe: what goes on in the background would hold it open.
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(
            ["bash", "-c", script], cwd=TREE, env=environment(), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, timeout=100)
        output.seek(0)
        return output.read().splitlines()


def words(lines):
    """What must be the same in each run. Answers of proxies and no answer at all depend on ECMP."""
    text = " ".join(re.sub(r"[\d.]+", "N", line) for line in lines)
    return re.sub(r"(proxy-N|no answer)( (proxy-N|no answer))*", "ANSWERS", re.sub(r" +", " ", text))


def printed(page):
    """The page's text with what its commands print now, and [(command, shown, printed)]."""
    pairs = []

    def block(match):
        text = ""
        for lines, shown in commands(match[1]):
            output = run(lines)
            pairs.append(("\n".join(lines), shown, output))
            text += "\n".join([*lines, *output]) + "\n"
        return f"```lab\n{text}```"

    try:
        return BLOCK.sub(block, page), pairs
    finally:
        lab("down")
        (TREE / "result.json").unlink(missing_ok=True)


def test_the_tutorial_shows_what_its_commands_print():
    _, pairs = printed(PAGE.read_text())
    assert len(pairs) > 15
    for command, shown, output in pairs:
        assert (command, words(output)) == (command, words(shown))


if __name__ == "__main__":
    after, _ = printed(PAGE.read_text())
    PAGE.write_text(after)
