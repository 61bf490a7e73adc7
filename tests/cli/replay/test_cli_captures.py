# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli: replay and decode, and their capture files."""

import json
import struct

import pytest

from support import pcap
from support.cli import FAILED, run, run_json, table, tcp_frame, write_conf, write_tables
from support.facts import VERDICTS
from support.vectors import GUE, PACKETS

ARP = bytes(12) + b"\x08\x06" + bytes(28)


@pytest.fixture
def setup(tmp_path):
    write_tables(tmp_path / "table.json", table())
    write_conf(tmp_path / "director.conf")
    return tmp_path


def replay(folder, capture, *args, conf="director.conf", **kwargs):
    return run_json("replay", folder / "table.json", capture, *args, "--config", folder / conf, **kwargs)


def test_replay_counts_every_verdict_and_all_packets(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame(), ARP, tcp_frame(dport=81), ARP[:13]] * 20)
    counts = replay(setup, capture)
    assert list(counts) == ["packets", "cut", "sent", "isa", "verdicts"]
    assert list(counts["verdicts"]) == VERDICTS
    assert sum(counts["verdicts"].values()) == counts["packets"] == 80
    assert (counts["verdicts"]["forwarded"], counts["verdicts"]["drop_unmatched"]) == (20, 40)
    assert (counts["verdicts"]["drop_truncated"], counts["sent"], counts["cut"]) == (20, 20, 0)
    text = run("replay", setup / "table.json", capture, "--config", setup / "director.conf").stdout
    assert "          20   25.00%  forwarded               sent to a proxy in GUE\n" in text
    assert "          80  packets read, each with one verdict\n" in text
    assert "          20  packets would be sent\n" in text
    assert list(setup.glob("*.pcap")) == [capture]


def test_replay_obeys_the_isa_of_director_conf(setup):
    """If this CPU does not have it, the widest one gives the same result."""
    capture = pcap.write(setup / "in.pcap", [tcp_frame(sport=1000 + i) for i in range(200)])
    conf, outputs = (setup / "director.conf").read_text(), set()
    for isa in ("scalar", "avx2", "avx512", "auto"):
        (setup / "director.conf").write_text(f'{conf}isa = "{isa}";\n')
        assert replay(setup, capture, setup / f"{isa}.pcap")["isa"] in ({"scalar": ["scalar"]}.get(isa) or ["scalar", "avx2", "avx512"])
        outputs.add((setup / f"{isa}.pcap").read_bytes())
    assert len(outputs) == 1


def test_replay_of_an_empty_capture(setup):
    capture = pcap.write(setup / "in.pcap", [])
    assert replay(setup, capture, setup / "out.pcap")["packets"] == 0
    assert pcap.read_records(setup / "out.pcap") == []
    assert "           0  packets read" in run(
        "replay", setup / "table.json", capture, "--config", setup / "director.conf").stdout


def test_pcapng_and_pcap_give_the_same_result_and_keep_time_stamps(setup):
    frames = [tcp_frame(sport=1000 + i) for i in range(200)]
    replay(setup, pcap.write(setup / "in.pcap", frames), setup / "a.pcap")
    replay(setup, pcap.write_ng(setup / "in.pcapng", frames), setup / "b.pcap")
    plain, ng = pcap.read_records(setup / "a.pcap"), pcap.read_records(setup / "b.pcap")
    assert [time for time, _, _ in plain] == [(1000 + i) * 10**9 for i in range(200)]
    assert [time for time, _, _ in ng] == [1000 * 10**9 + i for i in range(200)]
    assert [frame for _, frame, _ in plain] == [frame for _, frame, _ in ng]
    assert len({frame for _, frame, _ in plain}) == 200


def test_options_override_the_macs_of_the_configuration(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()])
    write_conf(setup / "auto.conf", outbound_gateway_mac="auto", accept_macs="any")
    write_conf(setup / "director.conf", accept_macs="any")

    def macs(*args, conf="director.conf"):
        replay(setup, capture, setup / "out.pcap", *args, conf=conf)
        return pcap.read_records(setup / "out.pcap")[0][1][:12].hex(":")

    assert macs() == "02:00:00:00:00:fe:02:00:00:00:00:01"
    assert macs(conf="auto.conf") == "02:00:00:00:00:02:02:00:00:00:00:01"
    given = ["--gateway-mac", "02:00:00:00:0A:0a", "--port-mac", "02:00:00:00:00:0b"]
    assert macs(*given) == macs(*given, conf="auto.conf") == "02:00:00:00:0a:0a:02:00:00:00:00:0b"


def test_packets_truncated_by_the_snap_length_are_steered_by_their_headers(setup):
    whole = tcp_frame(payload=bytes(range(200)))
    replay(setup, pcap.write(setup / "whole.pcap", [whole]), setup / "all.pcap")
    counts = replay(setup, pcap.write(setup / "cut.pcap", [whole, whole[:60]], snap=60), setup / "out.pcap")
    assert (counts["packets"], counts["cut"], counts["verdicts"]["forwarded"]) == (2, 1, 1)
    (_, all_of_it, _), = pcap.read_records(setup / "all.pcap")
    (_, kept, size), = pcap.read_records(setup / "out.pcap")
    assert kept == all_of_it[: len(kept)] and len(kept) == 40 + 60 - 14 + 14
    assert size == len(all_of_it)
    assert "1  of these is truncated by the capture's snap length" in run(
        "replay", setup / "table.json", setup / "cut.pcap", "--config", setup / "director.conf").stdout


@pytest.mark.parametrize("name", ["in.pcap", "in.pcapng"])
def test_counts_are_printed_if_the_capture_ends_inside_a_packet(setup, name):
    write = pcap.write if name == "in.pcap" else pcap.write_ng
    capture = write(setup / name, [tcp_frame()] * 70)
    capture.write_bytes(capture.read_bytes()[:-5])
    done = run("replay", setup / "table.json", capture, setup / "out.pcap", "--config", setup / "director.conf",
               "--json", code=FAILED)
    counts = json.loads(done.stdout)
    assert counts["packets"] == counts["verdicts"]["forwarded"] == len(pcap.read_records(setup / "out.pcap")) == 69
    assert done.stderr.startswith(f"glb-director-cli: {capture}: ") and "truncated" in done.stderr
    done = run("decode", capture, code=FAILED)
    assert "          69  not_gue" in done.stdout and "truncated" in done.stderr


def test_only_ethernet_is_read(setup):
    for link_type, name in ((101, "RAW"), (113, "LINUX_SLL"), (0, "NULL")):
        capture = pcap.write(setup / "in.pcap", [tcp_frame()], link_type=link_type)
        for command in (["replay", setup / "table.json", capture, "--config", setup / "director.conf"],
                        ["decode", capture]):
            assert f"({name}), but only Ethernet (EN10MB) is supported" in run(*command, code=FAILED).stderr


def test_replay_names_files_that_it_cannot_read_or_write(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()] * 1000)
    before = capture.read_bytes()

    def error(*args):
        return run("replay", setup / "table.json", *args, "--config", setup / "director.conf", code=FAILED).stderr

    assert f"{setup / 'none.pcap'}: No such file" in error(setup / "none.pcap")
    assert f"{setup / 'no' / 'out'}: cannot write the capture: No such file" in error(capture, setup / "no" / "out")
    assert "/dev/full: cannot write the capture: No space left" in error(capture, "/dev/full")
    assert f"{capture}: the output is the same file as the input {capture}: name another file" in error(capture, capture)
    assert capture.read_bytes() == before
    assert f"{setup / 'table.json'}: unknown file format" in error(setup / "table.json")


def test_too_big_replies_are_limited_by_the_captured_time(setup):
    """A burst of 50, then 10 per second, as in a worker of the director for one source prefix."""
    write_conf(setup / "answer.conf", outbound_mtu=576, send_icmp_too_big=True)
    big = tcp_frame(payload=bytes(600), flags=0x4000)

    def answers(times):
        capture = pcap.write(setup / "in.pcap", [big] * len(times), times=times)
        verdicts = replay(setup, capture, conf="answer.conf")["verdicts"]
        assert verdicts["answered_too_big"] + verdicts["drop_too_big"] == len(times)
        return verdicts["answered_too_big"]

    assert answers([1000.0] * 300) == 50
    assert answers([1000 + i / 5 for i in range(300)]) == 300
    assert answers([1000.0] * 128 + [1010.0] * 128) == 100
    assert answers([1000.0] * 128 + [1000.5] * 128) == 55
    assert answers([1000.0] * 128 + [900.0] * 128) == 50


def test_replay_takes_frames_of_all_sizes(setup):
    frames = [tcp_frame(payload=bytes(size)) for size in (0, 1, 1400, 9000, 60000, 65000)] * 30
    frames += [tcp_frame() + bytes(200000)] * 64
    counts = replay(setup, pcap.write(setup / "in.pcap", frames), setup / "out.pcap")
    assert counts["verdicts"]["forwarded"] == 3 * 30 + 64
    assert counts["verdicts"]["drop_too_big"] == 3 * 30


# decode


def test_decode_reads_every_golden_gue_packet(tmp_path):
    capture = pcap.write(tmp_path / "gue.pcap", [bytes.fromhex(packet["frame"]) for packet in GUE])
    decoded = run_json("decode", capture)
    expected = [packet["status"] for packet in GUE]
    assert {name: count for name, count in decoded["counts"].items() if count} == {
        status: expected.count(status) for status in expected}
    good = [(index + 1, packet["fields"]) for index, packet in enumerate(GUE) if packet["status"] == "ok"]
    assert [packet["number"] for packet in decoded["packets"]] == [number for number, _ in good]
    for packet, (_, fields) in zip(decoded["packets"], good):
        assert packet["source"] == fields["src"] and packet["destination"] == fields["dst"]
        assert packet["udp_source_port"] == fields["udp_src_port"]
        assert packet["next_hop"] == fields["next_hop"] and packet["hops"] == fields["hops"]
        assert packet["inner_protocol"] == fields["inner_protocol"]
        assert packet["inner"]["size"] == len(fields["inner"]) // 2


def test_decode_prints_what_replay_wrote(setup):
    replay(setup, pcap.write(setup / "in.pcap", [tcp_frame(), ARP, tcp_frame(sport=5)]), setup / "out.pcap")
    found = run_json("lookup", setup / "table.json", "198.51.100.7:40000", "10.10.10.10:80", "--config",
                     setup / "director.conf")
    packet = run_json("decode", setup / "out.pcap")["packets"][0]
    assert set(packet) == {"number", "source", "destination", "ttl", "udp_source_port", "udp_checksum", "next_hop", "hops",
                           "inner_protocol", "inner"}
    assert [packet["destination"], *packet["hops"]] == [hop["ip"] for hop in found["hops"]]
    assert (packet["source"], packet["ttl"], packet["next_hop"]) == ("192.0.2.1", 64, 0)
    assert packet["udp_source_port"] == found["udp_source_port"]
    assert packet["inner"] == {
        "what": "tcp", "source": "198.51.100.7:40000", "destination": "10.10.10.10:80", "size": 40}
    lines = run("decode", setup / "out.pcap").stdout.splitlines()
    assert lines[0] == (f"1  192.0.2.1 > {packet['destination']}  ttl 64  udp {packet['udp_source_port']}  "
                        f"next 0 of {packet['hops'][0]}")
    assert lines[1] == "    tcp 198.51.100.7:40000 > 10.10.10.10:80, 40 bytes"
    assert lines[-1] == "           2  ok"


def test_decode_checks_the_outer_checksum(tmp_path):
    """The name of a golden packet tells whether it arrived at the director with right checksums."""
    packets = [packet for packet in PACKETS["packets"] if packet["verdict"] == "forwarded"]
    capture = pcap.write(tmp_path / "out.pcap", [bytes.fromhex(packet["out"]) for packet in packets])
    corrupted = ("bit flipped", "wrong header checksum", "tcp, checksum 0")

    def expected(packet):
        if not packet["config"].startswith("udp checksum"):
            return "none"
        is_read = "udp checksum 0" in packet["name"]  # as a whole, whatever its checksums are
        return "wrong" if any(word in packet["name"] for word in corrupted) and not is_read else "right"

    found = [packet["udp_checksum"] for packet in run_json("decode", capture)["packets"]]
    names = [packet["name"] for packet in packets]
    assert dict(zip(names, found)) == dict(zip(names, map(expected, packets)))
    assert found.count("wrong") > 15 and found.count("right") > 100
    text = " ".join(run("decode", capture).stdout.split())  # long lines are wrapped
    assert [text.count(f" checksum {word} ") for word in ("right", "wrong", "none")] == [found.count("right"), found.count("wrong"), 0]


def test_decode_summarises_each_kind_of_inner_packet(tmp_path):
    frames = [bytes.fromhex(packet["out"]) for packet in PACKETS["packets"] if packet["verdict"] == "forwarded"]
    decoded = run_json("decode", pcap.write(tmp_path / "out.pcap", frames))
    assert decoded["counts"]["ok"] == len(frames)
    assert {packet["inner"]["what"] for packet in decoded["packets"]} == {
        "tcp", "udp", "icmp echo request", "later fragment", "icmp error about tcp", "icmp error about udp"}


def test_decode_on_another_port_and_of_broken_inner_packets(tmp_path):
    inner = bytes.fromhex("4500001400000000400600000101010102020202")
    frames = []
    for port in (19523, 5555):
        udp = struct.pack("!HHHH", 0x8001, port, 16 + len(inner), 0) + struct.pack("!BBHHBB", 1, 4, 0, 0, 0, 0) + inner
        ip = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, 9, 9, 9, 9, 8, 8, 8, 8)
        frames.append(bytes(12) + b"\x08\x00" + ip + udp)
    capture = pcap.write(tmp_path / "in.pcap", frames)
    first, second = run_json("decode", capture), run_json("decode", capture, "--port", "5555")
    assert ([packet["number"] for packet in first["packets"]], first["counts"]["not_gue"]) == ([1], 1)
    assert [packet["number"] for packet in second["packets"]] == [2]
    assert first["packets"][0]["inner"] == {"what": "drop_truncated", "size": 20}
    assert "    inner packet: drop_truncated, 20 bytes" in run("decode", capture).stdout
