# SPDX-License-Identifier: BSD-3-Clause
"""A socket in TIME_WAIT is not among the kernel's ordinary sockets. A repeated FIN must still get its ACK."""

from lab.scenarios.packets.by_hand import begin, moved
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK, FIN, RST

SUMMARY = "a repeated FIN to a connection in TIME_WAIT reaches another proxy before the owner of the connection"


def run(stage):
    cable = begin(stage)
    for number, vip in enumerate(VIPS):
        connection = cable.connection(vip, HTTP_PORT, 5011 + number)
        owner, other = stage.owners(connection)
        close(stage, connection)
        state = stage.socket_state(owner, connection.port)
        stage.expect("the owner is in TIME_WAIT", state == "TIME-WAIT", state)
        with moved(stage, owner, other) as counters:
            connection.send(FIN | ACK)
            answer = connection.receive()
            stage.expect("the repeated FIN gets an ACK", answer and answer.flags & ACK and not answer.flags & RST, answer)
            counters.expect(owner, "accepted_established")
        stage.say(f"{vip}: {owner} is in TIME_WAIT; the FIN, repeated through {other}, gets its ACK")
        stage.result.connections += 1
    stage.finish()


def close(stage, connection):
    """Opens a connection; first the server closes it (HTTP/1.0), then the client."""
    connection.open()
    answer = connection.get()
    while answer and not answer.flags & FIN:
        connection.theirs = answer.end
        answer = connection.receive(lambda segment: segment.sequence == connection.theirs)
    stage.expect("the server closes", answer)
    connection.theirs = answer.end if answer else 0
    connection.send(FIN | ACK)
    stage.expect("the client's FIN gets an ACK", connection.receive(lambda s: s.acknowledged == connection.next + 1))
