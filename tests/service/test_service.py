# SPDX-License-Identifier: BSD-3-Clause
"""The director's messages to the service manager (sd_notify), and telemetry: /glb/lookup, /glb/tables."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP

from lab.net import link as state_of
from lab.tools import TIMEOUT_S, wait_until

from support import pcap
from support import traffic
from support.cli import run, run_json
from support.director_conf import CONFIG, write_config
from support.director_process import DirectorProcess, sum_of_verdicts, write_table
from support.numbers import BAD_NUMBERS
from support.service_manager import ServiceManager
from support.tree import BUILD, HEALTHCHECK

VDEV = "net_pcap0,rx_pcap={0}/rx.pcap,tx_pcap={0}/tx.pcap"


@pytest.fixture
def start(tmp_path):
    pcap.write(tmp_path / "rx.pcap", [])
    table = write_table(tmp_path / "table", traffic.TABLE)
    return lambda: DirectorProcess([VDEV.format(tmp_path)], CONFIG, table)


@pytest.fixture
def manager(monkeypatch):
    with ServiceManager() as manager:
        monkeypatch.setenv("NOTIFY_SOCKET", manager.path)
        monkeypatch.setenv("WATCHDOG_USEC", "2000000")
        monkeypatch.delenv("WATCHDOG_PID", raising=False)
        yield manager


def test_service_manager_is_notified_of_every_change(start, manager, tmp_path):
    with start() as director:
        manager.wait_for("READY=1")
        manager.wait_for("WATCHDOG=1")
        director.process.send_signal(signal.SIGHUP)
        (reloading,) = manager.wait_for("RELOADING=1")[-1:]
        assert any(line.startswith("MONOTONIC_USEC=") for line in reloading)
        manager.wait_for("READY=1")
        (tmp_path / "table").write_bytes(b"GLBD")
        director.process.send_signal(signal.SIGHUP)
        manager.wait_for("RELOADING=1")
        (ready,) = manager.wait_for("READY=1")[-1:]
        assert any(line.startswith("STATUS=") and "last reload failed" in line for line in ready)
        director.terminate()
        manager.wait_for("STOPPING=1")


def test_director_as_process_1_of_a_container_obeys_signals_and_leaves_no_zombies(tmp_path):
    """The kernel gives process 1 the processes whose parents have ended, for example of a check that the container's user runs in it."""
    pcap.write(tmp_path / "rx.pcap", [])
    table = write_table(tmp_path / "table", traffic.TABLE)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    prefix = ("unshare", "--pid", "--fork", "--kill-child=KILL")
    with DirectorProcess([VDEV.format(tmp_path)], CONFIG, table, prefix=prefix) as director:
        pid = director.process.pid
        (first,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        children = Path(f"/proc/{first}/task/{first}/children")
        subprocess.run(["nsenter", f"--target={first}", "--pid", "sh", "-c", f"cat {fifo} & exit"], check=True, stdout=subprocess.DEVNULL)
        wait_until(lambda: children.read_text().split(), "the orphan")
        with open(fifo, "w", encoding="ascii"):
            pass  # the orphan ends
        wait_until(lambda: not children.read_text().split(), "the end of the orphan")
        os.kill(int(first), signal.SIGHUP)
        wait_until(lambda: director.stats()["reloads"] == 1, director.log)
        os.kill(int(first), signal.SIGTERM)
        assert director.process.wait(TIMEOUT_S) == 0, director.log


@pytest.mark.parametrize(
    "source, sport, destination, dport, protocol",
    (
        ("198.51.100.7", 40000, "10.10.10.10", 80, "tcp"),
        ("198.51.100.7", 40000, "10.10.11.7", 5000, "udp"),
        ("2001:db8::7", 40000, "fdb4::1", 80, "tcp"),
        ("198.51.100.7", 0, "10.10.10.10", 0, "icmp"),
        ("198.51.100.7", 40000, "10.10.10.10", 81, "udp"),
    ),
)
def test_telemetry_lookup_agrees_with_cli_lookup(source, sport, destination, dport, protocol, start, tmp_path):
    conf = write_config(tmp_path / "lookup.conf", CONFIG)
    with start() as director:
        answer = director.telemetry.ask(f"/glb/lookup,{source},{sport},{destination},{dport},{protocol}")
        tables = director.telemetry.ask("/glb/tables")["tables"]
    ends = [f"[{source}]:{sport}", f"[{destination}]:{dport}"] if ":" in source else [f"{source}:{sport}", f"{destination}:{dport}"]
    if protocol == "icmp":
        ends = [source, destination]
    found = run_json("lookup", tmp_path / "table", *ends, "--proto", protocol, "--config", conf)
    assert answer["verdict"] == found["verdict"]
    if found["verdict"] == "forwarded":
        assert (answer["hash"], answer["row"]) == (found["hash"], found["row"])
        assert answer["hops"] == [hop["ip"] for hop in found["hops"]]
        assert tables[str(answer["table"])]["name"] == answer["table_name"]
    assert [tables[str(i)]["hops"] for i in range(3)] == [2, 4, 1]


def test_wrong_telemetry_parameters_get_an_error_reply(start):
    with start() as director:
        for wrong in ("x", "0x", "0,", "0,x", "0,0x", "0,0,0", "3", *BAD_NUMBERS, *(f"0,{bad}" for bad in BAD_NUMBERS)):
            assert list(director.telemetry.ask(f"/glb/tables,{wrong}")) == ["error"], wrong
        for bad in BAD_NUMBERS:
            assert list(director.telemetry.ask(f"/glb/lookup,198.51.100.7,{bad},10.10.10.10,80,tcp")) == ["error"], bad
            assert list(director.telemetry.ask(f"/glb/lookup,198.51.100.7,40000,10.10.10.10,{bad},tcp")) == ["error"], bad
        for right, first in (("0", 0), ("2,1", 1)):
            assert director.telemetry.ask(f"/glb/tables,{right}")["first"] == first


def values(messages, name):
    """The values of an assignment in messages, in order."""
    return [line.split("=", 1)[1] for message in messages for line in message if line.startswith(f"{name}=")]


def test_director_is_ready_only_when_it_can_forward(link, manager, tmp_path):
    """
    Without a link and a next hop it keeps starting. Telemetry and reloads work meanwhile, and a reload is none for the manager.

    The other end of the cable is down: Linux 6.1 gives an af_packet port no fanout while its own interface is.
    """
    table = write_table(tmp_path / "table", traffic.TABLE)
    link.client.run(*"ip link set client down".split())
    wait_until(lambda: state_of(link.director, "director")["operstate"] != "UP", "the interface to have no carrier")  # later on a busy machine
    config = {**CONFIG, "outbound_gateway_mac": "auto", "idle": "sleep"}
    with DirectorProcess(["net_af_packet0,iface=director"], config, table, prefix=link.director.command()) as director:
        before = manager.wait_for("WATCHDOG=1")
        director.process.send_signal(signal.SIGHUP)
        before += wait_until(lambda: director.stats()["reloads"] == 1 and manager.wait_for("WATCHDOG=1"), "the reload")
        assert director.telemetry.ask("/glb/health")["state"] == "starting"
        assert not {"READY=1", "RELOADING=1"} & {line for message in before for line in message}
        assert len(values(before, "EXTEND_TIMEOUT_USEC")) >= 2
        assert director.log.count("notice: port 0 (net_af_packet0): the link is down\n") == 1
        assert all("starting: port 0 (net_af_packet0): the link of director is down" in text for text in values(before, "STATUS"))
        link.client.ip("link set client up")
        link.director.ip("address add 10.255.0.1/24 dev director")
        wait_until(lambda: " backends have no next hop, so packets to them are dropped; " in str(manager.next()), "a status about the next hop")
        link.director.ip("neigh add 10.255.0.2 lladdr 02:00:00:00:01:01 dev director", "route add 192.168.0.0/16 via 10.255.0.2")
        *during, ready = manager.wait_for("READY=1")
        assert len(values([ready], "STATUS")) == 1 and "RELOADING=1" not in {line for message in during for line in message}
        assert director.log.count(" ready: ") == 1
        link.director.ip("link set director down")
        (failing,) = wait_until(lambda: [text for text in values([manager.next()], "STATUS") if text.startswith("failing")], "failing")
        assert "the link of director is down" in failing
        assert director.telemetry.ask("/glb/health")["state"] == "failing"
        director.terminate()
        assert "READY=1" not in {line for message in manager.wait_for("STOPPING=1") for line in message}


def test_starting_director_can_be_stopped(manager, tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    pcap.write(tmp_path / "rx.pcap", [])
    config = {**CONFIG, "outbound_gateway_mac": "auto", "stop_delay_ms": 60000}
    with DirectorProcess([VDEV.format(tmp_path)], config, table, prefix=("unshare", "--net")) as director:
        wait_until(lambda: director.telemetry.ask("/glb/health")["reasons"], "a reason")
        director.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "another signal stops at once" in director.log, "the delay")
        director.terminate()
    assert ["READY=1"] not in manager.arrived()


def test_stop_delay_forwards_while_health_says_stopping(manager, tmp_path):
    """The manager gets more time to wait and a fed watchdog. The second signal ends the delay, which this test would not survive."""
    table = write_table(tmp_path / "table", traffic.TABLE)
    pcap.write(tmp_path / "rx.pcap", [bytes(traffic.ETHER / IP(src="198.51.100.7", dst=traffic.VIP4[0]) / TCP(dport=80))])
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap=/dev/null,infinite_rx=1"
    with DirectorProcess([vdev], {**CONFIG, "stop_delay_ms": 60000}, table) as director:
        manager.wait_for("READY=1")
        director.process.send_signal(signal.SIGTERM)
        (stopping,) = manager.wait_for("STOPPING=1")[-1:]
        assert values([stopping], "EXTEND_TIMEOUT_USEC") == ["70000000"]
        run("health", "--file-prefix", director.file_prefix, code=2, env=director.environment)
        before = director.stats()["forwarded"]
        manager.wait_for("WATCHDOG=1")
        assert director.telemetry.ask("/glb/health")["state"] == "stopping"
        assert director.telemetry.ask("/glb/reload")["ok"] == 1
        wait_until(lambda: director.stats()["forwarded"] > before, "more packets")
        assert not {"READY=1", "RELOADING=1"} & {line for message in manager.arrived() for line in message}
        counters = director.terminate()
    assert counters["received"] == sum_of_verdicts(counters)


@pytest.fixture
def early_signal(monkeypatch):
    """Returns a function that lets the next program of this name get a signal before the constructors of its libraries have run."""

    def send(number, program="glb-director"):
        monkeypatch.setenv("LD_PRELOAD", str(BUILD / "tests/driver/early_signal.so"))
        monkeypatch.setenv("GLB_TEST_PROGRAM", program)
        monkeypatch.setenv("GLB_TEST_SIGNAL", str(int(number)))

    return send


@pytest.mark.parametrize("number", (signal.SIGHUP, signal.SIGUSR1))
def test_reload_signal_before_main_waits_until_the_director_runs(number, start, early_signal):
    early_signal(number)
    with start() as director:
        wait_until(lambda: director.stats()["reloads"] == 1, "the reload")
        director.terminate()


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGINT))
def test_stop_signal_before_main_ends_the_director_in_order(number, start, early_signal):
    early_signal(number)
    director = start()
    try:
        assert director.process.wait(TIMEOUT_S) == 0, director.log
        assert f"signal {number.name.removeprefix('SIG')}: stopping" in director.log
    finally:
        director.__exit__()


def test_director_survives_signals_that_its_parent_has_blocked(start):
    """The mask is inherited, so a parent can close the gap in which the dynamic linker runs. The first signals arrive in this gap."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        director = start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    director.process.send_signal(signal.SIGHUP)
    with director:
        wait_until(lambda: director.stats()["reloads"] == 1, "the reload")
        director.terminate()


def test_a_single_lcore_has_its_cpu_for_itself(tmp_path):
    """Unless the process has no other CPU."""
    pcap.write(tmp_path / "rx.pcap", [])
    table = write_table(tmp_path / "table", traffic.TABLE)
    config = {**CONFIG, "statsd": {"host": "127.0.0.1", "port": 9}}
    own, *others = sorted(os.sched_getaffinity(0))
    with DirectorProcess([VDEV.format(tmp_path)], config, table, lcores=f"0@{own}") as director:
        tasks = Path(f"/proc/{director.process.pid}/task")

        def started():
            found = {(task / "comm").read_text().strip(): int(task.name) for task in tasks.iterdir()}
            return found if {"control", "capture", "http"} <= found.keys() else None

        threads = wait_until(started, "the threads")
        assert os.sched_getaffinity(director.process.pid) == {own}
        for name in ("control", "capture", "http"):
            assert os.sched_getaffinity(threads[name]) == set(others or [own]), name


def test_healthcheck_survives_a_signal_before_main(early_signal, tmp_path):
    """It reads its configuration, and handles the signal then."""
    backends = [{"ip": "192.0.2.1", "state": "active", "healthy": True}]
    document = {"tables": [{**traffic.TABLE["tables"][0], "backends": backends}]}
    (tmp_path / "t.json").write_text(json.dumps(document))
    (tmp_path / "h.conf").write_text(f'forwarding_table = {{ src = "{tmp_path}/t.json"; dst = "{tmp_path}/d.json"; }};')
    early_signal(signal.SIGHUP, "glb-healthcheck")
    log = tmp_path / "log"
    with open(log, "w", encoding="ascii") as out:
        command = ["unshare", "--net", HEALTHCHECK, "--config-file", tmp_path / "h.conf"]
        with subprocess.Popen(command, stderr=out) as process:
            wait_until(lambda: process.poll() is not None or " ready" in log.read_text(), lambda: log.read_text())
            process.terminate()
    assert process.returncode == 0, log.read_text()
