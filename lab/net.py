# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces inside a capsule: a private mount, process and network world that dies with its first process.

enter_capsule() starts the calling program again in one. Nothing that is made in it outlives it, not even after kill -9.
"""

import json
import os
import signal
import subprocess
import sys

CAPSULE_MARK = "GLB_LAB_CAPSULE"
# The kernel kills `unshare` when we die, and when that dies its child: process 1 of the capsule, and so all of them.
UNSHARE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork",
           "--kill-child=KILL", "--mount-proc"]


def enter_capsule():
    """Returns inside the capsule; outside it, waits for the capsule and exits as it did. Needs root."""
    if os.environ.get(CAPSULE_MARK) != "1":
        sys.exit(run_capsule())
    del os.environ[CAPSULE_MARK]
    # A private /run holds the namespaces' names, DPDK's sockets and our own files. ip(8) wants a shared mount there.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "capsule", "/run"], check=True)
    for folder in ("/run/netns", "/run/dpdk", "/run/lab"):
        os.mkdir(folder)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    os.environ.pop("RUNTIME_DIRECTORY", None)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def run_capsule():
    capsule = subprocess.Popen(UNSHARE + sys.orig_argv, env={**os.environ, CAPSULE_MARK: "1"})
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # `unshare` itself ignores them
        signal.signal(number, lambda *_: capsule.kill())
    code = capsule.wait()
    return code if code >= 0 else 128 - code


class Namespace:
    """A network namespace by name. Commands run in it with the capsule's mounts."""

    def __init__(self, name):
        self.name = name
        subprocess.run(["ip", "netns", "add", name], check=True)
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
        return ["nsenter", f"--net=/run/netns/{self.name}", "--", *command]

    def run(self, command, **options):
        return subprocess.run(self.argv(command), check=True, text=True, **options)

    def start(self, command, **options):
        return subprocess.Popen(self.argv(command), text=True, **options)

    def sysctl(self, values):
        lines = (f"echo {value} > /proc/sys/{key.replace('.', '/')}" for key, value in values.items())
        self.run(["sh", "-ec", "\n".join(lines)])

    def ip(self, batch):
        """Lines for `ip -batch`, one command a line."""
        self.run(["ip", "-batch", "-"], input=batch)

    def offloads_off(self, device):
        """Whole packets with whole checksums leave `device`, as on a wire."""
        self.run(["ethtool", "-K", device, "tx", "off", "tso", "off", "gso", "off", "gro", "off"],
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def veth(left, left_device, right, right_device, mtu=1500):
    """A cable between two namespaces."""
    subprocess.run(
        ["ip", "link", "add", left_device, "netns", left.name, "mtu", str(mtu), "type", "veth",
         "peer", "name", right_device, "netns", right.name, "mtu", str(mtu)], check=True)
    for namespace, device in ((left, left_device), (right, right_device)):
        namespace.ip(f"link set {device} up")


def mac(namespace, device):
    link = namespace.run(["ip", "-json", "link", "show", device], capture_output=True).stdout
    return json.loads(link)[0]["address"]
