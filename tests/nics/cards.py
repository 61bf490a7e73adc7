# SPDX-License-Identifier: BSD-3-Clause
"""The cards of the virtual machine, and what an operator does with them. cards.txt lists them for script/nics, too."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from support.guest import run, wait

DEVICES = Path("/sys/bus/pci/devices")
VF_MAC = "52:54:00:00:{number:02x}:10"
# Why a card cannot do something: qemu or DPDK's driver lacks it.
IOMMU_IGNORED = "without iommu_platform=on, qemu's virtio-net takes the addresses of VFIO for physical addresses"
LIMITS = {
    "virtio": {"forwards": False},
    "igb-vf": {"interrupts": False},
    "e1000e": {"interrupts": False},
    # qemu gives all packets to queue 0, and one buffer to a packet, because DPDK's driver does not set maxNumRxSG.
    "vmxnet3": {"rss": False, "buffers": False},
}


@dataclass
class Card:
    name: str
    number: int
    cable: str
    model: str  # qemu's device and its options
    address: str = ""  # on the PCI bus; of the VF, if the name ends with -vf
    pf: str = ""  # address of the PF on the PCI bus
    kernel_driver: str = ""
    forwards: bool = True
    rss: bool = True  # packets arrive in all receive queues
    buffers: bool = True  # a frame may fill several buffers
    interrupts: bool = True  # of receive queues

    @property
    def mac(self):
        """Of the director's port."""
        return VF_MAC.format(number=self.number) if self.is_vf else self.pf_mac

    @property
    def pf_mac(self):
        return f"52:54:00:00:{self.number:02x}:01"

    @property
    def peer_mac(self):
        return f"52:54:00:00:{self.number:02x}:02"

    @property
    def is_vf(self):
        return self.name.endswith("-vf")

    @property
    def qdev(self):
        """Its id in qemu's monitor."""
        return f"card{self.number}"

    def driver(self):
        link = DEVICES / self.address / "driver"
        return os.path.basename(os.readlink(link)) if link.exists() else None

    def bind(self):
        """Gives the card, or its VF, to DPDK, as the how-to says."""
        run("modprobe", "vfio-pci")
        if self.is_vf:
            self.pf = find(self.pf_mac)
            pf = interface(self.pf_mac)
            run("ip", "link", "set", pf, "up", "mtu", "1600")
            (DEVICES / self.pf / "sriov_numvfs").write_text("1", encoding="ascii")
            run("ip", "link", "set", pf, "vf", "0", "mac", self.mac)
            self.address = os.path.basename(os.readlink(DEVICES / self.pf / "virtfn0"))
            wait(self.driver, f"{self.address} to have its kernel driver")
        else:
            self.address = find(self.mac)
        self.kernel_driver = self.driver()
        run("dpdk-devbind.py", "--bind=vfio-pci", self.address)

    def set_port_vlan(self, vlan):
        """The PF tags what its VF sends, and removes this tag from what the VF receives. 0: no tags."""
        run("ip", "link", "set", interface(self.pf_mac), "vf", "0", "vlan", str(vlan))

    def set_pf_mtu(self, mtu):
        """The MTU of a VF cannot exceed that of its PF."""
        if self.is_vf:
            run("ip", "link", "set", interface(self.pf_mac), "mtu", str(mtu))

    def release(self):
        """Gives the card back to the kernel, and removes the VF."""
        if (DEVICES / self.address).exists():
            run("dpdk-devbind.py", f"--bind={self.kernel_driver}", self.address)
        if self.is_vf:
            (DEVICES / self.pf / "sriov_numvfs").write_text("0", encoding="ascii")


def read_cards():
    """Those that GLB_CARDS names, or all."""
    wanted = os.environ.get("GLB_CARDS", "")
    lines = (Path(__file__).parent / "cards.txt").read_text(encoding="ascii").splitlines()
    cards = [Card(name, int(number), cable, model, **LIMITS.get(name, {})) for name, number, cable, model in (line.split() for line in lines if not line.startswith("#"))]
    return [card for card in cards if not wanted or card.name in wanted.split(",")]


def interface(mac):
    """The name of the kernel's interface with this MAC address."""
    links = json.loads(run("ip", "-json", "link").stdout)
    return next((link["ifname"] for link in links if link.get("address") == mac), None)


def find(mac):
    """The address on the PCI bus of the card with this MAC address."""
    device = Path("/sys/class/net", interface(mac), "device").resolve()
    return device.parent.name if device.name.startswith("virtio") else device.name
