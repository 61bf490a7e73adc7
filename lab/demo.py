# SPDX-License-Identifier: BSD-3-Clause
"""The demo: a load balancer that loses a service, two proxies and a director under load. Runs in a capsule."""

import os
import sys
import time

from lab.capsule import COLOURS
from lab.clients import finished_download, start_download
from lab.explain import explain
from lab.fleet import Fleet
from lab.healthcheck import INTERVAL_MS, TRIGGER, follow
from lab.proxy import DOWNLOAD_BYTES
from lab.stage import Capture, Result, Stage
from lab.tools import COMMAND, cli_json
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, HTTP_PORT, VIP4, VIP6, VIPS, Shape

SHORT_CONNECTIONS = 600  # to measure the shares of the proxies
STOPPED, STOPPING = "proxy-3", "stopping"  # the proxy whose service stops, and the label of connections meanwhile
DOWNLOAD_PORT, DOWNLOAD_S = 16000, 8
LEFT = "director-2"  # the director that is not killed
BAR = 30  # characters for 100 %

KEPT = f"""\
The lab is still up. Try:

  {COMMAND} status
  {COMMAND} exec client curl -s http://203.0.113.10/
  {COMMAND} shell proxy-1
  {COMMAND} exec director-2 curl -s 127.0.0.1:19521/status
  {COMMAND} down
"""


class Voice:
    """Prints the story, with colours if it goes to a terminal."""

    def __init__(self, stream=sys.stdout):
        self.stream = stream
        self.colours = (stream.isatty() or COLOURS in os.environ) and "NO_COLOR" not in os.environ
        self.number = 0

    def say(self, text=""):
        print(text, file=self.stream, flush=True)

    def paint(self, code, text):
        return f"\033[{code}m{text}\033[0m" if self.colours else text

    def step(self, text):
        self.number += 1
        self.say(f"\n{self.paint(1, f'{self.number}. {text}')}")

    def check(self, good, text):
        self.say(f"   {self.paint(32, 'ok  ') if good else self.paint('1;31', 'FAIL')} {text}")


class Demo:
    kept = KEPT

    def __init__(self, voice, shape):
        self.voice, self.shape = voice, shape  # fields of topology.Shape
        self.failed = []

    def check(self, truth, text):
        self.voice.check(truth, text)
        if not truth:
            self.failed.append(text)

    def introduce(self, directors, proxies):
        six = " over IPv6" if self.shape.get("underlay") == "ipv6" else ""
        self.voice.say(f"client -> router (ECMP) -> {directors} directors -> GUE{six} -> {proxies} proxies -> client\n"
                       f"A service at {VIP4} and {VIP6}, in network namespaces.")

    def up(self):
        self.introduce(2, 3)
        start = time.monotonic()
        self.fleet = Fleet(Shape(healthcheck=True, **self.shape)).up()
        self.voice.step(f"Up in {time.monotonic() - start:.1f} s: {len(self.fleet.hosts())} hosts, static routes, "
                        f"glb-director on {self.fleet.shape.pmd.upper()}")
        self.voice.say(f"   glb-healthcheck for each: HTTP and GUE checks of every proxy, every {INTERVAL_MS} ms")
        self.voice.say(f"   the table has {self.fleet.shape.hops} hops and balance {self.fleet.shape.balance}, as glb-director-cli new writes it")
        self.stage = Stage(self.fleet, Result("demo", __doc__), lambda text: self.check(False, text))

    def packets(self):
        """Compares each packet of a few connections and pings with the table."""
        self.voice.step("Compare each packet that the directors sent with what lookup predicts")
        directors = self.fleet.running()
        capture = Capture(self.fleet.network.router, [director.link.device for director in directors])
        for vip, address in ((VIP4, CLIENTS4[1]), (VIP6, CLIENTS6[1])):
            url = f"http://[{vip}]/" if ":" in vip else f"http://{vip}/"
            self.fleet.client.run("curl", "-s", "--max-time", "5", "--interface", address, url)
            self.fleet.client.run("ping", "-c", "1", "-W", "5", "-I", address, vip)
        capture.stop()
        total = equal = 0
        for director in directors:
            sent, same = explain(director, capture.path(director.link.device), self.voice.say)
            total, equal = total + sent, equal + same
        self.check(total > 0 and equal == total, f"{equal} of {total} packets are as lookup predicts")

    def long_lived(self):
        """Compares each connection with the table."""
        self.voice.step("Open 200 long-lived connections that exchange data until the end")
        load = self.stage.start_load(quiet=True)
        right = sum(
            self.fleet.owner(address, port, vip, ECHO_PORT) == proxy
            for (vip, address, port), proxy in self.stage.load.connections())
        self.check(right == load["held"], f"{right} of {load['held']} reach the proxy that glb-director-cli lookup names")

    def shares(self):
        self.voice.step("Compare new HTTP connections with what the table predicts")
        counts = self.stage.new_connections("shares", at_least=SHORT_CONNECTIONS)
        total = sum(counts.values())
        for name, backend in self.table().items():
            predicted = backend["first_hop_percent"]
            seen = 100 * counts.get(name, 0) / total
            bar = "#" * round(seen * BAR / 100)
            self.voice.say(f"   {name}  table {predicted:5.1f} %   seen {seen:5.1f} %  {bar}")
        self.check(set(counts) == set(self.fleet.proxies), f"{total} connections, all answered")
        forwarded = {each.name: each.stats()["forwarded"] for each in self.fleet.running()}
        self.check(all(forwarded.values()), "packets forwarded: " + ", ".join(
            f"{name} {count}" for name, count in forwarded.items()))

    def table(self):
        """{proxy: its part of the table}"""
        shown = cli_json("show", self.fleet.running()[0].source)["tables"][0]["backends"]
        return {self.fleet.proxy_at(backend["ip"]): backend for backend in shown}

    def follow(self, healthy, since):
        """Says when each step of a new verdict was done, and how the table changed."""
        before, address = self.table(), self.fleet.proxies[STOPPED].address
        checks = self.fleet.healthchecks()
        times = follow(checks, address, healthy, since)
        said = {
            "verdict": f"http: {checks[0].http_reason(address)}, {TRIGGER} times in a row",
            "dst": f"JSON table written, {STOPPED} is {'' if healthy else 'not '}healthy",
            "bin": "binary table built",
            "director": f"in use by {len(checks)} directors",
        }
        for step, text in said.items():
            self.voice.say(f"   {times[step]:.2f} s  {text}")
        for name, backend in self.table().items():
            was, is_now = before[name]["first_hop_percent"], backend["first_hop_percent"]
            health = "up" if backend["healthy"] else "down"
            self.voice.say(f"   {name}  {health:4}  first hop of {was:4.1f} % of the rows -> {is_now:4.1f} %")

    def stop_service(self):
        self.voice.step(f"Stop nginx on {STOPPED}: its health checks fail, and the tables change")
        self.stage.new_connections(STOPPING)
        since = time.monotonic()
        self.fleet.proxies[STOPPED].stop_nginx()
        self.follow(False, since)
        before = self.stage.load.report()["exchanges_by_proxy"][STOPPED]
        new = self.stage.new_connections("stopped", at_least=100)
        report = self.stage.load.report()
        refused = sum(1 for each in report["short_broken"] if each["label"] == STOPPING)
        self.check(STOPPED not in new and refused == len(report["short_broken"]),
                   f"{refused} new connections refused before the tables changed, 0 of {sum(new.values())} since")
        self.stage.settle()
        answers = self.stage.load.report()["exchanges_by_proxy"][STOPPED] - before
        held = report["held_by_proxy"][STOPPED]
        self.check(answers > 0, f"{held} long-lived connections to {STOPPED} continue: {answers} answers since then")

    def start_service(self):
        self.voice.step(f"Start nginx on {STOPPED} again: it gets new connections")
        since = time.monotonic()
        self.fleet.proxies[STOPPED].start_nginx()
        self.follow(True, since)
        new = self.stage.new_connections("started", at_least=100)
        self.check(new.get(STOPPED, 0) > 0, f"{new.get(STOPPED, 0)} of {sum(new.values())} new connections reach {STOPPED}")

    def downloads(self):
        ways = ((VIP4, CLIENTS4[3]), (VIP6, CLIENTS6[3]))
        owners = [self.fleet.owner(address, DOWNLOAD_PORT, vip, HTTP_PORT) for vip, address in ways]
        self.voice.step(f"Start two slow downloads of {DOWNLOAD_BYTES // 1000000} MB: IPv4 from {owners[0]}, IPv6 from {owners[1]}")
        downloads = [
            start_download(self.fleet.client, address, DOWNLOAD_PORT, vip, f"/run/lab/got-{vip}",
                           DOWNLOAD_BYTES // DOWNLOAD_S)
            for vip, address in ways]
        self.stage.settle(1)
        self.drain(owners)
        self.kill_director()
        self.voice.step("Wait for the downloads")
        for vip, download in zip(VIPS, downloads, strict=True):
            failed = finished_download(download, f"/run/lab/got-{vip}")
            self.stage.result.connections += 1
            self.stage.result.broken += failed is not None
            self.check(failed is None, f"http://{vip if ':' not in vip else f'[{vip}]'}/download: "
                       f"{failed or 'complete, with the right SHA-256'}")

    def second_chances(self):
        return sum(stats["forwarded_to_alternate"] for stats in self.fleet.redirect_totals().values())

    def drain(self, owners):
        drained = sorted(set(owners))
        self.voice.step(f"Drain {' and '.join(drained)}: no new connections, the old ones continue")
        table, before = self.fleet.table, self.second_chances()
        for name in drained:
            table = table.changed(self.fleet.proxies[name].address, state="draining")
        self.fleet.publish(table)
        new = self.stage.new_connections("drained", at_least=100)
        reached = sum(new.get(name, 0) for name in drained)
        self.check(reached == 0, f"{reached} of {sum(new.values())} new connections reached a draining proxy")
        self.stage.settle(1)
        chances = self.second_chances() - before
        self.check(chances > 0, f"{chances} packets of old connections took the second chance")

    def kill_director(self):
        self.voice.step("Kill director-1 (-9), and withdraw its route 0.2 s later")
        director = self.fleet.directors["director-1"]
        director.kill()
        time.sleep(0.2)
        self.fleet.routes.withdraw(director)
        before = self.stage.load.report()["exchanges"]
        self.stage.settle(1)
        after = self.stage.load.report()["exchanges"]
        self.check(after > before, f"{after - before} answers since then, all of them through director-2")

    def finish(self, keep):
        self.stage.finish(may_refuse=(STOPPING,))
        result = self.stage.result
        wrong = bool(result.broken or result.failed or self.failed)
        if keep and not wrong:
            self.voice.say(f"\n{self.kept.rstrip()}")
        self.voice.say(f"\ndemo: {result.broken} of {result.connections} connections broken")
        return wrong

    def play(self):
        self.up()
        self.packets()
        self.long_lived()
        self.shares()
        self.stop_service()
        self.start_service()
        self.downloads()


def run(keep, shape, story=Demo):
    """`shape`: fields of topology.Shape. Returns the fleet, and whether anything went wrong."""
    demo = story(Voice(), shape)
    demo.play()
    wrong = demo.finish(keep)
    return demo.fleet, wrong
