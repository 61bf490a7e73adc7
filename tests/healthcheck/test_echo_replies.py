# SPDX-License-Identifier: BSD-3-Clause
"""Which echo replies and ICMP errors reach the daemon, and to which proxy they belong."""

import socket
import struct

import peers
from daemon import backend, table, wait_probes
from model.encap import checksum
from network import HERE, HERE6, PROXY, VIP6

REPLIES = 3000


def metric(daemon, name):
    return next(line.split()[1] for line in daemon.get("/metrics")[2].splitlines() if line.startswith(f"glb_healthcheck_{name} "))


def flood(host):
    """Sends replies to requests that this host never sent, of both families. The kernel computes the checksum of ICMPv6."""
    body = struct.pack(">HH", 1, 0) + bytes(16)
    with host:
        v4 = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        v6 = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    packet = bytes(4) + body
    packet = packet[:2] + struct.pack(">H", checksum(packet)) + packet[4:]
    for _ in range(REPLIES):
        v4.sendto(packet, (HERE, 0))
        v6.sendto(bytes([129, 0, 0, 0]) + body, (HERE6, 0))
    v4.close()
    v6.close()


def test_kernel_drops_replies_to_others(daemon, proxies):
    """A flood of them fills no buffer of the daemon, which never sees one."""
    made = daemon(table(backend(PROXY, gue=peers.GUE)), tunnel_vip=True).start().wait_ready()
    flood(proxies)
    wait_probes(made, 12)
    assert metric(made, "tunnel_foreign_total") == "0"
    assert metric(made, "tunnel_replies_total") != "0"
    checks = made.status()["tables"][0]["backends"][0]["checks"]
    assert [check["result"] for check in checks] == 3 * ["passed"] and any(VIP6 in check["check"] for check in checks)


def test_errors_of_one_proxy_fail_no_other(daemon):
    """All tunnel checks share a socket, on which the ICMP errors of all proxies arrive."""
    refusing = [backend(f"10.78.2.{i}", gue=19999) for i in range(1, 100)]
    made = daemon(table(backend(PROXY, gue=peers.GUE), *refusing), panic_threshold=0, interval_ms=50, timeout_ms=40, trigger=1)
    made.start().wait_ready()
    wait_probes(made, 3000)
    assert f"gue {PROXY}:19523 to {PROXY}: healthy -> unhealthy: Connection refused" not in made.log()
