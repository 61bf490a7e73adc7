# SPDX-License-Identifier: BSD-3-Clause
"""Compares docs/reference/table.schema.json with the validator, `glb-director-cli check`, in both directions."""

import copy
import json
import re
import subprocess

import jsonschema
import pytest

from lab.table import Table
from support import glb
from support.cli import backend, table
from support.tree import CLI, TREE
from support.vectors import FOLDER, PACKETS

SCHEMA = json.loads((TREE / "docs/reference/table.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PAGE = (TREE / "docs/reference/table-json.md").read_text()
MAN = (TREE / "docs/man/glb-forwarding-table.5.scd").read_text()

HTTP = {"http_host": "www.example.com", "http_method": "GET", "http_status": "200-299,304", "http_body": "ok", "http_version": "2",
        "http_tls": True, "http_verify": False, "http_headers": {"X-Token": "abc"}}
# The checks of a backend that need a port.
PORTS = {name: 80 for name, entry in SCHEMA["$defs"]["checks"]["properties"].items() if "integer" in entry.get("type", ())}
# Has every member.
DOCUMENT = {
    "healthchecks": {"interval_ms": 2000, "timeout_ms": 1000, "trigger": 3, "trigger_healthy": 2, "trigger_unhealthy": 1, **HTTP},
    "replaces": "0123456789abcdef",
    "tables": [
        table("web", [
            {**backend("192.168.50.1"), "weight": 200, "server_id": ["ed793a", "c4605e7788"], "healthchecks": {**PORTS, "http_uri": "/", "grpc_service": "a.B", "command": "db", **HTTP}},
            backend("192.168.50.2", "draining", False),
        ], hash_key=0xFACE, hops=3, balance=1.02, previous=[
            {"time": "2026-01-31T00:00:00Z", "balance": 1.5, "by_health": True, "backends": [
                {"ip": "192.168.50.9", "weight": 7, "healthy": False, "server_id": "000000"}, {"ip": "192.168.50.1"}]},
        ], healthchecks={"interval_ms": 100, "timeout_ms": 50, **HTTP}, quic=[
            {"id": 0, "server_id_length": 3, "nonce_length": 8, "key": "5a1bc3d4e5f60718293a4b5c6d7e8f90"},
            {"id": 6, "server_id_length": 5, "nonce_length": 11},
        ], binds=[
            {"ip": "10.10.10.10", "proto": "udp", "port": 80, "quic": True},
            {"ip": "fdb4::/64", "proto": "udp", "port_start": 1000, "port_end": 1999},
        ]),
    ],
}
VALUES = [
    None, True, False, 1.004, 1.005, 2.0, 2.001, "2026-02-28T23:59:59Z", "2026-01-01T24:00:00Z", "2026-1-01T00:00:00Z", "1969-01-01T00:00:00Z",
    "2026-01-01 00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:60Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", -1, 0, 1, 2, 4, 5, 9, 10, 1000, 1001, 65535, 65536, 3600000, 3600001, 1.5, 10**18, "", "a", "x" * 255, "x" * 256,
    "a\nb", "\x7f", "\u009b", "ü", "tcp", "udp", "TCP", "sctp", "active", "filling", "draining", "inactive", "up", "10.0.0.7", "10.0.0.300",
    "10.0.0", "10.0.0.07", "10.0.0.7 ", "10.0.0.0/8", "10.0.0.0/32", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/", "::", "fd00::1", "fd00::/128",
    "fd00::/129", "fd00::1%eth0", "/", "/a b", "/" + "x" * 2047, "/" + "x" * 2048, "0f" * 16, "0F" * 16, "0g" * 16, "0f" * 15, "0f" * 17,
    "0f" * 8, "0" * 16, "0f" * 7, "GET", "HEAD", "get", "200", "200-", " 200 - 299 , 304 ", "99", "600", "1.1", "3", "a.b-c_d", "x" * 1024, "x" * 1025,
    "ed793a", "ED79", "ed7", 3, 6, 7, 15, 16, 18, 19, ["0f"], ["0f", "0f0f"], ["0f", "0f"], ["0f", None], ["0f", "0f0f", "0f0f0f"],
    "a b", " a", "a ", {"Host": 1}, {"a b": "c"}, {"a": ""}, {"a": "\r\nb: c"}, {"x" * 64: "a"}, {"x" * 65: "a"}, [], {}, [None], [{}], [[]],
]
# Errors of `check` that a schema cannot express. The page lists them.
INEXPRESSIBLE = {
    "a proxy is listed twice, in `backends` or in one entry of `previous`": (
        "is listed twice", lambda doc: doc["tables"][0]["previous"][0]["backends"].append({"ip": "192.168.50.9"})),
    "a `balance` has more than 3 decimals": ("with at most 3 decimals", lambda doc: doc["tables"][0].update(balance=1.0205)),
    "a `time` has a day that the month does not have": (
        "is not a time in UTC", lambda doc: doc["tables"][0]["previous"][0].update(time="2026-02-30T00:00:00Z")),
    "a proxy is a VIP": ("is a VIP", lambda doc: doc["tables"][0]["backends"].append(backend("10.10.10.10"))),
    "a proxy is inside a bind that matches UDP port 19523": ("matches UDP port 19523", lambda doc: doc["tables"][0]["binds"].append(
        {"ip": "192.168.50.0/24", "proto": "udp", "port": 19523})),
    "two tables have the same name, or one is named like the `#INDEX` of another": (
        "is also the name of tables[0]", lambda doc: doc["tables"].append(doc["tables"][0])),
    "`port_start` is greater than `port_end`": ("is greater than port_end", lambda doc: doc["tables"][0]["binds"][1].update(port_end=1)),
    "a bind with `quic` is for `tcp`, or its table has no `quic`": ("is true, but the ", lambda doc: doc["tables"][0]["binds"][0].update(proto="tcp")),
    "two configurations of `quic` have the same `id`": ("is listed twice", lambda doc: doc["tables"][0]["quic"][1].update(id=0)),
    "`server_id_length` and `nonce_length` are more than 19 together": ("at most 19 together", lambda doc: doc["tables"][0]["quic"][1].update(nonce_length=15)),
    "a table has three values of `server_id_length`": ("is the third server_id_length", lambda doc: doc["tables"][0]["quic"].append(
        {"id": 1, "server_id_length": 1, "nonce_length": 8})),
    "configurations with and without a `key` have the same `server_id_length`": (
        "only one of both has a key", lambda doc: doc["tables"][0]["quic"].append({"id": 1, "server_id_length": 3, "nonce_length": 8})),
    "no configuration has the length of a `server_id`": (", but no configuration of `quic` has", lambda doc: doc["tables"][0]["backends"][0].update(server_id="ed79")),
    "both server IDs of a proxy have the same length": (
        "an array of two with different lengths", lambda doc: doc["tables"][0]["backends"][0].update(server_id=["ed793a", "ed793b"])),
    "two proxies have the same `server_id`": ("is listed twice", lambda doc: doc["tables"][0]["backends"][1].update(server_id="ED793A")),
    "a `server_id` was that of another proxy in `previous`": ("was the server ID of", lambda doc: doc["tables"][0]["backends"][0].update(server_id="000000")),
    "an IPv6 address is malformed": ("is not an IPv4 or IPv6 address", lambda doc: doc["tables"][0]["binds"][1].update(ip="1::2::3")),
    "a proxy has an IPv6 address that no proxy can have": (
        "not an address that a proxy can have", lambda doc: doc["tables"][0].update(previous=[], backends=[backend("fe80::1")])),
    "the proxies of a table, or of its `previous`, have addresses of both families": (
        "need addresses of one family", lambda doc: doc["tables"][0]["previous"][0]["backends"].append({"ip": "fd00::1"})),
    "a `name` has more than 255 bytes, but not characters": (
        "is not a name: at most 255 bytes", lambda doc: doc["tables"][0].update(name="ü" * 128)),
    "an `http_uri` has more than 2048 bytes, but not characters": (
        "of at most 2048 characters", lambda doc: doc["tables"][0]["backends"][0]["healthchecks"].update(http_uri="/" + "ü" * 1024)),
    "an `http_body` has more than 1024 bytes, but not characters": (
        "of at most 1024 bytes", lambda doc: doc["healthchecks"].update(http_body="ü" * 513)),
    "an `http_status` has a range that ends before it begins": (
        "is not a set of statuses", lambda doc: doc["healthchecks"].update(http_status="300-200")),
    "`http_headers` has a header of the connection or of the framing, or `Host`": (
        "cannot be set", lambda doc: doc["healthchecks"].update(http_headers={"transfer-Encoding": "chunked"})),
    "`http_method` is `HEAD` where `http_body` is set": (
        "a response to HEAD has no body", lambda doc: doc["tables"][0]["backends"][0]["healthchecks"].update(http_method="HEAD")),
    "a number is written with a fraction of zero: `80.0`": (
        "(a real number) is not an integer", lambda doc: doc["tables"][0]["binds"][0].update(port=80.0)),
    "a key is that of an example": ("is published as an example", lambda doc: doc["tables"][0].update(seed=PAGE.split('"seed": "')[1][:32])),
}


def errors_of(documents, folder):
    """The errors of `check` for each document."""
    files = []
    for number, document in enumerate(documents):
        files.append(folder / f"{number}.json")
        files[-1].write_text(document if isinstance(document, str) else json.dumps(document))
    found = []
    for first in range(0, len(files), 500):
        done = subprocess.run([CLI, "check", "--json", *files[first:first + 500]], capture_output=True, text=True, timeout=120)
        found += [entry["errors"] for entry in json.loads(done.stdout)["files"]]
    assert len(found) == len(files)
    return found


def places(value, path=()):
    yield path
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(below, (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def changed(path, change):
    document = copy.deepcopy(DOCUMENT)
    change(at(document, path[:-1]), path[-1])
    return document


def mutants():
    """(what was changed, document): each member and element with each value, or deleted; each object with another member."""
    for path in places(DOCUMENT):
        if path:
            for value in VALUES:
                yield (path, value), changed(path, lambda parent, key, value=value: parent.__setitem__(key, value))
            yield (path, "deleted"), changed(path, lambda parent, key: parent.__delitem__(key))
        if isinstance(at(DOCUMENT, path), dict):
            for member in ("frob", "x-frob", "_", "x", "healthcheck"):
                document = copy.deepcopy(DOCUMENT)
                at(document, path)[member] = {"any": 1}
                yield (path, member), document
    for value in VALUES:
        yield ((), value), value


def test_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_mutant_is_valid_for_both_or_for_none(tmp_path):
    names, documents = zip(*mutants())
    known = [text for text, _ in INEXPRESSIBLE.values()] + ["but the table has no `quic`"]
    verdicts = {True: 0, False: 0}
    for name, document, errors in zip(names, documents, errors_of(documents, tmp_path)):
        valid = VALIDATOR.is_valid(document)
        verdicts[valid] += 1
        if valid:
            assert [error for error in errors if not any(text in error for text in known)] == [], name
        else:
            assert errors, (name, [error.message for error in VALIDATOR.iter_errors(document)][:3])
    assert min(verdicts.values()) > 100


@pytest.mark.parametrize("place, count", [(("tables",), 1024), (("tables", 0, "binds"), 4096), (("tables", 0, "backends"), 4096)])
def test_limits_are_the_same(tmp_path, place, count):
    def of(number):
        document = copy.deepcopy(DOCUMENT)
        last = at(document, place)[-1]
        at(document, place).extend([last] * (number - len(at(document, place))))
        if place[-1] == "backends":
            at(document, place)[:] = [backend(f"172.16.{i >> 8}.{i & 255}") for i in range(number)]
        if place[-1] == "tables":
            document["tables"] = [{**each, "name": str(i)} for i, each in enumerate(document["tables"])]
        return document

    documents = [of(count), of(count + 1)]
    assert [bool(errors) for errors in errors_of(documents, tmp_path)] == [False, True]
    assert [VALIDATOR.is_valid(document) for document in documents] == [True, False]


def valid_documents():
    yield "config", json.loads((TREE / "config/forwarding_table.json").read_text())
    yield "page", json.loads(PAGE.split("```json\n")[1].split("```")[0])
    yield "lab", json.loads(Table().with_backend("192.0.2.70").json())
    yield from PACKETS["tables"].items()
    for case in json.loads((FOLDER / "rows.json").read_text()):
        yield case["name"], case["table"]
    for name in glb.TABLES:
        yield name, glb.load(name)
        yield f"{name}, written by GLB's health checks", json.loads(glb.written_by_healthcheck(glb.load(name), lambda ip: True))


def test_valid_tables_are_valid_for_both(tmp_path):
    names, documents = zip(*valid_documents())
    assert len(names) > 60
    for name, document, errors in zip(names, documents, errors_of(documents, tmp_path)):
        assert [error for error in errors if "is published as an example" not in error] == [], name
        assert [error.message for error in VALIDATOR.iter_errors(document)] == [], name


@pytest.mark.parametrize("what", INEXPRESSIBLE)
def test_the_page_lists_what_the_schema_cannot_express(tmp_path, what):
    error, change = INEXPRESSIBLE[what]
    document = copy.deepcopy(DOCUMENT)
    change(document)
    assert VALIDATOR.is_valid(document)
    (errors,) = errors_of([document], tmp_path)
    assert errors and all(error in each for each in errors)
    assert f"\n- {what}\n" in PAGE


def test_duplicate_members_are_beyond_a_schema(tmp_path):
    ((error,),) = errors_of(['{"tables": [], "tables": []}'], tmp_path)
    assert "duplicate object key" in error and VALIDATOR.is_valid({"tables": []})
    assert "\n- a member occurs twice in an object\n" in PAGE


# Where each object of the schema is in the document.
OBJECTS = {
    None: (), "table": ("tables", 0), "quic": ("tables", 0, "quic", 0), "bind": ("tables", 0, "binds", 0), "backend": ("tables", 0, "backends", 0),
    "previous": ("tables", 0, "previous", 0), "previous_backend": ("tables", 0, "previous", 0, "backends", 0),
    "checks": ("tables", 0, "backends", 0, "healthchecks"), "timing": ("healthchecks",),
}


def test_schema_and_document_have_every_member(tmp_path):
    assert [name for name, entry in SCHEMA["$defs"].items() if "properties" in entry] == [name for name in OBJECTS if name]
    documents = [changed((*place, "unknown-member"), lambda parent, key: parent.__setitem__(key, 1)) for place in OBJECTS.values()]
    for (name, place), errors in zip(OBJECTS.items(), errors_of(documents, tmp_path)):
        known = re.search(r"known here: (.*) \(keys", errors[0]).group(1).split(", ")
        assert known == list((SCHEMA["$defs"][name] if name else SCHEMA)["properties"]), name
        assert set(known) <= {*at(DOCUMENT, place), "port_start", "port_end"}, name


def test_every_member_of_the_schema_has_a_description():
    for name, entry in {"document": SCHEMA, **SCHEMA["$defs"]}.items():
        for member, value in entry.get("properties", {}).items():
            target = SCHEMA["$defs"][re.sub(".*/", "", value["$ref"])] if "$ref" in value else value
            assert "description" in value or "description" in target or member in ("proto", "healthchecks"), (name, member)
            assert f"`{member}`" in PAGE, member
            assert f"*{member}*" in MAN, member
