# SPDX-License-Identifier: BSD-3-Clause
"""Runs the configuration of docs/howto/health-checks.md against three proxies. The output must be what the page shows."""

import json
import re
import socket
import subprocess
from itertools import groupby

import grpc_peers
import nginx
import peers
import pytest
from daemon import PROGRAM, backend, table
from lab.tools import wait_until
from network import make_hosts
from support.pages import block
from support.tree import CLI, TREE

PROXIES = ["192.168.50.10", "192.168.50.11", "192.168.50.12"]
PAGE = "docs/howto/health-checks.md"


def comparable(lines):
    """Removes durations, and sorts lines about verdicts that change together, because their order is random."""
    lines = [re.sub(r" +\d+\.\d ms", " N ms", line).rstrip() for line in lines]
    return [line for changes, run in groupby(lines, lambda line: " -> " in line)
            for line in (sorted(run) if changes else run)]


def printed(site, text):
    """Runs the commands of a block. Returns them with what they print now."""
    lines = []
    for line in text.splitlines():
        if line.startswith("$ "):
            words = line.removeprefix("$ ").split()
            words[0] = {"glb-director-cli": str(CLI), "glb-healthcheck": PROGRAM}[words[0]]
            run = subprocess.run(site.here.command(*words), cwd=site.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, check=False)
            lines += [line, *run.stdout.splitlines()]
    return comparable(lines)


class Site:
    """The page's healthcheck and its proxies, with an nginx for each."""

    def __init__(self, folder):
        self.folder, self.web = folder, {}
        self.here, self.proxies = make_hosts()
        self.here.ip("address add 192.168.50.3/24 dev wire")
        self.proxies.ip(*(f"address add {ip}/24 dev wire" for ip in PROXIES))
        self.tunnels = peers.start(self.proxies)
        (folder / "src.json").write_text(json.dumps({"tables": [table(*(backend(ip) for ip in PROXIES))]}))
        program, subcommand, _, *words = block(PAGE, "http_uri=/ gue").split()
        assert program == "glb-director-cli"
        subprocess.run([CLI, subcommand, folder / "src.json", *words], check=True, capture_output=True)
        checks = json.loads("{" + re.search(r'`("healthchecks": .*)`', (TREE / PAGE).read_text())[1] + "}")["healthchecks"]
        (made,) = json.loads((folder / "src.json").read_text())["tables"]
        assert [each["healthchecks"] for each in made["backends"]] == [checks] * len(PROXIES)

    def configure(self, more=""):
        (self.folder / "healthcheck.conf").write_text(block(PAGE, "reload = {") + more)

    def start_nginx(self, ip, reply="return 200"):
        servers = f"server {{{{ listen {ip}:80; {reply}; }}}}"
        self.web[ip] = nginx.start(self.proxies, self.folder / ip, servers)
        wait_until(lambda: self.accepts(ip), f"nginx on {ip}")

    def accepts(self, ip):
        with self.proxies, socket.socket() as client:
            return client.connect_ex((ip, 80)) == 0

    def stop_nginx(self, *ips):
        """All at once."""
        processes = [self.web.pop(ip) for ip in ips]
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()

    def close(self):
        self.stop_nginx(*self.web)
        self.tunnels.terminate()
        self.tunnels.wait()
        self.here.close()
        self.proxies.close()


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.close()


def test_check_once(site):
    site.configure()
    for ip in PROXIES[:2]:
        site.start_nginx(ip)
    first, *shown = block(PAGE, "--check-once").splitlines()
    command = first.removeprefix("$ ").split()
    assert command[0] == "glb-healthcheck"
    run = subprocess.run(site.here.command(PROGRAM, *command[1:]), cwd=site.folder, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    assert comparable([*run.stdout.splitlines(), "$ echo $?", str(run.returncode)]) == comparable(shown)


def test_check_more_than_a_port(site):
    """The commands of step 6, with a program that the page only names."""
    program = site.folder / "check_replicas"
    program.write_text("#!/bin/sh\n[ $1 = -H ] && echo \"OK: 0 s behind | lag=0\"\n")
    program.chmod(0o755)
    site.configure(block(PAGE, "commands = (").replace("/usr/local/lib/check_replicas", str(program)))
    for ip in PROXIES:
        site.start_nginx(ip, 'return 200 "welcome to $host"')
    assert printed(site, block(PAGE, "http_body=welcome")) == comparable(block(PAGE, "http_body=welcome").splitlines())


def test_check_a_grpc_service(site):
    site.configure()
    nginx.make_certificate(site.folder)
    server = grpc_peers.start(site.proxies, site.folder)
    for ip in PROXIES:
        site.start_nginx(ip)
    assert printed(site, block(PAGE, "grpc=50051")) == comparable(block(PAGE, "grpc=50051").splitlines())
    server.terminate()
    server.wait()


def test_watch_it(site):
    """Intervals are shorter than on the page, and the proxy is not held for failing twice in this short time."""
    site.configure("interval_ms = 500; timeout_ms = 400; hold_ms = 0;\n")
    for ip in PROXIES:
        site.start_nginx(ip)
    log = site.folder / "log"
    with open(log, "w") as output:
        daemon = site.here.start(PROGRAM, "--config-file", "healthcheck.conf", cwd=site.folder, stderr=output)

    def await_lines(text, times):
        wait_until(lambda: log.read_text().count(text) == times, lambda: f"{times} x {text!r} in {log.read_text()}")

    try:
        await_lines("written, 0 unhealthy", 1)
        site.stop_nginx(PROXIES[1])
        await_lines("written, 1 unhealthy", 1)
        site.start_nginx(PROXIES[1])
        await_lines("written, 0 unhealthy", 2)
        site.stop_nginx(*PROXIES)
        await_lines("panic", 1)
    finally:
        daemon.terminate()
        daemon.wait()
    printed = log.read_text().splitlines()
    assert printed.pop() == "glb-healthcheck: info: stopped by signal 15"
    assert comparable(printed) == comparable(block(PAGE, "unhealthy backend").splitlines())
