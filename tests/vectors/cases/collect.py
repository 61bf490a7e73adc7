# SPDX-License-Identifier: BSD-3-Clause
"""Collects packets with the verdicts that their author expects."""

from . import frames as f
from .settings import TABLES

CLIENT4, CLIENT6 = "198.51.100.7", "2001:db8::7"
VIP4, VIP6 = "10.10.10.10", "fdb4::10"
ROUTER4, ROUTER6 = "203.0.113.1", "2001:db8:ffff::1"  # a router that sends ICMP errors
CLIENT = {4: CLIENT4, 6: CLIENT6}
VIP = {4: VIP4, 6: VIP6}
ROUTER = {4: ROUTER4, 6: ROUTER6}
ICMP_OF_FAMILY = {4: f.ICMP, 6: f.ICMPV6}


class Packets:
    def __init__(self):
        self.cases = []
        self._names = set()

    def add(self, name, frame, expect="forwarded", config="default", table="main", **facts):
        """`facts` are further expected results: `hops` (their number), `table_index` or `hint`."""
        assert name not in self._names, name
        self._names.add(name)
        self.cases.append((name, frame, expect, config, table, facts))

    def add_outer_ipv6(self):
        """
        Adds each packet that is forwarded, to the same table with proxies that have IPv6 addresses. Their outer headers are longer, so
        packets about as long as the MTU have cases of their own.
        """
        for name, frame, expect, config, table, facts in list(self.cases):
            small = len(frame) <= 1300 and "576" not in config
            if expect == "forwarded" and small and f"{table} ipv6" in TABLES:
                self.add(f"outer ipv6/{name}", frame, expect, config, f"{table} ipv6", **facts)


def ip_packet(family, protocol, payload, src=None, dst=None, **fields):
    """An IPv4 or IPv6 packet, by default from the client to the service."""
    build = f.ipv4 if family == 4 else f.ipv6
    return build(src or CLIENT[family], dst or VIP[family], protocol, payload, **fields)


def ip_frame(family, protocol, payload, **fields):
    return f.ethernet(ip_packet(family, protocol, payload, **fields))


def chain(headers, protocol, payload):
    """Puts extension headers before a payload. Returns (number of the first header, bytes).

    `headers`: pairs of a number and a function from the next header's number to the bytes.
    """
    for number, build in reversed(headers):
        payload = build(protocol) + payload
        protocol = number
    return protocol, payload
