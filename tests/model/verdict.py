# SPDX-License-Identifier: BSD-3-Clause
"""How the model ends the processing of a packet. docs/reference/counters.md has the names of the verdicts."""

UNMATCHED = "unmatched"  # internal: becomes exception or drop_unmatched, as configured


class Stop(Exception):
    """Ends the processing of a packet with a verdict."""

    def __init__(self, verdict):
        super().__init__(verdict)
        self.verdict = verdict
