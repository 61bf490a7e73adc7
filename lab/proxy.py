# SPDX-License-Identifier: BSD-3-Clause
"""A proxy on a host of its own: glb-redirect before the kernel's TCP, nginx, and a service with long-lived connections."""

import json
import os
import subprocess
import sys

from lab.tools import TREE, LabError, program, read, write
from lab.topology import ECHO_PORT, HTTP_PORT

DOWNLOAD = "/run/lab/www/download"
DOWNLOAD_BYTES = 5_000_000
NGINX_CONF = """\
daemon off;
user root;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
	access_log off;
	keepalive_timeout 600;
	keepalive_requests 1000000;
	client_body_temp_path {folder}/body;
	proxy_temp_path {folder}/proxy;
	fastcgi_temp_path {folder}/fastcgi;
	uwsgi_temp_path {folder}/uwsgi;
	scgi_temp_path {folder}/scgi;
	server {{
		listen {port} backlog=1024;
		listen [::]:{port} backlog=1024;
		root /run/lab/www;
		add_header X-Proxy {name} always;
		location = / {{ return 200 "{name}\\n"; }}
	}}
}}
"""


def make_download():
    """What /download serves: the same on every proxy and in every lab."""
    os.makedirs(os.path.dirname(DOWNLOAD), exist_ok=True)
    block = bytes(range(256)) * 16
    with open(DOWNLOAD, "wb") as file:
        for number in range(DOWNLOAD_BYTES // len(block) + 1):
            file.write(number.to_bytes(4, "big") + block[4:])
        file.truncate(DOWNLOAD_BYTES)


class Proxy:
    def __init__(self, network, leg):
        self.name, self.leg, self.network = leg.name, leg, network
        self.host = network.add_proxy(leg)
        self.powered = True
        self.folder = f"/run/lab/{self.name}"
        os.mkdir(self.folder)

    @property
    def address(self):
        return self.leg.address

    def start(self):
        """Does not wait: see wait_ready()."""
        self.host.run([program("glb-redirect"), "attach", "eth0"], stdout=subprocess.DEVNULL)
        conf = f"{self.folder}/nginx.conf"
        write(conf, NGINX_CONF.format(folder=self.folder, name=self.name, port=HTTP_PORT))
        with open(f"{self.folder}/services.log", "w") as log:
            self.nginx = self.host.start(
                ["nginx", "-e", f"{self.folder}/nginx.log", "-c", conf], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.echo = self.host.start(
                [sys.executable, "-B", f"{TREE}/lab/echo.py", self.name, str(ECHO_PORT)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)

    def wait_ready(self):
        if self.echo.stdout.readline() != "ready\n":
            raise LabError(f"{self.name}'s service did not start:\n{read(f'{self.folder}/services.log')}")

    def stats(self):
        return json.loads(self.host.output([program("glb-redirect"), "stats", "eth0", "--json"]))["eth0"]

    def power_off(self):
        self.network.unplug(self.leg)
        self.powered = False
