# SPDX-License-Identifier: BSD-3-Clause
"""A link that damages packets: the proxies' kernels drop them, at the first hop and at the second chance, and TCP sends them again."""

import random

from lab.clients import Dialogue
from lab.tools import LabError
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, GUE_PORT, VIP4, VIP6

SUMMARY = "the router damages every 20th large packet to the proxies: no damaged byte reaches a service"
PORT, EVERY, UPLOAD_BYTES, UPLOAD_S = 15000, 20, 400_000, 0.5
# Overwrites byte 500 of the UDP datagram, in the data of the inner TCP segment. The data is random, so that this changes it.
RULES = f"""\
table inet damage {{
	chain out {{
		type filter hook forward priority filter;
		udp dport {GUE_PORT} udp length > 1000 numgen inc mod {EVERY} 0 @th,4000,8 set 0x55 counter
	}}
}}
"""


def checksum_errors(fleet):
    """The number of damaged segments that the kernels of all proxies found."""
    total = 0
    for proxy in fleet.proxies.values():
        total += int(proxy.host.run("nstat", "-asz", "TcpInCsumErrors").stdout.split()[-2])
    return total


def upload(stage, dialogue, text):
    data = random.Random(PORT).randbytes(UPLOAD_BYTES)
    before, failed = checksum_errors(stage.fleet), None
    try:
        dialogue.upload(data, UPLOAD_S)
    except (LabError, OSError) as error:
        failed = str(error)
    found = checksum_errors(stage.fleet) - before
    stage.transfer(f"{text}: the service receives what the client sent", failed)
    stage.expect(f"{text}: a kernel counts damaged segments", found > 0, found)
    stage.say(f"{text}: {UPLOAD_BYTES} bytes, {found} damaged segments, the service has {'other data' if failed else 'the same SHA-256'}")
    return found


def run(stage):
    fleet = stage.fleet
    stage.start_load()
    stage.start_capture()
    fleet.network.router.run("nft", "-f", "-", input=RULES)
    found = {}
    for vip, client in ((VIP4, CLIENTS4[0]), (VIP6, CLIENTS6[0])):
        family = "IPv6" if ":" in vip else "IPv4"
        dialogue = Dialogue(fleet.client, client, PORT, vip, ECHO_PORT)
        owner = dialogue.ask("whose")
        found[f"{family} first hop"] = upload(stage, dialogue, f"{family}, first hop")
        fleet.change(owner, state="draining")
        found[f"{family} second chance"] = upload(stage, dialogue, f"{family}, second chance")
        fleet.change(owner, state="active")
        dialogue.close()
    stage.note("damaged", found)
    stage.settle()
    stage.finish()
