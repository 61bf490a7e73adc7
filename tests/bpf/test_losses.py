# SPDX-License-Identifier: BSD-3-Clause
"""Packets for the next hop that are lost after the program: `status` tells who lost them."""

import contextlib
import fcntl
import os
import struct

import pytest

from cases import frames as f
from host import HTTP, UNKNOWN, packet
from lab.net import connect, mac
from lab.tools import wait_until
from packets import gue_frame
from test_loader import PINS, Proxy

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
NEXT_HOP = "192.168.51.1"


def unknown_flow(address, size=100):
    """A GUE frame to `address` (MAC) of a connection that this host does not know."""
    frame = gue_frame(packet(4, f.TCP, f.tcp(UNKNOWN, HTTP, bytes(size), 0x10)), (NEXT_HOP,))
    return f.mac(address) + frame[6:]


def make(glb_redirect):
    """A proxy whose network end, a veth without GRO, takes no packets that XDP redirects. Linux 6.3 and newer know that before the
    driver does."""
    made = Proxy(glb_redirect)
    made.network.offload("net0", "gro", "off")
    return made


@pytest.fixture
def proxy(glb_redirect):
    with contextlib.closing(make(glb_redirect)) as made:
        yield made


def lose(proxy, packets):
    before = proxy.stats()["forwarded_to_alternate"]
    proxy.receive([unknown_flow(mac(proxy.namespace, "eth0"))] * packets)
    wait_until(lambda: proxy.stats()["forwarded_to_alternate"] == before + packets, "all packets at the program")


def lost(proxy, interface="eth0"):
    return proxy.status(interface)["lost"]


def total(proxy):
    return sum(lost(proxy).values())


def test_losses_on_a_veth_pair(proxy):
    proxy("attach", "eth0")
    assert lost(proxy) == {"kernel": 0, "driver": 0}
    lose(proxy, 20)
    wait_until(lambda: total(proxy) == 20, "the losses to be counted")
    (warning,) = proxy.status()["warnings"]
    assert warning.startswith("packets for the next hop were lost after the program: ") and f"  warning: {warning}\n" in proxy("status")

    proxy("attach", "eth0")  # an upgrade keeps the counts, and goes on
    lose(proxy, 3)
    wait_until(lambda: total(proxy) == 23, "more losses")

    proxy("detach", "eth0")
    assert "glb-redirect" not in proxy.namespace.run("ls", "/sys/fs/bpf").stdout.split()
    proxy.network.offload("net0", "gro", "on")
    proxy("attach", "eth0")
    lose(proxy, 5)
    assert total(proxy) == 0 and proxy.status()["warnings"] == []


@contextlib.contextmanager
def tap(proxy, *settings):
    """Yields a function that makes packets arrive on tap0, where the program is attached. Nobody reads what tap0 sends."""
    with proxy.namespace:
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)  # blocking writes would take the path of generic mode
    try:
        with proxy.namespace:
            fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"tap0", IFF_TAP | IFF_NO_PI))
        proxy.namespace.ip(*(f"link set tap0 {setting}" for setting in (*settings, "up")))
        proxy("attach", "tap0")
        address = mac(proxy.namespace, "tap0")

        def arrive(size):
            os.write(device, unknown_flow(address, size))

        arrive.device = device
        yield arrive
    finally:
        os.close(device)


def sent_by(device):
    """The frames in the queue of a tap device."""
    with contextlib.suppress(BlockingIOError):
        while True:
            yield os.read(device, 2048)


def test_packets_that_the_kernel_refuses(proxy):
    """The frame is larger than the MTU of the interface, by which it would leave again."""
    with tap(proxy, "mtu 1000") as arrive:
        for size in (1400, 1400, 100, 1400):
            arrive(size)
        wait_until(lambda: proxy.stats("tap0")["forwarded_to_alternate"] == 4, "all packets at the program")
        wait_until(lambda: lost(proxy, "tap0") == {"kernel": 3, "driver": 0}, lambda: f"three losses: {lost(proxy, 'tap0')}")
        assert "the kernel refused 3, the driver 0" in proxy("status", "tap0")


def test_packets_that_the_driver_refuses(proxy):
    """The driver's queue is full."""
    with tap(proxy, "txqueuelen 8") as arrive:
        for _ in range(20):
            arrive(100)
        wait_until(lambda: proxy.stats("tap0")["forwarded_to_alternate"] == 20, "all packets at the program")
        sent = sum(1 for frame in sent_by(arrive.device) if frame[36:38] == (19523).to_bytes(2, "big"))
        assert 0 < sent < 20 and lost(proxy, "tap0") == {"kernel": 0, "driver": 20 - sent}


def test_losses_of_other_interfaces_are_not_counted(proxy, glb_redirect):
    """Another interface, and an interface with the same index in another network namespace."""
    connect(proxy.namespace, "eth1", proxy.network, "net1")
    proxy("attach", "eth0")
    proxy("attach", "eth1")
    with contextlib.closing(make(glb_redirect)) as other:
        other("attach", "eth0")
        lose(proxy, 7)
        wait_until(lambda: total(proxy) == 7, "the losses to be counted")
        assert lost(proxy, "eth1") == lost(other) == {"kernel": 0, "driver": 0}


def test_status_tells_that_losses_are_not_counted(proxy):
    """As on a kernel without BTF. Another attach tries again."""
    proxy("attach", "eth0")
    proxy.namespace.run("rm", "-r", f"{PINS}/eth0/losses")
    assert lost(proxy) is None and "loses are not counted (this needs the kernel's BTF)" in proxy("status")
    proxy("attach", "eth0")
    assert lost(proxy) == {"kernel": 0, "driver": 0} and "not counted" not in proxy("status")
