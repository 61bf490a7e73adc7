# SPDX-License-Identifier: BSD-3-Clause
"""The verdicts of the model. The director has more verdicts, for its queues and buffers."""

FORWARDED = "forwarded"
ANSWERED_TOO_BIG = "answered_too_big"
UNDERLAY_TOO_BIG = "underlay_too_big"
EXCEPTION = "exception"
DROP_NOT_FOR_US = "drop_not_for_us"
DROP_VLAN = "drop_vlan"
DROP_MARTIAN = "drop_martian"
DROP_UNMATCHED = "drop_unmatched"
DROP_TRUNCATED = "drop_truncated"
DROP_MALFORMED = "drop_malformed"
DROP_EXTENSION_HEADERS = "drop_extension_headers"
DROP_FRAGMENT = "drop_fragment"
DROP_TOO_BIG = "drop_too_big"
DROP_NO_NEXT_HOP = "drop_no_next_hop"

UNMATCHED = "unmatched"  # internal: becomes EXCEPTION or DROP_UNMATCHED, as configured


class Stop(Exception):
    """Ends the processing of a packet with a verdict."""

    def __init__(self, verdict):
        super().__init__(verdict)
        self.verdict = verdict
