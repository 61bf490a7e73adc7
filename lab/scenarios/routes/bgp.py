# SPDX-License-Identifier: BSD-3-Clause
"""Routes to the directors by BGP, as in production."""

import signal

SUMMARY = "BGP with BIRD: on one director BIRD is killed (-9), a second director freezes, a third is added"
SHAPE = {"directors": 3, "bgp": True}


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    stage.say("three directors announce the VIPs by BGP with BFD")

    fleet.routes.fail(fleet.directors["director-1"], signal.SIGKILL)
    fleet.routes.wait_ready()
    stage.say("BIRD on director-1 is killed (-9): the BGP session ends, the router uses the other two directors")
    stage.settle()

    stage.start_capture()
    frozen = fleet.directors["director-2"]
    frozen.process.send_signal(signal.SIGSTOP)
    fleet.routes.fail(frozen, signal.SIGSTOP)
    fleet.routes.wait_ready()
    stage.say("director-2 and its BIRD freeze: BFD detects this, the router uses the last director")
    stage.settle(1)
    # It must report its counters at the end. It now sends the packets that waited in its socket, which does no harm.
    frozen.process.send_signal(signal.SIGCONT)

    added = fleet.add_director()
    stage.settle(1)
    stage.expect("the new director gets packets", added.stats()["forwarded"] > 0)
    stage.say(f"{added.name} is added and gets its share")
    stage.finish()
