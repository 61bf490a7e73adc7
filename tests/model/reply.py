# SPDX-License-Identifier: BSD-3-Clause
"""Which packets get a too-big reply (docs/reference/steering.md#too-big-replies). The model has no rate limit."""

import ipaddress

from .admission import MARTIANS

NO_HOST = [
    ipaddress.ip_network(text)
    for text in ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/127", "ff00::/8")
]


def _is_in(address, networks):
    return any(address in network for network in networks)


def _is_bound(address, tables):
    """Whether a bind covers the address. Binds for all addresses do not count."""
    binds = (bind for table in tables for bind in table.binds)
    return any(bind.prefix_length > 0 and bind.covers(address.packed) for bind in binds)


def may_reply(packet, config, tables):
    header = packet.header
    src, dst = ipaddress.ip_address(header.src), ipaddress.ip_address(header.dst)
    to_group, from_group = packet.macs[0] & 1, packet.macs[6] & 1
    return (
        config.send_icmp_too_big
        and not packet.icmp_error
        and not header.fragment
        and not to_group
        and not from_group
        and not _is_in(src, MARTIANS)
        and not _is_in(dst, NO_HOST)
        and src != dst
        and header.src != config.source(len(header.src))
        and not _is_bound(src, tables)
        and (header.dont_fragment or config.send_icmp_too_big_without_df)
    )
