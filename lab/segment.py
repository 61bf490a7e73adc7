# SPDX-License-Identifier: BSD-3-Clause
"""Further hosts on the link of a director, as on a switch: routers beside the lab's own router, and proxies."""

import subprocess

from lab.net import connect
from lab.tools import cli_json, wait_until
from lab.topology import FIRST_PROXY, GUE_MTU, MAX_PROXIES, Link, make_host

PREFIX = "10.99.0"  # of the addresses that routers and director have on the link; .N of router N
PROXIES = f"192.0.2.{4 * FIRST_PROXY - 4}/26"  # the proxies of a scenario, without those behind the 15th

assert 4 * FIRST_PROXY - 4 == 64 and MAX_PROXIES > 15


def join(host, device, network, link):
    """Gives a host an interface on the director's link, with its own MAC address. The router passes no packet on."""
    subprocess.run(
        ["nsenter", f"--target={network.router.pid}", "--net", "--", "ip", "link", "add", "link", link.device, "name", device,
         "netns", str(host.pid), "type", "macvlan", "mode", "bridge"], check=True)
    host.ip(f"link set {device} up")


class Spine:
    """A router between a director and the proxies. It sends everything on to the lab's router."""

    def __init__(self, network, number, link):
        self.name, self.address = f"spine-{number}", f"{PREFIX}.{number}"
        self.device, uplink = f"down-{number}", Link(48 + number, self.name)
        self.host = make_host(self.name)
        join(self.host, self.device, network, link)
        connect(self.host, "uplink", network.router, uplink.device, mtu=GUE_MTU)
        network.router.ip(f"addr add {uplink.gateway}/30 dev {uplink.device}")
        self.host.sysctl({"net.ipv4.ip_forward": 1})
        self.host.ip(f"addr add {uplink.address}/30 dev uplink", f"route add default via {uplink.gateway}",
                     f"addr add {self.address}/24 dev {self.device}")

    def power_off(self):
        """The director is not told: it must notice that the router does not reply."""
        self.host.ip(f"link set {self.device} down")


def next_hops(director):
    """{address: MAC address} of the next hops that the director may use."""
    (found,) = cli_json("next-hops", "--file-prefix", director.name)["sets"]
    return {each["address"]: each["mac"] for each in found["next_hops"] if each["mac"] != "unknown"}


def wait_next_hops(director, wanted):
    """Waits until the director uses exactly these next hops."""
    wait_until(lambda: set(next_hops(director)) == set(wanted), lambda: f"the next hops {wanted}, not {next_hops(director)}")
