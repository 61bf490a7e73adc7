# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli plan and diff of random changes, of which many have proxies that are down in CURRENT, in WANTED or in both."""

import json

import pytest

from support.changes import holders_of, random_change, rows_of, state_of
from support.cli import BROKEN, OK, run, run_json, table, write_tables


def files(folder, current, wanted):
    return write_tables(folder / "current.json", table(**current)), write_tables(folder / "wanted.json", table(**wanted))


def members_of(path):
    return {key: value for key, value in json.loads(path.read_text())["tables"][0].items() if key in MEMBERS}


MEMBERS = ("hops", "balance", "previous", "backends")


@pytest.mark.parametrize("seed, kinds", [
    (0, None), (1, None), (2, None), ("0 IPv6", None), ("1 IPv6", None), ("2 IPv6", None),
    (42, ["announce", "switch", "announce", "wanted"]),
    (186, ["announce", "switch", "announce", "undrain", "wanted"]),
    (163, ["announce", "drain", "announce", "switch", "announce", "undrain", "wanted"]),
])
def test_a_random_change_has_a_safe_plan(tmp_path, seed, kinds):
    """Without the drains, seeds 42, 186 and 163 are refused."""
    paths = files(tmp_path, *random_change(seed, ipv6=str(seed).endswith("IPv6")))
    found = run_json("plan", *paths, "--write", tmp_path / "plan")
    assert (found["plan"]["broken_rows"], found["plan"]["skew_rows"]) == (0, 0)
    steps = [step["kind"] for step in found["steps"]]
    assert steps == kinds if kinds else len(steps) <= 3
    if len(steps) > 3:  # then one more hop is enough, and the proxies that are down are drained in between
        hops = json.loads(paths[1].read_text())["tables"][0]["hops"] + 1
        assert found["helps"] == [f"hops: with `hops` {hops} in WANTED, a plan of 2 steps breaks nothing"]
        down = {entry["ip"] for path in paths for entry in members_of(path)["backends"] if not entry["healthy"]}
        first = members_of(tmp_path / "plan" / f"{len(steps) - steps[::-1].index('switch')}.json")
        assert {entry["state"] for entry in first["backends"] if entry["ip"] in down} <= {"draining", "inactive"}
        wanted = {**members_of(paths[1]), "hops": hops}
        assert len(run_json("plan", paths[0], files(tmp_path, members_of(paths[0]), wanted)[1])["steps"]) == 2


def test_what_helps_if_no_plan_is_safe(tmp_path):
    """No proxy is up in WANTED. `previous` says nothing about the first hops of such a table."""
    current, wanted = random_change(3)
    wanted = {**wanted, "backends": [{**entry, "healthy": False} for entry in wanted["backends"]]}
    paths = files(tmp_path, current, wanted)
    waiting = "waiting: when all proxies of CURRENT and WANTED are up, a plan breaks nothing"
    assert waiting in run_json("plan", *paths, code=BROKEN)["helps"]
    done = run("plan", *paths, code=BROKEN)
    assert f"helps: {waiting}" in " ".join(done.stdout.split()) and "follow what the plan says below its losses" in done.stderr
    up = [{**members, "backends": [{**entry, "healthy": True} for entry in members["backends"]]} for members in (current, wanted)]
    run("plan", *files(tmp_path, *up), code=OK)


def lost_by_others(held, members, dead, folder):
    """Rows in which a living proxy loses connections when another one dies, and glb-healthcheck publishes that."""
    after = {**members, "backends": [{**entry, "healthy": entry["healthy"] and entry["ip"] != dead} for entry in members["backends"]]}
    if members.get("previous") or "balance" in members:
        after["previous"] = [state_of(members), *members.get("previous", [])][:16]
    alive = {entry["ip"] for entry in after["backends"] if entry["healthy"] and entry["state"] != "inactive"}
    return sum(not proxies & alive <= set(row) for proxies, row in zip(held, rows_of(after, folder)))


@pytest.mark.parametrize("seed, ipv6", [(5, False), (21, False), (34, False), (35, True)])
def test_a_proxy_that_dies_between_steps_breaks_no_connection_of_others(tmp_path, seed, ipv6):
    paths = files(tmp_path, *random_change(seed, ipv6=ipv6))
    found = run_json("plan", *paths, "--write", tmp_path / "plan")
    held = [{row[0]} for row in rows_of(members_of(paths[0]), tmp_path)]
    for number, step in enumerate(found["steps"][:-1], 1):
        members = members_of(tmp_path / "plan" / f"{number}.json")
        rows = rows_of(members, tmp_path)
        held = [proxies & set(row) | {row[0]} for proxies, row in zip(held, rows)]
        for dead in sorted({row[0] for row in rows[:2]} | {min(held[0])}):
            assert lost_by_others(held, members, dead, tmp_path) == 0, (number, dead)
        if step["waits"][-1]["for"] == "connections":
            held = [{row[0]} for row in rows]


@pytest.mark.parametrize("seed", range(6))
def test_diff_counts_the_rows_of_each_holder(tmp_path, seed):
    current, _ = random_change(1000 + seed, most=8)
    held = holders_of(current, tmp_path)
    found = run_json("diff", *files(tmp_path, current, {**current, "hops": 2}), "--max-broken", "100")
    counted = {entry["ip"]: entry["held_rows"] for entry in found["tables"][0]["backends"]}
    assert counted == {ip: sum(ip in proxies for proxies in held) for ip in counted}
