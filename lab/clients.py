# SPDX-License-Identifier: BSD-3-Clause
"""What runs on the client's host: the load (load.py), seen from a scenario; single requests; downloads and uploads."""

import hashlib
import json
import socket
import subprocess
import sys
import time

from lab.proxy import DOWNLOAD
from lab.tools import TREE, LabError
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, HTTP_PORT, VIPS

HELD, SHORT_WORKERS = 200, 4
TIMEOUT_S = 10  # of a single connection
UPLOAD_CHUNKS = 50
PYTHON = [sys.executable, "-B"]


class Load:
    """Started: all long-lived connections are open, and short ones come and go."""

    def __init__(self, client, vips=VIPS, held=HELD, short=SHORT_WORKERS):
        settings = {
            "vips": vips, "sources": {"4": CLIENTS4, "6": CLIENTS6}, "held": held, "short": short,
            "echo_port": ECHO_PORT, "http_port": HTTP_PORT,
        }
        self.process = client.start(
            *PYTHON, f"{TREE}/lab/load.py", json.dumps(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.first = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise LabError("the load ended: see its message above")
        return json.loads(line)

    def _ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._answer()

    def mark(self, label):
        self._ask(f"mark {label}")

    def finish(self, proxy):
        """Lets the clients of a proxy end their long-lived connections, and open others. Returns how many there were."""
        return self._ask(f"finish {proxy}")["finished"]

    def connections(self):
        """[((VIP, address, port), proxy)] of the long-lived ones."""
        return self._ask("held")["held"]

    def report(self):
        return self._ask("report")

    def stop(self):
        """The last report: all connections have ended, well or not."""
        report = self._ask("stop")
        self.process.stdin.close()
        self.process.wait(10)
        return report


class Dialogue:
    """A single connection from a chosen address and port, on the client's host."""

    def __init__(self, client, address, port, vip, vip_port):
        self.socket = client.socket(socket.AF_INET6 if ":" in vip else socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, port))
        self.socket.connect((vip, vip_port))
        self.stream = self.socket.makefile("rwb")

    def ask(self, text):
        """The name of the proxy whose echo service answers."""
        return self._ask(text.encode() + b"\n", text)

    def _ask(self, data, text):
        self.stream.write(data)
        self.stream.flush()
        proxy, _, rest = self.stream.readline().decode().rstrip("\n").partition(" ")
        if rest != text:
            raise LabError(f"asked '{text}', and was answered '{rest}'")
        return proxy

    def upload(self, data, seconds):
        """Spread over some time. The service answers with a checksum, which is compared."""
        self.stream.write(b"upload %d\n" % len(data))
        chunk = len(data) // UPLOAD_CHUNKS + 1
        for at in range(0, len(data), chunk):
            self.stream.write(data[at : at + chunk])
            self.stream.flush()
            time.sleep(seconds / UPLOAD_CHUNKS)
        return self._ask(b"", hashlib.sha256(data).hexdigest())

    def http_proxy(self):
        """The name in nginx's answer."""
        self.stream.write(b"GET / HTTP/1.0\r\n\r\n")
        self.stream.flush()
        return self.stream.read().decode().split()[-1]

    def close(self):
        self.stream.close()
        self.socket.close()


def start_download(client, address, port, vip, path, bytes_per_second):
    """curl, from a chosen address and port. Its result is finished_download()."""
    host = f"[{vip}]" if ":" in vip else vip
    return client.start(
        "curl", "--silent", "--show-error", "--fail", "--max-time", "60", "--interface", address, "--local-port", str(port),
        "--limit-rate", str(bytes_per_second), "--output", path, f"http://{host}/download",
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finished_download(process, path):
    """What went wrong, or None: the file is as the proxies have it."""
    _, message = process.communicate()
    if process.returncode:
        return message.strip()
    return None if sha256_of(path) == sha256_of(DOWNLOAD) else "wrong checksum"


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
