# SPDX-License-Identifier: BSD-3-Clause
"""A wrong health check must not take all proxies out of the table."""

from lab.tools import wait_until

SUMMARY = "health checks fail on two of three proxies, then on all: panic mode keeps all proxies in the tables"
SHAPE = {"healthcheck": True}
PANIC = "panic: less than 50 % of its backends are healthy"


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    doubt(stage, "two", ["proxy-1", "proxy-2"])
    stage.start_capture()
    doubt(stage, "three", ["proxy-3"])

    for proxy in fleet.proxies.values():
        proxy.pass_checks(True)
    for each in fleet.healthchecks():
        wait_until(lambda each=each: settled(each, False, "healthy", 3), f"the end of panic on {each.director.name}")
    share(stage, "over")
    stage.say("all checks pass again: panic ends")
    stage.settle()
    stage.finish()


def doubt(stage, label, names):
    """Makes the checks of more proxies fail. Clients notice nothing, but the log and the status report panic."""
    fleet = stage.fleet
    for name in names:
        fleet.proxies[name].pass_checks(False)
    failing = sum(1 for proxy in fleet.proxies.values() if not proxy.passes_checks())
    for each in fleet.healthchecks():
        wait_until(lambda each=each: settled(each, True, "unhealthy", failing), f"panic on {each.director.name}")
        stage.expect("panic is in the log", PANIC in each.text(), each.log)
    share(stage, label)
    stage.say(f"{failing} of {len(fleet.proxies)} proxies fail their checks: all count as healthy and get new connections")


def settled(healthcheck, panics, verdict, count):
    """Whether `count` proxies have the verdict, and the director uses a table in which all proxies are healthy."""
    return (healthcheck.panics() == panics and list(healthcheck.verdicts().values()).count(verdict) == count
            and all(healthcheck.written_health().values()) and healthcheck.in_use())


def share(stage, label):
    """The one healthy proxy must not get the traffic of three."""
    new = stage.new_connections(label, at_least=100)
    stage.note(label, new)
    stage.expect("every proxy gets new connections", set(new) == set(stage.fleet.proxies), new)
