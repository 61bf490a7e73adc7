# SPDX-License-Identifier: BSD-3-Clause
"""glb-fleet with a real etcd: tables that are good, bad, hostile or gone, and everything that fails between etcd and the director."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from agent import PREFIX, build, table
from etcd import Etcd, encode
from hostile_etcd import HostileEtcd

from lab.tools import wait_until
from support.tree import CLI


def test_table_is_written_built_loaded_and_reported(agent):
    revision = agent.put(table(1, 2, 3))
    with agent:
        record = agent.wait_used(revision)
        assert agent.table.read_text() == table(1, 2, 3)
        shown = json.loads(agent.show())
        assert record["table"] == {"revision": revision, **{key: shown[key] for key in ("fingerprint", "digest", "first_hops")}}
        assert (record["seen"], record["refused"], record["healthy"], record["reasons"], record["name"]) == (revision, None, True, [], "d1")
        later = agent.put(table(1, 2, 3, 4))
        assert agent.wait_used(later)["table"]["digest"] != shown["digest"]
        assert agent.table.read_text() == table(1, 2, 3, 4)
        metrics = agent.metrics()
        assert (metrics["glb_fleet_connected"], metrics["glb_fleet_revision_used"], metrics["glb_fleet_published"]) == (1, later, 1)
        assert "revision" in agent.call("status").stdout
        assert agent.stop() == 0
    assert agent.record() is None  # it has ended its lease
    agent.call("status", code=1)


def test_change_of_a_state_only_is_another_revision(agent):
    """The fingerprint does not depend on states, so it does not tell these tables apart."""
    agent.put(table(1, 2, 3))
    with agent:
        drained = {"ip": "192.0.2.3", "state": "draining"}
        agent.wait_used(agent.put(table(1, 2, drained)))


@pytest.mark.parametrize("value, reason", [
    (b"\xff\xfe", ""),
    ("", "expected near end of file"),
    ("not JSON", "line 1, column 3: '[' or '{' expected"),
    ("[1, 2]", ""),
    ("{}", "tables"),
    ('{"tables": [], "tables": []}', "duplicate"),
    ('{"tables": {"x": 1}}', "tables"),
    (json.dumps({"tables": [{"name": "web"}]}), "hash_key"),
    ("[" * 100000, ""),
    (b'{"tables": [' + b" " * (1 << 20) + b"]}", "replaces"),
    ('{"kind": "Deployment", "spec": {"replicas": 3}}', "tables"),
    ('{"tables": []}', "replaces"),  # it would empty the service
    (table(7, 8, 9), "replaces"),
], ids=range(13))
def test_hostile_or_dangerous_value_changes_nothing(agent, value, reason):
    good = agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(good)
        before = agent.table.stat(), (agent.folder / "table.bin").stat()
        bad = agent.put(value)
        record = agent.wait_refused(bad, reason)
        assert record["table"]["revision"] == good and record["healthy"]
        assert (agent.table.stat(), (agent.folder / "table.bin").stat()) == before
        assert f"revision {bad} of the table is refused, the last good one stays in use" in agent.log
        agent.call("status", code=1)
        assert agent.metrics()["glb_fleet_table_refused"] == 1
        agent.wait_used(agent.put(table(1, 2, 3, 4)))
        assert agent.record()["refused"] is None


def test_loss_that_is_confirmed_by_replaces(agent):
    agent.put(table(1, 2, 3))
    with agent:
        record = agent.wait_used(agent.etcd_table_revision())
        agent.wait_used(agent.put(table(7, 8, 9, replaces=record["table"]["fingerprint"])))


def test_deleted_key_keeps_the_table(agent):
    good = agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(good)
        agent.delete()
        record = agent.wait_record(lambda record: record["reasons"])
        assert "does not exist in etcd" in record["reasons"][0] and record["table"]["revision"] == good
        assert agent.table.read_text() == table(1, 2, 3) and agent.metrics()["glb_fleet_table_missing"] == 1
        agent.wait_used(agent.put(table(1, 2, 3, 4)))


def test_no_table_yet(agent):
    with agent:
        agent.wait_record(lambda record: "does not exist in etcd" in " ".join(record["reasons"]))
        assert not agent.table.exists()


def test_disk_full(agent):
    """The old table stays, and the new one is written as soon as there is room."""
    agent.put(table(1, 2, 3))
    disk = agent.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        agent.configure(table=str(disk / "table.json"))
        with agent:
            agent.wait_used(agent.etcd_table_revision())
            (disk / "filler").write_bytes(bytes(56 << 10))
            revision = agent.put(table(1, 2, 3, _comment="x" * 20000))
            agent.wait_log(f"revision {revision} of the table is not in use (1 in a row), next attempt in 1 s")
            record = agent.wait_record(lambda record: record["reasons"])
            assert "No space left" in record["reasons"][0] and record["table"]["revision"] < revision
            assert (disk / "table.json").read_text() == table(1, 2, 3)
            (disk / "filler").unlink()
            assert agent.wait_used(revision)["reasons"] == []
    finally:
        agent.__exit__()
        subprocess.run(["umount", disk], check=True)


def test_director_that_refuses_keeps_its_table_and_its_files(agent):
    good = agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(good)
        files = [agent.table, agent.folder / "table.bin"]
        before = [path.read_bytes() for path in files]
        agent.answer(refuse="VIP 203.0.113.10 has traffic")
        bad = agent.put(table(1, 2, 3, 4))
        record = agent.wait_refused(bad, "the director refuses it and keeps the table with digest")
        assert "has traffic" in record["refused"]["reason"] and record["table"]["revision"] == good
        assert [path.read_bytes() for path in files] == before  # its next start finds them
        agent.answer()
        agent.process.send_signal(signal.SIGHUP)  # try again
        agent.wait_used(bad)


def test_director_that_is_slow_after_a_refusal_does_not_refuse(agent):
    """Its last error is still that of the table before."""
    agent.configure(reload_timeout_ms=2000)
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        agent.answer(refuse="no memory")
        agent.wait_refused(agent.put(table(1, 2, 3, 4)), "no memory")
        agent.answer(hold=True)
        good = agent.put(table(1, 2, 3, 5))
        agent.wait_log(f"revision {good} of the table is not in use (2 in a row)")
        assert agent.record()["refused"] is None and agent.table.read_text() == table(1, 2, 3, 5)
        agent.answer()
        agent.wait_used(good)


def test_links_to_files_that_do_not_exist_yet_stay_after_a_refusal(agent):
    links, target = [agent.table, agent.folder / "table.bin"], agent.folder / "target"
    target.mkdir()
    for link in links:
        link.symlink_to(target / link.name)
    agent.answer(refuse="no memory")
    with agent:
        agent.wait_refused(agent.put(table(1, 2, 3)), "the files are as before")
        assert [link.is_symlink() for link in links] == [True, True] and not [*target.iterdir()]


def test_dead_director_gets_the_table_when_it_starts(agent):
    agent.put(table(1, 2, 3))
    agent.start()
    agent.wait_log("next attempt in 1 s")
    record = agent.wait_record(lambda record: len(record["reasons"]) == 2)
    assert not record["healthy"] and record["table"]["revision"] == 0
    agent.start_director()
    record = agent.wait_used(agent.etcd_table_revision())
    agent.wait_record(lambda record: record["healthy"] and not record["reasons"])
    agent.director.kill()
    agent.director.wait()
    agent.wait_record(lambda record: not record["healthy"] and record["table"]["revision"] == 0)


def test_silent_director_does_not_hold_up_the_lease(agent):
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        agent.answer(silent=True)
        record = agent.wait_record(lambda record: not record["healthy"])
        assert "does not tell" in record["reasons"][0]
        wait_until(lambda: agent.metrics()["glb_fleet_director_answers"] == 0, "the metric")
        agent.answer(health={"state": "degraded", "reasons": {"0": {"severity": "degraded", "object": "port 0", "text": "no link"}}})
        record = agent.wait_record(lambda record: "no link" in " ".join(record["reasons"]))
        assert not record["healthy"] and record["table"]["revision"]


def test_busy_director_that_misses_one_look(agent):
    """One look takes 2 s until it fails."""
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        before = agent.record()
        agent.answer(silent="once")
        wait_until(lambda: not (agent.folder / "answers.json").exists(), "a look")
        records = []
        for _ in range(30):
            time.sleep(0.1)
            records.append(agent.record())
        assert records == [before] * 30


def test_counters_in_reasons_do_not_fill_the_history_of_etcd(agent):
    """A change of reasons alone is published every 10 s at most. One of the health, or of the table, is not held up."""
    def answer(state, text):
        agent.answer(health={"state": state, "reasons": {"0": {"severity": state, "object": "port 0", "text": text}}})

    def writes():
        return int(agent.etcd.ask("/v3/kv/range", {"key": encode(f"{PREFIX}/directors/d1")})["kvs"][0]["version"])

    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        answer("degraded", "no link")
        agent.wait_record(lambda record: not record["healthy"])
        before, start = writes(), time.monotonic()
        for i in range(60):
            answer("degraded", f"{i} packets were lost")
            time.sleep(0.15)
        assert writes() - before <= (time.monotonic() - start) / 10 + 1
        agent.wait_record(lambda record: "59 packets were lost" in " ".join(record["reasons"]))
        before = writes()
        answer("degraded", "text")
        answer("ok", "other text")
        assert "other text" in agent.wait_record(lambda record: record["healthy"])["reasons"][0]
        agent.wait_used(agent.put(table(1, 2, 3, 4)))


def named(**more):
    return table(1, 2, 3, keys={"keys": "web", **more})


@pytest.mark.parametrize("prepare, reason", [
    (lambda path: path.chmod(0o640), "has mode 0640"),
    (lambda path: path.unlink(), "No such file"),
    (lambda path: path.write_text("{}"), "32 hex digits"),
    (lambda path: path.write_text(json.dumps({"hash_key": "0" * 32, "seed": "1" * 32})), "give all directors the same file"),
])
def test_keys_that_do_not_go_through_etcd(agent, prepare, reason):
    keys = agent.folder / "keys"
    keys.mkdir()
    (keys / "web").write_text(json.dumps({"hash_key": "ab" * 16, "seed": "cd" * 16}))
    (keys / "web").chmod(0o600)
    members = json.loads("{" + agent.call("keys", "web").stdout + "}")
    good = agent.put(named(**members))
    assert "abab" not in agent.etcd.get(f"{PREFIX}/table")
    with agent:
        agent.wait_used(good)
        written = json.loads(agent.table.read_text())["tables"][0]
        assert written["hash_key"] == "ab" * 16 and written["seed"] == "cd" * 16 and "keys" not in written
        prepare(keys / "web")
        bad = agent.put(named(**members, _comment="2"))
        agent.wait_refused(bad, reason)
        assert agent.record()["table"]["revision"] == good
        (keys / "web").unlink(missing_ok=True)
        for name in ("../keys/web", "", ".", "x" * 100, "a/b"):
            agent.wait_refused(agent.put(named(**{**members, "keys": name})), "is not a name of keys")


def test_etcd_is_gone_for_long_and_comes_back(make_agent, tmp_path):
    """Nothing changes, and the status, the metric and the log say so."""
    with Etcd(tmp_path / "own") as etcd:
        agent = make_agent(cluster=etcd)
        agent.put(table(1, 2, 3))
        with agent:
            agent.wait_used(agent.etcd_table_revision())
            started = agent.record()["started"]
            etcd.members[0].kill()
            agent.wait_status(lambda status: not status["etcd"]["connected"])
            agent.wait_log("etcd does not reply, the table stays in use")
            wait_until(lambda: agent.metrics()["glb_fleet_unconnected_seconds"] > 1, "the metric")
            assert agent.table.read_text() == table(1, 2, 3) and agent.process.poll() is None
            agent.call("status", code=1)
            etcd.members[0].start(new=False)
            etcd.wait_ready()
            agent.wait_log("etcd replies")
            assert agent.wait_used(agent.put(table(1, 2, 3, 4)))["started"] == started


def test_agent_starts_without_etcd_and_keeps_the_table(agent):
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        agent.stop()
        agent.configure(etcd={"endpoints": ["http://127.0.0.1:9"], "timeout_ms": 500})
        agent.start()
        status = agent.wait_status(lambda status: status["etcd"]["error"] and status["director"]["table"]["digest"])
        assert "127.0.0.1:9" in status["etcd"]["error"] and agent.table.read_text() == table(1, 2, 3)


def test_etcd_restored_from_an_older_backup(make_agent, tmp_path):
    backup = tmp_path / "backup.db"
    with Etcd(tmp_path / "old") as etcd:
        agent = make_agent(cluster=etcd)
        agent.put(table(1, 2))
        environment = {**os.environ, "ETCDCTL_API": "3"}
        subprocess.run(["etcdctl", "--endpoints", etcd.endpoints[0], "snapshot", "save", backup], check=True, capture_output=True, env=environment)
        with agent:
            newest = agent.put(table(1, 2, 3))
            agent.wait_used(newest)
            agent.stop()
            member = etcd.members[0]
            member.kill()
            subprocess.run(["etcdctl", "snapshot", "restore", backup, "--name", member.name, "--data-dir", tmp_path / "restored",
                            "--initial-cluster", etcd.initial, "--initial-advertise-peer-urls", member.peer], check=True, capture_output=True,
                           env=environment)
            member.folder = tmp_path / "restored"
            member.start(new=False)
            etcd.wait_ready()
            agent.start()
            agent.wait_log("glb-fleet accept")
            status = agent.wait_status(lambda status: status["unconfirmed"])
            assert status["director"]["refused"]["reason"] and agent.table.read_text() == table(1, 2, 3)
            assert agent.metrics()["glb_fleet_table_unconfirmed"] == 1
            agent.call("accept")
            wait_until(lambda: agent.table.read_text() == table(1, 2), lambda: agent.log)
            agent.wait_status(lambda status: not status["unconfirmed"] and status["director"]["refused"] is None)
            agent.call("accept", code=1)


def test_two_agents_with_one_name(make_agent, folder):
    one = make_agent()
    one.put(table(1, 2, 3))
    with one:
        one.wait_used(one.etcd_table_revision())
        record = one.record()
        two = make_agent("other")
        two.name = "d1"
        two.configure()
        with two:
            two.wait_log("another glb-fleet has the name d1")
            two.wait_status(lambda status: "another glb-fleet has the name d1" in status["conflict"])
            wait_until(lambda: two.table.exists(), "the table, which it uses nevertheless")
            two.call("status", code=1)
            assert one.record()["instance"] == record["instance"] and "another glb-fleet" not in one.log
            one.stop()
            two.wait_record(lambda record: record["instance"] != one.status()["director"]["instance"])
            two.wait_log("no other glb-fleet has the name d1 any more")


def test_agent_killed_between_write_and_reload(agent):
    good = agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(good)
        agent.answer(silent=True)  # the child process waits for the director
        newer = agent.put(table(1, 2, 3, 4))
        wait_until(lambda: agent.table.read_text() == table(1, 2, 3, 4), lambda: agent.log)
        agent.kill_with_children()
        agent.answer()
        agent.start()
        agent.wait_used(newer)
        assert not (agent.folder / "table.json.before").exists()


def test_director_that_loads_the_table_after_the_reload_failed(agent):
    """Its new table has the new revision at once, although the agent tries again later."""
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        agent.path("director.pid", Path).unlink()
        newer = agent.put(table(1, 2, 3, 4))
        agent.wait_log(f"revision {newer} of the table is not in use (1 in a row)")
        agent.director.send_signal(signal.SIGHUP)
        record = agent.wait_used(newer)
        assert "director.pid: No such file" in " ".join(record["reasons"]) and record["refused"] is None
        assert record["table"]["digest"] == json.loads(agent.show())["digest"]


def test_wall_clock_steps(agent):
    """Only texts have wall-clock times."""
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        agent.stop()
        # A record of the future, as the agent of a host has written it whose clock was set back since.
        agent.put(json.dumps({**agent.status()["director"], "started": "2999-01-01T00:00:00Z"}), f"directors/{agent.name}")
        agent.start()
        agent.wait_log("another glb-fleet has the name")
        agent.delete(f"directors/{agent.name}")
        agent.wait_used(agent.etcd_table_revision())
        assert agent.record()["started"] < "2999"


def test_many_agents(make_agent):
    """Light ones: without a director. All have the new table soon."""
    agents = [make_agent(f"n{i}", build=None, binary=None, notify=None, look_ms=60000, listen="none") for i in range(20)]
    agents[0].put(table(1, 2, 3))
    for each in agents:
        each.start()
    for each in agents:
        wait_until(lambda each=each: each.record(), lambda each=each: each.log)
    agents[0].put(table(1, 2, 3, 4))
    for each in agents:
        wait_until(lambda each=each: each.table.exists() and each.table.read_text() == table(1, 2, 3, 4), lambda each=each: each.log)


def test_agents_begin_with_different_members_of_etcd(make_agent):
    """All have the same list. The name says with which one, so the load does not go to the first one of the list."""
    with HostileEtcd() as one, HostileEtcd() as two, HostileEtcd() as three:
        urls = [one.url, two.url, three.url]
        agents = [make_agent(f"n{i}", SimpleNamespace(endpoints=urls), build=None, notify=None, listen="none").start() for i in range(16)]
        used = [each.wait_status(lambda status: status["etcd"]["connected"])["etcd"]["endpoint"] for each in agents]
        assert set(used) == {*urls}
        agents[0].stop()
        assert agents[0].start().wait_status(lambda status: status["etcd"]["connected"])["etcd"]["endpoint"] == used[0]


def test_status_and_json(agent):
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        agent.wait_status(lambda status: status["director"]["table"]["revision"])
        status = json.loads(agent.call("status", "--json").stdout)
        assert status["etcd"]["connected"] and status["director"]["name"] == "d1"
        agent.call("accept", code=1)
        agent.call("check")


def test_value_of_10_megabytes(make_agent, tmp_path):
    """etcd takes it only if its limit was raised. It is refused, and the agent stays small."""
    with Etcd(tmp_path / "own", options=["--max-request-bytes", str(32 << 20)]) as etcd:
        agent = make_agent(cluster=etcd)
        good = agent.put(table(1, 2, 3))
        with agent:
            agent.wait_used(good)
            bad = agent.put("x" * (10 << 20))
            agent.wait_refused(bad, "")
            large = agent.put(table(1, 2, 3, 4, _comment="x" * (5 << 20)))  # ours, and within the limit
            agent.wait_used(large)
            agent.wait_used(agent.put(table(1, 2, 3)))
            status = Path(f"/proc/{agent.process.pid}/status").read_text()
            assert int(re.search(r"VmRSS:\s+(\d+)", status)[1]) < 64 << 10, status


def test_table_that_cannot_be_read(make_agent, tmp_path):
    """The reply is larger than 32 MB. Status, log and record name the key, and etcd counts as connected."""
    with Etcd(tmp_path / "own", options=["--max-request-bytes", str(64 << 20)]) as etcd:
        agent = make_agent(cluster=etcd)
        agent.configure(etcd={"endpoints": etcd.endpoints, "timeout_ms": 5000})
        good = agent.put(table(1, 2, 3))
        with agent:
            agent.wait_used(good)
            agent.put("x" * (25 << 20))
            text = f"etcd has more than 32 MB in the key {PREFIX}/table, which is not read: delete or replace what is too large there"
            record = agent.wait_record(lambda record: record["reasons"] == [text])
            assert record["table"]["revision"] == good and record["healthy"]
            status = agent.wait_status(lambda status: text in status["summary"])
            assert status["etcd"]["connected"] and text in " ".join(agent.call("status").stdout.split())
            agent.wait_log(f"{text}; the table in use stays in use")
            assert agent.wait_used(agent.put(table(1, 2, 3, 4)))["reasons"] == []
            # A busy machine may take longer for 25 MB than the largest timeout_ms.
            assert all("timed out after" in line for line in agent.log.splitlines() if "etcd does not reply" in line)


def test_glb_healthcheck_builds_the_binary_table(make_agent):
    """Health changes the digest. A table with other states has the same fingerprint. Neither confuses the agent."""
    agent = make_agent(build=None, binary=str(make_agent("d1").folder / "table.bin"))
    drained = table(1, 2, {"ip": "192.0.2.3", "state": "draining"})
    first = agent.put(table(1, 2, 3))
    with agent:
        wait_until(agent.table.exists, "the table")
        build(agent.folder, table(1, 2, 3), agent.folder / "table.bin")
        agent.director.send_signal(signal.SIGHUP)
        record = agent.wait_used(first)
        second = agent.put(drained)
        agent.wait_record(lambda record: record["seen"] == second and record["table"]["revision"] == 0)
        build(agent.folder, drained, agent.folder / "table.bin")
        agent.director.send_signal(signal.SIGHUP)
        later = agent.wait_used(second)
        assert later["table"]["fingerprint"] == record["table"]["fingerprint"] and later["table"]["digest"] != record["table"]["digest"]


def past(*backends, time="2026-01-01T00:00:00Z", **more):
    return {"time": time, "backends": [{"ip": f"192.0.2.{i}"} for i in backends], **more}


def test_step_that_adds_a_previous_state_only(make_agent):
    """The director uses it when glb-healthcheck has built it, not before. States that glb-healthcheck adds do not matter."""
    agent = make_agent(build=None, binary=str(make_agent("d1").folder / "table.bin"))
    first = agent.put(table(1, 2, 3))
    with agent:
        wait_until(agent.table.exists, "the table")

        def use(text):
            build(agent.folder, text, agent.folder / "table.bin")
            agent.director.send_signal(signal.SIGHUP)

        use(table(1, 2, 3))
        agent.wait_used(first)
        second = agent.put(table(1, 2, 3, previous=[past(1, 2)]))
        agent.wait_record(lambda record: record["seen"] == second and record["table"]["revision"] == 0)
        use(table(1, 2, 3, previous=[past(2, 3, by_health=True), past(2, 1)]))
        agent.wait_used(second)
        third = agent.put(table(1, 2, 3, previous=[past(1, 3), past(1, 2)]))
        agent.wait_record(lambda record: record["seen"] == third and record["table"]["revision"] == 0)
        use(table(1, 2, 3, previous=[past(1, 3), past(1, 2)]))
        agent.wait_used(third)
        # glb-healthcheck leaves out a state that repeats the present one: proxy 1 is down, see build()
        fourth = agent.put(table(1, 2, 3, previous=[past(2, 3), past(1, 3), past(1, 2)]))
        agent.wait_used(fourth)


def test_damaged_file_is_mended_at_the_next_start(make_agent):
    """The first look finds a damaged table. Writing it again does not change the binary table, but what the agent knows."""
    agent = make_agent(build=None, binary=str(make_agent("d1").folder / "table.bin"))
    revision = agent.put(table(1, 2, 3))
    build(agent.folder, table(1, 2, 3), agent.folder / "table.bin")
    with agent:
        agent.wait_used(revision)
        agent.stop()
        agent.table.write_text("{")
        agent.start()
        agent.wait_used(revision)
        assert agent.table.read_text() == table(1, 2, 3)


def test_unit_that_tells_in_its_status_line(make_agent):
    """An agent without the right to ask the director reads the status line of its unit."""
    agent = make_agent(notify="glb-director.service", file_prefix="other")
    tools = agent.folder / "tools"
    tools.mkdir()
    (tools / "systemctl").write_text(f"""#!/bin/sh
case $1 in
	reload) exit 0 ;;
	show) echo "degraded: port 0 (eth0): the link is down; 1 table, generation 2, digest $({CLI} show --json {agent.folder}/table.bin |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["digest"])')" ;;
esac
""")
    (tools / "systemctl").chmod(0o755)
    agent.environment["PATH"] = f"{tools}:{os.environ['PATH']}"
    revision = agent.put(table(1, 2, 3))
    agent.start()
    record = agent.wait_used(revision)
    shown = json.loads(agent.show())
    assert record["table"] == {"revision": revision, **{key: shown[key] for key in ("fingerprint", "digest", "first_hops")}}
    assert not record["healthy"] and record["reasons"] == ["port 0 (eth0): the link is down"]


SYSTEMCTL = """#!/bin/sh
case "$*" in
reload*) . {folder}/reload ;;
*ExecReload*) cat {folder}/changed ;;
*) echo "ok; 1 table, generation 1, digest $(cat {folder}/used)" ;;
esac
"""


STATUS = "{{{{ path=/usr/bin/glb-director-cli ; pid=2 ; code=exited ; status={} }}}}"


@pytest.mark.parametrize("reload, refused", [
    ("echo 'Failed to reload glb-director.service: Access denied' >&2; exit 4", False),
    ("echo 'Failed to reload glb-director.service: Interactive authentication required.' >&2; exit 1", False),
    ("exit 0", False),  # the director reads another file
    (f"echo '{STATUS.format(1)}' > {{folder}}/changed; exit 1", False),  # no reply before the timeout
    (f"echo '{STATUS.format(3)}' > {{folder}}/changed; echo 'Job for glb-director.service failed.' >&2; exit 1", True),
], ids=["denied", "not authorized", "another file", "slow", "refused"])
def test_reload_of_the_unit_that_is_denied_or_refused(make_agent, reload, refused):
    """The table is good if this host may not reload the director. It is tried again, until the operator has given the right."""
    agent = make_agent(notify="glb-director.service", file_prefix="other")
    (agent.folder / "tools").mkdir()
    (agent.folder / "tools/systemctl").write_text(SYSTEMCTL.format(folder=agent.folder))
    (agent.folder / "tools/systemctl").chmod(0o755)
    agent.environment["PATH"] = f"{agent.folder}/tools:{os.environ['PATH']}"
    for name, text in (("reload", reload.format(folder=agent.folder)), ("changed", STATUS.format(3)), ("used", "0123456789abcdef")):
        (agent.folder / name).write_text(text)
    revision = agent.put(table(1, 2, 3))
    agent.start()
    if refused:
        agent.wait_refused(revision, "the director refuses it and keeps the table with digest 0123456789abcdef")
        assert not agent.table.exists()
        return
    agent.wait_log("is not in use (2 in a row)")
    record = agent.wait_record(lambda record: "the director does not use the table yet" in " ".join(record["reasons"]))
    assert record["refused"] is None and record["table"]["revision"] == 0 and agent.table.read_text() == table(1, 2, 3)
    (agent.folder / "used").write_text(json.loads(agent.show())["digest"])
    agent.wait_record(lambda record: record["table"]["revision"] == revision and not record["reasons"])


def test_process_that_may_not_be_notified(agent):
    """The pid file names a process that would end by SIGHUP."""
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        other = subprocess.Popen(["sleep", "600"])
        try:
            agent.path("director.pid", Path).write_text(f"{other.pid}\n")
            revision = agent.put(table(1, 2, 3, 4))
            agent.wait_log("gets no SIGHUP")
            assert agent.wait_record(lambda record: record["seen"] == revision and record["reasons"])["refused"] is None
        finally:
            other.kill()
            other.wait()
        agent.path("director.pid", Path).write_text(f"{agent.director.pid}\n")
        agent.wait_record(lambda record: record["table"]["revision"] == revision and not record["reasons"])


def test_configuration(agent, etcd):
    for key, value, text in (("prefix", "/glb/a b", "is not a prefix"), ("prefix", "glb", "is not a prefix"), ("prefix", "/glb/", "is not a prefix"),
                             ("name", "a/b", "is not a name"), ("table", "x.json", "is not a full path"), ("listen", "here", "neither"),
                             ("binary", "/x.bin", "is not the file that `build` names"), ("table", str(agent.folder / "table.bin"), "same file")):
        agent.configure(**{key: value})
        assert text in agent.call("check", code=1).stderr
    agent.configure(etcd={"endpoints": ["http://192.0.2.1:2379"]})
    assert "is not encrypted" in agent.call("check").stderr
    agent.configure()
    assert agent.call("check").stderr == ""


def test_user_who_may_only_read(make_agent, tmp_path):
    """The table is used, and the log says why the record is missing."""
    with Etcd(tmp_path / "own") as etcd:
        etcd.enable_authentication()
        etcd.ask("/v3/auth/role/grant", {"name": "reader", "perm": {"permType": "READ", "key": encode(f"{PREFIX}/"), "range_end": encode(f"{PREFIX}0")}})
        password = tmp_path / "password"
        password.write_text("reader\n")
        password.chmod(0o600)
        agent = make_agent(cluster=etcd)
        agent.configure(etcd={"endpoints": etcd.endpoints, "user": "reader", "password_file": str(password)})
        agent.put(table(1, 2, 3))
        with agent:
            wait_until(agent.table.exists, lambda: agent.log)
            agent.wait_log("/directors/d1 is not published: ")
            agent.put(table(1, 2, 3, 4))
            wait_until(lambda: agent.table.read_text() == table(1, 2, 3, 4), lambda: agent.log)
            assert agent.metrics()["glb_fleet_published"] == 0 and agent.record() is None
