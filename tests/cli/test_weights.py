# SPDX-License-Identifier: BSD-3-Clause
"""Weights of backends: checked, edited, shown, compared and explained."""

import json

import pytest
from model import load_tables
from support.cli import CHECK_ERRORS, backend, run, run_json, table, write_conf, write_tables


def weighted(*weights):
    return table(backends=[{**backend(f"192.168.50.{i}"), "weight": weight} for i, weight in enumerate(weights, 1)])


@pytest.mark.parametrize("weight", [0, 1001, -1, 1.5, "100", True])
def test_wrong_weight_is_an_error(tmp_path, weight):
    done = run("check", write_tables(tmp_path / "table.json", weighted(100, weight)), code=CHECK_ERRORS)
    assert "tables[0].backends[1].weight: " in done.stderr and "1 to 1000" in done.stderr


def test_null_is_the_default(tmp_path):
    first, second = write_tables(tmp_path / "a.json", weighted(100, 100)), write_tables(tmp_path / "b.json", weighted(None, 100))
    assert run_json("show", first)["digest"] == run_json("show", second)["digest"]


def test_rows_and_shares_are_those_of_the_model(tmp_path):
    document = weighted(1, 1000, 100, 300)
    rows = load_tables({"tables": [document]})[0].all_rows()
    shown, = run_json("show", write_tables(tmp_path / "table.json", document))["tables"]
    for i, entry in enumerate(shown["backends"], 1):
        counts = [sum(row[hop].address[3] == i for row in rows) for hop in (0, 1)]
        assert (entry["weight"], entry["rows_by_hop"]) == (document["backends"][i - 1]["weight"], counts)
    most = max(entry["rows_by_hop"][0] / entry["weight"] for entry in shown["backends"])
    assert shown["imbalance"] == pytest.approx(most * 1401 / 65536)


@pytest.mark.parametrize("version, weights", [(2, [None, None, None]), (3, [1, 1000, 100])])
def test_binary_tables_have_the_rows_and_version_3_the_weights(tmp_path, version, weights):
    source, target = write_tables(tmp_path / "table.json", weighted(1, 1000, 100)), tmp_path / "table.bin"
    run("build-config", source, target, "--format", str(version))
    assert run_json("show", source)["digest"] == run_json("show", target)["digest"]
    assert [entry["weight"] for entry in run_json("show", target)["tables"][0]["backends"]] == weights
    assert ("health  weight" in run("show", target).stdout) == (version == 3)
    assert " 0 break" in run("diff", target, source).stdout


def test_edit_sets_and_removes_a_weight(tmp_path):
    path = write_tables(tmp_path / "table.json", weighted(100, 100, 100))
    assert "backend 192.168.50.2: active -> active, weight 200\n" in run("edit", path, "set", "192.168.50.2", "weight=200").stdout
    assert json.loads(path.read_text())["tables"][0]["backends"][1]["weight"] == 200
    shown = run("show", path).stdout
    assert "health  weight" in shown and "share by weight of 3 backends" in shown
    done = run("edit", path, "set", "192.168.50.2", "weight=none", "--max-broken", "5")
    assert "backend 192.168.50.2: active, weight 200 -> active\n" in done.stdout
    assert "weight" not in json.loads(path.read_text())["tables"][0]["backends"][1]


def test_diff_names_new_weights_and_only_this_backend_gains(tmp_path):
    old, new = write_tables(tmp_path / "a.json", weighted(*8 * [100])), write_tables(tmp_path / "b.json", weighted(100, 150, *6 * [100]))
    found, = run_json("diff", old, new)["tables"]
    assert [entry["gained"] > 0 for entry in found["backends"]] == [i == 1 for i in range(8)]
    assert "  192.168.50.2: weight 150, was 100\n" in run("diff", old, new).stdout
    scaled = write_tables(tmp_path / "c.json", weighted(*8 * [7]))
    text = run("diff", old, scaled).stdout
    assert "0 rows change" in text and "  192.168.50.8: weight 7, was 100\n" in text


def test_lookup_explains_the_order_by_weight(tmp_path):
    """In the order of the scores alone, most of these first hops would not be natural owners."""
    path = write_tables(tmp_path / "table.json", weighted(1, 1, 1, 1000))
    for client in range(1, 9):
        first, second = run_json("lookup", path, "--config", write_conf(tmp_path / "director.conf"),
                                 f"198.51.100.{client}:1234", "10.10.10.10:80")["hops"]
        assert (first["reason"], second["reason"]) == ("natural owner", "place 2 in natural order")
