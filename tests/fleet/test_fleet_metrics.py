# SPDX-License-Identifier: BSD-3-Clause
"""What others read of glb-fleet: its metrics are those of the reference, have what alerts and the dashboard use, and tell the roll-out in etcd; its status file is for all."""

import json
import re

import pytest
from agent import table
from lab.tools import wait_until
from support.alerts import alerts, names
from support.grafana import dashboard, queries
from support.tree import TREE

ROLLOUT = {"id": "20260101-120000-1a2b", "takes_back": "", "by": "me", "reason": "", "began": "2026-01-01T12:00:00Z",
           "steps": [{"fingerprint": f"{i:016x}", "kind": "before", "broken": 0, "wait": "none", "wait_s": 0} for i in range(3)],
           "step": 2, "reached": False, "proved": False, "counted_s": 0, "limit_s": 300, "plan_revision": 1, "table_revision": 1,
           "without": [], "seen": {}, "canary": "", "drains": []}


@pytest.fixture
def running(agent):
    with agent:
        agent.wait_used(agent.put(table(1, 2)))
        yield agent


def told(agent):
    return [int(agent.metrics()[f"glb_fleet_rollout_{name}"]) for name in ("active", "paused", "stopped", "step")]


def test_metrics_of_reference_alerts_and_dashboard(running):
    exported = {re.sub(r"\{.*", "", name) for name in running.metrics()}
    page = (TREE / "docs/reference/fleet.md").read_text().split("\n## Metrics\n")[1]
    assert exported == {f"glb_fleet_{name}" for name in re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)}
    used = set().union(*(names(rule.split("        for:")[0]) for rule in alerts().values()), *(names(target["expr"]) for _, target in queries(dashboard())))
    used = {name for name in used if name.startswith("glb_fleet_")}
    assert len(used) > 12 and used <= exported


def test_roll_out_in_etcd(running):
    assert told(running) == [0, 0, 0, 0]
    for state, expected in (("paused", [1, 1, 0, 2]), ("stopped", [1, 0, 1, 2]), ("done", [0, 0, 0, 0]), ("running", [1, 0, 0, 2])):
        running.put(json.dumps({**ROLLOUT, "state": state}), "rollout")
        wait_until(lambda expected=expected: told(running) == expected, lambda: f"{state}: {told(running)}")
    for hostile in ('{"id": 1}', b"\xff", json.dumps({**ROLLOUT, "state": "stopped", "step": 2**40})):
        running.put(json.dumps({**ROLLOUT, "state": "paused"}), "rollout")
        wait_until(lambda: told(running) == [1, 1, 0, 2], "the roll-out")
        running.put(hostile, "rollout")
        wait_until(lambda: told(running) == [0, 0, 0, 0], lambda: f"{hostile}: {told(running)}")


def test_the_director_may_read_the_status_file(agent):
    """It has neither the user nor the group of the agent. No other file becomes readable by that."""
    agent.prefix = ["sh", "-c", 'umask 0077; exec "$@"', "sh"]
    with agent:
        agent.wait_used(agent.put(table(1, 2)))
        modes = {name: (agent.folder / name).stat().st_mode & 0o777 for name in ("status.json", "state.json", "table.json")}
    assert modes == {"status.json": 0o644, "state.json": 0o600, "table.json": 0o600}
