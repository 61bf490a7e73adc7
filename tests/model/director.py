# SPDX-License-Identifier: BSD-3-Clause
"""The director: takes a frame, and returns its verdict and at most one frame to send."""

import ipaddress
from typing import NamedTuple, Optional

from . import verdict
from .admission import admit, check_source, vlan_ids
from .config import Config, mac_bytes
from .encap import encapsulate, ethernet, overhead, source_port, too_big_reply
from .flow import parse_frame
from .next_hops import macs
from .reply import may_reply
from .steer import find_route
from .table import load_tables
from .underlay import read_message

NOT_STEERED = {
    "table_index": None,
    "row": None,
    "alt_row": None,
    "hash": None,
    "hint": None,
    "hops": [],
    "quic": None,
}


class Result(NamedTuple):
    verdict: str
    out: Optional[bytes]  # the frame to send, or None
    explain: dict  # has the keys of NOT_STEERED, and its values if no row was looked up


class Director:
    """The director without queues and rate limits.

    config   keys of director.conf as a dict, or a Config
    tables   a JSON document as a dict, or a list of Table
    port_mac   of the port that sends
    rx_mac   of the port that receives, if that is another one
    port_mac, rx_mac, gateway_mac   "aa:bb:..." or bytes; gateway_mac is needed if the configuration says "auto"
    next_hops   instead of gateway_mac: {address of a backend: a list of NextHop}
    """

    def __init__(self, config, tables, port_mac="02:00:00:00:00:01", gateway_mac=None, next_hops=None,
                 rx_mac=None):
        self.config = config if isinstance(config, Config) else Config.from_dict(config)
        self.tables = load_tables(tables) if isinstance(tables, dict) else list(tables)
        self.port_mac = _mac(port_mac)
        self.rx_mac = _mac(rx_mac) or self.port_mac
        self.gateway_mac = _mac(gateway_mac) or self.config.outbound_gateway_mac
        self.next_hops = next_hops and {
            ipaddress.ip_address(address).packed: macs(some) for address, some in next_hops.items()
        }
        if self.gateway_mac is None and self.next_hops is None:
            raise ValueError('outbound_gateway_mac is "auto": pass gateway_mac or next_hops')

    def process(self, frame):
        explain = dict(NOT_STEERED)
        try:
            admit(frame, self.config, self.rx_mac)
            packet = parse_frame(
                frame,
                self.config.forward_icmp_ping_responses,
                lambda src, dst: check_source(src, dst, self.config),
            )
            route = find_route(self.tables, packet.flow, self.config)
            explain.update(
                table_index=route.table_index,
                row=route.row,
                alt_row=route.alt_row,
                hash=f"{route.hash:016x}",
                hint=packet.flow.hint,
                hops=[str(ipaddress.ip_address(hop)) for hop in route.hops],
                quic=route.quic,
            )
            decision, out = self._send(packet, route)
        except verdict.Stop as stop:
            decision, out = stop.verdict, None
        if decision == verdict.UNMATCHED and read_message(frame, self.config, self.tables):
            decision = "underlay_too_big"
        if decision == verdict.UNMATCHED:
            no_path = self.config.exception_path == "none"
            decision = "drop_unmatched" if no_path else "exception"
        if out:
            out = out[:12] + self._tags(decision, frame) + out[12:]
        return Result(decision, out, explain)

    def _tags(self, decision, received):
        """The tags of a frame to send. A reply to the sender's MAC address stays in its VLAN."""
        if decision == "answered_too_big" and self.config.outbound_gateway_mac is None:
            return received[12 : 12 + 4 * len(vlan_ids(received))]
        vlan = self.config.outbound_vlan
        return b"\x81\x00" + vlan.to_bytes(2, "big") if vlan else b""

    def _send(self, packet, route):
        room = self.config.outbound_mtu - overhead(route.hops)
        mac = self._next_hop(packet, route)
        if mac is None:
            raise verdict.Stop("drop_no_next_hop")
        if len(packet.data) > room:
            return self._too_big(packet, room)
        outer = encapsulate(
            packet.family,
            packet.data,
            route.hops,
            route.hash,
            packet.flow.hint,
            self.config.source(len(route.hops[0])),
            self.config.outbound_udp_checksum,
        )
        return "forwarded", ethernet(mac, self.port_mac, outer[0] >> 4, outer)

    def _next_hop(self, packet, route):
        if self.next_hops is None:
            return self.gateway_mac
        slots = self.next_hops.get(route.hops[0])
        return slots and slots[source_port(route.hash, packet.flow.hint) % len(slots)]

    def _too_big(self, packet, room):
        header = packet.header
        if not may_reply(packet, self.config, self.tables):
            raise verdict.Stop("drop_too_big")
        answer = too_big_reply(
            packet.family, packet.data, src=header.dst, dst=header.src, mtu=room
        )
        fixed = self.config.outbound_gateway_mac is not None
        back = self.gateway_mac if fixed else packet.macs[6:]
        out = ethernet(back, self.port_mac, packet.family, answer)
        return "answered_too_big", out


def _mac(mac):
    return mac_bytes(mac) if isinstance(mac, str) else mac
