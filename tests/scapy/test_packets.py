# SPDX-License-Identifier: BSD-3-Clause
"""Runs capture files through the real director, and compares sent frames, their order and all counters with the model.

This needs no privileges: the port is a pair of files (net_pcap), and the memory is not hugepages.
"""

import functools
import os

import pytest
from scapy.layers.inet import IP, TCP

from model import Director
from support import traffic
from support.compare import assert_same_frames, compare_with_model, count
from support.director_conf import CONFIG
from support.director_process import NOBODY, run_capture, usable_isas, write_table
from support.folders import open_to_all
from support.vectors import PACKETS, packet_groups

# A table steers packets in the same way in JSON and in both binary versions.
TABLE_VERSIONS = ("json", "2", "3")


GROUPS = packet_groups()


def without_exception_path(config, verdict):
    """The vector without an exception path, because net_pcap has no kernel: unmatched packets are dropped."""
    return {**config, "exception_path": "none"}, verdict.replace("exception", "drop_unmatched")


def to_port(frame):
    """The vectors have frames to other MACs, too. The director takes only unicast frames."""
    mac = bytes.fromhex(PACKETS["port_mac"].replace(":", ""))
    return mac[: len(frame)] + frame[6:]


def with_source_mac(frame, mac):
    return frame[:6] + bytes.fromhex(mac.replace(":", "")) + frame[12:]


@pytest.fixture(params=usable_isas())
def isa(request):
    return request.param


@pytest.fixture(scope="module")
def golden_table(tmp_path_factory):
    """Returns a function that builds a table of the vectors once, and returns its path."""
    folder = tmp_path_factory.mktemp("tables")
    return functools.cache(lambda name: write_table(folder / name, PACKETS["tables"][name]))


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0]}-{group[1]}")
def test_golden_packets_are_forwarded_as_in_the_vectors(group, isa, golden_table, tmp_path):
    packets = GROUPS[group]
    config = PACKETS["configs"][group[0]]
    expected_verdicts = []
    for packet in packets:
        config, verdict = without_exception_path(config, packet["verdict"])
        expected_verdicts.append(verdict)
    table = golden_table(group[1])
    frames = [to_port(bytes.fromhex(packet["frame"])) for packet in packets]

    sent, counters, mac = run_capture(tmp_path, frames, config, table, isa=isa)

    expected = [packet["out"] and with_source_mac(bytes.fromhex(packet["out"]), mac) for packet in packets]
    assert_same_frames(sent, frames, expected)
    assert counters == count(expected_verdicts)


@pytest.mark.parametrize("seed", range(2))
def test_random_traffic_is_forwarded_as_by_the_model(seed, isa, tmp_path):
    """10 000 packets for each ISA."""
    config = {**CONFIG, "hash_fields": {"src_addr": True, "src_port": True}} if seed else CONFIG
    frames = traffic.random_frames(seed, 5000)
    table = write_table(tmp_path / "table", traffic.TABLE)
    counters = compare_with_model(tmp_path, frames, config, traffic.TABLE, table, isa=isa)
    assert counters["forwarded"] > 1500  # enough of the traffic is forwarded
    for verdict in ("drop_unmatched", "drop_truncated", "drop_malformed", "drop_fragment"):
        assert counters[verdict] > 5, verdict


@pytest.mark.parametrize("version", TABLE_VERSIONS)
def test_table_versions_steer_alike(version, isa, tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE_OF_TWO_HOPS, version)
    frames = traffic.random_frames(7, 1000)
    compare_with_model(tmp_path, frames, CONFIG, traffic.TABLE_OF_TWO_HOPS, table, isa=isa)


def test_version_3_and_json_steer_alike_with_four_hops(tmp_path):
    frames = traffic.random_frames(8, 1000)
    for version in ("3", "json"):
        table = write_table(tmp_path / version, traffic.TABLE, version)
        compare_with_model(tmp_path, frames, CONFIG, traffic.TABLE, table)


def test_too_big_replies_are_limited(tmp_path):
    """
    Each prefix has a burst of 50. The duration depends on the machine, so later replies do too.

    The addresses share one of 1024 buckets in one run of 1024, because its key is random. Then another run follows.
    """
    config = {**CONFIG, "send_icmp_too_big": True}
    table = write_table(tmp_path / "table", traffic.TABLE)
    attacker, victim = (
        bytes(traffic.ETHER / IP(src=src, dst="10.10.10.10", flags="DF") / TCP(dport=80) / bytes(1500))
        for src in ("198.51.100.1", "203.0.113.1")
    )
    frames = [attacker] * 5000 + [victim]
    sent, counters, mac = run_capture(tmp_path, frames, config, table)
    if counters["answered_too_big"] == 50:
        sent, counters, mac = run_capture(tmp_path, frames, config, table)
    model = Director(config, traffic.TABLE, port_mac=mac)
    assert 51 <= counters["answered_too_big"] < 5000
    assert counters["answered_too_big"] + counters["drop_too_big"] == 5001
    replies = counters["answered_too_big"] - 1
    assert sent == [model.process(attacker).out] * replies + [model.process(victim).out]


def test_empty_capture_sends_nothing(tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    sent, counters, _ = run_capture(tmp_path, [], CONFIG, table)
    assert sent == [] and set(counters.values()) == {0}


def test_director_needs_no_privileges(tmp_path):
    """As root, the test runs the director as nobody. Other users have no privileges anyway."""
    user = None
    table = write_table(tmp_path / "table", traffic.TABLE)
    if os.getuid() == 0:
        user = NOBODY
        open_to_all(tmp_path)
        os.chown(tmp_path, user, user)
    frames = traffic.random_frames(9, 1000)
    compare_with_model(tmp_path, frames, CONFIG, traffic.TABLE, table, user=user)
