# SPDX-License-Identifier: BSD-3-Clause
"""Checks that docs/howto/incidents.md has an answer to every reason of the health and to every alert."""

import re

import pytest

from support.facts import DROPS
from support.pages import anchors
from support.tree import TREE

PAGE = (TREE / "docs/howto/incidents.md").read_text(encoding="utf-8")
REASONS = re.findall(r"^\| `(\w+)` \|", (TREE / "docs/reference/health.md").read_text().split("\n## Reasons\n")[1], flags=re.MULTILINE)
COUNTERS = PAGE.split("\n## Counters that deserve an alert\n")[1]


def names(heading):
    """The names in the first column of the table whose header begins with this text."""
    table = COUNTERS.split(f"| {heading} |")[1].split("\n\n")[0]
    return [name for cell in re.findall(r"^\| (`[^|]*) \|", table, flags=re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)]


def test_every_reason_has_a_section_in_the_order_of_the_reference():
    sections = PAGE.split("\n## Reasons of a director's health\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (.*)$", sections, flags=re.MULTILINE) == REASONS and len(REASONS) >= 15


@pytest.mark.parametrize("reason", REASONS)
def test_every_section_says_what_to_do(reason):
    section = PAGE.split(f"\n### {reason}\n")[1].split("\n#")[0]
    parts = re.findall(r"^- \*\*(\w+):\*\* (.*?)(?=^- |\Z)", section, flags=re.MULTILINE | re.DOTALL)
    assert [name for name, _ in parts] == ["Means", "First", "Do", "Withdraw"]
    assert "`" in dict(parts)["First"], "it names no command"
    assert min(len(text.split()) for _, text in parts) >= 1


def test_counters_of_the_director_that_are_listed_exist():
    """test_docs.py looks for every verdict on the page troubleshooting, to which this one refers."""
    drops = {name for name in names("counter of the director") if name.startswith("drop_")}
    assert len(drops) >= 10 and drops <= set(DROPS)


def test_every_drop_counter_of_the_proxy_is_listed():
    counters = re.findall(r'X\(\w+,\s*"(drop_\w+)"', (TREE / "src/redirect/redirect.h").read_text().replace("\\\n", ""))
    assert len(counters) >= 8 and set(counters) == set(names("counter of a proxy"))


def test_every_alert_of_the_health_checks_is_listed():
    alerts = set(re.findall(r"^\| `(?:rate\()?(glb_healthcheck_\w+)", (TREE / "docs/howto/health-checks.md").read_text(), flags=re.MULTILINE))
    assert len(alerts) >= 10 and alerts == set(names("metric"))


def test_rows_that_refer_to_a_reason_name_one():
    assert set(re.findall(r"\]\(#(\w+_\w+)\)", PAGE)) <= set(REASONS) <= anchors("docs/howto/incidents.md")
