# SPDX-License-Identifier: BSD-3-Clause
"""The director's health: what /glb/health and `glb-director-cli health` say for each cause."""

import ast
import errno
import json
import re
import time

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import ARP, Ether

from lab.tools import wait_until
from support import pcap
from support import traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, sum_of_verdicts, write_table
from support.frozen import Frozen
from support.health import wait_health, wait_reason
from support.tree import TREE

SLEEP = {**CONFIG, "idle": "sleep"}


@pytest.fixture
def start(tmp_path):
    def start(config=None, table=None, **options):
        pcap.write(tmp_path / "rx.pcap", [])
        vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"
        path = write_table(tmp_path / "table", table or traffic.TABLE, "json")
        return DirectorProcess([vdev], {**SLEEP, **(config or {})}, path, **options)

    return start


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


@pytest.fixture
def host(link, tmp_path, monkeypatch):
    host = Host(link, tmp_path, monkeypatch)
    with host.director:
        yield host


def wait_ten_ticks(director):
    start = director.telemetry.ask("/glb/health")["now"]
    wait_until(lambda: director.telemetry.ask("/glb/health")["now"] > start + 1, "ten ticks")


def test_each_cause_is_shown_with_its_object_until_it_ends(host):
    """Links, MTU, backends, a stuck worker and a stuck control thread, in one director. Other files test the other causes."""
    director = host.director

    def only(reply):
        (reason,) = reply["reasons"]
        return reason["object"]

    wait_health(director, "ok")
    host.ip("link set director down")
    reply = wait_health(director, "failing", "link_down")
    assert only(reply) == "port 0 (net_af_packet0)" and reply["reasons"][0]["text"].startswith("the link of director is down, ")
    host.ip("link set director up")
    wait_health(director, "ok")

    host.ip("link set director mtu 1400")
    reply = wait_health(director, "degraded", "mtu_too_small")
    text = reply["reasons"][0]["text"]
    assert only(reply) == "port 0 (net_af_packet0)" and "MTU 1400 is less than outbound_mtu 1500" in text
    assert "raise the MTU of director, or lower" in text
    host.ip("link set director mtu 1500")
    wait_health(director, "ok")

    host.set_health(1)
    assert only(wait_health(director, "degraded", "no_good_backend")) == f"table {traffic.TABLE['tables'][1]['name']}"
    host.set_health(0, 1, 2)
    assert only(wait_health(director, "failing", "no_good_backend")) == "forwarding table"
    host.set_health()
    wait_health(director, "ok")

    with Frozen(director.process.pid):  # the main lcore is the worker
        assert only(wait_health(director, "failing", "worker_stuck")) == "lcore 0"
    wait_health(director, "ok")

    with Frozen(director.thread("control")):
        assert only(wait_health(director, "failing", "control_stuck")) == "control thread"
    wait_health(director, "ok")

    # A look at a link that fails says nothing about the link.
    with director.without_descriptors():
        wait_ten_ticks(director)
    wait_health(director, "ok")

    # The interface that returns is another one, although its name and index are the same.
    (index,) = [item["ifindex"] for item in json.loads(host.link.director.run(*"ip -json link show director".split()).stdout)]
    host.ip("link del director")
    assert only(wait_health(director, "failing", "port_removed")) == "port 0 (net_af_packet0)"
    host.ip(f"link add director up index {index} type veth peer name other")
    host.ip("link set other up")
    wait_ten_ticks(director)
    assert "create it again, and restart the director" in wait_health(director, "failing", "port_removed")["reasons"][0]["text"]
    director.terminate()


def test_director_fails_when_its_port_accepts_no_packets(link, tmp_path, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    pcap.write(tmp_path / "rx.pcap", [bytes(traffic.ETHER / IP(src="198.51.100.7", dst=traffic.VIP4[0]) / TCP(dport=80))])
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,infinite_rx=1,tx_iface=director"
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess([vdev], SLEEP, table, prefix=link.director.command()) as director:
        wait_health(director, "ok")
        link.director.ip("link set director down")
        (reason,) = wait_health(director, "failing", "transmit_fails")["reasons"]
        assert reason["object"] == "transmit queues"
        counters = director.terminate()
    assert counters["received"] == sum_of_verdicts(counters)


def test_director_that_is_too_slow_or_refuses_control_packets_is_degraded(link, tmp_path, monkeypatch):
    """AF_XDP counts the frames for which it had no buffer. The limit of 0 refuses the client's ARP."""
    monkeypatch.setenv("WATCHDOG_USEC", "600000")  # so that a loss is a reason for 3 s
    table = write_table(tmp_path / "table", traffic.TABLE)
    config = {**SLEEP, "exception_path": "tap", "exception_limits": {"control": 0}}
    frame = bytes(traffic.ETHER / IP(src="198.51.100.7", dst=traffic.VIP4[0]) / TCP(dport=80))
    arp = bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / ARP(psrc="192.0.2.33", pdst="192.0.2.1"))

    def send(frames):
        with link.client.packet_socket("client") as cable:
            for item in frames:
                while True:
                    try:
                        cable.send(item)
                        break
                    except OSError as error:  # a slow machine has not sent the frames before yet
                        assert error.errno == errno.ENOBUFS
                        time.sleep(0.01)

    with DirectorProcess(["net_af_xdp0,iface=director"], config, table, prefix=link.director.command()) as director:
        wait_health(director, "ok")
        with Frozen(director.process.pid):
            send([frame] * 6000)
        (reason,) = wait_health(director, "degraded", "receive_fails")["reasons"]
        assert (reason["object"], reason["severity"]) == ("receive queues", "degraded")
        lost = director.stats()["ports"]["0"]["rx_missed"]
        assert lost
        wait_reason(director, f"{lost} of 6000 packets within 10 ticks: see rx_missed")
        wait_health(director, "ok")

        send([arp] * 20)
        (reason,) = wait_health(director, "degraded", "exception_drops")["reasons"]
        assert (reason["object"], reason["severity"]) == ("exception path", "degraded")
        wait_reason(director, "20 of 20 packets within 10 ticks: see drop_exception_full and exception_limited_*")
        wait_health(director, "ok")
        counters = director.terminate()
    assert counters["received"] == sum_of_verdicts(counters) and counters["exception_limited_neighbour"] == 20


# A cause that no kernel or virtual driver can bring about. A library in place of the driver reports it to a running director.
REPORTED_BY_A_LIBRARY = {"port_reset": "test_port_events.py"}


def causes_waited_for(path):
    """The texts that the tests of a file give to the functions of support.health, which ask a running director."""
    for test in ast.parse(path.read_text()).body:
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            for node in ast.walk(test):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("wait_health", "wait_cause"):
                    yield from (word.value for word in node.args[1:] if isinstance(word, ast.Constant))


def test_a_running_director_has_shown_each_cause():
    causes = set(re.findall(r'X\(\w+, +"(\w+)"\)', (TREE / "src/director/health/health.h").read_text()))
    shown = {path.name: causes & set(causes_waited_for(path)) for path in (TREE / "tests/service").glob("test_*.py")}
    assert len(causes) >= 15
    assert causes - set().union(*shown.values()) == set()
    for cause, file in REPORTED_BY_A_LIBRARY.items():
        assert [name for name, found in shown.items() if cause in found] == [file]
    others = set().union(*(found for name, found in shown.items() if name not in REPORTED_BY_A_LIBRARY.values()))
    assert causes - others == set(REPORTED_BY_A_LIBRARY)


def test_failed_reload_degrades_until_the_next_one_succeeds(start, tmp_path):
    with start() as director:
        assert wait_health(director, "ok")["last_reload"] == 0
        (tmp_path / "table").write_text("{}")
        director.telemetry.ask("/glb/reload")
        reply = wait_health(director, "degraded", "reload_failed")
        (reason,) = reply["reasons"]
        assert reason["object"] == "forwarding table" and "the last reload failed" in reason["text"]
        assert reply["since"] <= reason["since"] <= reply["now"] and reply["last_reload"] and reply["generation"] == 1
        write_table(tmp_path / "table", traffic.TABLE, "json")
        director.telemetry.ask("/glb/reload")
        assert wait_health(director, "ok")["generation"] == 2


def test_director_without_a_next_hop_is_starting(start):
    with start({"outbound_gateway_mac": "auto"}, prefix=("unshare", "--net")) as director:
        (reason,) = wait_health(director, "starting", "no_next_hop")["reasons"]
        assert reason["severity"] == "failing"


def test_starting_director_takes_a_new_table_without_a_reload(start, tmp_path):
    """systemd reloads no unit that is starting, so glb-healthcheck could not bring the table that ends the start."""
    table = traffic.table("one", 2, [traffic.bind("10.10.10.10", "tcp", 80)], [{"ip": "192.168.50.10", "state": "active", "healthy": False}])
    with start(table={"tables": [table]}) as director:
        wait_health(director, "starting", "no_good_backend")
        assert "while the director is starting" not in director.log
        (tmp_path / "new").write_text("{}")
        (tmp_path / "new").rename(tmp_path / "table")
        wait_until(lambda: director.stats()["reload_failures"] == 1, "one reload that fails")
        write_table(tmp_path / "new", traffic.TABLE, "json")
        (tmp_path / "new").rename(tmp_path / "table")
        wait_health(director, "ok")
        stats = director.stats()
        assert (stats["generation"], stats["reloads"], stats["reload_failures"]) == (2, 1, 1)
        assert director.log.count(f"notice: forwarding table {tmp_path}/table has changed while the director is starting\n") == 2
        table["name"] = "other"  # once started, only a reload reads the file
        write_table(tmp_path / "table", {"tables": [table]}, "json")
        assert wait_health(director, "ok")["generation"] == 2
