# SPDX-License-Identifier: BSD-3-Clause
"""The hosts around a director with a card: client, router and proxies of the lab, and a cable between the router and the card."""

import os
import re
import select
import struct

from cards import interface
from lab.proxy import Proxy
from lab.table import Table
from lab.tools import BUILD
from lab.topology import VIP4, VIP6, VLAN, Network, Shape
from support.guest import run

SOL_PACKET, PACKET_AUXDATA, TP_STATUS_VLAN_VALID = 263, 8, 0x10
AUXDATA = struct.Struct("=IIIHHHH")
DEVICE = "to-director"  # the router's end of the cable
DIRECTOR, ROUTER, HOST = "192.0.2.2", "192.0.2.1", "192.0.2.3"  # HOST: the director's kernel
DIRECTOR6, ROUTER6 = "2001:db8:b:1::2", "2001:db8:b:1::1"


class Site:
    def __init__(self):
        for folder in ("/run/hosts", "/run/lab"):
            os.makedirs(folder, exist_ok=True)
        self.network = Network(Shape(directors=1, proxies=2))
        self.client, self.router = self.network.client, self.network.router
        self.proxies = [Proxy(self.network, self.network.shape.proxy_link(number), BUILD) for number in (1, 2)]
        for proxy in self.proxies:
            proxy.start()
        for proxy in self.proxies:
            proxy.wait_ready()
        self.table = Table()
        for proxy in self.proxies:
            self.table = self.table.with_backend(proxy.address)

    def plug(self, card, mtu=1600):
        """Puts the other end of the card's cable into the router."""
        device = interface(card.peer_mac)
        run("ip", "link", "set", device, "netns", str(self.router.pid), "name", DEVICE)
        self.router.ip(f"link set {DEVICE} up mtu {mtu}")
        self.router.offloads_off(DEVICE)
        self.route(card, DEVICE)

    def route(self, card, device):
        """The addresses and routes are on DEVICE or on its VLAN. The card's next hop is static, because nobody answers ARP for it."""
        self.router.ip(f"addr replace {ROUTER}/28 dev {device}", f"addr replace {ROUTER6}/64 dev {device} nodad",
                       f"neigh replace {DIRECTOR} lladdr {card.mac} nud permanent dev {device}",
                       f"neigh replace {DIRECTOR6} lladdr {card.mac} nud permanent dev {device}",
                       f"route replace {VIP4} via {DIRECTOR} dev {device}", f"route replace {VIP6} via {DIRECTOR6} dev {device}")

    def tagged(self, card):
        """Moves the addresses and routes to a VLAN interface."""
        self.router.ip(f"link add link {DEVICE} name {DEVICE}.{VLAN} type vlan id {VLAN}", f"link set {DEVICE}.{VLAN} up",
                       f"addr flush dev {DEVICE}")
        self.route(card, f"{DEVICE}.{VLAN}")

    def untagged(self, card):
        self.router.ip(f"link del {DEVICE}.{VLAN}")
        self.route(card, DEVICE)

    def unplug(self, card):
        self.router.ip(f"addr flush dev {DEVICE}", f"link set {DEVICE} down")
        self.router.run("ip", "link", "set", DEVICE, "netns", "1", "name", f"peer{card.number}")

    def quiet(self, on):
        """Makes the router's kernel send nothing of its own on the cable, and receive everything."""
        self.router.sysctl({f"net.ipv6.conf.{DEVICE}.disable_ipv6": int(on)})
        self.router.ip(f"link set {DEVICE} arp {'off' if on else 'on'}", f"link set {DEVICE} promisc {'on' if on else 'off'}")

    def connect(self, count, at_once=20, vip=VIP4):
        """Opens `count` connections, each with an HTTP request. Returns ab's report: {"Complete requests": ..., ...}"""
        host = f"[{vip}]" if ":" in vip else vip
        done = self.client.run("ab", "-q", "-r", "-s", "30", "-n", str(count), "-c", str(at_once), f"http://{host}/", check=False)
        report = {name: int(value) for name, value in re.findall(r"^([A-Z][\w\- ]+):\s+(\d+)", done.stdout, re.MULTILINE)}
        assert done.returncode == 0 and report, done.stdout + done.stderr
        return report


class Wire:
    """The router's end of the cable, for frames made by hand."""

    def __init__(self, site, card):
        self.site, self.card = site, card
        self.mac = bytes.fromhex(card.mac.replace(":", ""))
        site.quiet(True)
        self.socket = site.router.packet_socket(DEVICE, ignore_outgoing=True)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.site.quiet(False)
        self.site.route(self.card, DEVICE)  # the kernel has forgotten the neighbours, and the addresses of IPv6

    def send(self, frame):
        self.socket.send(frame)

    def receive(self, count, timeout_s=10):
        """The next `count` frames of the director, or fewer if none came for a while. One more, if there are too many."""
        frames = []
        while select.select([self.socket], [], [], timeout_s if len(frames) < count else 0.2)[0] and len(frames) <= count:
            frame = self._receive()
            if frame[6:12] == self.mac:  # the PF of a VF is on this cable, too
                frames.append(frame)
        return frames

    def _receive(self):
        """The kernel takes the tag out of a frame, and delivers it beside the frame."""
        data, beside, _, _ = self.socket.recvmsg(65536, 64)
        for level, kind, value in beside:
            status, *_, tag, tag_type = AUXDATA.unpack(value[: AUXDATA.size])
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and status & TP_STATUS_VLAN_VALID:
                data = data[:12] + struct.pack(">HH", tag_type, tag) + data[12:]
        return data
