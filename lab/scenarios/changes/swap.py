# SPDX-License-Identifier: BSD-3-Clause
"""The second chance of one connection."""

from lab.clients import Dialogue
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, HTTP_PORT, VIP4, VIP6

SUMMARY = "the first two hops of a row are swapped: an open connection continues on its second hop, a new one reaches the first hop"
PORT = 15000


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    stage.start_capture()
    for vip, client in ((VIP4, CLIENTS4[0]), (VIP6, CLIENTS6[0])):
        _one_family(stage, vip, client)
    for proxy in fleet.proxies.values():
        fleet.change(proxy.name, state="active")
    stage.settle()
    stage.finish()


def _one_family(stage, vip, client):
    fleet = stage.fleet
    dialogue = Dialogue(fleet.client, client, PORT, vip, ECHO_PORT)
    owner, second, *_ = (fleet.proxy_at(hop) for hop in fleet.running()[0].hops(client, PORT, vip, ECHO_PORT))
    stage.expect("the proxy that answers is the one that the table names", dialogue.ask("before") == owner)
    stage.say(f"[{client}]:{PORT} talks to {owner}; its second hop is {second}")

    before = fleet.proxies[second].stats()["forwarded_to_alternate"]
    fleet.change(owner, state="draining")
    stage.expect("the open connection stays with its proxy", dialogue.ask("after") == owner)
    forwarded = fleet.proxies[second].stats()["forwarded_to_alternate"] - before
    stage.expect("its packets took the second chance", forwarded > 0, forwarded)
    stage.say(f"{owner} drains: the connection continues through {second}, which passed on {'some' if forwarded else 'no'} packets")

    # The same address and port select the same row of the table. The other service makes it another connection.
    new = Dialogue(fleet.client, client, PORT, vip, HTTP_PORT)
    lands = new.http_proxy()
    stage.expect("a new connection of the same row reaches the new first hop", lands == second, lands)
    stage.say(f"a new connection of the same row reaches {lands}")
    new.close()
    dialogue.close()
    stage.result.connections += 2
    fleet.change(owner, state="active")
