# SPDX-License-Identifier: BSD-3-Clause
"""The table of a packet: binds, prefixes, ranges, overlaps, echo requests, and packets that match no table."""

import ipaddress

from . import frames as f
from .collect import CLIENT, ICMP_OF_FAMILY, VIP, ip_frame, ip_packet
from .settings import PREFIX_BASE4, PREFIX_BASE6, PREFIXES4, PREFIXES6

UNMATCHED = "drop_unmatched"


def _services(packets):
    for family in (4, 6):
        frame = ip_frame(family, f.TCP, f.tcp(40000, 80))
        packets.add(f"match/ipv{family} tcp", frame)
        payload = f.tcp(40000, 443, b"hello", flags=f.ACK)
        packets.add(f"match/ipv{family} tcp with data", ip_frame(family, f.TCP, payload))
        packets.add(
            f"match/ipv{family} udp", ip_frame(family, f.UDP, f.udp(40001, 443, b"hello"))
        )
        packets.add(f"match/ipv{family} udp empty", ip_frame(family, f.UDP, f.udp(40001, 443)))
        for wrong, protocol, payload in (
            ("tcp port", f.TCP, f.tcp(40000, 81)),
            ("udp port", f.UDP, f.udp(40000, 80)),
            ("source port", f.TCP, f.tcp(80, 40000)),
        ):
            packets.add(
                f"match/ipv{family} wrong {wrong}",
                ip_frame(family, protocol, payload),
                UNMATCHED,
            )
        nearby = str(ipaddress.ip_address(VIP[family]) + 1)
        for name, dst in (("next address", nearby), ("swapped", CLIENT[family])):
            packets.add(
                f"match/ipv{family} wrong {name}",
                ip_frame(family, f.TCP, f.tcp(40000, 80), src=VIP[family], dst=dst),
                UNMATCHED,
            )
        for table in ("empty", "no-binds"):
            for protocol, payload in (
                (f.TCP, f.tcp(40000, 80)),
                (f.UDP, f.udp(40000, 443)),
                (ICMP_OF_FAMILY[family], f.echo(family)),
            ):
                packets.add(
                    f"match/ipv{family} protocol {protocol} table {table}",
                    ip_frame(family, protocol, payload),
                    UNMATCHED,
                    table=table,
                )


def _ranges(packets):
    def add(dst, protocol, port, expect="forwarded"):
        family = 6 if ":" in dst else 4
        payload = (f.tcp if protocol == f.TCP else f.udp)(1, port)
        name = f"range/{dst} {'tcp' if protocol == f.TCP else 'udp'} {port}"
        packets.add(name, ip_frame(family, protocol, payload, dst=dst), expect)

    for dst in ("10.20.0.0", "10.20.128.1", "10.20.255.255"):
        for port in (1000, 1500, 1999):
            add(dst, f.TCP, port)
        for port in (0, 999, 2000, 65535):
            add(dst, f.TCP, port, UNMATCHED)
        add(dst, f.UDP, 2000)
        add(dst, f.UDP, 2999)
        add(dst, f.UDP, 1999, UNMATCHED)
        add(dst, f.UDP, 3000, UNMATCHED)
    for dst in ("10.19.255.255", "10.21.0.0"):
        add(dst, f.TCP, 1000, UNMATCHED)
    for dst in ("fdb5::", "fdb5::ffff:ffff:ffff:ffff"):
        add(dst, f.UDP, 1000)
        add(dst, f.UDP, 1999)
        add(dst, f.UDP, 999, UNMATCHED)
        add(dst, f.UDP, 2000, UNMATCHED)
        add(dst, f.TCP, 7)
        add(dst, f.TCP, 1000, UNMATCHED)
    for dst in ("fdb4:ffff:ffff:ffff::1", "fdb5:0:0:1::"):
        add(dst, f.UDP, 1000, UNMATCHED)
    for port in (0, 1, 255, 256, 32767, 32768, 65535):
        add("10.21.0.1", f.TCP, port)
    add("10.21.0.1", f.UDP, 80, UNMATCHED)
    add("10.21.0.2", f.UDP, 0)
    add("10.21.0.2", f.UDP, 65535)
    add("10.21.0.2", f.UDP, 1, UNMATCHED)


def _overlaps(packets):
    for dst, protocol, port, index in (
        ("10.40.1.1", f.TCP, 80, 0),
        ("10.40.1.1", f.TCP, 89, 0),
        ("10.40.1.1", f.TCP, 90, 1),
        ("10.40.1.1", f.TCP, 91, 4),
        ("10.40.1.1", f.TCP, 101, None),
        ("10.40.1.1", f.UDP, 80, 1),
        ("10.40.1.1", f.UDP, 81, None),
        ("10.40.1.2", f.TCP, 90, 4),
        ("10.41.1.1", f.TCP, 80, 1),
        ("10.41.1.1", f.TCP, 85, 2),
        ("10.41.1.2", f.TCP, 80, 2),
        ("10.41.1.2", f.TCP, 85, 2),
        ("10.41.1.2", f.TCP, 100, 2),
        ("10.42.0.9", f.UDP, 53, 3),
        ("10.42.0.9", f.TCP, 99, 4),
        ("8.8.8.8", f.TCP, 80, 4),
        ("8.8.8.8", f.TCP, 79, None),
        ("fd40::1", f.TCP, 80, 0),
        ("fd40::1", f.TCP, 90, 1),
        ("fd41::1", f.TCP, 80, 1),
        ("fd41::2", f.TCP, 80, 2),
        ("fd40:0:1::1", f.TCP, 85, 0),
        ("2001:db8::1", f.TCP, 100, 4),
        ("2001:db8::1", f.TCP, 101, None),
    ):
        family = 6 if ":" in dst else 4
        payload = (f.tcp if protocol == f.TCP else f.udp)(2, port)
        packets.add(
            f"overlap/{dst} protocol {protocol} port {port}",
            ip_frame(family, protocol, payload, dst=dst),
            "forwarded" if index is not None else UNMATCHED,
            table="overlap",
            table_index=index,
        )
    for dst, index in (
        ("10.40.1.1", 0),
        ("10.41.1.1", 1),
        ("10.42.0.9", 3),
        ("8.8.8.8", 4),
        ("fd41::1", 1),
        ("::1", 4),
    ):
        family = 6 if ":" in dst else 4
        packets.add(
            f"overlap/{dst} echo",
            ip_frame(family, ICMP_OF_FAMILY[family], f.echo(family), dst=dst),
            table="overlap",
            table_index=index,
        )


def _prefixes(packets):
    """A table per prefix, longest first, and addresses that differ from the prefix in one bit."""
    for family, base, lengths in ((4, PREFIX_BASE4, PREFIXES4), (6, PREFIX_BASE6, PREFIXES6)):
        address = ipaddress.ip_address(base)
        bits = address.max_prefixlen
        for common in range(bits + 1):  # number of leading bits in common
            if not {common, common + 1} & set(lengths):
                continue
            dst = address
            if common < bits:
                dst = type(address)(int(address) ^ 1 << (bits - 1 - common))
            packets.add(
                f"prefix/{dst} shares {common} bits",
                ip_frame(family, f.TCP, f.tcp(3, 80), dst=str(dst)),
                table="prefixes",
                table_index=next(n for n, length in enumerate(lengths) if length <= common),
            )


def _echo(packets):
    for family in (4, 6):
        protocol = ICMP_OF_FAMILY[family]
        frame = ip_frame(family, protocol, f.echo(family, payload=b"ping"))
        packets.add(f"echo/ipv{family}", frame)
        packets.add(f"echo/ipv{family} off", frame, UNMATCHED, config="no echo")
        packets.add(
            f"echo/ipv{family} off, exception", frame, "exception", config="exception no echo"
        )
        packets.add(
            f"echo/ipv{family} elsewhere",
            ip_frame(family, protocol, f.echo(family), dst=CLIENT[family]),
            UNMATCHED,
        )
        other = {4: "10.20.3.4", 6: "fdb5::77"}[family]
        packets.add(
            f"echo/ipv{family} to a prefix of the second table",
            ip_frame(family, protocol, f.echo(family), dst=other),
        )
        reply = f.icmp({4: 0, 6: 129}[family], 0, 0x42420007)
        packets.add(f"echo/ipv{family} reply", ip_frame(family, protocol, reply), UNMATCHED)
        for value in (0, 1, 0x7FFF, 0x8000, 0xFFFF):
            field = {4: "identification", 6: "flow_label"}[family]
            packets.add(
                f"echo/ipv{family} {field} {value:#x}",
                ip_frame(family, protocol, f.echo(family, identifier=9), **{field: value}),
                hint=value,
            )
    packets.add(
        "echo/ipv6 wide flow label and traffic class",
        ip_frame(6, f.ICMPV6, f.echo(6), flow_label=0xABCDE, traffic_class=0xFF),
        hint=0xBCDE,
    )
    for code in (1, 255):
        payload = f.icmp(8, code, 0x00010001)
        packets.add(f"echo/ipv4 code {code}", ip_frame(4, f.ICMP, payload))
    for identifier in (0, 1, 0xFFFF):
        payload = f.echo(4, identifier=identifier)
        packets.add(f"echo/ipv4 ICMP identifier {identifier}", ip_frame(4, f.ICMP, payload))


def _other_protocols(packets):
    segment = f.tcp(40000, 80)
    for family, protocols in (
        (4, (0, 2, 4, 41, 43, 44, 47, 50, 51, 58, 59, 60, 89, 103, 132, 136, 255)),
        (6, (1, 2, 4, 41, 47, 50, 51, 59, 89, 103, 132, 135, 136, 139, 140, 255)),
    ):
        for protocol in protocols:
            frame = ip_frame(family, protocol, segment)
            packets.add(f"protocol/ipv{family} {protocol}", frame, UNMATCHED)
        # Echo requests of the other family.
        wrong = {4: f.ICMPV6, 6: f.ICMP}[family]
        for icmp_family in (4, 6):
            packets.add(
                f"protocol/ipv{family} carries ICMP {wrong} echo of IPv{icmp_family}",
                ip_frame(family, wrong, f.echo(icmp_family)),
                UNMATCHED,
            )
        packets.add(f"protocol/ipv{family} 59 empty", ip_frame(family, 59, b""), UNMATCHED)

    arp = bytes.fromhex("0001080006040001") + f.mac(f.ROUTER_MAC) + f.ip("10.0.0.1")
    arp += bytes(6) + f.ip("10.10.10.10")
    ip4 = ip_packet(4, f.TCP, segment)
    for name, ethertype, payload in (
        ("arp", 0x0806, arp),
        ("lldp", 0x88CC, bytes(46)),
        ("mpls", 0x8847, bytes.fromhex("00064140") + ip4),
        ("pppoe", 0x8864, bytes.fromhex("110000010030") + b"\x00\x21" + ip4),
        ("802.3 length", 0x0026, bytes(38)),
        ("old 802.1ad 0x9100", 0x9100, bytes.fromhex("00640800") + ip4),
        ("ethertype 0", 0, bytes(46)),
        ("ethertype 0xffff", 0xFFFF, bytes(46)),
        ("no payload", 0x88B5, b""),
    ):
        frame = f.ethernet(payload, ethertype=ethertype)
        packets.add(f"ethertype/{name}", frame, UNMATCHED)
        packets.add(f"ethertype/{name}, exception", frame, "exception", config="exception")


def _exceptions(packets):
    for family in (4, 6):
        for name, protocol, payload, expect in (
            ("wrong port", f.TCP, f.tcp(40000, 81), "exception"),
            ("protocol", 89, bytes(8), "exception"),
            ("echo reply", ICMP_OF_FAMILY[family], f.icmp({4: 0, 6: 129}[family]), "exception"),
            ("tcp", f.TCP, f.tcp(40000, 80), "forwarded"),
            ("truncated tcp", f.TCP, f.tcp(40000, 80)[:19], "drop_truncated"),
        ):
            packets.add(
                f"exception/ipv{family} {name}",
                ip_frame(family, protocol, payload),
                expect,
                config="exception",
            )
        packets.add(
            f"exception/ipv{family} empty table",
            ip_frame(family, f.TCP, f.tcp(40000, 80)),
            "exception",
            config="exception",
            table="empty",
        )


def collect(packets):
    _services(packets)
    _ranges(packets)
    _overlaps(packets)
    _prefixes(packets)
    _echo(packets)
    _other_protocols(packets)
    _exceptions(packets)
