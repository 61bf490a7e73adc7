# SPDX-License-Identifier: BSD-3-Clause
"""Just enough of pcap and of IP to say what a packet of the demo is. Well-formed packets of the kernel only."""

import ipaddress
import struct
from dataclasses import dataclass

IPV4, IPV6 = 0x0800, 0x86DD
GUE_PORT = 19523
TCP_FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK")
PROTOCOLS = {6: "tcp", 17: "udp", 1: "icmp", 58: "icmp"}
ERRORS = {1: {3: "unreachable", 11: "expired", 12: "bad header"},
          58: {1: "unreachable", 2: "too big", 3: "expired", 4: "bad header"}}
ECHO = {1: 8, 58: 128}


def read_pcap(path):
    """The frames of a little-endian Ethernet capture, in order."""
    with open(path, "rb") as file:
        data = file.read()
    at, frames = 24, []
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16 : at + 16 + size])
        at += 16 + size
    return frames


def write_pcap(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


@dataclass(frozen=True)
class Flow:
    """What `glb-director-cli lookup` wants to know. Echo requests have no ports, but the hint of each packet."""

    protocol: str
    client: str
    vip: str
    client_port: int = None
    vip_port: int = None
    hint: int = None  # with the hash, it makes the outer source port; else the client's port does

    def lookup_arguments(self):
        ends = [_endpoint(self.client, self.client_port), _endpoint(self.vip, self.vip_port)]
        hint = [] if self.hint is None else ["--hint", str(self.hint)]
        return [*ends, "--proto", self.protocol, *hint]

    def __str__(self):
        return (f"{self.protocol} {_endpoint(self.client, self.client_port)} > "
                f"{_endpoint(self.vip, self.vip_port)}")


@dataclass(frozen=True)
class Packet:
    flow: Flow
    family: int
    size: int  # of the IP packet
    summary: str  # "SYN", "echo", "too big"


def _endpoint(address, port):
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _ip(data):
    """(family, protocol, source, destination, identification or flow label, payload)"""
    if data[0] >> 4 == 4:
        source, destination = (str(ipaddress.ip_address(data[at : at + 4])) for at in (12, 16))
        identification = struct.unpack_from("!H", data, 4)[0]
        return 4, data[9], source, destination, identification, data[4 * (data[0] & 15) :]
    source, destination = (str(ipaddress.ip_address(data[at : at + 16])) for at in (8, 24))
    return 6, data[6], source, destination, struct.unpack_from("!H", data, 2)[0], data[40:]


def inner_of(frame):
    """The IP packet in a director's GUE frame, or None for any other frame."""
    if len(frame) < 50 or frame[12:14] != b"\x08\x00" or frame[23] != 17:
        return None
    if struct.unpack_from("!H", frame, 36)[0] != GUE_PORT:
        return None
    return frame[42 + 4 + 4 * (frame[42] & 0x1F) :]


def packet_for(frame, vips):
    """The packet in `frame` if it is addressed to a VIP, or None."""
    if int.from_bytes(frame[12:14], "big") not in (IPV4, IPV6):
        return None
    data = frame[14:]
    family, protocol, source, destination, label, payload = _ip(data)
    if destination not in vips:
        return None
    size = struct.unpack_from("!H", data, 2 if family == 4 else 4)[0] + (0 if family == 4 else 40)
    if protocol in (6, 17):
        client_port, vip_port = struct.unpack_from("!HH", payload)
        flow = Flow(PROTOCOLS[protocol], source, destination, client_port, vip_port)
        return Packet(flow, family, size, _tcp(payload) if protocol == 6 else "datagram")
    if protocol in ECHO and payload[0] == ECHO[protocol]:
        return Packet(Flow("icmp", source, destination, hint=label), family, size, "echo")
    if protocol in ERRORS and payload[0] in ERRORS[protocol]:
        summary = "too big" if payload[:2] == b"\x03\x04" else ERRORS[protocol][payload[0]]
        return Packet(_quoted_flow(payload[8:]), family, size, f"ICMP {summary}")
    return None


def _quoted_flow(quote):
    """An ICMP error belongs to the flow that it quotes, as its client sends it."""
    _, protocol, vip, client, _, payload = _ip(quote)
    vip_port, client_port = struct.unpack_from("!HH", payload)
    return Flow(PROTOCOLS[protocol], client, vip, client_port, vip_port)


def _tcp(payload):
    flags = ",".join(name for bit, name in enumerate(TCP_FLAGS) if payload[13] >> bit & 1 and name != "PSH")
    data = len(payload) - 4 * (payload[12] >> 4)
    return f"{flags} +{data}" if data > 0 else flags
