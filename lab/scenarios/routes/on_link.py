# SPDX-License-Identifier: BSD-3-Clause
"""Two proxies are on the director's link, and one is behind the router. One is drained, and one moves behind the router, too."""

import json

from lab.net import mac
from lab.segment import join, next_hops, wait_next_hops
from lab.tools import program

SUMMARY = "two proxies on the director's link, one behind the router; then one moves there"
SHAPE = {"directors": 1}
DEVICE = "link0"  # of a proxy on the director's link


def redirect_stats(proxy, device):
    return json.loads(proxy.host.run(program("glb-redirect"), "stats", device, "--json").stdout)[device]


def put_on_link(fleet, director, proxy):
    """The proxy keeps its address, and its link to the router for replies to clients."""
    join(proxy.host, DEVICE, fleet.network, director.link)
    if fleet.shape.ipv6:
        proxy.host.ip(f"addr add {proxy.address}/128 dev {DEVICE} nodad")  # ND replies only on an interface that has the address, unlike ARP
    proxy.host.sysctl({f"net.{fleet.shape.underlay}.conf.lo.forwarding": 1})  # for --forward fib
    # The sender of a frame on this link is the director, so second chances need the route. A macvlan has no native XDP.
    proxy.attach("--forward", "fib", "--mode", "generic", device=DEVICE)
    director.host.ip(f"route add {proxy.address} dev eth0")


def introduce(proxy, other):
    """Lets a proxy pass packets on to another one on the link. XDP resolves no MAC address."""
    proxy.host.ip(f"route add {other.address} dev {DEVICE}",
                  f"neigh add {other.address} lladdr {mac(other.host, DEVICE)} nud permanent dev {DEVICE}")


def introduce_behind(proxy, other, gateway, address):
    """The same for a proxy behind the router: glb-redirect passes packets on only by the interface on which they arrive."""
    proxy.host.ip(f"route add {other.address} via {gateway} dev {DEVICE} onlink", f"neigh add {gateway} lladdr {address} nud permanent dev {DEVICE}")


def arrivals(stage, proxies, near):
    """{proxy: GUE packets in a second (from the director's link, from the router)}"""
    def counts(proxy):
        return redirect_stats(proxy, DEVICE)["total"] if proxy in near else 0, redirect_stats(proxy, "eth0")["total"]

    before = {proxy: counts(proxy) for proxy in proxies}
    stage.settle(1)
    return {proxy.name: [now - then for now, then in zip(counts(proxy), before[proxy])] for proxy in proxies}


def run(stage):
    fleet, router = stage.fleet, stage.fleet.network.router
    director, proxies = fleet.directors["director-1"], list(fleet.proxies.values())
    near = proxies[:2]
    for proxy in near:
        put_on_link(fleet, director, proxy)
    introduce(*near)
    introduce(*reversed(near))
    macs = {director.link.gateway: mac(router, director.link.device)}
    for proxy in near:
        introduce_behind(proxy, proxies[2], *next(iter(macs.items())))
    macs.update({proxy.address: mac(proxy.host, DEVICE) for proxy in near})
    wait_next_hops(director, macs)
    stage.expect("each proxy on the link has its own MAC address", next_hops(director) == macs, next_hops(director))
    stage.start_load()
    stage.start_capture()
    seen = arrivals(stage, proxies, near)
    for proxy in proxies:
        direct, routed = seen[proxy.name]
        stage.expect(f"{proxy.name} gets its packets one way", (direct > 0, routed > 0) == (proxy in near, proxy not in near), seen)
    stage.note("arrivals", seen)
    stage.say("proxy-1 and proxy-2 get GUE from the director directly, and proxy-3 through the router")

    fleet.change("proxy-2", state="draining")
    stage.settle()
    passed_on = redirect_stats(proxies[0], DEVICE)["forwarded_by_route"]
    stage.note("passed_on", passed_on)
    stage.expect("proxy-1 passes packets of open connections on to proxy-2", passed_on > 0, passed_on)
    fleet.change("proxy-2", state="active")

    moving = proxies[0]
    director.host.ip(f"route del {moving.address} dev eth0")
    del macs[moving.address]
    wait_next_hops(director, macs)
    seen = arrivals(stage, proxies, near)
    stage.note("arrivals_after", seen)
    stage.expect(f"{moving.name} gets its packets through the router", seen[moving.name][0] == 0 < seen[moving.name][1], seen)
    stage.say(f"the route to {moving.name} on the link is gone: it gets its packets through the router")
    stage.finish()
