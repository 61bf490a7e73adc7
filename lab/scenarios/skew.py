# SPDX-License-Identifier: BSD-3-Clause
"""A deployment that hangs half-way must not hurt."""

import time

SUMMARY = "two directors with tables of different generations for 10 s, connections moving between them"
SKEW_S = 10


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    new_table = fleet.table.changed(fleet.proxies["proxy-2"].address, state="draining")
    ahead, behind = fleet.running()
    start = time.monotonic()
    ahead.reload(new_table)
    stage.say(f"{ahead.name} knows that proxy-2 drains, {behind.name} does not")
    stage.settle(2)
    stage.start_capture()
    # Every connection is seen by both: those of one director move to the other, and back.
    for director, other in ((ahead, behind), (behind, ahead)):
        fleet.routes.withdraw(director)
        stage.say(f"all connections move to {other.name}")
        stage.settle(2)
        fleet.routes.add(director)
        stage.settle(1)
    digests = {director.stats()["digest"] for director in (ahead, behind)}
    stage.expect("the directors' tables differ", len(digests) == 2, digests)
    time.sleep(max(0, start + SKEW_S - time.monotonic()))
    fleet.publish(new_table)
    stage.say("both know")
    stage.settle(1)
    stage.finish()
