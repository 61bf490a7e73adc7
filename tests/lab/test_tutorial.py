# SPDX-License-Identifier: BSD-3-Clause
"""Compares docs/tutorial/lab.md with the output of its commands. To update the page:
PYTHONPATH=.:tests python3 tests/lab/test_tutorial.py

The test runs the blocks marked `lab` in order, at the top of the tree. Lines after `$ ` and `> ` are commands, the other lines are
their output. Numbers differ from run to run, and so do the proxies that answer, so only the words are compared.
"""

import subprocess
import tempfile

from lab_process import environment, lab, words
from support.pages import commands, marked
from support.tree import TREE

PAGE = "docs/tutorial/lab.md"


def run(script):
    # A file, because programs in the background would hold a pipe open.
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(
            ["bash", "-c", script], cwd=TREE, env=environment(), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, timeout=100)
        output.seek(0)
        return output.read().splitlines()


def runs():
    """[[(command, shown output, printed output)]] of the blocks."""
    try:
        return [[(command, shown, run(command)) for command, shown in commands(block)] for block in marked(PAGE, "lab")]
    finally:
        lab("down")
        (TREE / "result.json").unlink(missing_ok=True)


def test_tutorial_shows_the_output_of_its_commands():
    examples = [example for block in runs() for example in block]
    assert len(examples) > 15
    for command, shown, output in examples:
        assert (command, words(output)) == (command, words(shown))


if __name__ == "__main__":
    page = (TREE / PAGE).read_text()
    for old, examples in zip(marked(PAGE, "lab"), runs()):
        page = page.replace(old, "".join("\n".join(["$ " + command.replace("\n", "\n> "), *output]) + "\n" for command, _, output in examples))
    (TREE / PAGE).write_text(page)
