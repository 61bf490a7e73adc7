# SPDX-License-Identifier: BSD-3-Clause
"""doctor --fleet reads etcd: each fault of a fleet has exactly its finding, and no value in etcd is more than text."""

import json
import socket
import subprocess

import pytest
from etcd import encode
from hostile_etcd import HostileEtcd, reply
from rollouts import BACKENDS, Fleet

from support.cli import CLI, USAGE, run, table, write_tables
from support.outputs import check_output
from support.ports import closed_port

LEVELS = ["ok", "warn", "fail"]
NAMES = ("d1", "d2", "d3")
OTHER = "0000000000000001"
HOSTILE = ("\x1b[31mred\x1b]0;owned\x07", "a\rb\nc", "{0}{1}{9}%s%n", "<script>", "\u202e\u009b31m", "x" * 5000)


class Records(Fleet):
    """A fleet whose directors are records that a test writes. All use the table in etcd."""

    def __init__(self, etcd, folder):
        super().__init__(etcd, folder, NAMES)
        self.table = write_tables(folder / "current.json", table(backends=BACKENDS[:4])).read_text()
        self.put_table(self.table)

    def put_table(self, value):
        """All directors use this value, whatever it is."""
        self.revision = int(self.call("/v3/kv/put", {"key": encode(f"{self.prefix}/table"), "value": encode(value)})["header"]["revision"])
        for name in NAMES:
            self.write(name)

    def write(self, name, used=None, key=None, **members):
        """used: members of `table` that differ."""
        made = {**self.record(name, self.revision, self.fingerprint(self.table)), **members}
        made["table"] |= used or {}
        self.put(f"directors/{key or name}", json.dumps(made))

    def plan(self, leader="d1", **members):
        """A roll-out that has begun, whose document has these members."""
        wanted = write_tables(self.folder / "wanted.json", table(backends=BACKENDS[1:]))
        self.rollout("start", wanted, "--detach")
        self.put("rollout", json.dumps(self.document() | members))
        if leader:
            self.put("leader", leader)

    def report(self, *words):
        done = subprocess.run([CLI, "doctor", "--fleet", "--config", self.conf, "--json", *words], capture_output=True, timeout=60, check=False)
        assert done.stderr == b"" and not set(done.stdout) & ({*range(32)} - {10})
        report = json.loads(done.stdout)
        check_output("doctor", report)
        assert (report["host"], done.returncode) == ("fleet", LEVELS.index(report["result"]))
        return [(each["level"], each["check"], each["object"].replace(self.prefix, "PREFIX"), each["text"]) for each in report["findings"]]

    def faults(self, *words):
        return [each for each in self.report(*words) if each[0] != "ok"]


@pytest.fixture
def records(etcd, tmp_path):
    return Records(etcd, tmp_path)


def test_a_healthy_fleet(records):
    records.plan(state="done")
    assert [(level, check, name) for level, check, name, _ in records.report()] == [
        ("ok", "etcd", "PREFIX"), ("ok", "table", "PREFIX/table"), ("ok", "records", ""), ("ok", "uses", ""), ("ok", "rollout", ""),
        *(("ok", "health", name) for name in NAMES), ("ok", "versions", ""), ("ok", "underlay", "")]
    text = run("doctor", "--fleet", "--config", records.conf).stdout
    assert "etcd: " in text and text.endswith("\nfleet: 0 failures, 0 warnings\n")


FAULTS = {
    "no table": (lambda fleet: fleet.delete("table"), "fail", "table", "PREFIX/table", "does not exist, so a new director gets no table"),
    "the table is not text": (lambda fleet: fleet.put_table(b"\xff\x00"), "fail", "table", "PREFIX/table", "is not text, or has more than 8 MiB"),
    "the table is not JSON": (lambda fleet: fleet.put_table('{"tables": ['), "fail", "table", "PREFIX/table", "line 1, column"),
    "a table with an error": (
        lambda fleet: fleet.put_table(fleet.table.replace('"active"', '"none"', 1)), "fail", "table", "PREFIX/table", "tables[0].backends[0]"),
    "keys that this host does not have": (lambda fleet: fleet.put_table('{"tables": [{"keys": "none", "keys_id": "0"}]}'), "fail", "table", "PREFIX/table", "/etc/glb/keys/none"),
    "no record": (lambda fleet: fleet.put("directors/d4", "{"), "warn", "records", "d4", "is no record, so every roll-out stops"),
    "the record of another director": (lambda fleet: fleet.write("d3", key="d4"), "warn", "records", "d4", "it has the name of another director"),
    "a name that is none": (lambda fleet: fleet.write("d3", key="a b"), "warn", "records", "a b", "its name has characters other than"),
    "a director that was there": (
        lambda fleet: (fleet.plan(state="done"), fleet.delete("directors/d2")), "warn", "records", "d2", "so its glb-fleet does not run or does not reach etcd"),
    "an older table": (
        lambda fleet: fleet.write("d2", {"revision": 7}, changed="2026-01-02T03:04:05Z"), "fail", "uses", "d2", "and no roll-out runs; its record has not changed since 2026-01-02T03:04:05Z"),
    "a table that is not from etcd": (
        lambda fleet: fleet.write("d2", {"revision": 0}), "fail", "uses", "d2", "uses a table that is not from etcd, which has revision"),
    "other first hops": (
        lambda fleet: fleet.write("d2", {"first_hops": OTHER}), "fail", "uses", "d2", f"the digest of its first hops is {OTHER}, and that of 2 of 3 directors"),
    "it refuses the table": (
        lambda fleet: fleet.write("d2", {"revision": 7}, refused={"revision": fleet.revision, "reason": "no memory"}),
        "fail", "uses", "d2", "no memory: correct the table, or mend the director"),
    "another version": (lambda fleet: fleet.write("d2", version="0.9"), "warn", "versions", "d2", "its glb-fleet is version 0.9, and that of 2 of 3 hosts 1"),
    "unhealthy": (
        lambda fleet: fleet.write("d2", healthy=False, reasons=["failing: port 0: no link"]), "fail", "health", "d2", "it is not healthy, so it may not forward: failing: port 0"),
    "degraded": (
        lambda fleet: fleet.write("d2", healthy=False, reasons=["degraded: web: no next hop"]), "warn", "health", "d2", "it is not healthy: degraded: web: no next hop"),
    "it does not tell its table": (
        lambda fleet: fleet.write("d2", {"revision": 0, "fingerprint": "", "first_hops": ""}, healthy=False, reasons=["it is down"]), "fail", "health", "d2", "it is down"),
    "a roll-out that stopped": (
        lambda fleet: fleet.plan(state="stopped", reason="lb9 vanished"), "fail", "rollout", "ID", "is stopped in step 0 of 3: lb9 vanished: mend that and run"),
    "a roll-out that is paused": (lambda fleet: (fleet.plan(), fleet.rollout("pause")), "warn", "rollout", "ID", "is paused in step 0 of 3: "),
    "nobody leads": (lambda fleet: fleet.plan(leader=None), "warn", "rollout", "ID", "runs, but no glb-fleet leads it: if this stays so for 20 s"),
    "a roll-out of another version": (lambda fleet: fleet.put("rollout", '{"id": 1}'), "warn", "rollout", "PREFIX/rollout", "this version cannot read the roll-out"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_exactly_its_finding(records, name):
    plant, level, check, place, text = FAULTS[name]
    plant(records)
    ((found_level, found_check, found_object, found_text),) = records.faults()
    assert (found_level, found_check, found_object) == (level, check, records.document()["id"] if place == "ID" else place)
    assert text in found_text


def test_a_director_may_be_behind_while_a_roll_out_runs_or_goes_on_without_it(records):
    records.plan(without=["d3"])
    records.write("d2", {"revision": 7})
    records.delete("directors/d3")
    assert records.faults() == []
    records.write("d3", {"revision": 7}, refused={"revision": records.revision, "reason": "no"})
    assert records.faults() == []
    records.rollout("pause")
    assert [each[:3] for each in records.faults()] == [("fail", "uses", "d2"), ("warn", "rollout", records.document()["id"])]


@pytest.mark.parametrize("value", HOSTILE)
def test_values_in_etcd_are_only_text(records, value):
    """Neither JSON nor a terminal gets a control character, whoever wrote the value."""
    records.plan(reason=value, state="stopped")
    records.put("leader", value)
    records.write("d1", {"revision": 7}, refused={"revision": records.revision, "reason": value})
    records.write("d2", {"revision": 7}, version=value, changed=value, healthy=False, reasons=[value])
    records.write("d3", key=value[:100])
    records.put("directors/d4", value)
    found = records.faults()
    assert {check for _, check, *_ in found} == {"records", "uses", "rollout", "health", "versions"}
    done = subprocess.run([CLI, "doctor", "--fleet", "--config", records.conf], capture_output=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr == b"" and not set(done.stdout) & ({*range(32), 127} - {10})
    done.stdout.decode()


def test_more_directors_than_a_fleet_has(records, etcd):
    """2048 directors are looked at, and one more is said."""
    keys = [f"{records.prefix}/directors/e{i:04}" for i in range(2046)]
    record = records.record("x", records.revision, records.fingerprint(records.table))
    for first in range(0, len(keys), 100):
        etcd.ask("/v3/kv/txn", {"success": [{"requestPut": {"key": encode(key), "value": encode(json.dumps(record | {"name": key.rsplit("/", 1)[1]}))}}
                                            for key in keys[first:first + 100]]})
    ((level, check, place, text),) = records.faults()
    assert (level, check, place) == ("warn", "etcd", "PREFIX/directors/") and "there are more than 2048 keys, so every roll-out stops" in text
    records.delete("directors/d1")
    assert "2048 directors" in run("doctor", "--fleet", "--config", records.conf).stdout


def test_a_key_that_is_not_text(records, etcd):
    """No agent sees it, so it is no finding, and no command trips over it."""
    etcd.ask("/v3/kv/put", {"key": encode(records.prefix.encode() + b"/directors/\xff\x00"), "value": encode("{}")})
    etcd.ask("/v3/kv/put", {"key": encode(records.prefix.encode() + b"/history/\xff"), "value": encode("{}")})
    assert records.faults() == []
    assert "\n3 directors; " in run("fleet", "--config", records.conf).stdout
    records.rollout("history")


def test_nobody_is_in_etcd(records):
    records.conf.write_text(records.conf.read_text().replace(records.prefix, "/none"))
    assert [each[:3] for each in records.faults()] == [("fail", "etcd", "/none/directors/"), ("fail", "table", "/none/table")]
    assert "no director has a record, so no glb-fleet with this prefix" in records.faults()[0][3]


def test_etcd_that_does_not_reply(records):
    """It is a finding, and the hosts are asked all the same."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        for place in (closed_port(), f"127.0.0.1:{silent.getsockname()[1]}"):
            records.conf.write_text(f'etcd = {{ endpoints = ["http://{place}"]; timeout_ms = 300; }};\nprefix = "/x";\n')
            (first,) = records.faults()
            assert first[:3] == ("fail", "etcd", "") and "etcd cannot be read, so nothing is known about its directors" in first[3] and place in first[3]
    host = closed_port()
    assert [each[:3] for each in records.faults(host)] == [("fail", "reachable", host), ("fail", "etcd", "")]


def test_etcd_that_lets_this_user_read_nothing_or_has_other_keys(records):
    denied = {"error": "etcdserver: permission denied", "code": 7, "message": "\x1b[2Jetcdserver: permission denied"}
    with HostileEtcd(kv_range=lambda connection, _: reply(connection, denied, "403 Forbidden")) as bad, HostileEtcd() as other:
        records.conf.write_text(f'etcd = {{ endpoints = ["{bad.url}"]; timeout_ms = 300; }};\nprefix = "/a/prefix/longer/than/its/keys";\n')
        ((level, check, place, text),) = records.faults()
        assert (level, check, place) == ("fail", "etcd", "") and "permission denied" in text
        records.conf.write_text(records.conf.read_text().replace(bad.url, other.url))
        assert [each[1] for each in records.faults()] == ["etcd", "table"]


def test_hosts_alone_do_not_ask_etcd(records):
    done = subprocess.run([CLI, "doctor", "--fleet", closed_port()], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "etcd" not in done.stdout + done.stderr


@pytest.mark.parametrize("words, message", (
    (["--fleet", "--config", "/none.conf"], "/none.conf: "),
    (["--fleet", "--config", "/dev/null"], "/dev/null: is a device"),
    (["--config", "/none.conf"], "hosts and --config are for --fleet"),
))
def test_wrong_arguments(words, message):
    done = run("doctor", *words, code=USAGE)
    assert message in done.stderr and done.stdout == ""
