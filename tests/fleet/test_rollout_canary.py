# SPDX-License-Identifier: BSD-3-Clause
"""The canary of a roll-out: directors that are records first, then glb-fleet itself."""

import json
import signal

import pytest
from agent import PREFIX, table
from rollouts import FAST, document, rollout_lines, wait_state, writes

from lab.tools import wait_until
from support.cli import FAILED, run

CANARY = ("--canary", "lb2", "--detach", *FAST)


def test_canary_uses_the_first_step_alone(fleet):
    fleet.lead("leader")
    done = fleet.rollout("start", fleet.wanted, *CANARY, "--canary-wait", "4s")
    assert "step 1 canary    0.00% of the rows break on the canary, which uses it alone for 4 s" in done.stdout
    fleet.wait_state("running", step=1, reached=True)
    assert [line.split()[3] for line in run("fleet", "--config", fleet.conf).stdout.splitlines()[1:4]] == ["current", "canary", "current"]
    assert "(canary), used by 1 of 3" in " ".join(fleet.rollout("status").stdout.split())
    assert writes(fleet) == 1 and fleet.steps() == fleet.plan[:1]
    # Another one refuses the step after the canary: the way back begins with the table before, not with that of the canary.
    fleet.refuses = {"lb3": "it shrinks"}
    assert "director lb3 refused" in fleet.wait_state("stopped", step=2)["reason"] and fleet.steps() == fleet.plan[:2]
    assert "the way back begins with step 0" in fleet.rollout("abort", "--detach", *FAST).stderr
    assert fleet.kv("table")[0] == fleet.plan[0]


def test_canary_that_gets_worse_stops_the_roll_out_for_all(fleet):
    fleet.lead("leader")
    fleet.rollout("start", fleet.wanted, *CANARY)
    fleet.wait_state("running", step=1, reached=True)
    fleet.unhealthy = {"lb2"}
    assert "lb2 was healthy before" in fleet.wait_state("stopped", step=1)["reason"] and writes(fleet) == 1
    fleet.rollout("abort", "--detach")
    assert fleet.wait_state("aborted")["reason"].endswith("the table stays") and writes(fleet) == 1


def test_canary_that_would_prove_nothing(fleet):
    fleet.unhealthy = {"lb1"}
    wait_until(lambda: not fleet.written["lb1"]["healthy"], "the record")
    for name, more in (("lb1", ()), ("lb9", ()), ("", ()), ("\x1b", ()), ("lb2", ("--without", "lb2"))):
        done = fleet.rollout("start", fleet.wanted, "--canary", name, "--detach", *more, code=FAILED)
        assert "is not the name of a director that is alive, healthy, and counts" in done.stderr and "\x1b" not in done.stderr
    assert fleet.document() == {}


def uses(made, *backends):
    """Returns true if the agents' tables have these last backends."""
    return [json.loads(agent.table.read_text())["tables"][0]["backends"][-1]["ip"] for agent in made] == [f"192.0.2.{i}" for i in backends]


@pytest.fixture
def canary(agents, tmp_path):
    """d2 is the canary, in a roll-out whose way back loses too many backends for the guard. The steps are canary and wanted."""
    def begin(seconds):
        wanted = tmp_path / "wanted.json"
        wanted.write_text(table(*range(1, 31)))
        rollout_lines(agents[0], "rollout", "start", wanted, "--canary", "d2", "--canary-wait", seconds, "--detach", *FAST)
        return wait_state(agents[0].etcd, "running", step=1, reached=True)
    return begin


def test_agent_is_the_canary_and_then_one_of_all(agents, canary, etcd):
    canary("6s")
    assert uses(agents, 4, 30, 4)
    # It is killed, and started again: it neither goes back to the old table nor forgets that it is the canary.
    agents[1].stop(signal.SIGKILL)
    agents[1].start()
    wait_state(etcd, "done")
    assert uses(agents, 30, 30, 30) and "revision of the table" not in agents[1].log and "went back" not in agents[1].log
    assert agents[1].log.count("this director is the canary") == 2 and agents[1].status()["director"]["refused"] is None


@pytest.mark.parametrize("end", ["abort", "deleted", "while it is down"])
def test_canary_goes_back_when_the_roll_out_ends(agents, canary, etcd, end):
    canary("1h")
    before = agents[1].etcd_table_revision()
    if end == "while it is down":
        agents[1].stop(signal.SIGKILL)
    if end == "deleted":
        etcd.delete(f"{PREFIX}/rollout")
    else:
        rollout_lines(agents[0], "rollout", "abort", "--detach")
    if end == "while it is down":
        agents[1].start()
    agents[1].wait_log("no canary any more")
    record = agents[1].wait_used(before)
    assert uses(agents, 4, 4, 4) and record["refused"] is None


def test_documents_that_make_nobody_a_canary(agents, canary, etcd):
    """The text was changed after the plan; a roll-out that is older than the table; one that names nobody here."""
    found = canary("1h")
    text = etcd.get(f"{PREFIX}/rollouts/{found['id']}/1")
    rollout_lines(agents[0], "rollout", "pause")
    found = document(etcd)
    for agent in agents:
        etcd.put(f"{PREFIX}/rollout", json.dumps({**found, "canary": "nobody"}))
        agent.wait_used(agent.etcd_table_revision())
    agents[0].put(text, f"rollouts/{found['id']}/1")
    etcd.put(f"{PREFIX}/rollout", json.dumps({**found, "canary": "d1"}))
    agents[0].wait_refused(found["plan_revision"], "somebody changed or deleted the text of the canary's step")
    etcd.put(f"{PREFIX}/rollout", json.dumps({**found, "canary": "d3", "plan_revision": agents[2].etcd_table_revision()}))
    revision = agents[2].put(table(1, 2, 3, 4, 5))
    for agent in agents:
        agent.wait_used(revision)
    assert "this director is the canary" not in agents[2].log
