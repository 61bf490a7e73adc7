# SPDX-License-Identifier: BSD-3-Clause
"""GitHub's GLB Director, as far as tests need it: its files, the rows that it builds, and the table that its health checks write.

The rows follow GLB's documentation of its hashing and what its build-config does where that is silent: only the first two proxies of
a row count, and they change places if the first is draining or unhealthy, and the state of the second is active.
"""

import functools
import json

from model.table import ROWS, Table
from support.tree import TREE

FILES = TREE / "tests/vectors/glb"
TABLES = ["table.json", "table1.json", "table2.json", "table3.json", "test-config.json"]  # of GLB's own tests


def load(name):
    return json.loads((FILES / name).read_text())


def rows_of(table):
    """The rows that GLB builds from a table of a JSON document: two addresses each. A missing `healthy` is false."""
    return _rows_of(json.dumps(table))


@functools.lru_cache
def _rows_of(text):
    table = json.loads(text)
    backends = [{**backend, "healthy": backend.get("healthy") is True} for backend in table["backends"]]
    natural = Table.from_json({"name": None, **table, "hops": 2, "backends": [
        {**backend, "state": "inactive" if backend["state"] == "inactive" else "active", "healthy": True} for backend in backends]})
    status = {one.address: backend for one, backend in zip(natural.backends, backends)}
    rows = []
    for first, second in ((row[0].address, row[1].address) for row in natural.all_rows()):
        down = status[first]["state"] == "draining" or not status[first]["healthy"]
        rows.append((second, first) if down and status[second]["state"] == "active" else (first, second))
    assert len(rows) == ROWS
    return rows


def written_by_healthcheck(document, healthy):
    """The text that GLB's health checks write for a table: each member in a fixed order, absent ones as "" or null."""
    tables = [{
        "name": table.get("name", ""),
        "hash_key": table["hash_key"],
        "seed": table["seed"],
        "binds": [{key: bind[key] for key in ("ip", "proto", "port", "port_start", "port_end") if key in bind} for bind in table["binds"]],
        "backends": [{"ip": backend["ip"], "state": backend["state"], "healthy": healthy(backend["ip"]),
                      "healthchecks": backend.get("healthchecks")} for backend in table["backends"]],
    } for table in document["tables"]]
    return json.dumps({"healthchecks": document.get("healthchecks"), "tables": tables}, indent=2)
