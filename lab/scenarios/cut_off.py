# SPDX-License-Identifier: BSD-3-Clause
"""As proxy-killed, but nobody has to tell the directors."""

import time

from lab.load import TIMEOUT_S
from lab.stage import Capture
from lab.tools import cli_json

SUMMARY = "a proxy's cable is cut: only its own connections break; its checks fail, and none is new there"
SHAPE = {"healthcheck": True}
VICTIM = "proxy-2"


def run(stage):
    fleet = stage.fleet
    own = stage.start_load()["held_by_proxy"][VICTIM]
    old_table = fleet.running()[0].build_table(fleet.table, "before")
    stage.new_connections("cut")
    cut = time.monotonic()
    fleet.proxies[VICTIM].power_off()
    stage.say(f"{VICTIM}, which has {own} long-lived connections, is cut off")
    stage.follow(VICTIM, healthy=False, since=cut)
    stage.start_capture()
    new = stage.new_connections("avoided", at_least=60)
    stage.expect("the others get new connections", set(new) == set(fleet.proxies) - {VICTIM}, new)
    stage.settle(TIMEOUT_S + 1)

    report = stage.load.report()
    stage.expect("all connections to it break", len(report["held_broken"]) == own, len(report["held_broken"]))
    late = [each for each in report["short_broken"] if each["label"] != "cut"]
    stage.expect("no connection opened later breaks", not late, late)
    stage.expect_only_its_own(report["short_broken"], VICTIM, old_table)
    stage.note("own", own + len(report["short_broken"]))
    stage.say(f"its own connections broke, and {len(report['short_broken'])} that were opened before the tables followed")
    stage.finish(allowed_broken=(VICTIM, "cut"))
    sent = sent_to(fleet, fleet.proxies[VICTIM].address)
    stage.expect("no director sends it a client's packet any more", not sent, sent[:5])


def sent_to(fleet, address):
    """Clients' packets that directors sent to a proxy. A connection alone may hide it: a repeated SYN finds another proxy."""
    return [
        packet["inner"] for director in fleet.running()
        for packet in cli_json("decode", Capture.path(director.leg.device))["packets"]
        if packet["destination"] == address and packet["inner"]["source"] != director.leg.address]
