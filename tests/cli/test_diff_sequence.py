# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli diff of several tables, and of directors that are one table behind."""

import ipaddress
import random

import pytest

from model import load_tables
from support.cli import BROKEN, FAILED, OK, USAGE, as_ipv6, backend, run, run_json, table, write_tables

STATES = {"a": "active", "d": "draining", "x": "active", "i": "inactive", "f": "filling"}


def backends(letters):
    """a: active, d: draining, x: unhealthy, i: inactive, f: filling, -: not listed"""
    return [backend(f"192.168.50.{i + 1}", STATES[letter], letter != "x") for i, letter in enumerate(letters) if letter != "-"]


def made(letters, ipv6=False, **members):
    """A table with these backends."""
    one = table(backends=backends(letters), **members)
    return as_ipv6(one) if ipv6 else one


@pytest.fixture
def write(tmp_path):
    """write("aaa-", "aaad") writes a table for each, and returns the paths."""

    def write_all(*steps, **members):
        return [write_tables(tmp_path / f"{i}.json", made(letters, **members)) for i, letters in enumerate(steps)]

    return write_all


def hops(letters, **members):
    """The addresses of each row, as text."""
    found = load_tables({"tables": [made(letters, **members)]})[0]
    texts = {backend.address: str(ipaddress.ip_address(backend.address)) for backend in found.backends}
    return [[texts[hop.address] for hop in row] for row in found.all_rows()]


def follow(steps, **members):
    """[(broken rows, those whose proxy is removed, skew)] of each step, for connections that began when all were good."""
    tables = [hops(letters, **members) for letters in steps]
    results = []
    held = [{row[0]} for row in tables[0]]
    for letters, before, after in zip(steps[1:], tables, tables[1:]):
        listed = {each["ip"] for each in made(letters, **members)["backends"] if each["state"] != "inactive"}
        lost = [proxies - set(row) for proxies, row in zip(held, after)]
        results.append((sum(map(bool, lost)), sum(bool(proxies - listed) for proxies in lost),
                        sum(new[0] not in old for old, new in zip(before, after))))
        held = [(proxies & set(row)) | {row[0]} for proxies, row in zip(held, after)]
    return results


def counts(found):
    return [(step["broken_rows"], step["broken_by"]["removed"], step["skew_rows"]) for step in found["steps"]]


def code_of(results):
    return BROKEN if any(broken for broken, _, _ in results) else OK


def test_a_proxy_that_is_added_at_once_is_unknown_to_a_director_one_table_behind(write):
    at_once = run_json("diff", *write("a" * 31 + "-", "a" * 32))
    assert at_once["broken_rows"] == 0 and at_once["skew_rows"] == follow(["a" * 31 + "-", "a" * 32])[0][2]
    assert 3.0 < at_once["skew_percent"] < 3.3
    in_two_phases = run_json("diff", *write("a" * 31 + "-", "a" * 31 + "d", "a" * 32))
    assert counts(in_two_phases) == [(0, 0, 0), (0, 0, 0)]
    text = run("diff", *write("a" * 31 + "-", "a" * 32)).stdout
    assert f"  a director that still has OLD loses new connections of {at_once['skew_rows']} rows (3.17%)\n" in text
    assert "a director that still has OLD" not in run("diff", *write("a" * 31 + "d", "a" * 32)).stdout


@pytest.mark.parametrize("steps, members", [
    (["aaaa----", "aaaaa---", "aaaaaa--", "aaaaaaa-", "aaaaaaaa"], {}),
    (["aaaa----", "aaaaa---", "aaaaaa--", "aaaaaaa-", "aaaaaaaa"], {"hops": 4}),
    (["aaaa", "daaa", "adaa", "aada", "aaad"], {}),
    (["aaaa", "daaa", "-aaa", "-daa", "--aa"], {}),
    (["aaaa", "xaaa", "axaa", "aaxa", "aaaa"], {"hops": 3}),
    (["aaaaaa", "fiaaaa", "aidxaa"], {"hops": 3}),
    (["aaaa----", "aaaaa---", "aaaaaa--", "aaaaaaa-", "aaaaaaaa"], {"ipv6": True}),
    (["aaaa", "daaa", "-aaa", "-daa", "--aa"], {"ipv6": True}),
    (["aaaaaa", "fiaaaa", "aidxaa"], {"hops": 3, "ipv6": True}),
])
def test_every_step_counts_the_connections_of_all_earlier_tables(write, steps, members):
    expected = follow(steps, **members)
    found = run_json("diff", *write(*steps, **members), code=code_of(expected))
    assert counts(found) == expected
    broken = sum(lost for lost, _, _ in expected)
    assert (found["rows"], found["broken_rows"], found["skew_rows"]) == (
        65536, min(broken, 65536), max(skew for _, _, skew in expected))


@pytest.mark.parametrize("seed", range(6))
def test_random_sequences_are_counted_as_in_the_model(write, seed):
    rand = random.Random(seed)
    steps = ["a" * 7]
    for _ in range(rand.randint(2, 5)):
        steps.append("a" + "".join(rand.choice("aaadxfi-") for _ in range(6)))
    members = {"hops": rand.choice([2, 2, 3, 4]), "ipv6": seed % 2 == 1}
    expected = follow(steps, **members)
    assert counts(run_json("diff", *write(*steps, **members), code=code_of(expected))) == expected


def test_a_connection_that_broke_does_not_break_again(write):
    steps = ["aaaa", "-aaa", "aaaa", "-aaa"]
    first, _, third = counts(run_json("diff", *write(*steps), code=BROKEN))
    assert first[0] == third[0] > 0  # those that began in the meantime
    assert counts(run_json("diff", *write("aaaa", "-aaa", "-aaa"), code=BROKEN))[1] == (0, 0, 0)


def test_proxies_that_hold_and_lose_connections_are_listed(write):
    found = run_json("diff", *write("aaaa", "-aaa"), code=BROKEN)["tables"][0]["backends"]
    owned = sum(row[0] == "192.168.50.1" for row in hops("aaaa"))
    assert [(entry["held_rows"], entry["broken_rows"]) for entry in found][0] == (owned, owned)
    assert [entry["broken_rows"] for entry in found[1:]] == [0, 0, 0]
    text = run("diff", *write("aaaa", "-aaa"), code=BROKEN).stdout
    assert f"  192.168.50.1: connections of {owned} of its {owned} rows break\n" in text
    assert "because their proxy is not in NEW, or inactive" in text


def test_causes_are_told_apart(write, tmp_path):
    pushed = run_json("diff", *write("aaaa" + 12 * "-", "a" * 16), code=BROKEN)
    assert pushed["broken_by"] == {"unmatched": 0, "hash_key": 0, "removed": 0, "pushed_out": pushed["broken_rows"]}
    assert "because other proxies have all hops" in run("diff", *write("aaaa" + 12 * "-", "a" * 16), code=BROKEN).stdout
    old, lost = write_tables(tmp_path / "old.json", table()), write_tables(tmp_path / "lost.json", table(binds=[]))
    assert run_json("diff", old, lost, code=BROKEN)["broken_by"]["unmatched"] == 65536
    other = write_tables(tmp_path / "other.json", table(hash_key=9))
    found = run_json("diff", old, other, code=BROKEN)
    assert (found["broken_by"]["hash_key"], found["skew_rows"]) == (65536, 65536)


def test_binds_that_move_take_their_connections_along(tmp_path):
    """192.168.50.1 to .3 hold connections of a bind that moves to a table without them."""
    bind = {"ip": "10.10.10.11", "proto": "tcp", "port": 80}
    one, two = table("one"), table("two", [backend(f"192.168.50.{i}") for i in (4, 5)], binds=[bind])
    moved = {**two, "binds": one["binds"] + [bind]}
    paths = [write_tables(tmp_path / "a.json", one, two), write_tables(tmp_path / "b.json", {**one, "binds": []}, moved),
             write_tables(tmp_path / "c.json", {**moved, "backends": two["backends"][1:]})]
    steps = run_json("diff", *paths, code=BROKEN)["steps"]
    assert steps[0]["broken_by"]["removed"] == steps[0]["broken_rows"] == 65536
    wide = {**two, "backends": one["backends"] + two["backends"], "hops": 4}
    paths = [write_tables(tmp_path / "a.json", one, wide), write_tables(tmp_path / "b.json", {**wide, "binds": moved["binds"]}),
             write_tables(tmp_path / "c.json", {**wide, "binds": moved["binds"], "backends": two["backends"]})]
    steps = run_json("diff", *paths, code=BROKEN)["steps"]
    rows = [[{hop.address for hop in row} for row in load_tables({"tables": [made]})[0].all_rows()]
            for made in (wide, {**wide, "backends": two["backends"]})]
    first = [[row[0].address for row in load_tables({"tables": [made]})[0].all_rows()] for made in (one, wide)]
    left = [{owner for owner in owners if owner in row} for *owners, row in zip(*first, rows[0])]
    assert steps[0]["broken_rows"] == sum(owner not in row for owner, row in zip(first[0], rows[0]))
    assert steps[1]["broken_rows"] == sum(bool(owners - row) for owners, row in zip(left, rows[1]))


def test_several_tables_for_people(write):
    paths = write("aaa-", "aaad", "aaaa")
    text = run("diff", *paths).stdout
    assert text.startswith(f"OLD: {paths[0]}, NEW: {paths[1]}\ntable web: 0 rows change (0.00%), 0 break (0.00%)\n")
    assert "192.168.50.1 " not in text  # the rows of each backend are left out
    assert text.endswith("2 steps: 0 of 65536 rows break (0.00%) if nobody waits between the steps\n"
                         "a director that is one table behind loses new connections of up to 0 rows\n  (0.00%)\n")


def test_one_table_of_several(tmp_path):
    one, two = table("one"), table("two", binds=[{"ip": "10.10.10.11", "proto": "tcp", "port": 80}])
    less = table("two", 2, binds=two["binds"])
    paths = [write_tables(tmp_path / "0.json", one), write_tables(tmp_path / "1.json", one, two),
             write_tables(tmp_path / "2.json", one, less)]
    assert run_json("diff", *paths, "--table", "one")["broken_rows"] == 0
    assert len(run_json("diff", *paths, "--table", "two", code=BROKEN)["steps"]) == 2
    assert run("diff", *paths, "--table", "three", code=FAILED).stderr == (
        "glb-director-cli: diff: there is no table 'three'; the tables are: one, two\n")


def test_json_and_binary_tables_can_be_mixed(write, tmp_path):
    paths = write("aaaa", "daaa", "-aaa")
    run("build-config", paths[1], tmp_path / "t.bin", "--format", "2")
    assert (counts(run_json("diff", paths[0], tmp_path / "t.bin", paths[2], code=BROKEN)) ==
            counts(run_json("diff", *paths, code=BROKEN)))


def test_the_same_table_many_times(write):
    found = run_json("diff", *(write("aaaa") * 20))
    assert (len(found["steps"]), found["broken_rows"], found["skew_rows"]) == (19, 0, 0)


def test_exit_codes(write, tmp_path):
    drains, adds = write("aaaa", "daaa", "adaa"), write("aaaa----", "aaaaaaaa")
    run("diff", *drains, "--max-broken", "100")
    run("diff", *drains, code=BROKEN)
    run("diff", *write("aaa-", "aaaa"))
    run("diff", *write("aaa-", "aaaa"), "--max-skew", "10", code=BROKEN)
    run("diff", *write("aaa-", "aaaa"), "--max-skew", "30")
    run("diff", *write("aaa-", "aaaa", "aaaa"), "--max-skew", "0", code=BROKEN)
    run("diff", *write("aaa-", "aaad", "aaaa"), "--max-skew", "0")
    run("diff", *adds, "--max-broken", "100", "--max-skew", "100")
    run("diff", drains[0], code=USAGE)
    missing = run("diff", *drains, tmp_path / "missing.json", code=FAILED)
    assert "missing.json" in missing.stderr


def test_proxies_of_previous_states_hold_connections(write, tmp_path):
    """192.168.50.1 is active, but is first in fewer rows than it was."""
    past = [{"time": "2026-01-01T00:00:00Z", "backends": [{"ip": "192.168.50.1"}, {"ip": "192.168.50.2"}]}]
    old = write_tables(tmp_path / "old.json", table(backends=backends("aaaa"), previous=past))
    found = run_json("diff", old, write_tables(tmp_path / "new.json", table(backends=backends("-aaa"))), code=BROKEN)
    entry = found["tables"][0]["backends"][0]
    now, before = hops("aaaa"), hops("aa")
    expected = sum("192.168.50.1" in (new[0], old[0]) for new, old in zip(now, before))
    assert entry["held_rows"] == entry["broken_rows"] == expected > sum(row[0] == "192.168.50.1" for row in now)
    without = run_json("diff", *write("aaaa", "-aaa"), code=BROKEN)
    assert without["tables"][0]["backends"][0]["held_rows"] < expected


def test_a_step_that_only_forgets_previous_states_keeps_who_holds_connections(write, tmp_path):
    """Without a balance, the holder of a previous state is the next hop anyway, so the step changes no row."""
    past = [{"time": "2026-01-01T00:00:00Z", "backends": [{"ip": f"192.168.50.{i}"} for i in range(1, 5)]}]
    old = write_tables(tmp_path / "old.json", table(backends=backends("aaaaa"), previous=past))
    same, new = write("aaaaa", "aaaaaa")
    lost = sum(not {before[0], now[0]} <= set(after) for before, now, after in zip(hops("aaaa"), hops("aaaaa"), hops("aaaaaa")))
    assert run_json("diff", old, same)["changed_rows"] == 0
    assert run_json("diff", old, new, code=BROKEN)["broken_rows"] == lost > 0
    assert [step["broken_rows"] for step in run_json("diff", old, same, new, code=BROKEN)["steps"]] == [0, lost]
