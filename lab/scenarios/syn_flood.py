# SPDX-License-Identifier: BSD-3-Clause
"""A SYN costs a director as much as any packet, and a proxy next to nothing once it answers with cookies."""

import subprocess
import sys

from lab.tools import TREE, LabError
from lab.topology import HTTP_PORT, VIP4, VIP6, VIPS
from lab.wire import MSS_1460, SYN, TCP, Cable, ip_packet, tcp_segment

SUMMARY = "a SYN flood of 100 000 a second: proxies answer with cookies, in XDP if told to; nobody else notices"
PER_SECOND = 100_000
BY_KERNEL_SYNS, BY_XDP_SYNS = 300_000, 500_000
SOURCES = 16_384  # of each family: many more than fit the queues, as a SYN of one that waits there is for the kernel
CURL_MS = 10  # what half of the new connections may take, from SYN to FIN


def source(vip, number):
    """Of networks that are for such tests: RFC 2544, RFC 5180."""
    return f"2001:2::{number:x}" if ":" in vip else f"198.18.{number >> 8}.{number & 255}"


def frames(cable):
    """SYNs from all sources, whole, one a line."""
    return "\n".join(frame.hex() for frame in _frames(cable))


def _frames(cable):
    for number in range(SOURCES):
        for vip in VIPS:
            client = source(vip, number)
            segment = tcp_segment(
                client, vip, (1024 + number, HTTP_PORT), number * 65_537, 0, SYN, options=MSS_1460)
            ethertype = b"\x86\xdd" if ":" in vip else b"\x08\x00"
            yield cable.ethernet + ethertype + ip_packet(client, vip, TCP, segment)


class Flood:
    def __init__(self, client, lines, syns):
        self.process = client.start(
            sys.executable, "-B", f"{TREE}/lab/flood.py", "eth0", str(syns), str(PER_SECOND),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(lines)
        self.process.stdin.close()
        if self.process.stdout.readline() != "sending\n":
            raise LabError("the flood did not start: see its message above")

    def end(self):
        """(SYNs sent, how many a second)"""
        sent, seconds = self.process.stdout.read().split()
        self.process.wait()
        return int(sent), round(int(sent) / float(seconds))


def growth(before, after, counter):
    return sum(after[name][counter] - before[name][counter] for name in after)


def flood(stage, label, lines, syns):
    """Returns what it was like for the proxies and for new clients."""
    fleet = stage.fleet
    before = fleet.redirect_totals()
    running = Flood(fleet.client, lines, syns)
    stage.load.mark(label)
    if not stage.capture:
        stage.start_capture()
    sent, per_second = running.end()
    stage.load.mark(f"after-{label}")
    after = fleet.redirect_totals()
    seen = {
        "sent": sent, "per_second": per_second,
        "reached": growth(before, after, "accepted_syn") + growth(before, after, "syn_cookie_sent"),
        "by_xdp": growth(before, after, "syn_cookie_sent"),
        "let_in": growth(before, after, "accepted_syn_cookie"),
        **stage.load.report()["short_ms_by_label"][label],
    }
    stage.note(label, seen)
    stage.expect("most SYNs reach a proxy", seen["reached"] > sent // 2, seen)
    stage.say(f"{sent} SYNs at {per_second} a second; XDP answered {seen['by_xdp']}; {seen['let_in']} clients let in by a cookie")
    stage.say(f"half of all new connections took up to {seen['p50']} ms, nine of ten up to {seen['p90']} ms")
    return seen


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    # Their owners are silent: no RST frees a proxy's queue.
    fleet.network.router.ip("route add blackhole 198.18.0.0/15", "route add blackhole 2001:2::/48")
    stage.say(f"A flood for port {HTTP_PORT} of {VIP4} and {VIP6}, from {2 * SOURCES} addresses that never answer")
    lines = frames(Cable(fleet.network))
    kernel = flood(stage, "kernel", lines, BY_KERNEL_SYNS)
    stage.expect("XDP leaves SYNs to the kernel unless told otherwise", kernel["by_xdp"] == 0, kernel)

    stage.say("glb-redirect attach eth0 --syn-cookies on, on every proxy")
    for proxy in fleet.proxies.values():
        proxy.host.sysctl({f"net.{family}.conf.lo.forwarding": 1 for family in ("ipv4", "ipv6")})
        proxy.attach("--syn-cookies", "on")
    xdp = flood(stage, "xdp", lines, BY_XDP_SYNS)
    stage.expect("XDP answers", xdp["by_xdp"] > 0, xdp)
    stage.expect("proxies take its cookies back", xdp["let_in"] > 0, xdp)
    stage.expect(f"half of the new connections take less than {CURL_MS} ms", xdp["p50"] < CURL_MS, xdp)
    stage.new_connections("calm", at_least=60)
    stage.finish()
