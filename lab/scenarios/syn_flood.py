# SPDX-License-Identifier: BSD-3-Clause
"""A SYN costs a director as much as any packet, and a proxy nothing once it answers with cookies."""

import subprocess
import sys

from lab.tools import TREE
from lab.topology import HTTP_PORT, VIP4
from lab.wire import MSS_1460, SYN, TCP, Cable, ip_packet, tcp_segment

SUMMARY = "a SYN flood: proxies answer with cookies, which their owner accepts; nobody else notices"
SYNS, PER_SECOND = 60_000, 20_000
SOURCES = 4096  # of 198.18.0.0/15, which is for such tests (RFC 2544)


def frames(cable):
    """SYNs from all sources, whole."""
    for number in range(SOURCES):
        source = f"198.18.{number >> 8}.{number & 255}"
        segment = tcp_segment(source, VIP4, (1024 + number, HTTP_PORT), number * 65_537, 0, SYN, options=MSS_1460)
        yield (cable.ethernet + b"\x08\x00" + ip_packet(source, VIP4, TCP, segment)).hex()


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    # Their owners are silent: no RST frees a proxy's queue.
    fleet.network.router.ip("route add blackhole 198.18.0.0/15\n")
    before = fleet.redirect_totals()
    flood = fleet.client.start(
        [sys.executable, "-B", f"{TREE}/lab/flood.py", "eth0", str(SYNS), str(PER_SECOND)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    flood.stdin.write("\n".join(frames(Cable(fleet.network))))
    flood.stdin.close()
    stage.start_capture()
    stage.say(f"{SYNS} SYNs for port {HTTP_PORT} at {PER_SECOND} a second, from {SOURCES} addresses that never answer")
    sent = int(flood.stdout.read() or 0)
    flood.wait()
    new = stage.new_connections("flooded", at_least=60)
    after = fleet.redirect_totals()
    syns = sum(after[name]["accepted_syn"] - before[name]["accepted_syn"] for name in after)
    cookies = {name: after[name]["accepted_syn_cookie"] - before[name]["accepted_syn_cookie"] for name in after}
    stage.note("syns", {"sent": sent, "accepted": syns})
    stage.note("cookies", cookies)
    stage.expect("every SYN reaches a proxy", syns >= sent, (sent, syns))
    stage.expect("proxies accept cookies", sum(cookies.values()) > 0, cookies)
    stage.say(f"all reach a proxy; {sum(cookies.values())} clients got in by a cookie, {sum(new.values())} more afterwards")
    stage.finish()
