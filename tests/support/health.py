# SPDX-License-Identifier: BSD-3-Clause
"""The health of a running director. tests/service/test_health.py checks that each cause is given to one of the two functions that wait."""

from lab.tools import wait_until
from support.cli import run_json

EXIT_CODES = {"ok": 0, "degraded": 1}  # of `glb-director-cli health`; 2 for all other states


def _causes(director):
    reply = director.telemetry.ask("/glb/health")
    return reply["state"], [reason["cause"] for reason in reply["reasons"].values()]


def wait_health(director, state, *causes):
    """Waits until /glb/health has this state, and these causes in this order and no others. Returns what the CLI then prints."""
    wanted = (state, list(causes))

    def told():
        """Returns what the CLI prints, or None if the causes are others when it asks: on a busy machine a worker may seem stuck."""
        if _causes(director) != wanted:
            return None
        try:
            reply = run_json("health", "--file-prefix", director.file_prefix, code=EXIT_CODES.get(state, 2), env=director.environment)
        except AssertionError:
            if _causes(director) == wanted:
                raise
            return None
        return reply if [reason["cause"] for reason in reply["reasons"]] == wanted[1] else None

    return wait_until(told, lambda: f"{state} {causes}: {_causes(director)}\n{director.log}")


def wait_cause(director, cause, there=True):
    """Waits until this cause is there, or is not there, whatever other causes there are."""
    wait_until(lambda: (cause in _causes(director)[1]) == there, lambda: f"{cause} {there}: {_causes(director)}\n{director.log}")


def wait_reason(director, text):
    """Waits until this text is part of a reason. Counts in a reason may grow for some ticks."""
    wait_until(lambda: any(text in reason["text"] for reason in director.telemetry.ask("/glb/health")["reasons"].values()),
               lambda: f"{text!r}: {director.telemetry.ask('/glb/health')}")
