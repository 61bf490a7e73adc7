# SPDX-License-Identifier: BSD-3-Clause
"""Between SYN-ACK and ACK the kernel has no socket, only a request. glb-redirect must find the request, but only for its own ACK."""

from lab.scenarios.packets.by_hand import Counters, begin, established, moved
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK, MSS_1460, SYN

SUMMARY = "the ACK of a handshake reaches another proxy before the owner of the connection; the same after a repeated SYN"


def run(stage):
    cable = begin(stage)
    for number, vip in enumerate(VIPS):
        connection = cable.connection(vip, HTTP_PORT, 5001 + number)
        owner, other = stage.owners(connection)
        stage.expect("the owner answers the SYN", connection.syn())
        with moved(stage, owner, other) as counters:
            connection.send(ACK)
            answer = connection.get()
            stage.expect("the owner answers the request", answer and f"X-Proxy: {owner}".encode() in answer.data, answer)
            counters.expect(owner, "accepted_established")
        stage.say(f"{vip}: the SYN reaches {owner}; the ACK reaches {other} first, and {owner} by the second chance")
        repeat_syn(stage, cable.connection(vip, HTTP_PORT, 5091 + number))
        stage.result.connections += 2
    stage.finish()


def repeat_syn(stage, connection):
    """The first SYN-ACK gets lost. The proxy that sent it still has the request when packets of the new owner reach it first."""
    first, owner = stage.owners(connection)
    lost = connection.syn()
    stage.expect(f"{first} answers the SYN", lost)
    stage.fleet.change(first, state="draining")
    connection.next = connection.FIRST
    connection.send(SYN, options=MSS_1460)
    answer = connection.receive(lambda segment: segment.flags & SYN and segment.sequence != lost.sequence)
    stage.expect(f"{owner} answers the repeated SYN", answer)
    connection.next, connection.theirs = connection.FIRST + 1, answer.end
    connection.send(ACK)
    established(stage, owner, connection)
    stage.fleet.change(first, state="active")
    state = stage.socket_state(first, connection.port)
    stage.expect(f"{first} still has the request", state == "SYN-RECV", state)
    counters = Counters(stage)
    answer = connection.get()
    stage.expect(f"{owner} answers the request", answer and f"X-Proxy: {owner}".encode() in answer.data, answer)
    counters.expect(first, "forwarded_to_alternate")
    stage.say(f"{connection.vip}: the repeated SYN reaches {owner}; {first} passes on what follows, although it has a request")
