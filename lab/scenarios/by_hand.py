# SPDX-License-Identifier: BSD-3-Clause
"""What the scenarios with packets made by hand share. No scenario itself."""

import contextlib

from lab.tools import poll
from lab.wire import PATIENCE_S, Cable


def begin(stage):
    """Load, capture, and the client's cable."""
    stage.start_load()
    stage.start_capture()
    return Cable(stage.fleet.network)


class Counters:
    """How glb-redirect's counters changed since now."""

    def __init__(self, stage):
        self.stage = stage
        self.before = stage.fleet.redirect_totals()

    def change(self, proxy, counter):
        return self.stage.fleet.proxies[proxy].stats()[counter] - self.before[proxy][counter]

    def expect(self, proxy, counter):
        """In a moment: the packet that is to be counted may still be on its way."""
        counted = poll(lambda: self.change(proxy, counter), PATIENCE_S)
        self.stage.expect(f"{proxy} counts {counter}", counted > 0)


@contextlib.contextmanager
def moved(stage, owner, other):
    """While `owner` drains, so that its packets come to `other` first."""
    stage.fleet.change(owner, state="draining")
    counters = Counters(stage)
    yield counters
    counters.expect(other, "forwarded_to_alternate")
    stage.fleet.change(owner, state="active")
