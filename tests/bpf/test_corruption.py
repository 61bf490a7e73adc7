# SPDX-License-Identifier: BSD-3-Clause
"""A packet with a flipped bit never reaches an application: the proxy's kernel drops and counts it.

sender (client and director) --- router --- a, b (proxies, each with the VIPs; the servers run on a)

A tc program on the router makes every frame arrive at the proxies as from a card that found the outer UDP checksum right. A UDP socket
of the router itself sends GUE whose outer checksum is left to the link, which has none (CHECKSUM_PARTIAL).
"""

import contextlib
import itertools
import os
import socket
import struct
from pathlib import Path

import pytest

from cases import frames as f
from host import FAMILY, VIP, packet
from lab.net import Namespace, connect, mac
from lab.tools import TIMEOUT_S
from lab.wire import ACK, SYN, checksum, tcp_segment
from packets import gue_frame
from support.tree import BUILD
from tc_ingress import tc_programs

CLIENT = {4: "198.51.100.66", 6: "2001:db8::66"}  # the sender's kernel does not have these addresses, so it does not answer
PROXY = {"a": "192.168.50.10", "b": "192.168.51.10"}
PROXY6 = {"a": "fd50::10", "b": "fd51::10"}
HTTP, UDP_PORT, CLIENT_PORT = 80, 5000, 40000
MODES = ("native", "generic")
VERSION = tuple(map(int, os.uname().release.split(".")[:2]))
SEGMENTS, SIZE, DAMAGED = 5, 1000, 2  # the number of segments in a burst, their size, and the index of the damaged one
SOCKET = "socket of the router"
# name: the hops, and the family of the outer header
HOPS = {f"{name}, outer IPv{outer}": (hops, outer) for outer in (4, 6)
        for name, hops in (("first hop", ("a", "b")), ("second chance", ("b", "a")), (SOCKET, SOCKET))}
ALONE = (("a",), 4)
# The names of the counters of TCP, UDP and ICMP.
COUNTER = {
    (4, "tcp"): "TcpInCsumErrors", (6, "tcp"): "TcpInCsumErrors", (4, "udp"): "UdpInCsumErrors", (6, "udp"): "Udp6InCsumErrors",
    (4, "icmp"): "IcmpInCsumErrors", (6, "icmp"): "Icmp6InCsumErrors",
}


def gateway(address):
    return address[: -len("10")] + "1"


def snmp(host):
    """{name: value} of all counters of /proc/net/snmp and snmp6."""
    words = Path(f"/proc/{host.pid}/net/snmp").read_text().split("\n")
    values = {}
    for names, numbers in zip(words[::2], words[1::2]):
        prefix = names.split(":")[0]
        values.update(zip((prefix + name for name in names.split()[1:]), map(int, numbers.split()[1:])))
    for line in Path(f"/proc/{host.pid}/net/snmp6").read_text().splitlines():
        name, value = line.split()
        values[name] = int(value)
    return values


def flip(data, at):
    data = bytearray(data)
    data[at] ^= 1
    return bytes(data)


class Network:
    def __init__(self, glb_redirect, mode):
        self.close = contextlib.ExitStack()
        self.sender, self.router, *proxies = (
            self.close.enter_context(contextlib.closing(Namespace())) for _ in range(4))
        self.proxies = dict(zip(PROXY, proxies))
        self.router.sysctl({"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
        connect(self.sender, "eth0", self.router, "sender")
        self.sender.offloads_off("eth0")
        self.router.ip("addr add 203.0.113.1/24 dev sender", "addr add fd00::1/64 dev sender nodad",
                       f"neigh add {CLIENT[4]} lladdr {mac(self.sender, 'eth0')} dev sender", f"route add {CLIENT[4]} dev sender",
                       f"neigh add {CLIENT[6]} lladdr {mac(self.sender, 'eth0')} dev sender", f"route add {CLIENT[6]} dev sender")
        for name in PROXY:
            self._proxy(glb_redirect, name, mode)
        self.raw = self.close.enter_context(self.sender.packet_socket("eth0", ignore_outgoing=True))
        self.raw.settimeout(TIMEOUT_S)
        self.ethernet = f.mac(mac(self.router, "sender")) + f.mac(mac(self.sender, "eth0"))
        with self.router:
            self.sockets = {family: self.close.enter_context(socket.socket(FAMILY[family], socket.SOCK_DGRAM)) for family in (4, 6)}
        self.port = CLIENT_PORT

    def _proxy(self, glb_redirect, name, mode):
        proxy, address, address6 = self.proxies[name], PROXY[name], PROXY6[name]
        connect(proxy, "eth0", self.router, name, mtu=1600)
        self.router.offload(name, "tso", "off", "gso", "off")
        self.router.ip(f"addr add {gateway(address)}/24 dev {name}", f"addr add {gateway(address6)}/64 dev {name} nodad")
        proxy.ip(f"addr add {address}/24 dev eth0", f"addr add {address6}/64 dev eth0 nodad",
                 f"addr add {VIP[4]}/32 dev lo", f"addr add {VIP[6]}/128 dev lo nodad",
                 f"route add default via {gateway(address)}", f"route add default via {gateway(address6)}")
        self.router.run("tc", "qdisc", "add", "dev", name, "clsact")
        if VERSION < (5, 13):  # then the router gets a proxy's redirected packets only if its end has an XDP program, too
            self.router.run(glb_redirect, "attach", name, "--port", "1")
        proxy.run(glb_redirect, "attach", "eth0", "--mode", mode, "--udp", "connected")

    def gro(self, state):
        """Switches GRO of the router and of the proxies. The proxies wait a moment for more segments, so that they surely merge."""
        for name, proxy in self.proxies.items():
            # A proxy's redirected packets reach the router only with NAPI, which GRO turns on.
            self.router.offload(name, "gro", "on")
            proxy.offload("eth0", "gro", state)
            wait = "20000000" if state == "on" else "0"
            proxy.run("unshare", "--mount", "sh", "-ec", "mount -t sysfs none /sys; cd /sys/class/net/eth0; "
                      f"echo {wait} >gro_flush_timeout; echo {5 if state == 'on' else 0} >napi_defer_hard_irqs")
        self.router.offload("sender", "gro", state)

    def card(self, present):
        for name in PROXY:
            self.router.run("tc", "filter", "del", "dev", name, "egress", check=False)
            if present:
                self.router.run("tc", "filter", "add", "dev", name, "egress", "bpf", "da", "obj", str(BUILD / "tests/bpf/programs/card.bpf.o"),
                                "sec", "tc")

    def send(self, inner, hops, behind=b""):
        """behind: bytes after the inner packet, in the outer one"""
        names, outer = hops
        first, *later = ({4: PROXY, 6: PROXY6}[outer][name] for name in (("a",) if names == SOCKET else names))
        frame = gue_frame(inner + behind, later, src={4: "203.0.113.2", 6: "fd00::2"}[outer], dst=first, outer=outer)
        if names == SOCKET:
            self.sockets[outer].sendto(frame[{4: 42, 6: 62}[outer] :], (first, 19523))
        else:
            self.raw.send(self.ethernet + frame[12:])

    def next_port(self):
        self.port += 1
        return self.port

    def receive_tcp(self, family, port):
        """The sequence number of the SYN-ACK to this port of the client."""
        at = 14 + (20 if family == 4 else 40)
        while True:
            frame = self.raw.recv(4096)
            if frame[at : at + 4] == struct.pack(">HH", HTTP, port) and frame[at + 13] & SYN:
                return int.from_bytes(frame[at + 4 : at + 8], "big")

    def listener(self, family):
        with self.proxies["a"]:
            new = socket.socket(FAMILY[family], socket.SOCK_STREAM)
        new.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        new.settimeout(TIMEOUT_S)
        new.bind((VIP[family], HTTP))
        new.listen()
        return new


@pytest.fixture(scope="module", params=MODES)
def network(request, glb_redirect):
    network = Network(glb_redirect, request.param)
    with network.close:
        yield network


# name: (GRO, whether the proxies have a card with checksum offload)
LINKS = {"card, GRO off": ("off", True), "card, GRO on": ("on", True), "GRO of the router": ("on", False)}


@pytest.fixture(scope="module", params=LINKS)
def link(request, network):
    gro, card = LINKS[request.param]
    network.gro(gro)
    network.card(card)
    return network


# name: the offset of the damaged byte in the TCP segment
TCP_DAMAGE = {"payload": 20 + SIZE // 2, "last byte": 20 + SIZE - 1, "sequence number": 6, "window": 14, "checksum": 17}


@pytest.mark.parametrize("position", HOPS)
@pytest.mark.parametrize("family", [4, 6])
def test_damaged_tcp_is_dropped_by_the_kernel(link, family, position):
    port, counter = link.next_port(), COUNTER[family, "tcp"]

    def segment(sequence, acknowledged, flags, data=b"", damage=None):
        tcp = tcp_segment(CLIENT[family], VIP[family], (port, HTTP), sequence, acknowledged, flags, data)
        inner = packet(family, f.TCP, tcp if damage is None else flip(tcp, damage), src=CLIENT[family], dst=VIP[family])
        link.send(inner, HOPS[position] if sequence > 1 else (("a", "b"), HOPS[position][1]))

    with contextlib.closing(link.listener(family)) as listener:
        segment(1, 0, SYN)
        theirs = link.receive_tcp(family, port) + 1
        segment(2, theirs, ACK)
        server, _ = listener.accept()
    server.settimeout(TIMEOUT_S)
    sequence = 2
    with contextlib.closing(server):
        for damage in TCP_DAMAGE.values():
            data = [bytes([65 + number]) * SIZE for number in range(SEGMENTS)]
            before = snmp(link.proxies["a"])[counter]
            for number, part in enumerate(data):
                segment(sequence + number * SIZE, theirs, ACK, part, damage if number == DAMAGED else None)
            segment(sequence + DAMAGED * SIZE, theirs, ACK, data[DAMAGED])
            received = b""
            while len(received) < SEGMENTS * SIZE:
                received += server.recv(SEGMENTS * SIZE)
            assert received == b"".join(data)
            assert snmp(link.proxies["a"])[counter] == before + 1
            sequence += SEGMENTS * SIZE


def udp(family, port, data, damage=None):
    datagram = f.udp(port, UDP_PORT, data)
    pseudo = f.ip(CLIENT[family]) + f.ip(VIP[family]) + struct.pack(">II", len(datagram), f.UDP)
    datagram = datagram[:6] + struct.pack(">H", checksum(pseudo + datagram) or 0xFFFF) + datagram[8:]
    return datagram if damage is None else flip(datagram, damage)


@contextlib.contextmanager
def udp_server(link, family, port):
    with link.proxies["a"]:
        server = socket.socket(FAMILY[family], socket.SOCK_DGRAM)
    with contextlib.closing(server):
        server.settimeout(TIMEOUT_S)
        server.bind((VIP[family], UDP_PORT))
        server.connect((CLIENT[family], port))
        yield server


@pytest.mark.parametrize("position", HOPS)
@pytest.mark.parametrize("family", [4, 6])
def test_damaged_udp_is_dropped_by_the_kernel(link, family, position):
    port, counter = link.next_port(), COUNTER[family, "udp"]
    with udp_server(link, family, port) as server:
        for damage, behind in itertools.product((6, 8, 8 + SIZE - 1), (b"", b"behind")):
            before = snmp(link.proxies["a"])[counter]
            for datagram in (udp(family, port, b"x" * SIZE, damage), udp(family, port, b"right")):
                link.send(packet(family, f.UDP, datagram, src=CLIENT[family], dst=VIP[family]), HOPS[position], behind)
            assert server.recv(2000) == b"right"
            assert snmp(link.proxies["a"])[counter] == before + 1


@pytest.mark.parametrize("family", [4, 6])
def test_damaged_fragments_are_dropped_by_the_kernel(link, family):
    """The program cannot verify a fragment."""
    port, counter = link.next_port(), COUNTER[family, "udp"]
    half = (8 + SIZE) // 2

    def send(datagram, identification):
        for first, part in ((True, datagram[:half]), (False, datagram[half:])):
            if family == 4:
                inner = packet(4, f.UDP, part, src=CLIENT[4], dst=VIP[4], identification=identification,
                               fragment=f.MORE_FRAGMENTS if first else half // 8)
            else:
                header = bytearray(f.fragment_header(f.UDP, offset=0 if first else half // 8, more=first))
                header[4:8] = identification.to_bytes(4, "big")
                inner = packet(6, f.FRAGMENT, bytes(header) + part, src=CLIENT[6], dst=VIP[6])
            link.send(inner, ALONE)

    with udp_server(link, family, port) as server:
        before = snmp(link.proxies["a"])[counter]
        send(udp(family, port, b"x" * SIZE, 8 + SIZE - 1), 1)
        send(udp(family, port, b"y" * SIZE), 2)
        assert server.recv(2000) == b"y" * SIZE
        assert snmp(link.proxies["a"])[counter] == before + 1


@pytest.mark.parametrize("family", [4, 6])
def test_damaged_ping_is_dropped_by_the_kernel(link, family):
    """The program does not verify ICMP."""
    counter, protocol = COUNTER[family, "icmp"], f.ICMP if family == 4 else f.ICMPV6
    echo = bytes([8 if family == 4 else 128, 0, 0, 0]) + b"echo" * 10
    pseudo = b"" if family == 4 else f.ip(CLIENT[6]) + f.ip(VIP[6]) + struct.pack(">II", len(echo), f.ICMPV6)
    echo = echo[:2] + struct.pack(">H", checksum(pseudo + echo)) + echo[4:]
    before = snmp(link.proxies["a"])[counter]
    for payload in (flip(echo, 30), echo):
        link.send(packet(family, protocol, payload, src=CLIENT[family], dst=VIP[family]), ALONE)
    at, reply = 14 + (20 if family == 4 else 40), b"\x00" if family == 4 else b"\x81"
    while (frame := link.raw.recv(2000))[at : at + 1] != reply or frame[at + 4 :][: len(echo) - 4] != echo[4:]:
        pass
    assert snmp(link.proxies["a"])[counter] == before + 1


def test_verified_packets_merge(network):
    """In native mode GRO merges what the program verified. Generic mode has no GRO after the program."""
    network.gro("on")
    network.card(True)
    port = network.next_port()
    tap = network.proxies["a"].packet_socket("eth0", ignore_outgoing=True)
    with contextlib.closing(tap):
        tap.settimeout(TIMEOUT_S)
        for number in range(SEGMENTS):
            tcp = tcp_segment(CLIENT[6], VIP[6], (port, HTTP), 1 + number * SIZE, 1, ACK, b"x" * SIZE)
            network.send(packet(6, f.TCP, tcp, src=CLIENT[6], dst=VIP[6]), ALONE)
        sizes = []
        while sum(sizes) < SEGMENTS * SIZE:
            frame = tap.recv(65536)
            if frame[12:14] == b"\x86\xdd" and frame[54:58] == struct.pack(">HH", port, HTTP):
                sizes.append(len(frame) - 74)
    status = network.proxies["a"].run(str(BUILD / "src/redirect/glb-redirect"), "status").stdout
    assert sizes == ([SIZE] * SEGMENTS if "generic" in status else [SEGMENTS * SIZE])


def test_one_tc_program(network):
    assert [tc_programs(proxy) for proxy in network.proxies.values()] == [1, 1]
