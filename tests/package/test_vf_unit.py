# SPDX-License-Identifier: BSD-3-Clause
"""The unit glb-bifurcate@ on a fresh machine starts when its interface appears, as after a reload of the PF's driver. The interfaces here are
no cards with SR-IOV, so each start fails and says that."""

import pytest

from lab.tools import wait_until
from machine import NEW
from support.pages import block
from walk import walk

INSTALLING = "docs/howto/installing.md"
UNIT = "glb-bifurcate@eth1.service"


def run_udev(machine):
    """As on a machine that is not a container: systemd looks only once whether it may use devices, and /sys was read-only then."""
    machine.run("systemctl daemon-reexec; systemctl start systemd-udevd")


@pytest.fixture(scope="module")
def director(machines):
    made = machines("vf")
    made.repository(NEW)
    walk(made, block(INSTALLING, "sources.list.d/glb-director.list"))
    made.run("apt-get install -y glb-director")
    made.write("/etc/glb/bifurcate.d/eth1.conf", 'device = "eth1";\nmac = "02:00:00:00:03:00";\n')
    run_udev(made)
    return made


def starts(machine):
    return machine.log(UNIT).count("device: there is no card 'eth1'")


def wait_starts(machine, count):
    wait_until(lambda: starts(machine) >= count, lambda: f"start {count}: {machine.log(UNIT)}")
    machine.run("udevadm settle; systemctl is-system-running --wait", check=False)
    assert starts(machine) == count, "one start for each appearance"


def make(machine):
    machine.run("ip link add eth1 type veth peer name other")


def remove(machine):
    machine.run("ip link del eth1; udevadm settle")


def test_unit_starts_whenever_its_interface_appears(director):
    director.run(f"systemctl enable {UNIT}")
    assert starts(director) == 0
    make(director)
    wait_starts(director, 1)
    remove(director)
    make(director)
    wait_starts(director, 2)
    remove(director)
    director.run("ip link add new type veth peer name other; udevadm settle; ip link set new name eth1")
    wait_starts(director, 3)


def test_unit_starts_also_after_a_restart_of_the_machine(director):
    director.reboot()
    run_udev(director)
    before = starts(director)
    make(director)
    wait_starts(director, before + 1)


def test_disabled_unit_does_not_start(director):
    director.run(f"systemctl disable {UNIT}")
    before = starts(director)
    remove(director)
    make(director)
    director.run("udevadm settle; systemctl is-active --wait sys-subsystem-net-devices-eth1.device")
    wait_starts(director, before)


def test_purge_leaves_no_link(director):
    director.run(f"systemctl enable {UNIT}; apt-get purge -y glb-director")
    assert director.output("find /etc/systemd/system -name 'sys-*.device.wants' -o -name 'glb-bifurcate*'") == ""
