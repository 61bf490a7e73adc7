# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces without names: they last as long as this object, and die with this process."""

import ctypes
import os
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
SO_RCVBUFFORCE = 33
libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _in_thread(function):
    """In a thread of its own, whose namespace nobody else sees."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(function).result()


class Namespace:
    def __init__(self):
        def create():
            _check(libc.unshare(CLONE_NEWNET))
            return os.open("/proc/thread-self/ns/net", os.O_RDONLY)

        self._fd = _in_thread(create)
        self.run("ip", "link", "set", "lo", "up")

    @property
    def path(self):
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    @property
    def enter(self):
        """Words before a command that is to run inside."""
        return ["nsenter", f"--net={self.path}"]

    def run(self, *command):
        """A command inside; its failure is the caller's."""
        done = subprocess.run([*self.enter, *command], capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def socket(self, *arguments):
        def create():
            _check(libc.setns(self._fd, CLONE_NEWNET))
            return socket.socket(*arguments)

        return _in_thread(create)

    def packet_socket(self, interface, ignore_outgoing=False):
        """Sends and receives whole frames."""
        raw = self.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, int(ignore_outgoing))
        raw.bind((interface, ETH_P_ALL))
        return raw

    def close(self):
        os.close(self._fd)


class Link:
    """A veth pair: "client" in one namespace, "director" in the other; the kernel is silent on it."""

    def __init__(self, mtu=1500):
        self.client, self.director = Namespace(), Namespace()
        self.client.run(
            *"ip link add client type veth peer name director netns".split(), self.director.path
        )
        for namespace, name in ((self.client, "client"), (self.director, "director")):
            namespace.run("ip", "link", "set", name, "addrgenmode", "none", "mtu", str(mtu), "up")

    def close(self):
        self.client.close()
        self.director.close()
