# SPDX-License-Identifier: BSD-3-Clause
"""glb-bifurcate apply, status and undo for real, on a host of files: /sys is a folder, and `ip` and `ethtool` are programs that play the
kernel (support/card_kernel.py)."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from support.card import CONF, MAC, PF, Card
from support.cli import table
from support.tree import BIFURCATE, BUILD, TREE

START = """
set -e
root=$1; build=$2; prepare=$3; shift 3
ip link add eth1 type veth peer name peer1
ip link set eth1 up
mkdir -p "$root/usr" "$root$build" "$root/dev" "$root/proc" "$root/tmp"
for name in bin sbin lib lib64; do ln -sfn "usr/$name" "$root/$name"; done
touch "$root/dev/null"
mount --bind /usr "$root/usr"
mount --bind "$build" "$root$build"
mount --bind /dev/null "$root/dev/null"
eval "$prepare"
exec chroot "$root" /usr/bin/env PATH=/fake:/usr/sbin:/usr/bin "$@"
"""
# Shell commands that break a host.
FULL_RUN = 'mount -t tmpfs -o size=4k,nr_inodes=8 tmpfs "$root/run"; head -c 4096 /dev/zero >"$root/run/full"'
READ_ONLY = 'mount --bind "$root/{0}" "$root/{0}"; mount -o remount,ro,bind "$root/{0}"'
NUM_VFS = f"sys/bus/pci/devices/{PF}/sriov_numvfs"
RECORD = f"run/glb-bifurcate/{PF}.json"


class Host(Card):
    def __init__(self, root, driver="igb"):
        super().__init__(root, driver)
        self.write(self.pci / "drivers/igbvf/unbind", "")
        (root / "fake").mkdir()
        (root / "run").mkdir()
        kernel = (TREE / "tests/support/card_kernel.py").read_bytes()
        shutil.copytree(Path(__file__).parent / "outputs", root / "fake/outputs")
        for name in ("ip", "ethtool", "tc", "devlink"):
            (root / "fake" / name).write_bytes(kernel)
            (root / "fake" / name).chmod(0o755)
        self.state(ignored=[], fail="", rules={}, ntuple="off")

    def state(self, **members):
        path = self.root / "fake/state.json"
        path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | members))

    def vf(self):
        return json.loads((self.root / "fake/state.json").read_text()).get("vf")

    def rules(self):
        return json.loads((self.root / "fake/state.json").read_text())["rules"]

    def record(self):
        path = self.root / RECORD
        return json.loads(path.read_text()) if path.exists() else None

    def program(self, name, text):
        """Replaces a program of the host by a shell script."""
        (self.root / "fake" / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.root / "fake" / name).chmod(0o755)

    def table(self, *vips, name="table.json"):
        document = {"tables": [table(binds=[{"ip": vip, "proto": "tcp", "port": 80} for vip in vips])]}
        (self.root / name).write_text(json.dumps(document))

    def command(self, *words, prepare=""):
        return ["unshare", "--mount", "--net", "sh", "-c", START, "sh", self.root, BUILD, prepare, *words]

    def run(self, *words, code=0, prepare=""):
        done = subprocess.run(self.command(BIFURCATE, *words, prepare=prepare), capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stdout + done.stderr


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_apply_makes_the_vf_as_dry_run_said_and_again_does_nothing(host):
    host.conf(**CONF, vlan=7, trust=True)
    planned = host.run("apply", "--dry-run", "eth1")
    assert not host.record() and not host.vf()
    said = host.run("apply", "eth1")
    assert said == planned + "eth1: VF 0 of eth1 is 0000:03:10.0, bound to vfio-pci: 8 commands\n"
    changed = {"vf": 0, "address": MAC, "vlan_list": [{"vlan": 7}], "spoofchk": True, "trust": True}
    assert {key: host.vf()[key] for key in changed} == changed
    assert (host.pf / "sriov_drivers_autoprobe").read_text() == "1\n"
    assert host.record()["made_vfs"] == 1
    host.open_vf(0)
    assert host.run("apply", "eth1").endswith("vfio-pci: 0 commands\n"), "also while a director uses it"
    status = json.loads(host.run("status", "--json", "eth1"))
    assert status["result"] == "ok" and len(status["findings"]) == 10


def test_change_while_a_director_runs_is_refused_and_harmless_keys_are_not(host):
    host.run("apply", "eth1")
    host.open_vf(0)
    host.conf(device=PF, mac="02:00:00:00:03:99")
    said = host.run("apply", "eth1", code=1)
    assert "glb-director (pid 4711) uses this VF, and a change of its MAC or VLAN would take it away" in said
    assert host.vf()["address"] == MAC
    host.conf(**CONF, spoof_check=False)
    assert "spoofchk off" in host.run("apply", "eth1")


def test_driver_that_ignores_spoof_check_is_named(host):
    host.conf(**CONF, spoof_check=False)
    host.state(ignored=["spoofchk"])
    said = host.run("apply", "eth1", code=1)
    assert "0000:03:10.0: spoof_check: still on instead of off after 'ip link set dev eth1 vf 0 spoofchk off': the driver igb ignored it" in said
    assert "on instead of off" in host.run("status", "eth1", code=2)


def test_command_that_fails_is_named_and_the_next_apply_goes_on(host):
    """Like a process that was killed there: what was made is recorded, and undo knows of it."""
    host.state(fail=f"ip link set dev eth1 vf 0 mac {MAC}")
    said = host.run("apply", "eth1", code=1)
    assert f"'ip link set dev eth1 vf 0 mac {MAC}' failed: RTNETLINK answers: Operation not permitted" in said
    assert (host.pf / "sriov_drivers_autoprobe").read_text() == "1\n", "VFs that others make have drivers"
    host.state(fail="")
    host.run("apply", "eth1")
    assert (host.pf / "sriov_drivers_autoprobe").read_text() == "1\n"
    host.run("undo", "eth1")
    assert (host.pf / "sriov_numvfs").read_text() == "0\n" and not host.record()
    assert host.run("undo", "eth1") == ""


def test_apply_that_was_killed_before_it_switched_drivers_on_again(host):
    host.run("apply", "eth1")
    host.write(host.pf / "sriov_drivers_autoprobe", 0)
    said = host.run("apply", "eth1")
    assert said.splitlines()[0].endswith("sriov_drivers_autoprobe") and "1 command" in said
    assert (host.pf / "sriov_drivers_autoprobe").read_text() == "1\n"


@pytest.mark.parametrize("broken, said", [
    (f"sys/bus/pci/devices/{PF}/sriov_drivers_autoprobe", "sriov_drivers_autoprobe' failed: No such file or directory"),
    ("sys/bus/pci/drivers_probe", "/sys/bus/pci/drivers_probe' failed: No such file or directory"),
])
def test_apply_goes_on_where_it_failed(host, broken, said):
    path, away = host.root / broken, host.root / "away"
    path.rename(away)
    assert said in host.run("apply", "eth1", code=1)
    away.rename(path)
    host.run("apply", "eth1")
    assert json.loads(host.run("status", "--json", "eth1"))["result"] == "ok"
    host.run("undo", "eth1")
    assert (host.pf / "sriov_numvfs").read_text() == "0\n"


def test_full_run_changes_nothing(host):
    said = host.run("apply", "eth1", code=1, prepare=FULL_RUN)
    assert f"/run/glb-bifurcate/{PF}.json: the new file cannot be written: No space left on device" in said
    assert not host.vf() and (host.pf / "sriov_numvfs").read_text() == "0\n"


def test_mac_of_another_vf_is_refused(host):
    host.run("apply", "eth1")
    host.state(others=[{"vf": 3, "address": "02:00:00:00:03:99"}])
    host.conf(device=PF, mac="02:00:00:00:03:99")
    assert "mac: 02:00:00:00:03:99 is the MAC of VF 3: choose another one, or write vf = 3;" in host.run("apply", "eth1", code=1)
    assert host.vf()["address"] == MAC


def test_second_configuration_of_a_pf_is_refused_although_nothing_differs(host):
    host.run("apply", "eth1")
    (host.root / RECORD).unlink()
    assert host.run("apply", "eth1").endswith(": 0 commands\n")
    host.conf(name="uplink", **CONF, trust=True)
    assert "belongs to the configuration 'eth1': run `glb-bifurcate undo eth1` first" in host.run("apply", "uplink", code=1)
    host.run("undo", "eth1")
    assert (host.pf / "sriov_numvfs").read_text() == "1\n", "no record says that apply has made the VF"


def test_undo_after_a_failed_apply(host):
    host.state(fail=f"ip link set dev eth1 vf 0 mac {MAC}")
    host.run("apply", "eth1", code=1)
    host.run("undo", "eth1")
    assert (host.pf / "sriov_numvfs").read_text() == "0\n"
    assert (host.pf / "sriov_drivers_autoprobe").read_text() == "1\n"


def test_pf_that_lost_its_vfs_gets_them_again(host):
    """After a reload of the PF's driver."""
    host.run("apply", "eth1")
    host.write(host.pf / "sriov_numvfs", 0)
    host.run("apply", "eth1")
    assert host.vf()["address"] == MAC


def test_read_only_run_changes_nothing(host):
    (host.root / "run/glb-bifurcate").write_text("")
    assert "/run/glb-bifurcate: cannot lock: Not a directory" in host.run("apply", "eth1", code=1)
    assert not host.vf()


def test_rules_follow_the_table_and_keep_those_of_the_operator(tmp_path):
    host = Host(tmp_path, "ixgbe")
    host.conf(**CONF, steering="rules")

    def apply(*vips):
        host.table(*vips)
        return host.run("apply", "--table", "/table.json", "eth1")

    operators = {"7": ["192.0.2.1", "queue 3"], "8": ["192.0.2.2", "VF 1 queue 0"]}
    host.state(rules=operators)
    apply("203.0.113.10", "203.0.113.11")
    assert sorted(rule[0] for rule in host.rules().values()) == ["192.0.2.1", "192.0.2.2", "203.0.113.10", "203.0.113.11"]
    assert apply("203.0.113.10", "203.0.113.11").endswith(": 0 commands\n")
    host.open_vf(0)
    assert apply("203.0.113.11", "203.0.113.12").splitlines()[:2] == [
        "ethtool --config-ntuple eth1 flow-type ip4 dst-ip 203.0.113.12 vf 0 queue 0", "ethtool --config-ntuple eth1 delete 2043"]
    (host.root / "proc/4711/fd/9").unlink()
    host.run("undo", "eth1")
    assert host.rules() == operators


def test_rules_of_tc_are_read_from_what_tc_prints(tmp_path):
    """tc_filter.json has a rule for 203.0.113.10, one for 203.0.113.0/28, one for 2001:db8:f::10, and one of an operator."""
    host = Host(tmp_path, "ice")
    host.conf(**CONF, steering="rules")
    host.make_vfs(1, "vfio-pci")
    host.state(vf={"vf": 0, "address": MAC, "vlan_list": [{}], "spoofchk": True, "trust": False}, ntuple="on")
    host.write(host.pf / "net/eth1/phys_port_name", "p0")
    host.write(host.pf / "net/d1/phys_port_name", "pf0vf0")
    host.table("203.0.113.10", "203.0.113.77", "2001:db8:f::10")
    rules = [line for line in host.run("apply", "--dry-run", "--table", "/table.json", "eth1").splitlines() if " eth1 ingress " in line]
    assert rules == [
        "tc filter add dev eth1 ingress protocol ip prio 11 flower skip_sw dst_ip 203.0.113.77 action mirred egress redirect dev d1",
        "tc filter del dev eth1 ingress protocol ip prio 11 handle 0x2 flower",
    ]
