# SPDX-License-Identifier: BSD-3-Clause
"""A proxy dies in a roll-out. The health checks of each director find out, and the roll-out goes on."""

from lab.load import TIMEOUT_S
from lab.scenarios.fleet.rollouts import Rollouts, Watcher

SUMMARY = "a proxy loses power in a roll-out: only its own connections break, and the roll-out goes on beside the health checks"
SHAPE = {"directors": 3, "proxies": 6, "etcd": True, "healthcheck": True}
VICTIM = "proxy-6"


def run(stage):
    fleet = stage.fleet
    rollouts = Rollouts(stage)
    own = stage.start_load()["held_by_proxy"][VICTIM]
    old_table = fleet.running()[0].build_table(fleet.table, "before")
    stage.new_connections("dying")
    table = fleet.table
    for name, values in (("proxy-1", {"state": "draining"}), ("proxy-2", {"weight": 300}), ("proxy-3", {"weight": 50})):
        table = table.changed(fleet.proxies[name].address, **values)
    with Watcher(stage) as watcher:
        rollouts.start(table)
        rollouts.wait_step(1)
        fleet.proxies[VICTIM].power_off()
        rollouts.finish()
    watcher.check(rollouts.published)
    used = {name: each["table"]["revision"] for name, each in fleet.etcd.directors().items()}
    stage.expect("all directors use the wanted table", len(used) == 3 and len(set(used.values())) == 1, used)
    stage.start_capture()
    stage.settle(TIMEOUT_S + 1)
    stage.say(f"{VICTIM}, which had {own} long-lived connections, lost power; the roll-out is done")
    new = stage.new_connections("after", at_least=60)
    stage.expect("neither the dead nor the draining proxy gets new connections", not {VICTIM, "proxy-1"} & set(new), new)
    broken = stage.load.report()["short_broken"]
    stage.expect_only_its_own(broken, VICTIM, old_table, fleet.running()[0].build_table(table, "wanted"))
    stage.note("own", own + len(broken))
    stage.finish(allowed_broken=(VICTIM, "dying"))
