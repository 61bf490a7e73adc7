# SPDX-License-Identifier: BSD-3-Clause
"""A packet that belongs to no connection must get an RST, so that its client does not wait for a dead connection."""

from lab.scenarios.packets.by_hand import Counters, begin
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK, RST

SUMMARY = "an ACK that belongs to no connection: the last hop accepts it, and its kernel answers with RST"


def run(stage):
    cable = begin(stage)
    for number, vip in enumerate(VIPS):
        connection = cable.connection(vip, HTTP_PORT, 5031 + number)
        *others, last = stage.row(connection)
        counters = Counters(stage)
        connection.next, connection.theirs = 12345, 54321
        connection.send(ACK)
        answer = connection.receive()
        stage.expect("the answer is RST", answer and answer.flags & RST, answer)
        for each in others:
            counters.expect(each, "forwarded_to_alternate")
        counters.expect(last, "accepted_last_resort")
        stage.say(f"{vip}: {' and '.join(others)} do not know the connection, {last} is the last hop and answers with RST")
    stage.finish()
