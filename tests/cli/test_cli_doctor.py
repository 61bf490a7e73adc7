# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli doctor: a healthy host has no finding but ok, and a host with one fault has exactly the finding about it.

The hosts are copies below a folder, which --root names. tests/service/test_doctor.py has a running director.
"""

import dataclasses
import ipaddress
import json
import os
import re
import shutil
import subprocess
import time

import pytest

from support.cli import backend, run, table, write_conf, write_tables
from support.outputs import check_output
from support.tree import CLI, TREE

VF, PF, OTHER = "0000:3b:02.0", "0000:3b:00.0", "0000:3b:02.1"
LEVELS = ["ok", "warn", "fail"]
EAL = f"-l 1-3 -a {VF}"
GRUB = 'GRUB_CMDLINE_LINUX="quiet"\n'
ROUTES = ("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
          "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
# The longest match refuses the packets. The kernel has no flag for a blackhole, and no interface.
BLACKHOLE = ROUTES + "*\t0032A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
PROHIBITED = ROUTES + "*\t0132A8C0\t00000000\t0201\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n"
# A longer match, or the lower metric of two, has an interface.
REACHED = (ROUTES.replace("eth0", "*") + "eth0123456789ab\t0032A8C0\t010200C0\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
           "*\t0032A8C0\t00000000\t0001\t0\t0\t-1\t00FFFFFF\t0\t0\t0\n")
NO_DEFAULT_ROUTE = ROUTES.replace("00000000\t010200C0", "0000000A\t010200C0").replace("00000000\t0", "000000FF\t0")

REJECT = 0x200  # RTF_REJECT


def ipv6_routes(*routes):
    """/proc/net/ipv6_route with these (prefix, flags), and the kernel's entry for "no route" behind them."""
    def line(prefix, flags, metric):
        network = ipaddress.ip_network(prefix)
        return f"{network.network_address.packed.hex()} {network.prefixlen:02x} {'0' * 32} 00 {'0' * 32} {metric:08x} 00000001 00000000 {flags:08x} eth0\n"

    return "".join(line(*route, 1024) for route in routes) + line("::/0", REJECT | 0x200000, 0xffffffff)


def ipv6_addresses(*addresses):
    """/proc/net/if_inet6 with these (address, scope, flags, interface)."""
    return "".join(f"{ipaddress.ip_address(ip).packed.hex()} 02 40 {scope:02x} {flags:02x} {name:>8}\n" for ip, scope, flags, name in addresses)


class Host:
    """A healthy director's host with a VF of an Intel card. CPUs 2 and 3 forward."""

    def __init__(self, root):
        self.root = root
        device = f"sys/bus/pci/devices/{VF}"
        for path, text in {
            "proc/cmdline": "quiet intel_iommu=on iommu=pt isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3 hugepages=512",
            "proc/sys/kernel/osrelease": "6.1.0-18-amd64",
            "proc/mounts": "proc /proc proc rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw 0 0\n",
            "proc/net/route": ROUTES,
            "sys/devices/system/cpu/online": "0-15",
            "sys/devices/system/cpu/isolated": "2-3",
            "sys/devices/system/cpu/nohz_full": "2-3",
            "sys/devices/system/node/node0/cpulist": "0-7",
            "sys/devices/system/node/node1/cpulist": "8-15",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
            "sys/class/net/eth1/mtu": "1600",
            "sys/class/net/eth1/operstate": "up",
            "sys/class/net/eth1/flags": "0x1003",
            "sys/class/net/eth2/mtu": "1600",
            "sys/class/net/eth2/operstate": "up",
            "sys/class/net/eth2/flags": "0x1003",
            f"sys/bus/pci/devices/{PF}/class": "0x020000",
            f"sys/bus/pci/devices/{PF}/sriov_totalvfs": "8",
            f"sys/bus/pci/devices/{PF}/sriov_numvfs": "1",
            f"sys/bus/pci/devices/{PF}/net/eth1/address": "02:00:00:00:03:00",
            f"{device}/class": "0x020000",
            f"{device}/vendor": "0x8086",
            f"{device}/numa_node": "0",
            "sys/kernel/iommu_groups/42/type": "DMA-FQ",
            "etc/default/grub": GRUB,
            "etc/default/glb-director": f'GLB_DIRECTOR_EAL_ARGS="{EAL}"\n',
        }.items():
            self.write(path, text)
        for cpu in range(16):
            self.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", "performance")
        for folder in ("sys/kernel/mm/hugepages", "sys/devices/system/node/node0/hugepages"):
            self.write(f"{folder}/hugepages-2048kB/nr_hugepages", "512")
            self.write(f"{folder}/hugepages-2048kB/free_hugepages", "512")
        for node in (1,):
            self.write(f"sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages", "512")
        self.bind(VF, "vfio-pci")
        self.link(f"{device}/iommu_group", "../../../../kernel/iommu_groups/42")
        self.link(f"sys/kernel/iommu_groups/42/devices/{VF}", f"../../../../bus/pci/devices/{VF}")
        self.link(f"{device}/physfn", f"../{PF}")
        for path in ("etc/glb", "var/lib/glb"):
            (root / path).mkdir(parents=True)
        write_conf(root / "etc/glb/director.conf", outbound_mtu=1600, outbound_gateway_mac="auto")
        self.source = write_tables(root / "etc/glb/forwarding_table.json", table())
        self.source.chmod(0o640)
        self.table = root / "var/lib/glb/forwarding_table.bin"
        run("build-config", self.source, self.table)
        self.enable("glb-director")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text + ("" if text.endswith("\n") else "\n"))

    def link(self, path, target):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).unlink(missing_ok=True)
        (self.root / path).symlink_to(target)

    def remove(self, path):
        path = self.root / path
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def bind(self, device, driver):
        self.link(f"sys/bus/pci/devices/{device}/driver", f"../../drivers/{driver}")

    def enable(self, unit):
        self.link(f"etc/systemd/system/multi-user.target.wants/{unit}.service", f"/lib/systemd/system/{unit}.service")

    def eal(self, words):
        self.write("etc/default/glb-director", f'GLB_DIRECTOR_EAL_ARGS="{words}"\n')

    def conf(self, **keys):
        write_conf(self.root / "etc/glb/director.conf", **{"outbound_mtu": 1600, "outbound_gateway_mac": "auto", **keys})

    def tables(self, *tables):
        write_tables(self.source, *tables)
        run("build-config", self.source, self.table)

    def shell(self, command):
        path = f"{os.path.dirname(CLI)}:{os.environ['PATH']}"
        # What would change this host, or restart it, does nothing.
        for name in ("update-grub", "sysctl", "ip", "systemctl", "modprobe", "dpdk-devbind.py", "mount"):
            self.write(f"programs/{name}", "#!/bin/sh\n")
            (self.root / f"programs/{name}").chmod(0o755)
        subprocess.run(["sh", "-ec", command], check=True, env={**os.environ, "PATH": f"{self.root}/programs:{path}"})

    def doctor(self):
        """The findings that are not ok."""
        done = subprocess.run([CLI, "doctor", "--root", str(self.root), "--json"], capture_output=True, text=True, timeout=60)
        assert done.stderr == ""
        report = self.report = json.loads(done.stdout)
        check_output("doctor", report)
        worst = max(LEVELS.index(each["level"]) for each in report["findings"])
        assert (done.returncode, report["result"], report["host"]) == (worst, LEVELS[worst], str(self.root))
        return [each for each in report["findings"] if each["level"] != "ok"]


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_a_healthy_host(host):
    before = subprocess.run(["find", host.root, "-printf", "%p %m %s %T@\n"], capture_output=True, check=True).stdout
    assert host.doctor() == []
    text = run("doctor", "--root", host.root).stdout
    assert text.endswith(f"\n{host.root}: 0 failures, 0 warnings\n")
    assert {line[:6] for line in text.splitlines()[:-1]} <= {"ok    ", "      "}
    after = subprocess.run(["find", host.root, "-printf", "%p %m %s %T@\n"], capture_output=True, check=True).stdout
    assert before == after  # it changes nothing


def test_the_reference_lists_the_checks_in_their_order(host):
    text = run("doctor", "--root", host.root).stdout
    page = (TREE / "docs/reference/doctor.md").read_text()
    named = list(dict.fromkeys(re.findall(r"^ok    (\w+):", text, re.MULTILINE)))
    assert named == re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)[: len(named)]


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    plant: object  # a function with the Host
    level: str
    check: str
    object: str  # without the root
    text: str  # a part of it
    mends: bool = False  # the finding has a command, and after it the host is healthy
    command: str = ""  # a part of it; the host cannot be mended by it, because the copy has no kernel


def other_mode(path, mode):
    return lambda host: (host.root / path).chmod(mode)


def several(*plants):
    return lambda host: [plant(host) for plant in plants]


def write(path, text):
    return lambda host: host.write(path, text)


def remove(path):
    return lambda host: host.remove(path)


def eal(words):
    return lambda host: host.eal(words)


def conf(**keys):
    return lambda host: host.conf(**keys)


def future(path):
    return lambda host: os.utime(host.root / path, (time.time() + 7200,) * 2)


def no_vf(host):
    host.remove(f"sys/bus/pci/devices/{VF}")
    host.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", "0")


def other_device_in_group(host):
    host.bind(OTHER, "ixgbevf")
    host.link(f"sys/kernel/iommu_groups/42/devices/{OTHER}", f"../../../../bus/pci/devices/{OTHER}")


def vf(name="eth1", text="", enabled=True, device=PF):
    """A configuration of glb-bifurcate."""
    def plant(host):
        host.write(f"etc/glb/bifurcate.d/{name}.conf", f'device = "{device}";\nmac = "02:00:00:00:03:01";\n{text}')
        if enabled:
            host.enable(f"glb-bifurcate@{name}")
    return plant


def isolation(listed):
    return several(write("sys/devices/system/cpu/isolated", listed), write("sys/devices/system/cpu/nohz_full", listed),
                   write("proc/cmdline", "quiet intel_iommu=on" + (f" isolcpus={listed}" if listed else "")))


def ipv6_proxies(*routes, **keys):
    """A director whose proxies have IPv6 addresses, and the kernel's IPv6 routes."""
    def plant(host):
        host.conf(**{"outbound_src_ip": None, "outbound_src_ip6": "2001:db8::d", **keys})
        host.tables(table(backends=[backend("2001:db8:50::1"), backend("2001:db8:50::2")]))
        host.write("proc/net/ipv6_route", ipv6_routes(*routes))
        host.write("proc/net/route", NO_DEFAULT_ROUTE)
    return plant


GLOBAL, LINK = 0, 0x20  # scopes
PERMANENT, DAD_FAILED, TENTATIVE = 0x80, 0x08, 0x40
# The address of one interface is no help for another one.
NO_LINK_LOCAL = [("::1", 0x10, PERMANENT, "lo"), ("2001:db8::d", GLOBAL, PERMANENT, "eth0"), ("fe80::1", LINK, PERMANENT, "eth01")]


def link_local(*addresses, routes=(("::/0", 3),)):
    """IPv6 proxies behind eth0, and the addresses of the host."""
    return several(ipv6_proxies(*routes), write("proc/net/if_inet6", ipv6_addresses(*NO_LINK_LOCAL, *addresses)))


CONF, BIN, JSON, ENV = "/etc/glb/director.conf", "/var/lib/glb/forwarding_table.bin", "/etc/glb/forwarding_table.json", "/etc/default/glb-director"
HEALTHCHECK = f'forwarding_table = {{ src = "{JSON}"; dst = "/var/lib/glb/dst.json"; }};\nreload = {{ build = "{BIN}"; }};\n'
VDEV = "--no-huge -m 256 --no-pci --lcores=0@(0,1) --vdev=net_af_packet0,iface=eth2"
FAULTS = [
    Fault("no director.conf", remove(CONF[1:]), "fail", "configuration", CONF, "so the director does not start", command="glb-director-cli new"),
    Fault("director.conf has an error", lambda host: host.conf(outbound_mtu=100), "fail", "configuration", CONF, "outbound_mtu: ", command="glb-director-cli check"),
    Fault("director.conf has a warning", conf(accept_vlans=[100], outbound_vlan=300), "warn", "configuration", CONF, "slower general path"),
    Fault("healthcheck.conf has an error", several(write("etc/glb/healthcheck.conf", "src ="), lambda host: host.enable("glb-healthcheck")),
          "fail", "configuration", "/etc/glb/healthcheck.conf", "stay in the table", command="glb-director-cli check"),
    Fault("no port is named", several(eal("-l 1-3"), lambda host: host.bind(VF, "iavf")), "fail", "configuration", ENV, "names no port"),
    Fault("no table", several(remove(BIN[1:])), "fail", "table", BIN, "there is no forwarding table", mends=True),
    Fault("table is damaged", lambda host: host.table.write_bytes(host.table.read_bytes()[:-1]), "fail", "table", BIN, "", command="glb-director-cli check"),
    Fault("source has a fault", lambda host: host.source.write_text("{"), "fail", "table", JSON, "", command="glb-director-cli check"),
    Fault("a backend was added after the build", lambda host: write_tables(host.source, table(backends=4)), "warn", "table", BIN, "another version", mends=True),
    Fault("a backend was drained after the build", lambda host: write_tables(host.source, table(backends=[backend("192.168.50.1", "draining"), backend("192.168.50.2"), backend("192.168.50.3")])),
          "warn", "table", BIN, "another version", mends=True),
    Fault("the health was edited after the build", lambda host: write_tables(host.source, table(backends=[backend("192.168.50.1", healthy=False), backend("192.168.50.2"), backend("192.168.50.3")])),
          "warn", "table", BIN, "another version", mends=True),
    Fault("a weight was set after the build", lambda host: write_tables(host.source, table(backends=[
        {**backend("192.168.50.1"), "weight": 10}, backend("192.168.50.2"), backend("192.168.50.3")])), "warn", "table", BIN, "another version", mends=True),
    Fault("a previous state was added after the build", lambda host: write_tables(host.source, table(previous=[
        {"time": "2026-01-01T00:00:00Z", "backends": [{"ip": "192.168.50.3"}]}])), "warn", "table", BIN, "another version", mends=True),
    Fault("a table was renamed after the build", lambda host: write_tables(host.source, table("shop")), "warn", "table", BIN, "another version", mends=True),
    Fault("others can read the binary table", other_mode(BIN[1:], 0o644), "warn", "permissions", BIN, "hash keys", mends=True),
    Fault("others can read the JSON table", other_mode(JSON[1:], 0o644), "warn", "permissions", JSON, "hash keys", mends=True),
    Fault("others can read the table before the last edit", several(write(JSON[1:] + "~", "{}"), other_mode(JSON[1:] + "~", 0o604)), "warn", "permissions", JSON + "~", "hash keys", mends=True),
    Fault("others can write director.conf", other_mode(CONF[1:], 0o646), "fail", "permissions", CONF, "every user of this host can change it", mends=True),
    Fault("others can write the options", other_mode(ENV[1:], 0o646), "fail", "permissions", ENV, "every user of this host can change it", mends=True),
    Fault("others can replace the binary table", other_mode("var/lib/glb", 0o777), "fail", "permissions", "/var/lib/glb", "every user of this host can change it", mends=True),
    Fault("the unit may not read the table", lambda host: os.chown(host.table, 12345, 12345), "fail", "permissions", BIN, "no CAP_DAC_OVERRIDE", mends=True),
    Fault("the unit may not read director.conf", several(other_mode(CONF[1:], 0o600), lambda host: os.chown(host.root / CONF[1:], 12345, 0)), "fail", "permissions", CONF, "no CAP_DAC_OVERRIDE", mends=True),
    Fault("the director is not enabled", remove("etc/systemd/system/multi-user.target.wants/glb-director.service"), "warn", "units", "glb-director.service", "not enabled", command="systemctl --root="),
    Fault("glb-announce is not enabled", write("etc/glb/announce.conf", ""), "warn", "units", "glb-announce.service", "not announced", command="systemctl --root="),
    Fault("glb-healthcheck is not enabled", write("etc/glb/healthcheck.conf", HEALTHCHECK), "warn", "units", "glb-healthcheck.service", "stay in the table", command="systemctl --root="),
    Fault("isolcpus has no effect", several(write("proc/cmdline", "intel_iommu=on isolcpus=domian,2-3"), write("sys/devices/system/cpu/isolated", "")), "warn", "kernel", "isolcpus", "does not use it"),
    Fault("no IOMMU in the command line", several(remove(f"sys/bus/pci/devices/{VF}/iommu_group"), write("proc/cmdline", "quiet")), "fail", "iommu", VF, "no IOMMU group", command="update-grub"),
    Fault("no IOMMU in the firmware", remove(f"sys/bus/pci/devices/{VF}/iommu_group"), "fail", "iommu", VF, "in the firmware"),
    Fault("the IOMMU is off", several(remove(f"sys/bus/pci/devices/{VF}/iommu_group"), write("proc/cmdline", "intel_iommu=off")), "fail", "iommu", VF, "no IOMMU group", command="update-grub"),
    Fault("VFIO without IOMMU", several(remove(f"sys/bus/pci/devices/{VF}/iommu_group"), write("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y")), "warn", "iommu", VF, "CAP_SYS_RAWIO"),
    Fault("another device in the IOMMU group", other_device_in_group, "fail", "iommu", VF, f"group 42 also has {OTHER} with the driver ixgbevf"),
    Fault("the VF does not exist", no_vf, "fail", "ports", VF, f"{PF} can have VFs and has none", command="echo 1 > "),
    Fault("a wrong address of the card", eal(f"-l 1-3 -a {OTHER}"), "fail", "ports", OTHER, "there is no such device"),
    Fault("the kernel's driver has the VF", lambda host: host.bind(VF, "iavf"), "fail", "ports", VF, "driver iavf has it", command="--bind=vfio-pci"),
    Fault("no driver has the VF", remove(f"sys/bus/pci/devices/{VF}/driver"), "fail", "ports", VF, "no driver has it", command="--bind=vfio-pci"),
    Fault("UIO has the VF", lambda host: host.bind(VF, "igb_uio"), "warn", "ports", VF, "bound to igb_uio", command="--bind=vfio-pci"),
    Fault("a ConnectX is bound to vfio-pci", write(f"sys/bus/pci/devices/{VF}/vendor", "0x15b3"), "fail", "ports", VF, "driver vfio-pci has it", command="--bind=mlx5_core"),
    Fault("the PF is down", write("sys/class/net/eth1/flags", "0x1002"), "fail", "ports", VF, "eth1, the PF of this VF, is down", command="ip link set dev eth1 up"),
    Fault("the PF has no carrier", write("sys/class/net/eth1/operstate", "down"), "fail", "ports", VF, "has no carrier"),
    Fault("the interface does not exist", eal(VDEV.replace("eth2", "eth7")), "fail", "ports", "eth7", "no such interface"),
    Fault("the interface is down", several(eal(VDEV), write("sys/class/net/eth2/flags", "0x1002")), "fail", "ports", "eth2", "it is down", command="ip link set dev eth2 up"),
    Fault("the interface has no carrier", several(eal(VDEV), write("sys/class/net/eth2/operstate", "down")), "fail", "ports", "eth2", "no carrier"),
    Fault("no hugepages", write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0"), "fail", "hugepages", "", "no hugepages are reserved", command="sysctl -w vm.nr_hugepages=512"),
    Fault("fewer hugepages than -m", eal(EAL + " -m 2048"), "fail", "hugepages", "", "-m asks for 2048 MB"),
    Fault("no hugetlbfs", write("proc/mounts", "proc /proc proc rw 0 0"), "fail", "hugepages", "/dev/hugepages", "no hugetlbfs is mounted", command="mount -t hugetlbfs"),
    Fault("no hugepages on the node of the card", write("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "0"), "warn", "hugepages", VF, "NUMA node 0 of the card has no hugepages", mends=True),
    Fault("a card without hugepages", eal(EAL + " --no-huge"), "warn", "hugepages", "", "has --no-huge"),
    Fault("an lcore without CPU", eal(f"-l 1-3,16 -a {VF}"), "fail", "cpus", "16", "no such CPU online"),
    Fault("two lcores share a CPU", eal(f"--lcores=1@1,2@2,3@2 -a {VF}"), "warn", "cpus", "2", "lcores 2 and 3 share this CPU"),
    Fault("the CPU time of the container is limited", write("sys/fs/cgroup/cpu.max", "150000 100000"), "warn", "cpus", "/sys/fs/cgroup/cpu.max", "150000 of 100000 microseconds"),
    Fault("CPUs are not isolated", isolation(""), "warn", "isolation", "2-3", "run other programs here", command="isolcpus=2-3"),
    Fault("one CPU is not isolated", isolation("2"), "warn", "isolation", "3", "run other programs here"),
    Fault("an argument that this kernel does not know", write("sys/devices/system/cpu/nohz_full", "(null)"), "warn", "kernel", "nohz_full", "but the kernel does not use it"),
    Fault("timer interrupts", write("sys/devices/system/cpu/nohz_full", "4-5"), "warn", "isolation", "2-3", "timer interrupts"),
    Fault("a slow governor", several(*(write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", "powersave") for cpu in (0, 1, 2))),
          "warn", "governor", "2", "the governor is powersave", mends=True),
    Fault("lcores on another NUMA node", several(eal(f"-l 1,8-9 -a {VF}"), write("sys/devices/system/cpu/isolated", "8-9"), write("sys/devices/system/cpu/nohz_full", "8-9")),
          "warn", "numa", "8-9", "choose CPUs of 0-7"),
    Fault("the MTU of the PF is small", write("sys/class/net/eth1/mtu", "1500"), "fail", "mtu", "eth1", "less than outbound_mtu (1600)", command="ip link set dev eth1 mtu 1600"),
    Fault("the MTU of the interface is small", several(eal(VDEV), write("sys/class/net/eth2/mtu", "1500")), "fail", "mtu", "eth2", "less than outbound_mtu", command="ip link set dev eth2 mtu 1600"),
    Fault("no room for the outer headers", conf(outbound_mtu=1500), "warn", "mtu", "web", "need 1540 with their outer headers"),
    Fault("no room for a second hash", several(conf(outbound_mtu=1540, alt_hash_fields={"src_port": True})), "warn", "mtu", "web", "need 1548 with"),
    Fault("no room for the hops of one table", several(conf(outbound_mtu=1540), lambda host: host.tables(table(), table("shop", hops=4, binds=[{"ip": "10.10.10.11", "proto": "tcp", "port": 80}]))),
          "warn", "mtu", "shop", "need 1548 with"),
    Fault("a blackhole to a proxy", write("proc/net/route", BLACKHOLE), "fail", "next_hops", "192.168.50.1", "no route to this proxy"),
    Fault("a proxy that is prohibited", write("proc/net/route", PROHIBITED), "fail", "next_hops", "192.168.50.1", "no route to this proxy"),
    Fault("no route to a proxy", write("proc/net/route", NO_DEFAULT_ROUTE), "fail", "next_hops", "192.168.50.1", "no route to this proxy"),
    Fault("no route to an IPv6 proxy", ipv6_proxies(("2001:db8:51::/48", 3)), "fail", "next_hops", "2001:db8:50::1", "no route to this proxy"),
    Fault("an IPv6 proxy that is unreachable", ipv6_proxies(("::/0", 3), ("2001:db8:50::1/128", REJECT)), "fail", "next_hops", "2001:db8:50::1", "no route to this proxy"),
    Fault("no IPv6 link-local address", link_local(), "fail", "next_hops", "eth0", "no IPv6 link-local address, or a duplicate one"),
    Fault("a duplicate IPv6 link-local address", link_local(("fe80::2", LINK, PERMANENT | DAD_FAILED | TENTATIVE, "eth0")), "fail", "next_hops", "eth0",
          "set net.ipv6.conf.eth0.addr_gen_mode to 0"),
    Fault("an IPv6 link-local address that the kernel still examines", link_local(("fe80::2", LINK, PERMANENT | TENTATIVE, "eth0")), "fail", "next_hops", "eth0",
          "sends no neighbour solicitation"),
    Fault("no room for outer IPv6 headers", ipv6_proxies(("::/0", 3), outbound_mtu=1571), "warn", "mtu", "web", "need 1572 with their outer headers"),
    Fault("no source for IPv6 proxies", ipv6_proxies(("::/0", 3), outbound_src_ip="192.0.2.1", outbound_src_ip6=None), "fail", "table", BIN,
          "director.conf has no outbound_src_ip6: add the director's own IPv6 address there and restart the director"),
    Fault("a typo in the configuration of a VF", vf(text="spoofcheck = true;"), "fail", "configuration", "/etc/glb/bifurcate.d/eth1.conf",
          "it has errors, so the VF of the director is not made when this host starts", command="glb-director-cli check "),
    Fault("two configurations of one card", several(vf(), vf("eth2")), "fail", "configuration", "/etc/glb/bifurcate.d/eth2.conf",
          "so only one of the two VFs is made when this host starts: remove one file"),
    Fault("one MAC for VFs of two cards", several(vf(), vf("eth2", device="eth2")), "fail", "configuration", "/etc/glb/bifurcate.d/eth2.conf",
          "/etc/glb/bifurcate.d/eth1.conf has the same, so packets for one of the two VFs can go to the other"),
    Fault("a VF that no unit makes", vf(enabled=False), "warn", "units", "glb-bifurcate@eth1.service",
          "it does not start with this host, and the director finds no VF", command="systemctl --root="),
    Fault("a slow clock", write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"), "warn", "clock", "hpet", "this slow clock"),
    Fault("director.conf is of the future", future(CONF[1:]), "warn", "clock", CONF, "in the future", mends=True),
    Fault("the table is of the future", future(BIN[1:]), "warn", "clock", BIN, "in the future", mends=True),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_exactly_its_finding(host, fault):
    if fault.name.startswith("the unit may not") and os.getuid() != 0:
        pytest.skip("another owner of a file needs root")
    fault.plant(host)
    findings = host.doctor()
    assert {(each["level"], each["check"]) for each in findings} == {(fault.level, fault.check)}, findings
    finding = findings[0]
    assert finding["object"].removeprefix(str(host.root)) == fault.object
    assert fault.text in finding["text"]
    assert (finding["command"] is not None) == (fault.mends or bool(fault.command)), finding
    assert fault.command in (finding["command"] or "")
    if fault.mends:
        host.shell(finding["command"])
        assert host.doctor() == []


MANY = 64
MORE_VFS = [f"0000:3b:02.{n}" for n in range(1, 6)]


def many_tables(**last):
    """64 tables; `last`: keys of the last one. No bind is of two tables."""
    def plant(host):
        names = ["web", "shop", "mail", *(f"t{n}" for n in range(3, MANY))]
        host.tables(*(table(name, binds=[{"ip": f"10.10.11.{n}", "proto": "tcp", "port": 80}], **(last if n == MANY - 1 else {})) for n, name in enumerate(names)))
    return plant


def more_vfs(host):
    """Five more VFs of the same PF. The first one has a driver and a group already."""
    for name in MORE_VFS:
        shutil.copytree(host.root / f"sys/bus/pci/devices/{VF}", host.root / f"sys/bus/pci/devices/{name}", symlinks=True)
        host.link(f"sys/kernel/iommu_groups/42/devices/{name}", f"../../../../bus/pci/devices/{name}")
    host.eal("-l 1-3 " + " ".join(f"-a {name}" for name in [VF, *MORE_VFS]))


def no_groups(host):
    for name in [VF, *MORE_VFS]:
        host.remove(f"sys/bus/pci/devices/{name}/iommu_group")


ALL_VFS = f"{VF}, {MORE_VFS[0]}, {MORE_VFS[1]} and 3 more"
ONCE = {
    "all tables need the same MTU": (several(conf(outbound_mtu=1500), many_tables()), [("warn", "mtu", "web, shop, mail and 61 more")], "need 1540 with their outer headers"),
    "one table needs more than the others": (several(conf(outbound_mtu=1500), many_tables(hops=4)),
                                             [("warn", "mtu", "web, shop, mail and 60 more"), ("warn", "mtu", "t63")], "need 1540 with their outer headers"),
    "three tables": (several(conf(outbound_mtu=1500), lambda host: host.tables(*(table(name, binds=[{"ip": f"10.10.11.{n}", "proto": "tcp", "port": 80}]) for n, name in enumerate("abc")))),
                     [("warn", "mtu", "a, b, c")], "need 1540 with their outer headers"),
    "long names": (several(conf(outbound_mtu=1500), lambda host: host.tables(*(table(name * 255, binds=[{"ip": f"10.10.11.{n}", "proto": "tcp", "port": 80}]) for n, name in enumerate("abcd")))),
                   [("warn", "mtu", f"{'a' * 255}, {'b' * 255}, {'c' * 255} and 1 more")], "need 1540 with their outer headers"),
    "no table has a route": (several(many_tables(), write("proc/net/route", NO_DEFAULT_ROUTE)),
                             [("fail", "next_hops", "192.168.50.1")], "no route to this proxy, nor to a proxy of 63 other tables, so its packets are dropped"),
    "VFs of one PF": (several(more_vfs, write("sys/class/net/eth1/mtu", "1500")), [("fail", "mtu", "eth1")], "less than outbound_mtu (1600)"),
    "VFs of one NUMA node": (several(more_vfs, write("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "0")),
                             [("warn", "hugepages", ALL_VFS)], "NUMA node 0 of the card has no hugepages"),
    "VFs without IOMMU": (several(more_vfs, no_groups), [("fail", "iommu", ALL_VFS)], "the card has no IOMMU group"),
    "VFs with VFIO without IOMMU": (several(more_vfs, no_groups, write("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y")),
                                    [("warn", "iommu", ALL_VFS)], "CAP_SYS_RAWIO"),
}


@pytest.mark.parametrize("name", ONCE)
def test_what_many_have_in_common_is_one_finding(host, name):
    plant, expected, text = ONCE[name]
    plant(host)
    findings = host.doctor()
    assert [(each["level"], each["check"], each["object"]) for each in findings] == expected
    assert text in findings[0]["text"]


def test_many_tables_with_room_are_one_line(host):
    many_tables()(host)
    assert host.doctor() == []
    assert run("doctor", "--root", host.root).stdout.count("mtu: ") == 1


def test_each_interface_without_a_link_local_address_is_one_finding(host):
    """Three proxies behind two interfaces; routes of IPv4 proxies over the same ones hide nothing."""
    link_local(routes=(("2001:db8:50::/48", 3),))(host)
    routes = ipv6_routes(("2001:db8:50::/48", 3)) + ipv6_routes(("2001:db8:51::/48", 3)).replace("eth0", "eth2")
    host.write("proc/net/ipv6_route", routes)
    host.write("proc/net/route", ROUTES)
    host.conf(outbound_src_ip="192.0.2.1", outbound_src_ip6="2001:db8::d", outbound_mtu=1600)
    ipv6 = [backend(ip) for ip in ("2001:db8:50::1", "2001:db8:51::1", "2001:db8:50::2")]
    host.tables(table(name="ipv4"), table(name="ipv6", backends=ipv6, binds=[{"ip": "203.0.113.77", "proto": "tcp", "port": 80}]))
    assert [(each["level"], each["check"], each["object"]) for each in host.doctor()] == [("fail", "next_hops", name) for name in ("eth0", "eth2")]


def unhealthy(host):
    """The director's binary table, as glb-healthcheck builds it: a proxy is unhealthy, which is not in the operators' table."""
    host.write("etc/glb/healthcheck.conf", HEALTHCHECK)
    host.enable("glb-healthcheck")
    dst = write_tables(host.root / "var/lib/glb/dst.json", table(backends=[backend("192.168.50.1", healthy=False), backend("192.168.50.2"), backend("192.168.50.3")]))
    dst.chmod(0o640)
    run("build-config", dst, host.table)


HEALTHY = {
    "a virtual device": eal(VDEV),
    "a VF of glb-bifurcate, and other files": several(
        vf(), *(write(f"etc/glb/bifurcate.d/{name}", f'device = "{PF}";\nmac = "02:00:00:00:03:01";\n') for name in (".eth1.conf", "eth1.conf~", "eth1.bak", "#eth1.conf#"))),
    "a capture": eal("--no-huge -m 64 --no-pci -l 0 --vdev=net_pcap0,rx_pcap=/x,tx_pcap=/y"),
    "a socket of vhost-user": eal("--no-huge -m 64 --no-pci -l 0 --vdev=net_vhost0,iface=/run/dpdk/wire"),
    "an interface that DPDK makes": eal("--no-huge -m 64 --no-pci -l 0 --vdev=net_tap0,iface=tap0"),
    "idle lcores sleep": several(conf(idle="sleep"), isolation(""), write("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave")),
    "a fixed MAC needs no route": several(conf(outbound_gateway_mac="02:00:5e:10:00:01"), write("proc/net/route", "")),
    "the longest match is a route": write("proc/net/route", REACHED),
    "an interface with an IPv6 link-local address": link_local(("fe80::2", LINK, PERMANENT, "eth0")),
    "IPv6 proxies on this host itself": link_local(routes=(("2001:db8:50::1/128", 0x80000001), ("2001:db8:50::2/128", 0x80000001))),
    "the longest match is an IPv6 route": ipv6_proxies(("::/0", REJECT), ("2001:db8:50::/64", 1), ("2001:db8:50::1/128", 0x80000001)),
    "a bound card without -a": eal("-l 1-3"),
    "lcores as a mask": eal(f"-c 0xe -a {VF}"),
    "a short PCI address with options": eal("-l1-3 --allow=3b:02.0,representor=0"),
    "a ConnectX keeps its driver": several(write(f"sys/bus/pci/devices/{VF}/vendor", "0x15b3"), lambda host: host.bind(VF, "mlx5_core"), remove(f"sys/bus/pci/devices/{VF}/iommu_group")),
    "a bridge in the IOMMU group": several(lambda host: host.bind("0000:00:01.0", "pcieport"), lambda host: host.link("sys/kernel/iommu_groups/42/devices/0000:00:01.0", "x")),
    "no cpufreq": lambda host: [host.remove(f"sys/devices/system/cpu/cpu{cpu}/cpufreq") for cpu in range(16)],
    "one NUMA node": write(f"sys/bus/pci/devices/{VF}/numa_node", "-1"),
    "too-big replies": conf(outbound_mtu=1500, send_icmp_too_big=True),
    "pages of 1 GB": several(write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0"), write("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "2")),
    "the table is JSON": several(write(ENV[1:], f'GLB_DIRECTOR_EAL_ARGS="{EAL}"\nGLB_DIRECTOR_FORWARDING_TABLE="{JSON}"'), remove(BIN[1:])),
    "version 2": lambda host: run("build-config", host.source, host.table, "--format", "2"),
    "no source on this host": remove(JSON[1:]),
    "glb-healthcheck found a proxy unhealthy": unhealthy,
    "a folder with the sticky bit": other_mode("var/lib/glb", 0o1777),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_is_no_fault(host, name):
    HEALTHY[name](host)
    assert host.doctor() == []


def test_an_empty_host_has_findings_and_no_error(tmp_path):
    done = run("doctor", "--root", tmp_path, code=2)
    assert done.stderr == ""
    assert "there is no director.conf" in " ".join(done.stdout.split())


NO_FILES = several(remove("etc/glb"), remove("var/lib/glb"), remove("etc/default"))
NOTHING = {
    "no files": (NO_FILES, "permissions", "not known: the director's files are not there, or this user may not see them"),
    "no table": (several(remove(BIN[1:]), remove(JSON[1:])), "permissions", "other users cannot change the files; there is no table, or this user may not see it"),
    "no table to compare with the MTU": (remove(BIN[1:]), "mtu", "not known: outbound_mtu is 1600, and the table that needs room for outer headers cannot be read"),
    "no proxy": (lambda host: host.tables(), "next_hops", "not needed: no table has a proxy"),
    "lcores that nothing tells": (eal(f"--lcores=oops -a {VF}"), "isolation", "not known: nothing tells on which CPUs the director forwards"),
    "governors of lcores that nothing tells": (eal(f"--lcores=oops -a {VF}"), "governor", "not known: nothing tells on which CPUs the director forwards"),
    "NUMA nodes of lcores that nothing tells": (eal(f"--lcores=oops -a {VF}"), "numa", "not known: nothing tells on which CPUs the director forwards"),
    "a copy": (lambda host: None, "clock", "synchronised: not known; fast: yes; not behind the times of the director's files: yes"),
    "no clock and no files": (several(NO_FILES, remove("sys/devices/system/clocksource")), "clock", "not known: this copy has neither a clock nor the director's files"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_check_that_looks_at_nothing_says_so(host, name):
    plant, check, text = NOTHING[name]
    plant(host)
    host.doctor()
    assert [each["text"] for each in host.report["findings"] if each["check"] == check] == [text]


@pytest.mark.parametrize("path", ("proc/cmdline", "proc/mounts", "sys/devices/system/cpu/online", "sys/kernel/mm/hugepages", "etc/default/glb-director",
                                  "proc/net/route", f"sys/bus/pci/devices/{VF}/class", "sys/devices/system/node",
                                  "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "sys/devices/system/clocksource/clocksource0/current_clocksource",
                                  "sys/class/net/eth1/mtu", "sys/class/net/eth1/flags"))
@pytest.mark.parametrize("junk", (b"", b"\xff" * 70000, b"\0\n" * 500, b"9999999999999999999-1,,-%s%n\n"), ids=("empty", "large", "zeros", "numbers"))
def test_hostile_files(host, path, junk):
    """Whatever a file has, the report is complete and valid JSON."""
    shutil.rmtree(host.root / path, ignore_errors=True)
    (host.root / path).write_bytes(junk)
    host.doctor()


@pytest.mark.parametrize("path", ("proc/cmdline", "proc/mounts", "proc/net/route", "etc/default/glb-director", "etc/glb/director.conf", "var/lib/glb/forwarding_table.bin"))
def test_a_fifo_does_not_hold_up_the_doctor(host, path):
    host.remove(path)
    os.mkfifo(host.root / path)
    host.doctor()


def test_a_name_that_is_no_text(host):
    """Whatever bytes a file has, the finding is there."""
    (host.root / "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor").write_bytes(b"\xff\x1b[31m\n")
    (finding,) = host.doctor()
    assert (finding["check"], finding["object"]) == ("governor", "2") and "the governor is ??[31m" in finding["text"]


def test_a_long_root(tmp_path):
    root = tmp_path
    while len(str(root)) < 3000:
        root = root / ("x" * 200)
    root.mkdir(parents=True)
    Host(root).source.chmod(0o644)
    host = Host.__new__(Host)
    host.root = root
    (finding,) = host.doctor()
    assert finding["command"] == f"chmod o-rwx {root}{JSON}"


def test_no_such_root():
    assert "there is no folder '/none'" in run("doctor", "--root", "/none", code=2).stderr


def test_a_full_disk(host):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "w") as full:
        assert subprocess.run([CLI, "doctor", "--root", str(host.root)], stdout=full, check=False).returncode == 2


def doctor_with_systemctl(host, script):
    """The report about a host whose systemctl is a script, and whose /etc and /run are those of a mount namespace."""
    host.write("programs/systemctl", f"#!/bin/sh\n{script}\n")
    (host.root / "programs/systemctl").chmod(0o755)
    start = (f"mount --bind {host.root}/etc /etc; mount -t tmpfs none /run && mkdir -p /run/systemd/system\n"
             f"PATH={host.root}/programs:$PATH exec {CLI} doctor --json --file-prefix none")
    done = subprocess.run(["unshare", "--mount", "sh", "-ec", start], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    check_output("doctor", report)
    return [each for each in report["findings"] if each["check"] == "units"]


@pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces need root")
@pytest.mark.parametrize("active, expected", [("inactive", []), ("failed", ["it failed (exit-code), so the director finds no VF: journalctl -u glb-bifurcate@eth1.service -n 50 has the reason"])])
def test_unit_of_a_vf_ends_when_it_is_done(host, active, expected):
    vf()(host)
    lines = {"LoadState": "loaded", "Result": "exit-code", "UnitFileState": "enabled", "NRestarts": "0", "NeedDaemonReload": "no"}
    text = "".join(f"{key}={value}\n" for key, value in lines.items())
    script = f"case $3 in glb-bifurcate*) echo ActiveState={active};; *) echo ActiveState=active;; esac\nprintf '%s' '{text}'"
    assert [each["text"] for each in doctor_with_systemctl(host, script) if each["level"] != "ok"] == expected


STATES = {
    "healthy": ({}, None),
    "failed": ({"ActiveState": "failed", "Result": "exit-code"}, ("fail", "it failed (exit-code), so this host forwards nothing", "systemctl restart glb-director.service")),
    "inactive": ({"ActiveState": "inactive"}, ("fail", "it does not run, so this host forwards nothing", "systemctl restart glb-director.service")),
    "disabled": ({"UnitFileState": "disabled"}, ("warn", "it is not enabled", "systemctl enable --now glb-director.service")),
    "restarted": ({"NRestarts": "7"}, ("warn", "had to restart it 7 times", None)),
    "edited": ({"NeedDaemonReload": "yes"}, ("warn", "its file was changed after systemd read it", "systemctl daemon-reload")),
    "not installed": ({"LoadState": "not-found"}, None),
    "masked": ({"LoadState": "masked"}, ("warn", "it is masked, so it does not start with this host, and this host forwards nothing", "systemctl unmask glb-director.service")),
    "broken": ({"LoadState": "bad-setting"}, ("fail", "systemd cannot load its file (bad-setting), so this host forwards nothing at the next start", None)),
    "no output": (None, None),
}


@pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces need root")
@pytest.mark.parametrize("state", STATES)
def test_units_of_this_host(host, state):
    shown, expected = STATES[state]
    lines = {"LoadState": "loaded", "ActiveState": "active", "Result": "success", "UnitFileState": "enabled", "NRestarts": "0", "NeedDaemonReload": "no", **(shown or {})}
    text = "".join(f"{key}={value}\n" for key, value in lines.items()) if shown is not None else ""
    found = [(each["level"], each["text"], each["command"]) for each in doctor_with_systemctl(host, f"printf '%s' '{text}'") if each["level"] != "ok"]
    if expected is None:
        assert found == []
        return
    ((level, said, command),) = found
    assert (level, command) == (expected[0], expected[2]) and expected[1] in said


@pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces need root")
@pytest.mark.parametrize("script, expected", [
    ("exec sleep 600", "systemctl: it did not end within 20 seconds, so it was killed"),
    ("kill -9 $$", "systemctl: signal 9 ended it (Killed)"),
    ("exit 127", "systemctl: there is no such program"),
    ("exit 1", "systemctl: it ended with an error"),
    ("echo what", "'systemctl show' printed no LoadState"),
])
def test_systemctl_that_tells_nothing(host, script, expected):
    (text,) = [each["text"] for each in doctor_with_systemctl(host, script) if each["object"] == "glb-director.service"]
    assert text == f"not known: {expected}"
