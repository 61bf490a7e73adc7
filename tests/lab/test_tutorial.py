# SPDX-License-Identifier: BSD-3-Clause
"""Compares docs/tutorial/lab.md with the output of its commands. To update the page:
PYTHONPATH=.:tests python3 tests/lab/test_tutorial.py

The test runs the blocks marked `lab` in order, at the top of the tree. Lines after `$ ` and `> ` are commands, the other lines are
their output. Numbers differ from run to run, and so do the proxies that answer, so only the words are compared.
"""

import re
import subprocess
import tempfile

from lab_process import environment, lab
from support.tree import TREE

PAGE = TREE / "docs/tutorial/lab.md"
BLOCK = re.compile(r"^```lab\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block):
    """[(lines of the command, lines of its output)]"""
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
    # A file, because programs in the background would hold a pipe open.
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(
            ["bash", "-c", script], cwd=TREE, env=environment(), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, timeout=100)
        output.seek(0)
        return output.read().splitlines()


def words(lines):
    """The part of the output that is the same in each run. ECMP decides which proxy answers, or that none does."""
    text = " ".join(re.sub(r"[\d.]+", "N", line) for line in lines)
    return re.sub(r"(proxy-N|no answer)( (proxy-N|no answer))*", "ANSWERS", re.sub(r" +", " ", text))


def printed(page):
    """The text of the page with the output of a run now, and [(command, shown output, printed output)]."""
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


def test_tutorial_shows_the_output_of_its_commands():
    _, pairs = printed(PAGE.read_text())
    assert len(pairs) > 15
    for command, shown, output in pairs:
        assert (command, words(output)) == (command, words(shown))


if __name__ == "__main__":
    after, _ = printed(PAGE.read_text())
    PAGE.write_text(after)
