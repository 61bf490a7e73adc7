# SPDX-License-Identifier: BSD-3-Clause
"""Changes of all kinds follow each other."""

from lab.scenarios.planned.compare import OF_GLB, compare

SUMMARY = "proxies are added, drained and filled, and weights change: at once (connections break), and by plan (none does)"
SHAPE = {"proxies": 12, **OF_GLB}
EACH = 60


def run(stage):
    fleet = stage.fleet
    address = {number: fleet.proxies[f"proxy-{number}"].address for number in range(1, 13)}
    table = fleet.table
    for number in (9, 10, 11, 12):
        table = table.without(address[number])
    tables = [table]

    def then(change):
        tables.append(change(tables[-1]))

    then(lambda table: table.with_backend(address[9]).with_backend(address[10]).changed(address[1], weight=300))
    then(lambda table: table.changed(address[2], state="draining").changed(address[3], state="draining"))
    then(lambda table: table.changed(address[2], state="active").changed(address[4], weight=50))
    then(lambda table: table.with_backend(address[11], "filling").with_backend(address[12]).changed(address[1], weight=100))
    then(lambda table: table.changed(address[3], state="active").changed(address[5], state="draining"))
    compare(stage, tables, EACH, hops=8)
