# SPDX-License-Identifier: BSD-3-Clause
"""A director and two proxies on one segment, without a router, as many GLB installations are: the sender of a GUE frame is the
director or another proxy, and neither forwards it.

client, director, a, b (proxies, each with the VIP) --- bridge
"""

import contextlib
import json
import os
import socket

import pytest

from cases import frames as f
from lab.net import Namespace, connect, mac
from lab.tools import TIMEOUT_S, wait_until
from host import HTTP, VIP, outside
from test_live import Director, talk

ADDRESS = {"client": "192.168.50.1", "director": "192.168.50.2", "a": "192.168.50.10", "b": "192.168.50.11"}
PROXIES = ("a", "b")


class Segment:
    def __init__(self, glb_redirect, conf, mode, outer):
        self.glb_redirect, self.conf, self.mode = glb_redirect, conf, mode
        self.address = {name: outside(outer, address) for name, address in ADDRESS.items()}  # in GUE packets
        self.close = contextlib.ExitStack()
        self.hosts = {name: self.close.enter_context(contextlib.closing(Namespace())) for name in ("bridge", *ADDRESS)}
        bridge = self.hosts["bridge"]
        bridge.ip("link add br0 type bridge", "link set br0 up")
        for name, address in ADDRESS.items():
            connect(self.hosts[name], "eth0", bridge, name)
            self.hosts[name].ip(f"addr add {address}/24 dev eth0", f"addr add {outside(6, address + '/24')} dev eth0 nodad")
            self.hosts[name].offloads_off("eth0")
            bridge.ip(f"link set dev {name} master br0")
        for name in PROXIES:
            host = self.hosts[name]
            host.ip(f"addr add {VIP[4]}/32 dev lo")
            # The end of a veth pair that receives redirected frames needs GRO, or before Linux 5.13 an XDP program.
            bridge.run(glb_redirect, "attach", name, "--port", "1")
            host.sysctl({"net.ipv4.ip_forward": 0, "net.ipv4.conf.eth0.rp_filter": 1})
            host.sysctl({f"net.ipv{outer}.conf.lo.forwarding": 1})
        self.conf.write_text(f'allow_from = ["{outside(outer, "192.168.50.0/24")}"];\n')
        self.hosts["director"].sysctl({"net.ipv4.ip_forward": 0})
        self.hosts["client"].ip(f"route add {VIP[4]} via {ADDRESS['director']}")
        self.director = self.close.enter_context(
            contextlib.closing(Director(self.hosts["director"], "eth0", self.address["director"], self.address)))
        self.listeners = {name: self._listen(name) for name in PROXIES}

    def _listen(self, name):
        listener = self.close.enter_context(self.hosts[name].socket(socket.AF_INET, socket.SOCK_STREAM))
        listener.settimeout(TIMEOUT_S)
        listener.bind((VIP[4], HTTP))
        listener.listen(8)
        return listener

    def attach(self, forward):
        for name in PROXIES:
            self.hosts[name].run(self.glb_redirect, "attach", "eth0", "--mode", self.mode, "--forward", forward, "--config-file", self.conf)

    def detach(self):
        for name in PROXIES:
            self.hosts[name].run(self.glb_redirect, "detach", "eth0")

    def stats(self, name):
        return json.loads(self.hosts[name].run(self.glb_redirect, "stats", "--json").stdout)["eth0"]

    def learn_neighbours(self):
        """Without it, a proxy knows no other proxy: XDP resolves no addresses."""
        for name, other in (PROXIES, PROXIES[::-1]):
            self.hosts[name].run("ping", "-c", "1", "-W", "5", self.address[other])

    def forget_neighbours(self):
        for name in PROXIES:
            self.hosts[name].run("ip", "neigh", "flush", "dev", "eth0")


@pytest.fixture(scope="module", params=[(mode, outer) for outer in (4, 6) for mode in ("native", "generic")], ids=lambda pair: f"{pair[0]}, outer IPv{pair[1]}")
def segment(request, glb_redirect, tmp_path_factory):
    segment = Segment(glb_redirect, tmp_path_factory.mktemp("segment") / "redirect.conf", *request.param)
    with segment.close:
        yield segment


def unknown_ack():
    """A segment of a connection that neither proxy knows."""
    return f.ipv4(ADDRESS["client"], VIP[4], f.TCP, f.tcp(40000, HTTP, flags=0x10))


def forward_one(segment, forward):
    """Sends a packet of an unknown connection to a, with b as its second hop. Returns the increase of both proxies' counters."""
    segment.attach(forward)
    try:
        segment.director.hops = PROXIES
        segment.director.send(unknown_ack())
        wait_until(lambda: segment.stats("a")["total"] == 1, "the packet to reach the first hop")
        # Whatever the first hop sends is at the second hop before this ping is.
        segment.hosts["a"].run("ping", "-c", "1", "-W", "5", segment.address["b"])
        first, second = segment.stats("a"), segment.stats("b")
    finally:
        segment.detach()
    return first, second


def test_by_sender_the_packet_is_lost_on_one_segment(segment):
    segment.learn_neighbours()
    first, second = forward_one(segment, "sender")
    assert (first["forwarded_to_alternate"], first["forwarded_by_route"], second["total"]) == (1, 0, 0)


def test_by_route_the_packet_reaches_the_second_hop(segment):
    segment.learn_neighbours()
    first, second = forward_one(segment, "fib")
    assert (first["forwarded_to_alternate"], first["forwarded_by_route"]) == (0, 1)
    assert second["total"] == second["accepted_last_resort"] == 1


def test_by_route_with_an_unknown_neighbour_the_packet_goes_to_the_sender(segment):
    segment.forget_neighbours()
    first, second = forward_one(segment, "fib")
    assert (first["forwarded_to_alternate"], first["forwarded_by_route"], second["total"]) == (1, 0, 0)


def test_managed_or_permanent_neighbours_need_no_traffic(segment):
    """`managed` needs Linux 5.16. Older kernels ignore the word, so that the MAC address must be given."""
    has_managed = tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 16)
    segment.forget_neighbours()
    for name, other in (PROXIES, PROXIES[::-1]):
        state = "managed" if has_managed else f"lladdr {mac(segment.hosts[other], 'eth0')} nud permanent"
        segment.hosts[name].ip(f"neigh replace {segment.address[other]} dev eth0 {state}")
    show = ("ip", "neigh", "show", "to", segment.address["b"])
    wait_until(lambda: "lladdr" in segment.hosts["a"].run(*show).stdout, "the neighbour")
    first, second = forward_one(segment, "fib")
    assert first["forwarded_by_route"] == second["total"] == 1
    for name, other in (PROXIES, PROXIES[::-1]):
        segment.hosts[name].ip(f"neigh del {segment.address[other]} dev eth0")


# The last test, because its connection may still send when it ends, which would disturb the counters of the others.
def test_connection_survives_a_swap_of_hops_without_a_router(segment):
    segment.learn_neighbours()
    segment.attach("fib")
    try:
        segment.director.hops = ("a", "b")
        with segment.hosts["client"].socket(socket.AF_INET, socket.SOCK_STREAM) as client:
            client.settimeout(TIMEOUT_S)
            client.connect((VIP[4], HTTP))
            server, _ = segment.listeners["a"].accept()
            with server:
                server.settimeout(TIMEOUT_S)
                talk(client, server, b"first hop knows it")
                segment.director.hops = ("b", "a")
                talk(client, server, b"second chance")
        counters = segment.stats("b")
        assert counters["forwarded_by_route"] > 0 and counters["forwarded_to_alternate"] == 0
    finally:
        segment.detach()
