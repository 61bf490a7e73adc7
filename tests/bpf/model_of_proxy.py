# SPDX-License-Identifier: BSD-3-Clause
"""A model of a proxy's decision on a frame (docs/reference/redirect.md#the-decision), with which the tests compare the program.

decide() returns the counter (None: not GUE), the XDP verdict, the frame after the run, and the hop.
"""

import dataclasses
import ipaddress
import struct

from model.encap import checksum
from model.flow import ETHERTYPE_TAGS, ICMP, ICMP_ERRORS, ICMPV6, PARSE_IP, TCP, UDP, be16, trim_ip
from model.gue import HOP_SIZE, OUTER_FAMILY, decode_gue
from model.quic import find_dcid, find_quoted_scid
from model.verdict import Stop

XDP_DROP, XDP_PASS, XDP_REDIRECT = 1, 2, 4
SYN, RST, ACK = 0x02, 0x04, 0x10
NOT_ECT, ECT_1, ECT_0, CE = 0, 1, 2, 3
DROP = "drop"
UNCONNECTED = "udp_unconnected_listener"
COUNTED_HOPS = 8

# RFC 6040, figure 4: rows by the inner field, columns by the outer one.
DECAPSULATED_ECN = {
    NOT_ECT: {NOT_ECT: NOT_ECT, ECT_0: NOT_ECT, ECT_1: NOT_ECT, CE: DROP},
    ECT_0: {NOT_ECT: ECT_0, ECT_0: ECT_0, ECT_1: ECT_1, CE: CE},
    ECT_1: {NOT_ECT: ECT_1, ECT_0: ECT_1, ECT_1: ECT_1, CE: CE},
    CE: {NOT_ECT: CE, ECT_0: CE, ECT_1: CE, CE: CE},
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    counter: str  # None: not GUE
    verdict: int
    frame: bytes
    hop: int = None  # at which this host accepted the packet: 1 is the first one, 8 also stands for later ones


@dataclasses.dataclass
class Sockets:
    """The flows for which the host has sockets. A flow is (protocol, source, port, destination, port) as the host receives it."""

    flows: set = dataclasses.field(default_factory=set)  # TCP in any state but LISTEN, and connected UDP
    listeners: set = dataclasses.field(default_factory=set)  # (destination, port) of unconnected UDP
    # Flow with a SYN cookie: the acknowledgement number that answers it, less the sequence number. The kernel made it for the smallest MSS. It also
    # accepts the next numbers, which stand for the other MSS values.
    cookies: dict = dataclasses.field(default_factory=dict)
    # TCP flow in SYN_RECV, TIME_WAIT or FIN_WAIT2 after close(): the number that its segments acknowledge, and their next sequence number.
    # Without BTF the program does not know these numbers.
    expected: dict = dataclasses.field(default_factory=dict)
    time_wait: set = dataclasses.field(default_factory=set)  # TCP flows in TIME_WAIT, or in FIN_WAIT2 after close()


@dataclasses.dataclass(frozen=True)
class Allow:
    """The addresses that the program allows. Each list has networks of ipaddress; None: every address."""

    macs: tuple = None  # of this host, in bytes
    local: tuple = None  # addresses of this host
    sources: tuple = None  # allow_from
    destinations: tuple = None  # allow_to, or `local`
    next_hops: tuple = None
    max_hops: int = 30


@dataclasses.dataclass(frozen=True)
class Quic:
    """What the program knows of QUIC."""

    configs: dict = dataclasses.field(default_factory=dict)  # id: QuicConfig
    servers: dict = dataclasses.field(default_factory=dict)  # (id of the configuration, server ID): address; None: this host
    ports: tuple = None  # of services with QUIC; None: all

    def decide(self, cid, destination, later_hops):
        """The counter of a packet whose connection ID names this host or one of the later hops; None: it names none of them."""
        config = self.configs.get(cid[0] >> 5) if cid else None
        if config is None or len(cid) < 1 + config.length:
            return None
        name = config.id, config.decode(cid)[0]
        if name not in self.servers:
            return None
        address = self.servers[name]
        if address is None or address == destination:
            return "quic_kept"
        return "quic_passed_on" if address in later_hops else None


def _in(networks, address):
    address = ipaddress.ip_address(address)
    return networks is None or any(address.version == network.version and address in network for network in networks)


class _Drop(Exception):
    pass


def _link_length(frame):
    at = 12
    while be16(frame, at) in ETHERTYPE_TAGS:
        at += 4
    return at + 2


def _names_the_port(frame, port):
    """True if the frame is not a fragment and has a valid IP header and a whole UDP header behind it with this destination port."""
    at, tags = 12, 0
    while tags < 2 and be16(frame, at) in ETHERTYPE_TAGS and len(frame) >= at + 6:
        at, tags = at + 4, tags + 1
    family, ip = OUTER_FAMILY.get(be16(frame, at)), frame[at + 2 :]
    if family == 6:
        return len(ip) >= 48 and ip[0] >> 4 == 6 and ip[6] == UDP and be16(ip, 4) >= 8 and be16(ip, 42) == port
    if family is None or len(ip) < 20:
        return False
    header = 4 * (ip[0] & 15)
    if ip[0] >> 4 != 4 or header < 20 or be16(ip, 2) < header + 8 or ip[9] != UDP:
        return False
    if be16(ip, 6) & 0x3FFF or len(ip) < header + 8:
        return False
    return be16(ip, header + 2) == port


def _parse_inner(family, data):
    try:
        trimmed = trim_ip(family, data)
        return PARSE_IP[family](trimmed)
    except Stop as stop:
        raise _Drop(_inner_drop(stop.verdict)) from stop


def _inner_drop(verdict):
    return {
        "drop_truncated": "drop_inner_truncated",
        "drop_extension_headers": "drop_inner_extension_headers",
    }.get(verdict, "drop_inner_malformed")


def _need(data, length):
    if len(data) < length:
        raise _Drop("drop_inner_truncated")


def _tcp(header, sockets):
    _need(header.payload, 20)
    flags = header.payload[13]
    if flags & (SYN | ACK) == SYN:
        return "accepted_syn"
    flow = (TCP, header.src, be16(header.payload, 0), header.dst, be16(header.payload, 2))
    sequence, acknowledgement = struct.unpack_from(">II", header.payload, 4)
    if flow in sockets.flows:
        acknowledged, next_sequence = sockets.expected.get(flow, (acknowledgement, sequence))
        fits = acknowledgement == acknowledged if flags & ACK else sequence == next_sequence
        return "accepted_established" if fits else None
    if flags & (SYN | RST | ACK) == ACK and flow in sockets.cookies:
        which = (acknowledgement - sequence - sockets.cookies[flow]) & 0xFFFFFFFF
        return "accepted_syn_cookie" if which < len(COOKIE_MSS[4]) else None
    return None


def _udp(header, sockets, udp):
    _need(header.payload, 8)
    if udp == "first-hop" or header.payload[8:9] >= b"\x80":
        return "accepted_other"
    flow = (UDP, header.src, be16(header.payload, 0), header.dst, be16(header.payload, 2))
    return _of_udp_socket(flow, sockets)


def _of_udp_socket(flow, sockets):
    if flow in sockets.flows:
        return "accepted_established"
    return UNCONNECTED if flow[3:] in sockets.listeners else None


def _icmp(family, header, sockets, udp):
    _need(header.payload, 8)
    if header.payload[0] not in ICMP_ERRORS[family]:
        return "accepted_other"
    try:
        quote = PARSE_IP[family](header.payload[8:])
    except Stop as stop:
        raise _Drop(_inner_drop(stop.verdict)) from stop
    if quote.later_fragment or quote.protocol not in (TCP, UDP):
        return "accepted_other"
    _need(quote.payload, 8)
    if quote.protocol == UDP and udp == "first-hop":
        return "accepted_other"
    mine = (quote.src, be16(quote.payload, 0))
    theirs = (quote.dst, be16(quote.payload, 2))
    flow = (quote.protocol, *theirs, *mine)
    if quote.protocol == UDP:
        return _of_udp_socket(flow, sockets)
    return "accepted_established" if flow in sockets.flows - sockets.time_wait else None


def _accepts(family, inner, sockets, udp):
    """The counter of a packet that this host accepts. None: no socket of this host knows it. UNCONNECTED: only an unconnected one does."""
    header = _parse_inner(family, inner)
    if header.later_fragment:
        return "accepted_other"
    if header.protocol == TCP:
        return _tcp(header, sockets)
    if header.protocol == UDP:
        return _udp(header, sockets, udp)
    if header.protocol == {4: ICMP, 6: ICMPV6}[family]:
        return _icmp(family, header, sockets, udp)
    return "accepted_other"


def _by_cid(family, inner, gue, quic):
    """The counter of a UDP packet, or of an ICMP error about one, whose connection ID decides. None: it does not."""
    header, find = _parse_inner(family, inner), find_dcid
    if header.later_fragment:
        return None
    if header.protocol == {4: ICMP, 6: ICMPV6}[family] and header.payload[:1] and header.payload[0] in ICMP_ERRORS[family]:
        header, find = PARSE_IP[family](header.payload[8:]), find_quoted_scid
    if header.protocol != UDP or header.fragment or len(header.payload) < 8:
        return None
    service = be16(header.payload, 2 if find is find_dcid else 0)
    if quic.ports is not None and service not in quic.ports:
        return None
    cid = find(header.payload[8:])
    if find is find_dcid and cid:
        cid = cid[0]
    return quic.decide(cid, gue["dst"], gue["hops"][gue["next_hop"] :])


def ones_complement_sum(data):
    return 0xFFFF ^ checksum(data)


def _follow(checksum, before, after):
    """Updates the checksum for a change from `before` to `after`. A wrong checksum stays wrong by the same difference."""
    return (checksum + ones_complement_sum(before) - ones_complement_sum(after)) % 0xFFFF


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Offsets in the outer IP header, and where the UDP header begins."""

    family: int
    source: int
    ttl: int
    udp: int

    @classmethod
    def of(cls, frame, ip_at):
        if frame[ip_at] >> 4 == 6:
            return cls(6, 8, 7, 40)
        return cls(4, 12, 8, 4 * (frame[ip_at] & 15))

    @property
    def size(self):
        return HOP_SIZE[self.family]

    def addresses(self, ip):
        """Source and destination."""
        middle = self.source + self.size
        return bytes(ip[self.source : middle]), bytes(ip[middle : middle + self.size])


def _forward(frame, ip_at, hop, route, step=1):
    at = _Layout.of(frame, ip_at)
    link, ip = frame[:ip_at], bytearray(frame[ip_at:])
    source, destination = at.addresses(ip)
    before, udp_checksum = bytes(ip), be16(ip, at.udp + 6)
    ip[at.source : at.source + 2 * at.size] = destination + hop
    ip[at.ttl] -= 1
    ip[at.udp + 8 + 6] += step
    if at.family == 4:
        header, after = before[:10] + before[12 : at.udp], bytes(ip[:10] + ip[12 : at.udp])
        ip[10:12] = _follow(be16(before, 10), header, after).to_bytes(2, "big")
    if udp_checksum:
        covered = source + destination + before[at.udp + 8 :]
        checksum = _follow(udp_checksum, covered, destination + hop + bytes(ip[at.udp + 8 :])) or 0xFFFF
        ip[at.udp + 6 : at.udp + 8] = checksum.to_bytes(2, "big")
    return (route or frame[6:12] + frame[:6]) + link[12:] + bytes(ip)


def _with_ecn(family, inner, ecn):
    inner = bytearray(inner)
    if family == 6:
        inner[1] = inner[1] & 0xCF | ecn << 4
    elif inner[1] & 3 != ecn:
        before = bytes(inner[:2])
        inner[1] = inner[1] & 0xFC | ecn
        inner[10:12] = _follow(be16(inner, 10), before, bytes(inner[:2])).to_bytes(2, "big")
    return bytes(inner)


def _hop(gue, counter):
    """A packet with one later hop, which is not this host, came back from that hop if only an unconnected socket takes it."""
    if counter == UNCONNECTED and len(gue["hops"]) == 1:
        return 1
    return min(gue["next_hop"] + 1, COUNTED_HOPS)


def _tos(frame, ip_at):
    """The type of service, in IPv6 the traffic class."""
    return frame[ip_at + 1] if frame[ip_at] >> 4 == 4 else be16(frame, ip_at) >> 4 & 0xFF


def _keep(frame, ip_at, family, inner_at, counter, hop):
    outer, inner = _tos(frame, ip_at) & 3, frame[inner_at:]
    inner_ecn = inner[1] & 3 if family == 4 else inner[1] >> 4 & 3
    ecn = DECAPSULATED_ECN[inner_ecn][outer]
    if ecn == DROP:
        return Outcome("drop_ecn", XDP_DROP, frame)
    ethertype = b"\x08\x00" if family == 4 else b"\x86\xdd"
    stripped = frame[: ip_at - 2] + ethertype + _with_ecn(family, inner, ecn)
    return Outcome(counter, XDP_PASS, stripped, hop)


# The MSS values that the kernel can encode in a cookie, and the MSS that it assumes if a SYN has no MSS option.
COOKIE_MSS = {4: (536, 1300, 1440, 1460), 6: (1220, 1420, 1440, 8940)}
DEFAULT_MSS = {4: 536, 6: 1220}
SYN_ACK_WINDOW, SYN_ACK_TTL, ETHERNET_MIN = 29200, 64, 60


def announced_mss(family, named, mtu, overhead):
    """The MSS in the SYN-ACK to a SYN with the MSS option `named` (or None). `overhead`: bytes of outer headers, which must fit the MTU, too."""
    fitting = [each for each in COOKIE_MSS[family] if each <= (named or DEFAULT_MSS[family])]
    mss = max(fitting, default=COOKIE_MSS[family][0])
    return min(mss, mtu - overhead - {4: 40, 6: 60}[family])


def syn_ack_with_cookie(link, inner, mss, cookie):
    """The frame with the SYN-ACK to the SYN in `inner`. `link`: MAC addresses and tags of this frame."""
    family = 4 if inner[0] >> 4 == 4 else 6
    syn = PARSE_IP[family](inner)
    sequence = int.from_bytes(syn.payload[4:8], "big")
    segment = syn.payload[2:4] + syn.payload[:2] + cookie.to_bytes(4, "big")
    segment += ((sequence + 1) & 0xFFFFFFFF).to_bytes(4, "big") + bytes((6 << 4, SYN | ACK))
    segment += SYN_ACK_WINDOW.to_bytes(2, "big") + bytes(4) + b"\x02\x04" + mss.to_bytes(2, "big")
    pseudo = syn.dst + syn.src + struct.pack(">HH", TCP, len(segment))
    checksum = 0xFFFF ^ ones_complement_sum(pseudo + segment)
    segment = segment[:16] + checksum.to_bytes(2, "big") + segment[18:]
    if family == 6:
        ip = struct.pack(">IHBB", 6 << 28, len(segment), TCP, SYN_ACK_TTL) + syn.dst + syn.src
    else:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, SYN_ACK_TTL, TCP, 0)
        ip += syn.dst + syn.src
        ip = ip[:10] + (0xFFFF ^ ones_complement_sum(ip)).to_bytes(2, "big") + ip[12:]
    ethertype = b"\x08\x00" if family == 4 else b"\x86\xdd"
    return (link + ethertype + ip + segment).ljust(ETHERNET_MIN, b"\0")


def decide(frame, sockets=None, port=19523, udp="first-hop", route=None, allow=Allow(), quic=Quic()):
    """route: with --forward fib, the MAC addresses (destination, then source) of the kernel's route to the next hop, if it gives any."""
    if not _names_the_port(frame, port):
        return Outcome(None, XDP_PASS, frame)
    ip_at = _link_length(frame)
    outer = _Layout.of(frame, ip_at)
    udp_at, ttl = ip_at + outer.udp, frame[ip_at + outer.ttl]
    source, destination = outer.addresses(frame[ip_at:])
    if (allow.macs is not None and frame[:6] not in allow.macs) or not _in(allow.local, destination):
        return Outcome("not_for_us", XDP_PASS, frame)
    if not _in(allow.sources, source):
        return Outcome("drop_source", XDP_DROP, frame)
    # decode_gue() accepts only the default port.
    status, gue = decode_gue(frame[: udp_at + 2] + (19523).to_bytes(2, "big") + frame[udp_at + 4 :])
    if status != "ok":
        return Outcome(f"drop_{status}", XDP_DROP, frame)
    family = 4 if gue["inner_protocol"] == 4 else 6
    inner_at = udp_at + 8 + 8 + outer.size * len(gue["hops"])
    try:
        counter = _accepts(family, bytes.fromhex(gue["inner"]), sockets or Sockets(), udp)
        named = _by_cid(family, bytes.fromhex(gue["inner"]), gue, quic)
    except _Drop as drop:
        return Outcome(str(drop), XDP_DROP, frame)
    counter = {None: counter, "quic_passed_on": None}.get(named, named)
    if counter in (None, UNCONNECTED):
        if gue["next_hop"] == len(gue["hops"]):
            if counter == UNCONNECTED and gue["hops"] == [gue["dst"]]:
                if ttl <= 1:
                    return Outcome("drop_ttl", XDP_DROP, frame)
                if not _in(allow.next_hops, gue["src"]):
                    return Outcome("drop_next_hop", XDP_DROP, frame)
                sender = ipaddress.ip_address(gue["src"]).packed
                return Outcome("returned_to_first_hop", XDP_REDIRECT, _forward(frame, ip_at, sender, route, step=0))
            counter = counter or "accepted_last_resort"
        elif gue["hops"][gue["next_hop"]] == gue["dst"]:
            counter = "forwarded_to_self"
        elif ttl <= 1:
            return Outcome("drop_ttl", XDP_DROP, frame)
        elif gue["next_hop"] >= allow.max_hops:
            return Outcome("drop_hops", XDP_DROP, frame)
        elif not _in(allow.next_hops, gue["hops"][gue["next_hop"]]):
            return Outcome("drop_next_hop", XDP_DROP, frame)
        else:
            hop = ipaddress.ip_address(gue["hops"][gue["next_hop"]]).packed
            counter = named or ("forwarded_by_route" if route else "forwarded_to_alternate")
            return Outcome(counter, XDP_REDIRECT, _forward(frame, ip_at, hop, route))
    inner = frame[inner_at:]
    inner_destination = inner[16:20] if family == 4 else inner[24:40]
    asks_this_host = inner_destination == destination and (inner[9] == ICMP if family == 4 else inner[6] == ICMPV6 and inner[40] == 128)
    if not asks_this_host and not _in(allow.destinations, inner_destination):
        return Outcome("drop_destination", XDP_DROP, frame)
    return _keep(frame, ip_at, family, inner_at, counter, _hop(gue, counter))
