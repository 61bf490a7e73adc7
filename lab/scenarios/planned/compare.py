# SPDX-License-Identifier: BSD-3-Clause
"""Makes the same changes twice, each time with one director a table behind the other: at once, and so that no connection breaks."""

from lab.scenarios.planned.walk import Walk, broken_share, within

TIME = "2026-01-01T00:00:00Z"  # of all previous states: only their order counts


def compare(stage, tables, each, hops):
    """`tables`: the states that an operator wants, one after the other, without previous states."""
    crowd = at_once(stage, tables, each)
    planned(stage, [tables[0], *safe_steps(tables, hops)], each, crowd)


def at_once(stage, tables, each):
    """Returns the crowd for planned()."""
    walk = Walk(stage, tables[0], each)
    walk.to(tables[1])
    first = {name: first_change(stage, walk, *pair) for name, pair in (("old", tables[:2]), ("new", tables[1::-1]))}
    for table in tables[2:]:
        walk.to(table)
    ended = walk.end()
    stage.note("at_once", {**ended, **{f"opened_with_{name}": counts for name, counts in first.items()}})
    stage.say(f"at once: {ended['broken']} of {ended['connections']} connections break; the first change breaks " + ", ".join(
        f"{counts['broken']} of {counts['connections']} that were opened with its {name} table ({percent(counts)} %, by diff {counts['predicted_percent']} %)"
        for name, counts in first.items()))
    return walk.crowd


def percent(counts):
    return round(100 * counts["broken"] / counts["connections"], 1)


def first_change(stage, walk, opened, other):
    """Compares what a table breaks of the connections that were opened with another one with what `diff` predicts."""
    members, share = walk.opened_with(opened), broken_share(walk.ahead, opened, other)
    counts = {
        "connections": len(members), "broken": sum(1 for member in members if member.broken), "predicted_percent": round(100 * share, 1)}
    stage.expect("as many connections break as diff predicts", within(share, counts["broken"], len(members)), counts)
    return counts


def planned(stage, tables, each, crowd):
    walk = Walk(stage, tables[0], each, crowd)
    for table in tables[1:-1]:
        walk.to(table)
    stage.start_capture()
    walk.to(tables[-1])
    ended = walk.end()
    stage.note("planned", ended)
    stage.expect("no connection breaks", ended["broken"] == 0, ended)
    stage.say(f"listed first: {ended['broken']} of {ended['connections']} connections break")
    stage.finish()


def safe_steps(tables, hops):
    """Two tables for each change. In the first one nothing changes but later hops: they are the first hops that rows will have."""
    states = [state(table) for table in tables]
    for number in range(1, len(tables)):
        old, new = tables[number - 1], tables[number]
        before = states[: number - 1][::-1]
        yield listed(old, new).with_members(hops=hops, previous=[states[number], *before])
        yield listed(new, old).with_members(hops=hops, previous=[states[number - 1], *before])


def state(table):
    backends = [{"ip": each["ip"], "weight": each.get("weight", 100)} for each in table.backends if each["state"] in ("active", "filling")]
    return {"time": TIME, "backends": backends}


def listed(table, other):
    """The table with the proxies that only the other one has, as draining: they get no new connections."""
    known = {each["ip"] for each in table.backends}
    for each in other.backends:
        if each["ip"] not in known:
            table = table.with_backend(each["ip"], "draining")
    return table
