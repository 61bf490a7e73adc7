# SPDX-License-Identifier: BSD-3-Clause
"""Compares the reference and the man pages with glb-director-cli."""

import json
import re

import pytest
from scapy.all import IP, UDP, Ether

from support import pcap
from support.cli import (
    BROKEN, CHECK_ERRORS, FAILED, USAGE, backend, complete, run, run_json, table, tcp_frame, with_own_keys, write_conf, write_tables,
)
from support.tree import TREE

CLI_MD = (TREE / "docs" / "reference" / "cli.md").read_text()
CONF_MD = (TREE / "docs" / "reference" / "director-conf.md").read_text()
CLI_MAN = (TREE / "docs" / "man" / "glb-director-cli.1.scd").read_text()
CONF_MAN = (TREE / "docs" / "man" / "glb-director.conf.5.scd").read_text()
TABLE_MAN = (TREE / "docs" / "man" / "glb-forwarding-table.5.scd").read_text()


def section(text, title):
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]


def table_rows(text):
    """[(code in the first column, code in the other columns)] of every table row."""
    for line in text.splitlines():
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        if len(cells) > 1 and "`" in cells[0]:
            yield re.findall(r"`([^`]+)`", cells[0]), re.findall(r"`([^`]+)`", " ".join(cells[1:]))


def paths(value, path=""):
    """The keys of a JSON document in the notation of cli.md, for instance tables[].backends[].ip."""
    if isinstance(value, dict):
        for key, member in value.items():
            here = f"{path}.{key}" if path else key
            yield here
            yield from paths(member, here)
    elif isinstance(value, list):
        for member in value:
            yield from paths(member, f"{path}[]")


@pytest.fixture
def outputs(tmp_path):
    """{subcommand: JSON outputs that together have every key}"""
    states = [backend("192.168.50.1"), backend("192.168.50.2", "draining"), backend("192.168.50.3")]
    one = write_tables(tmp_path / "one.json", table(backends=states))
    two = write_tables(tmp_path / "two.json", table(backends=states[1:], binds=[]))
    three = write_tables(tmp_path / "three.json", table(backends=[backend("192.168.50.3")]))
    drained = write_tables(tmp_path / "drained.json", table(backends=[*states[1:], backend("192.168.50.9", "draining")], hops=3))
    conf = write_conf(tmp_path / "director.conf", alt_hash_fields={"src_port": True})
    bad = write_conf(tmp_path / "bad.conf", idle=1)
    capture = pcap.write(tmp_path / "in.pcap", [tcp_frame(), tcp_frame(dport=1)])
    replayed = run_json("replay", one, capture, tmp_path / "out.pcap", "--config", conf, "--list")
    flow = ["198.51.100.7:1", "10.10.10.10"]
    quic = write_tables(tmp_path / "quic.json", table(
        backends=[{**each, "server_id": f"{i:02x}"} for i, each in enumerate(states)], binds=[{"ip": "10.10.10.10", "proto": "udp", "port": 443, "quic": True}],
        quic=[{"id": 0, "server_id_length": 1, "nonce_length": 4, "key": "5a1bc3d4e5f60718293a4b5c6d7e8f90"}]))
    frame = bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="198.51.100.7", dst="10.10.10.10") / UDP(sport=1, dport=443) / bytes(20))
    of_quic = run_json("replay", quic, pcap.write(tmp_path / "quic.pcap", [frame]), tmp_path / "quic-out.pcap", "--config", conf, "--list")
    return {
        "check": [run_json("check", one, bad, code=CHECK_ERRORS)],
        "show": [run_json("show", one)],
        "lookup": [run_json("lookup", one, flow[0], f"{flow[1]}:{port}", "--config", conf) for port in (80, 81)] + [
            run_json("lookup", quic, flow[0], f"{flow[1]}:443", "--proto", "udp", "--config", conf, "--quic-dcid", "0011223344556677")],
        "diff": [run_json("diff", one, two, code=BROKEN)],
        "plan": [run_json("plan", one, three), run_json("plan", drained, three),
                 run_json("plan", one, two, code=BROKEN)],
        "replay": [replayed, of_quic],
        "decode": [run_json("decode", tmp_path / "out.pcap")],
    }


@pytest.mark.parametrize("name", ["check", "show", "lookup", "diff", "plan", "replay", "decode"])
def test_json_has_exactly_the_documented_keys(outputs, name):
    documented = {key: members for keys, members in table_rows(section(CLI_MD, name)) for key in keys}
    actual = {path for document in outputs[name] for path in paths(document)}
    for path in actual:
        parent, _, leaf = path.rpartition(".")
        # A row names a path, or a parent and among its meaning the members; verdicts and statuses have their own pages.
        assert path in documented or leaf in documented.get(parent, []) or parent in ("verdicts", "counts"), path
    assert {key.removesuffix("[]") for key in documented} <= actual


def test_synopses_have_every_subcommand_and_option():
    names = complete("")
    for name in names:
        line = re.search(rf"^glb-director-cli {name} .*$", CLI_MD, re.M)[0]
        man = re.search(rf"^\*glb-director-cli\* {name} .*$", CLI_MAN, re.M)[0]
        words = [word for word in complete(name, "-") if word not in ("--help", "--version")]
        assert re.findall(r"--[a-z-]+", line) == re.findall(r"--[a-z-]+", man)
        assert sorted(re.findall(r"--[a-z-]+", line)) == sorted(words)
        operands = re.search(rf"^usage: glb-director-cli {name} (.*)\[OPTIONS\]", run(name, "--help").stdout)[1]
        assert operands.strip() in line
    assert re.findall(r"^\*([a-z-]+)\*(?: [_\[]|$)", CLI_MAN.split("# SUBCOMMANDS")[1].split("# EXIT")[0], re.M) == names


def test_documented_examples_are_valid(tmp_path):
    example = section(CONF_MD, "flow_paths and lcores").split("```")[1].removeprefix("conf")
    path = tmp_path / "director.conf"
    path.write_text('outbound_gateway_mac = "auto"; outbound_src_ip = "192.0.2.1";' + example)
    run("check", path)
    path.write_text(CONF_MAN.split("```")[1])
    run("check", path)
    path = tmp_path / "table.json"
    table_md = (TREE / "docs/reference/table-json.md").read_text()
    for example in (TABLE_MAN.split("```")[1], table_md.split("```json")[1].split("```")[0]):
        path.write_text(with_own_keys(example))
        run("check", path)


def test_man_page_of_the_table_has_every_member():
    documented = re.findall(r"^\| (`[a-z_`, ]+`) \|", (TREE / "docs/reference/table-json.md").read_text(), re.M)
    members = set(re.findall(r"`([a-z_]+)`", " ".join(documented))) - {"active", "filling", "draining", "inactive"}
    described = TABLE_MAN.split("# DOCUMENT")[1].split("# EXAMPLE")[0]
    assert set(re.findall(r"\*([a-z_]+)\*", described)) == members and len(members) > 20


def test_documented_errors_of_the_table_are_those_of_check(tmp_path, monkeypatch):
    """A table with the mistakes behind the errors in table-json.md, section Faults."""
    page = section((TREE / "docs/reference/table-json.md").read_text(), "Faults")
    several, syntax = re.findall(r"^```text\n(.*?)^```$", page, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    backends = [backend(f"10.0.0.{i}") for i in (9, 2, 1, 4, 5, 6, 7, 8)]
    first = table(backends=[{**one, "ip": "10.0.0.300"} if i == 3 else one for i, one in enumerate(backends)])
    second = table("second", backends=[*backends[:7], backend("10.0.0.1")], hops=9, colour=1)
    del first["seed"]
    (tmp_path / "table.json").write_text(json.dumps({"tables": [first, second]}, indent=2))
    printed = run("check", "table.json", code=CHECK_ERRORS).stderr
    assert [line for line in printed.splitlines() if "warning: " not in line] == several.splitlines()
    (tmp_path / "table.json").write_text('{ "tables": [ { "binds": [\n      {\n        "proto": "tcp"\n        "port": 80\n')
    assert run("check", "table.json", code=CHECK_ERRORS).stderr.splitlines()[0] == syntax.strip()


def listed(text, lead):
    """The words of "... LEAD one, two or three": a list in an error or in --help."""
    found = re.search(rf"{lead} ((?:[a-z_-]+(?:,? or |,\s+))*[a-z_-]+)$", text, re.M)[1]
    return re.split(r",? or |,\s+", found)


def test_edit_help_lists_every_key_that_set_takes(files):
    """The pages refer to the members of tables, which tests/docs/test_table_schema.py compares with the programs."""
    shown = run("edit", "--help").stdout
    for what, operands in (("backend", ["192.168.50.1"]), ("table", [])):
        accepted = listed(run("edit", files / "table.json", "set", *operands, "frob=1", code=USAGE).stderr, f"keys of a {what} are")
        assert len(accepted) > 10 and listed(shown, f"KEYs of a {what}:") == accepted


def test_verbs_of_edit_and_commands_of_simulate_are_the_same_everywhere(files):
    shown = run("edit", "--help").stdout
    verbs = complete("edit", files / "table.json", "")
    assert set(re.findall(r"^  ([a-z-]+) +(?:[A-Z]|.*   )", shown.split("VERB WORD... is one of:")[1], re.M)) == set(verbs)
    assert listed(run("edit", files / "table.json", "frob", code=USAGE).stderr.splitlines()[0], "none of") == verbs
    assert set(verbs) <= {word.split()[0] for words, _ in table_rows(section(CLI_MD, "edit")) for word in words}
    script = files / "script.sim"
    script.write_text("frob 1\n")
    commands = listed(run("simulate", script, files / "table.json", code=FAILED).stderr.splitlines()[0], "expected")
    help_words = re.findall(r"[a-z]+", run("simulate", "--help").stdout.split("begins a comment:")[1])
    page = {word.split()[0] for words, _ in table_rows(section(CLI_MD, "simulate")) for word in words}
    assert set(commands) <= set(help_words) & page
