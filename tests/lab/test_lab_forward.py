# SPDX-License-Identifier: BSD-3-Clause
"""lab/forward.py: connections from this machine to hosts of a lab."""

import asyncio
import gc
import socket

from lab import forward


def test_a_connection_that_waits_survives_garbage_collection(monkeypatch):
    """The client has sent everything, and waits. Then only the tasks of the connection refer to each other."""
    monkeypatch.setattr(forward, "socket_on", lambda pid, host, family: _socket())

    async def answer_late(reader, writer):
        request = await reader.read()
        gc.collect()
        writer.write(request + b" is answered")
        await writer.drain()
        writer.close()

    async def talk():
        service = await asyncio.start_server(answer_late, forward.LOOPBACK, 0)
        listener = forward.listen(0)
        forwarding = await forward.serve("host", service.sockets[0].getsockname()[1], listener, 0)
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"the request")
        writer.write_eof()
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        forwarding.close()
        service.close()
        return answer

    assert asyncio.run(talk()) == b"the request is answered"


def _socket():
    made = socket.socket()
    made.setblocking(False)
    return made
