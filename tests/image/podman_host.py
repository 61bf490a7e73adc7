# SPDX-License-Identifier: BSD-3-Clause
"""A host with Podman in network namespaces, and two proxies at the other end of its link eth1."""

import json
import os
import resource
import subprocess
import sys

from lab.net import Namespace, connect
from support.tree import TREE

IMAGE = "localhost/glb-director"
OWN, PROXIES, VIP = "192.168.50.2", ["192.168.50.10", "192.168.50.11"], "203.0.113.10"
BUILT = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "glb-director")

# crun refuses a host that mounts controllers of cgroup v1 beside v2, as this one may do. Containers have no cgroups in these tests.
CGROUPS = "umount --recursive /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup"
# Without CAP_SYS_RESOURCE, nobody can have higher limits than this process.
CONTAINERS = """[containers]
cgroups = "disabled"
default_ulimits = ["nofile={files}:{files}", "nproc=1000:1000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
"""
STORAGE = """[storage]
driver = "overlay"
graphroot = "{folder}/store"
runroot = "{folder}/run"
"""


class Host:
    def __init__(self, folder, functions):
        """`functions`: text of shell functions that all commands know."""
        self.folder, self.functions = folder, functions
        self.namespace, self.network = Namespace("host"), Namespace("network")
        connect(self.namespace, "eth1", self.network, "wire")
        self.namespace.ip(f"address add {OWN}/24 dev eth1")
        self.network.ip(*(f"address add {ip}/24 dev wire" for ip in PROXIES), f"route add {VIP} via {OWN}")
        self.namespace.run("sh", "-ec", f"{CGROUPS}\nmkdir -p /run/dpdk")
        files = {"containers.conf": CONTAINERS.format(files=resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
                 "storage.conf": STORAGE.format(folder=folder)}
        for name, text in files.items():
            (folder / name).write_text(text)
        self.environment = {**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf"),
                            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}
        self.servers = [self.network.start(sys.executable, "-m", "http.server", "80", "--bind", ip, cwd=TREE / "config",
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for ip in PROXIES]
        self.start_tunnels()
        self.bash(f"podman pull --quiet 'containers-storage:[vfs@{BUILT}/containers+{BUILT}/containers-run]{IMAGE}'")

    def start_tunnels(self):
        self.servers.append(self.network.start(sys.executable, TREE / "tests/healthcheck/peers.py", stdout=subprocess.PIPE))
        assert self.servers[-1].stdout.readline() == "ready\n", "the GUE servers of the proxies do not run"

    def bash(self, script, check=True):
        """Runs a script on the host. Returns what it prints, without Podman's remarks about systemd, which does not run here."""
        done = subprocess.run(self.namespace.command("bash", "-ec" if check else "-c", f"{self.functions}\n{script}"), cwd=self.folder,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        assert not check or done.returncode == 0, f"{script}: {done.stdout}"
        return "".join(line for line in done.stdout.splitlines(keepends=True) if "systemd connection" not in line)

    def inspect(self, kind, name):
        (found,) = json.loads(self.bash(f"podman {kind} inspect {name}"))
        return found

    def log(self):
        return self.bash("podman logs glb-director 2>&1; podman logs glb-healthcheck 2>&1", check=False)

    def forwarded(self):
        return json.loads(self.bash("podman exec glb-director glb-director-cli stats --json"))["forwarded"]

    def client_reaches_a_proxy(self):
        """Whether the director forwards a SYN to the VIP. The proxies have no VIP and do not answer: their GUE servers only know the
        probes of glb-healthcheck, and end at any other packet."""
        before = self.forwarded()
        self.network.run("curl", "--silent", "--connect-timeout", "1", f"http://{VIP}/", check=False)
        ended = self.servers.pop()
        ended.kill()
        ended.wait()
        self.start_tunnels()
        return self.forwarded() > before

    def close(self):
        self.bash("podman rm --all --force --time 2; podman rmi --all --force; podman volume rm --all --force", check=False)
        for server in self.servers:
            server.kill()
            server.wait()
        self.namespace.close()
        self.network.close()
