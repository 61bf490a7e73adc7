# SPDX-License-Identifier: BSD-3-Clause
"""The installed units under a real systemd. These tests install into the machine on which they run, so they need a disposable one:
run them with script/test --kernel SUITE."""

import json
from pathlib import Path

import pytest

from lab.net import Namespace
from support.guest import install, kill, log, run, show, stats, systemctl, wait  # noqa: F401
from support.tree import TREE

VIP = "203.0.113.10"
OWN, PEER = "10.99.0.1", "10.99.0.2"
GATEWAY_MAC = "02:00:00:00:00:fe"


def capabilities(unit):
    status = Path(f"/proc/{show(unit, 'MainPID')}/status").read_text(encoding="ascii")
    return int(dict(line.split(":\t") for line in status.splitlines() if "\t" in line)["CapEff"], 16)


def table(*proxies, **more):
    document = json.loads((TREE / "config/forwarding_table.json").read_text(encoding="utf-8"))
    (web, _) = document["tables"]
    web["backends"] = [{"ip": ip, "state": "active", **more} for ip in proxies]
    return {"tables": [web]}


@pytest.fixture(scope="session", autouse=True)
def installed():
    install("script/test --kernel SUITE")


@pytest.fixture(scope="session")
def peer(installed):
    """A host at the other end of two links: lb0 is the director's port. On px0 each end is a proxy for the other."""
    made = Namespace()
    for here, there in (("lb0", "lb1"), ("px0", "px1")):
        run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", str(made.pid))
        run("ip", "link", "set", here, "up")
        made.ip(f"link set {there} up")
    run("ip", "address", "add", f"{OWN}/24", "dev", "px0")
    mac = json.loads(run("ip", "-json", "link", "show", "lb0").stdout)[0]["address"]
    made.ip(f"addr add {PEER}/24 dev px1", "addr add 192.0.2.33/24 dev lb1",
            f"neigh add 192.0.2.254 lladdr {mac} dev lb1", f"route add {VIP} via 192.0.2.254 src 192.0.2.33")
    yield made
    made.close()


@pytest.fixture(scope="session")
def director_files(peer):
    """The configuration of the director as an operator edits it. glb-healthcheck writes the table later."""
    etc = Path("/usr/local/etc")
    etc = etc if (etc / "glb").exists() else Path("/etc")
    (etc / "glb/director.conf").write_text(
        f'outbound_src_ip = "192.0.2.1";\noutbound_gateway_mac = "{GATEWAY_MAC}";\n', encoding="ascii")
    (etc / "default/glb-director").write_text(
        'GLB_DIRECTOR_EAL_ARGS="--no-huge -m 128 --no-pci --lcores=0@(0,1) --vdev=net_af_packet0,iface=lb0"\n', encoding="ascii")
    return etc / "glb"
