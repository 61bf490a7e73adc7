# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli with proxies that have IPv6 addresses: what is the same as with IPv4, and tables that mix the families."""

import ipaddress
import json
import re

import pytest

from model import load_tables
from support import pcap
from support.cli import (
    BROKEN, CHECK_ERRORS, FAILED, as_ipv6, backend, run, run_json, table, with_ipv6_backend, write_conf, write_tables,
)

ONE_FAMILY = "all proxies of a table, and of its previous states, need addresses of one family; make a second table for the others"


@pytest.fixture
def files(tmp_path):
    """A table of either family, with and without states before."""
    past = [{"time": "2026-01-01T00:00:00Z", "backends": [{"ip": "192.168.50.1"}, {"ip": "192.168.50.2", "weight": 7}]}]
    for name, one in (("plain", table(backends=5)), ("matched", table(backends=5, hops=4, balance=1.02, previous=past))):
        write_tables(tmp_path / f"{name}4.json", one)
        write_tables(tmp_path / f"{name}6.json", as_ipv6(one))
    write_conf(tmp_path / "director.conf", outbound_src_ip6="fd00::1")
    return tmp_path


# Tables that mix


@pytest.mark.parametrize("file", ["table.json", "2.bin", "3.bin"])
def test_every_command_refuses_a_table_of_both_families(tmp_path, file):
    ips = {"10.0.0.7": "fd00::1", "10.0.0.9": "fd00::2"}
    source = write_tables(tmp_path / "table.json", table(backends=[backend("10.0.0.1"), *map(backend, ips)]))
    for version in "23":
        run("build-config", source, tmp_path / f"{version}.bin", "--format", version)
        data = (tmp_path / f"{version}.bin").read_bytes()
        for old, new in ips.items():
            data = with_ipv6_backend(data, old, new)
        (tmp_path / f"{version}.bin").write_bytes(data)
    for old, new in ips.items():
        source.write_text(source.read_text().replace(old, new))
    place = f":1:{source.read_text().index('fd00::1')}" if file == "table.json" else ""
    errors = [f"{tmp_path / file}{place}: tables[0].backends[1].ip: 'fd00::1' is an IPv6 address, but backends[0] has 10.0.0.1: {ONE_FAMILY} "
              "(and 1 more in this table)"]
    if file == "2.bin":
        errors = [f"{tmp_path / file}: byte {28 + 24 * i} (tables[0].backends[{i}].family): 2; expected 1 (IPv4)" for i in (1, 2)]
    found = run_json("check", tmp_path / file, code=CHECK_ERRORS)["files"][0]
    assert (found["errors"], found["warnings"]) == (errors, [])
    config, capture = write_conf(tmp_path / "director.conf"), pcap.write(tmp_path / "in.pcap", [])
    commands = [["show"], ["diff", tmp_path / file], ["lookup", "192.0.2.1:1", "10.0.0.1:80", "--config", config],
                ["replay", capture, tmp_path / "out.pcap", "--config", config]]
    if file == "table.json":
        commands += [["build-config", tmp_path / "out.bin"], ["edit", "drain", "10.0.0.1"], ["plan", tmp_path / file]]
    for command, *args in commands:
        refused = run(command, tmp_path / file, *args, code=FAILED)
        lines = [line for line in refused.stderr.splitlines() if "only a valid JSON table can be changed" not in line]
        assert lines == [f"glb-director-cli: {text}" for text in errors]
    assert not (tmp_path / "out.bin").exists()


def test_version_2_refuses_and_the_old_file_stays(files):
    out = files / "t.bin"
    run("build-config", files / "plain4.json", out, "--format", "2")
    before = out.read_bytes()
    error = run("build-config", files / "plain6.json", out, "--format", "2", code=FAILED).stderr
    assert "tables[0]: 'web' has proxies with IPv6 addresses, which GLB's directors cannot reach: version 2" in error
    assert out.read_bytes() == before


def test_edit_adds_no_proxy_of_the_other_family(files):
    for name, ip in (("plain4", "fd00::9"), ("plain6", "10.0.0.9"), ("plain6", "fe80::9"), ("plain6", "::ffff:10.0.0.9")):
        before = (files / f"{name}.json").read_text()
        error = run("edit", files / f"{name}.json", "add", ip, code=FAILED).stderr
        assert "tables[0].backends[5].ip" in error and ("one family" in error or "cannot" in error or "a proxy can have" in error), error
        assert (files / f"{name}.json").read_text() == before


def test_a_table_that_changes_its_family_at_once_has_no_plan(files):
    found = run_json("plan", files / "plain4.json", files / "plain6.json", code=BROKEN)
    assert (found["at_once"]["broken_rows"], [step["kind"] for step in found["steps"]]) == (65536, ["wanted"])
    assert found["helps"] == [
        "a second table: a table has proxies of one family, so give those of the other family a table with other VIPs, and move the clients there"]
    done = run("plan", files / "plain4.json", files / "plain6.json", "--write", files / "plan", code=BROKEN)
    assert "give those of the other family a table" in " ".join(done.stdout.split()) and not (files / "plan").exists()
    diff = run_json("diff", files / "plain4.json", files / "plain6.json", code=BROKEN)
    assert diff["broken_by"]["removed"] == diff["broken_rows"] == 65536


def test_replay_refuses_a_table_without_a_source_address(files):
    capture = pcap.write(files / "in.pcap", [])
    write_conf(files / "director.conf", outbound_src_ip="192.0.2.1")
    error = run("replay", files / "plain6.json", capture, files / "out.pcap", "--config", files / "director.conf", code=FAILED).stderr
    assert "tables[0].backends[0].ip: 'fd00::50:1' of table web is an IPv6 address, but director.conf has no outbound_src_ip6" in error
    assert not (files / "out.pcap").exists()


# The same as with IPv4


@pytest.mark.parametrize("name", ["plain", "matched"])
def test_show_and_build_are_those_of_the_model(files, name):
    path = files / f"{name}6.json"
    run("build-config", path, files / "t.bin")
    shown = [run_json("show", each) for each in (path, files / "t.bin")]
    assert shown[0]["digest"] == shown[1]["digest"] != run_json("show", files / f"{name}4.json")["digest"]
    rows = load_tables(json.loads(path.read_text()))[0].all_rows()
    for each in shown[0]["tables"][0]["backends"]:
        address = ipaddress.ip_address(each["ip"]).packed
        assert each["rows_by_hop"] == [sum(row[hop].address == address for row in rows) for hop in range(len(rows[0]))]


def test_columns_of_long_addresses_are_straight(tmp_path):
    backends = [{**backend(ip), "healthchecks": {"tcp": 80}} for ip in ("2001:db8:1111:2222:3333:4444:5555:6666", "fd00::1")]
    lines = run("show", write_tables(tmp_path / "t.json", table(backends=backends))).stdout.splitlines()
    for heading, cell in (("state", "active"), ("health checks", "tcp ")):
        at, = {line.index(heading) for line in lines if line.startswith("  backend ") and heading in line}
        assert sum(line[at:].startswith(cell) for line in lines) == 2, lines


@pytest.mark.parametrize("name", ["plain", "matched"])
def test_lookup_explains_each_hop_by_the_order_of_the_model(files, name):
    model = load_tables(json.loads((files / f"{name}6.json").read_text()))[0]
    for port in range(40000, 40020):
        found = run_json("lookup", files / f"{name}6.json", f"198.51.100.7:{port}", "10.10.10.10:80", "--config", files / "director.conf")
        order = [str(ipaddress.ip_address(each.address)) for each in model.natural_order(found["row"])]
        assert [hop["ip"] for hop in found["hops"]] == [str(ipaddress.ip_address(each.address)) for each in model.row(found["row"])]
        for hop in found["hops"]:
            place = re.match(r"place (\d+) in natural order|natural owner", hop["reason"])
            assert not place or order.index(hop["ip"]) == int(place[1] or 1) - 1, hop


def test_edit_changes_ipv6_proxies_whatever_their_notation(files):
    path = files / "plain6.json"
    document = json.loads(path.read_text())
    document["tables"][0]["backends"][0]["healthchecks"] = {"http": 80}
    document["tables"][0]["hops"] = 4
    path.write_text(json.dumps(document))
    run("edit", path, "add", "FD00:0::50:9", "--copy-checks-from", "fd00:0:0::50:1", "--state", "draining")
    run("edit", path, "undrain", "fd00::0050:0009", "--max-broken", "100")
    run("edit", path, "set", "fd00::50:9", "weight=300", "--max-broken", "100")
    run("edit", path, "drain", "FD00::50:2", "fd00::50:1")
    run("edit", path, "remove", "fd00::50:5", "--max-broken", "100")
    one, = json.loads(path.read_text())["tables"]
    assert one["backends"][-1] == {"ip": "fd00::50:9", "state": "active", "healthy": True, "healthchecks": {"http": 80}, "weight": 300}
    assert [each["state"] for each in one["backends"]] == ["draining", "draining", "active", "active", "active"]
    assert len(one["previous"]) == 4 and one["previous"][-1]["backends"][0] == {"ip": "fd00::50:1"}
    run("check", path)
    error = run("edit", path, "add", "fd00:0::50:9", code=FAILED).stderr
    assert "fd00:0::50:9 is in table web already" in error
    run("undo", path, "--max-broken", "100")
    run("check", path)
