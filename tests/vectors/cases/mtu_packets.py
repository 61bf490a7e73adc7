# SPDX-License-Identifier: BSD-3-Clause
"""The outbound MTU: packets that just fit, packets that do not, and too-big replies."""

from . import frames as f
from .collect import ICMP_OF_FAMILY, chain, ip_frame, ip_packet
from .fragment_packets import fragment
from .icmp_packets import error, quote
from .steer_packets import client

TOO_BIG = "drop_too_big"
ANSWERED = "answered_too_big"
IP_HEADER = {4: 20, 6: 40}


def of_length(family, length, protocol=f.UDP, **fields):
    """An IP packet of `length` bytes for the service."""
    room = length - IP_HEADER[family]
    if protocol == f.UDP:
        payload = f.udp(40005, 443, f.text(room - 8))
    elif protocol == f.TCP:
        payload = f.tcp(40005, 80, f.text(room - 20), flags=f.ACK)
    else:
        payload = f.echo(family, payload=f.text(room - 8))
    return ip_packet(family, protocol, payload, **fields)


def _limits(packets):
    """`most` is the longest inner packet: MTU - 36 - 4 x (hops - 1)."""
    for table, most in (("one", 540), ("hops2", 536), ("hops3", 532), ("hops4", 528), ("hops5", 524), ("hops8", 512)):
        for family in (4, 6):
            for length, expect in ((most, "forwarded"), (most + 1, TOO_BIG)):
                frame = f.ethernet(of_length(family, length))
                name = f"mtu/576 {table} ipv{family} {length}"
                packets.add(name, frame, expect, "mtu 576", table)
    for config, mtu in (("default", 1500), ("mtu 9216", 9216)):
        for family in (4, 6):
            for length, expect in ((mtu - 40, "forwarded"), (mtu - 39, TOO_BIG)):
                frame = f.ethernet(of_length(family, length, f.TCP))
                packets.add(f"mtu/{mtu} ipv{family} {length}", frame, expect, config)
    for family in (4, 6):
        packet = of_length(family, 536)
        frame = f.ethernet(packet, tags=(f.S_TAG, f.C_TAG)) + bytes(50)
        packets.add(f"mtu/576 ipv{family} tags and padding do not count", frame, config="mtu 576")
        packets.add(
            f"mtu/576 ipv{family} unmatched is not too big",
            f.ethernet(of_length(family, 900, dst=client(family, 1))),
            "drop_unmatched",
            "mtu 576",
        )
    # The packet has the hops of two rows, which decide the limit of its length.
    for number in range(8):
        packet = of_length(4, 540 - 4 * 7, f.TCP, src=client(4, number))
        name = f"mtu/576 alternative hash, client {number}"
        packets.add(name, f.ethernet(packet), config="answer 576 alt", table="hops4")
        packet = of_length(4, 540 - 4 * 3 + 1, f.TCP, src=client(4, number))
        packets.add(
            f"{name}, too big", f.ethernet(packet), ANSWERED, config="answer 576 alt", table="hops4"
        )
        packet = of_length(4, 540 - 4 * 15, f.TCP, src=client(4, number))
        packets.add(f"{name}, rows of 8", f.ethernet(packet), config="mtu 576 alt", table="hops8")
        packet = of_length(4, 540 - 4 * 7 + 1, f.TCP, src=client(4, number))
        packets.add(f"{name}, rows of 8, too big", f.ethernet(packet), TOO_BIG, "mtu 576 alt", "hops8")


def _answers(packets):
    def add(name, frame, expect=ANSWERED, config="answer 576", table="main"):
        packets.add(f"too big/{name}", frame, expect, config, table)

    for table, most in (("one", 540), ("hops2", 536), ("hops4", 528)):
        for family in (4, 6):
            title = f"ipv{family} {table}"
            add(title, f.ethernet(of_length(family, most + 1)), table=table)
            add(f"{title}, fits", f.ethernet(of_length(family, most)), "forwarded", table=table)
    add("ipv6 hops8", f.ethernet(of_length(6, 512 + 1)), table="hops8")
    # A reply quotes 548 bytes of an IPv4 packet, and 1232 bytes of an IPv6 packet.
    for family, lengths in ((4, (537, 547, 548, 549, 550, 701)), (6, (547, 1231, 1232, 1233))):
        for length in lengths:
            for tail in (b"", b"\xee" * 9):
                padded = ", padded" if tail else ""
                name = f"ipv{family} of {length} bytes{padded}"
                add(name, f.ethernet(of_length(family, length)) + tail)
    for family in (4, 6):
        add(f"ipv{family} at 1500", f.ethernet(of_length(family, 1461)), config="answer")
        for name, protocol in (("tcp", f.TCP), ("echo", ICMP_OF_FAMILY[family])):
            add(f"ipv{family} {name}", f.ethernet(of_length(family, 560, protocol)))
        add(
            f"ipv{family} with tags",
            f.ethernet(of_length(family, 560), tags=(f.S_TAG, f.C_TAG)),
        )
        add(f"ipv{family}, off", f.ethernet(of_length(family, 560)), TOO_BIG, "mtu 576")
        add(
            f"ipv{family}, exception path",
            f.ethernet(of_length(family, 560)),
            config="answer 576 exception",
        )
        quoted = quote(family, f.TCP, f.tcp(80, 40005, f.text(560), flags=f.ACK))
        add(f"ipv{family} never for an ICMP error", error(family, quoted), TOO_BIG)
        big = f.udp(40005, 443, f.text(560))
        for name, offset, more in (("first", 0, True), ("middle", 4, True), ("last", 9, False)):
            frame = fragment(family, f.UDP, big, offset, more)
            add(f"ipv{family} never for a {name} fragment", frame, TOO_BIG)
    add("ipv4 without DF", f.ethernet(of_length(4, 560, fragment=0)))
    options = ip_frame(4, f.UDP, f.udp(40005, 443, f.text(540)), options=f.nops(10))
    add("ipv4 with options", options)
    atomic = fragment(6, f.UDP, f.udp(40005, 443, f.text(560)), 0, False)
    add("ipv6 never for an atomic fragment", atomic, TOO_BIG)
    first, rest = chain(
        [(f.HOP_BY_HOP, f.extension), (f.DESTINATION, f.extension)],
        f.UDP,
        f.udp(40005, 443, f.text(540)),
    )
    add("ipv6 with extension headers", ip_frame(6, first, rest, flow_label=0x12345))


def outer_ipv6(packets):
    """`most` is the longest inner packet: MTU - 56 - 16 x (hops - 1)."""
    for table, most in (("one", 1444), ("hops2", 1428), ("hops3", 1412), ("hops4", 1396), ("hops5", 1380), ("hops8", 1332)):
        for family in (4, 6):
            for length, fits in ((most, True), (most + 1, False)):
                frame, name = f.ethernet(of_length(family, length)), f"outer ipv6/mtu/1500 {table} ipv{family} {length}"
                packets.add(name, frame, "forwarded" if fits else TOO_BIG, table=f"{table} ipv6")
                packets.add(f"{name}, answer", frame, "forwarded" if fits else ANSWERED, "answer", f"{table} ipv6")
    for number in range(4):  # the packet has the hops of two rows, but at most eight
        for hops, table in ((4, "hops2"), (8, "hops4"), (8, "hops8")):
            packet = of_length(4, 1500 - 56 - 16 * (hops - 1), f.TCP, src=client(4, number))
            packets.add(f"outer ipv6/mtu/1500 two rows, {table}, client {number}", f.ethernet(packet), config="alt ports", table=f"{table} ipv6")


def collect(packets):
    _limits(packets)
    _answers(packets)
