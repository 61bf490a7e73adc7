# SPDX-License-Identifier: BSD-3-Clause
"""Compares the packets that directors sent, as `glb-director-cli decode` prints them, with what `lookup` predicts."""

from dataclasses import dataclass

from lab.packet import gue_at, read_pcap
from lab.tools import cli_json, endpoint

SHORT = {"icmp echo request": "ping"}  # so that lines of rows of three hops fit 80 columns


@dataclass(frozen=True)
class Outer:
    """The fields of the outer headers that a director chooses."""

    source: str
    port: int
    first_hop: str
    next_hop: int
    later_hops: tuple

    def __str__(self):
        return (f"{endpoint(self.source, self.port)} > {self.first_hop}"
                f"  {self.next_hop}/{len(self.later_hops)} {' '.join(self.later_hops)}")


def ping_hint(frame):
    """The hint for a ping: its IPv4 identification or IPv6 flow label, which the director mixes into the outer source port."""
    gue = frame[gue_at(frame):]
    inner = gue[4 + 4 * (gue[0] & 31):]
    return int.from_bytes(inner[4:6] if inner[0] >> 4 == 4 else inner[2:4], "big")


def predicted(director, inner, frame):
    """(Outer, row, reason of the first hop) by the director's table."""
    ping = inner["what"] == "icmp echo request"
    options = ["--proto", "icmp", "--hint", str(ping_hint(frame))] if ping else []
    found = cli_json("lookup", director.source, inner["source"], inner["destination"], "--config", director.conf, *options)
    hops = [hop["ip"] for hop in found["hops"]]
    outer = Outer(director.link.address, found["udp_source_port"], hops[0], 0, tuple(hops[1:]))
    return outer, found["row"], found["hops"][0]["reason"]


def explain(director, capture, say):
    """Says each packet of a client that the director sent, by flow. Returns the number of packets, and of those as predicted."""
    frames = read_pcap(capture)
    flows, equal = {}, 0
    for packet in cli_json("decode", capture)["packets"]:
        inner = packet["inner"]
        if inner["source"] == director.link.address:
            continue  # a check by glb-healthcheck on the director's host
        outer = Outer(packet["source"], packet["udp_source_port"], packet["destination"], packet["next_hop"],
                      tuple(packet["hops"]))
        wanted, row, why = predicted(director, inner, frames[packet["number"] - 1])
        flow = f"{inner['source']} > {inner['destination']}"
        flows.setdefault(flow, (row, why, wanted, []))[3].append((inner, outer, wanted == outer))
        equal += wanted == outer
    for flow, (row, why, wanted, packets) in flows.items():
        say(f"   {flow}, row {row}: {why}")
        say(f"    lookup {wanted}")
        for inner, outer, same in packets:
            say(f"    {'equal ' if same else 'WRONG '} {outer}  {SHORT.get(inner['what'], inner['what'])} {inner['size']}")
    return sum(len(packets) for *_, packets in flows.values()), equal
