# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/outputs.schema.json. support.cli and the tests of glb-healthcheck hold every output that they read to it."""

import json
import re

import jsonschema
import pytest

from support.cli import run, run_json, table, write_tables
from support.outputs import PATH, check_output
from support.tree import TREE

SCHEMA = json.loads((TREE / PATH).read_text())


def test_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_subcommand_with_json_has_a_schema():
    commands = re.findall(r"^  ([a-z-]+) ", run("--help").stdout, re.M)
    with_json = [command for command in commands if "--json" in run(command, "--help").stdout]
    assert len(with_json) > 5
    assert [command for command in with_json if command not in SCHEMA["$defs"]] == []


def test_published_schema_accepts_later_keys_and_the_tests_do_not(tmp_path):
    shown = run_json("show", write_tables(tmp_path / "table.json", table()))
    shown["tables"][0]["later"] = 1
    jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/show"}).validate(shown)
    with pytest.raises(AssertionError, match=r"(?s)`show` differs .* at `.tables\[0\]`: .*'later' was unexpected.*change the schema"):
        check_output("show", shown)


def test_published_schema_accepts_later_texts_beside_counters_and_the_tests_do_not():
    validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/stats"})
    for later in ({"later": "text"}, {"ports": {"0": {"later": "text"}}}):
        validator.validate(later)
        with pytest.raises(AssertionError, match="the output of `stats` differs .* is not of type 'integer'"):
            check_output("stats", later)
    check_output("stats", {"later": 1, "ports": {"0": {"later": 1}}})


def test_missing_keys_and_wrong_types_are_found(tmp_path):
    shown = run_json("show", write_tables(tmp_path / "table.json", table()))
    for key in shown:
        for document in ({**shown, key: {}}, {name: value for name, value in shown.items() if name != key}):
            with pytest.raises(AssertionError, match="the output of `show` differs"):
                check_output("show", document)
