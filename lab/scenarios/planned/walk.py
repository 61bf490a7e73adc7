# SPDX-License-Identifier: BSD-3-Clause
"""Takes two directors from table to table, one director always one table behind, while connections stay open.

Connections are opened through both directors at each step. All packets go through one director at a time. So the table that handled a
packet is known, and the connections that break must be exactly those that `glb-director-cli replay` predicts for this table.
"""

from math import sqrt

from lab.crowd import Crowd
from lab.foresee import Foresight
from lab.tools import cli_json, write

SIGMAS = 4  # a count that is further from its expectation is no accident


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
        self.open(self.ahead)
        self.ask(self.behind)
        self.open(self.behind)
        self.ask(self.ahead)
        self._load(self.behind, self.used[-1])

    def _foresee(self, table):
        """Looks up at once what is open now, and what will be opened while a director uses the table. It saves many processes."""
        foresight = Foresight(self.ahead, table)
        foresight.hops([member.flow for member in self.crowd.alive()] + self.crowd.waiting[: 4 * self.each])
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


def within(share, count, of):
    """Whether `count` of `of` connections is what to expect if each is one of them with the probability `share`."""
    return abs(count - share * of) <= SIGMAS * sqrt(of * share * (1 - share))


def broken_share(director, old, new):
    """The share of the connections opened with one table that another table breaks, by `glb-director-cli diff`."""
    paths = [f"{director.folder}/{name}.json" for name in ("old", "new")]
    for path, table in zip(paths, (old, new)):
        write(path, table.json())
    return cli_json("diff", *paths, "--max-broken", "100")["broken_percent"] / 100
