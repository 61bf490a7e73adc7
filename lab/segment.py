# SPDX-License-Identifier: BSD-3-Clause
"""Further hosts on the link of a director, as on a switch: routers beside the lab's own router, and proxies."""

import subprocess

from lab.net import connect
from lab.tools import cli_json, wait_until
from lab.topology import FIRST_PROXY, MAX_PROXIES, NETWORKS, Link, make_host

# The addresses that routers and director have on the link; NUMBER of router NUMBER.
ADDRESSES = {"ipv4": ("10.99.0.{}", "/24"), "ipv6": ("2001:db8:99::{}", "/64 nodad")}
# The proxies of a scenario, without those behind the 15th. With IPv6 also other hosts.
PROXIES = {"ipv4": f"192.0.2.{4 * FIRST_PROXY - 4}/26", "ipv6": NETWORKS["ipv6"]}

assert 4 * FIRST_PROXY - 4 == 64 and MAX_PROXIES > 15


def join(host, device, network, link):
    """Gives a host an interface on the director's link, with its own MAC address. The router passes no packet on."""
    subprocess.run(
        ["nsenter", f"--target={network.router.pid}", "--net", "--", "ip", "link", "add", "link", link.device, "name", device,
         "netns", str(host.pid), "type", "macvlan", "mode", "bridge"], check=True)
    host.ip(f"link set {device} up")


def on_link(shape, number):
    """The address of a host on the director's link, and what follows it in `ip addr add`."""
    form, rest = ADDRESSES[shape.underlay]
    return form.format(number), rest


class Spine:
    """A router between a director and the proxies. It sends everything on to the lab's router."""

    def __init__(self, network, number, link):
        self.name, (self.address, rest) = f"spine-{number}", on_link(network.shape, number)
        self.device, uplink = f"down-{number}", Link(48 + number, self.name, network.shape.underlay)
        self.host = make_host(self.name)
        join(self.host, self.device, network, link)
        connect(self.host, "uplink", network.router, uplink.device, mtu=network.shape.gue_mtu)
        network.router.ip(*uplink.router_end(uplink.device))
        self.host.sysctl({"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
        self.host.ip(*uplink.host_end("uplink"), *uplink.default_routes("uplink"), f"addr add {self.address}{rest} dev {self.device}")

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
