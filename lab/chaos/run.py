# SPDX-License-Identifier: BSD-3-Clause
"""One run of chaos, in a capsule: a lab under load, the events of the plan, and the report."""

import collections
import functools
import json
import signal
import subprocess
import time
from pathlib import Path

from lab import quic
from lab.chaos import plan
from lab.chaos.events import Events
from lab.chaos.judge import Broken, Judge, verdicts_missing
from lab.chaos.links import Ledger, Links
from lab.chaos.tables import Digests, Recorder, Rows, said
from lab.clients import Load
from lab.fleet import Fleet
from lab.scenarios.changes.quic import configure
from lab.scenarios.changes.quic import table as quic_table
from lab.tools import TIMEOUT_S, LabError, poll, read, wait_until

HELD, SHORT, SHORT_PAUSE_S, RENEW_S, QUIC_HELD = 60, 2, 0.1, 20, 20
VERDICTS = ("forwarded", "answered_too_big", "underlay_too_big", "exception")  # and all that begin with "drop_"
SHOWN = 20  # faults of a kind in the report
LOG_BYTES = 2000


def verdict_names(stats):
    return [name for name in stats if name in VERDICTS or name.startswith("drop_")]


class Run:
    def __init__(self, settings, say):
        """`settings`: seed, minutes, shape, other (a build folder or None)"""
        self.settings, self.say = settings, say
        self.events = plan.make(settings["seed"], settings["minutes"], settings["shape"], bool(settings["other"]))
        self.faults, self.done = [], collections.Counter()
        self.left_out = set()  # numbers of events
        self.quic = None

    def fault(self, text):
        self.faults.append(text)
        self.say(f"FAULT: {text}")

    def up(self):
        self.fleet = fleet = Fleet(self.settings["shape"]).up()
        self.links = Links(fleet.network)
        for each in [*fleet.directors.values(), *fleet.proxies.values(), *fleet.etcd.members]:
            self.links.add(each.host, each.link)
        self.ledger = Ledger(self.links)
        self._without_checks(lambda: self.ledger.begin(fleet.directors, fleet.proxies))
        self.digests = Digests("/run/lab")
        self.digests.start()
        self.recorders = [Recorder(director, self.digests) for director in fleet.directors.values()]
        self.chaos = Events(fleet, self.links, self.ledger, self.settings["other"] and Path(self.settings["other"]))
        for recorder in self.recorders:
            recorder.start()
        if fleet.shape.quic:
            self._start_quic()
        self.load = Load(fleet.client, held=HELD, short=SHORT, renew_s=RENEW_S, short_pause_s=SHORT_PAUSE_S)
        self.start = time.monotonic()
        self.say(f"{len(fleet.hosts())} hosts, {HELD} long-lived connections and {SHORT} clients with short ones"
                 + (f", {QUIC_HELD} QUIC connections that move" if self.quic else ""))

    def _without_checks(self, action):
        """Only the health checks send GUE while there are no clients."""
        checks = [director.healthcheck.process for director in self.fleet.directors.values()]
        for process in checks:
            process.send_signal(signal.SIGSTOP)
        poll(self._quiet, TIMEOUT_S)
        action()
        for process in checks:
            process.send_signal(signal.SIGCONT)

    def _start_quic(self):
        self.chaos.publish(quic_table(self.fleet, routable=True))
        self._wait_table()
        configure(self.fleet, quic.CONFIG)
        self.quic = quic.QuicClients(self.fleet.client, QUIC_HELD, short=0)
        self.quic.ask("move")

    # Events

    def play(self):
        """On a machine that is too slow for the plan, events come late. Those that would begin after the end are left out."""
        steps = plan.steps(self.events)
        for step in steps:
            if step.begins and time.monotonic() - self.start > 60 * self.settings["minutes"]:
                self.left_out.add(step.event.number)
            if step.event.number in self.left_out:
                continue
            time.sleep(max(0, self.start + step.at - time.monotonic()))
            self.say(f"{time.monotonic() - self.start:7.1f} s  #{step.event.number:<4} {'' if step.begins else 'end of '}{step.event}")
            try:
                self.chaos.do(step)
            except (LabError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
                self.fault(f"#{step.event.number} {'' if step.begins else 'end of '}{step.event}: {type(error).__name__}: {error}")
            self.done[step.event.kind] += step.begins
            self.look()
        if self.left_out:
            self.say(f"the machine is too slow for this plan: {len(self.left_out)} of {len(self.events)} events are left out")
        time.sleep(max(0, self.start + 60 * self.settings["minutes"] - time.monotonic()))

    def look(self):
        """No program may end by itself."""
        for (part, name), (process, log) in self._programs().items():
            if process.poll() is not None and (part, name) not in self.chaos.down:
                self.chaos.down.add((part, name))  # one fault is enough
                self.fault(f"{part} of {name} ended by itself with {process.returncode}: {read(log)[-LOG_BYTES:]}")

    def _programs(self):
        found = {}
        for name, director in self.fleet.directors.items():
            agent, checks = self.fleet.agents[name], director.healthcheck
            found |= {("director", name): (director.process, director.log), ("agent", name): (agent.process, agent.log),
                      ("checks", name): (checks.process, checks.log)}
        for name, proxy in self.fleet.proxies.items():
            found |= {("nginx", name): (proxy.nginx, proxy.log), ("echo", name): (proxy.echo, proxy.log)}
        return found | {("etcd", each.name): (each.process, each.log) for each in self.fleet.etcd.members}

    # The end

    def settle(self):
        """All directors must use the operator's table with all proxies healthy. A check that flapped may be held back longer than TIMEOUT_S."""
        for director in self.fleet.running():
            director.healthcheck.process.send_signal(signal.SIGHUP)
        try:
            self._wait_table()
        except LabError as error:
            self.fault(str(error))

    def _wait_table(self):
        wanted = said(self.fleet.table.json())
        wait_until(lambda: not self._behind(wanted), lambda: f"all directors to use the last table: {self._behind(wanted)}")

    def _behind(self, wanted):
        behind = {}
        for director in self.fleet.directors.values():
            try:
                text = read(director.source)
                sick = [each["ip"] for each in json.loads(text)["tables"][0]["backends"] if not each["healthy"]]
                if said(text) != wanted:
                    behind[director.name] = "another table"
                elif sick:
                    behind[director.name] = f"unhealthy: {sick}"
                elif not director.healthcheck.in_use():
                    behind[director.name] = "not in use"
            except (OSError, ValueError, KeyError, LabError) as error:
                behind[director.name] = f"{type(error).__name__}: {error}"
        return behind

    def finish(self):
        """Ends everything in an order in which packets can be counted. Returns the report."""
        self.settle()
        self.say(f"{time.monotonic() - self.start:7.1f} s  all connections end")
        if self.quic:
            moved = self.quic.stop()
        loaded = self.load.stop()
        self.look()
        for director in self.fleet.directors.values():
            for part in (director.healthcheck, self.fleet.agents[director.name]):
                part.kill()
        for recorder in self.recorders:
            if not recorder.is_alive():
                self.fault(f"the record of the tables of {recorder.director.name} ended early: see the message above")
            recorder.stop()
        judge = self._judge()
        if self.quic:
            self._judge_quic(judge, moved)
        report = self._judge_connections(judge, loaded)
        report["packets"] = self._judge_packets()
        return {
            **self._head(), "events": dict(sorted(self.done.items())), "left_out": len(self.left_out), **report, "faults": self.faults, "passed": not self.faults,
            "seconds": round(time.monotonic() - self.start, 1)}

    def _head(self):
        shape = self.settings["shape"]
        return {"seed": self.settings["seed"], "minutes": self.settings["minutes"], "underlay": shape.underlay, "hops": shape.hops,
                "quic": shape.quic, "other": self.settings["other"]}

    def _judge_quic(self, judge, report):
        reasons, boot = collections.Counter(), time.time() - time.monotonic()
        for each in report["lost"]:
            asked, until = each["asked"] - boot, each["until"] - boot
            reason = judge.explain_quic(Broken(None, each["server"], asked, asked, until, each["why"]))
            reasons[reason or "nothing"] += 1
            if not reason:
                self.fault(f"a QUIC connection of {each['server'] or 'no proxy'} broke, and nothing explains it: {each['why']}, "
                           f"from {asked - self.start:.2f} to {until - self.start:.2f} s")
        self.quic_report = {**{name: report[name] for name in ("held", "broken", "moved", "requests")}, "reasons": dict(reasons)}

    def _judge(self):
        """A judge who knows which table each director used when. That nobody published one is a fault."""
        digests, uses = self.digests.stop(), []
        for recorder in self.recorders:
            found, unknown = recorder.uses(digests)
            uses += found
            for digest, (start, end) in unknown.items():
                self.say(f"{recorder.director.name} used {digest} from {start - self.start:.1f} to {end - self.start:.1f} s, which was never seen as JSON")
        published = {said(table.json()) for table in self.chaos.published}
        for use in {use.table: use for use in uses if use.table is not None}.values():
            if said(use.table) not in published:
                self.fault(f"{use.director} used a table that nobody published: {use.table}")
        rows = Rows({proxy.address: name for name, proxy in self.fleet.proxies.items()})
        return Judge(self.chaos.all_facts(), uses, functools.cache(lambda text, flow: rows.of(text, tuple(flow))), functools.cache(rows.names))

    def _judge_connections(self, judge, loaded):
        tables = {use.table for use in judge.uses} - {None}
        self.say(f"{time.monotonic() - self.start:7.1f} s  the judge looks at {len(tables)} tables and {loaded['held'] + loaded['short']} connections")
        self._judge_landings(judge, loaded["landed"])
        reasons, unpredicted = collections.Counter(), []
        for broken in broken_of(loaded):
            reason = judge.explain(broken)
            reasons[reason or "nothing"] += 1
            if not reason:
                unpredicted.append({**vars(broken), "rows": judge.rows(broken), "at": round(broken.until - self.start, 2)})
        self._fault_each("a connection broke, and nothing explains it", unpredicted)
        total = loaded["held"] + loaded["short"]
        return {
            "connections": total, "exchanges": loaded["exchanges"], "broken": sum(reasons.values()), "reasons": dict(reasons),
            "predicted": sum(reasons.values()) - len(unpredicted), "unpredicted": len(unpredicted), "tables": len(tables),
            **({"quic_connections": self.quic_report} if self.quic else {})}

    def _judge_landings(self, judge, landed):
        landed.sort(key=lambda each: each[2])  # by time, so that the rows of a table are asked for together: to match them takes a second
        wrong = [{"flow": flow, "proxy": proxy, "at": round(start - self.start, 2), "rows": judge.rows_of(tuple(flow), start, end)}
                 for flow, proxy, start, end in landed if not judge.landed_right(tuple(flow), proxy, start, end)]
        self._fault_each("a new connection reached a proxy that is not the first hop of its row", wrong)

    def _fault_each(self, text, found):
        for each in found[:SHOWN]:
            self.fault(f"{text}: {each}")
        if len(found) > SHOWN:
            self.fault(f"{text}: {len(found) - SHOWN} more")

    def _judge_packets(self):
        poll(self._quiet, TIMEOUT_S)
        directors = {name: (each.host, each.stats() if each.running() else None) for name, each in self.fleet.directors.items()}
        proxies = {name: (proxy.host, proxy.stats()) for name, proxy in self.fleet.proxies.items()}
        for name, (_, stats) in directors.items():
            if stats and (missing := verdicts_missing(stats, verdict_names(stats))):
                self.fault(f"{name} received {stats['received']} frames, and {missing} of them have no verdict")
        accounts = self.ledger.accounts(directors, proxies)
        self.say(f"{self.links.to_directors(directors)} GUE packets were sent to directors, which a proxy does whose row has no further hop")
        for account in accounts:
            if account.missing:
                self.fault(f"packets are missing: {account}")
        return {"accounts": list(map(str, accounts)), "sent": sum(each.sent for each in accounts), "unsure": sum(each.unsure for each in accounts)}

    def _quiet(self):
        before = self.links.counters()
        time.sleep(0.5)
        return before == self.links.counters()


def broken_of(loaded):
    for each in loaded["held_broken"]:
        yield Broken(tuple(each["flow"]), each["proxy"], each["since"], each["asked"], each["until"], each["why"])
    for each in loaded["short_broken"]:
        yield Broken(tuple(each["flow"]), None, each["since"], each["since"], each["until"], each["why"])


def run(settings, say):
    """Returns the report."""
    made = Run(settings, say)
    made.up()
    made.play()
    return made.finish()
