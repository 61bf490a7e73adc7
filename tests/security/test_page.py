# SPDX-License-Identifier: BSD-3-Clause
"""docs/explanation/security.md says of each unit what the unit says. GLB_GOLDEN=write writes the table again."""

import re

from support import units
from support.facts import WRITE
from support.tree import TREE

PAGE = TREE / "docs/explanation/security.md"
HEAD = "| unit | user | capabilities | system calls: `@system-service` | also |\n|---|---|---|---|---|\n"


def row(name):
    user = units.settings(name, "User") or ["root"]
    given = [capability.removeprefix("CAP_") for capability in sorted(units.capabilities(name))]
    lines = units.settings(name, "SystemCallFilter")
    assert lines[0] == "@system-service", name
    denied = " ".join(line[1:] for line in lines if line.startswith("~"))
    more = " ".join(line for line in lines[1:] if not line.startswith("~"))
    writes = [path.removeprefix("-") for path in units.settings(name, "ReadWritePaths")]
    writes += [f"{folder}/{each}" for key, folder in (("StateDirectory", "/var/lib"), ("RuntimeDirectory", "/run")) for each in units.settings(name, key)]
    words = [f"without {denied}" if denied else "", f"with {more}" if more else ""]
    return f"| {name} | {user[0]} | {', '.join(given) or 'none'} | {'; '.join(filter(None, words))} | writes {', '.join(writes)} |\n"


def test_the_page_has_what_the_units_have():
    text = PAGE.read_text(encoding="utf-8")
    rows = "".join(map(row, units.names()))
    found = re.search(re.escape(HEAD) + r"((?:\| glb-.*\n|TABLE\n)*)", text)
    if WRITE:
        PAGE.write_text(text[:found.start(1)] + rows + text[found.end(1):], encoding="utf-8")
    else:
        assert found[1] == rows, "run GLB_GOLDEN=write python3 -m pytest tests/security/test_page.py, and look at `git diff`"


def test_what_all_units_have():
    promised = re.search(r"All units set (.*?)\. A call", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    for setting in re.findall("`(.*?)`", promised):
        for name in units.names():
            assert units.settings(name, setting.split("=")[0]), (name, setting)
    for name in units.names():
        assert units.settings(name, "SystemCallErrorNumber") == ["EPERM"]
