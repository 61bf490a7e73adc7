# SPDX-License-Identifier: BSD-3-Clause
"""Runs random frames to random MACs, in random VLANs and from martian sources through `replay`, and compares with the model."""

import collections
import json
import random

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_NS, IPv6
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

from model import Director
from support import pcap, traffic
from support.cli import run_json, write_conf

PORT_MAC, VIRTUAL_MAC = "02:00:00:00:00:01", "00:00:5e:00:01:0a"
# The last two differ from the port's MAC in one bit of the first and of the last byte.
MACS = [PORT_MAC] * 8 + [VIRTUAL_MAC, "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05", "33:33:00:00:00:01", "00:00:00:00:00:01",
                         "06:00:00:00:00:01", "02:00:00:00:00:81"]
VLANS = (0, 100, 200, 4094, 4095)
SOURCES4 = ("0.0.0.0", "0.255.255.255", "1.0.0.0", "126.255.255.255", "127.0.0.1", "127.255.255.255", "128.0.0.0", "10.0.0.1",
            "169.254.0.1", "192.168.0.1", "223.255.255.255", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255")
SOURCES6 = ("::", "::1", "::ffff:192.0.2.1", "::192.0.2.1", "::ffff:ffff:ffff:ffff", "0:0:0:1::1", "64:ff9b::1", "fe80::1",
            "fc00::1", "fdff::1", "feff::1", "ff00::", "ff02::1", "ffff::1", "2001:db8::1")
OPEN = {"accept_vlans": "any", "outbound_vlan": "untagged"}
CONFIGS = {
    "defaults": {"accept_vlans": "untagged", "drop_martians": True},
    "exception": {"accept_vlans": "untagged", "drop_martians": True, "exception_path": "tap"},
    "any mac": {"accept_macs": "any", "accept_vlans": [0, 100], "outbound_vlan": 100, "drop_martians": True},
    "virtual mac": {"accept_macs": [VIRTUAL_MAC], "accept_vlans": [100, 200], "outbound_vlan": "untagged", "drop_martians": True},
    "all vlans": {"accept_macs": [VIRTUAL_MAC], **OPEN, "outbound_vlan": 4094, "exception_path": "tap", "drop_martians": False},
    "replies to senders": {"outbound_gateway_mac": "auto", "accept_macs": "any", **OPEN, "outbound_vlan": 7, "drop_martians": True,
                           "send_icmp_too_big": True, "send_icmp_too_big_without_df": True, "outbound_mtu": 576},
    "too big": {"accept_macs": "any", **OPEN, "outbound_vlan": 7, "send_icmp_too_big": True, "outbound_mtu": 576,
                "send_icmp_too_big_without_df": True, "drop_martians": True},
}


def random_frames(seed, count):
    made = traffic.Traffic(seed)
    choose = made.random.choice

    def source(sources, client, destination):
        return choose((*sources, destination)) if made.chance(40) else client()

    def packet():
        if made.chance(3):
            return choose((ARP(), IPv6(src="::", dst="ff02::1:ff00:1") / ICMPv6ND_NS(), Raw(b"lldp")))
        inner = choose((made.ipv4, made.ipv6))()
        if made.chance(60):  # the packets of the fast path
            ip = IP(dst="10.10.10.10") if made.chance(50) else IPv6(dst="fdb4::10")
            inner = ip / choose((TCP(dport=80), UDP(dport=53))) / made.payload(700)
        v4 = inner.version == 4
        inner.src = source(SOURCES4 if v4 else SOURCES6, made.client4 if v4 else made.client6, inner.dst)
        return inner

    def frame():
        ether = Ether(dst=choose(MACS), src="02:00:00:00:00:77")
        for _ in range(choose((0,) * 6 + (1, 1, 2, 3))):
            ether = ether / choose((Dot1Q, Dot1AD))(vlan=choose(VLANS), prio=made.random.randrange(8))
        whole = bytes(ether / packet())
        return whole[: made.random.randrange(len(whole))] if made.chance(4) else whole

    return [frame() for _ in range(count)]


@pytest.fixture(scope="module")
def frames():
    return random_frames(1, 2000)


@pytest.mark.parametrize("name", CONFIGS)
def test_replay_admits_what_the_model_admits(name, frames, tmp_path):
    config = CONFIGS[name]
    (tmp_path / "table.json").write_text(json.dumps(traffic.TABLE_OF_TWO_HOPS))
    conf = write_conf(tmp_path / "director.conf", **config)
    capture = pcap.write(tmp_path / "in.pcap", frames)

    found = run_json("replay", tmp_path / "table.json", capture, tmp_path / "out.pcap", "--config", conf, "--port-mac", PORT_MAC)

    config = {"outbound_gateway_mac": "02:00:00:00:00:fe", "outbound_src_ip": "192.0.2.1", "accept_macs": [], **config}
    model = Director(config, traffic.TABLE_OF_TWO_HOPS, PORT_MAC, "02:00:00:00:00:02" if name == "replies to senders" else None)
    expected = [model.process(frame) for frame in frames]
    counts = collections.Counter(result.verdict for result in expected)
    assert {verdict: count for verdict, count in found["verdicts"].items() if count} == counts
    assert [frame for _, frame, _ in pcap.read_records(tmp_path / "out.pcap")] == [result.out for result in expected if result.out]
    wanted = {"forwarded", "drop_not_for_us", "drop_vlan", "drop_martian"}
    wanted -= {"drop_vlan"} if config["accept_vlans"] == "any" else set()
    wanted |= {"answered_too_big"} if "outbound_mtu" in config else set()
    wanted -= set() if config["drop_martians"] else {"drop_martian"}
    assert all(counts[verdict] > 20 for verdict in wanted), counts


def test_list_says_why_a_frame_is_not_taken(tmp_path):
    tcp = IP(src="198.51.100.7", dst="10.10.10.10") / TCP(dport=80)
    martian = IP(src="127.0.0.1", dst="10.10.10.10") / TCP(dport=80)
    frames = [Ether(dst=PORT_MAC) / tcp, Ether(dst="02:00:00:00:00:99") / tcp, Ether(dst=PORT_MAC) / Dot1Q(vlan=7) / tcp,
              Ether(dst=PORT_MAC) / martian, Ether(dst="ff:ff:ff:ff:ff:ff") / tcp]
    for frame in frames:
        frame.src = "02:00:00:00:00:77"
    capture = pcap.write(tmp_path / "in.pcap", [bytes(frame) for frame in frames])
    (tmp_path / "table.json").write_text(json.dumps(traffic.TABLE_OF_TWO_HOPS))
    conf = write_conf(tmp_path / "director.conf", exception_path="tap")
    found = run_json("replay", tmp_path / "table.json", capture, "--config", conf, "--port-mac", PORT_MAC, "--list")["list"]
    assert [entry["verdict"] for entry in found] == ["forwarded", "drop_not_for_us", "drop_vlan", "drop_martian", "exception"]
    assert [entry["reason"] for entry in found[1:]] == [
        "not sent to an accepted MAC, or broadcast or multicast and there is no exception path",
        "untagged or in a VLAN that accept_vlans does not have", "from a source address that no client can have",
        "broadcast and multicast frames are never forwarded"]
    assert ["row" in entry for entry in found] == [True, False, False, False, False]
    found = run_json("replay", tmp_path / "table.json", capture, "--config", conf, "--list")["list"]
    assert [entry["verdict"] for entry in found] == ["forwarded", "forwarded", "drop_vlan", "drop_martian", "forwarded"]


def test_lookup_predicts_that_a_martian_is_dropped(tmp_path):
    (tmp_path / "table.json").write_text(json.dumps(traffic.TABLE_OF_TWO_HOPS))
    for drop, verdict in ((True, "drop_martian"), (False, "forwarded")):
        conf = write_conf(tmp_path / "director.conf", drop_martians=drop)
        for source, destination in (("127.0.0.1", "10.10.10.10:80"), ("::1", "[fdb4::10]:80"), ("10.10.10.10", "10.10.10.10:80")):
            found = run_json("lookup", tmp_path / "table.json", source, destination, "--config", conf)
            assert found["verdict"] == verdict, source
            assert (found.get("reason") == "from a source address that no client can have") == drop
