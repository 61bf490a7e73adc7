# SPDX-License-Identifier: BSD-3-Clause
"""With SYN cookies the owner keeps nothing at all until the ACK: only the cookie says whose it is."""

from lab.scenarios.by_hand import begin, moved
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK

SUMMARY = "the ACK to a SYN cookie comes first to the proxy that is not the owner"
NEVER, ALWAYS = 0, 2  # net.ipv4.tcp_syncookies, which is for both families; 1 is when the queue is full


def run(stage):
    cable = begin(stage)
    for number, vip in enumerate(VIPS):
        connection = cable.connection(vip, HTTP_PORT, 5021 + number)
        owner, other = stage.owners(connection)
        # All namespaces of a kernel share the secret of its cookies, so the other proxy would take the owner's for its own.
        for name, cookies in ((owner, ALWAYS), (other, NEVER)):
            stage.fleet.proxies[name].host.sysctl({"net.ipv4.tcp_syncookies": cookies})
        stage.expect("the owner answers the SYN", connection.syn())
        state = stage.socket_state(owner, connection.port)
        stage.expect("the owner keeps nothing", state is None, state)
        with moved(stage, owner, other) as counters:
            connection.send(ACK)
            counters.expect(owner, "accepted_syn_cookie")
            answer = connection.get()
            stage.expect("the owner answers the request", answer and f"X-Proxy: {owner}".encode() in answer.data, answer)
        stage.say(f"{vip}: {owner} keeps nothing of the SYN, and knows its cookie in the ACK that came by {other}")
        stage.result.connections += 1
    stage.finish()
