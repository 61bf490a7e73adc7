# SPDX-License-Identifier: BSD-3-Clause
"""A client uses a port again while a proxy still has its old connection in TIME_WAIT, and another proxy has the new one."""

from lab.scenarios.packets.by_hand import Counters, begin, established
from lab.scenarios.packets.time_wait import close
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK, FIN, RST, Connection

SUMMARY = "a client uses a port again: the proxy with the old connection in TIME_WAIT passes on what is of the new one"
# The new connection may begin before or behind the numbers of the old one: most clients count on, but those behind a NAT are strangers.
FIRST_NUMBERS = (Connection.FIRST - 500, Connection.FIRST + 1_000_000)


def run(stage):
    cable = begin(stage)
    for number, (vip, first) in enumerate((vip, first) for vip in VIPS for first in FIRST_NUMBERS):
        old = cable.connection(vip, HTTP_PORT, 5061 + number)
        owner, other = stage.owners(old)
        close(stage, old)
        again = cable.connection(vip, HTTP_PORT, old.port)
        again.FIRST = again.next = first
        stage.fleet.change(owner, state="draining")
        stage.expect(f"{other} answers the new SYN", again.open())
        established(stage, other, again)
        stage.fleet.change(owner, state="active")
        state = stage.socket_state(owner, old.port)
        stage.expect("the owner is in TIME_WAIT", state == "TIME-WAIT", state)
        counters = Counters(stage)
        answer = again.get()
        stage.expect(f"{other} answers the request", answer and f"X-Proxy: {other}".encode() in answer.data, answer)
        counters.expect(owner, "forwarded_to_alternate")
        expect_its_ack(stage, old)
        stage.say(f"{vip}: {owner} has the old connection in TIME_WAIT, and passes on the packets of the new one to {other}")
        stage.result.connections += 1
    stage.finish()


def expect_its_ack(stage, old):
    """A repeated FIN of the old connection still gets the ACK of its proxy."""
    old.send(FIN | ACK)
    answer = old.receive(lambda segment: segment.sequence == old.theirs)
    stage.expect("the repeated FIN gets an ACK", answer and answer.flags & ACK and not answer.flags & RST, answer)
