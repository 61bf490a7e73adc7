# SPDX-License-Identifier: BSD-3-Clause
"""A glb-director on its own host. As in production, build-config builds its table from JSON, or glb-healthcheck does."""

import json
import os
import shutil
import signal
import socket
import subprocess

from lab.tools import TIMEOUT_S, LabError, cli, cli_json, endpoint, program, read, wait_until, write
from lab.topology import VLAN

# One lcore that may run on any CPU. Otherwise EAL would pin all directors of the lab to the same CPU.
CPUS = ",".join(map(str, sorted(os.sched_getaffinity(0))))
EAL = ["--no-huge", "-m", "64", "--no-pci", f"--lcores=0@({CPUS})"]
TELEMETRY_BYTES = 1 << 16
# The hash includes the port, because the load has few client addresses and would use few rows otherwise.
CONF = """\
outbound_gateway_mac = "auto";
{source} = "{address}";
outbound_mtu = {mtu};
hash_fields = {{ src_addr = true; src_port = true; }};
idle = "sleep";
"""
METRICS = 'metrics = "{}";\n'  # for Prometheus on another host
METRICS_PORT = 19520
EXCEPTION_PATH = 'exception_path = "tap";\n'
VLANS = f'accept_vlans = [{VLAN}];\noutbound_vlan = {VLAN};\nport_interfaces = ["eth0.{VLAN}"];\n'


class Director:
    def __init__(self, network, link, shape, build):
        self.build = build  # of the programs on this host; the next start uses it
        self.name, self.link, self.network = link.name, link, network
        # DPDK's other drivers for interfaces of the kernel receive no frames above a page.
        self.pmd = "pcap" if shape.jumbo else shape.pmd
        self.exception_path = shape.exception_path
        self.interface = "glb0" if self.exception_path else shape.interface  # of the kernel
        self.folder = f"/run/lab/{self.name}"
        self._make_folder(shape.disk_mb)
        self.host = network.add_director(link)
        self.conf, self.source, self.table, self.log = (
            f"{self.folder}/{name}"
            for name in ("director.conf", "forwarding_table.json", "forwarding_table.bin", "director.log"))
        source = "outbound_src_ip6" if shape.ipv6 else "outbound_src_ip"
        write(self.conf, CONF.format(source=source, address=link.address, mtu=shape.gue_mtu) + EXCEPTION_PATH * self.exception_path
              + VLANS * shape.vlan + METRICS.format(endpoint(shape.every_address, METRICS_PORT)) * shape.metrics)
        self.pid_file = f"{self.folder}/director.pid"
        self.process = self.healthcheck = None

    def _make_folder(self, disk_mb):
        """Before there is a host, whose mounts are those of now."""
        os.mkdir(self.folder)
        if disk_mb:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk_mb}m", self.name, self.folder], check=True)

    def write_table(self, table):
        write(self.source, table.json())
        cli("build-config", self.source, self.table, build=self.build)

    def build_table(self, table, name):
        """Builds a table beside the one in use. Returns its path."""
        source, built = f"{self.folder}/{name}.json", f"{self.folder}/{name}.bin"
        write(source, table.json())
        cli("build-config", source, built, build=self.build)
        return built

    def install_table(self, path):
        """Replaces the table by one that is built already, with a rename."""
        shutil.copyfile(path, f"{self.table}.new")
        os.replace(f"{self.table}.new", self.table)

    def start(self):
        """Returns at once; wait_ready() waits until the director forwards."""
        if self.pmd == "pcap":
            vdev = "net_pcap0,iface=eth0,phy_mac=1"
        elif self.pmd == "af_xdp" and self.exception_path:
            vdev = "net_af_xdp0,iface=eth0,busy_budget=0"  # all packets
        elif self.pmd == "af_xdp":
            # As glb-bifurcate.service does at boot. The director then keeps the map in step with its table.
            self.host.run(program("glb-bifurcate", self.build), "sync", self.table)
            vdev = f"net_af_xdp0,iface=eth0,busy_budget=0,xdp_prog={program('bifurcate.bpf.o', self.build)}"
        else:
            vdev = "net_af_packet0,iface=eth0,qdisc_bypass=1"
        # Opened here, so that a start that fails can log the reason.
        with open(self.log, "a") as log:
            self.process = self.host.start(
                program("glb-director", self.build), *EAL, f"--file-prefix={self.name}", f"--vdev={vdev}", "--",
                "--config-file", self.conf, "--forwarding-table", self.table,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        write(self.pid_file, f"{self.process.pid}\n")

    def wait_ready(self):
        if self.exception_path:
            wait_until(self._has_interface, f"{self.name} to make {self.interface}")
            self.network.move_to_exception_path(self.host, self.link)

        def ready():
            self._check()
            done = subprocess.run(
                [program("glb-director-cli"), "stats", "--file-prefix", self.name, "--json"], capture_output=True)
            return done.returncode == 0 and json.loads(done.stdout)["next_hop_mac"] != "unknown"

        wait_until(ready, f"{self.name} to know a next hop")

    def _check(self):
        if self.process.poll() is not None:
            raise LabError(f"{self.name} did not start:\n{read(self.log)}")

    def _has_interface(self):
        self._check()
        return self.host.run("ip", "link", "show", "up", "dev", self.interface, check=False).stdout

    def reload(self, table=None, *options):
        if table:
            self.write_table(table)
        cli("reload", "--file-prefix", self.name, *options)

    def publish(self, table):
        """Publishes a table as operators do. Returns when the director uses it."""
        if self.healthcheck:
            self.healthcheck.publish(table)
        else:
            self.reload(table)

    def has_built(self):
        """Whether the binary table is built from the current JSON table."""
        return cli_json("show", self.table)["digest"] == cli_json("show", self.source)["digest"]

    def uses_built(self):
        return self.stats()["digest"] == cli_json("show", self.table)["digest"]

    def stats(self):
        return cli_json("stats", "--file-prefix", self.name)

    def telemetry(self, command, timeout_s=TIMEOUT_S):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as telemetry:
            telemetry.settimeout(timeout_s)
            telemetry.connect(f"/run/dpdk/{self.name}/dpdk_telemetry.v2")
            telemetry.recv(TELEMETRY_BYTES)  # the greeting
            telemetry.send(command.encode())
            return json.loads(telemetry.recv(TELEMETRY_BYTES))[command.partition(",")[0]]

    def missed(self):
        """Packets that the port lost before the director received them, by DPDK's own counters."""
        stats = self.telemetry("/ethdev/stats,0")
        return stats["imissed"] + stats["rx_nombuf"]

    def hops(self, client, port, vip, vip_port, table=None):
        """The hops of a connection by `table`, or by the table in use: addresses of proxies, first hop first."""
        ends = endpoint(client, port), endpoint(vip, vip_port)
        found = cli_json("lookup", table or self.table, *ends, "--config", self.conf)
        return [hop["ip"] for hop in found["hops"]]

    def running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Sends SIGTERM. Returns the counters from just before."""
        stats = self.stats()
        os.remove(self.pid_file)
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(TIMEOUT_S) != 0:
            raise LabError(f"{self.name} ended with exit code {self.process.returncode}:\n{read(self.log)}")
        return stats

    def kill(self):
        os.remove(self.pid_file)  # another process may soon have this pid
        self.process.kill()
        self.process.wait()
