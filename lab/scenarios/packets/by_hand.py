# SPDX-License-Identifier: BSD-3-Clause
"""Shared code of the scenarios that build packets themselves. This module is not a scenario."""

import contextlib

from lab.tools import TIMEOUT_S, poll
from lab.wire import Cable


def begin(stage):
    """Starts load and capture. Returns the client's link for handmade packets."""
    stage.start_load()
    stage.start_capture()
    return Cable(stage.fleet.network)


class Counters:
    """The changes of glb-redirect's counters since this object was made."""

    def __init__(self, stage):
        self.stage = stage
        self.before = stage.fleet.redirect_totals()

    def change(self, proxy, counter):
        return self.stage.fleet.proxies[proxy].stats()[counter] - self.before[proxy][counter]

    def expect(self, proxy, counter):
        """Waits a moment, because the packet may not have arrived yet."""
        counted = poll(lambda: self.change(proxy, counter), TIMEOUT_S)
        self.stage.expect(f"{proxy} counts {counter}", counted > 0)


def established(stage, proxy, connection):
    """Waits until a proxy has got the ACK of the handshake."""
    stage.expect(f"{proxy} has the connection", poll(lambda: stage.socket_state(proxy, connection.port) == "ESTAB", TIMEOUT_S))


@contextlib.contextmanager
def moved(stage, owner, other):
    """Drains `owner` meanwhile, so that its packets reach `other` first."""
    stage.fleet.change(owner, state="draining")
    counters = Counters(stage)
    yield counters
    counters.expect(other, "forwarded_to_alternate")
    stage.fleet.change(owner, state="active")
