# SPDX-License-Identifier: BSD-3-Clause
"""What the scenarios of roll-outs share: it notes which tables the directors use at the same time."""

import json
import threading

from lab.stage import Stage
from lab.tools import LabError, cli_json, wait_until, write

DRAINED_AFTER = "2s"
ROLLOUT_S = 120  # the longest time of a roll-out


class Watcher:
    """Asks all directors again and again which table they use, until the end of the `with` block."""

    def __init__(self, stage: Stage):
        self.stage, self.fleet = stage, stage.fleet
        self.samples = []
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
                try:
                    sample[director.name] = director.stats()["digest"]
                except LabError:  # it ended meanwhile
                    continue
            self.samples.append(sample)

    def check(self, published):
        """`published`: digests of all tables that were ever in etcd, in order. No director uses another one, and two differ by one step at most."""
        unknown = {each for sample in self.samples for each in sample.values()} - set(published)
        self.stage.expect("no director uses a table that was not rolled out", not unknown, unknown)
        at, apart = 0, 0
        for sample in self.samples:
            if unknown & set(sample.values()):
                continue
            places = [self._place(published, at, each) for each in sample.values()]
            if places:
                apart = max(apart, max(places) - min(places))
                at = min(places)
        self.stage.note("samples", len(self.samples))
        self.stage.expect("no two directors differ by more than one step", apart <= 1, apart)

    @staticmethod
    def _place(published, at, digest):
        """The next place of the digest from `at` on: a roll-out may bring an older table back."""
        return next((i for i in range(at, len(published)) if published[i] == digest), published.index(digest))


class Rollouts:
    """The operator of the roll-outs, and what was published."""

    def __init__(self, stage):
        self.stage, self.fleet = stage, stage.fleet
        self.plans = []  # what `rollout start` printed
        self.published = [self.fleet.running()[0].stats()["digest"]]

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

    def start(self, table, *options):
        """Begins a roll-out, and returns at once."""
        path = f"{self.agent.director.folder}/wanted.json"
        write(path, table.json())
        code, text = self.agent.rollout("start", path, "--drained-after", DRAINED_AFTER, "--detach", *options)
        if code:
            raise LabError(f"rollout start: {text}")
        self.fleet.table = table
        self._note_steps()
        self.plans.append(text)
        return text

    def _note_steps(self):
        rollout = self.status()["rollout"]
        for step in range(1, len(rollout["steps"])):
            self.published.append(self._digest(self.fleet.etcd.get(f"rollouts/{rollout['id']}/{step}")))

    def _digest(self, text):
        path = f"{self.agent.director.folder}/step.json"
        write(path, text)
        return cli_json("show", path)["digest"]

    def abort(self):
        """The steps that were not published are forgotten."""
        rollout = self.status()["rollout"]
        unpublished = len(rollout["steps"]) - 1 - rollout["step"]
        del self.published[len(self.published) - unpublished:]
        code, text = self.agent.rollout("abort", "--drained-after", DRAINED_AFTER, "--detach")
        if code:
            raise LabError(f"rollout abort: {text}")
        self._note_steps()

    def resume(self):
        code, text = self.agent.rollout("resume", "--detach")
        if code:
            raise LabError(f"rollout resume: {text}")

    def wait(self, *states):
        """Waits until the roll-out is in one of these states, and returns it."""
        wait_until(lambda: self.state()[0] in states, lambda: f"the roll-out to be {' or '.join(states)}: {self.status()}", ROLLOUT_S)
        return self.state()[0]

    def wait_step(self, step):
        wait_until(lambda: self.state()[1] >= step or self.state()[0] != "running", lambda: f"step {step}: {self.status()}", 60)

    def finish(self):
        self.wait("done")
        used = {each.name: each.stats()["digest"] for each in self.fleet.running()}
        self.stage.expect("every director uses the wanted table", set(used.values()) == {self.published[-1]}, used)

    def through(self, table, *options):
        self.start(table, *options)
        self.finish()

    def ended(self):
        return json.loads(self.agent.rollout("history", "--json")[1])["history"]
