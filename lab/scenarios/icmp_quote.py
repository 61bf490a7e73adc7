# SPDX-License-Identifier: BSD-3-Clause
"""An ICMP error comes from a router on the way, not from the client: only its quote says whose it is."""

from lab.scenarios.by_hand import begin, moved
from lab.topology import BY_HAND4, HTTP_PORT, VIP4
from lab.wire import ACK, frag_needed

SUMMARY = "'fragmentation needed' with a quote of 28 bytes, first to the proxy that is not the owner"
NARROW_MTU = 1280
ROUTER = "198.51.100.254"  # somewhere behind the client; not an address of ours, which our router would take for spoofed


def run(stage):
    cable = begin(stage)
    connection = cable.connection(VIP4, HTTP_PORT, 5041)
    owner, other = stage.owners(connection)
    connection.open()
    answer = connection.get("/download")
    stage.expect("the owner sends full packets", answer and len(answer.packet) > NARROW_MTU, answer)
    with moved(stage, owner, other) as counters:
        cable.send(frag_needed(ROUTER, VIP4, NARROW_MTU, answer.packet))
        pmtu = stage.wait_pmtu(owner, connection.port, NARROW_MTU)
        stage.expect("the owner's socket has the new path MTU", pmtu == NARROW_MTU, pmtu)
        counters.expect(owner, "accepted_established")
        others = stage.route_mtu(other, BY_HAND4)
        stage.expect("the other proxy heard nothing", others != NARROW_MTU, others)
    stage.say(f"{owner} hears by way of {other} that packets above {NARROW_MTU} bytes do not fit: pmtu {pmtu}")
    connection.send(ACK)
    stage.result.connections += 1
    stage.finish()
