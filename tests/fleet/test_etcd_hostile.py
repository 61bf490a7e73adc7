# SPDX-License-Identifier: BSD-3-Clause
"""The client of etcd with servers that are broken or hostile, and a second endpoint that works."""

import json
import os

import pytest
from hostile_etcd import HostileEtcd, drip, encode, flood, header, reply, stream, wait_for_client
from lab.tools import wait_until
from support.ports import closed_port

OK = b"HTTP/1.1 200 OK\r\n"
CREATED = {"result": {"header": header(5), "created": True}}

# How a request is answered, and what the error says.
REPLIES = {
    "nothing": (lambda connection, _: wait_for_client(connection), "check the load"),
    "closed": (lambda *_: "close", "Empty reply"),
    "endless body": (lambda connection, _: flood(connection, OK + b"\r\n", b"x" * (1 << 20)), "larger than 32 MB"),
    "endless header": (lambda connection, _: flood(connection, OK, b"X: y\r\n" * 10000), ""),
    "endless 1xx": (lambda connection, _: flood(connection, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), ""),
    "drip": (lambda connection, _: drip(connection, OK + b"Content-Length: 100000\r\n\r\n", b" "), "check the load"),
    "half": (lambda connection, _: connection.sendall(OK + b"Content-Length: 100\r\n\r\n{") or "close", ""),
    "half JSON": (lambda connection, _: connection.sendall(OK + b"\r\n{\"header\": {") or "close", "not JSON of etcd"),
    "not JSON": (lambda connection, _: reply(connection, b"<html>"), "not JSON of etcd"),
    "no object": (lambda connection, _: reply(connection, b"[]"), "not JSON of etcd"),
    "deep": (lambda connection, _: reply(connection, b"[" * 90000), "not JSON of etcd"),
    "many values": (lambda connection, _: reply(connection, b'{"kvs":[' + b"{}," * 5_000_000 + b"{}]}"), "not JSON of etcd"),
    "redirect": (lambda connection, _: reply(connection, b"", "307 Temporary Redirect", "Location: http://127.0.0.1:1/\r\n"), "HTTP status 307"),
    "not found": (lambda connection, _: reply(connection, b"404 page not found", "404 Not Found"), "HTTP status 404"),
    "proxy": (lambda connection, _: reply(connection, b"bad gateway", "502 Bad Gateway"), "HTTP status 502"),
    "no leader": (lambda connection, _: reply(connection, {"error": "etcdserver: no leader", "code": 14}, "503 Service Unavailable"),
                  "majority"),
    "error of wrong type": (lambda connection, _: reply(connection, {"error": [], "message": 5, "code": "x"}), "an error without a text"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_broken_endpoint_is_left(name, connect):
    """A range goes on to the next endpoint. The error names the endpoint."""
    answer, error = REPLIES[name]
    with HostileEtcd(kv_range=answer) as bad, HostileEtcd() as good:
        timeout_ms = 5000 if name in ("endless body", "many values") else 2000
        client = connect([bad.url], timeout_ms=timeout_ms)
        failed = client.ask("get", "key")
        assert failed["result"] == {"error of wrong type": "refused", "endless body": "too large"}.get(name, "unreachable")
        assert failed["error"].startswith(bad.url + ": ") and error in failed["error"]
        assert client.state()["connected"] == (name in ("error of wrong type", "endless body"))
        client = connect([bad.url, good.url], timeout_ms=timeout_ms)
        if name != "error of wrong type":
            assert client.ask("get", "key")["kv"]["value"] == "value"
            assert client.ask("get", "key")["result"] == "done" and bad.count("/v3/kv/range") == 2  # not asked again
        assert memory_of(client) < 200 << 20


def memory_of(client):
    """The most memory that a process had, in bytes."""
    with open(f"/proc/{client.process.pid}/status") as file:
        return 1024 * int(next(line for line in file if line.startswith("VmHWM")).split()[1])


WRONG_TYPES = [
    {"header": 5, "kvs": 7}, {"header": {"revision": -5}, "kvs": {}}, {"header": {"revision": "99999999999999999999999"}, "kvs": [1, None, "x", []]},
    {"kvs": [{"key": 5}, {"key": "***"}, {"key": "a"}, {"value": "YQ=="}]}, {"count": [], "more": "yes", "kvs": None},
]


@pytest.mark.parametrize("body", WRONG_TYPES, ids=range(len(WRONG_TYPES)))
def test_wrong_types_change_nothing(body, connect):
    with HostileEtcd(kv_range=lambda connection, _: reply(connection, body)) as bad:
        client = connect([bad.url])
        client.ask("get", "key")
        client.send("mirror", "a*", 5)
        client.send("lease", 5)
        wait_until(lambda: bad.count("/v3/lease/grant") and bad.count("/v3/kv/range") > 1, "requests")
        assert client.ask("id")["lease"] == 0
        assert not [event for event in client.kept if event.get("key")]


# What a watch sends after it was confirmed.
WATCHES = {
    "not JSON": lambda connection: connection.sendall(b"<html>\n"),
    "no object": lambda connection: connection.sendall(b"5\n"),
    "half JSON": lambda connection: connection.sendall(b'{"result": {"events": ['),
    "error": lambda connection: connection.sendall(b'{"error": {"grpc_code": 14, "message": "etcdserver: no leader"}}\n'),
    "canceled": lambda connection: connection.sendall(b'{"result": {"canceled": true, "cancel_reason": "because"}}\n'),
    "compacted": lambda connection: connection.sendall(b'{"result": {"canceled": true, "compact_revision": "7"}}\n'),
    "endless line": lambda connection: flood(connection, b"", b"x" * (1 << 20)),
    "end": lambda connection: None,
}


@pytest.mark.parametrize("name", WATCHES)
def test_a_broken_watch_reads_again(name, connect):
    def watch(connection, request):
        if bad.count("/v3/watch") > 1:
            return bad.normal(connection, request)
        stream(connection, CREATED)
        bad.revision, bad.value = 9, "new"
        WATCHES[name](connection)
        return "close"

    with HostileEtcd(watch=watch) as bad:
        client = connect([bad.url])
        client.send("mirror", "key", 5)
        assert client.wait("changed")["value"] == "value"
        assert client.wait("changed")["value"] == "new"
        client.wait_state(lambda state: state["current"])
        assert memory_of(client) < 200 << 20


@pytest.mark.parametrize("name", ["nothing", "headers only", "no line"])
def test_a_watch_that_is_not_confirmed_leaves_the_endpoint(name, connect):
    sent = {"nothing": b"", "headers only": OK + b"\r\n", "no line": OK + b'\r\n{"result": {"created": true'}[name]

    def watch(connection, _):
        connection.sendall(sent)
        return wait_for_client(connection)

    with HostileEtcd(watch=watch) as bad, HostileEtcd() as good:
        client = connect([bad.url, good.url], timeout_ms=500)
        client.send("mirror", "key", 5)
        state = client.wait_state(lambda state: state["current"])
        assert state["endpoint"] == good.url


def test_a_silent_watch_is_compared(connect):
    """The watch stays open and says nothing of the change, nor of the deletion."""
    with HostileEtcd() as bad:
        client = connect([bad.url])
        client.send("mirror", "key", 5)
        assert client.wait("changed")["value"] == "value"
        bad.revision, bad.value = 6, "new"
        assert client.wait("changed")["value"] == "new"
        bad.paths["/v3/kv/range"] = lambda connection, _: reply(connection, {"header": header(7)})
        assert client.wait("changed")["value"] is None
        bad.paths.clear()
        bad.revision, bad.value = 4, "restored from a backup"
        assert client.wait("changed")["revision"] == 4


def test_a_flood_of_lines(connect):
    """The client still does what it is told, and does not keep the lines."""
    line = json.dumps({"result": {"header": header(5), "events": [{"kv": {"key": encode("other"), "mod_revision": "5"}}]}}).encode() + b"\n"

    def watch(connection, _):
        stream(connection, CREATED)
        return flood(connection, b"", line * 10_000)

    with HostileEtcd(watch=watch) as bad:
        client = connect([bad.url])
        client.send("mirror", "key", 5)
        client.wait_state(lambda state: state["current"])
        for _ in range(100):
            assert client.ask("state")["connected"]
        assert client.ask("get", "key")["kv"]["value"] == "value"
        assert memory_of(client) < 50 << 20


def test_a_restored_revision_with_another_value(connect):
    with HostileEtcd(watch=lambda connection, _: stream(connection, CREATED) or "close") as bad:
        client = connect([bad.url])
        client.send("mirror", "key", 5)
        assert client.wait("changed")["value"] == "value"
        bad.value = "another one"
        assert client.wait("changed")["value"] == "another one"


def test_events_that_are_old_or_of_other_keys(connect):
    def watch(connection, _):
        def event(key, value, revision, kind="PUT"):
            return {"type": kind, "kv": {"key": encode(key), "value": encode(value), "mod_revision": str(revision)}}

        events = [event("key", "old", 4), event("keys", "other", 8), event("key", "", 3, "DELETE"), 5, {}, {"kv": 5}, {"type": 5},
                  event("key", "new", 8), event("key", "again", 8)]
        stream(connection, CREATED, {"result": {"events": 5}}, {"result": {"events": events}})
        return wait_for_client(connection)

    with HostileEtcd(watch=watch) as bad:
        client = connect([bad.url])
        client.send("mirror", "key", 5)
        assert [client.wait("changed")["value"] for _ in range(2)] == ["value", "new"]
        assert client.state()["current"]
        assert [event for event in client.kept if event["event"] == "changed"] == []


def test_a_transaction_is_sent_once(connect):
    """The second endpoint does not get it, and libcurl does not repeat it on a new connection, because it may have been carried out."""
    with HostileEtcd(kv_txn=lambda *_: "close") as bad, HostileEtcd() as good:
        client = connect([bad.url, good.url])
        client.ask("get", "key")  # leaves an open connection
        assert client.ask("put", "key", "x")["result"] == "unreachable"
        client.ask("get", "key")
        assert bad.count("/v3/kv/txn") == 1 and good.count("/v3/kv/txn") == 0


def test_a_transaction_that_did_not_arrive_goes_on(connect):
    def refuse(connection, _):
        reply(connection, {"error": "etcdserver: no leader", "message": "etcdserver: no leader", "code": 14}, "503 Service Unavailable")

    with HostileEtcd(kv_txn=refuse) as bad, HostileEtcd() as good:
        assert connect([bad.url, good.url]).ask("put", "key", "x")["succeeded"]
        assert connect([f"http://{closed_port()}", good.url]).ask("put", "key", "x")["succeeded"]
    with HostileEtcd(kv_txn=lambda connection, _: reply(connection, {"error": "etcdserver: request timed out", "code": 14})) as bad, \
            HostileEtcd() as good:
        assert connect([bad.url, good.url]).ask("put", "key", "x")["result"] == "unreachable"
        assert good.count("/v3/kv/txn") == 0


def test_a_token_with_a_line_break(connect, tmp_path):
    """It would add a header to later requests."""
    (tmp_path / "password").write_text("secret\n")
    with HostileEtcd(auth_authenticate=lambda connection, _: reply(connection, {"token": "x\r\nEvil: yes"})) as bad:
        client = connect([bad.url], user="me", password_file=tmp_path / "password")
        assert client.ask("get", "key")["result"] == "refused"
        assert bad.count("/v3/kv/range") == 0
        assert [request for _, _, request in bad.requests] == [{"name": "me", "password": "secret"}]


def test_a_silent_endpoint_does_not_cost_the_lease(connect):
    """One of three endpoints accepts and says nothing. The lease moves to the next one in time."""
    def keep(connection, request):
        reply(connection, {"result": {"header": header(5), "ID": request["ID"], "TTL": "6"}})

    def grant(connection, _):
        reply(connection, {"header": header(5), "ID": "77", "TTL": "6"})

    with HostileEtcd(lease_grant=grant, lease_keepalive=lambda connection, _: wait_for_client(connection)) as bad, \
            HostileEtcd(lease_keepalive=keep) as good:
        client = connect([bad.url, good.url], timeout_ms=500)
        client.send("lease", 6)
        assert client.wait("granted")["lease"] == 77
        wait_until(lambda: good.count("/v3/lease/keepalive") > 1, "a lease that is kept alive")
        assert client.ask("id")["lease"] == 77 and client.ask("state")["connected"]
        assert good.count("/v3/lease/grant") == 0


def test_a_lease_ends_for_its_owner_before_etcd_ends_it(connect):
    with HostileEtcd(lease_grant=lambda connection, _: reply(connection, {"header": header(5), "ID": 5, "TTL": 2})) as bad:
        client = connect([bad.url], timeout_ms=300)
        client.send("lease", 2)
        client.wait("granted")
        bad.paths["/v3/lease/keepalive"] = bad.paths["/v3/lease/grant"] = lambda connection, _: wait_for_client(connection)
        wait_until(lambda: client.ask("id")["lease"] == 0, "the end of the lease")
        client.ask("end")


def test_many_keys(connect):
    pairs = [{"key": encode(f"keys/{i:05}"), "mod_revision": str(i + 1), "value": encode("x" * 300)} for i in range(10_000)]

    def range_reply(connection, request):
        limit = int(request.get("limit", 0))
        kept = [{key: value for key, value in pair.items() if key != "value" or "keys_only" not in request} for pair in pairs[:limit]]
        reply(connection, {"header": header(10_000), "kvs": kept, "count": "10000", **({"more": True} if limit < 10_000 else {})})

    with HostileEtcd(kv_range=range_reply) as bad:
        client = connect([bad.url], timeout_ms=5000)
        client.send("mirror", "keys/*", 10_000)
        assert client.wait("ready") == {"event": "ready", "truncated": False}
        wait_until(lambda: client.events.empty(), "events")
        assert len(client.kept) == 10_001 and memory_of(client) < 100 << 20
        wait_until(lambda: bad.count("/v3/kv/range") > 2, "comparisons")  # they find no difference
        assert client.events.empty()


def test_a_key_that_is_no_text_is_no_difference(connect):
    """Whoever may write a key could otherwise make all mirrors read everything again and again."""
    pairs = [{"key": "/w==", "mod_revision": "3"}, {"key": "YQBi", "mod_revision": "4"}, {"mod_revision": "5"}, {"key": encode("a"), "mod_revision": "5"}]
    with HostileEtcd(kv_range=lambda connection, _: reply(connection, {"header": header(5), "kvs": pairs})) as bad:
        client = connect([bad.url])
        client.send("mirror", "a*", 5)
        assert client.wait("changed")["key"] == "a"
        wait_until(lambda: bad.count("/v3/kv/range") > 2, "comparisons")
        assert bad.count("/v3/watch") == 1 and client.state()["current"]
        assert [event["event"] for event in client.kept] == ["open", "ready"]


def test_a_proxy_of_the_environment_is_not_used(connect, monkeypatch):
    monkeypatch.setitem(os.environ, "http_proxy", "http://127.0.0.1:1")
    monkeypatch.setitem(os.environ, "ALL_PROXY", "http://127.0.0.1:1")
    with HostileEtcd() as good:
        assert connect([good.url]).ask("get", "key")["result"] == "done"


def test_requests_need_a_leader(connect):
    with HostileEtcd() as good:
        connect([good.url]).ask("get", "key")
        path, headers, request = good.requests[0]
        assert (path, headers["grpc-metadata-hasleader"], request) == ("/v3/kv/range", "true", {"key": encode("key")})
        assert "expect" not in headers and "accept-encoding" not in headers and json.dumps(request)
