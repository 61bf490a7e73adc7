# SPDX-License-Identifier: BSD-3-Clause
"""A reload of HAProxy hands its listening sockets to the new worker, and old workers keep their connections: nobody notices."""

import json

from lab.haproxy import CLIENT_HEADER
from lab.topology import CLIENTS4, CLIENTS6, VIP4, VIP6

SUMMARY = "HAProxy in front of the services reloads under load, on one proxy after the other: no connection is reset"
SHAPE = {"haproxy": True}
RELOADS = 30
# Counts what leaves the proxies. The proxies' own counters would have the RSTs of HAProxy to nginx, too.
RULES = f"""\
table inet resets {{
	counter resets {{ }}
	chain out {{
		type filter hook forward priority filter;
		ip saddr {VIP4} tcp flags & rst == rst counter name resets
		ip6 saddr {VIP6} tcp flags & rst == rst counter name resets
	}}
}}
"""


def resets(router):
    listed = json.loads(router.run("nft", "-j", "list", "counter", "inet", "resets", "resets").stdout)
    return next(each["counter"]["packets"] for each in listed["nftables"] if "counter" in each)


def overflows(proxy):
    """Connections that the kernel of a proxy dropped because a listen queue was full."""
    return int(proxy.host.run("nstat", "-asz", "TcpExtListenDrops").stdout.split()[-2])


def seen_client(client, address, vip):
    """The address that HAProxy sees when a client with this address asks it."""
    host = f"[{vip}]" if ":" in vip else vip
    head = client.run("curl", "-sS", "-o", "/dev/null", "-D", "-", "--max-time", "5", "--interface", address, f"http://{host}/").stdout
    return next((line.split(": ")[1] for line in head.splitlines() if line.startswith(f"{CLIENT_HEADER}: ")), None)


def run(stage):
    fleet = stage.fleet
    fleet.network.router.run("nft", "-f", "-", input=RULES)
    first = stage.start_load()
    for address, vip in ((CLIENTS4[3], VIP4), (CLIENTS6[3], VIP6)):
        seen = seen_client(fleet.client, address, vip)
        stage.expect("HAProxy sees the client's address without the PROXY protocol", seen == address, (seen, address))
    proxies = list(fleet.proxies.values())
    for number in range(stage.reloads):
        if number == stage.reloads // 2:
            stage.start_capture()
        proxies[number % len(proxies)].haproxy.reload()
    new = stage.new_connections("after", at_least=60)
    stage.expect("every proxy gets new connections", len(new) == len(proxies), new)
    stage.settle()
    found = {proxy.name: proxy.haproxy.processes() for proxy in proxies}
    done = sum(each.reloads for each in found.values())
    stage.expect("every reload took effect", done == stage.reloads, found)
    stage.expect("workers from before the reloads serve their connections", all(each.old_workers for each in found.values()), found)
    sent = resets(fleet.network.router)
    stage.expect("no proxy sends an RST", sent == 0, sent)
    full = {proxy.name: overflows(proxy) for proxy in proxies}
    stage.expect("no listen queue overflows", not any(full.values()), full)
    stage.note("reloads", done)
    stage.note("resets", sent)
    stage.say(f"{done} reloads, {sent} RSTs; {first['held']} connections stay with the workers that accepted them")
    stage.finish()
