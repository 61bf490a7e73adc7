# SPDX-License-Identifier: BSD-3-Clause
"""A host with a network card that has SR-IOV, as files: what glb-bifurcate and its tests see of sysfs, /proc and /etc/glb."""

import subprocess

from support.tree import BIFURCATE

PF = "0000:03:00.0"
MAC = "02:00:00:00:03:00"
CONF = {"device": PF, "mac": MAC}
DEVICES = "/sys/bus/pci/devices"
VF = "0000:03:10.0"
# The commands that make the first VF of a card without VFs.
FRESH = [
    f"echo 0 > {DEVICES}/{PF}/sriov_drivers_autoprobe",
    f"echo 1 > {DEVICES}/{PF}/sriov_numvfs",
    f"echo 1 > {DEVICES}/{PF}/sriov_drivers_autoprobe",
    f"ip link set dev eth1 vf 0 mac {MAC}",
    f"echo vfio-pci > {DEVICES}/{VF}/driver_override",
    f"echo {VF} > /sys/bus/pci/drivers_probe",
]


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


class Card:
    """The PF 0000:03:00.0, whose VFs are 0000:03:10.0, 0000:03:10.2 ... as on an 82576."""

    def __init__(self, root, driver="igb", total=7, interface="eth1"):
        self.root, self.driver = root, driver
        self.pci = root / "sys/bus/pci"
        self.pf = self.pci / "devices" / PF
        self.conf(**CONF)
        for name, value in (("sriov_totalvfs", total), ("sriov_numvfs", 0), ("sriov_offset", 128), ("sriov_stride", 2),
                            ("sriov_drivers_autoprobe", 1)):
            self.write(self.pf / name, value)
        link(self.pf / "driver", f"../../drivers/{driver}")
        link(self.pf / "iommu_group", "../../../../kernel/iommu_groups/11")
        (self.pci / "drivers/vfio-pci").mkdir(parents=True)
        self.write(self.pci / "drivers_probe", "")
        self.write(root / "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", 512)
        if interface:
            self.write(self.pf / f"net/{interface}/mtu", 1500)
            self.write(root / f"sys/class/net/{interface}/flags", "0x1003")
            link(root / f"sys/class/net/{interface}/device", f"../../../bus/pci/devices/{PF}")

    @staticmethod
    def write(path, value):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n", encoding="ascii")

    def conf(self, name="eth1", **keys):
        texts = {key: str(value).lower() if isinstance(value, (bool, int)) else f'"{value}"' for key, value in keys.items()}
        path = self.root / f"etc/glb/bifurcate.d/{name}.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{key} = {text};\n" for key, text in texts.items()), encoding="ascii")
        return path

    @staticmethod
    def address(number):
        return f"0000:03:{0x10 + number // 4:02x}.{number % 4 * 2}"

    def make_vfs(self, count, driver=None):
        self.write(self.pf / "sriov_numvfs", count)
        for number in range(count):
            vf = self.pci / "devices" / self.address(number)
            link(self.pf / f"virtfn{number}", f"../{vf.name}")
            link(vf / "physfn", f"../{PF}")
            link(vf / "iommu_group", f"../../../../kernel/iommu_groups/{20 + number}")
            self.write(vf / "driver_override", "(null)")
            if driver:
                link(vf / "driver", f"../../drivers/{driver}")

    def open_vf(self, number, pid=4711, name="glb-director"):
        """A process that has the VF open."""
        self.write(self.root / f"proc/{pid}/comm", name)
        link(self.root / f"proc/{pid}/fd/9", f"/dev/vfio/{20 + number}")

    def call(self, *words, code=0):
        """Runs glb-bifurcate on this host, as a copy. Returns what it prints, or its errors."""
        done = subprocess.run([BIFURCATE, *words, "--root", self.root], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else (done.stdout + done.stderr).replace(str(self.root), "")

    def plan(self, *words, name="eth1"):
        return self.call("apply", "--dry-run", *words, name).splitlines()
