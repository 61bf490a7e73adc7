# SPDX-License-Identifier: BSD-3-Clause
"""A proxy's service with long-lived connections. Run as `echo.py NAME PORT`; says "ready" when it listens.

Each line is answered with the proxy's name and the line itself. "upload N" is followed by N bytes, and answered with the name
and their SHA-256.
"""

import asyncio
import hashlib
import sys

LINE_LIMIT = 1 << 16


async def upload(reader, size):
    digest = hashlib.sha256()
    while size:
        data = await reader.read(min(size, LINE_LIMIT))
        if not data:
            raise ConnectionError("the upload ended early")
        digest.update(data)
        size -= len(data)
    return digest.hexdigest().encode()


async def serve(name, port):
    async def connection(reader, writer):
        try:
            while line := await reader.readline():
                words = line.split()
                if words and words[0] == b"upload":
                    line = await upload(reader, int(words[1])) + b"\n"
                writer.write(name + b" " + line)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    # One socket for both families would show IPv4 clients as mapped addresses, which is fine, but not how proxies listen.
    server = await asyncio.start_server(connection, ["0.0.0.0", "::"], port, backlog=1024, limit=LINE_LIMIT)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1].encode(), int(sys.argv[2])))
