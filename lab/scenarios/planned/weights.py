# SPDX-License-Identifier: BSD-3-Clause
"""Weights give each proxy its share of the connections."""

from collections import Counter

from lab.scenarios.planned.walk import Walk
from lab.table import WrittenTable
from lab.tools import cli

SUMMARY = "proxies with weights 1:2:4 get these shares of connections; then one weight changes, and no connection breaks"
# A row has room for all proxies, so each of them is in every row while the directors have different weights.
WEIGHTS = {"proxy-1": 100, "proxy-2": 200, "proxy-3": 400}
CHANGED = ("proxy-3", 100)
EACH = 3500
OFF = 0.02  # how far a share of all connections may be from that of the weights


def run(stage):
    fleet = stage.fleet
    for name, weight in WEIGHTS.items():
        fleet.change(name, weight=weight)
    stage.start_load()
    stage.start_capture()
    first = Walk(stage, fleet.table, EACH)
    check_shares(stage, "before", first.opened, WEIGHTS)

    name, weight = CHANGED
    second = set_weight(stage, first, name, weight)
    stage.say(f"the weight of {name} becomes {weight}")
    check_shares(stage, "after", second, {**WEIGHTS, name: weight})
    moved = moves(first)
    stage.expect("connections move only to or from this proxy", all(name in pair for pair in moved), moved)
    ended = first.end()
    stage.note("planned", ended)
    stage.expect("no connection breaks", ended["broken"] == 0, ended)
    stage.finish()


def set_weight(stage, walk, name, weight):
    """Returns the connections that were opened with the new weight."""
    path = stage.fleet.running()[0].source
    cli("edit", path, "set", stage.fleet.proxies[name].address, f"weight={weight}")
    table = WrittenTable(path)
    walk.to(table)
    return walk.opened_with(table)


def check_shares(stage, label, members, weights):
    counts, total = Counter(member.proxy for member in members), sum(weights.values())
    shares = {name: counts[name] / len(members) for name in weights}
    for name, weight in weights.items():
        stage.expect(f"{name} gets its share of connections", abs(shares[name] - weight / total) <= OFF, shares)
    stage.note(label, {name: round(100 * share, 1) for name, share in shares.items()})
    stage.say(f"weights {':'.join(str(each // 100) for each in weights.values())}: " + ", ".join(
        f"{name} {100 * shares[name]:.1f} % (by weight {100 * weight / total:.1f} %)" for name, weight in weights.items()))


def moves(walk):
    """{(old, new) first hop of the flows that have another first hop with the last table}"""
    flows = [member.flow for member in walk.opened]
    old, new = (foresight.hops(flows) for foresight in walk.used)
    first = {flow: (walk.fleet.proxy_at(old[flow][0]), walk.fleet.proxy_at(new[flow][0])) for flow in flows}
    return {pair for pair in first.values() if pair[0] != pair[1]}
