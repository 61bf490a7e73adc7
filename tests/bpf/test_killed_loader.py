# SPDX-License-Identifier: BSD-3-Clause
"""A loader that is killed at any point leaves a state that the next attach and the next detach mend, with no packet lost or counted
twice on the way."""

import json

import pytest

from cases import frames as f
from packets import gue_frame
from support.tree import BUILD
from tc_ingress import HAS_TCX, tc_programs
from test_loader import PINS, Proxy

KILLED = 137
# The kernel verifies the program for this mode faster. The steps are the same in the other one.
GENERIC = ("attach", "eth0", "--mode", "generic")
PING = gue_frame(f.ipv4("198.51.100.7", "10.10.10.10", f.ICMP, f.echo(4)))


@pytest.fixture(scope="module")
def proxy(glb_redirect):
    proxy = Proxy(glb_redirect)
    yield proxy
    proxy.close()


def kill_at(proxy, point, *words):
    """Runs glb-redirect until its change number `point`. Returns False if it ended before."""
    done = proxy.namespace.run(str(BUILD / "tests/bpf/programs/kill-at"), str(point), proxy.glb_redirect, *words, check=False)
    assert done.returncode in (0, KILLED), done.stderr
    return done.returncode == KILLED


def points(proxy, prepare, *words):
    """Kills the command at each point. Yields after each kill, and at the end returns to where `prepare` starts."""
    point = 0
    while True:
        prepare()
        if not kill_at(proxy, point, *words):
            break
        yield point
        point += 1
    assert point >= 4  # the command changes more than this
    clean(proxy)


def attached(proxy):
    return "xdp" in proxy.namespace.run("ip", "link", "show", "eth0").stdout


def clean(proxy):
    proxy.namespace.run(proxy.glb_redirect, "detach", "eth0", check=False)
    assert not attached(proxy) and tc_programs(proxy.namespace) == 0 and not proxy.namespace.run("ls", PINS, check=False).stdout


def check_works(proxy, port=19523):
    before = proxy.stats()["total"]
    proxy.count([PING])
    counters = proxy.stats()
    assert counters["total"] == before + 1 == sum(counters.values()) - counters["total"]
    assert (proxy.status()["attached"], proxy.status()["port"]) == (True, port)
    pins = {"link", "losses", str(proxy.status()["program_id"])} | ({"companion"} if HAS_TCX else set())
    assert set(proxy.namespace.run("ls", f"{PINS}/eth0").stdout.split()) == pins
    assert tc_programs(proxy.namespace) == 1
    assert proxy.status()["lost"] == {"kernel": 0, "driver": 0}


def test_first_attach_killed_then_attach(proxy):
    for point in points(proxy, lambda: clean(proxy), *GENERIC):
        assert proxy(*GENERIC).startswith("eth0: "), point
        check_works(proxy)


def test_first_attach_killed_then_detach(proxy):
    for point in points(proxy, lambda: clean(proxy), *GENERIC):
        done = proxy.namespace.run(proxy.glb_redirect, "detach", "eth0", check=False)
        assert "not attached" in done.stderr or "eth0: " in done.stdout, (point, done)
        clean(proxy)


def test_replacement_killed(proxy):
    """The old or the new program runs, status tells which one, and the counters go on."""
    received = 0

    def prepare():
        nonlocal received
        clean(proxy)
        proxy(*GENERIC)
        proxy.count([PING])
        received = 1

    ports = []
    for _ in points(proxy, prepare, *GENERIC, "--port", "6080"):
        ports.append(proxy.status()["port"])
        proxy.count([PING, gue_frame(f.ipv4("198.51.100.7", "10.10.10.10", f.ICMP, f.echo(4)), port=6080)], 1)
        assert proxy.stats()["total"] == received + 1  # each program takes one of the two
        proxy(*GENERIC)
        assert proxy.stats()["total"] == received + 1
        check_works(proxy)
    assert ports == sorted(ports, reverse=True) and set(ports) == {19523, 6080}


def test_detach_killed(proxy):
    def prepare():
        proxy(*GENERIC)

    for _ in points(proxy, prepare, "detach", "eth0"):
        proxy(*GENERIC)
        check_works(proxy)
    for _ in points(proxy, prepare, "detach", "eth0"):
        clean(proxy)


def test_reader_while_the_program_is_replaced(proxy):
    """A reader finds the pins of the program that runs, however often a loader replaces it."""
    proxy(*GENERIC)
    loader = proxy.namespace.start("sh", "-c", f"for i in $(seq 20); do {proxy.glb_redirect} {' '.join(GENERIC)} || exit 1; done >/dev/null")
    while loader.poll() is None:
        status = json.loads(proxy("status", "eth0", "--json"))["eth0"]
        assert status["port"] == 19523 and proxy.stats()["total"] == 0
    assert loader.returncode == 0
    proxy("detach", "eth0")
