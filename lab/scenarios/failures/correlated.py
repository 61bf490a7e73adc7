# SPDX-License-Identifier: BSD-3-Clause
"""Several proxies die at the same time, as in a rack without power."""

import time

from lab.healthcheck import BOUND_S
from lab.tools import wait_until

SUMMARY = "the links of four of ten proxies are cut at the same time: all four leave the table in one write"
SHAPE = {"healthcheck": True, "directors": 1, "proxies": 10}
VICTIMS = ("proxy-2", "proxy-5", "proxy-6", "proxy-9")


def run(stage):
    fleet = stage.fleet
    held = stage.start_load(quiet=True)["held_by_proxy"]
    own = sum(held.get(name, 0) for name in VICTIMS)
    (checks,) = fleet.healthchecks()
    before, generation = checks.status()["dst"]["writes"], checks.director.stats()["generation"]

    stage.new_connections("cut")
    cut = time.monotonic()
    for name in VICTIMS:
        fleet.proxies[name].power_off()
    stage.say(f"the links of {', '.join(VICTIMS)}, which have {own} long-lived connections, are cut")
    expected = {proxy.address: name not in VICTIMS for name, proxy in fleet.proxies.items()}
    wait_until(lambda: checks.written_health() == expected and checks.in_use(), "the table without the four proxies")
    seconds = round(time.monotonic() - cut, 2)
    stage.start_capture()
    stage.note("seconds", seconds)
    stage.expect(f"the table follows within {BOUND_S} s and a reload", seconds < BOUND_S + 1, seconds)
    new = stage.new_connections("avoided", at_least=100)
    stage.expect("the other proxies get new connections", not set(new) & set(VICTIMS) and len(new) == len(expected) - len(VICTIMS), new)
    stage.settle(1)  # a second write would follow after 0.55 s

    writes = checks.status()["dst"]["writes"] - before
    reloads = checks.director.stats()["generation"] - generation
    stage.note("writes", writes)
    stage.note("reloads", reloads)
    stage.expect("one write and one reload", writes == reloads == 1, (writes, reloads))
    stage.say(f"all four left after {seconds} s, in {writes} write")
    stage.finish(allowed_broken=(*VICTIMS, "cut"))
