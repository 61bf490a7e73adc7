# SPDX-License-Identifier: BSD-3-Clause
"""The director's health: what /glb/health and `glb-director-cli health` say for each cause."""

import pytest

from lab.tools import wait_until
from support import pcap
from support import traffic
from support.cli import run_json
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, write_table

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
