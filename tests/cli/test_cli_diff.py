# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli diff: what a new table does to the connections of the old one."""

import ipaddress
import json
import random

import pytest

import model
from model import load_tables
from support.cli import BROKEN, FAILED, OK, USAGE, backend, run, run_json, table, write_tables

VIP, OTHER = "10.10.10.10", "10.10.10.11"


def bind(ip=VIP, port=80, proto="tcp", last=None):
    return {"ip": ip, "proto": proto, "port_start": port, "port_end": last or port}


def changes(found):
    """[(ip, first port, change, in part, destination)] of all tables"""
    return [(b["ip"], b["port_start"], b["change"], b["part"], b["to"]) for t in found["tables"] for b in t["binds"]]


@pytest.fixture
def compare(tmp_path):
    """compare(old tables, new tables) runs diff on JSON files and returns its JSON output."""

    def run_diff(old, new, *args, code=BROKEN):
        paths = write_tables(tmp_path / "old.json", *old), write_tables(tmp_path / "new.json", *new)
        return run_json("diff", *paths, *args, code=code)

    return run_diff


@pytest.fixture
def files(tmp_path):
    run("build-config", write_tables(tmp_path / "table.json", table()), tmp_path / "table.bin")
    return tmp_path


def diff(old, new, *args, code=OK):
    return run_json("diff", old, new, *args, code=code)


def first_hop_rows(source, address):
    rows = load_tables(json.loads(source.read_text()))[0].all_rows()
    return sum(str(ipaddress.ip_address(row[0].address)) == address for row in rows)


def test_diff_of_equal_tables_is_empty(files):
    found = diff(files / "table.json", files / "table.bin")
    assert set(found) == {"rows", "changed_rows", "changed_percent", "broken_rows", "broken_percent", "at_risk_rows",
                          "at_risk_percent", "broken_by", "skew_rows", "skew_percent", "udp_moved_rows", "tables", "checks"}
    assert (found["rows"], found["changed_rows"], found["broken_rows"]) == (65536, 0, 0)
    assert set(found["tables"][0]) == {
        "name", "old_name", "index", "table", "hash_key_changed", "binds_changed", "seed_known", "changed_rows", "changed_percent",
        "broken_rows", "broken_percent", "at_risk_rows", "at_risk_percent", "broken_by", "skew_rows", "skew_percent",
        "udp_binds", "udp_moved_rows", "quic", "binds", "backends"}


def test_draining_changes_rows_and_breaks_none(tmp_path):
    drained = [backend("192.168.50.1", "draining"), backend("192.168.50.2"), backend("192.168.50.3")]
    old = write_tables(tmp_path / "old.json", table())
    new = write_tables(tmp_path / "new.json", table(backends=drained))
    found = diff(old, new)["tables"][0]
    owned = first_hop_rows(old, "192.168.50.1")
    assert (found["changed_rows"], found["broken_rows"]) == (owned, 0)
    by_ip = {entry["ip"]: entry for entry in found["backends"]}
    assert by_ip["192.168.50.1"]["lost"] == owned and by_ip["192.168.50.1"]["gained"] == 0
    assert by_ip["192.168.50.2"]["gained"] + by_ip["192.168.50.3"]["gained"] == owned
    assert by_ip["192.168.50.1"]["old"] == {"state": "active", "healthy": True, "weight": 100, "first_hop_rows": owned, "server_ids": []}
    assert by_ip["192.168.50.1"]["new"] == {"state": "draining", "healthy": True, "weight": 100, "first_hop_rows": 0, "server_ids": []}
    assert "0 break (0.00%)" in run("diff", old, new).stdout


def test_udp_flows_of_a_drained_proxy_move_at_once_if_proxies_keep_udp_at_the_first_hop(tmp_path):
    """glb-redirect --udp first-hop, the default, has no second chance for UDP: every row that changes moves its flows."""
    drained = [backend("192.168.50.1", "draining"), backend("192.168.50.2"), backend("192.168.50.3")]
    binds = [bind(port=80), bind(port=53, proto="udp"), bind(port=53)]
    old = write_tables(tmp_path / "old.json", table(binds=binds))
    new = write_tables(tmp_path / "new.json", table(binds=binds, backends=drained))
    owned, found = first_hop_rows(old, "192.168.50.1"), diff(old, new)
    assert found["broken_rows"] == 0 and found["udp_moved_rows"] == owned
    assert (found["tables"][0]["udp_binds"], found["tables"][0]["udp_moved_rows"]) == (1, owned)
    for words in (["diff", old, new], ["edit", old, "drain", "192.168.50.1", "--dry-run"], ["plan", old, new]):
        shown = " ".join(run(*words).stdout.split())
        assert f"UDP (1 of 3 binds): flows of {owned} rows move to another proxy at once" in shown, words
        assert "--udp first-hop, the default" in shown
    # Nothing is said about tables without UDP binds, and about changes that move no row.
    tcp = write_tables(tmp_path / "tcp.json", table()), write_tables(tmp_path / "tcp2.json", table(backends=drained))
    assert "UDP" not in run("diff", *tcp).stdout + run("diff", old, old).stdout
    assert diff(*tcp)["udp_moved_rows"] == 0


def test_removing_a_backend_breaks_its_rows_and_fails_max_broken(tmp_path):
    old = write_tables(tmp_path / "old.json", table(backends=4))
    new = write_tables(tmp_path / "new.json", table(backends=3))
    found = diff(old, new, code=BROKEN)
    owned = first_hop_rows(old, "192.168.50.4")
    assert found["broken_rows"] == found["changed_rows"] == owned > 0
    assert found["broken_percent"] == pytest.approx(owned / 655.36)
    assert next(entry for entry in found["tables"][0]["backends"] if entry["ip"] == "192.168.50.4")["new"] is None
    share = owned / 655.36
    assert diff(old, new, "--max-broken", f"{share + 0.01:.2f}")["broken_rows"] == owned
    diff(old, new, "--max-broken", f"{share - 0.01:.2f}", code=BROKEN)
    diff(old, new, "--max-broken", "0", code=BROKEN)
    run("diff", old, new, code=BROKEN)


def test_adding_backends_breaks_only_rows_with_more_than_one_new_hop(tmp_path):
    old = write_tables(tmp_path / "old.json", table(backends=3))
    new = write_tables(tmp_path / "new.json", table(backends=4))
    found = diff(old, new)
    assert found["broken_rows"] == 0
    gained = {entry["ip"]: entry["gained"] for entry in found["tables"][0]["backends"] if entry["gained"]}
    assert gained == {"192.168.50.4": found["changed_rows"]}


def test_a_changed_hash_key_breaks_every_row(tmp_path):
    old = write_tables(tmp_path / "old.json", table(hash_key=1))
    new = write_tables(tmp_path / "new.json", table(hash_key=2))
    found = diff(old, new, code=BROKEN)
    assert found["tables"][0]["hash_key_changed"] and found["broken_rows"] == found["changed_rows"] == 65536
    assert "hash_key changed" in run("diff", old, new, code=BROKEN).stdout
    diff(old, new, "--max-broken", "100")


def test_tables_are_paired_by_name_in_any_order(compare):
    one, two, three = (table(name, size, hash_key=size, binds=[bind(f"10.0.0.{size}")])
                       for name, size in (("one", 3), ("two", 5), ("three", 6)))
    found = compare([one, two], [two, one, three], code=OK)
    assert [(entry["name"], entry["table"]) for entry in found["tables"]] == [
        ("two", "kept"), ("one", "kept"), ("three", "added")]
    assert (found["rows"], found["broken_rows"]) == (2 * 65536, 0)
    found = compare([two, one, three], [one, two])
    assert [(entry["name"], entry["table"]) for entry in found["tables"]][-1] == ("three", "removed")
    assert (found["rows"], found["broken_rows"]) == (3 * 65536, 65536)


def test_diff_names_a_bad_file(files):
    assert "missing.bin" in run("diff", files / "table.bin", files / "missing.bin", code=FAILED).stderr
    assert "missing.bin" in run("diff", files / "missing.bin", files / "table.bin", code=FAILED).stderr


# Binds


def test_a_vip_that_moves_to_another_address_breaks_every_row(compare, tmp_path):
    found = compare([table()], [table(binds=[bind(OTHER)])])
    assert (found["broken_rows"], found["broken_percent"], found["changed_rows"]) == (65536, 100.0, 65536)
    assert changes(found) == [(VIP, 80, "lost", False, None), (OTHER, 80, "added", False, None)]
    text = run("diff", tmp_path / "old.json", tmp_path / "new.json", "--max-broken", "99.99", code=BROKEN).stdout
    assert "table web: 65536 rows change (100.00%), 65536 break (100.00%)\n" in text
    assert "  bind lost           tcp 10.10.10.10 port 80\n  bind added          tcp 10.10.10.11 port 80\n" in text
    assert "  1 of 1 bind is lost: all connections to it break\n" in text


@pytest.mark.parametrize("binds", [[], None])
def test_a_table_that_loses_all_binds_breaks_every_row(compare, binds):
    found = compare([table()], [table(binds=binds)])
    assert (found["broken_rows"], changes(found)) == (65536, [(VIP, 80, "lost", False, None)])


def test_an_empty_new_table_breaks_every_row(compare):
    found = compare([table("one"), table("two", hash_key=2, binds=[bind(OTHER)])], [])
    assert (found["rows"], found["broken_rows"], found["broken_percent"]) == (131072, 131072, 100.0)
    assert [entry["table"] for entry in found["tables"]] == ["removed", "removed"]


def test_an_empty_old_table_has_no_connections_to_break(compare, tmp_path):
    found = compare([], [table()], code=OK)
    assert (found["rows"], found["broken_percent"], found["tables"][0]["table"]) == (0, 0.0, "added")
    assert "all: 0 of 0 rows change (0.00%), 0 break (0.00%)" in run(
        "diff", tmp_path / "old.json", tmp_path / "new.json").stdout


@pytest.mark.parametrize("count, lost, rows", [(4, 1, 16384), (3, 1, 21846), (3, 2, 43691), (4096, 1, 16)])
def test_a_lost_bind_counts_by_its_share_of_the_binds(compare, count, lost, rows):
    binds = [bind(f"10.{i // 256}.{i % 256}.1") for i in range(count)]
    found = compare([table(binds=binds)], [table(binds=binds[lost:])])
    assert found["broken_rows"] == rows
    assert [change[2] for change in changes(found)] == ["lost"] * lost


def test_one_lost_bind_of_many_tables_is_never_zero(compare, tmp_path):
    tables = [table(str(t), 1, hash_key=t, binds=[bind(f"10.{t}.{i}.1") for i in range(200)]) for t in range(64)]
    fewer = [*tables[:-1], table("63", 1, hash_key=63, binds=tables[-1]["binds"][:-1])]
    assert compare(tables, fewer)["broken_rows"] == 328
    compare(tables, fewer, "--max-broken", "0")
    assert compare(tables, fewer, "--max-broken", "0.01", code=OK)["broken_percent"] > 0
    text = run("diff", tmp_path / "old.json", tmp_path / "new.json", code=BROKEN).stdout
    assert text.endswith("all: 328 of 4194304 rows change (<0.01%), 328 break (<0.01%)\n")


def test_broken_rows_and_lost_binds_add_up(compare):
    old = [table(backends=4, binds=[bind(), bind(OTHER)])]
    partly = compare(old, [table(backends=3, binds=[bind(), bind(OTHER)])])["broken_rows"]
    assert compare(old, [table(backends=3, binds=[bind()])])["broken_rows"] == -(-(65536 + partly) // 2)


@pytest.mark.parametrize("old, new, expected", [
    # The packets stay, whatever the binds look like.
    ([bind(last=90)], [bind(last=84), bind(port=85, last=90)], []),
    ([bind(last=84), bind(port=85, last=90)], [bind(last=90)], []),
    ([bind("10.0.0.0/24")], [bind("10.0.0.128/25"), bind("10.0.0.0/25")], []),
    ([bind("10.0.0.128/25"), bind("10.0.0.0/25")], [bind("10.0.0.0/24")], []),
    ([bind("0.0.0.0/0", 1, last=65535)], [bind("0.0.0.0/1", 1, last=65535), bind("128.0.0.0/1", 1, last=65535)], []),
    ([bind("::/0", 1, last=65535)], [bind("::/1", 1, last=65535), bind("8000::/1", 1, last=65535)], []),
    ([bind(), bind(OTHER)], [bind(OTHER), bind()], []),
    ([bind(), bind()], [bind()], []),
    ([bind("10.0.0.0/24"), bind("10.0.0.7")], [bind("10.0.0.0/24")], []),
    # A part is lost, or added.
    ([bind(last=90)], [bind(last=89)], [(VIP, 80, "lost", True, None)]),
    ([bind(last=90)], [bind(port=81, last=90)], [(VIP, 80, "lost", True, None)]),
    ([bind(last=89)], [bind(last=90)], [(VIP, 80, "added", True, None)]),
    ([bind(port=1, last=65535)], [bind(port=1, last=65534)], [(VIP, 1, "lost", True, None)]),
    ([bind("10.0.0.0/24")], [bind("10.0.0.0/25")], [("10.0.0.0/24", 80, "lost", True, None)]),
    ([bind("10.0.0.0/25")], [bind("10.0.0.0/24")], [("10.0.0.0/24", 80, "added", True, None)]),
    ([bind("10.0.0.0/24"), bind("10.0.0.7")], [bind("10.0.0.7")], [("10.0.0.0/24", 80, "lost", True, None)]),
    ([bind("10.0.0.0/30")], [bind("10.0.0.0/31"), bind("10.0.0.2")], [("10.0.0.0/30", 80, "lost", True, None)]),
    ([bind("10.0.0.0/30")], [bind("10.0.0.1"), bind("10.0.0.2/31")], [("10.0.0.0/30", 80, "lost", True, None)]),
    ([bind("10.0.0.0/30")], [bind("10.0.0.0"), bind("10.0.0.2/31")], [("10.0.0.0/30", 80, "lost", True, None)]),
    ([bind("::/0")], [bind("8000::/1"), bind("::/2")], [("::/0", 80, "lost", True, None)]),
    # Another protocol or family is another bind.
    ([bind()], [bind(proto="udp")], [(VIP, 80, "lost", False, None), (VIP, 80, "added", False, None)]),
    ([bind("::a0a:a0a")], [bind(VIP)], [("::10.10.10.10", 80, "lost", False, None), (VIP, 80, "added", False, None)]),
])
def test_binds_are_compared_by_the_packets_that_match(compare, old, new, expected):
    lost = any(change == "lost" for _, _, change, _, _ in expected)
    found = compare([table(binds=old)], [table(binds=new)], code=BROKEN if lost else OK)
    normal = [(str(ipaddress.ip_network(ip)).removesuffix("/128").removesuffix("/32"), *rest) for ip, *rest in expected]
    assert sorted((str(ipaddress.ip_network(ip)).removesuffix("/128").removesuffix("/32"), *rest)
                  for ip, *rest in changes(found)) == sorted(normal)
    assert found["tables"][0]["binds_changed"] is bool(expected)
    assert (found["broken_rows"] > 0) is lost


def test_a_bind_that_moves_to_another_table_counts_the_rows_of_that_table(compare, tmp_path):
    one, two = table("one", binds=[bind(), bind(OTHER)]), table("two", hash_key=2, binds=[bind("10.0.0.1")])
    moved = [table("one", binds=[bind()]), table("two", hash_key=2, binds=[bind("10.0.0.1"), bind(OTHER)])]
    found = compare([one, two], moved)
    assert changes(found) == [(OTHER, 80, "moved", False, "two")]
    assert found["broken_rows"] == 32768  # another hash_key
    assert "  bind moved          tcp 10.10.10.11 port 80 to table two\n" in run(
        "diff", tmp_path / "old.json", tmp_path / "new.json", code=BROKEN).stdout
    two["hash_key"] = moved[1]["hash_key"] = one["hash_key"]
    found = compare([one, two], moved, code=OK)  # the same rows: flows reach the same proxies
    assert (changes(found), found["broken_rows"]) == ([(OTHER, 80, "moved", False, "two")], 0)


def test_tables_that_are_merged_change_nothing_if_their_rows_are_equal(compare, tmp_path):
    one, two = table("one"), table("two", binds=[bind(OTHER)])
    found = compare([one, two], [{**one, "binds": one["binds"] + two["binds"]}], code=OK)
    assert (found["rows"], found["changed_rows"], found["broken_rows"]) == (131072, 0, 0)
    assert [(entry["name"], entry["table"]) for entry in found["tables"]] == [("one", "kept"), ("two", "removed")]
    assert changes(found) == [(OTHER, 80, "moved", False, "one")]
    assert "table two: removed, 0 rows break (0.00%)\n" in run("diff", tmp_path / "old.json", tmp_path / "new.json").stdout


def test_a_table_without_packets_does_not_count(compare, tmp_path):
    old = [table("web"), table("idle", hash_key=2, binds=[])]
    found = compare(old, [old[0], table("idle", 1, hash_key=3, binds=[])], code=OK)
    assert (found["rows"], found["changed_rows"], found["broken_rows"], found["at_risk_rows"]) == (65536, 0, 0, 0)
    assert "  no packet matches this table of OLD, so its rows do not count\n" in run(
        "diff", tmp_path / "old.json", tmp_path / "new.json").stdout


def test_an_earlier_table_that_captures_a_bind_counts_as_a_move(compare):
    web, wide = table("web"), table("wide", hash_key=2, binds=[bind("10.10.0.0/16", 1, last=65535)])
    found = compare([web, wide], [wide, web])
    assert changes(found) == [(VIP, 80, "moved", False, "wide")]
    assert (found["rows"], found["broken_rows"]) == (131072, 65536)
    assert compare([wide, web], [wide], code=OK)["broken_rows"] == 0  # no packet matched web's bind


def test_a_table_that_splits_keeps_its_connections(compare):
    old = [table("web", binds=[bind(), bind(OTHER)])]
    found = compare(old, [table("a", binds=[bind()]), table("b", binds=[bind(OTHER)])], code=OK)
    assert [(entry["table"], entry["name"], entry["old_name"]) for entry in found["tables"]] == [
        ("renamed", "a", "web"), ("added", "b", None)]
    assert changes(found) == [(OTHER, 80, "moved", False, "b")]


def test_many_changed_binds_are_cut_for_people_only(compare, tmp_path):
    binds = [bind(f"10.0.{i}.1") for i in range(100)]
    assert len(changes(compare([table(binds=binds)], [table()]))) == 101
    text = run("diff", tmp_path / "old.json", tmp_path / "new.json", code=BROKEN).stdout
    assert text.count("  bind lost ") == 10 and "  and 91 more changes of binds; --json lists all\n" in text
    assert "  100 of 100 binds are lost: all connections to them break\n" in text


# Pairs


@pytest.mark.parametrize("members", [{}, {"hash_key": 9}, {"binds": [bind(OTHER)]}])
def test_a_renamed_table_is_recognised_by_its_binds_or_its_key(compare, tmp_path, members):
    others = [table("a", hash_key=2, binds=[bind("10.1.0.1")]), table("b", hash_key=3, binds=[bind("10.2.0.1")])]
    found = compare([table("web"), *others], [*others, table("www", **members)], code=BROKEN if members else OK)
    assert [(entry["table"], entry["old_name"], entry["name"]) for entry in found["tables"]] == [
        ("kept", "a", "a"), ("kept", "b", "b"), ("renamed", "web", "www")]
    assert found["broken_rows"] == (65536 if members else 0)
    assert "  renamed, its old name is web\n" in run(
        "diff", tmp_path / "old.json", tmp_path / "new.json", code=BROKEN if members else OK).stdout


def test_another_name_key_and_bind_is_another_table(compare):
    found = compare([table("web")], [table("mail", hash_key=5, binds=[bind(OTHER, 25)])])
    assert [(entry["table"], entry["name"]) for entry in found["tables"]] == [("added", "mail"), ("removed", "web")]
    assert (found["rows"], found["broken_rows"]) == (65536, 65536)


def test_names_win_over_binds(compare):
    one, two = table("one"), table("two", hash_key=2, binds=[bind(OTHER)])
    swapped = [{**one, "binds": two["binds"]}, {**two, "binds": one["binds"]}]
    found = compare([one, two], swapped)
    assert [(entry["table"], entry["name"]) for entry in found["tables"]] == [("kept", "one"), ("kept", "two")]
    assert changes(found) == [(VIP, 80, "moved", False, "two"), (OTHER, 80, "moved", False, "one")]
    assert found["broken_percent"] == 100.0


def test_json_against_version_2_matches_by_binds(tmp_path):
    tables = [table(name, 3 + i, hash_key=i, binds=[bind(f"10.0.0.{i}")]) for i, name in enumerate("abcd")]
    old = tmp_path / "old.bin"
    run("build-config", write_tables(tmp_path / "old.json", *tables), old, "--format", "2")
    new = write_tables(tmp_path / "new.json", *reversed(tables))
    for pair, names in ([old, new], "dcba"), ([new, old], "abcd"):
        found = run_json("diff", *pair)
        assert (found["changed_rows"], found["broken_rows"]) == (0, 0)
        assert [(entry["table"], entry["name"]) for entry in found["tables"]] == [("kept", name) for name in names]


def test_nameless_tables_without_shared_binds_match_by_key_and_then_by_index(tmp_path):
    tables = [table(None, hash_key=i, binds=[bind(f"10.0.0.{i}")]) for i in (1, 2)]
    moved = [{**entry, "binds": [bind(f"10.1.0.{i}")]} for i, entry in enumerate(reversed(tables))]
    old, new = write_tables(tmp_path / "old.json", *tables), write_tables(tmp_path / "new.json", *moved)
    found = run_json("diff", old, new, code=BROKEN)
    assert [(entry["table"], entry["hash_key_changed"]) for entry in found["tables"]] == [("kept", False)] * 2
    write_tables(new, *({**entry, "hash_key": f"{9:032x}"} for entry in moved))
    found = run_json("diff", old, new, code=BROKEN)
    assert [(entry["table"], entry["hash_key_changed"]) for entry in found["tables"]] == [("kept", True)] * 2


# Drained proxies


def states(*letters):
    """a: active, d: draining, x: unhealthy, i: inactive, f: filling"""
    names = {"a": "active", "d": "draining", "x": "active", "i": "inactive", "f": "filling"}
    return [backend(f"192.168.50.{i + 1}", names[letter], letter != "x") for i, letter in enumerate(letters)]


def reached(found):
    return {entry["ip"]: entry["still_reached"] for entry in found["tables"][0]["backends"] if entry["still_reached"]}


@pytest.mark.parametrize("state", "dx")
@pytest.mark.parametrize("form", ["json", "2.bin", "3.bin"])
def test_removing_a_drained_proxy_breaks_the_rows_that_still_reach_it(tmp_path, state, form):
    """These are the rows that the proxy owned before it was drained. NEW has the seed if OLD is binary."""
    owned = first_hop_rows(write_tables(tmp_path / "full.json", table(backends=states(*"aaaa"))), "192.168.50.2")
    old = write_tables(tmp_path / "old.json", table(backends=states("a", state, "a", "a")))
    if form != "json":
        run("build-config", old, tmp_path / form, "--format", form[0])
        old = tmp_path / form
    for after in (states(*"aiaa"), [entry for entry in states(*"aaaa") if entry["ip"] != "192.168.50.2"]):
        new = write_tables(tmp_path / "new.json", table(backends=after))
        found = run_json("diff", old, new, code=BROKEN)
        assert found["broken_rows"] == owned and found["changed_rows"] == 0
        assert reached(found) == {"192.168.50.2": owned} and found["tables"][0]["seed_known"] is True
        assert 0 < found["at_risk_rows"] < 65536
        name = "draining" if state == "d" else "active down"
        text = run("diff", old, new, "--max-broken", "5", code=BROKEN).stdout
        assert f"  192.168.50.2 ({name}): {owned} rows still reach it, but not in NEW\n" in text
        old_file = "; OLD is a version 2 file, so diff cannot tell if it has previous states with such connections" if form[0] == "2" else ""
        assert f" {found['at_risk_rows']} other rows lose a later hop: only connections older than OLD can break{old_file} " in " ".join(text.split())


def test_without_a_seed_every_row_of_a_drained_proxy_counts(tmp_path):
    for name, backends in (("old", states(*"adaa")), ("new", states(*"aiaa"))):
        source = write_tables(tmp_path / f"{name}.json", table(backends=backends))
        run("build-config", source, tmp_path / f"{name}.bin")
    rows = load_tables(json.loads((tmp_path / "old.json").read_text()))[0].all_rows()
    later = sum(row[1].state == "draining" for row in rows)
    wrong = write_tables(tmp_path / "wrong.json", table(backends=states(*"aiaa"), seed=f"{7:032x}"))
    found = run_json("diff", tmp_path / "old.bin", tmp_path / "new.bin", code=BROKEN)
    assert (found["broken_rows"], found["tables"][0]["seed_known"]) == (later, False)
    assert f"  192.168.50.2 (draining): at most {later} rows still reach it, but not in NEW\n" in run(
        "diff", tmp_path / "old.bin", tmp_path / "new.bin", code=BROKEN).stdout
    assert run_json("diff", tmp_path / "old.bin", wrong, code=BROKEN)["tables"][0]["seed_known"] is False


def test_a_seed_that_few_rows_can_confirm_is_not_taken(tmp_path):
    for name, backends in (("old", states(*"adi")), ("new", states(*"aii"))):
        source = write_tables(tmp_path / f"{name}.json", table(backends=backends))
        run("build-config", source, tmp_path / f"{name}.bin")
    found = run_json("diff", tmp_path / "old.bin", tmp_path / "new.json", code=BROKEN)
    assert (found["broken_rows"], found["tables"][0]["seed_known"]) == (65536, False)
    found = run_json("diff", tmp_path / "old.json", tmp_path / "new.json", code=BROKEN)
    assert 0 < found["broken_rows"] < 65536 and found["tables"][0]["seed_known"] is True


def test_a_proxy_that_is_good_or_stays_in_the_rows_does_not_count(compare):
    for old, new in (("aaa", "ada"), ("ada", "aaa"), ("axa", "aaa"), ("aaa", "axa"), ("ada", "axa"), ("iaa", "faa")):
        found = compare([table(backends=states(*old))], [table(backends=states(*new))], code=OK)
        assert reached(found) == {}
    found = compare([table(backends=states(*"aaaa"))], [table(backends=states(*"aaai"))])
    assert reached(found) == {} and found["at_risk_rows"] > 0


def test_a_drained_proxy_as_a_third_hop_counts(compare):
    found = compare([table(backends=states(*"addaa"), hops=3)], [table(backends=states(*"adiaa"), hops=3)])
    assert list(reached(found)) == ["192.168.50.3"] and found["broken_rows"] == reached(found)["192.168.50.3"]
    found = compare([table(backends=states(*"addaa"), hops=3)], [table(backends=states(*"addaa"), hops=2)])
    assert set(reached(found)) == {"192.168.50.2", "192.168.50.3"}


# History


def lost_connections(history):
    """Rows of the last step but one in which a connection is lost at the last step. In each step, each row gets a new
    connection to its first hop. A connection ends as soon as its proxy is not in the row."""
    rows = [load_tables({"tables": [table(backends=backends)]})[0].all_rows() for backends in history]
    lost = 0
    for number in range(65536):
        alive = set()
        for step in rows[:-1]:
            there = {hop.address for hop in step[number]}
            alive = {step[number][0].address} | (alive & there)
        lost += bool(alive - {hop.address for hop in rows[-1][number]})
    return lost


@pytest.mark.parametrize("history", [
    ["aaaa", "daaa", "iaaa"],  # drain and remove
    ["aaaa", "xaaa", "iaaa"],  # fail and remove
    ["aaaa", "daaa", "ddaa"],  # drain another one
    ["aaaa", "daaa", "daai"],  # remove another one
    ["iaaa", "faaa", "aaaa"],  # fill
])
def test_exactly_the_rows_that_lose_connections_are_broken(compare, history):
    """OLD has been there since all proxies were good. So diff knows all proxies that have connections."""
    steps = [states(*letters) for letters in history]
    lost = lost_connections(steps)
    found = compare([table(backends=steps[-2])], [table(backends=steps[-1])], code=BROKEN if lost else OK)
    assert found["broken_rows"] == lost


@pytest.mark.parametrize("history", [["aaaa", "daaa", "ddaa", "iiaa"], ["aaaa", "daaa", "ddaa", "aiaa"],
                                     ["aaaa", "axaa", "dxaa", "ixaa"]])
def test_at_least_the_rows_that_lose_connections_are_broken(compare, history):
    steps = [states(*letters) for letters in history]
    lost = lost_connections(steps)
    found = compare([table(backends=steps[-2])], [table(backends=steps[-1])])
    assert 0 < lost <= found["broken_rows"] <= 2 * lost


# The model


def random_tables(rand, others=None):
    """Few addresses, ports and backends, so that binds overlap and tables resemble each other."""
    tables = []
    for name in rand.sample(["a", "b", "c", None, None], rand.randint(1, 3)):
        binds = []
        for _ in range(rand.randint(0, 5)):
            first = rand.randint(1, 4)
            ip = rand.choice(["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.0/30", "10.0.0.0/31", "10.0.0.2/31", "0.0.0.0/0",
                              "fd00::", "fd00::1", "fd00::/127", "::/0", "::/1", "8000::/1"])
            binds.append(bind(ip, first, rand.choice(["tcp", "udp"]), rand.choice([first, first + 1, 4, 19522])))
        backends = states(*rand.choices("aaadxif", k=rand.randint(2, 4)))
        backends[0] = states("a")[0]
        made = table(name, backends, rand.randint(1, 2), binds=binds, hops=rand.choice([2, 2, 3]))
        if others and rand.random() < 0.5:
            made["binds"] = rand.choice(others)["binds"]
        tables.append(made)
    return tables


def as_model(found):
    """The counts of the CLI in the form of the model."""
    tables = []
    for entry in found["tables"]:
        binds = [(b["ip"], b["proto"], b["port_start"], b["port_end"], b["change"], b["part"], b["to"]) for b in entry["binds"]]
        counts = None if entry["table"] == "added" else (
            entry["changed_rows"], entry["broken_rows"], entry["at_risk_rows"],
            {b["ip"]: b["still_reached"] for b in entry["backends"] if b["still_reached"]},
            entry["udp_binds"], entry["udp_moved_rows"])
        tables.append((entry["index"], entry["table"] in ("added", "removed"), counts, sorted(binds, key=str)))
    return tables, [found[key] for key in ("rows", "changed_rows", "broken_rows", "at_risk_rows", "udp_moved_rows")]


def of_model(result, old, new):
    def text(address, length):
        network = ipaddress.ip_network((address, length))
        return str(network.network_address if length == 8 * len(address) else network)

    # A nameless table takes its name from the table that it replaces.
    labels = {n: new[n].name or (o is not None and old[o].name) or f"#{n}" for o, n, _, _ in result["pairs"] if n is not None}
    tables = []
    for o, n, counts, binds in result["pairs"]:
        made = [(text(b.network, b.prefix_length), {6: "tcp", 17: "udp"}[b.protocol], b.port_start, b.port_end, change, part,
                 labels.get(to)) for b, change, part, to in binds]
        counted = counts and (counts["changed"], counts["broken"], counts["at_risk"],
                              {text(address, 32): rows for address, rows in counts["reached"].items()}, counts["udp_binds"], counts["udp_moved"])
        tables.append((o if n is None else n, None in (o, n), counted, sorted(made, key=str)))
    return tables, [result[key] for key in ("rows", "changed", "broken", "at_risk", "udp_moved")]


@pytest.mark.parametrize("seed", range(8))
def test_random_tables_give_the_counts_of_the_model(tmp_path, seed):
    rand = random.Random(seed)
    old = random_tables(rand)
    new = random_tables(rand, old)
    paths = write_tables(tmp_path / "old.json", *old), write_tables(tmp_path / "new.json", *new)
    before, after = (load_tables(json.loads(path.read_text())) for path in paths)
    expected = model.diff(before, after)
    found = run_json("diff", *paths, code=BROKEN if expected["broken"] else OK)
    assert as_model(found) == of_model(expected, before, after)


# --max-broken


@pytest.mark.parametrize("text", ["101", "100.01", "nan", "inf", "-1", "+5", " 5", "5 ", "0x5", "1e1", "", ".", "5.", ".5", "5,0",
                                  "1.2.3", "5%", "025", "\u0665", "99999999999999999999"])
def test_max_broken_is_a_plain_number(text):
    done = run("diff", "a", "b", "--max-broken", text, code=USAGE)
    assert done.stderr.splitlines()[0] == (
        f"glb-director-cli: diff: --max-broken: '{text}' is not a percentage from 0 to 100, such as 5 or 0.25")


@pytest.mark.parametrize("text, code", [("0", BROKEN), ("24.99", BROKEN), ("25", OK), ("25.0", OK), ("100", OK)])
def test_max_broken_is_the_share_that_may_break(compare, text, code):
    binds = [bind(f"10.0.0.{i}") for i in range(4)]
    compare([table(binds=binds)], [table(binds=binds[1:])], "--max-broken", text, code=code)


# For people


def test_diff_fits_80_columns(compare, tmp_path):
    old = [table("o" * 64, [backend(f"192.168.150.{100 + i}", "draining") for i in range(3)],
                 binds=[bind("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", 1000, last=65535)])]
    new = [table("n" * 64, [backend(f"192.168.150.{100 + i}", "draining") for i in range(2)],
                 binds=[bind("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", 1000, last=65534)]), table(hash_key=3)]
    compare(old, new)
    lines = run("diff", tmp_path / "old.json", tmp_path / "new.json", code=BROKEN).stdout.splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_one_row_is_not_one_rows(tmp_path):
    source, target = write_tables(tmp_path / "table.json", table(backends=2)), tmp_path / "table.bin"
    run("build-config", source, target, "--format", "2")
    data = bytearray(target.read_bytes())
    data[-8:] = data[-4:] + data[-8:-4]  # the last row: its hops change places
    (tmp_path / "new.bin").write_bytes(data)
    text = run("diff", target, tmp_path / "new.bin").stdout
    assert "table #0: 1 row changes (<0.01%), 0 break (0.00%)\n" in text
    assert text.endswith("all: 1 of 65536 rows changes (<0.01%), 0 break (0.00%)\n")


# Version 2 has neither balance nor previous states


@pytest.mark.parametrize("seed", range(4))
def test_version_2_never_counts_less_than_json_but_for_previous_states(tmp_path, seed):
    """Without previous states, its count is never too low. With them, the missing rows are at risk."""
    rand = random.Random(seed)
    members = {"balance": 1.02} if seed % 2 == 0 else {"previous": [
        {"time": "2026-01-01T00:00:00Z", "backends": [{"ip": f"192.168.50.{i}"} for i in rand.sample(range(1, 6), 3)]}]}
    letters = ["a", *rand.choices("aadx", k=4)]
    old = write_tables(tmp_path / "old.json", table(backends=states(*letters), **members))
    letters[rand.randint(1, 4)] = "i"
    new = write_tables(tmp_path / "new.json", table(backends=states("a", *rand.sample(letters[1:], 4)), **members))
    run("build-config", old, tmp_path / "old.bin", "--format", "2")
    counts = [run_json("diff", path, new, "--max-broken", "100") for path in (old, tmp_path / "old.bin")]
    assert counts[0]["broken_rows"] > 0
    assert counts[0]["broken_rows"] <= counts[1]["broken_rows"] + ("previous" in members) * counts[1]["at_risk_rows"]
    if counts[1]["at_risk_rows"]:
        shown = " ".join(run("diff", tmp_path / "old.bin", new, "--max-broken", "100").stdout.split())
        assert "OLD is a version 2 file, so diff cannot tell if it has previous states" in shown
