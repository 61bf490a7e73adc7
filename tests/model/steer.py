# SPDX-License-Identifier: BSD-3-Clause
"""Finds table, hash, row and hops of a flow (docs/reference/steering.md#table to #row-and-hops)."""

from dataclasses import dataclass

from .config import uses_ports
from .flow import Kind
from .siphash import siphash24
from .table import ROWS
from .verdict import UNMATCHED, Stop


MOST_HOPS = {4: 16, 16: 8}  # of a packet, by the size of an address


@dataclass(frozen=True)
class Route:
    table_index: int
    hash: int  # H of the first hash, a 64-bit number
    row: int
    alt_row: int  # None if there is no second hash
    hops: list  # addresses as bytes, first hop first


def find_table(tables, flow, hash_fields):
    """The index of the flow's table. Raises Stop if there is none."""
    if flow.kind is Kind.PORTS:
        found = [
            index
            for index, table in enumerate(tables)
            if any(b.matches(flow.dst, flow.protocol, flow.dst_port) for b in table.binds)
        ]
    else:
        found = [
            index
            for index, table in enumerate(tables)
            if any(bind.covers(flow.dst) for bind in table.binds)
        ]
    if not found:
        raise Stop(UNMATCHED)
    if flow.kind is Kind.LATER_FRAGMENT and (len(found) > 1 or uses_ports(hash_fields)):
        raise Stop("drop_fragment")
    return found[0]


def packet_hash(hash_key, flow, fields):
    """The 64-bit hash H."""
    values = {
        "src_addr": flow.src,
        "dst_addr": flow.dst,
        "src_port": flow.src_port.to_bytes(2, "big"),
        "dst_port": flow.dst_port.to_bytes(2, "big"),
    }
    message = b"".join(values[name] for name in fields)
    return int.from_bytes(siphash24(hash_key, message), "little")


def find_route(tables, flow, config):
    table_index = find_table(tables, flow, config.hash_fields)
    table = tables[table_index]
    first_hash = packet_hash(table.hash_key, flow, config.hash_fields)
    row, alt_row = first_hash % ROWS, None
    backends = list(table.row(row))

    alt_fields = config.alt_hash_fields
    if flow.kind is Kind.LATER_FRAGMENT and uses_ports(alt_fields):
        alt_fields = ()
    if alt_fields:
        alt_row = packet_hash(table.hash_key, flow, alt_fields) % ROWS
        backends += table.row(alt_row)

    hops = list(dict.fromkeys(backend.address for backend in backends))[: MOST_HOPS[len(backends[0].address)]]
    return Route(table_index, first_hash, row, alt_row, hops)
