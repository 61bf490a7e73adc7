#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: bench/figures/draw_changes.py weights|changes|failures SEED

Prints a script of random changes for glb-director-cli simulate. The same seed always gives the same script, with any version of Python.
docs/explanation/connections.md uses the seeds 1, 2 and 3; docs/howto/examples/connections has seed 1.
"""

import random
import sys

PROXIES = 32
FAILURES, AT_ONCE, MOST_DOWN = 0.4, 8, 12  # of failures.sim: share of the changes, proxies
HEAD = {
    "weights": """\
# 10 changes, one a minute, of 32 proxies. Each gives 4 proxies one weight: 25, 50, 200 or 400, which is 0.25 to 4 times the default. Both are
# drawn at random.
""",
    "changes": """\
# 20 changes, one a minute, of 32 proxies, drawn at random: one proxy is added, up to 4 are drained or come back, or 4 get a weight of 25 to 400.
# Nothing is taken back on purpose, and nothing fails.
""",
    "failures": """\
# 20 changes, one a minute, of 32 proxies, drawn at random. About 8 of them are failures or recoveries of up to 8 proxies at once; at most 12 are
# down. A proxy that failed works again when it recovers, without its old connections. The other changes are as in changes.sim.
""",
}


class Fleet:
    def __init__(self, seed):
        self.random = random.Random(seed).random  # its other methods may differ between versions of Python
        self.active, self.draining, self.down = set(range(1, PROXIES + 1)), set(), set()
        self.added = PROXIES

    def pick(self, some, count=1):
        left = sorted(some)
        return {left.pop(int(self.random() * len(left))) for _ in range(min(count, len(left)))}

    def up_to_4(self, some):
        return self.pick(some, 1 + int(self.random() * 4))

    def weight(self):
        proxies = self.pick(self.active, 4)
        return "weight", proxies, self.pick({25, 50, 200, 400}).pop()

    def add(self):
        self.added += 1
        self.active.add(self.added)
        return "add", {self.added}

    def drain(self):
        proxies = self.up_to_4(self.active - self.down)
        self.active -= proxies
        self.draining |= proxies
        return "drain", proxies

    def undrain(self):
        proxies = self.up_to_4(self.draining)
        self.active |= proxies
        self.draining -= proxies
        return "undrain", proxies

    def fail_or_recover(self):
        if self.down and (len(self.down) >= MOST_DOWN or self.random() < 0.5):
            proxies = self.pick(self.down, 1 + int(self.random() * AT_ONCE))
            self.down -= proxies
            return "recover", proxies
        proxies = self.pick((self.active | self.draining) - self.down, min(1 + int(self.random() * AT_ONCE), MOST_DOWN - len(self.down)))
        self.down |= proxies
        return "fail", proxies

    def change(self, failures):
        if self.random() < failures:
            return self.fail_or_recover()
        kind = int(self.random() * 5)
        if kind == 0:
            return self.add()
        if kind == 1 and self.draining:
            return self.undrain()
        return self.drain() if kind <= 2 else self.weight()


def draw(name, seed):
    fleet = Fleet(seed)
    if name == "weights":
        found = [fleet.weight() for _ in range(10)]
    else:
        found = [fleet.change(FAILURES if name == "failures" else 0) for _ in range(20)]
    lines = [" ".join([verb, ",".join(map(str, sorted(proxies))), *map(str, number)]) for verb, proxies, *number in found]
    return HEAD[name] + "".join(f"{line}\nwait 1m\n" for line in ["lengths forever   # the worst case: no connection ends by itself", *lines])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in HEAD or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    print(draw(sys.argv[1], int(sys.argv[2])), end="")
