# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes pcap files."""

import struct

FILE_HEADER, PACKET_HEADER = 24, 16  # bytes
MAGIC, VERSION, SNAP_LENGTH, ETHERNET = 0xA1B2C3D4, (2, 4), 1 << 16, 1


def gue_at(frame):
    """Where GUE begins in a frame without a VLAN tag: behind Ethernet, IPv4 or IPv6, and UDP."""
    return 14 + (40 if frame[14] >> 4 == 6 else 20) + 8


def read_pcap(path):
    """The frames of a little-endian capture. A packet that is cut off at its end is left out."""
    with open(path, "rb") as file:
        data = file.read()
    at, frames = FILE_HEADER, []
    while at + PACKET_HEADER <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + PACKET_HEADER : at + PACKET_HEADER + size])
        at += PACKET_HEADER + size
    return frames


def write_pcap(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", MAGIC, *VERSION, 0, 0, SNAP_LENGTH, ETHERNET))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
