# SPDX-License-Identifier: BSD-3-Clause
"""Directors come and go as routers see it in production."""

import signal

SUMMARY = "with BIRD: a director's BGP is killed (-9), a whole director freezes, another one is added"
SHAPE = {"directors": 3, "bgp": True}


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    stage.say("three directors announce the VIPs by BGP, with BFD")

    fleet.routes.fail(fleet.directors["director-1"], signal.SIGKILL)
    fleet.routes.wait_ready()
    stage.say("director-1's bird is killed (-9): its session ends, the router goes on with two")
    stage.settle()

    stage.start_capture()
    frozen = fleet.directors["director-2"]
    frozen.process.send_signal(signal.SIGSTOP)
    fleet.routes.fail(frozen, signal.SIGSTOP)
    fleet.routes.wait_ready()
    stage.say("director-2 and its bird freeze, without a word: BFD notices, the router goes on with one")
    stage.settle(1)
    # For its counters at the end. The packets that waited in its socket are old by now, and harmless.
    frozen.process.send_signal(signal.SIGCONT)

    added = fleet.add_director()
    stage.settle(1)
    stage.expect("the new director gets packets", added.stats()["forwarded"] > 0)
    stage.say(f"{added.name} is added, and has its share")
    stage.finish()
