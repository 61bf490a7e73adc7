# SPDX-License-Identifier: BSD-3-Clause
"""Alerts and the dashboard use only metrics that the reference lists, and the runbook has a section for each alert.

tests/lab/test_metrics.py compares the same names with what the programs of a lab export.
"""

import re

import pytest

from support.alerts import alerts, fleet, names
from support.grafana import dashboard, panels, queries, with_variables
from support.tree import TREE

RUNBOOK = (TREE / "docs/howto/alerts.md").read_text(encoding="utf-8")
PARTS = ["Means", "Clients", "Look", "Mend"]


def documented():
    """The metrics of the reference. The tables of glb-healthcheck and glb-fleet leave out the prefix."""
    found = set()
    for page, prefix in (("metrics.md", ""), ("healthcheck.md", "glb_healthcheck_"), ("fleet.md", "glb_fleet_")):
        text = (TREE / "docs/reference" / page).read_text(encoding="utf-8")
        if prefix:
            text = re.split("\n## (?:GET /m|M)etrics\n", text)[1].split("\n## ")[0]
        found |= {prefix + name for cell in re.findall(r"^\| (`[^|]*) \|", text, flags=re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)}
    return {name for name in found if name.startswith("glb_")}


def known(name):
    return name in documented() or re.sub(r"_(bucket|sum|count)$", "", name) in documented()


def expressions(rule):
    return rule.split("        for:")[0]


@pytest.mark.parametrize("name, rule", alerts().items(), ids=list(alerts()))
def test_alerts_use_documented_metrics(name, rule):
    assert [each for each in names(expressions(rule)) if not known(each)] == []
    in_fleet = {series.split("{")[0] for series in fleet()}
    assert names(expressions(rule)) - in_fleet <= {"glb_director_health_reason"}, "the healthy fleet of the tests lacks this metric"


@pytest.mark.parametrize("panel, target", queries(dashboard()), ids=lambda each: each.get("title") or each.get("refId"))
def test_the_dashboard_uses_documented_metrics(panel, target):
    used = names(target["expr"])
    assert used or "up{" in target["expr"] or "ALERTS{" in target["expr"]
    assert [each for each in used if not known(each)] == []
    assert 'fleet=~"$fleet"' in target["expr"], "the query mixes fleets"
    with_variables(target["expr"], {"fleet": ".*", "director": ".*", "proxy": ".*", "__rate_interval": "1m"})


def test_panels_do_not_overlap_and_explain_themselves():
    board, cells = dashboard(), set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        own = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not own & cells and place["x"] + place["w"] <= 24, panel["title"]
        cells |= own
    ids, titles = [panel["id"] for panel in board["panels"]], [panel["title"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids) and len(set(titles)) == len(titles) and all(titles)
    for panel in panels(board):
        assert panel["description"].endswith("."), panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0


def test_the_dashboard_can_be_imported_anywhere():
    board = dashboard()
    assert [each["name"] for each in board["templating"]["list"]] == ["datasource", "fleet", "director", "proxy"]
    assert "id" not in board and board["uid"] == "glb-fleet" and board["schemaVersion"] >= 36


def test_every_alert_has_a_section_in_the_runbook_and_every_section_an_alert():
    assert sorted(re.findall(r"^### (.*)$", RUNBOOK, flags=re.MULTILINE)) == sorted(alerts()) and len(alerts()) >= 20


@pytest.mark.parametrize("name", alerts())
def test_every_section_says_what_to_do(name):
    section = re.split(r"\n##", RUNBOOK.split(f"\n### {name}\n")[1])[0]
    parts = dict(re.findall(r"^- \*\*(\w+):\*\* (.*?)(?=^- |\Z)", section, flags=re.MULTILINE | re.DOTALL))
    assert list(parts) == PARTS
    assert "`" in parts["Look"], "it names no command"


def test_panels_that_the_runbook_names_exist():
    named = {name for part in re.findall(r"the panels? ([^.,;:]*)", RUNBOOK) for name in re.findall(r'"([^"]*)"', part)}
    assert len(named) >= 4 and named <= {panel["title"] for panel in panels(dashboard())}


def test_causes_with_an_alert_of_their_own_exist():
    excluded = re.search(r'cause!~"([^"]*)"', alerts()["GlbDirectorDegraded"])[1].split("|")
    causes = re.findall(r"^\| `(\w+)` \|", (TREE / "docs/reference/health.md").read_text().split("\n## Reasons\n")[1], flags=re.MULTILINE)
    assert len(excluded) == 6 and set(excluded) <= set(causes)
