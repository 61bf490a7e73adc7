# SPDX-License-Identifier: BSD-3-Clause
"""Runs grpc checks against a real gRPC server, and against servers that break the protocol."""

import grpc_peers
import nginx
import peers
import pytest
from daemon import backend, table
from grpc_peers import RAW_PORTS, SERVER, TLS, WITHOUT_HEALTH
from network import ELSEWHERE, PROXY

ONLY_RESET = ("bad_reply", "Stream error in the HTTP/2 framing layer")


@pytest.fixture(scope="module", autouse=True)
def grpc_servers(proxies, servers):
    process = grpc_peers.start(proxies, servers)
    yield
    process.terminate()
    process.wait()


def once(daemon, *checks, **options):
    """Each of the checks is one backend's. Returns their results in the same order."""
    backends = [backend(f"10.78.0.{i}", **each) for i, each in enumerate(checks, 1)]
    rows = daemon(table(*backends), timeout_ms=1000, interval_ms=2000, **options).check_once()[1]
    assert len(rows) == len(checks)
    return list(rows.values())


def test_statuses_of_a_real_server(daemon):
    expected = {
        "up": ("passed", "SERVING"), grpc_peers.LONGEST: ("passed", "SERVING"), "down": ("bad_status", "NOT_SERVING"),
        "unknown": ("bad_status", "UNKNOWN"), "absent": ("bad_status", "SERVICE_UNKNOWN"), "empty": ("bad_status", "UNKNOWN"),
        "odd": ("bad_status", "the service reports a status that gRPC does not define"),
        "negative": ("bad_status", "the service reports a status that gRPC does not define"),
        "garbage": ("bad_reply", "the message is not a HealthCheckResponse"),
        "large": ("bad_reply", "the reply has more than 1024 bytes"),
        "missing": ("bad_status", "grpc-status 5 (NOT_FOUND)"),
    }
    rows = once(daemon, {"grpc": SERVER}, {"grpc": WITHOUT_HEALTH}, *({"grpc": SERVER, "grpc_service": name} for name in expected))
    assert rows[0] == ("passed", "SERVING")
    # A server without this service replies before it has the whole request, and resets the stream. If the reset has arrived when
    # libcurl sends the rest or reads the reply, libcurl reports only the reset.
    assert rows[1] in [("bad_status", "grpc-status 12 (UNIMPLEMENTED)"), ONLY_RESET]
    assert dict(zip(expected, rows[2:], strict=True)) == expected


def test_names_of_checks(daemon):
    rows = daemon(table(backend(PROXY, grpc=SERVER), backend(ELSEWHERE, grpc=SERVER, grpc_service="up", http_host="a.example.com"),
                        )).check_once()[1]
    assert list(rows) == [f"grpc {PROXY}:{SERVER}/", f"grpc {ELSEWHERE}:{SERVER}/up as a.example.com"]


def test_tls(daemon, servers):
    tls = {"grpc": TLS, "http_tls": True}
    rows = once(daemon, {**tls, "http_host": nginx.NAME}, {**tls, "http_host": "other.example.com"}, {**tls, "http_verify": False},
                {**tls, "http_verify": False, "grpc_service": "down"}, {"grpc": TLS}, {"grpc": SERVER, "http_tls": True},
                {"grpc": nginx.TLS, "http_tls": True, "http_verify": False}, http=f'{{ ca_file = "{servers}/cert.pem"; }}')
    assert [result for result, _ in rows] == ["passed", "bad_tls", "passed", "bad_status", rows[4][0], "bad_tls", "bad_reply"]
    assert rows[4][0] in ("reset", "bad_reply", "timeout") and rows[6][1] == "the proxy does not offer HTTP/2"


def test_other_http_settings_do_not_apply(daemon):
    (row,) = once(daemon, {"grpc": SERVER, "http_method": "OPTIONS", "http_status": "500", "http_body": "no", "http_version": "1.1",
                           "http_headers": {"Content-Type": "text/plain"}})
    assert row == ("passed", "SERVING")


def test_no_hostile_reply_passes(daemon):
    rows = once(daemon, *({"grpc": port} for port in RAW_PORTS))
    assert rows[:14] == [
        ("passed", "SERVING"),
        ("bad_reply", "the reply has no grpc-status"),
        ("bad_reply", "grpc-status is not a number"),
        ("bad_reply", "grpc-status is not a number"),
        ("bad_reply", "the reply has more than one grpc-status"),
        ("bad_status", "grpc-status 14 (UNAVAILABLE)"),
        ("bad_status", "grpc-status 256 (unknown)"),
        ("bad_reply", "the reply has no message"),
        ("bad_reply", "the message is compressed"),
        ("bad_reply", "the reply has more than one message"),
        ("bad_reply", "the message is cut off"),
        ("bad_reply", "the content type of the reply is not application/grpc"),
        ("bad_reply", "the content type of the reply is not application/grpc"),
        ("bad_status", "status 503"),
    ]
    assert rows[16:18] == [("bad_reply", "the reply has more than 1024 bytes"), ("bad_reply", "the body has more than 1048576 bytes")]
    others = rows[14:16] + rows[18:]
    assert not {"passed", "not_run"} & {result for result, _ in others}, others


def test_servers_of_http_and_tcp_do_not_pass(daemon):
    ports = [nginx.OK, nginx.H2, peers.HANG, peers.RESET, peers.CLOSE, peers.GARBAGE, peers.HUGE, *peers.HOSTILE, 9]
    rows = once(daemon, *({"grpc": port} for port in ports))
    assert not {"passed", "not_run"} & {result for result, _ in rows}, rows
    assert rows[-1] == ("refused", "Connection refused")
    assert rows[1] in [("bad_reply", "the content type of the reply is not application/grpc"), ONLY_RESET]


def test_http_and_grpc_share_handles(daemon):
    """A handle that sent a grpc probe must send a plain GET afterwards, and the other way round."""
    backends = [backend(f"10.78.1.{i}", http=nginx.OK, http_uri="/ask", http_body="GET ", grpc=SERVER, grpc_service="up") for i in range(4)]
    made = daemon(table(*backends), timeout_ms=1000, interval_ms=1100, max_concurrent=1).start().wait_ready()
    made.wait_healthy({each["ip"]: True for each in backends})
    made.write_src(table(*backends, backend(PROXY, grpc=SERVER, grpc_service="down")))
    made.wait_healthy({**{each["ip"]: True for each in backends}, PROXY: False})
    metrics = str(made.get("/metrics"))
    assert 'probes_total{kind="grpc",result="passed"}' in metrics.replace("\\", "")
    results = {check["result"] for each in made.status()["tables"][0]["backends"] for check in each["checks"]}
    assert results == {"passed", "bad_status"}
