# SPDX-License-Identifier: BSD-3-Clause
"""What the scenarios with packets made by hand share. No scenario itself."""

import contextlib

from lab.wire import Cable


def begin(stage):
    """Load, capture, and the client's cable."""
    stage.start_load()
    stage.start_capture()
    return Cable(stage.fleet.network)


class Counters:
    """How glb-redirect's counters changed since now."""

    def __init__(self, stage, other):
        self.stage, self.other = stage, other
        self.before = stage.fleet.redirect_totals()

    def change(self, proxy, counter):
        return self.stage.fleet.proxies[proxy].stats()[counter] - self.before[proxy][counter]

    def expect(self, proxy, counter):
        self.stage.expect(f"{proxy} counts {counter}", self.change(proxy, counter) > 0)


@contextlib.contextmanager
def moved(stage, owner, other):
    """While `owner` drains, so that its packets come to `other` first."""
    stage.fleet.change(owner, state="draining")
    counters = Counters(stage, other)
    yield counters
    counters.expect(other, "forwarded_to_alternate")
    stage.fleet.change(owner, state="active")
