# SPDX-License-Identifier: BSD-3-Clause
"""Compares the pages that walk through a lab with the output of their commands. To update a page:
PYTHONPATH=.:tests python3 tests/lab/test_tutorial.py docs/tutorial/lab.md

The test runs the blocks marked `lab` in order, in a temporary folder with a link to lab/. Lines after `$ ` and `> ` are commands,
the other lines are their output. Numbers differ from run to run, and so do the proxies that answer, so only the words are compared.
"""

import os
import subprocess
import sys
import tempfile

import pytest

from lab.tools import TIMEOUT_S
from lab_process import environment, lab, words
from support.pages import commands, marked
from support.tree import TREE

PAGES = [
    ("docs/tutorial/lab.md", "lab"), ("docs/howto/bgp.md", "lab"), ("docs/howto/no-packets.md", "lab"),
    ("docs/howto/one-client.md", "lab"), ("docs/howto/latency.md", "lab"), ("docs/howto/busy-proxy.md", "lab"),
]


def run(script, folder):
    # A file, because programs in the background would hold a pipe open.
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(
            ["bash", "-c", script], cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        output.seek(0)
        return output.read().splitlines()


def runs(page, mark):
    """[[(command, shown output, printed output)]] of the blocks."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(TREE / "lab", f"{folder}/lab")
        try:
            return [[(command, shown, run(command, folder)) for command, shown in commands(block)] for block in marked(page, mark)]
        finally:
            lab("down")


@pytest.mark.parametrize("page, mark", PAGES)
def test_page_shows_the_output_of_its_commands(page, mark):
    examples = [example for block in runs(page, mark) for example in block]
    assert len(examples) > 10
    for command, shown, output in examples:
        assert (command, words(output)) == (command, words(shown))


if __name__ == "__main__":
    path = sys.argv[1]
    text = (TREE / path).read_text()
    for old, blocks in zip(marked(path, "lab"), runs(path, "lab")):
        text = text.replace(old, "".join("\n".join(["$ " + command.replace("\n", "\n> "), *output]) + "\n" for command, _, output in blocks))
    (TREE / path).write_text(text)
