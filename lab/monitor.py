# SPDX-License-Identifier: BSD-3-Clause
"""Prometheus on a host of the lab, with the shipped rules. It scrapes directors, health checks and proxies every second."""

import http.client
import os
import re
import socket
import subprocess

from lab.tools import INSTALLED, TREE, LabError, check_tools, read, wait_until, write
from lab.topology import MONITOR

PORT = 9090
LISTEN = ("127.0.0.1", PORT)
DIRECTOR_PORT, HEALTHCHECK_PORT, EXPORTER_PORT = 19520, 19521, 19522  # of /metrics
INTERVAL = "1s"
PROMETHEUS = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address={LISTEN[0]}:{PORT}",
              "--log.level=warn"]


def shipped(name):
    """A file of packaging/prometheus, which the package glb-monitoring installs."""
    path = f"/usr/share/glb/prometheus/{name}" if INSTALLED else f"{TREE}/packaging/prometheus/{name}"
    if not os.path.exists(path):
        raise LabError(f"{path} is missing: install glb-monitoring")
    return path


def configuration(example, targets):
    """The shipped example with the rules and the targets of the lab. `targets` is {job: [host:port]}."""
    text, jobs = re.subn(r"(job_name: (\S+)\n(?:.*\n)*?.*targets: )\[.*\]",
                         lambda found: f"{found[1]}[{', '.join(targets[found[2]])}]", example)
    text, intervals = re.subn(r"(scrape|evaluation)_interval: \S+", rf"\1_interval: {INTERVAL}", text)
    text, rules = re.subn(r"\S+/glb\.rules\.yml", shipped("glb.rules.yml"), text)
    assert (jobs, intervals, rules) == (len(targets), 2, 1), "the shipped example has another form"
    return text


class Monitor:
    def __init__(self, network):
        self.link = network.shape.monitor_link()
        self.host = network.add_host(self.link)
        self.host.ip(*self.link.default_routes("eth0"))
        self.folder = f"/run/lab/{MONITOR}"
        self.log = f"{self.folder}/prometheus.log"
        os.mkdir(self.folder)

    def start(self, directors, proxies, healthcheck):
        """Scrapes these hosts by their names, which only the monitor resolves."""
        targets = {
            "glb-director": [f"{each.name}:{DIRECTOR_PORT}" for each in directors],
            "glb-healthcheck": [f"{each.name}:{HEALTHCHECK_PORT}" for each in directors if healthcheck],
            "glb-redirect": [f"{each.name}:{EXPORTER_PORT}" for each in proxies],
            "glb-fleet": [],
        }
        hosts = f"{self.folder}/hosts"
        # With its own name, because Prometheus would wait for a DNS server at its start.
        write(hosts, f"127.0.0.1 localhost\n{self.link.address} {MONITOR}\n" + "".join(f"{each.link.address} {each.name}\n" for each in [*directors, *proxies]))
        self.host.run("mount", "--bind", hosts, "/etc/hosts")
        write(f"{self.folder}/prometheus.yml", configuration(read(shipped("prometheus.yml")), targets))
        with open(self.log, "a") as log:
            self.process = self.host.start("env", f"--chdir={self.folder}", *PROMETHEUS, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise LabError(f"Prometheus did not start:\n{read(self.log)}")
            return self._get("/-/ready") == 200

        wait_until(ready, "Prometheus")

    def _get(self, path):
        """The status of a reply, or None."""
        connection = http.client.HTTPConnection(*LISTEN)
        connection.sock = self.host.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            connection.sock.connect(LISTEN)
            connection.request("GET", path)
            return connection.getresponse().status
        except ConnectionRefusedError:
            return None
        finally:
            connection.close()


def check_monitor():
    check_tools(("prometheus",))
    shipped("glb.rules.yml")
