# SPDX-License-Identifier: BSD-3-Clause
"""The texts of glb-director-cli about files, in full, and the members of its JSON. The inputs are fixed, so the numbers are, too."""

import json
import re
import subprocess

import pytest
from golden import check, errors_about_keys, sections, shape

from lab.tools import TIMEOUT_S
from support import pcap, traffic
from support.cli import backend, table, tcp_frame, write_conf, write_tables
from support.tree import CLI


@pytest.fixture
def folder(tmp_path):
    """Tables, configurations and captures that make the outputs have all their parts."""
    states = [backend("192.168.50.1"), backend("192.168.50.2", "draining"), backend("192.168.50.3", healthy=False)]
    write_tables(tmp_path / "one.json", table(backends=states))
    write_tables(tmp_path / "two.json", table(backends=states[1:], binds=[]))
    write_tables(tmp_path / "three.json", table(backends=[backend("192.168.50.3")]))
    write_tables(tmp_path / "drained.json", table(backends=[*states[1:], backend("192.168.50.9", "draining")], hops=3))
    servers = [{**each, "server_id": f"{i:06x}"} for i, each in enumerate(states, 1)]
    quic = {"id": 0, "server_id_length": 3, "nonce_length": 8, "key": "5a1bc3d4e5f60718293a4b5c6d7e8f90"}
    udp = {"ip": "10.10.10.10", "proto": "udp", "port": 443, "quic": True}
    write_tables(tmp_path / "quic.json", table(backends=servers, binds=[udp], hops=3, quic=[quic, {"id": 1, "server_id_length": 5, "nonce_length": 11}]))
    write_tables(tmp_path / "quic-next.json", table(backends=[*servers[1:], {**backend("192.168.50.9"), "server_id": "000009"}], binds=[udp], hops=3, quic=[{**quic, "id": 2}]))
    (tmp_path / "several.json").write_text(json.dumps(traffic.TABLE))
    (tmp_path / "faulty.json").write_text('{"tables": [{"name": 1, "colour": "red"}]}')
    write_conf(tmp_path / "director.conf", alt_hash_fields={"src_port": True})
    write_conf(tmp_path / "faulty.conf", idle=1, colour="red")
    pcap.write(tmp_path / "in.pcap", [tcp_frame(), tcp_frame(dport=1), tcp_frame()[:30]])
    (tmp_path / "changes.sim").write_text("rate 1000\ndirectors 2\nbehind 2 20s\nwait 1m\ndrain 1\nwait 15s\nfail 5\nwait 40s\nremove 1\nwait 1m\n")
    (tmp_path / "new").mkdir()
    return tmp_path


COMMANDS = """
check one.json director.conf
check several.json
check faulty.json faulty.conf
build-config one.json one.bin
show one.json
show one.bin
tables several.json
lookup one.json 198.51.100.7:1 10.10.10.10:80 --config director.conf
lookup one.json 198.51.100.7:1 10.10.10.10:81 --config director.conf
show quic.json
diff quic.json quic-next.json
plan quic.json quic-next.json
check quic.json
edit quic.json remove-quic 1 --dry-run
edit quic.json set 10.10.10.10:443/quic quic=none --dry-run
diff one.json two.json
diff one.json three.json
diff drained.json three.json
plan one.json three.json
plan drained.json three.json
plan one.json two.json
simulate changes.sim --proxies 6
replay one.json in.pcap out.pcap --config director.conf --list
decode out.pcap
new --dir new --vip 203.0.113.10:443/tcp --backend 192.168.50.1,192.168.50.2 --source 192.0.2.1
edit one.json drain 192.168.50.1 --dry-run
edit one.json set 192.168.50.1 weight=200 --dry-run
edit one.json set 192.168.50.1 colour=red --dry-run
edit one.json set colour=red --dry-run
"""
WITHOUT_JSON = ("build-config", "new", "edit")


def call(folder, *words):
    return subprocess.run([CLI, *words], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=folder, stdin=subprocess.DEVNULL, check=False)


def test_outputs(folder):
    found = {}
    for line in COMMANDS.strip().splitlines():
        words = line.split()
        done = call(folder, *words)
        found[line] = f"{done.stdout}{done.stderr}exit code {done.returncode}"
        if words[0] not in WITHOUT_JSON:
            document = call(folder, *words, "--json").stdout
            assert document, found[line]
            found[f"{line} --json"] = shape(json.loads(document))
    check("glb-director-cli.output", sections(found))


@pytest.mark.parametrize("kind", ["director", "healthcheck", "redirect", "bifurcate"])
def test_keys_of_configurations(folder, kind):
    """The keys of each kind, from the error about an unknown one, and the errors about values that no key can have."""
    conf = folder / f"{kind}.conf"

    def errors(text):
        conf.write_text(text)
        return call(folder, "check", "--kind", kind, conf.name).stderr

    check(f"{kind}.conf.errors", sections(errors_about_keys(errors)))


def test_members_of_tables(folder):
    """The members at each level, from the error about an unknown one, and the errors about values that no member can have."""
    path = folder / "wrong.json"

    def errors(document):
        path.write_text(json.dumps(document))
        return call(folder, "check", "--kind", "json", path.name).stderr

    places = {
        "document": lambda members: {**json.loads((folder / "one.json").read_text()), **members},
        "table": lambda members: {"tables": [{**table(), **members}]},
        "bind": lambda members: {"tables": [{**table(), "binds": [{"ip": "10.10.10.10", "proto": "tcp", "port": 80, **members}]}]},
        "backend": lambda members: {"tables": [{**table(), "backends": [{**backend("192.168.50.1"), **members}]}]},
        "healthchecks of a backend": lambda members: {"tables": [{**table(), "backends": [{**backend("192.168.50.1"), "healthchecks": members}]}]},
        "healthchecks of a table": lambda members: {"tables": [{**table(), "healthchecks": members}]},
        "http of a table": lambda members: {"tables": [{**table(), "healthchecks": {"http": members}}]},
        "healthchecks of the document": lambda members: {"tables": [table()], "healthchecks": members},
        "previous of a table": lambda members: {"tables": [{**table(), "previous": [members]}]},
    }
    found = {}
    for name, document in places.items():
        found[f"{name}: an unknown member"] = errors(document({"colour": 1}))
        known = re.search(r"colour: unknown key; known here: (.*?)(?: \(keys that|$)", found[f"{name}: an unknown member"], re.MULTILINE)
        for value in (-999999999, "?", [], {}):
            for key in known[1].split(", ") if known else []:
                lines = [line.removeprefix("glb-director-cli: ") for line in errors(document({key: value})).splitlines()]
                # Without those about other members that are missing now.
                lines = [re.sub(r"wrong.json:\d+:\d+: ", "", line) for line in lines if re.search(rf"[ .]{key}\b[^ ]*: ", line)]
                title = f"{name}: {json.dumps(value)}"
                found[title] = found.get(title, "") + "\n".join(lines or [f"{key}: no error"]) + "\n"
    check("forwarding-table.json.errors", sections(found))
