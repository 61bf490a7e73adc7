# SPDX-License-Identifier: BSD-3-Clause
"""Builders of frames, which are valid by default and wrong on demand. Addresses are text.

Checksums above IPv4 are zero, because no program that uses these vectors may read them, except with outbound_udp_checksum
(checksum_packets.py).
"""

import ipaddress
import struct

from model.encap import checksum as internet_checksum

DIRECTOR_MAC = "02:00:00:00:00:01"
ROUTER_MAC = "02:00:00:00:00:02"
C_TAG, S_TAG = 0x8100, 0x88A8
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
HOP_BY_HOP, ROUTING, FRAGMENT, ESP, AH, NO_NEXT, DESTINATION = 0, 43, 44, 50, 51, 59, 60
MORE_FRAGMENTS, DONT_FRAGMENT = 0x2000, 0x4000
SYN, ACK = 0x02, 0x10


def ip(text):
    return ipaddress.ip_address(text).packed


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ethernet(packet, ethertype=None, tags=(), dst=DIRECTOR_MAC, src=ROUTER_MAC):
    """A frame with an IP packet. `tags` are tag protocol identifiers, outermost first."""
    if ethertype is None:
        ethertype = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    behind = b"".join(struct.pack(">HH", tag, 100 + n) for n, tag in enumerate(tags))
    return mac(dst) + mac(src) + behind + struct.pack(">H", ethertype) + packet


def ipv4(
    src,
    dst,
    protocol,
    payload,
    options=b"",
    version=4,
    ihl=None,
    total_length=None,
    identification=0x1234,
    fragment=DONT_FRAGMENT,
    ttl=63,
    bad_checksum=False,
):
    """`fragment` is the word of flags and offset. The offset is in units of 8 bytes."""
    options += bytes(-len(options) % 4)
    if ihl is None:
        ihl = 5 + len(options) // 4
    if total_length is None:
        total_length = 20 + len(options) + len(payload)
    header = struct.pack(
        ">BBHHHBBH4s4s",
        version << 4 | ihl,
        0,
        total_length,
        identification,
        fragment,
        ttl,
        protocol,
        0,
        ip(src),
        ip(dst),
    )
    header += options
    sum_ = internet_checksum(header) ^ bad_checksum
    return header[:10] + struct.pack(">H", sum_) + header[12:] + payload


def nops(words):
    """IPv4 options: no-operations, then the end of the list."""
    return (b"\x01" * (4 * words))[:-1] + b"\x00" if words else b""


def ipv6(
    src, dst, next_header, payload, version=6, payload_length=None, flow_label=0, traffic_class=0
):
    if payload_length is None:
        payload_length = len(payload)
    first = version << 28 | traffic_class << 20 | flow_label
    header = struct.pack(">IHBB", first, payload_length, next_header, 63)
    return header + ip(src) + ip(dst) + payload


def extension(next_header, length=8):
    """A hop-by-hop or destination options header with one PadN option."""
    assert length % 8 == 0
    padding = length - 4
    if padding <= 255:
        return bytes([next_header, length // 8 - 1, 1, padding]) + bytes(padding)
    return bytes([next_header, length // 8 - 1]) + bytes(length - 2)


def routing(next_header, addresses=("2001:db8::99",), segments_left=0):
    body = b"".join(ip(address) for address in addresses)
    return struct.pack(">BBBBI", next_header, len(body) // 8, 0, segments_left, 0) + body


def fragment_header(next_header, offset=0, more=False, identification=0xCAFE):
    """`offset` is in units of 8 bytes."""
    return struct.pack(">BBHI", next_header, 0, offset << 3 | more, identification)


def tcp(src_port, dst_port, payload=b"", flags=SYN, data_offset=5):
    header = struct.pack(
        ">HHIIBBHHH", src_port, dst_port, 0x01020304, 0, data_offset << 4, flags, 65535, 0, 0
    )
    return header + payload


def udp(src_port, dst_port, payload=b"", length=None):
    if length is None:
        length = 8 + len(payload)
    return struct.pack(">HHHH", src_port, dst_port, length, 0) + payload


def icmp(type_, code=0, rest=0, payload=b""):
    """An ICMP or ICMPv6 message. `rest` is the second word."""
    return struct.pack(">BBHI", type_, code, 0, rest) + payload


def echo(family, identifier=0x4242, sequence=7, payload=b""):
    return icmp(8 if family == 4 else 128, 0, identifier << 16 | sequence, payload)


def text(length):
    """A payload that shows where it was cut or moved."""
    return bytes(33 + n % 94 for n in range(length))
