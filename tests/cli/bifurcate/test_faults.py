# SPDX-License-Identifier: BSD-3-Clause
"""What a failing machine and a tired operator do to glb-bifurcate, on the host of files of test_apply.py. A half-done apply is finished by
the next one and removed by undo, and what others made stays."""

import fcntl
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from lab.tools import wait_until
from support.card import CONF, MAC, PF
from support.tree import BIFURCATE, TREE
from test_apply import FULL_RUN, NUM_VFS, READ_ONLY, Host

APPLY = ("apply", "--table", "/table.json", "eth1")
OPERATORS = {"7": ["192.0.2.1", "queue 3"], "8": ["192.0.2.2", "VF 1 queue 0"]}


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def with_rules(root, *vips):
    """An ixgbe with rules for these VIPs and two of an operator."""
    made = Host(root, "ixgbe")
    made.conf(**CONF, vlan=7, spoof_check=False, trust=True, steering="rules")
    made.state(rules=OPERATORS)
    made.table(*vips)
    return made


def run_killed(host, words, lines):
    """Runs glb-bifurcate, and kills it after it has printed and run this number of commands. Returns whether it was killed.

    The kernel kills it when its output becomes longer than the limit, so it ends between two commands. The files of the host are shorter."""
    path, start = host.root.parent / "output", 1 << 20
    with open(path, "wb") as output:
        output.truncate(start)
    with open(path, "ab") as output:
        limit = start + sum(len(line) + 1 for line in lines)
        done = subprocess.run(host.command("prlimit", f"--fsize={limit}", "--core=0", BIFURCATE, *words), stdout=output,
                              stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode in (0, -signal.SIGXFSZ, 128 + signal.SIGXFSZ), done.stderr
    return done.returncode != 0


def clean(host):
    return (host.pf / "sriov_numvfs").read_text() == "0\n" and (host.pf / "sriov_drivers_autoprobe").read_text() == "1\n" and \
        not host.record() and host.rules() == OPERATORS


@pytest.mark.parametrize("count", range(12))
def test_killed_at_each_command(tmp_path_factory, count):
    commands = with_rules(tmp_path_factory.mktemp("whole") / "root", "203.0.113.10", "203.0.113.11").run(*APPLY).splitlines()[:-1]
    assert len(commands) == 12, "so this test kills at each"
    for undone_at_once in (True, False):
        host = with_rules(tmp_path_factory.mktemp("killed") / "root", "203.0.113.10", "203.0.113.11")
        assert run_killed(host, APPLY, commands[:count])
        if not undone_at_once:
            assert host.run(*APPLY).endswith(f": {len(commands) - count} command{'' if len(commands) - count == 1 else 's'}\n")
            assert json.loads(host.run("status", "--json", "--table", "/table.json", "eth1"))["result"] == "ok"
        host.run("undo", "eth1")
        assert clean(host)


@pytest.mark.parametrize("count", range(3))
def test_undo_that_is_killed_is_finished_by_the_next(tmp_path, count):
    host = with_rules(tmp_path / "root", "203.0.113.10", "203.0.113.11")
    host.run(*APPLY)
    commands = host.run("undo", "--dry-run", "eth1").splitlines()
    assert len(commands) == 3, "two rules, and the VFs"
    assert run_killed(host, ["undo", "eth1"], commands[:count])
    host.run("undo", "eth1")
    assert clean(host)


def test_two_at_once(host):
    (host.root / "run/glb-bifurcate").mkdir()
    with open(host.root / f"run/glb-bifurcate/{PF}.json.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        for word in ("apply", "undo"):
            said = host.run(word, "eth1", code=1)
            assert f"{PF}: process {os.getpid()} changes it now: wait until that has ended" in said
    assert not host.vf() and not host.record()


def test_number_of_vfs_that_the_card_refuses(host):
    """The kernel then goes on to bind drivers to VFs that others make."""
    said = host.run("apply", "eth1", code=1, prepare=READ_ONLY.format(NUM_VFS))
    assert f"'echo 1 > /{NUM_VFS}' failed: Read-only file system" in said
    assert (host.pf / "sriov_drivers_autoprobe").read_text() == "1\n"
    host.run("apply", "eth1")
    host.run("undo", "eth1")
    assert (host.pf / "sriov_numvfs").read_text() == "0\n"


def test_read_only_sysfs_changes_nothing(host):
    said = host.run("apply", "eth1", code=1, prepare=READ_ONLY.format("sys"))
    assert f"'echo 0 > /sys/bus/pci/devices/{PF}/sriov_drivers_autoprobe' failed: Read-only file system" in said
    said = host.run("apply", "eth1", code=1, prepare=READ_ONLY.format("run"))
    assert said.endswith("/run/glb-bifurcate: cannot lock: Read-only file system\n")
    assert not host.vf()


def test_vfio_that_is_not_installed(host):
    (host.pci / "drivers/vfio-pci").rmdir()
    host.program("modprobe", "echo modprobe: FATAL: Module vfio-pci not found >&2; exit 1")
    said = host.run("apply", "eth1", code=1)
    assert "'modprobe vfio-pci' failed: modprobe: FATAL: Module vfio-pci not found" in said and not host.vf()


def test_command_that_takes_too_long_is_killed(host):
    """As `devlink` may, if a card changes its mode for long. The next apply goes on."""
    (host.pci / "drivers/vfio-pci").rmdir()
    host.program("modprobe", "exec sleep 600")
    said = host.run("apply", "eth1", code=1)
    assert "'modprobe vfio-pci' failed: it did not end within 20 seconds, so it was killed; the card may still have done it: try again" in said


@pytest.mark.parametrize("driver, program, script, expected", [
    ("igb", "ip", "exit 127", "ip: there is no such program: install the package iproute2"),
    ("igb", "ip", "exit 1", "ip: 'ip -json link show ...' failed"),
    ("igb", "ip", "echo eth1: mtu 1500", "ip: it did not print JSON"),
    ("ixgbe", "ethtool", "exit 127", "ethtool: there is no such program: install the package ethtool"),
    ("ixgbe", "ethtool", "exit 1", "'ethtool --show-features eth1' failed"),
    ("ixgbe", "ethtool", "echo what", "rules: still ntuple of eth1 is off after 'ethtool --features eth1 ntuple on'"),
    ("ice", "devlink", "exit 127", "eth1.conf: devlink: there is no such program: install the package iproute2"),
    ("ice", "devlink", "echo {}", "names no mode, so the card has no rules that reach a VF: install the firmware of the card"),
    ("ice", "devlink", "exit 1", "names no mode, so the card has no rules that reach a VF: install the firmware of the card"),
    ("ice", "devlink", "kill -9 $$", "eth1.conf: devlink: 'devlink -j dev eswitch ...' failed: signal 9 ended it (Killed)"),
    ("ice", "devlink", "exec sleep 600", "eth1.conf: devlink: 'devlink -j dev eswitch ...' failed: it did not end within 20 seconds, so it was killed"),
    ("ice", "devlink", "printf '\\033[31m\\n'", "eth1.conf: devlink: it did not print JSON: '[' or '{' expected\n"),
    ("igb", "ip", "kill -9 $$", "ip: 'ip -json link show ...' failed: signal 9 ended it (Killed)"),
    ("ixgbe", "ethtool", "kill -9 $$", "ethtool: 'ethtool --show-features eth1' failed: signal 9 ended it (Killed)"),
    ("ice", "tc", "kill -9 $$", "tc: 'tc -json qdisc show ...' failed: signal 9 ended it (Killed)"),
    ("ice", "tc", "exit 127", "tc: there is no such program: install the package iproute2"),
])
def test_program_that_is_missing_or_prints_something_else(tmp_path, driver, program, script, expected):
    host = Host(tmp_path, driver)
    host.conf(**CONF, steering="next-hop" if driver == "igb" else "rules")
    host.table("203.0.113.10")
    host.program(program, script)
    assert expected in host.run(*APPLY, code=1)


def test_undo_goes_on_without_devlink(tmp_path):
    host = Host(tmp_path, "ixgbe")
    host.conf(**CONF, steering="rules")
    host.table("203.0.113.10")
    host.run(*APPLY)
    host.program("devlink", "kill -9 $$")
    host.run("undo", "eth1")
    assert not host.record()


def test_vf_that_ip_does_not_list_is_not_changed_below_a_director(host):
    host.run("apply", "eth1")
    host.open_vf(0)
    host.program("ip", "echo '[{}]'")
    assert "glb-director (pid 4711) uses this VF, and a change of its MAC or VLAN would take it away" in host.run("apply", "eth1", code=1)


@pytest.mark.parametrize("lacks", [None, "+sys_ptrace", "+dac_read_search"])
def test_unit_sees_a_vf_that_a_program_of_another_user_has_open(host, lacks):
    """libvirt runs virtual machines as a user of their own. The unit has fewer capabilities than root, and needs each of them for that."""
    unit = (TREE / "packaging/systemd/glb-bifurcate@.service.in").read_text(encoding="utf-8")
    capabilities = re.search("^CapabilityBoundingSet=(.*)", unit, re.M)[1].lower().replace("cap_", "+").split()
    assert lacks in (None, *capabilities)
    start = "mount -t tmpfs tmpfs /dev && mkdir /dev/vfio && touch /dev/vfio/20 && exec setpriv --reuid=65534 --clear-groups sleep 600 </dev/vfio/20"
    host.run("apply", "eth1")
    host.conf(device=PF, mac="02:00:00:00:03:99")
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", start]) as machine:
        try:
            wait_until(lambda: Path(f"/proc/{machine.pid}/comm").read_text(encoding="ascii") == "sleep\n", "the other program")
            rights = ",".join(["-all", *(name for name in capabilities if name != lacks)])
            done = subprocess.run(host.command("setpriv", "--bounding-set", rights, BIFURCATE, "apply", "eth1",
                                               prepare='mount -t proc proc "$root/proc"'), capture_output=True, text=True, timeout=120, check=False)
        finally:
            machine.kill()
    assert (f"sleep (pid {machine.pid}) uses this VF" in done.stderr) == (lacks is None), done.stdout + done.stderr
    if lacks is None:
        assert done.returncode == 1 and host.vf()["address"] == MAC


def test_undo_returns_what_a_key_has_set_that_is_gone_and_nothing_else(host):
    host.make_vfs(1)
    host.write(host.pci / "drivers/vfio-pci/unbind", "")
    host.state(vf={"vf": 0, "address": "02:00:00:00:00:09", "vlan_list": [{}], "spoofchk": True, "trust": False})
    host.conf(**CONF, spoof_check=False)
    host.run("apply", "eth1")
    host.conf(**CONF)
    host.run("apply", "eth1")
    host.state(vf=host.vf() | {"trust": True})
    host.run("undo", "eth1")
    assert host.vf() | {"address": 0} == host.vf() | {"address": 0, "spoofchk": True, "trust": True}, "the operator has set trust"
    assert host.vf()["address"] == "02:00:00:00:00:09"


@pytest.mark.parametrize("vips, code, expected", [
    ([], 0, "bound to vfio-pci"),
    (["2001:db8:f::10"], 0, "ixgbe has no rules for IPv6: the routers must send 1 IPv6 VIP to the MAC of the VF"),
    (["203.0.113.300"], 1, "/table.json"),
    (None, 1, "/table.json: cannot be opened: No such file or directory"),
], ids=["no VIP", "IPv6 only", "broken", "missing"])
def test_table_without_rules_leaves_those_of_the_operator(tmp_path, vips, code, expected):
    host = Host(tmp_path, "ixgbe")
    host.conf(**CONF, steering="rules")
    host.state(rules=OPERATORS)
    if vips is not None:
        host.table(*vips)
    done = subprocess.run(host.command(BIFURCATE, *APPLY), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code and expected in done.stdout + done.stderr
    assert host.rules() == OPERATORS and bool(host.vf()) == (code == 0)


def test_table_that_is_broken_later_keeps_the_rules(tmp_path):
    host = with_rules(tmp_path, "203.0.113.10")
    host.run(*APPLY)
    rules = host.rules()
    (tmp_path / "table.json").write_text("{")
    assert "/table.json" in host.run(*APPLY, code=1)
    assert host.rules() == rules


def test_table_that_changes_while_apply_runs(tmp_path):
    """systemd starts the unit of the path only if it does not run."""
    host = with_rules(tmp_path, "203.0.113.10")
    host.table("203.0.113.20", "203.0.113.30", name="next.json")
    host.state(when="ethtool --config-ntuple eth1 flow-type ip4 dst-ip 203.0.113.10 vf 0 queue 0")
    host.run(*APPLY)
    assert sorted(rule[0] for rule in host.rules().values()) == ["192.0.2.1", "192.0.2.2", "203.0.113.20", "203.0.113.30"]
    assert json.loads(host.run("status", "--json", "--table", "/table.json", "eth1"))["result"] == "ok"


def test_rule_that_the_card_refuses_leaves_no_old_rule_in_its_place(tmp_path):
    host = with_rules(tmp_path, "203.0.113.10")
    host.run(*APPLY)
    host.table("203.0.113.20")
    host.state(fail="ethtool --config-ntuple eth1 flow-type ip4 dst-ip 203.0.113.20 vf 0 queue 0")
    assert "dst-ip 203.0.113.20 vf 0 queue 0' failed" in host.run(*APPLY, code=1)
    assert host.rules() == OPERATORS
    host.state(fail="")
    assert "203.0.113.20 vf 0 queue 0\n" in host.run(*APPLY)


def test_rules_of_the_operator_take_room(tmp_path):
    host = with_rules(tmp_path, "203.0.113.10", "203.0.113.11")
    host.state(rules={str(number): [f"10.0.{number // 256}.{number % 256}", "queue 3"] for number in range(2045)}, ntuple="on")
    assert "the table has 2 VIPs, and the card 2045 other rules, but it has room for 2046" in host.run(*APPLY, code=1)


def test_rule_for_one_protocol_is_neither_ours_nor_enough(tmp_path):
    host = with_rules(tmp_path, "203.0.113.10")
    host.run(*APPLY)
    host.state(rules={"9": ["203.0.113.10", "VF 0 queue 0"], "10": ["203.0.113.99", "VF 0 queue 0"]}, rule_type="TCP over IPv4")
    assert host.run("apply", "--dry-run", *APPLY[1:]) == "ethtool --config-ntuple eth1 flow-type ip4 dst-ip 203.0.113.10 vf 0 queue 0\n"


def test_disk_is_full_when_apply_goes_on(host):
    host.state(fail=f"ip link set dev eth1 vf 0 mac {MAC}")
    host.run("apply", "eth1", code=1)
    host.state(fail="")
    assert "No space left on device" in host.run("apply", "eth1", code=1, prepare=FULL_RUN)
    host.run("undo", "eth1")
    assert (host.pf / "sriov_numvfs").read_text() == "0\n" and not host.record()
