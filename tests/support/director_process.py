# SPDX-License-Identifier: BSD-3-Clause
"""The real glb-director as a child process: its files, its telemetry socket, its end."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from lab.tools import TIMEOUT_S, wait_until
from support import pcap
from support.director_conf import write_config
from support.tree import CLI, DIRECTOR

# The ways to steer ordinary packets, and the limit of the SIMD bit width that chooses each, where the CPU has what it needs.
PACKET_PATHS = {
    "plain": (64, ()),
    "avx2": (256, ("avx2",)),
    "avx512": (512, ("avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl")),
}
NOBODY = 65534


def usable_packet_paths():
    if "GLB_PACKET_PATHS" in os.environ:  # of a director built for another CPU
        return os.environ["GLB_PACKET_PATHS"].split()
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    return [name for name, (_, needed) in PACKET_PATHS.items() if all(flag in flags for flag in needed)]


def write_table(path, document, version="auto"):
    """Writes a JSON document as it is, or built by the command line into a binary table."""
    source = path if version == "json" else f"{path}.json"
    Path(source).write_text(json.dumps(document), encoding="utf-8")
    if version != "json":
        command = [CLI, "build-config", source, path, "--format", str(version)]
        subprocess.run(command, check=True, capture_output=True, text=True)
    return path


class Telemetry:
    """DPDK telemetry version 2: a request and an answer are a datagram each."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._room = json.loads(self._socket.recv(1024))["max_output_len"]

    def ask(self, command):
        self._socket.send(command.encode())
        (answer,) = json.loads(self._socket.recv(self._room)).values()
        return answer

    def close(self):
        self._socket.close()


class DirectorProcess:
    """A director from start to end; `with` it.

    vdevs   EAL's arguments of virtual devices
    table   path of the forwarding table
    lcores  EAL's --lcores
    user    uid to run as; default: the caller's
    prefix  command words before it, e.g. to enter a namespace
    path    of PACKET_PATHS, which is forced; default: as EAL and the CPU have it
    """

    def __init__(self, vdevs, config, table, lcores="0@0", user=None, prefix=(), memory=256, path=None):
        # A short path: a socket's name has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="glb-"))
        self.file_prefix = "suite"
        self.environment = {**os.environ, "RUNTIME_DIRECTORY": str(self.folder)}
        config_file = write_config(self.folder / "director.conf", config)
        eal = ["--no-huge", f"-m{memory}", "--no-shconf", "--no-pci", "--lcores", lcores]
        eal += [f"--file-prefix={self.file_prefix}", *(f"--vdev={vdev}" for vdev in vdevs)]
        if path:
            eal.append(f"--force-max-simd-bitwidth={PACKET_PATHS[path][0]}")
        own = ["--config-file", config_file, "--forwarding-table", table]
        command = [*prefix, DIRECTOR, *eal, "--", *own]
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

    def __enter__(self):
        try:
            self.telemetry = wait_until(self._connect, "telemetry socket")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _connect(self):
        assert self.process.poll() is None, f"exit status {self.process.returncode}:\n{self.log}"
        try:
            telemetry = Telemetry(self.folder / f"dpdk/{self.file_prefix}/dpdk_telemetry.v2")
        except OSError:
            return None
        # EAL answers before the director has registered its own commands.
        if "/glb/stats" in telemetry.ask("/"):
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
        """Until every packet has been received and has its verdict; the counters then."""

        def settled():
            stats = self.stats()
            received = stats["received"]
            assert received <= count, f"{received} packets received, {count} sent"
            return stats if received == count == sum_of_verdicts(stats) else None

        return wait_until(settled, f"{count} packets received")

    def terminate(self):
        """SIGTERM, and what it printed as its last words: the counters."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(TIMEOUT_S)
        assert status == 0, f"exit status {status}:\n{self.log}"
        lines = self._stdout.read_text(encoding="ascii").splitlines()
        return {name: int(value) for name, value in (line.split() for line in lines)}


VERDICTS = (
    "forwarded answered_too_big exception drop_unmatched drop_truncated drop_malformed "
    "drop_extension_headers drop_fragment drop_too_big drop_no_gateway drop_no_buffer "
    "drop_tx_full drop_exception_full"
).split()


def verdicts(stats):
    return {name: stats[name] for name in VERDICTS}


def sum_of_verdicts(stats):
    return sum(verdicts(stats).values())


def run_capture(folder, frames, config, table, path=None, **options):
    """Frames through the director, from one capture file to another.

    -> (frames sent, counters by verdict, MAC of the port). Checks that the director counts the same
    over telemetry as in its last words, and that every packet received has one verdict.
    """
    rx, tx = Path(folder) / "rx.pcap", Path(folder) / "tx.pcap"
    pcap.write(rx, frames)
    vdev = f"net_pcap0,rx_pcap={rx},tx_pcap={tx}"
    with DirectorProcess([vdev], config, table, path=path, **options) as director:
        mac = director.port_mac()
        stats = director.wait_received(len(frames))
        assert path in (None, stats["packet_path"])
        printed = director.terminate()
    assert printed["received"] == len(frames)
    assert verdicts(printed) == verdicts(stats)
    return pcap.read(tx), verdicts(printed), mac
