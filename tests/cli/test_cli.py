# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli: check, show, and the common behaviour of all subcommands."""

import json
import os
import re
import subprocess

import pytest

from support import pcap
from support.cli import (
    CHECK_ERRORS, CHECK_WARNINGS, FAILED, KEY, OK, USAGE, backend, complete, run, run_json, table,
    with_own_keys, write_conf, write_tables,
)
from model import read_v2
from support.tree import CLI, TREE


def model_rows(table):
    """The addresses of each row, by the model."""
    return [[".".join(map(str, hop.address)) for hop in row] for row in table.all_rows()]


SUBCOMMANDS = ["new", "edit", "undo", "build-config", "check", "show", "lookup", "diff", "plan", "rollout", "fleet", "simulate", "replay", "decode", "quic",
               "migrate", "reload", "health", "doctor", "stats", "tables", "next-hops", "capture"]


# The command line


def test_help_lists_every_subcommand():
    for option in ("--help", "-h", "help"):
        text = run(option).stdout
        assert re.findall(r"^  ([a-z-]+)  ", text, re.M) == SUBCOMMANDS


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_help_and_version_of_every_subcommand(name):
    text = run(name, "--help").stdout
    assert text.startswith(f"usage: glb-director-cli {name}")
    assert all(len(line) <= 80 for line in text.splitlines())
    assert run(name, "--version").stdout == run("--version").stdout
    assert re.fullmatch(r"glb-director-cli \d+\.\d+\.\d+\n", run("--version").stdout)


def test_completion_has_the_words_of_the_help():
    assert complete("") == SUBCOMMANDS
    for name in SUBCOMMANDS:
        words = complete(name, "-")
        assert words == re.findall(r"^  (?:-[a-zA-Z], )?(--[a-z-]+)", run(name, "--help").stdout, re.M)


@pytest.mark.parametrize("args, message", [
    ([], "a subcommand is missing"),
    (["frobnicate"], "unknown subcommand 'frobnicate'"),
    (["shwo"], "unknown subcommand 'shwo'; did you mean show?"),
    (["show"], "show: TABLE is missing; or give --live for the table of a running director"),
    (["show", "a", "b"], "show: unexpected operand 'b'"),
    (["show", "--frob", "a"], "show: unknown option '--frob'"),
    (["show", "-f", "a"], "show: unknown option '-f'"),
    (["show", "a", "-xyz"], "show: unknown option '-x'"),
    (["show", "a", "--json=b"], "show: unknown option '--json=b'"),
    (["diff", "a", "b", "--max-broken"], "diff: --max-broken needs an argument"),
    (["build-config", "a", "b", "--format", "4"], "build-config: --format: '4' is neither 2 nor 3"),
    (["build-config", "a", "b", "--format", "auto"], "build-config: --format: 'auto' is neither 2 nor 3"),
    (["replay", "a", "b", "--config", "c", "--port-mac", "x"],
     "replay: --port-mac: 'x' is not a MAC like 02:00:5e:10:00:01"),
    (["replay", "a", "b", "--config", "c", "--gateway-mac", "1"],
     "replay: --gateway-mac: '1' is not a MAC like 02:00:5e:10:00:01"),
    (["replay", "a", "b", "--config", "c", "--gateway-mac", "00:00:00:00:00:00"],
     "replay: --gateway-mac: '00:00:00:00:00:00' is not a unicast MAC"),
    (["replay", "a", "b", "--config", "c", "--port-mac", "01:00:5e:00:00:01"],
     "replay: --port-mac: '01:00:5e:00:00:01' is not a unicast MAC"),
    (["decode", "a", "--port", "65536"], "decode: --port: '65536' is not a number from 1 to 65535"),
    (["reload", "--timeout", "0"], "reload: --timeout: '0' is not a number of seconds from 1 to 3600"),
    (["stats", "now"], "stats: unexpected operand 'now'"),
])
def test_usage_errors_name_the_offender(args, message):
    done = run(*args, code=USAGE)
    assert done.stderr.splitlines()[0] == f"glb-director-cli: {message}"
    assert done.stdout == ""


def test_lost_output_is_an_error(tmp_path):
    source = write_tables(tmp_path / "table.json", table())
    with open("/dev/full", "w") as full:
        for option in ([], ["--json"]):
            done = subprocess.run([CLI, "show", source, *option], stdout=full, stderr=subprocess.PIPE, text=True)
            assert done.returncode == FAILED
            assert "cannot write to standard output" in done.stderr


# check


def test_check_detects_the_kind_by_name_or_content(files):
    kinds = {"table.json": "JSON table", "table.bin": "binary table", "director.conf": "director.conf"}
    for name, kind in list(kinds.items()):
        (files / f"copy-of-{name.split('.')[0]}-{name.split('.')[1]}").write_bytes((files / name).read_bytes())
        kinds[f"copy-of-{name.split('.')[0]}-{name.split('.')[1]}"] = kind
    result = run_json("check", *[files / name for name in kinds])
    assert [file["kind"] for file in result["files"]] == list(kinds.values())
    assert all(file["errors"] == file["warnings"] == [] for file in result["files"])
    text = run("check", files / "table.json").stdout
    assert text == f"{files / 'table.json'}: valid JSON table, 1 table, 1 bind, 3 backends\n"


def test_check_exits_1_for_warnings_and_2_for_errors(files):
    warned = write_tables(files / "warned.json", table("a"), table("b", hash_key=2))
    bad = write_conf(files / "bad.conf", idle="never", color="red")
    assert run("check", files / "table.json", warned, code=CHECK_WARNINGS).stderr.count("warning: ") == 1
    done = run("check", bad, warned, files / "table.bin", code=CHECK_ERRORS)
    text = done.stderr
    assert f"glb-director-cli: {bad}:3: idle: 'never' is not \"poll\" or \"sleep\"\n" in text
    assert f"glb-director-cli: {bad}:4: color: unknown key; expected one of outbound_gateway_mac, " in text
    assert f"glb-director-cli: warning: {warned}:1:" in text
    assert done.stdout.splitlines() == [
        f"{bad}: invalid director.conf, 2 errors", f"{warned}: valid JSON table, 2 tables, 2 binds, 6 backends, 1 warning",
        f"{files / 'table.bin'}: valid binary table, 1 table, 1 bind, 3 backends"]
    result = run_json("check", bad, warned, code=CHECK_ERRORS)
    assert [len(file["errors"]) for file in result["files"]] == [2, 0]
    assert [len(file["warnings"]) for file in result["files"]] == [0, 1]


@pytest.mark.parametrize("name", ["none.json", "none.bin", "none.conf", "none"])
def test_check_reports_an_unreadable_file_as_an_error(tmp_path, name):
    for path in (tmp_path / name, tmp_path):
        assert f"glb-director-cli: {path}: " in run("check", path, code=CHECK_ERRORS).stderr
    assert run("check", tmp_path / name, code=CHECK_ERRORS).stdout == f"{tmp_path / name}: not checked\n"


def test_check_replaces_invalid_utf8_in_json_output(tmp_path):
    conf = tmp_path / os.fsdecode(b"latin1-\xe9.conf")
    conf.write_bytes(b'idle = "n\xe9ver";\n')
    result, = run_json("check", conf, code=CHECK_ERRORS)["files"]
    path = f"{tmp_path}/latin1-?.conf"
    assert result["file"] == path
    assert f'{path}:1: idle: \'n?ver\' is not "poll" or "sleep"' in result["errors"]
    source = write_tables(tmp_path / os.fsdecode(b"\xe9.json"), table())
    assert run_json("show", source)["file"] == f"{tmp_path}/?.json"


def test_check_names_the_damaged_place_of_a_binary_table(files):
    data = (files / "table.bin").read_bytes()
    damaged = files / "damaged.bin"
    for change in (data[:-1], data + b"\0", b"GLBX" + data[4:], data[:20] + b"\xff" * 4 + data[24:], b"", b"GLBD"):
        damaged.write_bytes(change)
        text = run("check", damaged, code=CHECK_ERRORS).stderr
        assert text.startswith(f"glb-director-cli: {damaged}: ")
        run("show", damaged, code=FAILED)


def test_example_files_are_valid_but_for_their_keys(tmp_path):
    run("check", TREE / "config" / "director.conf")
    table_file = TREE / "config" / "forwarding_table.json"
    assert run("check", table_file, code=CHECK_ERRORS).stdout == f"{table_file}: invalid JSON table, 1 error\n"
    own = tmp_path / "table.json"
    own.write_text(with_own_keys(table_file.read_text()))
    run("check", own)


def published_keys():
    examples = [path for path in (TREE / "config").rglob("*") if path.is_file()]
    pages = [TREE / "README.md", *examples, *(TREE / "docs").glob("**/*.md"), *(TREE / "docs").glob("**/*.scd")]
    # Of the blocks in quic.md, only the draft's two keys are keys.
    found = {key for page in pages if page.name != "quic.md" for key in KEY.findall(page.read_text())}
    draft = {"8f95f09245765f80256934e50c66207f", "fdf726a9893ec05c0632d3956680baf0"}
    # The keys in the documentation and the tests of GLB.
    # check warns about zeros anywhere.
    return sorted(found - {"0" * 32} | draft | {"12345678901234561234567890123456", "34567890123456783456789012345678"})


@pytest.mark.parametrize("member", ["hash_key", "seed"])
@pytest.mark.parametrize("key", published_keys())
def test_published_keys_are_an_error_of_check_and_a_warning_elsewhere(tmp_path, key, member):
    source, target = write_tables(tmp_path / "table.json", table(**{member: int(key, 16) if member == "hash_key" else key})), tmp_path / "table.bin"
    fault = f"tables[0].{member}: is published as an example, so it is not a secret: make a key with `openssl rand -hex 16`\n"
    assert fault in run("check", source, code=CHECK_ERRORS).stderr
    both = write_tables(tmp_path / "both.json", table(hash_key=int(key, 16), seed=key))
    assert fault[:-1] + " (and 1 more key)\n" in run("check", both, code=CHECK_ERRORS).stderr.replace("hash_key:", f"{member}:")
    told = run("build-config", source, target).stderr
    assert told.startswith(f"glb-director-cli: warning: {source}:") and told.endswith(fault)
    if member == "hash_key":  # a binary table has no seed
        assert run("check", target, code=CHECK_ERRORS).stderr.endswith(fault)


def omitting(*states):
    return [{"ip": f"192.168.50.{i + 1}", "state": state.rstrip("+"), **({"healthy": True} if state.endswith("+") else {})}
            for i, state in enumerate(states)]


@pytest.mark.parametrize("states, count", [
    (["active", "active"], 2), (["active", "active+"], 1), (["filling", "draining+"], 1), (["active+", "draining"], 0),
    (["active", "inactive"], 0), (["active", "inactive", "draining"], 1), (["active+", "active+"], 0)])
def test_check_says_when_glb_reads_an_omitted_healthy_otherwise(tmp_path, states, count):
    """GLB reads false. This matters for a backend that is good otherwise, unless it is alone in the rows."""
    source = write_tables(tmp_path / "table.json", table(backends=omitting(*states)))
    told = run("check", source, code=CHECK_WARNINGS if count else OK).stderr
    assert (f"tables[0].backends: {count} without `healthy`, which is true here, but false for GLB's programs: their rows "
            "differ; write the member" in told) == bool(count)
    target = tmp_path / "table.bin"
    assert run("build-config", source, target).stderr == ""
    assert run("check", target).stderr == ""


def test_a_file_without_tables_forwards_nothing(tmp_path):
    source, target = tmp_path / "table.json", tmp_path / "table.bin"
    for text in ('{"tables": []}', '{"tables": null}'):
        source.write_text(text)
        assert "tables: is empty: the director forwards nothing" in run("check", source, code=CHECK_WARNINGS).stderr
        assert "tables: is empty" in run("build-config", source, target).stderr
        assert "tables: is empty" in run("check", target, code=CHECK_WARNINGS).stderr


def test_a_backend_that_is_a_vip_is_an_error(tmp_path):
    """Of whatever table the VIP is. One error names the first such backend of a table."""
    binds = [{"ip": ip, "proto": "udp", "port": 53} for ip in ("0.0.0.0/1", "10.1.0.7", "10.1.0.8", "10.1.0.8")]
    web = table("web", backends=[backend("192.0.2.1"), backend("10.1.0.7"), backend("10.1.0.8")])
    vip = table("vip", binds=binds, backends=[backend("192.0.2.1")])
    source, target = write_tables(tmp_path / "table.json", web, vip), tmp_path / "table.bin"
    told = run("build-config", source, target, code=FAILED).stderr
    assert ("tables[0].backends[1].ip: '10.1.0.7' is a VIP (tables[1].binds[1]): packets to this proxy come back to the "
            "directors (and 1 more in this table)\n") in told
    assert told.count(" is a VIP") == 1 and not target.exists()
    run("check", source, code=CHECK_ERRORS)
    run("show", source, code=FAILED)


def test_a_backend_inside_a_prefix_of_vips_is_a_warning(tmp_path):
    """A bind may be as wide as 0.0.0.0/0, and a more specific route may lead to the proxy."""
    prefix = {"ip": "10.1.0.0/29", "proto": "tcp", "port": 80}
    source = write_tables(tmp_path / "table.json", table("web", backends=[backend("10.1.0.8"), backend("10.1.0.7")], binds=[prefix]))
    told = run("check", source, code=CHECK_WARNINGS).stderr
    assert ("tables[0].backends[1].ip: '10.1.0.7' is inside a prefix of VIPs (tables[0].binds[0]): packets to this proxy come back "
            "to the directors unless a more specific route leads to it\n") in told


def test_check_with_lost_output_does_not_exit_like_a_warning(files):
    with open("/dev/full", "w") as full:
        for option in ([], ["--json"]):
            done = subprocess.run([CLI, "check", files / "table.json", *option], stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == CHECK_ERRORS
            assert b"cannot write to standard output" in done.stderr


# show


def test_show_counts_the_hops_of_the_model(tmp_path):
    backends = [backend("192.168.50.1"), backend("192.168.50.2", "draining"), backend("192.168.50.3"),
                backend("192.168.50.4", healthy=False), backend("192.168.50.5", "inactive")]
    source, target = write_tables(tmp_path / "table.json", table(backends=backends)), tmp_path / "table.bin"
    run("build-config", source, target, "--format", "2")
    rows = model_rows(read_v2(target.read_bytes())[0])
    ips = [entry["ip"] for entry in backends]
    for path in (source, target):
        shown = run_json("show", path)
        assert set(shown) == {
            "file", "format", "version", "digest", "first_hops", "fingerprint", "replaces", "prefix_lengths", "port_maps", "slow", "tables"}
        assert (shown["prefix_lengths"], shown["port_maps"], shown["slow"]) == ({"ipv4": "32", "ipv6": ""}, 1, [])
        assert re.fullmatch("[0-9a-f]{16}", shown["digest"])
        shown = shown["tables"][0]
        assert set(shown) == {"name", "row_hops", "imbalance", "backends_in_imbalance", "balance", "previous", "quic", "binds", "backends"}
        assert shown["binds"] == [{"ip": "10.10.10.10", "proto": "tcp", "port_start": 80, "port_end": 80}]
        assert [entry["ip"] for entry in shown["backends"]] == ips
        for ip, entry in zip(ips, shown["backends"]):
            counts = [sum(row[hop] == ip for row in rows) for hop in (0, 1)]
            assert entry["rows_by_hop"] == counts
            assert entry["first_hop_percent"] == pytest.approx(counts[0] / 655.36)
            assert entry["second_hop_percent"] == pytest.approx(counts[1] / 655.36)
        most = max(entry["rows_by_hop"][0] for entry in shown["backends"])
        assert shown["backends_in_imbalance"] == 2
        assert shown["imbalance"] == pytest.approx(most / (65536 / 2))


def test_the_fingerprint_survives_states_and_formats_and_replaces_needs_version_3(tmp_path):
    source, target = write_tables(tmp_path / "table.json", table(backends=3)), tmp_path / "table.bin"
    first = run_json("show", source)["fingerprint"]
    assert f"fingerprint {first}\n" in run("show", source).stdout
    tables = [table(name="", hops=4, backends=[backend("192.168.50.1", "draining"), backend("192.168.50.2", healthy=False),
                                               backend("192.168.50.3", "inactive")])]
    source.write_text(json.dumps({"tables": tables, "replaces": "00000000000000ff"}))
    for version, replaces in (("3", "00000000000000ff"), ("2", None)):
        told = run("build-config", source, target, "--format", version).stderr
        assert ("replaces: is lost: version 2 of the binary format has no room for it" in told) == (version == "2")
        shown = run_json("show", target)
        assert (shown["fingerprint"], shown["replaces"]) == (first, replaces)
        assert (f"fingerprint {first}, replaces {replaces}\n" in run("show", target).stdout) == (replaces is not None)


def many_lengths(count):
    binds = [{"ip": f"10.{i}.0.0/{32 - i}", "proto": "tcp", "port": 80} for i in range(count)]
    return [*binds, {"ip": "fd00::/64", "proto": "udp", "port": 53}]


def test_check_and_show_name_a_ninth_prefix_length(tmp_path):
    for count in (8, 9):
        code = CHECK_WARNINGS if count == 9 else OK
        lengths = " ".join(str(32 - i) for i in range(count))
        expected = [f"tables: binds of IPv4 have 9 prefix lengths ({lengths}): packets that match a short one or none take longer; "
                    "use at most 8 lengths"] if count == 9 else []
        source = write_tables(tmp_path / "table.json", table(binds=many_lengths(count)))
        target = tmp_path / "table.bin"
        run("build-config", source, target)
        for path in (source, target):
            checked = json.loads(run("check", path, "--json", code=code).stdout)["files"][0]
            assert checked["warnings"] == [f"{path}: {line}" for line in expected]
            shown = run_json("show", path)
            assert (shown["slow"], shown["port_maps"]) == (expected, 2)
            assert shown["prefix_lengths"] == {"ipv4": lengths, "ipv6": "64"}
            lines = run("show", path).stdout
            assert f"prefix lengths of IPv4 {lengths}, of IPv6 64; 2 port maps" in " ".join(lines.split())
            assert ("slow: tables: binds of IPv4 have 9" in lines) == bool(expected)


def test_show_fits_80_columns(tmp_path):
    source = write_tables(tmp_path / "table.json", table("web", 4, hops=4), table("one", 1, hash_key=2))
    lines = run("show", source).stdout.splitlines()
    assert f"{source}: JSON, 2 tables, digest {run_json('show', source)['digest']}" in " ".join("\n".join(lines).split())
    assert "  binds  tcp 10.10.10.10 port 80" in lines
    assert all(len(line) <= 80 for line in lines[1:])
    assert sum("first" in line and "fourth" in line for line in lines) == 1


def test_show_does_not_count_a_second_hop_that_repeats_the_first(tmp_path):
    source, target = write_tables(tmp_path / "table.json", table(backends=1)), tmp_path / "table.bin"
    run("build-config", source, target, "--format", "2")
    only, = run_json("show", target)["tables"][0]["backends"]
    assert (only["first_hop_percent"], only["second_hop_percent"]) == (100, 0)
    run("build-config", write_tables(source, table(backends=2)), target, "--format", "2")
    data = bytearray(target.read_bytes())
    data[-4:] = data[-8:-4]  # the last row
    target.write_bytes(data)
    two = run_json("show", target)["tables"][0]["backends"]
    assert [sum(entry["rows_by_hop"][hop] for entry in two) for hop in (0, 1)] == [65536, 65535]


def test_show_of_an_empty_table_file(tmp_path):
    source = write_tables(tmp_path / "table.json")
    assert "0 tables" in " ".join(run("show", source).stdout.split())
    assert run_json("show", source)["tables"] == []


def test_tables_without_names_are_called_by_their_index(tmp_path):
    nameless = [table(name, hash_key=i + 1, binds=[{"ip": f"10.10.10.{i}", "proto": "tcp", "port": 80}])
                for i, name in enumerate(["web", "", None, None])]
    del nameless[3]["name"]
    source = write_tables(tmp_path / "table.json", *nameless)
    assert run("check", source).stdout.startswith(f"{source}: valid JSON table, ")
    for version, names in (("3", ["web", None, None, None]), ("2", 4 * [None])):
        target = tmp_path / f"{version}.bin"
        run("build-config", source, target, "--format", version)
        assert run("check", target).stderr == ""
        assert [entry["name"] for entry in run_json("show", target)["tables"]] == names
        assert "table #3:" in run("show", target).stdout
        assert run_json("diff", source, target)["broken_rows"] == 0
        assert "table #3:" in run("diff", source, target).stdout
    config = write_conf(tmp_path / "director.conf")
    found = ["lookup", source, "198.51.100.7:4000", "10.10.10.3:80", "--config", config]
    assert "table     #3\n" in run(*found).stdout
    assert run_json(*found)["table"] is None and run_json(*found)["table_index"] == 3


@pytest.mark.parametrize("names, error", [
    (["#1", ""], "tables[0].name: '#1' is also the name of tables[1], which has no name and is called by its index: give each"),
    (["web", "git", "web"], "tables[2].name: 'web' is also the name of tables[0]: give each table its own name"),
])
def test_two_tables_of_one_name_are_an_error_of_every_reader(names, error, tmp_path):
    tables = [table(name, binds=[{"ip": f"10.0.0.{i}", "proto": "tcp", "port": 80}]) for i, name in enumerate(names)]
    source, target = write_tables(tmp_path / "table.json", *tables), tmp_path / "t.bin"
    before = source.read_bytes()
    assert error in run("check", source, code=CHECK_ERRORS).stderr
    for command in (["show", source], ["build-config", source, target], ["edit", source, "drain", "192.168.50.1", "--table", names[0]],
                    ["edit", source, "drain", "192.168.50.1", "--all-tables", "--force"]):
        assert error in run(*command, code=FAILED).stderr
    assert source.read_bytes() == before and not target.exists()


def test_a_bind_that_would_loop_the_directors_own_packets_is_an_error(tmp_path):
    binds = [{"ip": "10.1.0.0/16", "proto": "udp", "port_start": 1, "port_end": 65535}]
    source = write_tables(tmp_path / "table.json", table("web", binds=binds, backends=[backend("10.2.0.1")]))
    run("edit", source, "add", "10.2.0.2")
    before = source.read_bytes()
    error = "'10.1.0.7' is inside a bind (tables[0].binds[0]) that matches UDP port 19523: the directors would encapsulate their own packets"
    assert error in run("edit", source, "add", "10.1.0.7", code=FAILED).stderr
    assert source.read_bytes() == before
    write_tables(source, table("web", binds=binds, backends=[backend("10.1.0.7")]))
    assert error in run("check", source, code=CHECK_ERRORS).stderr
    assert error in run("build-config", source, tmp_path / "t.bin", code=FAILED).stderr
    binds = [{**binds[0], "port_end": 19522}, {**binds[0], "port_start": 19524}]
    write_tables(source, table("web", binds=binds, backends=[backend("10.1.0.7")]))
    assert "19523" not in run("check", source, code=CHECK_WARNINGS).stderr


def test_help_fits_a_terminal():
    text = run("--help").stdout
    commands = re.findall(r"^  ([a-z-]+) ", text, flags=re.MULTILINE)
    assert len(commands) == len(SUBCOMMANDS)
    for command in commands:
        usage = run(command, "--help").stdout
        assert re.match(rf"usage: glb-director-cli {command} (\S+ )*\[OPTIONS\]\n", usage)
        text += usage
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_check_does_not_wait_for_a_fifo(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    assert "is a FIFO" in run("check", tmp_path / "fifo", code=CHECK_ERRORS).stderr
