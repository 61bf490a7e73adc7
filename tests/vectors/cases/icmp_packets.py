# SPDX-License-Identifier: BSD-3-Clause
"""ICMP errors, which are steered like the flow that they quote."""

from . import frames as f
from .collect import CLIENT, ICMP_OF_FAMILY, ROUTER, VIP, chain, ip_frame, ip_packet
from .parse_packets import HEADERS

UNMATCHED = "drop_unmatched"
TRUNCATED = "drop_truncated"
MALFORMED = "drop_malformed"
TOO_MANY = "drop_extension_headers"

ERRORS = {4: (3, 11, 12), 6: (1, 2, 3, 4)}
CLIENT_PORT = 40002


def quote(family, protocol, payload, **fields):
    """A packet from a proxy to the client."""
    fields = {"src": VIP[family], "dst": CLIENT[family], **fields}
    return ip_packet(family, protocol, payload, **fields)


def quoted_tcp():
    return f.tcp(80, CLIENT_PORT, b"data", flags=f.ACK)


def quoted_udp():
    return f.udp(443, CLIENT_PORT, b"data")


def quote_6():
    return quote(6, f.TCP, quoted_tcp())


def error(family, quoted, type_=None, code=0, rest=0, **fields):
    """A frame with an ICMP error of a router."""
    message = f.icmp(ERRORS[family][0] if type_ is None else type_, code, rest, quoted)
    fields = {"src": ROUTER[family], **fields}
    return ip_frame(family, ICMP_OF_FAMILY[family], message, **fields)


def _types(packets):
    for family in (4, 6):
        for name, protocol, payload in (
            ("tcp", f.TCP, quoted_tcp()),
            ("udp", f.UDP, quoted_udp()),
        ):
            for size, kept in (("full", len(payload)), ("8 bytes", 8)):
                quoted = quote(family, protocol, payload)
                quoted = quoted[: len(quoted) - len(payload) + kept]
                for type_ in ERRORS[family]:
                    title = f"icmp/ipv{family} type {type_} quotes {name}, {size}"
                    packets.add(title, error(family, quoted, type_, rest=1400))
        every = {
            4: [*range(21), 30, 40, 41, 128, 253, 255],
            6: [*range(6), 8, 100, 101, 127, *range(128, 140), 143, 200, 255],
        }[family]
        quoted = quote(family, f.TCP, quoted_tcp())
        for type_ in every:
            echo_request = type_ == {4: 8, 6: 128}[family]
            known = type_ in ERRORS[family] or echo_request
            title = f"icmp/ipv{family} type {type_}, every type"
            packets.add(
                title, error(family, quoted, type_), "forwarded" if known else UNMATCHED
            )
        for code in (0, 1, 4, 13, 255):
            title = f"icmp/ipv{family} code {code} is not looked at"
            packets.add(title, error(family, quoted, code=code))
        for config in ("no echo", "exception"):
            title = f"icmp/ipv{family} error, {config}"
            packets.add(title, error(family, quoted), config=config)


def _flows(packets):
    for family in (4, 6):
        tcp = quote(family, f.TCP, quoted_tcp())
        packets.add(
            f"icmp/ipv{family} sent to another address, the quote counts",
            error(family, tcp, dst=CLIENT[family]),
        )
        packets.add(
            f"icmp/ipv{family} quotes a foreign flow",
            error(family, quote(family, f.TCP, quoted_tcp(), src=ROUTER[family])),
            UNMATCHED,
        )
        packets.add(
            f"icmp/ipv{family} quotes a foreign flow, exception",
            error(family, quote(family, f.TCP, quoted_tcp(), src=ROUTER[family])),
            "exception",
            config="exception",
        )
        packets.add(
            f"icmp/ipv{family} quotes a client's packet, not a proxy's",
            error(
                family,
                quote(family, f.TCP, f.tcp(7, 80), src=CLIENT[family], dst=VIP[family]),
            ),
            UNMATCHED,
        )
        packets.add(
            f"icmp/ipv{family} quotes another port",
            error(family, quote(family, f.TCP, f.tcp(81, CLIENT_PORT))),
            UNMATCHED,
        )
        packets.add(
            f"icmp/ipv{family} quotes the port of the other protocol",
            error(family, quote(family, f.UDP, f.udp(80, CLIENT_PORT))),
            UNMATCHED,
        )


def _quoted_transports(packets):
    for family in (4, 6):
        tcp = quote(family, f.TCP, quoted_tcp())
        for port in (0, 1, 0x7FFF, 0x8000, 0xFFFF):
            packets.add(
                f"icmp/ipv{family} quotes client port {port}",
                error(family, quote(family, f.TCP, f.tcp(80, port))),
                hint=port,
            )
        packets.add(
            f"icmp/ipv{family} with two tags and padding",
            f.ethernet(
                ip_packet(
                    family, ICMP_OF_FAMILY[family], f.icmp(ERRORS[family][0], payload=tcp)
                ),
                tags=(f.S_TAG, f.C_TAG),
            )
            + bytes(5),
        )
        for protocol in (ICMP_OF_FAMILY[family], 2, 4, 41, 47, 50, 51, 59, 132, 255):
            packets.add(
                f"icmp/ipv{family} quotes protocol {protocol}",
                error(family, quote(family, protocol, quoted_tcp())),
                UNMATCHED,
            )
        echo = f.echo(family)
        packets.add(
            f"icmp/ipv{family} quotes an echo reply",
            error(family, quote(family, ICMP_OF_FAMILY[family], echo)),
            UNMATCHED,
        )
    # Packets and errors of a flow have the same row, hint and outer source port.
    for family in (4, 6):
        packets.add(
            f"icmp/ipv{family} beside it: the flow itself",
            ip_frame(family, f.TCP, f.tcp(CLIENT_PORT, 80)),
        )


def _quoted_headers(packets):
    for ihl in range(6, 16):
        for size in (8, 24):
            quoted = quote(4, f.TCP, quoted_tcp()[:size], options=f.nops(ihl - 5))
            packets.add(f"icmp/ipv4 quotes IHL {ihl}, {size} bytes", error(4, quoted))
    for ihl in range(5):
        quoted = quote(4, f.TCP, quoted_tcp(), ihl=ihl)
        packets.add(f"icmp/ipv4 quotes IHL {ihl}", error(4, quoted), MALFORMED)
    outer_and_inner = quote(4, f.UDP, quoted_udp()[:8], options=f.nops(10))
    packets.add(
        "icmp/ipv4 options in both headers", error(4, outer_and_inner, options=f.nops(10))
    )
    for family in (4, 6):
        for version in (0, 5, {4: 6, 6: 4}[family], 15):
            quoted = quote(family, f.TCP, quoted_tcp(), version=version)
            title = f"icmp/ipv{family} quotes version {version}"
            packets.add(title, error(family, quoted), MALFORMED)
        other = {4: 6, 6: 4}[family]
        quoted = quote(other, f.TCP, quoted_tcp())
        title = f"icmp/ipv{family} quotes the other family"
        packets.add(title, error(family, quoted), MALFORMED)
        field = {4: "total_length", 6: "payload_length"}[family]
        for length in (20, 28, 60, 1500, 65535) if family == 4 else (0, 8, 20, 1460, 65535):
            quoted = quote(family, f.TCP, quoted_tcp()[:8], **{field: length})
            title = f"icmp/ipv{family} quotes {field} {length}"
            packets.add(title, error(family, quoted))
    for length in (0, 19):
        quoted = quote(4, f.TCP, quoted_tcp()[:8], total_length=length)
        packets.add(f"icmp/ipv4 quotes total_length {length}", error(4, quoted), MALFORMED)
    quoted = quote(4, f.TCP, quoted_tcp()[:8], options=f.nops(2), total_length=27)
    packets.add("icmp/ipv4 quotes a total_length within options", error(4, quoted), MALFORMED)
    quoted = quote(4, f.TCP, b"", options=f.nops(4), total_length=30)[:24]
    packets.add(
        "icmp/ipv4 quotes a total_length within options, options cut off",
        error(4, quoted),
        MALFORMED,
    )


def _quoted_extensions(packets):
    def add(name, headers, protocol, payload, expect="forwarded"):
        first, rest = chain(headers, protocol, payload)
        packets.add(f"icmp/ipv6 quotes {name}", error(6, quote(6, first, rest)), expect)

    for name, number, build in HEADERS:
        header = (number, build)
        add(f"{name}, 8 bytes", [header], f.TCP, quoted_tcp()[:8])
        add(f"{name}, udp", [header], f.UDP, quoted_udp())
        add(f"8 x {name}", [header] * 8, f.TCP, quoted_tcp()[:8])
        add(f"9 x {name}", [header] * 9, f.TCP, quoted_tcp()[:8], TOO_MANY)
        add(f"{name}, then ESP", [header], f.ESP, bytes(8), UNMATCHED)
        add(f"{name}, then ICMPv6", [header], f.ICMPV6, bytes(8), UNMATCHED)
    mixed = [(number, build) for _, number, build in HEADERS] * 2
    add("mix of 8", mixed, f.UDP, quoted_udp()[:8])
    add("mix of 9", mixed + mixed[:1], f.UDP, quoted_udp()[:8], TOO_MANY)
    for name, number, build in HEADERS:
        first, rest = chain([(number, build)], f.ICMPV6, f.icmp(1, payload=quote_6()))
        frame = ip_frame(6, first, rest)
        packets.add(f"icmp/ipv6 error behind {name}", frame)
    # Each of the two IP headers may have eight extension headers.
    first, inner = chain(mixed, f.TCP, quoted_tcp()[:8])
    first, rest = chain(mixed, f.ICMPV6, f.icmp(2, payload=quote(6, first, inner)))
    packets.add("icmp/ipv6 8 headers and 8 quoted", ip_frame(6, first, rest))


def _fragments(packets):
    data = f.text(8)
    for family in (4, 6):
        icmp = ICMP_OF_FAMILY[family]

        def quoted_fragment(protocol, payload, offset, more, family=family, **fields):
            if family == 4:
                word = offset | (f.MORE_FRAGMENTS if more else 0)
                return quote(4, protocol, payload, fragment=word, **fields)
            header = f.fragment_header(protocol, offset, more)
            return quote(6, f.FRAGMENT, header + payload, **fields)

        for name, protocol, payload in (
            ("tcp", f.TCP, quoted_tcp()),
            ("udp", f.UDP, quoted_udp()),
        ):
            title = f"icmp/ipv{family} quotes {name}'s"
            first = quoted_fragment(protocol, payload[:8], 0, True)
            packets.add(f"{title} first fragment", error(family, first))
            later = quoted_fragment(protocol, data, 3, True)
            packets.add(f"{title} later fragment", error(family, later))
            empty = quoted_fragment(protocol, b"", 3, False)
            packets.add(f"{title} later fragment without data", error(family, empty))
            for config, expect in (
                ("hash src_addr+src_port", "drop_fragment"),
                ("hash src_addr+dst_addr", "forwarded"),
                ("no echo", "forwarded"),
            ):
                name = f"{title} later fragment, {config}"
                packets.add(name, error(family, later), expect, config)
        for protocol in (icmp, 89):
            later = quoted_fragment(protocol, data, 3, True)
            packets.add(
                f"icmp/ipv{family} quotes a later fragment of protocol {protocol}",
                error(family, later),
                UNMATCHED,
            )
        foreign = quoted_fragment(f.TCP, data, 3, True, src=ROUTER[family])
        packets.add(
            f"icmp/ipv{family} quotes a foreign later fragment", error(family, foreign), UNMATCHED
        )
        several = {4: "10.41.1.2", 6: "fd41::2"}[family]
        later = quoted_fragment(f.TCP, data, 3, True, src=several)
        packets.add(
            f"icmp/ipv{family} quotes a later fragment of several tables",
            error(family, later),
            "drop_fragment",
            table="overlap",
        )
    for protocol in (f.HOP_BY_HOP, f.ROUTING, f.DESTINATION):
        later = quote(6, f.FRAGMENT, f.fragment_header(protocol, 3, True) + data)
        packets.add(
            f"icmp/ipv6 quotes a later fragment, next header {protocol}", error(6, later)
        )


def _fragmented_errors(packets):
    """ICMP errors that are fragments."""
    whole = f.icmp(3, payload=quote(4, f.TCP, quoted_tcp()))
    frame = ip_frame(4, f.ICMP, whole, src=ROUTER[4], fragment=f.MORE_FRAGMENTS)
    packets.add("icmp/ipv4 error as a first fragment", frame)
    frame = ip_frame(4, f.ICMP, whole[24:], src=ROUTER[4], fragment=3)
    packets.add("icmp/ipv4 error's later fragment", frame, hint=0)
    whole = f.icmp(1, payload=quote_6())
    frame = ip_frame(6, f.FRAGMENT, f.fragment_header(f.ICMPV6, 0, True) + whole, src=ROUTER[6])
    packets.add("icmp/ipv6 error as a first fragment", frame, hint=CLIENT_PORT)
    later = f.fragment_header(f.ICMPV6, 3, False) + whole[24:]
    frame = ip_frame(6, f.FRAGMENT, later, src=ROUTER[6])
    packets.add("icmp/ipv6 error's later fragment", frame, hint=0)


def collect(packets):
    _types(packets)
    _flows(packets)
    _quoted_transports(packets)
    _quoted_headers(packets)
    _quoted_extensions(packets)
    _fragments(packets)
    _fragmented_errors(packets)
