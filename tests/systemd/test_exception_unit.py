# SPDX-License-Identifier: BSD-3-Clause
"""The installed unit of the director with the exception path virtio-user, which needs the kernel's module vhost_net."""

import json
import os
import socket
from pathlib import Path

import pytest

from conftest import kill, log, run, show, systemctl, table, wait
from support.director_conf import CONFIG, write_config

UNIT = "glb-director.service"
TABLE = "/var/lib/glb/forwarding_table.bin"
ADDRESS, ADDRESS6 = "192.0.2.200", "2001:db8::200"  # of glb0
NO_MODULE = Path("/etc/modprobe.d/no-vhost.conf")
BGP = 179


def interface(name):
    """What the kernel knows of it, or None."""
    found = json.loads(run("ip", "-json", "link", "show", name, check=False).stdout or "[]")
    return found[0] if found else None


def has_module():
    return Path("/sys/module/vhost_net").exists()


def reach(peer):
    """ARP, ND, ping and TCP from the other end of the cable to the director's kernel."""
    run("ip", "address", "replace", f"{ADDRESS}/24", "dev", "glb0")
    run("ip", "address", "replace", f"{ADDRESS6}/64", "dev", "glb0", "nodad")
    peer.ip("neigh flush dev lb1 nud reachable", "neigh flush dev lb1 nud stale", "neigh flush dev lb1 nud failed")
    for address in (ADDRESS, ADDRESS6):
        done = peer.run("ping", "-c", "1", "-W", "10", address, check=False).stdout
        assert " 1 received" in done, done + run("ip", "-s", "link", "show", "glb0").stdout + log(UNIT)
    with socket.create_server((ADDRESS, BGP)) as listener, peer.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.connect((ADDRESS, BGP))
        server, _ = listener.accept()
        client.sendall(bytes(100000))
        client.shutdown(socket.SHUT_WR)
        with server, server.makefile("rb") as stream:
            assert stream.read() == bytes(100000)


@pytest.fixture(scope="module")
def files(peer):
    """Of this module only: the other modules have a director without an exception path. Only glb0 has the port's addresses."""
    etc = Path("/usr/local/etc")
    etc = etc if (etc / "glb").exists() else Path("/etc")
    conf, environment = etc / "glb/director.conf", etc / "default/glb-director"
    before = {path: path.read_text(encoding="utf-8") for path in (conf, environment)}
    write_config(conf, {**CONFIG, "exception_path": "virtio-user", "idle": "sleep"})
    source = Path("/tmp/exception.json")
    source.write_text(json.dumps(table("10.99.0.2")), encoding="utf-8")
    run("glb-director-cli", "build-config", str(source), TABLE)
    run("sysctl", "-q", "net.ipv4.conf.lb0.arp_ignore=8", "net.ipv6.conf.lb0.disable_ipv6=1", "net.ipv4.conf.all.rp_filter=0",
        "vm.nr_hugepages=64")
    peer.ip("addr add 2001:db8::33/64 dev lb1 nodad")
    peer.offloads_off("lb1")
    yield environment
    systemctl("stop", UNIT, check=False)
    NO_MODULE.unlink(missing_ok=True)
    os.unlink(TABLE)
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")
    peer.ip("addr del 2001:db8::33/64 dev lb1")
    run("sysctl", "-q", "net.ipv4.conf.lb0.arp_ignore=0", "net.ipv6.conf.lb0.disable_ipv6=0", "vm.nr_hugepages=0")


@pytest.mark.parametrize("memory", ("--no-huge -m 128", "-m 64"), ids=("pages", "hugepages"))
def test_kernel_is_reached(peer, files, memory):
    files.write_text(f'GLB_DIRECTOR_EAL_ARGS="{memory} --no-pci --lcores=0@(0,1) --vdev=net_af_packet0,iface=lb0"\n', encoding="ascii")
    run("modprobe", "--remove", "vhost_net", check=False)
    systemctl("start", UNIT)
    assert has_module(), "the kernel loads it when the director opens the device"
    assert interface("glb0")["address"] == interface("lb0")["address"]
    assert "UP" in interface("glb0")["flags"]
    reach(peer)
    kill(UNIT)
    wait(lambda: show(UNIT, "NRestarts") != "0" and show(UNIT, "ActiveState") == "active", "a restart")
    reach(peer)
    systemctl("stop", UNIT)
    assert show(UNIT, "Result") == "success" and interface("glb0") is None
    systemctl("reset-failed", UNIT, check=False)


def test_director_without_the_module_says_so_and_starts_when_it_is_there(peer, files):
    NO_MODULE.write_text("install vhost_net /bin/false\n", encoding="ascii")
    run("modprobe", "--remove", "vhost_net")
    assert systemctl("start", UNIT, check=False).returncode != 0
    assert 'exception_path = "virtio-user": /dev/vhost-net: ' in log(UNIT) and "load the module (modprobe vhost-net)" in log(UNIT)
    NO_MODULE.unlink()
    wait(lambda: show(UNIT, "ActiveState") == "active", lambda: f"a start: {log(UNIT)}")
    reach(peer)
