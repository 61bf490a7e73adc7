# SPDX-License-Identifier: BSD-3-Clause
"""Runs glb-director as a child process: writes its files, talks to its telemetry socket, stops it."""

import atexit
import contextlib
import functools
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from lab.tools import TIMEOUT_S, wait_until
from support import pcap
from support.director_conf import OPEN, write_config
from support.facts import VERDICTS
from support.tree import CLI, DIRECTOR

# The CPU flags that each ISA needs.
ISAS = {
    "scalar": (),
    "avx2": ("avx2", "bmi2"),
    "avx512": ("avx2", "bmi2", "avx512f", "avx512bw", "avx512dq", "avx512vl"),
}
NOBODY = 65534
CPUS = sorted(os.sched_getaffinity(0))


def on_cpus(lcores):
    """An argument of --lcores with CPUs of this machine: 2@1 becomes lcore 2 on the second CPU, or on the only one."""
    return re.sub(r"@(\d+)", lambda cpu: f"@{CPUS[int(cpu[1]) % len(CPUS)]}", lcores)


def usable_isas():
    if "GLB_ISAS" in os.environ:  # the director is built for another CPU
        return os.environ["GLB_ISAS"].split()
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    return [name for name, needed in ISAS.items() if all(flag in flags for flag in needed)]


def write_table(path, document, version=3):
    """Writes a JSON document as it is, or the binary table that `build-config` builds from it."""
    source = path if version == "json" else f"{path}.json"
    Path(source).write_text(json.dumps(document), encoding="utf-8")
    if version != "json":
        command = [CLI, "build-config", source, path, "--format", str(version)]
        subprocess.run(command, check=True, capture_output=True, text=True)
    return path


class Telemetry:
    """A client of DPDK's telemetry version 2: a request and a reply are a datagram each."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(str(path))
            greeting = self._socket.recv(1024)
            if not greeting:
                raise ConnectionResetError(f"{path}: the director has ended")
        except OSError:
            self._socket.close()
            raise
        self._room = json.loads(greeting)["max_output_len"]

    def ask(self, command):
        self._socket.send(command.encode())
        (reply,) = json.loads(self._socket.recv(self._room)).values()
        return reply

    def close(self):
        self._socket.close()


class DirectorProcess:
    """A context manager: a director that runs until the end of `with`.

    vdevs   arguments of EAL's --vdev
    config  keys of director.conf (it takes every unicast frame and serves no metrics unless they say otherwise), or the path of one
    table   path of the forwarding table
    lcores  argument of EAL's --lcores, see on_cpus()
    user    uid to run as, the caller's by default
    prefix  words before the command, for instance to enter a namespace
    isa     this one of ISAS, as a key of `config`; by default the director chooses
    eal     further arguments of EAL
    """

    def __init__(self, vdevs, config, table, lcores="0@0", user=None, prefix=(), memory=256, isa=None, eal=()):
        # pytest's folders can be too long: a socket's path has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="glb-"))
        self.file_prefix = "suite"
        self.environment = {**os.environ, "RUNTIME_DIRECTORY": str(self.folder)}
        config_file = config if isinstance(config, Path) else write_config(
            self.folder / "director.conf", {**OPEN, "metrics": "none", **config, **({"isa": isa} if isa else {})})
        options = ["--no-huge", f"-m{memory}", "--no-shconf", "--no-pci", "--lcores", on_cpus(lcores)]
        options += [f"--file-prefix={self.file_prefix}", *(f"--vdev={vdev}" for vdev in vdevs), *eal]
        own = ["--config-file", config_file, "--forwarding-table", table]
        command = [*prefix, DIRECTOR, *options, "--", *own]
        if user is not None:
            os.chown(self.folder, user, user)
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
        self._stdout, self._stderr = self.folder / "stdout", self.folder / "stderr"
        with open(self._stdout, "wb") as out, open(self._stderr, "wb") as err:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.environment
            )
        self.telemetry = None

    @property
    def log(self):
        return self._stderr.read_text(encoding="utf-8", errors="replace")

    def thread(self, name):
        """The id of the thread with this name."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        (thread,) = [int(task.name) for task in tasks if (task / "comm").read_text().strip() == name]
        return thread

    @contextlib.contextmanager
    def without_descriptors(self):
        """Until the end of `with`, the director cannot open a file or a socket."""
        before = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (0, before[1]))
        try:
            yield
        finally:
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, before)

    def wait_log(self, text, count=1):
        """Waits until `count` lines of the log have this text, and returns them. Threads may log an event after telemetry shows it."""

        def lines():
            found = [line for line in self.log.splitlines() if text in line]
            return found if len(found) >= count else None

        return wait_until(lines, lambda: f"{count} x {text!r} in the log:\n{self.log}")

    def __enter__(self):
        try:
            self.telemetry = wait_until(self._connect, "the telemetry socket")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _connect(self):
        assert self.process.poll() is None, f"the director exited with code {self.process.returncode}:\n{self.log}"
        try:
            telemetry = Telemetry(self.folder / f"dpdk/{self.file_prefix}/dpdk_telemetry.v2")
        except OSError:
            return None
        # EAL replies before the director has registered its own commands. This is the last one. A director that ends does not reply.
        with contextlib.suppress(ValueError):
            if "/glb/reload" in telemetry.ask("/"):
                return telemetry
        telemetry.close()
        return None

    def __exit__(self, *_):
        if self.telemetry:
            self.telemetry.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)

    def stats(self):
        return self.telemetry.ask("/glb/stats")

    def port_mac(self, port=0):
        return self.telemetry.ask(f"/ethdev/info,{port}")["mac_addr"]

    def wait_received(self, count):
        """Waits until `count` packets are received and have their verdicts. Returns the counters."""

        def settled():
            stats = self.stats()
            received = stats["received"]
            assert received <= count, f"the director received {received} packets, but only {count} were sent"
            return stats if received == count == sum_of_verdicts(stats) else None

        return wait_until(settled, f"{count} received packets")

    def terminate(self):
        """Sends SIGTERM. Returns the counters that the director prints at its end."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(TIMEOUT_S)
        assert status == 0, f"the director exited with code {status}:\n{self.log}"
        return self.printed_counters()

    def printed_counters(self):
        lines = self._stdout.read_text(encoding="ascii").splitlines()
        return {name: int(value) for name, value in (line.split() for line in lines)}


def verdicts(stats):
    return {name: stats[name] for name in VERDICTS}


def sum_of_verdicts(stats):
    return sum(verdicts(stats).values())


@functools.cache
def few_drivers():
    """The start of a command that sees only those drivers of DPDK that captures need, because a director loads all of them when it starts.

    It is empty if this user may not hide the others, or if they are elsewhere.
    """
    folders = list(Path("/usr/lib").glob("*/dpdk/pmds-*"))
    if len(folders) != 1 or "GLB_ISAS" in os.environ or os.getuid() != 0 or subprocess.run(
            ["unshare", "--mount", "mount", "--bind", "/tmp", "/mnt"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return ()
    few = Path(tempfile.mkdtemp(prefix="glb-drivers-"))
    atexit.register(shutil.rmtree, few)
    for name in ("bus_pci", "bus_vdev", "mempool_ring", "net_pcap"):
        for file in folders[0].glob(f"librte_{name}.so*"):
            shutil.copy(file, few, follow_symlinks=False)
    return ("unshare", "--mount", "sh", "-ec", 'mount --bind "$0" "$1"; shift; exec "$@"', few, folders[0])


def run_capture(folder, frames, config, table, isa=None, **options):
    """Runs frames through a director whose port is a pair of capture files.

    Returns (frames sent, counters by verdict, MAC of the port). Checks that telemetry and the output at the end have the same
    counters, and that every received packet has one verdict.
    """
    rx, tx = Path(folder) / "rx.pcap", Path(folder) / "tx.pcap"
    pcap.write(rx, frames)
    vdev = f"net_pcap0,rx_pcap={rx},tx_pcap={tx}"
    prefix = () if options.get("user") else few_drivers()
    with DirectorProcess([vdev], config, table, isa=isa, prefix=prefix, **options) as director:
        mac = director.port_mac()
        stats = director.wait_received(len(frames))
        assert isa in (None, stats["packet_path"])
        printed = director.terminate()
    assert printed["received"] == len(frames)
    assert verdicts(printed) == verdicts(stats)
    return pcap.read(tx), verdicts(printed), mac
