# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli edit adds and removes QUIC configurations, chooses server IDs that nobody has or had, and shows no key."""

import json

import pytest

from support.cli import CHECK_ERRORS, FAILED, OK, USAGE, complete, run, run_json, table

KEY = "5a1bc3d4e5f60718293a4b5c6d7e8f90"
UDP = {"ip": "10.10.10.10", "proto": "udp", "port": 443}


def write(path, *tables):
    path.write_text(json.dumps({"tables": list(tables)}, indent=2))
    return path


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "t.json", table(binds=[UDP]))


def read(path, index=0):
    return json.loads(path.read_text())["tables"][index]


def server_ids(path):
    return [each.get("server_id") for each in read(path)["backends"]]


def edit(path, *words, code=OK):
    return run("edit", path, *words, "--max-broken", "100", code=code)


def test_a_configuration_comes_with_server_ids(file):
    done = edit(file, "add-quic", 0)
    config, ids = read(file)["quic"], server_ids(file)
    assert len(config) == 1 and config[0].keys() == {"id", "server_id_length", "nonce_length", "key"}
    assert (config[0]["id"], config[0]["server_id_length"], config[0]["nonce_length"]) == (0, 3, 8)
    assert len(bytes.fromhex(config[0]["key"])) == 16 and len(set(ids)) == 3 and all(len(bytes.fromhex(each)) == 3 for each in ids)
    assert "web: QUIC configuration 0: added" in done.stdout
    assert f'web: backend 192.168.50.1: active -> active, server_id "{ids[0]}"' in done.stdout
    assert config[0]["key"] not in done.stdout + done.stderr
    edit(file, "set", "10.10.10.10:443/udp", "quic=true")
    edit(file, "add", "192.168.50.9")
    assert len(set(server_ids(file))) == 4 and len(bytes.fromhex(server_ids(file)[3])) == 3
    run("check", file)


def test_two_lengths_are_two_server_ids(file):
    edit(file, "add-quic", 0, f"key={KEY}")
    three = server_ids(file)
    edit(file, "add-quic", 6, "server_id_length=5", "nonce_length=11", "key=none")
    edit(file, "add-quic", 1, "nonce_length=10")
    edit(file, "add", "192.168.50.9")
    assert [[len(each) for each in ids] for ids in server_ids(file)] == [[6, 10]] * 4
    assert [ids[0] for ids in server_ids(file)][:3] == three
    assert read(file)["quic"][0]["key"] == KEY and "key" not in read(file)["quic"][1]
    edit(file, "remove-quic", 0)
    assert [len(ids) for ids in server_ids(file)] == [2] * 4
    edit(file, "remove-quic", 1)
    assert [len(ids) for ids in server_ids(file)] == [10] * 4


def test_the_last_configuration_takes_quic_off_the_table(file):
    before = read(file)
    edit(file, "add-quic", 0)
    edit(file, "set", "10.10.10.10:443/udp", "quic=true")
    assert "bind quic 10.10.10.10 port 443 removed" in edit(file, "remove-quic", 0).stdout
    assert read(file) == before


def test_binds(file):
    edit(file, "add-quic", 0)
    assert "bind quic 10.10.10.10 port 443 added" in edit(file, "set", "10.10.10.10:443/udp", "quic=true").stdout
    edit(file, "add-bind", "[2001:db8::1]:443-444/quic")
    assert read(file)["binds"] == [{**UDP, "quic": True}, {"ip": "2001:db8::1", "proto": "udp", "port_start": 443, "port_end": 444, "quic": True}]
    edit(file, "set", "10.10.10.10:443/quic", "[2001:db8::1]:443-444/udp", "quic=none")
    assert all("quic" not in bind for bind in read(file)["binds"])
    edit(file, "remove-bind", "10.10.10.10:443/quic", "--force")
    assert len(read(file)["binds"]) == 1


def test_a_server_id_that_was_used_is_not_chosen(tmp_path):
    """Of 256 server IDs of a byte, backends have 200, a previous state has 55 others, and one is left."""
    ips = [f"192.168.51.{i}" for i in range(200)]
    past = [{"ip": f"192.168.52.{i - 200}", "server_id": f"{i:02x}"} for i in range(200, 256) if i != 211]
    path = write(tmp_path / "t.json", table(
        backends=[{"ip": ip, "state": "active", "healthy": True, "server_id": f"{i:02x}"} for i, ip in enumerate(ips)], binds=[{**UDP, "quic": True}],
        quic=[{"id": 0, "server_id_length": 1, "nonce_length": 8, "key": KEY}], previous=[{"time": "2026-11-20T00:00:00Z", "backends": [{"ip": ips[0]}, *past]}]))
    edit(path, "add", "192.168.50.1", "--keep", "9000h")
    assert server_ids(path)[-1] == "d3"
    before = path.read_bytes()
    assert "all server IDs of 1 byte are taken: use a QUIC configuration with longer ones" in edit(path, "add", "192.168.50.2", "--keep", "9000h", code=FAILED).stderr
    assert path.read_bytes() == before


def test_the_previous_state_remembers_server_ids(file):
    edit(file, "add-quic", 0)
    edit(file, "set", "10.10.10.10:443/udp", "quic=true")
    gone = server_ids(file)[0]
    edit(file, "drain", "192.168.50.1")
    edit(file, "remove", "192.168.50.1")
    assert {"ip": "192.168.50.1", "server_id": gone} in [each for state in read(file)["previous"] for each in state["backends"]]
    before = document = file.read_bytes()
    done = edit(file, "set", "192.168.50.2", f"server_id={gone}", code=FAILED)
    assert f"'{gone}' was the server ID of 192.168.50.1 in previous[" in done.stderr and file.read_bytes() == before
    document = json.loads(document)
    document["tables"][0]["backends"][0]["server_id"] = gone
    file.write_text(json.dumps(document))
    run("check", file, code=CHECK_ERRORS)
    run("build-config", file, file.parent / "t.bin")
    run("check", file.parent / "t.bin", code=CHECK_ERRORS)


@pytest.mark.parametrize("words, error", [
    (["add-quic", "7"], "'7' is not the id of a configuration, 0 to 6"),
    (["add-quic", "x"], "'x' is not the id of a configuration, 0 to 6"),
    (["add-quic", "0", "colour=1"], "'colour': the keys of a QUIC configuration are server_id_length, nonce_length, key"),
    (["add-quic", "0", f"keys={KEY}"], "'keys': the keys of a QUIC configuration are server_id_length, nonce_length, key"),
    (["add-quic", "0", "1"], "'1' is not KEY=VALUE"),
    (["remove-quic", "8"], "'8' is not the id of a configuration, 0 to 6"),
    (["set", "10.10.10.10:443/udp", "colour=1"], "'colour': the keys of a bind are quic"),
    (["set", "10.10.10.10:443/udp", "192.168.50.1", "quic=true"], "'192.168.50.1' is not a bind"),
])
def test_usage(file, words, error):
    done = edit(file, *words, code=USAGE)
    assert error in done.stderr and KEY not in done.stderr


@pytest.mark.parametrize("words, error", [
    (["add-quic", "0"], "'0' is listed twice: quic[0] has this id already"),
    (["add-quic", "1", "nonce_length=17"], "server_id_length and nonce_length must be at most 19 together"),
    (["add-quic", "1", "nonce_length=3"], "'3' is not an integer from 4 to 18"),
    (["add-quic", "1", "nonce_length=x"], "'x' (a string) is not an integer from 4 to 18"),
    (["add-quic", "1", "server_id_length=256"], "'256' is not an integer from 1 to 15"),
    (["add-quic", "1", f"key={KEY}0"], f"'{KEY[:8]}...' (33 characters) is not exactly 32 hex digits"),
    (["remove-quic", "1"], "1 is not a QUIC configuration of the selected tables"),
    (["add-quic", "1", "key=none"], "'3' is also that of quic[0], and only one of both has a key"),
    (["set", "10.10.10.10:80/tcp", "quic=true"], "is true, but the bind is for tcp"),
    (["set", "10.10.10.11:443/udp", "quic=true"], "10.10.10.11:443/udp is not a bind of the selected tables"),
])
def test_errors(file, words, error):
    edit(file, "add-quic", 0)
    edit(file, "add-bind", "10.10.10.10:80/tcp")
    before = file.read_bytes()
    done = edit(file, *words, code=FAILED)
    assert error in done.stderr and file.read_bytes() == before and KEY not in done.stderr


def test_several_tables(tmp_path):
    path = write(tmp_path / "t.json", table("a", binds=[UDP]), table("b", hash_key=2, binds=[{**UDP, "port": 444}]))
    assert "say which one with --table" in edit(path, "add-quic", 0, code=FAILED).stderr
    edit(path, "add-quic", 0, "--all-tables")
    keys = {read(path, index)["quic"][0]["key"] for index in range(2)}
    assert len(keys) == 2
    edit(path, "remove-quic", 0, "--table", "b")
    assert "quic" not in read(path, 1) and read(path)["quic"]


def test_completion():
    assert {"add-quic", "remove-quic"} <= set(complete("edit", "t.json", ""))


# Other subcommands


SERVERS = [{"ip": f"192.168.50.{i}", "state": "active", "healthy": True, "server_id": f"{i:06x}"} for i in (1, 2, 3)]
CONFIG = {"id": 0, "server_id_length": 3, "nonce_length": 8, "key": KEY}
OTHER = "6b1bc3d4e5f60718293a4b5c6d7e8f90"


def quic_table(*configs, **members):
    return table(**{"backends": SERVERS, "binds": [{**UDP, "quic": True}], "hops": 4, "quic": list(configs), **members})


def test_show_has_no_key(tmp_path):
    path = write(tmp_path / "t.json", quic_table(CONFIG, {"id": 6, "server_id_length": 5, "nonce_length": 11}))
    run("build-config", path, tmp_path / "t.bin")
    for file in (path, tmp_path / "t.bin"):
        text = run("show", file).stdout
        assert "\n  QUIC configuration 0: server_id_length 3, nonce_length 8, with a key\n  QUIC configuration 6: server_id_length 5, nonce_length 11, without key\n" in text
        assert "\n  binds  quic 10.10.10.10 port 443\n" in text and "\n  192.168.50.2    000002\n" in text
        (shown,) = run_json("show", file)["tables"]
        assert shown["quic"] == [{"id": 0, "server_id_length": 3, "nonce_length": 8, "keyed": True}, {"id": 6, "server_id_length": 5, "nonce_length": 11, "keyed": False}]
        assert shown["binds"][0]["quic"] is True and [each["server_ids"] for each in shown["backends"]] == [["000001"], ["000002"], ["000003"]]
        assert KEY not in text + json.dumps(shown)


@pytest.mark.parametrize("configs, change, warned", [
    ([{**CONFIG, "key": OTHER}], "another key", True),
    ([{**CONFIG, "nonce_length": 9}], "other lengths", True),
    ([CONFIG, {**CONFIG, "id": 1}], "added", False),
    ([{**CONFIG, "id": 1}], "removed", True),
    ([], "removed", True),
])
def test_diff_and_guard_tell_what_becomes_of_configurations(tmp_path, configs, change, warned):
    old = write(tmp_path / "old.json", quic_table(CONFIG))
    new = quic_table(*configs)
    if not configs:
        new |= {"quic": None, "binds": [UDP], "backends": [{**each, "server_id": None} for each in SERVERS]}
    new = write(tmp_path / "new.json", new)
    assert change in run("diff", old, new).stdout
    changes = {each["id"]: each["change"] for each in run_json("diff", old, new)["tables"][0]["quic"]}
    assert changes[1 if change == "added" else 0] == change
    assert run_json("show", old)["digest"] != run_json("show", new)["digest"]
    (tmp_path / "old.json~").write_text(new.read_text())
    done = run("undo", old, "--max-broken", "100", "--dry-run")
    assert ("table web loses or changes QUIC configuration 0: connections" in done.stderr) == warned
    assert KEY not in done.stdout + done.stderr and OTHER not in done.stdout + done.stderr


def test_udp_flows_that_keep_their_proxy_are_not_counted_as_moved(tmp_path):
    old = write(tmp_path / "old.json", quic_table(CONFIG))
    drained = [{**SERVERS[0], "state": "draining"}, *SERVERS[1:]]
    kept = write(tmp_path / "kept.json", quic_table(CONFIG, backends=drained))
    (found,) = run_json("diff", old, kept)["tables"]
    assert (found["udp_binds"], found["udp_moved_rows"]) == (0, 0) and found["changed_rows"] > 20000
    lost = write(tmp_path / "lost.json", quic_table({**CONFIG, "key": OTHER}, backends=drained))
    (found,) = run_json("diff", old, lost)["tables"]
    assert found["udp_binds"] == 1 and found["udp_moved_rows"] == found["changed_rows"]


def test_plan_orders_directors_and_servers(tmp_path):
    """CURRENT has configuration 0, and WANTED has 1 instead. A proxy leaves, and another one joins."""
    current = write(tmp_path / "current.json", quic_table(CONFIG))
    joined = {"ip": "192.168.50.9", "state": "active", "healthy": True, "server_id": "000009"}
    wanted = write(tmp_path / "wanted.json", quic_table({**CONFIG, "id": 1, "key": OTHER}, backends=[*SERVERS[:2], joined]))
    found = run_json("plan", current, wanted, "--write", tmp_path / "plan")
    assert found["quic"] == [
        "table web: QUIC configuration 0 goes: before step 1, let the servers use another one, and wait until the connections that have its connection IDs have ended",
        "table web: QUIC configuration 1 is new: the servers may use it when all directors use the table of step 1"]
    first = json.loads((tmp_path / "plan/1.json").read_text())["tables"][0]
    assert {each["ip"]: each["server_id"] for each in first["backends"]} == {
        **{each["ip"]: each["server_id"] for each in SERVERS}, "192.168.50.9": "000009"}
    for step in sorted((tmp_path / "plan").glob("*.json")):
        run("check", step)
    assert "QUIC configuration 0 goes: before step 1" in " ".join(run("plan", current, wanted).stdout.split())


def test_plan_of_a_new_key_alone(tmp_path):
    current = write(tmp_path / "current.json", quic_table(CONFIG))
    wanted = write(tmp_path / "wanted.json", quic_table({**CONFIG, "key": OTHER}, backends=[{**SERVERS[0], "server_id": "0000ff"}, *SERVERS[1:]]))
    found = run_json("plan", current, wanted)
    assert len(found["steps"]) == 1 and found["plan"]["broken_rows"] == 0
    assert ["has another key" in found["quic"][0], "proxy 192.168.50.1 gets another server_id" in found["quic"][1]] == [True, True]
