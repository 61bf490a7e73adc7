# SPDX-License-Identifier: BSD-3-Clause
"""The changes of a proxy's state that operators make."""

SUMMARY = "a proxy is drained and removed, then another one is filled and made active"


def run(stage):
    fleet = stage.fleet
    stage.start_load()

    fleet.change("proxy-2", state="draining")
    new = stage.new_connections("draining")
    stage.expect("a draining proxy gets no new connection", "proxy-2" not in new, new)
    stage.settle()
    second = sum(each["forwarded_to_alternate"] for each in fleet.redirect_totals().values())
    stage.expect("its packets take the second chance", second > 0)
    stage.say("proxy-2 drains: it keeps its connections and gets no new ones")

    stage.start_capture()
    left = stage.load.finish("proxy-2")
    fleet.publish(fleet.table.without(fleet.proxies["proxy-2"].address))
    new = stage.new_connections("removed")
    stage.expect("a removed proxy gets no new connection", "proxy-2" not in new, new)
    stage.say(f"its {left} connections end normally; proxy-2 is removed")

    proxy = fleet.add_proxy(state="filling")
    new = stage.new_connections("filling", at_least=60)
    stage.expect("a filling proxy gets new connections", new.get(proxy.name, 0) > 0, new)
    stage.settle()
    stage.say(f"{proxy.name} fills: it gets new connections; older connections of its rows reach their owners by the second chance")

    fleet.change(proxy.name, state="active")
    new = stage.new_connections("active", at_least=60)
    stage.expect("an active proxy gets new connections", new.get(proxy.name, 0) > 0, new)
    stage.say(f"{proxy.name} is active")
    stage.settle()
    stage.finish()
