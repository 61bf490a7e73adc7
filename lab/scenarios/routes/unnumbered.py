# SPDX-License-Identifier: BSD-3-Clause
"""BGP unnumbered: the links of the directors have no addresses of the underlay. Next hops are link-local addresses, also those of IPv4
routes (RFC 8950)."""

import json

from lab.routing.bgp import LOG, Bird, numbered
from lab.net import mac
from lab.segment import next_hops, wait_next_hops
from lab.tools import check_tools, wait_until
from lab.topology import VIP4, VIP6

SUMMARY = "BGP unnumbered with BIRD: routes with link-local next hops, also for IPv4; a proxy is added"
ROUTER = """\
router id 198.51.100.1;
""" + LOG + """\
protocol device {{ scan time 10; }}
protocol direct {{ {underlay}; interface "to-proxy-*"; }}
protocol kernel {{ merge paths on; ipv4 {{ import none; export where source = RTS_BGP; }}; }}
protocol kernel {{ merge paths on; ipv6 {{ import none; export where source = RTS_BGP; }}; }}
template bgp director {{
	local as 65000;
	connect delay time 1; connect retry time 1; error wait time 1, 2;
	ipv4 {{ extended next hop on; import all; export where source = RTS_DEVICE; }};
	ipv6 {{ import all; export where source = RTS_DEVICE; }};
}}
{neighbors}
"""
NEIGHBOR = 'protocol bgp {name} from director {{ neighbor {address} as 65001; interface "{device}"; }}'
# The address on lo is the source of GUE, so that ICMP errors about it come back.
DIRECTOR = """\
router id {address4};
""" + LOG + """\
protocol device {{ scan time 10; }}
protocol direct {{ {underlay}; interface "lo"; }}
protocol static {{ ipv4; route {vip4}/32 blackhole; }}
protocol static {{ ipv6; route {vip6}/128 blackhole; }}
protocol kernel {{ ipv4 {{ import none; export where source = RTS_BGP; }}; }}
protocol kernel {{ ipv6 {{ import none; export where source = RTS_BGP; }}; }}
protocol bgp uplink {{
	local as 65001;
	neighbor {router} as 65000; interface "eth0";
	connect delay time 1; connect retry time 1; error wait time 1, 2;
	ipv4 {{ extended next hop on; import all; export where source ~ [ RTS_DEVICE, RTS_STATIC ]; }};
	ipv6 {{ import all; export where source ~ [ RTS_DEVICE, RTS_STATIC ] && net != ::1/128; }};
}}
"""


def link_local(host, device):
    shown = json.loads(host.run("ip", "-6", "-json", "addr", "show", "scope", "link", "dev", device).stdout)
    return next(info["local"] for each in shown for info in each.get("addr_info", ()) if "local" in info)


def remove_addresses(router, director):
    """Takes the addresses of the underlay from a link, and the director's routes with them. The source of GUE moves to lo."""
    link = director.link
    bits = link.network.split("/")[1]
    director.host.ip(f"addr del {link.address}/{bits} dev eth0", f"addr add {link.address} dev lo",
                     *["route del ::/0"] * link.only_ipv6)
    router.ip(f"addr del {link.gateway}/{bits} dev {link.device}")


def start_birds(router, directors):
    """Returns the BGP sessions: [(BIRD, name of the session)]"""
    neighbors = "\n".join(
        NEIGHBOR.format(name=numbered(each.name), address=link_local(each.host, "eth0"), device=each.link.device)
        for each in directors)
    bird = Bird(router, ROUTER.format(neighbors=neighbors, underlay=directors[0].network.shape.underlay))
    sessions = [(bird, numbered(each.name)) for each in directors]
    for each in directors:
        conf = DIRECTOR.format(
            address4=each.link.address4, underlay=each.link.underlay, vip4=VIP4, vip6=VIP6, router=link_local(router, each.link.device))
        sessions.append((Bird(each.host, conf), "uplink"))
    return sessions


def routes_to_proxies(director):
    """{prefix: IPv6 next hop} of the director's routes by BIRD"""
    family = "-6" if director.link.only_ipv6 else "-4"
    shown = json.loads(director.host.run("ip", family, "-json", "route", "show", "proto", "bird").stdout)
    return {route["dst"]: route.get("via", {}).get("host") or route.get("gateway") for route in shown}


def run(stage):
    fleet, router = stage.fleet, stage.fleet.network.router
    directors = list(fleet.directors.values())
    check_tools(("bird", "birdc"))
    router.ip(f"route del {VIP4}", f"route del {VIP6}")
    for director in directors:
        remove_addresses(router, director)
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
    for vip, family, via in ((VIP4, "-4", "via inet6 fe80:"), (VIP6, "-6", "via fe80:")):
        wait_until(lambda vip=vip, family=family, via=via: router.run("ip", family, "route", "show", vip).stdout.count(via) == len(directors),
                   f"the routes to {vip}")
    stage.start_load()
    stage.start_capture()
    stage.say("both directors have routes with link-local next hops, and no address of the underlay on their links")

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
