# SPDX-License-Identifier: BSD-3-Clause
"""Machines that install the packages. script/package-test makes what they need, and runs these tests."""

import shutil
import subprocess
import tempfile

import pytest

from lab.net import Namespace
from machine import NEW, OLD, Machine, host
from traffic import VIP


def version(folder, package="glb-director"):
    """The version of a package in a folder of the host."""
    (path,) = folder.glob(f"{package}_*.deb")
    return host("dpkg-deb", "--field", path, "Version").stdout.strip()


@pytest.fixture(scope="session")
def work():
    assert NEW.is_dir() and OLD.is_dir(), "run these tests by script/package-test"
    folder = tempfile.mkdtemp(prefix="glb-machines-", dir="/var/tmp")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def machines(work):
    """A function that boots a machine, which ends with the module."""
    made = []

    def boot(name, **options):
        made.append(Machine(name, work, **options))
        return made[-1]

    yield boot
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def network():
    """The other end of the link of a director: the router."""
    made = Namespace("network")
    yield made
    made.close()


def plug(machine, device, other, other_device):
    """A link between a machine and a namespace or another machine, up at both ends."""
    subprocess.run(["ip", "link", "add", device, "netns", str(machine.pid), "type", "veth",
                    "peer", "name", other_device, "netns", str(other.pid)], check=True)
    for end, name in ((machine, device), (other, other_device)):
        subprocess.run(["nsenter", f"--target={end.pid}", "--net", "ip", "link", "set", name, "up"], check=True)


def plug_director(machine, network):
    """The link eth1 of the director of first-director.md, with its address. The other end is the router to the proxies."""
    plug(machine, "eth1", network, "to-director")
    machine.run("ip address add 192.168.50.2/24 dev eth1; ip route replace default via 192.168.50.1")
    network.ip("addr add 192.168.50.1/24 dev to-director", f"route replace {VIP} via 192.168.50.2")
