# SPDX-License-Identifier: BSD-3-Clause
"""GUE frames that a proxy receives, with the status that their author expects."""

import struct

from . import frames as f
from .collect import ip_packet

DIRECTOR, PROXY = "192.0.2.1", "192.168.50.10"
GUE_PORT = 19523
INNER4 = ip_packet(4, f.TCP, f.tcp(40000, 80))
INNER6 = ip_packet(6, f.UDP, f.udp(40001, 443, b"hello"))


def gue(
    inner=INNER4,
    hops=1,
    next_hop=0,
    version=0,
    control=0,
    hlen=None,
    protocol=None,
    flags=0,
    type_=0,
    hop_count=None,
):
    if protocol is None:
        protocol = 41 if inner[:1] and inner[0] >> 4 == 6 else 4
    if hlen is None:
        hlen = 1 + hops
    if hop_count is None:
        hop_count = hops
    first = version << 6 | control << 5 | hlen
    header = struct.pack(">BBHHBB", first, protocol, flags, type_, next_hop, hop_count)
    return header + b"".join(f.ip(f"192.168.51.{n}") for n in range(hops)) + inner


def frame(payload, udp_length=None, port=GUE_PORT, src_port=0x8ABC, tags=(), tail=b"", **fields):
    packet = f.ipv4(
        DIRECTOR,
        PROXY,
        fields.pop("protocol", f.UDP),
        f.udp(src_port, port, payload, length=udp_length),
        **{"identification": 0, "ttl": 64, **fields},
    )
    return f.ethernet(packet, tags=tags) + tail


def _right():
    for hops in range(31):
        for name, inner in (("ipv4", INNER4), ("ipv6", INNER6)):
            yield f"hops/{hops}, {name}", frame(gue(inner, hops)), "ok"
    for hops in (0, 1, 2, 30):
        for next_hop in sorted({0, 1, hops - 1, hops} & set(range(hops + 1))):
            yield f"index/{next_hop} of {hops}", frame(gue(hops=hops, next_hop=next_hop)), "ok"
        for next_hop in (hops + 1, 255):
            name = f"index/{next_hop} of {hops}"
            yield name, frame(gue(hops=hops, next_hop=next_hop)), "bad_index"
    for ihl in range(6, 16):
        yield f"outer/IHL {ihl}", frame(gue(), options=f.nops(ihl - 5)), "ok"
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
    yield "outer/ttl 1", frame(gue(), ttl=1), "ok"
    yield "outer/wrong checksum", frame(gue(), bad_checksum=True), "ok"
    yield "outer/without DF", frame(gue(), fragment=0), "ok"
    yield "inner/empty", frame(gue(b"", protocol=4)), "ok"
    yield "inner/one byte", frame(gue(b"\x45")), "ok"
    yield "inner/is not looked at", frame(gue(bytes(20), protocol=41)), "ok"
    # IP data after the UDP length does not belong to the inner packet.
    whole = gue()
    yield "udp length/ends before IP does", frame(whole + bytes(7), 8 + len(whole)), "ok"


def _not_gue():
    payload = gue()
    udp = f.udp(0x8ABC, GUE_PORT, payload)
    for port in (0, 19522, 19524, 6080, 65535):
        yield f"not gue/port {port}", frame(payload, port=port), "not_gue"
    yield "not gue/from the port", frame(payload, port=53, src_port=GUE_PORT), "not_gue"
    for protocol in (1, 4, 6, 41, 47, 136):
        yield f"not gue/protocol {protocol}", frame(payload, protocol=protocol), "not_gue"
    outer6 = f.ipv6("2001:db8::1", "2001:db8::2", f.UDP, udp)
    yield "not gue/over IPv6", f.ethernet(outer6), "not_gue"
    packet = f.ipv4(DIRECTOR, PROXY, f.UDP, udp)
    yield "not gue/ARP", f.ethernet(packet, ethertype=0x0806), "not_gue"
    yield "not gue/three tags", f.ethernet(packet, tags=(f.C_TAG,) * 3), "not_gue"
    for name, word in (
        ("first", f.MORE_FRAGMENTS),
        ("middle", f.MORE_FRAGMENTS | 1),
        ("last", 9),
        ("last with DF", f.DONT_FRAGMENT | 9),
    ):
        yield f"not gue/{name} fragment", frame(payload, fragment=word), "not_gue"
    for ihl in (0, 1, 4):
        yield f"not gue/IHL {ihl}", frame(payload, ihl=ihl), "not_gue"
    for version in (0, 5, 6):
        wrong = f.ipv4(DIRECTOR, PROXY, f.UDP, udp, version=version)
        yield f"not gue/IP version {version}", f.ethernet(wrong, 0x0800), "not_gue"
    yield "not gue/total length 19", frame(payload, total_length=19), "not_gue"


def _malformed():
    for version in (1, 2, 3):
        yield f"version/{version}", frame(gue(version=version)), "bad_version"
    yield "control/with hops", frame(gue(control=1)), "control"
    yield "control/without", frame(gue(hops=0, control=1)), "control"
    for bit in range(16):
        yield f"flags/{1 << bit:#06x}", frame(gue(flags=1 << bit)), "bad_flags"
        yield f"type/{1 << bit:#06x}", frame(gue(type_=1 << bit)), "bad_type"
    for protocol in (0, 1, 5, 6, 17, 40, 42, 47, 59, 255):
        yield f"protocol/{protocol}", frame(gue(protocol=protocol)), "bad_protocol"
    for hops in (0, 1, 3):
        for hlen in (0, 1, 2, 3, 4, 5):
            if hlen != 1 + hops:
                wrong = frame(gue(hops=hops, hlen=hlen))
                yield f"hlen/{hlen} with {hops} hops", wrong, "bad_length"
        for hop_count in (0, 1, 2, 3, 4, 30, 31, 255):
            if hop_count != hops:
                wrong = frame(gue(hops=hops, hop_count=hop_count))
                yield f"hop count/{hop_count} instead of {hops}", wrong, "bad_length"
    yield "hlen/31, header beyond the packet", frame(gue(hlen=31, hop_count=30)), "bad_length"


def _order():
    """Frames with two faults: the earlier check decides the status."""
    everything = {
        "version": 1,
        "control": 1,
        "flags": 1,
        "protocol": 5,
        "hlen": 0,
        "type_": 1,
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
            wrong["type_"] = 1
        yield f"order/{names[n]} first", frame(gue(**wrong)), status
    beyond = frame(gue(b"", 0, hlen=2, type_=1))
    yield "order/header beyond the packet before type", beyond, "bad_length"
    yield "order/length before index", frame(gue(hops=2, hlen=2, next_hop=9)), "bad_length"
    yield "order/length of UDP before version", frame(gue(version=1), 15), "truncated"
    yield "order/port before length of UDP", frame(gue(), 15, port=53), "not_gue"
    yield "order/fragment before port", frame(gue(), 15, fragment=9), "not_gue"


def _cut():
    whole = gue(hops=2)
    right = frame(whole, tags=(f.C_TAG,), options=f.nops(1))
    header_end = len(right) - len(INNER4)
    for length in range(header_end + 2):
        yield f"cut/frame at {length}", right[:length], "truncated"
    yield f"cut/frame at {len(right) - 1}", right[:-1], "truncated"
    udp = f.udp(0x8ABC, GUE_PORT, whole)
    for kept in range(8 + 16):
        packet = f.ipv4(DIRECTOR, PROXY, f.UDP, udp[:kept])
        yield f"cut/IP payload of {kept}", f.ethernet(packet), "truncated"
    for length in range(8 + 16):
        expect = "truncated" if length < 16 else "bad_length"
        yield f"cut/UDP length {length}", frame(whole, length), expect
    row = gue(hops=8)
    for kept in range(8 + 8 * 4):  # in the header of 8 hops
        yield f"cut/8 hops, UDP length {8 + kept}", frame(row, 8 + kept), "truncated" if kept < 8 else "bad_length"
    for length in (24, 25, 63):
        yield f"cut/UDP length {length}", frame(whole, length), "ok"
    for excess in (1, 2, 1000):
        name = f"cut/UDP length {excess} over IP's"
        yield name, frame(whole, 8 + len(whole) + excess), "truncated"
    # Padding does not belong to the payload.
    yield "cut/UDP length reaches into the padding", frame(
        whole, 8 + len(whole) + 4, tail=bytes(4)
    ), "truncated"
    for excess in (1, 100):
        total_length = 28 + len(whole) + excess
        yield f"cut/total length {excess} over the frame", frame(
            whole, total_length=total_length
        ), "truncated"


def collect():
    """Yields (name, frame, status) of every case."""
    for group in (_right, _not_gue, _malformed, _order, _cut):
        yield from group()
