# SPDX-License-Identifier: BSD-3-Clause
"""Shared code of the scenarios with glb-announce. This module is not a scenario."""

import re
import signal
import subprocess
import time

from lab.net import mac
from lab.tools import LabError, read, wait_until
from lab.topology import VIP4, VIP6

PING_MS = 10  # between two echo requests
SETTLE_S = 0.4  # after the router's last change; replies that are later than this count as lost
PINGS = 2  # clients of each family whose packets pass the director
MORE_CLIENTS = (("-4", "icmp", VIP4, "198.51.100.{}/24"), ("-6", "ipv6-icmp", VIP6, "2001:db8:c::{}/64"))
FIRST, LAST = 100, 180  # their last numbers


class Ping:
    """A client that pings a VIP."""

    def __init__(self, client, source, vip):
        self.output = f"/run/lab/ping-{source}"
        with open(self.output, "w") as output:
            self.process = client.start("ping", "-n", "-D", "-i", str(PING_MS / 1000), "-I", source, vip, stdout=output)

    def replies(self):
        """[(number of the request, time of its reply)], sorted"""
        found = re.findall(r"^\[([\d.]+)\] .* icmp_seq=(\d+) ttl", read(self.output), re.MULTILINE)
        return sorted((int(number), float(when)) for when, number in found)

    def wait_reply(self):
        """Returns the number of a request whose reply came after this call."""
        start = time.time()
        return wait_until(lambda: max((number for number, when in self.replies() if when > start), default=0), "a reply to a ping")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


class Pings:
    """Clients that ping the VIPs through one director, by the ECMP hash of the router. They have replies when they are made."""

    def __init__(self, network, director):
        self.pings, link = [], mac(network.client, "eth0")
        for family, protocol, vip, form in MORE_CLIENTS:
            for address in self._clients(network.router, director, family, protocol, vip, form):
                source = address.split("/")[0]
                network.client.run("ip", "addr", "replace", address, "dev", "eth0", *(["nodad"] if family == "-6" else []))
                # A new IPv6 address does not hear the first question of the router, which asks again only after a second.
                network.router.ip(f"neigh replace {source} lladdr {link} nud permanent dev to-client")
                self.pings.append(Ping(network.client, source, vip))
        self.first = [ping.wait_reply() for ping in self.pings]

    @staticmethod
    def _clients(router, director, family, protocol, vip, form):
        found = []
        for number in range(FIRST, LAST):
            address = form.format(number)
            way = router.run(
                "ip", family, "route", "get", vip, "from", address.split("/")[0], "iif", "to-client", "ipproto", protocol).stdout
            if f"dev {director.link.device}" in way:
                found.append(address)
            if len(found) == PINGS:
                return found
        raise LabError(f"the router sends no client of {form} to {director.name}")

    def end(self):
        """Ends the pings when each has a reply again. Returns how many requests between the first and the last reply were lost, and
        the longest time in ms between two replies with a lost request in between."""
        last = [ping.wait_reply() for ping in self.pings]
        time.sleep(SETTLE_S)
        lost, longest_s = 0, 0
        for ping, first, end in zip(self.pings, self.first, last):
            ping.stop()
            replies = [reply for reply in ping.replies() if first <= reply[0] <= end]
            for before, after in zip(replies, replies[1:]):
                missing = after[0] - before[0] - 1
                lost += missing
                longest_s = max(longest_s, after[1] - before[1] if missing else 0)
        return lost, round(1000 * longest_s)


class Events:
    """Does something to a director, waits for the routes, and notes how many requests of its clients were lost, and for how long."""

    def __init__(self, stage):
        self.stage, self.fleet, self.routes = stage, stage.fleet, stage.fleet.routes
        self.planned, self.failures = {}, {}

    def plan(self, name, director, act, *left):
        """`left`: the directors that the router must use afterwards."""
        self.planned[name], _ = self._do(name, director, act, left)
        self.stage.expect(f"{name}: clients lose no packet", self.planned[name] == 0, f"{self.planned[name]} requests without a reply")

    def fail(self, name, director, act, *left):
        _, self.failures[name] = self._do(name, director, act, left)

    def _do(self, name, director, act, left):
        pings = Pings(self.fleet.network, director)
        start = time.monotonic()
        act()
        self.routes.wait_for(*(each.name for each in left))
        took = time.monotonic() - start
        time.sleep(SETTLE_S)
        lost, outage = pings.end()
        self.stage.say(f"{director.name}: {name}: new routes after {1000 * took:.0f} ms, {lost} requests lost, no reply for {outage} ms")
        return lost, outage


def run(stage, more_failures=None):
    """`more_failures`: a function that gets the Events and the second director, which it leaves as it was."""
    fleet, routes = stage.fleet, stage.fleet.routes
    one, two, three = fleet.directors.values()
    stage.start_load()
    stage.start_capture()
    events = Events(stage)

    def stop():
        """As systemd does: glb-announce withdraws and waits, then the director stops."""
        routes.announcers[one.name].stop()
        stage.expect("the router uses other directors before this one stops", one.name not in set.union(*routes.used()))
        fleet.retired.append(one.stop())

    def start():
        one.start()
        one.wait_ready()
        routes.announcers[one.name].start()

    events.plan("withdrawn by the operator", two, lambda: routes.announcers[two.name].tell("withdraw"), one, three)
    routes.announcers[two.name].tell("announce")
    events.plan("stopped", one, stop, two, three)
    events.plan("started", two, start, one, two, three)
    events.plan("gets a dead table", three, lambda: three.reload(all_draining(fleet)), one, two)
    three.reload(fleet.table)
    routes.wait_for(*fleet.directors)
    report = stage.load.report()
    broken = report["held_broken"] + report["short_broken"]
    stage.expect("the planned changes break no connection", not broken, broken[:5])
    stage.load.mark("failures")
    if more_failures:
        more_failures(events, two)
    events.fail("killed", one, one.kill, two, three)
    events.fail("freezes", two, lambda: two.process.send_signal(signal.SIGSTOP), three)
    two.process.send_signal(signal.SIGCONT)  # it must report its counters
    routes.wait_for(two.name, three.name)
    events.fail("loses its path to the router", three, lambda: cut(fleet.network.router, three), two)
    stage.note("planned_lost", events.planned)
    stage.note("failures_ms", events.failures)
    stage.settle()
    # A client's packets are lost until the routes follow. TCP sends them again, in most cases within the 3 s of the load.
    stage.finish(allowed_broken=("failures", *fleet.proxies))


def all_draining(fleet):
    table = fleet.table
    for proxy in fleet.proxies.values():
        table = table.changed(proxy.address, state="draining")
    return table


def cut(router, director):
    """Drops all packets of a director's link on the router. The link stays up, as behind a switch."""
    chains = (f"add chain netdev cut {hook} {{ type filter hook {hook} device {director.link.device} priority 0; policy drop; }}\n"
              for hook in ("ingress", "egress"))
    router.run("nft", "-f", "-", input="add table netdev cut\n" + "".join(chains))
