# SPDX-License-Identifier: BSD-3-Clause
"""Capture files as lists of frames: the classic format, little-endian, Ethernet."""

import struct

MAGIC, MAGIC_NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D
FILE_HEADER = struct.Struct("<IHHiIII")
RECORD_HEADER = struct.Struct("<IIII")
ETHERNET = 1


def write(path, frames):
    with open(path, "wb") as file:
        file.write(FILE_HEADER.pack(MAGIC, 2, 4, 0, 0, 65535, ETHERNET))
        for frame in frames:
            file.write(RECORD_HEADER.pack(0, 0, len(frame), len(frame)) + frame)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    magic, _, _, _, _, _, link_type = FILE_HEADER.unpack_from(data)
    assert magic in (MAGIC, MAGIC_NANOSECONDS) and link_type == ETHERNET, f"{path}: not a capture"
    frames, at = [], FILE_HEADER.size
    while at < len(data):
        _, _, captured, original = RECORD_HEADER.unpack_from(data, at)
        assert captured == original, f"{path}: frame {len(frames)} was cut to {captured} bytes"
        at += RECORD_HEADER.size
        frames.append(data[at : at + captured])
        at += captured
    return frames
