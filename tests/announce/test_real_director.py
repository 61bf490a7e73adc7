# SPDX-License-Identifier: BSD-3-Clause
"""glb-announce with a real director: what ends it, what stalls it, what it loses."""

import json
import signal

import pytest
from announcer import Announcer

from lab.tools import wait_until
from support import pcap, traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, write_table
from support.frozen import Frozen

PREFIX = "suite"  # the --file-prefix of DirectorProcess


class Pair:
    def __init__(self, folder, announcer, config=None):
        pcap.write(folder / "rx.pcap", [])
        self.table = folder / "table"
        self.write_table()
        vdev = f"net_pcap0,rx_pcap={folder}/rx.pcap,tx_pcap={folder}/tx.pcap"
        self.announcer = announcer
        self.director = DirectorProcess([vdev], {**CONFIG, "idle": "sleep", "max_shrink": 100, **(config or {})}, self.table)
        announcer.environment["RUNTIME_DIRECTORY"] = str(self.director.folder)
        # Without a limit of /24, because the tables of these tests have binds of all kinds.
        prefixes = {bind["ip"] for table in traffic.TABLE["tables"] for bind in table["binds"]}
        announcer.configure(file_prefix=PREFIX, vips=sorted(prefixes))
        self.count = len(prefixes)

    def write_table(self, *bad):
        """Marks all backends of these tables as unhealthy."""
        document = json.loads(json.dumps(traffic.TABLE))
        for index, table in enumerate(document["tables"]):
            for backend in table["backends"]:
                backend["healthy"] = index not in bad
        write_table(self.table, document, "json")

    def reload(self, *bad):
        self.write_table(*bad)
        assert self.director.telemetry.ask("/glb/reload,force")["ok"] == 1

    def wait(self, count):
        wait_until(lambda: len(self.announcer.announced) == count,
                   lambda: f"{count}: {self.announcer.announced}\n{self.announcer.log}\n{self.director.log}")

    def wait_all(self):
        self.wait(self.count)


@pytest.fixture
def make(tmp_path, monkeypatch, announcer):
    monkeypatch.setenv("WATCHDOG_USEC", "200000")  # quick ticks, so that stuck threads show soon
    monkeypatch.delenv("WATCHDOG_PID", raising=False)
    pairs = []

    def make(config=None):
        pairs.append(Pair(tmp_path, announcer, config))
        pairs[-1].director.__enter__()
        return pairs[-1]

    yield make
    announcer.__exit__()
    for pair in pairs:
        pair.director.__exit__()


def test_kill(make, announcer):
    pair = make()
    with announcer:
        pair.wait_all()
        assert announcer.status()["director"]["pid"] == pair.director.process.pid
        pair.director.process.kill()
        pair.wait(0)
        announcer.wait_log(": withdrawn: glb-director has ended\n", pair.count)


def test_stop_is_seen_before_the_director_ends(make, announcer):
    pair = make({"stop_delay_ms": 60000})
    with announcer:
        pair.wait_all()
        pair.director.process.send_signal(signal.SIGTERM)
        pair.wait(0)
        assert pair.director.process.poll() is None
        announcer.wait_log(": withdrawn: glb-director is stopping\n", pair.count)


def test_stalls(make, announcer):
    """A worker, the control thread, and the whole process."""
    pair = make()
    pid = pair.director.process.pid
    with announcer:
        pair.wait_all()
        with Frozen(pid):  # the main lcore is the worker
            pair.wait(0)
        announcer.wait_log("withdrawn: glb-director is failing: worker_stuck: lcore 0: ")
        pair.wait_all()
        pair.director.process.send_signal(signal.SIGSTOP)
        pair.wait(0)
        announcer.wait_log("no reply before the timeout; the director may still be busy")
        pair.director.process.send_signal(signal.SIGCONT)
        pair.wait_all()


def test_table_without_good_backends(make, announcer):
    pair = make()
    with announcer:
        pair.wait_all()

        def fails():
            """The reason is another one if the announcer asks when the director uses the table and has not yet evaluated its health."""
            pair.reload(0, 1, 2)
            pair.wait(0)
            pair.reload()
            pair.wait_all()
            return "withdrawn: glb-director is failing: no_good_backend: forwarding table: " in announcer.log

        def lacks_one_table():
            """The VIPs of this table are withdrawn for another reason if a busy machine starves the worker meanwhile."""
            pair.reload()
            pair.wait_all()
            pair.reload(0)
            wait_until(lambda: 0 < len(announcer.announced) < pair.count, "some VIPs")
            return "withdrawn: no table of this VIP has a good backend, for instance table " in announcer.log

        wait_until(fails, lambda: f"the reason: {announcer.log}")
        wait_until(lacks_one_table, lambda: f"the reason: {announcer.log}")


def test_two_announcers_ask_one_director(make, announcer, folder):
    """Each keeps a connection; DPDK allows ten."""
    pair = make()
    other = folder / "other"
    other.mkdir()
    second = Announcer(other)
    second.environment["RUNTIME_DIRECTORY"] = announcer.environment["RUNTIME_DIRECTORY"]
    second.configure(file_prefix=PREFIX, vips=["0.0.0.0/1"])
    with announcer, second:
        pair.wait_all()
        wait_until(lambda: second.status()["director"]["state"] == "ok", "the second one")
        wait_until(lambda: pair.director.telemetry.ask("/glb/health")["state"] == "ok", "a third connection")
