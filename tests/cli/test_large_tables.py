# SPDX-License-Identifier: BSD-3-Clause
"""The largest tables: what takes CPU time, and what long commands say meanwhile."""

import json
import os
import pty
import resource
import subprocess

import pytest

from support.cli import FAILED, backend, run, table, write_tables
from support.tree import CLI

BINDS = 4096  # of a table


def cpu_seconds(*args, code):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run(*args, code=code)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def tables(count, make_bind, binds=BINDS):
    return [table(f"t{t}", 2, t + 1, binds=[make_bind(t * binds + b) for b in range(binds)]) for t in range(count)]


def vip(i):
    return {"ip": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}", "proto": "tcp", "port": 443}


def ports_of_one_prefix(i):
    return {"ip": "10.0.0.0/8", "proto": "tcp", "port_start": i + 1, "port_end": 65535}


def prefixes_in_a_prefix(i):
    """Half of the binds have one prefix, and the others a prefix inside it."""
    one = {"ip": "10.0.0.0/8", "proto": "tcp", "port": i // 2 + 1}
    return one if i % 2 else {**vip(i), "port": 65535}


@pytest.mark.parametrize("shape", [vip, ports_of_one_prefix, prefixes_in_a_prefix])
def test_diff_and_edit_take_about_the_time_of_show(tmp_path, shape):
    """What compares each bind with all others takes more than 20 times as long as reading them, here and more with more binds."""
    path = write_tables(tmp_path / "table.json", *tables(10, shape))
    read = cpu_seconds("show", path, code=0)
    assert cpu_seconds("diff", path, path, code=0) < 10 * read
    assert cpu_seconds("edit", path, "drain", "192.168.50.1", "--table", "t0", "--dry-run", code=0) < 10 * read


@pytest.mark.parametrize("verb, few", [("add-bind", "10.0.0.1:443/tcp"), ("add", "10.0.0.1")])
def test_time_of_many_operands_is_about_that_of_a_table_with_them(tmp_path, verb, few):
    """What reads the text again for each operand takes more than 30 times as long as the edit of a table that has them already."""
    words = [few.replace("10.0.0.1", vip(i)["ip"]) for i in range(1 << 16, (1 << 16) + 4000)]
    path = write_tables(tmp_path / "table.json", table())
    options = ["--force", "--max-broken", "100", "--state", "inactive"][: 5 if verb == "add" else 3]
    many = cpu_seconds("edit", path, verb, *words, *options, code=0)
    assert many < 20 * cpu_seconds("edit", path, "set", "name=a", "--dry-run", code=0)
    assert len(json.loads(path.read_text())["tables"][0]["backends" if verb == "add" else "binds"]) > 4000


def counts(text):
    return [line for line in text.splitlines() if line.startswith(("table ", "all:"))]


@pytest.mark.parametrize("verb", [
    ["drain", "192.168.50.1", "--table", "t3"],
    ["drain", "192.168.50.1", "--all-tables"],
    ["add-bind", "10.0.0.8:443/tcp", "--table", "t1"],  # the packets of this address move from table t2
    ["remove-bind", "10.0.0.8:443/tcp", "--table", "t2"],  # to table t5, which gets all of 10.0.0.0/8, and the rest of t2 to nowhere
    ["set", "name=t9", "--table", "t4"],
    ["set", "hops=3", "--table", "t0"],
], ids=" ".join)
def test_edit_counts_the_same_rows_as_diff_although_it_builds_fewer(tmp_path, verb):
    wide = {"ip": "10.0.0.0/8", "proto": "tcp", "port": 443}
    some = [table(f"t{t}", 8, t // 2 + 1, seed=f"{t // 3 + 9:032x}", binds=[vip(t * 4 + b) for b in range(4)] + [wide] * (t == 5)) for t in range(6)]
    old, new = (write_tables(tmp_path / name, *some) for name in ("old.json", "new.json"))
    said = run("edit", new, *verb, "--max-broken", "100", "--force").stdout
    assert counts(said) == counts(run("diff", old, new, "--max-broken", "100").stdout) and len(counts(said)) == 7


def test_edit_does_not_build_tables_that_stay(tmp_path):
    path = write_tables(tmp_path / "table.json", *[table(f"t{t}", 64, t + 1, seed=f"{t + 9:032x}", binds=[vip(t)]) for t in range(32)])
    built = cpu_seconds("build-config", path, tmp_path / "table.bin", code=0)
    assert cpu_seconds("edit", path, "drain", "192.168.50.1", "--table", "t0", code=0) < built / 3
    assert cpu_seconds("edit", path, "add-bind", "10.9.9.9:443/tcp", "--table", "t0", code=0) < built / 3


def test_check_does_not_search_all_binds_for_each_table_with_backends_inside(tmp_path):
    inside = tables(1000, vip, binds=40) + [table("last", binds=[{"ip": "192.168.0.0/16", "proto": "tcp", "port": 80}])]
    outside = tables(1000, vip, binds=40) + [table("last", binds=[vip(1 << 20)])]
    paths = write_tables(tmp_path / "inside.json", *inside), write_tables(tmp_path / "outside.json", *outside)
    plain, searched = (cpu_seconds("build-config", path, tmp_path / "table.bin", code=0) for path in reversed(paths))
    assert searched < 3 * plain


def test_a_long_command_says_how_far_it_is_but_only_to_a_terminal(tmp_path):
    script = tmp_path / "long.sim"
    script.write_text("lengths forever\n" + "hops 8\nhops 7\n" * 4000)
    command = [CLI, "simulate", script, "--proxies", "64"]
    main, other = pty.openpty()
    with (subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as piped,
          subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=other) as shown):
        os.close(other)
        lines = b""
        while lines.count(b"\n") < 2 and (part := os.read(main, 200)):
            lines += part
        piped.terminate()
        shown.terminate()
        assert piped.communicate()[1] == b""
    os.close(main)
    assert lines.startswith(b"glb-director-cli: note: simulated lines: ") and b" of 8000" in lines


def test_plan_that_needs_too_many_backends_says_so_in_words_of_the_files(tmp_path):
    every = [backend(f"172.16.{i // 250}.{i % 250 + 1}") for i in range(4100)]
    old = write_tables(tmp_path / "old.json", table(backends=every[:4096]))
    new = write_tables(tmp_path / "new.json", table(backends=every[4:]))
    error = run("plan", old, new, code=FAILED).stderr
    assert error == (f"glb-director-cli: {new}: table web: there is no plan, because its tables would list the backends of {old} and of "
                     f"{new}, together 4100, and a table has at most 4096: replace fewer backends at a time\n")


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255"])
def test_simulate_refuses_a_new_proxy_that_no_other_host_can_reach(tmp_path, address):
    script = tmp_path / "add.sim"
    script.write_text(f"wait 1s\nadd {address}\n")
    error = run("simulate", script, "--proxies", "3", code=FAILED).stderr
    assert f"{script}:2: proxy {address}: cannot be a proxy, because no other host can reach this address" in error
