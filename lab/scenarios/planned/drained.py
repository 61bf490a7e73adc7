# SPDX-License-Identifier: BSD-3-Clause
"""A proxy is removed when it has proved that nobody uses it any more, and not before."""

import json
import subprocess

from lab.scenarios.planned.operator import HOSTS, REFUSED, edit, start_exporters
from lab.tools import program, read, wait_until

SUMMARY = "a proxy drains and proves that no connection is left: only then can it be removed and switched off"
DRAINED = "proxy-2"


def run(stage):
    fleet, proxy = stage.fleet, stage.fleet.proxies[DRAINED]
    held = stage.start_load()["held_by_proxy"][DRAINED]
    start_exporters(fleet)

    for director in fleet.running():
        edit(director, "drain", proxy.address)
    new = stage.new_connections("draining")
    stage.expect("a draining proxy gets no new connection", DRAINED not in new, new)
    wait_until(lambda: left(proxy) == held, lambda: f"{DRAINED} to have {held} connections, not {left(proxy)}")
    waiting = proxy.host.start(program("glb-redirect"), "drained", "--wait", "1m", stdout=subprocess.DEVNULL)
    stage.say(f"{DRAINED} drains: glb-redirect drained counts its {held} connections")

    stage.start_capture()
    stage.say(refused_while_connections_are_left(stage, proxy))
    stage.expect("drained waits while connections are left", waiting.poll() is None)
    ended = stage.load.finish(DRAINED)
    code = waiting.wait(60)
    stage.expect("drained succeeds when no connection is left", code == 0, code)
    stage.say(f"their clients end all {ended}: drained returns {code}")

    for director in fleet.running():
        done = remove_when_unused(director, proxy)
        stage.expect("edit removes a proxy that has no connections", done.returncode == 0, done.stderr)
    proxy.power_off()
    new = stage.new_connections("removed")
    stage.expect("a removed proxy gets no new connection", DRAINED not in new, new)
    stage.say(f"edit removes {DRAINED}, and it is switched off")
    stage.note("left", [held, 0])
    stage.settle(1)
    stage.finish()


def remove(director, proxy):
    return edit(director, "remove", proxy.address, "--proxies", HOSTS, check=False)


def remove_when_unused(director, proxy):
    """Repeats the edit while it is refused: the exporter reads the sockets again after at most 5 s."""
    done = None

    def attempt():
        nonlocal done
        done = remove(director, proxy)
        return done.returncode != REFUSED

    wait_until(attempt, lambda: f"edit to see that no connection is left; it says: {done.stderr}")
    return done


def left(proxy):
    done = proxy.host.run(program("glb-redirect"), "drained", "--json", check=False)
    return sum(each["connections"] for each in json.loads(done.stdout)["vips"].values())


def refused_while_connections_are_left(stage, proxy):
    director = stage.fleet.running()[0]
    before = read(director.source)
    done = remove(director, proxy)
    stage.expect("edit does not remove a proxy that has connections", done.returncode == REFUSED, done.stdout + done.stderr)
    stage.expect("edit names the proxy that it does not remove", proxy.address in done.stderr, done.stderr)
    stage.expect("the table is as before", read(director.source) == before)
    return f"edit: {done.stderr.strip().rpartition(f'{director.source}: ')[2]}"
