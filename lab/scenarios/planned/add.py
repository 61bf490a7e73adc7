# SPDX-License-Identifier: BSD-3-Clause
"""Many proxies are added at the same time."""

from lab.scenarios.planned.compare import OF_GLB, compare

SUMMARY = "eight proxies are added to four: at once (connections break), and by plan (none does)"
SHAPE = {"proxies": 12, **OF_GLB}
AT_FIRST = 4
EACH = 300


def run(stage):
    old, new = stage.fleet.table, stage.fleet.table
    for proxy in list(stage.fleet.proxies.values())[AT_FIRST:]:
        old = old.without(proxy.address)
    compare(stage, [old, new], EACH, hops=2)
