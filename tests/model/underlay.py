# SPDX-License-Identifier: BSD-3-Clause
"""ICMP errors about the director's own packets to proxies (docs/reference/steering.md#underlay)."""

import ipaddress
from typing import NamedTuple

from .encap import GUE_PORT
from .flow import ICMP, ICMPV6, UDP, be16, parse_ethernet, parse_ipv4, trim_ip
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


def _icmp(data, config):
    """(router, MTU, quoted header) of a "fragmentation needed" to the director, or None."""
    header = parse_ipv4(trim_ip(4, data))
    icmp = header.payload
    if header.fragment or header.protocol != ICMP or header.dst != config.outbound_src_ip or icmp[:2] != b"\x03\x04":
        return None
    quote = parse_ipv4(icmp[8:])
    if quote.fragment or quote.protocol != UDP or quote.src != config.outbound_src_ip:
        return None
    return header.src, _mtu(be16(icmp, 6), be16(icmp[8:], 2), config.outbound_mtu), quote.dst, quote.payload


def _icmpv6(data, config):
    """The same for a "packet too big" without extension headers. The code does not count."""
    packet = trim_ip(6, data)
    icmp, quote, own = packet[40:], packet[48:], config.outbound_src_ip6
    if packet[6] != ICMPV6 or packet[24:40] != own or icmp[:1] != b"\x02":
        return None
    if len(quote) < 40 or quote[0] >> 4 != 6 or quote[6] != UDP or quote[8:24] != own:
        return None
    mtu = int.from_bytes(icmp[4:8], "big")
    return packet[8:24], mtu if 1280 <= mtu < config.outbound_mtu else None, quote[24:40], quote[40:]


def _read(frame, config, tables):
    ethertype, data = parse_ethernet(frame)
    read = {0x0800: _icmp, 0x86DD: _icmpv6}.get(ethertype)
    found = read and read(data, config)
    if not found:
        return None
    router, mtu, proxy, udp = found
    if len(udp) < 8 or be16(udp, 0) < 0x8000 or be16(udp, 2) != GUE_PORT:
        return None
    router, known = ipaddress.ip_address(router), any(proxy == backend.address for table in tables for backend in table.backends)
    if mtu is None or not known or any(router in network for network in NO_HOST):
        return None
    return Message(str(router), str(ipaddress.ip_address(proxy)), mtu)


def read_message(frame, config, tables):
    """The message in a frame that no bind matches, or None."""
    try:
        return _read(frame, config, tables)
    except Stop:
        return None
