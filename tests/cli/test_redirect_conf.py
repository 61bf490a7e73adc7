# SPDX-License-Identifier: BSD-3-Clause
"""The faults of redirect.conf, each with its line and key. `glb-redirect` and `glb-director-cli check` read it with the same code."""

import json

import pytest

from support.cli import CHECK_ERRORS, CHECK_WARNINGS, OK, run
from support.tree import TREE

FROM = 'allow_from = ["192.0.2.0/24"];\n'


def quic(*entries, server_id_length=3, nonce_length=8, server_id="ed793a"):
    rest = f'server_id_length = {server_id_length}; nonce_length = {nonce_length}; server_id = "{server_id}";'
    return "quic = ( " + ", ".join(f"{{ {entry} {rest} }}" for entry in entries or [""]) + " );"


FAULTS = [
    ('allow_form = ["192.0.2.0/24"];', "allow_form: unknown key; did you mean allow_from?"),
    ('allow_from = "192.0.2.0/24";', "allow_from: '192.0.2.0/24' (in quotes) is not a list like"),
    ("allow_from = [];", "allow_from: is empty, so this host would accept no packet; name the directors and the proxies"),
    ('allow_from = ["192.0.2.0/24", "192.0.2.1/24"];',
     "allow_from[1]: '192.0.2.1/24' has bits after the prefix; write \"192.0.2.0/24\", or the address alone"),
    ('allow_from = ["192.0.2.0/33"];', "allow_from[0]: '192.0.2.0/33' is not an address or a prefix like"),
    ('allow_from = ["192.0.2"];', "allow_from[0]: '192.0.2' is not an address or a prefix like"),
    ('allow_from = ["director-1"];', "allow_from[0]: 'director-1' is not an address or a prefix like"),
    ("allow_from = [1];", "allow_from[0]: '1' (a number) is not an address or a prefix like"),
    ('allow_from = ["::ffff:192.0.2.1"];', "allow_from[0]: '::ffff:192.0.2.1' is an IPv4-mapped address; write the IPv4 address"),
    ('allow_from = ["2001:db8::/32", "fe80::/64"];', "allow_from[1]: 'fe80::/64' is link-local, but directors and proxies send to and from"),
    ('allow_from = ["ff02::1"];', "allow_from[0]: 'ff02::1' is not a unicast address of another host"),
    ('allow_from = ["::"];', "allow_from[0]: '::' is not a unicast address of another host"),
    ('allow_from = ["192.0.2.0/24",\n\t"192.0.2.0/024"];', "allow_from[1]: "),
    (FROM + FROM, "allow_from: "),
    (FROM + 'allow_to = "locally";', "allow_to: 'locally' is neither \"local\" nor a list like"),
    (FROM + "allow_to = [];", "allow_to: is empty, so this host would accept no packet; name the VIPs, or write \"local\""),
    (FROM + 'allow_to = ["local"];', "allow_to[0]: 'local' is not an address or a prefix like"),
    (FROM + 'allow_to = ["2001:db8::1/64"];', "allow_to[0]: '2001:db8::1/64' has bits after the prefix; write \"2001:db8::/64\""),
    (FROM + 'next_hops = ["::1"];', "next_hops[0]: '::1' is not a unicast address of another host"),
    (FROM + "next_hops = false;", "next_hops: 'false' is not a list like"),
    (FROM + "max_hops = 31;", "max_hops: '31' is not an integer from 0 to 30"),
    (FROM + "max_hops = -1;", "max_hops: '-1' is not an integer from 0 to 30"),
    (FROM + 'max_hops = "4";', "max_hops: '4' (in quotes) is not an integer from 0 to 30"),
    (FROM + "max_hops = 4294967300;", "'4294967300' does not fit an integer"),
    (FROM + "allow_to = [", ""),
    (FROM + "quic = ();", "quic: '()' is not a list like"),
    (FROM + "quic = ( 1 );", "quic[0]: "),
    (FROM + quic('id = 7;'), "quic[0].id: '7' is not an integer from 0 to 6"),
    (FROM + quic(), "quic[0].id: missing"),
    (FROM + quic("id = 1;", server_id_length=0), "quic[0].server_id_length: '0' is not an integer from 1 to 15"),
    (FROM + quic("id = 1;", nonce_length=3), "quic[0].nonce_length: '3' is not an integer from 4 to 18"),
    (FROM + quic("id = 1;", nonce_length=17), "quic[0]: server_id_length and nonce_length must be at most 19 together"),
    (FROM + quic("id = 1;", server_id="ed79"), "quic[0].server_id: 'ed79' is not 6 hex digits, which server_id_length asks for"),
    (FROM + quic("id = 1;", server_id="ed793a00"), "quic[0].server_id: 'ed793a00' is not 6 hex digits, which server_id_length asks for"),
    (FROM + quic("id = 1;", server_id="ed793g"), "quic[0].server_id: 'ed793g' is not 6 hex digits, which server_id_length asks for"),
    (FROM + quic("id = 1; address = 1;"), "quic[0].address: unknown key"),
    (FROM + quic("id = 1;", "id = 1;"), "quic[1].id: 1 is the ID of an earlier configuration"),
    (FROM + 'quic_table = "table.json";', "quic_table: 'table.json' is not a full path, which begins with '/'"),
    (FROM + 'quic_table = "/nonexistent/table.json";', "quic_table: /nonexistent/table.json: "),
]
SECRET = "5ec5e7c0ffee5ec5e7c0ffee5ec5e7c0"


def check(path, code):
    return run("check", "--kind", "redirect", path, code=code).stderr


@pytest.mark.parametrize("text, says", FAULTS, ids=[text.splitlines()[-1] for text, _ in FAULTS])
def test_fault_names_line_and_key(tmp_path, text, says):
    path = tmp_path / "redirect.conf"
    path.write_text(text + "\n")
    # The fault is in the last line with a key, or in the next line of its list.
    line = len(text.splitlines())
    printed = check(path, CHECK_ERRORS)
    assert f"{path}:{line}: {says}" in printed
    assert len(printed.splitlines()) == 1


def test_all_faults_are_reported(tmp_path):
    path = tmp_path / "x"
    path.write_text('allow_from = ["a", "b"];\nnext_hops = 1;\nfrob = 2;\n')
    assert [line.split(": ")[2] for line in check(path, CHECK_ERRORS).splitlines()] == ["allow_from[0]", "allow_from[1]", "next_hops", "frob"]


@pytest.mark.parametrize("text, says", [
    ("max_hops = 3;\n", "allow_from: missing, so this host accepts packets from any sender"),
    ('allow_from = ["192.0.2.1", "::/0"];\n', ":1: allow_from: has ::/0, so this host accepts packets from any sender"),
    ('allow_from = ["0.0.0.0/0"];\n', ":1: allow_from: has 0.0.0.0/0, so this host accepts packets from any sender"),
    ("", "allow_from: missing"),
])
def test_open_host_is_a_warning(tmp_path, text, says):
    path = tmp_path / "redirect.conf"
    path.write_text(text)
    assert says in check(path, CHECK_WARNINGS)


@pytest.mark.parametrize("text", [
    FROM, FROM + 'allow_to = "local";', FROM + "next_hops = [];", FROM + "max_hops = 0;", FROM.replace("[", "(").replace("]", ")"),
    FROM + quic("id = 0;", f'id = 6; key = "{SECRET}";'), FROM + 'allow_to = ["203.0.113.10", "2001:db8::/32", "::/0", "0.0.0.0/0"];', 'allow_from = ["192.0.2.1", "192.0.2.1/32"];',
    'allow_from = ["192.0.2.0/24", "2001:db8::/32"]; next_hops = ["2001:db8::1"];',
])
def test_valid(tmp_path, text):
    path = tmp_path / "redirect.conf"
    path.write_text(text)
    assert check(path, OK) == ""


def test_example_has_every_key():
    text = (TREE / "config/redirect.conf").read_text()
    assert check(TREE / "config/redirect.conf", OK) == ""
    for key in ("allow_from", "allow_to", "next_hops", "max_hops"):
        assert f"\n{key} = " in text or f"\n#{key} = " in text
    assert text.count("#max_hops = 8;") == 1


def test_example_with_its_comments_is_valid(tmp_path):
    lines = (TREE / "config/redirect.conf").read_text().splitlines()
    settings = [line[1:] for line in lines if line.startswith("#") and line.endswith(";") and " = " in line and line[1] != " "]
    assert len(settings) == 6
    settings = [line for line in settings if not line.startswith("quic_table")]  # there is no such file here
    path = tmp_path / "redirect.conf"
    path.write_text("\n".join([*lines, *settings[1:]]))
    assert check(path, OK) == ""


@pytest.mark.parametrize("key", [f'"{SECRET}0"', f'"{SECRET[:-1]}"', f'"{SECRET[:-1]}g"', f'"{SECRET} "', "1540", '""', f'["{SECRET}"]'])
def test_no_message_shows_a_key(tmp_path, key):
    path = tmp_path / "redirect.conf"
    path.write_text(FROM + quic(f"id = 1; key = {key};") + "\n")
    printed = check(path, CHECK_ERRORS)
    assert printed == f"glb-director-cli: {path}:2: quic[0].key: is not a text of 32 hex digits\n"


def table(config, *backends, **more):
    return {"name": more.pop("name", "web"), "hash_key": "12345678901234561234567890123456", "seed": "34567890123456783456789012345678",
            "quic": [{"server_id_length": 1, "nonce_length": 4, "key": SECRET, **config}] if config else [],
            "binds": [{"ip": more.pop("vip", "203.0.113.1") + "/32", "proto": "udp", "port": 443, "quic": True}],
            "backends": [{"ip": ip, "state": "active", "healthy": True, "server_id": id_} for ip, id_ in backends], **more}


A, B = ("192.0.2.1", "0a"), ("192.0.2.2", "0b")


def of_table(tmp_path, *tables):
    (tmp_path / "table.json").write_text(json.dumps({"tables": tables}))
    path = tmp_path / "redirect.conf"
    path.write_text(FROM + f'quic_table = "{tmp_path}/table.json";\n')
    return path


@pytest.mark.parametrize("second", [{"nonce_length": 5}, {"key": SECRET[::-1]}])
def test_tables_that_a_packet_does_not_tell_apart(tmp_path, second):
    path = of_table(tmp_path, table({"id": 2}, A, B), table({"id": 2, **second}, A, B, name="api", vip="203.0.113.2"))
    printed = check(path, CHECK_ERRORS)
    assert f"{path}:2: quic_table: '{tmp_path}/table.json': table 'api' has another configuration 2 than an earlier table" in printed
    assert SECRET not in printed and SECRET[::-1] not in printed
    run("check", "--kind", "redirect", of_table(tmp_path, table({"id": 2}, A, B), table({"id": 3, **second}, A, B, name="api", vip="203.0.113.2")))


def test_two_tables_give_a_server_id_to_two_proxies(tmp_path):
    second = table({"id": 2}, ("192.0.2.3", "0a"), B, name="api", vip="203.0.113.2")
    printed = check(of_table(tmp_path, table({"id": 2}, A, B), second), CHECK_ERRORS)
    assert "backends 192.0.2.1 and 192.0.2.3 of different tables have the same server ID for configuration 2" in printed


def test_quic_and_quic_table_exclude_each_other(tmp_path):
    path = of_table(tmp_path, table({"id": 2}, A, B))
    path.write_text(path.read_text() + quic("id = 1;") + "\n")
    assert f"{path}:2: quic_table: has all configurations; remove the key quic" in check(path, CHECK_ERRORS)


def test_errors_of_the_table(tmp_path):
    path = of_table(tmp_path, table({"id": 9}, A, B))
    assert f"{path}:2: quic_table: {tmp_path}/table.json:" in check(path, CHECK_ERRORS)
    (tmp_path / "table.json").write_text("")
    assert f"quic_table: {tmp_path}/table.json: is empty" in check(path, CHECK_ERRORS)


def test_a_table_without_quic(tmp_path):
    plain = table(None, ("192.0.2.1", None), ("192.0.2.2", None))
    del plain["quic"], plain["binds"][0]["quic"]
    for backend in plain["backends"]:
        del backend["server_id"]
    assert "no table has a QUIC configuration, so connection IDs decide nothing" in check(of_table(tmp_path, plain), CHECK_WARNINGS)
