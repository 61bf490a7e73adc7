# SPDX-License-Identifier: BSD-3-Clause
"""The director's /metrics: names, values, and clients that misbehave."""

import contextlib
import http.client
import re
import select
import signal
import socket
import subprocess

import pytest

from lab.net import Namespace
from lab.tools import TIMEOUT_S, wait_until
from support import pcap, traffic
from support.director_conf import CONFIG
from support.director_process import VERDICTS, DirectorProcess, write_table
from support.health import wait_health
from support.ports import reserved_port
from support.tree import TREE

REFERENCE = (TREE / "docs/reference/metrics.md").read_text()
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}
CLASSES = "neighbour link routing icmp other".split()
CLIENTS_MAX = 32
BINDS = 3000
FRAMES = 2000
HOST = "127.0.0.1"


@pytest.fixture
def port():
    with reserved_port() as number:
        yield number


def get(port, path="/metrics", method="GET", host=HOST, **headers):
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    with contextlib.closing(connection):
        return response.status, response.headers["Content-Type"], response.read().decode()


def served(port):
    """The text of /metrics, as soon as the director serves it."""
    def answer():
        with contextlib.suppress(OSError):
            return get(port)[2]
    return wait_until(answer, "/metrics")


def samples(text):
    """{(name, labels): value}; labels is a frozenset of (name, value)."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
        key = name, frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
        assert key not in found, line
        found[key] = float(value)
    return found


def value(found, name, **labels):
    return found["glb_director_" + name, frozenset(labels.items())]


def start(tmp_path, port, frames=(), table=None, **config):
    rx = tmp_path / "rx.pcap"
    pcap.write(rx, frames)
    table = table or write_table(tmp_path / "table.bin", traffic.TABLE)
    vdev = f"net_pcap0,rx_pcap={rx},tx_pcap={tmp_path / 'tx.pcap'}"
    return DirectorProcess([vdev], {**CONFIG, "metrics": f"{HOST}:{port}", "idle": "sleep", **config}, table)


@pytest.fixture(scope="module")
def large_table(tmp_path_factory):
    binds = [traffic.bind(f"10.{i >> 8}.{i & 255}.1", "tcp", 80) for i in range(BINDS)]
    return write_table(tmp_path_factory.mktemp("large") / "table.bin", {"tables": [traffic.table('a"\\', 2, binds, traffic.backends(5, 50))]})


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A director that has counted random frames, for tests that only look at it, and its port."""
    frames = traffic.random_frames(8, FRAMES)
    with reserved_port() as number, start(tmp_path_factory.mktemp("running"), number, frames) as director:
        director.wait_received(len(frames))
        served(number)
        wait_health(director, "ok")
        yield director, number


@pytest.fixture(scope="module")
def in_use(tmp_path_factory):
    """A director whose address another process used when it started, and its port. It tries again every 5 seconds, while other tests run."""
    frames = traffic.random_frames(9, 100)
    with reserved_port() as number, socket.create_server((HOST, number)) as other:
        with start(tmp_path_factory.mktemp("in-use"), number, frames) as director:
            director.wait_received(len(frames))
            wait_until(lambda: "cannot listen" in director.log, "the error")
            other.close()
            yield director, number


def test_address_in_use_does_not_keep_the_director_from_forwarding(in_use):
    director, number = in_use
    assert director.stats()["forwarded"] > 0
    assert (f"error: metrics: cannot listen on {HOST}:{number}: Address already in use: another process listens there: stop it, "
            'or set metrics in director.conf to another address or to "none"; the director forwards without metrics and '
            "tries again every 5 seconds\n") in director.log


def test_exports_exactly_the_metrics_of_the_reference_in_both_formats(running):
    _, port = running
    documented = {}
    for name, kind, labels in re.findall(r"^\| `(glb_director_\w+)` \| (\w+) \| (.*?) ?\| ", REFERENCE, re.MULTILINE):
        documented[name] = kind, set(re.findall(r"`(\w+)`", labels))
    text = get(port)[2]
    status, kind, openmetrics = get(port, **OPENMETRICS)
    assert (status, kind) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (lint.returncode, lint.stdout, lint.stderr) == (0, "", "")
    exported = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    assert exported == {name: "gauge" if kind == "info" else kind for name, (kind, _) in documented.items()}
    suffixes = {"counter": "_total", "info": "_info"}
    named = {name + suffixes.get(kind, ""): kind for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", openmetrics, re.MULTILINE)}
    assert named == {name: kind for name, (kind, _) in documented.items()}
    assert openmetrics.endswith("\n# EOF\n") and "# EOF" not in text
    for found in (samples(text), samples(openmetrics)):
        for name, labels in found:
            family = name if name in documented else re.sub(r"_(bucket|count|sum)$", "", name)
            assert {label for label, _ in labels} - {"le"} == documented[family][1], name
    assert set(samples(text)) == set(samples(openmetrics))


def test_values_are_those_of_the_telemetry(running):
    director, port = running
    stats = director.stats()
    tables = director.telemetry.ask("/glb/tables")["tables"]
    web = director.telemetry.ask("/glb/tables,0")
    found = samples(get(port)[2])
    for name, key in {"received_packets_total": "received", "transmitted_packets_total": "tx_packets",
                      "transmitted_bytes_total": "tx_bytes", "forwarded_packets_total": "forwarded",
                      "too_big_replies_total": "answered_too_big", "underlay_too_big_messages_total": "underlay_too_big",
                      "slow_path_packets_total": "slow_path", "general_path_packets_total": "general_path"}.items():
        assert value(found, name) == stats[key], name
    for verdict in VERDICTS:
        if verdict.startswith("drop_"):
            assert value(found, "dropped_packets_total", reason=verdict.removeprefix("drop_")) == stats[verdict]
    assert value(found, "received_packets_total") == FRAMES == sum(
        number for (name, _), number in found.items() if re.fullmatch(
            r"glb_director_(forwarded_packets|dropped_packets|too_big_replies|underlay_too_big_messages|exception_packets)_total", name))
    for class_ in CLASSES:
        assert value(found, "exception_packets_total", **{"class": class_}) == stats[f"exception_{class_}"]
        assert value(found, "exception_limited_packets_total", **{"class": class_}) == stats[f"exception_limited_{class_}"]
    for table in tables.values():
        assert value(found, "table_packets_total", table=table["name"]) == table["packets"]
        assert value(found, "table_bytes_total", table=table["name"]) == table["bytes"]
        assert value(found, "table_usable_backends", table=table["name"]) == table["good_backends"]
    for backend in web["backends"].values():
        assert value(found, "backend_packets_total", table="web", backend=backend["ip"]) == backend["packets"]
    binds = {labels for name, labels in found if name.endswith("bind_estimated_packets_total")}
    assert len(binds) == sum(table["bind_count"] for table in tables.values())
    assert value(found, "bind_estimated_packets_total", table="web", bind="tcp 10.10.10.10 port 80") == web["binds"]["0"]["estimated_packets"]
    device = {"port": "0", "device": "net_pcap0"}
    assert value(found, "port_received_packets_total", **device) == FRAMES
    assert value(found, "queue_received_packets_total", **device, queue="0") == FRAMES
    assert value(found, "port_mbufs", **device) > value(found, "port_mbufs_in_use", **device)
    assert value(found, "lcore_received_packets_total", lcore="0") == FRAMES
    gaps = [number for (name, labels), number in found.items() if name.endswith("gap_seconds_bucket") and ("le", "+Inf") in labels]
    assert gaps == [value(found, "lcore_poll_gap_seconds_count", lcore="0")] and gaps[0] > 0
    assert 0 < value(found, "lcore_busy_seconds_total", lcore="0") <= value(found, "lcore_poll_gap_seconds_sum", lcore="0")
    assert value(found, "health_state", state="ok") == 1 and value(found, "health_reasons") == 0


def test_reloads_and_a_failed_one_are_seen(tmp_path, port):
    with start(tmp_path, port) as director:
        before = samples(served(port))
        write_table(tmp_path / "table.bin", traffic.TABLE_OF_TWO_HOPS)
        assert director.telemetry.ask("/glb/reload")["ok"]
        (tmp_path / "table.bin").write_bytes(b"broken")
        assert not director.telemetry.ask("/glb/reload")["ok"]
        wait_until(lambda: director.telemetry.ask("/glb/health")["state"] == "degraded", "the reason")
        after = samples(get(port)[2])
    assert [value(found, "table_generation") for found in (before, after)] == [1, 2]
    assert [value(after, "reloads_total", result=result) for result in ("success", "failure")] == [1, 1]
    assert [value(found, "reload_failed") for found in (before, after)] == [0, 1]
    assert value(after, "health_reason", cause="reload_failed", severity="degraded", object="forwarding table") == 1
    digests = [{labels for name, labels in found if name == "glb_director_table_info"} for found in (before, after)]
    assert len(digests[0]) == len(digests[1]) == 1
    (before, after) = [dict(labels) for (labels,) in digests]
    # The new table has fewer later hops.
    assert before["digest"] != after["digest"] and before["first_hops"] == after["first_hops"]


@contextlib.contextmanager
def client(port, request=b""):
    """Its small buffer keeps the director from sending what the test does not read."""
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        made.settimeout(TIMEOUT_S)
        made.connect((HOST, port))
        with contextlib.suppress(ConnectionError):
            made.sendall(request)
        yield made


HOSTILE = {
    "idle": b"",
    "half a request": b"GET /metrics HTTP/1.1\r\nHost: ",
    "a huge header": b"GET /metrics HTTP/1.1\r\nX: " + bytes(200000),
    "a huge path": b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n",
    "a body": b"POST /metrics HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n" + bytes(100000),
    "no HTTP": bytes(range(256)) * 100,
    "a page that nobody reads": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", HOSTILE.values(), ids=HOSTILE)
def test_forty_hostile_clients_disturb_neither_scrapes_nor_reloads_nor_the_end(tmp_path, port, large_table, request_bytes):
    with start(tmp_path, port, table=large_table) as director, contextlib.ExitStack() as clients:
        served(port)
        for _ in range(CLIENTS_MAX + 8):
            clients.enter_context(client(port, request_bytes))
        assert get(port)[2].count("glb_director_bind_estimated_packets_total{") == BINDS
        assert director.telemetry.ask("/glb/reload")["ok"]
        assert value(samples(get(port)[2]), "table_generation") == 2
        assert director.telemetry.ask("/glb/health")["state"] == "ok"
        director.terminate()


def test_page_is_never_about_two_tables(tmp_path, port, large_table):
    with start(tmp_path, port, table=large_table) as director:
        served(port)
        with client(port, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n") as slow:
            page = http.client.HTTPResponse(slow)
            page.begin()
            assert page.read(1000)
            assert director.telemetry.ask("/glb/reload")["ok"]
            with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                page.read()
        assert value(samples(get(port)[2]), "table_generation") == 2


def test_hostile_table_name_is_one_label(tmp_path, port, large_table):
    with start(tmp_path, port, table=large_table):
        text = served(port)
    assert 'glb_director_table_binds{table="a\\"\\\\"} 3000\n' in text


def test_other_paths_and_methods(running):
    _, port = running
    assert get(port, "/metrics?x=1")[0] == 200
    assert get(port, "/../../etc/passwd")[0] == get(port, "/metricsx")[0] == 404
    assert get(port, method="HEAD")[::2] == (200, "")
    assert [get(port, method=method)[0] for method in ("POST", "PUT", "DELETE", "OPTIONS")] == [405] * 4


def test_starts_again_after_kill_while_clients_are_connected(tmp_path, port):
    with start(tmp_path, port) as director:
        served(port)
        with client(port, HOSTILE["half a request"]), client(port):
            director.process.send_signal(signal.SIGKILL)
            director.process.wait()
    with start(tmp_path, port) as director:
        served(port)
        assert "cannot listen" not in director.log


def limit_files(director, limit):
    subprocess.run(["prlimit", f"--pid={director.process.pid}", f"--nofile={limit}:"], check=True)


def test_clients_wait_while_there_are_no_file_descriptors(tmp_path, port):
    with start(tmp_path, port) as director, contextlib.ExitStack() as clients:
        served(port)
        wait_health(director, "ok")
        limit_files(director, 3)
        waiting = [clients.enter_context(client(port, b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n")) for _ in range(5)]
        assert director.telemetry.ask("/glb/health")["state"] == "ok"
        assert select.select(waiting, [], [], 0.5)[0] == []
        limit_files(director, 1024)
        assert all(made.recv(12) == b"HTTP/1.1 404" for made in waiting)


def test_none_listens_nowhere_and_ipv6_works(tmp_path, port):
    """IPv6 in a namespace of its own, because the host may have disabled it."""
    with start(tmp_path, port, metrics="none") as director:
        director.wait_log(" ready: ")
        with pytest.raises(ConnectionRefusedError):
            get(port)
        assert "metrics" not in director.log
    with contextlib.closing(Namespace()) as host, host, start(tmp_path, port, metrics=f"[::1]:{port}") as director:
        wait_until(lambda: "served at" in director.log, "the line of the log")
        assert get(port, host="::1")[0] == 200


@pytest.fixture
def statsd():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind((HOST, 0))
        made.settimeout(TIMEOUT_S)
        yield made


def receive(statsd, last):
    """The lines of a round, as {name and tags: (value, type)}. `last`: a name of the last family."""
    found = {}
    while not any(key.startswith(last) for key in found):
        datagram = statsd.recv(65536)
        assert len(datagram) <= 1432
        for line in datagram.decode("ascii").split("\n"):
            name, value, kind, tags = re.fullmatch(r"([\w.-]+):([\d.e+-]+)\|([cg])(?:\|#(\S+))?", line).groups()
            found[name + (f"#{tags}" if tags else "")] = float(value), kind
    return found


@pytest.mark.parametrize("tags", [True, False], ids=["DogStatsD", "plain"])
def test_statsd_gets_what_prometheus_gets(tmp_path, port, statsd, tags):
    config = {"host": "127.0.0.1", "port": statsd.getsockname()[1], "prefix": "edge.glb", "tags": tags}
    with start(tmp_path, port, traffic.random_frames(7, 10), statsd=config, idle="sleep"):
        found = receive(statsd, "edge.glb.lcore_polls")
        text = served(port)
    plain = {key.split("#")[0] for key in found}
    names = set(re.findall(r"^# TYPE glb_director_(\w+?)(?:_total)? (?:counter|gauge)$", text, re.MULTILINE))
    assert plain <= ({f"edge.glb.{name}" for name in names} if tags else plain)
    web = "edge.glb.table_binds#table:web" if tags else "edge.glb.table_binds.web"
    bind = ("edge.glb.backend_healthy#table:web,backend:192.168.50.10" if tags else "edge.glb.backend_healthy.web.192_168_50_10")
    assert found[web] == (3, "g") and found[bind] == (1, "g")
    assert {kind for key, (_, kind) in found.items() if "lcore_polls" in key} == {"c"}
    assert not any("_info" in key or "poll_gap" in key for key in found)


@pytest.mark.parametrize("host", ["no..host", "127.0.0.9", "::1"])
def test_dead_statsd_disturbs_nothing(tmp_path, port, host):
    frames = traffic.random_frames(9, 100)
    with start(tmp_path, port, frames, statsd={"host": host, "port": 9}, metrics="none") as director:
        director.wait_received(len(frames))
        assert director.telemetry.ask("/glb/reload")["ok"]
        if host == "no..host":
            wait_until(lambda: "statsd:" in director.log, "the warning")
            assert ("warning: statsd: cannot find the address of no..host port 9: Name or service not known; "
                    "check statsd in director.conf\n") in director.log
        director.terminate()


def test_address_that_was_in_use_is_served_when_it_is_free(in_use):
    director, number = in_use
    served(number)
    wait_until(lambda: "served at" in director.log, "the notice")
    assert f"notice: metrics: served at http://{HOST}:{number}/metrics now\n" in director.log
    assert director.log.count("cannot listen") == 1
