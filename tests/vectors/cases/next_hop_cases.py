# SPDX-License-Identifier: BSD-3-Clause
"""Next hops that lead to one backend, and how many slots the author expects each to have."""

import random

from model.next_hops import NextHop


def mac(number):
    return bytes([2, 0, 0, 0, 0, number])


def of(*weights, dead=(), ids=None):
    ids = ids or range(1, len(weights) + 1)
    return [
        NextHop(i, None if at in dead else mac(at + 1), weight)
        for at, (i, weight) in enumerate(zip(ids, weights))
    ]


def collect():
    """Yields (name, next hops, slots of each)."""
    top = (1 << 64) - 1
    yield "one", of(1), [256]
    yield "two equal", of(1, 1), [128, 128]
    yield "two equal with large ids", of(1, 1, ids=(top, top - 1)), [128, 128]
    yield "three equal", of(1, 1, 1), [86, 85, 85]
    yield "weights 1 and 3", of(1, 3), [64, 192]
    yield "large weights", of(65536, 65536), [128, 128]
    yield "a share of less than a slot", of(1, 10000), [0, 256]
    yield "weight 0", of(0, 1), [0, 256]
    yield "two equal, one unreachable", of(1, 1, dead=(0,)), [0, 256]
    yield "no reachable one", of(1, 1, dead=(0, 1)), [0, 0]
    yield "the reachable one has weight 0", of(0, 1, dead=(1,)), [0, 0]
    noise = random.Random(8950)
    for case in range(12):
        count = noise.randint(2, 128)
        weights = [noise.randint(1, 256) for _ in range(count)]
        dead = [at for at in range(count) if noise.random() < case % 4 / 5]
        ids = [noise.getrandbits(64) for _ in range(count)]
        yield f"random {case}", of(*weights, dead=dead, ids=ids), None
