# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a run: a pure function of seed, minutes and shape. Two runs with the same three make the same decisions in the same order."""

import random
from dataclasses import asdict, dataclass, field

from lab.topology import ETCD_MEMBERS, UNDERLAYS, Shape

FIRST_S, LAST_S = 2.0, 4.0  # quiet time before the first event and, for the ends of events, after the last one
PAUSES_S = (0.2, 2.4)  # between the beginnings of two events
REST_S = 2.0  # after the end of an event, before its host is the subject of another one
LEAST_ACTIVE = 3  # proxies that get new connections
MOST_PROXIES = 8
LONG_CUT_S = 70  # longer than clients wait for an answer, unless GLB_LAB_TIMEOUT_S says otherwise. A plan must not depend on that
SPARE_S = 4 * LONG_CUT_S  # a run that is shorter has no long cut
DISK_MB = 64  # of the file system that has a director's files
CLOCK_STEPS_S = (-10_000_000, -3600, -1, 1, 3600, 10_000_000)
WEIGHTS = (30, 60, 100, 150, 300)


@dataclass(frozen=True)
class Kind:
    """A kind of event. `pool`: what it happens to. `group`: at most as many events of a group last at once as LIMITS says."""

    weight: int
    pool: str  # "director", "proxy", "etcd", "host" (of a director) or "lab"
    group: str
    length_s: tuple = None  # shortest and longest; None: it has no end of its own


LIMITS = {"director": 1, "proxy": 2, "etcd": 1, "link": 2, "checks": 2, "agent": 2, "table": 1, "load": 1, "loader": 1}
KINDS = {
    "kill director": Kind(5, "director", "director", (0.5, 4)),
    "stop director": Kind(3, "director", "director", (0.5, 3)),
    "freeze director": Kind(3, "director", "director", (0.3, 2)),
    "kill checks": Kind(4, "host", "checks", (0.5, 6)),
    "kill agent": Kind(4, "host", "agent", (0.5, 6)),
    "step clock of checks": Kind(2, "host", "checks", (0.5, 4)),
    "step clock of agent": Kind(2, "host", "agent", (0.5, 4)),
    "kill loader": Kind(3, "proxy", "loader"),
    "reload storm": Kind(4, "director", "director"),
    "corrupt table": Kind(4, "director", "director"),
    "corrupt value": Kind(3, "lab", "table", (0.5, 3)),
    "table storm": Kind(3, "lab", "table"),
    "cut proxy": Kind(5, "proxy", "proxy", (0.3, 6)),
    "cut director": Kind(3, "director", "director", (0.3, 4)),
    "crash proxy": Kind(3, "proxy", "proxy", (0.5, 6)),
    "stop nginx": Kind(3, "proxy", "proxy", (0.5, 4)),
    "kill service": Kind(2, "proxy", "proxy", (0.5, 3)),
    "fail checks": Kind(4, "proxy", "proxy", (1, 6)),
    "impair link": Kind(8, "link", "link", (1, 8)),
    "fill disk": Kind(3, "host", "director", (1, 6)),
    "SYN flood": Kind(2, "lab", "load", (0.5, 2)),
    "UDP flood": Kind(2, "lab", "load", (0.5, 2)),
    "busy CPU": Kind(2, "lab", "load", (0.5, 3)),
    "kill etcd": Kind(3, "etcd", "etcd", (1, 8)),
    "cut etcd": Kind(3, "etcd", "etcd", (1, 8)),
    "cut agent": Kind(3, "host", "agent", (1, 8)),
    "operator": Kind(12, "lab", "table"),
    "other version": Kind(4, "host", "director", (1, 6)),
    "other redirect": Kind(3, "proxy", "loader", (1, 6)),
}
NEED_OTHER = ("other version", "other redirect")
IMPAIRMENTS = ("loss", "duplicate", "slow", "reorder")
DAMAGES = ("empty", "truncated", "flipped", "text")
VALUES = ("empty", "truncated", "no table", "no proxy", "a list")


@dataclass(frozen=True)
class Event:
    number: int
    at: float  # seconds since the first connection is open
    kind: str
    subject: str
    length: float = 0  # seconds; 0: it has no end of its own
    detail: dict = field(default_factory=dict)

    def __str__(self):
        words = " ".join(f"{key}={value}" for key, value in self.detail.items())
        return " ".join(filter(None, (self.kind, self.subject, words, f"for {self.length} s" if self.length else "")))

    def as_dict(self):
        return asdict(self)


@dataclass(frozen=True)
class Step:
    """Something to do: the begin of an event, or its end."""

    at: float
    event: Event
    begins: bool


def shape_of(seed, underlay=None, quic=False):
    """The shape of the lab. The seed chooses the hops, and the underlay unless that is given."""
    draw = random.Random(f"shape {seed}")
    hops, chosen = draw.choice((2, 3, 4)), draw.choice(UNDERLAYS)
    return Shape(directors=3, proxies=5, hops=hops, healthcheck=True, etcd=True, quic=quic, underlay=underlay or chosen, disk_mb=DISK_MB)


class Planner:
    def __init__(self, seed, minutes, shape, other=False):
        self.draw, self.shape, self.other = random.Random(f"plan {seed}"), shape, other
        self.until = 60 * minutes - LAST_S  # the end of the last event
        self.busy = {}  # what is the subject of an event, and until when
        self.running = {group: [] for group in LIMITS}  # ends of events
        # What operators know: {proxy: state}; those that are in no table are missing.
        self.states = {f"proxy-{number}": "active" for number in range(1, shape.proxies + 1)}
        self.made = shape.proxies

    def events(self):
        at, made = FIRST_S, []
        while at < self.until:
            event = self._event(len(made) + 1, round(at, 1))
            if event:
                made.append(event)
            at += self.draw.uniform(*PAUSES_S)
        return made

    def _event(self, number, at):
        kind = self.draw.choices(list(KINDS), [each.weight for each in KINDS.values()])[0]
        about = KINDS[kind]
        length = round(self.draw.uniform(*about.length_s), 1) if about.length_s else 0
        subject = self.draw.choice(self._pool(about.pool))
        detail = self._detail(kind, subject)
        if kind == "cut proxy" and detail.pop("long") and self.until > SPARE_S:
            length = LONG_CUT_S
        if kind in NEED_OTHER and not self.other or at + length > self.until or not self._free(about, subject, at):
            return None
        self._take(about, subject, at + length)
        return Event(number, at, kind, subject, length, self._operator(at) if kind == "operator" else detail)

    def _pool(self, pool):
        directors = [f"director-{number}" for number in range(1, self.shape.directors + 1)]
        return {
            "director": directors, "host": directors, "lab": ["lab"], "proxy": list(self.states),
            "link": ["client", *directors, *self.states], "etcd": [f"etcd-{number}" for number in range(1, ETCD_MEMBERS + 1)]}[pool]

    def _detail(self, kind, subject):
        """What the kind of event leaves open. Draws the same numbers whatever the state, so that events do not depend on each other more than needed."""
        draw = self.draw
        return {
            "kill director": lambda: {"withdrawn_after": round(draw.uniform(0.1, 0.6), 1)},
            "step clock of checks": lambda: {"seconds": draw.choice(CLOCK_STEPS_S)},
            "step clock of agent": lambda: {"seconds": draw.choice(CLOCK_STEPS_S)},
            "kill loader": lambda: {"after_ms": draw.choice((1, 5, 20, 60, 150))},
            "reload storm": lambda: {"signals": draw.randint(5, 40)},
            "corrupt table": lambda: {"damage": draw.choice(DAMAGES)},
            "corrupt value": lambda: {"value": draw.choice(VALUES)},
            "table storm": lambda: {"tables": draw.randint(3, 12), "proxy": draw.choice(list(self.states))},
            "cut proxy": lambda: {"long": draw.random() < 0.1},
            "impair link": lambda: {"how": draw.choice(IMPAIRMENTS), "percent": draw.choice((1, 5, 10, 20))},
            "busy CPU": lambda: {"processes": draw.randint(1, 3)},
            "SYN flood": lambda: {"per_second": draw.choice((2000, 10_000, 30_000))},
            "UDP flood": lambda: {"per_second": draw.choice((2000, 10_000, 30_000))},
        }.get(kind, dict)()

    def _operator(self, at):
        """What the operator does now: never so much that fewer than LEAST_ACTIVE proxies get new connections."""
        active = [name for name, state in self.states.items() if state == "active"]
        draining = [name for name, state in self.states.items() if state == "draining"]
        verbs = ["weigh", "weigh"]
        verbs += ["drain"] * 2 * (len(active) > LEAST_ACTIVE) + ["undrain"] * bool(draining) * 2 + ["remove"] * (len(draining) > 1)
        verbs += ["add"] * (len(self.states) < self.shape.proxies or self.made < MOST_PROXIES)
        verb = self.draw.choice(verbs)
        name = self._add() if verb == "add" else self.draw.choice({"weigh": active, "drain": active}.get(verb, draining))
        if verb == "remove":
            del self.states[name]
        else:
            self.states[name] = {"drain": "draining", "undrain": "active", "add": "active"}.get(verb, self.states.get(name))
        return {"verb": verb, "proxy": name, **({"weight": self.draw.choice(WEIGHTS)} if verb == "weigh" else {})}

    def _add(self):
        """A proxy that was removed, or a new one."""
        removed = [f"proxy-{number}" for number in range(1, self.made + 1) if f"proxy-{number}" not in self.states]
        if removed:
            return removed[0]
        self.made += 1
        return f"proxy-{self.made}"

    def _free(self, about, subject, at):
        lasting = self.running[about.group] = [end for end in self.running[about.group] if end > at]
        return len(lasting) < LIMITS[about.group] and self.busy.get((about.group, subject), 0) <= at

    def _take(self, about, subject, end):
        self.running[about.group].append(end)
        self.busy[about.group, subject] = end + REST_S


def make(seed, minutes, shape, other=False):
    return Planner(seed, minutes, shape, other).events()


def steps(events):
    """Begins and ends of events in the order in which they are done. An end comes before a begin at the same time."""
    begins = [Step(event.at, event, True) for event in events]
    ends = [Step(round(event.at + event.length, 1), event, False) for event in events if event.length]
    return sorted(begins + ends, key=lambda step: (step.at, step.begins, step.event.number))
