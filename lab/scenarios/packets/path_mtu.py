# SPDX-License-Identifier: BSD-3-Clause
"""Path MTU discovery: routers send ICMP errors to the VIP, and the errors must reach the proxy that sends the data."""

import threading

from lab.clients import Dialogue, finished_download, start_download
from lab.proxy import DOWNLOAD
from lab.tools import LabError, wait_until
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, HTTP_PORT, VIP4, VIP6

SUMMARY = "the MTU of a link drops to 1280 during downloads and uploads of 5 MB"
NARROW_MTU = 1280
DOWNLOAD_PORT, UPLOAD_PORT = 16000, 17000
SECONDS = 8  # duration of a transfer without disturbance


class Upload(threading.Thread):
    def __init__(self, client, address, vip, data):
        super().__init__(daemon=True)
        self.dialogue = Dialogue(client, address, UPLOAD_PORT, vip, ECHO_PORT)
        self.data, self.failed = data, "no end"
        self.start()

    def run(self):
        try:
            self.dialogue.upload(self.data, SECONDS)
            self.failed = None
        except (OSError, LabError) as error:
            self.failed = str(error)
        self.dialogue.close()


def run(stage):
    fleet, ways = stage.fleet, ((VIP4, CLIENTS4[2]), (VIP6, CLIENTS6[2]))
    stage.start_load()
    stage.start_capture()
    owners = [fleet.owner(address, DOWNLOAD_PORT, vip, HTTP_PORT) for vip, address in ways]
    with open(DOWNLOAD, "rb") as file:
        data = file.read()
    downloads = [
        start_download(fleet.client, address, DOWNLOAD_PORT, vip, f"/run/lab/got-{vip}", len(data) // SECONDS)
        for vip, address in ways]
    uploads = [Upload(fleet.client, address, vip, data) for vip, address in ways]
    stage.settle()
    for owner in owners:
        wait_until(lambda: stage.socket_state(owner, DOWNLOAD_PORT) == "ESTAB", f"the download from {owner}")
    # At both ends of the client's link. The router now answers larger packets of proxies with ICMP errors to the VIP.
    fleet.network.router.ip(f"link set to-client mtu {NARROW_MTU}")
    fleet.client.ip(f"link set eth0 mtu {NARROW_MTU}")
    stage.say(f"during two downloads and two uploads, the MTU of the client's link drops to {NARROW_MTU}")
    for (vip, _), owner in zip(ways, owners, strict=True):
        pmtu = stage.wait_pmtu(owner, DOWNLOAD_PORT, NARROW_MTU)
        stage.expect(f"{owner}, which sends the download, learns the path MTU", pmtu == NARROW_MTU, pmtu)
        stage.say(f"{vip}: {owner} sends the download, and its path MTU is now {pmtu}")
    for (vip, _), download, upload in zip(ways, downloads, uploads, strict=True):
        failed = finished_download(download, f"/run/lab/got-{vip}")
        stage.transfer(f"the download from {vip} is complete", failed)
        upload.join(60)
        stage.transfer(f"the upload to {vip} is complete", upload.failed)
    stage.say(f"all four transfers of {len(data)} bytes complete with the right checksum" if stage.result.passed else "...")
    stage.finish()
