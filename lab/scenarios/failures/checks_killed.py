# SPDX-License-Identifier: BSD-3-Clause
"""The loss of the health checks must not change the traffic."""

import os
import time

from lab.healthcheck import TRIGGER
from lab.tools import endpoint, wait_until
from lab.topology import HTTP_PORT

SUMMARY = "every glb-healthcheck is killed (-9) while a proxy is unhealthy, and restarted: the tables do not change"
SHAPE = {"healthcheck": True}
SECONDS = 10  # how long glb-healthcheck is not running; --seconds changes it
FAILING = "proxy-2"


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    fleet.proxies[FAILING].pass_checks(False)
    stage.follow(FAILING, healthy=False, since=time.monotonic())
    for each in fleet.healthchecks():
        wait_until(lambda each=each: "unhealthy" in each.saved().values(), "the saved verdict")
    before = tables(fleet)

    killed = time.monotonic()
    for each in fleet.healthchecks():
        each.kill()
    stage.say(f"every glb-healthcheck is killed; nothing checks the proxies for {stage.seconds} s")
    stage.start_capture()
    avoided(stage, "dead")
    time.sleep(max(0, killed + stage.seconds - time.monotonic()))
    avoided(stage, "still-dead")

    logged = {each: len(each.text()) for each in fleet.healthchecks()}
    for each in fleet.healthchecks():
        each.start()
    for each in fleet.healthchecks():
        each.wait_ready()
        wait_until(lambda each=each: probes(fleet, each.text()[logged[each]:]) >= 2 * TRIGGER, "new probes")
        changes = [line for line in each.text()[logged[each]:].splitlines() if " -> " in line]
        stage.expect("no verdict changes", not changes, changes)
        writes = each.status()["dst"]["writes"]
        stage.expect("no table is written", writes == 0, writes)
    after = tables(fleet)
    stage.expect("the tables do not change", before == after, (before, after))
    avoided(stage, "again")
    stage.note("seconds_dead", stage.seconds)
    stage.say(f"every glb-healthcheck runs again and has checked every proxy {2 * TRIGGER} times: nothing has changed")

    fleet.proxies[FAILING].pass_checks(True)
    stage.follow(FAILING, healthy=True, since=time.monotonic())
    new = stage.new_connections("back", at_least=60)
    stage.expect("the checks notice a new change", new.get(FAILING, 0) > 0, new)
    stage.finish()


def avoided(stage, label):
    new, healthy = stage.new_connections(label, at_least=60), set(stage.fleet.proxies) - {FAILING}
    stage.expect("new connections still go to the healthy proxies only", set(new) == healthy, new)


def tables(fleet):
    """For each director: identity and time of its JSON file, and the digest of the table in use."""
    return [(os.stat(director.source).st_ino, os.stat(director.source).st_mtime_ns, director.stats()["digest"])
            for director in fleet.running()]


def probes(fleet, log):
    """The least number of HTTP checks that any proxy has in this log."""
    return min(log.count(f"info: http {endpoint(proxy.address, HTTP_PORT)}/health: ") for proxy in fleet.proxies.values())
