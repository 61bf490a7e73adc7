# SPDX-License-Identifier: BSD-3-Clause
"""Roll-outs through etcd, each with a fault in its middle."""

import time

from lab.scenarios.fleet.rollouts import Rollouts, Watcher
from lab.tools import wait_until

SUMMARY = "glb-fleet rolls tables out while etcd's leader and the leading agent are killed, and a director is cut off from etcd"
SHAPE = {"directors": 3, "proxies": 8, "hops": 6, "etcd": True}
CUT = "director-2"
OTHER_PORT = 8080


def run(stage):
    rollouts = Rollouts(stage)
    with Watcher(stage) as watcher:
        shrink(stage, rollouts)
        stage.start_load()
        stage.start_capture()
        for each in (replace, reweigh, add_port, remove_port, abort, by_hand):
            each(stage, rollouts)
    watcher.check(rollouts.published)
    stage.note("plans", rollouts.plans)
    stage.note("states", [each["state"] for each in rollouts.ended()])
    stage.finish()


def address(stage, number):
    return stage.fleet.proxies[f"proxy-{number}"].address


def shrink(stage, rollouts):
    """Three proxies are spare at first."""
    table = stage.fleet.table
    for number in (4, 5, 6):
        table = table.changed(address(stage, number), state="inactive")
    rollouts.through(table, "--max-broken", "100")


def replace(stage, rollouts):
    """Half of the proxies are replaced while etcd's leader is killed."""
    table = stage.fleet.table
    for number in (1, 2, 3):
        table = table.changed(address(stage, number), state="draining")
        table = table.changed(address(stage, number + 3), state="active")
    rollouts.start(table)
    leader = stage.fleet.etcd.leader()
    leader.kill()
    rollouts.wait("done")
    leader.start()
    new = stage.new_connections("replaced")
    stage.say(f"three of five proxies were replaced while etcd's leader {leader.name} was killed; new connections reach {', '.join(sorted(new))}")
    stage.expect("draining proxies get no new connections", not {"proxy-1", "proxy-2", "proxy-3"} & set(new), new)


def reweigh(stage, rollouts):
    """Weights change, and the agent that leads is killed -9."""
    table = stage.fleet.table.changed(address(stage, 1), state="active", weight=300).changed(address(stage, 4), weight=50)
    rollouts.start(table)
    name = wait_until(lambda: rollouts.status()["leader"], "an agent to lead")
    stage.fleet.agents[name].kill()
    rollouts.wait("stopped", "done")
    stage.fleet.agents[name].start()
    wait_until(lambda: name in stage.fleet.etcd.directors(), f"{name} to be back in etcd", 60)
    if rollouts.state()[0] == "stopped":
        rollouts.resume()
    rollouts.finish()
    stage.say(f"weights changed while the agent that led, on {name}, was killed")


def add_port(stage, rollouts):
    """A VIP gets another port after a director was cut off from etcd for a while. It forwarded on."""
    fleet = stage.fleet
    director = fleet.directors[CUT]
    table = fleet.table.with_port(OTHER_PORT)
    fleet.etcd.cut(director)
    wait_until(lambda: CUT not in fleet.etcd.directors(), f"{CUT} to be gone from etcd", 60)
    fleet.etcd.mend(director)
    wait_until(lambda: CUT in fleet.etcd.directors(), f"{CUT} to be back in etcd", 60)
    rollouts.start(table)
    rollouts.finish()
    stage.say(f"a port was added after {CUT} had been cut off from etcd")


def remove_port(stage, rollouts):
    """The port goes, whose connections a plan counts as broken, though there are none. In the
    middle a director is cut off: the roll-out stops, and goes on when it is back."""
    fleet = stage.fleet
    director = fleet.directors[CUT]
    table = fleet.table.without_port(OTHER_PORT).changed(address(stage, 2), state="active")
    rollouts.start(table, "--max-broken", "100")
    fleet.etcd.cut(director)
    state = rollouts.wait("stopped", "done")
    stage.expect("the roll-out stops when a director vanishes", state == "stopped", state)
    before = time.monotonic()
    fleet.etcd.mend(director)
    wait_until(lambda: CUT in fleet.etcd.directors(), f"{CUT} to be back in etcd", 60)
    rollouts.resume()
    rollouts.finish()
    stage.say(f"a port was removed; the roll-out stopped when {CUT} was cut off, and went on {time.monotonic() - before:.0f} s later")


def abort(stage, rollouts):
    before = stage.fleet.table
    rollouts.start(before.changed(address(stage, 3), state="active", weight=200))
    rollouts.wait_step(1)
    rollouts.abort()
    stage.fleet.table = before
    rollouts.finish()
    stage.say("an operator aborted a roll-out in its middle; the way back is done")


def by_hand(stage, rollouts):
    """Somebody puts a table that is none. No director uses it."""
    good = stage.fleet.etcd.get("table")
    stage.fleet.etcd.put("table", "{\"tables\": [")
    wait_until(lambda: all(each["refused"] for each in stage.fleet.etcd.directors().values()), "all directors to refuse the table")
    stage.fleet.etcd.put("table", good)
    wait_until(lambda: not any(each["refused"] for each in stage.fleet.etcd.directors().values()), "all directors to use the table again")
    stage.say("a bad table that was put by hand was refused by all directors")
