# SPDX-License-Identifier: BSD-3-Clause
"""The director's health: what /glb/health and `glb-director-cli health` say for each cause."""

import json
import re
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP

from lab.tools import wait_until
from support import pcap
from support import traffic
from support.cli import run_json
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, sum_of_verdicts, write_table
from support.frozen import Frozen
from support.tree import TREE

OK, DEGRADED, BAD = 0, 1, 2
SLEEP = {**CONFIG, "idle": "sleep"}


@pytest.fixture
def start(tmp_path):
    def start(config=None, table=None, **options):
        pcap.write(tmp_path / "rx.pcap", [])
        vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"
        path = write_table(tmp_path / "table", table or traffic.TABLE, "json")
        return DirectorProcess([vdev], {**SLEEP, **(config or {})}, path, **options)

    return start


def ask(director, code=OK):
    return run_json("health", "--file-prefix", director.file_prefix, code=code, env=director.environment)


def wait_for(director, state, *causes):
    """Waits for a state with just these causes. Returns the reply."""
    code = {"ok": OK, "degraded": DEGRADED}.get(state, BAD)

    def reached():
        reply = director.telemetry.ask("/glb/health")
        found = [reason["cause"] for reason in reply["reasons"].values()]
        return (reply["state"], found) == (state, list(causes))

    wait_until(reached, lambda: f"{state} {causes}: {director.telemetry.ask('/glb/health')}")
    return ask(director, code)


class Host:
    """A director on a veth pair, with quick ticks so that stuck threads show soon."""

    def __init__(self, link, folder, monkeypatch):
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        monkeypatch.delenv("WATCHDOG_PID", raising=False)
        self.link, self.table = link, folder / "table"
        write_table(self.table, traffic.TABLE, "json")
        prefix = link.director.command()
        self.director = DirectorProcess(["net_af_packet0,iface=director"], {**SLEEP, "max_shrink": 100}, self.table, prefix=prefix)

    def ip(self, *words):
        self.link.director.ip(" ".join(words))

    def set_health(self, *tables):
        """Marks all backends of these tables as unhealthy, and those of all other tables as healthy, and reloads."""
        document = json.loads(json.dumps(traffic.TABLE))
        for index, table in enumerate(document["tables"]):
            for backend in table["backends"]:
                backend["healthy"] = index not in tables
        write_table(self.table, document, "json")
        assert self.director.telemetry.ask("/glb/reload,force")["ok"] == 1

    def thread(self, name):
        tasks = Path(f"/proc/{self.director.process.pid}/task").iterdir()
        (thread,) = [int(task.name) for task in tasks if (task / "comm").read_text().strip() == name]
        return thread


@pytest.fixture
def host(link, tmp_path, monkeypatch):
    host = Host(link, tmp_path, monkeypatch)
    with host.director:
        yield host


def test_each_cause_is_shown_with_its_object_until_it_ends(host):
    """Links, MTU, backends, a stuck worker and a stuck control thread, in one director. Other files test the other causes."""
    director = host.director

    def only(reply):
        (reason,) = reply["reasons"]
        return reason["object"]

    wait_for(director, "ok")
    host.ip("link set director down")
    reply = wait_for(director, "failing", "link_down")
    assert only(reply) == "port 0 (net_af_packet0)" and reply["reasons"][0]["text"].startswith("the link of director is down, ")
    host.ip("link set director up")
    wait_for(director, "ok")

    host.ip("link set director mtu 1400")
    reply = wait_for(director, "degraded", "mtu_too_small")
    text = reply["reasons"][0]["text"]
    assert only(reply) == "port 0 (net_af_packet0)" and "MTU 1400 is less than outbound_mtu 1500" in text
    assert "raise the MTU of director, or lower" in text
    host.ip("link set director mtu 1500")
    wait_for(director, "ok")

    host.set_health(1)
    assert only(wait_for(director, "degraded", "no_good_backend")) == f"table {traffic.TABLE['tables'][1]['name']}"
    host.set_health(0, 1, 2)
    assert only(wait_for(director, "failing", "no_good_backend")) == "forwarding table"
    host.set_health()
    wait_for(director, "ok")

    with Frozen(director.process.pid):  # the main lcore is the worker
        assert only(wait_for(director, "failing", "worker_stuck")) == "lcore 0"
    wait_for(director, "ok")

    with Frozen(host.thread("control")):
        assert only(wait_for(director, "failing", "control_stuck")) == "control thread"
    wait_for(director, "ok")

    # The interface that returns is another one, although its name and index are the same.
    (index,) = [item["ifindex"] for item in json.loads(host.link.director.run(*"ip -json link show director".split()).stdout)]
    host.ip("link del director")
    assert only(wait_for(director, "failing", "port_removed")) == "port 0 (net_af_packet0)"
    host.ip(f"link add director up index {index} type veth peer name other")
    host.ip("link set other up")
    ticks = director.telemetry.ask("/glb/health")["now"]
    wait_until(lambda: director.telemetry.ask("/glb/health")["now"] > ticks + 1, "ten ticks")
    assert "create it again, and restart the director" in wait_for(director, "failing", "port_removed")["reasons"][0]["text"]
    director.terminate()


def test_director_fails_when_its_port_accepts_no_packets(link, tmp_path, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    pcap.write(tmp_path / "rx.pcap", [bytes(traffic.ETHER / IP(src="198.51.100.7", dst=traffic.VIP4[0]) / TCP(dport=80))])
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,infinite_rx=1,tx_iface=director"
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess([vdev], SLEEP, table, prefix=link.director.command()) as director:
        wait_for(director, "ok")
        link.director.ip("link set director down")
        (reason,) = wait_for(director, "failing", "transmit_fails")["reasons"]
        assert reason["object"] == "transmit queues"
        counters = director.terminate()
    assert counters["received"] == sum_of_verdicts(counters)


def test_every_cause_has_a_test():
    causes = dict(re.findall(r'X\((\w+), "(\w+)"\)', (TREE / "src/director/health/health.h").read_text()))
    tests = "".join(path.read_text() for folder in ("service", "unit") for path in (TREE / "tests" / folder).rglob("test_*.[pc]*"))
    assert len(causes) >= 10
    assert [name for member, name in causes.items() if f'"{name}"' not in tests and f"HEALTH_{member}" not in tests] == []


def test_failed_reload_degrades_until_the_next_one_succeeds(start, tmp_path):
    with start() as director:
        assert wait_for(director, "ok")["last_reload"] == 0
        (tmp_path / "table").write_text("{}")
        director.telemetry.ask("/glb/reload")
        reply = wait_for(director, "degraded", "reload_failed")
        (reason,) = reply["reasons"]
        assert reason["object"] == "forwarding table" and "the last reload failed" in reason["text"]
        assert reply["since"] <= reason["since"] <= reply["now"] and reply["last_reload"] and reply["generation"] == 1
        write_table(tmp_path / "table", traffic.TABLE, "json")
        director.telemetry.ask("/glb/reload")
        assert wait_for(director, "ok")["generation"] == 2


def test_director_without_a_next_hop_is_starting(start):
    with start({"outbound_gateway_mac": "auto"}, prefix=("unshare", "--net")) as director:
        (reason,) = wait_for(director, "starting", "no_next_hop")["reasons"]
        assert reason["severity"] == "failing"


def test_starting_director_takes_a_new_table_without_a_reload(start, tmp_path):
    """systemd reloads no unit that is starting, so glb-healthcheck could not bring the table that ends the start."""
    table = traffic.table("one", 2, [traffic.bind("10.10.10.10", "tcp", 80)], [{"ip": "192.168.50.10", "state": "active", "healthy": False}])
    with start(table={"tables": [table]}) as director:
        wait_for(director, "starting", "no_good_backend")
        assert "while the director is starting" not in director.log
        (tmp_path / "new").write_text("{}")
        (tmp_path / "new").rename(tmp_path / "table")
        wait_until(lambda: director.stats()["reload_failures"] == 1, "one reload that fails")
        write_table(tmp_path / "new", traffic.TABLE, "json")
        (tmp_path / "new").rename(tmp_path / "table")
        wait_for(director, "ok")
        stats = director.stats()
        assert (stats["generation"], stats["reloads"], stats["reload_failures"]) == (2, 1, 1)
        assert director.log.count(f"notice: forwarding table {tmp_path}/table has changed while the director is starting\n") == 2
        table["name"] = "other"  # once started, only a reload reads the file
        write_table(tmp_path / "table", {"tables": [table]}, "json")
        assert ask(director)["generation"] == 2
