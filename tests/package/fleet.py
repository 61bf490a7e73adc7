# SPDX-License-Identifier: BSD-3-Clause
"""The network of the walk from packages to a pair of directors: a router, a client, and machines that get everything else by the pages.

    client 198.51.100.0/24 --- router --- director-1 192.168.50.2, director-2 192.168.50.3
                                      --- proxy-1 192.168.51.10, proxy-2 192.168.51.11

Each machine has a link of its own to the router, so that no bridge is needed. The router has the same address on all links of a network.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from conftest import plug
from lab.net import Namespace, connect
from lab.tools import TREE
from machine import OLD, Machine

VIP, ECHO_PORT, HTTP_PORT = "203.0.113.10", 7000, 80
CLIENTS = [f"198.51.100.{host}" for host in range(11, 19)]
HOSTS = {"director-1": ("eth1", "192.168.50.2"), "director-2": ("eth1", "192.168.50.3"),
         "proxy-1": ("eth0", "192.168.51.10"), "proxy-2": ("eth0", "192.168.51.11")}
MTU = 1600  # of the links that carry GUE
SITE = """\
server {{
	listen 80 backlog=1024;
	add_header X-Proxy {name} always;
	location / {{ return 200 "{name}\\n"; }}
}}
"""


def reader(text):
    """A block in which the reader has replaced the example addresses."""
    for example, own in (("10.10.10.10", VIP), ("192.168.50.10 192.168.50.11 192.168.50.12", "192.168.51.10 192.168.51.11")):
        text = text.replace(example, own)
    return text


class Fleet:
    def __init__(self, work):
        self.folder = Path(work)
        self.folder.mkdir()
        self.router, self.client = Namespace("router"), Namespace("client")
        self.router.sysctl({"net.ipv4.ip_forward": 1, "net.ipv4.fib_multipath_hash_policy": 1})
        connect(self.client, "eth0", self.router, "to-client")
        self.client.offloads_off("eth0")
        self.router.ip("addr add 198.51.100.1/24 dev to-client")
        self.client.ip(*(f"addr add {address}/24 dev eth0" for address in CLIENTS), "route add default via 198.51.100.1")
        self.machines, self.services = {}, []
        for name in HOSTS:
            self.add(name, Machine(name, work))

    def add(self, name, machine):
        device, address = HOSTS[name]
        gateway = address.rpartition(".")[0] + ".1"
        plug(machine, device, self.router, f"to-{name}")
        machine.run(f"ip link set {device} mtu {MTU}; ip address add {address}/24 dev {device}; ip route add default via {gateway} mtu 1500")
        self.router.offload(f"to-{name}", "gro", "on")  # the other end of XDP in native mode
        self.router.ip(f"link set to-{name} mtu {MTU}", f"addr add {gateway} peer {address}/32 dev to-{name}")
        machine.repository(OLD)
        self.machines[name] = machine

    def serve(self, name):
        """The service of a proxy, which is the operator's own: nginx, and an echo for long-lived connections."""
        machine = self.machines[name]
        machine.run("DEBIAN_FRONTEND=noninteractive apt-get install -y nginx-light")
        machine.write("/etc/nginx/sites-enabled/default", SITE.format(name=name))
        machine.run("systemctl enable --now nginx; systemctl reload nginx")
        echo = subprocess.Popen(["nsenter", f"--target={machine.pid}", "--net", sys.executable, "-B", TREE / "lab/echo.py", name, str(ECHO_PORT), "0.0.0.0"],
                                stdout=subprocess.PIPE, text=True)
        assert echo.stdout.readline() == "ready\n"
        assert machine.output(f"exec 3<>/dev/tcp/127.0.0.1/{ECHO_PORT}; echo hello >&3; head -n 1 <&3") == f"{name} hello"
        self.services.append(echo)

    def addresses(self, name, text):
        """bird.conf of a director, with the addresses of the fleet. Its IPv6 session has no peer, and stays down."""
        device, address = HOSTS[name]
        return text.replace('"eth0"', f'"{device}"').replace("192.0.2.6", address).replace("192.0.2.5", "192.168.50.1")

    def route(self, text):
        """Starts BIRD on the router, with the page's configuration and a session for each director."""
        own = re.search(r"^protocol bgp director_1_4 .*?^}\n", text, flags=re.MULTILINE | re.DOTALL)[0]
        sessions = [own.replace("_1_4", f"_{number}_4").replace("192.0.2.6", HOSTS[f"director-{number}"][1]) for number in (1, 2)]
        conf = self.folder / "router.conf"
        conf.write_text(text[:text.index(own)] + "".join(sessions), encoding="utf-8")
        self.services.append(self.router.start("bird", "-f", "-c", str(conf), "-s", str(self.folder / "router.ctl"), stderr=subprocess.DEVNULL))

    def routes(self):
        return self.router.run("ip", "route", "show", VIP).stdout

    def explain(self, names):
        said = [self.machines[name].run("glb-announce status; birdc show protocols; journalctl --no-pager -n 20 -u glb-director -u glb-announce", check=False)
                for name in names]
        return "\n".join([self.routes(), *(each.stdout for each in said)])

    def explain_broken(self, broken):
        """What the proxies and directors say about connections that broke."""
        said = [f"{name}: " + self.machines[name].run(
            "glb-redirect stats eth0; nstat -as TcpOutRsts TcpEstabResets TcpExtListenDrops TcpExtTCPAbort*; journalctl --no-pager -n 20 -u glb-redirect@eth0 -u nginx",
            check=False).stdout for name in HOSTS if name.startswith("proxy")]
        said += [f"{name}: " + self.machines[name].run("glb-director-cli stats; journalctl --no-pager -n 40 -u glb-healthcheck", check=False).stdout
                 for name in HOSTS if name.startswith("director")]
        return "\n".join([str(broken[:10]), str(broken[-3:]), *said])

    def load(self, held=60, short=2):
        return Load(self.client, held, short)

    def close(self):
        for each in (*self.services, *(machine.process for machine in self.machines.values())):
            each.kill()
            each.wait()
        for each in (*self.machines.values(), self.router, self.client):
            each.close()


class Load:
    """Long-lived connections and a stream of short ones, by lab/load.py."""

    def __init__(self, client, held, short):
        settings = {"vips": [VIP], "sources": {"4": CLIENTS}, "held": held, "short": short, "echo_port": ECHO_PORT, "http_port": HTTP_PORT}
        self.process = client.start(sys.executable, "-B", f"{TREE}/lab/load.py", json.dumps(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answer()

    def _answer(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._answer()

    def stop(self):
        report = self.ask("stop")
        self.process.stdin.close()
        self.process.wait(10)
        return report
