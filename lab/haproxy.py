# SPDX-License-Identifier: BSD-3-Clause
"""HAProxy in front of the services of a proxy, which then listen on loopback. It runs as its systemd unit runs it: a master process
that starts a new worker for each reload, while old workers serve the connections that they have."""

import re
import socket
import subprocess
from dataclasses import dataclass

from lab.tools import LabError, check_tools, read, wait_until, write
from lab.topology import ECHO_PORT, HTTP_PORT

LOCAL = "127.0.0.1"
LOCAL_HTTP_PORT, LOCAL_ECHO_PORT = 8080, 7001
CLIENT_HEADER = "x-client"  # of each response: the address that HAProxy takes for the client's
ANSWER_S = 5  # limit for an answer of the master process
CONF = f"""\
global
	maxconn 4096
defaults
	mode tcp
	timeout connect 3s
	timeout client 1h
	timeout server 1h
frontend http
	mode http
	bind :{HTTP_PORT}
	bind :::{HTTP_PORT} v6only
	http-response set-header {CLIENT_HEADER} %[src]
	default_backend nginx
backend nginx
	mode http
	server nginx {LOCAL}:{LOCAL_HTTP_PORT}
frontend echo
	bind :{ECHO_PORT}
	bind :::{ECHO_PORT} v6only
	default_backend echo
backend echo
	server echo {LOCAL}:{LOCAL_ECHO_PORT}
"""
MASTER = re.compile(r"^\d+\s+master\s+(\d+) \[failed: (\d+)\]", re.MULTILINE)


@dataclass(frozen=True)
class Processes:
    """What the master process says about itself and its workers."""

    reloads: int
    failed: int
    old_workers: int  # that still have connections


def ask_master(path, command):
    """Sends a command to the master process at this socket. Returns the answer, or None while the process starts or reloads."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_S)
        try:
            client.connect(path)
            client.sendall(f"{command}\n".encode())
            client.shutdown(socket.SHUT_WR)
            return client.makefile().read()
        except OSError:
            return None


class Haproxy:
    def __init__(self, host, folder):
        check_tools(("haproxy",))
        self.host = host
        self.conf, self.master, self.log = (f"{folder}/haproxy.{name}" for name in ("cfg", "sock", "log"))

    def start(self):
        """Returns at once; wait_ready() waits."""
        write(self.conf, CONF)
        with open(self.log, "a") as log:
            self.process = self.host.start(
                "haproxy", "-W", "-S", self.master, "-f", self.conf, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_ready(self):
        wait_until(self.processes, f"HAProxy to start on {self.host.name}")

    def processes(self):
        """Processes, or None while the master process starts."""
        if self.process.poll() is not None:
            raise LabError(f"{self.host.name}: HAProxy ended:\n{read(self.log)}")
        shown = ask_master(self.master, "show proc") or ""
        found = MASTER.search(shown)
        if not found:
            return None
        _, _, old = shown.partition("# old workers\n")
        return Processes(int(found[1]), int(found[2]), len(re.findall(r"^\d+\s+worker", old, re.MULTILINE)))

    def reload(self):
        """Returns when the new worker serves."""
        wanted = self.processes().reloads + 1
        ask_master(self.master, "reload")
        done = wait_until(
            lambda: (now := self.processes()) and now.reloads >= wanted and now, f"reload {wanted} of HAProxy on {self.host.name}")
        if done.failed:
            raise LabError(f"{self.host.name}: HAProxy did not reload:\n{read(self.log)}")
