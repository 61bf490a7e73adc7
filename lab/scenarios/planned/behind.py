# SPDX-License-Identifier: BSD-3-Clause
"""Directors do not change their tables at the same instant. A connection that one of them sends to a new proxy breaks at the others, unless
the proxy is a hop in their tables, too.
"""

from lab.scenarios.planned.compare import at_once, planned

SUMMARY = "one director is a table behind while three proxies are added: at once (connections break), or as draining first (none does)"
SHAPE = {"proxies": 12, "hops": 4}
ADDED = 3
EACH = 400


def run(stage):
    old = listed = new = stage.fleet.table
    for proxy in list(stage.fleet.proxies.values())[-ADDED:]:
        old, listed = old.without(proxy.address), listed.changed(proxy.address, state="draining")
    crowd = at_once(stage, [old, new], EACH)
    planned(stage, [old, listed, new], EACH, crowd)
