# SPDX-License-Identifier: BSD-3-Clause
"""A proxy in a network namespace with sockets in every state that the program distinguishes, and its network in another namespace."""

import contextlib
import functools
import ipaddress
import socket
import struct

from cases import frames as f
from lab.net import Namespace, connect, mac
from lab.tools import TIMEOUT_S, wait_until
from model.flow import TCP, UDP
from model_of_proxy import Sockets

PROXY = "192.168.50.10"
VIP = {4: "10.10.10.10", 6: "fdb4::10"}
CLIENT = {4: "198.51.100.7", 6: "2001:db8::7"}
SILENT = {4: "198.51.100.66", 6: "2001:db8::66"}  # a client whose packets the tests send as raw frames
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
HTTP, FULL, DUAL_STACK, CLOSED, UDP_CONNECTED, UDP_UNCONNECTED = 80, 81, 8080, 9, 53, 443
ISN = 0x01020304  # the initial sequence number in f.tcp()

# Client ports, named after the state of the server's socket.
ESTABLISHED, TIME_WAIT, CLOSE_WAIT, SYN_RECV, COOKIE, UNKNOWN, FIN_WAIT2 = range(40001, 40008)
ETHERTYPE = {4: 0x0800, 6: 0x86DD}
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ, REPAIR_OFF = 19, 20, 21, -1  # <linux/tcp.h>
RECEIVED, SENT = 1, 2


def outside(family, address):
    """The IPv4 address or prefix of a director or proxy, or its IPv6 twin in an underlay of that family."""
    if family == 4 or ":" in address:
        return address
    bits, _, length = address.partition("/")
    twin = ipaddress.IPv6Address(int(ipaddress.IPv6Address("fd64::")) + int(ipaddress.IPv4Address(bits)))
    return f"{twin}/{96 + int(length)}" if length else str(twin)


def packet(family, protocol, payload, src=None, dst=None, **fields):
    build = f.ipv4 if family == 4 else f.ipv6
    return build(src or CLIENT[family], dst or VIP[family], protocol, payload, **fields)


def checksummed_tcp(family, src, dst, segment):
    pseudo = f.ip(src) + f.ip(dst) + struct.pack(">HH", TCP, len(segment))
    return segment[:16] + struct.pack(">H", f.internet_checksum(pseudo + segment)) + segment[18:]


def next_numbers(connection):
    """The next sequence numbers: of the other end, and of this end."""
    numbers = []
    connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    for queue in (RECEIVED, SENT):
        connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE, queue)
        numbers.append(connection.getsockopt(socket.IPPROTO_TCP, TCP_QUEUE_SEQ) & 0xFFFFFFFF)
    connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, REPAIR_OFF)
    return numbers


class Host:
    def __init__(self):
        self.close = contextlib.ExitStack()
        self.namespace, self.network = Namespace(), Namespace()
        self.close.callback(self.namespace.close)
        self.close.callback(self.network.close)
        self.runs = {}  # of run_frames()
        self.close.callback(lambda: [run.end() for run in self.runs.values()])
        self.sockets = Sockets()
        self.cookie = {}  # (family, port): acknowledgement number that acknowledges the cookie
        self.numbers = {}  # (family, client port): acknowledgement and sequence number, see Sockets.expected
        self._build_network()
        for family in (4, 6):
            self._open_udp(family)
            self._open_tcp(family)
        self.full = {family: self._open_full(family) for family in (4, 6)}
        self._open_dual_stack()
        self.get_cookies()

    def _build_network(self):
        host, network = self.namespace, self.network
        connect(host, "eth0", network, "net0")
        # Half-open connections last as long as the tests instead of 63 s.
        host.sysctl({"net.ipv4.tcp_synack_retries": 15})
        host.ip(
            f"addr add {PROXY}/24 dev eth0",
            "addr add fd50::10/64 dev eth0 nodad",
            f"addr add {outside(6, PROXY + '/24')} dev eth0 nodad",
            f"addr add {VIP[4]}/32 dev lo",
            f"addr add {VIP[6]}/128 dev lo nodad",
            "route add default via 192.168.50.1",
            f"route add default via {outside(6, '192.168.50.1')}",
        )
        network.ip(
            "addr add 192.168.50.1/24 dev net0",
            "addr add fd50::1/64 dev net0 nodad",
            f"addr add {outside(6, '192.168.50.1/24')} dev net0 nodad",
            f"addr add {CLIENT[4]}/32 dev lo",
            f"addr add {CLIENT[6]}/128 dev lo nodad",
            f"route add {VIP[4]} via {PROXY} src {CLIENT[4]}",
            f"route add {VIP[6]} via fd50::10 src {CLIENT[6]}",
        )

    def _socket(self, family, kind, address, listen=False):
        new = self.close.enter_context(socket.socket(FAMILY[family], kind))
        new.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        new.settimeout(TIMEOUT_S)
        new.bind(address)
        if listen:
            new.listen(128)
        return new

    def _known(self, family, protocol, client, client_port, port):
        flow = (protocol, f.ip(client), client_port, f.ip(VIP[family]), port)
        self.sockets.flows.add(flow)
        return flow

    def _open_udp(self, family):
        with self.namespace:
            connected = self._socket(family, socket.SOCK_DGRAM, (VIP[family], UDP_CONNECTED))
            connected.connect((CLIENT[family], ESTABLISHED))
            self._socket(family, socket.SOCK_DGRAM, (VIP[family], UDP_UNCONNECTED))
        self.sockets.listeners.add((f.ip(VIP[family]), UDP_UNCONNECTED))
        self._known(family, UDP, CLIENT[family], ESTABLISHED, UDP_CONNECTED)

    def _open_tcp(self, family):
        with self.namespace:
            listener = self._socket(family, socket.SOCK_STREAM, (VIP[family], HTTP), listen=True)

        def accepted(port):
            with self.network:
                client = self._socket(family, socket.SOCK_STREAM, (CLIENT[family], port))
                client.connect((VIP[family], HTTP))
            self._known(family, TCP, CLIENT[family], port, HTTP)
            return client, self.close.enter_context(listener.accept()[0])

        accepted(ESTABLISHED)
        for port in (FIN_WAIT2, TIME_WAIT):
            client, server = accepted(port)
            server.close()
            assert client.recv(1) == b""
            acknowledged, sequence = next_numbers(client)
            self._wait_for_state(family, port, "FIN-WAIT-2")
            if port == TIME_WAIT:
                client.close()
                sequence += 1
                self._wait_for_state(family, port, "TIME-WAIT")
            self.sockets.time_wait.add(self._expect(family, CLIENT[family], port, acknowledged, sequence))
        client, server = accepted(CLOSE_WAIT)
        client.shutdown(socket.SHUT_WR)
        assert server.recv(1) == b""
        self._expect(family, SILENT[family], SYN_RECV, self._half_open(family, SYN_RECV) + 1, ISN + 1)

    def _wait_for_state(self, family, port, state):
        """Waits until the kernel shows this state of a server's socket."""
        def shown():
            return self.namespace.run("ss", "-Htan", f"-{family}", "dport", "=", f":{port}").stdout.startswith(state)

        wait_until(shown, f"{state} of port {port}")

    def _expect(self, family, client, port, acknowledged, sequence):
        """Notes the numbers of all further segments of a connection to HTTP."""
        flow = self._known(family, TCP, client, port, HTTP)
        self.numbers[family, port] = self.sockets.expected[flow] = (acknowledged & 0xFFFFFFFF, sequence & 0xFFFFFFFF)
        return flow

    def _open_full(self, family):
        """A listener with a full queue: it has two half-open connections, and room for one or, in newer kernels, for two."""
        with self.namespace:
            listener = self._socket(family, socket.SOCK_STREAM, (VIP[family], FULL))
        listener.listen(1)
        for port in (SYN_RECV, COOKIE):
            self._half_open(family, port, FULL)
        return listener

    def _open_dual_stack(self):
        """One IPv6 listener that accepts IPv4, too, as many servers have."""
        with self.namespace:
            listener = self.close.enter_context(socket.socket(socket.AF_INET6))
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::", DUAL_STACK))
        listener.listen(128)

    def get_cookies(self):
        """The kernel accepts each for one minute at least, two at most."""
        self.namespace.sysctl({"net.ipv4.tcp_syncookies": 2})
        for family in (4, 6):
            for to in (HTTP, DUAL_STACK):
                number = (self._half_open(family, COOKIE, to) + 1) & 0xFFFFFFFF
                self.cookie[family, to] = number
                flow = (TCP, f.ip(SILENT[family]), COOKIE, f.ip(VIP[family]), to)
                self.sockets.cookies[flow] = (number - (ISN + 1)) & 0xFFFFFFFF
        self.namespace.sysctl({"net.ipv4.tcp_syncookies": 1})

    def _half_open(self, family, port, to=HTTP):
        """Sends a SYN of the silent client. Returns the sequence number of the SYN-ACK."""
        segment = checksummed_tcp(family, SILENT[family], VIP[family], f.tcp(port, to))
        syn = packet(family, TCP, segment, src=SILENT[family])
        with self._raw(family) as raw:
            self._send(raw, family, syn)
            while True:
                reply = raw.recv(2048)
                at = 20 if family == 4 else 40
                if reply[at : at + 4] == struct.pack(">HH", to, port):
                    assert reply[at + 13] & 0x3F == 0x12, "not a SYN-ACK"
                    return int.from_bytes(reply[at + 4 : at + 8], "big")

    def deliver(self, family, inner):
        """Sends a packet from the network to the host without GUE."""
        with self._raw(family) as raw:
            self._send(raw, family, inner)

    def _raw(self, family):
        with self.network:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETHERTYPE[family]))
        raw.bind(("net0", ETHERTYPE[family]))
        raw.settimeout(TIMEOUT_S)
        return raw

    def _send(self, raw, family, inner):
        raw.sendto(inner, ("net0", ETHERTYPE[family], 0, 0, self.mac))

    @functools.cached_property
    def mac(self):
        return f.mac(mac(self.namespace, "eth0"))

    @functools.cached_property
    def router_mac(self):
        return f.mac(mac(self.network, "net0"))
