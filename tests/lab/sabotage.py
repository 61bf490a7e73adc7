# SPDX-License-Identifier: BSD-3-Clause
"""Usage: sabotage.py NAME

Runs a scenario that must fail, and prints its result: `load`, in which one director has another table than the others, or a scenario
of the lab in which something is done wrong.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab import segment  # noqa: E402
from lab.capsule import enter_capsule  # noqa: E402
from lab.fleet import Fleet  # noqa: E402
from lab.haproxy import Haproxy  # noqa: E402
from lab.net import mac  # noqa: E402
from lab.scenarios import SCENARIOS  # noqa: E402
from lab.stage import Result, Stage  # noqa: E402
from lab.table import SEED  # noqa: E402
from lab.tools import LabError, cli, read, write  # noqa: E402
from lab.topology import Shape  # noqa: E402


def load(stage):
    """The second director has another seed. Rows have two hops, so that most connections break."""
    stage.start_load()
    first, second = stage.fleet.running()
    write(second.source, read(second.source).replace(SEED, SEED[::-1]))
    cli("build-config", second.source, second.table)
    second.reload()
    stage.fleet.routes.withdraw(first)
    stage.settle(2)
    stage.finish()


def ecmp(stage):
    """The director's kernel does not notice that the router is gone."""
    power_off = segment.Spine.power_off

    def pin_and_power_off(spine):
        address = mac(spine.host, spine.device)
        stage.fleet.directors["director-1"].host.ip(f"neigh replace {spine.address} lladdr {address} nud permanent dev eth0")
        power_off(spine)

    segment.Spine.power_off = pin_and_power_off
    SCENARIOS["ecmp"].run(stage)


def on_link(stage):
    """The second proxy on the link has the MAC address of the first."""
    module = SCENARIOS["on-link"]
    put, macs = module.put_on_link, []

    def put_with_first_mac(fleet, director, proxy):
        put(fleet, director, proxy)
        macs.append(mac(proxy.host, module.DEVICE))
        director.host.ip(f"neigh replace {proxy.address} lladdr {macs[0]} nud permanent dev eth0")

    module.put_on_link = put_with_first_mac
    module.run(stage)


def unnumbered(stage):
    """The directors lose their routes to the new proxy."""
    publish = stage.fleet.publish

    def lose_and_publish(table):
        for director in stage.fleet.directors.values():
            director.host.ip(f"route del {stage.fleet.proxies['proxy-4'].link.network} proto bird")
        publish(table)

    stage.fleet.publish = lose_and_publish
    SCENARIOS["unnumbered"].run(stage)


def haproxy(stage):
    """HAProxy is restarted, not reloaded."""
    def restart(each):
        each.process.terminate()
        each.process.wait()
        each.start()
        each.wait_ready()

    Haproxy.reload = restart
    stage.reloads = 3
    SCENARIOS["haproxy"].run(stage)


def fail_and_return(stage):
    """glb-healthcheck does not record who was first."""
    for director in stage.fleet.running():
        each = director.healthcheck
        each.stop()
        write(each.conf, f"{read(each.conf)}keep_previous_s = 0;\n")
        each.start()
        each.wait_ready()
    SCENARIOS["fail-and-return"].run(stage)


def main(name):
    enter_capsule()
    run = {"load": load, "ecmp": ecmp, "on-link": on_link, "unnumbered": unnumbered, "haproxy": haproxy, "fail-and-return": fail_and_return}[name]
    shape = {"proxies": 6, "hops": 2} if name == "load" else getattr(SCENARIOS[name], "SHAPE", {})
    stage = Stage(Fleet(Shape(**shape)).up(), Result(name, run.__doc__), lambda text: None)
    try:
        run(stage)
    except LabError as error:
        stage.expect("the scenario runs to its end", False, error)
    print(json.dumps(stage.result.as_dict()))


main(sys.argv[1])
