#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Plays the kernel and `ip` for a card of files (card.py): does what was written to sysfs, and keeps the properties of VF 0 and the rules of
ethtool in /fake/state.json. The file names the properties to ignore, a command to fail, and one at which /next.json becomes the
table. /fake/outputs has what the real `ip` and `tc` print."""

import json
import os
import sys
from pathlib import Path

STATE = Path("/fake/state.json")
PCI = Path("/sys/bus/pci")
PF = PCI / "devices/0000:03:00.0"
VF = PCI / "devices/0000:03:10.0"
OUTPUTS = Path("/fake/outputs")
link = json.loads((OUTPUTS / "ip_link.json").read_text())
state = json.loads(STATE.read_text())
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]


def take(path):
    """What was written to the file, once."""
    text = path.read_text().strip() if path.exists() else ""
    if text:
        path.write_text("")
    return text


def bind(driver):
    (VF / "driver").unlink(missing_ok=True)
    if driver:
        (PCI / "drivers" / driver).mkdir(exist_ok=True)
        (VF / "driver").symlink_to(f"../../drivers/{driver}")


count = int((PF / "sriov_numvfs").read_text())
if count and not VF.exists():
    VF.mkdir()
    (PF / "virtfn0").symlink_to("../0000:03:10.0")
    (VF / "iommu_group").symlink_to("../../../../kernel/iommu_groups/20")
    (VF / "driver_override").write_text("(null)\n")
    state["vf"] = link[0]["vfinfo_list"][1] | {"vf": 0}
    if (PF / "sriov_drivers_autoprobe").read_text().strip() == "1":
        bind("igbvf")
elif not count and VF.exists():
    (PF / "virtfn0").unlink()
    VF.rename(f"/fake/removed{len(list(Path('/fake').iterdir()))}")
    del state["vf"]
if VF.exists():
    if take(PCI / "drivers/igbvf/unbind") or take(PCI / "drivers/vfio-pci/unbind"):
        bind(None)
    if take(PCI / "drivers_probe"):
        bind((VF / "driver_override").read_text().strip() or "igbvf")

line = " ".join([name, *words])
with open("/fake/log", "a", encoding="ascii") as log:
    print(line, file=log)
if line == state["fail"]:
    print(f"{name}: something\nRTNETLINK answers: Operation not permitted", file=sys.stderr)
    sys.exit(2)
if line == state.get("when"):
    Path("/next.json").rename("/table.json")
if words[:2] == ["-json", "link"]:
    link[0]["vfinfo_list"] = [state["vf"], *state.get("others", [])] if "vf" in state else []
    print(json.dumps(link))
elif name == "devlink":
    print(json.dumps({"dev": {"pci/0000:03:00.0": {"mode": "switchdev", "inline-mode": "none", "encap-mode": "basic"}}}))
elif name == "tc":
    kind = words[1] if words[0] == "-json" else ""
    print((OUTPUTS / f"tc_{kind}.json").read_text() if kind else "")
elif name == "ip" and words[-2] not in state["ignored"]:
    key, value = words[-2:]
    state["vf"] |= {"mac": {"address": value}, "vlan": {"vlan_list": [{"vlan": int(value)}] if key == "vlan" else []},
                    "spoofchk": {"spoofchk": value == "on"}, "trust": {"trust": value == "on"}}[key]
elif words[0] == "--show-features":
    print(f"Features for eth1:\nntuple-filters: {state['ntuple']}")
elif words[0] == "--features":
    state["ntuple"] = words[-1]
elif words[0] == "--show-ntuple":
    print("4 RX rings available\nTotal 2 rules\n")
    for location, (address, target) in state["rules"].items():
        print(f"Filter: {location}\n\tRule Type: {state.get('rule_type', 'Raw IPv4')}\n\tSrc IP addr: 0.0.0.0 mask: 255.255.255.255\n"
              f"\tDest IP addr: {address} mask: 0.0.0.0\n\tTOS: 0x0 mask: 0xff\n\tAction: Direct to {target}\n")
elif words[0] == "--config-ntuple" and words[2] == "delete":
    del state["rules"][words[3]]
elif words[0] == "--config-ntuple":
    state["rules"][str(2045 - len(state["rules"]))] = [words[5], f"VF {words[7]} queue {words[9]}"]
STATE.write_text(json.dumps(state))
