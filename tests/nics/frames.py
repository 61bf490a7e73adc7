# SPDX-License-Identifier: BSD-3-Clause
"""Frames made by hand, and what the director must make of them by the model."""

import socket
import struct

from lab.topology import ECHO_PORT, HTTP_PORT, VIP4
from model import Director
from model.checksum import checksum

CLIENT = "198.51.100.7"


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def frame(card, size, port, vlan=None):
    """A TCP packet to the VIP in a frame of `size` bytes, without its tag."""
    tcp = struct.pack(">HHIIBBHHH", port, HTTP_PORT if port % 2 else ECHO_PORT, 1, 0, 5 << 4, 0x10, 65535, 0, 0)
    payload = bytes((port + at) % 251 for at in range(size - 14 - 20 - len(tcp)))
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size - 14, port, 0x4000, 64, 6, 0, socket.inet_aton(CLIENT), socket.inet_aton(VIP4))
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    tag = struct.pack(">HH", 0x8100, vlan) if vlan else b""
    return mac_bytes(card.mac) + mac_bytes(card.peer_mac) + tag + b"\x08\x00" + head + tcp + payload


def by_model(card, config, table, frames):
    model = Director(config, table, port_mac=card.mac)
    return [model.process(each).out for each in frames]
