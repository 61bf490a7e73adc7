# SPDX-License-Identifier: BSD-3-Clause
"""A running director refuses a table that empties its service by accident, unless somebody confirms it."""

import copy
import json
import re
import signal
import subprocess

import pytest
from scapy.layers.inet import IP, TCP

from lab.tools import wait_until
from support import pcap, traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, write_table
from support.tree import CLI

SLEEP = {**CONFIG, "idle": "sleep"}
PROXIES = [f"192.168.0.{i}" for i in range(1, 5)]
VIPS = {"web": ["10.0.0.1", "10.0.0.2"], "git": ["10.0.0.3"]}


def table(name, number):
    return {
        "name": name,
        "hash_key": f"{number + 1:032x}",
        "seed": f"{number + 1000:032x}",
        "binds": [{"ip": vip, "proto": "tcp", "port": 80} for vip in VIPS[name]],
        "backends": [{"ip": ip, "state": "active"} for ip in PROXIES],
    }


DOCUMENT = {"tables": [table("web", 0), table("git", 1)]}


def changed(change):
    document = copy.deepcopy(DOCUMENT)
    change(document, document["tables"][0])
    return document


def no_tables(document, _):
    document["tables"] = []


def no_binds(_, web):
    web["binds"] = []


def table_vanishes(document, _):
    del document["tables"][0]


def too_few_backends(_, web):
    del web["backends"][1:]


def too_many_inactive(_, web):
    for backend in web["backends"][1:]:
        backend["state"] = "inactive"


def vip_vanishes(_, web):
    del web["binds"][0]


def vip_moves(_, web):
    web["binds"][0]["ip"] = "10.0.0.9"


LOSSES = {
    no_tables: "all tables vanish: web, git",
    no_binds: "table web loses all its binds: tcp 10.0.0.1 port 80, tcp 10.0.0.2 port 80",
    table_vanishes: "table web vanishes with all its binds: tcp 10.0.0.1 port 80, tcp 10.0.0.2 port 80",
    too_few_backends: "table web loses 3 of its 4 usable backends, and max_shrink is 50 %: 192.168.0.2, 192.168.0.3, 192.168.0.4",
    too_many_inactive: "table web loses 3 of its 4 usable backends, and max_shrink is 50 %: 192.168.0.2, 192.168.0.3, 192.168.0.4",
}
LOST_VIPS = (vip_vanishes, vip_moves)


class Guarded:
    """A director with the table DOCUMENT, whose port receives these frames."""

    def __init__(self, folder, frames=(), config=SLEEP, document=DOCUMENT):
        pcap.write(folder / "rx.pcap", frames)
        self.table = folder / "table"
        write_table(self.table, document, "3")
        vdev = f"net_pcap0,rx_pcap={folder}/rx.pcap,tx_pcap={folder}/tx.pcap"
        self.director = DirectorProcess([vdev], config, self.table)

    def __enter__(self):
        self.director.__enter__()
        return self

    def __exit__(self, *error):
        self.director.__exit__(*error)

    def command(self, *options):
        return subprocess.run(
            [CLI, "reload", f"--file-prefix={self.director.file_prefix}", *options],
            env=self.director.environment, capture_output=True, text=True)

    def state(self):
        stats = self.director.stats()
        return {key: stats[key] for key in ("generation", "digest", "reloads")}

    def assert_refused(self, loss):
        """All ways to reload refuse the table in use's replacement, name the loss, and change nothing. Returns `replaces`."""
        before = self.state()
        failures = self.director.stats()["reload_failures"]
        done = self.command()
        assert done.returncode == 3, done.stdout
        assert "the director keeps its table: " in done.stderr
        assert f"{self.table}: {loss}" in done.stderr
        assert done.stderr.endswith("; or: glb-director-cli reload --force\n")
        assert loss[:60] in self.director.stats()["last_error"] + self.director.stats().get("last_error_2", "")
        reply = json.loads(self.command("--json").stdout)
        assert reply["ok"] == 0 and loss in reply["error"]
        for number in (signal.SIGHUP, signal.SIGUSR1):
            known = self.director.stats()["reload_failures"]
            self.director.process.send_signal(number)
            wait_until(lambda: self.director.stats()["reload_failures"] == known + 1, "the reload")
        self.director.wait_log(f"error: forwarding table not reloaded: {self.table}: {loss}", 4)
        assert self.director.stats()["reload_failures"] == failures + 4
        assert self.state() == before
        return re.search(r'"replaces": "([0-9a-f]{16})"', done.stderr)[1]


def frames(vip, count=3):
    return [bytes(traffic.ETHER / IP(src="198.51.100.7", dst=vip) / TCP(dport=80))] * count


@pytest.mark.parametrize("version", ("3", "json"))
@pytest.mark.parametrize("change", LOSSES, ids=lambda change: change.__name__)
def test_loss_is_refused_until_it_is_confirmed(tmp_path, change, version):
    with Guarded(tmp_path) as guarded:
        document = changed(change)
        write_table(guarded.table, document, version)
        replaces = guarded.assert_refused(LOSSES[change])
        write_table(guarded.table, {**document, "replaces": replaces}, version)
        done = guarded.command()
        assert done.returncode == 0, done.stderr
        assert f"warning: {guarded.table}: {LOSSES[change]}" in guarded.director.log
        assert guarded.state()["generation"] == 2
        assert guarded.director.stats()["last_error"] == ""


def test_force_counts_for_one_reload(tmp_path):
    with Guarded(tmp_path) as guarded:
        write_table(guarded.table, changed(too_few_backends), "2")
        guarded.assert_refused(LOSSES[too_few_backends])
        done = guarded.command("--force")
        assert done.returncode == 0 and done.stdout.startswith("reloaded: generation 2, digest "), done.stderr
        write_table(guarded.table, changed(no_tables), "2")
        guarded.assert_refused("all tables vanish: #0, #1")
        assert guarded.command("--force").returncode == 0
        assert "warning: {}: has no tables: the director forwards nothing".format(guarded.table) in guarded.director.log
        write_table(guarded.table, DOCUMENT, "2")
        assert guarded.command().returncode == 0


def test_version_2_stores_inactive_as_draining(tmp_path):
    """A file of version 3 with the same content loses nothing, and one of version 2 that makes backends inactive does."""
    document = changed(too_many_inactive)
    with Guarded(tmp_path, document=DOCUMENT) as guarded:
        guarded.table.unlink()
        write_table(guarded.table, document, "2")
        guarded.assert_refused(LOSSES[too_many_inactive])
        assert guarded.command("--force").returncode == 0
        for version in ("3", "json"):
            write_table(guarded.table, document, version)
            done = guarded.command()
            assert done.returncode == 0, done.stderr


def test_force_does_not_make_a_faulty_table_valid(tmp_path):
    with Guarded(tmp_path) as guarded:
        guarded.table.write_bytes(b"{")
        done = guarded.command("--force")
        assert done.returncode == 3 and f"{guarded.table}:1:1: not JSON" in done.stderr


@pytest.mark.parametrize("parameter", ("forced", "FORCE", "force,force", "0"))
def test_unknown_parameter_reloads_nothing(tmp_path, parameter):
    with Guarded(tmp_path) as guarded:
        reply = guarded.director.telemetry.ask(f"/glb/reload,{parameter}")
        assert reply == {"ok": 0, "error": "expected no parameters, or force"}
        assert guarded.state()["generation"] == 1


@pytest.mark.parametrize("change", LOST_VIPS, ids=lambda change: change.__name__)
def test_lost_vip_of_a_table_with_traffic_is_refused(tmp_path, change):
    """The traffic is that of the table: it has another VIP that is not lost."""
    with Guarded(tmp_path, frames("10.0.0.2")) as guarded:
        guarded.director.wait_received(3)
        write_table(guarded.table, changed(change), "3")
        guarded.assert_refused("table web loses 1 VIP, and it has traffic: 10.0.0.1")


@pytest.mark.parametrize("change", LOST_VIPS, ids=lambda change: change.__name__)
def test_lost_vip_of_a_table_without_traffic_is_a_warning(tmp_path, change):
    with Guarded(tmp_path, frames("10.0.0.3")) as guarded:
        guarded.director.wait_received(3)
        write_table(guarded.table, changed(change), "3")
        done = guarded.command()
        assert done.returncode == 0, done.stderr
        assert f"warning: {guarded.table}: table web loses 1 VIP: 10.0.0.1" in guarded.director.log


def test_traffic_of_an_earlier_table_does_not_count_for_a_new_one(tmp_path):
    """A table that appears takes a slot of the counters, which may have counted for another table."""
    with Guarded(tmp_path, frames("10.0.0.1"), document={"tables": [table("web", 0)]}) as guarded:
        guarded.director.wait_received(3)
        for document in ({"tables": [table("git", 1)]}, DOCUMENT, {"tables": [table("git", 1)]}):
            write_table(guarded.table, document, "3")
            assert guarded.command("--force").returncode == 0
        write_table(guarded.table, DOCUMENT, "3")
        assert guarded.command("--force").returncode == 0
        write_table(guarded.table, changed(vip_vanishes), "3")
        assert guarded.command().returncode == 0


@pytest.mark.parametrize("max_shrink, kept, code", ((100, 1, 0), (75, 1, 0), (74, 1, 3), (0, 4, 0), (0, 3, 3)))
def test_max_shrink(tmp_path, max_shrink, kept, code):
    with Guarded(tmp_path, config={**SLEEP, "max_shrink": max_shrink}) as guarded:
        document = copy.deepcopy(DOCUMENT)
        del document["tables"][1]["backends"][kept:]
        write_table(guarded.table, document, "3")
        assert guarded.command().returncode == code


def test_start_with_an_empty_table_warns(tmp_path):
    with Guarded(tmp_path, document={"tables": []}) as guarded:
        assert f"warning: {guarded.table}: has no tables: the director forwards nothing" in guarded.director.log
        write_table(guarded.table, DOCUMENT, "3")
        assert guarded.command().returncode == 0


def test_health_does_not_make_a_confirmation_stale(tmp_path):
    """The health checks rewrite the table between the refusal and the confirmation."""
    with Guarded(tmp_path) as guarded:
        write_table(guarded.table, changed(too_few_backends), "3")
        replaces = guarded.assert_refused(LOSSES[too_few_backends])
        sick = copy.deepcopy(DOCUMENT)
        sick["tables"][0]["backends"][0]["healthy"] = False
        write_table(guarded.table, sick, "3")
        assert guarded.command().returncode == 0
        write_table(guarded.table, {**changed(too_few_backends), "replaces": replaces}, "3")
        assert guarded.command().returncode == 0
