# SPDX-License-Identifier: BSD-3-Clause
"""Balance and previous states: shown, checked, explained, and the same rows as those of the model."""

import ipaddress
import json
import math

import pytest
from model import load_tables
from model.siphash import siphash24
from support.cli import CHECK_WARNINGS, backend, run, run_json, table, write_conf, write_tables

PROXIES = [f"192.168.50.{i}" for i in range(1, 10)]


def state(day, ips, **members):
    return {"time": f"2026-01-{day:02}T00:00:00Z", **members, "backends": [{"ip": ip} for ip in ips]}


def matched(**members):
    return table(backends=[backend(ip) for ip in PROXIES[:8]], **members)


def digest(folder, document, name="table.json"):
    return run_json("show", write_tables(folder / name, document))["digest"]


def test_show_names_balance_and_previous_states(tmp_path):
    document = matched(hops=4, balance=1.01, previous=[state(2, PROXIES, balance=1.5), state(1, PROXIES[:2])])
    path = write_tables(tmp_path / "table.json", document)
    shown, = run_json("show", path)["tables"]
    assert (shown["balance"], shown["previous"]) == (1.01, [
        {"time": "2026-01-02T00:00:00Z", "balance": 1.5, "backends": 9}, {"time": "2026-01-01T00:00:00Z", "balance": None, "backends": 2}])
    cap = math.ceil(1.01 * 65536 / 8)
    assert max(entry["rows_by_hop"][0] for entry in shown["backends"]) == cap
    assert shown["imbalance"] == pytest.approx(cap * 8 / 65536)
    text = run("show", path).stdout
    assert "\n  balance 1.01: the largest imbalance while all backends are healthy\n" in text
    assert "\n  previous state until 2026-01-02T00:00:00Z: 9 backends, balance 1.5\n" in text
    assert "\n  previous state until 2026-01-01T00:00:00Z: 2 backends\n" in text
    plain, = run_json("show", write_tables(tmp_path / "plain.json", matched()))["tables"]
    assert (plain["balance"], plain["previous"]) == (None, []) and plain["imbalance"] > 1.01


def test_rows_are_those_of_the_model(tmp_path):
    document = matched(hops=5, balance=1.02, previous=[state(2, PROXIES, balance=1.5), state(1, PROXIES[:2])])
    document["backends"][3]["healthy"] = False
    rows = load_tables({"tables": [document]})[0].all_rows()
    shown, = run_json("show", write_tables(tmp_path / "table.json", document))["tables"]
    for i, entry in enumerate(shown["backends"], 1):
        assert entry["rows_by_hop"] == [sum(row[hop].address[3] == i for row in rows) for hop in range(5)]


def test_empty_members_change_no_row(tmp_path):
    """A table without both members has the rows that it had: those of the golden vectors."""
    plain = digest(tmp_path, matched(hops=3))
    assert digest(tmp_path, matched(hops=3, balance=None, previous=[])) == plain
    assert digest(tmp_path, matched(hops=3, previous=None)) == plain
    assert digest(tmp_path, matched(hops=3, previous=[state(1, PROXIES[:8])])) == plain
    assert digest(tmp_path, matched(hops=3, previous=[state(1, PROXIES)])) == plain
    assert digest(tmp_path, matched(hops=3, previous=[state(1, PROXIES[5:8])])) != plain
    assert digest(tmp_path, matched(hops=3, balance=1.005)) != plain


@pytest.mark.parametrize("version", [2, 3])
def test_binary_tables_have_the_rows(tmp_path, version):
    source = write_tables(tmp_path / "table.json", matched(balance=1.01, previous=[state(1, PROXIES[:7])]))
    run("build-config", source, tmp_path / "table.bin", "--format", str(version))
    assert run_json("show", source)["digest"] == run_json("show", tmp_path / "table.bin")["digest"]
    assert " 0 break" in run("diff", source, tmp_path / "table.bin").stdout


def test_check_warns_about_history_that_does_not_help(tmp_path):
    future = state(1, PROXIES[:8])
    future["time"] = "2999-01-01T00:00:00Z"
    document = matched(hops=3, previous=[future, state(1, PROXIES[8:]), state(2, PROXIES)])
    path = write_tables(tmp_path / "table.json", document)
    found = run("check", path, code=CHECK_WARNINGS).stderr
    for text in ("tables[0].previous[0].time: '2999-01-01T00:00:00Z' is in the future: compare the clocks of the hosts that edit tables",
                 "tables[0].previous[1].backends: names no backend that can be a hop now: the entry has no effect, remove it",
                 "tables[0].previous[2].time: '2026-01-02T00:00:00Z' is later than that of previous[1]: list the newest state first",
                 "tables[0].hops: '3' leaves room for 2 previous states, but there are 3: "
                 "connections of the others may break; use 4 or more"):
        assert text in found
    # A director and build-config have no reason to compare clocks.
    assert "in the future" not in run("build-config", path, tmp_path / "table.bin").stderr


def test_history_of_a_draining_proxy_is_no_mistake(tmp_path):
    document = matched(hops=4, previous=[state(1, PROXIES[:8])])
    document["backends"][7]["state"] = "draining"
    assert run("check", write_tables(tmp_path / "table.json", document)).stderr == ""


def moved_clients(model):
    """Clients that balance has moved, and some others."""
    clients = [f"198.51.100.{i}" for i in range(1, 25)]
    for number in range(60000):
        client = ipaddress.IPv4Address("10.20.0.0") + number
        row = int.from_bytes(siphash24(model.hash_key, client.packed), "little") % 65536
        first = next(each for each in model.natural_order(row) if each.state == "active")
        if model.holders(row)[0] is not first:
            clients.append(str(client))
            if len(clients) == 30:
                return clients


def test_lookup_explains_every_hop(tmp_path):
    """Each text is right for the hop, by the model's matchings and natural order; all of them occur."""
    document = matched(hops=8, balance=1.005, previous=[state(2, PROXIES[:6], balance=1.1), state(1, PROXIES[:3])])
    document["backends"][2]["healthy"] = False
    document["backends"][5]["state"] = "draining"
    path, conf = write_tables(tmp_path / "table.json", document), write_conf(tmp_path / "director.conf")
    model = load_tables({"tables": [document]})[0]
    seen = set()
    for client in moved_clients(model):
        found = run_json("lookup", path, "--config", conf, client, "10.10.10.10:80")
        natural = [backend.address[3] for backend in model.natural_order(found["row"])]
        matches = [backend and backend.address[3] for backend in model.holders(found["row"])]
        for place, hop in enumerate(found["hops"]):
            last, reason = int(hop["ip"].split(".")[-1]), hop["reason"]
            behind = place > 1 and not hop["healthy"] and found["hops"][1]["healthy"]
            assert reason.endswith("; hops that are down come last") == behind
            reason = reason.removesuffix("; hops that are down come last")
            seen |= {"last"} if behind else set()
            if reason.startswith("was first in previous["):
                number = int(reason[len("was first in previous[")])
                assert place and matches.index(last) == number + 1 and reason.endswith(f", until 2026-01-0{2 - number}T00:00:00Z")
            elif reason == "would be first, but is down":
                assert last == 3 == matches[0] and place
            elif "balance moved the row" in reason:
                taking = [each for each in natural if each != 6]
                assert place == 0 and last == matches[0] != taking[0] and f"which 192.168.50.{taking[0]} would have" in reason
                assert reason.startswith(f"place {natural.index(last) + 1} in natural order: ")
            elif reason.startswith("first good: "):
                skipped = matches[0] if matches[0] != last else natural[0]
                assert place == 0 and reason.startswith(f"first good: 192.168.50.{skipped} is {'down' if skipped == 3 else 'draining'}")
            elif reason == "natural owner":
                assert natural[0] == last
            else:
                assert place and reason == f"place {natural.index(last) + 1} in natural order"
            seen.add(reason[:5] if place else reason[-10:] if "balance" in reason else reason[:5])
    assert seen == {"natur", "first", "was f", "would", "place", "would have", "last"}


def test_edit_keeps_what_it_does_not_change(tmp_path):
    document = matched(hops=4, balance=1.25, previous=[state(1, PROXIES, balance=1.5)])
    path = write_tables(tmp_path / "table.json", document)
    run("edit", path, "set", PROXIES[0], "healthy=false", "--keep", "87600h")
    after, = json.loads(path.read_text())["tables"]
    assert after["balance"] == 1.25 and len(after["previous"]) == 2 and after["previous"][1] == document["previous"][0]


def test_diff_does_not_trust_the_natural_order_of_matched_rows(tmp_path):
    """The draining proxy may have been first in every row that has it, wherever it is in natural order."""
    for name, members in (("plain", {}), ("balanced", {"balance": 1.01})):
        document = matched(hops=8, **members)
        document["backends"][7]["state"] = "draining"
        old = write_tables(tmp_path / "old.json", document)
        document["backends"][7]["state"] = "inactive"
        found = run_json("diff", old, write_tables(tmp_path / "new.json", document), code=3)
        assert found["tables"][0]["seed_known"] is True
        assert (found["broken_rows"] == 65536) is (name == "balanced")
