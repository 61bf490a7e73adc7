# SPDX-License-Identifier: BSD-3-Clause
"""Random traffic of all kinds, with a fixed seed, and tables for it."""

import functools
import random
import struct

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6PacketTooBig,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

VIP4 = ("10.10.10.10", "10.10.11.7", "10.10.12.200")
VIP6 = ("fdb4::10", "fdb4:0:0:1::99")
# Given in full: scapy would ask the network for missing addresses.
ETHER = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:77")
PORTS = (80, 443, 53, 5000, 5999)


def backends(count, subnet):
    return [{"ip": f"192.168.{subnet}.{10 + i}", "state": "active"} for i in range(count)]


def table(name, hops, binds, members):
    return {
        "name": name,
        "hash_key": (name * 16).encode()[:16].hex(),
        "seed": (name[::-1] * 16).encode()[:16].hex(),
        "hops": hops,
        "binds": binds,
        "backends": members,
    }


def bind(ip, proto, start, end=None):
    end = start if end is None else end
    return {"ip": ip, "proto": proto, "port_start": start, "port_end": end}


def document(hops):
    """Three tables. 10.10.11.0/24 belongs to two of them."""
    web = [bind("10.10.10.10", "tcp", 80), bind("10.10.10.10", "tcp", 443)]
    web += [bind("fdb4::/64", "tcp", 80)]
    range_ = [bind("10.10.11.0/24", "udp", 5000, 5999), bind("fdb4:0:0:1::/64", "udp", 1, 65535)]
    rest = [bind("10.10.8.0/21", "tcp", 1, 65535), bind("10.10.12.0/22", "udp", 53)]
    members = backends(7, 51)
    members[2]["state"] = "draining"
    members[4]["healthy"] = False
    members[5]["state"] = "inactive"
    return {
        "tables": [
            table("web", 2, web, backends(5, 50)),
            table("range", hops, range_, members),
            table("rest", hops, rest, backends(1, 52)),
        ]
    }


TABLE = document(hops=4)
TABLE_OF_TWO_HOPS = document(hops=2)


class Traffic:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def port(self):
        return self.random.choice(PORTS) if self.chance(80) else self.random.randrange(65536)

    def payload(self, most=300):
        return Raw(self.random.randbytes(self.random.randrange(most)))

    def transport(self):
        kind = self.random.choice((TCP, TCP, UDP))
        return kind(sport=self.random.randrange(65536), dport=self.port()) / self.payload()

    def client4(self):
        return f"198.51.{self.random.randrange(256)}.{self.random.randrange(256)}"

    def client6(self):
        return f"2001:db8::{self.random.randrange(65536):x}"

    def ipv4(self):
        vip = self.random.choice(VIP4) if self.chance(95) else self.client4()
        ip = IP(src=self.client4(), dst=vip, id=self.random.randrange(65536))
        if self.chance(10):
            ip.options = self.random.randbytes(4 * self.random.randrange(1, 11))
        kind = self.random.randrange(10)
        if kind < 6:
            packet = ip / self.transport()
            if self.chance(8):
                packet.frag = self.random.randrange(3)
                packet.flags = self.random.choice(("MF", ""))
            return packet
        if kind < 7:
            return ip / ICMP(type=self.random.choice((8, 8, 0, 13)), id=7) / self.payload()
        if kind < 9:
            quote = bytes(IP(src=vip, dst=self.client4()) / self.answer())
            error = ICMP(type=self.random.choice((3, 11, 12, 5)), code=self.random.randrange(5))
            return ip / error / Raw(quote[: self.random.choice((27, 28, 28, 40, 200))])
        ip.proto = self.random.randrange(256)
        return ip / self.payload()

    def ipv6(self):
        vip = self.random.choice(VIP6)
        ip = IPv6(src=self.client6(), dst=vip, fl=self.random.randrange(1 << 20))
        kind = self.random.randrange(10)
        if kind < 4:
            return ip / self.transport()
        if kind < 6:
            headers = (IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt)
            for _ in range(self.random.choice((1, 2, 8, 9))):
                ip = ip / self.random.choice(headers)()
            return ip / self.transport()
        if kind < 7:
            offset, more = self.random.randrange(3), self.random.randrange(2)
            fragment = IPv6ExtHdrFragment(offset=offset, m=more)
            return ip / fragment / self.transport()
        if kind < 8:
            return ip / ICMPv6EchoRequest(id=3) / self.payload()
        quote = bytes(IPv6(src=vip, dst=self.client6()) / self.answer())
        error = self.random.choice((ICMPv6PacketTooBig, ICMPv6TimeExceeded))()
        return ip / error / Raw(quote[: self.random.choice((47, 48, 60, 200))])

    def answer(self):
        """The transport header and payload of a packet that a proxy sent."""
        kind = self.random.choice((TCP, UDP))
        return kind(sport=self.port(), dport=self.random.randrange(65536)) / self.payload()

    def frame(self):
        ether = ETHER
        for _ in range(self.random.choice((0, 0, 0, 0, 0, 0, 1, 2, 3))):
            ether = ether / self.random.choice((Dot1Q, Dot1AD))(vlan=self.random.randrange(4095))
        inner = self.random.choice((self.ipv4, self.ipv4, self.ipv4, self.ipv6, self.ipv6))()
        frame = bytes(ether / (ARP() if self.chance(1) else inner))
        if self.chance(15):
            frame += self.random.randbytes(self.random.randrange(40))
        if self.chance(10):
            frame = self.damage(frame)
        return frame

    def damage(self, frame):
        """The frame with one fault: cut, a changed byte in its headers, another version or IHL, or a wrong length."""
        kind = self.random.randrange(4)
        if kind == 0:
            return frame[: self.random.randrange(1, len(frame))]
        at = self.random.randrange(12, min(len(frame), 60))
        if kind == 1:
            return frame[:at] + self.random.randbytes(1) + frame[at + 1 :]
        if kind == 2:
            return frame[:14] + self.random.randbytes(1) + frame[15:]
        lie = struct.pack(">H", self.random.randrange(200))
        return frame[:16] + lie + frame[18:]


@functools.lru_cache(2)
def random_frames(seed, count):
    traffic = Traffic(seed)
    return [traffic.frame() for _ in range(count)]
