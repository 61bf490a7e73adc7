# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes capture files: pcap (little-endian, Ethernet). Also writes pcapng."""

import struct

MAGIC, MAGIC_NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D
FILE_HEADER = struct.Struct("<IHHiIII")
RECORD_HEADER = struct.Struct("<IIII")
ETHERNET = 1


def write(path, frames, link_type=ETHERNET, snap=262144, times=None):
    """Writes microsecond time stamps. Frames are cut to `snap` bytes. `times` in seconds; by default frame i is at 1000 + i."""
    with open(path, "wb") as file:
        file.write(FILE_HEADER.pack(MAGIC, 2, 4, 0, 0, snap, link_type))
        for index, frame in enumerate(frames):
            time = times[index] if times else 1000 + index
            kept = frame[:snap]
            file.write(RECORD_HEADER.pack(int(time), round(time % 1 * 1e6), len(kept), len(frame)))
            file.write(kept)
    return path


def _ng_block(kind, body):
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + size + body + size


def write_ng(path, frames):
    """Writes pcapng with nanosecond time stamps. Frame i is at 1000 s + i ns."""
    resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    blocks = _ng_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    blocks += _ng_block(1, struct.pack("<HHI", ETHERNET, 0, 262144) + resolution)
    for index, frame in enumerate(frames):
        time = 1000 * 10**9 + index
        head = struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame))
        blocks += _ng_block(6, head + frame)
    path.write_bytes(blocks)
    return path


def read_records(path):
    """[(nanoseconds, captured bytes, length on the wire)]"""
    with open(path, "rb") as file:
        data = file.read()
    magic, _, _, _, _, _, link_type = FILE_HEADER.unpack_from(data)
    assert magic in (MAGIC, MAGIC_NANOSECONDS) and link_type == ETHERNET, f"{path} is not a capture of Ethernet frames"
    unit = 1 if magic == MAGIC_NANOSECONDS else 1000
    records, at = [], FILE_HEADER.size
    while at < len(data):
        seconds, fraction, captured, size = RECORD_HEADER.unpack_from(data, at)
        at += RECORD_HEADER.size
        records.append((seconds * 10**9 + fraction * unit, data[at : at + captured], size))
        at += captured
    assert at == len(data), f"{path} ends inside a record"
    return records


def read(path):
    """The frames. None of them may be cut."""
    records = read_records(path)
    assert all(len(frame) == size for _, frame, size in records), f"{path} has frames that were cut"
    return [frame for _, frame, _ in records]


def _options(data):
    """{code: [values]}"""
    found, at = {}, 0
    while at < len(data):
        code, size = struct.unpack_from("<HH", data, at)
        at += 4
        if code == 0:
            break
        found.setdefault(code, []).append(data[at : at + size])
        at += size + -size % 4
    return found


class NgPacket:
    """A packet of a pcapng file: interface, time in nanoseconds, frame, size on the wire, comment, direction ("in", "out") and id."""

    def __init__(self, body):
        self.interface, high, low, captured, self.size = struct.unpack_from("<IIIII", body)
        self.time, self.frame = high << 32 | low, body[20 : 20 + captured]
        options = _options(body[20 + captured + -captured % 4 :])
        self.comment = options[1][0].decode()
        self.direction = {1: "in", 2: "out"}[struct.unpack("<I", options[2][0])[0] & 3]
        self.id = struct.unpack("<Q", options[5][0])[0]


def read_ng(data):
    """([interfaces: (snap length, options)], [packets]) of a pcapng file's bytes. It may have no incomplete block."""
    interfaces, packets, at = [], [], 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        assert size % 4 == 0 and data[at + size - 4 : at + size] == struct.pack("<I", size), f"the block at {at} is not whole"
        body = data[at + 8 : at + size - 4]
        if kind == 1:
            interfaces.append((struct.unpack_from("<I", body, 4)[0], _options(body[8:])))
        if kind == 6:
            packets.append(NgPacket(body))
        at += size
    return interfaces, packets
