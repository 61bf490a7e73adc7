# SPDX-License-Identifier: BSD-3-Clause
"""glb-announce with BIRD. announced.py has the story. Here the second director also proves that it forwards, and then it cannot."""

import json
import signal

from lab.routing import bird
from lab.scenarios.routes import announced
from lab.tools import program, read, wait_until, write
from lab.topology import GUE_PORT

SUMMARY = "glb-announce and BIRD: directors are withdrawn, stopped, and get a dead table; then each one fails in another way"
SHAPE = {"directors": 3, "announce": "bird"}
PROBE = "203.0.113.242"  # an address of the second director alone, which all proxies have
STATIC = f"protocol static glb_{PROBE.replace('.', '_')} {{ disabled; ipv4; route {PROBE}/32 blackhole; }}\n"
LOST = """\
table inet lost {{
	chain drops {{
		type filter hook forward priority 0;
		ip saddr {} udp dport {} drop;
	}}
}}
"""


class WithProbe:
    """A table with one more bind."""

    def __init__(self, table):
        self.table = table

    def json(self):
        document = json.loads(self.table.json())
        document["tables"][0]["binds"].append({"ip": PROBE, "proto": "tcp", "port": 9})
        return json.dumps(document)


def status(announcer):
    return json.loads(read(announcer.status_file))


def prove(fleet, director):
    """Configures the probe of a director, as docs/howto/bgp.md says, and waits for the proof."""
    routes, announcer = fleet.routes, fleet.routes.announcers[director.name]
    for proxy in fleet.proxies.values():
        proxy.host.ip(f"addr add {PROBE}/32 dev lo")
        write(proxy.redirect_conf, read(proxy.redirect_conf).replace("allow_to = [", f'allow_to = ["{PROBE}", '))
        proxy.host.run(program("glb-redirect", proxy.build), "reload", "eth0")
    director.reload(WithProbe(fleet.table))
    routes.daemons[director.name].configure(bird.director_conf(director.link) + STATIC)
    vip = "import where net = 203.0.113.10/32;"
    routes.daemon.configure(bird.router_conf(routes.links).replace(vip, f"{vip[:-1]} || net = {PROBE}/32;"))
    write(announcer.conf, f'{read(announcer.conf)}probe = {{ address = "{PROBE}"; interval_ms = 50; fall = 5; }};\n')
    announcer.process.send_signal(signal.SIGHUP)
    wait_until(lambda: (status(announcer)["probe"] or {}).get("proven"), lambda: f"the proof: {read(announcer.status_file)}\n{read(announcer.log)}")
    routes.wait_for(*fleet.directors)


def forwards_nothing(events, director):
    """The director's health is good, but its packets get lost. Only the probe sees that."""
    fleet, routes = events.fleet, events.routes
    router, others = fleet.network.router, [each for each in fleet.directors.values() if each is not director]
    prove(fleet, director)
    events.fail("sends packets that get lost", director,
                lambda: router.run("nft", "-f", "-", input=LOST.format(director.link.address, GUE_PORT)), *others)
    seen = status(routes.announcers[director.name])
    events.stage.expect("only the probe sees it", (seen["director"]["state"], seen["probe"]["proven"]) == ("ok", False), seen)
    router.run("nft", "delete", "table", "inet", "lost")
    routes.wait_for(*fleet.directors)


def run(stage):
    announced.run(stage, forwards_nothing)
