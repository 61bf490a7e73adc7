# SPDX-License-Identifier: BSD-3-Clause
"""Tables with rows: every order of hops in docs/reference/table-rows.md, with IPv4 and with IPv6 addresses."""

import ipaddress
import itertools
import json
import re

from model import load_tables

from .settings import backends, bind, table

ROWS = [0, 1, 2, 3, 7, 254, 255, 256, 257, 511, 1000, 4095, 4096, 9999, 20000, 21845]
ROWS += [32767, 32768, 40000, 43690, 50000, 65280, 65534, 65535]
STATES = ("active", "filling", "draining", "inactive")
BINDS = [bind("10.10.10.10", "tcp", 80)]


def _shapes(most):
    """(name, hops, backends)"""
    for hops in sorted({2, 3, 4, 5, most}):
        yield f"8 backends, {hops} hops", hops, backends(8)
        yield f"one backend, {hops} hops", hops, backends(1)
        yield f"two backends, {hops} hops", hops, backends(2)
        yield f"three backends, {hops} hops", hops, backends(3)
        yield f"40 backends, {hops} hops", hops, backends(40)
        for state in ("filling", "draining"):
            yield f"all {state}, {hops} hops", hops, backends(6, state=state)
            unhealthy = backends(6, state=state, healthy=False)
            yield f"all {state} and unhealthy, {hops} hops", hops, unhealthy
        yield f"all unhealthy, {hops} hops", hops, backends(6, healthy=False)
        one_draining_healthy = backends(6, healthy=False)
        one_draining_healthy[4].update(state="draining", healthy=True)
        yield f"only a draining one is healthy, {hops} hops", hops, one_draining_healthy
        one_good = backends(12, state="draining")
        one_good[7]["state"] = "filling"
        yield f"one good of 12, {hops} hops", hops, one_good
        one_left = backends(6, state="inactive")
        one_left[2].update(state="active")
        yield f"all but one inactive, {hops} hops", hops, one_left
        one_left = backends(6, state="inactive")
        one_left[2].update(state="draining", healthy=False)
        yield f"all inactive but a bad one, {hops} hops", hops, one_left
        weighted = backends(20)
        for each, weight in zip(weighted, itertools.cycle((1, 1000, 100, 99, 300))):
            each["weight"] = weight
        yield f"20 backends with weights, {hops} hops", hops, weighted
        mixed = [dict(each, state=state) for each, state in zip(weighted, itertools.cycle(STATES))]
        mixed[1]["healthy"] = False
        yield f"weights and states, {hops} hops", hops, mixed
        yield f"equal weights, {hops} hops", hops, [dict(each, weight=7) for each in backends(8)]
    unsaid = [{"ip": b["ip"], "state": b["state"]} for b in backends(4)]
    yield "health not said", 2, unsaid


def _ipv4(members):
    return members


def _ipv6(members):
    """The same members of a table with IPv6 addresses of proxies. They differ in the first half, in the second half, or in both."""
    def address(match):
        network, host = int(match[1]), int(match[2])
        return f'"{ipaddress.IPv6Address((0xFD00 << 112) + (network << 80) + (host // 2 << 64) + host * 257)}"'

    return json.loads(re.sub(r'"192\.168\.(\d+)\.(\d+)"', address, json.dumps(members)))


MOST_HOPS = {_ipv4: 8, _ipv6: 5}


def _case(family, name, hops, backend_list, seed_name=None):
    case_table = table(seed_name or name, BINDS, family(backend_list), hops)
    case_table["name"] = "web"
    return f"{name}, IPv6" if family is _ipv6 else name, {"tables": [case_table]}, ROWS


def _owner_pairs(family):
    """Every pair of state and health for the first two natural owners of row 0."""
    seed_name = "pairs"
    plain = {"tables": [table(seed_name, BINDS, family(backends(5)))]}
    natural = load_tables(plain)[0].natural_order(0)
    owners = [str(ipaddress.ip_address(backend.address)) for backend in natural[:2]]
    kinds = list(itertools.product(STATES, (True, False)))
    for hops in (2, 3):
        for pair in itertools.product(kinds, kinds):
            backend_list = family(backends(5))
            for owner, (state, healthy) in zip(owners, pair):
                for backend in backend_list:
                    if backend["ip"] == owner:
                        backend.update(state=state, healthy=healthy)
            said = [f"{state} {'healthy' if healthy else 'unhealthy'}" for state, healthy in pair]
            name = f"owners {said[0]} and {said[1]}, {hops} hops"
            yield _case(family, name, hops, backend_list, seed_name)


def _previous(day, backend_list, ill=(), **members):
    """A previous state; the backends at the places `ill` were not healthy in it, and the others do not say that they were."""
    listed = [{key: backend[key] for key in ("ip", "weight") if key in backend} for backend in backend_list]
    for place in ill:
        listed[place]["healthy"] = False
    return {"time": f"2026-01-{day:02}T00:00:00Z", **members, "backends": listed}


def _matched_tables(most):
    """(name, hops, backends, members): tables with balance and previous states. All have one seed."""
    equal, weighted = backends(10), backends(10)
    for each, weight in zip(weighted, itertools.cycle((100, 300, 50))):
        each["weight"] = weight
    mixed = [dict(each, state=state) for each, state in zip(weighted, ("active", "active", "filling", "active", "draining"))]
    mixed += [dict(mixed[0], ip="192.168.50.99", state="inactive"), dict(mixed[1], ip="192.168.50.98", healthy=False)]
    yield "balance, 2 hops", 2, equal, {"balance": 1.005}
    yield "balance, weights and states, 3 hops", 3, mixed, {"balance": 1.01}
    yield "balance, nobody takes new connections, 3 hops", 3, backends(4, state="draining"), {"balance": 1.1}
    history = [_previous(3, equal[1:], balance=1.005), _previous(2, equal[1:]), _previous(1, equal[3:9])]
    yield "previous states, 4 hops", 4, equal[:9], {"previous": history}
    history = [_previous(3, weighted[:4], balance=1.02), _previous(2, [dict(each, weight=70) for each in mixed]),
               _previous(1, backends(3)[::-1])]
    yield f"balance and previous states with weights, {most} hops", most, mixed, {"balance": 1.02, "previous": history}
    yield "a previous state without proxies, 2 hops", 2, equal, {"previous": [_previous(1, [])]}
    ill = [dict(each, healthy=healthy) for each, healthy in zip(weighted, itertools.cycle((True, False, True, True, False)))]
    yield "unhealthy proxies and balance, 4 hops", 4, ill, {"balance": 1.02}
    yield f"unhealthy proxies and previous states, {most} hops", most, ill, {"previous": [_previous(2, ill[4:]), _previous(1, ill[:5])]}


def _with(backend_list, **kinds):
    """The backends, those at the given places with these members: _with(list, draining=[1], ill=[2])."""
    members = {"draining": {"state": "draining"}, "inactive": {"state": "inactive"}, "ill": {"healthy": False}}
    changed = [dict(backend) for backend in backend_list]
    for kind, places in kinds.items():
        for place in places:
            changed[place].update(members[kind])
    return changed


def _tables_with_health(most):
    """(name, hops, backends, members): previous states that know who was healthy. All have one seed."""
    six = backends(6)
    first_two = [_previous(1, six[:2])]
    yield "a holder that is down beside one that lives", 2, _with(six, ill=[0]), {"previous": [_previous(2, six[:1]), *first_two]}
    yield "a holder that is down, and nobody else holds", 2, _with(six, ill=[0]), {"previous": [_previous(1, six[:1])]}
    yield "an unhealthy proxy of a state was not first", 2, six, {"previous": [_previous(1, six[:2], ill=[0])]}
    yield "an unhealthy proxy of a state with balance", 3, six, {"previous": [_previous(1, six[:3], ill=[1], balance=1.01)]}
    yield "a state with balance and an unhealthy proxy that is down again", 3, _with(six, ill=[1]), {
        "balance": 1.02, "previous": [_previous(1, six[:3], ill=[1], balance=1.005)]}
    yield "a state in which nobody was healthy", 2, six, {"previous": [_previous(1, six[:3], ill=range(3))]}
    yield "a state with balance in which nobody was healthy", 3, six, {
        "previous": [_previous(2, six[:2], ill=range(2), balance=1.1), *first_two]}
    many = [_previous(6 - n, six[n:n + 1]) for n in range(6)]
    yield "more holders than hops", 3, six, {"previous": many}
    yield "more holders than hops, and one of them lives", 3, _with(six, ill=range(5)), {"previous": many}
    yield "holders that drain, are inactive or have left", 3, _with(six, draining=[0, 1], ill=[1], inactive=[2]), {
        "previous": [_previous(2, [dict(six[0], ip="192.168.50.99"), six[2]]), *first_two]}
    yield "nobody is healthy, previous states", 3, _with(six, ill=range(6)), {"previous": [_previous(2, six[4:], ill=[0]), *first_two]}
    yield "nobody is healthy, balance and previous states", 3, _with(six, ill=range(6), draining=[2]), {
        "balance": 1.01, "previous": first_two}
    yield "only draining ones are left, and one is down", 3, _with(six, draining=range(6), ill=[3]), {"previous": many[2:4]}
    yield "a state that glb-healthcheck has added", 2, _with(six, ill=[2]), {
        "previous": [_previous(2, six, ill=[1], by_health=True), _previous(1, six, by_health=False)]}
    weighted = _with([dict(each, weight=weight) for each, weight in zip(backends(8), itertools.cycle((100, 300, 50)))], ill=[1, 6], draining=[4])
    states = [_previous(4, weighted, ill=[1, 2], balance=1.02), _previous(3, [dict(each, weight=70) for each in weighted[1:]], ill=[0, 3]),
              _previous(2, weighted[:4], ill=[3], balance=1.5), _previous(1, weighted[5:])]
    for hops in range(2, most + 1):
        yield "health, weights, balance and previous states", hops, weighted, {"balance": 1.02, "previous": states}


def _equal_labels():
    """(name, members): IPv6 addresses with the same label, and so with the same score in every row."""
    one, other = backends(2)
    one["ip"], other["ip"] = "fd00::d1:4aeb:a28e:d0be", "fd00::86:77aa:3b1f:6ae6"
    more = _ipv6(backends(3))
    yield "two backends with the same label", {"backends": [more[0], other, *more[1:], one]}
    yield "one with the same label is down", {"backends": [other, *more, dict(one, healthy=False)]}
    yield "the same label, balance", {"backends": [one, *more, other], "balance": 1.005}
    yield "the same label, previous states", {"backends": [one, *more], "previous": [_previous(2, [other, *more]), _previous(1, [other, one])]}
    yield "the same label, previous states and 4 hops", {
        "hops": 4, "backends": [*more, other, one], "previous": [_previous(2, [one, *more]), _previous(1, [other, one], balance=1.1)]}


def _first_differences(plain, matched):
    """The first rows with another first hop, and the first rows that differ at all."""
    moved, changed = [], []
    for row, (before, after) in enumerate(zip(plain, matched)):
        if before[0] != after[0] and len(moved) < 12:
            moved.append(row)
        if before != after and len(changed) < 12:
            changed.append(row)
        if len(moved) == len(changed) == 12:
            break
    return moved, changed


def _matched_cases(family):
    tables = [(name, hops, backend_list, members, "matched") for name, hops, backend_list, members in _matched_tables(MOST_HOPS[family])]
    tables += [(f"{name}, {hops} hops", hops, backend_list, members, "health") for name, hops, backend_list, members in _tables_with_health(MOST_HOPS[family])]
    for name, hops, backend_list, members, seed_name in tables:
        name, document, rows = _case(family, name, hops, backend_list, seed_name)
        plain = load_tables(document)[0].each_row()
        document["tables"][0].update(family(members))
        moved, changed = _first_differences(plain, load_tables(document)[0].each_row())
        yield name, document, sorted({*rows, *moved, *changed})


def collect():
    """Yields (name, table document, rows) of every case."""
    for family in (_ipv4, _ipv6):
        for shape in _shapes(MOST_HOPS[family]):
            yield _case(family, *shape)
        yield from _matched_cases(family)
        yield from _owner_pairs(family)
    for name, members in _equal_labels():
        yield name, {"tables": [{**table(name, BINDS, []), "seed": "c0111de00102030405060708090a0b0c", **members}]}, ROWS
