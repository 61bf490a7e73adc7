# SPDX-License-Identifier: BSD-3-Clause
"""Damaged packets: the program decides as the model, byte for byte.

GLB_FUZZ_SECONDS says for how long, GLB_SEED with which random numbers: `script/fuzz redirect` sets both.
"""

import os
import random
import struct
import time

from conftest import run_frames
from host import FULL
from model_of_proxy import decide
from packets import KINDS, OTHER_HOP, SELF, gue_frame
from support.vectors import GUE

SHORTEST_RUN = 14  # BPF_PROG_TEST_RUN refuses frames without a whole Ethernet header
BATCH = 2000
SECONDS = float(os.environ.get("GLB_FUZZ_SECONDS", 5))
HALF_OPEN = struct.pack(">H", FULL)  # how many half-open connections the full listener has depends on the kernel
SEED = os.environ.get("GLB_SEED", "redirect")


def whole_frames(host):
    for kind in KINDS:
        for family in (4, 6):
            for outer in (4, 6):
                for hops in ((), (SELF, OTHER_HOP)):
                    yield gue_frame(kind.build(host, family), hops=hops, next_hop=len(hops) // 2, outer=outer)
    yield from (bytes.fromhex(case["frame"]) for case in GUE)


def damaged(chance, frame):
    """Flips bits, sets bytes, cuts, repeats or removes parts. Most damage is in the headers."""
    frame = bytearray(frame)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(min(max(len(frame), 1), chance.choice((64, 128, 2000))))
        how = chance.randrange(6)
        if at >= len(frame):
            break
        if how < 2:
            frame[at] ^= 1 << chance.randrange(8)
        elif how == 2:
            frame[at] = chance.choice((0, 1, 4, 5, 6, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        elif how == 3:
            del frame[max(at, SHORTEST_RUN):]
        elif how == 4:
            frame[at:at] = frame[at : at + chance.randrange(1, 24)]
        else:
            del frame[at : at + chance.randrange(1, 24)]
    return bytes(frame[:1400]).ljust(SHORTEST_RUN, b"\0")


def test_damaged_packets_are_decided_as_the_model_decides(host):
    chance, total, counters = random.Random(SEED), 0, set()
    end, renew = time.monotonic() + SECONDS, 0
    while not total or time.monotonic() < end:
        if time.monotonic() >= renew:
            host.get_cookies()
            seeds, renew = list(whole_frames(host)), time.monotonic() + 30
        frames = [damaged(chance, chance.choice(seeds)) for _ in range(BATCH)]
        for frame, outcome in zip(frames, run_frames(host, frames), strict=True):
            if HALF_OPEN in frame:
                continue
            assert outcome == decide(frame, host.sockets), f"GLB_SEED={SEED}: {frame.hex()}"
            counters.add(outcome.counter)
        total += len(frames)
    print(f"{total} inputs {len(counters)} counters")
    assert len(counters) > 15
