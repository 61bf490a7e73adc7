# SPDX-License-Identifier: BSD-3-Clause
"""packaging/scapy/glb_scapy.py: reads and makes the golden GUE packets, and never fails on malformed ones."""

import ipaddress
import json
import os
import random
import subprocess
import sys

from scapy.config import conf
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from model import decode_gue
from model.encap import encapsulate
from support import pcap
from support.pages import block
from support.tree import TREE

sys.path.insert(0, str(TREE / "packaging/scapy"))
from glb_scapy import GLB  # noqa: E402

VECTORS = json.loads((TREE / "tests/vectors/gue.json").read_text())
OK = [(bytes.fromhex(vector["frame"]), vector["fields"]) for vector in VECTORS if vector["status"] == "ok"]


def test_golden_packets_are_read_and_made_again():
    assert len(OK) > 5
    for frame, expected in OK:
        packet = Ether(frame)
        layer = packet[GLB]
        assert (layer.hops, layer.next_index, layer.protocol) == (expected["hops"], expected["next_hop"], expected["inner_protocol"])
        assert bytes(layer.payload)[: len(expected["inner"]) // 2].hex() == expected["inner"]
        assert bytes(packet) == frame
        if len(expected["inner"]) < 2 * 40:
            continue  # shorter than a header
        assert layer.payload.__class__ is (IP if layer.protocol == 4 else IPv6)
        # The lengths and the inner protocol are those that scapy fills in.
        again = GLB(type=layer.type, hops=layer.hops, next_index=layer.next_index) / bytes.fromhex(expected["inner"])
        assert bytes(again) == bytes(layer)[: len(again)]


def test_made_packet_is_that_of_the_director():
    inner = bytes(IP(src="198.51.100.7", dst="10.10.10.10") / TCP(sport=1234, dport=80))
    hops = [bytes([192, 168, 50, n]) for n in (10, 11, 12)]
    expected = encapsulate(4, inner, hops, 0x1234, 0, bytes([192, 0, 2, 1]))
    sport = int.from_bytes(expected[20:22], "big")
    made = IP(src="192.0.2.1", dst="192.168.50.10", id=0, flags=expected[6] >> 5, ttl=64) / UDP(sport=sport, chksum=0)
    made /= GLB(hops=["192.168.50.11", "192.168.50.12"]) / inner
    assert bytes(made)[20:].hex() == expected[20:].hex()
    assert decode_gue(bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / made))[0] == "ok"


def test_made_packet_with_outer_ipv6_is_that_of_the_director():
    inner = bytes(IP(src="198.51.100.7", dst="10.10.10.10") / TCP(sport=1234, dport=80))
    for later in ([], ["fd50::b", "fd50::c"]):
        hops = [ipaddress.ip_address(hop).packed for hop in ["fd50::a", *later]]
        expected = encapsulate(4, inner, hops, 0x1234, 0, ipaddress.ip_address("2001:db8::1").packed)
        sport = int.from_bytes(expected[40:42], "big")
        made = IPv6(src="2001:db8::1", dst="fd50::a", fl=sport) / UDP(sport=sport, chksum=0) / GLB(hops=later) / inner
        assert bytes(made).hex() == expected.hex()
        assert decode_gue(bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / made))[0] == "ok"


def test_malformed_packets_are_made_as_asked():
    frame = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(chksum=0)
    inner = IP(src="192.0.2.3", dst="192.0.2.4") / TCP()
    for layer, status in ((GLB(version=1), "bad_version"), (GLB(control=1), "control"), (GLB(flags=1), "bad_flags"),
                          (GLB(protocol=17), "bad_protocol"), (GLB(hlen=5, hops=["192.0.2.9"]), "bad_length"),
                          (GLB(type=1), "bad_type"), (GLB(next_index=1), "bad_index"), (GLB(hop_count=1), "bad_length")):
        assert decode_gue(bytes(frame / layer / inner))[0] == status


def test_no_packet_makes_the_layer_fail():
    rng, conf.debug_dissector = random.Random(2), False
    for _ in range(500):
        frame = bytearray(rng.choice(OK)[0])
        for _ in range(rng.randrange(1, 5)):
            frame[rng.randrange(36, len(frame))] = rng.randrange(256)
        Ether(bytes(frame[: rng.randrange(14, len(frame) + 1)])).summary()


def test_script_on_the_page_reads_and_makes_packets(tmp_path):
    frame, expected = next((frame, found) for frame, found in OK if len(found["hops"]) == 2)
    pcap.write(tmp_path / "out.pcap", [frame])
    script = block("docs/howto/debug-a-packet.md", "from glb_scapy import GLB")
    environment = {**os.environ, "PYTHONPATH": str(TREE / "packaging/scapy"), "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read, made = done.stdout.splitlines()
    assert read == f"{expected['dst']} {expected['hops']} {expected['next_hop']}"
    assert made.startswith("IP / UDP / GLB") and "TCP" in made
