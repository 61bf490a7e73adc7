# SPDX-License-Identifier: BSD-3-Clause
"""A deployment that stops halfway must not break connections."""

import time

SUMMARY = "two directors use different tables for 10 s, and connections move between the directors"
SKEW_S = 10


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    new_table = fleet.table.changed(fleet.proxies["proxy-2"].address, state="draining")
    ahead, behind = fleet.running()
    start = time.monotonic()
    ahead.reload(new_table)
    stage.say(f"{ahead.name} has a table in which proxy-2 drains, {behind.name} does not")
    stage.settle(2)
    stage.start_capture()
    # Connections of each director move to the other and back, so that both directors get packets of every connection.
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
    stage.say("both directors have the same table")
    stage.settle(1)
    stage.finish()
