# SPDX-License-Identifier: BSD-3-Clause
"""Every place where a user types a number refuses the same wrong numbers."""

import json
import re
import subprocess

import pytest

from support.cli import CHECK_ERRORS, FAILED, USAGE, run, table, write_conf, write_tables
from support.numbers import BAD_NUMBERS
from support.tree import BIFURCATE, CLI, REDIRECT


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    write_tables(folder / "table.json", table())
    write_tables(folder / "table.json~", table())  # the version that undo takes back
    write_conf(folder / "director.conf")
    (folder / "wait.sim").write_text("wait 1s\n")
    (folder / "sub").mkdir()
    return folder


def lookup(source, destination, *options):
    return [CLI, "lookup", "table.json", source, destination, "--config", "director.conf", *options]


def edit(*words):
    return [CLI, "edit", "table.json", *words]


def simulate(*options):
    return [CLI, "simulate", "wait.sim", *options]


TIMEOUT = "--timeout: '{}' is not a number of seconds from 1 to 3600"
PERCENT = "--max-broken: '{}' is not a percentage from 0 to 100, such as 5 or 0.25"

# A command, and the start of the error, in which {} is the number. Each command is complete, so it fails only because of its number.
COMMANDS = {
    "lookup --hint": (lambda bad: lookup("1.1.1.1", "10.10.10.10", "--proto", "icmp", "--hint", bad),
                      "lookup: --hint: '{}' is not a number from 0 to 65535"),
    "lookup SRC": (lambda bad: lookup(f"1.1.1.1:{bad}", "10.10.10.10:80"),
                   "lookup: SRC: '1.1.1.1:{}' is not ADDRESS or ADDRESS:PORT"),
    "lookup DST": (lambda bad: lookup("[2001:db8::1]:1", f"[2001:db8::2]:{bad}"),
                   "lookup: DST: '[2001:db8::2]:{}' is not ADDRESS or ADDRESS:PORT"),
    "decode --port": (lambda bad: [CLI, "decode", "none.pcap", "--port", bad],
                      "decode: --port: '{}' is not a number from 1 to 65535"),
    "quic --id": (lambda bad: [CLI, "quic", "encode", "none.json", "192.0.2.1", "--id", bad], "quic: --id: '{}' is not a number from 0 to 6"),
    "reload --timeout": (lambda bad: [CLI, "reload", "--timeout", bad], "reload: " + TIMEOUT),
    "health --timeout": (lambda bad: [CLI, "health", "--timeout", bad], "health: " + TIMEOUT),
    "stats --timeout": (lambda bad: [CLI, "stats", "--timeout", bad], "stats: " + TIMEOUT),
    "tables --timeout": (lambda bad: [CLI, "tables", "--live", "--timeout", bad], "tables: " + TIMEOUT),
    "next-hops --timeout": (lambda bad: [CLI, "next-hops", "--timeout", bad], "next-hops: " + TIMEOUT),
    "show --timeout": (lambda bad: [CLI, "show", "--live", "--timeout", bad], "show: " + TIMEOUT),
    "lookup --timeout": (lambda bad: [CLI, "lookup", "--live", "1.1.1.1:1", "2.2.2.2:2", "--timeout", bad], "lookup: " + TIMEOUT),
    "stats --watch": (lambda bad: [CLI, "stats", f"--watch={bad}"], "stats: --watch: '{}' is not a number of seconds from 1 to 3600"),
    "doctor --timeout": (lambda bad: [CLI, "doctor", "--timeout", bad], "doctor: " + TIMEOUT),
    "edit --timeout": (lambda bad: edit("drain", "192.168.50.1", "--timeout", bad), "edit: " + TIMEOUT),
    "capture --timeout": (lambda bad: [CLI, "capture", "--timeout", bad], "capture: " + TIMEOUT),
    "capture --count": (lambda bad: [CLI, "capture", "--count", bad], "capture: --count: '{}' is not a number from 1 to 1000000000"),
    "capture --seconds": (lambda bad: [CLI, "capture", "--seconds", bad], "capture: --seconds: '{}' is not a number of seconds from 1 to 3600"),
    "capture --snaplen": (lambda bad: [CLI, "capture", "--snaplen", bad], "capture: --snaplen: '{}' is not a number from 1 to 16384"),
    "diff --max-broken": (lambda bad: [CLI, "diff", "table.json", "table.json", "--max-broken", bad], "diff: " + PERCENT),
    "diff --max-skew": (lambda bad: [CLI, "diff", "table.json", "table.json", "--max-skew", bad],
                        "diff: " + PERCENT.replace("max-broken", "max-skew")),
    "plan --max-broken": (lambda bad: [CLI, "plan", "table.json", "table.json", "--max-broken", bad], "plan: " + PERCENT),
    "rollout --max-broken": (lambda bad: [CLI, "rollout", "start", "table.json", "--max-broken", bad], "rollout: " + PERCENT),
    "simulate --proxies": (lambda bad: simulate("--proxies", bad), "simulate: --proxies: '{}' is not a number from 1 to 4096"),
    "simulate --seed": (lambda bad: simulate("--proxies", "8", "--seed", bad), "simulate: --seed: '{}' is not a number from 0 to 4294967295"),
    "simulate --hops": (lambda bad: simulate("--proxies", "8", "--hops", bad), "simulate: --hops: '{}' is not a number from 2 to 8"),
    "new --hops": (lambda bad: [CLI, "new", "--dir", "sub", "--hops", bad], "new: --hops: '{}' is not a number from 2 to 8"),
    "simulate --max-broken": (lambda bad: simulate("--proxies", "8", "--max-broken", bad), "simulate: " + PERCENT),
    "edit --max-broken": (lambda bad: edit("drain", "192.168.50.1", "--max-broken", bad), PERCENT),
    "undo --max-broken": (lambda bad: [CLI, "undo", "table.json", "--max-broken", bad], PERCENT),
    "edit BIND": (lambda bad: edit("add-bind", f"10.0.0.1:{bad}/tcp"), "edit: add-bind: '10.0.0.1:{}/tcp' is not a bind: "),
    "edit BIND range": (lambda bad: edit("add-bind", f"10.0.0.1:1-{bad}/tcp"), "edit: add-bind: '10.0.0.1:1-{}/tcp' is not a bind: "),
    "edit BIND prefix": (lambda bad: edit("add-bind", f"10.0.0.0/{bad}:80/tcp"), "edit: add-bind: '10.0.0.0/{}:80/tcp' is not a bind: "),
    "new --vip": (lambda bad: [CLI, "new", "--dir", "sub", "--vip", f"10.0.0.1:{bad}/tcp", "--backend", "10.0.0.2", "--source", "10.0.0.3"],
                  "--vip: '10.0.0.1:{}/tcp' is not a bind: "),
    "attach --port": (lambda bad: [REDIRECT, "attach", "none0", "--port", bad],
                      "attach: --port: '{}' is not a number from 1 to 65535"),
    "check --hops": (lambda bad: [REDIRECT, "check", "none0", "--hops", bad], "check: --hops: '{}' is not a number from 1 to 31"),
}
# These commands take an empty text for no value.
WITHOUT_EMPTY = ("stats --watch",)
RIGHT_PERCENTS = ("80.0",)


@pytest.mark.parametrize("place", COMMANDS)
@pytest.mark.parametrize("bad", ["", *BAD_NUMBERS])
def test_command_lines_refuse_it(place, bad, files):
    if (not bad and place in WITHOUT_EMPTY) or ("--max-" in place and bad in RIGHT_PERCENTS):
        return
    command, message = COMMANDS[place]
    done = subprocess.run(command(bad), capture_output=True, text=True, cwd=files, timeout=60)
    program = command(bad)[0].name
    shown = bad.replace("\t", "?")  # messages have no control characters
    assert done.stderr.splitlines()[0].startswith(f"{program}: {message.format(shown)}".splitlines()[0])
    assert (done.returncode, done.stdout) == (USAGE, "")


def test_every_option_with_a_number_is_tried():
    options = set()
    for program in (CLI, REDIRECT, BIFURCATE):
        names = subprocess.run([program, "--complete", ""], capture_output=True, text=True, check=True).stdout
        for name in [line.split("\t")[0] for line in names.splitlines()]:
            text = subprocess.run([program, name, "--help"], capture_output=True, text=True, check=True).stdout
            options |= {f"{name} --{option}" for option in re.findall(r"^  (?:-[a-z], )?--([a-z-]+)[ \[=]+(?:N|NUMBER|BYTES|PCT|SECONDS)\b", text, re.M)}
    assert options - {"edit --timeout", "undo --timeout"} <= set(COMMANDS) and len(options) >= 10


@pytest.mark.parametrize("bad", ["+80", "080", "-1", "0x50", "80 ", "4294967376"])
@pytest.mark.parametrize("words", [("192.168.50.1", "http={}"), ("interval_ms={}",), ("hops={}",)])
def test_members_that_edit_sets_refuse_it(words, bad, files):
    before = (files / "table.json").read_text()
    done = subprocess.run(edit("set", *(word.format(bad) for word in words)), capture_output=True, text=True, cwd=files, timeout=60)
    assert done.returncode == FAILED and f"'{bad}'" in done.stderr
    assert (files / "table.json").read_text() == before


@pytest.mark.parametrize("bad", ["", *BAD_NUMBERS])
@pytest.mark.parametrize("key", ['listen = "127.0.0.1:{}";', 'http = {{ status = "{}"; }};', 'http = {{ status = "200-{}"; }};'])
def test_texts_of_healthcheck_conf_refuse_it(key, bad, tmp_path):
    path = tmp_path / "healthcheck.conf"
    path.write_text('forwarding_table = { src = "/a.json"; dst = "/b.json"; };\n' + key.format(bad) + "\n")
    file, = json.loads(run("check", path, "--json", code=CHECK_ERRORS).stdout)["files"]
    assert len(file["errors"]) == 1 and file["errors"][0].startswith(f"{path}:2: ")


@pytest.mark.parametrize("bad", ["", "33", *BAD_NUMBERS])
def test_prefix_lengths_refuse_it(bad, tmp_path):
    source = write_tables(tmp_path / "table.json", table(binds=[{"ip": f"10.0.0.0/{bad}", "proto": "tcp", "port": 80}]))
    file, = json.loads(run("check", source, "--json", code=CHECK_ERRORS).stdout)["files"]
    assert len(file["errors"]) == 1 and ": tables[0].binds[0].ip: '10.0.0.0/" in file["errors"][0]


@pytest.mark.parametrize("bad", ["", "-1", "01", "00", "1e1", "128", "4294967297", "18446744073709551617", "1_", "0x1"])
def test_names_of_lcores_refuse_it(bad, tmp_path):
    path = write_conf(tmp_path / "director.conf")
    path.write_text(path.read_text() + f"lcores = {{ lcore-{bad} = {{ rx = true; tx = true; flow_paths = [0]; }}; }};\n"
                    "flow_paths = ( { rx_port = 0; rx_queue = 0; tx_port = 0; tx_queue = 0; } );\n")
    file, = json.loads(run("check", path, "--json", code=CHECK_ERRORS).stdout)["files"]
    assert [error.partition(": ")[2] for error in file["errors"]] == [f"lcores.lcore-{bad}: is not named lcore-0 to lcore-127"]
