# SPDX-License-Identifier: BSD-3-Clause
"""outbound_udp_checksum with random packets, whole and corrupted: `replay` against the model, and against scapy and RFC 768."""

import json
import random

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from model import Director
from model.checksum import checksum, pseudo_header
from support import pcap, traffic
from support.cli import run_json, write_conf
from support.director_conf import CONFIG, OPEN

UDP_AT, CHECKSUM_AT = 34, 40  # in a frame that the director sends untagged


def replay(frames, tmp_path, **config):
    """The sent frame of each received one, or None."""
    (tmp_path / "table.json").write_text(json.dumps(traffic.TABLE))
    conf = write_conf(tmp_path / "director.conf", **{**CONFIG, **OPEN, **config})
    capture = pcap.write(tmp_path / "in.pcap", frames)
    run_json("replay", tmp_path / "table.json", capture, tmp_path / "out.pcap", "--config", conf)
    sent = {time // 10**9 - 1000: frame for time, frame, _ in pcap.read_records(tmp_path / "out.pcap")}
    return [sent.get(number) for number in range(len(frames))]


def is_right(frame):
    """The receiver's check of the outer datagram."""
    datagram = frame[UDP_AT:]
    return checksum(pseudo_header(frame[26:30], frame[30:34], 17, len(datagram)) + datagram) == 0


@pytest.mark.parametrize("config", ({}, {"outbound_vlan": 7}, {"alt_hash_fields": {"src_addr": True, "src_port": True}}))
def test_random_packets_are_sent_as_by_the_model(config, tmp_path):
    frames = traffic.random_frames(5, 4000)
    config = {**config, "outbound_udp_checksum": True}
    model = Director({**CONFIG, **OPEN, **config}, traffic.TABLE, "02:00:00:00:00:01")
    expected = [model.process(frame).out for frame in frames]
    assert replay(frames, tmp_path, **config) == expected
    if "outbound_vlan" not in config:
        checksums = [out[CHECKSUM_AT : CHECKSUM_AT + 2] for out in expected if out]
        assert len(checksums) > 1000 and bytes(2) not in checksums


def test_without_the_key_the_checksum_is_zero(tmp_path):
    sent = [out for out in replay(traffic.random_frames(6, 300), tmp_path) if out]
    assert sent and {out[CHECKSUM_AT : CHECKSUM_AT + 2] for out in sent} == {bytes(2)}


def test_checksum_is_right_if_the_packet_is_and_wrong_if_a_bit_has_flipped(tmp_path):
    """scapy computes the checksums of the clients' packets, and the right outer checksum."""
    chance = random.Random(8)
    whole, corrupted = [], []
    for number in range(400):
        ip = IPv6(src=f"2001:db8::{number:x}", dst="fdb4::10") if number % 2 else IP(src=f"198.51.100.{number % 256}", dst="10.10.10.10")
        upper = TCP(sport=number, dport=80) if number % 3 or number % 2 == 0 else UDP(sport=number, dport=5000)
        if isinstance(upper, UDP):
            ip.dst = "fdb4:0:0:1::99"
        frame = bytes(traffic.ETHER / ip / upper / Raw(chance.randbytes(1 + number * 3)))
        header = 14 + (40 if number % 2 else 20) + (8 if isinstance(upper, UDP) else 20)
        at = chance.randrange(header, len(frame))
        whole.append(frame)
        corrupted.append(frame[:at] + bytes([frame[at] ^ 1 << chance.randrange(8)]) + frame[at + 1 :])
    for sent in replay(whole, tmp_path, outbound_udp_checksum=True):
        assert is_right(sent), sent.hex()
        again = Ether(sent)
        again[UDP].chksum = None
        assert bytes(again)[: CHECKSUM_AT + 2] == sent[: CHECKSUM_AT + 2]
    assert [is_right(sent) for sent in replay(corrupted, tmp_path, outbound_udp_checksum=True)] == [False] * len(corrupted)
