# SPDX-License-Identifier: BSD-3-Clause
"""A proxy from the packages, on a fresh machine: installing.md and set-up-a-proxy.md."""

import pytest

from conftest import plug
from machine import NEW
from support.pages import block
from walk import walk

INSTALLING = "docs/howto/installing.md"
PROXY = "docs/howto/set-up-a-proxy.md"
UNIT = "glb-redirect@eth0.service"


@pytest.fixture(scope="module")
def proxy(machines, network):
    made = machines("proxy")
    plug(made, "eth0", network, "to-proxy")
    made.repository(NEW)
    walk(made, block(INSTALLING, "sources.list.d/glb-director.list"))
    return made


def test_nothing_is_attached_after_the_installation(proxy):
    printed = walk(proxy, block(INSTALLING, "apt-get install -y glb-redirect"))
    assert "systemctl enable --now glb-redirect@eth0" in printed
    files = {line.split()[0]: line.split()[1] for line in proxy.output("systemctl list-unit-files --no-legend 'glb-*'").splitlines()}
    assert files["glb-redirect@.service"] == "disabled" and "enabled" not in files.values()
    assert proxy.output("systemctl list-units --all --no-legend 'glb-*'") == ""
    assert "attached, " not in proxy.run("glb-redirect status", check=False).stdout


def test_proxy_is_attached_by_the_page(proxy):
    walk(proxy, block(PROXY, "systemctl enable --now glb-redirect@eth0"))
    assert "eth0: attached, " in proxy.output("glb-redirect status eth0")
    proxy.run("echo '# edited' >>/etc/glb/redirect.conf")


def test_program_stays_attached_in_an_upgrade(proxy):
    """The same as for a director: the operator decides when the new program replaces the attached one."""
    before = proxy.output("glb-redirect status --json eth0")
    printed = proxy.output("apt-get install -y --reinstall glb-redirect")
    assert proxy.output("glb-redirect status --json eth0") == before and "reload 'glb-redirect@*'" in printed
    assert proxy.read("/etc/glb/redirect.conf").endswith("# edited\n")


def test_removal_detaches_the_program(proxy):
    walk(proxy, block(INSTALLING, "apt-get remove"))
    assert "xdp" not in proxy.output("ip -details link show eth0")
    assert proxy.output("systemctl list-units --failed --no-legend") == ""
    assert proxy.read("/etc/glb/redirect.conf").endswith("# edited\n")
