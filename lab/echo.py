# SPDX-License-Identifier: BSD-3-Clause
"""The echo service of a proxy, for long-lived connections. Run as `echo.py NAME PORT ADDRESS...`, with at least one address. Prints "ready" when it listens.

It answers each line with the proxy's name and the line. After the line "upload N" it reads N bytes, and answers with the proxy's
name and the SHA-256 of the bytes.
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


async def serve(name, port, addresses):
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

    server = await asyncio.start_server(connection, addresses, port, backlog=1024, limit=LINE_LIMIT)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) < 4:  # asyncio listens nowhere without an address, and says nothing
        sys.exit("usage: echo.py NAME PORT ADDRESS...")
    asyncio.run(serve(sys.argv[1].encode(), int(sys.argv[2]), sys.argv[3:]))
