# SPDX-License-Identifier: BSD-3-Clause
"""No load balancer can save the connections of a dead proxy. It must not lose any others."""

from lab.load import TIMEOUT_S

SUMMARY = "a proxy loses power: only its own connections break, and it gets no new ones once the table has changed"
VICTIM = "proxy-2"


def run(stage):
    fleet = stage.fleet
    first = stage.start_load()
    own = first["held_by_proxy"][VICTIM]
    old_table = fleet.running()[0].build_table(fleet.table, "before")
    fleet.proxies[VICTIM].power_off()
    stage.say(f"{VICTIM}, which has {own} long-lived connections, loses power")
    stage.settle(0.3)
    fleet.change(VICTIM, healthy=False)
    stage.start_capture()
    new = stage.new_connections("unhealthy", at_least=60)
    stage.expect("no new connection reaches this proxy any more", VICTIM not in new, new)
    stage.say("the table marks it unhealthy: new connections go to the other proxies")
    stage.settle(TIMEOUT_S + 1)

    report = stage.load.report()
    stage.expect("all connections to this proxy break", len(report["held_broken"]) == own, len(report["held_broken"]))
    late = [each for each in report["short_broken"] if each["label"] == "unhealthy"]
    stage.expect("no connection opened after the change of tables breaks", not late, late)
    stage.expect_only_its_own(report["short_broken"], VICTIM, old_table)
    stage.note("own", own + len(report["short_broken"]))
    stage.finish(allowed_broken=(VICTIM, "start"))
