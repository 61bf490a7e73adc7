# SPDX-License-Identifier: BSD-3-Clause
"""GUE headers: the golden vectors that the director's decoder passes, too, and packets that end at every byte."""

import struct

import pytest

from cases import frames as f
from conftest import run_frames
from model_of_proxy import XDP_DROP, XDP_PASS, decide
from packets import SELF, gue_frame, kind
from support.vectors import GUE

SHORTEST_RUN = 14  # BPF_PROG_TEST_RUN refuses frames without a whole Ethernet header
CASES = [case for case in GUE if len(case["frame"]) >= 2 * SHORTEST_RUN]


@pytest.fixture(scope="module")
def in_kernel(host):
    frames = [bytes.fromhex(case["frame"]) for case in CASES]
    return dict(zip((case["name"] for case in CASES), run_frames(host, frames)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_vector(in_kernel, case):
    frame, outcome = bytes.fromhex(case["frame"]), in_kernel[case["name"]]
    if outcome.counter is None:
        # A packet that ends before the UDP port is not GUE for the program.
        assert case["status"] == "not_gue" or (
            case["status"] == "truncated" and decide(frame).counter is None
        )
        assert (outcome.verdict, outcome.frame) == (XDP_PASS, frame)
    elif case["status"] == "ok":
        assert not outcome.counter.startswith("drop_") or "inner" in outcome.counter
    else:
        assert outcome.counter == "drop_" + case["status"]
        assert (outcome.verdict, outcome.frame) == (XDP_DROP, frame)
    assert outcome == decide(frame)


def test_vectors_reach_every_fault_of_gue():
    faults = {case["status"] for case in CASES}
    assert len(faults) == 10  # ok, not_gue and 8 faults


CUT = ["tcp/SYN", "tcp/unknown", "options/known", "udp/connected", "error/too big, established"]


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("outer", [4, 6])
def test_frame_cut_anywhere(host, outer, family, name):
    """The lengths in the headers stay, so that the program may accept no cut packet."""
    whole = gue_frame(kind(name).build(host, family), hops=(SELF, SELF), outer=outer)
    ends = range(SHORTEST_RUN, len(whole))
    outcomes = run_frames(host, [whole[:end] for end in ends])
    assert [o.counter for o in outcomes] == [None if end < {4: 42, 6: 62}[outer] else "drop_truncated" for end in ends]
    assert outcomes == [decide(whole[:end], host.sockets) for end in ends]


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("claims", ["outer lengths follow", "all lengths follow"])
@pytest.mark.parametrize("outer", [4, 6])
def test_inner_packet_cut_anywhere(host, outer, family, name, claims):
    inner = kind(name).build(host, family)
    frames = []
    for end in range(1, len(inner) + 1):
        cut = bytearray(inner[:end])
        at, length = (2, end) if family == 4 else (4, end - 40)
        if claims == "all lengths follow" and length >= 0 and len(cut) >= at + 2:
            cut[at : at + 2] = struct.pack(">H", length)
        frames.append(gue_frame(bytes(cut), hops=(), outer=outer))
    outcomes = run_frames(host, frames, udp="connected")
    assert outcomes == [decide(frame, host.sockets, udp="connected") for frame in frames]
    counters = {outcome.counter for outcome in outcomes}
    assert "drop_inner_truncated" in counters
    assert outcomes[-1].counter == decide(frames[-1], host.sockets, udp="connected").counter
    if claims == "outer lengths follow":
        assert {outcome.counter for outcome in outcomes[:-1]} == {"drop_inner_truncated"}


@pytest.mark.parametrize("outer", [4, 6])
def test_padding_is_not_looked_at(host, outer):
    whole = gue_frame(kind("tcp/SYN").build(host, 4), outer=outer) + bytes(20)
    (outcome,) = run_frames(host, [whole])
    assert outcome.counter == "accepted_syn"
    assert outcome == decide(whole)


@pytest.mark.parametrize("name", ["tcp/established", "error/too big, unknown"])
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("outer", [4, 6])
def test_every_byte_inverted(host, outer, family, name):
    """The program and the model agree on headers with any content."""
    whole = gue_frame(kind(name).build(host, family), checksum="right", options=1, outer=outer)
    frames = []
    for at in range(12, len(whole)):
        for mask in (0xFF, 0x01, 0x80, 0x10):
            wrong = bytearray(whole)
            wrong[at] ^= mask
            frames.append(bytes(wrong))
    outcomes = run_frames(host, frames)
    expected = [decide(frame, host.sockets) for frame in frames]
    assert [pair for pair in zip(outcomes, expected) if pair[0] != pair[1]] == []


def test_extension_headers_of_the_outer_packet_go_to_the_kernel(host):
    """Whatever they are, and however UDP follows. A fragment is one of them."""
    whole = gue_frame(kind("tcp/SYN").build(host, 4), outer=6)
    headers = {
        f.HOP_BY_HOP: f.extension(f.UDP), f.DESTINATION: f.extension(f.UDP), f.ROUTING: f.routing(f.UDP),
        f.FRAGMENT: f.fragment_header(f.UDP), 51: f.extension(f.UDP), 59: b"",
    }
    frames = []
    for next_header, header in headers.items():
        ip = bytearray(whole[14:54])
        ip[4:6] = struct.pack(">H", len(header) + len(whole) - 54)
        ip[6] = next_header
        frames.append(whole[:14] + bytes(ip) + header + whole[54:])
    outcomes = run_frames(host, frames)
    assert [(o.counter, o.verdict, o.frame) for o in outcomes] == [(None, XDP_PASS, frame) for frame in frames]
    assert outcomes == [decide(frame) for frame in frames]


def test_a_type_of_the_other_outer_family_is_an_error(host):
    """So nobody reads IPv4 addresses as the halves of IPv6 addresses, or the other way around."""
    frames = []
    for outer in (4, 6):
        frame = bytearray(gue_frame(kind("tcp/unknown").build(host, 4), (SELF,) * 4, outer=outer))
        frame[{4: 47, 6: 67}[outer]] ^= 1
        frames.append(bytes(frame))
    outcomes = run_frames(host, frames)
    assert [outcome.counter for outcome in outcomes] == ["drop_bad_type"] * 2
    assert outcomes == [decide(frame) for frame in frames]


@pytest.mark.parametrize("words", range(32))
def test_every_header_length_with_outer_ipv6(host, words):
    """With every number of hops. Only 1 + 4 x hops is right."""
    frames = []
    for hops in (0, 1, 2, 7, 8, 255):
        frame = bytearray(gue_frame(kind("tcp/unknown").build(host, 4) + bytes(150), (SELF,) * 7, outer=6))
        frame[62], frame[69] = words, hops
        frames.append(bytes(frame))
    outcomes = run_frames(host, frames)
    assert outcomes == [decide(frame, host.sockets) for frame in frames]
    assert {o.counter for o in outcomes} <= {"drop_bad_length", "drop_bad_type", "drop_inner_malformed", "drop_inner_truncated", "forwarded_to_self", "accepted_last_resort"}
    wanted = {1 + 4 * hops for hops in (0, 1, 2, 7)}
    assert (words in wanted) == any(outcome.counter != "drop_bad_length" for outcome in outcomes) or words == 0


def test_lengths_of_outer_ipv6_that_exceed_the_frame(host):
    frames, expected = [], []
    for length, counter in ((0, None), (7, None), (8, "drop_truncated"), (15, "drop_truncated"), (16, "drop_truncated"), (0xFFFF, "drop_truncated")):
        frame = bytearray(gue_frame(kind("tcp/SYN").build(host, 4), outer=6))
        frame[18:20] = struct.pack(">H", length)
        frames.append(bytes(frame))
        expected.append(counter)
    outcomes = run_frames(host, frames)
    assert [outcome.counter for outcome in outcomes] == expected
    assert outcomes == [decide(frame) for frame in frames]
