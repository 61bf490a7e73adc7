# SPDX-License-Identifier: BSD-3-Clause
"""Seeded failures of a whole lab, and a judge who knows which connections may break. `script/chaos --help` tells how to run it.

    plan.py    what happens when: a pure function of seed, minutes and shape
    events.py  makes it happen
    links.py   counts all GUE packets at the router, and damages links
    tables.py  which table each director used when, and its rows by the model (tests/model)
    judge.py   pure: which broken connections and which packets nothing explains
    run.py     one run, in a capsule
    command.py the command line, outside of the capsule

This needs the source tree, because the model is no part of the package glb-lab.
"""
