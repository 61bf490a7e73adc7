# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces, each with a mount namespace that has a bpffs of its own. They end with this process."""

import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)

HOLD = "mount -t bpf bpf /sys/fs/bpf && ip link set lo up && echo ready && exec cat"


def _enter(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        if _libc.setns(fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {path}")
    finally:
        os.close(fd)


class Namespace:
    """`with namespace:` creates sockets in it; run() runs commands in it."""

    def __init__(self):
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", HOLD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._holder.stdout.readline() == "ready\n", "no namespace: not root?"
        self.pid = self._holder.pid
        self._own = os.open("/proc/self/ns/net", os.O_RDONLY)

    def __enter__(self):
        _enter(f"/proc/{self.pid}/ns/net")
        return self

    def __exit__(self, *_):
        _enter(f"/proc/self/fd/{self._own}")

    def command(self, *words):
        return ["nsenter", f"--target={self.pid}", "--net", "--mount", "--", *words]

    def run(self, *words, check=True, **options):
        result = subprocess.run(
            self.command(*words), capture_output=True, text=True, check=False, **options
        )
        if check and result.returncode != 0:
            raise AssertionError(f"{' '.join(words)}: {result.stderr or result.stdout}")
        return result

    def ip(self, *lines):
        """Commands of ip(8), one a line."""
        self.run("ip", "-batch", "-", input="\n".join(lines) + "\n")

    def sysctl(self, **values):
        """Dots as two underscores: net__ipv4__ip_forward=1."""
        self.run("sysctl", "-qw", *(f"{k.replace('__', '.')}={v}" for k, v in values.items()))

    def close(self):
        self._holder.stdin.close()
        self._holder.wait()
        self._holder.stdout.close()
        os.close(self._own)


def connect(one, one_name, other, other_name):
    """A veth pair between two namespaces, up."""
    one.ip(f"link add {one_name} type veth peer name {other_name} netns {other.pid}")
    one.ip(f"link set dev {one_name} up")
    other.ip(f"link set dev {other_name} up")
