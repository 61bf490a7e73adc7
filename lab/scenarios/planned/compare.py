# SPDX-License-Identifier: BSD-3-Clause
"""Makes the same changes twice, each time with one director a table behind the other: at once, and by `glb-director-cli plan`."""

from math import sqrt

from lab.scenarios.planned.walk import Walk
from lab.table import WrittenTable
from lab.tools import cli_json, write

FOLDER = "/run/lab/plan"
# At once, tables of `glb-director-cli new` would break too few connections to compare them with what diff predicts.
OF_GLB = {"hops": 2, "balance": None}
SIGMAS = 4  # a count that is further from its expectation is no accident


def compare(stage, tables, each, hops):
    """`tables`: what an operator wants, one after the other. By plan, rows have `hops`."""
    crowd = at_once(stage, tables, each)
    by_plan(stage, [tables[0], *(table.with_members(hops=hops) for table in tables[1:])], each, crowd)


def at_once(stage, tables, each):
    """Returns the crowd for by_plan()."""
    walk = Walk(stage, tables[0], each)
    changes = [walk.to(table) for table in tables[1:]]
    director = walk.ahead
    ended = walk.end()
    broken, opened = sum(change.broken for change in changes), sum(2 * change.opened for change in changes)
    predicted, error = predict(director, changes)
    stage.expect("as many connections break as diff predicts", abs(broken - predicted) <= SIGMAS * error, (broken, predicted, error))
    stage.note("at_once", {**ended, "first": {"connections": opened, "broken": broken, "predicted": round(predicted, 1), "error": round(error, 1)}})
    stage.say(f"at once: {ended['broken']} of {ended['connections']} connections break; their first other table breaks {broken} of {opened}, "
              f"and diff predicts {predicted:.0f}, give or take {error:.0f}")
    return walk.crowd


def predict(director, changes):
    """Returns how many connections should break by `diff` when they meet another table for the first time, and the standard error."""
    predicted = variance = 0
    for change in changes:
        for share in lost_shares(director, change.old, change.new):
            predicted += change.opened * share
            variance += change.opened * share * (1 - share)
    return predicted, sqrt(variance)


def lost_shares(director, old, new):
    """The share of the connections of the old table that the new one breaks, and of the new one's connections that the old one breaks."""
    paths = [f"{director.folder}/{name}.json" for name in ("old", "new")]
    for path, table in zip(paths, (old, new)):
        write(path, table.json())
    found = cli_json("diff", *paths, "--max-broken", "100")
    return found["broken_percent"] / 100, found["skew_percent"] / 100


def by_plan(stage, tables, each, crowd):
    """Follows plans. Only the last one is followed to its end: where others wait for the end of connections, the next change begins."""
    walk = Walk(stage, tables[0], each, crowd)
    plans, steps, in_use = 0, 0, tables[0]
    for wanted in tables[1:]:
        plans += 1
        made = make_plan(in_use, wanted, plans)
        wait(stage, walk, made["first_waits"])
        for step in made["steps"]:
            if step is made["steps"][-1] and wanted is tables[-1]:
                stage.start_capture()
            in_use = WrittenTable(step["file"])
            walk.to(in_use)
            steps += 1
            digests = {director.stats()["digest"] for director in stage.fleet.running()}
            stage.expect("the directors use the table of the plan", digests == {step["digest"]}, (digests, step))
            if wanted is not tables[-1] and needs_patience(step["waits"]):
                break
            wait(stage, walk, step["waits"])
    ended = walk.end()
    stage.note("planned", {**ended, "plans": plans, "tables": steps})
    stage.expect("no connection breaks", ended["broken"] == 0, ended)
    stage.say(f"by plan, in {steps} tables: {ended['broken']} of {ended['connections']} connections break")
    stage.finish()


def make_plan(current, wanted, number):
    paths = [f"{FOLDER}-{number}-{name}.json" for name in ("current", "wanted")]
    for path, table in zip(paths, (current, wanted)):
        write(path, table.json())
    return cli_json("plan", *paths, "--write", f"{FOLDER}-{number}")


def needs_patience(waits):
    """Whether to wait for more than the directors, which walk.to() has done."""
    return any(each["for"] != "directors" for each in waits)


def wait(stage, walk, waits):
    """The clients end the connections that the plan waits for."""
    for each in waits:
        if each["for"] == "drained":
            walk.end_at({stage.fleet.proxy_at(address) for address in each["proxies"]})
        elif each["for"] == "connections":
            walk.renew()
