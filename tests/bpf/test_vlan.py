# SPDX-License-Identifier: BSD-3-Clause
"""GUE with VLAN tags: tags that the device removes before the program sees the frame, and tags in the frame."""

import contextlib
import os
import socket

import pytest

from cases import frames as f
from host import FAMILY, HTTP, SILENT, UNKNOWN, VIP, checksummed_tcp, packet
from lab.net import Namespace, mac
from lab.tools import TIMEOUT_S
from packets import SYN, gue_frame
from test_loader import Proxy

OWN, PEER, HOP = "192.168.50.10", "192.168.50.1", "192.168.51.1"
ECHO = 7777
KERNEL = tuple(map(int, os.uname().release.split(".")[:2]))


def has_vlans():
    with contextlib.closing(Namespace()) as host:
        host.ip("link add v0 type veth peer name v1")
        return host.run("ip", "link", "add", "link", "v0", "name", "vlan5", "type", "vlan", "id", "5", check=False).returncode == 0


if not has_vlans():
    pytest.skip("this kernel has no VLANs", allow_module_level=True)


class Tagged(Proxy):
    """A proxy that receives GUE in VLAN 10 of eth0. A veth device keeps the tag beside the frame, as a card with rxvlan does."""

    def __init__(self, glb_redirect):
        super().__init__(glb_redirect)
        if KERNEL < (5, 13):  # then this end gets the proxy's redirected frames only if it has an XDP program, too
            self.network.run(glb_redirect, "attach", "net0", "--port", "1")
        self.namespace.ip("addr flush dev eth0", "link add link eth0 name eth0.10 type vlan id 10", "link set eth0.10 up")
        self.network.ip("link add link net0 name net0.10 type vlan id 10", "link set net0.10 up", f"addr add {PEER}/24 dev net0.10")
        self.network.offload("net0", "gro", "on")

    def address(self, device="eth0.10"):
        self.namespace.ip(
            f"addr add {OWN}/24 dev {device}", f"route add default via {PEER}",
            f"neigh replace {PEER} lladdr {mac(self.network, 'net0.10')} dev {device} nud permanent")
        self.namespace.run(self.glb_redirect, "reload", "eth0", check=False)  # if it is attached

    def tags_in_frames(self):
        self.network.offload("net0", "txvlan", "off")
        self.namespace.offload("eth0", "rxvlan", "off")

    def send_in_vlan(self, frame):
        """Sends a frame to the proxy. The VLAN interface adds the tag."""
        with self.network.packet_socket("net0.10") as raw:
            raw.send(f.mac(mac(self.namespace, "eth0")) + f.mac(mac(self.network, "net0.10")) + frame[12:])

    def arrivals(self, frame):
        """Sends a frame, and returns the names of the interfaces on which GUE comes back."""
        with contextlib.ExitStack() as stack:
            sockets = {name: stack.enter_context(self.network.packet_socket(name, True)) for name in ("net0", "net0.10")}
            self.send_in_vlan(frame)
            sockets["net0"].settimeout(TIMEOUT_S)
            # The socket on net0 sees tagged frames, too, without their tag.
            while (got := sockets["net0"].recv(4096))[23:24] != b"\x11" or got[36:38] != (19523).to_bytes(2, "big"):
                pass
            sockets["net0.10"].setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    got = sockets["net0.10"].recv(4096)
                    if got[36:38] == (19523).to_bytes(2, "big"):
                        return "net0.10"
            return "net0"


@pytest.fixture
def proxy(glb_redirect):
    with contextlib.closing(Tagged(glb_redirect)) as made:
        yield made


def attach(proxy, *options):
    return proxy.namespace.run(proxy.glb_redirect, "attach", "eth0", *options, check=False)


UNKNOWN_FLOW = gue_frame(packet(4, f.TCP, f.tcp(UNKNOWN, HTTP, b"data", 0x10)), (HOP,))


def test_native_mode_is_refused_where_it_would_lose_the_tag(proxy):
    proxy.address()
    refused = attach(proxy)
    assert refused.returncode == 1 and len(refused.stderr.splitlines()) == 1
    assert "GUE arrives with the tags of eth0.10" in refused.stderr and "run ethtool -K eth0 rxvlan off" in refused.stderr
    assert proxy("status") == "not attached to any interface\n"
    proxy.namespace.offload("eth0", "rxvlan", "off")
    assert (attach(proxy).returncode, attach(proxy).stderr) == (0, "")


def test_without_ipv4_the_ipv6_addresses_tell_where_gue_arrives(proxy):
    """Link-local addresses are on every interface, and tell nothing."""
    proxy.namespace.ip("addr add fe80::50/64 dev eth0 nodad", "addr add fd50::10/64 dev eth0.10 nodad")
    refused = attach(proxy)
    assert refused.returncode == 1 and "GUE arrives with the tags of eth0.10" in refused.stderr
    proxy.namespace.ip("addr add fd60::10/64 dev eth0 nodad")
    done = attach(proxy)
    assert done.returncode == 0 and "note: eth0 removes VLAN tags" in done.stderr


def test_an_ipv6_underlay_in_a_vlan_beside_ipv4_without_tags(proxy, tmp_path):
    """Senders with IPv6 addresses tell that the IPv4 address, for instance of the management, is perhaps not that of GUE."""
    conf = tmp_path / "redirect.conf"
    conf.write_text('allow_from = ["fd50::/64"];')
    proxy.namespace.ip("addr add 192.168.60.10/24 dev eth0", "addr add fd50::10/64 dev eth0.10 nodad")
    done = attach(proxy, "--config-file", str(conf))
    assert done.returncode == 0 and "note: eth0 removes VLAN tags: if GUE arrives with the tags of eth0.10" in done.stderr


def test_address_on_a_bridge_over_the_vlan(proxy):
    proxy.namespace.ip("link add br10 type bridge", "link set br10 up", "link set eth0.10 master br10")
    proxy.address("br10")
    assert "GUE arrives with the tags of eth0.10" in attach(proxy).stderr


def test_healthy_hosts_are_not_refused(proxy):
    done = attach(proxy)  # the VLAN has no address
    assert (done.returncode, done.stderr) == (0, "")
    proxy("detach", "eth0")
    proxy.namespace.ip("addr add 192.168.60.10/24 dev eth0")
    assert attach(proxy).stderr == ""
    proxy("detach", "eth0")
    proxy.address()  # a VLAN for management beside untagged GUE is possible, and so is the opposite
    done = attach(proxy)
    assert done.returncode == 0 and "note: eth0 removes VLAN tags: if GUE arrives with the tags of eth0.10" in done.stderr


def test_upgrade_goes_on_where_an_attach_would_be_refused(proxy):
    assert attach(proxy).returncode == 0
    proxy.address()
    done = attach(proxy)
    assert done.returncode == 0 and "note: eth0 removes VLAN tags" in done.stderr


def test_generic_mode_keeps_a_tag_that_it_does_not_see(proxy):
    proxy.address()
    assert attach(proxy, "--mode", "generic").stderr == ""
    assert proxy.arrivals(UNKNOWN_FLOW) == "net0.10"
    assert proxy.stats()["forwarded_to_alternate"] == 1


def test_native_mode_loses_a_tag_that_it_does_not_see(proxy):
    """This is what the refusal is for."""
    assert attach(proxy).returncode == 0
    proxy.address()
    assert proxy.arrivals(UNKNOWN_FLOW) == "net0"


@pytest.mark.parametrize("mode", ["native", "generic"])
def test_tag_in_the_frame_stays(proxy, mode):
    proxy.address()
    proxy.tags_in_frames()
    assert attach(proxy, "--mode", mode).stderr == ""
    assert proxy.arrivals(UNKNOWN_FLOW) == "net0.10"


@pytest.mark.parametrize("in_frames", [False, True], ids=["removed", "in the frame"])
@pytest.mark.parametrize("mode", ["native", "generic"])
def test_accepted_packet_reaches_the_vlan(proxy, mode, in_frames):
    """The kernel gets the tag back from the driver, also if the program did not see it."""
    assert attach(proxy, "--mode", mode).returncode == 0
    proxy.address()
    if in_frames:
        proxy.tags_in_frames()
    with proxy.namespace.socket(FAMILY[4], socket.SOCK_DGRAM) as server:
        server.bind((VIP[4], ECHO))
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0.10")
        server.settimeout(TIMEOUT_S)
        proxy.send_in_vlan(gue_frame(packet(4, f.UDP, f.udp(UNKNOWN, ECHO, b"tagged"))))
        assert server.recv(100) == b"tagged"


@pytest.mark.parametrize("in_frames", [False, True], ids=["removed", "in the frame"])
@pytest.mark.parametrize("mode", ["native", "generic"])
def test_syn_cookie_has_the_tag(proxy, mode, in_frames):
    """Without a tag in the frame the route leads to another interface than the frame's, so the kernel answers, with the tag."""
    proxy.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 1, "net.ipv4.tcp_syncookies": 2})
    assert attach(proxy, "--mode", mode, "--syn-cookies", "on").returncode == 0
    proxy.address()
    if in_frames:
        proxy.tags_in_frames()
    with proxy.namespace.socket(FAMILY[4], socket.SOCK_STREAM) as server, proxy.network.packet_socket("net0.10", True) as wire:
        server.bind((VIP[4], HTTP))
        server.listen(1)
        segment = checksummed_tcp(4, SILENT[4], VIP[4], f.tcp(UNKNOWN, HTTP, b"", SYN))
        proxy.send_in_vlan(gue_frame(packet(4, f.TCP, segment, src=SILENT[4])))
        wire.settimeout(TIMEOUT_S)
        while (reply := wire.recv(4096))[23] != f.TCP:
            pass
        assert reply[26:34] == f.ip(VIP[4]) + f.ip(SILENT[4]) and reply[47] & 0x12 == 0x12
    sent, accepted = proxy.stats()["syn_cookie_sent"], proxy.stats()["accepted_syn"]
    assert (sent, accepted) == ((1, 0) if in_frames else (0, 1))
