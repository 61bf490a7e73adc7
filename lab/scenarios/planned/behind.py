# SPDX-License-Identifier: BSD-3-Clause
"""Directors do not change their tables at the same instant. A connection that one of them sends to a new proxy breaks at the others, unless
the proxy is a hop in their tables, too.
"""

from lab.scenarios.planned.walk import Walk, broken_share, within

SUMMARY = "one director is a table behind while three proxies are added: at once (connections break), or as draining first (none does)"
SHAPE = {"proxies": 12, "hops": 4}
ADDED = 3
EACH = 500


def run(stage):
    fleet = stage.fleet
    old, listed, new = fleet.table, fleet.table, fleet.table
    for proxy in list(fleet.proxies.values())[-ADDED:]:
        old, listed = old.without(proxy.address), listed.changed(proxy.address, state="draining")

    walk = Walk(stage, old, EACH)
    walk.to(new)
    opened = walk.opened_with(new)
    broken = sum(1 for member in opened if member.broken)
    share = broken_share(fleet.running()[0], new, old)
    stage.note("at_once", {**walk.end(), "opened_with_new": len(opened), "broken_of_them": broken, "predicted_percent": round(100 * share, 1)})
    stage.expect("as many of the connections opened with the new table break as diff predicts", within(share, broken, len(opened)), (share, broken))
    stage.expect("connections opened with the old table continue", broken == len(walk.broken), len(walk.broken))
    stage.say(f"at once: {broken} of {len(opened)} connections opened with the new table break "
              f"({100 * broken / len(opened):.1f} %); diff predicts {100 * share:.1f} %")

    stage.start_capture()
    walk = Walk(stage, old, EACH, walk.crowd)
    walk.to(listed)
    walk.to(new)
    stage.note("planned", phases := walk.end())
    stage.expect("no connection breaks in two phases", phases["broken"] == 0, phases)
    stage.say(f"first as draining, then active: {phases['broken']} of {phases['connections']} connections break")
    stage.finish()
