# SPDX-License-Identifier: BSD-3-Clause
"""glb-redirect is replaced again and again while packets take the second chance. No packet may meet a host without program, and counters
may not fall.

With --previous two versions take turns. Without it, both are this build.
"""

import json
import subprocess

from lab.tools import BUILD, program

SUMMARY = "glb-redirect is upgraded and rolled back again and again on all proxies, while connections take the second chance"
SHAPE = {"directors": 1}
UPGRADES = True
RELOADS = 4
DRAINED = "proxy-2"
STARTS_AGAIN = "counters start at 0"  # part of what attach prints if the other version has other counters


def run(stage):
    fleet, previous = stage.fleet, stage.fleet.build
    stage.note("previous", str(previous) if previous != BUILD else "this build")
    stage.start_load()
    fleet.change(DRAINED, state="draining")
    followers = [follow(proxy) for proxy in fleet.proxies.values()]
    restarted = 0
    for number in range(stage.reloads):
        if number == stage.reloads // 2:
            stage.start_capture()
        for proxy in fleet.proxies.values():
            restarted += replace(stage, proxy, previous if number % 2 else BUILD)
    passed_on = {name: counters["forwarded_to_alternate"] for name, counters in fleet.redirect_totals().items()}
    stage.settle()
    now = fleet.redirect_totals()
    grown = {name: now[name]["forwarded_to_alternate"] - passed_on[name] for name in now if name != DRAINED}
    stage.expect("packets take the second chance", all(grown.values()), grown)
    for proxy, follower in zip(fleet.proxies.values(), followers, strict=True):
        status = proxy.redirect_status()
        stage.expect("glb-redirect follow of the first version follows the last one", status["addresses_followed"] and follower.poll() is None, status)
    stage.note("replaced", stage.reloads * len(fleet.proxies))
    stage.note("counters_restarted", restarted)
    stage.say(f"glb-redirect was replaced {stage.reloads} times on each proxy; its counters started again {restarted} times")
    stage.finish()


def follow(proxy):
    """The daemon of the first version, which its unit does not restart at an upgrade."""
    with open(proxy.log, "a") as log:
        return proxy.host.start(program("glb-redirect", proxy.build), "follow", stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def replace(stage, proxy, build):
    """Returns whether the counters started again, which attach must say."""
    before, proxy.build = proxy.stats(), build
    done = proxy.attach()
    after = proxy.stats()
    if STARTS_AGAIN in done.stderr:
        return True
    fallen = {name: (count, after[name]) for name, count in before.items() if after.get(name, 0) < count}
    stage.expect("no counter falls", not fallen, f"{proxy.name}: {json.dumps(fallen)}")
    return False
