# SPDX-License-Identifier: BSD-3-Clause
"""glb-healthcheck and the director run with the files that an installation has, and follow each other."""

import json
import os
import re
import signal
import subprocess
import threading

import pytest

from lab.tools import wait_until
from support import pcap
from support.director_process import DirectorProcess
from support.service_manager import ServiceManager
from support.tree import BUILD, CLI, HEALTHCHECK, TREE

UNITS = ("glb-director.service", "glb-bifurcate.service", "glb-bifurcate@.service")
SYSTEMCTL = """#!/bin/sh
case $1 in
reload) exec "$CLI" reload --file-prefix suite --timeout 60 ;;
show) cat "$STATUS" ;;
esac
"""
# Hides the machine's own files.
HIDE = """
mkdir -p /etc/glb /var/lib/glb && mount -t tmpfs none /etc/glb && mount -t tmpfs -o mode=2750 none /var/lib/glb && ip link set lo up &&
echo ready && exec sleep 1000
"""


def shipped_table():
    """The binary table of the environment file."""
    text = (BUILD / "packaging/glb-director.env").read_text()
    return re.search(r'^GLB_DIRECTOR_FORWARDING_TABLE="(.*)"$', text, re.MULTILINE)[1]


def test_every_shipped_file_names_the_same_table():
    conf = (TREE / "config/healthcheck.conf").read_text()
    table = re.search(r'^\tbuild = "(.*)";$', conf, re.MULTILINE)[1]
    defaults = {re.search(r"^Environment=GLB_DIRECTOR_FORWARDING_TABLE=(.*)$", (BUILD / "packaging" / unit).read_text(), re.MULTILINE)[1]
                for unit in UNITS}
    help_text = subprocess.run([BUILD / "src/director/glb-director", "--help"], capture_output=True, text=True).stdout
    assert defaults == {table} == {shipped_table()} and f"(default: {table})" in " ".join(help_text.split())
    assert f"\nPathChanged={shipped_table()}\n" in (BUILD / "packaging/glb-bifurcate@.path").read_text()
    state = (TREE / "packaging/tmpfiles/glb-healthcheck.conf").read_text()
    assert f"d {os.path.dirname(table)} 2750 glb-healthcheck root -\n" in state  # where the healthcheck may write, and root read


class Site:
    """A mount and network namespace with the shipped files, and a service manager that runs the unit's ExecReload=."""

    def __init__(self, folder):
        self.folder = folder
        self.holder = subprocess.Popen(["unshare", "--mount", "--net", "sh", "-c", HIDE], stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n"
        (folder / "bin").mkdir()
        (folder / "bin/systemctl").write_text(SYSTEMCTL)
        (folder / "bin/systemctl").chmod(0o755)
        self.run(CLI, "new", "--dir", "/etc/glb", "--vip", "203.0.113.10:80/tcp", "--backend", "192.168.50.10", "--source", "192.168.50.2")
        conf = (TREE / "config/director.conf").read_text().replace('"auto"', '"02:00:00:00:00:fe"')
        self.run("tee", "/etc/glb/director.conf", input=conf)
        self.run("cp", TREE / "config/healthcheck.conf", "/etc/glb")
        pcap.write(folder / "rx.pcap", [bytes(60)])

    def command(self, *words):
        return ["nsenter", f"--target={self.holder.pid}", "--mount", "--net", *map(str, words)]

    def run(self, *words, **options):
        return subprocess.run(self.command(*words), check=options.pop("check", True), capture_output=True, text=True, **options)

    def director(self, table, manager):
        (self.folder / "director.conf").write_text(self.run("cat", "/etc/glb/director.conf").stdout)
        vdev = f"net_pcap0,rx_pcap={self.folder}/rx.pcap,tx_pcap={self.folder}/tx.pcap"
        prefix = [*self.command(), "env", f"NOTIFY_SOCKET={manager.path}"]
        return DirectorProcess([vdev], self.folder / "director.conf", table, prefix=prefix)

    def healthcheck(self, director):
        environment = {**director.environment, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "CLI": str(CLI),
                       "STATUS": str(self.folder / "status")}
        with open(self.folder / "log", "a") as log:
            return subprocess.Popen(self.command(HEALTHCHECK), env=environment, stderr=log)

    def status(self):
        done = self.run(HEALTHCHECK, "status", "--json", check=False)
        return json.loads(done.stdout) if done.stdout else {"reload": {"state": "", "director": ""}}

    def wait(self, **reload):
        wait_until(lambda: {key: self.status()["reload"][key] for key in reload} == reload,
                   lambda: f"{reload}; {(self.folder / 'log').read_text()}")

    def follow(self, manager):
        """Writes what `systemctl show` prints: the last status of the director."""
        while True:
            try:
                lines = manager.next()
            except OSError:
                return
            for line in lines:
                if line.startswith("STATUS="):
                    (self.folder / "status.new").write_text(line.removeprefix("STATUS=") + "\n")
                    (self.folder / "status.new").rename(self.folder / "status")


@pytest.fixture
def site(tmp_path):
    if os.getuid() != 0:
        pytest.skip("namespaces need root")
    site = Site(tmp_path)
    yield site
    site.holder.kill()
    site.holder.wait()


def test_director_follows_the_healthcheck_with_the_shipped_files(site):
    """First the director's unit names another file, as an old installation does. Its reloads succeed with the old table."""
    old = "/etc/glb/forwarding_table.bin"
    for path in (old, shipped_table()):
        site.run(CLI, "build-config", "/etc/glb/forwarding_table.json", path)
    site.run(CLI, "edit", "/etc/glb/forwarding_table.json", "add", "192.168.50.11", "--max-broken", "100")
    with ServiceManager() as manager:
        threading.Thread(target=site.follow, args=(manager,), daemon=True).start()
        with site.director(old, manager) as director:
            wait_until((site.folder / "status").exists, "the director's status")
            healthcheck = site.healthcheck(director)
            site.wait(state="failed", director="stale")
            error = site.status()["reload"]["error"]
            assert director.stats()["digest"] in error and f"start the director with --forwarding-table {shipped_table()}" in error
            assert site.run(HEALTHCHECK, "status", check=False).returncode == 1
            healthcheck.send_signal(signal.SIGTERM)
            assert healthcheck.wait() == 0
        with site.director(shipped_table(), manager) as director:
            wait_until(lambda: director.stats()["digest"] in (site.folder / "status").read_text(), "the director's status")
            healthcheck = site.healthcheck(director)
            site.wait(state="done", director="current")
            site.run(CLI, "edit", "/etc/glb/forwarding_table.json", "add", "192.168.50.12", "--max-broken", "100")
            wait_until(lambda: director.stats()["generation"] == 3, "the new table")
            site.wait(state="done", director="current")
            healthcheck.send_signal(signal.SIGTERM)
            assert healthcheck.wait() == 0


def test_director_with_a_pid_file_tells_by_telemetry(site):
    """SIGHUP tells nothing, so a table that the director refuses would not be noticed."""
    table = shipped_table()
    site.run(CLI, "build-config", "/etc/glb/forwarding_table.json", table)
    conf = (TREE / "config/healthcheck.conf").read_text().replace('"glb-director.service"', f'"{site.folder}/pid"')
    site.run("tee", "/etc/glb/healthcheck.conf", input=conf + "max_shrink = 100;\n")
    with ServiceManager() as manager, site.director(table, manager) as director:
        (site.folder / "pid").write_text(f"{director.process.pid}\n")
        healthcheck = site.healthcheck(director)
        site.wait(state="done", director="current")
        source = json.loads(site.run("cat", "/etc/glb/forwarding_table.json").stdout)
        source["tables"][0]["backends"] = [{"ip": f"192.168.50.{i}", "state": "active"} for i in range(20, 23)]
        site.run("tee", "/etc/glb/forwarding_table.json", input=json.dumps(source))
        site.wait(state="failed", director="stale")  # max_shrink of the director is 50
        assert "loses 1 of its 1 usable backends" in site.status()["reload"]["error"]
        healthcheck.send_signal(signal.SIGTERM)
        assert healthcheck.wait() == 0


def test_root_without_capabilities_reads_what_the_healthcheck_writes(site):
    """In /var/lib/glb of the tmpfiles, also after it replaced a table that root had built."""
    table = shipped_table()
    site.run("chown", "65534:0", "/var/lib/glb")
    site.run(CLI, "build-config", "/etc/glb/forwarding_table.json", table)
    site.run("chmod", "0640", table)
    site.run("sh", "-c", "chown root:65534 /etc/glb/*.json; chmod 0640 /etc/glb/*.json; chmod 0755 /etc/glb")
    conf = re.sub(r'\n\tnotify = .*', "", (TREE / "config/healthcheck.conf").read_text())
    site.run("tee", "/etc/glb/healthcheck.conf", input=conf)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", f"umask 027; exec {HEALTHCHECK}"]
    with open(site.folder / "log", "w") as log:
        healthcheck = subprocess.Popen(site.command(*user), stderr=log)
    site.wait(state="done", director="none")
    healthcheck.send_signal(signal.SIGTERM)
    healthcheck.wait()
    assert site.run("stat", "-c", "%a %u %g", table, "/var/lib/glb/forwarding_table.json").stdout == "640 65534 0\n640 65534 0\n"
    reader = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--clear-groups", CLI, "show", table]
    assert "digest" in site.run(*reader).stdout
