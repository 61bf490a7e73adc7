# SPDX-License-Identifier: BSD-3-Clause
"""Many connections of the client's host that are silent until they are asked, so that every packet is sent at a known time.

Load (load.py) has connections that talk all the time. A crowd shows which connections one director breaks: while it is asked, the
scenario sends all its packets through that director. Belongs to one thread.
"""

import contextlib
import resource
import socket
import time
from dataclasses import dataclass, field

from lab.load import Clients, why
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, VIPS

FIRST_PORT, FLOWS = 22000, 43000  # behind the ports of the long-lived connections of load.py
WINDOW = 64  # connections that do something at the same time; a burst of all would fill queues and keep the services busy
TIMEOUT_S = 10  # of a window, so that a way that loses everything does not take this time for each connection


def windows(items):
    return (items[first : first + WINDOW] for first in range(0, len(items), WINDOW))


@dataclass
class Member:
    """One connection."""

    flow: tuple  # (VIP, client address, client port)
    label: object  # of the caller
    socket: object = field(repr=False)
    proxy: str = None
    broken: str = None  # the reason
    asked: int = 0

    def question(self):
        return f"{self.flow[2]} {self.asked}\n".encode()

    def send(self, deadline):
        try:
            self._wait_until(deadline)
            self.socket.sendall(self.question())
        except OSError as error:
            self._break(why(error))

    def receive(self, deadline):
        """Reads the answer, unless the connection is broken."""
        if self.broken:
            return
        try:
            self._wait_until(deadline)
            answer = b""
            while not answer.endswith(b"\n") and (data := self.socket.recv(4096)):
                answer += data
        except OSError as error:
            self._break(why(error))
            return
        proxy, _, rest = answer.partition(b" ")
        if rest != self.question() or self.proxy not in (None, proxy.decode()):
            self._break("wrong data" if answer else "reset")
            return
        self.proxy = proxy.decode()
        self.asked += 1

    def close(self, deadline):
        """Waits for the end of the service's side, without a check: the table may have changed since the last question."""
        with contextlib.suppress(OSError):
            self._wait_until(deadline)
            self.socket.recv(1)
        self.socket.close()

    def _wait_until(self, deadline):
        self.socket.settimeout(max(0.001, deadline - time.monotonic()))

    def _break(self, reason):
        self.broken = reason
        self.socket.close()


class Crowd:
    def __init__(self, client):
        self.client = client
        self.members = []
        # Flows of connections that were not opened yet. Each is used once, because a broken connection still exists on its proxy.
        clients = Clients(VIPS, {"4": CLIENTS4, "6": CLIENTS6})
        self.waiting = [clients.flow(number, FIRST_PORT + number) for number in range(FLOWS)]
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def prefer(self, flows):
        """Makes these the flows of the next connections."""
        chosen = set(flows)
        self.waiting = [*flows, *(flow for flow in self.waiting if flow not in chosen)]

    def open(self, count, label):
        """Opens connections, and asks each of them once. Returns them."""
        flows, new = self.waiting[:count], []
        self.waiting = self.waiting[count:]
        for window in windows(flows):
            with self.client:
                opened = [Member(flow, label, self._connecting(flow)) for flow in window]
            self.ask(opened)
            new += opened
        self.members += new
        return new

    @staticmethod
    def _connecting(flow):
        vip, address, port = flow
        made = socket.socket(socket.AF_INET6 if ":" in vip else socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.setblocking(False)
        made.connect_ex((vip, ECHO_PORT))
        return made

    def alive(self):
        return [member for member in self.members if not member.broken]

    def ask(self, members):
        """Exchanges data on the connections that are not broken yet. Returns those that broke now."""
        asked = [member for member in members if not member.broken]
        for window in windows(asked):
            deadline = time.monotonic() + TIMEOUT_S
            for member in window:
                member.send(deadline)
            for member in window:
                member.receive(deadline)
        return [member for member in asked if member.broken]

    def end(self, members):
        """Ends connections as clients do, and waits until the services have seen it. They do not count as broken."""
        for window in windows(members):
            alive = [member for member in window if not member.broken]
            for member in alive:
                member.socket.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + TIMEOUT_S
            for member in alive:
                member.close(deadline)
        ended = {member.flow for member in members}
        self.members = [member for member in self.members if member.flow not in ended]
