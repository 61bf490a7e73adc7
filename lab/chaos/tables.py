# SPDX-License-Identifier: BSD-3-Clause
"""Which table each director used when. The rows of tables come from the model, not from the programs."""

import functools
import hashlib
import ipaddress
import json
import math
import os
import queue
import sys
import threading
import time

from lab.chaos.judge import Use
from lab.tools import TREE, LabError, cli_json, read, write
from lab.topology import ECHO_PORT

sys.path.append(str(TREE / "tests"))
from model import load_tables  # noqa: E402
from model.flow import Flow, Kind  # noqa: E402
from model.steer import packet_hash  # noqa: E402
from model.table import ROWS  # noqa: E402

PERIOD_S, ANSWER_S = 0.1, 1.0
HASH_FIELDS = ("src_addr", "src_port")  # of director.CONF
TCP = 6


def said(text):
    """What a table says without what health checks change on each director."""
    document = json.loads(text)
    for table in document["tables"]:
        table.pop("previous", None)
        for backend in table["backends"]:
            backend.pop("healthy", None)
    return json.dumps(document, sort_keys=True)


class Recorder(threading.Thread):
    """Asks a director again and again which table it uses, and keeps all JSON tables that are written for it."""

    def __init__(self, director, digests=None):
        super().__init__(daemon=True)
        self.director, self.digests, self._end = director, digests, threading.Event()
        self.samples = []  # [asked, answered, digest, generation]; of equal ones the first and the last. The digest of no answer is None
        self.texts = []  # (seen, JSON)
        self._known = None

    def run(self):
        while not self._end.wait(PERIOD_S):
            self._look()
            self._sample()

    def stop(self):
        self._end.set()
        self.join()

    def _look(self):
        try:
            found = os.stat(self.director.source)
            if (found.st_ino, found.st_mtime_ns, found.st_size) != self._known:
                text = read(self.director.source)
                json.loads(text)
                self.texts.append((time.monotonic(), text))
                self.digests.add(text)
                self._known = (found.st_ino, found.st_mtime_ns, found.st_size)
        except (OSError, ValueError):
            pass  # it is just being written

    def _sample(self):
        asked = time.monotonic()
        try:
            stats = self.director.telemetry("/glb/stats", ANSWER_S)
            seen = stats["digest"], stats["generation"]
        except (OSError, ValueError, KeyError, TypeError):  # it does not run, or has no table yet
            seen = None, 0
        sample = [asked, time.monotonic(), *seen]
        if len(self.samples) > 1 and self.samples[-1][2:] == sample[2:] == self.samples[-2][2:]:
            self.samples[-1] = sample
        else:
            self.samples.append(sample)

    def uses(self, digests):
        """All uses of tables. `digests`: {digest: text}. Also returns the digests that belong to no text."""
        found, unknown = [], {}
        for number, (asked, _, digest, generation) in enumerate(self.samples):
            # The first sample tells what was used since the director ran: connections are opened before it.
            before = self.samples[number - 1] if number else [-math.inf, asked, None, generation - 1]
            after = self.samples[number + 1] if number + 1 < len(self.samples) else self.samples[-1]
            if digest is None:
                continue
            if digest in digests:
                found.append(Use(self.director.name, digests[digest], before[0], after[1]))
            else:
                unknown[digest] = before[0], after[1]
            if digest not in digests or generation > before[3] + 1:
                # It may have used any table that was written since the last sample, or just before.
                around = self._around(before[0], after[1])
                found += [Use(self.director.name, text, before[0], after[1]) for text in around]
                if digest not in digests or generation - before[3] > len(around):
                    found.append(Use(self.director.name, None, before[0], after[1]))
        return found, unknown

    def _around(self, start, end):
        earlier = [text for seen, text in self.texts if seen < start][-2:]
        return {*earlier, *(text for seen, text in self.texts if start <= seen <= end + PERIOD_S)}


class Digests(threading.Thread):
    """Computes the digests of JSON tables while a run goes on: each takes a process and a fraction of a second."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.path, self._waiting, self._texts = f"{folder}/recorded.json", queue.SimpleQueue(), set()
        self.found = {}  # digest: text

    def add(self, text):
        self._waiting.put(text)

    def run(self):
        while text := self._waiting.get():
            if text in self._texts:
                continue
            self._texts.add(text)
            write(self.path, text)
            try:
                self.found[cli_json("show", self.path)["digest"]] = text
            except LabError:
                pass  # no table

    def stop(self):
        """Returns {digest: text} of all tables."""
        self.add(None)
        self.join()
        return self.found


class Rows:
    """Rows by the model. `name_of`: {address: name of the proxy}"""

    def __init__(self, name_of):
        self.name_of = name_of
        self._table = functools.lru_cache(32)(lambda text: load_tables(json.loads(text))[0])

    def names(self, text):
        """The proxies of a table."""
        return {self.name_of.get(str(ipaddress.ip_address(each["ip"])), "a stranger") for each in json.loads(text)["tables"][0]["backends"]}

    def of(self, text, flow):
        vip, address, port = flow
        source, table = ipaddress.ip_address(address).packed, self._table(text)
        packet = Flow(Kind.PORTS, source, ipaddress.ip_address(vip).packed, TCP, port, ECHO_PORT)
        row = packet_hash(table.hash_key, packet, HASH_FIELDS) % ROWS
        return [self.name_of.get(str(ipaddress.ip_address(hop.address)), "a stranger") for hop in table.row(row)]


def fingerprint(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]
