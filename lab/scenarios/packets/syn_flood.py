# SPDX-License-Identifier: BSD-3-Clause
"""A SYN flood: directors forward SYNs like other packets, and proxies answer them with SYN cookies."""

import subprocess
import sys

from lab.tools import TREE, LabError
from lab.topology import HTTP_PORT, VIP4, VIP6, VIPS
from lab.wire import MSS_1460, SYN, TCP, Cable, ip_packet, tcp_segment

SUMMARY = "100 000 SYNs per second: proxies answer with SYN cookies, in the kernel or in XDP; other clients do not suffer"
PER_SECOND = 100_000
BY_KERNEL_SYNS, BY_XDP_SYNS = 300_000, 500_000
SOURCES = 16_384  # per family. Many more than the queues hold, because XDP leaves the SYN of a queued request to the kernel


def source(vip, number):
    """An address of the networks for benchmarks (RFC 2544, RFC 5180)."""
    return f"2001:2::{number:x}" if ":" in vip else f"198.18.{number >> 8}.{number & 255}"


def frames(cable, sources=SOURCES):
    """A SYN frame from each source, in hexadecimal, one per line."""
    return "\n".join(frame.hex() for frame in _frames(cable, sources))


def _frames(cable, sources):
    for number in range(sources):
        for vip in VIPS:
            client = source(vip, number)
            segment = tcp_segment(
                client, vip, (1024 + number, HTTP_PORT), number * 65_537, 0, SYN, options=MSS_1460)
            ethertype = b"\x86\xdd" if ":" in vip else b"\x08\x00"
            yield cable.ethernet + ethertype + ip_packet(client, vip, TCP, segment)


class Flood:
    def __init__(self, client, lines, syns, per_second=PER_SECOND):
        self.process = client.start(
            sys.executable, "-B", f"{TREE}/lab/flood.py", "eth0", str(syns), str(per_second),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(lines)
        self.process.stdin.close()
        if self.process.stdout.readline() != "sending\n":
            raise LabError("the flood did not start: see its message above")

    def end(self):
        """(SYNs sent, SYNs per second)"""
        sent, seconds = self.process.stdout.read().split()
        self.process.wait()
        return int(sent), round(int(sent) / float(seconds))


def growth(before, after, counter):
    return sum(after[name][counter] - before[name][counter] for name in after)


def flood(stage, label, lines, syns):
    """Returns counters of the proxies, and how long new connections took."""
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
    stage.say(f"{sent} SYNs, {per_second} per second; XDP answered {seen['by_xdp']}; {seen['let_in']} clients accepted by a cookie")
    stage.say(f"new connections of other clients took {seen['p50']} ms (median), {seen['p90']} ms (90th percentile)")
    return seen


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    # The sources do not answer, so no RST removes a request from a proxy's queue.
    fleet.network.router.ip("route add blackhole 198.18.0.0/15", "route add blackhole 2001:2::/48")
    stage.say(f"SYNs to port {HTTP_PORT} of {VIP4} and {VIP6}, from {2 * SOURCES} addresses that never answer")
    lines = frames(Cable(fleet.network))
    kernel = flood(stage, "kernel", lines, BY_KERNEL_SYNS)
    stage.expect("XDP leaves SYNs to the kernel without --syn-cookies", kernel["by_xdp"] == 0, kernel)

    stage.say("on every proxy: glb-redirect attach eth0 --syn-cookies on")
    for proxy in fleet.proxies.values():
        proxy.host.sysctl({f"net.{family}.conf.lo.forwarding": 1 for family in ("ipv4", "ipv6")})
        proxy.attach("--syn-cookies", "on")
    xdp = flood(stage, "xdp", lines, BY_XDP_SYNS)
    stage.expect("XDP answers SYNs", xdp["by_xdp"] > 0, xdp)
    stage.expect("proxies accept the cookies of XDP", xdp["let_in"] > 0, xdp)
    # Everything takes longer on a busy machine, and the load changes meanwhile. Without cookies, clients would wait for seconds.
    stage.expect("new connections of other clients take no longer than before", xdp["p50"] < 4 * kernel["p50"], (xdp, kernel))
    stage.new_connections("calm", at_least=60)
    stage.finish()
