# SPDX-License-Identifier: BSD-3-Clause
"""--forward fib: the frame of a forwarded packet goes to the neighbour of the kernel's route, or to the sender if there is none."""

import contextlib
import os

import pytest

from cases import frames as f
from conftest import run_frames
from host import Host, outside
from lab.net import connect
from model_of_proxy import decide
from packets import gue_frame, kind
from test_decision import CASES, HOPS

if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 15):
    pytest.skip("BPF_PROG_TEST_RUN takes no interface before Linux 5.15: there, test_segment.py is all", allow_module_level=True)

NEIGHBOUR, SILENT, ELSEWHERE = "192.168.50.20", "192.168.50.21", "192.168.60.20"
BEHIND = "198.18.0.9"  # routed through ROUTER
ROUTER, OTHER_ROUTER = "192.168.50.2", "192.168.50.3"
MACS = {NEIGHBOUR: "02:00:00:00:50:20", ROUTER: "02:00:00:00:50:02", OTHER_ROUTER: "02:00:00:00:50:03"}
SENDER = f.mac("02:00:00:00:00:77")
SECOND = "192.168.60.10"  # this host's address on eth1


def twin(family, command):
    """The arguments of ip(8), for this family of the underlay."""
    words = [outside(family, word) if word[0].isdigit() and word.count(".") == 3 else word for word in command.split()]
    return " ".join(word for word in words if family == 6 or word != "nodad")


@pytest.fixture(params=[4, 6], ids=["outer IPv4", "outer IPv6"])
def outer(request):
    return request.param


@pytest.fixture(scope="module")
def host():
    host = Host()
    with host.close:
        host.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 1})
        connect(host.namespace, "eth1", host.network, "net1")
        for family in (4, 6):
            host.namespace.ip(*(twin(family, command) for command in (
                *(f"neigh add {address} lladdr {mac} dev eth0 nud permanent" for address, mac in MACS.items()),
                f"addr add {SECOND}/24 dev eth1 nodad",
                f"neigh add {ELSEWHERE} lladdr 02:00:00:00:60:20 dev eth1 nud permanent",
                f"route add 198.18.0.0/24 via {ROUTER}",
                *(f"route add {refusal} 198.18.{number}.0/24" for number, refusal in enumerate(("blackhole", "unreachable", "prohibit"), 1)),
            )))
        yield host


def run(host, outer, hop, forward="fib", tags=(), sender=SENDER, tos=0):
    """Forwards one packet to `hop`. Returns the outcome, and a function that returns the model's for a route or none."""
    frame = host.mac + sender + gue_frame(kind("tcp/unknown").build(host, 4), (hop,), checksum="right", tags=tags, outer=outer, tos=tos)[12:]
    (outcome,) = run_frames(host, [frame], interface="eth0", forward=forward)
    return outcome, lambda via=None: decide(frame, host.sockets, route=via and f.mac(MACS[via]) + host.mac)


@contextlib.contextmanager
def ip(host, outer, add, remove):
    """The commands are for IPv4."""
    host.namespace.ip(*(twin(outer, command) for command in add))
    try:
        yield
    finally:
        host.namespace.ip(*(twin(outer, command) for command in remove))


@pytest.mark.parametrize("hop, via", [(NEIGHBOUR, NEIGHBOUR), (BEHIND, ROUTER), (ROUTER, ROUTER)], ids=["neighbour", "routed", "router"])
def test_frame_goes_to_the_next_hop_of_the_route(host, outer, hop, via):
    outcome, model = run(host, outer, hop)
    assert outcome.counter == "forwarded_by_route"
    assert outcome == model(via)


@pytest.mark.parametrize(
    "hop",
    [SILENT, ELSEWHERE, SECOND, "198.18.1.9", "198.18.2.9", "198.18.3.9", "192.168.50.255", "127.0.0.1"],
    ids=["unknown neighbour", "other interface", "own address", "blackhole", "unreachable", "prohibit", "broadcast",
         "loopback"])
def test_frame_goes_to_the_sender_if_the_route_gives_no_neighbour_here(host, outer, hop):
    outcome, model = run(host, outer, "::1" if (outer, hop) == (6, "127.0.0.1") else hop)
    assert outcome.counter == "forwarded_to_alternate"
    assert outcome == model()


def test_frame_goes_to_the_sender_if_there_is_no_route(host, outer):
    with ip(host, outer, ["route del default via 192.168.50.1"], ["route add default via 192.168.50.1"]):
        outcome, model = run(host, outer, "203.0.113.77")
    assert outcome.counter == "forwarded_to_alternate" and outcome == model()


@pytest.mark.parametrize("hop", [NEIGHBOUR, BEHIND, SILENT])
def test_sender_mode_does_not_ask_the_kernel(host, outer, hop):
    outcome, model = run(host, outer, hop, forward="sender")
    assert outcome.counter == "forwarded_to_alternate" and outcome == model()


def test_neighbour_that_failed_is_not_used(host, outer):
    states = [f"neigh replace {NEIGHBOUR} dev eth0 nud failed"]
    with ip(host, outer, states, [f"neigh replace {NEIGHBOUR} lladdr {MACS[NEIGHBOUR]} dev eth0 nud permanent"]):
        outcome, model = run(host, outer, NEIGHBOUR)
    assert outcome == model()


def test_stale_neighbour_is_used(host, outer):
    mac = MACS[NEIGHBOUR]
    with ip(host, outer, [f"neigh replace {NEIGHBOUR} lladdr {mac} dev eth0 nud stale"],
            [f"neigh replace {NEIGHBOUR} lladdr {mac} dev eth0 nud permanent"]):
        outcome, model = run(host, outer, NEIGHBOUR)
    assert outcome == model(NEIGHBOUR)


@contextlib.contextmanager
def other_route_by_rule(host, outer, *rule):
    """Packets that match the rule have another default route."""
    host.namespace.run("ip", f"-{outer}", "rule", "add", *rule, "lookup", "100")
    try:
        with ip(host, outer, [f"route add default via {OTHER_ROUTER} table 100"], [f"route del default via {OTHER_ROUTER} table 100"]):
            yield
    finally:
        host.namespace.run("ip", f"-{outer}", "rule", "del", *rule, "lookup", "100")


def test_source_rules_apply(host, outer):
    """The source of a forwarded packet is this host's address, as for the packets of its own sockets."""
    with other_route_by_rule(host, outer, "from", outside(outer, "192.168.50.10")):
        outcome, model = run(host, outer, BEHIND)
    assert outcome == model(OTHER_ROUTER)


@pytest.mark.parametrize("tos, via", [(0x10, OTHER_ROUTER), (0x08, ROUTER)])
def test_rules_for_the_class_of_traffic_apply(host, outer, tos, via):
    with other_route_by_rule(host, outer, "tos", "0x10"):
        outcome, model = run(host, outer, BEHIND, tos=tos)
    assert outcome == model(via)


def test_frame_goes_to_the_sender_without_forwarding_on_lo(host, outer):
    host.namespace.sysctl({f"net.ipv{outer}.conf.lo.forwarding": 0})
    try:
        outcome, model = run(host, outer, NEIGHBOUR)
    finally:
        host.namespace.sysctl({f"net.ipv{outer}.conf.lo.forwarding": 1})
    assert outcome.counter == "forwarded_to_alternate" and outcome == model()


@pytest.mark.parametrize("tags", [(f.C_TAG,), (f.S_TAG, f.C_TAG)], ids=["802.1Q", "QinQ"])
def test_tagged_frame_goes_by_the_route_only_if_that_is_the_sender(host, outer, tags):
    """The program cannot tell whether the route leaves by the VLAN of the frame."""
    outcome, model = run(host, outer, NEIGHBOUR, tags=tags)
    assert outcome.counter == "forwarded_to_alternate" and outcome == model()
    outcome, model = run(host, outer, BEHIND, tags=tags, sender=f.mac(MACS[ROUTER]))
    assert outcome.counter == "forwarded_by_route" and outcome == model(ROUTER)
    assert outcome.frame == run(host, outer, BEHIND, "sender", tags, f.mac(MACS[ROUTER]))[0].frame


def test_routed_proxy_sends_the_same_frames_in_both_modes(host, outer):
    """The router that delivered the packet is the one of the route."""
    router = f.mac(MACS[ROUTER])
    outcomes = [run(host, outer, BEHIND, forward, sender=router)[0] for forward in ("sender", "fib")]
    assert outcomes[0].frame == outcomes[1].frame
    assert [each.counter for each in outcomes] == ["forwarded_to_alternate", "forwarded_by_route"]


def test_all_other_packets_have_the_same_fate(host, outer):
    """Every kind of packet with every number of hops: only forwarded ones depend on the mode."""
    frames = [gue_frame(kind.build(host, family), outer=outer, **HOPS[hops][0]) for family, kind, hops in CASES]
    by_route = run_frames(host, frames, interface="eth0", forward="fib")
    by_sender = run_frames(host, frames, interface="eth0", forward="sender")
    assert "forwarded_to_alternate" in {each.counter for each in by_sender}
    for route, sender in zip(by_route, by_sender, strict=True):
        if sender.counter != "forwarded_to_alternate":
            assert route == sender
        else:
            assert route.frame[12:] == sender.frame[12:] and route.verdict == sender.verdict
