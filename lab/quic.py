# SPDX-License-Identifier: BSD-3-Clause
"""HTTP/3 servers on the proxies, and clients that change their addresses: the programs of tests/quic, which script/quic builds."""

import collections
import functools
import json
import operator
import os
import signal
import subprocess

from lab.load import TIMEOUT_S as ANSWER_S
from lab.tools import BUILD, INSTALLED, TIMEOUT_S, LabError, cli, read, write
from lab.topology import CLIENTS4, CLIENTS6, QUIC_PORT, VIPS

SERVER, CLIENT = (f"{BUILD}/quic/{name}" for name in ("server", "client"))
# Fixed, as the other keys of the lab. Connection IDs of 12 bytes, as server/main.go wants.
CONFIG = {"id": 0, "server_id_length": 3, "nonce_length": 8, "key": "8f95f09245765f80256934e50c66207f"}
NEXT_CONFIG = {**CONFIG, "id": 1, "key": "fdf726a9893ec05c0632d3956680baf0"}
MOST = 2500  # connections of a process: each has up to four sockets, and a process may have 20 000 files in some containers


def missing():
    """Why no scenario with QUIC can run here, or None."""
    if os.path.exists(SERVER) and os.path.exists(CLIENT):
        return None
    return "the package has no HTTP/3 programs: use the source tree" if INSTALLED else f"{SERVER} is missing: run script/quic"


def server_id(name):
    """The server ID of a proxy."""
    return f"ed{int(name.rpartition('-')[2]):04x}"


def together(one, other):
    """The report of two clients."""
    joined = {}
    for name, value in one.items():
        if isinstance(value, dict):
            joined[name] = dict(collections.Counter(value) + collections.Counter(other[name]))
        else:
            join = {"fewest_requests": min, "longest_answer_s": max}.get(name, operator.add)
            joined[name] = join(value, other[name])
    return joined


class QuicServer:
    """Without configuration at first: its connection IDs are unroutable."""

    def __init__(self, host, folder):
        self.host, self.conf, self.log = host, f"{folder}/quic.json", f"{folder}/quic.log"
        write(self.conf, "")

    def start(self):
        """Returns at once; wait_ready() waits."""
        with open(self.log, "a") as log:
            self.process = self.host.start(
                SERVER, self.host.name, f":{QUIC_PORT}", self.conf, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)

    def wait_ready(self):
        self._expect("ready")

    def configure(self, table, address, number):
        """Gives the server its ID and the configuration with this number. New connection IDs have them; connections keep those they have."""
        write(self.conf, cli("quic", "server-config", table, address, "--for", "quic-go", "--id", str(number)))
        self.process.send_signal(signal.SIGHUP)
        self._expect("reloaded")

    def _expect(self, word):
        if self.process.stdout.readline() != f"{word}\n":
            raise LabError(f"{self.host.name}: the HTTP/3 server did not print '{word}':\n{read(self.log)}")


class QuicClients:
    """Running clients of tests/quic. When this is made, all their connections are open."""

    def __init__(self, host, held, short=2, **settings):
        shares = [min(MOST, held - first) for first in range(0, held, MOST)]
        settings = {
            "vips": VIPS, "sources": {"4": CLIENTS4, "6": CLIENTS6}, "port": QUIC_PORT, "short": short,
            # However many connections there are, they ask as often together.
            "pause_ms": max(400, held), "moves": 0.2, "timeout_ms": 1000 * ANSWER_S, **settings,
        }
        self.processes = [
            host.start(CLIENT, json.dumps({**settings, "held": share, "seed": seed}), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for seed, share in enumerate(shares)]
        self.first = self._answer()

    def ask(self, command="report"):
        """`move` and `calm` begin and end the changes of addresses; see client/main.go. Returns a report."""
        for process in self.processes:
            process.stdin.write(f"{command}\n")
            process.stdin.flush()
        return self._answer()

    def stop(self):
        """Sends a last request on each connection. Returns the last report."""
        report = self.ask("stop")
        for process in self.processes:
            process.stdin.close()
            process.wait(TIMEOUT_S)
        return report

    def _answer(self):
        lines = [process.stdout.readline() for process in self.processes]
        if not all(lines):
            raise LabError("the clients of HTTP/3 stopped: see their message above")
        return functools.reduce(together, map(json.loads, lines))
