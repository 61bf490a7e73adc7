# SPDX-License-Identifier: BSD-3-Clause
"""Packets that belong to nobody must not vanish: a client that waits for a dead connection should hear so."""

from lab.scenarios.by_hand import Counters, begin
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK, RST

SUMMARY = "an ACK of a connection that nobody has: the last hop delivers it, and its kernel answers RST"


def run(stage):
    cable = begin(stage)
    for number, vip in enumerate(VIPS):
        connection = cable.connection(vip, HTTP_PORT, 5031 + number)
        first, last = stage.owners(connection)
        counters = Counters(stage)
        connection.next, connection.theirs = 12345, 54321
        connection.send(ACK)
        answer = connection.receive()
        stage.expect("the answer is RST", answer and answer.flags & RST, answer)
        counters.expect(first, "forwarded_to_alternate")
        counters.expect(last, "accepted_last_resort")
        stage.say(f"{vip}: {first} does not know it, {last} is the last hop: RST")
    stage.finish()
