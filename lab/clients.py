# SPDX-License-Identifier: BSD-3-Clause
"""Programs and connections on the client's host: the load (load.py), single connections, downloads and uploads."""

import hashlib
import json
import socket
import subprocess
import sys
import time

from lab.proxy import DOWNLOAD
from lab.tools import TIMEOUT_S, TREE, LabError
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, HTTP_PORT, VIPS

HELD, SHORT_WORKERS = 200, 4
DIALOGUE_S = 10  # limit for an answer in a Dialogue
UPLOAD_CHUNKS = 50
PYTHON = [sys.executable, "-B"]


class Load:
    """A running load.py. When it is made, all long-lived connections are open and short ones come and go."""

    def __init__(self, client, vips=VIPS, held=HELD, short=SHORT_WORKERS, **more):
        settings = {
            "vips": vips, "sources": {"4": CLIENTS4, "6": CLIENTS6}, "held": held, "short": short,
            "echo_port": ECHO_PORT, "http_port": HTTP_PORT, **more,
        }
        self.process = client.start(
            *PYTHON, f"{TREE}/lab/load.py", json.dumps(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.first = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise LabError("the load stopped: see its message above")
        return json.loads(line)

    def _ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._answer()

    def mark(self, label):
        self._ask(f"mark {label}")

    def finish(self, proxy):
        """Makes the clients of a proxy end their long-lived connections and open others. Returns how many they ended."""
        return self._ask(f"finish {proxy}")["finished"]

    def connections(self):
        """The long-lived connections: [((VIP, client address, client port), proxy)]"""
        return self._ask("held")["held"]

    def report(self):
        return self._ask("report")

    def stop(self):
        """Ends all connections. Returns the last report."""
        report = self._ask("stop")
        self.process.stdin.close()
        self.process.wait(TIMEOUT_S)
        return report


class Dialogue:
    """A connection from the client's host, with a chosen source address and port."""

    def __init__(self, client, address, port, vip, vip_port):
        self.socket = client.socket(socket.AF_INET6 if ":" in vip else socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(DIALOGUE_S)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, port))
        self.socket.connect((vip, vip_port))
        self.stream = self.socket.makefile("rwb")

    def ask(self, text):
        """Sends text to the echo service. Returns the name of the proxy that answers."""
        return self._ask(text.encode() + b"\n", text)

    def _ask(self, data, text):
        self.stream.write(data)
        self.stream.flush()
        proxy, _, rest = self.stream.readline().decode().rstrip("\n").partition(" ")
        if rest != text:
            raise LabError(f"the echo of '{text}' is '{rest}'")
        return proxy

    def upload(self, data, seconds):
        """Sends data over `seconds`. Compares the checksum that the service answers with."""
        self.stream.write(b"upload %d\n" % len(data))
        chunk = len(data) // UPLOAD_CHUNKS + 1
        for at in range(0, len(data), chunk):
            self.stream.write(data[at : at + chunk])
            self.stream.flush()
            time.sleep(seconds / UPLOAD_CHUNKS)
        return self._ask(b"", hashlib.sha256(data).hexdigest())

    def http_proxy(self):
        """Sends an HTTP request. Returns the name of the proxy whose nginx answers."""
        self.stream.write(b"GET / HTTP/1.0\r\n\r\n")
        self.stream.flush()
        return self.stream.read().decode().split()[-1]

    def close(self):
        self.stream.close()
        self.socket.close()


def start_download(client, address, port, vip, path, bytes_per_second):
    """Starts curl with a chosen source address and port. finished_download() waits for it."""
    host = f"[{vip}]" if ":" in vip else vip
    return client.start(
        "curl", "--silent", "--show-error", "--fail", "--max-time", "60", "--interface", address, "--local-port", str(port),
        "--limit-rate", str(bytes_per_second), "--output", path, f"http://{host}/download",
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finished_download(process, path):
    """Waits for a download. Returns None if the file is the proxies' one, otherwise what went wrong."""
    _, message = process.communicate()
    if process.returncode:
        return message.strip()
    return None if sha256_of(path) == sha256_of(DOWNLOAD) else "wrong checksum"


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
