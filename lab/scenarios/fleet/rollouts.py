# SPDX-License-Identifier: BSD-3-Clause
"""What the scenarios of roll-outs share: it notes which tables the directors use at the same time."""

import json
import threading

from lab.stage import Stage
from lab.tools import LabError, cli_json, wait_until, write

DRAINED_AFTER = "2s"
ROLLOUT_S = 120  # the longest time of a roll-out


def told(path):
    """The digest of a table, and what it says. Health and previous states are left out, because glb-healthcheck changes them on each director."""
    shown = cli_json("show", path)
    says = [[each["name"], each["row_hops"], each["balance"], each["binds"], [[b["ip"], b["state"], b["weight"]] for b in each["backends"]]]
            for each in shown["tables"]]
    return shown["digest"], json.dumps(says)


class Watcher:
    """Asks all directors again and again which table they use, until the end of the `with` block."""

    def __init__(self, stage: Stage):
        self.stage, self.fleet = stage, stage.fleet
        self.samples = []  # {director: digest}
        self.says = {}  # digest: what the table says
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _run(self):
        while not self._end.wait(0.1):
            sample = {}
            for director in self.fleet.running():
                digest = director.stats()["digest"]
                if digest not in self.says:
                    self.says.update([told(director.source)])  # which may be newer than the table in use
                sample[director.name] = digest
            self.samples.append(sample)

    def check(self, published):
        """`published`: all tables that were ever in etcd, in order. No director uses another one, and two differ by one step at most."""
        used = {each for sample in self.samples for each in sample.values()}
        unknown = {digest: self.says.get(digest) for digest in used if self.says.get(digest) not in published}
        self.stage.expect("no director uses a table that was not rolled out", not unknown, unknown)
        published = [each for i, each in enumerate(published) if published[i - 1 : i] != [each]]  # steps may differ in previous states only
        at, apart = 0, 0
        for sample in self.samples:
            places = [self._place(published, at, self.says[each]) for each in sample.values() if each not in unknown]
            if places:
                apart = max(apart, max(places) - min(places))
                at = min(places)
        self.stage.note("samples", len(self.samples))
        self.stage.expect("no two directors differ by more than one step", apart <= 1, apart)

    @staticmethod
    def _place(published, at, table):
        """The next place of the table from `at` on: a roll-out may bring an older one back."""
        return next((i for i in range(at, len(published)) if published[i] == table), published.index(table))


class Rollouts:
    """The operator of the roll-outs, and what was published."""

    def __init__(self, stage):
        self.stage, self.fleet = stage, stage.fleet
        self.plans = []  # what `rollout start` printed
        self.published = [self._told(self.fleet.etcd.get("table"))]  # what the tables say that were in etcd, in order

    @property
    def agent(self):
        return next(each for each in self.fleet.agents.values() if each.process.poll() is None)

    def status(self):
        """What `rollout status` prints. While etcd elects a leader, it has no reply."""
        last = []

        def ask():
            last[:] = self.agent.rollout("status", "--json")
            return last[0] == 0

        wait_until(ask, lambda: f"rollout status: {last[1]}")
        return json.loads(last[1])

    def state(self):
        rollout = self.status()["rollout"]
        return rollout["state"], rollout["step"]

    def start(self, table, *options, drained_after=DRAINED_AFTER):
        """Begins a roll-out, and returns at once."""
        path = f"{self.agent.director.folder}/wanted.json"
        write(path, table.json())
        self.plans.append(self.command("start", path, "--drained-after", drained_after, "--detach", *options))
        self.fleet.table = table
        self._note_steps()

    def _note_steps(self):
        rollout = self.status()["rollout"]
        self.published += [self._told(self.fleet.etcd.get(f"rollouts/{rollout['id']}/{step}")) for step in range(1, len(rollout["steps"]))]

    def _told(self, text):
        path = f"{self.agent.director.folder}/step.json"
        write(path, text)
        return told(path)[1]

    def abort(self):
        """The steps that were not published are forgotten. If the leader has just written, the command says that one must try again."""
        def done():
            code, text = self.agent.rollout("abort", "--drained-after", DRAINED_AFTER, "--detach")
            if code and "and try again" not in text:
                raise LabError(f"rollout abort: {text}")
            return code == 0

        wait_until(done, "an abort between two writes of the leader")
        aborted = self.ended()[-1]
        del self.published[len(self.published) - (len(aborted["steps"]) - 1 - aborted["step"]):]
        self._note_steps()

    def command(self, *words):
        code, text = self.agent.rollout(*words)
        if code:
            raise LabError(f"rollout {words[0]}: {text}")
        return text

    def resume(self):
        self.command("resume", "--detach")

    def wait(self, *states):
        """Waits until the roll-out is in one of these states, and returns it."""
        wait_until(lambda: self.state()[0] in states, lambda: f"the roll-out to be {' or '.join(states)}: {self.status()}", ROLLOUT_S)
        return self.state()[0]

    def wait_step(self, step, reached=False):
        """Waits until the step is published, or `reached` by all directors, or the roll-out no longer runs."""
        def there():
            rollout = self.status()["rollout"]
            return rollout["state"] != "running" or (rollout["step"] >= step and rollout["reached"] >= reached)

        wait_until(there, lambda: f"step {step}: {self.status()}")

    def used(self):
        """{director: what the table in use says}"""
        tables = {each.name: (each.stats()["digest"], told(each.source)) for each in self.fleet.running()}
        return {name: says if built == digest else digest for name, (digest, (built, says)) in tables.items()}

    def finish(self):
        self.wait("done")
        wait_until(lambda: set(self.used().values()) == {self.published[-1]}, lambda: f"every director to use the wanted table: {self.used()}")

    def ended(self):
        return json.loads(self.agent.rollout("history", "--json")[1])["history"]
