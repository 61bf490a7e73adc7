# SPDX-License-Identifier: BSD-3-Clause
"""Metrics about TCP before and after accept(): connections of each VIP, full accept queues, overflows, SYN cookies."""

import contextlib
import socket
import struct

import pytest

from cases import frames as f
from host import ISN, Host, SILENT, VIP, checksummed_tcp, packet
from lab.net import Namespace
from lab.tools import TIMEOUT_S, wait_until
from scrape import metrics

V4, V6 = VIP[4], VIP[6]
LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
COUNTERS = ("listen_overflows_total", "listen_drops_total", "syn_cookies_sent_total", "syn_cookies_received_total",
            "syn_cookies_failed_total")


class Server:
    """A proxy with two VIPs on lo, and sockets that stay open until the end of the test."""

    def __init__(self, glb_redirect, stack):
        self.glb_redirect, self.stack = glb_redirect, stack
        self.namespace = Namespace()
        stack.callback(self.namespace.close)
        self.namespace.ip(f"addr add {V4}/32 dev lo", f"addr add {V6}/128 dev lo nodad", "link add eth0 type veth peer name net0")
        # The kernel adds the route to an IPv6 address a moment after the address.
        wait_until(lambda: V6 in self.namespace.run("ip", "-6", "route", "show", "table", "local").stdout, "the route to the IPv6 VIP")

    def listen(self, address, port, backlog=128, v6only=None, **options):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with self.namespace:
            listener = self.stack.enter_context(socket.socket(family))
        if v6only is not None:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
        if options.get("reuse_port"):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((address, port))
        listener.listen(backlog)
        return listener

    def connect(self, address, port, blocking=True):
        """From an address that is no VIP, so that only the server's end is a connection of the VIP."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with self.namespace:
            client = self.stack.enter_context(socket.socket(family))
        client.bind((LOOPBACK[family], 0))
        client.settimeout(TIMEOUT_S if blocking else 0)
        error = client.connect_ex((address, port))
        assert error == 0 or not blocking
        return client

    def metrics(self):
        return metrics(self.namespace, self.glb_redirect)

    def connections(self):
        return {key[1:]: value for key, value in self.metrics().items() if key[0] == "established_connections"}

    def of_listeners(self, name):
        return {key[1:]: value for key, value in self.metrics().items() if key[0] == f"listener_{name}"}

    def program(self, *words):
        return self.namespace.run(self.glb_redirect, *words)


@pytest.fixture
def server(glb_redirect):
    with contextlib.ExitStack() as stack:
        yield Server(glb_redirect, stack)


def test_connections_of_each_vip_and_port(server):
    for address, port in ((V4, 80), (V4, 443), (V6, 80)):
        server.listen(address, port)
    for address, port, count in ((V4, 80, 3), (V6, 80, 2)):
        for _ in range(count):
            server.connect(address, port)
    assert server.connections() == {(V4, "80"): 3, (V4, "443"): 0, (V6, "80"): 2, (V4, "other"): 0, (V6, "other"): 0}


def test_ipv4_connections_of_an_ipv6_socket_belong_to_the_ipv4_vip(server):
    server.listen("::", 8080, v6only=0)
    server.connect(V4, 8080)
    server.connect(V4, 8080)
    server.connect(V6, 8080)
    assert server.connections() == {(V4, "8080"): 2, (V6, "8080"): 1, (V4, "other"): 0, (V6, "other"): 0}
    assert server.of_listeners("queue_connections") == {("::", "8080"): 3}


def test_ipv6_only_socket_serves_no_ipv4_vip(server):
    server.listen("::", 8080, v6only=1)
    assert server.connections() == {(V6, "8080"): 0, (V4, "other"): 0, (V6, "other"): 0}


def test_closed_connections_are_not_counted(server):
    listener = server.listen(V4, 80)
    clients = [server.connect(V4, 80) for _ in range(2)]
    accepted = [listener.accept()[0] for _ in clients]
    clients[0].close()
    accepted[0].close()
    wait_until(lambda: server.connections()[V4, "80"] == 1, "the connection to be closed")
    accepted[1].close()


def test_connections_of_a_closed_listener_and_to_other_hosts_are_other(server):
    """A server that drains closes its listening socket. The local ports of connections to other hosts are not bounded."""
    listener = server.listen(V4, 80)
    server.listen("127.0.0.1", 3306)
    server.connect(V4, 80)
    server.stack.enter_context(listener.accept()[0])
    for _ in range(3):
        with server.namespace:
            own = server.stack.enter_context(socket.socket())
        own.bind((V4, 0))
        own.connect(("127.0.0.1", 3306))
    assert server.connections() == {(V4, "80"): 1, (V4, "other"): 3, (V6, "other"): 0}
    listener.close()
    assert server.connections() == {(V4, "other"): 4, (V6, "other"): 0}


def test_connections_and_listeners_of_other_addresses_are_left_out(server):
    """Those of sshd on an address for management, for example."""
    server.listen("127.0.0.1", 22)
    server.connect("127.0.0.1", 22)
    assert server.connections() == {(V4, "other"): 0, (V6, "other"): 0}
    assert server.of_listeners("sockets") == {}


def test_vips_are_those_that_the_program_allows(server, tmp_path):
    conf = tmp_path / "redirect.conf"
    conf.write_text('allow_to = [ "192.0.2.0/24", "192.0.2.7", "2001:db8:7::/64" ];\n')
    server.namespace.ip("addr add 192.0.2.7/32 dev lo", "addr add 192.0.2.8/32 dev lo", "link set eth0 up")
    server.program("attach", "eth0", "--config-file", str(conf))
    server.listen("0.0.0.0", 80)
    for address in (V4, "192.0.2.7", "192.0.2.7", "192.0.2.8"):
        server.connect(address, 80)
    assert server.connections() == {
        ("192.0.2.7", "80"): 2, ("192.0.2.0/24", "80"): 1,
        ("192.0.2.7", "other"): 0, ("192.0.2.0/24", "other"): 0, ("2001:db8:7::/64", "other"): 0}
    server.program("attach", "eth0")
    assert (V4, "80") in server.connections() and ("192.0.2.0/24", "80") not in server.connections()


def test_full_accept_queue(server):
    """The kernel takes one connection more than the backlog."""
    server.listen(V4, 80, backlog=1)
    server.listen(V4, 81, backlog=127)
    server.connect(V4, 80)
    assert server.of_listeners("full_sockets") == {(V4, "80"): 0, (V4, "81"): 0}
    server.connect(V4, 80)
    assert server.of_listeners("queue_connections") == {(V4, "80"): 2, (V4, "81"): 0}
    assert server.of_listeners("queue_limit") == {(V4, "80"): 1, (V4, "81"): 127}
    assert server.of_listeners("full_sockets") == {(V4, "80"): 1, (V4, "81"): 0}
    assert server.of_listeners("queue_used_ratio") == {(V4, "80"): 1, (V4, "81"): 0}
    before = server.metrics()
    server.connect(V4, 80, blocking=False)
    wait_until(lambda: server.metrics()["listen_overflows_total",] > before["listen_overflows_total",], "an overflow")
    assert server.metrics()["listen_drops_total",] > before["listen_drops_total",]


def test_fullest_queue_of_sockets_that_share_a_port(server):
    """One process of a server hangs: the sum of the queues would look fine."""
    small = server.listen(V4, 80, backlog=1, reuse_port=True)
    server.connect(V4, 80)
    server.connect(V4, 80)
    for _ in range(3):
        server.listen(V4, 80, backlog=99, reuse_port=True)
    assert server.of_listeners("sockets") == {(V4, "80"): 4}
    assert server.of_listeners("full_sockets") == {(V4, "80"): 1}
    assert server.of_listeners("queue_limit") == {(V4, "80"): 298}
    assert server.of_listeners("queue_used_ratio") == {(V4, "80"): 1}
    small.accept()[0].close()
    assert server.of_listeners("queue_used_ratio") == {(V4, "80"): 0.5}


def test_syn_cookies_of_the_kernel(server):
    server.namespace.sysctl({"net.ipv4.tcp_syncookies": 2})
    server.listen(V4, 80)
    before = server.metrics()
    for _ in range(3):
        server.connect(V4, 80)
    after = server.metrics()
    grown = {name: after[name,] - before[name,] for name in COUNTERS}
    assert grown == dict.fromkeys(COUNTERS, 0) | {"syn_cookies_sent_total": 3, "syn_cookies_received_total": 3}


def test_wrong_syn_cookie_and_wrong_checksum(glb_redirect):
    host = Host()
    with host.close:
        before = metrics(host.namespace, glb_redirect)
        segment = bytearray(f.tcp(41001, 8080, flags=0x10))
        segment[4:12] = struct.pack(">II", ISN + 1, 0x12345)
        whole = checksummed_tcp(4, SILENT[4], V4, bytes(segment))
        host.deliver(4, packet(4, f.TCP, whole, src=SILENT[4]))
        host.deliver(4, packet(4, f.TCP, whole[:16] + b"\x12\x34" + whole[18:], src=SILENT[4]))

        def grown(name):
            return metrics(host.namespace, glb_redirect)[name,] - before[name,]

        wait_until(lambda: grown("tcp_checksum_errors_total") == 1, "the segment with a wrong checksum")
        assert grown("syn_cookies_failed_total") == 1


def test_more_ports_than_the_exporter_counts(server):
    """1024 VIPs with two ports are fine. At the limit of 4096 pairs, the other connections count as those of no port."""
    server.namespace.ip(*(f"addr add 10.20.{n >> 8}.{n & 255}/32 dev lo" for n in range(1100)))
    for port in range(8001, 8006):
        server.listen("0.0.0.0", port)
    found = server.connections()
    assert len([key for key in found if key[1] == "other"]) == 1024
    assert len([key for key in found if key[1] != "other"]) == 4096
    last = next(vip for vip, port in found if (vip, "8005") not in found)
    server.connect(last, 8005)
    assert server.connections()[last, "other"] == 1
