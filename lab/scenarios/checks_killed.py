# SPDX-License-Identifier: BSD-3-Clause
"""Who only watches the traffic must not be able to stop it."""

import os
import time

from lab.healthcheck import TRIGGER
from lab.tools import wait_until

SUMMARY = "every glb-healthcheck is killed (-9), a proxy being unhealthy, and started again: the tables stay as they are"
SHAPE = {"healthcheck": True}
SECONDS = 10  # for a minute: --seconds 60
FAILING = "proxy-2"


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    fleet.proxies[FAILING].say_healthy(False)
    stage.follow(FAILING, healthy=False, since=time.monotonic())
    for each in fleet.healthchecks():
        wait_until(lambda each=each: "unhealthy" in each.saved().values(), "the verdict to be saved")
    before = tables(fleet)

    killed = time.monotonic()
    for each in fleet.healthchecks():
        each.kill()
    stage.say(f"all are killed, for {stage.seconds} s")
    stage.start_capture()
    avoided(stage, "dead")
    time.sleep(max(0, killed + stage.seconds - time.monotonic()))
    avoided(stage, "still-dead")

    logged = {each: len(each.text()) for each in fleet.healthchecks()}
    for each in fleet.healthchecks():
        each.start()
    for each in fleet.healthchecks():
        each.wait_ready()
        wait_until(lambda each=each: probes(fleet, each.text()[logged[each]:]) >= 2 * TRIGGER, "probes")
        changes = [line for line in each.text()[logged[each]:].splitlines() if " -> " in line]
        stage.expect("no verdict changes", not changes, changes)
        writes = each.status()["dst"]["writes"]
        stage.expect("no table is written", writes == 0, writes)
    after = tables(fleet)
    stage.expect("the tables stay as they are", before == after, (before, after))
    avoided(stage, "again")
    stage.note("seconds_dead", stage.seconds)
    stage.say(f"they are back, and have checked every proxy {2 * TRIGGER} times: nothing has changed")

    fleet.proxies[FAILING].say_healthy(True)
    stage.follow(FAILING, healthy=True, since=time.monotonic())
    new = stage.new_connections("back", at_least=60)
    stage.expect("what changes now is noticed", new.get(FAILING, 0) > 0, new)
    stage.finish()


def avoided(stage, label):
    new, healthy = stage.new_connections(label, at_least=60), set(stage.fleet.proxies) - {FAILING}
    stage.expect("new connections go to the healthy proxies, as before", set(new) == healthy, new)


def tables(fleet):
    """Of each director: the very file that was written, and what is in use."""
    return [(os.stat(director.source).st_ino, os.stat(director.source).st_mtime_ns, director.stats()["digest"])
            for director in fleet.running()]


def probes(fleet, log):
    """How often the proxy has been checked that was checked least."""
    return min(log.count(f"info: http {proxy.address}:80/health: ") for proxy in fleet.proxies.values())
