# SPDX-License-Identifier: BSD-3-Clause
"""Why directors keep no state: compares them with a stateful NAT under the same load."""

from lab.clients import Load
from lab.conntrack import counters, fill, tracked
from lab.topology import ECHO_PORT, HTTP_PORT, OTHER, Link

SUMMARY = "the same load through a NAT with a full conntrack table: it drops packets, while directors and proxies track nothing"
NAT_VIPS = {"ipv4": "203.0.113.20", "ipv6": "2001:db8:f::20"}  # by underlay: a NAT does not change the family
FREE = 64  # free entries in the NAT's conntrack table
RULES = """\
table {family} nat {{
	chain in {{
		type nat hook prerouting priority dstnat;
		{family} daddr {vip} tcp dport {{ {http}, {echo} }} dnat to numgen inc mod {count} map {{ {proxies} }}
	}}
	chain out {{
		type nat hook postrouting priority srcnat;
		meta l4proto tcp snat to {address}
	}}
}}
"""


def add_nat(fleet, vip):
    """A host beside the directors that balances another VIP with NAT."""
    network, link = fleet.network, Link(OTHER, "nat", fleet.shape.underlay)
    host = network.add_host(link)
    host.ip(*link.default_routes("eth0"))
    host.sysctl({"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
    network.router.ip(f"route add {vip} via {link.address}")
    addresses = [proxy.address for proxy in fleet.proxies.values()]
    rules = RULES.format(
        family="ip6" if link.only_ipv6 else "ip", vip=vip, http=HTTP_PORT, echo=ECHO_PORT, count=len(addresses), address=link.address,
        proxies=", ".join(f"{number} : {address}" for number, address in enumerate(addresses)))
    host.run("nft", "-f", "-", input=rules)
    return host


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    nat = add_nat(fleet, vip := NAT_VIPS[fleet.shape.underlay])
    size = fill(nat, FREE)
    stage.say(f"beside the directors, a NAT with {FREE} free entries in its conntrack table of {size}")
    stage.start_capture()
    beside = Load(fleet.client, vips=[vip])
    entries = tracked(nat)  # now, because the kernel forgets closed connections after 10 seconds
    there = beside.stop()
    broken = len(there["held_broken"]) + len(there["short_broken"])
    drops = {name: counters(nat)[name] for name in ("drop", "early_drop", "insert_failed")}
    stage.say(f"through the NAT: {broken} of {there['held']} connections broken, {drops['drop']} packets dropped: table full")
    stage.expect("the NAT breaks connections", broken > 0)
    stage.expect("the NAT tracks the other connections", entries > size - FREE, (entries, size))
    stage.expect("the NAT drops packets because its table is full", drops["drop"] > 0, drops)

    here = {name: tracked(host) for name, host in fleet.hosts().items()}
    lost = {name: counters(host)["drop"] for name, host in fleet.hosts().items()}
    stage.expect("no host of the lab tracks a connection", not any(here.values()), here)
    stage.expect("no host of the lab drops packets in conntrack", not any(lost.values()), lost)
    stage.say(f"through GUE: none of {len(here)} hosts tracks a connection")
    stage.note("nat", {"broken": broken, "entries": size, "tracked": entries, **drops})
    stage.note("tracked", here)
    stage.finish()
