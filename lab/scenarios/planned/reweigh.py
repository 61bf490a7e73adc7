# SPDX-License-Identifier: BSD-3-Clause
"""Several weights change at the same time, again and again."""

from lab.scenarios.planned.compare import OF_GLB, compare

SUMMARY = "four of twelve weights change, five times: at once (connections break), and by plan (none does)"
SHAPE = {"proxies": 12, **OF_GLB}
CHANGES, WEIGHTS = 5, (50, 200, 100, 400)
EACH = 60


def run(stage):
    table, proxies = stage.fleet.table, list(stage.fleet.proxies.values())
    tables = [table]
    for change in range(CHANGES):
        for number, weight in enumerate(WEIGHTS):
            table = table.changed(proxies[(5 * change + 3 * number) % len(proxies)].address, weight=weight)
        tables.append(table)
    compare(stage, tables, EACH, hops=8)
