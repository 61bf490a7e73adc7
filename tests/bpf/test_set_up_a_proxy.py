# SPDX-License-Identifier: BSD-3-Clause
"""docs/howto/set-up-a-proxy.md shows the lines that glb-redirect prints, with other numbers."""

import re

import pytest

from lab.net import Namespace, connect
from support.tree import TREE

PAGE = TREE / "docs/howto/set-up-a-proxy.md"
EXAMPLES = re.findall(r"^```\n# (glb-redirect [^\n]*)\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)


def shape(text):
    """The text without its numbers. Counters are right-aligned, so a gap and its number count as one width."""
    text = re.sub(r"version \S+, program \d+", "version V, program N", text)
    return re.sub(r" +\d+$", lambda match: f" {len(match[0])}", text, flags=re.MULTILINE)


def test_there_are_examples():
    assert [command for command, _ in EXAMPLES] == ["glb-redirect status", "glb-redirect stats eth0"]


@pytest.mark.parametrize("command, shown", EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_example_prints_what_is_shown(glb_redirect, command, shown):
    proxy, network = Namespace(), Namespace()
    try:
        connect(proxy, "eth0", network, "net0")
        proxy.run(glb_redirect, "attach", "eth0")
        printed = proxy.run(glb_redirect, *command.split()[1:]).stdout
    finally:
        proxy.close()
        network.close()
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in shape(shown).splitlines())
    assert re.fullmatch(pattern, shape(printed)), printed
