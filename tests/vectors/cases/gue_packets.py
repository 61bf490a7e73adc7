# SPDX-License-Identifier: BSD-3-Clause
"""GUE frames that a proxy receives, with the status that their author expects."""

import struct
from functools import partial

from . import frames as f
from .collect import ip_packet

DIRECTOR, PROXY = {4: "192.0.2.1", 6: "2001:db8:2::1"}, {4: "192.168.50.10", 6: "fd50::10"}
WORDS, MOST_HOPS = {4: 1, 6: 4}, {4: 30, 6: 7}
GUE_PORT = 19523
INNER4 = ip_packet(4, f.TCP, f.tcp(40000, 80))
INNER6 = ip_packet(6, f.UDP, f.udp(40001, 443, b"hello"))


def gue(
    inner=INNER4,
    hops=1,
    *,
    outer=4,
    next_hop=0,
    version=0,
    control=0,
    hlen=None,
    protocol=None,
    flags=0,
    type_=None,
    hop_count=None,
):
    if protocol is None:
        protocol = 41 if inner[:1] and inner[0] >> 4 == 6 else 4
    if hlen is None:
        hlen = 1 + WORDS[outer] * hops
    if type_ is None:
        type_ = {4: 0, 6: 1}[outer]
    if hop_count is None:
        hop_count = hops
    first = version << 6 | control << 5 | hlen
    header = struct.pack(">BBHHBB", first, protocol, flags, type_, next_hop, hop_count)
    network = {4: "192.168.51.", 6: "fd51::"}[outer]
    return header + b"".join(f.ip(f"{network}{n}") for n in range(hops)) + inner


def frame(payload, udp_length=None, port=GUE_PORT, src_port=0x8ABC, tags=(), tail=b"", outer=4, **fields):
    protocol, udp = fields.pop("protocol", f.UDP), f.udp(src_port, port, payload, length=udp_length)
    if outer == 4:
        packet = f.ipv4(DIRECTOR[4], PROXY[4], protocol, udp, **{"identification": 0, "ttl": 64, **fields})
    else:
        packet = f.ipv6(DIRECTOR[6], PROXY[6], protocol, udp, **{"flow_label": src_port, **fields})
    return f.ethernet(packet, tags=tags) + tail


def _right(gue, frame, outer):
    most = MOST_HOPS[outer]
    for hops in range(most + 1):
        for name, inner in (("ipv4", INNER4), ("ipv6", INNER6)):
            yield f"hops/{hops}, {name}", frame(gue(inner, hops)), "ok"
    for hops in (0, 1, 2, most):
        for next_hop in sorted({0, 1, hops - 1, hops} & set(range(hops + 1))):
            yield f"index/{next_hop} of {hops}", frame(gue(hops=hops, next_hop=next_hop)), "ok"
        for next_hop in (hops + 1, 255):
            name = f"index/{next_hop} of {hops}"
            yield name, frame(gue(hops=hops, next_hop=next_hop)), "bad_index"
    if outer == 4:
        yield from _right_ipv4(gue, frame)
    else:
        yield "outer/flow label and traffic class", frame(gue(), flow_label=0xABCDE, traffic_class=0x5A), "ok"
        yield "outer/no flow label", frame(gue(), flow_label=0), "ok"
    for port in (0, 0x7FFF, 0x8000, 0xFFFF):
        yield f"outer/source port {port}", frame(gue(), src_port=port), "ok"
    for name, tags in (
        ("802.1Q", (f.C_TAG,)),
        ("802.1ad", (f.S_TAG,)),
        ("QinQ", (f.S_TAG, f.C_TAG)),
    ):
        yield f"outer/{name}", frame(gue(), tags=tags), "ok"
    for padding in (1, 20):
        yield f"outer/{padding} bytes of padding", frame(gue(), tail=bytes(padding)), "ok"
    yield "inner/empty", frame(gue(b"", protocol=4)), "ok"
    yield "inner/one byte", frame(gue(b"\x45")), "ok"
    yield "inner/is not looked at", frame(gue(bytes(20), protocol=41)), "ok"
    # IP data after the UDP length does not belong to the inner packet.
    whole = gue()
    yield "udp length/ends before IP does", frame(whole + bytes(7), 8 + len(whole)), "ok"


def _right_ipv4(gue, frame):
    for ihl in range(6, 16):
        yield f"outer/IHL {ihl}", frame(gue(), options=f.nops(ihl - 5)), "ok"
    yield "outer/ttl 1", frame(gue(), ttl=1), "ok"
    yield "outer/wrong checksum", frame(gue(), bad_checksum=True), "ok"
    yield "outer/without DF", frame(gue(), fragment=0), "ok"


def _not_gue(gue, frame, outer):
    payload = gue()
    for port in (0, 19522, 19524, 6080, 65535):
        yield f"not gue/port {port}", frame(payload, port=port), "not_gue"
    yield "not gue/from the port", frame(payload, port=53, src_port=GUE_PORT), "not_gue"
    for protocol in (1, 4, 6, 41, 47, 136):
        yield f"not gue/protocol {protocol}", frame(payload, protocol=protocol), "not_gue"
    packet = frame(payload)[14:]
    yield "not gue/ARP", f.ethernet(packet, ethertype=0x0806), "not_gue"
    yield "not gue/type of the other family", f.ethernet(packet, ethertype={4: 0x86DD, 6: 0x0800}[outer]), "not_gue"
    yield "not gue/three tags", f.ethernet(packet, tags=(f.C_TAG,) * 3), "not_gue"
    for version in sorted({0, 5, 4, 6} - {outer}):
        wrong = bytes([version << 4 | packet[0] & 15]) + packet[1:]
        yield f"not gue/IP version {version}", f.ethernet(wrong, {4: 0x0800, 6: 0x86DD}[outer]), "not_gue"
    yield from (_not_gue_ipv4 if outer == 4 else _not_gue_ipv6)(payload, frame)


def _not_gue_ipv4(payload, frame):
    for name, word in (
        ("first", f.MORE_FRAGMENTS),
        ("middle", f.MORE_FRAGMENTS | 1),
        ("last", 9),
        ("last with DF", f.DONT_FRAGMENT | 9),
    ):
        yield f"not gue/{name} fragment", frame(payload, fragment=word), "not_gue"
    for ihl in (0, 1, 4):
        yield f"not gue/IHL {ihl}", frame(payload, ihl=ihl), "not_gue"
    yield "not gue/total length 19", frame(payload, total_length=19), "not_gue"


def _not_gue_ipv6(payload, frame):
    """Extension headers before UDP, also those that change nothing."""
    udp = f.udp(0x8ABC, GUE_PORT, payload)
    for name, number, header in (
        ("hop-by-hop options", f.HOP_BY_HOP, f.extension(f.UDP)),
        ("routing", f.ROUTING, f.routing(f.UDP)),
        ("destination options", f.DESTINATION, f.extension(f.UDP)),
        ("atomic fragment", f.FRAGMENT, f.fragment_header(f.UDP)),
        ("first fragment", f.FRAGMENT, f.fragment_header(f.UDP, more=True)),
        ("last fragment", f.FRAGMENT, f.fragment_header(f.UDP, offset=9)),
    ):
        yield f"not gue/{name}", f.ethernet(f.ipv6(DIRECTOR[6], PROXY[6], number, header + udp)), "not_gue"


def _malformed(gue, frame, outer):
    for version in (1, 2, 3):
        yield f"version/{version}", frame(gue(version=version)), "bad_version"
    yield "control/with hops", frame(gue(control=1)), "control"
    yield "control/without", frame(gue(hops=0, control=1)), "control"
    for bit in range(16):
        yield f"flags/{1 << bit:#06x}", frame(gue(flags=1 << bit)), "bad_flags"
    for type_ in sorted({0, *(1 << bit for bit in range(16))} - {WORDS[outer] // 4}):
        yield f"type/{type_:#06x}", frame(gue(type_=type_)), "bad_type"
    for protocol in (0, 1, 5, 6, 17, 40, 42, 47, 59, 255):
        yield f"protocol/{protocol}", frame(gue(protocol=protocol)), "bad_protocol"
    words = WORDS[outer]
    for hops in (0, 1, 3):
        for hlen in (0, 1, 2, 3, 4, 5, 9, 13):
            if hlen != 1 + words * hops:
                wrong = frame(gue(hops=hops, hlen=hlen))
                yield f"hlen/{hlen} with {hops} hops", wrong, "bad_length"
        for hop_count in (0, 1, 2, 3, 4, 7, 8, 30, 31, 255):
            if hop_count != hops:
                wrong = frame(gue(hops=hops, hop_count=hop_count))
                yield f"hop count/{hop_count} instead of {hops}", wrong, "bad_length"
    yield "hlen/31, header beyond the packet", frame(gue(hlen=31, hop_count=30)), "bad_length"


def _order(gue, frame, outer):
    """Frames with two faults: the earlier check decides the status."""
    everything = {
        "version": 1,
        "control": 1,
        "flags": 1,
        "protocol": 5,
        "hlen": 0,
        "type_": 9,
        "next_hop": 9,
    }
    statuses = (
        "bad_version",
        "control",
        "bad_flags",
        "bad_protocol",
        "bad_type",
        "bad_type",
        "bad_index",
    )
    names = list(everything)
    for n, status in enumerate(statuses):
        wrong = {name: everything[name] for name in names[n:]}
        if names[n] == "hlen":
            wrong["type_"] = 9
        yield f"order/{names[n]} first", frame(gue(**wrong)), status
    beyond = frame(gue(b"", 0, hlen=2, type_=9))
    yield "order/header beyond the packet before type", beyond, "bad_length"
    yield "order/length before index", frame(gue(hops=2, hlen=2, next_hop=9)), "bad_length"
    yield "order/length of UDP before version", frame(gue(version=1), 15), "truncated"
    yield "order/port before length of UDP", frame(gue(), 15, port=53), "not_gue"
    if outer == 4:
        yield "order/fragment before port", frame(gue(), 15, fragment=9), "not_gue"
    else:
        yield "order/extension header before port", frame(gue(), 15, protocol=f.DESTINATION), "not_gue"


def _cut(gue, frame, outer):
    whole = gue(hops=2)
    right = frame(whole, tags=(f.C_TAG,), **({"options": f.nops(1)} if outer == 4 else {}))
    header_end = len(right) - len(INNER4)
    for length in range(header_end + 2):
        yield f"cut/frame at {length}", right[:length], "truncated"
    yield f"cut/frame at {len(right) - 1}", right[:-1], "truncated"
    udp = f.udp(0x8ABC, GUE_PORT, whole)
    for kept in range(8 + 16):
        build = f.ipv4 if outer == 4 else f.ipv6
        packet = build(DIRECTOR[outer], PROXY[outer], f.UDP, udp[:kept])
        yield f"cut/IP payload of {kept}", f.ethernet(packet), "truncated"
    headers = 8 + 8 + 2 * 4 * WORDS[outer]
    for length in range(headers):
        expect = "truncated" if length < 16 else "bad_length"
        yield f"cut/UDP length {length}", frame(whole, length), expect
    count = min(8, MOST_HOPS[outer])
    row = gue(hops=count)
    for kept in range(8 + count * 4 * WORDS[outer]):  # in the header of these hops
        yield f"cut/{count} hops, UDP length {8 + kept}", frame(row, 8 + kept), "truncated" if kept < 8 else "bad_length"
    for length in (headers, headers + 1, headers + 39):
        yield f"cut/UDP length {length}", frame(whole, length), "ok"
    for excess in (1, 2, 1000):
        name = f"cut/UDP length {excess} over IP's"
        yield name, frame(whole, 8 + len(whole) + excess), "truncated"
    # Padding does not belong to the payload.
    yield "cut/UDP length reaches into the padding", frame(
        whole, 8 + len(whole) + 4, tail=bytes(4)
    ), "truncated"
    for excess in (1, 100):
        length = 8 + len(whole) + excess
        fields = {"total_length": 20 + length} if outer == 4 else {"payload_length": length}
        yield f"cut/total length {excess} over the frame", frame(whole, **fields), "truncated"


def collect():
    """Yields (name, frame, status) of every case."""
    for outer in (4, 6):
        for group in (_right, _not_gue, _malformed, _order, _cut):
            for name, built, status in group(partial(gue, outer=outer), partial(frame, outer=outer), outer):
                yield name if outer == 4 else f"outer IPv6/{name}", built, status
