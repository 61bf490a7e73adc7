# SPDX-License-Identifier: BSD-3-Clause
"""Handmade TCP on the client's link, for what a kernel's TCP cannot be told to do, for instance half a handshake.

The client's kernel does not have the source addresses (topology.BY_HAND*), so it does not answer.
"""

import ctypes
import ipaddress
import select
import socket
import struct
import time
from dataclasses import dataclass

from lab.net import mac
from lab.tools import TIMEOUT_S
from lab.topology import BY_HAND4, BY_HAND6

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
TCP, ICMP = 6, 1
SO_ATTACH_FILTER = 26
MSS_1460 = b"\x02\x04\x05\xb4"


def checksum(data):
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip_packet(source, destination, protocol, payload):
    source, destination = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    if source.version == 6:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + source.packed + destination.packed + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0)
    head += source.packed + destination.packed
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def tcp_segment(source, destination, ports, sequence, acknowledged, flags, data=b"", options=b""):
    """Sequence numbers may exceed 32 bits; they wrap."""
    segment = struct.pack(
        "!HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF, (20 + len(options)) // 4 << 4, flags,
        65000, 0, 0) + options + data
    addresses = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    pseudo = addresses + struct.pack("!IHBB", len(segment), 0, 0, TCP)
    return segment[:16] + struct.pack("!H", checksum(pseudo + segment)) + segment[18:]


@dataclass
class Segment:
    """A received TCP segment."""

    sequence: int
    acknowledged: int
    flags: int
    data: bytes
    packet: bytes  # from the IP header on

    @property
    def end(self):
        """The number that acknowledges the whole segment."""
        return self.sequence + len(self.data) + bool(self.flags & SYN) + bool(self.flags & FIN)


def address_filter(address4, address6):
    """A classic BPF program that accepts frames to either address. For IPv6 it compares the last 32 bits."""
    load_half, load_word, jump_equal, give_back = 0x28, 0x20, 0x15, 0x06
    instructions = (
        (load_half, 0, 0, 12),  # ethertype
        (jump_equal, 0, 2, 0x0800),
        (load_word, 0, 0, 14 + 16),
        (jump_equal, 3, 4, int(ipaddress.ip_address(address4))),
        (jump_equal, 0, 3, 0x86DD),
        (load_word, 0, 0, 14 + 24 + 12),
        (jump_equal, 0, 1, int(ipaddress.ip_address(address6)) & 0xFFFFFFFF),
        (give_back, 0, 0, 0xFFFF),
        (give_back, 0, 0, 0),
    )
    return len(instructions), b"".join(struct.pack("=HBBI", *each) for each in instructions)


class Cable:
    """The client's link."""

    def __init__(self, network):
        self.socket = network.client.packet_socket("eth0")
        # Otherwise packets of the load would fill the receive buffer.
        count, program = address_filter(BY_HAND4, BY_HAND6)
        self.program = ctypes.create_string_buffer(program)
        self.socket.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("@HP", count, ctypes.addressof(self.program)))
        router, client = (
            bytes.fromhex(mac(namespace, device).replace(":", ""))
            for namespace, device in ((network.router, "to-client"), (network.client, "eth0")))
        self.ethernet = router + client

    def send(self, packet):
        ethertype = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
        self.socket.send(self.ethernet + ethertype + packet)

    def connection(self, vip, vip_port, port):
        return Connection(self, BY_HAND6 if ":" in vip else BY_HAND4, port, vip, vip_port)


class Connection:
    """A TCP connection whose steps the caller makes one by one."""

    FIRST = 1000  # initial sequence number of the client

    def __init__(self, cable, address, port, vip, vip_port):
        self.cable, self.address, self.port, self.vip, self.vip_port = cable, address, port, vip, vip_port
        self.next, self.theirs = self.FIRST, 0  # next sequence number to send, next one expected from the server

    def send(self, flags, data=b"", options=b""):
        """Sends a segment. `next` does not advance, so that a second call sends the same segment again."""
        segment = tcp_segment(
            self.address, self.vip, (self.port, self.vip_port), self.next, self.theirs, flags, data, options)
        self.cable.send(ip_packet(self.address, self.vip, TCP, segment))

    def receive(self, wanted=lambda segment: True, timeout_s=TIMEOUT_S):
        """The next segment of the server for which wanted() is true, or None."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self.cable.socket], [], [], left)[0]:
                break
            frame, link = self.cable.socket.recvfrom(9000)
            segment = self._parse(frame) if link[2] != socket.PACKET_OUTGOING else None
            if segment and wanted(segment):
                return segment
        return None

    def _parse(self, frame):
        packet = frame[14:]
        if len(packet) < 40 or packet[0] >> 4 not in (4, 6):
            return None
        wide = packet[0] >> 4 == 6
        head, protocol, at, length = (
            (40, packet[6], 24, 40 + int.from_bytes(packet[4:6], "big")) if wide
            else (4 * (packet[0] & 15), packet[9], 16, int.from_bytes(packet[2:4], "big")))
        destination = str(ipaddress.ip_address(packet[at : at + (16 if wide else 4)]))
        tcp = packet[head:length]
        if protocol != TCP or destination != self.address:
            return None
        ours, theirs = int.from_bytes(tcp[2:4], "big"), int.from_bytes(tcp[0:2], "big")
        if (ours, theirs) != (self.port, self.vip_port):
            return None
        sequence, acknowledged = struct.unpack_from("!II", tcp, 4)
        return Segment(sequence, acknowledged, tcp[13], tcp[4 * (tcp[12] >> 4) :], packet[:length])

    # Steps of a connection

    def syn(self):
        """Sends a SYN. Returns the SYN-ACK, which is not acknowledged yet."""
        self.send(SYN, options=MSS_1460)
        answer = self.receive(lambda segment: segment.flags & SYN)
        self.next = self.FIRST + 1
        if answer:
            self.theirs = answer.end
        return answer

    def open(self):
        answer = self.syn()
        self.send(ACK)
        return answer

    def get(self, path="/"):
        """Sends an HTTP request. Returns the first segment with data."""
        request = f"GET {path} HTTP/1.0\r\n\r\n".encode()
        self.send(PSH | ACK, request)
        self.next += len(request)
        return self.receive(lambda segment: segment.data)


def frag_needed(router, vip, mtu, quoted):
    """ICMPv4 "fragmentation needed" about a packet of the VIP. It quotes 28 bytes, the least that the RFC requires."""
    body = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + quoted[:28]
    return ip_packet(router, vip, ICMP, body[:2] + struct.pack("!H", checksum(body)) + body[4:])
