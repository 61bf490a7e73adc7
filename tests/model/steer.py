# SPDX-License-Identifier: BSD-3-Clause
"""Finds table, hash, row and hops of a flow (docs/reference/steering.md#table to #row-and-hops)."""

from dataclasses import dataclass

from .config import uses_ports
from .flow import Kind
from .quic import find_dcid, find_quoted_scid
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
    quic: str = None  # what the packet counts as: routed, down or unroutable_...; None: nothing


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


def find_server(table, flow):
    """(what the packet counts as, the backend that its connection ID names) by docs/reference/steering.md#quic."""
    bound = flow.kind is Kind.PORTS and any(b.quic and b.matches(flow.dst, flow.protocol, flow.dst_port) for b in table.binds)
    if not bound or not table.quic or flow.data is None:
        return None, None
    found = find_quoted_scid(flow.data) if flow.quoted else (find_dcid(flow.data) or [None])[0]
    if not found:
        return (None if flow.quoted else "unroutable_short"), None
    for config in table.quic:
        if config.id != found[0] >> 5:
            continue
        if len(found) < 1 + config.length:
            return "unroutable_short", None
        server_id = config.decode(found)[0]
        for backend in table.serving:
            if server_id in backend.server_ids:
                return ("routed" if backend.healthy else "down"), backend
        return "unroutable_server", None
    return "unroutable_config", None


def insert_server(hops, server):
    """The hops of a row with the server among them. All are backends."""
    if server is None or server.address == hops[0].address:
        return hops
    at = 1 if hops[0].healthy and not server.healthy else 0
    others = [hop for hop in hops if hop.address != server.address]
    return [*others[:at], server, *others[at:]][: max(2, len(hops))]


def find_route(tables, flow, config):
    table_index = find_table(tables, flow, config.hash_fields)
    table = tables[table_index]
    first_hash = packet_hash(table.hash_key, flow, config.hash_fields)
    row, alt_row = first_hash % ROWS, None
    quic, server = find_server(table, flow)
    backends = insert_server(list(table.row(row)), server)

    alt_fields = config.alt_hash_fields
    if flow.kind is Kind.LATER_FRAGMENT and uses_ports(alt_fields):
        alt_fields = ()
    if alt_fields:
        alt_row = packet_hash(table.hash_key, flow, alt_fields) % ROWS
        backends += table.row(alt_row)

    hops = list(dict.fromkeys(backend.address for backend in backends))[: MOST_HOPS[len(backends[0].address)]]
    return Route(table_index, first_hash, row, alt_row, hops, quic)
