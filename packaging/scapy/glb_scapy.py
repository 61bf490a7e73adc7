# SPDX-License-Identifier: BSD-3-Clause
"""A layer of scapy for the GUE packets of GLB Director (docs/reference/gue.md). `import glb_scapy` is enough to read captures.

    >>> from scapy.all import IP, TCP, UDP
    >>> from glb_scapy import GLB
    >>> packet = IP(dst="192.168.50.10") / UDP(sport=40000, chksum=0) / GLB(hops=["192.168.50.11"]) / IP() / TCP(dport=80)

Scapy fills the header length, the hop count, the inner protocol and the UDP port, unless they are given: so malformed packets
can be made, too.
"""

from scapy.fields import BitField, ByteEnumField, FieldLenField, FieldListField, IPField, ShortField, XShortField, ByteField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, bind_layers

PORT = 19523


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
        ShortField("type", 0),
        ByteField("next_index", 0),
        FieldLenField("hop_count", None, fmt="B", count_of="hops"),
        FieldListField("hops", [], IPField("", "0.0.0.0"), count_from=lambda packet: packet.hop_count),
    ]

    def post_build(self, header, payload):
        first, protocol = header[0], header[1]
        if self.hlen is None:
            first |= (len(header) // 4 - 1) & 0x1F
        if self.protocol is None and payload:
            protocol = {4: 4, 6: 41}.get(payload[0] >> 4, 0)
        return bytes([first, protocol]) + header[2:] + payload

    def guess_payload_class(self, payload):
        return {4: IP, 41: IPv6}.get(self.protocol) or super().guess_payload_class(payload)

    def mysummary(self):
        return self.sprintf("GLB next %next_index% of %hops%")


bind_layers(UDP, GLB, dport=PORT)
