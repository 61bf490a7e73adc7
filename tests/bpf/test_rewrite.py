# SPDX-License-Identifier: BSD-3-Clause
"""Congestion marks and checksums that the program writes, compared with values that this file computes itself."""

import ipaddress
import itertools
import random
import struct

import pytest

from cases import frames as f
from conftest import run_frames
from host import PROXY, outside
from model.checksum import with_right_checksums
from model.encap import encapsulate
from model_of_proxy import XDP_DROP, XDP_REDIRECT, ones_complement_sum
from packets import DIRECTOR, FLOW_LABEL, OTHER_HOP, gue_frame, kind

NOT_ECT, ECT_1, ECT_0, CE = range(4)
# RFC 6040, figure 4: {(inner, outer): the mark of the decapsulated packet; None: drop}.
FIGURE_4 = {
    (NOT_ECT, NOT_ECT): NOT_ECT, (NOT_ECT, ECT_0): NOT_ECT, (NOT_ECT, ECT_1): NOT_ECT, (NOT_ECT, CE): None,
    (ECT_0, NOT_ECT): ECT_0, (ECT_0, ECT_0): ECT_0, (ECT_0, ECT_1): ECT_1, (ECT_0, CE): CE,
    (ECT_1, NOT_ECT): ECT_1, (ECT_1, ECT_0): ECT_1, (ECT_1, ECT_1): ECT_1, (ECT_1, CE): CE,
    (CE, NOT_ECT): CE, (CE, ECT_0): CE, (CE, ECT_1): CE, (CE, CE): CE,
}
DSCP = 0b101110_00


def marked(family, inner, traffic_class):
    """The inner packet with this TOS or traffic class, and a right checksum."""
    inner = bytearray(inner)
    if family == 6:
        inner[:2] = struct.pack(">H", 0x6000 | traffic_class << 4)
    else:
        inner[1] = traffic_class
        inner[10:12] = bytes(2)
        inner[10:12] = struct.pack(">H", f.internet_checksum(bytes(inner[:20])))
    return bytes(inner)


@pytest.mark.parametrize("inner_ecn, outer_ecn", FIGURE_4)
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("outer", [4, 6])
def test_congestion_mark_of_an_accepted_packet(host, outer, family, inner_ecn, outer_ecn):
    packet = kind("tcp/SYN").build(host, family)
    frame = gue_frame(marked(family, packet, DSCP | inner_ecn), tos=0xFC | outer_ecn, outer=outer)
    (outcome,) = run_frames(host, [frame])
    arrives = FIGURE_4[inner_ecn, outer_ecn]
    if arrives is None:
        assert (outcome.counter, outcome.verdict) == ("drop_ecn", XDP_DROP)
    else:
        assert outcome.counter == "accepted_syn"
        assert outcome.frame[14:] == marked(family, packet, DSCP | arrives)


@pytest.mark.parametrize("outer_ecn", range(4))
@pytest.mark.parametrize("outer", [4, 6])
def test_traffic_class_and_flow_label_of_a_forwarded_packet_stay(host, outer, outer_ecn):
    frame = gue_frame(kind("tcp/unknown").build(host, 4), tos=DSCP | outer_ecn, outer=outer)
    (outcome,) = run_frames(host, [frame])
    assert outcome.counter == "forwarded_to_alternate"
    if outer == 6:
        assert outcome.frame[14:18] == struct.pack(">I", 6 << 28 | (DSCP | outer_ecn) << 20 | FLOW_LABEL)
    else:
        assert outcome.frame[15] == DSCP | outer_ecn


def random_frames(host, outer, count=300):
    """GUE frames that the program forwards to the next hop."""
    chance = random.Random(4)
    for _ in range(count):
        hop = str(ipaddress.IPv4Address(chance.randrange(1, 2**32)) if outer == 4 else ipaddress.IPv6Address(chance.randrange(1, 2**128)))
        inner = kind("tcp/unknown").build(host, chance.choice((4, 6))) + chance.randbytes(2)
        hops = (OTHER_HOP,) * chance.randrange(3) + (hop,)
        yield gue_frame(inner, hops, len(hops) - 1, chance.randrange(2, 256), chance.randrange(4),
            checksum="right", options=chance.randrange(11), outer=outer)


@pytest.mark.parametrize("outer", [4, 6])
def test_checksums_stay_right(host, outer):
    frames = list(random_frames(host, outer))
    source, ttl = {4: (12, 8), 6: (8, 7)}[outer]
    for before, outcome in zip(frames, run_frames(host, frames)):
        assert (outcome.counter, outcome.verdict) == ("forwarded_to_alternate", XDP_REDIRECT)
        ip = outcome.frame[14:]
        header = 4 * (ip[0] & 15) if outer == 4 else 40
        if outer == 4:
            assert ones_complement_sum(ip[:header]) == 0xFFFF
        pseudo = ip[source : source + 2 * len(f.ip(outside(outer, PROXY)))] + struct.pack(">HH", f.UDP, len(ip) - header)
        assert ones_complement_sum(pseudo + ip[header:]) == 0xFFFF
        assert ip[header + 6 : header + 8] != b"\x00\x00"
        assert ip[source:].startswith(f.ip(outside(outer, PROXY))) and ip[ttl] == before[14 + ttl] - 1


@pytest.mark.parametrize("family", [4, 6])
def test_checksum_of_the_director_stays_right_or_wrong(host, family):
    """Packets as the director sends them with outbound_udp_checksum: a whole one, and one that arrived there with a flipped bit."""
    whole = with_right_checksums(family, kind("tcp/unknown").build(host, family))
    corrupted = whole[:-1] + bytes([whole[-1] ^ 4])
    hops = [f.ip(PROXY), f.ip(OTHER_HOP)]
    frames = [host.mac + f.mac(f.ROUTER_MAC) + b"\x08\x00" + encapsulate(family, inner, hops, 0x1234, 5, f.ip(DIRECTOR), udp_checksum=True)
              for inner in (whole, corrupted)]
    sums = []
    for outcome in run_frames(host, frames):
        assert outcome.counter == "forwarded_to_alternate"
        datagram = outcome.frame[34:]
        sums.append(ones_complement_sum(outcome.frame[26:34] + struct.pack(">HH", f.UDP, len(datagram)) + datagram))
    assert sums[0] == 0xFFFF and sums[1] != 0xFFFF


@pytest.mark.parametrize("outer", [4, 6])
def test_udp_checksum_never_becomes_none(host, outer):
    """Chooses the one payload word for which the checksum of the forwarded datagram would be 0, which means no checksum."""
    inner = kind("tcp/unknown").build(host, 4)
    (outcome,) = run_frames(host, [gue_frame(inner + bytes(2), checksum="right", outer=outer)])
    at = {4: 40, 6: 60}[outer]
    checksum = int.from_bytes(outcome.frame[at : at + 2], "big")
    # With the checksum itself as a payload word the checksum becomes 0, which UDP writes as 0xffff.
    (outcome,) = run_frames(
        host.namespace, [gue_frame(inner + struct.pack(">H", checksum), checksum="right", outer=outer)]
    )
    assert outcome.counter == "forwarded_to_alternate"
    assert outcome.frame[at : at + 2] == b"\xff\xff"


@pytest.mark.parametrize("outer", [4, 6])
def test_packet_without_udp_checksum_stays_without(host, outer):
    (outcome,) = run_frames(host, [gue_frame(kind("tcp/unknown").build(host, 4), outer=outer)])
    at = {4: 40, 6: 60}[outer]
    assert (outcome.counter, outcome.frame[at : at + 2]) == ("forwarded_to_alternate", bytes(2))


@pytest.mark.parametrize("outer, family, tags", list(itertools.product((4, 6), (4, 6), ((), (f.C_TAG,), (f.S_TAG, f.C_TAG)))))
def test_link_header_is_kept(host, outer, family, tags):
    inner = kind("tcp/established").build(host, family)
    (outcome,) = run_frames(host, [gue_frame(inner, tags=tags, outer=outer)])
    assert outcome.frame == f.ethernet(inner, tags=tags)
