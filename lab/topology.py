# SPDX-License-Identifier: BSD-3-Clause
"""The lab's network: hosts, legs and routes. What runs on the hosts is in director.py, proxy.py and load.py.

      198.51.100.0/24          a leg of its own for each: 192.0.2.4n/30, 2001:db8:b:n::/64
    client ------------ router ------------ director-1, director-2 ...
                               ------------ proxy-1, proxy-2, proxy-3 ...

The router sends what is for the VIPs to the directors (ECMP), and the directors' GUE to the proxies; a proxy answers straight
to the client.
"""

from dataclasses import dataclass

from lab.net import Namespace, connect, mac
from lab.tools import write

VIP4, VIP6 = "203.0.113.10", "2001:db8:f::10"
VIPS = (VIP4, VIP6)
HTTP_PORT, ECHO_PORT, GUE_PORT = 80, 7000, 19523
HEALTH_URI = "/health"

CLIENT_MTU = 1500
# A client's full packet and its outer headers: 36 bytes, and 4 for each hop after the first. With 1500 on these legs, large
# uploads hang, and no counter moves.
GUE_MTU = 1600

# Several addresses, as the hash has few others to tell clients apart by.
CLIENTS4 = [f"198.51.100.{host}" for host in range(11, 19)]
CLIENTS6 = [f"2001:db8:c::{host}" for host in range(11, 19)]
# The client's cable, but not its kernel's addresses: for packets made by hand, which its TCP would answer with RST.
BY_HAND4, BY_HAND6 = "198.51.100.77", "2001:db8:c::77"

FIRST_DIRECTOR, OTHER, FIRST_PROXY = 1, 16, 17  # numbers of legs
MAX_DIRECTORS, MAX_PROXIES = 15, 46


@dataclass(frozen=True)
class Shape:
    """What `lab/lab up` can choose."""

    directors: int = 2
    proxies: int = 3
    hops: int = 2
    pmd: str = "af_xdp"
    bgp: bool = False
    healthcheck: bool = False


@dataclass(frozen=True)
class Leg:
    """The cable between the router and a host, which calls its end eth0."""

    number: int
    name: str

    @property
    def device(self):
        return f"to-{self.name}"

    @property
    def address(self):
        return f"192.0.2.{4 * self.number + 2}"

    @property
    def gateway(self):
        return f"192.0.2.{4 * self.number + 1}"

    @property
    def address6(self):
        return f"2001:db8:b:{self.number}::2"

    @property
    def gateway6(self):
        return f"2001:db8:b:{self.number}::1"


def director_leg(index):
    return Leg(FIRST_DIRECTOR - 1 + index, f"director-{index}")


def proxy_leg(index):
    return Leg(FIRST_PROXY - 1 + index, f"proxy-{index}")


def make_host(name):
    """A host that lab/lab finds by its name."""
    host = Namespace(name)
    write(f"/run/hosts/{name}", f"{host.pid}\n")
    return host


class Network:
    def __init__(self):
        self.client, self.router = make_host("client"), make_host("router")
        connect(self.client, "eth0", self.router, "to-client", mtu=CLIENT_MTU)
        self._router()
        self._client()

    def _router(self):
        self.router.sysctl({
            "net.ipv4.ip_forward": 1,
            "net.ipv6.conf.all.forwarding": 1,
            # ECMP by ports too: connections of one client go over all directors.
            "net.ipv4.fib_multipath_hash_policy": 1,
            "net.ipv6.fib_multipath_hash_policy": 1,
            # A proxy's second chance comes back on the leg that it leaves by.
            "net.ipv4.conf.all.send_redirects": 0,
            "net.ipv4.conf.default.send_redirects": 0,
        })
        # The same ECMP each time, where the kernel lets us choose (6.11 or newer).
        self.router.run("sysctl", "-qew", "net.ipv4.fib_multipath_hash_seed=1", check=False)
        self.router.ip("addr add 198.51.100.1/24 dev to-client", "addr add 2001:db8:c::1/64 dev to-client nodad")

    def _client(self):
        addresses = [f"addr add {address}/24 dev eth0" for address in CLIENTS4]
        addresses += [f"addr add {address}/64 dev eth0 nodad" for address in CLIENTS6]
        self.client.ip(*addresses, "route add default via 198.51.100.1", "route add default via 2001:db8:c::1")
        # A client that reads slowly holds up its sender; with the usual 6 MB the kernel would take a whole download at once.
        self.client.sysctl({"net.ipv4.tcp_rmem": "4096 65536 262144"})
        # Else the client's checksums are only begun, and its segments 64 KB: the directors would see both.
        self.client.offloads_off("eth0")
        link = mac(self.client, "eth0")
        self.router.ip(f"neigh add {BY_HAND4} lladdr {link} nud permanent dev to-client",
                       f"neigh add {BY_HAND6} lladdr {link} nud permanent dev to-client")

    def add_host(self, leg):
        """With a cable to the router, and addresses on it."""
        host = make_host(leg.name)
        connect(host, "eth0", self.router, leg.device, mtu=GUE_MTU)
        host.ip(f"addr add {leg.address}/30 dev eth0", f"addr add {leg.address6}/64 dev eth0 nodad")
        self.router.ip(f"addr add {leg.gateway}/30 dev {leg.device}", f"addr add {leg.gateway6}/64 dev {leg.device} nodad")
        return host

    def add_director(self, leg):
        host = self.add_host(leg)
        # What the director leaves to the kernel (all, with AF_PACKET) must not be forwarded as well.
        host.sysctl({"net.ipv4.ip_forward": 0, "net.ipv6.conf.all.forwarding": 0})
        host.ip(f"route add default via {leg.gateway}", f"route add default via {leg.gateway6}")
        host.offloads_off("eth0")
        self.router.offloads_off(leg.device)
        return host

    def add_proxy(self, leg):
        host = self.add_host(leg)
        # Answers go to the client's leg. With rp_filter the default route must be where the tunnel comes from: it is.
        host.ip(
            f"addr add {VIP4}/32 dev lo", f"addr add {VIP6}/128 dev lo nodad",
            f"route add default via {leg.gateway} mtu {CLIENT_MTU}",
            f"route add default via {leg.gateway6} mtu {CLIENT_MTU}")
        host.offloads_off("eth0")
        # What the proxy's XDP program sends to the next hop only arrives at a veth that has NAPI, which GRO gives it.
        self.router.offload(leg.device, "tx", "off", "gro", "on")
        return host

    def unplug(self, leg):
        """What a host whose power fails looks like to the others."""
        self.router.ip(f"link set {leg.device} down")


class StaticRoutes:
    """The VIPs over the directors. Nexthop groups: a change of the set is one step of the kernel, for both families."""

    GROUPS = ((4, 1000), (6, 1001))

    def __init__(self, router):
        self.router = router
        self.legs = []

    def announce(self, director):
        leg = director.leg
        self.router.ip(f"nexthop add id {10 * leg.number + 4} via {leg.address} dev {leg.device}",
                       f"nexthop add id {10 * leg.number + 6} via {leg.address6} dev {leg.device}")
        self._set([*self.legs, leg])

    add = announce  # static routes are there at once

    def withdraw(self, director):
        leg = director.leg
        self._set([other for other in self.legs if other != leg])
        self.router.ip(f"nexthop del id {10 * leg.number + 4}", f"nexthop del id {10 * leg.number + 6}")

    def wait_ready(self):
        pass

    def _set(self, legs):
        first, self.legs = not self.legs, legs
        if not legs:
            raise ValueError("the last director's route stays: the lab has no other way for the VIPs")
        for family, group in self.GROUPS:
            members = "/".join(str(10 * leg.number + family) for leg in legs)
            self.router.ip(f"nexthop replace id {group} group {members}")
        if first:
            self.router.ip(f"route add {VIP4} nhid {self.GROUPS[0][1]}", f"route add {VIP6} nhid {self.GROUPS[1][1]}")
