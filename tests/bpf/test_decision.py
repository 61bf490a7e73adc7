# SPDX-License-Identifier: BSD-3-Clause
"""Counter, verdict and bytes for every kind of packet with every number of remaining hops, on a host with real sockets."""

import pytest

from conftest import run_frames
from cases import frames as f
from host import Host
from model_of_proxy import XDP_DROP, XDP_PASS, XDP_REDIRECT, decide
from packets import KINDS, KINDS6, LISTENER, NUMBERED, OTHER_HOP, SELF, STRANGER, gue_frame

# name: (arguments of gue_frame, counter of a packet that no socket knows, and with a third word: that only an unconnected one does)
HOPS = {
    "no hops": ({"hops": ()}, "accepted_last_resort", LISTENER),
    "last of 2": ({"hops": (SELF,), "next_hop": 1}, "accepted_last_resort", "returned_to_first_hop"),
    "last of 2, udp checksum": ({"hops": (SELF,), "next_hop": 1, "checksum": "right"}, "accepted_last_resort", "returned_to_first_hop"),
    "last of 2, ttl 1": ({"hops": (SELF,), "next_hop": 1, "ttl": 1}, "accepted_last_resort", "drop_ttl"),
    "first of 2, returned": ({"hops": (OTHER_HOP,), "next_hop": 1}, "accepted_last_resort", LISTENER),
    "last of 3": ({"hops": (OTHER_HOP, SELF), "next_hop": 2}, "accepted_last_resort", LISTENER),
    "1 hop": ({}, "forwarded_to_alternate"),
    "hop 2 of 2": ({"hops": (SELF, OTHER_HOP), "next_hop": 1}, "forwarded_to_alternate"),
    "both used up": ({"hops": (OTHER_HOP, OTHER_HOP), "next_hop": 2}, "accepted_last_resort", LISTENER),
    "30 hops": ({"hops": (OTHER_HOP,) * 30, "next_hop": 29}, "forwarded_to_alternate"),
    "itself": ({"hops": (SELF, OTHER_HOP)}, "forwarded_to_self"),
    "itself, ttl 1": ({"hops": (SELF,), "ttl": 1}, "forwarded_to_self"),
    "ttl 2": ({"ttl": 2}, "forwarded_to_alternate"),
    "ttl 1": ({"ttl": 1}, "drop_ttl"),
    "ttl 0": ({"ttl": 0}, "drop_ttl"),
}
OUTER = {
    "802.1Q": {"tags": (f.C_TAG,)},
    "802.1ad": {"tags": (f.S_TAG,)},
    "QinQ": {"tags": (f.S_TAG, f.C_TAG)},
    "outer options": {"options": 1},
    "outer options, 40 bytes": {"options": 10, "tags": (f.S_TAG, f.C_TAG)},
    "udp checksum": {"checksum": "right"},
    "wrong udp checksum": {"checksum": 0x1234},
}
CASES = [(4, kind, hops) for kind in KINDS for hops in HOPS]
CASES += [(6, kind, hops) for kind in KINDS + KINDS6 for hops in HOPS]
CASES += [(family, kind, hops) for family in (4, 6) for kind in NUMBERED for hops in ("no hops", "last of 2", "1 hop")]


def name(value):
    return getattr(value, "name", None) or (f"IPv{value}" if isinstance(value, int) else str(value))


@pytest.fixture(scope="module", params=[4, 6], ids=["outer IPv4", "outer IPv6"])
def in_kernel(request):
    """Runs all cases at once, on a new host, because its sockets in TIME_WAIT last only 60 s: (its sockets, {--udp: {case: (frame, outcome)}})."""
    host = Host()
    with host.close:
        frames = [gue_frame(kind.build(host, family), outer=request.param, **HOPS[hops][0]) for family, kind, hops in CASES]
        yield host.sockets, {
            udp: dict(zip(CASES, zip(frames, run_frames(host, frames, udp=udp)))) for udp in ("first-hop", "connected")}


@pytest.mark.parametrize("udp", ["first-hop", "connected"])
@pytest.mark.parametrize("family, kind, hops", CASES, ids=name)
def test_matrix(in_kernel, family, kind, hops, udp):
    sockets, results = in_kernel
    frame, outcome = results[udp][family, kind, hops]
    expected = kind.expect(udp)
    if expected is STRANGER:
        expected = HOPS[hops][1]
    elif expected is LISTENER:
        expected = HOPS[hops][-1]
    assert outcome.counter == expected
    assert outcome == decide(frame, sockets, udp=udp)
    verdict = XDP_PASS
    if outcome.counter.startswith("drop"):
        verdict = XDP_DROP
    elif outcome.counter in ("forwarded_to_alternate", "returned_to_first_hop"):
        verdict = XDP_REDIRECT
    assert outcome.verdict == verdict


@pytest.mark.parametrize("outer, headers", [(outer, headers) for outer in (4, 6) for headers in OUTER if outer == 4 or "options" not in headers])
@pytest.mark.parametrize("family", [4, 6], ids=name)
def test_outer_headers(host, family, outer, headers):
    kinds = [kind for kind in KINDS if kind.name in ("tcp/SYN", "tcp/established", "tcp/unknown")]
    frames = [gue_frame(kind.build(host, family), outer=outer, **OUTER[headers]) for kind in kinds]
    outcomes = run_frames(host, frames)
    assert [outcome.counter for outcome in outcomes] == [
        "accepted_syn", "accepted_established", "forwarded_to_alternate",
    ]
    assert outcomes == [decide(frame, host.sockets) for frame in frames]


@pytest.mark.parametrize("outer", [4, 6])
def test_another_port(host, outer):
    kind = next(kind for kind in KINDS if kind.name == "tcp/SYN")
    frames = [gue_frame(kind.build(host, 4), port=port, outer=outer) for port in (6080, 19523)]
    outcomes = run_frames(host, frames, port=6080)
    assert [outcome.counter for outcome in outcomes] == ["accepted_syn", None]
    assert outcomes == [decide(frame, host.sockets, port=6080) for frame in frames]
