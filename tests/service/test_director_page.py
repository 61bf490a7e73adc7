# SPDX-License-Identifier: BSD-3-Clause
"""The director's page for people: its numbers are those of the telemetry, hostile names stay text, and large tables stay short."""

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess

import pytest

from lab.tools import TIMEOUT_S, wait_until
from support import pcap, traffic
from support.browser import Page, browse, words
from support.director_conf import CONFIG
from support.director_process import VERDICTS, DirectorProcess, write_table
from support.health import wait_health
from support.ports import reserved_port
from support.tree import CLI

HOST = "127.0.0.1"
HOSTILE = """<script>document.title="owned"</script>"'&<img src=x onerror=alert(1)>"""
LONG = "n" * 63
PAGE_MAX = 600_000
TABLES, BACKENDS = 64, 240
SHOWN = 512 // TABLES
ROWS = 65536


@pytest.fixture
def port():
    with reserved_port() as number:
        yield number


def get(port, path="/", **headers):
    """Returns the status, the headers and the text."""
    connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode()


def page(port, path="/"):
    """Waits until the director serves it."""
    def answer():
        with contextlib.suppress(ConnectionRefusedError):
            return get(port, path)

    status, _, text = wait_until(answer, "the page")
    assert status == 200, text
    return Page(text)


def start(tmp_path, port, frames=(), document=traffic.TABLE, name="table.bin", **config):
    rx = tmp_path / "rx.pcap"
    pcap.write(rx, frames)
    table = write_table(tmp_path / name, document)
    vdev = f"net_pcap0,rx_pcap={rx},tx_pcap={tmp_path / 'tx.pcap'}"
    return DirectorProcess([vdev], {**CONFIG, "metrics": f"{HOST}:{port}", "idle": "sleep", **config}, table)


def folds(shown):
    """{name of a table: (rows of its binds, rows of its backends)}"""
    found = {}
    for fold in shown.find("folds").iter("details"):
        rows = shown.rows(fold)
        found[words(fold.find("summary/b"))] = ([row for row in rows if "Bind" in row], [row for row in rows if "Backend" in row])
    return found


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A director that has counted random frames, its port, and its page at that time."""
    frames = traffic.random_frames(8, 2000)
    with reserved_port() as number, start(tmp_path_factory.mktemp("running"), number, frames) as director:
        director.wait_received(len(frames))
        wait_health(director, "ok")
        yield director, number, page(number)


def test_numbers_are_those_of_the_telemetry(running):
    director, _, shown = running
    stats = director.stats()
    tables = director.telemetry.ask("/glb/tables")["tables"].values()
    details = [director.telemetry.ask(f"/glb/tables,{index}") for index in range(len(tables))]
    health = director.telemetry.ask("/glb/health")
    next_hops = director.telemetry.ask("/glb/next_hops,0")["next_hops"].values()
    assert words(shown.find("verdict")).split()[0] == health["state"] == "ok"
    figures = {words(each.find("dt")): words(each) for each in shown.find("figures").iter("div")}
    assert f"generation {stats['generation']}" in figures["Forwarding table"] and stats["digest"] in figures["Forwarding table"]
    assert stats["table_format"] in figures["Forwarding table"] and f"{len(tables)} tables" in figures["Good backends"]
    assert shown.figures()["Good backends"].values == [
        sum(table[key] for table in tables) for key in ("good_backends", "backend_count")]
    drops = {row["Reason"].text: row["Packets"].value for row in shown.rows(shown.find("drops")) if "Reason" in row}
    assert drops == {name: stats[name] for name in VERDICTS if name != "forwarded" and stats[name]}
    never = words(next(note for note in shown.find("drops").iter("p"))).partition("None of: ")[2].removesuffix(".").split(", ")
    assert set(never) == {name for name in VERDICTS if name != "forwarded" and not stats[name]}
    counters = {row["Counter"].text: row["Total"].value for row in shown.rows(shown.find("counters"))}
    moving = {"polls", "empty_polls", "sleeps"}
    assert {"received", "forwarded", "tx_packets", "slow_path"} < counters.keys() and counters.keys() | drops.keys() | set(never) <= stats.keys()
    assert {name: value for name, value in counters.items() if name not in moving} == {
        name: stats[name] for name in counters if name not in moving}
    for row, table in zip(shown.rows(shown.find("tables")), tables, strict=True):
        assert [row["Table"].text, row["Packets"].value, row["Bytes"].value] == [table["name"], table["packets"], table["bytes"]]
        assert row["Good backends"].values == [table["good_backends"], table["backend_count"]]
    found = folds(shown)
    assert list(found) == [table["name"] for table in tables]
    for (binds, backends), table in zip(found.values(), details, strict=True):
        assert [(row["Packets, estimated"].value, row["Bytes, estimated"].value) for row in binds] == [
            (bind["estimated_packets"], bind["estimated_bytes"]) for bind in list(table["binds"].values())[:8]]
        assert [(row["Backend"].text, row["Packets"].value, row["No next hop"].value) for row in backends] == [
            (each["ip"], each["packets"], each["no_next_hop"]) for each in table["backends"].values()]
        assert [row["State"].text for row in backends] == [
            f"{each['state']}, {'healthy' if each['healthy'] else 'unhealthy'}" for each in table["backends"].values()]
        assert sum(row["Rows expected"].value for row in backends) == pytest.approx(1, abs=1e-5 * len(backends))
    hop, = shown.rows(shown.find("next-hops"))
    assert [hop["State"].text, hop["MAC address"].text] == [next(iter(next_hops))[key] for key in ("state", "mac")]
    device, = shown.rows(shown.find("ports"))
    assert device["Port"].text == "0 net_pcap0" and device["Missed"].value == stats["ports"]["0"]["rx_missed"]
    lcore, = shown.rows(shown.find("lcores"))
    assert lcore["Lcore"].value == 0
    assert "not known yet" in shown.source and shown.find("reasons").get("hidden") is not None


def test_weights_balance_and_previous_states_are_those_of_the_table(tmp_path, port):
    """A binary table may lack weights, so this is a JSON table."""
    table = traffic.table("weighted", 4, [traffic.bind("10.0.0.1", "tcp", 80)], traffic.backends(3, 1))
    for backend, weight in zip(table["backends"], (None, 250, 1)):
        backend.update({"weight": weight} if weight else {})
    past = [{"ip": each["ip"], "weight": 100} for each in table["backends"][:2]]
    table.update(balance=1.02, previous=[{"time": f"2026-01-0{day}T00:00:00Z", "backends": past} for day in (2, 1)])
    plain = traffic.table("plain", 2, [traffic.bind("10.0.1.1", "tcp", 80)], traffic.backends(2, 9))
    path = write_table(tmp_path / "table.json", {"tables": [table, plain]}, "json")
    with DirectorProcess(["net_null0"], {**CONFIG, "metrics": f"{HOST}:{port}", "idle": "sleep"}, path):
        shown = page(port)
    weights = {name: [row["Weight"].text for row in backends] for name, (_, backends) in folds(shown).items()}
    assert weights == {"weighted": ["100", "250", "1"], "plain": ["100", "100"]}
    lines = [words(fold.find("summary/small")) for fold in shown.find("folds").iter("details")]
    assert lines == ["3 of 3 backends good, 3 hops, balance 1.02, 2 previous states", "2 of 2 backends good, 2 hops"]


def test_a_capture_that_runs_is_shown_until_it_ends(tmp_path, port):
    def metric(name):
        return float(get(port, "/metrics")[2].split(f"\nglb_director_{name} ")[1].split()[0])

    def health():
        return subprocess.run([CLI, "health", "--file-prefix", director.file_prefix], env=director.environment, capture_output=True,
                              text=True, check=True).stdout

    with start(tmp_path, port) as director:
        wait_health(director, "ok")
        assert page(port).find("capture").get("hidden") is not None and "capture" not in health()
        assert (metric("capture_running"), metric("capture_start_timestamp_seconds")) == (0, 0)
        command = [CLI, "capture", "--file-prefix", director.file_prefix]
        with subprocess.Popen(command, env=director.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as capture:
            wait_until(lambda: director.stats()["capture"], "the capture")
            reply = director.telemetry.ask("/glb/health")
            assert (reply["state"], reply["capture_pid"]) == ("ok", capture.pid)
            assert f"\ncapture: process {capture.pid} captures packets since 20" in health()
            assert (metric("capture_running"), metric("capture_start_timestamp_seconds")) == (1, reply["capture_since"])
            line = words(page(port).find("capture"))
            assert line.startswith(f"Process {capture.pid} of user 0 captures packets since ") and line.endswith(": 0 captured, 0 lost.")
            capture.kill()
        wait_until(lambda: metric("capture_running") == 0, "the end of the capture")
        assert page(port).find("capture").get("hidden") is not None and director.telemetry.ask("/glb/health")["capture_pid"] == 0


def test_the_revision_is_that_of_the_table_in_use(tmp_path, port):
    """glb-fleet may be old, dead or hostile: what its file says about another table, or does not say, is not shown."""
    status = tmp_path / "status.json"

    def write(digest, revision, **more):
        status.unlink(missing_ok=True)
        status.write_text(json.dumps({"director": {"table": {"digest": digest, "revision": revision, **more}}}))

    def shown(path="/"):
        fields = [words(each) for each in page(port, path).find("figures").iter("dd") if "etcd" in words(each)]
        assert len(fields) <= 1
        return fields[0] if fields else None

    with start(tmp_path, port, fleet_status=str(status)) as director:
        assert shown() is shown("/tables/0") is None
        digest = director.stats()["digest"]
        write(digest, 1204)
        assert shown() == shown("/tables/0") == "revision 1204 in etcd"
        for values in ((digest, 0), (digest, -1), (digest, "<b>7</b>"), (digest, 1.5), (digest, None), ("0" * 16, 1204), ("", 1204), (None, 1204)):
            write(*values)
            assert shown() == "revision in etcd not known", values
        for text in (b"", b"\xff{", b"[1]", b'{"director": 1}', b"[" * 60000, b'{"a": 1, "a": 1}', b" " * 70000):
            status.write_bytes(text)
            assert shown() == "revision in etcd not known", text[:20]
        for make in (lambda: os.mkfifo(status), status.mkdir, lambda: status.symlink_to(status), lambda: status.symlink_to("/dev/zero")):
            status.rmdir() if status.is_dir() else status.unlink()
            make()
            assert shown() == "revision in etcd not known"
        write(digest, 2**53 + 1)
        assert shown() == f"revision {2**53 + 1} in etcd"
        document = json.loads(json.dumps(traffic.TABLE))
        document["tables"][0]["seed"] = "ab" * 16
        write_table(tmp_path / "table.bin", document)
        assert director.telemetry.ask("/glb/reload")["ok"]
        assert shown() == "revision in etcd not known"
        status.unlink()
        assert shown() is None


def hostile_document():
    names = [HOSTILE, LONG, "é€𝄞"]
    return {"tables": [traffic.table(name, 2, [traffic.bind(f"10.0.{index}.1", "tcp", 80)], traffic.backends(3, index + 1))
                       for index, name in enumerate(names)]}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The address of the page of a director with hostile names and a reload that failed."""
    folder, name = tmp_path_factory.mktemp("hostile"), "<img src=x>\"'\udcff.bin"
    with reserved_port() as number, start(folder, number, document=hostile_document(), name=name) as director:
        page(number)
        (folder / name).write_bytes(b"broken")
        assert not director.telemetry.ask("/glb/reload")["ok"]
        wait_until(lambda: director.telemetry.ask("/glb/health")["state"] == "degraded", "the reason")
        yield f"http://{HOST}:{number}/"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_hostile_names_stay_text(hostile, scripts):
    shown = browse(None, hostile, scripts=scripts)
    assert shown.count("img") == 0 and shown.count("script") == 1
    assert words(shown.tree.find("head/title")).startswith("degraded: glb-director on ")
    assert list(folds(shown)) == [" ".join(HOSTILE.split()), LONG, "é€𝄞"]
    reason, = [words(item) for item in shown.find("reasons").iter("li")]
    assert reason.startswith("degraded reload_failed forwarding table: ") and "<img src=x>\"'" in reason
    assert "<img src=x>\"'\uFFFD.bin: 0 succeeded, 1 failed" in words(shown.find("reloads"))
    rows = shown.rows(shown.find("reloads"))
    assert [row["Result"].text for row in rows] == ["refused", "in use"] and "broken" not in rows[1]["Why"].text
    assert [row["Generation"].value for row in rows] == [1, 1]
    assert shown.find("pause").get("hidden") == (None if scripts else "")
    assert hostile_document()["tables"][0]["hash_key"] not in shown.source


def test_page_remembers_the_last_eight_loads(tmp_path, port):
    tables = [write_table(tmp_path / f"{index}.bin", document) for index, document in enumerate((traffic.TABLE, traffic.TABLE_OF_TWO_HOPS))]
    with start(tmp_path, port) as director:
        page(port)
        for count in range(12):
            shutil.copy(tables[count % 2], tmp_path / "table.bin")
            assert director.telemetry.ask("/glb/reload")["ok"]
        shown = page(port)
    assert [row["Generation"].value for row in shown.rows(shown.find("reloads"))] == [*range(13, 5, -1)]


def large_document(*backends):
    """A table with each of these numbers of backends."""
    return {"tables": [traffic.table(f"table{index}", 2, [traffic.bind(f"10.0.{index}.1", "tcp", 80)], traffic.backends(count, index + 1))
                       for index, count in enumerate(backends)]}


def test_page_about_many_backends_is_short(tmp_path, port):
    more = SHOWN + 1
    with start(tmp_path, port, document=large_document(*[more] * (TABLES - 1), BACKENDS)):
        shown = page(port)
        link = shown.find("table-63").find("p/a").get("href")
        whole = page(port, link)
        assert [get(port, path)[0] for path in ("/tables/64", "/tables/4294967295", "/tables/-1", "/tables/")] == [404] * 4
    assert len(shown.source) < PAGE_MAX
    found = folds(shown)
    assert list(found) == [f"table{index}" for index in range(TABLES)]
    assert {len(backends) for _, backends in found.values()} == {SHOWN}
    (name, (binds, backends)), = folds(whole).items()
    assert (name, len(binds), len(backends)) == ("table63", 1, BACKENDS)
    assert sum(row["Rows expected"].value for row in backends) == pytest.approx(1, abs=1e-3)


def test_page_about_many_tables_is_short(tmp_path, port):
    with start(tmp_path, port, document=large_document(*[2] * (TABLES + 1))):
        shown, last = page(port), page(port, f"/tables/{TABLES}")
    assert len(shown.rows(shown.find("summary"))) == TABLES + 1
    assert folds(shown) == {} and shown.find("end") is not None
    (name, (binds, backends)), = folds(last).items()
    assert (name, len(binds), len(backends)) == (f"table{TABLES}", 1, 2)


def test_page_about_no_table_is_whole(tmp_path, port):
    with start(tmp_path, port, document={"tables": []}):
        shown = page(port)
    assert shown.rows(shown.find("summary")) == [] and folds(shown) == {}
    assert "so many tables" not in words(shown.find("folds")) and shown.find("end") is not None


def test_page_ends_early_if_the_table_is_replaced(tmp_path, port):
    with start(tmp_path, port, document=large_document(*[65] * 8)) as director:
        page(port)
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            slow.settimeout(TIMEOUT_S)
            slow.connect((HOST, port))
            slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = http.client.HTTPResponse(slow)
            reply.begin()
            first = reply.read(1000)
            assert director.telemetry.ask("/glb/reload")["ok"]
            text = (first + reply.read()).decode()
        assert "loaded again while this page was written" in text and 'id="end"' not in text
        assert "generation" in words(page(port).find("figures"))


def test_headers_keep_other_sites_away(tmp_path, port):
    with start(tmp_path, port):
        page(port)
        _, headers, _ = get(port)
        refused = [get(port, path, Host=f"rebind.example:{port}") for path in ("/", "/tables/0", "/metrics")]
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; ") and "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Set-Cookie"] is None and headers["Access-Control-Allow-Origin"] is None
    assert [status for status, _, _ in refused] == [421] * 3 and all("192.168" not in text for _, _, text in refused)


def test_rates_come_without_scripts(running):
    """The director takes a sample every 5 seconds. The second one gives a rate, which may be of the frames: it takes the first one at once."""
    director, number, first = running
    forwarded = director.stats()["forwarded"]
    assert first.figures()["Received, packets/s"].values == []
    wait_until(lambda: page(number).figures()["Received, packets/s"].values == [0], "a rate of 0")
    shown = page(number)
    assert shown.figures()["Forwarded, packets/s"].value == 0
    lcore, = shown.rows(shown.find("lcores"))
    assert 0 <= lcore["Busy"].value <= 1 and lcore["Longest poll gap"].value > 0
    device, = shown.rows(shown.find("ports"))
    assert device["In, packets/s"].value == 0 and device["Out, packets/s"].value == 0
    # The rate of a backend is an average of the last one to two minutes, so the frames of the start are still in it.
    assert all(0 <= row["Packets/s"].value < forwarded / 5 for _, backends in folds(shown).values() for row in backends)
