# SPDX-License-Identifier: BSD-3-Clause
"""A service stops: its checks fail, glb-healthcheck writes dst and builds the binary table, and the directors reload it."""

import itertools
import time

from lab.healthcheck import BOUND_S, INTERVAL_MS, TIMEOUT_MS, TRIGGER
from lab.tools import endpoint
from lab.topology import HTTP_PORT

SUMMARY = "nginx stops on a proxy and starts again: the tables follow its health checks, and open connections continue"
SHAPE = {"healthcheck": True}
VICTIM = "proxy-2"


def run(stage):
    fleet = stage.fleet
    own = stage.start_load()["held_by_proxy"][VICTIM]
    old_table = fleet.running()[0].build_table(fleet.table, "before")

    stage.new_connections("stopping")
    stopped = time.monotonic()
    fleet.proxies[VICTIM].stop_nginx()
    stage.say(f"nginx stops on {VICTIM}; new connections must avoid it within {TRIGGER} x {INTERVAL_MS} ms + {TIMEOUT_MS} ms + 1 s")
    stage.note("bound_s", BOUND_S)
    stage.follow(VICTIM, healthy=False, since=stopped)
    failed = [failed_probes(each, fleet.proxies[VICTIM].address) for each in fleet.healthchecks()]
    stage.expect(f"{TRIGGER} failed checks change the verdict", set(failed) == {TRIGGER}, failed)
    time.sleep(max(0, stopped + BOUND_S - time.monotonic()))
    stage.start_capture()
    stage.new_connections("avoiding")
    avoid(stage, own)
    refused = [each for each in stage.load.report()["short_broken"] if each["label"] == "stopping"]
    stage.expect("some new connections are refused at first", refused)
    stage.expect_only_its_own(refused, VICTIM, old_table)
    stage.say(f"{len(refused)} new connections were refused before the tables changed, none since")

    started = time.monotonic()
    fleet.proxies[VICTIM].start_nginx()
    stage.say(f"nginx starts on {VICTIM} again")
    stage.follow(VICTIM, healthy=True, since=started)
    new = stage.new_connections("back", at_least=60)
    stage.expect("the proxy gets new connections again", new.get(VICTIM, 0) > 0, new)
    stage.settle()
    stage.finish(may_refuse=("stopping",))


def avoid(stage, own):
    """Checks that the proxy gets no new connection and keeps its old ones."""
    victim, before = stage.fleet.proxies[VICTIM], stage.accepted_syns(VICTIM)
    old = victim.stats()["accepted_established"]
    new = stage.new_connections("avoided", at_least=100)
    stage.settle()
    stage.expect("no new connection reaches the proxy", VICTIM not in new, new)
    syns = stage.accepted_syns(VICTIM) - before
    stage.expect("no SYN reaches the proxy", syns == 0, syns)
    packets = victim.stats()["accepted_established"] - old
    second = sum(each["forwarded_to_alternate"] for each in stage.fleet.redirect_totals().values())
    stage.expect("its open connections continue, each by the second chance", second >= packets >= own, (second, packets, own))
    stage.say(f"its {own} long-lived connections continue by the second chance")


def failed_probes(healthcheck, address):
    """How many HTTP checks of a proxy failed in a row before its verdict changed."""
    log, check = healthcheck.text(), f"http {endpoint(address, HTTP_PORT)}/health"
    before = log[:log.index(f"backend {address}: {check}: healthy -> unhealthy")]
    probes = [line for line in before.splitlines() if f"info: {check}: " in line]
    return len(list(itertools.takewhile(lambda line: "/health: passed: " not in line, reversed(probes))))
