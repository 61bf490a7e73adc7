# SPDX-License-Identifier: BSD-3-Clause
"""BGP unnumbered: the links of the directors have no IPv4 addresses, and IPv4 routes have IPv6 next hops (RFC 8950)."""

import json

from lab.routing.bgp import LOG, Bird, numbered
from lab.net import mac
from lab.segment import next_hops, wait_next_hops
from lab.tools import check_tools, wait_until
from lab.topology import VIP4

SUMMARY = "BGP unnumbered with BIRD: IPv4 routes with IPv6 next hops; a proxy is added"
ROUTER = """\
router id 198.51.100.1;
""" + LOG + """\
protocol device {{ scan time 10; }}
protocol direct {{ ipv4; interface "to-proxy-*"; }}
protocol kernel {{ merge paths on; ipv4 {{ import none; export where source = RTS_BGP; }}; }}
template bgp director {{
	local as 65000;
	connect delay time 1; connect retry time 1; error wait time 1, 2;
	ipv4 {{ extended next hop on; import all; export where source = RTS_DEVICE; }};
}}
{neighbors}
"""
NEIGHBOR = 'protocol bgp {name} from director {{ neighbor {address} as 65001; interface "{device}"; }}'
# The address on lo is the source of GUE, so that ICMP errors about it come back.
DIRECTOR = """\
router id {address};
""" + LOG + """\
protocol device {{ scan time 10; }}
protocol direct {{ ipv4; interface "lo"; }}
protocol static {{ ipv4; route {vip}/32 blackhole; }}
protocol kernel {{ ipv4 {{ import none; export where source = RTS_BGP; }}; }}
protocol bgp uplink {{
	local as 65001;
	neighbor {router} as 65000; interface "eth0";
	connect delay time 1; connect retry time 1; error wait time 1, 2;
	ipv4 {{ extended next hop on; import all; export where source ~ [ RTS_DEVICE, RTS_STATIC ]; }};
}}
"""


def link_local(host, device):
    shown = json.loads(host.run("ip", "-6", "-json", "addr", "show", "scope", "link", "dev", device).stdout)
    return next(info["local"] for each in shown for info in each.get("addr_info", ()) if "local" in info)


def remove_ipv4(router, director):
    """Takes the IPv4 addresses from a link, and all IPv4 routes of the director. The source of GUE moves to lo."""
    link = director.link
    director.host.ip(f"addr del {link.address}/30 dev eth0", f"addr add {link.address}/32 dev lo")
    router.ip(f"addr del {link.gateway}/30 dev {link.device}")


def start_birds(router, directors):
    """Returns the BGP sessions: [(BIRD, name of the session)]"""
    neighbors = "\n".join(
        NEIGHBOR.format(name=numbered(each.name), address=link_local(each.host, "eth0"), device=each.link.device)
        for each in directors)
    bird = Bird(router, ROUTER.format(neighbors=neighbors))
    sessions = [(bird, numbered(each.name)) for each in directors]
    for each in directors:
        conf = DIRECTOR.format(address=each.link.address, vip=VIP4, router=link_local(router, each.link.device))
        sessions.append((Bird(each.host, conf), "uplink"))
    return sessions


def routes_to_proxies(director):
    """{prefix: IPv6 next hop} of the director's IPv4 routes by BIRD"""
    shown = json.loads(director.host.run("ip", "-4", "-json", "route", "show", "proto", "bird").stdout)
    return {route["dst"]: route.get("via", {}).get("host") for route in shown}


def run(stage):
    fleet, router = stage.fleet, stage.fleet.network.router
    directors = list(fleet.directors.values())
    check_tools(("bird", "birdc"))
    router.ip(f"route del {VIP4}")
    for director in directors:
        remove_ipv4(router, director)
    sessions = start_birds(router, directors)
    wait_until(lambda: all(bird.is_established(session) for bird, session in sessions), "the BGP sessions")
    for director in directors:
        router_address = link_local(router, director.link.device)
        wait_next_hops(director, [router_address])
        via = routes_to_proxies(director)
        stage.expect("the routes to the proxies have an IPv6 next hop", list(via.values()) == [router_address] * 3, via)
        used = next_hops(director)
        stage.expect("the next hop has the MAC address of the router",
                     used == {router_address: mac(router, director.link.device)}, used)
    wait_until(lambda: router.run("ip", "route", "show", VIP4).stdout.count("via inet6") == len(directors), "the routes to the VIP")
    stage.start_load()
    stage.start_capture()
    stage.say("both directors have IPv4 routes with IPv6 next hops, and no IPv4 address on their links")

    proxy = fleet.start_proxy()
    proxy.wait_ready()
    for director in directors:
        wait_until(lambda director=director: len(routes_to_proxies(director)) == 4, f"the route of {director.name} to {proxy.name}")
    fleet.publish(fleet.table.with_backend(proxy.address))
    new = stage.new_connections("added")
    stage.expect(f"{proxy.name} gets new connections", proxy.name in new, new)
    stage.note("added", new)
    stage.say(f"{proxy.name} is added: BGP announces its link, and it gets its share")
    stage.expect("no packet had no next hop", not any(director.stats()["drop_no_next_hop"] for director in directors))
    stage.finish()
