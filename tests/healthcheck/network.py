# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts and a cable: where the healthcheck runs, and one with the addresses of all proxies. They end with this process."""

import ctypes
import os
import subprocess
from pathlib import Path

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)

HERE, HERE6 = "10.77.0.1", "fd77::1"
PROXY, PROXY6 = "10.77.0.10", "fd77::10"
ELSEWHERE = "10.77.0.99"  # another address of the proxies' host
NOBODY = "10.77.0.200"
VIP, VIP6 = "203.0.113.10", "2001:db8:113::10"
MANY = "10.78.0.0/16"  # every address in it is a proxy

HOLD = """
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 net.ipv6.conf.all.accept_dad=0 \
    net.ipv6.conf.default.accept_dad=0 net.ipv4.ping_group_range='1 0'
ip link set lo up && echo ready && exec cat
"""


def _enter(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {path}")
    finally:
        os.close(fd)


class Host:
    """A network and mount namespace. `with host:` makes sockets in it."""

    def __init__(self):
        self._holder = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-ec", HOLD],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout.readline() == "ready\n", "no namespace: not root?"
        self.pid = self._holder.pid
        self._own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def __enter__(self):
        _enter(f"/proc/{self.pid}/ns/net")
        return self

    def __exit__(self, *_):
        _enter(f"/proc/self/fd/{self._own}")

    def command(self, *words):
        return ["nsenter", f"--target={self.pid}", "--net", "--mount", "--wd=.", "--", *words]

    def run(self, *words, **options):
        return subprocess.run(self.command(*words), check=True, text=True, **options)

    def start(self, *words, **options):
        return subprocess.Popen(self.command(*words), text=True, **options)

    def path(self, path):
        """A path of the host's mounts, as this process sees it."""
        return Path(f"/proc/{self.pid}/root{path}")

    def ip(self, batch):
        """Lines for `ip -batch`."""
        self.run("ip", "-batch", "-", input=batch)

    def close(self):
        self._holder.stdin.close()
        self._holder.wait()
        self._holder.stdout.close()
        os.close(self._own)


def connect(here, proxies):
    subprocess.run(["ip", "link", "add", "wire", "netns", str(here.pid), "type", "veth",
                    "peer", "name", "wire", "netns", str(proxies.pid)], check=True)
    proxies.ip(f"""
        address add {PROXY}/24 dev wire
        address add {ELSEWHERE}/24 dev wire
        address add {PROXY6}/64 dev wire nodad
        link set wire up
        address add {VIP}/32 dev lo
        address add {VIP6}/128 dev lo nodad
        route add local {MANY} dev lo
    """)
    here.ip(f"""
        address add {HERE}/24 dev wire
        address add {HERE6}/64 dev wire nodad
        link set wire up
        route add {MANY} via {PROXY}
        route add default via {PROXY}
        route add default via {PROXY6}
    """)
