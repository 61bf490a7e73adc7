# SPDX-License-Identifier: BSD-3-Clause
"""Real etcd on free ports of 127.0.0.1, and the client of src/etcd as a process."""

import base64
import contextlib
import json
import queue
import shutil
import signal
import ssl
import subprocess
import threading
import time
import urllib.request

from lab.tools import BUILD, TIMEOUT_S, wait_until
from support.ports import reserved_port

TOOL = BUILD / "tests/unit/etcd_tool"


def encode(text):
    data = text.encode() if isinstance(text, str) else text
    return base64.b64encode(data).decode()


class Member:
    def __init__(self, cluster, name, client, peer):
        self.cluster, self.name = cluster, name
        self.folder = cluster.folder / name
        self.client, self.peer = (f"{scheme}://127.0.0.1:{port}" for scheme, port in ((cluster.scheme, client), ("http", peer)))
        self.process = None

    def start(self, *options, new=True):
        with open(self.cluster.folder / f"{self.name}.log", "a") as log:
            self.process = subprocess.Popen(
                ["etcd", "--name", self.name, "--data-dir", self.folder, "--listen-client-urls", self.client,
                 "--advertise-client-urls", self.client, "--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer,
                 "--initial-cluster", self.cluster.initial, "--heartbeat-interval", "200", "--election-timeout", "2000",
                 "--initial-cluster-state", "new" if new else "existing", *self.cluster.options, *options],
                stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """As an operator stops it: etcd ends its streams."""
        self.process.terminate()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)


class Etcd:
    """`with Etcd(folder, 3) as etcd`: a cluster that has a leader. tls: a folder of certificates.py with the
    certificates `server` and `client`."""

    def __init__(self, folder, members=1, options=(), tls=None, client_certificates=False):
        self.folder, self.tls, self.options = folder, tls, [*options]
        folder.mkdir(parents=True, exist_ok=True)
        self.scheme = "https" if tls else "http"
        if tls:
            self.options += ["--cert-file", tls / "server.pem", "--key-file", tls / "server-key.pem"]
        if client_certificates:
            self.options += ["--client-cert-auth", "--trusted-ca-file", tls / "ca.pem"]
        self.reserved = contextlib.ExitStack()
        ports = [self.reserved.enter_context(reserved_port()) for _ in range(2 * members)]
        self.members = [Member(self, f"m{i}", ports[2 * i], ports[2 * i + 1]) for i in range(members)]
        self.initial = ",".join(f"{member.name}={member.peer}" for member in self.members)
        self.token = None  # of the user who asks

    def __enter__(self):
        for member in self.members:
            member.start()
        try:
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for member in self.members:
            if member.process and member.process.poll() is None:
                member.kill()
        self.reserved.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def endpoints(self):
        return [member.client for member in self.members]

    def ask(self, path, request, member=None, timeout_s=30):
        """The reply of a member, by default of the first one, to a request in JSON."""
        url = (member or self.members[0]).client + path
        headers = {"Authorization": self.token} if self.token else {}
        context = ssl.create_default_context(cafile=self.tls / "ca.pem") if self.tls else None
        if context:
            context.load_cert_chain(self.tls / "client.pem", self.tls / "client-key.pem")
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(request).encode(), headers), timeout=timeout_s,
                                    context=context) as reply:
            return json.load(reply)

    def try_ask(self, *arguments, **options):
        """The same, or None."""
        try:
            return self.ask(*arguments, **options)
        except OSError:
            return None

    def wait_ready(self):
        wait_until(lambda: all(self.try_ask("/v3/kv/range", {"key": encode("ready")}, member, 5) for member in self.members),
                   lambda: f"etcd in {self.folder}")

    def enable_authentication(self):
        """Users root, reader (may read a/...) and writer (may also write there). Passwords are the names."""
        for role, permission in (("reader", "READ"), ("writer", "READWRITE")):
            self.ask("/v3/auth/role/add", {"name": role})
            self.ask("/v3/auth/role/grant", {"name": role, "perm": {"permType": permission, "key": encode("a/"), "range_end": encode("a0")}})
        for user in ("root", "reader", "writer"):
            self.ask("/v3/auth/user/add", {"name": user, "password": user})
            self.ask("/v3/auth/role/add", {"name": "root"}) if user == "root" else None
            self.ask("/v3/auth/user/grant", {"user": user, "role": user})
        self.ask("/v3/auth/enable", {})
        self.log_in()

    def log_in(self):
        self.token = None
        self.token = self.ask("/v3/auth/authenticate", {"name": "root", "password": "root"})["token"]

    def leader(self):
        """The member that leads."""
        def find():
            for member in self.members:
                status = self.try_ask("/v3/maintenance/status", {}, member, 5) if member.process.poll() is None else None
                if status and status.get("leader") == status["header"]["member_id"]:
                    return member
            return None
        return wait_until(find, "a leader of etcd")

    def put(self, key, value, member=None):
        self.ask("/v3/kv/put", {"key": encode(key), "value": encode(value)}, member)

    def delete(self, key):
        self.ask("/v3/kv/deleterange", {"key": encode(key)})

    def get(self, key):
        """The value, or None."""
        pairs = self.ask("/v3/kv/range", {"key": encode(key)}).get("kvs")
        return base64.b64decode(pairs[0].get("value", "")).decode() if pairs else None

    def revision(self):
        return int(self.ask("/v3/kv/range", {"key": encode("x")})["header"]["revision"])

    def compact(self):
        self.ask("/v3/kv/compaction", {"revision": str(self.revision()), "physical": True})

    def lease_ttl(self, lease):
        """Seconds that a lease has left; -1: it has ended."""
        return int(self.ask("/v3/lease/timetolive", {"ID": str(lease)}).get("TTL", 0))


class Client:
    """src/etcd as a process, see programs/etcd_tool.c. Events are kept until a test waits for them."""

    def __init__(self, folder, endpoints, **settings):
        number = len(list(folder.glob("client*.conf")))
        path = folder / f"client{number}.conf"
        lines = [f"endpoints = {json.dumps(list(endpoints))};", *(f"{key} = {json.dumps(str(value) if key != 'timeout_ms' else value)};"
                                                               for key, value in settings.items())]
        path.write_text(f"etcd = {{ {' '.join(lines)} }};\n")
        self.process = subprocess.Popen([TOOL, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.events, self.kept = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.events.put(json.loads(line))
        self.events.put({"event": "exit", "code": self.process.wait()})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """It ends by itself, so that sanitizers can look for leaks."""
        self.process.stdin.close()
        try:
            assert self.process.wait(TIMEOUT_S) == 0
        finally:
            self.process.kill()

    def send(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def wait(self, event, **members):
        """The next event of this kind with these members. Keeps the others, in their order."""
        deadline = time.monotonic() + TIMEOUT_S
        kept, self.kept = self.kept, []
        while True:
            if kept:
                found = kept.pop(0)
            else:
                try:
                    found = self.events.get(timeout=max(0.01, deadline - time.monotonic()))
                except queue.Empty:
                    raise AssertionError(f"no event {event} {members} but {self.kept}") from None
            if found["event"] == event and all(found.get(key) == value for key, value in members.items()):
                self.kept += kept
                return found
            self.kept.append(found)
            assert found["event"] != "exit" or event == "exit", f"the client ended: {self.kept}"

    def ask(self, *words):
        """The reply to a request."""
        self.send(*words)
        return self.wait({"get": "get", "ask": "ask", "state": "state", "id": "id", "end": "ended"}.get(words[0], "txn"))

    def state(self):
        return self.ask("state")

    def wait_state(self, condition):
        return wait_until(lambda: (state := self.state()) and condition(state) and state, lambda: f"a state; it is {self.state()}")
