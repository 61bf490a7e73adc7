# SPDX-License-Identifier: BSD-3-Clause
"""redirect.conf and packets for other hosts: who may use a proxy, by counter and by family, against a model with ipaddress.

The frames arrive on lo, whose MAC address is 0, because Linux older than 5.15 runs the program on no other interface.
"""

import functools
import ipaddress
import random
import re

import pytest

from cases import frames as f
from conftest import run_frames
from host import CLIENT, PROXY, VIP, Host, outside, packet
from model_of_proxy import XDP_DROP, XDP_PASS, Allow, decide
from packets import DIRECTOR, KINDS, MOST_HOPS, OTHER_HOP, gue_frame, kind
from test_decision import CASES, HOPS

LO = "00:00:00:00:00:00"
LOCAL = (PROXY, outside(6, PROXY), "fd50::10", *VIP.values())
LISTED = f'allow_from = ["{DIRECTOR}", "198.18.0.0/15"];\n'
KEPT = ("tcp/SYN", "tcp/established", "udp/no socket", "icmp/echo request", "fragment/later", "other protocol")


def networks(*texts):
    return tuple(ipaddress.ip_network(text) for text in texts)


def model(outer):
    listed = networks(*(outside(outer, text) for text in (DIRECTOR, "198.18.0.0/15")))
    return Allow(macs=(bytes(6),), local=networks(*LOCAL), sources=listed, destinations=networks(*LOCAL), next_hops=listed, max_hops=8)


def in_underlay(outer, conf):
    """redirect.conf whose allow_from and next_hops have addresses of this family."""

    def twins(match):
        return re.sub(r'"([^"]+)"', lambda text: f'"{outside(outer, text[1])}"', match[0])

    return re.sub(r"(allow_from|next_hops) = \[.*?\]", twins, conf)


def run_on(host, folder, outer, conf, frames, **options):
    """Runs each frame twice, because the program remembers what it found in a list."""
    path = folder / "redirect.conf"
    path.write_text(in_underlay(outer, conf))
    outcomes = run_frames(host, [frame for frame in frames for _ in range(2)], interface="lo", conf=path, **options)
    assert outcomes[::2] == outcomes[1::2]
    return outcomes[::2]


@pytest.fixture(params=[4, 6], ids=["outer IPv4", "outer IPv6"])
def outer(request):
    return request.param


@pytest.fixture
def run(host, tmp_path, outer):
    return functools.partial(run_on, host, tmp_path, outer)


@pytest.fixture
def to_lo(outer):
    return functools.partial(gue_frame, mac=LO, outer=outer)


def counters(outcomes):
    return [outcome.counter for outcome in outcomes]


def refused(outcomes, frames, counter):
    assert set(counters(outcomes)) == {counter}
    assert all(outcome.verdict == XDP_DROP for outcome in outcomes)
    assert [outcome.frame for outcome in outcomes] == frames


@pytest.mark.parametrize("family", [4, 6])
def test_every_kind_of_packet_of_a_stranger_is_refused(host, run, to_lo, family):
    frames = [to_lo(each.build(host, family), src="198.20.0.1") for each in KINDS]
    frames += [to_lo(b"\0", src="198.20.0.1"), to_lo(bytes(20), (OTHER_HOP,) * 30, 30, src="198.20.0.1", ttl=0)]
    refused(run(LISTED, frames), frames, "drop_source")


@pytest.mark.parametrize("source, counter", [
    (DIRECTOR, "accepted_syn"), ("192.0.2.2", "drop_source"), ("192.0.2.0", "drop_source"), ("198.18.0.0", "accepted_syn"),
    ("198.19.255.255", "accepted_syn"), ("198.17.255.255", "drop_source"), ("198.20.0.0", "drop_source"), ("0.0.0.0", "drop_source"),
])
def test_edges_of_prefixes(host, run, to_lo, source, counter):
    assert counters(run(LISTED, [to_lo(kind("tcp/SYN").build(host, 4), src=source)])) == [counter]


@pytest.mark.parametrize("fields", [
    {"mac": "02:00:00:00:00:99"}, {"mac": "ff:ff:ff:ff:ff:ff"}, {"mac": "01:00:5e:00:00:01"}, {"dst": "192.168.50.11"},
    {"dst": "192.168.50.255"}, {"dst": "127.0.0.1"}, {"dst": "224.0.0.1"}, {"dst": "0.0.0.0"},
], ids=str)
def test_packets_for_other_hosts_pass_unchanged(host, run, to_lo, fields):
    """Also those that would be refused or dropped for another reason."""
    frames = [to_lo(kind(name).build(host, family), src=source, **fields)
              for name in ("tcp/SYN", "tcp/unknown") for family in (4, 6) for source in (DIRECTOR, "203.0.113.9")]
    frames += [to_lo(b"\0", **fields), to_lo(kind("tcp/unknown").build(host, 4), ttl=0, **fields)]
    outcomes = run(LISTED, frames)
    assert set(counters(outcomes)) == {"not_for_us"}
    assert {outcome.verdict for outcome in outcomes} == {XDP_PASS}
    assert [outcome.frame for outcome in outcomes] == frames


@pytest.mark.parametrize("dst", ["::1", "::", "ff02::1", "::ffff:192.168.50.10", "fd64::c0a8:320b", "64:ff9b::c0a8:320a"])
@pytest.mark.parametrize("outer", [6], indirect=True)
def test_ipv6_packets_for_other_hosts_pass_unchanged(host, run, to_lo, dst):
    frames = [to_lo(kind("tcp/SYN").build(host, 4), dst=dst)]
    outcomes = run(LISTED, frames)
    assert [(outcome.counter, outcome.verdict, outcome.frame) for outcome in outcomes] == [("not_for_us", XDP_PASS, frames[0])]


def test_lists_of_one_family_allow_none_of_the_other(host, to_lo, outer, tmp_path):
    """A list of both families allows both."""
    frames = [to_lo(kind("tcp/SYN").build(host, 4))]
    other, own = in_underlay(10 - outer, LISTED), outside(outer, DIRECTOR)
    refused(run_on(host, tmp_path, 4, other, frames), frames, "drop_source")
    assert counters(run_on(host, tmp_path, 4, other.replace("];", f', "{own}"];'), frames)) == ["accepted_syn"]


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("name", KEPT)
def test_kept_only_for_allowed_destinations(host, run, to_lo, family, name):
    inner = [kind(name).build(host, family)]
    other = {4: "10.10.10.11", 6: "fdb4::11"}[family]
    at, size = {4: (16, 4), 6: (24, 16)}[family]
    inner.append(inner[0][:at] + f.ip(other) + inner[0][at + size :])
    frames = [to_lo(each, ()) for each in inner]
    vip, wrong_family = VIP[family], VIP[10 - family]
    assert counters(run(LISTED, frames))[1] == "drop_destination"
    assert counters(run(LISTED + f'allow_to = ["{vip}"];', frames)) == [counters(run(LISTED, frames))[0], "drop_destination"]
    assert counters(run(LISTED + f'allow_to = ["{other}"];', frames))[0] == "drop_destination"
    refused(run(LISTED + f'allow_to = ["{wrong_family}"];', frames), frames, "drop_destination")


@pytest.mark.parametrize("everything, family", [("0.0.0.0/0", 4), ("::/0", 6)])
def test_prefix_of_length_0_allows_one_family(host, run, to_lo, everything, family):
    frames = [to_lo(kind("tcp/SYN").build(host, each)) for each in (4, 6)]
    wanted = ["accepted_syn" if each == family else "drop_destination" for each in (4, 6)]
    assert counters(run(LISTED + f'allow_to = ["{everything}"];', frames)) == wanted


def test_prefix_that_covers_mapped_addresses_allows_no_ipv4(host, run, to_lo):
    frames = [to_lo(kind("tcp/SYN").build(host, 4))]
    assert counters(run(LISTED + 'allow_to = ["::ffff:0:0/96", "::/64"];', frames)) == ["drop_destination"]


def test_tunnel_check_is_answered_whatever_allow_to_says(run, to_lo, outer):
    """glb-healthcheck pings the proxy's own address through the tunnel. Another address of the proxy is another matter."""
    protocol, other = {4: f.ICMP, 6: f.ICMPV6}[outer], 10 - outer
    ping = f.icmp({4: 8, 6: 128}[outer], 0, 1, bytes(16))
    frames = [to_lo(packet(outer, protocol, ping, dst=outside(outer, PROXY))), to_lo(packet(outer, f.TCP, f.tcp(1, 2), dst=outside(outer, PROXY))),
              to_lo(packet(outer, protocol, ping, dst=outside(outer, "192.168.50.11"))),
              to_lo(packet(other, {4: f.ICMP, 6: f.ICMPV6}[other], ping, dst=outside(other, PROXY)))]
    assert counters(run(LISTED + f'allow_to = ["{VIP[4]}"];', frames)) == ["accepted_other"] + ["drop_destination"] * 3


@pytest.mark.parametrize("type_", [1, 2, 127, 129, *range(130, 138), 143, 255])
@pytest.mark.parametrize("outer", [6], indirect=True)
def test_no_other_icmpv6_comes_through_the_tunnel_to_the_proxy_itself(run, to_lo, type_):
    """Such as router advertisements, with which a sender could change the routes of the proxy."""
    message = packet(6, f.ICMPV6, f.icmp(type_, 0, 0, bytes(60)), src="fe80::1", dst=outside(6, PROXY))
    conf = LISTED + f'allow_to = ["{VIP[6]}"];'
    assert counters(run(conf, [to_lo(message, ())])) in (["drop_destination"], ["drop_inner_malformed"])


def test_packet_that_is_passed_on_may_have_any_inner_destination(host, run, to_lo):
    """A proxy that has just lost a VIP still passes packets on to the next hop, which has the connection."""
    inner = packet(4, f.TCP, f.tcp(1, 80, flags=0x10), dst="10.10.10.11")
    assert counters(run(LISTED, [to_lo(inner, ("198.18.0.1",))])) == ["forwarded_to_alternate"]


@pytest.mark.parametrize("extra, hop, counter", [
    ("", "198.18.0.1", "forwarded_to_alternate"), ("", "8.8.8.8", "drop_next_hop"), ("", "255.255.255.255", "drop_next_hop"),
    ('next_hops = ["8.8.8.0/24"];', "8.8.8.8", "forwarded_to_alternate"), ('next_hops = ["8.8.8.0/24"];', "198.18.0.1", "drop_next_hop"),
    ("next_hops = [];", "198.18.0.1", "drop_next_hop"), ("next_hops = [];", PROXY, "forwarded_to_self"), ("", PROXY, "forwarded_to_self"),
], ids=str)
@pytest.mark.parametrize("family", [4, 6])
def test_next_hop(host, run, to_lo, family, extra, hop, counter):
    frames = [to_lo(kind("tcp/unknown").build(host, family), (hop,))]
    assert counters(run(LISTED + extra, frames)) == [counter]


def test_without_allow_from_any_sender_and_next_hop_is_allowed(host, run, to_lo):
    frames = [to_lo(kind("tcp/SYN").build(host, 4), src="203.0.113.9"), to_lo(kind("tcp/unknown").build(host, 4), ("8.8.8.8",))]
    assert counters(run("", frames)) == ["accepted_syn", "forwarded_to_alternate"]


@pytest.mark.parametrize("text, limit", [("", 8), ("max_hops = 0;", 0), ("max_hops = 1;", 1), ("max_hops = 30;", 30)])
@pytest.mark.parametrize("family", [4, 6])
def test_limit_of_hops(host, run, to_lo, outer, family, text, limit):
    most = MOST_HOPS[outer]
    inner, hops, limit = kind("tcp/unknown").build(host, family), ("198.18.0.1",) * most, min(limit, most)
    outcomes = run(LISTED + text, [to_lo(inner, hops, index) for index in range(most + 1)])
    assert counters(outcomes) == ["forwarded_to_alternate"] * limit + ["drop_hops"] * (most - limit) + ["accepted_last_resort"]


ROW = [f"198.18.1.{number}" for number in range(1, 16)]  # the hops after the first


@pytest.mark.parametrize("text, hops, walked, end", [
    ("", 8, 7, "accepted_last_resort"), ("", 16, 8, "drop_hops"), ("max_hops = 15;", 16, 15, "accepted_last_resort"),
    ("max_hops = 4;", 8, 4, "drop_hops")])
@pytest.mark.parametrize("family", [4, 6])
def test_packet_walks_along_its_row(host, run, to_lo, outer, family, text, hops, walked, end):
    """This host stands for each proxy. The default serves a row of 8 hops, and 15 serves two of them."""
    if outer == 6 and hops == 16:  # behind outer IPv6 a list has 7 hops
        hops, walked, end = 8, 7, "accepted_last_resort"
    source, size, gue = {4: (26, 4, 42), 6: (22, 16, 62)}[outer]
    middle, end_of = source + size, source + 2 * size
    frame = to_lo(kind("tcp/unknown").build(host, family), ROW[: hops - 1])
    for hop in range(walked):
        (outcome,) = run(text, [frame])
        assert (outcome.counter, outcome.hop) == ("forwarded_to_alternate", None)
        assert outcome.frame[middle:end_of] == f.ip(outside(outer, ROW[hop])) and outcome.frame[gue + 6 : gue + 8] == bytes([hop + 1, hops - 1])
        frame = bytes(6) + outcome.frame[6:middle] + f.ip(outside(outer, PROXY)) + outcome.frame[end_of:]
    (outcome,) = run(text, [frame])
    assert (outcome.counter, outcome.hop) == (end, None if end == "drop_hops" else min(hops, 8))


@pytest.mark.parametrize("number", range(1, 17))
def test_each_hop_of_two_rows_accepts_its_flow(host, run, to_lo, outer, number):
    number = min(number, 1 + MOST_HOPS[outer])
    (outcome,) = run("", [to_lo(kind("tcp/established").build(host, 4), ROW[: MOST_HOPS[outer]], number - 1)])
    assert (outcome.counter, outcome.hop) == ("accepted_established", min(number, 8))


def test_returned_packet_needs_an_allowed_next_hop(host, run, to_lo):
    frames = [to_lo(kind("udp/unconnected").build(host, 4), (PROXY,), 1)]
    assert counters(run(LISTED, frames, udp="connected")) == ["returned_to_first_hop"]
    assert counters(run(LISTED + "next_hops = [];", frames, udp="connected")) == ["drop_next_hop"]


@pytest.mark.parametrize("source, refused_as", [
    (DIRECTOR, {"drop_next_hop", "drop_hops"}), ("198.18.7.7", {"drop_next_hop", "drop_hops"}), ("203.0.113.9", {"drop_source"})])
@pytest.mark.parametrize("udp", ["first-hop", "connected"])
@pytest.mark.parametrize("version", [4, 6])
def test_matrix_of_the_decision(tmp_path, to_lo, outer, version, udp, source, refused_as):
    """Every kind of packet with every list of hops, from allowed senders and from a stranger."""
    host = Host()  # a new one, because its sockets in TIME_WAIT last only 60 s
    with host.close:
        frames = [to_lo(kind.build(host, family), src=source, **HOPS[hops][0]) for family, kind, hops in CASES if family == version]
        outcomes = run_on(host, tmp_path, outer, LISTED, frames, udp=udp)
        assert outcomes == [decide(frame, host.sockets, udp=udp, allow=model(outer)) for frame in frames]
    assert refused_as - ({"drop_hops"} if outer == 6 else set()) <= set(counters(outcomes))  # 7 hops are fewer than max_hops


def random_network(chance, family):
    bits = {4: 32, 6: 128}[family]
    length = chance.choice((0, 1, 7, 8, 9, 24, 31, 32) if family == 4 else (1, 7, 8, 9, 32, 63, 64, 65, 127, 128))
    # Few different first bits, so that prefixes cover each other.
    number = chance.choice((0, 0x0A, 0x0B, 0x80, 0xFD)) << (bits - 8) | chance.getrandbits(chance.choice((3, bits - 8)))
    network = {4: ipaddress.IPv4Network, 6: ipaddress.IPv6Network}[family]
    return network((number >> (bits - length) << (bits - length), length))


def address_near(chance, network):
    """An address at an edge of the network, one beside it, or any."""
    first, last = int(network[0]), int(network[-1])
    number = chance.choice((first, last, first - 1, last + 1, chance.getrandbits(network.max_prefixlen)))
    return str(type(network[0])(number % (1 << network.max_prefixlen)))


def quoted(name, lists):
    return f"{name} = [{', '.join(chr(34) + str(network) + chr(34) for network in lists)}];\n"


@pytest.mark.parametrize("seed", range(8))
def test_random_lists_match_as_ipaddress_does(host, run, to_lo, outer, seed):
    chance = random.Random(seed)

    def some(*families):
        chosen = [random_network(chance, chance.choice(families)) for _ in range(chance.choice((1, 2, 5, 40)))]
        return tuple(each for each in chosen if str(each) not in ("::/128", "::1/128")) or networks("2001:db8::/32" if 6 in families else "10.0.0.0/8")

    sources, destinations, next_hops = some(outer), some(4, 6), some(outer)
    allow = Allow(macs=(bytes(6),), local=networks(*LOCAL), sources=sources, destinations=destinations, next_hops=next_hops, max_hops=8)
    frames = []
    for _ in range(150):
        to = address_near(chance, chance.choice(destinations))
        family = 6 if ":" in to else 4
        inner = packet(family, f.TCP, f.tcp(1, 80, flags=chance.choice((0x02, 0x10))), src=CLIENT[family], dst=to)
        hop, source = address_near(chance, chance.choice(next_hops)), address_near(chance, chance.choice(sources))
        frames.append(to_lo(inner, (hop,), src=source))
    outcomes = run(quoted("allow_from", sources) + quoted("allow_to", destinations) + quoted("next_hops", next_hops), frames)
    assert outcomes == [decide(frame, allow=allow) for frame in frames]
