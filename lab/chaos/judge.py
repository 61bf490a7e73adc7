# SPDX-License-Identifier: BSD-3-Clause
"""Decides what explains a broken connection, and whether all packets are counted. Pure: it knows only the log of a run.

Times are seconds of the monotonic clock. Nothing here depends on how fast the machine is: a fact of the log explains a connection only
if both were at the same time, and packets are compared when none is under way.
"""

from dataclasses import dataclass

EVERYWHERE = "lab"  # the subject of facts about all hosts
STEERS = {"away", "hurt"}  # facts that delay or lose packets
WAITED_SHARE = 0.5  # TCP and QUIC repeat a packet after at most twice the time that it has waited already


@dataclass(frozen=True)
class Fact:
    """What a fault did. "away": no packet reached the host; "hurt": some did not, or late; "dead": its connections are lost; "off": a
    service did not listen."""

    kind: str
    subject: str  # host, or EVERYWHERE
    start: float
    end: float

    def overlaps(self, start, end):
        return self.start <= end and self.end >= start


@dataclass(frozen=True)
class Use:
    """A director used a table. The times are those of the samples around, so that the use is within them. table None: it used one that
    no sample saw, because the machine was too busy to take them."""

    director: str
    table: object
    start: float
    end: float


@dataclass(frozen=True)
class Broken:
    """A broken connection. `since` is when its last exchange began that had an answer, or when it was opened; `asked` when the
    exchange began that has none."""

    flow: tuple  # (VIP, client address, client port)
    proxy: str  # that had answered; None: none had
    since: float
    asked: float
    until: float
    why: str


class Judge:
    """`row_of(table, flow)` gives the names of the hops of a flow, first hop first; `names_of(table)` those of all proxies of a table."""

    def __init__(self, facts, uses, row_of, names_of=None):
        self.facts, self.uses, self.row_of, self.names_of = facts, uses, row_of, names_of

    def explain(self, broken):
        """Why the model says that this connection breaks; None: it should not have."""
        rows = self.rows(broken)
        owners = {broken.proxy} if broken.proxy else {row[0] for row in rows}
        if broken.why == "wrong data":
            return None
        for owner in sorted(owners):
            if any(owner not in row for row in rows):
                return "row"
            kinds = {"dead", "off"} if broken.why in ("refused", "reset", "closed") else {"dead"}
            if self._during(kinds, owner, broken.since, broken.until):
                return "died"
        if broken.why == "timeout" and self._away_s(broken, rows) >= WAITED_SHARE * (broken.until - broken.asked):
            return "cut"
        return "unseen" if self.unseen(broken.since, broken.until) else None

    def explain_quic(self, broken):
        """Why a QUIC connection breaks. Its connection ID leads packets to its proxy by any row, unless a table lacks the proxy: "removed"."""
        if any(broken.proxy not in self.names_of(table) for table in self.tables(broken.since, broken.until)):
            return "removed"
        cut = broken.why.startswith("timeout") and self._away_s(broken, [[broken.proxy]]) >= WAITED_SHARE * (broken.until - broken.asked)
        return "cut" if cut else "unseen" if self.unseen(broken.since, broken.until) else None

    def unseen(self, start, end):
        """Whether a director may have used a table meanwhile that nobody saw. Then the rows are not known."""
        return any(use.table is None and use.start <= end and use.end >= start for use in self.uses)

    def landed_right(self, flow, proxy, start, end):
        """Whether a new connection may reach this proxy: the first hop of a row, or a later hop if no hop before it had the service."""
        for row in self.rows_of(flow, start, end):
            earlier = row[: row.index(proxy)] if proxy in row else None
            if earlier is not None and all(self._during({"off", "dead"}, hop, start, end) for hop in earlier):
                return True
        return self.unseen(start, end)

    def rows(self, broken):
        """The rows of its flow in all tables that any director used meanwhile."""
        return self.rows_of(broken.flow, broken.since, broken.until)

    def rows_of(self, flow, start, end):
        return [self.row_of(table, flow) for table in self.tables(start, end)]

    def tables(self, start, end):
        """All tables that any director used meanwhile."""
        return {use.table for use in self.uses if use.table is not None and use.start <= end and use.end >= start}

    def _during(self, kinds, subject, start, end):
        return any(fact.kind in kinds and fact.subject == subject and fact.overlaps(start, end) for fact in self.facts)

    def _away_s(self, broken, rows):
        """For how long, while it waited, a host on any of its ways was away or its link impaired."""
        hosts = {EVERYWHERE, "client", *(use.director for use in self.uses), *(name for row in rows for name in row)}
        spans = sorted((max(fact.start, broken.asked), min(fact.end, broken.until)) for fact in self.facts
                       if fact.kind in STEERS and fact.subject in hosts and fact.overlaps(broken.asked, broken.until))
        total, reached = 0.0, broken.asked
        for start, end in spans:
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        return total


@dataclass(frozen=True)
class Account:
    """Packets that were sent on a part of their way, and those that arrived or were dropped where somebody counts."""

    where: str
    sent: int
    arrived: int
    dropped: int = 0  # counted drops
    unsure: int = 0  # at most so many more may be sent or dropped: a program was killed (-9) with its counters, or a link drops other packets, too

    @property
    def missing(self):
        """Packets that nothing explains; less than 0: packets that came from nowhere."""
        difference = self.sent - self.arrived - self.dropped
        return 0 if abs(difference) <= self.unsure else difference

    def __str__(self):
        return (f"{self.where}: {self.sent} sent, {self.arrived} arrived, {self.dropped} counted drops"
                + (f", {self.unsure} unsure" if self.unsure else "") + (f": {self.missing} MISSING" if self.missing else ""))


def verdicts_missing(stats, verdicts):
    """Frames that a director received and that have no verdict."""
    return stats["received"] - sum(stats[verdict] for verdict in verdicts)
