# SPDX-License-Identifier: BSD-3-Clause
"""A flood of packets that no bind matches, beside a BGP session: the director's kernel runs BIRD through the exception path."""

import subprocess
import sys

from lab.routing.bgp import numbered
from lab.net import mac
from lab.tools import TREE, LabError, check_tools, wait_until
from lab.topology import VIP4
from lab.wire import MSS_1460, SYN, TCP, ip_packet, tcp_segment

SUMMARY = "a flood of packets that no bind matches: BGP and BFD through the exception path stay up, other clients do not suffer"
SHAPE = {"directors": 2, "bgp": True, "exception_path": True}
PORT = 81  # of no bind
PER_SECOND, LEAST_PER_SECOND, FLOOD_S, SOURCES = 150_000, 5_000, 7, 4096
ATTEMPTS = 3  # a machine that does other things may not run BIRD for as long as a session lasts, but not in each flood
RULES = 4000  # of the firewall on the director's host, so that its kernel is much slower than the flood, on every machine


def frames(router, director):
    """SYNs from many clients, in hexadecimal, one per line, as the router sends them to the director."""
    macs = (mac(director.host, "eth0") + mac(router, director.link.device)).replace(":", "")
    lines = []
    for number in range(SOURCES):
        client = f"198.18.{number >> 8}.{number & 255}"
        segment = tcp_segment(client, VIP4, (1024 + number, PORT), number * 65_537, 0, SYN, options=MSS_1460)
        lines.append(f"{macs}0800{ip_packet(client, VIP4, TCP, segment).hex()}")
    return "\n".join(lines)


def add_firewall(host):
    rules = "\n".join(f"add rule inet slow in ip saddr 10.{number >> 8}.{number & 255}.1 drop" for number in range(RULES))
    host.run("nft", "-f", "-", input=f"""\
table inet slow {{ chain in {{ type filter hook prerouting priority raw; }}; }}
{rules}
""")


def flood(router, director, per_second, seconds):
    """Returns how many packets were sent."""
    process = router.start(
        sys.executable, "-B", f"{TREE}/lab/flood.py", director.link.device, str(per_second * seconds), str(per_second),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    output, _ = process.communicate(frames(router, director))
    if process.returncode:
        raise LabError("the flood failed: see its message above")
    return int(output.split()[1])


def affordable(router, director):
    """PER_SECOND, if the director receives each packet of such a flood. Beyond that the card drops packets of any kind, so nothing can
    protect BGP and BFD. On a machine that does other things, a slow flood shows that the limits work."""
    before = director.missed()
    flood(router, director, PER_SECOND, FLOOD_S // 2)
    return PER_SECOND if director.missed() == before else LEAST_PER_SECOND


def measure(stage, birds, per_second):
    """A flood. Returns how many packets were sent, how the director's counters grew, and how often each session changed its state."""
    router, director = stage.fleet.network.router, stage.fleet.directors["director-1"]
    counts, before = [bird.changes(session) for bird, session in birds], director.stats()
    sent = flood(router, director, per_second, FLOOD_S)
    stage.settle(2)
    after = director.stats()
    seen = {name: after[name] - before[name] for name in after if isinstance(after[name], int)}
    return sent, seen, [bird.changes(session) - count for (bird, session), count in zip(birds, counts)]


def run(stage):
    fleet, routes = stage.fleet, stage.fleet.routes
    router, director = fleet.network.router, fleet.directors["director-1"]
    birds = ((routes.bird, numbered(director.name)), (routes.birds[director.name], "uplink"))
    check_tools(("nft",))
    add_firewall(director.host)
    per_second = affordable(router, director)
    wait_until(lambda: all(bird.is_established(session) for bird, session in birds), "the BGP sessions")
    stage.start_load()
    stage.start_capture()
    stage.say("both directors announce the VIPs by BGP; their kernels reach the router only through the exception path")
    stage.expect("BIRD logs the states of the sessions", all(bird.changes(session) for bird, session in birds))
    for attempt in range(1, ATTEMPTS + 1):
        wait_until(lambda: all(bird.is_established(session) for bird, session in birds), "the BGP sessions")
        sent, seen, changes = measure(stage, birds, per_second)
        if not any(changes):
            break
        per_second = LEAST_PER_SECOND
    stage.note("sent", sent)
    stage.note("per_second", per_second)
    stage.note("attempts", attempt)
    stage.note("flood", {name: seen[name] for name in (
        "received", "exception", "drop_exception_limited", "exception_limited_other", "drop_exception_full")})
    stage.note("changes", changes)
    stage.note("missed", director.missed())
    stage.say(f"{sent} SYNs to port {PORT} of {VIP4}, {per_second} a second: the director dropped {seen['exception_limited_other']}, "
              f"and the kernel got {seen['exception']} packets")
    stage.expect("the limits dropped most of the flood", seen["exception_limited_other"] > seen["received"] // 2, seen)
    stage.expect("no packet of the control plane was dropped", seen["drop_exception_limited"] == seen["exception_limited_other"], seen)
    stage.expect("no BGP session changes its state", not any(changes), changes)
    stage.expect("the BGP sessions are established", all(bird.is_established(session) for bird, session in birds))
    stage.finish()
