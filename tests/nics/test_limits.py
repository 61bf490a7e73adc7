# SPDX-License-Identifier: BSD-3-Clause
"""What the director says about a card that cannot work."""

from cards import IOMMU_IGNORED
from service import UNIT, Service
from site_network import DIRECTOR
from support.guest import run, show, systemctl, wait


def test_card_that_does_not_answer_is_named(blocked, site):
    """DPDK's driver waits for the card forever."""
    service = Service(blocked)
    service.write_table(site.table.json())
    service.configure({"outbound_gateway_mac": blocked.peer_mac, "outbound_src_ip": DIRECTOR}, "0-2")
    service.mark()
    systemctl("start", "--no-block", UNIT)
    service.wait_log(f"port 0 ({blocked.address}): the card does not answer its driver net_virtio")
    assert show(UNIT, "ActiveState") == "activating"
    systemctl("stop", "--no-block", UNIT)
    run("systemctl", "kill", "--signal=KILL", UNIT)
    wait(lambda: show(UNIT, "ActiveState") in ("inactive", "failed"), f"{UNIT} to end")
    print(f"{blocked.name}: not possible: {IOMMU_IGNORED}")
