# SPDX-License-Identifier: BSD-3-Clause
"""Sockets that are bound to a VRF or to a VLAN interface, with which XDP on the lower interface does not share an index."""

import contextlib
import platform
import socket

import pytest

from cases import frames as f
from conftest import run_frames
from host import CLIENT, PROXY, VIP, packet
from lab.net import Namespace, connect
from lab.tools import TIMEOUT_S, LabError
from packets import gue_frame

SO_BINDTODEVICE = 25
ESTABLISHED, UNKNOWN = "accepted_established", "forwarded_to_alternate"
TAKES_INTERFACE = tuple(map(int, platform.release().split(".")[:2])) >= (5, 15)  # BPF_PROG_TEST_RUN


@pytest.fixture
def pair():
    host, network = Namespace(), Namespace()
    with contextlib.ExitStack() as stack:
        stack.callback(host.close)
        stack.callback(network.close)
        connect(host, "eth0", network, "net0")
        yield host, network, stack


def add(host, line):
    try:
        host.ip(line)
    except LabError as error:
        if "Unknown device type" in str(error) or "Operation not supported" in str(error):
            pytest.skip("the kernel has no VRFs or no VLANs")
        raise


def dial(pair, device, port):
    """A connection to a listener that is bound to `device`, or to none. Returns a packet of it in GUE."""
    host, network, stack = pair
    with host:
        listener = stack.enter_context(socket.socket())
    if device:
        listener.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, device.encode())
    listener.bind((VIP[4], port))
    listener.listen(5)
    listener.settimeout(TIMEOUT_S)
    with network:
        client = stack.enter_context(socket.socket())
    client.settimeout(TIMEOUT_S)
    client.bind((CLIENT[4], 0))
    client.connect((VIP[4], port))
    stack.enter_context(listener.accept()[0])
    return packet(4, f.TCP, f.tcp(client.getsockname()[1], port, b"data", 0x10))


def test_attach_refuses_an_interface_in_a_vrf(pair, glb_redirect):
    host, network, _ = pair
    add(host, "link add red type vrf table 10")
    host.ip("link set red up", "link set eth0 master red", f"addr add {PROXY}/24 dev eth0", f"addr add {VIP[4]}/32 dev red",
            "route add table 10 default via 192.168.50.1")
    network.ip("addr add 192.168.50.1/24 dev net0", f"addr add {CLIENT[4]}/32 dev lo", f"route add {VIP[4]} via {PROXY} src {CLIENT[4]}")
    refused = host.run(glb_redirect, "attach", "eth0", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "glb-redirect: eth0 belongs to the VRF red, and the kernel does not find the sockets of a VRF for XDP: "
        "take it out of the VRF (ip link set dev eth0 nomaster)\n")
    if TAKES_INTERFACE:  # the reason
        frames = [gue_frame(dial(pair, device, port)) for device, port in (("red", 80), ("eth0", 81))]
        assert [each.counter for each in run_frames(host, frames, interface="eth0")] == [UNKNOWN, ESTABLISHED]
    host.ip("link set eth0 nomaster")
    host.run(glb_redirect, "attach", "eth0")


def test_attach_refuses_a_member_of_a_bridge_in_a_vrf(pair, glb_redirect):
    host, *_ = pair
    add(host, "link add red type vrf table 10")
    add(host, "link add br0 type bridge")
    host.ip("link set br0 master red", "link set eth0 master br0")
    assert "eth0 belongs to the VRF red" in host.run(glb_redirect, "attach", "eth0", check=False).stderr


def test_a_socket_of_a_vlan_is_found_by_the_program_of_the_vlan(pair):
    if not TAKES_INTERFACE:
        pytest.skip("BPF_PROG_TEST_RUN takes no interface before Linux 5.15")
    host, network, _ = pair
    add(host, "link add link eth0 name eth0.100 type vlan id 100")
    host.ip("link set eth0.100 up", f"addr add {PROXY}/24 dev eth0.100", f"addr add {VIP[4]}/32 dev lo", "route add default via 192.168.50.1")
    network.ip("link add link net0 name net0.100 type vlan id 100", "link set net0.100 up", "addr add 192.168.50.1/24 dev net0.100",
               f"addr add {CLIENT[4]}/32 dev lo", f"route add {VIP[4]} via {PROXY} src {CLIENT[4]}")
    inner = [dial(pair, "eth0.100", 80), dial(pair, None, 81)]
    tagged = [gue_frame(each, tags=(f.C_TAG,)) for each in inner]
    assert [each.counter for each in run_frames(host, tagged, interface="eth0")] == [UNKNOWN, ESTABLISHED]
    untagged = [gue_frame(each) for each in inner]
    assert [each.counter for each in run_frames(host, untagged, interface="eth0.100")] == [ESTABLISHED, ESTABLISHED]
