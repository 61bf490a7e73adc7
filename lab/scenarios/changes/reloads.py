# SPDX-License-Identifier: BSD-3-Clause
"""A reload swaps a pointer, so it may not lose a packet."""

import time

SUMMARY = "200 reloads in 20 s under load, alternating between two tables"
RELOADS, PERIOD_S = 200, 0.1


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    first = fleet.running()[0]
    tables = {"active": fleet.table, "draining": fleet.table.changed(fleet.proxies["proxy-1"].address, state="draining")}
    files = {name: first.build_table(table, name) for name, table in tables.items()}
    before = [director.stats()["generation"] for director in fleet.running()]

    start = time.monotonic()
    for number in range(stage.reloads):
        if number == stage.reloads // 2:
            stage.start_capture()
        for director in fleet.running():
            director.install_table(files["draining" if number % 2 == 0 else "active"])
            director.reload()
        time.sleep(max(0, start + (number + 1) * PERIOD_S - time.monotonic()))
    took = time.monotonic() - start

    after = [director.stats() for director in fleet.running()]
    done = [stats["generation"] - old for stats, old in zip(after, before, strict=True)]
    stage.expect("every reload took effect", done == [stage.reloads] * len(done), done)
    stage.expect("no reload failed", not any(stats["reload_failures"] for stats in after))
    stage.settle()
    missed = {director.name: director.missed() for director in fleet.running()}
    stage.expect("no port of a director loses a packet", not any(missed.values()), missed)
    stage.note("missed", missed)
    stage.note("reload_seconds", round(took, 1))
    stage.note("reloads", done)
    stage.say(f"{stage.reloads} reloads on each of {len(done)} directors")
    stage.finish()
