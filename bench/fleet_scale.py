#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures how fast a fleet takes a new table from a real etcd, and what the agents and etcd need at rest.

Usage: bench/fleet_scale.py [AGENTS [ROUNDS]]. GLB_BUILD names the build folder, build/ by default.

Three members of etcd run on this machine, and one after the other:

- one glb-fleet without a director and without `build`. It checks each table and writes it to a file. Its time is from the start of the put
  to the moment when the new file is in place;
- AGENTS watchers (fleet_watch.c), which do with etcd what glb-fleet does, and nothing with a table. Their time ends when they have the new
  table. On a real fleet each director checks the table with CPUs of its own, so the times of this line and of the one above add up;
- AGENTS processes of glb-fleet, as the one above. All check the table at the same time with the CPUs of this machine.

All use the first member of etcd. The files of the agents are in memory, and those of etcd in the folder of temporary files.
"""

import contextlib
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
sys.path += [str(TREE), str(TREE / "tests"), str(TREE / "tests/fleet")]
from agent import PREFIX, Agent  # noqa: E402
from etcd import Etcd, encode  # noqa: E402

from lab.tools import wait_until  # noqa: E402
from support.tree import BUILD, FLEET  # noqa: E402

REST_S = 30
WAIT_S = 120
TICKS = os.sysconf("SC_CLK_TCK")


def table(tables, backends, version):
    """The text of a table set. The version is a port, so that each one is new."""
    made = [{"name": f"web{i}", "hash_key": f"{i:032x}", "seed": f"{i + 64:032x}",
             "binds": [{"ip": f"203.0.113.{i}", "proto": "tcp", "port": 1024 + version}],
             "backends": [{"ip": f"10.{i}.0.{j}", "state": "active", "healthy": True} for j in range(backends)]} for i in range(tables)]
    return json.dumps({"tables": made})


def cpu_s(pid):
    """CPU time of a process and of its children that have ended."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15])) / TICKS


def pss_kib(pid):
    return int(next(line.split()[1] for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:")))


class Agents:
    """Processes of glb-fleet, each with its own folder."""

    name = "glb-fleet"

    def __init__(self, folder, etcd, count, stack, **keys):
        self.agents = [Agent(folder / f"d{i}", etcd, f"d{i}") for i in range(count)]
        for agent in self.agents:
            agent.configure(etcd={"endpoints": etcd.endpoints}, build=None, notify=None, binary=str(folder / "none"), listen="none", max_shrink=100, **keys)
        for agent in self.agents:
            with open(agent.folder / "log", "ab") as log:
                agent.process = stack.enter_context(subprocess.Popen(
                    [FLEET, "run", "--config-file", agent.folder / "fleet.conf"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=agent.environment))
            stack.callback(agent.process.kill)
        self.pids = [agent.process.pid for agent in self.agents]

    @staticmethod
    def replaced_s(agent, after_s):
        """When the table's file was replaced; None: it was not, after this time."""
        try:
            changed_s = agent.table.stat().st_ctime_ns / 1e9
        except FileNotFoundError:
            return None
        return changed_s if changed_s >= after_s - 0.01 else None  # the clock of files has steps of 4 ms

    def times(self, put, text):
        start = time.time()
        put()
        wait_until(lambda: all(self.replaced_s(agent, start) for agent in self.agents), lambda: f"all tables; {self.agents[-1].log[-300:]}", WAIT_S)
        assert all(agent.table.read_text() == text for agent in self.agents)
        return [max(0, self.replaced_s(agent, start) - start) for agent in self.agents]


class Watchers:
    """Processes of fleet_watch."""

    name = "watchers"

    def __init__(self, etcd, count, stack):
        process = stack.enter_context(subprocess.Popen([BUILD / "bench/fleet_watch", PREFIX, str(count), *etcd.endpoints], stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        self.count, self.seen = count, {}  # {revision: {number of a watcher: when it had the table}}
        threading.Thread(target=self._read, args=[process.stdout], daemon=True).start()
        wait_until(lambda: sum(map(len, list(self.seen.values()))) >= count, "the watchers", WAIT_S)
        self.pids = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]

    def _read(self, lines):
        for line in lines:
            number, revision, when = map(int, line.split())
            self.seen.setdefault(revision, {})[number] = when / 1e9

    def times(self, put, _):
        start = time.monotonic()
        revision = put()
        wait_until(lambda: len(self.seen.get(revision, {})) == self.count, "all watchers have the table", WAIT_S)
        return [when - start for when in self.seen[revision].values()]


def measure_put(fleet, etcd, text):
    """[seconds until each one of the fleet has the table], sorted."""
    time.sleep(1)
    request = {"key": encode(f"{PREFIX}/table"), "value": encode(text)}
    return sorted(fleet.times(lambda: int(etcd.ask("/v3/kv/put", request)["header"]["revision"]), text))


def share(times, part):
    return times[math.ceil(len(times) * part) - 1]


def report_puts(fleet, etcd, rounds, versions):
    members = [member.process.pid for member in etcd.members]
    for name, shape in (("1 table of 256 backends", (1, 256)), ("64 tables of 64 backends", (64, 64))):
        measure_put(fleet, etcd, table(*shape, next(versions)))  # not counted: it replaces another kind of table
        before = [sum(map(cpu_s, pids)) for pids in (members, fleet.pids)]
        runs = [measure_put(fleet, etcd, table(*shape, next(versions))) for _ in range(rounds)]
        used = [1e3 * (sum(map(cpu_s, pids)) - old) / rounds / len(fleet.pids) for pids, old in zip((members, fleet.pids), before, strict=True)]
        half, most, every = (statistics.median(share(run, part) for run in runs) for part in (0.5, 0.99, 1))
        print(f"  {name} ({len(table(*shape, 0)) / 1000:.0f} kB): 50 % after {half:.3f} s, 99 % after {most:.3f} s, all after {every:.3f} s;"
              f" 99 % in the slowest of {rounds} runs: {max(share(run, 0.99) for run in runs):.3f} s;"
              f" CPU time for each of them: etcd {used[0]:.1f} ms, itself {used[1]:.1f} ms", flush=True)


def rest(pids):
    """CPU time of each process for a second at rest, in ms."""
    before, start = [cpu_s(pid) for pid in pids], time.monotonic()
    time.sleep(REST_S)
    return [1e3 * (cpu_s(pid) - old) / (time.monotonic() - start) for pid, old in zip(pids, before, strict=True)]


def report_rest(pids, etcd):
    members = [member.process.pid for member in etcd.members]
    used = rest(members + pids)
    etcd_ms, each_ms = used[:len(members)], used[len(members):]
    print(f"  at rest: members of etcd: {', '.join(f'{each:.0f}' for each in etcd_ms)} ms of CPU time a second,"
          f" PSS {', '.join(f'{pss_kib(pid) / 1024:.0f}' for pid in members)} MiB", end="")
    if pids:
        sizes = sorted(map(pss_kib, pids))
        print(f"; each of the others: {statistics.mean(each_ms):.2f} ms a second, PSS {statistics.median(sizes):.0f} KiB, largest {sizes[-1]} KiB", end="")
    print(f"; load of the machine {os.getloadavg()[0]:.1f}", flush=True)


def measure(start, rounds, etcd, versions):
    with contextlib.ExitStack() as stack:
        etcd.put(f"{PREFIX}/table", table(1, 256, next(versions)))
        fleet = start(stack)
        print(f"{len(fleet.pids)} {fleet.name}", flush=True)
        report_puts(fleet, etcd, rounds, versions)
        report_rest(fleet.pids, etcd)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    versions = itertools.count()
    with tempfile.TemporaryDirectory() as disk, tempfile.TemporaryDirectory(dir="/dev/shm") as memory, Etcd(Path(disk) / "etcd", 3) as etcd:
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; etcd alone")
        report_rest([], etcd)
        for name in ("one", "many"):
            Path(memory, name).mkdir()
        measure(lambda stack: Agents(Path(memory, "one"), etcd, 1, stack, look_ms=1000), rounds, etcd, versions)
        measure(lambda stack: Watchers(etcd, count, stack), rounds, etcd, versions)
        measure(lambda stack: Agents(Path(memory, "many"), etcd, count, stack, look_ms=60000), rounds, etcd, versions)


if __name__ == "__main__":
    main()
