# SPDX-License-Identifier: BSD-3-Clause
"""Takes two directors from table to table, one director always one table behind, while connections stay open.

Connections are opened through both directors at each step. All packets go through one director at a time. So the table that handled a
packet is known, and the connections that break must be exactly those that `glb-director-cli replay` predicts for this table.
"""

from dataclasses import dataclass

from lab.crowd import Crowd
from lab.foresee import Foresight


@dataclass(frozen=True)
class Change:
    """How many connections broke when they met another table than the one with which they were opened, for the first time."""

    old: object
    new: object
    opened: int  # through each director
    broken: int  # of both


class Walk:
    def __init__(self, stage, table, each=100, crowd=None):
        """Both directors get `table`. `each`: how many connections are opened through each director at each step."""
        self.stage, self.fleet, self.each = stage, stage.fleet, each
        self.behind, self.ahead = self.fleet.running()
        self.crowd = crowd or Crowd(self.fleet.client)
        self.opened, self.broken = [], []
        self.in_use, self.used = {}, [self._foresee(table)]  # by name of a director; in the order of use
        self.withdrawn = None  # the director without routes
        for director in (self.behind, self.ahead):
            self._load(director, self.used[0], "--force")  # it may have fewer proxies than the table of the walk before
        for director in (self.behind, self.ahead):
            self.open(director)

    def to(self, table):
        """Both directors get another table, one of them later than the other. Meanwhile packets of all connections pass both."""
        self.used.append(self._foresee(table))
        self._load(self.ahead, self.used[-1])
        self.ask(self.ahead)
        opened_new = self.open(self.ahead)
        self.ask(self.behind)
        opened_old = self.open(self.behind)
        self.ask(self.ahead)
        self._load(self.behind, self.used[-1])
        broken = sum(1 for member in (*opened_new, *opened_old) if member.broken)
        return Change(self.used[-2].table, table, self.each, broken)

    def _foresee(self, table):
        """Looks up at once what is open now, and what will be opened while a director uses the table. It saves many processes."""
        foresight = Foresight(self.ahead, table)
        foresight.hops([member.flow for member in self.crowd.alive()] + self.crowd.waiting[: 6 * self.each])
        return foresight

    def _load(self, director, foresight, *options):
        director.reload(foresight.table, *options)
        self.in_use[director.name] = foresight

    def _send_all_through(self, director):
        other = self.ahead if director is self.behind else self.behind
        if self.withdrawn is director:
            self.fleet.routes.add(director)
        if self.withdrawn is not other:
            self.fleet.routes.withdraw(other)
        self.withdrawn = other

    def open(self, director):
        self._send_all_through(director)
        new = self.crowd.open(self.each, self.in_use[director.name].table)
        self.opened += new
        refused = [member for member in new if member.broken]
        self.stage.expect("every connection opens", not refused, refused[:3])
        hops = self.in_use[director.name].hops([member.flow for member in new])
        stray = [member for member in new if not member.broken and self._address(member) != hops[member.flow][0]]
        self.stage.expect("every connection reaches the first hop that replay predicts", not stray, stray[:3])
        return new

    def ask(self, director):
        """Exchanges data on all connections through one director."""
        self._send_all_through(director)
        alive = self.crowd.alive()
        hops = self.in_use[director.name].hops([member.flow for member in alive])
        foreseen = {member.flow for member in alive if self._address(member) not in hops[member.flow]}
        broke = self.crowd.ask(alive)
        self.broken += broke
        unlike = foreseen ^ {member.flow for member in broke}
        self.stage.expect("exactly those connections break that replay predicts", not unlike, sorted(unlike)[:3])

    def end_at(self, proxies):
        """The clients of these proxies end their connections."""
        self.crowd.end([member for member in self.crowd.alive() if member.proxy in proxies])

    def renew(self):
        """The clients end all connections, and open others."""
        self.crowd.end(self.crowd.alive())
        for director in (self.behind, self.ahead):
            self.open(director)

    def _address(self, member):
        return self.fleet.proxies[member.proxy].address

    def opened_with(self, table):
        """The connections that were opened while the director that handled them used this table."""
        return [member for member in self.opened if member.label is table]

    def end(self):
        """The clients end all connections. Returns {"connections": ..., "broken": ...}."""
        self.crowd.end(self.crowd.members)
        if self.withdrawn:
            self.fleet.routes.add(self.withdrawn)
        self.stage.result.connections += len(self.opened)
        self.stage.result.broken += len(self.broken)
        return {"connections": len(self.opened), "broken": len(self.broken)}
