# SPDX-License-Identifier: BSD-3-Clause
"""A scenario that must fail, because one director has another table than the others. Prints its result."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.capsule import enter_capsule  # noqa: E402
from lab.fleet import Fleet  # noqa: E402
from lab.stage import Result, Stage  # noqa: E402
from lab.table import SEED  # noqa: E402
from lab.tools import cli, read, write  # noqa: E402
from lab.topology import Shape  # noqa: E402


def main():
    enter_capsule()
    fleet = Fleet(Shape(proxies=6)).up()
    stage = Stage(fleet, Result("sabotage", __doc__), lambda text: None)
    stage.start_load()
    first, second = fleet.running()
    write(second.source, read(second.source).replace(SEED, SEED[::-1]))
    cli("build-config", second.source, second.table)
    second.reload()
    fleet.routes.withdraw(first)
    stage.settle(2)
    stage.finish()
    print(json.dumps(stage.result.as_dict()))


main()
