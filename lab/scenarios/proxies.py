# SPDX-License-Identifier: BSD-3-Clause
"""What happens to proxies in a year, in seconds."""

SUMMARY = "a proxy is drained, removed, another one added by filling it, one after the other"


def run(stage):
    fleet, load = stage.fleet, None
    stage.start_load()
    load = stage.load

    fleet.change("proxy-2", state="draining")
    new = stage.new_connections("draining")
    stage.expect("a draining proxy gets no new connection", "proxy-2" not in new, new)
    stage.settle()
    second = sum(each["forwarded_to_alternate"] for each in fleet.redirect_totals().values())
    stage.expect("its connections take the second chance", second > 0)
    stage.say("proxy-2 drains: its connections stay, none is new")

    stage.start_capture()
    left = load.finish("proxy-2")
    fleet.publish(fleet.table.without(fleet.proxies["proxy-2"].address))
    new = stage.new_connections("removed")
    stage.expect("a removed proxy gets no new connection", "proxy-2" not in new, new)
    stage.say(f"its {left} connections end in their own time; proxy-2 is removed")

    proxy = fleet.add_proxy(state="filling")
    new = stage.new_connections("filling", at_least=60)
    stage.expect("a filling proxy gets new connections", new.get(proxy.name, 0) > 0, new)
    stage.settle()
    stage.say(f"{proxy.name} fills: new connections reach it, older ones of its rows their owners by second chance")

    fleet.change(proxy.name, state="active")
    new = stage.new_connections("active", at_least=60)
    stage.expect("an active proxy gets new connections", new.get(proxy.name, 0) > 0, new)
    stage.say(f"{proxy.name} is active")
    stage.settle()
    stage.finish()
