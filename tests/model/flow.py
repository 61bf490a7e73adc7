# SPDX-License-Identifier: BSD-3-Clause
"""Parses a frame to the flow that steers it (docs/reference/steering.md#ethernet to #later-fragments).

Raises Stop with the verdict of the first rule that ends the parsing.
"""

from dataclasses import dataclass
from enum import Enum, auto

from .verdict import UNMATCHED, Stop

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_IPV6 = 0x86DD
ETHERTYPE_TAGS = (0x8100, 0x88A8)
MAX_TAGS = 2

ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION_OPTIONS = 0, 43, 44, 60
EXTENSION_HEADERS = (HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION_OPTIONS)
MAX_EXTENSION_HEADERS = 8

ICMP_OF_FAMILY = {4: ICMP, 6: ICMPV6}
ICMP_ERRORS = {4: (3, 11, 12), 6: (1, 2, 3, 4)}
ICMP_ECHO_REQUEST = {4: 8, 6: 128}


class Kind(Enum):
    PORTS = auto()  # TCP or UDP, also in the packet that an ICMP error quotes
    ECHO = auto()  # echo request; matches by address
    LATER_FRAGMENT = auto()  # has no ports; matches by address if only one table has it


@dataclass(frozen=True)
class Flow:
    """A flow in the direction from the client."""

    kind: Kind
    src: bytes
    dst: bytes
    protocol: int
    src_port: int = 0
    dst_port: int = 0
    hint: int = 0  # mixed into the outer UDP source port, to tell flows of the same row apart
    data: bytes = None  # of UDP; None if it is a fragment
    quoted: bool = False  # an ICMP error quotes the packet


@dataclass(frozen=True)
class IpHeader:
    src: bytes
    dst: bytes
    protocol: int  # the protocol after all extension headers
    payload: bytes  # what follows the IP header and the extension headers; the data of a later fragment
    identity: int  # IPv4: identification; IPv6: low 16 bits of the flow label
    fragment: bool = False  # any fragment; for IPv6 any packet with a fragment header
    later_fragment: bool = False  # a fragment other than the first
    dont_fragment: bool = True  # the DF bit of IPv4; IPv6 routers never fragment


@dataclass(frozen=True)
class Packet:
    family: int  # 4 or 6
    data: bytes  # the IP packet without padding
    header: IpHeader
    flow: Flow
    icmp_error: bool
    macs: bytes  # destination and source of the frame


def be16(data, at):
    return int.from_bytes(data[at : at + 2], "big")


def _need(data, length):
    if len(data) < length:
        raise Stop("drop_truncated")


def _malformed_if(condition):
    if condition:
        raise Stop("drop_malformed")


def parse_ethernet(frame):
    """Skips at most two tags. Returns (ethertype, data after it)."""
    _need(frame, 14)
    at = 12
    for _ in range(MAX_TAGS):
        if be16(frame, at) in ETHERTYPE_TAGS:
            at += 4
            _need(frame, at + 2)
    return be16(frame, at), frame[at + 2 :]


def trim_ip(family, data):
    """The IP packet without padding, which is everything after the length in its header."""
    if family == 4:
        _need(data, 20)
        header_length, total_length = 4 * (data[0] & 15), be16(data, 2)
        _malformed_if(data[0] >> 4 != 4 or header_length < 20 or total_length < header_length)
    else:
        _need(data, 40)
        _malformed_if(data[0] >> 4 != 6)
        total_length = 40 + be16(data, 4)
    _need(data, total_length)
    return data[:total_length]


def parse_ipv4(data):
    """Parses the header of a trimmed packet or of a quoted one. The length in a quoted header is not used."""
    _need(data, 20)
    header_length = 4 * (data[0] & 15)
    _malformed_if(data[0] >> 4 != 4 or header_length < 20 or be16(data, 2) < header_length)
    _need(data, header_length)
    more_fragments, offset = be16(data, 6) & 0x2000, be16(data, 6) & 0x1FFF
    return IpHeader(
        src=data[12:16],
        dst=data[16:20],
        protocol=data[9],
        payload=data[header_length:],
        identity=be16(data, 4),
        fragment=bool(more_fragments or offset),
        later_fragment=offset != 0,
        dont_fragment=bool(be16(data, 6) & 0x4000),
    )


def parse_ipv6(data):
    """Like parse_ipv4(). Walks the extension headers up to a fragment header with an offset."""
    _need(data, 40)
    _malformed_if(data[0] >> 4 != 6)
    protocol, at, count = data[6], 40, 0
    fragment = later_fragment = False
    while protocol in EXTENSION_HEADERS and not later_fragment:
        count += 1
        if count > MAX_EXTENSION_HEADERS:
            raise Stop("drop_extension_headers")
        _need(data, at + 8)
        length = 8
        if protocol == FRAGMENT:
            fragment = True
            later_fragment = be16(data, at + 2) >> 3 != 0
        else:
            length += 8 * data[at + 1]
        _need(data, at + length)
        protocol = data[at]
        at += length
    return IpHeader(
        src=data[8:24],
        dst=data[24:40],
        protocol=protocol,
        payload=data[at:],
        identity=be16(data, 2),
        fragment=fragment,
        later_fragment=later_fragment,
    )


PARSE_IP = {4: parse_ipv4, 6: parse_ipv6}


def _later_fragment(family, header, src, dst, allow_icmp):
    allowed = [TCP, UDP]
    if family == 6:
        # The protocol is unknown: more extension headers follow in the reassembled packet.
        allowed += [HOP_BY_HOP, ROUTING, DESTINATION_OPTIONS]
    if allow_icmp:
        allowed.append(ICMP_OF_FAMILY[family])
    if header.protocol not in allowed:
        raise Stop(UNMATCHED)
    return Flow(Kind.LATER_FRAGMENT, src, dst, header.protocol)


def _udp_data(header):
    return None if header.protocol != UDP or header.fragment else header.payload[8:]


def _quoted_flow(family, quote):
    """The flow of an ICMP error, from the quoted packet, which a proxy sent to the client."""
    header = PARSE_IP[family](quote)
    if header.later_fragment:
        return _later_fragment(family, header, src=header.dst, dst=header.src, allow_icmp=False)
    if header.protocol not in (TCP, UDP):
        raise Stop(UNMATCHED)
    _need(header.payload, 8)
    client_port = be16(header.payload, 2)
    return Flow(
        Kind.PORTS,
        src=header.dst,
        dst=header.src,
        protocol=header.protocol,
        src_port=client_port,
        dst_port=be16(header.payload, 0),
        hint=client_port,
        data=_udp_data(header),
        quoted=True,
    )


def _transport_flow(header, header_length):
    _need(header.payload, header_length)
    src_port = be16(header.payload, 0)
    return Flow(
        Kind.PORTS,
        src=header.src,
        dst=header.dst,
        protocol=header.protocol,
        src_port=src_port,
        dst_port=be16(header.payload, 2),
        hint=src_port,
        data=_udp_data(header),
    )


def parse_flow(family, header, forward_echo):
    """Returns (flow, whether the packet is an ICMP error)."""
    if header.later_fragment:
        flow = _later_fragment(family, header, header.src, header.dst, allow_icmp=forward_echo)
        return flow, False
    if header.protocol == TCP:
        return _transport_flow(header, 20), False
    if header.protocol == UDP:
        return _transport_flow(header, 8), False
    if header.protocol == ICMP_OF_FAMILY[family]:
        _need(header.payload, 8)
        icmp_type = header.payload[0]
        if icmp_type in ICMP_ERRORS[family]:
            return _quoted_flow(family, header.payload[8:]), True
        if icmp_type == ICMP_ECHO_REQUEST[family] and forward_echo:
            flow = Flow(
                Kind.ECHO, header.src, header.dst, header.protocol, hint=header.identity
            )
            return flow, False
    raise Stop(UNMATCHED)


def parse_frame(frame, forward_echo=True, check_source=lambda src, dst: None):
    """check_source: is called when the IP headers are parsed, and may raise Stop."""
    ethertype, data = parse_ethernet(frame)
    family = {ETHERTYPE_IPV4: 4, ETHERTYPE_IPV6: 6}.get(ethertype)
    if family is None:
        raise Stop(UNMATCHED)
    data = trim_ip(family, data)
    header = PARSE_IP[family](data)
    check_source(header.src, header.dst)
    flow, icmp_error = parse_flow(family, header, forward_echo)
    return Packet(family, data, header, flow, icmp_error, frame[:12])
