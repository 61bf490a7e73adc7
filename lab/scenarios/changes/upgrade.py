# SPDX-License-Identifier: BSD-3-Clause
"""All programs are upgraded and rolled back: glb-redirect on the proxies, then one director after the other, each with its
health checks. docs/howto/upgrading.md has the same order.

With --previous these are two versions. Without it, both are this build, and only the procedure is tested.
"""

from lab.tools import BUILD, cli_json

SUMMARY = "a rolling upgrade of proxies, directors and health checks, and a rollback: each version uses the tables of the other"
SHAPE = {"healthcheck": True}
UPGRADES = True


def run(stage):
    fleet, previous = stage.fleet, stage.fleet.build
    stage.note("previous", str(previous) if previous != BUILD else "this build")
    stage.start_load()
    stage.start_capture()
    upgrade_all(stage, BUILD, "upgraded")
    upgrade_all(stage, previous, "rolled back")
    stage.finish()


def upgrade_all(stage, build, done):
    fleet = stage.fleet
    for proxy in fleet.proxies.values():
        proxy.build = build
        proxy.attach()
    stage.say(f"glb-redirect is {done} on {len(fleet.proxies)} proxies")
    first, *others = fleet.directors.values()
    upgrade_director(stage, first, build)
    stage.say(f"{first.name} is {done}: it and {others[0].name} get the packets of the same connections")
    change_table(stage)
    for director in others:
        upgrade_director(stage, director, build)
    stage.say(f"all directors are {done}")
    change_table(stage)


def upgrade_director(stage, director, build):
    """As the packages do it: the health checks are replaced first, beside the running director. Then withdraw, stop, start, announce."""
    fleet = stage.fleet
    director.build = build
    director.healthcheck.stop()
    director.healthcheck.start()
    director.healthcheck.wait_ready()
    missed = director.missed()
    stage.expect("the port of the director lost no packet", missed == 0, missed)
    fleet.stop_director(director.name)
    director.start()
    director.wait_ready()
    fleet.routes.add(director)


def change_table(stage):
    """Drains a proxy and undoes that. All directors must use the same rows, and each version's CLI must understand each director."""
    fleet = stage.fleet
    for state in ("draining", "active"):
        fleet.change("proxy-2", state=state)
        digests = {director.stats()["digest"] for director in fleet.running()}
        stage.expect("all versions build the same rows", len(digests) == 1, digests)
    for build in {BUILD, fleet.build}:
        for director in fleet.running():
            health = cli_json("health", "--file-prefix", director.name, build=build)["state"]
            stage.expect("the director is ok", health == "ok", health)
            cli_json("stats", "--file-prefix", director.name, build=build)
            shown = {cli_json("show", path, build=build)["digest"] for path in (director.table, director.source)}
            stage.expect("every version reads the tables alike", shown == {director.stats()["digest"]}, shown)
