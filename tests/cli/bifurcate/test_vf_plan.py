# SPDX-License-Identifier: BSD-3-Clause
"""glb-bifurcate apply and undo with --dry-run: the commands for each state of a card, and what is refused."""

import json

import pytest

from support.card import CONF, DEVICES, FRESH, MAC, PF, VF, Card, link


@pytest.fixture
def card(tmp_path):
    return Card(tmp_path)


@pytest.mark.parametrize("driver", ["igb", "ixgbe", "i40e", "ice", "virtio-pci"])
def test_first_apply_with_a_next_hop_is_the_same_for_all_drivers(tmp_path, driver):
    assert Card(tmp_path, driver=driver).plan() == FRESH


def test_every_key_has_its_command(card):
    card.conf(**CONF, vlan=100, spoof_check=True, trust=False)
    assert card.plan()[3:7] == [
        f"ip link set dev eth1 vf 0 mac {MAC}",
        "ip link set dev eth1 vf 0 vlan 100",
        "ip link set dev eth1 vf 0 spoofchk on",
        "ip link set dev eth1 vf 0 trust off",
    ]


def test_mlx5_stays_with_its_driver(tmp_path):
    assert Card(tmp_path, driver="mlx5_core").plan() == [*FRESH[:4], FRESH[5]]


def test_vf_of_mlx5_is_bound_although_the_operator_has_switched_autoprobe_off(tmp_path):
    """The kernel then refuses to bind a VF whose driver_override is empty."""
    card = Card(tmp_path, driver="mlx5_core")
    card.make_vfs(1)
    card.write(card.pf / "sriov_drivers_autoprobe", 0)
    assert card.plan() == [FRESH[3], f"echo mlx5_core > {DEVICES}/{VF}/driver_override", FRESH[5]]
    (card.pf / "virtfn0").unlink()
    card.write(card.pf / "sriov_numvfs", 0)
    assert card.plan() == [FRESH[1], FRESH[3], f"echo mlx5_core > {DEVICES}/{VF}/driver_override", FRESH[5]]


def test_other_vfs_keep_the_driver_of_the_kernel(card):
    """The new VFs are bound by the kernel, so that those of other users work as ever; only the director's is taken."""
    card.conf(**CONF, num_vfs=4, vf=1)
    assert card.plan() == [
        f"echo 4 > {DEVICES}/{PF}/sriov_numvfs",
        f"ip link set dev eth1 vf 1 mac {MAC}",
        f"echo vfio-pci > {DEVICES}/0000:03:10.2/driver_override",
        f"echo 0000:03:10.2 > {DEVICES}/0000:03:10.2/driver/unbind",
        "echo 0000:03:10.2 > /sys/bus/pci/drivers_probe",
    ]


def test_device_may_be_an_interface_and_the_interface_may_be_renamed(tmp_path):
    card = Card(tmp_path, interface="lan0")
    assert f"ip link set dev lan0 vf 0 mac {MAC}" in card.plan()
    card.conf(device="lan0", mac=MAC)
    assert f"ip link set dev lan0 vf 0 mac {MAC}" in card.plan()
    card.conf(device="eth1", mac=MAC)
    assert "there is no card 'eth1'" in card.call("apply", "--dry-run", "eth1", code=1)


def test_interface_that_is_down_is_switched_on_and_never_off(card):
    card.write(card.root / "sys/class/net/eth1/flags", "0x1002")
    assert card.plan() == ["ip link set dev eth1 up", *FRESH]
    assert "is down, so the VF has no link" in card.call("status", "eth1", code=2)


def test_missing_vfio_is_loaded_first(card):
    (card.pci / "drivers/vfio-pci").rmdir()
    assert card.plan() == ["modprobe vfio-pci", *FRESH]


def test_host_without_iommu_is_refused_unless_vfio_may_work_without(card):
    (card.pf / "iommu_group").unlink()
    said = card.call("apply", "--dry-run", "eth1", code=1)
    assert f"{PF}: it has no IOMMU group" in said and "intel_iommu=on" in said
    assert f"fail  plan: {PF}: it has no IOMMU group" in card.call("status", "eth1", code=2)
    card.write(card.root / "sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y")
    assert card.plan() == FRESH


def test_vf_of_another_driver_is_taken_from_it(card):
    card.make_vfs(1, "igbvf")
    assert card.plan()[1:] == [FRESH[4], f"echo {VF} > {DEVICES}/{VF}/driver/unbind", FRESH[5]]


def test_vf_that_the_kernel_uses_is_taken_only_with_force(card):
    card.make_vfs(1, "igbvf")
    card.write(card.pci / f"devices/{VF}/net/eth1v0/mtu", 1500)
    card.write(card.root / "sys/class/net/eth1v0/flags", "0x1002")
    assert len(card.plan()) == 4, "its interface is switched off"
    card.write(card.root / "sys/class/net/eth1v0/flags", "0x1003")
    said = card.call("apply", "--dry-run", "eth1", code=1)
    assert f"{VF}: its interface eth1v0 is up, so the kernel uses this VF" in said and "apply --force" in said
    assert len(card.plan("--force")) == 4
    record(card)
    assert len(card.plan()) == 4, "udev or a network manager has switched on a VF that apply has made"
    card.make_vfs(4, "igbvf")
    assert "so the kernel uses this VF" in card.call("apply", "--dry-run", "eth1", code=1), "somebody else has made these 4 VFs since"


def test_vf_of_a_container_is_taken_only_with_force(card):
    """Its interface is in another network namespace, where this host does not see it."""
    card.make_vfs(1, "igbvf")
    (card.pci / f"devices/{VF}/net").mkdir()
    said = card.call("apply", "--dry-run", "eth1", code=1)
    assert f"{VF}: its interface is in another network namespace, so maybe a container uses this VF" in said
    assert len(card.plan("--force")) == 4


def test_mac_of_the_pf_is_refused(card):
    card.write(card.root / "sys/class/net/eth1/address", MAC.upper())
    said = card.call("apply", "--dry-run", "eth1", code=1)
    assert f"mac: {MAC} is the MAC of eth1 itself, whose packets the VF would take" in said


def test_other_number_of_vfs_is_refused_and_says_both_ways(card):
    card.conf(**CONF, num_vfs=1)
    card.make_vfs(4)
    said = card.call("apply", "--dry-run", "eth1", code=1)
    assert "it has 4 VFs, and the configuration needs 1" in said and "num_vfs = 4;" in said and "apply --force" in said
    assert card.plan("--force")[:3] == [f"echo 0 > {DEVICES}/{PF}/sriov_numvfs", *FRESH[:2]]
    assert "num_vfs = 4;" in card.call("status", "eth1", code=2)


def test_vfs_that_exist_are_kept_without_num_vfs(card):
    card.make_vfs(4, "igbvf")
    assert not any("sriov_numvfs" in line for line in card.plan())


def test_vf_of_mlx5_that_the_kernel_uses_gets_another_mac_only_with_force(tmp_path):
    """The VF would stay with mlx5_core, but this driver takes a MAC only when it is bound again."""
    card = Card(tmp_path, driver="mlx5_core")
    card.make_vfs(1, "mlx5_core")
    (card.pci / f"devices/{VF}/net").mkdir()
    assert "maybe a container uses this VF" in card.call("apply", "--dry-run", "eth1", code=1)
    card.write(card.pci / f"devices/{VF}/net/eth1v0/mtu", 1500)
    card.write(card.root / "sys/class/net/eth1v0/flags", "0x1003")
    assert "its interface eth1v0 is up, so the kernel uses this VF" in card.call("apply", "--dry-run", "eth1", code=1)
    assert card.plan("--force")[1] == f"echo {VF} > {DEVICES}/{VF}/driver/unbind"


@pytest.mark.parametrize("number", [0, 2])
def test_vf_in_use_is_never_removed(card, number):
    """VF 0 is the director's, VF 2 is that of a virtual machine."""
    card.conf(**CONF, num_vfs=1)
    card.make_vfs(4, "vfio-pci")
    card.open_vf(number, name="qemu" if number else "glb-director")
    for words in (["apply"], ["apply", "--force"]):
        said = card.call(*words, "--dry-run", "eth1", code=1)
        assert f"{card.address(number)}: {'qemu' if number else 'glb-director'} (pid 4711) uses this VF" in said


@pytest.mark.parametrize("node", ["noiommu-20", "devices/vfio3"])
def test_vf_in_use_is_found_by_any_file_of_vfio(card, node):
    card.make_vfs(1, "vfio-pci")
    (card.pci / f"devices/{VF}/vfio-dev/vfio3").mkdir(parents=True)
    card.open_vf(0)
    link(card.root / "proc/4711/fd/9", f"/dev/vfio/{node}")
    card.conf(**CONF, num_vfs=4)
    assert "glb-director (pid 4711) uses this VF" in card.call("apply", "--dry-run", "--force", "eth1", code=1)


def test_vf_in_use_is_not_bound_to_another_driver(card):
    card.make_vfs(1, "igb_uio")
    card.open_vf(0)
    assert "glb-director (pid 4711) uses this VF, and a change of its MAC or VLAN would take it away" in card.call(
        "apply", "--dry-run", "eth1", code=1), "on a copy of a host, nobody knows the MAC"


def test_more_vfs_than_the_card_has(card):
    card.conf(**CONF, vf=7)
    assert "it can have 7 VFs, and the configuration needs 8" in card.call("apply", "--dry-run", "eth1", code=1)


def test_device_must_be_a_pf_with_sriov(card):
    card.make_vfs(1)
    card.conf(device=VF, mac=MAC)
    assert f"{VF} is a VF: name the PF" in card.call("apply", "--dry-run", "eth1", code=1)
    card.conf(**CONF)
    card.write(card.pf / "sriov_totalvfs", 0)
    assert f"{PF} has no SR-IOV" in card.call("status", "eth1", code=2)


def test_pf_without_interface_is_refused(tmp_path):
    card = Card(tmp_path, driver="vfio-pci", interface=None)
    assert "has no interface here (driver: vfio-pci)" in card.call("apply", "--dry-run", "eth1", code=1)


@pytest.mark.parametrize("text, error", [
    ("mac = \"02:00:00:00:03:00\";", "device: missing; write the PCI address"),
    ("device = \"eth1\";", "mac: missing; write the MAC of the VF"),
    ("device = \"eth1\";\nmac = \"01:00:00:00:03:00\";", "eth1.conf:2: mac: '01:00:00:00:03:00' is not a unicast MAC"),
    ("device = \"eth1\";\nmac = \"02:00:00:00:03\";", "is not a MAC like"),
    ("device = \"eth1\";\nspoofcheck = false;", "eth1.conf:2: spoofcheck: unknown key; did you mean spoof_check?"),
    ("device = \"eth1\";\nspoof_check = \"off\";", "'off' (in quotes) is neither true nor false"),
    ("device = \"eth1\";\nvlan = 4095;", "'4095' is not an integer from 0 to 4094"),
    ("device = \"eth1\";\nmac = \"02:00:00:00:03:00\";\nnum_vfs = 2;\nvf = 2;", "VF 2 does not exist if num_vfs is 2"),
    ("device = \"eth1; reboot\";\nmac = \"02:00:00:00:03:00\";", "'eth1; reboot' is neither a PCI address nor"),
    ("device = \"..\";\nmac = \"02:00:00:00:03:00\";", "has no SR-IOV"),
])
def test_errors_of_the_configuration_name_the_key(card, text, error):
    (card.root / "etc/glb/bifurcate.d/eth1.conf").write_text(text, encoding="ascii")
    assert error in card.call("apply", "--dry-run", "eth1", code=1)


@pytest.mark.parametrize("name", ["../eth1", "eth1.conf/", "", ".", "a b", "x" * 64])
def test_name_is_no_path(card, name):
    assert f"'{name}' is no name of a configuration" in card.call("apply", "--dry-run", name, code=2)


def test_missing_configuration_is_named(card):
    assert "/etc/glb/bifurcate.d/eth2.conf: cannot be opened: No such file" in card.call("apply", "--dry-run", "eth2", code=1)


def test_copy_of_a_host_is_never_changed(card):
    for word in ("apply", "undo"):
        assert f"{word}: --root needs --dry-run" in card.call(word, "eth1", code=2)


def record(card, **members):
    card.write(card.root / f"run/glb-bifurcate/{PF}.json", json.dumps(
        {"name": "eth1", "vf": 0, "made_vfs": 1, "made_switchdev": False, "autoprobe": True, "driver": "", "driver_override": "",
         "vlan": 0, "spoof_check": 0, "trust": 0, **members}))


def test_undo_removes_the_vfs_that_apply_has_made(card):
    card.make_vfs(1, "vfio-pci")
    assert card.call("undo", "--dry-run", "eth1") == "", "without a record they are not ours"
    record(card)
    assert card.call("undo", "--dry-run", "eth1") == f"echo 0 > {DEVICES}/{PF}/sriov_numvfs\n"
    card.open_vf(0)
    assert "glb-director (pid 4711) uses this VF" in card.call("undo", "--dry-run", "--force", "eth1", code=1)


def test_undo_keeps_vfs_of_others(card):
    card.make_vfs(2, "igbvf")
    record(card)
    assert "it has 2 VFs, but apply made 1: `undo --force`" in card.call("undo", "--dry-run", "eth1", code=1)
    record(card, made_vfs=2)
    assert "a driver has a VF that is not the director's: `undo --force`" in card.call("undo", "--dry-run", "eth1", code=1)
    assert card.call("undo", "--dry-run", "--force", "eth1") == f"echo 0 > {DEVICES}/{PF}/sriov_numvfs\n"


def test_undo_returns_a_vf_that_was_there_before(card):
    card.make_vfs(1, "vfio-pci")
    card.write(card.pci / f"devices/{VF}/driver_override", "vfio-pci")
    record(card, made_vfs=0, driver="igbvf", mac=[2, 0, 0, 0, 0, 9])
    assert card.call("undo", "--dry-run", "eth1").splitlines() == [
        "ip link set dev eth1 vf 0 mac 02:00:00:00:00:09",
        f"echo > {DEVICES}/{VF}/driver_override",
        f"echo {VF} > {DEVICES}/{VF}/driver/unbind",
        f"echo {VF} > /sys/bus/pci/drivers_probe",
    ]


def test_undo_binds_a_vf_although_the_operator_has_switched_autoprobe_off(card):
    card.make_vfs(1, "vfio-pci")
    card.write(card.pci / f"devices/{VF}/driver_override", "vfio-pci")
    card.write(card.pf / "sriov_drivers_autoprobe", 0)
    record(card, made_vfs=0, driver="igbvf", autoprobe=False)
    assert card.call("undo", "--dry-run", "eth1").splitlines() == [
        f"echo igbvf > {DEVICES}/{VF}/driver_override",
        f"echo {VF} > {DEVICES}/{VF}/driver/unbind",
        f"echo {VF} > /sys/bus/pci/drivers_probe",
        f"echo > {DEVICES}/{VF}/driver_override",
    ]


def test_undo_binds_a_vf_of_mlx5_again_for_its_old_mac(tmp_path):
    card = Card(tmp_path, driver="mlx5_core")
    card.make_vfs(1, "mlx5_core")
    record(card, made_vfs=0, driver="mlx5_core", mac=[2, 0, 0, 0, 0, 9])
    assert card.call("undo", "--dry-run", "eth1").splitlines()[-3:] == [
        "ip link set dev eth1 vf 0 mac 02:00:00:00:00:09", f"echo {VF} > {DEVICES}/{VF}/driver/unbind", f"echo {VF} > /sys/bus/pci/drivers_probe"]


def test_apply_that_was_killed_leaves_no_card_without_drivers(card):
    """autoprobe was switched off for the new VFs, and nobody switched it on again."""
    card.make_vfs(1, "vfio-pci")
    card.write(card.pf / "sriov_drivers_autoprobe", 0)
    record(card)
    restore = f"echo 1 > {DEVICES}/{PF}/sriov_drivers_autoprobe"
    assert restore in card.plan() and restore in card.call("undo", "--dry-run", "eth1")


def test_two_configurations_cannot_have_one_pf(card):
    record(card, name="uplink")
    for words in (["apply", "--dry-run"], ["status"], ["undo", "--dry-run"]):
        said = card.call(*words, "eth1", code=2 if words == ["status"] else 1)
        assert "belongs to the configuration 'uplink': run `glb-bifurcate undo uplink` first" in said


def test_configuration_that_now_names_another_vf_or_card_must_be_undone_first(card):
    """Two VFs would have the MAC of the director."""
    card.make_vfs(4, "vfio-pci")
    record(card, made_vfs=4)
    card.conf(**CONF, vf=1)
    said = card.call("apply", "--dry-run", "eth1", code=1)
    assert "vf: apply has given VF 0 to the director: run `glb-bifurcate undo eth1` first, or write vf = 0;" in said
    assert card.call("undo", "--dry-run", "--force", "eth1") == f"echo 0 > {DEVICES}/{PF}/sriov_numvfs\n"
    card.conf(**CONF)
    (card.root / f"run/glb-bifurcate/{PF}.json").rename(card.root / "run/glb-bifurcate/0000:04:00.0.json")
    for words in (["apply", "--dry-run"], ["status"]):
        said = card.call(*words, "eth1", code=2 if words == ["status"] else 1)
        assert "apply of 'eth1' has made a VF of 0000:04:00.0: run `glb-bifurcate undo eth1` first, or write device = \"0000:04:00.0\";" in said
    assert card.call("undo", "--dry-run", "eth1") == "", "that card is gone"


@pytest.mark.parametrize("text", [None, "", "device = \"eth9\";\nmac = \"02:00:00:00:03:99\";\nvf = 3;"], ids=["removed", "empty", "other"])
def test_undo_needs_no_configuration(card, text):
    card.make_vfs(1, "vfio-pci")
    record(card, made_vfs=0, driver="igbvf", driver_override="vfio-pci", mac=[2, 0, 0, 0, 0, 9])
    path = card.root / "etc/glb/bifurcate.d/eth1.conf"
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="ascii")
    assert card.call("undo", "--dry-run", "eth1").splitlines()[0] == "ip link set dev eth1 vf 0 mac 02:00:00:00:00:09"


@pytest.mark.parametrize("text", ["", "{", "[]", "{\"name\": \"eth1\"}", "x" * 5000], ids=range(5))
def test_damaged_record_is_named(card, text):
    card.write(card.root / f"run/glb-bifurcate/{PF}.json", text)
    assert f"/run/glb-bifurcate/{PF}.json" in card.call("undo", "--dry-run", "eth1", code=1)


def test_status_as_json_has_a_finding_for_each_property(card):
    findings = json.loads(card.call("status", "--json", "eth1", code=2))["findings"]
    assert [item["check"] for item in findings] == [
        "link", "num_vfs", "eswitch", "mac", "vlan", "spoof_check", "trust", "driver", "rules", "hugepages"]
    assert {item["level"] for item in findings} == {"ok", "fail"}
    texts = {item["check"]: item["text"] for item in findings}
    assert texts["num_vfs"] == "0 instead of 1" and texts["driver"] == "none instead of vfio-pci"


def test_status_says_what_differs_although_vfio_must_be_loaded_first(card):
    (card.pci / "drivers/vfio-pci").rmdir()
    assert f"fail  driver: {PF}: none instead of vfio-pci" in card.call("status", "eth1", code=2)


def test_status_looks_for_hugepages(card):
    assert "ok    hugepages: 1024 MB are reserved" in card.call("status", "eth1", code=2)
    card.write(card.root / "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", 0)
    said = card.call("status", "eth1", code=2)
    assert "fail  hugepages: no hugepages are reserved" in said and "run: sysctl -w vm.nr_hugepages=512" in said
