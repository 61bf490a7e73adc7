# SPDX-License-Identifier: BSD-3-Clause
"""A TLS server on the proxies' host. It writes a line for each handshake: the version of TLS, and "full" or "resumed". SIGHUP makes it
read its certificate again, and it keeps its sessions. Prints "ready" when it listens.

usage: tls_peer.py FOLDER VERSION [MODE]

VERSION is 2 or 3 (TLS 1.2 or 1.3). MODE is "forgets" (no session is ever resumed) or "breaks" (the server closes the connection if the
client offers a session of TLS 1.3). FOLDER has cert.pem, key.pem, and `status`, which
is the HTTP status of the replies.
"""

import signal
import socket
import ssl
import struct
import sys
from pathlib import Path

PORT = 8443
PRE_SHARED_KEY = 41


class Peer:
    def __init__(self, host, folder, version, mode=""):
        self.host, self.folder, self.version, self.mode = host, folder, version, mode
        self.process = None
        self.start()

    def start(self):
        (self.folder / "status").write_text("200")
        (self.folder / "handshakes").touch()
        starts = self.lines().count("ready")
        with open(self.folder / "handshakes", "a") as log:
            self.process = self.host.start(sys.executable, __file__, str(self.folder), str(self.version), self.mode, stdout=log)
        self.wait("ready", starts + 1)

    def wait(self, line, times):
        from lab.tools import wait_until
        wait_until(lambda: self.lines().count(line) >= times, lambda: f"{line}: {self.lines()}")

    def lines(self):
        return (self.folder / "handshakes").read_text().splitlines()

    def handshakes(self):
        return [line.split()[1] for line in self.lines() if line.startswith("TLS")]

    def use_certificate(self, folder):
        """Later full handshakes show the certificate of this folder."""
        for name in ("cert.pem", "key.pem"):
            (self.folder / name).write_text((folder / name).read_text())
        loads = self.lines().count("loaded")
        self.process.send_signal(signal.SIGHUP)
        self.wait("loaded", loads + 1)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def offers_session(hello):
    """True if the ClientHello has the extension pre_shared_key."""
    at = 5 + 4 + 2 + 32
    at += 1 + hello[at]
    at += 2 + struct.unpack_from(">H", hello, at)[0]
    at += 1 + hello[at]
    at += 2
    while at + 4 <= len(hello):
        kind, size = struct.unpack_from(">HH", hello, at)
        if kind == PRE_SHARED_KEY:
            return True
        at += 4 + size
    return False


def make_context(folder, version, mode):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2 if version == "2" else ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    if mode == "forgets":
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    return context


def serve(connection, context, folder, mode):
    connection.settimeout(5)
    if mode == "breaks" and offers_session(connection.recv(4096, socket.MSG_PEEK)):
        print("broken", flush=True)
        return
    with context.wrap_socket(connection, server_side=True) as tls:
        print(tls.version(), "resumed" if tls.session_reused else "full", flush=True)
        tls.recv(4096)
        tls.sendall(f"HTTP/1.1 {(folder / 'status').read_text()} is it\r\nContent-Length: 0\r\n\r\n".encode())
        tls.recv(1)


def main():
    folder, version, mode = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    context = make_context(folder, version, mode)

    def reload(*_):
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        print("loaded", flush=True)

    signal.signal(signal.SIGHUP, reload)
    with socket.create_server(("10.77.0.10", PORT)) as server:
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            with connection:
                if mode == "forgets":
                    context = make_context(folder, version, mode)
                try:
                    serve(connection, context, folder, mode)
                except OSError:
                    pass


if __name__ == "__main__":
    main()
