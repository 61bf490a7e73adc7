# SPDX-License-Identifier: BSD-3-Clause
"""Every place where a user types a number refuses the same wrong numbers."""

import json
import subprocess

import pytest

from support.cli import CHECK_ERRORS, USAGE, run, table, write_conf, write_tables
from support.numbers import BAD_NUMBERS
from support.tree import CLI, REDIRECT


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    write_tables(folder / "table.json", table())
    write_conf(folder / "director.conf")
    return folder


def lookup(source, destination, *options):
    return [CLI, "lookup", "table.json", source, destination, "--config", "director.conf", *options]


# A command, and the error in which {} is the number. Each command is complete, so it fails only because of its number.
COMMANDS = {
    "lookup --hint": (lambda bad: lookup("1.1.1.1", "10.10.10.10", "--proto", "icmp", "--hint", bad),
                      "lookup: --hint: '{}' is not a number from 0 to 65535"),
    "lookup SRC": (lambda bad: lookup(f"1.1.1.1:{bad}", "10.10.10.10:80"),
                   "lookup: SRC: '1.1.1.1:{}' is not ADDRESS or ADDRESS:PORT"),
    "lookup DST": (lambda bad: lookup("[2001:db8::1]:1", f"[2001:db8::2]:{bad}"),
                   "lookup: DST: '[2001:db8::2]:{}' is not ADDRESS or ADDRESS:PORT"),
    "decode --port": (lambda bad: [CLI, "decode", "none.pcap", "--port", bad],
                      "decode: --port: '{}' is not a number from 1 to 65535"),
    "reload --timeout": (lambda bad: [CLI, "reload", "--timeout", bad],
                         "--timeout: '{}' is not a number of seconds from 1 to 3600"),
    "stats --timeout": (lambda bad: [CLI, "stats", "--timeout", bad],
                        "--timeout: '{}' is not a number of seconds from 1 to 3600"),
    "attach --port": (lambda bad: [REDIRECT, "attach", "none0", "--port", bad],
                      "--port: '{}' is not a number from 1 to 65535"),
}


@pytest.mark.parametrize("place", COMMANDS)
@pytest.mark.parametrize("bad", ["", *BAD_NUMBERS])
def test_command_lines_refuse_it(place, bad, files):
    command, message = COMMANDS[place]
    done = subprocess.run(command(bad), capture_output=True, text=True, cwd=files, timeout=60)
    program = command(bad)[0].name
    assert done.stderr.splitlines()[0] == f"{program}: {message.format(bad)}".splitlines()[0]
    assert (done.returncode, done.stdout) == (USAGE, "")


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
