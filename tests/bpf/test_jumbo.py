# SPDX-License-Identifier: BSD-3-Clause
"""Frames larger than a page, which the kernel gives to the program in several buffers since Linux 5.18."""

import contextlib
import os
import socket
import struct

import pytest

from cases import frames as f
from conftest import run_frames
from host import CLIENT, FAMILY, FULL, PROXY, UNKNOWN, VIP, checksummed_tcp, outside, packet
from lab.net import connect, mac
from lab.tools import TIMEOUT_S
from model_of_proxy import XDP_DROP, XDP_PASS, decide
from packets import SYN, gue_frame, kind
from test_loader import Proxy

KERNEL = tuple(map(int, os.uname().release.split(".")[:2]))
if KERNEL < (5, 18):
    pytest.skip("XDP has no fragments before Linux 5.18", allow_module_level=True)

PAYLOAD = bytes(number * 7 % 251 for number in range(8800))
PORT = 7777
ALL_ON_LO = {"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 1}


def datagram(family):
    plain = f.udp(UNKNOWN, PORT, PAYLOAD)
    pseudo = f.ip(CLIENT[family]) + f.ip(VIP[family]) + struct.pack(">HH", f.UDP, len(plain))
    return packet(family, f.UDP, plain[:6] + struct.pack(">H", f.internet_checksum(pseudo + plain)) + plain[8:])


@pytest.fixture(scope="module", params=["native", "generic"])
def proxy(request, glb_redirect):
    """A proxy with an MTU of 9000 on both ends of its link."""
    made = Proxy(glb_redirect)
    made.namespace.ip("link set eth0 mtu 9000", f"addr add {outside(6, PROXY)}/120 dev eth0 nodad")
    made.network.ip("link set net0 mtu 9000")
    made.network.offload("net0", "gro", "on")
    made("attach", "eth0", "--mode", request.param)
    with contextlib.closing(made):
        yield made


def from_network(proxy, frame):
    return f.mac(mac(proxy.namespace, "eth0")) + frame[6:]


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("outer", [4, 6])
def test_jumbo_frame_for_this_host_arrives_whole(proxy, outer, family):
    with proxy.namespace.socket(FAMILY[family], socket.SOCK_DGRAM) as server:
        server.bind((VIP[family], PORT))
        server.settimeout(TIMEOUT_S)
        before = proxy.stats()
        proxy.receive([from_network(proxy, gue_frame(datagram(family), outer=outer))])
        assert server.recv(10000) == PAYLOAD
    assert proxy.stats()["accepted_other"] == before["accepted_other"] + 1


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("outer", [4, 6])
def test_jumbo_frame_for_the_next_hop_is_sent_whole(proxy, outer, family):
    segment = f.tcp(UNKNOWN, 80, PAYLOAD, 0x10)
    frame = from_network(proxy, gue_frame(packet(family, f.TCP, segment), checksum="right", outer=outer))
    expected = decide(frame).frame
    with proxy.network.packet_socket("net0", ignore_outgoing=True) as wire:
        wire.settimeout(TIMEOUT_S)
        proxy.receive([frame])
        while (got := wire.recv(10000))[12:14] != expected[12:14] or len(got) < 1000:
            pass  # the host's own neighbour discovery
    assert got == expected


@pytest.mark.parametrize("name", ["tcp/unknown", "tcp/established", "udp/connected"])
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("outer", [4, 6])
def test_decision_about_jumbo_frames(host, outer, family, name):
    small = kind(name).build(host, family)
    at = {4: (2, 0), 6: (4, 40)}[family]
    inner = bytearray(small + PAYLOAD)
    inner[at[0] : at[0] + 2] = struct.pack(">H", len(inner) - at[1])
    if family == 4:
        inner[10:12] = bytes(2)
        inner[10:12] = struct.pack(">H", f.internet_checksum(bytes(inner[:20])))
    frame = gue_frame(bytes(inner), outer=outer)
    (outcome,) = run_frames(host, [frame])
    assert outcome == decide(frame, host.sockets)


@pytest.mark.parametrize("family", [4, 6])
def test_no_cookie_for_a_jumbo_syn(host, family):
    """The program cannot verify the checksum of a packet in several buffers, so the kernel answers it."""
    host.namespace.sysctl(ALL_ON_LO)
    segment = checksummed_tcp(family, CLIENT[family], VIP[family], f.tcp(UNKNOWN, FULL, PAYLOAD, SYN))
    frame = gue_frame(packet(family, f.TCP, segment))
    (outcome,) = run_frames(
        host.namespace, [host.mac + host.router_mac + frame[12:]], interface="eth0", mtu=1500)
    assert outcome.counter == "accepted_syn"


@pytest.mark.skipif(KERNEL < (6, 18), reason="BPF_PROG_TEST_RUN fills the first buffer before Linux 6.18")
@pytest.mark.parametrize("outer, cuts", [(4, (14, 33, 41, 49, 52, 60)), (6, (14, 33, 53, 61, 69, 80, 90))])
def test_headers_outside_of_the_first_buffer_are_counted(host, outer, cuts):
    """As mlx5 does with a striding receive queue. The last cut is in the inner headers. The frame of another protocol passes."""
    frame, other = gue_frame(datagram(4), outer=outer), f.ethernet(datagram(outer))
    for linear in cuts:
        dropped, passed = run_frames(host, [frame, other], linear=linear)
        assert (dropped.counter, dropped.verdict) == ("drop_split_headers", XDP_DROP)
        assert (passed.counter, passed.verdict) == (None, XDP_PASS)
