# SPDX-License-Identifier: BSD-3-Clause
"""Capture files through the real director: every byte, in the order of each family, and every counter.

No privileges are needed: the port is a pair of files (net_pcap), memory is ordinary.
"""

import os

import pytest
from scapy.layers.inet import IP, TCP

from model import Director
from support import traffic
from support.compare import assert_same_frames, compare_with_model, count
from support.director_conf import CONFIG
from support.director_process import NOBODY, run_capture, usable_packet_paths, write_table
from support.vectors import PACKETS, packet_groups

# The same flow, whatever says so: a table in JSON, or in either binary version that can say it.
TABLE_VERSIONS = ("json", "2", "3")


GROUPS = packet_groups()


def without_exception_path(config, verdict):
    """A capture file has no kernel beside it: unmatched packets are dropped."""
    return {**config, "exception_path": "none"}, verdict.replace("exception", "drop_unmatched")


def with_source_mac(frame, mac):
    return frame[:6] + bytes.fromhex(mac.replace(":", "")) + frame[12:]


@pytest.fixture(params=usable_packet_paths())
def path(request):
    return request.param


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0]}-{group[1]}")
def test_golden_packets(group, path, tmp_path):
    packets = GROUPS[group]
    config = PACKETS["configs"][group[0]]
    expected_verdicts = []
    for packet in packets:
        config, verdict = without_exception_path(config, packet["verdict"])
        expected_verdicts.append(verdict)
    table = write_table(tmp_path / "table", PACKETS["tables"][group[1]])
    frames = [bytes.fromhex(packet["frame"]) for packet in packets]

    sent, counters, mac = run_capture(tmp_path, frames, config, table, path=path)

    expected = [packet["out"] and with_source_mac(bytes.fromhex(packet["out"]), mac) for packet in packets]
    assert_same_frames(sent, frames, expected)
    assert counters == count(expected_verdicts)


@pytest.mark.parametrize("seed", range(2))
def test_random_traffic(seed, path, tmp_path):
    """10 000 packets in all, on each path."""
    config = {**CONFIG, "hash_fields": {"src_addr": True, "src_port": True}} if seed else CONFIG
    frames = traffic.random_frames(seed, 5000)
    table = write_table(tmp_path / "table", traffic.TABLE)
    counters = compare_with_model(tmp_path, frames, config, traffic.TABLE, table, path=path)
    assert counters["forwarded"] > 1500  # the traffic is worth something
    for verdict in ("drop_unmatched", "drop_truncated", "drop_malformed", "drop_fragment"):
        assert counters[verdict] > 5, verdict


@pytest.mark.parametrize("version", TABLE_VERSIONS)
def test_table_versions(version, path, tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE_OF_TWO_HOPS, version)
    frames = traffic.random_frames(7, 1000)
    compare_with_model(tmp_path, frames, CONFIG, traffic.TABLE_OF_TWO_HOPS, table, path=path)


def test_version_3_and_json_with_four_hops(tmp_path):
    frames = traffic.random_frames(8, 1000)
    for version in ("3", "json"):
        table = write_table(tmp_path / version, traffic.TABLE, version)
        compare_with_model(tmp_path, frames, CONFIG, traffic.TABLE, table)


def test_answers_are_limited(tmp_path):
    """100 at once and 100 a second. How many seconds this takes is the machine's business."""
    config = {**CONFIG, "send_icmp_too_big": True}
    table = write_table(tmp_path / "table", traffic.TABLE)
    ip = IP(src="198.51.100.1", dst="10.10.10.10")
    frame = bytes(traffic.ETHER / ip / TCP(dport=80) / bytes(1500))
    sent, counters, mac = run_capture(tmp_path, [frame] * 5000, config, table)
    answer = Director(config, traffic.TABLE, port_mac=mac).process(frame).out
    assert 100 <= counters["answered_too_big"] < 5000
    assert counters["answered_too_big"] + counters["drop_too_big"] == 5000
    assert sent == [answer] * counters["answered_too_big"]


def test_empty_capture(tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    sent, counters, _ = run_capture(tmp_path, [], CONFIG, table)
    assert sent == [] and set(counters.values()) == {0}


def test_nobody_needs_privileges(tmp_path):
    """Root drops to nobody first; anybody else is the proof already."""
    user = None
    table = write_table(tmp_path / "table", traffic.TABLE)
    if os.getuid() == 0:
        user = NOBODY
        for folder in (tmp_path, *list(tmp_path.parents)[:2]):
            folder.chmod(0o755)
        os.chown(tmp_path, user, user)
    frames = traffic.random_frames(9, 1000)
    compare_with_model(tmp_path, frames, CONFIG, traffic.TABLE, table, user=user)
