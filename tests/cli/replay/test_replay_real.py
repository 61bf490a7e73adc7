# SPDX-License-Identifier: BSD-3-Clause
"""Compares `replay` of at least 10 000 packets that kernels sent with the model."""

import json
import os
import subprocess
from collections import Counter

import pytest

from support import pcap
from support.director_conf import write_config
from model import Director
from real_traffic import VIP4, VIP6
from support.tree import CLI, TREE

PACKETS = 10_000  # at least
TABLE = {
    "tables": [{
        "name": "web",
        "hash_key": "000102030405060708090a0b0c0d0e0f",
        "seed": "f0e0d0c0b0a090807060504030201000",
        "hops": 3,
        "binds": [{"ip": vip, "proto": proto, "port": port}
                  for vip in (VIP4, VIP6) for proto, port in (("tcp", 80), ("udp", 53))],
        "backends": [{"ip": f"192.0.2.{host}", "state": "draining" if host == 72 else "active"}
                     for host in range(71, 79)],
    }]
}
BASE = {"outbound_gateway_mac": "02:00:00:00:00:fe", "outbound_src_ip": "192.0.2.2"}
CONFIGS = {
    "room_for_outer_headers": {**BASE, "outbound_mtu": 1600},
    "ports_in_the_hash_and_no_ping": {
        **BASE,
        "outbound_mtu": 1600,
        "hash_fields": {"src_addr": True, "src_port": True},
        "forward_icmp_ping_responses": False,
    },
    "full_packets_are_too_big": {**BASE, "outbound_mtu": 1500, "alt_hash_fields": {"dst_addr": True}},
}


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    path = tmp_path_factory.mktemp("real") / "capture.pcap"
    subprocess.run(["/usr/bin/python3", "-B", TREE / "tests/cli/replay/real_traffic.py", str(path)], check=True)
    return path


@pytest.fixture(scope="module", params=CONFIGS)
def replayed(request, capture, tmp_path_factory):
    """(output of replay, frames that it wrote, their path, the model's result for each captured packet)"""
    folder = tmp_path_factory.mktemp(request.param)
    config = CONFIGS[request.param]
    table, conf, out = folder / "table.json", folder / "director.conf", folder / "out.pcap"
    table.write_text(json.dumps(TABLE))
    write_config(conf, config)
    printed = subprocess.run(
        [CLI, "replay", table, capture, out, "--config", conf, "--json"], check=True, capture_output=True, text=True
    ).stdout
    frames = pcap.read(capture)
    model = Director(config, TABLE)
    return json.loads(printed), pcap.read(out), out, [model.process(frame) for frame in frames]


def test_capture_is_large_and_has_every_kind_of_packet(capture):
    frames = pcap.read(capture)
    assert len(frames) >= PACKETS
    kinds = Counter()
    for frame in frames:
        kinds["v4 later fragment"] += frame[12:14] == b"\x08\x00" and int.from_bytes(frame[20:22], "big") & 0x1FFF > 0
        kinds["v4 options"] += frame[12:14] == b"\x08\x00" and frame[14] & 15 > 5
        kinds["v4 ICMP error"] += frame[12:14] == b"\x08\x00" and frame[23] == 1 and frame[34] == 3
        kinds["v6 fragment"] += frame[12:14] == b"\x86\xdd" and frame[20] == 44
        kinds["v6 hop-by-hop to the VIP"] += frame[12:14] == b"\x86\xdd" and frame[20] == 0 and frame[38] == 0x20
        kinds["v6 ICMP error"] += frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] == 1
        kinds["ARP"] += frame[12:14] == b"\x08\x06"
    assert len(kinds) == 7 and all(kinds.values()), kinds


def test_every_packet_has_one_verdict(replayed, capture):
    printed, _, _, _ = replayed
    assert printed["packets"] == len(pcap.read(capture)) == sum(printed["verdicts"].values())
    assert printed["cut"] == 0


def test_verdicts_equal_the_model(replayed):
    printed, _, _, expected = replayed
    counted = {name: count for name, count in printed["verdicts"].items() if count}
    assert counted == dict(Counter(result.verdict for result in expected))


def test_sent_frames_equal_the_model(replayed):
    printed, sent, _, expected = replayed
    wanted = [result.out for result in expected if result.out is not None]
    assert printed["sent"] == len(sent) == len(wanted) > 0
    for number, (frame, want) in enumerate(zip(sent, wanted)):
        assert frame == want, f"packet {number} of the output: {frame.hex()} instead of {want.hex()}"


def test_decode_understands_every_sent_packet(replayed):
    _, sent, out, _ = replayed
    printed = subprocess.run([CLI, "decode", out, "--json"], check=True, capture_output=True, text=True).stdout
    decoded = json.loads(printed)
    assert len(decoded["packets"]) == len(sent)
    assert {name: count for name, count in decoded["counts"].items() if count} == {"ok": len(sent)}
