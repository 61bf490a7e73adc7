# SPDX-License-Identifier: BSD-3-Clause
"""A proxy on its own host: glb-redirect in front of the kernel's TCP, nginx, and an echo service. HAProxy can stand before both."""

import json
import os
import signal
import subprocess
import sys

from lab.haproxy import LOCAL, LOCAL_ECHO_PORT, LOCAL_HTTP_PORT, Haproxy
from lab.quic import QuicServer
from lab.tools import TIMEOUT_S, TREE, LabError, endpoint, program, read, write
from lab.topology import ECHO_PORT, HEALTH_URI, HTTP_PORT, VIP4, VIP6

EXPORTER_PORT = 19522
DOWNLOAD = "/run/lab/www/download"
DOWNLOAD_BYTES = 5_000_000
# The network of the directors and the proxies.
ALLOW_FROM = 'allow_from = ["{}"];\n'
ALLOW_TO = f'allow_to = ["{VIP4}", "{VIP6}"];\n'
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
		{listen}
		root /run/lab/www;
		add_header X-Proxy {name} always;
		location = / {{ return 200 "{name}\\n"; }}
		location = {health} {{ root {folder}; }}
	}}
}}
"""


def make_download():
    """Writes the file that /download serves. It is the same on every proxy and in every lab."""
    os.makedirs(os.path.dirname(DOWNLOAD), exist_ok=True)
    block = bytes(range(256)) * 16
    with open(DOWNLOAD, "wb") as file:
        for number in range(DOWNLOAD_BYTES // len(block) + 1):
            file.write(number.to_bytes(4, "big") + block[4:])
        file.truncate(DOWNLOAD_BYTES)


class Proxy:
    def __init__(self, network, link, build, haproxy=False):
        self.name, self.link, self.network = link.name, link, network
        self.build = build  # of the programs on this host
        self.host = network.add_proxy(link)
        self.powered = True
        self.folder = f"/run/lab/{self.name}"
        self.redirect_conf = f"{self.folder}/redirect.conf"
        self.nginx_conf, self.log = f"{self.folder}/nginx.conf", f"{self.folder}/services.log"
        os.mkdir(self.folder)
        write(self.redirect_conf, ALLOW_FROM.format(network.shape.network) + ALLOW_TO)
        self.haproxy = Haproxy(self.host, self.folder) if haproxy else None
        self.quic = QuicServer(self.host, self.folder) if network.shape.quic else None

    @property
    def address(self):
        return self.link.address

    def start(self):
        """Returns at once; wait_ready() waits."""
        self.attach()
        if self.network.shape.metrics:
            self.start_exporter()
        if self.haproxy:
            self._start_services([LOCAL], LOCAL_HTTP_PORT, LOCAL_ECHO_PORT)
            self.haproxy.start()
        else:
            # A socket per family, as most services listen.
            self._start_services(["0.0.0.0", "::"], HTTP_PORT, ECHO_PORT)
        if self.quic:
            self.quic.start()

    def _start_services(self, addresses, http_port, echo_port):
        listen = "\n\t\t".join(f"listen {f'[{each}]' if ':' in each else each}:{http_port} backlog=1024;" for each in addresses)
        write(self.nginx_conf, NGINX_CONF.format(folder=self.folder, name=self.name, listen=listen, health=HEALTH_URI))
        self.pass_checks(True)
        self.start_nginx()
        self._echo_arguments = (str(echo_port), *addresses)
        self.start_echo()

    def start_echo(self):
        with open(self.log, "a") as log:
            self.echo = self.host.start(
                sys.executable, "-B", f"{TREE}/lab/echo.py", self.name, *self._echo_arguments,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)

    def start_exporter(self):
        with open(self.log, "a") as log:
            self.host.start(program("glb-redirect", self.build), "exporter", "--listen", endpoint(self.address, EXPORTER_PORT),
                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def attach(self, *options, device="eth0"):
        """Attaches glb-redirect, or replaces it by one with other options."""
        return self.host.run(program("glb-redirect", self.build), "attach", device, "--config-file", self.redirect_conf, *options)

    def serve(self, vips):
        """Adds VIPs to those of the host. The services listen on all addresses."""
        self.host.ip(*(f"addr add {vip}/{'128' if ':' in vip else '32'} dev lo{' nodad' if ':' in vip else ''}" for vip in vips))
        write(self.redirect_conf, read(self.redirect_conf).replace("allow_to = [", "allow_to = [" + "".join(f'"{vip}", ' for vip in vips)))
        self.host.run(program("glb-redirect", self.build), "reload", "eth0")

    def learn(self, table):
        """Gives a table with QUIC configurations to glb-redirect, if the lab has HTTP/3."""
        if not self.quic or not table.members.get("quic"):
            return
        path, conf = f"{self.folder}/forwarding_table.json", read(self.redirect_conf)
        write(path, table.json())
        if "quic_table" not in conf:
            write(self.redirect_conf, f'{conf}quic_table = "{path}";\n')
        self.host.run(program("glb-redirect", self.build), "reload", "eth0")

    def wait_ready(self):
        self.wait_echo()
        if self.haproxy:
            self.haproxy.wait_ready()
        if self.quic:
            self.quic.wait_ready()

    def wait_echo(self):
        if self.echo.stdout.readline() != "ready\n":
            raise LabError(f"{self.name}: the echo service did not start:\n{read(self.log)}")

    def start_nginx(self):
        with open(self.log, "a") as log:
            self.nginx = self.host.start(
                "nginx", "-e", f"{self.folder}/nginx.log", "-c", self.nginx_conf,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop_nginx(self):
        """Stops nginx like its systemd unit: it no longer listens, but answers the requests that it has."""
        self.nginx.send_signal(signal.SIGQUIT)
        self.nginx.wait(TIMEOUT_S)

    def pass_checks(self, healthy):
        """Makes the page for health checks exist or not. Pages for clients do not change."""
        page = self.folder + HEALTH_URI
        if healthy:
            write(page, "ok\n")
        else:
            os.remove(page)

    def passes_checks(self):
        return os.path.exists(self.folder + HEALTH_URI)

    def stats(self):
        return json.loads(self.host.run(program("glb-redirect", self.build), "stats", "eth0", "--json").stdout)["eth0"]

    def redirect_status(self):
        return json.loads(self.host.run(program("glb-redirect", self.build), "status", "eth0", "--json").stdout)["eth0"]

    def power_off(self):
        self.network.unplug(self.link)
        self.powered = False

    def crash(self):
        """Loses power, and with it all connections. reboot() brings the proxy back."""
        self.power_off()
        self.lose_connections()

    def lose_connections(self):
        """Ends the services and all connections. start_services() starts the services again."""
        for service in (self.nginx, self.echo):
            service.terminate()
            service.wait(TIMEOUT_S)
        self.host.run("ss", "--tcp", "--kill", f"( sport = :{HTTP_PORT} or sport = :{ECHO_PORT} )")  # nobody hears the RSTs

    def reboot(self):
        """The kernel still has glb-redirect, as if its unit had attached it again."""
        self.start_services()
        self.network.plug(self.link)
        self.powered = True

    def start_services(self):
        self.start_nginx()
        self.start_echo()
        self.wait_echo()
