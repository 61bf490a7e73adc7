# SPDX-License-Identifier: BSD-3-Clause
"""A check that is wrong must not empty the edge."""

from lab.tools import wait_until

SUMMARY = "the page that checks ask for fails on two of three proxies, then on all: panic, and the tables stay as they are"
SHAPE = {"healthcheck": True}
PANIC = "panic: less than 50 % of its backends are healthy"


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    doubt(stage, "two", ["proxy-1", "proxy-2"])
    stage.start_capture()
    doubt(stage, "three", ["proxy-3"])

    for proxy in fleet.proxies.values():
        proxy.say_healthy(True)
    for each in fleet.healthchecks():
        wait_until(lambda each=each: settled(each, False, "healthy", 3), f"panic to be over at {each.director.name}")
    share(stage, "over")
    stage.say("all checks pass again: panic is over")
    stage.settle()
    stage.finish()


def doubt(stage, label, names):
    """The checks of more proxies fail. Nothing changes for clients, but it is said."""
    fleet = stage.fleet
    for name in names:
        fleet.proxies[name].say_healthy(False)
    failing = sum(1 for proxy in fleet.proxies.values() if not proxy.says_healthy())
    for each in fleet.healthchecks():
        wait_until(lambda each=each: settled(each, True, "unhealthy", failing), f"panic at {each.director.name}")
        stage.expect("panic is in the log", PANIC in each.text(), each.log)
    share(stage, label)
    stage.say(f"{failing} of {len(fleet.proxies)} fail their checks: all count as healthy, and get new connections")


def settled(healthcheck, panics, verdict, count):
    """Whether so many proxies have a verdict, and the director has a table in which all are healthy."""
    return (healthcheck.panics() == panics and list(healthcheck.verdicts().values()).count(verdict) == count
            and all(healthcheck.written_health().values()) and healthcheck.in_use())


def share(stage, label):
    """The only one that is healthy must not get what three can take."""
    new = stage.new_connections(label, at_least=100)
    stage.note(label, new)
    stage.expect("every proxy gets new connections", set(new) == set(stage.fleet.proxies), new)
