# SPDX-License-Identifier: BSD-3-Clause
"""Links that damage packets: the proxies' kernels drop them, and TCP sends them again."""

import random

from lab.clients import Dialogue
from lab.tools import LabError
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, GUE_PORT, VIP4, VIP6

SUMMARY = "the router damages every 20th large packet to directors or proxies: no damaged byte reaches a service"
PORT, EVERY, UPLOAD_BYTES, UPLOAD_S = 15000, 20, 400_000, 0.5
TO_PROXIES, TO_DIRECTORS = f"udp dport {GUE_PORT}", f"tcp dport {ECHO_PORT}"
# Overwrites byte 500 behind the IP header, in the data of the (inner) TCP segment. The data is random, so that this changes it.
RULES = """\
table inet damage
delete table inet damage
table inet damage {{
	chain out {{
		type filter hook forward priority filter;
		{packets} meta length > 1000 numgen inc mod {every} 0 @th,4000,8 set 0x55
	}}
}}
"""


def checksum_errors(fleet):
    """The number of damaged segments that the kernels of all proxies found."""
    total = 0
    for proxy in fleet.proxies.values():
        total += int(proxy.host.run("nstat", "-asz", "TcpInCsumErrors").stdout.split()[-2])
    return total


def damage(stage, packets):
    stage.fleet.network.router.run("nft", "-f", "-", input=RULES.format(packets=packets, every=EVERY))


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
    found = {}
    for vip, client in ((VIP4, CLIENTS4[0]), (VIP6, CLIENTS6[0])):
        family = "IPv6" if ":" in vip else "IPv4"
        dialogue = Dialogue(fleet.client, client, PORT, vip, ECHO_PORT)
        owner = dialogue.ask("whose")
        damage(stage, TO_DIRECTORS)
        found[f"{family} director"] = upload(stage, dialogue, f"{family}, on the way to the director")
        damage(stage, TO_PROXIES)
        found[f"{family} first hop"] = upload(stage, dialogue, f"{family}, first hop")
        fleet.change(owner, state="draining")
        found[f"{family} second chance"] = upload(stage, dialogue, f"{family}, second chance")
        fleet.change(owner, state="active")
        dialogue.close()
    stage.note("damaged", found)
    stage.settle()
    stage.finish()
