# SPDX-License-Identifier: BSD-3-Clause
"""glb-fleet on a host of its own: a folder, with a stand-in for the director."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from etcd import encode
from lab.tools import TIMEOUT_S, wait_until
from support.outputs import check_output
from support.ports import reserved_port
from support.tree import CLI, FLEET

PREFIX = "/glb/test"
KEYS = {"hash_key": "1f1e2d3c4b5a69788796a5b4c3d2e1f0", "seed": "b0b1c2d3e4f5061728394a5b6c7d8e9f"}


def table(*backends, keys=None, replaces=None, **more):
    """The text of a table. Backends: the last numbers of their addresses."""
    members = {"name": "web", **(keys or KEYS), "binds": [{"ip": "203.0.113.10", "proto": "tcp", "port": 80}],
               "backends": [{"ip": f"192.0.2.{i}", "state": "active"} if isinstance(i, int) else i for i in backends], **more}
    return json.dumps({"tables": [members], **({"replaces": replaces} if replaces else {})}, indent=1)


def value_of(value):
    if isinstance(value, dict):
        return "{ " + "".join(f"{key} = {value_of(each)}; " for key, each in value.items()) + "}"
    return json.dumps(value)


def build(folder, text, path):
    """What glb-healthcheck does: it sets `healthy`, and builds the binary table."""
    document = json.loads(text)
    document["tables"][0]["backends"][0]["healthy"] = False
    (folder / "dst.json").write_text(json.dumps(document))
    subprocess.run([CLI, "build-config", "--force", folder / "dst.json", path], check=True, capture_output=True)


class Agent:
    """`with agent:` runs the director and the agent."""

    def __init__(self, folder, etcd, name="d1", **keys):
        self.folder, self.etcd, self.name = folder, etcd, name
        folder.mkdir(exist_ok=True)
        self.ports = contextlib.ExitStack()  # holds the port until the test ends
        self.port = self.ports.enter_context(reserved_port())
        self.process = self.director = None
        self.environment = {**os.environ, "RUNTIME_DIRECTORY": str(folder)}
        self.environment.pop("NOTIFY_SOCKET", None)
        self.prefix = []  # words before the command of the daemon
        self.configure(**keys)

    def configure(self, **keys):
        values = {"etcd": {"endpoints": self.etcd.endpoints, "timeout_ms": 3000}, "prefix": PREFIX, "name": self.name,
                  "table": self.path("table.json"), "build": self.path("table.bin"), "notify": self.path("director.pid"), "look_ms": 100,
                  "reload_timeout_ms": 4000, "keys_dir": self.path("keys"), "state_file": self.path("state.json"),
                  "status_file": self.path("status.json"), "listen": f"127.0.0.1:{self.port}", **keys}
        self.path("fleet.conf", Path).write_text("".join(f"{key} = {value_of(each)};\n" for key, each in values.items() if each is not None))

    def path(self, name, kind=str):
        return kind(self.folder / name)

    @property
    def table(self):
        return self.folder / "table.json"

    def answer(self, **answers):
        new = self.folder / "answers.new"
        new.write_text(json.dumps(answers))
        new.rename(self.folder / "answers.json")

    def start_director(self):
        (self.folder / "director.pid").unlink(missing_ok=True)
        self.director = subprocess.Popen([sys.executable, Path(__file__).parent / "programs/director.py", self.folder, CLI])
        wait_until((self.folder / "director.pid").exists, "the director")
        return self

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.prefix, FLEET, "run", "--config-file", self.folder / "fleet.conf"], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=self.environment)
        return self

    def __enter__(self):
        return self.start_director().start()

    def __exit__(self, *_):
        """Nobody writes in the folder after this: a child process dies a moment later than the agent that is killed."""
        children = []
        for process in (self.process, self.director):
            if process and process.poll() is None:
                process.send_signal(signal.SIGSTOP)  # it starts no other one
                children += [Path(f"/proc/{child}") for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
                process.kill()
            if process:
                process.wait()
        wait_until(lambda: not any(map(Path.exists, children)), "the child processes to end")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(TIMEOUT_S)

    def kill_with_children(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.stop(signal.SIGKILL)
        for child in children:
            os.kill(int(child), signal.SIGKILL)

    def call(self, command, *words, code=0):
        done = subprocess.run([FLEET, command, "--config-file", self.folder / "fleet.conf", *words], capture_output=True, text=True,
                              timeout=TIMEOUT_S, env=self.environment, check=False)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    @property
    def log(self):
        return (self.folder / "log").read_text()

    def wait_log(self, text, count=1):
        wait_until(lambda: self.log.count(text) >= count, lambda: f"'{text}' {count} times in:\n{self.log}")

    def record(self):
        text = self.etcd.get(f"{PREFIX}/directors/{self.name}")
        if text:
            check_output("director record", json.loads(text))
        return json.loads(text) if text else None

    def status(self):
        try:
            status = json.loads((self.folder / "status.json").read_text())
        except FileNotFoundError:
            return None
        check_output("fleet status", status)
        return status

    def wait_record(self, condition):
        """Waits until the record in etcd is so, and returns it."""
        found = []

        def look():
            found[:] = [self.record()]
            return found[0] and condition(found[0])
        wait_until(look, lambda: f"{found}\n{self.log}")
        return found[0]

    def wait_status(self, condition):
        wait_until(lambda: (status := self.status()) and condition(status), lambda: f"{self.status()}\n{self.log}")
        return self.status()

    def put(self, text, key="table"):
        """Writes any bytes to a key, and returns the revision."""
        return int(self.etcd.ask("/v3/kv/put", {"key": encode(f"{PREFIX}/{key}"), "value": encode(text)})["header"]["revision"])

    def delete(self, key="table"):
        self.etcd.delete(f"{PREFIX}/{key}")

    def etcd_table_revision(self):
        return int(self.etcd.ask("/v3/kv/range", {"key": encode(f"{PREFIX}/table")})["kvs"][0]["mod_revision"])

    def show(self):
        return subprocess.run([CLI, "show", "--json", self.folder / "table.bin"], check=True, capture_output=True, text=True).stdout

    def wait_used(self, revision):
        return self.wait_record(lambda record: record["table"]["revision"] == revision)

    def wait_refused(self, revision, reason):
        record = self.wait_record(lambda record: record["refused"] and record["refused"]["revision"] == revision)
        assert reason in record["refused"]["reason"], record
        return record

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=TIMEOUT_S) as page:
            lines = [line for line in page.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
