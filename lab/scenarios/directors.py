# SPDX-License-Identifier: BSD-3-Clause
"""Directors keep no state: any of them can take over from any other."""

import time

SUMMARY = "a director is added, one is stopped, one is killed (-9) and its route withdrawn"


def run(stage):
    fleet = stage.fleet
    stage.start_load()

    added = fleet.add_director()
    stage.settle()
    stage.expect("the new director gets packets", added.stats()["forwarded"] > 0)
    stage.say("director-3 is added: the router spreads connections anew, in the middle of their lives")

    stage.start_capture()
    fleet.stop_director("director-1")
    stage.settle()
    stage.say("director-1 is stopped, its route first")

    director = fleet.directors["director-2"]
    director.kill()
    time.sleep(0.2)
    fleet.routes.withdraw(director)
    stage.say("director-2 is killed (-9); 0.2 s later the router knows")
    stage.settle(1.5)  # what was lost is sent again
    stage.finish()
