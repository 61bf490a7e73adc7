# SPDX-License-Identifier: BSD-3-Clause
"""redirect.conf and packets for other hosts: who may use a proxy, by counter and by family, against a model with ipaddress.

The frames arrive on lo, whose MAC address is 0, because Linux older than 5.15 runs the program on no other interface.
"""

import functools
import ipaddress
import random

import pytest

from cases import frames as f
from conftest import run_frames
from host import CLIENT, PROXY, VIP, Host, packet
from model_of_proxy import XDP_DROP, XDP_PASS, Allow, decide
from packets import DIRECTOR, KINDS, OTHER_HOP, gue_frame, kind
from test_decision import CASES, HOPS

LO = "00:00:00:00:00:00"
LOCAL = (PROXY, "fd50::10", *VIP.values())
LISTED = f'allow_from = ["{DIRECTOR}", "198.18.0.0/15"];\n'
KEPT = ("tcp/SYN", "tcp/established", "udp/no socket", "icmp/echo request", "fragment/later", "other protocol")


def networks(*texts):
    return tuple(ipaddress.ip_network(text) for text in texts)


MODEL = Allow(macs=(bytes(6),), local=networks(*LOCAL), sources=networks(DIRECTOR, "198.18.0.0/15"),
              destinations=networks(*LOCAL), next_hops=networks(DIRECTOR, "198.18.0.0/15"), max_hops=8)


def run_on(host, folder, conf, frames, **options):
    """Runs each frame twice, because the program remembers what it found in a list."""
    path = folder / "redirect.conf"
    path.write_text(conf)
    outcomes = run_frames(host.namespace, [frame for frame in frames for _ in range(2)], interface="lo", conf=path, **options)
    assert outcomes[::2] == outcomes[1::2]
    return outcomes[::2]


@pytest.fixture
def run(host, tmp_path):
    return functools.partial(run_on, host, tmp_path)


def to_lo(inner, *hops, **fields):
    return gue_frame(inner, *hops, **{"mac": LO, **fields})


def counters(outcomes):
    return [outcome.counter for outcome in outcomes]


def refused(outcomes, frames, counter):
    assert set(counters(outcomes)) == {counter}
    assert all(outcome.verdict == XDP_DROP for outcome in outcomes)
    assert [outcome.frame for outcome in outcomes] == frames


@pytest.mark.parametrize("family", [4, 6])
def test_every_kind_of_packet_of_a_stranger_is_refused(host, run, family):
    frames = [to_lo(each.build(host, family), src="198.20.0.1") for each in KINDS]
    frames += [to_lo(b"\0", src="198.20.0.1"), to_lo(bytes(20), (OTHER_HOP,) * 30, 30, src="198.20.0.1", ttl=0)]
    refused(run(LISTED, frames), frames, "drop_source")


@pytest.mark.parametrize("source, counter", [
    (DIRECTOR, "accepted_syn"), ("192.0.2.2", "drop_source"), ("192.0.2.0", "drop_source"), ("198.18.0.0", "accepted_syn"),
    ("198.19.255.255", "accepted_syn"), ("198.17.255.255", "drop_source"), ("198.20.0.0", "drop_source"), ("0.0.0.0", "drop_source"),
])
def test_edges_of_prefixes(host, run, source, counter):
    assert counters(run(LISTED, [to_lo(kind("tcp/SYN").build(host, 4), src=source)])) == [counter]


@pytest.mark.parametrize("fields", [
    {"mac": "02:00:00:00:00:99"}, {"mac": "ff:ff:ff:ff:ff:ff"}, {"mac": "01:00:5e:00:00:01"}, {"dst": "192.168.50.11"},
    {"dst": "192.168.50.255"}, {"dst": "127.0.0.1"}, {"dst": "224.0.0.1"}, {"dst": "0.0.0.0"},
], ids=str)
def test_packets_for_other_hosts_pass_unchanged(host, run, fields):
    """Also those that would be refused or dropped for another reason."""
    frames = [to_lo(kind(name).build(host, family), src=source, **fields)
              for name in ("tcp/SYN", "tcp/unknown") for family in (4, 6) for source in (DIRECTOR, "203.0.113.9")]
    frames += [to_lo(b"\0", **fields), to_lo(kind("tcp/unknown").build(host, 4), ttl=0, **fields)]
    outcomes = run(LISTED, frames)
    assert set(counters(outcomes)) == {"not_for_us"}
    assert {outcome.verdict for outcome in outcomes} == {XDP_PASS}
    assert [outcome.frame for outcome in outcomes] == frames


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("name", KEPT)
def test_kept_only_for_allowed_destinations(host, run, family, name):
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
def test_prefix_of_length_0_allows_one_family(host, run, everything, family):
    frames = [to_lo(kind("tcp/SYN").build(host, each)) for each in (4, 6)]
    wanted = ["accepted_syn" if each == family else "drop_destination" for each in (4, 6)]
    assert counters(run(LISTED + f'allow_to = ["{everything}"];', frames)) == wanted


def test_prefix_that_covers_mapped_addresses_allows_no_ipv4(host, run):
    frames = [to_lo(kind("tcp/SYN").build(host, 4))]
    assert counters(run(LISTED + 'allow_to = ["::ffff:0:0/96", "::/64"];', frames)) == ["drop_destination"]


def test_tunnel_check_is_answered_whatever_allow_to_says(run):
    """glb-healthcheck pings the proxy's own address through the tunnel."""
    ping = f.icmp(8, 0, 1, bytes(16))
    frames = [to_lo(packet(4, f.ICMP, ping, dst=PROXY)), to_lo(packet(4, f.TCP, f.tcp(1, 2), dst=PROXY)),
              to_lo(packet(4, f.ICMP, ping, dst="192.168.50.11"))]
    assert counters(run(LISTED + f'allow_to = ["{VIP[4]}"];', frames)) == ["accepted_other", "drop_destination", "drop_destination"]


def test_packet_that_is_passed_on_may_have_any_inner_destination(host, run):
    """A proxy that has just lost a VIP still passes packets on to the next hop, which has the connection."""
    inner = packet(4, f.TCP, f.tcp(1, 80, flags=0x10), dst="10.10.10.11")
    assert counters(run(LISTED, [to_lo(inner, ("198.18.0.1",))])) == ["forwarded_to_alternate"]


@pytest.mark.parametrize("extra, hop, counter", [
    ("", "198.18.0.1", "forwarded_to_alternate"), ("", "8.8.8.8", "drop_next_hop"), ("", "255.255.255.255", "drop_next_hop"),
    ('next_hops = ["8.8.8.0/24"];', "8.8.8.8", "forwarded_to_alternate"), ('next_hops = ["8.8.8.0/24"];', "198.18.0.1", "drop_next_hop"),
    ("next_hops = [];", "198.18.0.1", "drop_next_hop"), ("next_hops = [];", PROXY, "forwarded_to_self"), ("", PROXY, "forwarded_to_self"),
], ids=str)
@pytest.mark.parametrize("family", [4, 6])
def test_next_hop(host, run, family, extra, hop, counter):
    frames = [to_lo(kind("tcp/unknown").build(host, family), (hop,))]
    assert counters(run(LISTED + extra, frames)) == [counter]


def test_without_allow_from_any_sender_and_next_hop_is_allowed(host, run):
    frames = [to_lo(kind("tcp/SYN").build(host, 4), src="203.0.113.9"), to_lo(kind("tcp/unknown").build(host, 4), ("8.8.8.8",))]
    assert counters(run("", frames)) == ["accepted_syn", "forwarded_to_alternate"]


@pytest.mark.parametrize("text, limit", [("", 8), ("max_hops = 0;", 0), ("max_hops = 1;", 1), ("max_hops = 30;", 30)])
@pytest.mark.parametrize("family", [4, 6])
def test_limit_of_hops(host, run, family, text, limit):
    inner, hops = kind("tcp/unknown").build(host, family), ("198.18.0.1",) * 30
    outcomes = run(LISTED + text, [to_lo(inner, hops, index) for index in range(31)])
    assert counters(outcomes) == ["forwarded_to_alternate"] * limit + ["drop_hops"] * (30 - limit) + ["accepted_last_resort"]


ROW = [f"198.18.1.{number}" for number in range(1, 16)]  # the hops after the first


@pytest.mark.parametrize("text, hops, walked, end", [
    ("", 8, 7, "accepted_last_resort"), ("", 16, 8, "drop_hops"), ("max_hops = 15;", 16, 15, "accepted_last_resort"),
    ("max_hops = 4;", 8, 4, "drop_hops")])
@pytest.mark.parametrize("family", [4, 6])
def test_packet_walks_along_its_row(host, run, family, text, hops, walked, end):
    """This host stands for each proxy. The default serves a row of 8 hops, and 15 serves two of them."""
    frame = to_lo(kind("tcp/unknown").build(host, family), ROW[: hops - 1])
    for hop in range(walked):
        (outcome,) = run(text, [frame])
        assert (outcome.counter, outcome.hop) == ("forwarded_to_alternate", None)
        assert outcome.frame[30:34] == f.ip(ROW[hop]) and outcome.frame[48:50] == bytes([hop + 1, hops - 1])
        frame = bytes(6) + outcome.frame[6:30] + f.ip(PROXY) + outcome.frame[34:]
    (outcome,) = run(text, [frame])
    assert (outcome.counter, outcome.hop) == (end, None if end == "drop_hops" else min(hops, 8))


@pytest.mark.parametrize("number", range(1, 17))
def test_each_hop_of_two_rows_accepts_its_flow(host, run, number):
    (outcome,) = run("", [to_lo(kind("tcp/established").build(host, 4), ROW, number - 1)])
    assert (outcome.counter, outcome.hop) == ("accepted_established", min(number, 8))


def test_returned_packet_needs_an_allowed_next_hop(host, run):
    frames = [to_lo(kind("udp/unconnected").build(host, 4), (PROXY,), 1)]
    assert counters(run(LISTED, frames, udp="connected")) == ["returned_to_first_hop"]
    assert counters(run(LISTED + "next_hops = [];", frames, udp="connected")) == ["drop_next_hop"]


@pytest.mark.parametrize("source, refused_as", [
    (DIRECTOR, {"drop_next_hop", "drop_hops"}), ("198.18.7.7", {"drop_next_hop", "drop_hops"}), ("203.0.113.9", {"drop_source"})])
@pytest.mark.parametrize("udp", ["first-hop", "connected"])
@pytest.mark.parametrize("version", [4, 6])
def test_matrix_of_the_decision(tmp_path, version, udp, source, refused_as):
    """Every kind of packet with every list of hops, from allowed senders and from a stranger."""
    host = Host()  # a new one, because its sockets in TIME_WAIT last only 60 s
    with host.close:
        frames = [to_lo(kind.build(host, family), src=source, **HOPS[hops][0]) for family, kind, hops in CASES if family == version]
        outcomes = run_on(host, tmp_path, LISTED, frames, udp=udp)
        assert outcomes == [decide(frame, host.sockets, udp=udp, allow=MODEL) for frame in frames]
    assert refused_as <= set(counters(outcomes))


def random_network(chance, family):
    bits = {4: 32, 6: 128}[family]
    length = chance.choice((0, 1, 7, 8, 9, 24, 31, 32) if family == 4 else (1, 7, 8, 9, 32, 63, 64, 65, 127, 128))
    # Few different first bits, so that prefixes cover each other.
    number = chance.choice((0, 0x0A, 0x0B, 0x80, 0xFD)) << (bits - 8) | chance.getrandbits(chance.choice((3, bits - 8)))
    return ipaddress.ip_network((number >> (bits - length) << (bits - length), length))


def address_near(chance, network):
    """An address at an edge of the network, one beside it, or any."""
    first, last = int(network[0]), int(network[-1])
    number = chance.choice((first, last, first - 1, last + 1, chance.getrandbits(network.max_prefixlen)))
    return str(type(network[0])(number % (1 << network.max_prefixlen)))


def quoted(name, lists):
    return f"{name} = [{', '.join(chr(34) + str(network) + chr(34) for network in lists)}];\n"


@pytest.mark.parametrize("seed", range(8))
def test_random_lists_match_as_ipaddress_does(host, run, seed):
    chance = random.Random(seed)

    def some(*families):
        return tuple(random_network(chance, chance.choice(families)) for _ in range(chance.choice((1, 2, 5, 40))))

    sources, destinations, next_hops = some(4), some(4, 6), some(4)
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
