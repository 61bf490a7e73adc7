# SPDX-License-Identifier: BSD-3-Clause
"""Directors do not change their tables at the same instant. A connection that one of them sends to a new proxy breaks at the others, unless
the proxy is a hop in their tables, too.
"""

from lab.scenarios.planned.compare import compare
from lab.topology import HOPS

SUMMARY = "one director is a table behind while three proxies are added: at once (connections break), and by plan (none does)"
SHAPE = {"proxies": 12}
ADDED = 3
EACH = 400


def run(stage):
    old = new = stage.fleet.table
    for proxy in list(stage.fleet.proxies.values())[-ADDED:]:
        old = old.without(proxy.address)
    compare(stage, [old, new], EACH, HOPS)
