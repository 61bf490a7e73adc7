# SPDX-License-Identifier: BSD-3-Clause
"""Which next hop a packet goes to, if several lead to its first hop."""

from typing import NamedTuple, Optional

WIDTH = 256
MASK64 = (1 << 64) - 1


class NextHop(NamedTuple):
    id: int
    mac: Optional[bytes]  # None: not known
    weight: int = 1


def _mix(value):
    """The finaliser of SplitMix64."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK64
    return value ^ value >> 31


def _preferences(next_hop):
    """All slots, the preferred ones first."""
    random = _mix(next_hop.id + 1 & MASK64)
    first, step = random & 0xFF, random >> 32 & 0xFF | 1
    return [(first + i * step) % WIDTH for i in range(WIDTH)]


def _assign(next_hops):
    """{slot: next hop}"""
    owners = {}
    credit = {next_hop: 0 for next_hop in next_hops if next_hop.weight}
    preferences = {next_hop: iter(_preferences(next_hop)) for next_hop in credit}
    total = sum(next_hop.weight for next_hop in credit)
    while credit and len(owners) < WIDTH:
        for next_hop in credit:
            credit[next_hop] += next_hop.weight
        best = min(credit, key=lambda next_hop: (-credit[next_hop], next_hop.id))
        credit[best] -= total
        slot = next(slot for slot in preferences[best] if slot not in owners)
        owners[slot] = best
    return owners


def macs(next_hops):
    """The MAC of each slot, or None."""
    owners = _assign(next_hops)
    reachable = _assign([next_hop for next_hop in next_hops if next_hop.mac])

    def mac(slot):
        owner = owners.get(slot)
        if owner is None or not owner.mac:
            owner = reachable.get(slot)
        return owner.mac if owner else None

    return [mac(slot) for slot in range(WIDTH)]


def choose(next_hops, source_port):
    """The MAC for a packet with this outer source port, or None."""
    return macs(next_hops)[source_port % WIDTH]
