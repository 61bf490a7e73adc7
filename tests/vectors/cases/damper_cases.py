# SPDX-License-Identifier: BSD-3-Clause
"""Results of checks, and the verdicts that the author expects after them."""

import random

from model.damper import Rule


def every_second(results, start=0):
    """'+' is a passed probe, '-' a failed one."""
    return [(start + 1000 * at, result == "+") for at, result in enumerate(results)]


def collect():
    """Yields (name, rule, first verdict, [(time, passed)], last verdict, last number of flaps). None: the author does not say."""
    short = Rule(2, 2, 4000, 12000)
    yield "the first result is the verdict", Rule(), "unknown", [(5, False)], "unhealthy", 0
    yield "below the trigger", Rule(), "healthy", every_second("--+--+--"), "healthy", 0
    yield "no hold for a failure", short, "healthy", every_second("--"), "unhealthy", 0
    yield "a recovery in the hold", short, "healthy", every_second("--+++"), "unhealthy", 0
    yield "a recovery after the hold", short, "healthy", every_second("--++++"), "healthy", 0
    yield "a flap", short, "healthy", every_second("--++++--"), "unhealthy", 1
    yield "a longer hold after a flap", short, "healthy", every_second("--++++--" + 7 * "+"), "unhealthy", 1
    yield "after the longer hold", short, "healthy", every_second("--++++--" + 8 * "+"), "healthy", 1
    yield "a saved verdict has no hold", short, "unhealthy", every_second("++"), "healthy", 0
    yield "no hold_ms", Rule(1, 1, 0, 600000), "healthy", every_second("-+" * 10), "healthy", 0
    noise = random.Random(13)
    for case in range(12):
        rule = Rule(noise.randint(1, 4), noise.randint(1, 4), noise.choice([0, 1, 3000, 10000]), noise.choice([10000, 35000, 600000]))
        now, results = 0, []
        for _ in range(250):
            now += noise.choice([200, 2000, 2000, 60000 if noise.random() < 0.05 else 2000])
            results.append((now, noise.random() < [0.2, 0.5, 0.8][len(results) // 20 % 3]))
        yield f"random {case}", rule, noise.choice(["unknown", "healthy", "unhealthy"]), results, None, None
