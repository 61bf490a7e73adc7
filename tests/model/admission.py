# SPDX-License-Identifier: BSD-3-Clause
"""Decides which frames are taken (docs/reference/steering.md#admission and #martian-sources)."""

import ipaddress

from .flow import ETHERTYPE_TAGS, MAX_TAGS, be16
from .verdict import Stop

MARTIANS = [
    ipaddress.ip_network(network)
    for network in ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/64", "ff00::/8")
]


def vlan_ids(frame):
    """The ids of the tags that the director skips. None: the frame ends inside one of them."""
    ids, at = [], 12
    while len(ids) < MAX_TAGS and be16(frame, at) in ETHERTYPE_TAGS:
        if len(frame) < at + 6:
            return None
        ids.append(be16(frame, at + 2) & 0xFFF)
        at += 4
    return ids


def admit(frame, config, port_mac):
    """Raises Stop if the frame goes no further."""
    if len(frame) < 14:
        return
    macs, vlans = config.accept_macs, config.accept_vlans
    group = macs is not None and frame[0] & 1
    if macs not in (None, "any") and not group and frame[:6] not in (port_mac, *macs):
        raise Stop("drop_not_for_us")
    ids = vlan_ids(frame)
    if vlans != "any" and ids is not None:
        tagged = [vlan for vlan in ids if vlan != 0] or [0]
        if not set(tagged) <= set(vlans):
            raise Stop("drop_vlan")
    if group:
        raise Stop("drop_not_for_us" if config.exception_path == "none" else "exception")


def check_source(src, dst, config):
    """Raises Stop if no client can have the source."""
    address = ipaddress.ip_address(src)
    martian = src == dst or any(address in network for network in MARTIANS)
    if martian and config.drop_martians:
        raise Stop("drop_martian")
