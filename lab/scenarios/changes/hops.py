# SPDX-License-Identifier: BSD-3-Clause
"""Packets that pass more than two proxies."""

SUMMARY = "rows of 4 hops: three of six proxies are drained at the same time"
SHAPE = {"hops": 4, "proxies": 6}
DRAINED = ("proxy-1", "proxy-2", "proxy-3")


def run(stage):
    fleet, table = stage.fleet, stage.fleet.table
    stage.start_load()
    for name in DRAINED:
        table = table.changed(fleet.proxies[name].address, state="draining")
    fleet.publish(table)
    stage.start_capture()
    new = stage.new_connections("drained", at_least=60)
    stage.expect("draining proxies get no new connection", not set(new) & set(DRAINED), new)
    stage.say(f"{', '.join(DRAINED)} drain: they keep their connections and get no new ones")
    stage.settle(1)
    stage.expect(
        "packets take a second, third and fourth chance",
        sum(each["forwarded_to_alternate"] for each in fleet.redirect_totals().values()) > 0)
    stage.finish()
