# SPDX-License-Identifier: BSD-3-Clause
"""A layer of scapy for the GUE packets of GLB Director (docs/reference/gue.md). `import glb_scapy` is enough to read captures.

    >>> from scapy.all import IP, TCP, UDP
    >>> from glb_scapy import GLB
    >>> packet = IP(dst="192.168.50.10") / UDP(sport=40000, chksum=0) / GLB(hops=["192.168.50.11"]) / IP() / TCP(dport=80)

Hops are IPv6 addresses behind outer IPv6, where scapy sets `type` to 1. Scapy fills the header length, the hop count, the inner
protocol, the type and the UDP port, unless they are given: so malformed packets can be made, too.
"""

from scapy.fields import BitField, ByteEnumField, ByteField, FieldLenField, FieldListField, IPField, MultipleTypeField, ShortField, XShortField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IP6Field, IPv6
from scapy.packet import Packet, bind_layers

PORT = 19523


def _count(packet):
    return packet.hop_count


def _are_ipv6(packet, hops=None):
    """Whether hops are IPv6 addresses: by the type, or if it is not given, by their text or else by the outer header."""
    kind, hops = packet.fields.get("type"), packet.fields.get("hops") if hops is None else hops
    if kind is not None or not hops:
        return kind == 1 or kind is None and isinstance(packet.underlayer, UDP) and isinstance(packet.underlayer.underlayer, IPv6)
    return any(":" in str(hop) for hop in hops)


class GLB(Packet):
    """GUE with the private data of GLB. `hops` are those after the first, which is the destination of the outer IP header.

    next_index: index in `hops` of the proxy that gets the packet if this one does not know the connection.
    """

    name = "GLB"
    fields_desc = [
        BitField("version", 0, 2),
        BitField("control", 0, 1),
        BitField("hlen", None, 5),  # words after the first
        ByteEnumField("protocol", None, {4: "IPv4", 41: "IPv6"}),
        XShortField("flags", 0),
        ShortField("type", None),  # 1: hops are IPv6 addresses
        ByteField("next_index", 0),
        FieldLenField("hop_count", None, fmt="B", count_of="hops", adjust=lambda packet, _: len(packet.hops)),
        MultipleTypeField(
            [(FieldListField("hops", [], IP6Field("", "::"), count_from=_count), (_are_ipv6, _are_ipv6))],
            FieldListField("hops", [], IPField("", "0.0.0.0"), count_from=_count),
        ),
    ]

    def post_build(self, header, payload):
        first, protocol = header[0], header[1]
        if self.hlen is None:
            first |= (len(header) // 4 - 1) & 0x1F
        if self.protocol is None and payload:
            protocol = {4: 4, 6: 41}.get(payload[0] >> 4, 0)
        kind = b"\0\1" if self.type is None and _are_ipv6(self) else header[4:6]
        return bytes([first, protocol]) + header[2:4] + kind + header[6:] + payload

    def guess_payload_class(self, payload):
        return {4: IP, 41: IPv6}.get(self.protocol) or super().guess_payload_class(payload)

    def mysummary(self):
        return self.sprintf("GLB next %next_index% of %hops%")


bind_layers(UDP, GLB, dport=PORT)
