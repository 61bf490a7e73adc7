# SPDX-License-Identifier: BSD-3-Clause
"""HTTP servers that speak like etcd, except for what a test makes them do."""

import base64
import json
import socket
import threading
import time


def encode(text):
    return base64.b64encode(text.encode()).decode()


def header(revision):
    return {"cluster_id": "1", "member_id": "2", "revision": str(revision), "raft_term": "3"}


class HostileEtcd:
    """Each path has a function that gets the connection and the request's JSON, and sends the reply. A path of None is for the others.
    Without a function, the reply is that of an etcd that has one key, `key`, at `revision` with `value`. A watch of it says nothing."""

    def __init__(self, **paths):
        self.paths = {f"/v3/{path.replace('_', '/')}": function for path, function in paths.items()}
        self.requests = []  # (path, headers, JSON)
        self.revision, self.value = 5, "value"
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def count(self, path):
        return sum(request[0] == path for request in self.requests)

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            try:
                while line := stream.readline():
                    path, headers = line.split()[1].decode(), {}
                    while (field := stream.readline().decode().strip()):
                        name, _, value = field.partition(":")
                        headers[name.lower()] = value.strip()
                    request = json.loads(stream.read(int(headers["content-length"])))
                    self.requests.append((path, headers, request))
                    if self.paths.get(path, self.normal)(connection, request) == "close":
                        return
            except OSError:
                pass

    def normal(self, connection, request):
        if "create_request" in request:
            stream(connection, {"result": {"header": header(self.revision), "created": True}})
            return wait_for_client(connection)
        if "key" in request:
            return reply(connection, {"header": header(self.revision), "count": "1", "kvs": [self.pair("keys_only" not in request)]})
        return reply(connection, {"header": header(self.revision), "succeeded": True})

    def pair(self, with_value=True):
        return {"key": encode("key"), "mod_revision": str(self.revision), **({"value": encode(self.value)} if with_value else {})}


def reply(connection, body, status="200 OK", more=""):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n{more}\r\n".encode() + text)


def stream(connection, *lines):
    """The start of a reply whose end is the end of the connection."""
    text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + text)


def wait_for_client(connection):
    connection.recv(1)
    return "close"


def flood(connection, first, again, count=1 << 40):
    connection.sendall(first)
    for _ in range(count):
        connection.sendall(again)
    return "close"


def drip(connection, first, again):
    connection.sendall(first)
    while True:
        connection.sendall(again)
        time.sleep(0.02)
