# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces inside a capsule: a private mount, process and network world that dies with its first process.

enter_capsule() re-executes the calling program in one. Nothing that is made in it outlives it, not even after kill -9.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys

CAPSULE_MARK = "GLB_LAB_CAPSULE"
# Not kept when the capsule dies: `unshare` asks the kernel to kill its child, which is process 1 of the capsule.
UNSHARE = [
    "unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL", "--mount-proc",
]
CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3


def capsule_argv(command):
    """The command line that runs `command`, which calls enter_capsule(), as process 1 of a new capsule."""
    return ["env", f"{CAPSULE_MARK}=1", *UNSHARE, *command]


def dying_with_us(argv):
    """The command line that also ends when the process that starts it does, even by kill -9."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]


def enter_capsule():
    """Returns inside the capsule; outside it, replaces this process. Needs root."""
    if os.environ.get(CAPSULE_MARK) != "1":
        os.environ[CAPSULE_MARK] = "1"
        os.execvp(UNSHARE[0], UNSHARE + sys.orig_argv)
    del os.environ[CAPSULE_MARK]
    # A private /run holds the namespaces' names, DPDK's sockets and our own files. ip(8) wants a shared mount there.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "capsule", "/run"], check=True)
    for folder in ("/run/netns", "/run/hosts", "/run/dpdk", "/run/lab"):
        os.mkdir(folder)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    os.environ.pop("RUNTIME_DIRECTORY", None)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


HOLD = "hostname $0; mount -t bpf bpf /sys/fs/bpf && echo ready && exec sleep infinity"


class Namespace:
    """A host: a network namespace by name, a hostname, and a mount namespace in which /sys/fs/bpf is its own.

    Commands run in all of these, with nsenter: `ip netns exec` would mount a new /sys and so hide what is pinned in
    /sys/fs/bpf. The rest of the file system, /run too, is the capsule's.
    """

    def __init__(self, name):
        self.name = name
        subprocess.run(["ip", "netns", "add", name], check=True)
        # Without a process, mount namespaces need bind mounts, which unshare(1) makes unreliably.
        self.holder = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{name}", "unshare", "--mount", "--uts", "sh", "-c", HOLD, name],
            stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise OSError(f"{name}: no bpf file system in its mount namespace")
        with open(f"/run/hosts/{name}", "w") as file:
            file.write(f"{self.holder.pid}\n")
        # No duplicate address detection: an IPv6 address is usable at once. No reverse path filter: a proxy receives
        # from its tunnel and answers by its Ethernet.
        self.sysctl({
            "net.ipv4.conf.all.rp_filter": 0,
            "net.ipv4.conf.default.rp_filter": 0,
            "net.ipv6.conf.all.accept_dad": 0,
            "net.ipv6.conf.default.accept_dad": 0,
            "net.ipv6.conf.default.router_solicitations": 0,
        })
        self.ip("link set lo up")

    def argv(self, command):
        return ["nsenter", f"--target={self.holder.pid}", "--net", "--mount", "--uts", "--root", "--", *command]

    def run(self, command, **options):
        return subprocess.run(self.argv(command), check=True, text=True, **options)

    def output(self, command):
        return self.run(command, stdout=subprocess.PIPE).stdout

    def start(self, command, **options):
        return subprocess.Popen(self.argv(command), text=True, **options)

    def sysctl(self, values):
        lines = (f"echo {value} > /proc/sys/{key.replace('.', '/')}" for key, value in values.items())
        self.run(["sh", "-ec", "\n".join(lines)])

    def ip(self, batch):
        """Lines for `ip -batch`, one command a line."""
        self.run(["ip", "-batch", "-"], input=batch)

    def offload(self, device, *settings):
        """ethtool -K; settings that a device does not know are no error there."""
        self.run(["ethtool", "-K", device, *settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def offloads_off(self, device):
        """Whole packets with whole checksums leave `device`, as on a wire; veth would hand over 64 KB with none."""
        self.offload(device, "tx", "off", "tso", "off", "gso", "off", "gro", "off")

    def socket(self, *arguments):
        """A socket of this process on this host."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/ns/net") as ours, open(f"/run/netns/{self.name}") as theirs:
            if libc.setns(theirs.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"setns {self.name}")
            try:
                return socket.socket(*arguments)
            finally:
                libc.setns(ours.fileno(), CLONE_NEWNET)

    def packet_socket(self, device):
        """One that sends and receives whole frames on `device`."""
        raw = self.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        raw.bind((device, 0))
        return raw


def veth(left, left_device, right, right_device, mtu=1500):
    """A cable between two namespaces."""
    subprocess.run(
        ["ip", "link", "add", left_device, "netns", left.name, "mtu", str(mtu), "type", "veth",
         "peer", "name", right_device, "netns", right.name, "mtu", str(mtu)], check=True)
    for namespace, device in ((left, left_device), (right, right_device)):
        namespace.ip(f"link set {device} up")


def mac(namespace, device):
    return json.loads(namespace.output(["ip", "-json", "link", "show", device]))[0]["address"]
