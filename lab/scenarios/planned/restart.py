# SPDX-License-Identifier: BSD-3-Clause
"""All proxies are drained in batches, one batch after the other."""

from lab.scenarios.planned.compare import OF_GLB, compare

SUMMARY = "twelve proxies drain in batches of four, and nobody waits: at once (connections break), and by plan (none does)"
SHAPE = {"proxies": 12, **OF_GLB}
BATCH = 4
EACH = 60


def run(stage):
    full, proxies = stage.fleet.table, list(stage.fleet.proxies.values())
    tables = [full]
    for first in range(0, len(proxies), BATCH):
        table = full
        for proxy in proxies[first : first + BATCH]:
            table = table.changed(proxy.address, state="draining")
        tables.append(table)
    compare(stage, [*tables, full], EACH, hops=4)
