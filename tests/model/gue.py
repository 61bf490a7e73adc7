# SPDX-License-Identifier: BSD-3-Clause
"""Decodes GUE as a proxy receives it (docs/reference/gue.md#decoding). All decoders are compared with this one.

decode_gue() returns (status, fields). `fields` is None unless the status is "ok". The other statuses:

not_gue       not UDP over IPv4 to the GUE port, an outer fragment, or an outer IPv4 header that
              contradicts itself
truncated     a header, or the length in a header, exceeds the data that contains it
bad_version, control, bad_flags, bad_protocol, bad_length, bad_type, bad_index   as named
"""

import ipaddress

from .encap import GUE_PORT, GUE_PROTOCOL
from .flow import ETHERTYPE_IPV4, UDP, be16, parse_ethernet, parse_ipv4, trim_ip
from .verdict import Stop

UDP_HEADER = 8
SHORTEST_UDP = UDP_HEADER + 4 + 4  # GUE header and private word, without hops


class NotOk(Exception):
    pass


def _outer(frame):
    """Returns (IPv4 header, UDP source port, UDP payload)."""
    try:
        ethertype, data = parse_ethernet(frame)
        if ethertype != ETHERTYPE_IPV4:
            raise NotOk("not_gue")
        header = parse_ipv4(trim_ip(4, data))
    except Stop as stop:
        raise NotOk("truncated" if stop.verdict == "drop_truncated" else "not_gue") from stop
    if header.fragment or header.protocol != UDP:
        raise NotOk("not_gue")
    udp = header.payload
    if len(udp) < UDP_HEADER:
        raise NotOk("truncated")
    if be16(udp, 2) != GUE_PORT:
        raise NotOk("not_gue")
    if not SHORTEST_UDP <= be16(udp, 4) <= len(udp):
        raise NotOk("truncated")
    return header, be16(udp, 0), udp[UDP_HEADER : be16(udp, 4)]


def _decode(frame):
    header, src_port, gue = _outer(frame)
    version, control, hlen = gue[0] >> 6, gue[0] & 0x20, gue[0] & 0x1F
    if version != 0:
        raise NotOk("bad_version")
    if control:
        raise NotOk("control")
    if be16(gue, 2) != 0:
        raise NotOk("bad_flags")
    if gue[1] not in GUE_PROTOCOL.values():
        raise NotOk("bad_protocol")
    header_length = 4 + 4 * hlen
    if header_length > len(gue):
        raise NotOk("bad_length")
    private_type, next_hop, hop_count = be16(gue, 4), gue[6], gue[7]
    if private_type != 0:
        raise NotOk("bad_type")
    if hlen != 1 + hop_count:
        raise NotOk("bad_length")
    if next_hop > hop_count:
        raise NotOk("bad_index")
    hops = [gue[at : at + 4] for at in range(8, header_length, 4)]
    return {
        "src": str(ipaddress.IPv4Address(header.src)),
        "dst": str(ipaddress.IPv4Address(header.dst)),
        "udp_src_port": src_port,
        "inner_protocol": gue[1],
        "next_hop": next_hop,
        "hops": [str(ipaddress.IPv4Address(hop)) for hop in hops],
        "inner": gue[header_length:].hex(),
    }


def decode_gue(frame):
    try:
        return "ok", _decode(frame)
    except NotOk as not_ok:
        return str(not_ok), None
