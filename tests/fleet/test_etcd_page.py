# SPDX-License-Identifier: BSD-3-Clause
"""docs/howto/run-etcd.md: its commands, on three members that have its settings, and its roles, with glb-fleet and roll-outs.

The members have addresses of loopback with the page's ports, and the page's folders are below a temporary one.
"""

import contextlib
import os
import re
import subprocess
from types import SimpleNamespace

import pytest
from agent import Agent, table

from lab.tools import TIMEOUT_S, wait_until
from support.pages import block, commands
from support.tree import CLI

PAGE = "docs/howto/run-etcd.md"
NETWORK = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}."
END = "@@ end of a command @@"
SETTINGS = block("docs/howto/run-etcd.md", "ETCD_NAME=etcd1")
FLEET = block("docs/howto/run-etcd.md", 'prefix = "/glb/ams1"')
HOSTS = [("docs/howto/run-etcd.md", "mkdir -m 700 ca"), ("docs/howto/run-etcd.md", "export ETCDCTL_ENDPOINTS"),
         ("docs/howto/run-etcd.md", "role add glb-read"), ("docs/howto/run-etcd.md", "for user in root"),
         ("docs/howto/run-etcd.md", "env -u ETCDCTL_USER"), ("docs/howto/run-etcd.md", "snapshot save"),
         ("docs/howto/run-etcd.md", "snapshot restore"), ("docs/howto/run-etcd.md", "etcdctl defrag")]


class Place:
    """The hosts of the page, in a folder."""

    def __init__(self, folder):
        self.folder, self.members = folder, {}
        self.shell = subprocess.Popen(["bash"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      env={**os.environ, "LC_ALL": "C.UTF-8", "ETCDCTL_COMMAND_TIMEOUT": f"{TIMEOUT_S}s",
                                           "ETCDCTL_DIAL_TIMEOUT": f"{TIMEOUT_S}s"})

    def here(self, text):
        """The page's text with the addresses and folders of this test."""
        text = text.replace("-peer IP:192.0.2.1$i", "-peer IP:192.0.2.1$i,IP:127.0.0.1")  # loopback's connections come from there
        return text.replace("192.0.2.", NETWORK).replace("/etc/etcd/", f"{self.folder}/ca/").replace(
            "/etc/glb/etcd/", f"{self.folder}/ca/").replace("/var/lib/etcd/default", f"{self.folder}/etcd1.data")

    def run(self, line):
        """What a command prints, in the shell in which all run."""
        self.shell.stdin.write(f"{line}\necho '{END}'\n")
        self.shell.stdin.flush()
        printed = []
        while (text := self.shell.stdout.readline()).rstrip("\n") != END:
            assert text, f"the shell ended: {line}\n{''.join(printed)}"
            printed.append(text)
        return "".join(printed)

    def walk(self, text):
        """Runs the commands of a block, and compares what they print. `...` stands for anything."""
        for command, shown in commands(self.here(text)):
            printed = self.run(command)
            pattern = "".join(r"(?:.*\n)*" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n" for line in shown)
            assert re.fullmatch(pattern, printed), f"$ {command}\n{printed}"

    def settings(self, number):
        """The settings of a member: those of etcd1 with another name and address."""
        text = re.sub(r"etcd1(?!=https)", f"etcd{number}", SETTINGS)
        text = "".join(line.replace("192.0.2.11", f"192.0.2.1{number}") if "INITIAL_CLUSTER=" not in line else line for line in text.splitlines(True))
        return dict(line.split("=", 1) for line in self.here(text).splitlines())

    def start(self, number, **more):
        environment = {**os.environ, **self.settings(number), "ETCD_DATA_DIR": str(self.folder / f"etcd{number}.data"), **more}
        with open(self.folder / f"etcd{number}.log", "a") as log:
            self.members[number] = subprocess.Popen(["etcd"], stdout=log, stderr=log, env=environment)

    def stop(self, number):
        self.members[number].kill()
        self.members[number].wait()

    def agent(self, name):
        agent = Agent(self.folder / name, SimpleNamespace(endpoints=[]), name)
        agent.configure(etcd=None, prefix=None)
        conf = agent.folder / "fleet.conf"
        own = "".join(line for line in conf.read_text().splitlines(True) if not line.startswith("name"))
        conf.write_text(self.here(FLEET).replace("lb1", name) + own)
        return agent

    def close(self):
        for number in self.members:
            self.stop(number)
        self.shell.stdin.close()
        self.shell.wait(TIMEOUT_S)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("etcd"))
    try:
        yield place
    finally:
        place.close()


def put(place, text):
    (place.folder / "ca/new.json").write_text(text)
    assert place.run("etcdctl put /glb/ams1/table <new.json") == "OK\n"


def used(agent, text):
    wait_until(lambda: agent.table.exists() and agent.table.read_text() == text, lambda: agent.log)


def test_page(place):
    """All blocks, in their order, with two directors."""
    for page, part in HOSTS[:2]:
        if "export" in part:
            for number in (1, 2, 3):
                place.start(number)
            wait_until(lambda: "is healthy" in place.run(place.here("timeout 5 etcdctl --cacert client-ca.pem --cert admin.pem --key admin-key.pem "
                                                                    "--endpoints https://192.0.2.13:2379 endpoint health")), "etcd", 30)
        place.walk(block(page, part))
    (place.folder / "ca/table.json").write_text(table(1, 2, 3))
    for page, part in HOSTS[2:5]:
        place.walk(block(page, part))


@pytest.fixture
def directors(place):
    """lb1, which may lead, and lb2, which may not. Both use the table in etcd."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(place.agent(name)) for name in ("lb1", "lb2")]
        yield made


def cli(place, agent, *words, user=None):
    """Runs glb-director-cli with the fleet.conf of a director, or of another user with it."""
    conf = agent.folder / "fleet.conf"
    if user:
        conf = agent.folder / f"{user}.conf"
        conf.write_text((agent.folder / "fleet.conf").read_text().replace(f'user = "{agent.name}"', f'user = "{user}"').replace(
            f"{agent.name}.password", f"{user}.password"))
    return subprocess.run([CLI, *words, "--config", conf], capture_output=True, text=True, timeout=4 * TIMEOUT_S, check=False)


def test_roles_are_enough_and_not_too_much(place, directors):
    lb1, lb2 = directors
    put(place, table(1, 2, 3))
    for agent in directors:
        used(agent, table(1, 2, 3))
    wait_until(lambda: cli(place, lb1, "fleet", user="viewer").stdout.count("current") == 2, lambda: cli(place, lb1, "fleet", user="viewer"))
    wanted = lb1.folder / "wanted.json"
    wanted.write_text(table(1, 2, 3, 4))
    refused = cli(place, lb1, "rollout", "start", wanted, user="viewer")
    assert refused.returncode == 1 and "permission denied" in refused.stderr, refused
    done = cli(place, lb1, "rollout", "start", wanted, "--drained-after", "1s", user="operator")
    assert done.returncode == 0, (done, lb1.log, lb2.log)
    for agent in directors:
        used(agent, table(1, 2, 3, 4))
    assert "denied" not in lb1.log
    assert cli(place, lb1, "rollout", "history", user="viewer").stdout.count("done") == 1
    assert "operator@" not in lb2.log and "leads the roll-outs" not in lb2.log
    lease = place.run("etcdctl get /glb/ams1/directors/lb1 -w json | grep -o '\"lease\":[0-9]*' | cut -d: -f2").strip()
    said = place.run(f"ETCDCTL_USER=lb2:$(cat lb2.password) etcdctl lease revoke {int(lease):x}")
    assert "permission denied" in said, said


def test_a_director_writes_its_own_record_only(place):
    for user, key, allowed in [("lb2", "directors/lb2", True), ("lb2", "directors/lb1", False), ("lb2", "leader", False), ("lb2", "table", False),
                               ("lb2", "rollout", False), ("lb1", "directors/lb2", False), ("operator", "directors/lb1", False),
                               ("operator", "leader", False), ("viewer", "table", False)]:
        said = place.run(f"ETCDCTL_USER={user}:$(cat {user}.password) etcdctl put /glb/ams1/{key} x")
        assert said == "OK\n" if allowed else "permission denied" in said, (user, key, said)
    said = place.run("ETCDCTL_USER=lb1:$(cat lb1.password) ETCDCTL_ENDPOINTS=${ETCDCTL_ENDPOINTS%%,*} etcdctl snapshot save stolen.db")
    assert "permission denied" in said, said
    place.run("etcdctl del /glb/ams1/directors/lb2")


def test_strangers(place):
    said = place.run(place.here("curl -sS --cacert client-ca.pem -d '{}' https://192.0.2.11:2379/v3/kv/range"))
    assert said.startswith("curl: ("), said  # the text differs: etcd ends the connection
    said = place.run(place.here("curl -sS --cacert client-ca.pem --cert lb2.pem --key lb2-key.pem -d '{\"key\": \"L2dsYg==\"}' https://192.0.2.11:2379/v3/kv/range; echo"))
    assert "user name is empty" in said, said


def test_backup_and_restore(place, directors):
    put(place, table(1, 2, 3, 4, 5))
    for page, part in HOSTS[5:6]:
        place.walk(block(page, part))
    put(place, table(1, 2, 3, 4, 5, 6))
    for agent in directors:
        used(agent, table(1, 2, 3, 4, 5, 6))
    restore = block("docs/howto/run-etcd.md", "snapshot restore")
    for number in (1, 2, 3):
        place.stop(number)
        (place.folder / f"etcd{number}.data").rename(place.folder / f"etcd{number}.old")
        if number == 1:
            place.walk(restore)
        else:
            place.run(place.here(re.sub(r"--name etcd1", f"--name etcd{number}", restore[2:]).replace("/etcd/default", f"/etcd/default{number}").replace(
                "peer-urls https://192.0.2.11", f"peer-urls https://192.0.2.1{number}").replace("\n> ", "\n").rsplit("\n", 2)[0]).replace(
                    f"etcd1.data{number}", f"etcd{number}.data"))
    for number in (1, 2, 3):
        place.start(number, ETCD_INITIAL_CLUSTER_TOKEN="glb-ams1-restored")
    for agent in directors:
        agent.wait_status(lambda status: True)
        # The old token hangs in the restored etcd. An agent asks for a new one after 30 s.
        wait_until(lambda: "confirm it with: glb-fleet accept" in agent.log, lambda: agent.log, 120)
        assert agent.table.read_text() == table(1, 2, 3, 4, 5, 6)
        agent.wait_status(lambda status: status["unconfirmed"])  # it is written after the log
        agent.call("accept")
        used(agent, table(1, 2, 3, 4, 5))


def test_quota(place):
    for page, part in HOSTS[7:]:
        place.walk(block(page, part))
