# SPDX-License-Identifier: BSD-3-Clause
"""Leaders of roll-outs that are killed, paused and replaced, on a real etcd, with directors that are records."""

import json
import os
import signal

from rollouts import FAST, LEASE_S, check_done, start, wait_seconds

from lab.tools import wait_until


def test_steps_are_published_one_after_the_other(fleet):
    fleet.lead("lb1")
    done = fleet.rollout("start", fleet.wanted, *FAST)
    assert "3 steps from the table in etcd" in done.stdout and "step 3 of 3 (wanted), used by 3 of 3" in done.stdout
    document = check_done(fleet)
    assert document["steps"][2]["wait"] == "drained" and document["steps"][2]["wait_s"] == 1
    wait_until(lambda: fleet.leader_of() is None, "the leader gives up its key")
    assert document["id"] in fleet.rollout("history").stdout
    assert json.loads(fleet.rollout("history", "--json").stdout)["history"] == [document]
    assert "nothing to do" in start(fleet).stdout


def test_leader_is_killed_between_two_transactions(fleet):
    first = fleet.lead("first")
    fleet.behind = {"lb2"}
    start(fleet)
    fleet.wait_state("running", step=1)
    first.kill()
    fleet.lead("second")
    fleet.behind = {}
    check_done(fleet)


def test_leader_that_was_paused_for_longer_than_its_lease_writes_nothing(fleet):
    first = fleet.lead("first")
    fleet.behind = {"lb2"}
    start(fleet)
    fleet.wait_state("running", step=1)
    os.kill(first.pid, signal.SIGSTOP)
    fleet.lead("second")
    wait_until(lambda: fleet.leader_of() == "second", "another leader")
    fleet.behind = {}
    fleet.wait_state("running", step=1, reached=True)
    os.kill(first.pid, signal.SIGCONT)
    check_done(fleet)


def test_records_that_cannot_be_read_together(fleet):
    """Keys under directors/ have more than 32 MB. The leader says so, does not judge, and goes on when they are gone."""
    fleet.behind = {"lb2"}
    start(fleet)
    for i in range(24):
        fleet.put(f"directors/large{i}", "x" * 1_100_000)
    fleet.behind = {}
    fleet.lead("lb1")
    text = f"etcd has more than 32 MB in the keys that begin with {fleet.prefix}/directors/, which is not read: delete or replace what is"
    wait_until(lambda: text in (fleet.folder / "lb1.log").read_text(), lambda: (fleet.folder / "lb1.log").read_text())
    assert fleet.document()["step"] == 0
    for i in range(24):
        fleet.delete(f"directors/large{i}")
    check_done(fleet)


def test_leader_that_ends_hands_over_at_once(fleet):
    first = fleet.lead("first")
    fleet.behind = {"lb2"}
    start(fleet)
    fleet.wait_state("running", step=1)
    first.terminate()
    assert first.wait(timeout=10) == 0
    assert fleet.leader_of() is None


def test_wait_continues_under_a_new_leader(fleet):
    """A leader saves how long it has waited every 30 s; the next one neither skips the wait nor begins anew."""
    first = fleet.lead("first")
    fleet.rollout("start", fleet.wanted, "--detach", "--drained-after", "40s")
    fleet.wait_state("running", step=2, reached=True, counted_s=0)
    document = wait_until(lambda: (found := fleet.document())["counted_s"] and found, "a saved time")
    assert document["step"] == 2 and 30 <= document["counted_s"] < 40
    first.kill()
    fleet.lead("second")
    wait_seconds(LEASE_S - 5)
    assert fleet.document()["step"] == 2
    check_done(fleet)


def test_director_that_is_away_for_a_moment_stops_nothing(fleet):
    fleet.lead("leader")
    fleet.behind = {"lb2"}
    start(fleet)
    fleet.wait_state("running", step=1)
    for _ in range(3):
        fleet.gone = {"lb3"}
        wait_until(lambda: "lb3" not in fleet.written, "no record")
        wait_seconds(0.7)
        fleet.gone = set()
        wait_until(lambda: "lb3" in fleet.written, "a record")
        wait_seconds(0.7)
    fleet.behind = {}
    check_done(fleet)
