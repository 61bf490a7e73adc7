# SPDX-License-Identifier: BSD-3-Clause
"""Every header cut at every length, by the end of the frame or by the length in the IP header."""

from . import frames as f
from .collect import ICMP_OF_FAMILY, chain, ip_frame, ip_packet
from .icmp_packets import CLIENT_PORT, error, quote

TRUNCATED = "drop_truncated"
MALFORMED = "drop_malformed"


def _every_extension(protocol, payload):
    return chain(
        [
            (f.HOP_BY_HOP, f.extension),
            (f.ROUTING, f.routing),
            (f.FRAGMENT, f.fragment_header),
            (f.DESTINATION, lambda nh: f.extension(nh, 16)),
        ],
        protocol,
        payload,
    )


def _by_frame(packets):
    """The frame ends early. The length in its IP header is larger than the frame."""
    first, rest = _every_extension(f.UDP, f.udp(40001, 443))
    for name, frame in (
        ("ipv4 options tcp", ip_frame(4, f.TCP, f.tcp(40000, 80), options=f.nops(3))),
        (
            "QinQ ipv4 echo",
            f.ethernet(ip_packet(4, f.ICMP, f.echo(4)), tags=(f.S_TAG, f.C_TAG)),
        ),
        (
            "802.1Q ipv6 extensions udp",
            f.ethernet(ip_packet(6, first, rest), tags=(f.C_TAG,)),
        ),
    ):
        packets.add(f"cut/{name}, whole", frame)
        for length in range(len(frame)):
            packets.add(f"cut/{name} at {length}", frame[:length], TRUNCATED)
    frame = f.ethernet(ip_packet(4, f.TCP, f.tcp(40000, 80)), tags=(f.S_TAG, f.C_TAG, f.C_TAG))
    packets.add("cut/third tag at 22", frame[:22], "drop_unmatched")


def _by_length(packets):
    """The packet ends early, and the IP header has its real length."""
    options = f.nops(3)
    for name, protocol, payload in (
        ("tcp", f.TCP, f.tcp(40000, 80)),
        ("udp", f.UDP, f.udp(40001, 443)),
        ("echo", f.ICMP, f.echo(4)),
        ("other", 89, bytes(4)),
    ):
        for kept in range(len(payload)):
            frame = ip_frame(4, protocol, payload[:kept], options=options)
            expect = "drop_unmatched" if name == "other" else TRUNCATED
            packets.add(f"short/ipv4 {name} of {kept}", frame, expect)
    for total_length in range(32):
        frame = ip_frame(4, f.TCP, f.tcp(40000, 80), options=options, total_length=total_length)
        packets.add(f"short/ipv4 total length {total_length}", frame, MALFORMED)
    for name, protocol, payload in (
        ("tcp", f.TCP, f.tcp(40000, 80)),
        ("udp", f.UDP, f.udp(40001, 443)),
        ("echo", f.ICMPV6, f.echo(6)),
        ("extensions and tcp", *_every_extension(f.TCP, f.tcp(40000, 80))),
    ):
        for kept in range(len(payload)):
            packets.add(
                f"short/ipv6 {name} of {kept}", ip_frame(6, protocol, payload[:kept]), TRUNCATED
            )


def _quotes(packets):
    for family in (4, 6):
        transports = (
            ("tcp", f.TCP, f.tcp(80, CLIENT_PORT)[:8]),
            ("udp", f.UDP, f.udp(443, CLIENT_PORT)),
        )
        for name, protocol, payload in transports:
            quoted = quote(family, protocol, payload)
            for kept in range(len(quoted)):
                packets.add(
                    f"short/ipv{family} quote of {name}, {kept} bytes",
                    error(family, quoted[:kept]),
                    TRUNCATED,
                )
            # The missing bytes are not taken from the padding.
            packets.add(
                f"short/ipv{family} quote of {name} with 7 bytes, padded frame",
                error(family, quoted[:-1]) + bytes(20),
                TRUNCATED,
            )
        for length in range(8):
            message = f.icmp({4: 3, 6: 1}[family])[:length]
            packets.add(
                f"short/ipv{family} error of {length} bytes",
                ip_frame(family, ICMP_OF_FAMILY[family], message),
                TRUNCATED,
            )
    quoted = quote(4, f.TCP, f.tcp(80, CLIENT_PORT)[:8], options=f.nops(10))
    for kept in range(20, len(quoted)):
        frame = error(4, quoted[:kept])
        packets.add(f"short/ipv4 quote with options, {kept} bytes", frame, TRUNCATED)
    first, rest = _every_extension(f.UDP, f.udp(443, CLIENT_PORT))
    quoted = quote(6, first, rest)
    for kept in range(40, len(quoted)):
        frame = error(6, quoted[:kept])
        packets.add(f"short/ipv6 quote with extensions, {kept} bytes", frame, TRUNCATED)


def collect(packets):
    _by_frame(packets)
    _by_length(packets)
    _quotes(packets)
