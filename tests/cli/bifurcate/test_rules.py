# SPDX-License-Identifier: BSD-3-Clause
"""glb-bifurcate apply --dry-run with steering = "rules": the commands for each driver, from the sources that the how-to names."""

import json

import pytest

from support.card import CONF, DEVICES, FRESH, MAC, PF, VF, Card
from support.cli import table

VIPS = ("203.0.113.10", "203.0.113.11", "2001:db8:f::10")
TC = "flower skip_sw"


def card_of(root, driver, *vips):
    card = Card(root, driver=driver)
    card.conf(**CONF, steering="rules")
    binds = [{"ip": vip, "proto": "tcp", "port": port} for vip in vips for port in (80, 443)]
    document = {"tables": [table(binds=binds)]}
    card.table = root / "table.json"
    card.table.write_text(json.dumps(document), encoding="ascii")
    return card


def plan(card, *words, code=0):
    said = card.call("apply", "--dry-run", "--table", card.table, *words, "eth1", code=code)
    return said.splitlines() if code == 0 else said


def test_ixgbe_has_a_rule_for_each_ipv4_vip(tmp_path):
    assert plan(card_of(tmp_path, "ixgbe", *VIPS)) == [
        *FRESH,
        "ethtool --features eth1 ntuple on",
        "ethtool --config-ntuple eth1 flow-type ip4 dst-ip 203.0.113.10 vf 0 queue 0",
        "ethtool --config-ntuple eth1 flow-type ip4 dst-ip 203.0.113.11 vf 0 queue 0",
    ]


def test_ixgbe_says_that_ipv6_has_no_rules(tmp_path):
    said = card_of(tmp_path, "ixgbe", *VIPS).call("status", "--table", tmp_path / "table.json", "eth1", code=2)
    assert "ixgbe has no rules for IPv6: the routers must send 1 IPv6 VIP to the MAC of the VF" in " ".join(said.split())


def test_prefix_is_a_mask_of_ethtool(tmp_path):
    card = card_of(tmp_path, "ixgbe", "203.0.113.0/24", "198.51.100.0/24")
    assert plan(card)[-1] == "ethtool --config-ntuple eth1 flow-type ip4 dst-ip 203.0.113.0 m 0.0.0.255 vf 0 queue 0"


def test_ixgbe_refuses_prefixes_of_two_lengths(tmp_path):
    said = plan(card_of(tmp_path, "ixgbe", "203.0.113.0/24", "198.51.100.1"), code=1)
    assert "all rules of ixgbe have prefixes of one length, but the VIPs 198.51.100.1 and 203.0.113.0/24 have two" in said


def test_more_vips_than_the_card_has_rules(tmp_path):
    card = card_of(tmp_path, "ixgbe", *(f"10.{n // 65536}.{n // 256 % 256}.{n % 256}" for n in range(2047)))
    assert "the table has 2047 VIPs, and the card 0 other rules, but it has room for 2046: use \"next-hop\"" in plan(card, code=1)
    card.write(tmp_path / "sys/module/ixgbe/version", "5.19.9")
    assert len(plan(card)) == 7 + 2047
    card.conf(**CONF)
    assert len(plan(card)) == 6


def test_ice_changes_the_mode_before_there_are_vfs(tmp_path):
    assert plan(card_of(tmp_path, "ice", *VIPS)) == [
        f"devlink dev eswitch set pci/{PF} mode switchdev",
        *FRESH,
        *tc_rules("REPRESENTOR"),
    ]


def tc_rules(representor):
    return [
        "ethtool --features eth1 hw-tc-offload on",
        f"ethtool --features {representor} hw-tc-offload on",
        f"ip link set dev {representor} up",
        "tc qdisc add dev eth1 clsact",
        f"tc qdisc add dev {representor} clsact",
        f"tc filter add dev {representor} ingress protocol ip prio 11 {TC} action mirred egress redirect dev eth1",
        f"tc filter add dev {representor} ingress protocol ipv6 prio 12 {TC} action mirred egress redirect dev eth1",
        f"tc filter add dev eth1 ingress protocol ip prio 11 {TC} dst_ip 203.0.113.10 action mirred egress redirect dev {representor}",
        f"tc filter add dev eth1 ingress protocol ip prio 11 {TC} dst_ip 203.0.113.11 action mirred egress redirect dev {representor}",
        f"tc filter add dev eth1 ingress protocol ipv6 prio 12 {TC} dst_ip 2001:db8:f::10 action mirred egress redirect dev {representor}",
    ]


def test_mlx5_changes_the_mode_while_vfs_have_no_driver(tmp_path):
    assert plan(card_of(tmp_path, "mlx5_core", *VIPS)) == [
        f"echo 0 > {DEVICES}/{PF}/sriov_drivers_autoprobe",
        f"echo 1 > {DEVICES}/{PF}/sriov_numvfs",
        f"echo 1 > {DEVICES}/{PF}/sriov_drivers_autoprobe",
        f"devlink dev eswitch set pci/{PF} mode switchdev",
        f"ip link set dev eth1 vf 0 mac {MAC}",
        f"echo {VF} > /sys/bus/pci/drivers_probe",
        *tc_rules("REPRESENTOR"),
    ]


@pytest.mark.parametrize("driver, port", [("ice", "pf0vfr0"), ("ice", "pf0vf0"), ("mlx5_core", "pf0vf0")])
def test_representor_is_found_by_its_port(tmp_path, driver, port):
    card = card_of(tmp_path, driver, *VIPS)
    card.make_vfs(1, "vfio-pci" if driver == "ice" else driver)
    card.write(card.pf / "net/eth1/phys_port_name", "p0")
    card.write(card.pf / "net/abc/phys_port_name", port)
    card.write(card.pf / "net/abd/phys_port_name", port[:-1] + "1")
    rest = plan(card)[1 if driver == "ice" else 3:]
    assert rest == tc_rules("abc")


def test_neither_a_subfunction_nor_a_name_for_a_shell_is_taken(tmp_path):
    card = card_of(tmp_path, "mlx5_core", *VIPS)
    card.make_vfs(1, "mlx5_core")
    card.write(card.pf / "net/eth1/phys_port_name", "p0")
    card.write(card.pf / "net/abc/phys_port_name", "pf0sf7")
    card.write(card.pf / "net/$(reboot)/phys_port_name", "pf0vf0")
    assert not any("abc" in line or "reboot" in line for line in plan(card, "--force"))


@pytest.mark.parametrize("driver, bound", [("ice", None), ("mlx5_core", "mlx5_core")])
def test_vfs_of_the_legacy_mode_are_made_again_only_with_force(tmp_path, driver, bound):
    card = card_of(tmp_path, driver, *VIPS)
    card.make_vfs(1, bound)
    said = plan(card, code=1)
    assert "it has 1 VF, which switchdev mode does not allow: `apply --force` removes all VFs first" in said
    assert plan(card, "--force")[0] == f"echo 0 > {DEVICES}/{PF}/sriov_numvfs"


@pytest.mark.parametrize("driver", ["igb", "i40e", "virtio-pci"])
def test_driver_without_such_rules_is_refused(tmp_path, driver):
    said = plan(card_of(tmp_path, driver, *VIPS), code=1)
    assert f"the driver {driver} has no rules by address that reach a VF: use \"next-hop\"" in said


@pytest.mark.parametrize("vip", ["0.0.0.0/0", "::/0"])
def test_bind_that_would_take_ssh_is_refused(tmp_path, vip):
    assert f"bind {vip} would take all traffic from the kernel, SSH included" in plan(card_of(tmp_path, "mlx5_core", vip), code=1)


def test_missing_table_is_named_and_only_rules_need_it(tmp_path):
    card = card_of(tmp_path, "ixgbe")
    assert "/var/lib/glb/forwarding_table.bin" in card.call("apply", "--dry-run", "eth1", code=1)
    card.call("undo", "--dry-run", "eth1")
    card.conf(**CONF)
    card.plan()
