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

LOOPBACK, LOOPBACK6 = "127.0.0.1", "::1"
CHUNK = 1 << 16


def socket_on(pid, host, family):
    """A TCP socket in the network namespace of a host. The socket keeps the namespace, and the calling thread returns to its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as ours, open(f"/proc/{pid}/root/proc/{holder(pid, host)}/ns/net") as theirs:
        if libc.setns(theirs.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        try:
            return socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        finally:
            libc.setns(ours.fileno(), CLONE_NEWNET)


async def connect(pid, host, port):
    """A connection to a port on the loopback address of a host. With the underlay "ipv6" some programs listen on IPv6 alone."""
    for family, address in ((socket.AF_INET, LOOPBACK), (socket.AF_INET6, LOOPBACK6)):
        there = socket_on(pid, host, family)
        try:
            await asyncio.get_running_loop().sock_connect(there, (address, port))
            return there
        except ConnectionRefusedError as error:
            there.close()
            refused = error
    raise refused


async def copy(reader, writer):
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


def listen(port, otherwise=None):
    """A socket on a port of this machine's loopback, or on another port if that is in use and `otherwise` says which; 0 is any port."""
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        if otherwise is not None:
            return listen(otherwise)
        raise LabError(f"{LOOPBACK}:{port}: {os.strerror(error.errno)}: choose another --local") from None


async def serve(host, port, listener, pid):
    tasks = set()  # asyncio has only weak references to the tasks of connections

    async def connection(reader, writer):
        tasks.add(asyncio.current_task())
        asyncio.current_task().add_done_callback(tasks.discard)
        try:
            there = await connect(pid, host, port)
        except OSError as error:
            print(f"{host}: {LOOPBACK}:{port}: {os.strerror(error.errno)}", flush=True)
            writer.close()
            return
        other_reader, other_writer = await asyncio.open_connection(sock=there)
        await asyncio.gather(copy(reader, other_writer), copy(other_reader, writer))
        for each in (writer, other_writer):
            each.close()

    return await asyncio.start_server(connection, sock=listener)


async def serve_all(pid, forwards):
    """Serves until the lab ends. forwards: [(host, port, listening socket)]"""
    ended = asyncio.Event()
    lab = os.pidfd_open(pid)
    asyncio.get_running_loop().add_reader(lab, ended.set)
    async with contextlib.AsyncExitStack() as servers:
        for forward in forwards:
            await servers.enter_async_context(await serve(*forward, pid))
        await ended.wait()


def run(pid, host, port, local):
    holder(pid, host)  # an unknown host is refused at once
    listener = listen(local or port)
    print(f"http://{LOOPBACK}:{local or port}/ is port {port} of {host}, until the lab ends or you press Ctrl-C", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve_all(pid, [(host, port, listener)]))


def in_background(pid, ports):
    """Forwards ports of hosts in a process of its own, which ends with the lab. ports: [(host, port)]. Returns their URLs.

    A port has the same number on this machine, unless that is in use.
    """
    forwards = [(host, port, listen(port, otherwise=0)) for host, port in ports]
    urls = [f"http://{LOOPBACK}:{listener.getsockname()[1]}/" for _, _, listener in forwards]
    if os.fork() == 0:
        try:
            os.setsid()
            _leave_files({listener.fileno() for _, _, listener in forwards})
            asyncio.run(serve_all(pid, forwards))
        finally:
            os._exit(0)
    for _, _, listener in forwards:
        listener.close()
    return urls


def _leave_files(kept):
    """Closes the files of the parent. It waits for the end of its output, and the lab for the end of its pipes."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd not in kept:
            with contextlib.suppress(OSError):
                os.close(fd)
