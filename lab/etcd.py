# SPDX-License-Identifier: BSD-3-Clause
"""etcd on three hosts, and a glb-fleet on each director, which takes the table from it."""

import json
import os
import subprocess
from base64 import b64decode, b64encode

from lab.tools import TIMEOUT_S, LabError, check_tools, endpoint, kill_group, program, read, wait_until, write

CLIENTS, PEERS = 2379, 2380  # ports
PREFIX = "/glb/lab"
CONF = """\
etcd = {{ endpoints = [{endpoints}]; timeout_ms = 1000; }};
prefix = "{prefix}";
name = "{name}";
{files}
file_prefix = "{name}";
state_file = "{folder}/fleet.state";
status_file = "{folder}/fleet.json";
"""


def url(link, port=CLIENTS):
    return f"http://{endpoint(link.address, port)}"


class Member:
    """A member of the etcd cluster, on its own host. Its data is kept while it does not run."""

    def __init__(self, network, link):
        self.network, self.link, self.name = network, link, link.name
        self.host = network.add_host(link)
        self.host.ip(*link.default_routes("eth0"))
        self.folder = f"/run/lab/{self.name}"
        self.log = f"{self.folder}/etcd.log"
        os.mkdir(self.folder)

    def start(self):
        with open(self.log, "a") as log:
            self.process = self.host.start(
                "etcd", "--name", self.name, "--data-dir", f"{self.folder}/data", "--logger=zap", "--log-level=warn",
                "--listen-client-urls", url(self.link), "--advertise-client-urls", url(self.link),
                "--listen-peer-urls", url(self.link, PEERS), "--initial-advertise-peer-urls", url(self.link, PEERS),
                "--initial-cluster", ",".join(f"{each.name}={url(each, PEERS)}" for each in self.network.shape.etcd_links()),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(self, path, request):
        """The reply of the JSON gateway, or None if there is none."""
        done = self.host.run("curl", "--silent", "--fail", "--max-time", "2", "--data", json.dumps(request), f"{url(self.link)}{path}", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def status(self):
        return self.ask("/v3/maintenance/status", {})

    def kill(self):
        self.process.kill()
        self.process.wait()


class Cluster:
    def __init__(self, network):
        check_tools(("etcd",))
        self.members = [Member(network, link) for link in network.shape.etcd_links()]
        for member in self.members:
            member.start()

    def wait_ready(self):
        wait_until(lambda: all(each.status() for each in self.members), lambda: "etcd:\n" + read(self.members[0].log))

    def leader(self):
        def find():
            states = [(each, each.status()) for each in self.members if each.process.poll() is None]
            return next((each for each, state in states if state and state.get("leader") == state["header"]["member_id"]), None)

        return wait_until(find, "etcd to have a leader")

    def _ask(self, path, request):
        return wait_until(lambda: next((reply for each in self.members if each.process.poll() is None and (reply := each.ask(path, request))), None),
                          "a reply of etcd")

    def put(self, key, value):
        self._ask("/v3/kv/put", {"key": b64encode(f"{PREFIX}/{key}".encode()).decode(), "value": b64encode(value.encode()).decode()})

    def get(self, key):
        """The value, or None."""
        found = self._ask("/v3/kv/range", {"key": b64encode(f"{PREFIX}/{key}".encode()).decode()}).get("kvs")
        return b64decode(found[0]["value"]).decode() if found else None

    def cut(self, director):
        """No packet of the director's kernel reaches etcd. It forwards on."""
        director.host.ip(*(f"route replace blackhole {each.link.address}" for each in self.members))

    def mend(self, director):
        director.host.ip(*(f"route del blackhole {each.link.address}" for each in self.members))

    def directors(self):
        """{name: what its glb-fleet says}"""
        first, last = (b64encode(f"{PREFIX}/directors{end}".encode()).decode() for end in "/0")
        found = self._ask("/v3/kv/range", {"key": first, "range_end": last}).get("kvs", [])
        return {record["name"]: record for each in found for record in [json.loads(b64decode(each["value"]))]}


# The files of an agent that builds the director's table itself, and of one whose glb-healthcheck builds it.
BUILDS = 'table = "{0.source}";\nbuild = "{0.table}";\nnotify = "{0.pid_file}";'
BY_HEALTHCHECK = 'table = "{0.healthcheck.source}";\nbinary = "{0.table}";'


class Agent:
    """A glb-fleet on a director's host. It writes the table of a glb-healthcheck, if there is one."""

    def __init__(self, director):
        self.director, self.host = director, director.host
        self.before = ()  # a command that runs it, such as unshare(1)
        self.conf, self.log = f"{director.folder}/fleet.conf", f"{director.folder}/fleet.log"
        self.configure()
        self.start()

    def configure(self, more=""):
        """The next start uses it."""
        director = self.director
        write(self.conf, more + CONF.format(
            endpoints=", ".join(f'"{url(each)}"' for each in director.network.shape.etcd_links()), prefix=PREFIX, name=director.name, folder=director.folder,
            files=(BY_HEALTHCHECK if director.healthcheck else BUILDS).format(director)))

    def start(self):
        with open(self.log, "a") as log:
            self.process = self.host.start(*self.before, program("glb-fleet", self.director.build), "run", "--config-file", self.conf,
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0)

    def check(self):
        if self.process.poll() is not None:
            raise LabError(f"glb-fleet on {self.director.name} stopped:\n{read(self.log)}")

    def kill(self):
        kill_group(self.process)

    def restart(self):
        """As `systemctl restart` does."""
        self.process.terminate()
        self.process.wait(TIMEOUT_S)
        self.start()

    def rollout(self, *words):
        """Runs `glb-director-cli rollout` on this host. Returns the exit code and what it printed."""
        done = self.host.run(program("glb-director-cli"), "rollout", *words, "--config", self.conf, check=False)
        return done.returncode, done.stdout + done.stderr
