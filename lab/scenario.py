# SPDX-License-Identifier: BSD-3-Clause
"""Runs scenarios. A scenario is a module in a folder of lab/scenarios that defines

    SUMMARY     what happens, for `lab/lab list`
    run(stage)  makes it happen, and checks the result
    SHAPE       optional: fields of topology.Shape that differ from the defaults
    SECONDS     optional: how long it waits, unless --seconds says otherwise
    UPGRADES    optional: true if it replaces the programs of --previous by those of this build
    missing()   optional: says what the kernel lacks, so that the scenario is skipped, or returns None
    RELOADS     optional: how many reloads it makes, unless --reloads says otherwise
    CONNECTIONS optional: how many connections it keeps open, unless --connections says otherwise
"""

import sys
import time

from lab.fleet import Fleet
from lab.scenarios import SCENARIOS
from lab.stage import Result, Stage
from lab.tools import COMMAND, LabError
from lab.topology import Shape

SETTINGS = ("seconds", "reloads", "connections")  # options of `lab/lab scenario`: numbers for the constants of the same name


def find(name):
    if name not in SCENARIOS:
        raise LabError(f"there is no scenario '{name}': {COMMAND} list prints all")
    return SCENARIOS[name]


def say(text):
    print(f"  {text}", flush=True)


def run(name, shape, settings):
    """Runs a scenario in this capsule. `settings`: its numbers that the command line gives. Returns the result as a dictionary."""
    module, start = find(name), time.monotonic()
    result = Result(name, module.SUMMARY)
    print(f"{name}: {module.SUMMARY}", flush=True)
    if missing := getattr(module, "missing", lambda: None)():
        result.skipped = missing
        say(f"skipped: {missing}")
        return result.as_dict()
    fleet = Fleet(Shape(**{**getattr(module, "SHAPE", {}), **shape})).up()
    numbers = {setting: settings.get(setting) or getattr(module, setting.upper(), None) for setting in SETTINGS}
    stage = Stage(fleet, result, say, **numbers)
    try:
        module.run(stage)
    except (LabError, OSError) as error:
        stage.expect("the scenario runs to its end", False, f"{type(error).__name__}: {error}")
    result.seconds = time.monotonic() - start
    say(f"{result.broken} of {result.connections} connections broken: {'as expected' if result.passed else 'FAILED'}")
    sys.stdout.flush()
    return result.as_dict()
