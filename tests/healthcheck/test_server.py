# SPDX-License-Identifier: BSD-3-Clause
"""/status and /metrics while other clients misbehave, and with many backends."""

import http.client
import json
import select
import socket

import nginx
import pytest
from daemon import backend, table, wait_probes
from lab.tools import TIMEOUT_S, wait_until
from network import PROXY

CLIENTS_MAX = 32
TABLES, BACKENDS = 4, 4000


def connect(host, request=b""):
    """Its small buffer keeps the daemon from sending what the test does not read."""
    with host:
        made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(TIMEOUT_S)
    made.connect(("127.0.0.1", 19521))
    made.sendall(request)
    return made


def memory_kib(daemon):
    with open(f"/proc/{daemon.pid()}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def is_closed(connection):
    return bool(select.select([connection], [], [], 0)[0])


@pytest.mark.parametrize("request_bytes", [b"", b"GET /metrics HTTP/1.1\r\nHost: "], ids=["idle", "half a request"])
def test_clients_that_wait_for_nothing_are_replaced(daemon, here, request_bytes):
    made = daemon(table(backend(PROXY, http=nginx.OK))).start()
    made.logged("dst.json written")
    idle = [connect(here, request_bytes) for _ in range(100)]
    assert made.get("/metrics")[0] == 200 and made.get("/status")[0] == 200
    wait_until(lambda: sum(map(is_closed, idle)) == len(idle) - CLIENTS_MAX + 1, lambda: f"{sum(map(is_closed, idle))} of 100 closed")
    assert all(map(is_closed, idle[:-CLIENTS_MAX])) and not any(map(is_closed, idle[-CLIENTS_MAX + 2:]))
    for connection in idle:
        connection.close()
    wait_probes(made, 3)


@pytest.fixture
def small_buffers(here):
    """The daemon cannot send more than this before the client reads."""
    before = here.run("sysctl", "-n", "net.ipv4.tcp_wmem").stdout.strip()
    here.sysctl({"net.ipv4.tcp_wmem": "4096 16384 65536"})
    yield
    here.sysctl({"net.ipv4.tcp_wmem": before})


@pytest.fixture
def crowd(daemon):
    """A daemon with many backends, of which one has a check."""
    others = [backend(f"10.79.{i // 250}.{1 + i % 250}") for i in range(BACKENDS)]
    tables = [table(*others, name=f"table{i}", vips=[f"203.0.113.{i}"]) for i in range(TABLES)]
    made = daemon(table(backend(PROXY, http=nginx.OK)), *tables, interval_ms=50, timeout_ms=40).start()
    made.others = tables
    made.logged("dst.json written")
    return made


def count(text):
    return sum(len(table["backends"]) for table in json.loads(text)["tables"])


def test_page_about_many_backends_is_never_whole_in_memory(crowd, here):
    before = memory_kib(crowd)
    readers = [connect(here, b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(20)]
    slow = http.client.HTTPResponse(readers[0])
    slow.begin()
    start = slow.read(1000)
    wait_probes(crowd, 10)
    assert count(crowd.get("/status")[2]) == TABLES * BACKENDS + 1
    assert count(start + slow.read()) == TABLES * BACKENDS + 1
    assert memory_kib(crowd) - before < 8192
    for connection in readers:
        connection.close()


def test_page_is_not_mixed_from_two_versions_of_src(small_buffers, crowd, here):
    connection = connect(here, b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
    page = http.client.HTTPResponse(connection)
    page.begin()
    page.read(1000)
    crowd.write_src(table(backend(PROXY, http=nginx.OK), backend("10.78.0.1")), *crowd.others)
    crowd.logged(f"src.json: {TABLES + 1} tables", 2)
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        page.read()
    assert count(crowd.get("/status")[2]) == TABLES * BACKENDS + 2
