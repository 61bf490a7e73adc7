# SPDX-License-Identifier: BSD-3-Clause
"""The links of directors and proxies carry only frames with a VLAN tag. Directors and glb-redirect keep the tag."""

import os

from lab.net import Namespace
from lab.packet import read_pcap
from lab.stage import Capture
from lab.topology import VLAN

SUMMARY = "the links of directors and proxies carry only tagged frames: a proxy is drained, and made active again"
SHAPE = {"vlan": True}
HELD = 24  # long-lived connections: fewer than usual, because virtual machines without hardware virtualization are slow
TAG_AT, TAG = 12, b"\x81\x00" + VLAN.to_bytes(2, "big")


def missing():
    """Why this kernel cannot run the scenario, or None."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 13):
        return "before Linux 5.13 the router's end of a veth pair does not receive what glb-redirect forwards"
    host = Namespace()
    host.ip("link add v0 type veth peer name v1")
    done = host.run("ip", "link", "add", "link", "v0", "name", "v2", "type", "vlan", "id", "1", check=False)
    host.close()
    return "this kernel has no VLANs (8021q): run script/test --kernel bookworm" if done.returncode else None


def run(stage):
    fleet = stage.fleet
    stage.start_load(held=HELD, short=1)
    stage.start_capture()
    before = fleet.redirect_totals()
    fleet.change("proxy-1", state="draining")
    stage.say("proxy-1 is draining: its connections continue by the second chance")
    shares = stage.new_connections("draining", at_least=6)
    stage.expect("a draining proxy gets no new connections", "proxy-1" not in shares, shares)
    stage.settle(1)
    passed_on = sum(totals["forwarded_to_alternate"] - before[name]["forwarded_to_alternate"]
                    for name, totals in fleet.redirect_totals().items())
    stage.expect("proxies pass packets on to proxy-1", passed_on > 0)
    fleet.change("proxy-1", state="active")
    stage.settle()
    stage.finish()
    frames = [frame for proxy in fleet.proxies.values() for frame in read_pcap(Capture.path(fleet.network.port(proxy.link)))]
    untagged = sum(frame[TAG_AT : TAG_AT + 4] != TAG for frame in frames)
    stage.expect("each captured frame has the tag", not untagged, untagged)
    stage.note("passed_on", passed_on)
    stage.note("tagged", len(frames) - untagged)
    stage.say(f"{len(frames)} frames of GUE captured at the proxies, {untagged} without the tag; {passed_on} passed on")
