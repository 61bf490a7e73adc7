# SPDX-License-Identifier: BSD-3-Clause
"""With SYN cookies the owner keeps no state until the ACK. Only the cookie in the ACK identifies the owner."""

from lab.scenarios.packets.by_hand import begin, moved
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK

SUMMARY = "the ACK of a SYN cookie reaches another proxy before the owner of the connection"
NEVER, ALWAYS = 0, 2  # values of net.ipv4.tcp_syncookies, which applies to both families; 1: when the queue is full


def run(stage):
    cable = begin(stage)
    for number, vip in enumerate(VIPS):
        connection = cable.connection(vip, HTTP_PORT, 5021 + number)
        owner, other = stage.owners(connection)
        # All namespaces share the secret of the kernel's cookies, so the other proxy would accept the owner's cookie.
        for name, cookies in ((owner, ALWAYS), (other, NEVER)):
            stage.fleet.proxies[name].host.sysctl({"net.ipv4.tcp_syncookies": cookies})
        stage.expect("the owner answers the SYN", connection.syn())
        state = stage.socket_state(owner, connection.port)
        stage.expect("the owner keeps no state", state is None, state)
        with moved(stage, owner, other) as counters:
            connection.send(ACK)
            counters.expect(owner, "accepted_syn_cookie")
            answer = connection.get()
            stage.expect("the owner answers the request", answer and f"X-Proxy: {owner}".encode() in answer.data, answer)
        stage.say(f"{vip}: {owner} keeps no state of the SYN, and accepts its cookie in the ACK that came through {other}")
        stage.result.connections += 1
    stage.finish()
