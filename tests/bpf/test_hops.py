# SPDX-License-Identifier: BSD-3-Clause
"""The counters of accepted packets by hop: what stats shows, and that upgrades keep them. test_decision.py tests what is counted."""

import pytest

from cases import frames as f
from packets import OTHER_HOP, gue_frame
from test_loader import PING, Proxy, layout_of, older_version

UNUSED = [0] * 6


@pytest.fixture
def proxy(glb_redirect):
    proxy = Proxy(glb_redirect)
    proxy("attach", "eth0")
    yield proxy
    proxy.close()


def ping_at_hop(number):
    return gue_frame(f.ipv4("198.51.100.7", "10.10.10.10", f.ICMP, f.echo(4)), hops=(OTHER_HOP,) * 10, next_hop=number - 1)


def test_stats_shows_the_hops(proxy):
    """In text, it shows hops that few tables have only if they were used."""
    assert "accepted_at_hop_2" in proxy("stats") and "accepted_at_hop_3" not in proxy("stats")
    proxy.count([PING, PING, ping_at_hop(3), ping_at_hop(8), ping_at_hop(9), ping_at_hop(11)])
    assert proxy.hops() == [2, 0, 1, 0, 0, 0, 0, 3]
    shown = [line.split() for line in proxy("stats").splitlines() if "accepted_at_hop" in line]
    assert shown == [["accepted_at_hop_1", "2"], ["accepted_at_hop_2", "0"], ["accepted_at_hop_3", "1"], ["accepted_at_hop_8", "3"]]


def test_packets_that_are_not_accepted_count_at_no_hop(proxy):
    other_host = bytes.fromhex("020000000099") + PING[6:]
    proxy.count([PING, gue_frame(b"\x45"), other_host])
    assert proxy.stats()["not_for_us"] == 1
    assert sum(proxy.hops()) == 1


@pytest.mark.parametrize("words", [("attach", "eth0", "--udp", "connected"), ("reload", "eth0")])
def test_an_upgrade_keeps_the_hops(proxy, words):
    proxy.count([PING, ping_at_hop(2)])
    proxy(*words)
    proxy.count([ping_at_hop(2)])
    assert proxy.hops() == [1, 2, *UNUSED]


def test_an_upgrade_from_a_version_with_other_counters_keeps_the_hops(proxy):
    proxy.count([PING])
    names = list(proxy.stats())
    older_version(proxy, layout_of(names[:-1]), len(names) - 1)
    proxy("attach", "eth0")
    proxy.count([PING])
    assert proxy.hops() == [2, 0, *UNUSED]


def test_an_upgrade_from_a_version_that_does_not_count_hops(proxy):
    proxy.count([PING])
    proxy.namespace.run("rm", f"{proxy.folder()}/hops")
    assert proxy.hops() == [] and "accepted_at_hop" not in proxy("stats")
    proxy("attach", "eth0")
    assert proxy.stats()["total"] == 1
    proxy.count([PING])
    assert proxy.hops() == [1, 0, *UNUSED]
