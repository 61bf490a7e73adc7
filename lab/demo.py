# SPDX-License-Identifier: BSD-3-Clause
"""The demo: a load balancer at work, losing a proxy and a director under a running download. Runs in a capsule."""

import os
import sys
import time

from lab.capsule import COLOURS
from lab.clients import finished_download, start_download
from lab.explain import explain
from lab.fleet import Fleet
from lab.proxy import DOWNLOAD_BYTES
from lab.stage import Capture, Result, Stage
from lab.tools import cli_json
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, HTTP_PORT, VIP4, VIP6, VIPS, Shape

SHORT_CONNECTIONS = 600  # for the shares
DOWNLOAD_PORT, DOWNLOAD_S = 16000, 8
BAR = 30  # characters of 100 %

KEPT = """\
The lab stays up. Look around:

  lab/lab status
  lab/lab exec client curl -s http://203.0.113.10/
  lab/lab shell proxy-1
  lab/lab down
"""


class Voice:
    """Colours for terminals only."""

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
    def __init__(self, voice):
        self.voice = voice
        self.failed = []

    def check(self, truth, text):
        self.voice.check(truth, text)
        if not truth:
            self.failed.append(text)

    def up(self):
        self.voice.say("client -> router (ECMP) -> 2 directors -> GUE -> 3 proxies -> client\n"
                       f"A service at {VIP4} and {VIP6}, in network namespaces.")
        start = time.monotonic()
        self.fleet = Fleet(Shape()).up()
        self.voice.step(f"Up in {time.monotonic() - start:.1f} s: {len(self.fleet.hosts())} hosts, static routes, "
                        f"glb-director on {self.fleet.shape.pmd.upper()}")
        self.stage = Stage(self.fleet, Result("demo", __doc__), lambda text: self.check(False, text))

    def packets(self):
        """A few connections and pings, each packet against the table."""
        self.voice.step("Packet by packet: what lookup predicts, what the directors sent")
        directors = self.fleet.running()
        capture = Capture(self.fleet.network.router, [director.leg.device for director in directors])
        for vip, address in ((VIP4, CLIENTS4[1]), (VIP6, CLIENTS6[1])):
            url = f"http://[{vip}]/" if ":" in vip else f"http://{vip}/"
            self.fleet.client.output(["curl", "-s", "--max-time", "5", "--interface", address, url])
            self.fleet.client.output(["ping", "-c", "1", "-W", "5", "-I", address, vip])
        capture.stop()
        total = equal = 0
        for director in directors:
            sent, same = explain(director, capture.path(director.leg.device), self.voice.say)
            total, equal = total + sent, equal + same
        self.check(total > 0 and equal == total, f"{equal} of {total} packets as lookup predicts")

    def long_lived(self):
        """Each one against the table."""
        self.voice.step("200 long-lived connections exchange data, to the end")
        load = self.stage.start_load(quiet=True)
        right = sum(
            self.fleet.owner(address, port, vip, ECHO_PORT) == proxy
            for (vip, address, port), proxy in self.stage.load.connections())
        self.check(right == load["held"], f"{right} of {load['held']} are where glb-director-cli lookup says")

    def shares(self):
        self.voice.step("New HTTP connections, and what the table predicts")
        counts = self.stage.new_connections("shares", at_least=SHORT_CONNECTIONS)
        total = sum(counts.values())
        shown = cli_json("show", self.fleet.running()[0].source)["tables"][0]["backends"]
        for backend in shown:
            name, predicted = self.fleet.proxy_at(backend["ip"]), backend["first_hop_percent"]
            seen = 100 * counts.get(name, 0) / total
            bar = "#" * round(seen * BAR / 100)
            self.voice.say(f"   {name}  table {predicted:5.1f} %   seen {seen:5.1f} %  {bar}")
        self.check(set(counts) == set(self.fleet.proxies), f"{total} connections, all answered")
        forwarded = {each.name: each.stats()["forwarded"] for each in self.fleet.running()}
        self.check(all(forwarded.values()), "packets forwarded: " + ", ".join(
            f"{name} {count}" for name, count in forwarded.items()))

    def downloads(self):
        ways = ((VIP4, CLIENTS4[3]), (VIP6, CLIENTS6[3]))
        owners = [self.fleet.owner(address, DOWNLOAD_PORT, vip, HTTP_PORT) for vip, address in ways]
        self.voice.step(f"Two slow downloads of {DOWNLOAD_BYTES // 1000000} MB: IPv4 from {owners[0]}, IPv6 from {owners[1]}")
        downloads = [
            start_download(self.fleet.client, address, DOWNLOAD_PORT, vip, f"/run/lab/got-{vip}",
                           DOWNLOAD_BYTES // DOWNLOAD_S)
            for vip, address in ways]
        self.stage.settle(1)
        self.drain(owners)
        self.kill_director()
        self.voice.step("The downloads end")
        for vip, download in zip(VIPS, downloads, strict=True):
            failed = finished_download(download, f"/run/lab/got-{vip}")
            self.stage.result.connections += 1
            self.stage.result.broken += failed is not None
            self.check(failed is None, f"http://{vip if ':' not in vip else f'[{vip}]'}/download: "
                       f"{failed or 'complete, SHA-256 as on the proxies'}")

    def drain(self, owners):
        drained = sorted(set(owners))
        self.voice.step(f"Drain {' and '.join(drained)}: no new connections, the old ones go on")
        table = self.fleet.table
        for name in drained:
            table = table.changed(self.fleet.proxies[name].address, state="draining")
        self.fleet.publish(table)
        new = self.stage.new_connections("drained", at_least=100)
        self.check(not set(new) & set(drained), f"of {sum(new.values())} new connections, 0 reached a draining proxy")
        self.stage.settle(1)
        chances = sum(stats["forwarded_to_alternate"] for stats in self.fleet.redirect_totals().values())
        self.check(chances > 0, f"{chances} packets of old connections took their second chance")

    def kill_director(self):
        self.voice.step("Kill director-1 with -9; 0.2 s later the router knows")
        director = self.fleet.directors["director-1"]
        director.kill()
        time.sleep(0.2)
        self.fleet.routes.withdraw(director)
        before = self.stage.load.report()["exchanges"]
        self.stage.settle(1)
        after = self.stage.load.report()["exchanges"]
        self.check(after > before, f"{after - before} answers since, all by way of director-2")

    def finish(self):
        self.stage.finish()
        result = self.stage.result
        self.voice.say(f"\ndemo: {result.broken} of {result.connections} connections broken")
        return bool(result.broken or result.failed or self.failed)


def run(keep):
    """Returns (the fleet, whether anything went wrong)."""
    demo = Demo(Voice())
    demo.up()
    demo.packets()
    demo.long_lived()
    demo.shares()
    demo.downloads()
    if keep:
        demo.voice.say(f"\n{KEPT.rstrip()}")
    wrong = demo.finish()
    return demo.fleet, wrong
