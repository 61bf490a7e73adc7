# SPDX-License-Identifier: BSD-3-Clause
"""packaging/wireshark/glb_gue.lua in tshark: the golden GUE packets, malformed ones, and captures that are cut."""

import ipaddress
import json
import os
import random
import struct
import subprocess

from model import decode_gue
from support import pcap
from support.cli import backend, run_json, table, write_tables
from support.tree import BUILD, TREE

DISSECTOR = TREE / "packaging/wireshark/glb_gue.lua"
VECTORS = json.loads((TREE / "tests/vectors/gue.json").read_text())
GOLDEN = [bytes.fromhex(vector["frame"]) for vector in VECTORS]
OK = next(bytes.fromhex(vector["frame"]) for vector in VECTORS if vector["status"] == "ok" and len(vector["fields"]["hops"]) == 2)
GUE, GUE6 = 14 + 20 + 8, 14 + 40 + 8  # offsets in OK and OK6
HOPS6 = ["2001:db8::3", "2001:db8::4"]


def behind_ipv6(hops, inner):
    gue = struct.pack("!BBHHBB", 1 + 4 * len(hops), OK[GUE + 1], 0, 1, 0, len(hops))
    udp = gue + b"".join(ipaddress.ip_address(hop).packed for hop in hops) + inner
    addresses = ipaddress.ip_address("2001:db8::1").packed + ipaddress.ip_address("2001:db8::2").packed
    return (OK[:12] + struct.pack("!HIHBB", 0x86DD, 6 << 28, 8 + len(udp), 17, 64) + addresses
            + struct.pack("!HHHH", 40000, 19523, 8 + len(udp), 0) + udp)


OK6 = behind_ipv6(HOPS6, OK[GUE + 16 :])


def tshark(folder, frames, *options, snap=262144):
    path = pcap.write(folder / "in.pcap", frames, snap=snap)
    done = subprocess.run(["tshark", "-X", f"lua_script:{DISSECTOR}", "-n", "-r", path, *options],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr.replace("lua_script", "") and "Lua Error" not in done.stdout, done.stderr + done.stdout
    return done.stdout


def fields(folder, frames, *names, **options):
    """[{name: [values]}] of each frame"""
    words = [word for name in names for word in ("-e", name)]
    out = tshark(folder, frames, "-T", "fields", "-E", "separator=|", *words, **options)
    rows = [[cell.split(",") if cell else [] for cell in line.split("|")] for line in out.split("\n")[:-1]]
    assert len(rows) == len(frames)
    return [dict(zip(names, row)) for row in rows]


def change(at, value, frame=OK):
    start, frame = GUE6 if frame is OK6 else GUE, bytearray(frame)
    frame[start + at] = value
    return bytes(frame)


def test_status_hops_and_inner_packet_are_those_of_the_golden_packets(tmp_path):
    # Not all kinds of "not_gue" and "truncated" reach the dissector: those are faults of the outer IP and UDP headers.
    pairs = [(frame, vector) for frame, vector in zip(GOLDEN, VECTORS) if vector["status"] not in ("not_gue", "truncated")]
    assert len(pairs) > 20
    names = ("glb.status", "glb.hop", "glb.hop6", "glb.next_index", "glb.protocol", "ip.src", "ipv6.src")
    for (_, vector), found in zip(pairs, fields(tmp_path, [frame for frame, _ in pairs], *names)):
        assert found["glb.status"] == [vector["status"]], vector["name"]
        if vector["status"] == "ok":
            expected = vector["fields"]
            assert found["glb.hop"] + found["glb.hop6"] == expected["hops"]
            assert found["glb.next_index"] == [str(expected["next_hop"])]
            assert found["glb.protocol"] == [str(expected["inner_protocol"])]


FAULTS = [
    (change(0, 0x43), "bad_version"),
    (change(0, 0x23), "control"),
    (change(2, 1), "bad_flags"),
    (change(1, 17), "bad_protocol"),
    (change(7, 1), "bad_length"),
    (change(0, 31), "bad_length"),
    (change(5, 1), "bad_type"),
    (change(6, 3), "bad_index"),
    (change(16, 0x65), "inner_version"),
    (change(19, 1), "inner_length"),
    (OK, None),
    (change(0, 10, OK6), "bad_length"),
    (change(7, 1, OK6), "bad_length"),
    (change(5, 0, OK6), "bad_type"),
    (change(6, 3, OK6), "bad_index"),
    (change(40, 0x65, OK6), "inner_version"),
    (OK6, None),
]


def test_each_fault_has_its_expert_information(tmp_path):
    experts = [f"glb.expert.{fault}" for fault in dict.fromkeys(fault for _, fault in FAULTS if fault)]
    rows = fields(tmp_path, [frame for frame, _ in FAULTS], "glb.next_hop", "glb.hop6", "glb.next_hop6", *experts)
    for (_, fault), found in zip(FAULTS, rows):
        assert [name for name in experts if found[name]] == ([f"glb.expert.{fault}"] if fault else [])
    assert rows[10]["glb.next_hop"] == [decode_gue(OK)[1]["hops"][0]]
    assert (rows[-1]["glb.hop6"], rows[-1]["glb.next_hop6"], rows[-1]["glb.next_hop"]) == (HOPS6, HOPS6[:1], [])


def test_packets_can_be_filtered_by_hop_index_and_fault(tmp_path):
    frames = [OK, change(6, 1), change(6, 3)]
    hop = decode_gue(OK)[1]["hops"][1]
    for text, numbers in ((f"glb.hop == {hop} && glb.status == \"ok\"", "12"), (f"glb.next_hop == {hop}", "2"), ("glb.expert.bad_index", "3")):
        out = tshark(tmp_path, frames, "-Y", text, "-T", "fields", "-e", "frame.number")
        assert "".join(out.split()) == numbers, text


def test_hops_have_names(tmp_path):
    hosts = tmp_path / "hosts"
    names = {hop: f"proxy{i}.example" for i, hop in enumerate([*decode_gue(OK)[1]["hops"], *HOPS6, "2001:db8::1"])}
    hosts.write_text("".join(f"{hop}\t{name}\n" for hop, name in names.items()))
    path = pcap.write(tmp_path / "in.pcap", [OK, OK6])
    done = subprocess.run(["tshark", "-X", f"lua_script:{DISSECTOR}", "-N", "n", "-H", hosts, "-r", path, "-O", "glb"],
                          capture_output=True, text=True, timeout=60, check=True)
    first, second = decode_gue(OK)[1]["hops"]
    assert f"Hop: proxy0.example ({first}) (next)" in done.stdout
    assert f"Hop: proxy1.example ({second})\n" in done.stdout
    assert f"[Next hop: proxy0.example ({first})]" in done.stdout
    assert f"[Next hop: proxy2.example ({HOPS6[0]})]" in done.stdout


def test_no_packet_makes_the_dissector_fail(tmp_path):
    """Each length, and random changes of each byte of header and inner packet. tshark reports an error of Lua as expert information."""
    rng = random.Random(1)
    frames = [OK[:size] for size in range(GUE, len(OK))] + [OK6[:size] for size in range(GUE6, len(OK6))]
    for frame in GOLDEN + [OK] * 500 + [OK6] * 500:
        udp = 54 if frame[12:14] == b"\x86\xdd" else 34
        frame = bytearray(frame)
        for _ in range(rng.randrange(1, 4)):
            if len(frame) > udp + 8:
                frame[rng.randrange(udp, len(frame))] = rng.randrange(256)
        frame[udp + 2 : udp + 4] = (19523).to_bytes(2, "big") if len(frame) > udp + 4 else frame[udp + 2 : udp + 4]
        frames.append(bytes(frame))
    for snap in (262144, GUE + 10, GUE + 17, GUE6 + 10, GUE6 + 25):
        assert tshark(tmp_path, frames, "-Y", '_ws.expert.message contains "Lua"', snap=snap) == ""
        assert len(tshark(tmp_path, frames[::10], "-Y", "glb", snap=snap).splitlines()) > 50


def test_cut_packets_are_not_called_malformed(tmp_path):
    for snap in (GUE + 3, GUE + 9, GUE + 17, GUE + 25):
        for frame in fields(tmp_path, [OK], "glb.status", "_ws.expert.message", snap=snap):
            assert frame["glb.status"] in ([], ["ok"])
            assert "proxy drops" not in " ".join(frame["_ws.expert.message"])


QUIC_TABLE = table("web", [{**backend("192.168.50.1"), "server_id": "ed793a"}, backend("192.168.50.2")],
                   binds=[{"ip": "10.10.10.10", "proto": "udp", "port": 443, "quic": True}],
                   quic=[{"id": 0, "server_id_length": 3, "nonce_length": 4, "key": "8f95f09245765f80256934e50c66207f"}])


def quic_frame(payload, protocol=17, fragment=0):
    udp = struct.pack("!HHHH", 50000, 443, 8 + len(payload), 0) + payload
    return behind_ipv6(HOPS6, struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(udp), 0, fragment, 64, protocol, 0, 0xCB007107, 0x0A0A0A0A) + udp)


def quic_fields(folder, frames, path, name=""):
    """What tshark shows of the connection ID of each frame: a list of values of these fields."""
    names = ("glb.quic_cid", "glb.quic_server", "glb.quic_server_id", "glb.quic_unroutable")
    words = [word for field in names for word in ("-e", field)]
    capture = pcap.write(folder / "in.pcap", frames)
    done = subprocess.run(["tshark", "-X", f"lua_script:{DISSECTOR}", "-n", "-r", capture, "-o", f"glb.quic_table:{path}", "-o", f"glb.quic_name:{name}",
                           "-T", "fields", "-E", "separator=|", *words], capture_output=True, text=True, timeout=60, check=True,
                          env={**os.environ, "PATH": f"{BUILD}/src/cli:{os.environ['PATH']}"})
    return [line.split("|") for line in done.stdout.splitlines()]


def test_the_server_of_a_quic_packet(tmp_path):
    path = write_tables(tmp_path / "it's a table.json", QUIC_TABLE)
    cid = run_json("quic", "encode", path, "192.168.50.1")["cid"]
    short, lost = bytes.fromhex("40" + cid) + bytes(30), bytes.fromhex("40e0") + bytes(30)
    long_header = bytes.fromhex(f"c000000001{len(cid) // 2:02x}{cid}00") + bytes(30)
    rows = quic_fields(tmp_path, [quic_frame(short), quic_frame(long_header), quic_frame(lost)], path)
    assert [row[1:] for row in rows] == [["192.168.50.1", "ed793a", ""]] * 2 + [["", "", "config"]]
    assert rows[0][0].startswith(cid) and rows[1][0] == cid
    others = [quic_frame(short, protocol=6), quic_frame(short, fragment=0x2000), quic_frame(b""), quic_frame(b"\xc0\0\0\0\1\x14"), OK]
    assert quic_fields(tmp_path, others, path) == [[""] * 4] * len(others)
    assert quic_fields(tmp_path, [quic_frame(short)], "") == [[""] * 4]


def test_a_table_that_cannot_decode_is_named(tmp_path):
    frame = quic_frame(bytes.fromhex("400b") + bytes(30))
    ((cid, server, *rest),) = quic_fields(tmp_path, [frame], tmp_path / "missing.json")
    assert cid.startswith("0b") and server.startswith("not known: ") and "missing.json" in server and rest == ["", ""]
