# SPDX-License-Identifier: BSD-3-Clause
"""What an operator does to a director besides sending packets: odd names, lost pipes, huge tables, spare ports."""

import os
import signal
import socket
import subprocess
import tempfile

import pcap
import traffic
from director_conf import CONFIG
from director_process import DEADLINE, DirectorProcess, wait_until, write_table
from tree import CLI

SLEEP = {**CONFIG, "idle": "sleep"}


def vdev(folder, number=0):
    pcap.write(folder / "rx.pcap", [])
    return f"net_pcap{number},rx_pcap={folder}/rx.pcap,tx_pcap={folder}/tx{number}.pcap"


def table_of(number, name, backends=2):
    return {
        "name": name,
        "hash_key": f"{number + 1:032x}",
        "seed": f"{number + 1000:032x}",
        "binds": [{"ip": f"10.0.0.{number}", "proto": "tcp", "port": 80}],
        "backends": [{"ip": f"10.1.{i >> 8}.{i & 255}", "state": "active"} for i in range(backends)],
    }


def test_names_beyond_ascii_in_every_answer(tmp_path):
    """DPDK makes broken JSON of anything else, and leaves out tables that do not fit its answer: 63 bytes of each name."""
    tables = [table_of(i, f"{i:02}" + 125 * "ü") for i in range(64)]
    table = write_table(tmp_path / "table", {"tables": tables}, "json")
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        listed = director.telemetry.ask("/glb/tables")["tables"]
        assert [entry["name"] for entry in listed.values()] == [f"{i:02}" + 31 * "?" for i in range(64)]
        assert director.telemetry.ask("/glb/tables,1")["name"] == "01" + 31 * "?"
        assert director.telemetry.ask("/glb/lookup,1.2.3.4,5,10.0.0.2,80,tcp")["table_name"].startswith("02?")
        write_table(table, {"tables": [{60 * "ü": 1}]}, "json")
        answer = director.telemetry.ask("/glb/reload")
        assert answer["ok"] == 0 and "tables[0].??" in answer["error"]
        assert "tables[0].??" in director.stats()["last_error"]


def test_goes_on_when_nobody_reads_its_messages(tmp_path):
    """`glb-director 2>&1 | logger`, and the logger is gone."""
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        status = open(f"/proc/{director.process.pid}/status", encoding="ascii").read()
        (ignored,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
        assert int(ignored, 16) >> (signal.SIGPIPE - 1) & 1


def test_watchdog_is_fed_while_a_large_table_is_built(tmp_path, monkeypatch):
    """Its build takes longer than two ticks of this watchdog, on any machine."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, tempfile.TemporaryDirectory() as folder:
        manager.bind(f"{folder}/notify")
        manager.settimeout(DEADLINE)
        monkeypatch.setenv("NOTIFY_SOCKET", f"{folder}/notify")
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        table = write_table(tmp_path / "table", traffic.TABLE)
        with DirectorProcess([vdev(tmp_path)], CONFIG, table) as director:
            write_table(table, {"tables": [table_of(i, f"t{i}", 4096) for i in range(4)]}, "json")
            director.process.send_signal(signal.SIGHUP)
            while not manager.recv(4096).startswith(b"RELOADING=1"):
                pass
            signs = 0
            while not (message := manager.recv(4096)).startswith(b"READY=1"):
                signs += message == b"WATCHDOG=1"
            assert b"4 tables, generation 2" in message
    assert signs > 0


def spare_port_config(**more):
    path = {"rx_port": 0, "rx_queue": 0, "tx_port": 0, "tx_queue": 0}
    lcore = {"rx": True, "tx": True, "flow_paths": [0]}
    return {**SLEEP, "flow_paths": [path], "lcores": {"lcore-1": lcore}, **more}


def test_port_without_flow_path_stays_off(tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    vdevs = [vdev(tmp_path), vdev(tmp_path, 1)]
    with DirectorProcess(vdevs, spare_port_config(), table, lcores="0@0,1@1") as director:
        assert "warning: port 1 (net_pcap1): no flow path uses it" in director.log
        started = [director.telemetry.ask(f"/ethdev/info,{port}")["dev_started"] for port in (0, 1)]
        assert started == [1, 0]
        assert director.terminate()["received"] == 0


def test_fifo_is_refused_as_configuration(tmp_path):
    """Not waited for: nobody may ever write to it."""
    os.mkfifo(tmp_path / "director.conf")
    write_table(tmp_path / "TABLE", traffic.TABLE)
    words = "lookup TABLE 192.0.2.9:1 10.10.11.7:80 --config director.conf".split()
    done = subprocess.run([CLI, *words], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE)
    assert "director.conf: cannot be read: not a regular file" in done.stdout + done.stderr
    assert done.returncode != 0
