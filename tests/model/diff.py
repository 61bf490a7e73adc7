# SPDX-License-Identifier: BSD-3-Clause
"""Compares two table sets (docs/reference/cli.md#diff).

Instead of sweeping over ranges like the director's programs, it tries one packet of every region that no bind divides.
"""

from dataclasses import replace
from fractions import Fraction
from math import ceil

from .table import ROWS


def corners(binds, size, own):
    """An address of each region of `own` that the binds do not divide, and a port of each range."""
    addresses, ports = set(), set()
    for bind in binds:
        first = int.from_bytes(bind.network, "big")
        if len(bind.network) == size:
            addresses |= {first, first + (1 << (8 * size - bind.prefix_length))}
        ports |= {bind.port_start, bind.port_end + 1}
    addresses = (a.to_bytes(size, "big") for a in addresses if a < 1 << 8 * size)
    ports = [port for port in ports if own.port_start <= port <= own.port_end]
    return [(address, port) for address in addresses if own.covers(address) for port in ports]


def first_match(tables, packet):
    """(index of the table, index of the bind), or None"""
    for t, table in enumerate(tables):
        for b, bind in enumerate(table.binds):
            if bind.matches(*packet):
                return t, b
    return None


def fates(tables, others):
    """{(table, bind): indexes of the other set's tables that get packets of the bind; None: no table}"""
    binds = [bind for table in tables + others for bind in table.binds]
    result = {}
    for t, table in enumerate(tables):
        for b, bind in enumerate(table.binds):
            packets = [(address, bind.protocol, port) for address, port in corners(binds, len(bind.network), bind)]
            matches = [first_match(others, packet) for packet in packets if first_match(tables, packet) == (t, b)]
            result[t, b] = {match and match[0] for match in matches}
    return result


def pair(old, new, moves):
    """{index in new: index in old}"""
    pairs = {}

    def free():
        return [(o, n) for o in range(len(old)) for n in range(len(new)) if n not in pairs and o not in pairs.values()]

    def shared(o, n):
        return sum(n in moves[o, b] for b in range(len(old[o].binds)))

    def named(o, n):
        names = [[table.name for table in tables] for tables in (old, new)]
        name = old[o].name
        return bool(name) and name == new[n].name and all(side.count(name) == 1 for side in names)

    for fit in (
        named,
        shared,
        lambda o, n: old[o].hash_key == new[n].hash_key,
        lambda o, n: o == n and not (old[o].name and new[n].name),
    ):
        while fitting := [(-fit(o, n), o, n) for o, n in free() if fit(o, n)]:
            _, o, n = min(fitting)
            pairs[n] = o
    return pairs


def natural_orders(table):
    """{address: place} of each row, in natural order. That is the order of the hops if all backends are good."""
    good = [replace(backend, state="active", healthy=True) for backend in table.serving]
    rows = replace(table, hops=len(good), backends=good, _rows={}).all_rows()
    return [{backend.address: place for place, backend in enumerate(row)} for row in rows]


def compare_rows(old, new):
    """(changed, broken, at risk, {address: rows that still reach it})"""
    if not new:
        return ROWS, ROWS, 0, {}
    same_key = old.hash_key == new.hash_key
    changed = broken = at_risk = 0
    reached = {}
    for before, after, order in zip(old.all_rows(), new.all_rows(), natural_orders(old)):
        there = {backend.address for backend in after}
        changed += before[0].address != after[0].address or not same_key
        missing = [backend for backend in before[1:] if backend.address not in there]
        if before[0].address not in there or not same_key:
            broken += 1
            continue
        owner = order[before[0].address]
        drained = [b for b in missing if not b.good and order[b.address] < owner]
        for backend in drained:
            reached[backend.address] = reached.get(backend.address, 0) + 1
        broken += bool(drained)
        at_risk += bool(missing) and not drained
    return changed, broken, at_risk, reached


def diff_table(o, n, old, new, moves):
    """The counts of an old table, which table n of the new set replaces (None: none)."""
    fates_of_binds = [moves[o, b] for b in range(len(old[o].binds)) if moves[o, b]]
    results = {None: (ROWS, ROWS)}
    for to in set().union(*fates_of_binds) - {None}:
        results[to] = compare_rows(old[o], new[to])[:2]
    _, _, at_risk, reached = compare_rows(old[o], None if n is None else new[n])

    def mean(what):
        worst = [max(results[to][what] for to in fates) for fates in fates_of_binds]
        return ceil(Fraction(sum(worst), len(worst))) if worst else 0

    udp = [fates for b, bind in enumerate(old[o].binds) if bind.protocol == 17 and (fates := moves[o, b])]
    moved = [max((results[to][0] for to in fates if to is not None), default=0) for fates in udp]
    rows = ROWS if fates_of_binds else 0
    return {"rows": rows, "changed": mean(0), "broken": mean(1), "at_risk": at_risk if rows else 0, "reached": reached,
            "udp_binds": len(udp), "udp_moved": ceil(Fraction(sum(moved), len(udp))) if udp else 0}


def bind_changes(index, partner, table, moves, gone):
    """[(bind, change, part, index of the new table)] of the binds that have not all packets in the partner."""
    changes = []
    for b, bind in enumerate(table.binds):
        others = moves[index, b] - (set() if partner is None else {partner})
        if None in others:
            changes.append((bind, gone, len(moves[index, b]) > 1, None))
        elif others and gone == "lost":
            changes.append((bind, "moved", len(moves[index, b]) > 1, min(others)))
    return changes


def diff(old, new):
    """{"pairs": [(old index or None, new index or None, counts or None, binds)], "rows": ..., "broken": ...}

    The tables come from JSON. A new table's binds that have come from another table are not listed.
    """
    moves, origins = fates(old, new), fates(new, old)
    pairs = pair(old, new, moves)
    result = []
    for n, table in enumerate(new):
        o = pairs.get(n)
        binds = [] if o is None else bind_changes(o, n, old[o], moves, "lost")
        binds += bind_changes(n, o, table, origins, "added")
        result.append((o, n, None if o is None else diff_table(o, n, old, new, moves), binds))
    for o, table in enumerate(old):
        if o not in pairs.values():
            result.append((o, None, diff_table(o, None, old, new, moves), bind_changes(o, None, table, moves, "lost")))
    counted = [counts for _, _, counts, _ in result if counts and counts["rows"]]
    total = {key: sum(counts[key] for counts in counted) for key in ("rows", "changed", "broken", "at_risk", "udp_moved")}
    return {"pairs": result, **total}
