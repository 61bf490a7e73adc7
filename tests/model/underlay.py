# SPDX-License-Identifier: BSD-3-Clause
"""ICMP errors about the director's own packets to proxies (docs/reference/steering.md#underlay)."""

import ipaddress
from typing import NamedTuple

from .encap import GUE_PORT
from .flow import ICMP, UDP, be16, parse_ethernet, parse_ipv4, trim_ip
from .reply import NO_HOST
from .verdict import Stop

PLATEAUS = (8166, 4352, 2002, 1492, 1006, 508, 296, 68)  # RFC 1191 section 7, up to the largest outbound_mtu


class Message(NamedTuple):
    router: str
    proxy: str
    mtu: int


def _mtu(told, quoted_length, outbound_mtu):
    if told:
        return told if 68 <= told < outbound_mtu else None
    size = quoted_length if 68 < quoted_length < outbound_mtu else outbound_mtu
    return next(plateau for plateau in PLATEAUS if plateau < size)


def _read(frame, config, tables):
    ethertype, data = parse_ethernet(frame)
    if ethertype != 0x0800:
        return None
    header = parse_ipv4(trim_ip(4, data))
    icmp = header.payload
    if header.fragment or header.protocol != ICMP or header.dst != config.outbound_src_ip or icmp[:2] != b"\x03\x04":
        return None
    quote = parse_ipv4(icmp[8:])
    udp = quote.payload
    own = quote.src == config.outbound_src_ip and not quote.fragment and quote.protocol == UDP
    if not own or len(udp) < 8 or be16(udp, 0) < 0x8000 or be16(udp, 2) != GUE_PORT:
        return None
    router, proxy = ipaddress.ip_address(header.src), ipaddress.ip_address(quote.dst)
    known = any(quote.dst == backend.address for table in tables for backend in table.backends)
    mtu = _mtu(be16(icmp, 6), be16(icmp[8:], 2), config.outbound_mtu)
    if mtu is None or not known or any(router in network for network in NO_HOST):
        return None
    return Message(str(router), str(proxy), mtu)


def read_message(frame, config, tables):
    """The message in a frame that no bind matches, or None."""
    try:
        return _read(frame, config, tables)
    except Stop:
        return None
