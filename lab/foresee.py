# SPDX-License-Identifier: BSD-3-Clause
"""What a table does with connections, by `glb-director-cli replay`: the packet code of a director, without a director."""

import functools

from lab.packet import write_pcap
from lab.tools import cli, cli_json, endpoint, write
from lab.topology import ECHO_PORT
from lab.wire import SYN, TCP, ip_packet, tcp_segment

MACS = bytes.fromhex("020000000001020000000002")
GATEWAY = "02:00:00:00:00:02"


@functools.cache
def syn(flow):
    vip, address, port = flow
    ethertype = b"\x86\xdd" if ":" in vip else b"\x08\x00"
    return MACS + ethertype + ip_packet(address, vip, TCP, tcp_segment(address, vip, (port, ECHO_PORT), 1, 0, SYN))


class Foresight:
    """The hops of flows in one table, whether or not a director uses it."""

    def __init__(self, director, table):
        self.director, self.table = director, table
        self.known = {}

    def hops(self, flows):
        """{flow: addresses of its hops, first hop first}"""
        self._look_up([flow for flow in flows if flow not in self.known])
        return {flow: self.known[flow] for flow in flows}

    def _look_up(self, flows):
        if not flows:
            return
        source, syns, sent = (f"{self.director.folder}/foresee.{ending}" for ending in ("json", "pcap", "gue.pcap"))
        write(source, self.table.json())
        write_pcap(syns, map(syn, flows))
        cli("replay", source, syns, sent, "--config", self.director.conf, "--gateway-mac", GATEWAY)
        named = {packet["inner"]["source"]: [packet["destination"], *packet["hops"]] for packet in cli_json("decode", sent)["packets"]}
        self.known |= {flow: named[endpoint(*flow[1:])] for flow in flows}
