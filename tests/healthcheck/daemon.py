# SPDX-License-Identifier: BSD-3-Clause
"""Runs glb-healthcheck on a host, with its files in a folder."""

import http.client
import json
import os
import re
import signal

from lab.tools import TIMEOUT_S, wait_until
from support.outputs import check_output
from support.tree import HEALTHCHECK

PROGRAM = str(HEALTHCHECK)


def backend(ip, state="active", **checks):
    return {"ip": ip, "state": state, **({"healthchecks": checks} if checks else {})}


def table(*backends, name="web", vips=("203.0.113.10", "2001:db8:113::10"), **more):
    return {"name": name, "hash_key": "1f1e2d3c4b5a69788796a5b4c3d2e1f0", "seed": "b0b1c2d3e4f5061728394a5b6c7d8e9f",
            "binds": [{"ip": vip, "proto": "tcp", "port": 80} for vip in vips], "backends": list(backends), **more}


def fit(lines):
    """Whether the lines have at most 80 columns. A line with a long word may be longer, so that a path can be copied."""
    return all(len(line) <= 80 or max(map(len, line.split())) > 40 for line in lines)


class Daemon:
    """Options are keys of healthcheck.conf. Their values are libconfig text, Python numbers or booleans."""

    def __init__(self, host, folder, *tables, **options):
        self.host, self.folder = host, folder
        self.src, self.dst = folder / "src.json", folder / "dst.json"
        self.conf, self.log_file = folder / "healthcheck.conf", folder / "log"
        self.process = None
        self.write_src(*tables)
        self.write_conf(**options)

    def write_src(self, *tables, **more):
        new = self.folder / "src.new"
        new.write_text(json.dumps({**more, "tables": list(tables)}))
        new.rename(self.src)

    def write_conf(self, **options):
        options = {"forwarding_table": f'{{ src = "{self.src}"; dst = "{self.dst}"; }}', "interval_ms": 200,
                   "timeout_ms": 1000, "trigger": 2, "hold_ms": 0,
                   "max_shrink": 100,  # many tests replace all backends; test_guard.py sets it
                   **options}
        self.conf.write_text("".join(
            f"{key} = {str(value).lower() if isinstance(value, bool) else value};\n" for key, value in options.items()))

    def start(self, *prefix, **environment):
        with open(self.log_file, "a") as log:
            self.process = self.host.start(*prefix, PROGRAM, "--config-file", str(self.conf), stderr=log,
                                           env={**os.environ, **environment})
        return self

    def pid(self):
        """The process that was started is nsenter. Without --pid it executes the program in the same process."""
        return self.process.pid

    def kill(self, number):
        os.kill(self.pid(), number)

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            assert self.process.wait() == (0 if number == signal.SIGTERM else -number), self.log()

    def check_once(self):
        """Returns the exit code and {check: (result, reason)}."""
        run = self.host.run(PROGRAM, "--config-file", str(self.conf), "--check-once", check=False)
        lines = run.stdout.splitlines()
        assert lines and fit(lines), run.stdout + run.stderr
        rows = {}
        for result, row in re.findall(r"^  (\S+) +\S+ ms  (.*(?:\n {25}.*)*)", "\n".join(lines[1:]), re.MULTILINE):
            check, _, reason = re.sub(r"\n +", " ", row).partition(": ")
            rows[check] = (result, reason)
        return run.returncode, rows

    def get(self, path, method="GET", **headers):
        with self.host:
            connection = http.client.HTTPConnection("127.0.0.1", 19521, timeout=TIMEOUT_S)
            connection.connect()
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response.status, response.headers["Content-Type"], body

    def status(self):
        status = json.loads(self.get("/status")[2])
        check_output("status", status)
        return status

    def wait_ready(self):
        def ready():
            assert self.process.poll() is None, self.log()
            try:
                return self.status()["ready"]
            except OSError:
                return False

        wait_until(ready, lambda: f"ready: {self.log()}")
        wait_until(self.dst.exists, "first write")
        return self

    def log(self):
        return self.log_file.read_text() if self.log_file.exists() else ""

    def logged(self, text, times=1):
        wait_until(lambda: self.log().count(text) >= times, lambda: f"{times} x {text!r} in the log:\n{self.log()}")

    def healthy(self, index=0):
        """Returns {ip: healthy} of a table in dst."""
        document = json.loads(self.dst.read_text())
        return {backend["ip"]: backend["healthy"] for backend in document["tables"][index]["backends"]}

    def wait_healthy(self, expected, index=0):
        wait_until(lambda: self.healthy(index) == expected,
                   lambda: f"{expected} in dst; it is {self.healthy(index)}\n{self.log()}")


def probes(daemon):
    return sum(float(line.split()[1]) for line in daemon.get("/metrics")[2].splitlines()
               if line.startswith("glb_healthcheck_probes_total"))


def wait_probes(daemon, more):
    before = probes(daemon)
    wait_until(lambda: probes(daemon) >= before + more, f"{more} probes")
