# SPDX-License-Identifier: BSD-3-Clause
"""The demo's network.

             198.51.100.0/24          192.0.2.0/30
    client ------------------- router ------------- director
                                 |
                                 |  192.0.2.64/26: one leg for each proxy, bridged
                          proxy-1, proxy-2, proxy-3

The router sends what is for the VIP to the director, and the director's GUE to the proxies; a proxy answers straight to the
client. Legs that carry GUE have a larger MTU, so that a client's full packet fits with its outer headers.
"""

import socket
from dataclasses import dataclass

from lab.net import Namespace, mac, veth

VIP4, VIP6 = "203.0.113.10", "2001:db8:f::10"
CLIENTS4 = [f"198.51.100.{host}" for host in range(11, 17)]
CLIENTS6 = [f"2001:db8:c::{host}" for host in range(11, 15)]
# Behind a narrow link, as seen by the router: what exceeds it is answered with an ICMP error to the VIP.
NARROW4, NARROW6, NARROW_MTU = "198.51.100.99", "2001:db8:c::99", 1280
DIRECTOR, GATEWAY = "192.0.2.2", "192.0.2.1"
PROXIES = {"proxy-1": "192.0.2.71", "proxy-2": "192.0.2.72", "proxy-3": "192.0.2.73"}
GUE_MTU = 1600


@dataclass
class Network:
    client: Namespace
    router: Namespace
    director: Namespace
    proxies: dict  # name -> Namespace
    gateway_mac: str  # the router's, on the director's leg


def build():
    client, router, director = (Namespace(name) for name in ("client", "router", "director"))
    proxies = {name: Namespace(name) for name in PROXIES}
    _client_leg(client, router)
    _director_leg(director, router)
    _proxy_legs(proxies, router)
    # Where the narrow link begins. `lock`: an ICMP error cannot change it.
    router.ip(
        f"route add {NARROW4} dev to-client mtu lock {NARROW_MTU}\n"
        f"route add {NARROW6} dev to-client mtu lock {NARROW_MTU}\n"
    )
    return Network(client, router, director, proxies, mac(router, "to-director"))


def _client_leg(client, router):
    veth(client, "eth0", router, "to-client")
    router.sysctl({"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
    router.ip("addr add 198.51.100.1/24 dev to-client\naddr add 2001:db8:c::1/64 dev to-client nodad\n")
    addresses = [f"addr add {address}/24 dev eth0" for address in [*CLIENTS4, NARROW4]]
    addresses += [f"addr add {address}/64 dev eth0 nodad" for address in [*CLIENTS6, NARROW6]]
    client.ip("\n".join([*addresses, "route add default via 198.51.100.1", "route add default via 2001:db8:c::1\n"]))
    client.offloads_off("eth0")


def _director_leg(director, router):
    """The kernel there answers ARP and ND, and drops what is for the VIP: it owns no such address and forwards nothing."""
    veth(director, "eth0", router, "to-director", mtu=GUE_MTU)
    director.sysctl({"net.ipv4.ip_forward": 0, "net.ipv6.conf.all.forwarding": 0})
    director.ip(
        f"addr add {DIRECTOR}/30 dev eth0\naddr add 2001:db8:d::2/64 dev eth0 nodad\n"
        f"route add default via {GATEWAY}\n"
    )
    router.ip(
        f"addr add {GATEWAY}/30 dev to-director\naddr add 2001:db8:d::1/64 dev to-director nodad\n"
        f"route add {VIP4} via {DIRECTOR} mtu 1500\nroute add {VIP6} via 2001:db8:d::2 mtu 1500\n"
    )
    router.offloads_off("to-director")


def _proxy_legs(proxies, router):
    router.ip(f"link add proxies mtu {GUE_MTU} type bridge\nlink set proxies up\n"
              "addr add 192.0.2.65/26 dev proxies\naddr add 2001:db8:b::1/64 dev proxies nodad\n")
    for index, (name, proxy) in enumerate(proxies.items()):
        veth(proxy, "eth0", router, f"to-{name}", mtu=GUE_MTU)
        router.ip(f"link set to-{name} master proxies\n")
        # Clients' packets are at most 1500 bytes, and so must be the answers on the client's leg.
        proxy.ip(
            f"addr add {PROXIES[name]}/26 dev eth0\naddr add 2001:db8:b::{71 + index}/64 dev eth0 nodad\n"
            f"addr add {VIP4}/32 dev lo\naddr add {VIP6}/128 dev lo nodad\n"
            "route add default via 192.0.2.65 mtu 1500\nroute add default via 2001:db8:b::1 mtu 1500\n"
        )
        proxy.offloads_off("eth0")


def forwarding_table():
    """As `glb-director-cli build-config` reads it. proxy-3 is being taken out: its rows start at the other two."""
    return {
        "tables": [{
            "name": "web",
            "hash_key": "0e41b9df6b517bab3c4da9b9b07375a5",
            "seed": "34567890123456783456789012345678",
            "binds": [
                {"ip": vip, "proto": proto, "port": port}
                for vip in (VIP4, VIP6) for proto, port in (("tcp", 80), ("udp", 53))
            ],
            "backends": [
                {"ip": address, "state": "draining" if name == "proxy-3" else "active"}
                for name, address in PROXIES.items()
            ],
        }]
    }


def director_conf(gateway_mac):
    return f"""\
outbound_gateway_mac = "{gateway_mac}";
outbound_src_ip = "{DIRECTOR}";
outbound_mtu = {GUE_MTU};
idle = "sleep";
"""


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET
