# SPDX-License-Identifier: BSD-3-Clause
"""Three routers between a director and the proxies (ECMP). One loses power: only its flows move."""

from lab.net import mac
from lab.segment import PROXIES, Spine, next_hops, on_link, wait_next_hops
from lab.stage import Capture
from lab.tools import cli_json, poll
from lab.topology import ECHO_PORT

SUMMARY = "ECMP over three routers to the proxies: one loses power, and only its flows move"
SHAPE = {"directors": 1}
# The kernel asks each neighbour about every half second, instead of every half minute, and gives up after three requests.
FAST = {"base_reachable_time_ms": 500, "delay_first_probe_time": 0, "retrans_time_ms": 100}


def long_lived_flows(capture, spine):
    """The flows of long-lived connections that the director sent through a router."""
    capture.stop()
    packets = [packet["inner"] for packet in cli_json("decode", capture.path(spine.device))["packets"]]
    return {packet["source"] for packet in packets if packet["destination"].endswith(f":{ECHO_PORT}")}


def flows_by_router(stage, spines):
    """{name of a router: its flows}, of all packets in a second"""
    captures = [Capture(spine.host, [spine.device]) for spine in spines]
    stage.settle(1)
    return {spine.name: long_lived_flows(capture, spine) for spine, capture in zip(spines, captures)}


def run(stage):
    fleet, network = stage.fleet, stage.fleet.network
    director = fleet.directors["director-1"]
    spines = [Spine(network, number, director.link) for number in (1, 2, 3)]
    underlay, own = fleet.shape.underlay, "".join(on_link(fleet.shape, 254))
    director.host.sysctl({f"net.{underlay}.neigh.eth0.{key}": value for key, value in FAST.items()})
    director.host.ip(f"addr add {own} dev eth0",
                     f"route add {PROXIES[underlay]} " + " ".join(f"nexthop via {spine.address}" for spine in spines))
    wait_next_hops(director, [spine.address for spine in spines])
    macs = {spine.address: mac(spine.host, spine.device) for spine in spines}
    stage.expect("each router has its own MAC address", next_hops(director) == macs, next_hops(director))
    stage.start_load()
    stage.start_capture()
    stage.say("the director reaches the proxies through three routers")
    before = flows_by_router(stage, spines)
    stage.expect("all routers get flows", all(before.values()), before)
    stage.expect("each flow has one router", sum(map(len, before.values())) == len(set().union(*before.values())))

    *left, dead = spines
    dead.power_off()
    stage.say(f"{dead.name} loses power; no route changes")
    gone = poll(lambda: set(next_hops(director)) == {spine.address for spine in left}, 20)
    stage.expect("the director no longer uses it", gone, next_hops(director))
    after = flows_by_router(stage, left)
    for spine in left:
        stayed = before[spine.name] & after[spine.name]
        stage.expect(f"the flows of {spine.name} stay", stayed == before[spine.name], before[spine.name] - stayed)
    moved = set().union(*after.values()) & before[dead.name]
    stage.expect(f"the flows of {dead.name} move", moved == before[dead.name], before[dead.name] - moved)
    stage.note("flows", {name: len(flows) for name, flows in before.items()})
    stage.note("moved", len(moved))
    stage.say(f"{len(moved)} flows move to the other two routers, and {sum(map(len, before.values())) - len(moved)} stay")
    stage.finish()
