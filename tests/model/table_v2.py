# SPDX-License-Identifier: BSD-3-Clause
"""The binary forwarding table, version 2 (docs/reference/table-binary.md#version-2-file)."""

import struct

from .table import ROWS, Backend, Bind, Table

SLOTS = 256  # slots for backends, and slots for binds
HEADER = struct.Struct("<4sIIIII")
COUNT = struct.Struct("<I")
BACKEND = struct.Struct("<I16sHH")
BIND = struct.Struct("<I16sHHHBx")
ROW = struct.Struct("<II")
FAMILY = {4: 1, 16: 2}  # {bytes of the address: family}
ADDRESS_LENGTH = {1: 4, 2: 16}
STATE = {"filling": 0, "active": 1, "draining": 2, "inactive": 2}
STATE_NAME = {0: "filling", 1: "active", 2: "draining"}


def _write_table(table):
    if len(table.backends) > SLOTS or len(table.binds) > SLOTS:
        raise ValueError(f"{table.name}: more than {SLOTS} backends or binds, use version 3")
    if any(len(backend.address) != 4 for backend in table.backends):
        raise ValueError(f"{table.name}: IPv6 backends, use version 3")
    index = {backend.address: i for i, backend in enumerate(table.backends)}
    backends = [
        BACKEND.pack(FAMILY[len(b.address)], b.address, STATE[b.state], b.healthy)
        for b in table.backends
    ]
    binds = [
        BIND.pack(
            FAMILY[len(b.network)],
            b.network,
            b.prefix_length,
            b.port_start,
            b.port_end,
            b.protocol,
        )
        for b in table.binds
    ]
    rows = []
    for row in table.all_rows():
        if len(row) > 2:
            raise ValueError(f"{table.name}: rows of {len(row)} hops, use version 3")
        rows.append(ROW.pack(index[row[0].address], index[row[-1].address]))
    return b"".join(
        [
            COUNT.pack(len(backends)),
            b"".join(backends).ljust(SLOTS * BACKEND.size, b"\0"),
            COUNT.pack(len(binds)),
            b"".join(binds).ljust(SLOTS * BIND.size, b"\0"),
            table.hash_key,
            b"".join(rows),
        ]
    )


def write_v2(tables):
    """The content of a version 2 file."""
    header = HEADER.pack(b"GLBD", 2, len(tables), ROWS, SLOTS, SLOTS)
    return header + b"".join([_write_table(table) for table in tables])


def _read_table(take):
    def slots(layout):
        count = take(COUNT.size)
        block = take(SLOTS * layout.size)
        used = COUNT.unpack(count)[0] * layout.size
        return layout.iter_unpack(block[:used])

    backends = [
        Backend(address[: ADDRESS_LENGTH[family]], STATE_NAME[state], bool(health))
        for family, address, state, health in slots(BACKEND)
    ]
    binds = [
        Bind(network[: ADDRESS_LENGTH[family]], prefix, protocol, start, end)
        for family, network, prefix, start, end, protocol in slots(BIND)
    ]
    hash_key = take(16)
    rows = {
        row: [backends[i] for i in dict.fromkeys(hops)]
        for row, hops in enumerate(ROW.iter_unpack(take(ROWS * ROW.size)))
    }
    return Table("", hash_key, b"", 2, binds, backends, rows)


def read_v2(data):
    """The tables of a version 2 file, which must be valid. The file has no names and seeds."""
    magic, version, count, rows, *slots = HEADER.unpack_from(data)
    if (magic, version, rows, slots) != (b"GLBD", 2, ROWS, [SLOTS, SLOTS]):
        raise ValueError(f"not a version 2 table: header {data[: HEADER.size].hex()}")
    at = HEADER.size

    def take(length):
        nonlocal at
        if at + length > len(data):
            raise ValueError(f"version 2 table ends at byte {len(data)}, not {at + length}")
        at += length
        return data[at - length : at]

    tables = [_read_table(take) for _ in range(count)]
    if at != len(data):
        raise ValueError(f"version 2 table: {len(data) - at} bytes follow the last table")
    return tables
