# SPDX-License-Identifier: BSD-3-Clause
"""script/bench --end-to-end: what it measures and writes, and that nothing remains of it. No test looks at a time."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.tools import TIMEOUT_S, poll, wait_until
from support.tree import BUILD, DIRECTOR, TREE

COMMAND = [TREE / "script/bench", "--end-to-end", "--quick"]
ENVIRONMENT = {**os.environ, "GLB_BUILD": str(BUILD)}
MIDDLES = {"the kernel routes", *(f"glb-director, {driver}, {idle}" for driver in ("AF_XDP", "af_packet") for idle in ("poll", "sleep"))}

needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


def descendants(pid):
    """Processes below `pid`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(path.parent.name)
            found += [child, *descendants(child)]
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_director(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe") == str(DIRECTOR)
    except OSError:
        return False


@needs_two_cpus
def test_every_path_is_measured(tmp_path):
    file = tmp_path / "figures.json"
    done = subprocess.run([*COMMAND, "--json", file], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    rows = {row["what"]: row for row in json.loads(file.read_text()) if row["path"] == "end-to-end"}
    assert set(rows) == MIDDLES | {f"{middle}, glb-redirect" for middle in MIDDLES}
    for name, row in rows.items():
        assert f"\n| {name} |" in done.stdout
        assert "why" not in row, row
        assert row["rate"] > 0 and [share["percent"] for share in row["shares"]] == [10, 50, 90]
        for share in row["shares"]:
            assert 0 < share["received"] <= share["sent"] and share["p50"] <= share["p99"] <= share["p999"]


@needs_two_cpus
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_remains_after_an_interruption(number):
    """Namespaces end with the processes that hold them."""
    # In a session of its own: ^C reaches all processes of the terminal, so that the signal here goes to the group.
    bench = subprocess.Popen(COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT, start_new_session=True)
    wait_until(lambda: any(map(is_director, descendants(bench.pid))), "a director")
    below = descendants(bench.pid)
    if number == signal.SIGINT:
        os.killpg(bench.pid, number)
    else:
        bench.send_signal(number)
    assert bench.wait(TIMEOUT_S) in (128 + number, -number)
    poll(lambda: not any(map(alive, below)), TIMEOUT_S)
    assert [pid for pid in below if alive(pid)] == []


def test_one_cpu_is_an_error():
    done = subprocess.run(["taskset", "-c", str(min(os.sched_getaffinity(0))), *COMMAND], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 1 and done.stderr == "script/bench --end-to-end: needs two CPUs: one for the load and one for the director\n"


@needs_two_cpus
def test_a_director_that_does_not_start_is_said_in_its_row(tmp_path):
    """As on a kernel whose veth pairs cannot do AF_XDP."""
    script = ("import sys; sys.path.insert(0, 'bench/end_to_end'); import run; run.VDEVS['AF_XDP'] = 'net_af_xdp0,iface=missing'; "
              "run.CONTESTANTS = run.CONTESTANTS[1:4]; run.main()")
    done = subprocess.run([sys.executable, "-c", script, "--quick"], cwd=TREE, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| glb-director")]
    assert [("did not run: " in row, row.split("|")[1].strip()) for row in rows] == [
        (True, "glb-director, AF_XDP, poll"), (True, "glb-director, AF_XDP, sleep"), (False, "glb-director, af_packet, poll")]
