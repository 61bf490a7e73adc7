# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of a check, and the writes that follow changes of verdicts: healthcheck.md, section Verdicts."""

from dataclasses import dataclass

CALM = 10
WINDOW_MAX_MS = 5000


@dataclass
class Rule:
    trigger_healthy: int = 3
    trigger_unhealthy: int = 3
    hold_ms: int = 10000
    hold_max_ms: int = 600000


class Damper:
    """`verdict` is "unknown", "healthy" or "unhealthy"."""

    def __init__(self, rule, verdict="unknown"):
        self.rule, self.verdict = rule, verdict
        self.against = 0  # results in a row that contradict the verdict
        self.flaps = 0
        self.recovered = None  # time of the last change from unhealthy to healthy
        self.held_until = 0

    def hold(self):
        return min(self.rule.hold_ms << self.flaps, self.rule.hold_max_ms)

    def step(self, passed, now):
        """Adds a result. Returns whether the verdict changed."""
        result = "healthy" if passed else "unhealthy"
        if result == self.verdict:
            self.against = 0
            return False
        if self.verdict != "unknown":
            self.against += 1
            needed = self.rule.trigger_healthy if passed else self.rule.trigger_unhealthy
            if self.against < needed or now < self.held_until:
                return False
        if self.verdict == "healthy":
            self._fall(now)
        elif self.verdict == "unhealthy":
            self.recovered, self.held_until = now, 0
        self.verdict, self.against = result, 0
        return True

    def _fall(self, now):
        if self.recovered is None or now - self.recovered >= CALM * self.hold():
            self.flaps = 0
        elif self.hold() < self.rule.hold_max_ms:
            self.flaps += 1
        self.held_until = now + self.hold()

    def wavers(self):
        return self.verdict == "healthy" and self.against > 0


class Batch:
    """Changes of verdicts that wait for one write."""

    def __init__(self):
        self.opened = None
        self.early = False
        self.next = 0

    def add(self, interval_ms, timeout_ms, trigger_unhealthy, failed, now):
        waver_by_now = trigger_unhealthy >= 2 and (trigger_unhealthy - 2) * interval_ms >= timeout_ms
        if self.opened is None:
            self.opened, self.early = now, False
            self.window = min(interval_ms + timeout_ms, WINDOW_MAX_MS)
        self.early = self.early or (failed and waver_by_now)

    def is_due(self, others_waver, now):
        if self.opened is None or now < self.next:
            return False
        return now >= self.opened + self.window or (self.early and not others_waver)

    def written(self, now):
        self.opened, self.next = None, now + self.window
