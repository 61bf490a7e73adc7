# SPDX-License-Identifier: BSD-3-Clause
"""A simulation of connections (docs/reference/cli.md#simulate), in two ways.

Expected follows numbers of connections like the program, but keeps each table of each director and all cohorts of a row. Objects
makes connections with random rows, directors, beginnings and lengths, and asks each of them after each change whether it lives.
"""

import bisect
import ipaddress
import math
import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal

from .table import ROWS, Backend, State, Table

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
KEEP_MS = 86_400_000
MAX_PAST = 16


def milliseconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text).groups()
    return int(number) * UNITS[unit]


class Lengths:
    """younger(age) is the mean of min(length, age), and sample() a length."""

    def __init__(self, words):
        self.kind, *words = words
        if self.kind == "exponential":
            self.mean = milliseconds(words[0])
        if self.kind == "pareto":
            self.shape, self.mean = float(words[0]), milliseconds(words[1])
            self.shortest = self.mean * (self.shape - 1) / self.shape
        if self.kind == "quantiles":
            self.points = [(0.0, 0)] + [(float(share) / 100, milliseconds(length)) for share, length in zip(words[::2], words[1::2])]
            self.mean = sum((q - p) * (a + b) / 2 for (p, a), (q, b) in zip(self.points, self.points[1:]))
        if self.kind == "forever":
            self.mean = math.inf

    def younger(self, age):
        if age == math.inf:
            return self.mean
        if self.kind == "forever":
            return age
        if self.kind == "exponential":
            return -self.mean * math.expm1(-age / self.mean)
        if self.kind == "pareto":
            if age < self.shortest:
                return age
            return self.mean - self.shortest / (self.shape - 1) * (self.shortest / age) ** (self.shape - 1)
        total = 0.0
        for (p, a), (q, b) in zip(self.points, self.points[1:]):
            beyond = max(0, age - a) ** 2 / (b - a) / 2 if b > a else 0
            total += (q - p) * ((a + b) / 2 if age >= b else age - beyond)
        return total

    def sample(self, dice):
        part = dice.random()
        if self.kind == "exponential":
            return -self.mean * math.log(1 - part)
        if self.kind == "pareto":
            return self.shortest * (1 - part) ** (-1 / self.shape)
        if self.kind == "forever":
            return math.inf
        place = bisect.bisect_left([share for share, _ in self.points], part)
        (p, a), (q, b) = self.points[max(place, 1) - 1], self.points[max(place, 1)]
        return a + (b - a) * (part - p) / (q - p)


@dataclass
class World:
    """The table, and which of its proxies are dead."""

    table: Table
    history: bool
    dead: frozenset = frozenset()
    past: list = field(default_factory=list)  # (time in ms, State), newest first

    def __post_init__(self):
        self.numbers = [backend.address for backend in self.table.backends]
        self.past = [(0, state) for state in self.table.previous] if self.history else []

    def address(self, number):
        if number <= len(self.numbers):
            return self.numbers[number - 1]
        first = ipaddress.ip_address("198.18.0.0" if not self.numbers or len(self.numbers[0]) == 4 else "2001:2::")
        return (first + number).packed

    def addresses(self, text):
        found = []
        for part in text.split(","):
            if part == "all":
                found += [backend.address for backend in self.table.backends]
            elif "." in part or ":" in part:
                found.append(ipaddress.ip_address(part).packed)
            else:
                first, _, last = part.partition("-")
                found += [self.address(number) for number in range(int(first), int(last or first) + 1)]
        return found

    def state(self):
        """The present state, as it is remembered."""
        taking = [backend for backend in self.table.backends if backend.state in ("active", "filling")]
        if not any(backend.healthy for backend in taking):
            taking = []
        if not self.table.balance:  # then rows are the same without the unhealthy ones
            taking = [backend for backend in taking if backend.healthy]
        unhealthy = frozenset(backend.address for backend in taking if not backend.healthy)
        return State(self.table.balance, {backend.address: backend.weight for backend in taking}, 0, unhealthy)

    def change(self, words, now):
        before, verb = self.state(), words[0]
        table = replace(self.table, _rows={}, _holders=[])
        if verb == "hops":
            table.hops = int(words[1])
        elif verb == "balance":
            table.balance = None if words[1] == "off" else Decimal(words[1])
        elif verb == "history":
            self.history = words[1] == "on"
        elif verb == "add":
            weight = int(words[words.index("weight") + 1]) if "weight" in words else 100
            state = "draining" if "draining" in words else "active"
            table.backends = table.backends + [Backend(address, state, True, weight) for address in self.addresses(words[1])]
            self.dead -= set(self.addresses(words[1]))
        else:
            named = set(self.addresses(words[1]))
            changes = {
                "drain": {"state": "draining"}, "undrain": {"state": "active"}, "fail": {"healthy": False},
                "unhealthy": {"healthy": False}, "recover": {"healthy": True}, "remove": {},
                "weight": {"weight": int(words[2]) if verb == "weight" else 0},
            }[verb]
            table.backends = [replace(b, **changes) if b.address in named else b for b in table.backends if verb != "remove" or b.address not in named]
            self.dead = self.dead | named if verb == "fail" else self.dead - named if verb == "recover" else self.dead
        self.table = table
        self.remember(before, now)
        table.previous = [state for _, state in self.past]

    def remember(self, before, now):
        key = lambda state: (state.balance, sorted(state.weights.items()), state.unhealthy)
        if key(before) != key(self.state()):
            known = [key(before), key(self.state())]
            young = [(time, state) for time, state in self.past if time // 1000 >= now // 1000 - KEEP_MS // 1000]
            self.past = ([(now, before)] if before.weights else []) + [(time, state) for time, state in young if key(state) not in known]
            if len(self.past) > MAX_PAST:
                raise NotImplementedError(f"more than {MAX_PAST} previous states: the model does not choose one that goes")
        if not self.history:
            self.past = []


class Script:
    def __init__(self, text):
        self.lengths, self.rate, self.directors, self.behind, self.steps = Lengths(["exponential", "30s"]), 1000, 1, {}, []
        for line in text.splitlines():
            words = line.partition("#")[0].split()
            if not words:
                continue
            if words[0] == "lengths":
                self.lengths = Lengths(words[1:])
            elif words[0] == "rate":
                self.rate = int(words[1])
            elif words[0] == "directors":
                self.directors = int(words[1])
            elif words[0] == "behind":
                first, _, last = words[1].replace("all", f"1-{self.directors}").partition("-")
                self.behind.update({number: milliseconds(words[2]) for number in range(int(first), int(last or first) + 1)})
            else:
                self.steps.append(words)

    def delays(self):
        """The delay of each director."""
        return [self.behind.get(number, 0) for number in range(1, self.directors + 1)]


def publish(script, table, history):
    """[(table as rows of addresses, dead proxies)] at the start and after each change. No state is forgotten by its age."""
    world = World(table, history)
    found = [(rows_of(world.table), world.dead, world)]
    for words in script.steps:
        if words[0] != "wait":
            world.change(words, 0)
            found.append((rows_of(world.table), world.dead, world))
    return found


def rows_of(table):
    return [tuple(backend.address for backend in row) for row in table.all_rows()]


class Run:
    """Follows the versions of publish(). A subclass says what connections are."""

    def __init__(self, script, versions):
        self.script, self.now, self.newest = script, 0, 0
        self.delays = script.delays()
        self.versions = versions
        self.times = [0]
        self.uses = [0] * len(self.delays)
        self.dead = frozenset()
        self.totals = dict.fromkeys(("begun", "broken", "skew", "killed", "refused"), 0.0)

    def in_use(self):
        return sorted(set(self.uses))

    def steps(self):
        """Yields the totals and measures after each step."""
        self.start()
        yield {**self.totals, **self.measure()}
        for words in self.script.steps:
            if words[0] == "wait" and words[1] != "drained":
                self.wait(milliseconds(words[1]))
            elif words[0] == "wait":
                self.wait_drained(set(self.versions[0][2].addresses(words[2])))
            else:
                self.dead = self.versions[self.newest + 1][1]
                self.settle()  # of proxies that died or recovered
                self.newest += 1
                self.times.append(self.now)
                self.wait(0)
            yield {**self.totals, **self.measure()}

    def wait(self, duration):
        end = self.now + duration
        while True:
            coming = [(self.times[use + 1] + delay, director) for director, (use, delay) in enumerate(zip(self.uses, self.delays)) if use < self.newest]
            if not coming or min(coming)[0] > end:
                break
            time, director = min(coming)
            late = self.delays[director]
            self.advance(time)
            # Directors with the same delay act together.
            for other, delay in enumerate(self.delays):
                self.uses[other] += delay == late
            self.settle()
        self.advance(end)


class Expected(Run):
    """Cohorts [begin, end, proxy, share of the directors, delay] of each kind of rows. `end` is None while it still grows.

    Rows with the same hops in all versions are of one kind.
    """

    def start(self):
        kinds = Counter(zip(*(rows for rows, _, _ in self.versions)))
        self.kinds, self.counts = list(kinds), list(kinds.values())
        self.cohorts = [[] for _ in self.kinds]
        self.groups = Counter(self.delays)
        endless = self.script.lengths.mean == math.inf
        self.totals["begun"] = 0 if endless else self.script.rate / 1000 * self.script.lengths.mean
        self.begin(0 if endless else -math.inf)

    def size(self, kind, cohort, later=0):
        begin, end, _, share, _ = cohort
        younger, now = self.script.lengths.younger, self.now + later
        left = younger(now - begin) - (0 if end is None else younger(now - end))
        return share * self.script.rate / 1000 * self.counts[kind] / ROWS * left

    def used(self, delay):
        return self.uses[self.delays.index(delay)]

    def begin(self, time):
        """Opens the cohort of each kind and delay that can have one, and closes the others."""
        self.fates = Counter()
        for delay, directors in self.groups.items():
            for kind, hops in enumerate(self.kinds):
                first = hops[self.used(delay)][0]
                reached = all(first in hops[version] for version in self.in_use())
                fate = "refused" if first in self.dead else "kept" if reached else "skew"
                self.fates[fate] += directors / len(self.delays) * self.counts[kind] / ROWS
                growing = [cohort for cohort in self.cohorts[kind] if cohort[1] is None and cohort[4] == delay]
                if growing and fate == "kept" and growing[0][2] == first:
                    continue
                for cohort in growing:
                    cohort[1] = time
                if fate == "kept":
                    self.cohorts[kind].append([time, None, first, directors / len(self.delays), delay])

    def settle(self):
        for kind, hops in enumerate(self.kinds):
            kept = []
            for cohort in self.cohorts[kind]:
                if cohort[2] in self.dead:
                    self.totals["killed"] += self.size(kind, cohort)
                elif all(cohort[2] in hops[version] for version in self.in_use()):
                    kept.append(cohort)
                else:
                    self.totals["skew" if cohort[2] in hops[self.newest] else "broken"] += self.size(kind, cohort)
            self.cohorts[kind] = kept
        self.begin(self.now)

    def advance(self, time):
        new = self.script.rate / 1000 * (time - self.now)
        self.totals["begun"] += new * (self.fates["kept"] + self.fates["skew"])
        self.totals["skew"] += new * self.fates["skew"]
        self.totals["refused"] += new * self.fates["refused"]
        self.now = time

    def wait_drained(self, named):
        self.wait(max([self.times[-1] + delay - self.now for use, delay in zip(self.uses, self.delays) if use < self.newest], default=0))
        left = lambda ms: sum(self.size(kind, cohort, ms) for kind, cohorts in enumerate(self.cohorts) for cohort in cohorts if cohort[2] in named)
        low, high = -1, 1 << 40
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if left(middle) >= 0.5 else (low, middle)
        self.wait(high)

    def measure(self):
        alive, blocked, hops = 0.0, 0.0, [0.0] * 8
        for kind, cohorts in enumerate(self.cohorts):
            for cohort in cohorts:
                size = self.size(kind, cohort)
                alive += size
                for delay, directors in self.groups.items():
                    row, part = self.kinds[kind][self.used(delay)], size * directors / len(self.delays)
                    place = row.index(cohort[2])
                    hops[place] += part
                    blocked += part * any(address in self.dead for address in row[:place])
        return {"alive": alive, "blocked": blocked, "hops": hops, "skew_percent": 100 * self.fates["skew"], "time_ms": self.now}


class Objects(Run):
    """`count` connections, each with a row, a director, a beginning and a length. A change asks each of them whether it lives."""

    def __init__(self, script, versions, count, span_ms, seed=1):
        """`span_ms`: connections begin from this long before the script to its end, and no earlier one lives at its start."""
        super().__init__(script, versions)
        dice = random.Random(seed)
        end = sum(milliseconds(words[1]) for words in script.steps if words[0] == "wait")
        self.weight = script.rate / 1000 * (span_ms + end) / count
        begins = sorted(dice.uniform(-span_ms, end) for _ in range(count))
        self.waiting = [(begin, begin + script.lengths.sample(dice), dice.randrange(ROWS), dice.randrange(len(self.delays))) for begin in begins]
        self.alive, self.at = [], 0

    def start(self):
        self.advance(0)
        self.totals = dict.fromkeys(self.totals, 0.0)
        self.totals["begun"] = sum(end > 0 for end, *_ in self.alive) * self.weight

    def reached(self, row, proxy):
        return all(proxy in self.versions[version][0][row] for version in self.in_use())

    def advance(self, time):
        while self.at < len(self.waiting) and self.waiting[self.at][0] <= time:
            _, end, row, director = self.waiting[self.at]
            self.at += 1
            first = self.versions[self.uses[director]][0][row][0]
            if first in self.dead:
                self.totals["refused"] += self.weight
                continue
            self.totals["begun"] += self.weight
            if self.reached(row, first):
                self.alive.append((end, row, first))
            else:
                self.totals["skew"] += self.weight
        self.now = time

    def settle(self):
        kept = []
        for end, row, proxy in self.alive:
            if end <= self.now:
                continue
            if proxy in self.dead:
                self.totals["killed"] += self.weight
            elif self.reached(row, proxy):
                kept.append((end, row, proxy))
            else:
                self.totals["skew" if proxy in self.versions[self.newest][0][row] else "broken"] += self.weight
        self.alive = kept

    def measure(self):
        return {"alive": sum(end > self.now for end, *_ in self.alive) * self.weight}
