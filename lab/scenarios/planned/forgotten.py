# SPDX-License-Identifier: BSD-3-Clause
"""Previous states cost hops. They are forgotten when no connection needs them any more, and not before."""

import json

from lab.scenarios.planned.operator import HOSTS, REFUSED, edit, edit_all, start_exporters
from lab.scenarios.planned.walk import Walk
from lab.table import WrittenTable
from lab.tools import cli, read, write

SUMMARY = "previous states are forgotten: too early (connections break), and when the proxies prove that none needs them (none does)"
SHAPE = {"proxies": 6, "hops": 2}  # rows of four hops would still have the owners, because only two proxies are added
ADDED = ("proxy-5", "proxy-6")
EACH = 200
WAIT = "2s"  # between the two questions of forget


def run(stage):
    fleet = stage.fleet
    added = [fleet.proxies[name].address for name in ADDED]
    old = fleet.table
    for address in added:
        old = old.without(address)
    too_early(stage, old, added)

    first = stage.start_load()
    start_exporters(fleet)
    add_proxies(stage, added)
    stage.start_capture()
    done = forget(fleet.running()[0])
    stage.expect("edit forgets nothing that connections need", done.returncode == REFUSED, done.stdout + done.stderr)
    stage.say(f"edit: {done.stderr.strip().rpartition('forwarding_table.json: ')[2]}")

    ended = sum(stage.load.finish(name) for name in first["held_by_proxy"])
    stage.say(f"the clients end {ended} connections, and open others")
    for director in fleet.running():
        done = forget(director)
        stage.expect("edit forgets what no connection needs", done.returncode == 0, done.stdout + done.stderr)
    states = [len(previous(director)) for director in fleet.running()]
    stage.expect("no previous state is left", not any(states), states)
    stage.note("states", states)
    stage.say(f"edit: {done.stdout.splitlines()[0]}")
    stage.settle(1)
    stage.finish()


def add_proxies(stage, added):
    """In two tables, so that a director that is behind knows the proxies."""
    fleet = stage.fleet
    edit_all(fleet, "add", *added, "--state", "draining", "--copy-checks-from", fleet.proxies["proxy-1"].address)
    edit_all(fleet, "undrain", *added)
    new = stage.new_connections("added", at_least=60)
    stage.expect("the added proxies get new connections", set(ADDED) <= set(new), new)
    stage.say(f"{' and '.join(ADDED)} are added, and get new connections")


def forget(director):
    return edit(director, "forget", "--proxies", HOSTS, "--wait", WAIT, check=False)


def previous(director):
    return json.loads(read(director.source))["tables"][0].get("previous", [])


def too_early(stage, old, added):
    """The same with silent connections. The state is forgotten by its age, which proves nothing."""
    director, *_ = stage.fleet.running()
    path = f"{director.folder}/early.json"
    write(path, old.json())
    walk, broken = Walk(stage, old, EACH), []
    for words in (("add", *added, "--state", "draining"), ("undrain", *added), ("forget", "--keep", "0", "--max-broken", "100")):
        cli("edit", path, *words)
        walk.to(WrittenTable(path))
        broken.append(len(walk.broken))
    stage.expect("no connection breaks before the state is forgotten", broken[:2] == [0, 0], broken)
    ended = walk.end()
    stage.note("at_once", ended)
    stage.expect("connections need the state", ended["broken"] > 0, ended)
    stage.say(f"too early: {ended['broken']} of {ended['connections']} connections break")
    for each in stage.fleet.running():
        each.reload(old)
