# SPDX-License-Identifier: BSD-3-Clause
"""Frames that are longer than a buffer. net_pcap receives them in several segments."""

import random

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw

from support import traffic
from support.director_conf import CONFIG
from support.director_process import write_table
from support.compare import compare_with_model

BUFFER = 4096  # of the director, without hugepages
JUMBO = {**CONFIG, "outbound_mtu": 9216}


def packet(size, version=4, flow=TCP):
    """An Ethernet frame with an IP packet of `size` bytes."""
    if version == 4:
        ip = IP(src="198.51.100.9", dst=traffic.VIP4[0], flags="DF")
    else:
        ip = IPv6(src="2001:db8::9", dst=traffic.VIP6[0])
    head = ip / flow(sport=4711, dport=80)
    content = random.Random(size).randbytes(size - len(head))
    return bytes(traffic.ETHER / head / Raw(content))


def compare(tmp_path, config, frames):
    table = write_table(tmp_path / "table", traffic.TABLE)
    return compare_with_model(tmp_path, frames, config, traffic.TABLE, table)


@pytest.mark.parametrize("version", (4, 6))
def test_jumbo_frames_are_forwarded_as_by_the_model(version, tmp_path):
    sizes = [*range(60, 9176, 111)]
    for end in (BUFFER, 2 * BUFFER):  # of a segment, less the headroom, and around
        sizes += range(end - 300, end + 20, 2)
    counters = compare(tmp_path, JUMBO, [packet(size, version) for size in sizes])
    assert counters["forwarded"] == len(sizes)


def test_mtu_boundary(tmp_path):
    sizes = range(9170, 9190)  # of two hops: 9216 - 40 = 9176
    counters = compare(tmp_path, JUMBO, [packet(size) for size in sizes])
    assert counters["forwarded"] == 7 and counters["drop_too_big"] == 13


def test_padding_is_cut_from_the_last_segments(tmp_path):
    """The cut leaves only the first segment, or a part of the second one."""
    frames = [
        packet(size) + bytes(padding)
        for size in (60, 1000, *range(BUFFER - 60, BUFFER + 20, 3), 5000, 8100)
        for padding in (1, 46, 1000, BUFFER, 9000 - size)
        if padding > 0
    ]
    counters = compare(tmp_path, JUMBO, frames)
    assert counters["forwarded"] == len(frames)


def test_too_big_replies_quote_the_first_segment(tmp_path):
    config = {**CONFIG, "send_icmp_too_big": True}
    sizes = (1500, 3000, 4060, 4100, 9000)
    frames = [packet(size, version) for size in sizes for version in (4, 6)]
    counters = compare(tmp_path, config, frames)
    assert counters["answered_too_big"] == len(frames)


def test_truncated_and_unmatched_jumbo_frames_are_dropped(tmp_path):
    cut = [packet(9000)[:-1], packet(5000)[:4500]]
    unmatched = [packet(5000, flow=UDP), bytes(9000)]
    frames = [*cut, *unmatched, packet(9000)]
    counters = compare(tmp_path, JUMBO, frames)
    assert counters["drop_truncated"] == 2 and counters["drop_unmatched"] == 2


def test_small_and_jumbo_frames_keep_their_order(tmp_path):
    generator = random.Random(5)
    frames = [packet(generator.choice((60, 200, 1500, 4090, 9000))) for _ in range(2000)]
    counters = compare(tmp_path, JUMBO, frames)
    assert counters["forwarded"] == len(frames)
