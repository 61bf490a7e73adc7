# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli lookup: the hops of a flow, and the reason of each."""

import json
import os

import pytest

from model import load_tables
from model.quic import QuicConfig
from support.cli import FAILED, USAGE, backend, run, run_json, table, write_conf, write_tables


def model_row(table, row):
    """The addresses of a row, by the model."""
    return [".".join(map(str, hop.address)) for hop in table.row(row)]


def lookup(path, *args, conf, **kwargs):
    return run_json("lookup", path, *args, "--config", conf, **kwargs)


def test_lookup_gives_the_reason_of_each_hop(tmp_path):
    conf = write_conf(tmp_path / "director.conf")
    states = {1: "draining", 2: "active", 3: "filling", 4: "inactive"}
    backends = [backend(f"192.168.50.{i}", state) for i, state in states.items()]
    source = write_tables(tmp_path / "table.json", table(backends=backends, hops=3))
    model = load_tables(json.loads(source.read_text()))[0]
    reasons = set()
    for client in range(60):
        found = lookup(source, f"198.51.100.{client}:1", "10.10.10.10:80", conf=conf)
        assert [hop["ip"] for hop in found["hops"]] == model_row(model, found["row"])
        for hop in found["hops"]:
            assert hop["state"] == states[int(hop["ip"][-1])]
            assert hop["healthy"] and not hop["alt"] and hop["row"] == found["row"]
            reasons.add((hop["ip"][-1], hop["reason"]))
        owner = [hop["ip"] for hop in found["hops"] if hop["reason"] == "natural owner"]
        assert len(owner) == 1 or found["hops"][0]["reason"].startswith("first good")
    assert not any("192.168.50.4" in reason for _, reason in reasons)  # inactive backends are not in the order
    assert ("1", "natural owner") in reasons
    assert ("2", "first good: 192.168.50.1 is draining") in reasons
    assert ("3", "natural owner") in reasons
    assert ("3", "place 3 in natural order") in reasons


def test_the_missing_default_of_config_is_told_as_such(files):
    hint = "this path is the default of --config: name your director.conf with --config FILE"
    words = ["lookup", files / "table.json", "198.51.100.1:1", "10.10.10.10:80"]
    if not os.path.exists("/etc/glb/director.conf"):
        assert hint in run(*words, code=FAILED).stderr
    assert hint not in run(*words, "--config", "none", code=FAILED).stderr


def test_lookup_says_that_no_backend_is_good(tmp_path):
    conf = write_conf(tmp_path / "director.conf")
    backends = [backend("192.168.50.1", healthy=False), backend("192.168.50.2", "draining")]
    source = write_tables(tmp_path / "table.json", table(backends=backends))
    firsts = {lookup(source, f"198.51.100.{i}:1", "10.10.10.10:80", conf=conf)["hops"][0]["reason"] for i in range(20)}
    assert firsts == {"natural owner; none is good, it is the first healthy",
                      "place 2 in natural order; none is good, it is the first healthy"}
    source = write_tables(tmp_path / "table.json", table(backends=[backend("192.168.50.1", healthy=False)] * 1))
    found = lookup(source, "198.51.100.1:1", "10.10.10.10:80", conf=conf)
    assert [hop["reason"] for hop in found["hops"]] == ["natural owner; none is healthy"]


def test_lookup_in_a_binary_table_gives_only_the_place_in_the_row(files):
    found = lookup(files / "table.bin", "198.51.100.1:1", "10.10.10.10:80", conf=files / "director.conf")
    assert [hop["reason"] for hop in found["hops"]] == [f"hop {i} of row {found['row']}" for i in (1, 2)]
    text = run("lookup", files / "table.bin", "198.51.100.1:1", "10.10.10.10:80", "--config",
               files / "director.conf").stdout
    assert "JSON has the seed" in text and all(len(line) <= 80 for line in text.splitlines())


def test_lookup_with_alt_hash_fields_prints_both_rows(tmp_path):
    conf = write_conf(tmp_path / "director.conf", alt_hash_fields={"src_addr": True, "src_port": True})
    source = write_tables(tmp_path / "table.json", table(backends=8))
    model = load_tables(json.loads(source.read_text()))[0]
    found = lookup(source, "198.51.100.1:4000", "10.10.10.10:80", conf=conf)
    rows = model_row(model, found["row"]) + model_row(model, found["alt_row"])
    assert [hop["ip"] for hop in found["hops"]] == list(dict.fromkeys(rows))
    assert [hop["alt"] for hop in found["hops"]] == [False] * 2 + [True] * (len(found["hops"]) - 2)
    assert [hop["row"] for hop in found["hops"]] == [found["alt_row" if hop["alt"] else "row"] for hop in found["hops"]]


def test_lookup_prints_the_bind_or_why_none_matches(tmp_path):
    conf = write_conf(tmp_path / "director.conf")
    closed = write_conf(tmp_path / "closed.conf", forward_icmp_ping_responses=False, exception_path="tap")
    binds = [{"ip": "10.10.10.0/24", "proto": "udp", "port_start": 80, "port_end": 90},
             {"ip": "10.10.10.10", "proto": "tcp", "port": 80}, {"ip": "fdb4::/64", "proto": "tcp", "port": 443}]
    source = write_tables(tmp_path / "table.json", table(binds=binds))
    run("build-config", source, tmp_path / "table.bin")

    def ask(*args, conf=conf):
        return lookup(source, *args, conf=conf)

    assert ask("1.2.3.4:1", "10.10.10.10:80")["bind"]["proto"] == "tcp"
    assert ask("1.2.3.4:1", "10.10.10.10:90", "--proto", "udp")["bind"] == {
        "ip": "10.10.10.0/24", "proto": "udp", "port_start": 80, "port_end": 90}
    assert ask("1.2.3.4", "10.10.10.99", "--proto", "icmp")["bind"]["ip"] == "10.10.10.0/24"
    assert ask("[2001:db8::1]:7", "[fdb4::5]:443")["bind"]["ip"] == "fdb4::/64"
    assert ask("2001:db8::1", "[fdb4::5]:443")["source"] == "2001:db8::1"
    assert ask("2001:db8::1", "[fdb4:0::5]:443")["destination"] == "[fdb4::5]:443"
    assert "udp_source_port" not in ask("2001:db8::1", "[fdb4::5]:443")
    miss = ask("1.2.3.4:1", "10.10.10.10:81")
    assert (miss["verdict"], miss["reason"]) == (
        "drop_unmatched", "binds cover the destination address, but not this protocol and port")
    assert ask("1.2.3.4:1", "10.10.11.1:80")["reason"] == "no bind covers the destination address"
    ping = ask("1.2.3.4", "10.10.10.10", "--proto", "icmp", conf=closed)
    assert (ping["verdict"], ping["reason"]) == ("exception", "forward_icmp_ping_responses is off")
    assert "drop_unmatched: no bind covers" in run(
        "lookup", source, "1.2.3.4:1", "10.10.11.1:80", "--config", conf).stdout


def test_hint_of_an_echo_request_changes_the_outer_port(tmp_path):
    conf = write_conf(tmp_path / "director.conf")
    source = write_tables(tmp_path / "table.json", table())
    plain = lookup(source, "1.2.3.4", "10.10.10.10", "--proto", "icmp", conf=conf)
    hinted = lookup(source, "1.2.3.4", "10.10.10.10", "--proto", "icmp", "--hint", "4660", conf=conf)
    assert "udp_source_port" not in plain
    assert hinted["udp_source_port"] == 0x8000 | (int(hinted["hash"], 16) ^ 4660) & 0x7FFF


@pytest.mark.parametrize("args, message", [
    (["1.2.3:1", "10.10.10.10:80"], "SRC: '1.2.3:1' is not ADDRESS or ADDRESS:PORT"),
    (["1.2.3.4:65536", "10.10.10.10:80"], "SRC: '1.2.3.4:65536' is not ADDRESS or ADDRESS:PORT"),
    (["1.2.3.4:", "10.10.10.10:80"], "SRC: '1.2.3.4:' is not ADDRESS or ADDRESS:PORT"),
    (["[::1", "[::1]:80"], "SRC: '[::1' is not ADDRESS or ADDRESS:PORT"),
    (["::1", "[::1]80"], "DST: '[::1]80' is not ADDRESS or ADDRESS:PORT"),
    (["1.2.3.4:1", "[::1]:80"], "'1.2.3.4:1' and '[::1]:80' have different address families"),
    (["1.2.3.4:1", "::1:80"], "'1.2.3.4:1' and '::1:80' have different address families (IPv6 with a port is [ADDRESS]:PORT)"),
    (["1.2.3.4:1", "10.10.10.10"], "DST: '10.10.10.10' has no port; tcp needs one"),
    (["[::2]:1", "::1:80"], "DST: '::1:80' has no port; tcp needs one (IPv6 with a port is [ADDRESS]:PORT)"),
    (["1.2.3.4", "10.10.10.10:80"], "SRC: '1.2.3.4' has no port, but the configured hash includes it"),
    (["1.2.3.4:1", "10.10.10.10:80", "--proto", "sctp"], "--proto: 'sctp' is none of tcp, udp, icmp"),
    (["1.2.3.4:1", "10.10.10.10", "--proto", "icmp"], "echo requests have no ports: give addresses only"),
    (["1.2.3.4:1", "10.10.10.10:80", "--hint", "1"], "--hint is only for --proto icmp; the hint of TCP and UDP is the source port"),
    (["1.2.3.4", "10.10.10.10", "--proto", "icmp", "--hint", "x"], "--hint: 'x' is not a number from 0 to 65535"),
])
def test_lookup_usage_errors_name_the_offender(tmp_path, args, message):
    conf = write_conf(tmp_path / "director.conf", hash_fields={"src_port": True})
    source = write_tables(tmp_path / "table.json", table())
    done = run("lookup", source, *args, "--config", conf, code=USAGE)
    assert done.stderr.splitlines()[0] == f"glb-director-cli: lookup: {message}"


def test_lookup_refuses_bad_files(tmp_path):
    source = write_tables(tmp_path / "table.json", table())
    flow = ["1.2.3.4:1", "10.10.10.10:80"]
    bad = write_conf(tmp_path / "bad.conf", outbound_mtu=1, idle=1)
    error = run("lookup", source, *flow, "--config", bad, code=FAILED).stderr
    assert f"{bad}:3: outbound_mtu: '1' is not" in error and f"{bad}:4: idle: '1' (a number) is not" in error


QUIC = {"quic": [{"id": 1, "server_id_length": 3, "nonce_length": 4, "key": "00112233445566778899aabbccddeeff"}]}


def quic_table(tmp_path, **down):
    """A table with a bind with `quic`, whose backend N has the server ID 11220N. `down`: members of the backend bN."""
    backends = [{**backend(f"192.168.50.{n}"), "server_id": f"11220{n}", **down.get(f"b{n}", {})} for n in range(1, 6)]
    binds = [{"ip": "10.10.10.10", "proto": "udp", "port": 443, "quic": True}, {"ip": "10.10.10.10", "proto": "udp", "port": 53}]
    return write_tables(tmp_path / "table.json", table(backends=backends, binds=binds, **QUIC))


def cid(number):
    return QuicConfig.of(QUIC["quic"][0]).encode(bytes.fromhex(f"11220{number}"), b"\x01\x02\x03\x04").hex()


def test_connection_id_of_quic_names_the_first_hop(tmp_path):
    conf, source = write_conf(tmp_path / "director.conf"), quic_table(tmp_path, b2={"healthy": False})
    for number in range(1, 6):
        for client in range(5):
            flow = (f"198.51.100.{client}:1", "10.10.10.10:443", "--proto", "udp")
            row = [hop["ip"] for hop in lookup(source, *flow, conf=conf)["hops"]]
            found = lookup(source, *flow, "--quic-dcid", cid(number), conf=conf)
            hops = {hop["ip"]: hop["reason"] for hop in found["hops"]}
            server = f"192.168.50.{number}"
            assert hops.pop(server) == "the connection ID names it"
            assert len(hops) == 1
            if number == 2:
                assert found["quic"] == "down"
                assert [hop["ip"] for hop in found["hops"]] == ([row[0], server] if row[0] != server else [server, row[1]])
            else:
                assert (found["quic"], found["hops"][0]["ip"]) == ("routed", server)


def test_other_connection_ids_go_by_the_row(tmp_path):
    conf, source = write_conf(tmp_path / "director.conf"), quic_table(tmp_path)
    flow = ("198.51.100.7:1", "10.10.10.10:443", "--proto", "udp")
    row = lookup(source, *flow, conf=conf)
    assert "quic" not in row
    for hexadecimal, fate in ((cid(6), "unroutable_server"), (cid(1)[:-2], "unroutable_short"), ("e0" + "11" * 19, "unroutable_config"),
                              ("20", "unroutable_short")):
        assert lookup(source, *flow, "--quic-dcid", hexadecimal, conf=conf) == {**row, "quic": fate}
    other = ("198.51.100.7:1", "10.10.10.10:53", "--proto", "udp")
    assert lookup(source, *other, "--quic-dcid", cid(1), conf=conf) == lookup(source, *other, conf=conf)


@pytest.mark.parametrize("value", ["", "1", "zz", "112", "11" * 256, "0x11"])
def test_faulty_connection_id_is_refused(value, tmp_path):
    conf, source = write_conf(tmp_path / "director.conf"), quic_table(tmp_path)
    err = run("lookup", source, "198.51.100.7:1", "10.10.10.10:443", "--proto", "udp", "--quic-dcid", value, "--config", conf, code=USAGE).stderr
    assert f"--quic-dcid: '{value}' is not 1 to 255 bytes in hex" in err


def test_connection_id_needs_udp(tmp_path):
    conf, source = write_conf(tmp_path / "director.conf"), quic_table(tmp_path)
    err = run("lookup", source, "198.51.100.7:1", "10.10.10.10:443", "--quic-dcid", cid(1), "--config", conf, code=USAGE).stderr
    assert "--quic-dcid needs --proto udp" in err
