# SPDX-License-Identifier: BSD-3-Clause
"""Fragments. The first fragment has ports. Later ones are steered by address, or dropped."""

from . import frames as f
from .collect import CLIENT4, CLIENT6, ICMP_OF_FAMILY, chain, ip_frame, ip_packet
from .parse_packets import transports
from .settings import FIELDS, hash_config

UNMATCHED = "drop_unmatched"
TRUNCATED = "drop_truncated"
UNSTEERABLE = "drop_fragment"
DATA = f.text(16)


def fragment(family, protocol, payload, offset, more, before=(), **fields):
    """A frame with a fragment. `before` are IPv6 extension headers before the fragment header."""
    if family == 4:
        word = offset | (f.MORE_FRAGMENTS if more else 0)
        return ip_frame(4, protocol, payload, fragment=word, **fields)
    headers = [*before, (f.FRAGMENT, lambda nh: f.fragment_header(nh, offset, more))]
    first, rest = chain(headers, protocol, payload)
    return ip_frame(6, first, rest, **fields)


PLACES = (("middle", 1, True), ("last", 185, False), ("farthest", 8191, False))


def _by_protocol(packets):
    for family in (4, 6):
        for name, protocol, payload in transports(family):
            title = f"fragment/ipv{family} {name}"
            packets.add(f"{title} first", fragment(family, protocol, payload, 0, True))
            packets.add(
                f"{title} first, cut",
                fragment(family, protocol, payload[:7], 0, True),
                TRUNCATED,
            )
            for place, offset, more in PLACES:
                frame = fragment(family, protocol, DATA, offset, more)
                packets.add(f"{title} {place}", frame)
                for data in (b"", b"x"):
                    packets.add(
                        f"{title} {place} of {len(data)} bytes",
                        fragment(family, protocol, data, offset, more),
                    )
        icmp = ICMP_OF_FAMILY[family]
        frame = fragment(family, icmp, DATA, 5, False)
        packets.add(f"fragment/ipv{family} icmp last, no echo", frame, UNMATCHED, "no echo")
        frame = fragment(family, f.UDP, DATA, 5, False)
        packets.add(f"fragment/ipv{family} udp last, no echo", frame, config="no echo")
        other_icmp = {4: f.ICMPV6, 6: f.ICMP}[family]
        protocols = {4: (0, 43, 44, 47, 50, 59, 60, 89), 6: (44, 47, 50, 51, 59, 89, 135)}
        for protocol in protocols[family] + (other_icmp,):
            frame = fragment(family, protocol, DATA, 5, False)
            packets.add(f"fragment/ipv{family} protocol {protocol} last", frame, UNMATCHED)
        packets.add(
            f"fragment/ipv{family} elsewhere",
            fragment(family, f.UDP, DATA, 5, False, dst={4: CLIENT4, 6: CLIENT6}[family]),
            UNMATCHED,
        )
        packets.add(
            f"fragment/ipv{family} elsewhere, exception",
            fragment(family, f.UDP, DATA, 5, False, dst={4: CLIENT4, 6: CLIENT6}[family]),
            "exception",
            config="exception",
        )
        # The port and protocol of a bind do not matter: its address covers later fragments.
        packets.add(
            f"fragment/ipv{family} covered by a bind for the other protocol",
            fragment(family, f.UDP, DATA, 5, False, dst={4: "10.21.0.1", 6: "fdb5::1"}[family]),
        )
        for table in ("empty", "no-binds"):
            frame = fragment(family, f.TCP, DATA, 5, False)
            packets.add(
                f"fragment/ipv{family} table {table}", frame, UNMATCHED, table=table
            )


def _offsets(packets):
    """Each bit of the offset alone makes a later fragment."""
    for family in (4, 6):
        for bit in range(13):
            # As first fragments, these bytes would match no table: their port is 0x2122.
            frame = fragment(family, f.UDP, DATA, 1 << bit, bit % 2 == 0)
            packets.add(f"fragment/ipv{family} offset {8 << bit} bytes", frame)


def _ipv6_chains(packets):
    for protocol in (f.HOP_BY_HOP, f.ROUTING, f.DESTINATION):
        packets.add(
            f"fragment/ipv6 later, next header {protocol}",
            fragment(6, protocol, DATA, 5, True),
        )
        packets.add(
            f"fragment/ipv6 later, next header {protocol}, no echo",
            fragment(6, protocol, DATA, 5, True),
            config="no echo",
        )
        # The bytes of a later fragment are data, even if they look like a header.
        packets.add(
            f"fragment/ipv6 later, next header {protocol}, no data",
            fragment(6, protocol, b"", 5, False),
        )
    hop_by_hop = (f.HOP_BY_HOP, f.extension)
    for count in (1, 7):
        frame = fragment(6, f.TCP, DATA, 5, False, before=[hop_by_hop] * count)
        packets.add(f"fragment/ipv6 later behind {count} headers", frame)
    frame = fragment(6, f.TCP, DATA, 5, False, before=[hop_by_hop] * 8)
    packets.add("fragment/ipv6 later behind 8 headers", frame, "drop_extension_headers")
    frame = fragment(
        6, f.TCP, DATA, 5, False, before=[(f.FRAGMENT, f.fragment_header), hop_by_hop]
    )
    packets.add("fragment/ipv6 later behind an atomic one", frame)
    first, rest = chain(
        [(f.FRAGMENT, f.fragment_header), (f.DESTINATION, f.extension)],
        f.TCP,
        f.tcp(40000, 80),
    )
    packets.add("fragment/ipv6 atomic, then destination options", ip_frame(6, first, rest))
    headers = [(f.FRAGMENT, lambda nh: f.fragment_header(nh, 0, True)), hop_by_hop]
    first, rest = chain(headers, f.UDP, f.udp(40000, 443))
    packets.add("fragment/ipv6 first, then hop-by-hop", ip_frame(6, first, rest))
    for cut in (f.extension(f.TCP)[:4], f.extension(f.TCP, 16)[:8]):
        packets.add(
            f"fragment/ipv6 first, extension header cut at {len(cut)}",
            fragment(6, f.DESTINATION, cut, 0, True),
            TRUNCATED,
        )


def _ambiguous(packets):
    for dst, expect in (
        ("10.40.1.1", UNSTEERABLE),
        ("10.40.2.2", UNSTEERABLE),
        ("10.41.1.2", UNSTEERABLE),
        ("10.42.0.1", UNSTEERABLE),
        ("8.8.8.8", "forwarded"),
        ("fd40::1", UNSTEERABLE),
        ("2001:db8:5::1", "forwarded"),
    ):
        family = 6 if ":" in dst else 4
        for protocol in (f.TCP, f.UDP, ICMP_OF_FAMILY[family]):
            packets.add(
                f"fragment/of several tables, {dst} protocol {protocol}",
                fragment(family, protocol, DATA, 9, True, dst=dst),
                expect,
                table="overlap",
            )
        packets.add(
            f"fragment/of several tables, {dst}, first",
            fragment(family, f.TCP, f.tcp(40000, 80), 0, True, dst=dst),
            table="overlap",
        )
        packets.add(
            f"fragment/of several tables, {dst}, exception path",
            fragment(family, f.TCP, DATA, 9, True, dst=dst),
            expect,
            config="exception",
            table="overlap",
        )


def _by_hash(packets):
    for subset in range(1, 16):
        uses_ports = any(subset >> n & 1 and "port" in name for n, name in enumerate(FIELDS))
        for family in (4, 6):
            packets.add(
                f"fragment/ipv{family} later, {hash_config(subset)}",
                fragment(family, f.TCP, DATA, 9, True),
                UNSTEERABLE if uses_ports else "forwarded",
                config=hash_config(subset),
            )
    for config, expect, hops in (
        ("alt ports", "forwarded", 2),  # the alternative hash has ports, so it is not looked up
        ("alt address", "forwarded", 4),
        ("alt same", "forwarded", 2),
        ("alt from ports", UNSTEERABLE, 0),
    ):
        packets.add(
            f"fragment/later, {config}",
            fragment(4, f.TCP, DATA, 9, True, src="198.51.100.20"),
            expect,
            config=config,
            table="hops2",
            hops=hops,
        )


def _same_way_as_its_first(packets):
    """If only addresses are hashed, all fragments of a packet have the same hops."""
    for family in (4, 6):
        whole = f.udp(40123, 443, f.text(40))
        for n, at in enumerate(range(0, 48, 16)):
            frame = fragment(family, f.UDP, whole[at : at + 16], at // 8, at + 16 < 48)
            packets.add(f"fragment/ipv{family} train, part {n}", frame)
    tagged = f.ethernet(
        ip_packet(4, f.UDP, DATA, fragment=9, options=f.nops(10)), tags=(f.S_TAG, f.C_TAG)
    )
    packets.add("fragment/ipv4 later, QinQ, all options, padding", tagged + bytes(3))


def collect(packets):
    _by_protocol(packets)
    _offsets(packets)
    _ipv6_chains(packets)
    _ambiguous(packets)
    _by_hash(packets)
    _same_way_as_its_first(packets)
