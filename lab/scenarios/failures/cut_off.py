# SPDX-License-Identifier: BSD-3-Clause
"""Like proxy-killed, but the health checks find out and change the tables."""

import time

from lab.load import TIMEOUT_S
from lab.stage import Capture
from lab.tools import cli_json

SUMMARY = "a proxy's link is cut: only its own connections break, and it gets no new ones once its checks fail"
SHAPE = {"healthcheck": True}
VICTIM = "proxy-2"


def run(stage):
    fleet = stage.fleet
    own = stage.start_load()["held_by_proxy"][VICTIM]
    old_table = fleet.running()[0].build_table(fleet.table, "before")
    stage.new_connections("cut")
    cut = time.monotonic()
    fleet.proxies[VICTIM].power_off()
    stage.say(f"the link of {VICTIM}, which has {own} long-lived connections, is cut")
    stage.follow(VICTIM, healthy=False, since=cut)
    stage.start_capture()
    new = stage.new_connections("avoided", at_least=60)
    stage.expect("the other proxies get new connections", set(new) == set(fleet.proxies) - {VICTIM}, new)
    stage.settle(TIMEOUT_S + 1)

    report = stage.load.report()
    stage.expect("all connections to this proxy break", len(report["held_broken"]) == own, len(report["held_broken"]))
    late = [each for each in report["short_broken"] if each["label"] != "cut"]
    stage.expect("no connection opened after the change of tables breaks", not late, late)
    stage.expect_only_its_own(report["short_broken"], VICTIM, old_table)
    stage.note("own", own + len(report["short_broken"]))
    stage.say(f"its connections broke, and so did {len(report['short_broken'])} that clients opened before the tables changed")
    stage.finish(allowed_broken=(VICTIM, "cut"))
    sent = sent_to(fleet, fleet.proxies[VICTIM].address)
    stage.expect("no director sends it packets of clients any more", not sent, sent[:5])


def sent_to(fleet, address):
    """The packets of clients that directors sent to a proxy. Connections alone would not show this: a repeated SYN may reach
    another proxy."""
    return [
        packet["inner"] for director in fleet.running()
        for packet in cli_json("decode", Capture.path(director.link.device))["packets"]
        if packet["destination"] == address and packet["inner"]["source"] != director.link.address]
