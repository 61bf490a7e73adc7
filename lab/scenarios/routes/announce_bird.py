# SPDX-License-Identifier: BSD-3-Clause
"""glb-announce with BIRD. announced.py has the story. Here the second director also proves that it forwards, and then it cannot."""

import json
import re
import signal

from lab.routing import bird
from lab.scenarios.routes import announced
from lab.tools import read, wait_until, write
from lab.topology import GUE_PORT, VIP4, VIP6

SUMMARY = "glb-announce and BIRD: directors are withdrawn, stopped, and get a dead table; then each one fails in another way"
SHAPE = {"directors": 3, "announce": "bird"}
# An address of the second director alone, which all proxies have, by underlay: the director's host needs an address of its family.
PROBES = {"ipv4": "203.0.113.242", "ipv6": "2001:db8:f::242"}
STATIC = "protocol static glb_{} {{ disabled; {}; route {} blackhole; }}\n"
LOST = """\
table inet lost {{
	chain drops {{
		type filter hook forward priority 0;
		{} saddr {} udp dport {} drop;
	}}
}}
"""


class WithProbe:
    """A table with one more bind."""

    def __init__(self, table, address):
        self.table, self.address = table, address

    def json(self):
        document = json.loads(self.table.json())
        document["tables"][0]["binds"].append({"ip": self.address, "proto": "tcp", "port": 9})
        return json.dumps(document)


def status(announcer):
    return json.loads(read(announcer.status_file))


def prove(fleet, director):
    """Configures the probe of a director, as docs/howto/bgp.md says, and waits for the proof."""
    routes, announcer = fleet.routes, fleet.routes.announcers[director.name]
    probe, underlay = PROBES[fleet.shape.underlay], fleet.shape.underlay
    vip, bits = (VIP6, 128) if fleet.shape.ipv6 else (VIP4, 32)
    for proxy in fleet.proxies.values():
        proxy.serve([probe])
    director.reload(WithProbe(fleet.table, probe))
    static = STATIC.format(re.sub("[.:]", "_", probe), underlay, f"{probe}/{bits}")
    routes.daemons[director.name].configure(bird.director_conf(director.link) + static)
    imported = f"import where net = {vip}/{bits}"
    routes.daemon.configure(bird.router_conf(routes.links).replace(imported, f"{imported} || net = {probe}/{bits}"))
    write(announcer.conf, f'{read(announcer.conf)}probe = {{ address = "{probe}"; interval_ms = 50; fall = 5; }};\n')
    announcer.process.send_signal(signal.SIGHUP)
    wait_until(lambda: (status(announcer)["probe"] or {}).get("proven"), lambda: f"the proof: {read(announcer.status_file)}\n{read(announcer.log)}")
    routes.wait_for(*fleet.directors)


def forwards_nothing(events, director):
    """The director's health is good, but its packets get lost. Only the probe sees that."""
    fleet, routes = events.fleet, events.routes
    router, others = fleet.network.router, [each for each in fleet.directors.values() if each is not director]
    prove(fleet, director)
    events.fail("sends packets that get lost", director,
                lambda: router.run("nft", "-f", "-", input=LOST.format("ip6" if fleet.shape.ipv6 else "ip", director.link.address, GUE_PORT)), *others)
    seen = status(routes.announcers[director.name])
    events.stage.expect("only the probe sees it", (seen["director"]["state"], seen["probe"]["proven"]) == ("ok", False), seen)
    router.run("nft", "delete", "table", "inet", "lost")
    routes.wait_for(*fleet.directors)


def run(stage):
    announced.run(stage, forwards_nothing)
