# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli quic: connection IDs of a table's proxies, against the draft's vectors and the model."""

import base64
import json
import random
import re

import pytest

from model.quic import QuicConfig
from support.cli import FAILED, USAGE, backend, complete, run, run_json, table, write_tables
from support.tree import TREE

KEY = "8f95f09245765f80256934e50c66207f"  # of the draft
CONFIGS = [{"id": 0, "server_id_length": 3, "nonce_length": 4, "key": KEY}, {"id": 4, "server_id_length": 5, "nonce_length": 5}]
BIND = {"ip": "10.10.10.10", "proto": "udp", "port": 443, "quic": True}
FIRST = ["ed793a", "350d28b420"]


def quic_table(name="web", quic=CONFIGS, first=FIRST, state="active", **members):
    backends = [{**backend("192.168.50.1", state), "server_id": first}, {**backend("192.168.50.2"), "server_id": ["c4605e", "c4605e7788"]},
                backend("192.168.50.3")]
    return table(name, backends, binds=[BIND], quic=quic, **members)


@pytest.fixture
def path(tmp_path):
    return write_tables(tmp_path / "table.json", quic_table())


def vectors():
    return json.loads((TREE / "tests/vectors/quic.json").read_text())["cids"]


@pytest.mark.parametrize("vector", vectors()[:7], ids=lambda vector: vector["name"])
def test_vectors_of_the_draft(tmp_path, vector):
    config = {key: vector[key] for key in ("id", "server_id_length", "nonce_length") if key in vector}
    if vector["key"]:
        config["key"] = vector["key"]
    path = write_tables(tmp_path / "table.json", table(backends=[{**backend("192.168.50.1"), "server_id": vector["server_id"]}],
                                                       binds=[BIND], quic=[config]))
    assert run("quic", "encode", path, "192.168.50.1", "--nonce", vector["nonce"]).stdout == f"{vector['cid']}\n"
    found = run_json("quic", "decode", path, vector["cid"])
    assert (found["server_id"], found["nonce"], found["backend"]["ip"]) == (vector["server_id"], vector["nonce"], "192.168.50.1")
    assert run_json("quic", "encode", path, "192.168.50.1", "--nonce", vector["nonce"]) == found


def test_decode_prints_what_the_cid_means(path):
    assert run("quic", "decode", path, "0720b1d07b359d3c").stdout == (
        "config    0: server ID of 3 bytes, nonce of 4, with key\nserver    ed793a\nnonce     ee080dbf\n"
        "backend   192.168.50.1 active up\n")


def test_decode_ignores_bytes_that_a_server_appends(path):
    assert run_json("quic", "decode", path, "0720b1d07b359d3c" + "99" * 247)["server_id"] == "ed793a"


@pytest.mark.parametrize("cid, reason, text", [
    ("e7" + "00" * 7, "config", "config    7, which the table does not have: the row decides"),
    ("27", "config", "config    1, which the table does not have: the row decides"),
    ("0720b1d07b359d", "short", "short     7 bytes, but the configuration needs 8: the row decides"),
    ("07", "short", "short     1 byte, but the configuration needs 8: the row decides"),
    ("8a0000000000aabbccddee", "server", "backend   none has this server ID: the row decides"),
])
def test_unroutable_cids_are_no_errors(path, cid, reason, text):
    assert run("quic", "decode", path, cid).stdout.splitlines()[-1] == text
    found = run_json("quic", "decode", path, cid)
    assert found["unroutable"] == reason and found["backend"] is None


def test_an_inactive_backend_is_shown_but_not_routed_to(tmp_path):
    path = write_tables(tmp_path / "table.json", quic_table(state="inactive"))
    found = run_json("quic", "decode", path, "0720b1d07b359d3c")
    assert found["unroutable"] == "server" and found["backend"]["ip"] == "192.168.50.1"
    assert run("quic", "decode", path, "0720b1d07b359d3c").stdout.endswith("192.168.50.1 inactive up: the row decides\n")


def test_encode_uses_a_random_nonce_and_the_length(path):
    cids = {run("quic", "encode", path, "192.168.50.2", "--id", "0").stdout.strip() for _ in range(5)}
    assert len(cids) == 5
    for cid in map(bytes.fromhex, cids):
        assert cid[0] == 7
        assert QuicConfig.of(CONFIGS[0]).decode(cid)[0].hex() == "c4605e"


def test_binary_tables_give_the_same(path, tmp_path):
    noise = random.Random(7)
    path = write_tables(tmp_path / "secret.json", quic_table(quic=[{**CONFIGS[0], "key": noise.randbytes(16).hex()}, CONFIGS[1]]))
    run("build-config", path, tmp_path / "table.bin")
    cid = run("quic", "encode", tmp_path / "table.bin", "192.168.50.1", "--id", "0").stdout.strip()
    assert run_json("quic", "decode", path, cid)["server_id"] == "ed793a"
    assert run("quic", "decode", path, cid).stdout == run("quic", "decode", tmp_path / "table.bin", cid).stdout


def test_server_config_of_quic_go_is_json(path):
    found = json.loads(run("quic", "server-config", path, "192.168.50.1", "--for", "quic-go", "--id", "0").stdout)
    assert found == {"id": 0, "server_id": "ed793a", "nonce_length": 4, "key": KEY}
    found = json.loads(run("quic", "server-config", path, "192.168.50.1", "--for", "quic-go", "--id", "4").stdout)
    assert found == {"id": 4, "server_id": "350d28b420", "nonce_length": 5, "key": None}


def test_server_config_of_the_proxy_has_all_configurations(path, tmp_path):
    text = run("quic", "server-config", path, "192.168.50.1", "--for", "redirect").stdout
    (tmp_path / "redirect.conf").write_text('allow_from = ["192.0.2.0/24"];\n' + text)
    run("check", "--kind", "redirect", tmp_path / "redirect.conf")
    assert text == (
        f'quic = (\n\t{{ id = 0; server_id_length = 3; nonce_length = 4; key = "{KEY}"; server_id = "ed793a"; }},\n'
        '\t{ id = 4; server_id_length = 5; nonce_length = 5; server_id = "350d28b420"; }\n);\n')


def test_server_config_of_envoy(path):
    text = run("quic", "server-config", path, "192.168.50.1", "--for", "envoy", "--id", "0").stdout
    values = dict(re.findall(r'(\w+): \{inline_bytes: "([^"]*)"\}', text))
    assert {name: base64.b64decode(value).hex() for name, value in values.items()} == {
        "server_id": "ed793a", "encryption_key": KEY, "configuration_version": "00"}
    assert "nonce_length_bytes: 4\n" in text and "expected_server_id_length: 3\n" in text and "unencrypted" not in text
    assert "unencrypted_mode: true\n" in run("quic", "server-config", path, "192.168.50.1", "--for", "envoy", "--id", "4").stdout


@pytest.mark.parametrize("server_id, nonce", [(1, 18), (15, 4)])
def test_envoy_needs_a_byte_for_itself(tmp_path, server_id, nonce):
    config = {"id": 0, "server_id_length": server_id, "nonce_length": nonce, "key": KEY}
    path = write_tables(tmp_path / "table.json", quic_table(quic=[config], first="01" * server_id) | {
        "backends": [{**backend("192.168.50.1"), "server_id": "01" * server_id}]})
    done = run("quic", "server-config", path, "192.168.50.1", "--for", "envoy", code=FAILED)
    assert done.stdout == "" and "configuration 0 is not for Envoy" in done.stderr


@pytest.mark.parametrize("server", ["nginx", "haproxy"])
def test_servers_without_quic_lb_are_named(path, server):
    done = run("quic", "server-config", path, "192.168.50.1", "--id", "0", "--for", server, code=FAILED)
    assert done.stdout == "" and f"{server} makes its own connection IDs" in done.stderr


TABLE = "TABLE"


@pytest.mark.parametrize("words, code, message", [
    (["decode", TABLE], USAGE, "quic: missing operand; the operands are: decode|encode|server-config TABLE CID/IP"),
    (["guess", TABLE, "00"], USAGE, "quic: unknown action 'guess': decode, encode or server-config"),
    (["decode", TABLE, ""], USAGE, "quic: decode: CID: '' is not 1 to 255 bytes in hex"),
    (["decode", TABLE, "0"], USAGE, "quic: decode: CID: '0' is not 1 to 255 bytes in hex"),
    (["decode", TABLE, "072"], USAGE, "quic: decode: CID: '072' is not 1 to 255 bytes in hex"),
    (["decode", TABLE, "0x07"], USAGE, "quic: decode: CID: '0x07' is not 1 to 255 bytes in hex"),
    (["decode", TABLE, "00" * 256], USAGE, f"quic: decode: CID: '{'00' * 256}' is not 1 to 255 bytes in hex"),
    (["decode", TABLE, "07", "--nonce", "00"], USAGE, "quic: --nonce is not for decode"),
    (["decode", TABLE, "07", "--id", "0"], USAGE, "quic: --id is not for decode"),
    (["decode", TABLE, "07", "--for", "envoy"], USAGE, "quic: --for is not for decode"),
    (["server-config", TABLE, "192.168.50.1"], USAGE, "quic: server-config: name the program with --for"),
    (["server-config", TABLE, "192.168.50.1", "--for", "redirect", "--json"], USAGE, "quic: --json is not for server-config"),
    (["encode", TABLE, "192.168.50.1", "--id", "7"], USAGE, "quic: --id: '7' is not a number from 0 to 6"),
    (["encode", TABLE, "192.168.50.1", "--id", "0", "--nonce", "0011223344"], USAGE, "quic: --nonce: '0011223344' is not 4 bytes in hex"),
    (["encode", TABLE, "proxy"], USAGE, "quic: encode: IP: 'proxy' is not an address"),
    (["encode", TABLE, "192.168.50.9"], FAILED, "TABLE: the table with `quic` has no backend 192.168.50.9"),
    (["encode", TABLE, "192.168.50.3"], FAILED, "TABLE: backend 192.168.50.3 has no server ID for a configuration"),
    (["encode", TABLE, "192.168.50.1", "--id", "3"], FAILED, "TABLE: backend 192.168.50.1 has no server ID for configuration 3"),
    (["encode", TABLE, "192.168.50.1"], FAILED, "TABLE: backend 192.168.50.1 has server IDs for 2 configurations: choose one with --id"),
    (["server-config", TABLE, "192.168.50.3", "--for", "redirect"], FAILED, "TABLE: backend 192.168.50.3 has no server ID for a configuration"),
    (["decode", TABLE, "07", "--table", "mail"], FAILED, "TABLE: there is no table 'mail'; the file has: web"),
])
def test_faults(path, words, code, message):
    done = run("quic", *[path if word == TABLE else word for word in words], code=code)
    assert done.stdout == ""
    assert done.stderr.splitlines()[0].replace(str(path), "TABLE") == f"glb-director-cli: {message}"
    assert KEY not in done.stderr


def test_tables_without_quic_and_several_with(tmp_path):
    plain = table("mail", hash_key=3, binds=[])
    path = write_tables(tmp_path / "plain.json", plain)
    assert "no table has `quic`" in run("quic", "decode", path, "07", code=FAILED).stderr
    assert "table mail has no `quic`" in run("quic", "decode", path, "07", "--table", "mail", code=FAILED).stderr
    path = write_tables(tmp_path / "both.json", plain, quic_table(hash_key=4))
    assert run_json("quic", "decode", path, "0720b1d07b359d3c")["table"] == "web"
    path = write_tables(tmp_path / "three.json", plain, quic_table(hash_key=4), quic_table("web2", hash_key=5) | {"binds": []})
    assert "2 tables have `quic`: choose one with --table" in run("quic", "decode", path, "07", code=FAILED).stderr
    assert run_json("quic", "decode", path, "0720b1d07b359d3c", "--table", "#2")["table"] == "web2"


def test_keys_are_only_in_server_config(path):
    for words in (["decode", path, "0720b1d07b359d3c"], ["encode", path, "192.168.50.1", "--id", "0"]):
        done = run("quic", *words, "--json")
        assert KEY not in done.stdout and KEY not in done.stderr


def test_completion(path):
    assert complete("quic", "") == ["decode", "encode", "server-config"]
    assert complete("quic", "encode", str(path), "") == ["192.168.50.1", "192.168.50.2", "192.168.50.3"]
    assert complete("quic", "server-config", str(path), "192.168.50.1", "--for", "") == ["quic-go", "envoy", "redirect", "nginx", "haproxy"]
