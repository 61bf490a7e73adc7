# SPDX-License-Identifier: BSD-3-Clause
"""SYN cookies of the program: when it sends one, every byte of the SYN-ACK, and that the kernel accepts the client's ACK."""

import contextlib
import os
import struct

import pytest

from cases import frames as f
from conftest import run_frames
from host import (
    CLIENT, CLOSED, ESTABLISHED, FULL, HTTP, ISN, SILENT, SYN_RECV, UNKNOWN, VIP, Host, checksummed_tcp, packet,
)
from model_of_proxy import XDP_DROP, XDP_PASS, XDP_REDIRECT, announced_mss, syn_ack_with_cookie, decide
from packets import ACK, FIN, RST, SELF, SYN, gue_frame
from test_decision import CASES, HOPS

if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 15):
    pytest.skip("BPF_PROG_TEST_RUN takes no interface before Linux 5.15: there, test_live.py is all", allow_module_level=True)

ECE, CWR = 0x40, 0x80
SENT, ACCEPTED = "syn_cookie_sent", "accepted_syn"
SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE, NOP = b"\x04\x02", b"\x08\x0a" + bytes(8), b"\x03\x03\x07", b"\x01"


def mss_option(mss):
    return struct.pack(">BBH", 2, 4, mss)


# name: (TCP options of the SYN, the value of their MSS option)
OPTIONS = {
    "none": (b"", None),
    "mss": (mss_option(1460), 1460),
    "small mss": (mss_option(600), 600),
    "mss of 1460 less one": (mss_option(1459), 1459),
    "jumbo mss": (mss_option(8960), 8960),
    "as Linux": (mss_option(1460) + SACK_PERMITTED + TIMESTAMPS + NOP + WINDOW_SCALE, 1460),
    "all there is room for": (mss_option(1460) + NOP * 36, 1460),
}
OUTER = {
    "1 hop": ({}, 40),
    "no hops": ({"hops": ()}, 36),
    "30 hops": ({"hops": ("192.0.2.9",) * 30}, 156),
    "outer options": ({"options": 10}, 80),
    "QinQ": ({"tags": (f.S_TAG, f.C_TAG)}, 40),
    "outer IPv6": ({"outer": 6}, 72),
    "outer IPv6, no hops": ({"outer": 6, "hops": ()}, 56),
    "outer IPv6, 7 hops": ({"outer": 6, "hops": (SELF,) * 7}, 168),
    "outer IPv6, QinQ": ({"outer": 6, "tags": (f.S_TAG, f.C_TAG)}, 72),
    "802.1Q": ({"tags": (f.C_TAG,)}, 40),
}


def syn(family, port=UNKNOWN, to=FULL, flags=SYN, options=b"", src=CLIENT, **fields):
    segment = bytearray(f.tcp(port, to, options, flags, data_offset=5 + len(options) // 4))
    return packet(family, f.TCP, checksummed_tcp(family, src[family], VIP[family], bytes(segment)), src=src[family], **fields)


def from_the_router(host, frame):
    return host.mac + host.router_mac + frame[12:]


def run(host, frames, mtu=1500):
    return run_frames(host, frames, interface="eth0", mtu=mtu)


def outcome_of(host, inner, **outer):
    (outcome,) = run(host, [from_the_router(host, gue_frame(inner, **outer))])
    return outcome


def allow_forwarding(host):
    host.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 1})


@pytest.fixture(scope="module", autouse=True)
def forwarding(host):
    allow_forwarding(host)


@contextlib.contextmanager
def sysctl(host, values):
    """Sets sysctls in a with block. `values`: {name: (value in the block, value afterwards)}."""
    host.namespace.sysctl({name: inside for name, (inside, _) in values.items()})
    try:
        yield
    finally:
        host.namespace.sysctl({name: after for name, (_, after) in values.items()})


@pytest.mark.parametrize("mtu", [1500, 1400])
@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("family", [4, 6])
def test_every_byte_of_the_syn_ack(host, family, options, outer, mtu):
    fields, overhead = OUTER[outer]
    option_bytes, named = OPTIONS[options]
    inner = syn(family, options=option_bytes)
    frame = from_the_router(host, gue_frame(inner, **fields))
    (outcome,) = run(host, [frame], mtu)
    assert (outcome.counter, outcome.verdict) == (SENT, XDP_REDIRECT)
    link = host.router_mac + host.mac + frame[12 : 12 + 4 * len(fields.get("tags", ()))]
    ip = outcome.frame[len(link) + 2 :]
    cookie = int.from_bytes(ip[24:28] if family == 4 else ip[44:48], "big")
    mss = announced_mss(family, named, mtu, overhead)
    assert outcome.frame == syn_ack_with_cookie(link, inner, mss, cookie)


@pytest.mark.parametrize("family", [4, 6])
def test_no_congestion_notification_is_agreed_on(host, family):
    outcome = outcome_of(host, syn(family, flags=SYN | ECE | CWR))
    assert outcome.counter == SENT
    assert outcome.frame[14 + (20 if family == 4 else 40) + 13] == SYN | ACK


@pytest.mark.parametrize("family", [4, 6])
def test_extension_headers_and_options_of_ip(host, family):
    segment = syn(family)[20 if family == 4 else 40 :]
    if family == 4:
        inner = packet(4, f.TCP, segment, options=f.nops(10))
    else:
        inner = packet(6, f.HOP_BY_HOP, f.extension(f.DESTINATION, 16) + f.extension(f.TCP) + segment)
    outcome = outcome_of(host, inner)
    plain = outcome_of(host, syn(family))
    assert outcome.counter == plain.counter == SENT
    assert len(outcome.frame) == len(plain.frame)


@pytest.mark.parametrize("family", [4, 6])
def test_the_kernel_accepts_the_acknowledged_cookie(host, family):
    """So does the program, and the connection has the client's MSS."""
    port = 41000
    outcome = outcome_of(host, syn(family, port, options=mss_option(1300), src=SILENT))
    assert outcome.counter == SENT
    at = 14 + (20 if family == 4 else 40)
    cookie = int.from_bytes(outcome.frame[at + 4 : at + 8], "big")

    def ack(number):
        segment = bytearray(f.tcp(port, FULL, flags=ACK))
        segment[4:12] = struct.pack(">II", ISN + 1, number & 0xFFFFFFFF)
        whole = checksummed_tcp(family, SILENT[family], VIP[family], bytes(segment))
        return packet(family, f.TCP, whole, src=SILENT[family])

    frames = [gue_frame(ack(cookie + 1)), gue_frame(ack(cookie + 0x12345))]
    assert [each.counter for each in run(host, frames)] == ["accepted_syn_cookie", "forwarded_to_alternate"]
    host.deliver(family, ack(cookie + 1))
    connection, address = host.full[family].accept()
    with connection:
        assert address[:2] == (SILENT[family], port)
        maximum = connection.getsockopt(6, 2)  # TCP_MAXSEG
        assert maximum <= 1300


SYNS_FOR_THE_KERNEL = {
    "queue has room": {"to": HTTP},
    "nobody listens": {"to": CLOSED},
    "of a connection": {"to": HTTP, "port": ESTABLISHED},
    "of a half-open connection, again": {"port": SYN_RECV, "src": SILENT},
    "SYN and FIN": {"flags": SYN | FIN},
    "SYN and RST": {"flags": SYN | RST},
}


@pytest.mark.parametrize("case", SYNS_FOR_THE_KERNEL)
@pytest.mark.parametrize("family", [4, 6])
def test_is_left_to_the_kernel(host, family, case):
    frame = from_the_router(host, gue_frame(syn(family, **SYNS_FOR_THE_KERNEL[case])))
    assert run(host, [frame]) == [decide(frame, host.sockets)]
    assert decide(frame, host.sockets).counter == ACCEPTED


@pytest.mark.parametrize("data_offset", [0, 4, 6, 15])
@pytest.mark.parametrize("family", [4, 6])
def test_a_syn_with_a_wrong_data_offset_is_left_to_the_kernel(host, family, data_offset):
    inner = packet(family, f.TCP, f.tcp(UNKNOWN, FULL, data_offset=data_offset))
    frame = from_the_router(host, gue_frame(inner))
    assert run(host, [frame]) == [decide(frame, host.sockets)]


@pytest.mark.parametrize("family", [4, 6])
def test_without_the_option_the_kernel_replies(host, family):
    frame = from_the_router(host, gue_frame(syn(family)))
    assert run(host, [frame], mtu=0) == [decide(frame, host.sockets)]


@pytest.mark.parametrize("family", [4, 6])
def test_the_kernels_setting_for_cookies_applies(host, family):
    frames = [from_the_router(host, gue_frame(syn(family, to=to))) for to in (FULL, HTTP, CLOSED)]
    for setting, expected in ((0, [ACCEPTED] * 3), (2, [SENT, SENT, ACCEPTED]), (1, [SENT, ACCEPTED, ACCEPTED])):
        with sysctl(host, {"net.ipv4.tcp_syncookies": (setting, 1)}):
            assert [outcome.counter for outcome in run(host, frames)] == expected


@pytest.mark.parametrize("family", [4, 6])
def test_a_syn_with_an_illegal_congestion_mark_is_dropped(host, family):
    outcome = outcome_of(host, syn(family), tos=3)
    assert (outcome.counter, outcome.verdict) == ("drop_ecn", XDP_DROP)


def left_to_the_kernel(host, family, **fields):
    frame = from_the_router(host, gue_frame(syn(family), **fields))
    return run(host, [frame]) == [decide(frame, host.sockets)] and decide(frame, host.sockets).verdict == XDP_PASS


@pytest.mark.parametrize("family", [4, 6])
def test_without_forwarding_no_route_is_known(host, family):
    with sysctl(host, {f"net.ipv{family}.conf.lo.forwarding": (0, 1)}):
        assert left_to_the_kernel(host, family)
    assert not left_to_the_kernel(host, family)


@pytest.mark.parametrize("family", [4, 6])
def test_no_route_to_the_client(host, family):
    host.namespace.ip(f"route add blackhole {CLIENT[family]}")
    try:
        assert left_to_the_kernel(host, family)
    finally:
        host.namespace.ip(f"route del blackhole {CLIENT[family]}")
    assert not left_to_the_kernel(host, family)


@pytest.mark.parametrize("family", [4, 6])
def test_an_unknown_neighbour(host, family):
    stranger = {4: "192.168.50.99", 6: "fd50::99"}[family]
    host.namespace.ip(f"route add {CLIENT[family]} via {stranger}")
    try:
        assert left_to_the_kernel(host, family)
        host.namespace.ip(f"neigh replace {stranger} lladdr 02:00:00:00:00:99 dev eth0")
        outcome = outcome_of(host, syn(family))
        assert outcome.counter == SENT
        assert outcome.frame[:12] == f.mac("02:00:00:00:00:99") + host.mac
        # For a tagged frame, the next hop must be the router that delivered the frame.
        assert left_to_the_kernel(host, family, tags=(f.C_TAG,))
    finally:
        host.namespace.ip(f"route del {CLIENT[family]} via {stranger}")
        host.namespace.run("ip", "neigh", "del", stranger, "dev", "eth0", check=False)


@pytest.mark.parametrize("family", [4, 6])
def test_a_route_by_another_interface(host, family):
    """The reply to a tagged frame leaves by a VLAN interface, for which this test uses a veth: the router's MAC address decides."""
    router_mac, mac = (":".join(f"{byte:02x}" for byte in address) for address in (host.router_mac, host.mac))
    router = {4: "192.168.60.1", 6: "fd60::1"}[family]
    address = {4: "192.168.60.10/24", 6: "fd60::10/64"}[family]
    host.namespace.ip(
        f"link add eth0.5 address {mac} type veth peer name eth0.5-peer",
        "link set eth0.5 up",
        "link set eth0.5-peer up",
        f"addr add {address} dev eth0.5" + (" nodad" if family == 6 else ""),
        f"neigh replace {router} lladdr {router_mac} dev eth0.5",
        f"route add {CLIENT[family]} via {router} dev eth0.5",
    )
    try:
        assert left_to_the_kernel(host, family)
        outcome = outcome_of(host, syn(family), tags=(f.C_TAG,))
        assert outcome.counter == SENT
        assert outcome.frame[:12] == host.router_mac + host.mac
    finally:
        host.namespace.ip("link del eth0.5")
    assert not left_to_the_kernel(host, family)


def test_nothing_else_changes():
    """All decisions with SYN cookies on. Needs a new host, because sockets in TIME_WAIT end after 60 s."""
    host = Host()
    with host.close:
        allow_forwarding(host)
        frames = [gue_frame(kind.build(host, family), **HOPS[hops][0]) for family, kind, hops in CASES]
        assert run(host, frames) == [decide(frame, host.sockets) for frame in frames]
