# SPDX-License-Identifier: BSD-3-Clause
"""Makes a TCP port of a host of a lab reachable on this machine's loopback, for a browser. Runs outside the lab's capsule."""

import asyncio
import contextlib
import ctypes
import os
import socket

from lab.capsule import holder
from lab.net import CLONE_NEWNET
from lab.tools import LabError

LOOPBACK = "127.0.0.1"
CHUNK = 1 << 16


def socket_on(pid, host):
    """A TCP socket in the network namespace of a host. The socket keeps the namespace, and the calling thread returns to its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as ours, open(f"/proc/{pid}/root/proc/{holder(pid, host)}/ns/net") as theirs:
        if libc.setns(theirs.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        try:
            return socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        finally:
            libc.setns(ours.fileno(), CLONE_NEWNET)


async def copy(reader, writer):
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


async def serve(pid, host, port, local):
    async def connection(reader, writer):
        try:
            there = socket_on(pid, host)
            await asyncio.get_running_loop().sock_connect(there, (LOOPBACK, port))
        except OSError as error:
            print(f"{host}: {LOOPBACK}:{port}: {os.strerror(error.errno)}", flush=True)
            writer.close()
            return
        other_reader, other_writer = await asyncio.open_connection(sock=there)
        await asyncio.gather(copy(reader, other_writer), copy(other_reader, writer))
        for each in (writer, other_writer):
            each.close()

    ended = asyncio.Event()
    lab = os.pidfd_open(pid)
    asyncio.get_running_loop().add_reader(lab, ended.set)
    try:
        server = await asyncio.start_server(connection, LOOPBACK, local)
    except OSError as error:
        raise LabError(f"{LOOPBACK}:{local}: {os.strerror(error.errno)}: choose another --local") from None
    async with server:
        print(f"http://{LOOPBACK}:{local}/ is port {port} of {host}, until the lab ends or you press Ctrl-C", flush=True)
        await ended.wait()


def run(pid, host, port, local):
    holder(pid, host)  # an unknown host is refused at once
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(pid, host, port, local or port))
