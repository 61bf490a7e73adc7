# SPDX-License-Identifier: BSD-3-Clause
"""The binary forwarding table, version 3 (docs/reference/table-binary.md#version-3-file)."""

import struct

from .siphash import siphash24
from .table import ROWS

HEADER = struct.Struct("<4sIQ8sIIQ")
TABLE = struct.Struct("<16sIIIIIIIBBBx")
BACKEND = struct.Struct("<BBBx16s")
BIND = struct.Struct("<BBBB16sHH")
EXTENSION = struct.Struct("<HHBxxx")
QUIC = struct.Struct("<BBB?16s")
SERVER_ID = struct.Struct("<B15s")
STATE = struct.Struct("<QIHxx")
STATE_BACKEND = struct.Struct("<H?x")  # between the address and the server IDs
FAMILY = {4: 1, 16: 2}  # {bytes of the address: family}
STATES = {"filling": 0, "active": 1, "draining": 2, "inactive": 3}


def _thousandths(balance):
    return int(balance * 1000) if balance else 0


def _rows(table):
    index = {backend.address: i for i, backend in enumerate(table.backends)}
    rows = table.all_rows()
    return len(rows[0]), b"".join(struct.pack(f"<{len(row)}H", *(index[hop.address] for hop in row)) for row in rows)


def _server_ids(table, ids):
    return b"".join(SERVER_ID.pack(len(each), each) for each in (*ids, b"", b"")[:2]) if table.quic else b""


def _extension(table):
    """Empty if the table has none."""
    if not table.balance and not table.previous and not table.quic and all(backend.weight == 100 for backend in table.backends):
        return b""
    out = EXTENSION.pack(_thousandths(table.balance), len(table.previous), len(table.quic))
    out += struct.pack(f"<{len(table.backends)}H", *(backend.weight for backend in table.backends))
    out += bytes(-len(out) % 8)
    out += b"".join(QUIC.pack(each.id, each.server_id_length, each.nonce_length, bool(each.key), each.key or bytes(16)) for each in table.quic)
    out += b"".join(_server_ids(table, backend.server_ids) for backend in table.backends)
    for state in table.previous:
        out += STATE.pack(state.time, len(state.weights), _thousandths(state.balance))
        for address, weight in state.weights.items():
            out += address + STATE_BACKEND.pack(weight, address in state.unhealthy) + _server_ids(table, state.server_ids[address])
    return out


def write_v3(tables, replaces=0):
    """The content of a version 3 file."""
    out = bytearray(HEADER.size + TABLE.size * len(tables))
    known = {}  # rows: where they are
    built = {}  # what rows follow from: the rows, because the model takes seconds

    def append(section):
        out.extend(bytes(-len(out) % 8))
        out.extend(section)
        return len(out) - len(section)

    for number, table in enumerate(tables):
        inputs = repr((table.seed, table.hops, table.balance, table.backends, table.previous))
        name, (row_hops, rows) = table.name.encode(), built.get(inputs) or built.setdefault(inputs, _rows(table))
        offsets = append(name), append(b"".join(
            BACKEND.pack(FAMILY[len(b.address)], STATES[b.state], b.healthy, b.address) for b in table.backends)), append(b"".join(
                BIND.pack(FAMILY[len(b.network)], b.protocol, b.prefix_length, b.quic, b.network, b.port_start, b.port_end) for b in table.binds))
        if (row_hops, rows) not in known:
            known[row_hops, rows] = append(rows)
        TABLE.pack_into(out, HEADER.size + TABLE.size * number, table.hash_key, offsets[0], len(name), offsets[1], len(table.backends),
                        offsets[2], len(table.binds), known[row_hops, rows], row_hops, table.hops, bool(_extension(table)))
    for table in tables:
        if _extension(table):
            append(_extension(table))
    HEADER.pack_into(out, 0, b"GLBD", 3, len(out), bytes(8), len(tables), ROWS, replaces)
    out[16:24] = siphash24(bytes(16), bytes(out))
    return bytes(out)
