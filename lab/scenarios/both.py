# SPDX-License-Identifier: BSD-3-Clause
"""Two changes at once: rows change while connections change directors."""

SUMMARY = "a proxy is added at the moment a director is added"


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    stage.start_capture()

    proxy = fleet.start_proxy()
    proxy.wait_ready()
    old = fleet.table
    # The new director has the new table, the others do not yet: for that moment they disagree.
    fleet.table = old.with_backend(proxy.address)
    director = fleet.start_director()
    director.wait_ready()
    fleet.routes.add(director)
    stage.say(f"{director.name} comes with {proxy.name} in its table, which the others do not have yet")
    fleet.publish(fleet.table)
    new = stage.new_connections("added", at_least=60)
    stage.expect("the new proxy gets new connections", new.get(proxy.name, 0) > 0, new)
    stage.expect("the new director gets packets", director.stats()["forwarded"] > 0)
    stage.say(f"now all have it; {proxy.name} gets new connections")
    stage.settle(1)
    stage.finish()
