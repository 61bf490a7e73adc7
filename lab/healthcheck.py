# SPDX-License-Identifier: BSD-3-Clause
"""A glb-healthcheck on a director's host. It checks the proxies of the operators' table and writes the director's table."""

import http.client
import json
import os
import socket
import subprocess
import time
from functools import partial

from lab.tools import TIMEOUT_S, LabError, endpoint, kill_group, program, read, wait_until, write

PORT = 19521
METRICS = 'listen = "{}";\n'  # for Prometheus on another host
INTERVAL_MS, TIMEOUT_MS, TRIGGER = 300, 250, 3
# The longest time from a failure to a table without the proxy. The director's reload comes on top.
BOUND_S = (TRIGGER * INTERVAL_MS + TIMEOUT_MS) / 1000 + 1
CONF = """\
forwarding_table = {{ src = "{src}"; dst = "{dst}"; }};
reload = {{ build = "{build}"; notify = "{pid_file}"; }};
interval_ms = {interval_ms};
timeout_ms = {timeout_ms};
trigger = {trigger};
hold_ms = 100;
log_probes = true;
"""


class Healthcheck:
    def __init__(self, director):
        self.director = director
        self.before = ()  # a command that runs it, such as unshare(1)
        shape = director.network.shape
        self.listen = ("::1" if shape.metrics and shape.ipv6 else "127.0.0.1"), PORT
        self.source, self.conf, self.log = (
            f"{director.folder}/{name}" for name in ("healthcheck.json", "healthcheck.conf", "healthcheck.log"))
        write(self.conf, CONF.format(
            src=self.source, dst=director.source, build=director.table, pid_file=director.pid_file,
            interval_ms=INTERVAL_MS, timeout_ms=TIMEOUT_MS, trigger=TRIGGER) + METRICS.format(endpoint(shape.every_address, PORT)) * shape.metrics)

    def start(self, table=None):
        """Starts with `table`, or with the table that it had. Returns at once; wait_ready() waits."""
        if table:
            write(self.source, table.json())
        with open(self.log, "a") as log:
            self.process = self.director.host.start(
                *self.before, program("glb-healthcheck", self.director.build), "--config-file", self.conf,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0)

    def wait_ready(self):
        """Waits until the director uses a table with the first results."""
        def ready():
            if self.process.poll() is not None:
                raise LabError(f"glb-healthcheck on {self.director.name} did not start:\n{read(self.log)}")
            try:
                status = self.status()
            except ConnectionRefusedError:
                return False
            return status["ready"] and status["reload"]["state"] == "done" and self.in_use()

        wait_until(ready, f"glb-healthcheck on {self.director.name}")

    def stop(self):
        self.process.terminate()
        if self.process.wait(TIMEOUT_S) != 0:
            raise LabError(f"glb-healthcheck on {self.director.name} ended with exit code {self.process.returncode}:\n{self.text()}")

    def kill(self):
        kill_group(self.process)

    def publish(self, table):
        """Replaces the operators' table with a rename. Returns when the director uses it."""
        write(f"{self.source}.new", table.json())
        os.replace(f"{self.source}.new", self.source)
        states = {each["ip"]: each["state"] for each in table.backends}
        wait_until(lambda: {ip: each["state"] for ip, each in self.written().items()} == states and self.in_use(),
                   f"{self.director.name} to have the operators' table")

    def status(self):
        connection = http.client.HTTPConnection(*self.listen)
        family = socket.AF_INET6 if ":" in self.listen[0] else socket.AF_INET
        connection.sock = self.director.host.socket(family, socket.SOCK_STREAM)
        connection.sock.settimeout(TIMEOUT_S)
        try:
            connection.sock.connect(self.listen)
            connection.request("GET", "/status")
            return json.load(connection.getresponse())
        finally:
            connection.close()

    def panics(self):
        return self.status()["tables"][0]["panic"]

    def backends(self):
        """{address: the proxy's part of /status}"""
        return {each["ip"]: each for each in self.status()["tables"][0]["backends"]}

    def verdicts(self):
        """{address: "healthy", "unhealthy" or "unknown"} by the checks. The table can differ, for instance in panic."""
        return {address: each["verdict"] for address, each in self.backends().items()}

    def http_reason(self, address):
        """The reason of the last HTTP check's result."""
        checks = self.backends()[address]["checks"]
        return next(each["reason"] for each in checks if each["check"].startswith("http "))

    def written(self):
        """{address: backend} of the table that it wrote."""
        return {each["ip"]: each for each in json.loads(read(self.director.source))["tables"][0]["backends"]}

    def written_health(self):
        """{address: whether it is healthy} of the table that it wrote."""
        return {ip: each["healthy"] for ip, each in self.written().items()}

    def saved(self):
        """{check: verdict} of the state file, which the next start reads."""
        return json.loads(read(f"{self.director.source}.state"))["verdicts"]

    def text(self):
        """The log."""
        return read(self.log)

    def in_use(self):
        return self.director.has_built() and self.director.uses_built()


# The steps from a check to the director. A function says whether a step has been taken for a proxy.
STEPS = {
    "verdict": lambda each, address, healthy: each.verdicts()[address] == ("healthy" if healthy else "unhealthy"),
    "dst": lambda each, address, healthy: each.written_health()[address] == healthy,
    "bin": lambda each, address, healthy: each.director.has_built(),
    "director": lambda each, address, healthy: each.in_use(),
}


def follow(healthchecks, address, healthy, since):
    """Waits until all `healthchecks` have taken each step. Returns {step: seconds from `since`}, to within 20 ms."""
    times = {}
    for step, reached in STEPS.items():
        for each in healthchecks:
            wait_until(partial(reached, each, address, healthy),
                       f"step '{step}' on {each.director.name}: {address} {'up' if healthy else 'down'}")
        times[step] = round(time.monotonic() - since, 2)
    return times
