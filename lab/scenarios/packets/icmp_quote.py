# SPDX-License-Identifier: BSD-3-Clause
"""A router on the way, not the client, sends an ICMP error. Only the packet that it quotes names the connection."""

from lab.scenarios.packets.by_hand import begin, moved
from lab.topology import BY_HAND4, HTTP_PORT, VIP4
from lab.wire import ACK, frag_needed

SUMMARY = "an ICMP 'fragmentation needed' that quotes 28 bytes reaches another proxy before the owner of the connection"
NARROW_MTU = 1280
ROUTER = "198.51.100.254"  # behind the client; the lab's router would drop its own address as spoofed


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
        stage.expect("the owner's socket learns the new path MTU", pmtu == NARROW_MTU, pmtu)
        counters.expect(owner, "accepted_established")
        others = stage.route_mtu(other, BY_HAND4)
        stage.expect("the other proxy does not learn the new path MTU", others != NARROW_MTU, others)
    stage.say(f"the error reaches {owner} through {other}: its path MTU is now {pmtu}")
    connection.send(ACK)
    stage.result.connections += 1
    stage.finish()
