# SPDX-License-Identifier: BSD-3-Clause
"""Decodes GUE as a proxy receives it (docs/reference/gue.md#decoding). All decoders are compared with this one.

decode_gue() returns (status, fields). `fields` is None unless the status is "ok". The other statuses:

not_gue       not UDP over IPv4 or IPv6 to the GUE port, an outer fragment or extension header, or an outer IP header
              that contradicts itself
truncated     a header, or the length in a header, exceeds the data that contains it
bad_version, control, bad_flags, bad_protocol, bad_length, bad_type, bad_index   as named
"""

import ipaddress

from .encap import GUE_PORT, GUE_PROTOCOL
from .flow import ETHERTYPE_IPV4, ETHERTYPE_IPV6, UDP, be16, parse_ethernet, parse_ipv4, parse_ipv6, trim_ip
from .verdict import Stop

UDP_HEADER = 8
SHORTEST_UDP = UDP_HEADER + 4 + 4  # GUE header and private word, without hops
OUTER_FAMILY = {ETHERTYPE_IPV4: 4, ETHERTYPE_IPV6: 6}
PRIVATE_TYPE = {4: 0, 6: 1}
HOP_SIZE = {4: 4, 6: 16}


class NotOk(Exception):
    pass


def _outer(frame):
    """Returns (family, IP header, UDP source port, UDP payload)."""
    try:
        ethertype, data = parse_ethernet(frame)
        family = OUTER_FAMILY.get(ethertype)
        if family is None:
            raise NotOk("not_gue")
        data = trim_ip(family, data)
        if family == 6 and data[6] != UDP:
            raise NotOk("not_gue")
        header = parse_ipv4(data) if family == 4 else parse_ipv6(data)
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
    return family, header, be16(udp, 0), udp[UDP_HEADER : be16(udp, 4)]


def _decode(frame):
    family, header, src_port, gue = _outer(frame)
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
    if private_type != PRIVATE_TYPE[family]:
        raise NotOk("bad_type")
    size = HOP_SIZE[family]
    if hlen != 1 + size // 4 * hop_count:
        raise NotOk("bad_length")
    if next_hop > hop_count:
        raise NotOk("bad_index")
    hops = [gue[at : at + size] for at in range(8, header_length, size)]
    return {
        "src": str(ipaddress.ip_address(header.src)),
        "dst": str(ipaddress.ip_address(header.dst)),
        "udp_src_port": src_port,
        "inner_protocol": gue[1],
        "next_hop": next_hop,
        "hops": [str(ipaddress.ip_address(hop)) for hop in hops],
        "inner": gue[header_length:].hex(),
    }


def decode_gue(frame):
    try:
        return "ok", _decode(frame)
    except NotOk as not_ok:
        return str(not_ok), None
