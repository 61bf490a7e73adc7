# SPDX-License-Identifier: BSD-3-Clause
"""Builds the frames that the director sends: GUE (docs/reference/gue.md), and too-big replies
(docs/reference/steering.md#too-big-replies).
"""

import struct

from .checksum import checksum, outer_checksum

GUE_PORT = 19523
IP_HEADER = {4: 20, 16: 40}  # of the outer packet, by the size of a hop
UDP_AND_GUE = 8 + 4 + 4  # UDP, GUE, private word; hops come on top
FIELDS_OF_OUTER = {4: (1, 0), 16: (4, 1)}  # words of a hop, type of the private data
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


def ipv6(next_header, src, dst, payload, flow_label=0):
    return struct.pack(">IHBB16s16s", 6 << 28 | flow_label, len(payload), next_header, 64, src, dst) + payload


def overhead(hops):
    """Bytes from the outer IP header to the inner packet."""
    size = len(hops[0])
    return IP_HEADER[size] + UDP_AND_GUE + size * (len(hops) - 1)


def source_port(hash_, hint):
    return 0x8000 | ((hash_ ^ hint) & 0x7FFF)


def encapsulate(family, inner, hops, hash_, hint, src, udp_checksum=False):
    """The outer packet that carries `inner` to the first hop. `src` and all hops have the size of one family."""
    second_chances, port = hops[1:], source_port(hash_, hint)
    words, private_type = FIELDS_OF_OUTER[len(src)]
    gue = struct.pack(">BBH", 1 + words * len(second_chances), GUE_PROTOCOL[family], 0)
    gue += struct.pack(">HBB", private_type, 0, len(second_chances)) + b"".join(second_chances)

    def udp(sum_):
        return struct.pack(">HHHH", port, GUE_PORT, 8 + len(gue) + len(inner), sum_)

    sum_ = outer_checksum(family, inner, src, hops[0], udp(0) + gue) if udp_checksum else 0
    if len(src) == 16:
        return ipv6(PROTOCOL_UDP, src, hops[0], udp(sum_) + gue + inner, flow_label=port)
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
