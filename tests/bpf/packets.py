# SPDX-License-Identifier: BSD-3-Clause
"""Inner packets with the expected decision about each, and GUE frames that carry them."""

import dataclasses
import struct
from typing import Callable

from cases import frames as f
from host import (
    CLIENT, CLOSED, CLOSE_WAIT, COOKIE, DUAL_STACK, ESTABLISHED, FIN_WAIT2, HTTP, ISN, PROXY, SILENT, SYN_RECV,
    TIME_WAIT, UDP_CONNECTED, UDP_UNCONNECTED, UNKNOWN, VIP, outside, packet,
)

DIRECTOR, ROUTER = "192.0.2.1", {4: "203.0.113.1", 6: "2001:db8:ffff::1"}
OTHER_HOP, SELF = "192.168.51.1", PROXY
SYN, RST, ACK, FIN = 0x02, 0x04, 0x10, 0x01
OTHER, KNOWN, COOKIED, OPENS = (
    "accepted_other", "accepted_established", "accepted_syn_cookie", "accepted_syn",
)
STRANGER = None  # no socket of the host knows the packet
LISTENER = "udp_unconnected_listener"  # no socket of the host knows the packet, but an unconnected one would take it


@dataclasses.dataclass(frozen=True)
class Kind:
    """`expected` is the counter, STRANGER or LISTENER. `connected` is the counter with --udp connected, if that is another one."""

    name: str
    build: Callable  # (host, family) -> inner packet
    expected: str
    connected: str = "same"

    def expect(self, udp):
        return self.connected if udp == "connected" and self.connected != "same" else self.expected


def tcp(port, flags=ACK, src=CLIENT, to=HTTP, acknowledgement=None, sequence=None, **fields):
    def build(host, family):
        number = acknowledgement(host, family) if acknowledgement else 1
        segment = bytearray(f.tcp(port, to, b"data", flags))
        segment[4:12] = struct.pack(">II", sequence(host, family) if sequence else ISN + 1, number)
        return packet(family, f.TCP, bytes(segment), src=src[family], **fields)

    return build


def numbered(port, flags, acknowledged=0, sequence=0, src=CLIENT):
    """A segment of a socket that expects certain numbers (Sockets.expected). The last numbers are differences to these."""

    def number(which, offset):
        return lambda host, family: (host.numbers[family, port][which] + offset) & 0xFFFFFFFF

    return tcp(port, flags, src, acknowledgement=number(0, acknowledged), sequence=number(1, sequence))


def of_state(state, port, src=CLIENT):
    """A socket that expects certain numbers keeps what has them. The rest may be of another connection with the same ports."""
    far = 0x12345678
    cases = {
        "ACK": (KNOWN, ACK),
        "ACK of less": (STRANGER, ACK, -1),
        "ACK of more": (STRANGER, ACK, 1),
        "FIN": (KNOWN, FIN | ACK),
        "FIN again": (KNOWN, FIN | ACK, 0, -1),
        "keep-alive": (KNOWN, ACK, 0, -1),
        "late data": (KNOWN, ACK, 0, -far),
        "data of a later connection": (STRANGER, ACK, far, far),
        "data of a stranger behind NAT": (STRANGER, ACK, -far, -far),
        "FIN of another connection": (STRANGER, FIN | ACK, far, far),
        "RST with ACK": (KNOWN, RST | ACK, 0, far),
        "RST with ACK of another connection": (STRANGER, RST | ACK, far),
        "RST": (KNOWN, RST, far),
        "RST of another connection": (STRANGER, RST, 0, far),
        "SYN-ACK": (STRANGER, SYN | ACK, far),
        "no flags": (STRANGER, 0, 0, far),
        "SYN": (OPENS, SYN, far, far),
    }
    return [Kind(f"tcp/{state}, {name}", numbered(port, *numbers, src=src), expected) for name, (expected, *numbers) in cases.items()]


def udp(port, to, payload=b"\x01datagram"):
    return lambda host, family: packet(family, f.UDP, f.udp(port, to, payload))


def cookie(offset=0, to=HTTP):
    return lambda host, family: (host.cookie[family, to] + offset) & 0xFFFFFFFF


def icmp(type4, type6, body=lambda family: b"\x00" * 8):
    def build(host, family):
        protocol, type_ = (f.ICMP, type4) if family == 4 else (f.ICMPV6, type6)
        payload = f.icmp(type_, 0, 1280, body(family))
        return packet(family, protocol, payload, src=ROUTER[family])

    return build


def quote(protocol, port, mine, client=CLIENT, keep=8, **fields):
    """The start of a packet that the proxy sent: the IP header and `keep` bytes after it."""

    def body(family):
        upper = f.tcp(mine, port) if protocol == f.TCP else f.udp(mine, port)
        if protocol not in (f.TCP, f.UDP):
            upper = bytes(20)
        sent = packet(family, protocol, upper, src=VIP[family], dst=client[family], **fields)
        return sent[: len(sent) - len(upper) + keep]

    return body


def too_big(*args, **fields):
    return icmp(3, 2, quote(*args, **fields))


def with_options(build_payload):
    """Puts IPv4 options, or a chain of IPv6 extension headers, before the TCP header."""

    def build(host, family):
        inner = build_payload(host, family)
        if family == 4:
            return packet(4, f.TCP, inner[20:], options=f.nops(10))
        headers = f.extension(f.ROUTING, 16) + f.routing(f.FRAGMENT)
        headers += f.fragment_header(f.DESTINATION) + f.extension(f.TCP, 2048)
        return packet(6, f.HOP_BY_HOP, headers + inner[40:])

    return build


def extension_headers(count):
    def build(host, family):
        payload = tcp(ESTABLISHED)(host, 6)[40:]
        for n in range(count):
            payload = f.extension(f.DESTINATION if n else f.TCP) + payload
        return packet(6, f.DESTINATION, payload)

    return build


def reserved_byte(host, family):
    """Sets the reserved byte of a fragment header, which has the place of the length in other extension headers."""
    header = bytearray(f.fragment_header(f.TCP))
    header[1] = 0xFF
    return packet(6, f.FRAGMENT, bytes(header) + tcp(ESTABLISHED)(host, 6)[40:])


def later_fragment(host, family):
    if family == 4:
        return packet(4, f.TCP, f.text(24), fragment=5)
    return packet(6, f.FRAGMENT, f.fragment_header(f.TCP, offset=5) + f.text(24))


def first_fragment(host, family):
    segment = f.tcp(ESTABLISHED, HTTP, flags=ACK)
    if family == 4:
        return packet(4, f.TCP, segment, fragment=f.MORE_FRAGMENTS)
    return packet(6, f.FRAGMENT, f.fragment_header(f.TCP, more=True) + segment)


def other_protocol(host, family):
    return packet(family, f.ESP, f.text(20))


def wrong(patch):
    def build(host, family):
        inner = bytearray(tcp(ESTABLISHED)(host, family))
        patch(inner, family)
        return bytes(inner)

    return build


def _version(inner, family):
    inner[0] ^= 0x70


def _length_over(inner, family):
    at = 2 if family == 4 else 4
    inner[at : at + 2] = struct.pack(">H", int.from_bytes(inner[at : at + 2], "big") + 1)


KINDS = [
    Kind("tcp/SYN", tcp(UNKNOWN, SYN), OPENS),
    Kind("tcp/SYN to a closed port", tcp(UNKNOWN, SYN, to=CLOSED), OPENS),
    Kind("tcp/SYN of a known flow", tcp(ESTABLISHED, SYN), OPENS),
    Kind("tcp/SYN-ACK", tcp(UNKNOWN, SYN | ACK), STRANGER),
    Kind("tcp/established", tcp(ESTABLISHED), KNOWN),
    Kind("tcp/established, RST", tcp(ESTABLISHED, RST), KNOWN),
    Kind("tcp/established, FIN", tcp(ESTABLISHED, FIN | ACK), KNOWN),
    Kind("tcp/CLOSE_WAIT", tcp(CLOSE_WAIT), KNOWN),
    Kind("tcp/unknown", tcp(UNKNOWN), STRANGER),
    Kind("tcp/unknown, RST", tcp(UNKNOWN, RST), STRANGER),
    Kind("tcp/closed port", tcp(ESTABLISHED, to=CLOSED), STRANGER),
    Kind("tcp/no flags", tcp(UNKNOWN, 0), STRANGER),
    Kind("cookie/right", tcp(COOKIE, src=SILENT, acknowledgement=cookie()), COOKIED),
    Kind(
        "cookie/of a dual-stack listener",
        tcp(COOKIE, src=SILENT, to=DUAL_STACK, acknowledgement=cookie(to=DUAL_STACK)),
        COOKIED,
    ),
    # A cookie is a hash plus 0 to 3 for the MSS, so that a number beyond these is valid only by a chance of 1 in 2^24.
    Kind("cookie/largest MSS", tcp(COOKIE, src=SILENT, acknowledgement=cookie(3)), COOKIED),
    Kind("cookie/beyond the largest MSS", tcp(COOKIE, src=SILENT, acknowledgement=cookie(4)), STRANGER),
    Kind("cookie/below the smallest MSS", tcp(COOKIE, src=SILENT, acknowledgement=cookie(-1)), STRANGER),
    Kind("cookie/wrong", tcp(COOKIE, src=SILENT, acknowledgement=cookie(0x12345)), STRANGER),
    Kind("cookie/RST", tcp(COOKIE, RST | ACK, SILENT, acknowledgement=cookie()), STRANGER),
    Kind("cookie/SYN-ACK", tcp(COOKIE, SYN | ACK, SILENT, acknowledgement=cookie()), STRANGER),
    Kind("cookie/other flow", tcp(UNKNOWN, src=SILENT, acknowledgement=cookie()), STRANGER),
    Kind("options/known", with_options(tcp(ESTABLISHED)), KNOWN),
    Kind("options/unknown", with_options(tcp(UNKNOWN)), STRANGER),
    Kind("udp/connected", udp(ESTABLISHED, UDP_CONNECTED), OTHER, KNOWN),
    Kind("udp/other end", udp(UNKNOWN, UDP_CONNECTED), OTHER, STRANGER),
    Kind("udp/unconnected", udp(ESTABLISHED, UDP_UNCONNECTED), OTHER, LISTENER),
    Kind("udp/no socket", udp(ESTABLISHED, CLOSED), OTHER, STRANGER),
    Kind("udp/QUIC long header", udp(UNKNOWN, UDP_UNCONNECTED, b"\xc0\x00"), OTHER),
    Kind("udp/QUIC short header", udp(UNKNOWN, UDP_UNCONNECTED, b"\x40\x00"), OTHER, LISTENER),
    Kind("udp/empty", udp(UNKNOWN, UDP_UNCONNECTED, b""), OTHER, LISTENER),
    Kind("icmp/echo request", icmp(8, 128), OTHER),
    Kind("icmp/echo reply", icmp(0, 129), OTHER),
    Kind("icmp/redirect", icmp(5, 137), OTHER),
    Kind("error/too big, established", too_big(f.TCP, ESTABLISHED, HTTP), KNOWN),
    Kind("error/too big, 20 bytes quoted", too_big(f.TCP, ESTABLISHED, HTTP, keep=20), KNOWN),
    Kind("error/too big, TIME_WAIT", too_big(f.TCP, TIME_WAIT, HTTP), STRANGER),
    Kind("error/too big, FIN_WAIT2", too_big(f.TCP, FIN_WAIT2, HTTP), STRANGER),
    Kind("error/too big, SYN_RECV", too_big(f.TCP, SYN_RECV, HTTP, SILENT), KNOWN),
    Kind("error/too big, unknown", too_big(f.TCP, UNKNOWN, HTTP), STRANGER),
    Kind("error/too big, cookie", too_big(f.TCP, COOKIE, HTTP, SILENT), STRANGER),
    Kind("error/time exceeded", icmp(11, 3, quote(f.TCP, ESTABLISHED, HTTP)), KNOWN),
    Kind("error/time exceeded, unknown", icmp(11, 3, quote(f.TCP, UNKNOWN, HTTP)), STRANGER),
    Kind("error/parameter problem", icmp(12, 4, quote(f.TCP, UNKNOWN, HTTP)), STRANGER),
    Kind("error/unreachable", icmp(3, 1, quote(f.TCP, UNKNOWN, HTTP)), STRANGER),
    Kind("error/udp", too_big(f.UDP, ESTABLISHED, UDP_CONNECTED), OTHER, KNOWN),
    Kind("error/udp unknown", too_big(f.UDP, UNKNOWN, UDP_CONNECTED), OTHER, STRANGER),
    Kind("error/udp unconnected", too_big(f.UDP, ESTABLISHED, UDP_UNCONNECTED), OTHER, LISTENER),
    Kind("error/other protocol", too_big(f.ESP, 0, 0), OTHER),
    Kind("error/7 bytes quoted", too_big(f.TCP, ESTABLISHED, HTTP, keep=7), "drop_inner_truncated"),
    Kind("error/nothing quoted", icmp(3, 1, lambda family: b""), "drop_inner_truncated"),
    Kind("error/quote is not IP", icmp(3, 1, lambda _: bytes(60)), "drop_inner_malformed"),
    Kind("fragment/first", first_fragment, KNOWN),
    Kind("fragment/later", later_fragment, OTHER),
    Kind("other protocol", other_protocol, OTHER),
    Kind("malformed/version", wrong(_version), "drop_inner_malformed"),
    Kind("malformed/length", wrong(_length_over), "drop_inner_truncated"),
]
NUMBERED = [
    *of_state("TIME_WAIT", TIME_WAIT),
    *of_state("FIN_WAIT2", FIN_WAIT2),
    *of_state("SYN_RECV", SYN_RECV, SILENT),
]
KINDS6 = [
    Kind("extension headers/8", extension_headers(8), KNOWN),
    Kind("extension headers/reserved byte", reserved_byte, KNOWN),
    Kind("extension headers/9", extension_headers(9), "drop_inner_extension_headers"),
]


def kind(name):
    return next(each for each in KINDS if each.name == name)


def udp_checksum(src, dst, datagram):
    pseudo = f.ip(src) + f.ip(dst) + struct.pack(">HH", f.UDP, len(datagram))  # as a sum, the same in both families
    return f.internet_checksum(pseudo + datagram) or 0xFFFF


MOST_HOPS = {4: 30, 6: 7}
FLOW_LABEL = 0x48ABC


def _outer_ip(outer, src, dst, datagram, ttl, tos, options):
    if outer == 6:
        header = bytearray(f.ipv6(src, dst, f.UDP, b"", payload_length=len(datagram), flow_label=FLOW_LABEL, traffic_class=tos))
        header[7] = ttl
        return bytes(header) + datagram
    total_length = 20 + 4 * options + len(datagram)
    header = bytearray(f.ipv4(src, dst, f.UDP, b"", f.nops(options), ttl=ttl, total_length=total_length))
    header[1] = tos
    header[10:12] = bytes(2)
    header[10:12] = struct.pack(">H", f.internet_checksum(bytes(header)))
    return bytes(header) + datagram


def gue_frame(
    inner, hops=(OTHER_HOP,), next_hop=0, ttl=64, tos=0, tags=(), options=0, checksum=None, port=19523,
    src=DIRECTOR, dst=PROXY, mac=f.DIRECTOR_MAC, outer=4,
):
    """`checksum`: the UDP checksum; None for no checksum, "right", or a number. `outer`: the family of the outer header. With 6, IPv4
    addresses stand for those of outside(), there are no options, and a list of more than 7 hops loses its first ones."""
    src, dst, *hops = (outside(outer, address) for address in (src, dst, *hops))
    surplus = max(len(hops) - MOST_HOPS[outer], 0) if outer == 6 else 0
    hops, next_hop = hops[surplus:], max(next_hop - surplus, 0)
    protocol = 41 if inner[0] >> 4 == 6 else 4
    words = {4: 1, 6: 4}[outer] * len(hops)
    gue = struct.pack(">BBHHBB", 1 + words, protocol, 0, {4: 0, 6: 1}[outer], next_hop, len(hops))
    gue += b"".join(f.ip(hop) for hop in hops) + inner
    datagram = f.udp(0x8ABC, port, gue)
    if checksum is not None:
        value = udp_checksum(src, dst, datagram) if checksum == "right" else checksum
        datagram = datagram[:6] + struct.pack(">H", value) + datagram[8:]
    packet_ = _outer_ip(outer, src, dst, datagram, ttl, tos, options)
    return f.ethernet(packet_, {4: 0x0800, 6: 0x86DD}[outer], tags=tags, dst=mac)
