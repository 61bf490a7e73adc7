# SPDX-License-Identifier: BSD-3-Clause
"""GUE headers: the golden vectors that the director's decoder passes, too, and packets that end at every byte."""

import struct

import pytest

from conftest import run_frames
from model_of_proxy import XDP_DROP, XDP_PASS, decide
from packets import SELF, gue_frame, kind
from support.vectors import GUE

SHORTEST_RUN = 14  # BPF_PROG_TEST_RUN refuses frames without a whole Ethernet header
CASES = [case for case in GUE if len(case["frame"]) >= 2 * SHORTEST_RUN]


@pytest.fixture(scope="module")
def in_kernel(host):
    frames = [bytes.fromhex(case["frame"]) for case in CASES]
    return dict(zip((case["name"] for case in CASES), run_frames(host.namespace, frames)))


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
def test_frame_cut_anywhere(host, family, name):
    """The lengths in the headers stay, so that the program may accept no cut packet."""
    whole = gue_frame(kind(name).build(host, family), hops=(SELF, SELF))
    ends = range(SHORTEST_RUN, len(whole))
    outcomes = run_frames(host.namespace, [whole[:end] for end in ends])
    assert [o.counter for o in outcomes] == [None if end < 42 else "drop_truncated" for end in ends]
    assert outcomes == [decide(whole[:end], host.sockets) for end in ends]


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("claims", ["outer lengths follow", "all lengths follow"])
def test_inner_packet_cut_anywhere(host, family, name, claims):
    inner = kind(name).build(host, family)
    frames = []
    for end in range(1, len(inner) + 1):
        cut = bytearray(inner[:end])
        at, length = (2, end) if family == 4 else (4, end - 40)
        if claims == "all lengths follow" and length >= 0 and len(cut) >= at + 2:
            cut[at : at + 2] = struct.pack(">H", length)
        frames.append(gue_frame(bytes(cut), hops=()))
    outcomes = run_frames(host.namespace, frames, udp="connected")
    assert outcomes == [decide(frame, host.sockets, udp="connected") for frame in frames]
    counters = {outcome.counter for outcome in outcomes}
    assert "drop_inner_truncated" in counters
    assert outcomes[-1].counter == decide(frames[-1], host.sockets, udp="connected").counter
    if claims == "outer lengths follow":
        assert {outcome.counter for outcome in outcomes[:-1]} == {"drop_inner_truncated"}


def test_padding_is_not_looked_at(host):
    whole = gue_frame(kind("tcp/SYN").build(host, 4)) + bytes(20)
    (outcome,) = run_frames(host.namespace, [whole])
    assert outcome.counter == "accepted_syn"
    assert outcome == decide(whole)


@pytest.mark.parametrize("name", ["tcp/established", "error/too big, unknown"])
@pytest.mark.parametrize("family", [4, 6])
def test_every_byte_inverted(host, family, name):
    """The program and the model agree on headers with any content."""
    whole = gue_frame(kind(name).build(host, family), checksum="right", options=1)
    frames = []
    for at in range(12, len(whole)):
        for mask in (0xFF, 0x01, 0x80, 0x10):
            wrong = bytearray(whole)
            wrong[at] ^= mask
            frames.append(bytes(wrong))
    outcomes = run_frames(host.namespace, frames)
    expected = [decide(frame, host.sockets) for frame in frames]
    assert [pair for pair in zip(outcomes, expected) if pair[0] != pair[1]] == []
