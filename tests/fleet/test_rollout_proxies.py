# SPDX-License-Identifier: BSD-3-Clause
"""`rollout start --proxies`: the leader asks the exporters of the proxies that leave, which may be slow, hostile or dead."""

import contextlib
import json
import threading

import pytest
from cli.edit.test_proxies import VIP, metrics
from cli.test_cli_fleet import HOSTILE
from cli.test_cli_fleet import Fleet as Hosts
from rollouts import BACKENDS

from lab.tools import wait_until
from support.cli import FAILED, as_ipv6, backend, table, write_tables
from support.ports import closed_port

GONE = "192.168.50.1"
DRAINED = metrics(vips=[VIP])
COUNTED = "glb_redirect_sockets_timestamp_seconds"


class Exporter:
    """Its page can change. It is alive, and drained, when the roll-out starts."""

    def __init__(self, hosts, address=GONE):
        self.page, self.asked, self.ends = DRAINED, 0, threading.Event()
        hosts.stack.callback(self.ends.set)
        self.word = f"{address}={hosts.serve(self.reply)}"

    def reply(self, handler):
        self.asked += 1
        if callable(self.page):
            return self.page(handler)
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(self.page.encode())

    @staticmethod
    def is_stale(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(f"{DRAINED}{COUNTED} 1767225600.5\n".encode())

    def hang(self, handler):
        self.ends.wait(60)

    def drip(self, handler):
        while not self.ends.wait(0.2):
            handler.wfile.write(b"glb_redirect_build_info{")

    def flood(self, handler):
        line = f'glb_redirect_open_connections{{vip="{"x" * 900}"}} 0\n'.encode() * 1000
        while not self.ends.is_set():
            handler.wfile.write(line)


@pytest.fixture
def hosts():
    with contextlib.ExitStack() as stack:
        yield Hosts(stack)


@pytest.fixture
def proxy(hosts):
    return Exporter(hosts)


@pytest.fixture
def fleet(fleet, tmp_path):
    """The proxy that leaves is draining already, so that the roll-out waits before its first step."""
    current = json.dumps({"tables": [table(backends=[backend(GONE, "draining"), *BACKENDS[1:4]])]})
    fleet.wanted = write_tables(tmp_path / "wanted.json", table(backends=BACKENDS[1:4]))
    fleet.put("table", current)
    fleet.settle()
    fleet.leader = fleet.lead("leader")
    fleet.file = tmp_path / "proxies"
    return fleet


def start(fleet, *words, options=(), **kwargs):
    fleet.file.write_text("\n".join(words))
    return fleet.rollout("start", fleet.wanted, "--proxies", fleet.file, "--detach", *options, **kwargs)


def wait_asked(fleet, proxy, page, *options):
    """Starts a roll-out whose proxy then has this page, and waits until the proxy was asked."""
    start(fleet, proxy.word, options=options)
    asked, proxy.page = proxy.asked, page
    wait_until(lambda: proxy.asked > asked, "the leader asks")


def wait_reason(fleet, text):
    wait_until(lambda: text in fleet.document()["reason"], lambda: f"{text} in {fleet.document()['reason']}")


def test_drain_is_proved_by_the_proxy(fleet, proxy):
    done = start(fleet, proxy.word)
    assert "step 0 before    0.00% of the rows break; then the proxies that leave drain: waits for the metrics of the proxies" in done.stdout
    proxy.page = metrics((VIP, "tcp", 3), vips=[VIP])
    wait_reason(fleet, f"drain: {GONE} has 3 connections left")
    assert "has 3 connections left" in " ".join(fleet.rollout("status").stdout.split())
    # Neither a pause nor a new leader is a proof.
    fleet.rollout("pause")
    fleet.rollout("resume", "--detach")
    fleet.leader.terminate()
    fleet.lead("second")
    asked = proxy.asked
    wait_until(lambda: proxy.asked > asked + 1, "the second leader asks")
    assert fleet.document()["step"] == 0
    proxy.page = DRAINED
    fleet.wait_state("done")
    assert fleet.kv("table")[0] == fleet.wanted.read_text()


def test_drain_of_a_proxy_with_an_ipv6_address(fleet, hosts, tmp_path):
    proxy = Exporter(hosts, "FD00:0::50:1")
    fleet.wanted = write_tables(tmp_path / "wanted.json", as_ipv6(table(backends=BACKENDS[1:4])))
    fleet.put("table", json.dumps(as_ipv6({"tables": [table(backends=[backend(GONE, "draining"), *BACKENDS[1:4]])]})))
    fleet.settle()
    start(fleet, proxy.word)
    proxy.page = metrics((VIP, "tcp", 3), vips=[VIP])
    wait_reason(fleet, "drain: fd00::50:1 has 3 connections left")
    proxy.page = DRAINED
    fleet.wait_state("done")
    assert fleet.kv("table")[0] == fleet.wanted.read_text()


def test_proxy_that_does_not_reply_any_more(fleet, proxy):
    wait_asked(fleet, proxy, 503)
    proxy.page = lambda handler: handler.send_error(503)
    wait_reason(fleet, f"drain: {GONE}: its connections are not known: http://127.0.0.1:")
    assert fleet.document()["state"] == "running" and fleet.document()["step"] == 0
    assert "does not wait for proxies now" not in fleet.rollout("resume", "--drained", "--detach").stderr
    fleet.wait_state("done")
    assert "no roll-out is active" in fleet.rollout("resume", "--drained", code=FAILED).stderr


def test_hostile_exporters_delay_nothing_but_the_drain(fleet, hosts, proxy):
    """Each proxy that leaves is hostile in another way. Meanwhile the leader keeps its key, and a director that vanishes stops the roll-out."""
    pages = [proxy.hang, proxy.drip, proxy.flood, proxy.is_stale, *HOSTILE.values()]
    exporters = [Exporter(hosts, f"192.168.50.{i + 10}") for i in range(len(pages))]
    leaving = [backend(f"192.168.50.{i + 10}", "draining") for i in range(len(pages))]
    fleet.put("table", json.dumps({"tables": [table(backends=[*leaving, *BACKENDS[1:4]])]}))
    fleet.settle()
    start(fleet, *(each.word for each in exporters))
    asked = [each.asked for each in exporters]
    for each, page in zip(exporters, pages):
        each.page = page
    wait_until(lambda: all(each.asked > before for each, before in zip(exporters, asked)), "the leader asks")
    holder = fleet.kv("leader")[1]
    fleet.gone = {"lb3"}
    wait_until(lambda: fleet.document()["state"] == "stopped" or fleet.kv("leader")[1] == holder and None, "a stop by the same leader")
    assert "lb3 vanished" in fleet.document()["reason"] and fleet.document()["step"] == 0 and fleet.leader.poll() is None


def test_drains_that_somebody_wrote(fleet, proxy):
    """A document of somebody else neither ends the leader nor passes for a proof."""
    wait_asked(fleet, proxy, metrics((VIP, "tcp", 3), vips=[VIP]))
    bad = [5, None, {}, {"step": 0, "vips": ["x"], "proxies": ["y"]}, {"step": 0, "vips": [VIP], "proxies": [["\x1b"]] * 5000},
           {"step": 0, "vips": [], "proxies": [proxy.word]}, {"step": 0, "vips": [VIP], "proxies": ["\x1b=x"]}]
    for drains, said in ((bad, "`drains` of the roll-out cannot be read"), ([{"step": 1, "vips": [VIP], "proxies": []}], "has no proxies for this step")):
        fleet.put("rollout", json.dumps({**fleet.document(), "drains": drains, "reason": ""}))
        wait_reason(fleet, said)
        assert fleet.document()["step"] == 0 and fleet.leader.poll() is None


@pytest.mark.parametrize("word, said", [(f"192.168.50.2={closed_port()}", f"no host in it is known to be {GONE}"),
                                        (f"{GONE}={closed_port()}", f"{GONE}: its connections are not known")])
def test_proxies_that_cannot_be_asked_at_the_start(fleet, word, said):
    assert said in start(fleet, word, code=FAILED).stderr
    assert fleet.document() == {}


def test_proxy_that_is_down_is_not_waited_for(fleet, tmp_path):
    fleet.put("table", json.dumps({"tables": [table(backends=[backend(GONE, "draining", False), *BACKENDS[1:4]])]}))
    fleet.settle()
    done = start(fleet, f"{GONE}={closed_port()}")
    assert f"{GONE} leaves and is down: nothing waits for it" in done.stderr
    fleet.wait_state("running", step=1)
