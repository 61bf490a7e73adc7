# SPDX-License-Identifier: BSD-3-Clause
"""TCP ports of 127.0.0.1 for tests that do not run in a network namespace of their own."""

import contextlib
import socket

_HELD = []


@contextlib.contextmanager
def reserved_port():
    """A port on which nobody listens. The kernel gives it to no other process during the `with` block.

    A program can listen on it nevertheless if its socket has SO_REUSEADDR, too.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def closed_port():
    """"ADDRESS:PORT" of a port on which nobody listens until all tests have ended."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    _HELD.append(holder)
    return f"127.0.0.1:{holder.getsockname()[1]}"
