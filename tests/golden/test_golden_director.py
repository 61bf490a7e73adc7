# SPDX-License-Identifier: BSD-3-Clause
"""The outlets of a director: metrics, statsd, telemetry, page, and what the CLI prints about it. One director for all of them but statsd."""

import contextlib
import http.client
import json
import os
import re
import select
import socket
import subprocess

import pytest
from golden import check, legacy, no_values, once, outline, sections, series, shape

from lab.net import Namespace, connect
from lab.tools import TIMEOUT_S, wait_until
from support import pcap, traffic
from support.browser import Page
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, write_table
from support.tree import CLI
from vectors.cases import frames as f

PORT = 19520
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}
# What differs between machines, versions and runs.
HIDDEN = ("version", "dpdk", "isa", "isa_by", "digest", "first_hops", "fingerprint", "path", "mac", "cause", "severity", "object")
ROUTER = "02:00:00:00:01:01"
FLOW = ("198.51.100.7,40000", "10.10.10.10,80,tcp")


def router_message():
    """An ICMP error of a router about a GUE packet from the director to a proxy."""
    quote = f.ipv4(CONFIG["outbound_src_ip"], "192.168.50.11", f.UDP, f.udp(0x8123, 19523, length=1280), total_length=1300)
    error = f.ipv4("203.0.113.1", CONFIG["outbound_src_ip"], f.ICMP, bytes([3, 4, 0, 0, 0, 0, 1200 >> 8, 1200 & 255]) + quote)
    return f.ethernet(error)


class Host:
    """A director on a veth pair that has received random frames, knows some next hops and not others, and has refused a table."""

    def __init__(self, stack, folder):
        self.here, self.client = Namespace("director"), Namespace("client")
        stack.callback(self.here.close)
        stack.callback(self.client.close)
        connect(self.client, "client", self.here, "director")
        self.table = write_table(folder / "table.bin", traffic.TABLE)
        config = {**CONFIG, "outbound_gateway_mac": "auto", "outbound_mtu": 1300, "exception_path": "tap", "idle": "sleep",
                  "metrics": f"127.0.0.1:{PORT}"}
        self.director = stack.enter_context(
            DirectorProcess(["net_af_packet0,iface=director"], config, self.table, prefix=self.here.command()))
        self.here.ip("address add 10.255.0.1/24 dev director",
                     f"neigh replace 10.255.0.7 lladdr {ROUTER} dev director",
                     "route add 192.168.50.0/24 via 10.255.0.7", "route add 192.168.51.0/24 via 10.255.0.9")
        wait_until(self.settled, lambda: f"next hops: {self.director.telemetry.ask('/glb/next_hops,0')}\n{self.director.log}")
        with self.client.packet_socket("client") as cable:
            for frame in [*traffic.random_frames(8, 200), router_message()]:
                if 14 <= len(frame) <= 1514:
                    cable.send(frame)
        wait_until(lambda: self.director.stats()["forwarded"] and self.director.telemetry.ask("/glb/underlay")["proxies"],
                   lambda: f"the router's message: {self.director.stats()}")

    def settled(self):
        """Whether one next hop has its MAC address, the director knows another one, and backends lack one."""
        page = self.director.telemetry.ask("/glb/next_hops,0")
        known = {each["address"]: each["mac"] for each in page.get("next_hops", {}).values()}
        return known.get("10.255.0.7") == ROUTER and "10.255.0.9" in known and page["without"]

    def refuse(self):
        """Makes the director refuse a table."""
        good = self.table.read_bytes()
        self.table.write_bytes(b"broken")
        reply = self.director.telemetry.ask("/glb/reload")
        self.table.write_bytes(good)
        wait_until(lambda: any(reason["cause"] == "reload_failed" for reason in self.director.telemetry.ask("/glb/health")["reasons"].values()),
                   "the reason")
        return reply

    def get(self, path, **headers):
        with self.here, contextlib.closing(http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT_S)) as connection:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().read().decode()

    def cli(self, *words):
        """What the CLI prints, with any exit code."""
        done = subprocess.run([*self.here.command(), CLI, *words, "--file-prefix", self.director.file_prefix], capture_output=True,
                              text=True, timeout=TIMEOUT_S, env=self.director.environment, check=False)
        assert done.stdout, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    if os.getuid() != 0:
        pytest.skip("network namespaces need root")
    with contextlib.ExitStack() as stack:
        made = Host(stack, tmp_path_factory.mktemp("golden"))
        made.refused = made.refuse()
        yield made


def test_metrics(host):
    text = series(host.get("/metrics", **OPENMETRICS), *HIDDEN)
    check("glb-director.metrics", text)
    assert series(host.get("/metrics"), *HIDDEN) == legacy(text)


def test_telemetry(host):
    ask = host.director.telemetry.ask
    commands = [command for command in ask("/") if command.startswith("/glb/")]
    found = {"help": "\n".join(f"{command}: {text}" for command in commands for text in ask(f"/help,{command}").values())}
    questions = {command: [command] for command in commands}
    questions["/glb/tables"] += ["/glb/tables,,0"]
    questions["/glb/tables,INDEX"] = [f"/glb/tables,{index}" for index in range(3)]
    questions["/glb/tables,INDEX: no such table"] = ["/glb/tables,99"]
    questions["/glb/next_hops,SET"] = ["/glb/next_hops,0"]
    questions["/glb/lookup"] = [f"/glb/lookup,{','.join(FLOW)}"]
    questions["/glb/lookup: no table"] = [f"/glb/lookup,{FLOW[0]},192.0.2.99,80,tcp"]
    questions["/glb/lookup: wrong usage"] = ["/glb/lookup,x"]
    for title, each in questions.items():
        # Long texts are split into text, text_2, text_3 ...
        lines = shape(*map(ask, each)).splitlines()
        found[title] = "\n".join(line for line in lines if not re.search(r"\w_[2-9] text$", line))
    found["/glb/reload: refused"] = shape(host.refused)
    host.refuse()
    check("glb-director.telemetry", sections(found))


def page(host, path):
    before, reasons, after = re.fullmatch(r"(.*h2: Not forwarded\n)(.*?)(summary: Other .*)", outline(Page(host.get(path))), re.DOTALL).groups()
    # A reason is there from its first packet on, and the kernel may send packets, too.
    return re.sub("degraded|failing", "STATE", before + re.sub(r"(?m)^row: .*\n", "", reasons) + after)


def test_page(host):
    check("glb-director.page", sections({path: page(host, path) for path in ("/", "/tables/0")}))


def test_commands_about_a_running_director(host):
    """Texts without values, and the members of JSON."""
    found = {}
    for command in ("stats --all", "tables --live", "show --live", "next-hops", "health", "lookup --live 198.51.100.7:40000 10.10.10.10:80"):
        text = host.cli(*command.split())
        text = re.sub(r"(?m)^(ISA|last error) .*\n(?: .*\n)*", r"\1 ...\n", text)  # depends on the CPU, or on the length of a path
        text = re.sub(r"(?m)^(director .*, up ).*", r"\1...", text)
        if command == "next-hops":  # a neighbour that does not answer
            text = re.sub(r"\b(resolving|failed)\b", "resolving", text)
            text = re.sub(r"\b(\d+[dhms] ?)+\b", "0s", text)
        if command != "health":  # its text has the reasons, which differ between machines
            found[command] = once(no_values(text))
        found[f"{command} --json"] = shape(json.loads(host.cli(*command.replace(" --all", "").split(), "--json")))
    found["doctor --json"] = re.sub(r"(?m)(\.command) .*", r"\1 null|text", shape(json.loads(host.cli("doctor", "--json"))))
    check("glb-director-cli.live", sections(found))


@pytest.fixture
def statsd():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.settimeout(TIMEOUT_S)
        yield made


def receive(statsd, frames):
    """The names, tags and types of metrics, until a round has ended in which all frames are counted."""
    found, counted = set(), 0
    while counted < frames or not any("underlay_mtu" in line for line in found):
        for line in statsd.recv(65536).decode("ascii").split("\n"):
            name, value, kind = re.fullmatch(r"([^:|]+):([^|]+)\|(.+)", line).groups()
            # Which binds have samples depends on chance, and the reasons depend on the machine.
            if "health_reason." not in name and "#cause:" not in kind:
                found.add(name.split("_estimated_")[0] + "_estimated ..." if "_estimated_" in name else f"{name} {kind}")
            # The last counter of a round.
            counted += int(value) if "lcore_received_packets" in name else 0
    return "\n".join(sorted(found))


def test_statsd_and_what_the_director_prints_at_its_end(tmp_path, statsd):
    """Counters that are 0 are not sent, so they are the ones of these frames."""
    frames = [router_message(), *traffic.random_frames(8, 2000)]
    rx = pcap.write(tmp_path / "rx.pcap", frames)
    table = write_table(tmp_path / "table.bin", traffic.TABLE)
    config = {**CONFIG, "outbound_mtu": 1300, "idle": "sleep"}
    found = {}
    for tags in (False, True):
        own = {"host": "127.0.0.1", "port": statsd.getsockname()[1], "tags": tags}
        with DirectorProcess([f"net_pcap0,rx_pcap={rx},tx_pcap={tmp_path / 'tx.pcap'}"], {**config, "statsd": own}, table) as director:
            found[f"tags = {str(tags).lower()}"] = receive(statsd, len(frames))
            counters = "\n".join(director.terminate())
        while select.select([statsd], [], [], 0)[0]:
            statsd.recv(65536)
    check("glb-director.statsd", sections(found))
    check("glb-director.output", sections({"printed at the end": counters}))
