# SPDX-License-Identifier: BSD-3-Clause
"""The lab's network: hosts, links and routes. director.py, proxy.py and load.py run the programs on the hosts.

      198.51.100.0/24          one link each: 192.0.2.4n/30, 2001:db8:b:n::/64
    client ------------ router ------------ director-1, director-2 ...
                               ------------ proxy-1, proxy-2, proxy-3 ...

The router sends packets for the VIPs to the directors (ECMP), and GUE from the directors to the proxies. A proxy answers the
client directly. With the underlay "ipv6", all links but the client's have only IPv6 addresses, and IPv4 routes have IPv6 next hops.
"""

from dataclasses import dataclass

from lab.net import Namespace, connect, mac
from lab.tools import write

VIP4, VIP6 = "203.0.113.10", "2001:db8:f::10"
VIPS = (VIP4, VIP6)
MORE_VIPS = ("203.0.113.20", "2001:db8:f::20")  # only in scenarios that add VIPs
HTTP_PORT, ECHO_PORT, GUE_PORT, QUIC_PORT = 80, 7000, 19523, 443
HEALTH_URI = "/health"

UNDERLAYS = ("ipv4", "ipv6")
NETWORKS = {"ipv4": "192.0.2.0/24", "ipv6": "2001:db8:b::/48"}  # have the links of directors and proxies
CLIENT_MTU = 1500
# Room for a full packet of a client and its outer headers, see Shape.outer_bytes. With an MTU of 1500 on these links, large uploads
# would hang without a trace in any counter.
GUE_MTUS = {"ipv4": 1600, "ipv6": 1700}
JUMBO_MTU = 9000
VLAN = 10

# What `glb-director-cli new` writes unless told. tests/lab/test_lab.py compares.
HOPS, BALANCE = 4, 1.02

# Several addresses, so that the hash can tell clients apart.
CLIENTS4 = [f"198.51.100.{host}" for host in range(11, 19)]
CLIENTS6 = [f"2001:db8:c::{host}" for host in range(11, 19)]
# Source addresses of handmade packets. The client's kernel does not have them: its TCP would answer with RST.
BY_HAND4, BY_HAND6 = "198.51.100.77", "2001:db8:c::77"

FIRST_DIRECTOR, OTHER, FIRST_PROXY, FIRST_ETCD, MONITOR_LINK = 1, 16, 17, 60, 63  # numbers of links
MONITOR, ETCD_MEMBERS = "monitor", 3
MAX_DIRECTORS, MAX_PROXIES = 15, 43


@dataclass(frozen=True)
class Shape:
    """The options of `lab/lab up`."""

    directors: int = 2
    proxies: int = 3
    hops: int = HOPS
    balance: float = BALANCE  # None: off; only for scenarios
    pmd: str = "af_xdp"
    bgp: bool = False
    announce: str = ""  # "bird" or "frr": glb-announce on each director announces the VIPs through it
    healthcheck: bool = False
    metrics: bool = False  # Prometheus on the host `monitor`
    etcd: bool = False  # three hosts with etcd, and glb-fleet on each director
    exception_path: bool = False  # the directors drive eth0 alone, and their kernels use glb0; only for scenarios
    previous: str = ""  # folder of a build: the programs that all hosts start with; only for scenarios
    jumbo: bool = False  # an MTU of 9000; only for scenarios
    haproxy: bool = False  # on the proxies, in front of nginx and the echo service; only for scenarios
    vlan: bool = False  # the links of directors and proxies carry only tagged frames; only for scenarios
    quic: bool = False  # HTTP/3 servers on the proxies, see quic.py; only for scenarios
    disk_mb: int = 0  # size of a file system for the files of each director, instead of that of /run; only for scenarios
    underlay: str = "ipv4"  # one of UNDERLAYS: the family of the addresses of directors and proxies

    @property
    def ipv6(self):
        return self.underlay == "ipv6"

    @property
    def network(self):
        return NETWORKS[self.underlay]

    @property
    def every_address(self):
        """Where a program listens that other hosts of the underlay reach. It listens on one family."""
        return "::" if self.ipv6 else "0.0.0.0"

    @property
    def outer_bytes(self):
        """The size of IP, UDP and GUE headers before a client's packet. A row has each proxy once."""
        later = min(self.hops, self.proxies) - 1
        return 56 + 16 * later if self.ipv6 else 36 + 4 * later

    @property
    def gue_mtu(self):
        return JUMBO_MTU if self.jumbo else GUE_MTUS[self.underlay]

    @property
    def client_mtu(self):
        return JUMBO_MTU - self.outer_bytes if self.jumbo else CLIENT_MTU

    @property
    def interface(self):
        """The interface of a host that has its addresses."""
        return f"eth0.{VLAN}" if self.vlan else "eth0"

    def director_link(self, index):
        return Link(FIRST_DIRECTOR - 1 + index, f"director-{index}", self.underlay)

    def proxy_link(self, index):
        return Link(FIRST_PROXY - 1 + index, f"proxy-{index}", self.underlay)

    def monitor_link(self):
        return Link(MONITOR_LINK, MONITOR, self.underlay)

    def etcd_links(self):
        return [Link(FIRST_ETCD - 1 + index, f"etcd-{index}", self.underlay) for index in range(1, ETCD_MEMBERS + 1)]


@dataclass(frozen=True)
class Link:
    """The link between the router and a host. On the host its name is eth0. With the underlay "ipv6" no interface has address4."""

    number: int
    name: str
    underlay: str

    @property
    def only_ipv6(self):
        return self.underlay == "ipv6"

    @property
    def device(self):
        return f"to-{self.name}"

    @property
    def address4(self):
        return f"192.0.2.{4 * self.number + 2}"

    @property
    def address6(self):
        return f"2001:db8:b:{self.number}::2"

    @property
    def address(self):
        """The host's address, by which others know it."""
        return self._ends[0][0]

    @property
    def gateway(self):
        """The router's address."""
        return self._ends[0][1]

    @property
    def gateway6(self):
        return f"2001:db8:b:{self.number}::1"

    @property
    def network(self):
        return f"2001:db8:b:{self.number}::/64" if self.only_ipv6 else f"192.0.2.{4 * self.number}/30"

    @property
    def _ends(self):
        """For each family: the host's address, the router's, and what follows them in `ip addr add`."""
        six = (self.address6, self.gateway6, "/64 nodad")
        return [six] if self.only_ipv6 else [(self.address4, f"192.0.2.{4 * self.number + 1}", "/30"), six]

    def host_end(self, device):
        """The lines for ip(8) that give the host its addresses."""
        return [f"addr add {address}{rest} dev {device}" for address, _, rest in self._ends]

    def router_end(self, device):
        """The lines for ip(8) that give the router its addresses, whether or not it has them."""
        return [f"addr replace {gateway}{rest} dev {device}" for _, gateway, rest in self._ends]

    def default_routes(self, device, options=""):
        """The lines for ip(8) that make the router the gateway of the host for both families, whether or not it has one."""
        via = f"inet6 {self.gateway}" if self.only_ipv6 else self.gateway
        return [f"route replace 0.0.0.0/0 via {via} dev {device} {options}", f"route replace default via {self.gateway6} {options}"]


def make_host(name):
    """A host that `lab/lab exec` and others find by its name."""
    host = Namespace(name)
    write(f"/run/hosts/{name}", f"{host.pid}\n")
    return host


class Network:
    def __init__(self, shape):
        self.shape = shape
        self.client, self.router = make_host("client"), make_host("router")
        connect(self.client, "eth0", self.router, "to-client", mtu=shape.client_mtu)
        self._router()
        self._client()

    def _router(self):
        self.router.sysctl({
            "net.ipv4.ip_forward": 1,
            "net.ipv6.conf.all.forwarding": 1,
            # ECMP hashes the ports too, so that connections of one client pass all directors.
            "net.ipv4.fib_multipath_hash_policy": 1,
            "net.ipv6.fib_multipath_hash_policy": 1,
            # The packet of a second chance may leave the router on the link that it came from: no ICMP redirects.
            "net.ipv4.conf.all.send_redirects": 0,
            "net.ipv4.conf.default.send_redirects": 0,
        })
        # The same ECMP hash in each run, if the kernel has this setting (6.11 or newer).
        self.router.run("sysctl", "-qew", "net.ipv4.fib_multipath_hash_seed=1", check=False)
        self.router.ip("addr add 198.51.100.1/24 dev to-client", "addr add 2001:db8:c::1/64 dev to-client nodad")

    def _client(self):
        addresses = [f"addr add {address}/24 dev eth0" for address in CLIENTS4]
        addresses += [f"addr add {address}/64 dev eth0 nodad" for address in CLIENTS6]
        self.client.ip(*addresses, "route add default via 198.51.100.1", "route add default via 2001:db8:c::1")
        # A small receive buffer, so that a slow reader slows down its sender. The default of 6 MB would take a whole download.
        self.client.sysctl({"net.ipv4.tcp_rmem": "4096 65536 262144"})
        # Otherwise the directors would see segments of 64 KB with partial checksums.
        self.client.offloads_off("eth0")
        link = mac(self.client, "eth0")
        self.router.ip(f"neigh add {BY_HAND4} lladdr {link} nud permanent dev to-client",
                       f"neigh add {BY_HAND6} lladdr {link} nud permanent dev to-client")

    def add_host(self, link):
        """Adds a host with a link to the router, and addresses on both ends."""
        host, port, interface = make_host(link.name), self.port(link), self.shape.interface
        connect(host, "eth0", self.router, port, mtu=self.shape.gue_mtu)
        if self.shape.vlan:
            self._tag(host, "eth0", interface)
            self._tag(self.router, port, link.device)
        host.ip(*link.host_end(interface))
        self.router.ip(*link.router_end(link.device))
        return host

    def port(self, link):
        """The router's end of the cable to a host. With VLANs, link.device is a VLAN of it."""
        return f"tr-{link.name}" if self.shape.vlan else link.device

    def _tag(self, host, port, interface):
        """Adds a VLAN interface. Its tags are in the frames, where XDP sees them, and not beside the frames."""
        host.offload(port, "rxvlan", "off", "txvlan", "off")
        host.ip(f"link add link {port} name {interface} type vlan id {VLAN}", f"link set {interface} up")

    def add_director(self, link):
        host = self.add_host(link)
        # The kernel must not forward the packets that it also receives: with AF_PACKET these are all packets.
        host.sysctl({"net.ipv4.ip_forward": 0, "net.ipv6.conf.all.forwarding": 0})
        host.ip(*link.default_routes(self.shape.interface))
        host.offloads_off("eth0")
        self.router.offloads_off(self.port(link))
        return host

    def add_proxy(self, link):
        host = self.add_host(link)
        # The default route is the link on which GUE arrives, as rp_filter would require. Its MTU is that of the client's link.
        host.ip(
            f"addr add {VIP4}/32 dev lo", f"addr add {VIP6}/128 dev lo nodad",
            *link.default_routes(self.shape.interface, f"mtu {self.shape.client_mtu}"))
        host.offloads_off("eth0")
        # A veth receives packets that XDP redirects only if it has NAPI, which GRO turns on.
        self.router.offload(self.port(link), "tx", "off", "gro", "on")
        return host

    def move_to_exception_path(self, host, link):
        """Moves a director's addresses from eth0 to the interface of the exception path. The kernel ignores what eth0 receives."""
        host.sysctl({"net.ipv4.conf.all.rp_filter": 1, "net.ipv4.conf.eth0.arp_ignore": 8, "net.ipv6.conf.eth0.disable_ipv6": 1})
        host.ip("addr flush dev eth0", *link.host_end("glb0"), *link.default_routes("glb0"))

    def unplug(self, link):
        """Makes a host unreachable, as if it had lost power."""
        self.router.ip(f"link set {link.device} down")

    def plug(self, link):
        """Takes unplug() back. The kernel has dropped the router's IPv6 address of the link."""
        self.router.ip(f"link set {link.device} up", *link.router_end(link.device))


class StaticRoutes:
    """Routes of the VIPs to the directors. With next-hop groups the kernel changes the set of directors in one step."""

    GROUPS = ((4, 1000), (6, 1001))

    def __init__(self, router):
        self.router = router
        self.links = []

    def announce(self, director):
        link = director.link
        # An IPv4 route takes an IPv6 next hop, too.
        self.router.ip(f"nexthop add id {10 * link.number + 4} via {link.address} dev {link.device}",
                       f"nexthop add id {10 * link.number + 6} via {link.address6} dev {link.device}")
        self._set([*self.links, link])

    add = announce  # static routes need no waiting

    def serve(self, vips):
        """Routes for more VIPs, to the same directors."""
        groups = dict(self.GROUPS)
        self.router.ip(*(f"route add {vip} nhid {groups[6 if ':' in vip else 4]}" for vip in vips))

    def withdraw(self, director):
        link = director.link
        self._set([other for other in self.links if other != link])
        self.router.ip(f"nexthop del id {10 * link.number + 4}", f"nexthop del id {10 * link.number + 6}")

    def wait_ready(self):
        pass

    def _set(self, links):
        first, self.links = not self.links, links
        if not links:
            raise ValueError("the last director's route cannot be withdrawn: the VIPs would have no route")
        self.router.ip(*(
            f"nexthop replace id {group} group " + "/".join(str(10 * link.number + family) for link in links)
            for family, group in self.GROUPS))
        if first:
            self.router.ip(f"route add {VIP4} nhid {self.GROUPS[0][1]}", f"route add {VIP6} nhid {self.GROUPS[1][1]}")
