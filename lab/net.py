# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces as hosts, for the lab and the tests. A namespace ends with the process that makes it."""

import ctypes
import json
import os
import socket
import subprocess

from lab.tools import LabError, wait_until

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
RECEIVE_BUFFER = 64 << 20  # bytes

# Turns off duplicate address detection, so that IPv6 addresses are usable immediately, and the reverse path filter, because a proxy
# receives packets from its tunnel and answers through its Ethernet interface. `cat` ends when its pipe is closed.
HOLD = """
hostname "$0"
mount -t bpf bpf /sys/fs/bpf
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 net.ipv6.conf.all.accept_dad=0 \
    net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.router_solicitations=0
ip link set lo up
echo ready
exec cat
"""
_libc = ctypes.CDLL(None, use_errno=True)


def _set_network(fd):
    """Moves the calling thread to another network namespace."""
    if _libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Namespace:
    """A host: a network namespace, a hostname, and a mount namespace with its own bpf file system in /sys/fs/bpf.

    nsenter runs commands in all three. `ip netns exec` would mount a new /sys, which hides pinned objects in /sys/fs/bpf. All other
    mounts are the caller's. In a `with namespace:` block the calling thread creates its sockets in the network namespace.
    """

    def __init__(self, name="host"):
        self.name = name
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "sh", "-ec", HOLD, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._holder.stdout.readline() != "ready\n":
            raise LabError(f"namespace '{name}' was not created, see the message above: run as root, on a kernel with bpf")
        self.pid = self._holder.pid
        self._network = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def __enter__(self):
        self._outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _set_network(self._network)
        return self

    def __exit__(self, *_):
        _set_network(self._outside)
        os.close(self._outside)

    def command(self, *words):
        """The command line that runs a command in the namespaces. Without words, the prefix of such a command line."""
        return ["nsenter", f"--target={self.pid}", "--net", "--mount", "--uts", "--root", "--wd=.", "--", *words]

    def start(self, *words, **options):
        return subprocess.Popen(self.command(*words), text=True, **options)

    def run(self, *words, check=True, **options):
        """Runs a command to its end. The result has its output. If `check`, the command must succeed."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True, check=False, **options)
        if check and done.returncode != 0:
            raise LabError(f"{self.name}: {' '.join(words)}: {done.stderr or done.stdout}")
        return done

    def ip(self, *lines):
        """Runs commands with `ip -batch`, one per line."""
        self.run("ip", "-batch", "-", input="\n".join([*lines, ""]))

    def sysctl(self, values):
        self.run("sysctl", "-qw", *(f"{key}={value}" for key, value in values.items()))

    def offload(self, device, *settings):
        """Runs ethtool -K, which ignores settings that the device does not have."""
        self.run("ethtool", "-K", device, *settings)

    def offloads_off(self, device):
        """Makes packets leave `device` with full checksums and within the MTU. Otherwise veth passes on segments of 64 KB."""
        self.offload(device, "tx", "off", "tso", "off", "gso", "off", "gro", "off")

    def socket(self, *arguments):
        with self:
            return socket.socket(*arguments)

    def packet_socket(self, device, ignore_outgoing=False):
        """A socket that sends and receives whole frames on `device`."""
        raw = self.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, int(ignore_outgoing))
        raw.bind((device, ETH_P_ALL))
        return raw

    def close(self):
        self._holder.stdin.close()
        self._holder.wait()
        self._holder.stdout.close()
        os.close(self._network)


def connect(left, left_device, right, right_device, mtu=1500):
    """A veth pair between two namespaces, up."""
    subprocess.run(
        ["ip", "link", "add", left_device, "netns", str(left.pid), "mtu", str(mtu), "type", "veth",
         "peer", "name", right_device, "netns", str(right.pid), "mtu", str(mtu)], check=True)
    left.ip(f"link set dev {left_device} up")
    right.ip(f"link set dev {right_device} up")
    # The kernel activates the left one later, which takes seconds on a busy machine. Until then it loses what is sent, without an error.
    wait_until(lambda: link(left, left_device)["operstate"] == "UP", lambda: f"the link {left_device}: {link(left, left_device)}")


def link(namespace, device):
    return json.loads(namespace.run("ip", "-json", "link", "show", device).stdout)[0]


def mac(namespace, device):
    return link(namespace, device)["address"]
