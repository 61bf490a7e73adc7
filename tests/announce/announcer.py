# SPDX-License-Identifier: BSD-3-Clause
"""glb-announce with a stand-in for the director's telemetry socket, and scripts in place of a routing daemon."""

import json
import os
import signal
import socket
import subprocess
import threading

from lab.tools import TIMEOUT_S, wait_until
from support.outputs import check_output
from support.tree import ANNOUNCE

GREETING = {"version": "DPDK 22.11", "max_output_len": 16384}
VIP, VIP6 = "203.0.113.10", "2001:db8:f::10"
# A routing daemon: a file in `on` for each announced VIP. With `broken` every command fails, with `hang` it does not end.
DAEMON = """#!/bin/sh
cd {folder} && echo "$@" >> calls || exit 1
[ ! -e hang ] || sleep 60
[ ! -e broken ] || {{ echo "a greeting"; cat broken; exit 3; }}
case $1 in
	enable) touch on/$2 ;;
	disable) rm -f on/$2 ;;
	show) for file in on/*; do echo "${{file#on/}} Static master4 up"; done ;;
esac
"""
DRIVER = """
announce = ["{folder}/daemon", "enable", "glb_{{name}}"];
withdraw = ["{folder}/daemon", "disable", "glb_{{name}}"];
check = ["{folder}/daemon", "show", "protocols"];
announced = "^glb_{{name}} +Static +[^ ]+ +up";
timeout_ms = 3000;
"""
# Short times, so that tests are quick. The tests assert on what happens, not on when.
CONF = {"driver": "driver.conf", "status_file": "status.json", "switch_file": "withdrawn.json", "interval_ms": 20, "timeout_ms": 500,
        "hold_ms": 0, "hold_max_ms": 0, "reassert_ms": 200, "withdraw_ms": 0}


class FakeDirector:
    """Answers like a director. `health` and `tables` may be changed at any time."""

    def __init__(self, folder, pid=100):
        self.path = folder / "dpdk/rte/dpdk_telemetry.v2"
        self.pid = pid
        self.health = {"state": "ok", "reasons": {}}
        self.generation = 1
        self.tables = [("web", 1, [VIP]), ("web6", 1, [VIP6])]  # name, good backends, addresses of binds
        self.silent = False
        self.answers = {}  # a question, or its first part: what is sent instead
        self.questions = []
        self._connections = []
        self._listener = None

    def __enter__(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(self.path))
        self._listener.listen()
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        """Ends like a process that was killed: the socket's file stays."""
        for each in [self._listener, *self._connections]:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()
        self._connections = []

    def _accept(self, listener):
        try:
            while True:
                connection, _ = listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()
        except OSError:
            pass

    def _serve(self, connection):
        try:
            if not self.silent:
                connection.send(json.dumps({**GREETING, "pid": self.pid}).encode())
            while question := connection.recv(1024).decode():
                self.questions.append(question)
                if not self.silent:
                    connection.send(json.dumps({question.split(",")[0]: self._answer(question)}).encode())
        except OSError:
            pass

    def _answer(self, question):
        for known in (question, question.split(",")[0]):
            if known in self.answers:
                return self.answers[known]
        if question == "/glb/health":
            return {**self.health, "generation": self.generation}
        if question.split(",")[1:2] in ([], [""]):
            first = int((question.split(",") + ["", "0"])[2] if "," in question else 0)
            tables = {str(i): {"index": i, "name": name, "good_backends": good} for i, (name, good, _) in enumerate(self.tables)}
            page = {i: table for i, table in tables.items() if first <= int(i) < first + 64}
            return {"generation": self.generation, "tables": page, "truncated": int(len(tables) > first + 64)}
        index, first = map(int, question.split(",")[1:])
        binds = self.tables[index][2]
        page = {str(i): {"bind": f"{bind} tcp 80-80"} for i, bind in enumerate(binds[first:first + 32])}
        return {"generation": self.generation, "binds": page, "truncated": int(len(binds) > first + 32)}

    def set_tables(self, *tables):
        self.tables, self.generation = list(tables), self.generation + 1

    def fail(self, state="failing", **reason):
        reason = {"severity": "failing", "cause": "link_down", "object": "port 0 (eth0)", "text": "the link is ", "text_2": "down", **reason}
        self.health = {"state": state, "reasons": {"0": {**reason, "severity": "degraded", "cause": "mtu_too_small"}, "1": reason}}


def value_of(value):
    if isinstance(value, dict):
        return "{ " + "".join(f"{key} = {value_of(each)}; " for key, each in value.items()) + "}"
    return json.dumps(value) if not isinstance(value, bool) else str(value).lower()


class Announcer:
    """glb-announce in a folder of its own. `with announcer.running():` runs the daemon."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "RUNTIME_DIRECTORY": str(folder)}
        self.environment.pop("NOTIFY_SOCKET", None)
        (folder / "on").mkdir()
        self.daemon = folder / "daemon"
        self.change_daemon(DAEMON.format(folder=folder))
        self.write_driver(DRIVER)
        self.configure()
        self.process = None
        self.prefix = []  # words before the command of the daemon

    def change_daemon(self, text):
        """Replaces the file, because nobody can run a program while it is written."""
        new = self.daemon.with_suffix(".new")
        new.write_text(text, encoding="ascii")
        new.chmod(0o755)
        new.rename(self.daemon)

    def write_driver(self, text):
        (self.folder / "driver.conf").write_text(text.format(folder=self.folder), encoding="ascii")

    def configure(self, **keys):
        values = {**CONF, **keys}
        for name in ("driver", "status_file", "switch_file"):
            values[name] = str(self.folder / values[name])
        lines = [f"{name} = {value_of(value)};" for name, value in values.items()]
        (self.folder / "announce.conf").write_text("\n".join(lines), encoding="ascii")

    def command(self, name, *words):
        return [ANNOUNCE, name, "--config-file", self.folder / "announce.conf", *words]

    def call(self, name, *words, code=0):
        done = subprocess.run(self.command(name, *words), capture_output=True, text=True, timeout=TIMEOUT_S, env=self.environment, check=False)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.prefix, *self.command("run")], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def stop(self, how=signal.SIGTERM):
        """Returns the exit code."""
        self.process.send_signal(how)
        return self.process.wait(TIMEOUT_S)

    @property
    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    @property
    def calls(self):
        path = self.folder / "calls"
        return path.read_text(encoding="ascii").splitlines() if path.exists() else []

    @property
    def changes(self):
        """The calls that announce or withdraw."""
        return [call for call in self.calls if not call.startswith("show")]

    @property
    def announced(self):
        return sorted(path.name for path in (self.folder / "on").iterdir())

    def status(self):
        status = json.loads((self.folder / "status.json").read_text(encoding="utf-8"))
        check_output("announce status", status)
        return status

    def wait_announced(self, *names):
        wait_until(lambda: self.announced == sorted(names), lambda: f"{names}: {self.announced}\n{self.log}")

    def wait_log(self, text, count=1):
        wait_until(lambda: self.log.count(text) >= count, lambda: f"'{text}' {count} times in:\n{self.log}")

    def wait_rounds(self, director, count=5):
        """Waits until the director was asked some more times."""
        asked = len(director.questions)
        wait_until(lambda: len(director.questions) >= asked + 2 * count, lambda: f"{count} rounds\n{self.log}")
