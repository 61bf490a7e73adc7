# SPDX-License-Identifier: BSD-3-Clause
"""The commands of roll-outs, on a real etcd, with directors that are records."""

import contextlib
import json
import os
import pty
import signal
import subprocess

import pytest
from etcd import Etcd
from hostile_etcd import HostileEtcd, reply
from rollouts import BACKENDS, Fleet, FAST, b64, check_done, start, wait_seconds, writes

from lab.tools import wait_until
from support.cli import BROKEN, CLI, FAILED, USAGE, backend, run, table, write_tables


def test_two_roll_outs_at_once(fleet):
    start(fleet)
    assert "running: wait until it is done, or `rollout abort` it first" in start(fleet, code=FAILED).stderr


def test_two_operators_start_at_the_same_time(fleet):
    words = [CLI, "rollout", "start", fleet.wanted, "--detach", "--config", fleet.conf]
    both = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, FAILED]
    assert any("changed in etcd meanwhile, so nothing is written" in error or "wait until it is done" in error for error in errors)


@contextlib.contextmanager
def leader_writes_first(fleet, times):
    """A fleet.conf of an etcd where somebody writes the document just before a command does, so many times."""
    left = [times]

    def write(connection, request):
        if left[0]:
            left[0] -= 1
            fleet.put("rollout", fleet.kv("rollout")[0])
        reply(connection, fleet.call("/v3/kv/txn", request))

    with HostileEtcd(kv_range=lambda connection, request: reply(connection, fleet.call("/v3/kv/range", request)), kv_txn=write) as between:
        conf = fleet.folder / "between.conf"
        conf.write_text(fleet.conf.read_text().replace(json.dumps(fleet.etcd.endpoints), json.dumps([between.url])))
        yield conf
        assert left == [0]


@pytest.mark.parametrize("words, state", [(["pause"], "paused"), (["abort", "--stay", "--detach"], "aborted")])
def test_pause_and_abort_are_right_whatever_the_leader_writes_first(fleet, words, state):
    start(fleet)
    with leader_writes_first(fleet, 5) as conf:
        assert "changed in etcd meanwhile, so nothing is written" in run("rollout", *words, "--config", conf, code=FAILED).stderr
    with leader_writes_first(fleet, 4) as conf:
        assert "meanwhile" not in run("rollout", *words, "--config", conf).stderr
    assert fleet.document()["state"] == state


def test_resume_does_not_try_again(fleet):
    """What it takes for mended or proved may be something else now."""
    start(fleet)
    fleet.rollout("pause")
    with leader_writes_first(fleet, 1) as conf:
        assert "changed in etcd meanwhile" in run("rollout", "resume", "--config", conf, code=FAILED).stderr
    assert fleet.document()["state"] == "paused"


def test_missing_fleet_conf(tmp_path):
    for words in (["fleet"], ["rollout", "status"]):
        assert "none.conf" in run(*words, "--config", tmp_path / "none.conf", code=FAILED).stderr


def test_roll_out_that_breaks_too_much(fleet):
    down = [*BACKENDS[1:4], backend("192.168.50.5", healthy=False)]
    fleet.wanted = write_tables(fleet.folder / "wanted.json", table(backends=[down[3]], hash_key=2))
    done = start(fleet, code=BROKEN)
    assert "refused: the best plan breaks" in done.stderr and fleet.document() == {}
    start(fleet, "--max-broken", "100")


def test_table_that_is_too_large(fleet):
    document = table(backends=BACKENDS[1:])
    text = json.dumps({"tables": [document]})
    fleet.wanted.write_text(text[:-1] + " " * 1600000 + "}")
    done = start(fleet, code=FAILED)
    assert "etcd takes 1572864 bytes in a transaction" in done.stderr and "nothing is written" in done.stderr
    assert fleet.document() == {} and writes(fleet) == 1


def test_wanted_that_differs_in_its_text_only(fleet):
    fleet.lead("leader")
    fleet.wanted.write_text(json.dumps(json.loads(fleet.plan[0]), indent=2))
    fleet.rollout("start", fleet.wanted)
    assert fleet.kv("table")[0] == fleet.wanted.read_text() and len(fleet.document()["steps"]) == 2


def test_no_table_yet(fleet):
    fleet.delete("table")
    assert f"`etcdctl put {fleet.prefix}/table < TABLE.json`" in start(fleet, code=FAILED).stderr


def test_drain_waits_for_its_proof(fleet):
    fleet.lead("leader")
    done = fleet.rollout("start", fleet.wanted, code=FAILED)
    assert "paused, step 2 of 3 (switch)" in done.stdout and "glb-redirect drained" in done.stdout.replace("\n  ", " ")
    assert fleet.steps() == fleet.plan[:3]
    done = fleet.rollout("resume")
    assert done.stdout.startswith("takes for proved: drain: check with")
    check_done(fleet)


def test_pause_during_a_wait(fleet):
    fleet.lead("leader")
    fleet.rollout("start", fleet.wanted, "--detach", "--drained-after", "8s")
    fleet.wait_state("running", step=2, reached=True)
    fleet.rollout("pause")
    assert "is paused already" in fleet.rollout("pause", code=FAILED).stderr
    wait_seconds(10)
    assert fleet.wait_state("paused")["step"] == 2
    fleet.rollout("resume", "--detach")
    wait_seconds(4)
    assert fleet.document()["step"] == 2
    check_done(fleet)


def test_pause_in_the_time_of_a_drain_proves_nothing(fleet):
    fleet.lead("leader")
    fleet.rollout("start", fleet.wanted, "--detach")
    fleet.wait_state("running", step=2, reached=True)
    fleet.rollout("pause")
    fleet.rollout("resume", "--detach")
    fleet.wait_state("paused", step=2)


@pytest.mark.parametrize("state", ["before", "running", "paused", "stopped"])
def test_abort_takes_the_table_back(fleet, state):
    if state != "before":
        fleet.lead("leader")
        fleet.behind = {"lb3"}
    start(fleet)
    if state != "before":
        fleet.wait_state("running", step=1)
    if state == "paused":
        fleet.rollout("pause")
    if state == "stopped":
        fleet.gone = {"lb3"}
        fleet.wait_state("stopped")
        fleet.gone = set()
    fleet.behind = {}
    fleet.settle()
    first = fleet.document()["id"]
    done = fleet.rollout("abort", "--detach", *FAST)
    if state == "before":
        assert "is aborted" in done.stdout and fleet.wait_state("aborted") and writes(fleet) == 1
        return
    document = fleet.wait_state("running")
    assert document["takes_back"] == first
    assert f"already takes {first} back" in fleet.rollout("abort", code=FAILED).stderr
    fleet.wait_state("done")
    assert fleet.kv("table")[0] == fleet.plan[0]
    assert json.loads(fleet.kv(f"history/{first}")[0])["state"] == "aborted"
    assert "no roll-out is active" in fleet.rollout("abort", code=FAILED).stderr


@pytest.mark.parametrize("step", [1, 2])
def test_abort_after_a_director_refused_a_step(fleet, step):
    """The way back does not wait until that director uses the step."""
    fleet.lead("leader")
    if step == 1:
        fleet.refuses = {"lb3": "it removes too much"}
    start(fleet)
    if step == 2:
        fleet.wait_state("running", step=1, reached=True)
        fleet.refuses = {"lb3": "it removes too much"}
    fleet.wait_state("stopped", step=step)
    first = fleet.document()["id"]
    assert f"the way back begins with step {step - 1}" in fleet.rollout("abort", "--detach", *FAST).stderr
    fleet.refuses = {}
    document = fleet.wait_state("aborted" if step == 1 else "done")
    assert fleet.kv("table")[0] == fleet.plan[0]
    fleet.settle()
    assert fleet.steps()[: step + 2] == fleet.plan[: step + 1] + [fleet.plan[step - 1]]
    assert step == 1 or document["takes_back"] == first
    assert json.loads(fleet.kv(f"history/{first}")[0])["state"] == "aborted"


def test_command_that_follows_does_not_take_the_way_back_for_its_success(fleet):
    fleet.lead("leader")
    fleet.behind = {"lb3"}
    with subprocess.Popen([CLI, "rollout", "start", fleet.wanted, "--config", fleet.conf, *FAST], stderr=subprocess.PIPE, text=True,
                          stdout=subprocess.DEVNULL) as follows:
        fleet.wait_state("running", step=1)
        follows.send_signal(signal.SIGSTOP)  # it does not see that the roll-out pauses
        fleet.behind = {}
        fleet.rollout("abort", "--detach", *FAST)
        follows.send_signal(signal.SIGCONT)
        assert "has ended, and" in follows.communicate(timeout=60)[1] and follows.returncode == FAILED


def test_commands_without_a_roll_out(fleet):
    for action in ("pause", "resume", "abort"):
        assert f"{action}: there was no roll-out yet" in fleet.rollout(action, code=FAILED).stderr
    assert fleet.rollout("status").stdout == "there was no roll-out yet\n"
    assert fleet.rollout("status", "--json").stdout and fleet.rollout("history").stdout == ""
    assert "none of start, status" in fleet.rollout("frobnicate", code=USAGE).stderr


def test_roll_out_goes_on_when_the_terminal_closes(fleet):
    terminal, line = pty.openpty()
    follower = subprocess.Popen([CLI, "rollout", "start", fleet.wanted, *FAST, "--config", fleet.conf], stdin=line, stdout=line,
                                stderr=line, preexec_fn=lambda: (os.setsid(), __import__("fcntl").ioctl(0, 0x540E, 0)))
    os.close(line)
    fleet.wait_state("running")
    os.close(terminal)
    follower.wait(timeout=30)
    fleet.lead("leader")
    check_done(fleet)


def test_document_of_another_program(fleet):
    fleet.put("rollout", '{"id": "\x1b[31m"}')
    assert "this version cannot read" in fleet.rollout("status", code=FAILED).stderr
    assert "this version cannot read" in fleet.rollout("abort", code=FAILED).stderr
    fleet.lead("leader")
    assert f"delete {fleet.prefix}/rollout" in start(fleet, code=FAILED).stderr
    fleet.delete("rollout")
    start(fleet)
    check_done(fleet)


def test_role_that_may_only_read(tmp_path):
    """A role that reads the fleet but writes nothing: neither the command line nor a leader changes anything."""
    with Etcd(tmp_path / "etcd") as etcd, Fleet(etcd, tmp_path / "fleet", ["lb1"]) as fleet:
        fleet.current = write_tables(tmp_path / "fleet/current.json", table(backends=BACKENDS[:4]))
        fleet.wanted = write_tables(tmp_path / "fleet/wanted.json", table(backends=BACKENDS[1:]))
        fleet.put("table", fleet.current.read_text())
        fleet.settle()
        start(fleet)
        before = json.loads(fleet.rollout("status", "--json").stdout)["rollout"]
        fleet.ends.set()
        for path, request in (("auth/user/add", {"name": "root", "password": "x"}), ("auth/user/grant", {"user": "root", "role": "root"}),
                              ("auth/role/add", {"name": "reader"}), ("auth/user/add", {"name": "reader", "password": "secret"}),
                              ("auth/role/grant", {"name": "reader", "perm": {"permType": "READ", "key": b64(fleet.prefix),
                                                                              "range_end": b64(fleet.prefix + "0")}}),
                              ("auth/user/grant", {"user": "reader", "role": "reader"}), ("auth/enable", {})):
            fleet.call(f"/v3/{path}", request)
        password = tmp_path / "fleet/password"
        password.write_text("secret")
        password.chmod(0o600)
        fleet.write_conf(user="reader", password_file=password)
        assert json.loads(fleet.rollout("status", "--json").stdout)["rollout"] == before
        for action in ("pause", "abort"):
            assert "etcd does not let its user or certificate write the roll-out" in fleet.rollout(action, code=FAILED).stderr
        fleet.lead("leader")
        wait_until(lambda: "may not do that in etcd" in (tmp_path / "fleet/leader.log").read_text(), "a warning of the leader")
        assert json.loads(fleet.rollout("status", "--json").stdout)["rollout"] == before


def test_election_of_etcd_during_a_read(fleet):
    replies = ["etcdserver: leader changed", "etcdserver: no leader"]

    def pass_on(connection, request):
        if replies:
            return reply(connection, {"error": replies.pop(), "code": 14}, "503 Service Unavailable")
        return reply(connection, fleet.call("/v3/kv/range", request))

    with HostileEtcd(kv_range=pass_on) as voting:
        fleet.conf.write_text(fleet.conf.read_text().replace(fleet.etcd.endpoints[0], voting.url))
        assert "leader changed" in run("fleet", "--config", fleet.conf, code=FAILED).stderr and not replies
        replies.append("etcdserver: leader changed")
        assert "3 directors" in run("fleet", "--config", fleet.conf).stdout


def test_etcd_that_does_not_reply(fleet):
    text = fleet.conf.read_text()
    fleet.conf.write_text(text.replace(fleet.etcd.endpoints[0], "http://127.0.0.1:1"))
    assert "no endpoint of etcd replied" in start(fleet, code=FAILED).stderr
    assert "no endpoint of etcd replied" in run("fleet", "--config", fleet.conf, code=FAILED).stderr
