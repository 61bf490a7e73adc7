# SPDX-License-Identifier: BSD-3-Clause
"""Roll-outs through etcd, with a fault in the middle of each. Each glb-fleet gives the tables to the health checks of its director."""

from lab.clients import Dialogue
from lab.scenarios.fleet.rollouts import Rollouts, Watcher, told
from lab.tools import cli_json, wait_until, write
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, MORE_VIPS, VIPS

SUMMARY = "glb-fleet rolls tables out while etcd's leader and the leading agent are killed, a director is cut off, and a bad table is put by hand"
SHAPE = {"directors": 3, "proxies": 6, "hops": 6, "etcd": True, "healthcheck": True}
OLD, NEW = ("proxy-1", "proxy-2", "proxy-3"), ("proxy-7", "proxy-8", "proxy-9")
FIRST_PORT, NEW_CONNECTIONS = 17000, 30
WAIT = "8s"  # shorter than the rest of a lease, longer than a cut takes
GENTLE = {"held_pause_s": 0.5, "short_pause_s": 0.1}  # the load of two minutes
BAD = '{"tables": ['


def run(stage):
    fleet = stage.fleet
    for each in [fleet.start_proxy() for _ in NEW]:
        each.wait_ready()
    rollouts = Rollouts(stage)
    with Watcher(stage) as watcher:
        stage.start_load(**GENTLE)
        stage.start_capture()
        replace(stage, rollouts)
        connections = add_vips(stage, rollouts)
        reweigh(stage, rollouts)
        remove_vips(stage, rollouts, connections)
        abort(stage, rollouts)
    watcher.check(rollouts.published)
    stage.note("plans", rollouts.plans)
    stage.note("states", [each["state"] for each in rollouts.ended()])
    stage.finish()


def changed(stage, names, **values):
    table = stage.fleet.table
    for name in names:
        table = table.changed(stage.fleet.proxies[name].address, **values)
    return table


def replace(stage, rollouts):
    """Half of the proxies are replaced, while etcd's leader is killed, and somebody puts a table that is none."""
    fleet = stage.fleet
    table = changed(stage, OLD, state="draining")
    for name in NEW:
        table = table.with_backend(fleet.proxies[name].address)
    rollouts.start(table)
    leader = fleet.etcd.leader()
    leader.kill()
    rollouts.wait_step(1)
    fleet.etcd.put("table", BAD)
    wait_until(lambda: all(each["refused"] for each in fleet.etcd.directors().values()), "all directors to refuse the bad table")
    state = rollouts.wait("stopped", "done")
    stage.expect("the roll-out stops when another table is put", state == "stopped", rollouts.status())
    leader.start()
    rollouts.resume()
    rollouts.finish()
    new = stage.new_connections("replaced")
    stage.say(f"half of the proxies were replaced while etcd's leader {leader.name} was killed; all directors refused a bad table that was put by hand")
    stage.expect("draining proxies get no new connections", not set(OLD) & set(new), new)
    stage.expect("new proxies get new connections", set(NEW) <= set(stage.new_connections("more", 100)))


def add_vips(stage, rollouts):
    """VIPs are added, a drained proxy returns, and weights change. A director is cut off from etcd, and comes back with an old table."""
    fleet = stage.fleet
    for proxy in fleet.proxies.values():
        proxy.serve(MORE_VIPS)
    fleet.routes.serve(MORE_VIPS)
    table = changed(stage, OLD[:1], state="active", weight=300).changed(fleet.proxies["proxy-4"].address, weight=50)
    rollouts.start(table.with_vips([*VIPS, *MORE_VIPS]), drained_after=WAIT)
    name = cut_off(stage, rollouts)
    rollouts.resume()
    rollouts.finish()
    stage.say(f"VIPs were added and weights changed; the roll-out stopped when {name} was cut off, and went on when it was back with an old table")
    connections = [Dialogue(fleet.client, address[i % len(address)], FIRST_PORT + i, vip, ECHO_PORT)
                   for vip, address in zip(MORE_VIPS, (CLIENTS4, CLIENTS6)) for i in range(NEW_CONNECTIONS)]
    ask(stage, connections)
    return connections


def cut_off(stage, rollouts):
    """Cuts a director off in the first wait, so that it does not see the next step. Mends that when the roll-out has stopped. Returns the name."""
    fleet, steps = stage.fleet, rollouts.status()["rollout"]["steps"]
    rollouts.wait_step(next(i for i, each in enumerate(steps) if each["wait_s"] or i == len(steps) - 1), reached=True)
    stays = (rollouts.status()["leader"], rollouts.agent.director.name)  # the operator works on the second one
    name = next(each for each in fleet.directors if each not in stays)
    fleet.etcd.cut(fleet.directors[name])
    state = rollouts.wait("stopped", "done")
    used, now = rollouts.used(), told_now(stage)
    fleet.etcd.mend(fleet.directors[name])
    stage.expect("the roll-out stops when a director vanishes", state == "stopped", state)
    stage.expect(f"{name} comes back with an old table", used.pop(name) != now)
    stage.expect("the other directors use the table in etcd", set(used.values()) == {now}, used)
    wait_until(lambda: name in fleet.etcd.directors(), f"{name} to be back in etcd")
    return name


def told_now(stage):
    path = "/run/lab/now.json"
    write(path, stage.fleet.etcd.get("table"))
    return told(path)[1]


def ask(stage, connections):
    for each in connections:
        each.ask("still there")


def reweigh(stage, rollouts):
    """Weights change again, and the agent that leads is killed -9. Another one leads, and the killed one is started again."""
    fleet = stage.fleet
    rollouts.start(changed(stage, OLD[:1], weight=100).changed(fleet.proxies["proxy-5"].address, weight=200))
    killed = wait_until(lambda: rollouts.status()["leader"], "an agent to lead")
    fleet.agents[killed].kill()
    leader = wait_until(lambda: rollouts.status()["leader"] not in (None, killed) and rollouts.status()["leader"], "another agent to lead")
    fleet.agents[killed].start()
    if rollouts.wait("stopped", "done") == "stopped":  # the agent took long to start
        wait_until(lambda: killed in fleet.etcd.directors(), f"{killed} to be back in etcd")
        rollouts.resume()
    rollouts.finish()
    stage.say(f"weights changed; the agent that led, on {killed}, was killed, and the one on {leader} went on")


def remove_vips(stage, rollouts, connections):
    """The clients of the VIPs end their connections. A plan counts those as broken, because it cannot know."""
    fleet = stage.fleet
    ask(stage, connections)
    for each in connections:
        each.close()
    stage.result.connections += len(connections)
    in_use = fleet.running()[0].stats()["fingerprint"]
    rollouts.start(fleet.table.with_vips(VIPS, replaces=in_use), "--max-broken", "100")
    rollouts.finish()
    binds = cli_json("show", fleet.running()[0].table)["tables"][0]["binds"]
    stage.expect("the VIPs are gone", not {each["ip"] for each in binds} & set(MORE_VIPS), binds)
    stage.say(f"the added VIPs were removed after their {len(connections)} connections had ended")


def abort(stage, rollouts):
    """An operator aborts a roll-out in its middle."""
    before = stage.fleet.table
    rollouts.start(changed(stage, OLD[1:], state="active", weight=200))
    rollouts.wait_step(1)
    rollouts.abort()
    stage.fleet.table = before
    rollouts.finish()
    stage.say("an operator aborted a roll-out in its middle; the way back is done")
