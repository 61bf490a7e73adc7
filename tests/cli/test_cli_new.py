# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli new: the first table and director.conf have no faults, and no file is overwritten."""

import json
import os
import pty
import re
import subprocess

import pytest

from support.cli import FAILED, OK, USAGE, run
from support.tree import CLI

FLAGS = {"--vip": "203.0.113.10:443/tcp,[2001:db8::10]:80-81/udp,203.0.113.64/29:22/tcp", "--backend": "10.0.0.1,10.0.0.3",
         "--source": "10.0.0.2"}
FILES = ["director.conf", "forwarding_table.json"]


def new(folder, code=OK, **flags):
    merged = {**FLAGS, **{f"--{key.replace('_', '-')}": value for key, value in flags.items()}}
    words = [word for key, value in merged.items() if value is not None for word in (key, value)]
    return run("new", "--dir", folder, *words, code=code, stdin=subprocess.DEVNULL)


def test_the_files_have_no_faults_and_can_be_built(tmp_path):
    printed = new(tmp_path).stdout
    assert sorted(os.listdir(tmp_path)) == FILES
    for line in re.findall(r"^  glb-director-cli (?:check|build-config|show) .*$", printed, re.M):
        run(*line.split()[1:])
    run("lookup", tmp_path / "forwarding_table.json", "198.51.100.7:1", "203.0.113.10:443", "--config", tmp_path / "director.conf")
    table, = json.loads((tmp_path / "forwarding_table.json").read_text())["tables"]
    assert table["binds"] == [
        {"ip": "203.0.113.10", "proto": "tcp", "port": 443},
        {"ip": "2001:db8::10", "proto": "udp", "port_start": 80, "port_end": 81},
        {"ip": "203.0.113.64/29", "proto": "tcp", "port": 22}]
    assert [backend["ip"] for backend in table["backends"]] == ["10.0.0.1", "10.0.0.3"]
    run("edit", tmp_path / "forwarding_table.json", "drain", "10.0.0.1")


def test_proxies_with_ipv6_addresses(tmp_path):
    printed = new(tmp_path, backend="fd00::1,fd00::3", source="fd00::2").stdout
    for line in re.findall(r"^  glb-director-cli (?:check|build-config|show) .*$", printed, re.M):
        run(*line.split()[1:])
    assert 'outbound_src_ip6 = "fd00::2";' in (tmp_path / "director.conf").read_text()
    run("check", tmp_path / "forwarding_table.json", tmp_path / "director.conf")


def test_keys_are_fresh(tmp_path):
    keys = set()
    for name in "abc":
        (tmp_path / name).mkdir()
        new(tmp_path / name)
        table, = json.loads((tmp_path / name / "forwarding_table.json").read_text())["tables"]
        keys |= {table["hash_key"], table["seed"]}
    assert len(keys) == 6 and all(re.fullmatch("[0-9a-f]{32}", key) for key in keys)


@pytest.mark.parametrize("mask, mode", [(0o000, 0o640), (0o022, 0o640), (0o077, 0o600)])
def test_nobody_else_can_read_the_keys(tmp_path, mask, mode):
    old = os.umask(mask)
    try:
        new(tmp_path)
    finally:
        os.umask(old)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in FILES] == [mode, mode]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", ["", "something", None])
def test_nothing_is_overwritten(tmp_path, name, content):
    if content is None:
        (tmp_path / name).symlink_to("nowhere")
    else:
        (tmp_path / name).write_text(content)
    error = new(tmp_path, code=FAILED).stderr
    assert f"{tmp_path / name}: exists, and new overwrites nothing" in error
    assert os.listdir(tmp_path) == [name] and (content is None or (tmp_path / name).read_text() == content)


@pytest.mark.parametrize("flag, value, code, says", [
    ("vip", None, USAGE, "--vip is missing, and standard input is not a terminal"),
    ("backend", None, USAGE, "--backend is missing"),
    ("source", None, USAGE, "--source is missing"),
    ("vip", "", USAGE, "--vip: '' is not a bind: ADDRESS:PORT/tcp or /udp, such as"),
    ("vip", "203.0.113.10:443/quic", USAGE, "--vip: '203.0.113.10:443/quic' is not a bind: ADDRESS:PORT/tcp or /udp, such as"),
    ("vip", "203.0.113.10:443/tcp,", USAGE, "--vip: '' is not a bind"),
    ("vip", "203.0.113.10:443", USAGE, "--vip: '203.0.113.10:443' is not a bind"),
    ("backend", "10.0.0.1 10.0.0.2", USAGE, "--backend: '10.0.0.1 10.0.0.2' is not an address of a proxy"),
    ("backend", "10.0.0.1, ", USAGE, "--backend: '' is not an address of a proxy"),
    ("backend", "fd00::1", FAILED, "--source: '10.0.0.2' and 'fd00::1' of a proxy are not of the same family"),
    ("source", "fd00::1", FAILED, "--source: 'fd00::1' and '10.0.0.1' of a proxy are not of the same family"),
    ("backend", "10.0.0.1,fd00::1", FAILED, "tables[0].backends[1].ip: 'fd00::1' is an IPv6 address, but backends[0] has 10.0.0.1"),
    ("backend", "fe80::1", USAGE, "--backend: 'fe80::1' is not an address of a proxy"),
    ("backend", "::ffff:10.0.0.1", USAGE, "--backend: '::ffff:10.0.0.1' is not an address of a proxy"),
    ("source", "127.0.0.1", USAGE, "--source: '127.0.0.1' is not an address of a host"),
    ("source", "fe80::1", USAGE, "--source: 'fe80::1' is not an address of a host"),
    ("gateway_mac", "router", USAGE, "--gateway-mac: 'router' is not a MAC address, or auto"),
    ("name", "a\nb", USAGE, "is not a name"),
    ("backend", "10.0.0.1,10.0.0.1", FAILED, "'10.0.0.1' is listed twice"),
    ("vip", "203.0.113.10:443/tcp,203.0.113.10:443/tcp", FAILED, "overlaps"),
    ("backend", "203.0.113.10", FAILED, "203.0.113.10"),
    ("gateway_mac", "00:00:00:00:00:00", FAILED, "outbound_gateway_mac"),
])
def test_wrong_answers_write_nothing(tmp_path, flag, value, code, says):
    assert says in new(tmp_path, code=code, **{flag: value}).stderr
    assert os.listdir(tmp_path) == []


def test_an_option_that_is_given_twice_is_not_half_ignored(tmp_path):
    done = run("new", "--dir", tmp_path, "--vip", "203.0.113.10:443/tcp", "--backend", "10.0.0.1", "--backend", "10.0.0.2", "--source",
               "10.0.0.3", code=USAGE)
    assert "new: --backend is given twice" in done.stderr and os.listdir(tmp_path) == []


def test_a_folder_that_is_missing_is_named(tmp_path):
    assert new(tmp_path / "x", code=FAILED).stderr == f"glb-director-cli: --dir: there is no folder '{tmp_path}/x': create it first\n"
    (tmp_path / "x").write_text("")
    assert f"--dir: there is no folder '{tmp_path}/x'" in new(tmp_path / "x", code=FAILED).stderr


def test_a_folder_that_is_missing_is_named_before_the_questions(tmp_path):
    code, shown = converse(tmp_path / "x", ["203.0.113.10:443/tcp"])
    assert code == FAILED and "there is no folder" in shown and "Binds" not in shown


def test_spaces_around_the_elements_of_a_list_are_ignored(tmp_path):
    new(tmp_path, backend=" 10.0.0.1 , 10.0.0.2 ")
    table, = json.loads((tmp_path / "forwarding_table.json").read_text())["tables"]
    assert [each["ip"] for each in table["backends"]] == ["10.0.0.1", "10.0.0.2"]


def test_a_fault_of_the_table_does_not_look_like_one_of_a_file(tmp_path):
    error = new(tmp_path, code=FAILED, backend="10.0.0.1,10.0.0.1").stderr
    assert f"{tmp_path}/forwarding_table.json, as it would be:" in error
    assert f"{tmp_path}/forwarding_table.json: nothing is written, because the table would not be valid" in error


def converse(folder, lines, *words):
    """Types the lines at a terminal. Returns the exit code and what was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([CLI, "new", "--dir", folder, *words], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, "".join(f"{line}\n" for line in lines).encode() + b"\x04")
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            part = b""
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(60), shown.decode()


def test_a_terminal_is_asked_until_the_answers_are_valid(tmp_path):
    answers = ["203.0.113.10", "203.0.113.10:443/tcp", "10.0.0.x", "10.0.0.1,10.0.0.3", "", "10.0.0.2", "", "ssh \"x\""]
    code, shown = converse(tmp_path, answers)
    assert code == OK, shown
    assert "--vip: '203.0.113.10' is not a bind" in shown and "--source: '' is not an address of a host" in shown
    assert "MAC address of the next hop to the proxies [auto]: " in shown
    table, = json.loads((tmp_path / "forwarding_table.json").read_text())["tables"]
    assert table["name"] == 'ssh "x"' and len(table["backends"]) == 2


def test_a_terminal_that_ends_early_writes_nothing(tmp_path):
    code, shown = converse(tmp_path, ["203.0.113.10:443/tcp"])
    assert code == FAILED and "the input has ended before all questions were answered" in shown
    assert os.listdir(tmp_path) == []
    code, shown = converse(tmp_path, ["10.0.0.2"], "--vip", "203.0.113.10:443/tcp", "--backend", "10.0.0.1")
    assert code == OK and sorted(os.listdir(tmp_path)) == FILES, shown


def test_of_several_at_once_only_one_writes(tmp_path):
    words = ["--vip", "203.0.113.10:443/tcp", "--source", "192.0.2.1", "--dir", tmp_path]
    made = [subprocess.Popen([CLI, "new", *words, "--backend", f"192.0.2.{i}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for i in range(10, 26)]
    for process in made:
        process.communicate(timeout=60)
    writer, = [i for i, process in enumerate(made, 10) if process.returncode == 0]
    assert f'"192.0.2.{writer}"' in (tmp_path / "forwarding_table.json").read_text()


@pytest.mark.parametrize("flags, hops, balance", [({}, 4, 1.02), ({"hops": "2", "balance": "off"}, 2, None), ({"hops": "8", "balance": "1.1"}, 8, 1.1)])
def test_hops_and_balance_are_written(tmp_path, flags, hops, balance):
    new(tmp_path, **flags)
    table, = json.loads((tmp_path / "forwarding_table.json").read_text())["tables"]
    assert (table["hops"], table.get("balance")) == (hops, balance)


@pytest.mark.parametrize("flags, message", [
    ({"hops": "1"}, "new: --hops: '1' is not a number from 2 to 8"),
    ({"hops": "9"}, "new: --hops: '9' is not a number from 2 to 8"),
    ({"balance": "1"}, "new: --balance: '1' is neither off nor a number from 1.005 to 2 with at most 3 decimals"),
    ({"balance": "1.0200"}, "new: --balance: '1.0200' is neither off nor"),
])
def test_wrong_hops_and_balance_are_refused(tmp_path, flags, message):
    assert message in new(tmp_path, USAGE, **flags).stderr
    assert os.listdir(tmp_path) == []
