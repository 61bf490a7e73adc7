# SPDX-License-Identifier: BSD-3-Clause
"""With SYN cookies the owner keeps nothing at all until the ACK: only the cookie says whose it is."""

from lab.scenarios.by_hand import begin, moved
from lab.topology import HTTP_PORT, VIPS
from lab.wire import ACK

SUMMARY = "the ACK to a SYN cookie is accepted by the owner"


def run(stage):
    cable = begin(stage)
    for proxy in stage.fleet.proxies.values():
        # Always cookies, as in a SYN flood. The IPv4 setting is for both families.
        proxy.host.sysctl({"net.ipv4.tcp_syncookies": 2})
    for number, vip in enumerate(VIPS):
        connection = cable.connection(vip, HTTP_PORT, 5021 + number)
        owner, other = stage.owners(connection)
        stage.expect("the owner answers the SYN", connection.syn())
        state = stage.socket_state(owner, connection.port)
        stage.expect("the owner keeps nothing", state is None, state)
        _acknowledge(stage, connection, owner, other)
        stage.result.connections += 1
    stage.finish()


def _acknowledge(stage, connection, owner, other):
    """That the other proxy refuses cannot be shown here: all namespaces of a kernel share the secret of its cookies. Its
    listening socket must have given cookies lately to take one; so the owner's cookie is shown to the owner."""
    before = stage.fleet.redirect_totals()[owner]["accepted_syn_cookie"]
    connection.send(ACK)
    answer = connection.get()
    stage.expect("the owner answers the request", answer and f"X-Proxy: {owner}".encode() in answer.data, answer)
    cookies = stage.fleet.redirect_totals()[owner]["accepted_syn_cookie"] - before
    stage.expect("the owner counts accepted_syn_cookie", cookies > 0, cookies)
    stage.say(f"{connection.vip}: {owner} keeps nothing of the SYN, and knows its cookie in the ACK")
    # From now on it is a connection as any other.
    with moved(stage, owner, other):
        connection.theirs = answer.end if answer else 0
        connection.send(ACK)
