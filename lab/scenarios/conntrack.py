# SPDX-License-Identifier: BSD-3-Clause
"""Why there is no state on the way: a load balancer that keeps some, beside ours, under the same load."""

from lab.clients import Load
from lab.topology import ECHO_PORT, HTTP_PORT, OTHER, Leg

SUMMARY = "the same load beside it through NAT with conntrack and few entries: drops there; here no host tracks a connection"
NAT_VIP = "203.0.113.20"
# How many connections the NAT can have to each proxy's port. The kernel's own limit, nf_conntrack_max, is of the machine, and
# read-only in a namespace; so its small table is a small range of source ports.
PORTS = (20000, 20031)
RULES = """\
table ip nat {{
	chain in {{
		type nat hook prerouting priority dstnat;
		ip daddr {vip} tcp dport {{ {http}, {echo} }} dnat to numgen inc mod {count} map {{ {proxies} }}
	}}
	chain out {{
		type nat hook postrouting priority srcnat;
		ip protocol tcp snat to {address}:{first}-{last}
	}}
}}
"""


def add_nat(fleet):
    """A host beside the directors, with a VIP of its own."""
    network, leg = fleet.network, Leg(OTHER, "nat")
    host = network.add_host(leg)
    host.ip(f"route add default via {leg.gateway}\n")
    host.sysctl({"net.ipv4.ip_forward": 1})
    network.router.ip(f"route add {NAT_VIP} via {leg.address}\n")
    addresses = [proxy.address for proxy in fleet.proxies.values()]
    rules = RULES.format(
        vip=NAT_VIP, http=HTTP_PORT, echo=ECHO_PORT, count=len(addresses), address=leg.address, first=PORTS[0], last=PORTS[1],
        proxies=", ".join(f"{number} : {address}" for number, address in enumerate(addresses)))
    host.run(["nft", "-f", "-"], input=rules)
    return host


def tracked(host):
    """Connections that a host's kernel tracks now."""
    return int(host.output(["cat", "/proc/sys/net/netfilter/nf_conntrack_count"]))


def dropped(host):
    """Packets that conntrack could not track, by reason. A line for each CPU, in hexadecimal."""
    head, *rows = host.output(["cat", "/proc/net/stat/nf_conntrack"]).splitlines()
    names = head.split()
    totals = [sum(int(word, 16) for word in column) for column in zip(*(row.split() for row in rows), strict=True)]
    counts = dict(zip(names, totals, strict=True))
    return {name: counts[name] for name in ("drop", "insert_failed")}


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    nat = add_nat(fleet)
    stage.start_capture()
    beside = Load(fleet.client, vips=[NAT_VIP])
    there = beside.stop()
    broken, drops, entries = len(there["held_broken"]) + len(there["short_broken"]), dropped(nat), tracked(nat)
    stage.say(f"through NAT with {PORTS[1] - PORTS[0] + 1} entries a proxy and port: {broken} of {there['held']} "
              f"connections broken, {drops['drop']} packets dropped")
    stage.expect("the NAT breaks connections", broken > 0)
    stage.expect("its conntrack drops packets", drops["drop"] > 0, drops)
    stage.expect("it tracks connections", entries > 0)

    here = {name: tracked(host) for name, host in fleet.hosts().items()}
    lost = {name: dropped(host)["drop"] for name, host in fleet.hosts().items()}
    stage.expect("no host of ours tracks a connection", not any(here.values()), here)
    stage.expect("no host of ours drops by conntrack", not any(lost.values()), lost)
    stage.say(f"through GUE: none tracked on any of {len(here)} hosts")
    stage.note("nat", {"broken": broken, "tracked": entries, **drops})
    stage.note("tracked", here)
    stage.finish()


