# SPDX-License-Identifier: BSD-3-Clause
"""Between SYN-ACK and ACK the kernel has no socket, only a request. glb-redirect must find the request."""

from lab.scenarios.packets.by_hand import begin, moved
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK

SUMMARY = "the ACK of a handshake reaches another proxy before the owner of the connection"


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
        stage.result.connections += 1
    stage.finish()
