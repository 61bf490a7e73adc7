# SPDX-License-Identifier: BSD-3-Clause
"""More than one second chance."""

SUMMARY = "rows of 4 hops: three of six proxies drained at once"
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
    stage.say(f"{', '.join(DRAINED)} drain at once: their connections stay, none is new")
    stage.settle(1)
    stage.expect(
        "connections take second, third and fourth chances",
        sum(each["forwarded_to_alternate"] for each in fleet.redirect_totals().values()) > 0)
    stage.finish()
