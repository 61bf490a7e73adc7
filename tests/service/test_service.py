# SPDX-License-Identifier: BSD-3-Clause
"""The director's messages to the service manager (sd_notify), and telemetry: /glb/lookup, /glb/tables."""

import signal

import pytest

from support import pcap
from support import traffic
from support.cli import run_json
from support.director_conf import CONFIG, write_config
from support.director_process import DirectorProcess, write_table
from support.numbers import BAD_NUMBERS
from support.service_manager import ServiceManager

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
