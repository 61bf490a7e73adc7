# SPDX-License-Identifier: BSD-3-Clause
"""HTTP/3 clients change their ports and addresses, while proxies and directors come and go. Without `quic` in the table, rows decide:
a client that changes its address reaches another proxy. With it, the server ID in the connection ID decides."""

import time

from lab import quic
from lab.topology import ECHO_PORT, HTTP_PORT, QUIC_PORT, VIPS

SUMMARY = "HTTP/3 clients move between addresses while proxies and directors change: with `quic` none breaks"
SHAPE = {"quic": True}
CONNECTIONS = 500
SECONDS = 3  # between two changes
DEAD_S = 0.2  # until the route of a killed director is withdrawn
missing = quic.missing


def table(fleet, routable):
    """The table with binds for HTTP/3, and if `routable` with `quic`."""
    binds = [{"ip": vip, "proto": "tcp", "port": port} for vip in VIPS for port in (HTTP_PORT, ECHO_PORT)]
    udp = {"proto": "udp", "port": QUIC_PORT, **({"quic": True} if routable else {})}
    made = fleet.table.with_members(binds=[*binds, *({"ip": vip, **udp} for vip in VIPS)], quic=[quic.CONFIG] if routable else None)
    for proxy in fleet.proxies.values() if routable else ():
        made = made.changed(proxy.address, server_id=quic.server_id(proxy.name))
    return made


def add_proxy(fleet, routable):
    proxy = fleet.start_proxy()
    proxy.wait_ready()
    if not routable:
        fleet.publish(fleet.table.with_backend(proxy.address))
        return proxy
    fleet.publish(fleet.table.with_backend(proxy.address, server_id=quic.server_id(proxy.name)))
    proxy.quic.configure()
    return proxy


def kill_director(fleet):
    """Kills the oldest director, after another one was added."""
    added, oldest = fleet.add_director(), fleet.running()[0]
    oldest.kill()
    time.sleep(DEAD_S)
    fleet.routes.withdraw(oldest)
    return added, oldest


def walk(stage, routable):
    """Opens connections, makes the changes, and closes them. Returns the last report of the clients."""
    fleet = stage.fleet
    clients = quic.QuicClients(fleet.client, stage.connections)
    stage.expect("every connection opens", not clients.first["broken"], clients.first)
    clients.ask("move")
    stage.settle(stage.seconds)
    fleet.change("proxy-2", state="draining")
    stage.settle(stage.seconds)
    added = add_proxy(fleet, routable)
    stage.settle(stage.seconds)
    fleet.change("proxy-1", weight=300)
    stage.settle(stage.seconds)
    director, dead = kill_director(fleet)
    stage.settle(stage.seconds)
    fleet.change("proxy-2", state="active")
    fleet.change("proxy-1", weight=100)
    stage.settle(stage.seconds)
    report = clients.stop()
    broken = report["broken"] + len(report["short_broken"])
    stage.result.connections += report["held"] + report["short"]
    stage.result.broken += broken
    stage.note("with" if routable else "without", report)
    stage.say(f"{'with' if routable else 'without'} `quic`: {report['moved']} of {report['held']} connections changed their address "
              f"({report['rebound']} times the port, {report['migrated']} times the path); {added.name} and {director.name} came, {dead.name} was killed; "
              f"{report['broken']} broke, and {len(report['short_broken'])} of {report['short']} short ones")
    return report


def run(stage):
    fleet = stage.fleet
    fleet.publish(table(fleet, routable=False))
    stage.start_capture()
    without = walk(stage, routable=False)
    stage.expect("without `quic`, most connections break", 2 * without["broken"] > without["held"], without["broken"])
    # Directors first: they must know the configuration when servers begin to use it.
    fleet.publish(table(fleet, routable=True))
    for proxy in fleet.proxies.values():
        proxy.quic.configure()
    within = walk(stage, routable=True)
    stage.expect("with `quic`, no connection breaks", within["broken"] == 0, within["reasons"])
    stage.expect("with `quic`, no short connection breaks", not within["short_broken"], within["short_broken"][:3])
    stage.expect("most connections change their address", 2 * within["moved"] > within["held"], within["moved"])
    stage.finish()
