# SPDX-License-Identifier: BSD-3-Clause
"""Parsing of headers: tags, padding, options, extension headers, fragments."""

from . import frames as f
from .collect import ICMP_OF_FAMILY, VIP, chain, ip_frame, ip_packet

UNMATCHED = "drop_unmatched"
TRUNCATED = "drop_truncated"
MALFORMED = "drop_malformed"

# (name, number, builder) of every extension header that the director walks
HEADERS = (
    ("hop-by-hop", f.HOP_BY_HOP, f.extension),
    ("routing", f.ROUTING, f.routing),
    ("destination options", f.DESTINATION, f.extension),
    ("atomic fragment", f.FRAGMENT, f.fragment_header),
)


def transports(family):
    """(name, protocol, payload) of all kinds of packets that are forwarded."""
    return (
        ("tcp", f.TCP, f.tcp(40000, 80)),
        ("udp", f.UDP, f.udp(40001, 443, b"data")),
        ("echo", ICMP_OF_FAMILY[family], f.echo(family)),
    )


def _ethernet(packets):
    for family in (4, 6):
        packet = ip_packet(family, f.TCP, f.tcp(40000, 80))
        for name, tags, expect in (
            ("802.1Q", (f.C_TAG,), "forwarded"),
            ("802.1ad", (f.S_TAG,), "forwarded"),
            ("QinQ", (f.S_TAG, f.C_TAG), "forwarded"),
            ("802.1Q twice", (f.C_TAG, f.C_TAG), "forwarded"),
            ("802.1ad twice", (f.S_TAG, f.S_TAG), "forwarded"),
            ("tags in the odd order", (f.C_TAG, f.S_TAG), "forwarded"),
            ("three tags", (f.S_TAG, f.C_TAG, f.C_TAG), UNMATCHED),
            ("four tags", (f.C_TAG,) * 4, UNMATCHED),
        ):
            packets.add(f"tag/ipv{family} {name}", f.ethernet(packet, tags=tags), expect)
            wrong = f.ethernet(packet, ethertype=0x0806, tags=tags)
            packets.add(f"tag/ipv{family} {name}, then ARP's ethertype", wrong, UNMATCHED)
        for name, dst in (
            ("broadcast", "ff:ff:ff:ff:ff:ff"),
            ("multicast", "33:33:00:00:00:01"),
            ("foreign", "02:99:99:99:99:99"),
        ):
            packets.add(f"ethernet/ipv{family} to {name}", f.ethernet(packet, dst=dst))
        other = {4: 0x86DD, 6: 0x0800}[family]
        # 40 bytes have the version field of both families.
        packets.add(
            f"ethernet/ipv{family} under the other ethertype",
            f.ethernet(packet, ethertype=other),
            MALFORMED,
        )


def _padding(packets):
    for family in (4, 6):
        for name, protocol, payload in transports(family):
            for padding in (1, 6, 100):
                for tags in ((), (f.S_TAG, f.C_TAG)):
                    frame = f.ethernet(ip_packet(family, protocol, payload), tags=tags)
                    frame += b"\xee" * padding
                    tagged = " with tags" if tags else ""
                    packets.add(f"padding/ipv{family} {name} {padding}{tagged}", frame)
        short = ip_frame(family, f.TCP, f.tcp(40000, 80)[:19]) + b"\xee" * 20
        packets.add(f"padding/ipv{family} does not complete tcp", short, TRUNCATED)
        short = ip_frame(family, f.UDP, f.udp(40000, 443)[:7]) + b"\xee" * 20
        packets.add(f"padding/ipv{family} does not complete udp", short, TRUNCATED)


def _ipv4_headers(packets):
    for ihl in range(5, 16):
        for name, protocol, payload in transports(4):
            frame = ip_frame(4, protocol, payload, options=f.nops(ihl - 5))
            packets.add(f"ihl/{ihl} {name}", frame)
    for ihl in range(5):
        packets.add(
            f"ihl/{ihl}", ip_frame(4, f.TCP, f.tcp(40000, 80), ihl=ihl), MALFORMED
        )
    for ihl in range(6, 16):
        # With a larger IHL, bytes of TCP count as options. From 11 words on, the header is longer than the packet.
        expect = TRUNCATED if 4 * ihl <= 40 else MALFORMED
        packets.add(f"ihl/{ihl} lies", ip_frame(4, f.TCP, f.tcp(40000, 80), ihl=ihl), expect)
    for version in (0, 1, 3, 5, 6, 15):
        packets.add(
            f"version/{version} as IPv4",
            f.ethernet(ip_packet(4, f.TCP, f.tcp(40000, 80), version=version), 0x0800),
            MALFORMED,
        )
    segment = f.tcp(40000, 80)
    packets.add("ipv4/wrong checksum", ip_frame(4, f.TCP, segment, bad_checksum=True))
    for ttl in (0, 1, 255):
        packets.add(f"ipv4/ttl {ttl}", ip_frame(4, f.TCP, segment, ttl=ttl))
    for flags in (0, 0x8000, 0xC000):
        frame = ip_frame(4, f.TCP, segment, fragment=flags)
        packets.add(f"ipv4/flags {flags:#06x} are no fragment", frame)
    real = bytes.fromhex("830704c633640108 9404000000 01".replace(" ", ""))
    packets.add("ipv4/source route and router alert", ip_frame(4, f.TCP, segment, options=real))
    for offset in (0, 4, 6, 15):
        payload = f.tcp(40000, 80, data_offset=offset)
        for family in (4, 6):
            frame = ip_frame(family, f.TCP, payload)
            packets.add(f"tcp/ipv{family} data offset {offset} is not looked at", frame)
    for length in (0, 7, 8, 9, 65535):
        payload = f.udp(40000, 443, b"data", length=length)
        for family in (4, 6):
            frame = ip_frame(family, f.UDP, payload)
            packets.add(f"udp/ipv{family} length {length} is not looked at", frame)


def _lengths(packets):
    """Lengths in headers that are larger or smaller than the frame."""
    for family in (4, 6):
        for name, protocol, payload in transports(family):
            packet = ip_packet(family, protocol, payload)
            header = {4: 20, 6: 40}[family]
            field = {4: "total_length", 6: "payload_length"}[family]
            honest = len(packet) if family == 4 else len(packet) - header

            def add(length, expect, what):
                frame = ip_frame(family, protocol, payload, **{field: length})
                packets.add(f"length/ipv{family} {name} {what}", frame, expect)

            for excess in (1, 2, 100):
                add(honest + excess, TRUNCATED, f"{excess} over the frame")
            add(65535, TRUNCATED, "65535")
            least = {"tcp": 20, "udp": 8, "echo": 8}[name] + (header if family == 4 else 0)
            for length in range(least, honest):
                add(length, "forwarded", f"{honest - length} under the frame")
            add(least - 1, TRUNCATED, "one byte short of the transport header")
            add(header if family == 4 else 0, TRUNCATED, "of the IP header alone")
        for name, length in (("0", 0), ("1", 1), ("19", 19)):
            if family == 4:
                frame = ip_frame(4, f.TCP, f.tcp(40000, 80), total_length=length)
                packets.add(f"length/ipv4 {name}", frame, MALFORMED)
    frame = ip_frame(4, f.TCP, f.tcp(40000, 80), options=f.nops(3), total_length=31)
    packets.add("length/ipv4 ends within the options", frame, MALFORMED)
    frame = ip_frame(4, 89, b"", total_length=20)
    packets.add("length/ipv4 of the header alone, other protocol", frame, UNMATCHED)
    for version in (0, 4, 5, 7, 15):
        packets.add(
            f"version/{version} as IPv6",
            f.ethernet(ip_packet(6, f.TCP, f.tcp(40000, 80), version=version), 0x86DD),
            MALFORMED,
        )


def _extension_headers(packets):
    for name, number, build in HEADERS:
        for transport, protocol, payload in transports(6):
            first, rest = chain([(number, build)], protocol, payload)
            packets.add(f"extension/{name} {transport}", ip_frame(6, first, rest))
        for count in (2, 7, 8):
            first, rest = chain([(number, build)] * count, f.TCP, f.tcp(40000, 80))
            packets.add(f"extension/{count} x {name}", ip_frame(6, first, rest))
        first, rest = chain([(number, build)] * 9, f.TCP, f.tcp(40000, 80))
        expect = "drop_extension_headers"
        packets.add(f"extension/9 x {name}", ip_frame(6, first, rest), expect)
        # The director refuses the ninth header before it reads it.
        first, rest = chain([(number, build)] * 8, number, b"")
        packets.add(f"extension/9 x {name}, the last cut off", ip_frame(6, first, rest), expect)
        first, rest = chain([(number, build)] * 8, 89, b"")
        packets.add(f"extension/8 x {name}, OSPF", ip_frame(6, first, rest), UNMATCHED)
        for other in (f.AH, f.ESP, f.NO_NEXT, 135, 139, 140, 253):
            first, rest = chain([(number, build)], other, bytes(24))
            packets.add(f"extension/{name}, then {other}", ip_frame(6, first, rest), UNMATCHED)
    for length in (8, 16, 24, 264, 1024):
        for name, number in (("hop-by-hop", f.HOP_BY_HOP), ("destination", f.DESTINATION)):
            first, rest = chain(
                [(number, lambda nh, length=length: f.extension(nh, length))],
                f.TCP,
                f.tcp(40000, 80),
            )
            packets.add(f"extension/{name} of {length} bytes", ip_frame(6, first, rest))
    for count in (0, 2, 5):
        first, rest = chain(
            [(f.ROUTING, lambda nh, count=count: f.routing(nh, (VIP[6],) * count, count))],
            f.UDP,
            f.udp(40000, 443),
        )
        packets.add(f"extension/routing with {count} addresses", ip_frame(6, first, rest))


def _extension_chains(packets):
    kinds = [(number, build) for _, number, build in HEADERS]
    for start in range(4):
        mixed = [kinds[(start + n) % 4] for n in range(8)]
        for transport, protocol, payload in transports(6):
            first, rest = chain(mixed, protocol, payload)
            packets.add(f"extension/mix of 8 from {start} {transport}", ip_frame(6, first, rest))
        first, rest = chain(mixed + mixed[:1], f.TCP, f.tcp(40000, 80))
        packets.add(
            f"extension/mix of 9 from {start}",
            ip_frame(6, first, rest),
            "drop_extension_headers",
        )


def _extension_fields(packets):
    # The second byte of a fragment header is reserved, and is not a length.
    first, rest = chain([(f.FRAGMENT, f.fragment_header)], f.TCP, f.tcp(40000, 80))
    rest = rest[:1] + b"\xff" + rest[2:]
    packets.add("extension/fragment header, reserved byte set", ip_frame(6, first, rest))
    rest = rest[:3] + b"\x06" + rest[4:]
    packets.add("extension/fragment header, reserved bits set", ip_frame(6, first, rest))
    # The header has a length of 216 bytes. The next header does not matter.
    for number in (f.HOP_BY_HOP, f.ROUTING, f.DESTINATION):
        for then in (f.TCP, f.HOP_BY_HOP, f.FRAGMENT, f.NO_NEXT, 89):
            for present in (8, 208, 215):
                packets.add(
                    f"extension/{number} then {then}, {present} bytes of 216",
                    ip_frame(6, number, bytes([then, 26]) + bytes(present - 2)),
                    TRUNCATED,
                )


def collect(packets):
    _ethernet(packets)
    _padding(packets)
    _ipv4_headers(packets)
    _lengths(packets)
    _extension_headers(packets)
    _extension_chains(packets)
    _extension_fields(packets)
