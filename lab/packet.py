# SPDX-License-Identifier: BSD-3-Clause
"""Reads pcap files."""

import struct

FILE_HEADER, PACKET_HEADER = 24, 16  # bytes


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
