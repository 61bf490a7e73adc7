# SPDX-License-Identifier: BSD-3-Clause
"""Directors keep no state, so each of them can take over the packets of any other."""

import time

SUMMARY = "a director is added, a second is stopped, a third is killed (-9) and its route withdrawn"


def run(stage):
    fleet = stage.fleet
    stage.start_load()

    added = fleet.add_director()
    stage.settle()
    stage.expect("the new director gets packets", added.stats()["forwarded"] > 0)
    stage.say("director-3 is added: the router moves open connections between directors")

    stage.start_capture()
    fleet.stop_director("director-1")
    stage.settle()
    stage.say("director-1 is stopped after its route is withdrawn")

    director = fleet.directors["director-2"]
    director.kill()
    time.sleep(0.2)
    fleet.routes.withdraw(director)
    stage.say("director-2 is killed (-9); after 0.2 s its route is withdrawn")
    stage.settle(1.5)  # TCP resends the lost packets
    stage.finish()
