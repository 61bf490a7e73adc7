# SPDX-License-Identifier: BSD-3-Clause
"""Holds every JSON output that a test reads to docs/reference/outputs.schema.json, and refuses keys that the schema does not have."""

import functools
import json

import jsonschema

from support.tree import TREE

PATH = "docs/reference/outputs.schema.json"


def closed(schema):
    """The schema without permission for other keys. Programs that use the published one must accept later keys."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema and "additionalProperties" not in schema else {}
    if schema.get("additionalProperties") == {"type": ["integer", "string"]}:
        more = {"additionalProperties": {"type": "integer"}}  # of an object of counters, each text is listed
    return {**{key: closed(value) for key, value in schema.items()}, **more}


@functools.lru_cache
def _schema():
    return closed(json.loads((TREE / PATH).read_text()))


@functools.lru_cache
def _validator(name):
    assert name in _schema()["$defs"], f"{PATH} has no `{name}`: add it to $defs, and its keys to the page of docs/reference"
    return jsonschema.Draft202012Validator({**_schema(), "$ref": f"#/$defs/{name}".replace(" ", "%20")})


def check_output(name, document):
    """Fails the test unless the schema describes the document. `name`: a subcommand, "show --live", or "status" for GET /status."""
    for error in _validator(name).iter_errors(document):
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        raise AssertionError(f"the output of `{name}` differs from {PATH} at `{place or '.'}`: {error.message[:500]}\n"
                             f"If this is on purpose, change the schema ($defs, {name}) and the page of docs/reference in this commit.")
