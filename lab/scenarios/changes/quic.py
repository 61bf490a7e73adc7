# SPDX-License-Identifier: BSD-3-Clause
"""HTTP/3 clients change their ports and addresses, while proxies and directors come and go. Without `quic` in the table, rows decide:
a client that changes its address reaches another proxy. With it, the server ID in the connection ID decides."""

import os
import socket
import time

from lab import quic
from lab.tools import TIMEOUT_S, cli, poll
from lab.topology import ECHO_PORT, HTTP_PORT, QUIC_PORT, VIP4, VIPS

SUMMARY = "HTTP/3 clients move between addresses while proxies and directors change: with `quic` none breaks"
SHAPE = {"quic": True}
CONNECTIONS = 500
SECONDS = 2  # between two changes
DEAD_S = 0.2  # until the route of a killed director is withdrawn
PACKETS = 400  # of each attack
SHORT_HEADER, LONG_HEADER = 0x40, 0xc0
missing = quic.missing


def table(fleet, routable):
    """The table with binds for HTTP/3, and if `routable` with `quic`."""
    binds = [{"ip": vip, "proto": "tcp", "port": port} for vip in VIPS for port in (HTTP_PORT, ECHO_PORT)]
    udp = {"proto": "udp", "port": QUIC_PORT, **({"quic": True} if routable else {})}
    made = fleet.table.with_members(binds=[*binds, *({"ip": vip, **udp} for vip in VIPS)], quic=[quic.CONFIG] if routable else None)
    for proxy in fleet.proxies.values() if routable else ():
        made = made.changed(proxy.address, server_id=quic.server_id(proxy.name))
    return made


def configure(fleet, config):
    """Servers use a configuration. Directors and proxies must know it before."""
    for proxy in fleet.proxies.values():
        proxy.quic.configure(fleet.running()[0].source, proxy.address, config["id"])


def add_proxy(fleet, routable):
    proxy = fleet.start_proxy()
    proxy.wait_ready()
    if not routable:
        fleet.publish(fleet.table.with_backend(proxy.address))
        return proxy
    fleet.publish(fleet.table.with_backend(proxy.address, server_id=quic.server_id(proxy.name)))
    configure(fleet, quic.CONFIG)
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
    fleet.change("proxy-3", healthy=False)
    stage.settle(stage.seconds)
    fleet.change("proxy-3", healthy=True)
    fleet.change("proxy-1", weight=100)
    stage.settle(stage.seconds)
    if routable:
        fleet.publish(fleet.table.with_members(quic=[quic.CONFIG, quic.NEXT_CONFIG]))
        configure(fleet, quic.NEXT_CONFIG)
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


def attacks(fleet, proxy):
    """{name: a function that makes a datagram}"""
    source = fleet.running()[0].source
    aimed = [bytes.fromhex(cli("quic", "encode", source, proxy.address, "--id", str(quic.CONFIG["id"]))) for _ in range(4)]
    size = 1 + quic.CONFIG["server_id_length"] + quic.CONFIG["nonce_length"]
    # The first octet of a CID with a configuration that the table has, and of one that it has not.
    known, unknown = (bytes([number << 5 | size - 1]) for number in (quic.CONFIG["id"], 5))
    return {
        "aimed": lambda number: bytes([SHORT_HEADER]) + aimed[number % len(aimed)] + os.urandom(30),
        "server": lambda _: bytes([SHORT_HEADER]) + known + os.urandom(40),
        "config": lambda _: bytes([SHORT_HEADER]) + unknown + os.urandom(40),
        "short": lambda number: bytes([SHORT_HEADER]) + known + os.urandom(number % (size - 1)),
        "short in a long header": lambda number: bytes([LONG_HEADER, 0, 0, 0, 1, 1 + number % (size - 1)]) + known + os.urandom(40),
        "beyond the datagram": lambda number: bytes([LONG_HEADER, 0, 0, 0, 1, 40 + number % 215]) + known + os.urandom(20),
    }


def counted(fleet):
    names = ("quic_routed", *(f"quic_unroutable_{reason}" for reason in ("config", "short", "server")))
    stats = [director.stats() for director in fleet.running()]
    return {name: sum(each[name] for each in stats) for name in names}


def attack(stage):
    """Sends CIDs that aim at one server, random ones, and headers of wrong lengths, from many ports. Connections that are open stay so."""
    fleet = stage.fleet
    target = fleet.proxies["proxy-3"]
    clients = quic.QuicClients(fleet.client, held=20, short=0)
    clients.ask("move")
    before, attacker = counted(fleet), fleet.client
    for make in attacks(fleet, target).values():
        for number in range(PACKETS):
            with attacker.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(make(number), (VIP4, QUIC_PORT))
    wanted = {"config": PACKETS, "server": PACKETS, "short": 3 * PACKETS}

    def grown():
        now = counted(fleet)
        return {reason: now[f"quic_unroutable_{reason}"] - before[f"quic_unroutable_{reason}"] for reason in wanted}

    poll(lambda: grown() == wanted, TIMEOUT_S)
    stage.expect("directors count the reasons", grown() == wanted, grown())
    stage.expect("CIDs that aim at a server are routed", counted(fleet)["quic_routed"] - before["quic_routed"] >= PACKETS)
    report = clients.stop()
    stage.expect("an attack breaks no connection", report["broken"] == 0, report["reasons"])
    stage.result.connections += report["held"]
    stage.result.broken += report["broken"]
    stage.note("attack", grown())
    stage.say(f"{6 * PACKETS} packets of attackers: {grown()} go by the row, {PACKETS} to {target.name}, and no connection breaks")


def run(stage):
    fleet = stage.fleet
    fleet.publish(table(fleet, routable=False))
    stage.start_capture()
    without = walk(stage, routable=False)
    stage.expect("without `quic`, most connections break", 2 * without["broken"] > without["held"], without["broken"])
    # Directors first: they must know the configuration when servers begin to use it.
    fleet.publish(table(fleet, routable=True))
    configure(fleet, quic.CONFIG)
    within = walk(stage, routable=True)
    stage.expect("with `quic`, no connection breaks", within["broken"] == 0, within["reasons"])
    stage.expect("with `quic`, no short connection breaks", not within["short_broken"], within["short_broken"][:3])
    passed = {name: proxy.stats()["quic_passed_on"] for name, proxy in fleet.proxies.items()}
    stage.expect("packets of a proxy that only seems down take the second chance", sum(passed.values()), passed)
    stage.expect("most connections change their address", 2 * within["moved"] > within["held"], within["moved"])
    attack(stage)
    stage.finish()
