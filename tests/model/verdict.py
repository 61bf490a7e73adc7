# SPDX-License-Identifier: BSD-3-Clause
"""The verdicts that the model gives. The director has more: of its queues, buffers and gateway."""

FORWARDED = "forwarded"
ANSWERED_TOO_BIG = "answered_too_big"
EXCEPTION = "exception"
DROP_UNMATCHED = "drop_unmatched"
DROP_TRUNCATED = "drop_truncated"
DROP_MALFORMED = "drop_malformed"
DROP_EXTENSION_HEADERS = "drop_extension_headers"
DROP_FRAGMENT = "drop_fragment"
DROP_TOO_BIG = "drop_too_big"

UNMATCHED = "unmatched"  # inside the model: EXCEPTION or DROP_UNMATCHED, as configured


class Stop(Exception):
    """Ends the processing of a packet with a verdict."""

    def __init__(self, verdict):
        super().__init__(verdict)
        self.verdict = verdict
