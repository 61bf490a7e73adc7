# SPDX-License-Identifier: BSD-3-Clause
"""Runs random packets that are too big, and messages about the director's own, through `glb-director-cli replay`, and compares
verdicts and replies with the model."""

import json
import random

import pytest

from model import Director
from model.underlay import read_message
from support import pcap
from support.cli import run_json, write_conf
from support.director_conf import OPEN
from vectors.cases import frames as f

SOURCES4 = ("198.51.100.7", "0.0.0.0", "0.1.2.3", "1.0.0.0", "10.10.10.10", "10.10.10.99", "10.10.11.1", "126.0.0.1", "127.0.0.1",
            "128.0.0.0", "192.0.2.1", "192.0.2.2", "203.0.113.9", "223.255.255.255", "224.0.0.1", "240.0.0.1", "255.255.255.255")
SOURCES6 = ("2001:db8::7", "::", "::1", "::2", "fe80::1", "feff::1", "ff02::1", "fdb4::10", "fdb4::11", "2001:db8:ffff::9")
TARGETS4 = ("10.10.10.10", "10.10.11.1", "198.51.100.7", "224.0.0.1", "127.0.0.1", "255.255.255.255")
TARGETS6 = ("fdb4::10", "fdb4:0:0:1::5", "2001:db8::7", "ff02::1", "::1")
MACS = ("02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01", "02:00:00:00:00:77")
TABLES = {
    "tables": [
        {
            "name": name, "hash_key": "01" * 16, "seed": "02" * 16, "hops": hops,
            "binds": [{"ip": ip, "proto": "tcp", "port": 80} for ip in binds],
            "backends": [{"ip": f"192.168.50.{n}", "state": "active", "healthy": True} for n in range(1, 9)],
        }
        for name, hops, binds in (("web", 2, ("10.10.10.0/24", "fdb4::/64", "10.10.11.1")), ("rest", 4, ("0.0.0.0/0", "::/0")))
    ]
}


def random_frame(chance):
    v4 = chance.random() < 0.6
    often = lambda values: values[0] if chance.random() < 0.5 else chance.choice(values)
    payload = f.tcp(chance.randrange(65536), 80, f.text(chance.choice((400, 540, 560, 700, 1400))))
    if v4:
        flags = chance.choice((0x4000, 0x4000, 0x4000, 0, 0x8000, 0x6000, 0x2000, 0x4001))
        packet = f.ipv4(often(SOURCES4), often(TARGETS4), f.TCP, payload, options=f.nops(chance.choice((0, 0, 3))), fragment=flags)
    elif chance.random() < 0.8:
        packet = f.ipv6(often(SOURCES6), often(TARGETS6), f.TCP, payload)
    else:
        packet = f.ipv6(often(SOURCES6), often(TARGETS6), f.FRAGMENT, f.fragment_header(f.TCP) + payload)
    tags = chance.choice(((), (), (), (f.C_TAG,), (f.S_TAG, f.C_TAG)))
    macs = {"dst": MACS[0], "src": MACS[4]} if chance.random() < 0.7 else {"dst": chance.choice(MACS), "src": chance.choice(MACS)}
    return f.ethernet(packet, tags=tags, **macs)


def random_message(chance):
    """An ICMP error to the director. Each field is right in most of the messages."""
    usually = lambda right, *wrong: right if chance.random() < 0.93 else chance.choice(wrong)
    ports = (usually(0x8000 | chance.randrange(0x8000), 80), usually(19523, 19524))
    length = chance.choice((0, 28, 68, 69, 576, 1400, 1600, 9216, 65535))
    quote = f.ipv4(usually("192.0.2.1", "192.0.2.2", "10.10.10.10"), usually("192.168.50.3", "192.168.50.9", "192.168.49.3"),
                   usually(f.UDP, f.TCP), f.udp(*ports, f.text(chance.choice((0, 0, 40)))),
                   options=f.nops(usually(0, 2)), total_length=length, fragment=usually(0x4000, 0, 0x2000, 1))
    mtu = chance.choice((0, 1, 67, 68, 576, 1399, 1400, 1500, 8999, 9000, 65535))
    icmp = bytes([usually(3, 11), usually(4, 1), 0, 0, chance.randrange(256), chance.randrange(256), mtu >> 8, mtu & 255])
    quote = quote[: len(quote) - usually(0, *range(1, 12))]
    packet = f.ipv4(usually("203.0.113.1", *SOURCES4), usually("192.0.2.1", "192.0.2.2"), usually(f.ICMP, f.UDP), icmp + quote,
                    options=f.nops(usually(0, 1)), fragment=usually(0x4000, 0, 0x2000, 1))
    return f.ethernet(packet, tags=usually((), (f.C_TAG,))) + bytes(usually(0, 5))


@pytest.mark.parametrize("path", ["none", "tap"])
@pytest.mark.parametrize("mtu", [576, 1400, 9000])
def test_messages_about_own_packets_are_recognised_as_by_the_model(tmp_path, path, mtu):
    keys = {"outbound_mtu": mtu, "outbound_src_ip": "192.0.2.1", "exception_path": path}
    chance = random.Random(mtu)
    frames = [random_message(chance) for _ in range(4000)]
    tables = {"tables": TABLES["tables"][:1]}
    model = Director({**keys, "outbound_gateway_mac": "02:00:00:00:00:fe"}, tables)
    expected = [model.process(frame).verdict for frame in frames]
    table = tmp_path / "table.json"
    table.write_text(json.dumps(tables))
    capture = pcap.write(tmp_path / "in.pcap", frames)

    result = run_json("replay", table, capture, "--config", write_conf(tmp_path / "director.conf", **keys, **OPEN), "--list")

    found = [entry["verdict"] for entry in result["list"]]
    wrong = [n for n, want in enumerate(expected) if found[n] != want]
    assert not wrong, f"frame {wrong[0]}: {found[wrong[0]]}, not {expected[wrong[0]]}: {frames[wrong[0]][:80].hex()}"
    told = {
        n: (message.router, message.mtu, message.proxy)
        for n, frame in enumerate(frames)
        if (message := read_message(frame, model.config, model.tables))
    }
    said = {n: entry["reason"] for n, entry in enumerate(result["list"]) if entry["verdict"] == "underlay_too_big"}
    assert said.keys() == told.keys() and len(said) > 200
    for n, (router, size, proxy) in told.items():
        assert said[n].startswith(f"router {router} forwards at most {size} bytes towards proxy {proxy}"), frames[n].hex()


@pytest.mark.parametrize("gateway", ["02:00:00:00:00:fe", "auto"])
@pytest.mark.parametrize("without_df", [False, True])
def test_replies_are_those_of_the_model(tmp_path, gateway, without_df):
    keys = {"outbound_mtu": 576, "send_icmp_too_big": True, "send_icmp_too_big_without_df": without_df,
            "outbound_gateway_mac": gateway, "outbound_src_ip": "192.0.2.1"}
    chance = random.Random(f"{gateway} {without_df}")
    frames = [random_frame(chance) for _ in range(4000)]
    model = Director(keys, TABLES, gateway_mac="02:00:00:00:00:fe")
    expected = [model.process(frame) for frame in frames]
    table = tmp_path / "table.json"
    table.write_text(json.dumps(TABLES))
    # A packet every ten seconds, so that the limit of replies does not matter.
    capture = pcap.write(tmp_path / "in.pcap", frames, times=[1000 + 10 * n for n in range(len(frames))])
    out = tmp_path / "out.pcap"

    result = run_json("replay", table, capture, out, "--config", write_conf(tmp_path / "director.conf", **keys, **OPEN),
                      "--gateway-mac", "02:00:00:00:00:fe", "--list")

    found = [entry["verdict"] for entry in result["list"]]
    wrong = [n for n, want in enumerate(expected) if found[n] != want.verdict]
    assert not wrong, f"frame {wrong[0]}: {found[wrong[0]]}, not {expected[wrong[0]].verdict}: {frames[wrong[0]][:80].hex()}"
    sent = {(time // 10**9 - 1000) // 10: frame for time, frame, _ in pcap.read_records(out)}
    assert sent == {n: want.out for n, want in enumerate(expected) if want.out is not None}
    counts = result["verdicts"]
    assert counts["answered_too_big"] > 300 and counts["drop_too_big"] > 600 and counts["forwarded"] > 300
