# SPDX-License-Identifier: BSD-3-Clause
"""Links to the proxies that are too small for GUE packets: the health of the directors names the router and its MTU."""

import json
import subprocess

from lab.tools import TIMEOUT_S, program, wait_until
from lab.topology import CLIENT_MTU, CLIENTS4, VIP4

SUMMARY = "the links to the proxies are too small for full packets: health says so"
SHAPE = {"exception_path": True}  # the directors drive eth0 alone, so they also receive ICMP errors to their own addresses
IP_AND_ICMP = 28


def health(director):
    """Returns (exit code, reply) of `glb-director-cli health`."""
    done = subprocess.run(
        [program("glb-director-cli"), "health", "--file-prefix", director.name, "--json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def full_pings(client):
    """Sends a ping as large as the client's link allows from each of its addresses. Returns how many got a reply."""
    command = ["ping", "-q", "-c", "1", "-W", "1", "-M", "do", "-s", str(CLIENT_MTU - IP_AND_ICMP)]
    processes = [client.start(*command, "-I", address, VIP4, stdout=subprocess.DEVNULL) for address in CLIENTS4]
    return sum(process.wait(TIMEOUT_S) == 0 for process in processes)


def set_mtu(fleet, mtu):
    fleet.network.router.ip(*(f"link set {proxy.link.device} mtu {mtu}" for proxy in fleet.proxies.values()))


def about_underlay(director):
    return [reason for reason in health(director)[1]["reasons"] if reason["cause"] == "underlay_too_big"]


def run(stage):
    fleet, directors = stage.fleet, list(stage.fleet.directors.values())
    stage.start_load()
    stage.start_capture()
    wait_until(lambda: [health(director)[0] for director in directors] == [0, 0], "the health of both directors is ok")
    got = full_pings(fleet.client)
    stage.expect("proxies reply to full pings", got == len(CLIENTS4), got)

    set_mtu(fleet, CLIENT_MTU)
    stage.say(f"the router's links to the proxies shrink from {fleet.shape.gue_mtu} to {CLIENT_MTU}, which has no room for the outer headers")
    got = full_pings(fleet.client)
    stage.expect("full pings get lost", got == 0, got)
    told = [director for director in directors if director.stats()["underlay_too_big"]]
    stage.expect("the router told the directors", told)
    for director in told:
        (reason,) = wait_until(lambda director=director: about_underlay(director), f"the health of {director.name}")
        code, reply = health(director)
        expected = f"router {director.link.gateway} forwards at most {CLIENT_MTU} bytes to proxy"
        stage.expect("health names the router and its MTU", expected in reason["text"], reason)
        stage.expect("the health is degraded", (code, reply["state"]) == (1, "degraded"), reply)
        stage.say(f"{director.name}: {reason['text']}")
    stage.note("told", {director.name: director.stats()["underlay_too_big"] for director in told})
    set_mtu(fleet, fleet.shape.gue_mtu)
    got = full_pings(fleet.client)
    stage.expect("proxies reply to full pings again", got == len(CLIENTS4), got)
    stage.finish()
