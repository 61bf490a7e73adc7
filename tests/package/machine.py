# SPDX-License-Identifier: BSD-3-Clause
"""Machines: fresh Debian systems with systemd, each in a container of systemd-nspawn with a network of its own."""

import os
import shutil
import subprocess
from pathlib import Path

from lab.tools import wait_until

FOLDER = Path(os.environ.get("GLB_MACHINES", "/machines"))
BASE, MIRROR, NEW, OLD = (FOLDER / name for name in ("root", "mirror", "new", "old"))
BOOT_TIMEOUT_S = 300  # the processor may be emulated
REPOSITORY = "srv/glb-director"  # in a machine, as docs/howto/installing.md says
CGROUPS = [path for path in (Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup/unified")) if path.is_dir()]


def host(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options)


class Machine:
    """A machine. What it changes is in a folder of its own and survives a reboot, but not close()."""

    def __init__(self, name, work, unified=False):
        """unified: the machine has only the unified hierarchy of cgroups, as Debian does, also if the host has the old one."""
        self.name, self.work, self.unified = name, Path(work) / name, unified
        self.root, self.process, self.pid = self.work / "root", None, None
        for folder in ("upper", "work", "root"):
            (self.work / folder).mkdir(parents=True)
        host("mount", "-t", "overlay", "-o", f"lowerdir={BASE},upperdir={self.work}/upper,workdir={self.work}/work", "overlay", self.root)
        self.write("/etc/hostname", f"{name}\n")
        self.write("/etc/apt/sources.list", "deb [trusted=yes] file:/mirror ./\n")
        self.boot()

    def boot(self):
        own = [str(folder / f"glb-{self.name}") for folder in CGROUPS]
        keep = ["--keep-unit"] if not Path("/run/systemd/system").exists() else []
        nspawn = ["systemd-nspawn", "--boot", f"--directory={self.root}", f"--machine={self.name}", "--register=no", *keep,
                  "--private-network", "--capability=all", "--system-call-filter=bpf", "--console=pipe", "--link-journal=no", f"--bind-ro={MIRROR}:/mirror", "--bind-ro=/sys/module"]
        with open(self.work / "console", "w", encoding="utf-8") as console:
            unified = {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"} if self.unified else {}
            self.process = subprocess.Popen(
                ["sh", "-ec", _start(own if keep else [], nspawn)],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes", **unified})
        wait_until(self._booted, lambda: f"{self.name} to boot: {self.console()}", BOOT_TIMEOUT_S)
        # As on a machine that is not a container.
        self.run("mount -o remount,rw /sys; mkdir -p /sys/fs/bpf; mount -t bpf bpf /sys/fs/bpf")

    def _booted(self):
        """Also finds process 1 of the machine. The first child of nspawn is another process, which ends soon."""
        assert self.process.poll() is None, self.console()
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii").split()
        self.pid = children[0] if children else None
        return self.pid and self.run("systemctl is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def console(self):
        return (self.work / "console").read_text(encoding="utf-8", errors="replace")[-3000:]

    def command(self, *words):
        return ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--", *words]

    def run(self, script, check=True):
        """Runs a script as root types it. The result has what it printed to both of its outputs, in stdout."""
        environment = ["env", "-i", "HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "SYSTEMD_PAGER="]
        done = subprocess.run(self.command(*environment, "bash", "-c", f"cd; {script}"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if check and done.returncode != 0:
            journal = self.run("journalctl --sync; journalctl --no-pager -n 20", check=False).stdout
            raise AssertionError(f"{self.name}: {script}: exit code {done.returncode}: {done.stdout}\n{journal}")
        return done

    def output(self, script):
        return self.run(script).stdout.strip()

    def show(self, unit, name):
        return self.output(f"systemctl show --value --property={name} {unit}")

    def log(self, unit):
        return self.output(f"journalctl --sync; journalctl --no-pager --output=cat --unit={unit}")

    def path(self, path):
        """The path of a file of the machine, on this host. Its links are followed in the machine: here, absolute ones lead to our own files."""
        return self.root / host("chroot", self.root, "realpath", "--canonicalize-missing", path).stdout.strip().lstrip("/")

    def write(self, path, text):
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text, encoding="utf-8")

    def read(self, path):
        return self.path(path).read_text(encoding="utf-8")

    def repository(self, *folders):
        """The packages in these folders of the host become the apt repository of the machine."""
        place = self.path(REPOSITORY)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for folder in folders:
            for package in folder.glob("*.deb"):
                shutil.copy(package, place)
        self.run(f"cd /{REPOSITORY} && apt-ftparchive packages . >Packages")

    def poweroff(self):
        """Ends the machine in order, as a shutdown does."""
        self.run("systemctl poweroff", check=False)
        self.process.wait(BOOT_TIMEOUT_S)

    def reboot(self):
        self.poweroff()
        self.boot()

    def close(self):
        self.process.kill()
        self.process.wait()
        host("umount", "--lazy", self.root)


def _start(cgroups, command):
    """The shell script that runs `command` in new cgroups. On a host without systemd, nspawn needs one for each container."""
    enter = "".join(f"mkdir -p {folder}; echo $$ >{folder}/cgroup.procs; " for folder in cgroups)
    return f"{enter}exec {' '.join(command)}"
