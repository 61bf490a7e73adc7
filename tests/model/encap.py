# SPDX-License-Identifier: BSD-3-Clause
"""Builds the frames that the director sends: GUE (docs/reference/gue.md), and too-big replies
(docs/reference/steering.md#too-big-replies).
"""

import struct

from .checksum import checksum, outer_checksum

GUE_PORT = 19523
OUTER_HEADERS = 20 + 8 + 4 + 4  # IPv4, UDP, GUE, private word; hops come on top
IP_DONT_FRAGMENT = 0x4000
PROTOCOL_ICMP, PROTOCOL_UDP, PROTOCOL_ICMPV6 = 1, 17, 58
GUE_PROTOCOL = {4: 4, 6: 41}  # protocol number of the inner packet, by family
REPLY_DATAGRAM = {4: 576, 6: 1280}  # the longest datagram of a too-big reply, and the smallest MTU that it reports


def ethernet(gateway_mac, port_mac, family, packet):
    return gateway_mac + port_mac + {4: b"\x08\x00", 6: b"\x86\xdd"}[family] + packet


def ipv4(protocol, src, dst, payload):
    def header(sum_):
        return struct.pack(
            ">BBHHHBBH4s4s",
            0x45,
            0,
            20 + len(payload),
            0,
            IP_DONT_FRAGMENT,
            64,
            protocol,
            sum_,
            src,
            dst,
        )

    return header(checksum(header(0))) + payload


def ipv6(next_header, src, dst, payload):
    return struct.pack(">IHBB16s16s", 6 << 28, len(payload), next_header, 64, src, dst) + payload


def overhead(hops):
    """Bytes from the outer IPv4 header to the inner packet."""
    return OUTER_HEADERS + 4 * (len(hops) - 1)


def source_port(hash_, hint):
    return 0x8000 | ((hash_ ^ hint) & 0x7FFF)


def encapsulate(family, inner, hops, hash_, hint, src, udp_checksum=False):
    """The outer IPv4 packet that carries `inner` to the first hop."""
    second_chances = hops[1:]
    gue = struct.pack(">BBH", 1 + len(second_chances), GUE_PROTOCOL[family], 0)
    private_data = struct.pack(">HBB", 0, 0, len(second_chances)) + b"".join(second_chances)
    gue += private_data

    def udp(sum_):
        return struct.pack(">HHHH", source_port(hash_, hint), GUE_PORT, 8 + len(gue) + len(inner), sum_)

    sum_ = outer_checksum(family, inner, src, hops[0], udp(0) + gue) if udp_checksum else 0
    return ipv4(PROTOCOL_UDP, src, hops[0], udp(sum_) + gue + inner)


def _with_checksum(message, pseudo_header=b""):
    """The ICMP message with its checksum, which must be zero in `message` (bytes 2 and 3)."""
    sum_ = checksum(pseudo_header + message)
    return message[:2] + sum_.to_bytes(2, "big") + message[4:]


def too_big_reply(family, packet, src, dst, mtu):
    """The ICMP packet that tells `dst` that `packet` does not fit in `mtu`."""
    mtu = max(mtu, REPLY_DATAGRAM[family])
    if family == 4:
        quote = packet[: REPLY_DATAGRAM[4] - 20 - 8]
        message = struct.pack(">BBHHH", 3, 4, 0, 0, mtu) + quote
        return ipv4(PROTOCOL_ICMP, src, dst, _with_checksum(message))
    quote = packet[: REPLY_DATAGRAM[6] - 40 - 8]
    message = struct.pack(">BBHI", 2, 0, 0, mtu) + quote
    pseudo_header = struct.pack(">16s16sII", src, dst, len(message), PROTOCOL_ICMPV6)
    return ipv6(PROTOCOL_ICMPV6, src, dst, _with_checksum(message, pseudo_header))
