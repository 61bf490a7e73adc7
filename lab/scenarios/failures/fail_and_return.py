# SPDX-License-Identifier: BSD-3-Clause
"""Proxies fail and return while operators change the table. Only a proxy that dies may lose connections: its own.

glb-healthcheck writes all tables. Connections are opened and asked through both directors after each event, when the tables have
followed. They must break exactly where `replay` says so, and no more than `diff` says from all tables that a director had.
"""

import json
import threading
from math import sqrt

from lab.scenarios.planned.compare import SIGMAS
from lab.scenarios.planned.walk import Walk
from lab.table import WrittenTable
from lab.tools import POLL_S, cli, cli_json, read, wait_until, write

SUMMARY = "proxies fail and return during changes: only those that die lose connections"
SHAPE = {"healthcheck": True, "proxies": 7}
ADDED = "proxy-7"
EACH = 30
OLD_HOPS = 2
FAR_MORE = 4  # times as many rows
# `fail`: only the page for checks fails. `die`: the proxy loses power and its connections. At most two are down at the same time.
STORY = (
    ("drain", "proxy-1"),
    ("fail", "proxy-2"),
    ("die", "proxy-3"),
    ("set", "proxy-4", "weight=50"),
    ("return", "proxy-2"),
    ("undrain", "proxy-1"),
    ("add", ADDED),
    ("fail", "proxy-4"),
    ("return", "proxy-3"),
    ("drain", "proxy-5"),
    ("die", "proxy-6"),
    ("set", "proxy-4", "weight=100"),
    ("return", "proxy-4"),
    ("undrain", "proxy-5"),
    ("return", "proxy-6"),
)
HEALTH = ("fail", "die", "return")


class Record(threading.Thread):
    """Keeps all tables that glb-healthcheck writes for a director."""

    def __init__(self, director):
        super().__init__(daemon=True)
        self.director, self.done, self.texts = director, threading.Event(), [read(director.source)]
        self.start()

    def run(self):
        while not self.done.wait(POLL_S):
            self.look()

    def look(self):
        text = read(self.director.source)
        if text != self.texts[-1]:
            self.texts.append(text)

    def stop(self):
        """Returns the tables, oldest first."""
        self.done.set()
        self.join()
        self.look()
        return self.texts


class Survivors(Walk):
    """Connections of proxies that live. glb-healthcheck loads the tables, and both directors have the same health."""

    def __init__(self, stage):
        self.dead, self.own, self.waited = set(), [], 0
        super().__init__(stage, WrittenTable(stage.fleet.running()[0].source), EACH)

    def _load(self, director, foresight, *_):
        self.in_use[director.name] = foresight

    def follow(self):
        """After an event: looks up the tables in use. Then packets of all connections pass both directors."""
        for director in (self.behind, self.ahead):
            self._load(director, self._foresee(WrittenTable(director.source)))
        for director in (self.behind, self.ahead):
            self.ask(director)
            self.open(director)

    def ask(self, director):
        self._send_all_through(director)
        alive = self.crowd.alive()
        hops = self.in_use[director.name].hops([member.flow for member in alive])
        waiting = [member for member in alive if self._waits(member, hops[member.flow])]
        health = {each["ip"]: each["healthy"] for each in json.loads(self.in_use[director.name].table.json())["tables"][0]["backends"]}
        stalled = [member for member in waiting if health.get(self._address(member))]
        self.stage.expect("no packet for a healthy proxy passes a dead one", not stalled, stalled[:3])
        self.waited += len(waiting)
        foreseen = {member.flow for member in alive if self._address(member) not in hops[member.flow]}
        flows = {member.flow for member in waiting}
        broke = self.crowd.ask([member for member in alive if member.flow not in flows])
        self.broken += broke
        unlike = (foreseen - flows) ^ {member.flow for member in broke}
        self.stage.expect("exactly those connections break that replay predicts", not unlike, sorted(unlike)[:3])

    def _waits(self, member, hops):
        """Whether packets of a connection pass a dead proxy. They are not lost for good: TCP repeats them until it is back."""
        address = self._address(member)
        passed = hops[: hops.index(address)] if address in hops else hops
        return any(self.fleet.proxies[name].address in passed for name in self.dead)

    def bury(self, name):
        """A proxy dies. Its connections can only break, and are asked at the end."""
        self.dead.add(name)
        self.own += [member for member in self.crowd.alive() if member.proxy == name]
        self.crowd.members = [member for member in self.crowd.members if member.proxy != name]


def run(stage):
    fleet = stage.fleet
    first = fleet.table.without(fleet.proxies[ADDED].address)
    fleet.publish(first)
    records = [Record(director) for director in fleet.running()]
    walk = Survivors(stage)
    for number, (verb, name, *words) in enumerate(STORY):
        if number == len(STORY) // 2:
            stage.start_capture()
        (happen if verb in HEALTH else change)(walk, verb, name, *words)
        walk.follow()
        stage.say(f"{verb} {' '.join((name, *words))}: {len(walk.broken)} of {len(walk.opened)} connections broken")
    finish(stage, walk, records, first)


def happen(walk, verb, name):
    proxy = walk.fleet.proxies[name]
    if verb == "die":
        walk.bury(name)
        proxy.crash()
    elif verb == "fail" or proxy.powered:
        proxy.pass_checks(verb == "return")
    else:
        proxy.reboot()
    for director in (walk.behind, walk.ahead):
        wait_until(lambda each=director: settled(walk.fleet, each), f"{director.name} to follow: {verb} {name}")
    if verb == "return":
        walk.dead.discard(name)


def change(walk, verb, name, *words):
    for director in (walk.behind, walk.ahead):
        for each in edits(walk.fleet, verb, name, *words):
            cli("edit", director.healthcheck.source, *each, "--max-broken", "100")
            wait_until(lambda: settled(walk.fleet, director), f"{director.name} to follow: edit {' '.join(each)}")


def edits(fleet, verb, name, *words):
    address = fleet.proxies[name].address
    if verb == "add":
        return (("add", address, "--state", "draining", "--copy-checks-from", fleet.proxies["proxy-1"].address), ("undrain", address))
    return ((verb, address, *words),)


def settled(fleet, director):
    """Whether a director uses a table of the operators, with the health of the proxies as it is."""
    wanted = {each["ip"]: (each["state"], each.get("weight"), healthy(fleet, each["ip"]))
              for each in json.loads(read(director.healthcheck.source))["tables"][0]["backends"]}
    written = {ip: (each["state"], each.get("weight"), each["healthy"]) for ip, each in director.healthcheck.written().items()}
    return wanted == written and director.healthcheck.in_use()


def healthy(fleet, address):
    proxy = fleet.proxies[fleet.proxy_at(address)]
    return proxy.powered and proxy.passes_checks()


def finish(stage, walk, records, first):
    for director in (walk.behind, walk.ahead):
        walk.ask(director)
    stage.expect("all proxies are back", not walk.dead, walk.dead)
    lost = walk.crowd.ask(walk.own)
    stage.expect("all connections of proxies that died break", len(lost) == len(walk.own) > 0, (len(lost), len(walk.own)))
    survivors = len(walk.opened) - len(walk.own)
    predicted = [broken_percent(director, record.stop()) for director, record in zip(stage.fleet.running(), records)]
    limit = most(survivors, max(predicted) / 100)
    stage.expect("no more connections break than diff predicts", len(walk.broken) <= limit, (len(walk.broken), limit))
    without = broken_percent(walk.ahead, without_record(stage.fleet, walk.ahead, first.with_members(hops=OLD_HOPS)))
    stage.expect("the same breaks far more with two hops and without the record of glb-healthcheck",
                 without > FAR_MORE * max(predicted), (without, predicted))
    stage.expect("hardly any connection breaks", len(walk.broken) <= survivors // 100, len(walk.broken))
    stage.note("survivors", {"connections": survivors, "broken": len(walk.broken), "waited": walk.waited})
    stage.note("own", len(lost))
    stage.note("tables", [len(record.texts) for record in records])
    stage.note("predicted_percent", predicted)
    stage.note("without_percent", without)
    stage.say(f"{len(walk.broken)} of {survivors} connections break whose proxy lives; diff predicts {max(predicted):g} %, and "
              f"{without:g} % with two hops and no record of health")
    walk.end()
    stage.finish()


def most(connections, share):
    return connections * share + SIGMAS * sqrt(connections * share * (1 - share))


def broken_percent(director, texts):
    """The rows that break by `diff`, of those that connections reached with any table before."""
    paths = [f"{director.folder}/record-{number}.json" for number in range(len(texts))]
    for path, text in zip(paths, texts):
        write(path, text)
    return cli_json("diff", *paths, "--max-broken", "100", "--max-skew", "100")["broken_percent"]


def without_record(fleet, director, first):
    """The tables of the same story if glb-healthcheck only sets `healthy`."""
    path, down, texts = f"{director.folder}/without.json", set(), [first.json()]
    write(path, first.json())
    for verb, name, *words in STORY:
        if verb in HEALTH:
            (down.discard if verb == "return" else down.add)(fleet.proxies[name].address)
            texts.append(with_health(read(path), down))
            continue
        for each in edits(fleet, verb, name, *words):
            cli("edit", path, *each, "--max-broken", "100")
            texts.append(with_health(read(path), down))
    return texts


def with_health(text, down):
    tables = json.loads(text)
    for each in tables["tables"][0]["backends"]:
        each["healthy"] = each["ip"] not in down
    return json.dumps(tables, indent=1)
