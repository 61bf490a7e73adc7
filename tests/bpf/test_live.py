# SPDX-License-Identifier: BSD-3-Clause
"""Connections of the kernel survive a table change. A client and two proxies are in namespaces; this test acts as the director.

client --- network (router, director) --- a, b (proxies, each with the VIPs)
"""

import contextlib
import fcntl
import json
import select
import socket
import struct
import threading

import pytest

from cases import frames as f
from host import CLIENT, FAMILY, FULL, HTTP, SILENT, VIP, checksummed_tcp, packet
from lab.net import Namespace, connect
from lab.tools import TIMEOUT_S, wait_until
from model_of_proxy import announced_mss
from packets import gue_frame

DIRECTOR = "203.0.113.2"
PROXY = {"a": "192.168.50.10", "b": "192.168.51.10"}
PROXY6 = {"a": "fd50::10", "b": "fd51::10"}
OUTER = {4: (DIRECTOR, PROXY), 6: ("fd00::2", PROXY6)}


def gateway(address):
    return address[: -len("10")] + "1"


class Director(threading.Thread):
    """Encapsulates the client's packets to a VIP in GUE and sends them to `hops`."""

    def __init__(self, network, interface, address, proxies):
        super().__init__(daemon=True)
        self.address, self.proxies, self.outer = address, proxies, 6 if ":" in address else 4
        self.hops = ("a", "b")
        self.last_acknowledgement = None
        with network:
            self._in = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
            self._out = socket.socket(FAMILY[self.outer], socket.SOCK_RAW, socket.IPPROTO_RAW)
            self._in.bind((interface, 3))
        self._stop_in, self._stop_out = socket.socketpair()
        self.start()

    def send(self, inner):
        first, *later = (self.proxies[name] for name in self.hops)
        self._out.sendto(gue_frame(inner, later, src=self.address, dst=first, outer=self.outer)[14:], (first, 0))

    def run(self):
        vips = {f.ip(vip) for vip in VIP.values()}
        while self._stop_out not in select.select([self._in, self._stop_out], [], [])[0]:
            packet, address = self._in.recvfrom(4096)
            destination = packet[16:20] if packet[0] >> 4 == 4 else packet[24:40]
            if address[2] != socket.PACKET_OUTGOING and destination in vips:
                at = 20 if packet[0] >> 4 == 4 else 40
                self.last_acknowledgement = packet[at + 8 : at + 12]
                self.send(packet)

    def close(self):
        self._stop_in.close()
        self.join()
        for open_socket in (self._in, self._out, self._stop_out):
            open_socket.close()


class Lab:
    def __init__(self, glb_redirect, mode, outer):
        self.glb_redirect, self.outer = glb_redirect, outer
        self.close = contextlib.ExitStack()
        names = ("client", "network", "a", "b")
        self.namespaces = {name: self.close.enter_context(contextlib.closing(Namespace())) for name in names}
        network = self.namespaces["network"]
        network.sysctl({"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
        self._leg("client", "203.0.113.10", "fd00::10")
        for name in PROXY:
            self._leg(name, PROXY[name], PROXY6[name])
            self._addresses(name, VIP)
            # A native program forwards through the driver of the veth pair. This needs an XDP program on the other end, or since
            # Linux 5.13 GRO there.
            network.run(glb_redirect, "attach", name, "--port", "1")
            self.namespaces[name].sysctl({"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 1})
            self.attach(name, "--mode", mode)
        self._addresses("client", CLIENT)
        # The director needs packets with complete checksums, and no segments larger than the MTU.
        self.namespaces["client"].run("ethtool", "-K", "eth0", "tx", "off")
        network.ip(
            *(f"addr add {address} dev lo" for address, _ in OUTER.values()),
            f"route add {CLIENT[4]} via 203.0.113.10",
            f"route add {CLIENT[6]} via fd00::10",
            f"route add blackhole {VIP[4]}",
            f"route add blackhole {VIP[6]}",
        )
        client = self.namespaces["client"]
        client.ip("route del default", f"route add default via 203.0.113.1 src {CLIENT[4]}")
        client.ip(f"route replace {VIP[6]} via fd00::1 src {CLIENT[6]}")
        self.listeners = {(name, family): self._listen(name, family) for name in PROXY for family in VIP}
        self.full = {family: self._listen("a", family, FULL, 1) for family in VIP}
        self.director = self.close.enter_context(contextlib.closing(Director(network, "client", *OUTER[outer])))

    def _leg(self, name, address, address6):
        namespace, network = self.namespaces[name], self.namespaces["network"]
        connect(namespace, "eth0", network, name)
        for this, device, v4, v6 in (
            (namespace, "eth0", address, address6),
            (network, name, gateway(address), gateway(address6)),
        ):
            this.ip(f"addr add {v4}/24 dev {device}", f"addr add {v6}/64 dev {device} nodad")
        namespace.ip(f"route add default via {gateway(address)}", f"route add default via {gateway(address6)}")

    def _addresses(self, name, addresses):
        self.namespaces[name].ip(
            f"addr add {addresses[4]}/32 dev lo", f"addr add {addresses[6]}/128 dev lo nodad"
        )

    def redirect(self, name, *words):
        return self.namespaces[name].run(self.glb_redirect, *words).stdout

    def attach(self, name, *options):
        self.redirect(name, "attach", "eth0", "--syn-cookies", "on", *options)

    def stats(self, name):
        """The counters. Each packet is counted in `total` and in exactly one other."""
        counters = json.loads(self.redirect(name, "stats", "--json"))["eth0"]
        del counters["accepted_at_hop"]
        return counters

    def _listen(self, name, family, port=HTTP, backlog=128):
        with self.namespaces[name]:
            listener = self.close.enter_context(socket.socket(FAMILY[family]))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.settimeout(TIMEOUT_S)
        listener.bind((VIP[family], port))
        listener.listen(backlog)
        return listener

    def dial(self, family, port=HTTP):
        with self.namespaces["client"]:
            client = self.close.enter_context(socket.socket(FAMILY[family]))
        client.settimeout(TIMEOUT_S)
        client.connect((VIP[family], port))
        return client

    def accept(self, name, family):
        server = self.close.enter_context(self.listeners[name, family].accept()[0])
        server.settimeout(TIMEOUT_S)
        return server


@pytest.fixture(scope="module", params=[(mode, outer) for outer in (4, 6) for mode in ("native", "generic")], ids=lambda pair: f"{pair[0]}, outer IPv{pair[1]}")
def lab(request, glb_redirect):
    lab = Lab(glb_redirect, *request.param)
    with lab.close:
        yield lab


def unacknowledged(sender):
    """The number of bytes that the peer has not acknowledged yet (SIOCOUTQ)."""
    return struct.unpack("i", fcntl.ioctl(sender, 0x5411, bytes(4)))[0]


def talk(client, server, text):
    client.sendall(text)
    assert server.recv(100) == text
    server.sendall(text[::-1])
    assert client.recv(100) == text[::-1]


@pytest.mark.parametrize("family", [4, 6])
def test_connection_survives_a_swap_of_hops(lab, family):
    lab.director.hops = ("a", "b")
    client = lab.dial(family)
    server = lab.accept("a", family)
    talk(client, server, b"first hop knows it")
    before = {name: lab.stats(name) for name in PROXY}

    lab.director.hops = ("b", "a")
    talk(client, server, b"second chance")
    after = {name: lab.stats(name) for name in PROXY}
    assert after["b"]["forwarded_to_alternate"] > before["b"]["forwarded_to_alternate"]
    assert after["a"]["accepted_established"] > before["a"]["accepted_established"]

    newcomer = lab.dial(family)
    talk(newcomer, lab.accept("b", family), b"new connections go to the new first hop")
    lab.attach("a")  # an upgrade under traffic
    lab.attach("b")
    talk(client, server, b"after the upgrade")
    client.close()
    assert server.recv(1) == b""
    server.close()
    for name in PROXY:
        counters = lab.stats(name)
        assert counters.pop("total") == sum(counters.values())
        assert not [counter for counter in counters if "drop" in counter and counters[counter]]


@pytest.mark.parametrize("family", [4, 6])
def test_last_hop_resets_an_unknown_connection(lab, family):
    lab.director.hops = ("a", "b")
    client = lab.dial(family)
    server = lab.accept("a", family)
    # The server's RST goes to a blackhole, so that the client learns only from the reply to its next packet.
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    lab.namespaces["a"].ip(f"route add blackhole {CLIENT[family]}")
    server.close()
    lab.namespaces["a"].ip(f"route del blackhole {CLIENT[family]}")
    before = lab.stats("b")["accepted_last_resort"]
    with pytest.raises(ConnectionResetError):
        client.sendall(b"anybody there?")
        client.recv(1)
    assert lab.stats("b")["accepted_last_resort"] > before


@pytest.mark.parametrize("family", [4, 6])
def test_connection_by_a_cookie(lab, family):
    """SYNs of a client that sends no ACK fill the queue. From then on a SYN leaves no state until the ACK."""
    lab.director.hops = ("a", "b")
    before = lab.stats("a")
    with contextlib.closing(lab.dial(family, FULL)), contextlib.closing(lab.full[family].accept()[0]):
        assert lab.stats("a")["syn_cookie_sent"] == before["syn_cookie_sent"]
    lab.namespaces["network"].ip(f"route add blackhole {SILENT[family]}")
    for port in range(42000, 42010):
        segment = checksummed_tcp(family, SILENT[family], VIP[family], f.tcp(port, FULL))
        lab.director.send(packet(family, f.TCP, segment, src=SILENT[family]))
    wait_until(lambda: lab.stats("a")["syn_cookie_sent"] > before["syn_cookie_sent"], "a SYN cookie")

    # The MSS in the SYN-ACK leaves room for the outer headers in the MTU that the loader read.
    lab.namespaces["a"].ip("link set eth0 mtu 1450")
    lab.attach("a")
    lab.namespaces["a"].ip("link set eth0 mtu 1500")
    filled = lab.stats("a")
    client = lab.dial(family, FULL)
    assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) == announced_mss(family, 1460, 1450, {4: 40, 6: 72}[lab.outer])
    lab.attach("a")
    # The ACK first reaches another proxy than the one that sent the cookie.
    lab.director.hops = ("b", "a")
    server, _ = lab.full[family].accept()
    server.settimeout(TIMEOUT_S)
    with client, server:
        talk(client, server, b"let in by a cookie")
        client.sendall(bytes(100_000))
        received = 0
        while received < 100_000:
            received += len(server.recv(100_000))
    after = lab.stats("a")
    assert after["syn_cookie_sent"] == filled["syn_cookie_sent"] + 1
    assert after["accepted_syn_cookie"] > filled["accepted_syn_cookie"]


@pytest.mark.parametrize("family", [4, 6])
def test_ping_through_the_tunnel_is_answered(lab, family):
    lab.director.hops = ("a", "b")
    lab.namespaces["client"].run("ping", "-c", "1", "-W", "5", VIP[family])

@pytest.mark.parametrize("family", [4, 6])
def test_a_server_with_an_unconnected_socket_keeps_its_clients(lab, family):
    """With --udp connected and two hops. The first hop accepts the QUIC long header, and no hop has a connected socket for the rest."""
    servers = {}
    for name in PROXY:
        with lab.namespaces[name]:
            servers[name] = lab.close.enter_context(socket.socket(FAMILY[family], socket.SOCK_DGRAM))
        servers[name].settimeout(TIMEOUT_S)
        servers[name].bind((VIP[family], 443))
        lab.attach(name, "--udp", "connected")
    before = {name: lab.stats(name) for name in PROXY}
    lab.director.hops = ("a", "b")
    with lab.namespaces["client"]:
        client = socket.socket(FAMILY[family], socket.SOCK_DGRAM)
    with client:
        client.connect((VIP[family], 443))
        for payload in (b"\xc0 opens", b"\x40 follows", b"\x40 follows, too"):
            client.send(payload)
            assert servers["a"].recv(100) == payload
    after = {name: lab.stats(name) for name in PROXY}
    grown = {name: {key: after[name][key] - before[name][key] for key in after[name] if after[name][key] != before[name][key]}
             for name in PROXY}
    assert grown == {"a": {"total": 5, "accepted_other": 1, "forwarded_to_alternate": 2, "udp_unconnected_listener": 2},
                     "b": {"total": 2, "returned_to_first_hop": 2}}
    for name in PROXY:
        status = json.loads(lab.redirect(name, "status", "--json"))["eth0"]
        assert len(status["warnings"]) == 1 and "--udp first-hop" in status["warnings"][0]
        assert f"\n  warning: {status['warnings'][0]}\n" in lab.redirect(name, "status")
        lab.attach(name)


IP_MTU = {4: (socket.IPPROTO_IP, 14), 6: (socket.IPPROTO_IPV6, 24)}
ROUTER = {4: "203.0.113.99", 6: "2001:db8:ffff::1"}


def checksummed_icmp(family, payload):
    pseudo = b""
    if family == 6:
        pseudo = f.ip(ROUTER[6]) + f.ip(VIP[6]) + struct.pack(">II", len(payload), f.ICMPV6)
    return payload[:2] + struct.pack(">H", f.internet_checksum(pseudo + payload)) + payload[4:]


@pytest.mark.parametrize("family", [4, 6])
def test_path_mtu_reaches_the_owner_through_another_proxy(lab, family):
    lab.director.hops = ("a", "b")
    client = lab.dial(family)
    server = lab.accept("a", family)
    talk(client, server, b"so that sequence numbers are known")
    wait_until(lambda: server.getsockopt(*IP_MTU[family]) == 1500, "a path MTU of 1500")
    lab.director.hops = ("b", "a")
    talk(client, server, b"and acknowledged")
    wait_until(lambda: unacknowledged(server) == 0, "all data to be acknowledged")

    ports = struct.pack(">HH", HTTP, client.getsockname()[1])
    build = f.ipv4 if family == 4 else f.ipv6
    length = {"total_length": 1500} if family == 4 else {"payload_length": 1460}
    quote = build(VIP[family], CLIENT[family], f.TCP, ports + lab.director.last_acknowledgement, **length)
    type_, protocol = {4: (3, f.ICMP), 6: (2, f.ICMPV6)}[family]
    error = f.icmp(type_, 4 if family == 4 else 0, 1280, quote)
    lab.director.send(build(ROUTER[family], VIP[family], protocol, checksummed_icmp(family, error)))
    wait_until(lambda: server.getsockopt(*IP_MTU[family]) == 1280, "a path MTU of 1280")
