# SPDX-License-Identifier: BSD-3-Clause
"""Runs every golden packet through `glb-director-cli replay`, and compares verdicts and sent frames."""

import collections
import json

import pytest

from support import pcap
from support.cli import run, run_json, write_conf
from support.director_conf import OPEN
from support.vectors import PACKETS, packet_groups

GROUPS = packet_groups()


@pytest.mark.parametrize("form", ["json", "binary"])
@pytest.mark.parametrize("config, table", GROUPS, ids=lambda name: name.replace(" ", "_"))
def test_replay_sends_the_frames_of_the_model(tmp_path, config, table, form):
    packets = GROUPS[config, table]
    source = tmp_path / "table.json"
    source.write_text(json.dumps(PACKETS["tables"][table]))
    if form == "binary":
        run("build-config", source, tmp_path / "table.bin")
        source = tmp_path / "table.bin"
    conf = write_conf(tmp_path / "director.conf", **OPEN, **PACKETS["configs"][config])
    capture = pcap.write(tmp_path / "in.pcap", [bytes.fromhex(packet["frame"]) for packet in packets])
    out = tmp_path / "out.pcap"

    result = run_json("replay", source, capture, out, "--config", conf)

    expected = collections.Counter(packet["verdict"] for packet in packets)
    assert {name: count for name, count in result["verdicts"].items() if count} == expected
    assert result["packets"] == len(packets)
    sent = {(time // 10**9 - 1000): frame.hex() for time, frame, _ in pcap.read_records(out)}
    named = {packet["name"]: sent.get(index) for index, packet in enumerate(packets)}
    assert named == {packet["name"]: packet["out"] for packet in packets}
    assert result["sent"] == len(pcap.read_records(out)) == sum(packet["out"] is not None for packet in packets)


def flows():
    """The forwarded golden packets (IPv4 with TCP or UDP) that `lookup` can compute, each with its frame."""
    for packet in PACKETS["packets"]:
        frame = bytes.fromhex(packet["frame"])
        if packet["verdict"] == "forwarded" and frame[12:15] == b"\x08\x00\x45" and frame[23] in (6, 17):
            if not int.from_bytes(frame[20:22], "big") & 0x1FFF:
                yield packet, frame


def quic_dcid(packet, payload):
    """The option for the connection ID in a UDP payload, if it is QUIC."""
    if not packet.get("quic"):
        return []
    cid = payload[6 : 6 + payload[5]] if payload[0] & 0x80 else payload[1:]
    return ["--quic-dcid", cid.hex()]


def test_lookup_agrees_with_the_vectors(tmp_path):
    sample = list(flows())[::7]
    assert len(sample) > 40
    for packet, frame in sample:
        source = tmp_path / "table.json"
        source.write_text(json.dumps(PACKETS["tables"][packet["table"]]))
        conf = write_conf(tmp_path / "director.conf", **PACKETS["configs"][packet["config"]])
        client, vip = (".".join(map(str, frame[at : at + 4])) for at in (26, 30))
        sport, dport = (int.from_bytes(frame[at : at + 2], "big") for at in (34, 36))
        found = run_json("lookup", source, f"{client}:{sport}", f"{vip}:{dport}", "--config", conf,
                         "--proto", "tcp" if frame[23] == 6 else "udp", *quic_dcid(packet, frame[42:]))
        out = bytes.fromhex(packet["out"])
        assert found["verdict"] == "forwarded", packet["name"]
        assert found["table_index"] == packet["table_index"], packet["name"]
        assert found["hash"] == packet["hash"], packet["name"]
        assert found["row"] == packet["row"], packet["name"]
        assert [hop["ip"] for hop in found["hops"]] == packet["hops"], packet["name"]
        udp = 34 if out[14] >> 4 == 4 else 54
        assert found["udp_source_port"] == int.from_bytes(out[udp : udp + 2], "big"), packet["name"]
