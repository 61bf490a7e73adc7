# SPDX-License-Identifier: BSD-3-Clause
"""outbound_udp_checksum: packets with right, wrong and no checksums of their own."""

import struct

from model.checksum import checksum, pseudo_header

from . import frames as f
from .collect import CLIENT, ICMP_OF_FAMILY, VIP, chain, ip_frame
from .fragment_packets import fragment
from .icmp_packets import error, quote, quoted_tcp
from .steer_packets import client

PLACE = {f.TCP: 16, f.UDP: 6}


def sealed(family, protocol, payload, src=None, dst=None):
    """The segment or datagram with its right checksum."""
    src, dst = f.ip(src or CLIENT[family]), f.ip(dst or VIP[family])
    sum_ = checksum(pseudo_header(src, dst, protocol, len(payload)) + payload)
    at = PLACE[protocol]
    return payload[:at] + struct.pack(">H", sum_ or (0xFFFF if protocol == f.UDP else 0)) + payload[at + 2 :]


def flipped(data, at, bit=1):
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


def transport(protocol, length, port=40002):
    if protocol == f.TCP:
        return f.tcp(port, 80, f.text(length), flags=f.ACK)
    return f.udp(port, 443, f.text(length))


def collect(packets):
    def add(name, frame, config="udp checksum", table="main", **facts):
        packets.add(f"udp checksum/{name}", frame, config=config, table=table, **facts)

    for family in (4, 6):
        for name, protocol in (("tcp", f.TCP), ("udp", f.UDP)):
            for length in (0, 1, 2, 3, 100, 1399):
                add(f"ipv{family} {name} of {length} bytes", ip_frame(family, protocol, sealed(family, protocol, transport(protocol, length))))
            whole = sealed(family, protocol, transport(protocol, 33))
            for at in (4 if protocol == f.TCP else 8, len(whole) // 2, len(whole) - 1, PLACE[protocol]):
                add(f"ipv{family} {name}, bit flipped in byte {at}", ip_frame(family, protocol, flipped(whole, at)))
            add(f"ipv{family} {name}, checksum 0", ip_frame(family, protocol, transport(protocol, 33)))
            add(f"ipv{family} {name}, padded", ip_frame(family, protocol, whole) + b"\xee" * 7)
            add(f"ipv{family} {name}, tagged", f.ethernet(ip_frame(family, protocol, whole)[14:], tags=(f.S_TAG, f.C_TAG)))
            for table, hops in (("one", 1), ("hops2", 2), ("hops3", 3), ("hops4", 4), ("hops8", 8)):
                add(f"ipv{family} {name}, {table}", ip_frame(family, protocol, whole), table=table, hops=hops)
            for number in range(6):
                src = client(family, number)
                segment = sealed(family, protocol, transport(protocol, 33 + number), src=src)
                add(f"ipv{family} {name}, two rows, client {number}", ip_frame(family, protocol, segment, src=src),
                    config="udp checksum alt", table="hops4")
        for number in range(20):  # many sums, so that each carry occurs
            src = client(family, number)
            segment = sealed(family, f.TCP, transport(f.TCP, 3 * number, 1024 + 977 * number), src=src)
            add(f"ipv{family} client {number}", ip_frame(family, f.TCP, segment, src=src))
        whole = sealed(family, f.UDP, transport(f.UDP, 64))
        for name, offset, more in (("first", 0, True), ("later", 4, False)):
            add(f"ipv{family} {name} fragment", fragment(family, f.UDP, whole, offset, more))
        short = sealed(family, f.UDP, f.udp(40002, 443, f.text(20))) + b"tail"  # the UDP length ends before the packet
        add(f"ipv{family} udp shorter than its packet", ip_frame(family, f.UDP, short))
        for length in (0, 7, 8):
            add(f"ipv{family} echo of {length} bytes", ip_frame(family, ICMP_OF_FAMILY[family], f.echo(family, payload=f.text(length))))
        add(f"ipv{family} icmp error", error(family, quote(family, f.TCP, quoted_tcp())))
        too_big = ip_frame(family, f.TCP, sealed(family, f.TCP, transport(f.TCP, 560)))
        packets.add(f"udp checksum/ipv{family} too big", too_big, "answered_too_big", "udp checksum answer 576")
    segment = sealed(4, f.TCP, transport(f.TCP, 33))
    add("ipv4 options", ip_frame(4, f.TCP, segment, options=f.nops(10)))
    add("ipv4 wrong header checksum", ip_frame(4, f.TCP, segment, bad_checksum=True))
    add("ipv4 wrong header checksum, udp checksum 0", ip_frame(4, f.UDP, transport(f.UDP, 33), bad_checksum=True))
    segment = sealed(6, f.TCP, transport(f.TCP, 33))
    add("ipv6 flow label and traffic class", ip_frame(6, f.TCP, segment, flow_label=0xABCDE, traffic_class=0x5A))
    for name, number, build in (("hop-by-hop", f.HOP_BY_HOP, f.extension), ("routing", f.ROUTING, f.routing)):
        first, rest = chain([(number, build)], f.TCP, segment)
        add(f"ipv6 {name}", ip_frame(6, first, rest))
