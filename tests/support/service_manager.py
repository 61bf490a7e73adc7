# SPDX-License-Identifier: BSD-3-Clause
"""The service manager's end of NOTIFY_SOCKET: receives what a program sends with sd_notify."""

import select
import socket
import tempfile

from lab.tools import TIMEOUT_S


class ServiceManager:
    """A context manager. `path` is the value of NOTIFY_SOCKET."""

    def __enter__(self):
        # pytest's folders can be too long: a socket's path has at most 107 bytes.
        self._folder = tempfile.TemporaryDirectory(prefix="glb-")
        self.path = f"{self._folder.name}/notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        self._socket.settimeout(TIMEOUT_S)
        return self

    def __exit__(self, *_):
        self._socket.close()
        self._folder.cleanup()

    def next(self):
        """The lines of the next message."""
        return self._socket.recv(4096).decode().splitlines()

    def wait_for(self, assignment):
        """Waits for a message with this line. Returns all messages up to it."""
        messages = [self.next()]
        while assignment not in messages[-1]:
            messages.append(self.next())
        return messages

    def arrived(self):
        """The messages that have arrived. Does not wait."""
        messages = []
        while select.select([self._socket], [], [], 0)[0]:
            messages.append(self.next())
        return messages
