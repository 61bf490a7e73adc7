# SPDX-License-Identifier: BSD-3-Clause
"""The hops of a flow: hash fields, alternative hash, number of hops, states of proxies."""

from . import frames as f
from .collect import ICMP_OF_FAMILY, ip_frame
from .icmp_packets import error, quote, quoted_tcp, quoted_udp
from .settings import hash_config

def client(family, number):
    return f"198.51.100.{number % 256}" if family == 4 else f"2001:db8::{number:x}"


def _hash_fields(packets):
    for subset in range(1, 16):
        config = hash_config(subset)
        for family in (4, 6):
            for name, frame in (
                ("tcp", ip_frame(family, f.TCP, f.tcp(40002, 80))),
                ("udp", ip_frame(family, f.UDP, f.udp(40002, 443))),
                ("echo", ip_frame(family, ICMP_OF_FAMILY[family], f.echo(family))),
                ("error tcp", error(family, quote(family, f.TCP, quoted_tcp()[:8]))),
                ("error udp", error(family, quote(family, f.UDP, quoted_udp()))),
            ):
                packets.add(f"{config}/ipv{family} {name}", frame, config=config)
    packets.add(
        "hash fields set to false", ip_frame(4, f.TCP, f.tcp(40002, 80)), config="false fields"
    )


def _tables(packets):
    for table, hops in (
        ("hops2", 2),
        ("hops3", 3),
        ("hops4", 4),
        ("one", 1),
        ("two-of-four", 2),
        ("three", 2),
        ("states", 2),
        ("states4", 4),
        ("unhealthy", 3),
        ("hops5", 5),
        ("hops6", 6),
        ("hops7", 7),
        ("hops8", 8),
        ("three-of-eight", 3),
        ("states8", 6),
    ):
        for number in range(12):
            family = (4, 6)[number % 2]
            payload = f.tcp(1024 + number, 80)
            if number % 3 == 0:
                payload = f.udp(1024 + number, 443)
            packets.add(
                f"hops/{table}, client {number}",
                ip_frame(
                    family,
                    f.UDP if number % 3 == 0 else f.TCP,
                    payload,
                    src=client(family, number),
                ),
                table=table,
                hops=hops,
            )
        frame = error(4, quote(4, f.TCP, quoted_tcp()[:8]))
        packets.add(f"hops/{table}, error", frame, table=table, hops=hops)


def _alt_hash(packets):
    """Enough flows to have pairs of rows that share none, some or all of their proxies."""
    for config in ("alt ports", "alt address", "alt same", "alt from ports"):
        for table, flows in (
            ("one", 2),
            ("two-of-four", 2),
            ("three", 12),
            ("hops2", 12),
            ("hops3", 6),
            ("hops4", 12),
            ("states4", 4),
            ("hops5", 4),
            ("hops8", 12),
            ("states8", 4),
        ):
            for number in range(flows):
                family = (4, 6)[number % 2]
                frame = ip_frame(
                    family, f.TCP, f.tcp(2000 + number, 80), src=client(family, number)
                )
                name = f"alt/{config}, {table}, client {number}"
                packets.add(name, frame, config=config, table=table)
        for family in (4, 6):
            for name, frame in (
                ("echo", ip_frame(family, ICMP_OF_FAMILY[family], f.echo(family))),
                ("error", error(family, quote(family, f.UDP, quoted_udp()))),
                ("unmatched", ip_frame(family, f.TCP, f.tcp(1, 1))),
            ):
                expect = "drop_unmatched" if name == "unmatched" else "forwarded"
                packets.add(f"alt/{config}, ipv{family} {name}", frame, expect, config, "hops4")


def collect(packets):
    _hash_fields(packets)
    _tables(packets)
    _alt_hash(packets)
