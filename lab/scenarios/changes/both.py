# SPDX-License-Identifier: BSD-3-Clause
"""Two changes at the same time: rows of the table change while connections move to another director."""

SUMMARY = "a proxy and a director are added at the same time"


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    stage.start_capture()

    proxy = fleet.start_proxy()
    proxy.wait_ready()
    old = fleet.table
    # For a moment the new director has the new table, and the others have the old one.
    fleet.table = old.with_backend(proxy.address)
    director = fleet.start_director()
    director.wait_ready()
    fleet.routes.add(director)
    stage.say(f"{director.name} starts with {proxy.name} in its table; the other directors do not have {proxy.name} yet")
    fleet.publish(fleet.table)
    new = stage.new_connections("added", at_least=60)
    stage.expect("the new proxy gets new connections", new.get(proxy.name, 0) > 0, new)
    stage.expect("the new director gets packets", director.stats()["forwarded"] > 0)
    stage.say(f"all directors have the new table; {proxy.name} gets new connections")
    stage.settle(1)
    stage.finish()
