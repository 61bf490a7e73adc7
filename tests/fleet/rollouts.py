# SPDX-License-Identifier: BSD-3-Clause
"""A fleet of directors that exist only as records in etcd, and leaders of roll-outs, which are the program lead."""

import base64
import json
import re
import subprocess
import threading
import time
import urllib.request

from agent import PREFIX

from lab.tools import BUILD, TIMEOUT_S, wait_until
from support.cli import OK, backend, run, run_json

LEAD = BUILD / "tests/unit/lead"
LEASE_S = 15
FAST = ("--drained-after", "1s")
BACKENDS = [backend(f"192.168.50.{i}") for i in range(1, 6)]


def b64(text):
    return base64.b64encode(text.encode()).decode()


def timeless(text):
    """A table without the time at which a plan was made."""
    return re.sub(r'"20\d\d-[^"]*Z"', '"TIME"', text)


class Fleet:
    """Directors that use each table at once, unless `behind`, `refuses`, `unhealthy` or `gone` name them."""

    def __init__(self, etcd, folder, names):
        self.etcd, self.folder, self.prefix = etcd, folder, f"/{folder.name}"
        folder.mkdir(exist_ok=True)
        self.names, self.behind, self.refuses, self.unhealthy, self.gone = list(names), {}, {}, set(), set()
        self.published = []  # revisions and texts of the table that directors have seen
        self.uses, self.written, self.fingerprints, self.leaders = {}, {}, {}, []
        self.conf = folder / "fleet.conf"
        self.write_conf()
        self.ends, self.lock = threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self._follow, daemon=True)

    def write_conf(self, **settings):
        members = "".join(f' {key} = "{value}";' for key, value in settings.items())
        self.conf.write_text(f'etcd = {{ endpoints = {json.dumps(self.etcd.endpoints)};{members} }};\nprefix = "{self.prefix}";\n')
        self.conf.chmod(0o600)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        for leader in self.leaders:
            if leader.poll() is None:
                leader.kill()
            leader.wait()

    def call(self, path, request):
        last = None
        for patience in (2, 60):  # a member may be stopped, and all of them slow on a busy machine
            for member in self.etcd.members:
                try:
                    with urllib.request.urlopen(f"{member.client}{path}", json.dumps(request).encode(), timeout=patience) as reply:
                        return json.load(reply)
                except OSError as error:
                    last = error
        raise last

    def kv(self, key):
        """The value and the revision of PREFIX/key; None and 0: there is none."""
        found = self.call("/v3/kv/range", {"key": b64(f"{self.prefix}/{key}")}).get("kvs")
        return (base64.b64decode(found[0].get("value", "")).decode(), int(found[0]["mod_revision"])) if found else (None, 0)

    def put(self, key, value):
        return int(self.call("/v3/kv/put", {"key": b64(f"{self.prefix}/{key}"), "value": b64(value)})["header"]["revision"])

    def delete(self, key):
        self.call("/v3/kv/deleterange", {"key": b64(f"{self.prefix}/{key}")})

    def document(self):
        return json.loads(self.kv("rollout")[0] or "{}")

    def fingerprint(self, text):
        if text not in self.fingerprints:
            path = self.folder / "seen.json"
            path.write_text(text)
            self.fingerprints[text] = run_json("show", path)["fingerprint"]
        return self.fingerprints[text]

    def record(self, name, revision, fingerprint):
        return {"name": name, "version": "1", "started": "2026-01-01T00:00:00Z", "seen": revision,
                "table": {"revision": revision, "fingerprint": fingerprint, "digest": "0" * 16, "first_hops": "0" * 16},
                "refused": None, "healthy": name not in self.unhealthy,
                "reasons": ["no next hop"] if name in self.unhealthy else [], "changed": "2026-01-01T00:00:00Z"}

    def _follow(self):
        while not self.ends.wait(0.1):
            try:
                with self.lock:
                    self.look()
            except (OSError, AssertionError, ValueError):
                pass  # etcd is down, or somebody put what is no table

    def canary(self):
        """The director that uses another table than the rest, with its text and revision."""
        document = self.document()
        if document.get("state") not in ("running", "paused", "stopped") or document["steps"][document["step"]]["wait"] != "canary":
            return None, None, 0
        return document["canary"], *self.kv(f"rollouts/{document['id']}/{document['step']}")

    def look(self):
        canary, table = self.canary(), self.kv("table")
        text, revision = table
        if text and revision not in [seen for seen, _ in self.published]:
            self.published.append((revision, text))
        for name in self.names:
            text, revision = canary[1:] if name == canary[0] else table
            if name in self.gone:
                if self.written.pop(name, None):
                    self.delete(f"directors/{name}")
                continue
            if text and name not in self.behind and name not in self.refuses:
                self.uses[name] = (revision, self.fingerprint(text))
            record = self.record(name, *self.uses.get(name, (0, "")))
            if name in self.refuses and revision != self.uses[name][0]:
                record["refused"] = {"revision": revision, "reason": self.refuses[name]}
            if self.written.get(name) != record:
                self.put(f"directors/{name}", json.dumps(record))
                self.written[name] = record

    def lead(self, name):
        log = open(self.folder / f"{name}.log", "a")
        self.leaders.append(subprocess.Popen([LEAD, self.conf, name], stderr=log, stdout=log))
        return self.leaders[-1]

    def leader_of(self):
        return self.kv("leader")[0]

    def rollout(self, *args, code=OK, **kwargs):
        return run("rollout", *args, "--config", self.conf, code=code, **kwargs)

    def settle(self):
        """Waits until all directors use the table."""
        wait_until(lambda: all(self.written.get(name, {}).get("table", {}).get("revision") == self.kv("table")[1]
                               for name in self.names if name not in self.gone), "the directors")

    def wait_state(self, state, **members):
        def there():
            document = self.document()
            return document.get("state") == state and all(document[key] == value for key, value in members.items()) and document
        return wait_until(there, lambda: f"the state {state} {members}; it is {self.document()}")

    def steps(self):
        """The tables that directors have seen, in their order."""
        with self.lock:
            return [timeless(text) for _, text in self.published]


def wait_seconds(seconds):
    """Waits for what must not happen in this time."""
    time.sleep(min(seconds, TIMEOUT_S))


def start(fleet, *args, **kwargs):
    return fleet.rollout("start", fleet.wanted, "--detach", *FAST, *args, **kwargs)


def writes(fleet):
    """How often the table was written."""
    pair = fleet.call("/v3/kv/range", {"key": b64(f"{fleet.prefix}/table")})["kvs"][0]
    return int(pair["version"])


def check_done(fleet):
    """Each step was published once, in the order of the plan, and nothing else was."""
    document = fleet.wait_state("done")
    assert fleet.steps() == fleet.plan and writes(fleet) == 4
    assert json.loads(fleet.kv(f"history/{document['id']}")[0]) == document
    assert [fleet.kv(f"rollouts/{document['id']}/{i}")[0] for i in range(4)] == [None] * 4
    return document


# Of glb-fleet itself


def rollout_lines(agent, *words, **options):
    return run(*words, "--config", agent.path("fleet.conf"), **options).stdout.splitlines()


def document(etcd):
    return json.loads(etcd.get(f"{PREFIX}/rollout") or "{}")


def wait_state(etcd, state, **members):
    def there():
        found = document(etcd)
        return found.get("state") == state and all(found[key] == value for key, value in members.items()) and found
    return wait_until(there, lambda: f"{state} {members}; it is {document(etcd)}")
