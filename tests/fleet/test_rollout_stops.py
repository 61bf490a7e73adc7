# SPDX-License-Identifier: BSD-3-Clause
"""What stops a roll-out, on a real etcd, with directors that are records."""

import json

import pytest
from rollouts import b64, check_done, start, timeless, wait_seconds, writes

from lab.tools import wait_until
from support.cli import FAILED, run


@pytest.mark.parametrize("without", [False, True])
def test_director_that_vanishes_stops_the_roll_out(fleet, without):
    fleet.lead("leader")
    fleet.behind = {"lb3"}
    start(fleet)
    fleet.wait_state("running", step=1)
    fleet.gone = {"lb3"}
    document = fleet.wait_state("stopped", step=1)
    assert document["reason"] == "director lb3 vanished during step 1: its glb-fleet no longer renews its key"
    assert timeless(fleet.kv("table")[0]) == fleet.plan[1]
    if without:
        fleet.rollout("resume", "--without", "lb3", "--detach")
    else:
        fleet.rollout("resume", "--detach")
        fleet.wait_state("stopped", step=1)  # the cause is still there
        fleet.gone, fleet.behind = set(), {}
        fleet.settle()
        fleet.rollout("resume", "--detach")
    assert check_done(fleet)["without"] == ["lb3"][: int(without)]


def test_director_that_refuses_stops_the_roll_out(fleet):
    fleet.lead("leader")
    fleet.refuses = {"lb2": "it removes \x1b[31mtoo much"}
    start(fleet)
    document = fleet.wait_state("stopped", step=1)
    assert document["reason"] == "director lb2 refused the table of step 1: it removes ?[31mtoo much"
    lines = run("fleet", "--config", fleet.conf).stdout
    assert "refused" in lines and "\x1b" not in lines and fleet.steps() == fleet.plan[:2]
    fleet.refuses = {}
    fleet.settle()
    fleet.rollout("resume", "--detach")
    check_done(fleet)


def test_director_that_gets_worse_stops_the_roll_out(fleet):
    fleet.unhealthy = {"lb1"}
    fleet.settle()
    wait_until(lambda: not fleet.written["lb1"]["healthy"], "the record")
    fleet.lead("leader")
    assert "note: director lb1 is not healthy before the roll-out: no next hop" in start(fleet).stderr
    fleet.wait_state("running", step=1)
    fleet.unhealthy = {"lb1", "lb3"}
    document = fleet.wait_state("stopped")
    assert document["reason"].startswith("director lb3 was healthy before step") and "no longer is: no next hop" in document["reason"]
    fleet.unhealthy = {"lb1"}
    wait_until(lambda: fleet.written["lb3"]["healthy"], "the record")
    fleet.rollout("resume", "--detach")
    check_done(fleet)


def test_director_that_is_unhealthy_for_a_moment_only_delays_the_next_step(fleet):
    fleet.lead("leader")
    start(fleet)
    fleet.wait_state("running", step=1, reached=True)
    fleet.unhealthy = {"lb3"}
    wait_seconds(6)
    assert fleet.wait_state("running")["step"] == 1
    fleet.unhealthy = set()
    wait_until(lambda: fleet.written["lb3"]["healthy"], "the record")
    wait_seconds(2)
    assert fleet.wait_state("running")["step"] == 1
    check_done(fleet)


def test_step_limit(fleet):
    fleet.lead("leader")
    fleet.behind = {"lb2"}
    start(fleet, "--step-limit", "2s")
    assert "1 of 3 directors does not use step 1 in time: lb2 uses" in fleet.wait_state("stopped", step=1)["reason"]


@pytest.mark.parametrize("gone, said", [({"lb1", "lb2", "lb3"}, "no director is alive")])
def test_no_director_is_alive(fleet, gone, said):
    fleet.gone = gone
    wait_until(lambda: not fleet.written, "no records")
    assert said in start(fleet, code=FAILED).stderr
    assert fleet.document() == {} and writes(fleet) == 1


def test_director_that_does_not_use_the_table_is_in_the_way(fleet):
    fleet.behind = {"lb3"}
    fleet.put("table", json.dumps(json.loads(fleet.plan[0]), indent=2))
    wait_until(lambda: fleet.written["lb1"]["table"]["revision"] == fleet.kv("table")[1] ==
               fleet.written["lb2"]["table"]["revision"], "two directors")
    assert "lb3 uses" in start(fleet, code=FAILED).stderr
    start(fleet, "--without", "lb3")
    assert fleet.document()["without"] == ["lb3"]


@pytest.mark.parametrize("name, value", [("evil\x1b[2J\n", "{}"), ("lb9", "no JSON"), ("lb9", "[" * 5000), ("lb9", "{\"name\": \"lb1\"}"),
                                         ("a/b", "null")])
def test_record_that_is_not_ours(fleet, name, value):
    fleet.put(f"directors/{name}", value)
    done = start(fleet, code=FAILED)
    assert "does not hold a record of glb-fleet" in done.stderr and "is not healthy" not in done.stderr
    assert "\x1b" not in done.stderr + run("fleet", "--config", fleet.conf).stdout
    fleet.delete(f"directors/{name}")
    fleet.lead("leader")
    fleet.behind = {"lb2"}
    start(fleet)
    fleet.wait_state("running", step=1)
    fleet.put(f"directors/{name}", value)
    document = fleet.wait_state("stopped", step=1)
    assert "does not hold a record of glb-fleet" in document["reason"] and "\x1b" not in document["reason"]


def test_ten_thousand_records(fleet):
    fleet.lead("leader")
    fleet.behind = {"lb2"}
    start(fleet)
    fleet.wait_state("running", step=1)
    for first in range(0, 10000, 100):
        fleet.call("/v3/kv/txn", {"success": [{"requestPut": {"key": b64(f"{fleet.prefix}/directors/x{first + i}")}} for i in range(100)]})
    assert "more than 2048 keys of directors" in fleet.wait_state("stopped")["reason"]
    fleet.rollout("abort", "--stay", "--detach")
    done = start(fleet, code=FAILED)
    assert "more than 2048 keys of directors" in done.stderr
    assert "the others are not shown" in run("fleet", "--config", fleet.conf).stderr


def test_table_that_somebody_edits_beside_a_roll_out(fleet):
    fleet.lead("leader")
    fleet.behind = {"lb1", "lb2", "lb3"}
    start(fleet)
    fleet.wait_state("running", step=1)
    fleet.put("table", "garbage")
    assert "somebody changed the table in etcd beside the roll-out" in fleet.wait_state("stopped", step=1)["reason"]
    assert "/table" in fleet.rollout("abort", code=FAILED).stderr
    done = fleet.rollout("resume", "--detach")
    assert "not that of step 1, which is put back" in done.stderr
    fleet.behind = {}
    fleet.wait_state("done")
    assert fleet.kv("table")[0] == fleet.plan[3]


def test_edited_table_that_directors_use_is_not_put_back(fleet):
    fleet.lead("leader")
    fleet.behind = {"lb2"}
    start(fleet)
    fleet.wait_state("running", step=1)
    mine = json.dumps(json.loads(fleet.kv("table")[0]), indent=2)
    fleet.put("table", mine)
    fleet.wait_state("stopped")
    wait_until(lambda: fleet.written["lb1"]["table"]["revision"] == fleet.kv("table")[1], "a director uses it")
    assert "uses the table that somebody put" in fleet.rollout("resume", code=FAILED).stderr
    fleet.rollout("abort", "--stay", "--detach")
    assert fleet.wait_state("aborted")["reason"].endswith("aborted it; the table stays") and fleet.kv("table")[0] == mine


def test_deleted_table_is_put_back(fleet):
    fleet.lead("leader")
    fleet.behind = {"lb2"}
    start(fleet)
    fleet.wait_state("running", step=1)
    fleet.delete("table")
    assert "deleted the table" in fleet.wait_state("stopped", step=1)["reason"]
    fleet.behind = {}
    fleet.rollout("resume", "--detach")
    fleet.wait_state("done")
    assert fleet.kv("table")[0] == fleet.plan[3]


def test_changed_text_of_a_step_is_not_published(fleet):
    fleet.lead("leader")
    fleet.behind = {"lb2"}
    start(fleet)
    document = fleet.wait_state("running", step=1)
    fleet.put(f"rollouts/{document['id']}/2", fleet.plan[0])
    fleet.behind = {}
    assert "somebody changed or deleted the text of step 2" in fleet.wait_state("stopped", step=1)["reason"]
    assert fleet.steps() == fleet.plan[:2]
