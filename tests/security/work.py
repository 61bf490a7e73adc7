# SPDX-License-Identifier: BSD-3-Clause
"""The usual work of each unit's program, with no more rights than the unit gives. Each function fails if a right is missing."""

import contextlib
import http.client
import itertools
import json
import os
import signal
import subprocess

from agent import Agent
from agent import table as agents_table
from announcer import Announcer, FakeDirector
from test_apply import Host as MadeHost

from lab.tools import TIMEOUT_S, wait_until
from support import traffic, units
from support.cli import table
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, write_table
from support.tree import BIFURCATE, CLI, HEALTHCHECK, REDIRECT, TREE

OTHER = 65534  # a user or group that no program has
NUMBERS = itertools.count()


class Rights:
    """What a unit gives to its program, or less."""

    def __init__(self, unit, host, folder, etcd, calls="", capability=None):
        self.unit, self.host, self.folder, self.etcd, self.calls = unit, host, folder, etcd, calls
        self.capabilities = units.capabilities(unit) - {capability}
        self.limit_s = 10 if calls or capability else TIMEOUT_S  # a program that lacks a right may do nothing for ever

    def prefix(self):
        names = ["-all", *sorted("+" + name.removeprefix("CAP_").lower() for name in self.capabilities)]
        return ["setpriv", f"--bounding-set={','.join(names)}", "--inh-caps=-all", f"--groups=0,{OTHER}", "--no-new-privs",
                *units.filtered(self.unit, without=self.calls)]

    def run(self, *words):
        done = self.host.namespace.run(*self.prefix(), *map(str, words), check=False)
        assert done.returncode == 0, done.stderr
        return done

    @contextlib.contextmanager
    def daemon(self, *words, ready, end=signal.SIGTERM):
        """Runs a program until the end of `with`, and ends it by a signal. `ready` is called until it is true."""
        log = self.folder / "log"
        with open(log, "wb") as stderr:
            process = self.host.namespace.start(*self.prefix(), *map(str, words), stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        try:
            self.wait(lambda: ready(log), log, process)
            yield process
            process.send_signal(end)
            code = process.wait(self.limit_s)
            assert code in (0, -end), f"{code}: {log.read_text()}"
        finally:
            process.kill()
            process.wait()

    def wait(self, condition, log, process):
        """Waits for the condition, unless the program ends or says that something is not permitted."""
        def look():
            text = log.read_text()
            assert process.poll() is None and "not permitted" not in text and "Permission denied" not in text, text
            return condition()
        wait_until(look, lambda: log.read_text(), self.limit_s)

    def get(self, port, path="/metrics"):
        with self.host.namespace:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=self.limit_s)
            connection.connect()
        with contextlib.closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read().decode()
            assert response.status == 200, text
            return text


def answers(rights, port):
    """A function that is true as soon as this port serves HTTP."""
    def ready(_):
        with contextlib.suppress(OSError):
            return rights.get(port)
    return ready


def give_to_a_group(path):
    """An operator has given the file to a group of the program's user. A new file must keep it."""
    path.chmod(0o640)
    os.chown(path, -1, OTHER)


def redirect(rights):
    conf = rights.folder / "redirect.conf"
    conf.write_text('allow_from = ["192.0.2.0/24"];\n')
    rights.run(REDIRECT, "attach", "eth0")
    rights.run(REDIRECT, "attach", "eth0", "--config-file", conf)  # as a reload does
    # ExecStop= of the unit, without systemctl, which is not ours.
    rights.run("/bin/sh", "-c", f'echo stop | grep -q " restart " || exec {REDIRECT} detach "$1"', "sh", "eth0")


def follow(rights):
    rights.host.namespace.run(REDIRECT, "attach", "eth0")
    try:
        with rights.daemon(REDIRECT, "follow", ready=lambda _: status(rights)["addresses_followed"]):
            rights.host.namespace.ip("addr add 203.0.113.11/32 dev lo")
            pinned = "bpftool map dump pinned /sys/fs/bpf/glb-redirect/eth0/*/lists"
            wait_until(lambda: "203,0,113,11" in rights.host.namespace.run("sh", "-c", pinned).stdout, "the address in the map", rights.limit_s)
    finally:
        rights.host.namespace.run(REDIRECT, "detach", "eth0")
        rights.host.namespace.run("ip", "addr", "del", "203.0.113.11/32", "dev", "lo", check=False)


def status(rights):
    return json.loads(rights.host.namespace.run(REDIRECT, "status", "--json", "eth0").stdout)["eth0"]


def exporter(rights):
    rights.host.namespace.run(REDIRECT, "attach", "eth0")
    try:
        with rights.daemon(REDIRECT, "exporter", ready=answers(rights, 19522)):
            wait_until(lambda: 'glb_redirect_attached{interface="eth0"} 1' in rights.get(19522), "the program", rights.limit_s)
    finally:
        rights.host.namespace.run(REDIRECT, "detach", "eth0")


def bifurcate(rights):
    path = rights.folder / "table.json"
    rights.host.namespace.run("rm", "-f", "/sys/fs/bpf/glb_vips")
    for vip, warning in (("203.0.113.11", ""), ("192.0.2.0/28", "covers 192.0.2.1, an address of this host")):
        path.write_text(json.dumps({"tables": [table(binds=[{"ip": vip, "proto": "tcp", "port": 80}])]}))
        done = rights.run(BIFURCATE, "sync", path)
        assert "1 VIP in the map: 1 added" in done.stdout and warning in done.stderr, done.stderr


def director(rights):
    path = write_table(rights.folder / "table.bin", traffic.TABLE)
    config = {**CONFIG, "outbound_gateway_mac": "auto", "idle": "sleep", "metrics": "127.0.0.1:19520", "exception_path": "tap"}
    prefix = [*rights.host.namespace.command(), *rights.prefix()]
    with DirectorProcess(["net_af_packet0,iface=eth0"], config, path, lcores="0@0,1@0", prefix=prefix) as running:
        command = rights.host.namespace.command("env", f"RUNTIME_DIRECTORY={running.folder}", CLI)
        wait_until(lambda: answers(rights, 19520)(None), "the metrics", rights.limit_s)
        subprocess.run([*command, "reload", "--file-prefix", "suite"], check=True, capture_output=True)
        subprocess.run([*command, "capture", "--write", rights.folder / "out.pcapng", "--file-prefix", "suite", "--seconds", "1"], check=True, capture_output=True)
        running.terminate()


def healthcheck(rights):
    src, dst, conf = rights.folder / "src.json", rights.folder / "dst.json", rights.folder / "healthcheck.conf"
    checks = {"http": 80, "tcp": 80, "gue": 19523, "command": "true"}
    src.write_text(json.dumps({"tables": [table(backends=[{"ip": "192.0.2.10", "state": "active", "healthchecks": checks}])]}))
    conf.write_text(f'forwarding_table = {{ src = "{src}"; dst = "{dst}"; }};\ninterval_ms = 100;\ntimeout_ms = 90;\n'
                    f'reload = {{ build = "{rights.folder}/table.bin"; }};\n'
                    'commands = ( { name = "true"; command = ["/bin/true"]; } );\n')
    dst.write_text(src.read_text())
    give_to_a_group(dst)
    with rights.daemon(HEALTHCHECK, "--config-file", conf, ready=answers(rights, 19521)) as process:
        rights.wait(lambda: (rights.folder / "table.bin").exists() and dst.read_text() != src.read_text(), rights.folder / "log", process)
        process.send_signal(signal.SIGHUP)
        assert json.loads(rights.get(19521, "/status"))
        assert dst.stat().st_gid == OTHER


def bifurcate_vf(rights):
    machine = MadeHost(rights.folder / "root")
    prepare = f'mkdir -p "$root{TREE}"; mount --rbind {TREE} "$root{TREE}"'
    done = subprocess.run(machine.command(*rights.prefix(), BIFURCATE, "apply", "eth1", prepare=prepare), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # The programs that it runs; the host of files has stand-ins.
    for words in (["ip", "link", "set", "eth0", "alias", "mine"], ["tc", "qdisc", "add", "dev", "eth0", "clsact"],
                  ["tc", "qdisc", "del", "dev", "eth0", "clsact"], ["ethtool", "-K", "eth0", "gro", "off"]):
        rights.run(*words)


def announce(rights):
    announcer = Announcer(rights.folder)
    announcer.configure(probe={"address": "203.0.113.241", "interval_ms": 50, "rise": 3, "fall": 3})
    announcer.prefix = [*rights.host.namespace.command(), *rights.prefix()]
    (rights.folder / "on").chmod(0o700)
    os.chown(rights.folder / "on", OTHER, OTHER)  # the routing daemon has a user of its own
    with FakeDirector(rights.folder) as director, announcer:
        director.set_tables(("web", 1, ["203.0.113.10", "203.0.113.240/28"]))
        rights.wait(lambda: "glb_203_0_113_10" in announcer.announced, rights.folder / "log", announcer.process)
        announcer.process.send_signal(signal.SIGHUP)
        assert announcer.stop() == 0, announcer.log
        assert announcer.announced == [], announcer.log


def fleet(rights):
    agent = Agent(rights.folder / "d1", rights.etcd, f"d{next(NUMBERS)}")  # a record stays for 15 s
    agent.table.write_text(agents_table(1, 2))
    give_to_a_group(agent.table)
    agent.prefix = rights.prefix()
    revision = agent.put(agents_table(1, 2, 3))
    try:
        agent.__enter__()
        rights.wait(lambda: (agent.record() or {"table": {"revision": 0}})["table"]["revision"] == revision, agent.folder / "log", agent.process)
        assert agent.metrics()["glb_fleet_connected"] == 1
        assert agent.stop() == 0, agent.log
        assert agent.table.stat().st_gid == OTHER, agent.log
    finally:
        agent.__exit__()
        agent.ports.close()


WORK = {"glb-redirect@": redirect, "glb-redirect-follow": follow, "glb-redirect-exporter": exporter, "glb-bifurcate": bifurcate,
        "glb-bifurcate@": bifurcate_vf, "glb-director": director, "glb-healthcheck": healthcheck, "glb-announce": announce, "glb-fleet": fleet}
