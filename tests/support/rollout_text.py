# SPDX-License-Identifier: BSD-3-Clause
"""What commands about roll-outs print, without what differs from run to run."""

import re

PROGRESS = re.compile(r"roll-out \S+: (running|paused|stopped|done|aborted), step (\d) of (\d) \((\w+)\), used by (\d) of (\d)$")
CHANGING = ((r"\d{8}-\d{6}-[0-9a-f]{4}", "ID"), (r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME"), (r"TIME \S+$", "TIME VERSION"), (r"\b[0-9a-f]{16}\b", "HASH"),
            (r"HASH +\d+", "HASH REVISION"), (r"revision \d+", "revision REVISION"), (r"\b\w+@[\w.-]+\w", "WHO"), (r" +", " "))


def plain(line):
    for pattern, word in CHANGING:
        line = re.sub(pattern, word, line)
    return line.rstrip()


def story(lines):
    """All lines but those about the progress of a roll-out, of which a busy machine may see others."""
    kept, progress = [], False
    for line in lines:
        progress = bool(PROGRESS.match(line)) or (progress and line.startswith("  "))
        kept += [] if progress else [plain(line)]
    return kept


def ends(lines):
    """How each command that followed a roll-out ended, and why: [(state, step, steps, kind, directors, all directors, reason)]"""
    found = []
    for i, line in enumerate(lines):
        if (match := PROGRESS.match(line)) and match[1] != "running":
            reason = next((at for at in range(i + 1, len(lines)) if not lines[at].startswith("  ")), len(lines))
            found.append((*match.groups(), plain(" ".join(lines[i + 1 : reason]))))
    return found
