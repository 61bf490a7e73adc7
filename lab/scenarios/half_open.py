# SPDX-License-Identifier: BSD-3-Clause
"""Between SYN-ACK and ACK there is no socket yet, only a request: it must be found as well."""

from lab.scenarios.by_hand import begin, moved
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK

SUMMARY = "the ACK that ends a handshake comes first to the proxy that is not the owner"


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
        stage.say(f"{vip}: SYN to {owner}; the ACK reaches {other} first, and {owner} by second chance")
        stage.result.connections += 1
    stage.finish()
