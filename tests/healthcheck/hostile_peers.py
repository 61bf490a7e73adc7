# SPDX-License-Identifier: BSD-3-Clause
"""Servers that keep a client busy for as long as it listens, each on another port. Runs on the proxies' host; prints "ready" when all
listen.

usage: hostile_peers.py
"""

import socket
import struct
import subprocess
import sys
import threading
import time

from grpc_peers import frame

BLOCK = 1 << 18  # bytes; larger than what one read of libcurl takes
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SETTINGS = frame(4, 0, b"", stream=0)
H2_OK = SETTINGS + frame(1, 4, b"\x88")  # :status 200
HANDSHAKE, TLS12 = 22, b"\x03\x03"
SERVER_HELLO = b"\x02\0\0\x46\x03\x03" + bytes(32) + b"\x20" + bytes(32) + b"\xc0\x2f\0"


def record(payload, kind=HANDSHAKE):
    return bytes([kind]) + TLS12 + struct.pack(">H", len(payload)) + payload


def field(name, value):
    """A literal field with incremental indexing, with an 8-bit length of the name and a long one of the value (RFC 7541, 6.2.1)."""
    return b"\x40" + bytes([len(name)]) + name + b"\x7f" + bytes([0x80 | (len(value) - 127) & 0x7F, (len(value) - 127) >> 7]) + value


# What a server sends once, and then again and again.
FLOODS = {
    "http": {
        "1xx": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        "headers": (OK, b"X: y\r\n"),
        "header": (OK + b"X: ", b"y"),
        "chunk extensions": (CHUNKED + b"1;", b"x"),
        "chunks": (CHUNKED, b"1\r\nx\r\n"),
        "trailers": (CHUNKED + b"0\r\n", b"X: y\r\n"),
        "body": (OK + b"\r\n", b"x"),
    },
    "http2": {
        "DATA": (H2_OK, frame(0, 0, b"")),
        "padding": (H2_OK, frame(0, 8, b"\0")),
        "PRIORITY": (H2_OK, frame(2, 0, struct.pack(">IB", 0, 1), stream=3)),
        "SETTINGS": (SETTINGS, SETTINGS),
        "PING": (SETTINGS, frame(6, 0, bytes(8), stream=0)),
        "GOAWAY": (H2_OK, frame(7, 0, struct.pack(">II", 2**31 - 1, 0), stream=0)),
        "WINDOW_UPDATE": (H2_OK, frame(8, 0, struct.pack(">I", 1), stream=0)),
        "CONTINUATION": (SETTINGS + frame(1, 0, b"\x88"), frame(9, 0, b"")),
        "unknown": (H2_OK, frame(0xFE, 0, b"", stream=0)),
        "1xx of HTTP/2": (SETTINGS, frame(1, 4, b"\x08\x03100")),
        "trailers of HTTP/2": (H2_OK, frame(1, 4, b"\x00\x01x\x01y")),
        "HPACK": (SETTINGS + frame(1, 0, b"\x88" + field(b"x", 3000 * b"y")), frame(9, 0, 16000 * b"\xbe")),
    },
    "https": {
        "HelloRequest": (b"", record(4000 * bytes(4))),
        "ServerHello": (b"", record(SERVER_HELLO)),
        "empty records": (b"", record(b"")),
        "warnings": (b"", record(b"\x01\x5a", kind=21)),
    },
}

# What a server sends slowly, byte by byte, after what it sends at once. The last byte is repeated.
DRIPS = {
    "http": {
        "nothing": (b"", b""),
        "status line": (b"", b"HTTP/1.1 2"),
        "slow headers": (OK, b"X: y"),
        "slow body": (OK + b"Content-Length: 1000000\r\n\r\n", b"x"),
        "slow chunk": (CHUNKED + b"ffff\r\n", b"x"),
    },
    "http2": {
        "slow SETTINGS": (b"", SETTINGS),
        "slow HEADERS": (SETTINGS, frame(1, 4, 1000 * b"\x88")),
        "slow DATA": (H2_OK, frame(0, 0, bytes(16000))),
    },
    "https": {
        "slow record": (b"", record(1000 * b"\x02")),
        "slow ServerHello": (record(SERVER_HELLO[:20]), record(SERVER_HELLO[20:])),
    },
}

KINDS = {name: kind for peers in (FLOODS, DRIPS) for kind, of_kind in peers.items() for name in of_kind}
PORTS = {name: 20001 + number for number, name in enumerate(KINDS)}


def start(host):
    """Runs this file on the proxies' host. Returns when all servers listen."""
    process = host.start(sys.executable, __file__, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    return process


def flood(connection, once, again):
    connection.recv(65536)
    connection.sendall(once)
    block = again * (BLOCK // len(again))
    while True:
        connection.sendall(block)


def drip(connection, once, again):
    connection.recv(65536)
    connection.sendall(once)
    for at in range(1000):
        connection.sendall(again[min(at, len(again) - 1):][:1])
        time.sleep(0.02)


def serve(port, behave, once, again):
    listener = socket.create_server(("", port), backlog=1024)

    def one(connection):
        with connection:
            try:
                behave(connection, once, again)
            except OSError:
                pass

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def main():
    for behave, peers in ((flood, FLOODS), (drip, DRIPS)):
        for of_kind in peers.values():
            for name, (once, again) in of_kind.items():
                serve(PORTS[name], behave, once, again)
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
