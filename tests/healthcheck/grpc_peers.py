# SPDX-License-Identifier: BSD-3-Clause
"""gRPC servers: a real one, and raw HTTP/2 that misbehaves, each on another port. Runs on the proxies' host; prints
"ready" when all listen.

usage: grpc_peers.py FOLDER_WITH_CERTIFICATE
"""

import re
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

SERVER, TLS, WITHOUT_HEALTH = 50051, 50052, 50053
LONGEST = 255 * "s"
STATUSES = {"": b"\x08\x01", "up": b"\x08\x01", LONGEST: b"\x08\x01", "down": b"\x08\x02", "unknown": b"\x08\x00", "absent": b"\x08\x03",
            "shop.Orders": b"\x08\x02", "odd": b"\x08\x09", "negative": b"\x08" + 9 * b"\xff" + b"\x01", "empty": b"", "garbage": b"\xff", "large": b"\x12\x88\x08" + bytes(1032)}

# The DATA frame that ends a request about the whole server. A reply that comes before it may come before its stream, too.
REQUEST = re.compile(rb"\0\0\x05\0[\0\x01]\0\0\0\x01\0{5}")
SERVING = b"\0\0\0\0\x02\x08\x01"
HEADERS = ((":status", "200"), ("content-type", "application/grpc"))
PASSED = (("grpc-status", "0"),)


def start(host, folder):
    """Runs this file on the proxies' host. Returns when all servers listen."""
    process = host.start(sys.executable, __file__, str(folder), stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    return process


def frame(kind, flags, payload, stream=1):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def headers(pairs, end=False):
    """A HEADERS frame whose fields are literals without an index (RFC 7541, 6.2.2)."""
    block = b"".join(b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in pair) for pair in pairs)
    return frame(1, 5 if end else 4, block)


def data(body, end=False):
    return frame(0, 1 if end else 0, body)


# Replies by port: the first one is good, to show that the others fail because of what they are.
RAW = {60001 + number: reply for number, reply in enumerate([
    headers(HEADERS) + data(SERVING) + headers(PASSED, end=True),
    headers(HEADERS) + data(SERVING, end=True),  # no trailers
    headers(HEADERS) + data(SERVING) + headers((("grpc-status", "zero"),), end=True),
    headers(HEADERS) + data(SERVING) + headers((("grpc-status", ""),), end=True),
    headers(HEADERS + PASSED) + data(SERVING) + headers(PASSED, end=True),
    headers(HEADERS) + data(SERVING) + headers((("grpc-status", "14"),), end=True),
    headers(HEADERS) + data(SERVING) + headers((("grpc-status", "256"),), end=True),
    headers(HEADERS + PASSED, end=True),  # no message
    headers(HEADERS) + data(b"\x01" + SERVING[1:]) + headers(PASSED, end=True),
    headers(HEADERS) + data(2 * SERVING) + headers(PASSED, end=True),
    headers(HEADERS) + data(SERVING[:6]) + headers(PASSED, end=True),
    headers(((":status", "200"), ("content-type", "application/grpcx"))) + data(SERVING) + headers(PASSED, end=True),
    headers(((":status", "200"),)) + data(SERVING) + headers(PASSED, end=True),
    headers(((":status", "503"), *HEADERS[1:])) + data(SERVING) + headers(PASSED, end=True),
    headers(HEADERS) + data(SERVING) + frame(3, 0, struct.pack(">I", 2)),  # RST_STREAM, INTERNAL_ERROR
    headers(HEADERS) + data(SERVING) + frame(7, 0, struct.pack(">II", 0, 2), stream=0),  # GOAWAY, for stream 1, too
    headers(HEADERS) + 4 * data(bytes(16384)) + headers(PASSED, end=True),
    headers(HEADERS) + 65 * data(bytes(16384)) + headers(PASSED, end=True),
    headers(HEADERS) + data(SERVING),  # no end
    b"HTTP/1.1 200 OK\r\ngrpc-status: 0\r\ncontent-type: application/grpc\r\ncontent-length: 7\r\n\r\n" + SERVING,
])}
RAW_PORTS = list(RAW)


def serve_raw(listener, reply):
    def one(connection):
        with connection:
            try:
                request = b""
                while not REQUEST.search(request):
                    part = connection.recv(65536)
                    if not part:
                        return
                    request += part
                connection.sendall(reply if reply.startswith(b"HTTP") else frame(4, 0, b"", stream=0) + reply)
                while connection.recv(65536):
                    pass
            except OSError:
                pass

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=one, args=(connection,), daemon=True).start()


def main():
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    def check(request, context):
        size = len(request) - 2 if len(request) < 130 else len(request) - 3
        name = request[-size:].decode() if request else ""
        if name not in STATUSES:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such service\r\n")
        return STATUSES[name]

    health = grpc.method_handlers_generic_handler(
        "grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(check)})
    folder = Path(sys.argv[1])
    tls = grpc.ssl_server_credentials([((folder / "key.pem").read_bytes(), (folder / "cert.pem").read_bytes())])
    servers = [grpc.server(ThreadPoolExecutor(4), handlers=handlers) for handlers in ([health], [])]
    assert servers[0].add_insecure_port(f"[::]:{SERVER}") and servers[0].add_secure_port(f"[::]:{TLS}", tls)
    assert servers[1].add_insecure_port(f"[::]:{WITHOUT_HEALTH}")
    for server in servers:
        server.start()
    for port, reply in RAW.items():
        threading.Thread(target=serve_raw, args=(socket.create_server(("", port)), reply), daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
