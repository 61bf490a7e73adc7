# SPDX-License-Identifier: BSD-3-Clause
"""Real traffic through a real director, each packet compared with what `glb-director-cli lookup` predicts.

usage: python3 -m lab.demo BUILD [--keep FOLDER], at the top of the tree

BUILD is a build folder. --keep copies the capture, the table and the configuration to FOLDER. Exit status: 0 when every
packet to the VIP was forwarded as predicted and answered, else 1. Run by script/demo.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from lab import topology
from lab.net import enter_capsule
from lab.packet import inner_of, read_pcap, write_pcap
from lab.pairing import pair, split
from lab.report import HEADER, Outer, Printer, Sent, print_flow, summary

PYTHON = [sys.executable, "-B", "-m"]
VIPS = (topology.VIP4, topology.VIP6)
QUIET_S = 0.3
PATIENCE_S = 20  # for anything that should be there in a moment


class DemoError(Exception):
    """Says what went wrong and what to look at."""


class Files:
    def __init__(self, folder):
        self.folder = folder
        self.source = f"{folder}/forwarding_table.json"
        self.table = f"{folder}/forwarding_table.bin"
        self.conf = f"{folder}/director.conf"
        self.capture = f"{folder}/demo.pcap"
        self.forwarded = f"{folder}/forwarded.pcap"
        self.log = f"{folder}/director.log"


class Tools:
    def __init__(self, build):
        self.director = os.path.join(build, "src/director/glb-director")
        self.cli_path = os.path.join(build, "src/cli/glb-director-cli")
        for path in (self.director, self.cli_path):
            if not os.access(path, os.X_OK):
                raise DemoError(f"{path} is missing: run script/build")

    def cli(self, *arguments):
        done = subprocess.run([self.cli_path, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise DemoError(f"glb-director-cli {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def cli_json(self, *arguments):
        return json.loads(self.cli(*arguments, "--json"))


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise DemoError(f"waited {PATIENCE_S} s for {what}")


def write_files(tools, files, gateway_mac):
    with open(files.source, "w") as file:
        json.dump(topology.forwarding_table(), file, indent=1)
    with open(files.conf, "w") as file:
        file.write(topology.director_conf(gateway_mac))
    tools.cli("build-config", files.source, files.table)


def start_proxies(network):
    proxies = [
        proxy.start([*PYTHON, "lab.proxy", name, topology.PROXIES[name], *VIPS], stdout=subprocess.PIPE)
        for name, proxy in network.proxies.items()
    ]
    for proxy in proxies:
        if proxy.stdout.readline() != "ready\n":
            raise DemoError("a proxy did not start: see its message above")


def start_capture(network, files):
    """On the router's side of the director's leg: what the director receives and what it sends, in order."""
    wanted = f"ip dst host {topology.VIP4} or ip6 dst host {topology.VIP6} or udp port 19523"
    capture = network.router.start(
        ["tcpdump", "--interface=to-director", "--immediate-mode", "--packet-buffered", "-s", "2000", "-Z", "root",
         "-w", files.capture, wanted], stderr=subprocess.PIPE)
    if "listening on" not in capture.stderr.readline():
        raise DemoError(f"tcpdump: {capture.stderr.read()}")
    return capture


def start_director(tools, files, network):
    log = open(files.log, "w")
    eal = ["--no-huge", "-m", "128", "--no-pci", "-l", "0", "--vdev=net_af_packet0,iface=eth0,qdisc_bypass=1"]
    ours = ["--config-file", files.conf, "--forwarding-table", files.table]
    director = network.director.start([tools.director, *eal, "--", *ours], stdout=log, stderr=log)

    def ready():
        if director.poll() is not None:
            with open(files.log) as file:
                raise DemoError(f"the director did not start:\n{file.read()}")
        return subprocess.run([tools.cli_path, "stats", "--json"], capture_output=True).returncode == 0

    wait_for("the director", ready)
    return director


def run_traffic(network):
    lines = network.client.run([*PYTHON, "lab.traffic"], stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in lines.splitlines()]


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise DemoError(f"{process.args} did not stop") from None


def pair_packets(tools, files):
    """[(packet received, whether it was sent unchanged, outer headers that it was sent with)]"""
    received, sent = split(read_pcap(files.capture), VIPS)
    if len(sent) != len(received):
        raise DemoError(f"the director received {len(received)} packets for the VIP, but sent {len(sent)}")
    write_pcap(files.forwarded, sent)
    outers = [decoded_outer(packet) for packet in tools.cli_json("decode", files.forwarded)["packets"]]
    if len(outers) != len(sent):
        raise DemoError(f"decode takes only {len(outers)} of {len(sent)} packets for well-formed GUE")
    return [(*paired, outer) for paired, outer in zip(pair(received, sent), outers, strict=True)]


def decoded_outer(decoded):
    return Outer(
        decoded["source"], decoded["udp_source_port"], decoded["destination"], decoded["next_hop"], tuple(decoded["hops"]))


def lookup(tools, files, flow):
    """From the JSON source, which also says why; the director reads the binary table."""
    found = tools.cli_json("lookup", files.source, "--config", files.conf, *flow.lookup_arguments())
    if found["verdict"] != "forwarded":
        raise DemoError(f"lookup would not forward {flow}: {found['reason']}")
    return found


def predicted_outer(found):
    hops = [hop["ip"] for hop in found["hops"]]
    return Outer(topology.DIRECTOR, found["udp_source_port"], hops[0], 0, tuple(hops[1:]))


def compare(tools, files):
    """{flow: (what lookup found, [Sent])}, in the order of the flows' first packets."""
    flows = {}
    for packet, unchanged, outer in pair_packets(tools, files):
        if packet.flow not in flows:
            flows[packet.flow] = lookup(tools, files, packet.flow), []
        found, sents = flows[packet.flow]
        sents.append(Sent(packet, outer, predicted_outer(found), unchanged))
    return flows


def answers_as_expected(answers, flows, printer):
    """Each thing the clients did was answered, and by the proxy that lookup names."""
    proxy_of = {address: name for name, address in topology.PROXIES.items()}
    first_hop = {flow.client: sents[0].predicted.first_hop for flow, (_, sents) in flows.items()}
    right = True
    for done in answers:
        proxy, answer = proxy_of[first_hop[done["client"]]], done["answer"]
        fine = answer is not None and (answer == "answered" or answer.startswith(proxy))
        right = right and fine
        mark = printer.verdict(True) if fine else printer.colour("1;31", f"WRONG: expected {proxy}")
        printer.line(f" {done['what']:29} {done['client']:16} {answer or 'no answer':22} {mark}")
    return right


def show(printer, flows, answers, stats):
    printer.line("client -> router -> director -> router -> proxy-1 .. proxy-3 -> router -> client")
    printer.line("Each flow: what lookup predicts, then its packets as the director sent them.")
    printer.line(HEADER)
    for flow, (found, sents) in flows.items():
        print_flow(printer, flow, found, sents)
    printer.title("what the clients saw")
    answered = answers_as_expected(answers, flows, printer)
    everything = [sent for _, sents in flows.values() for sent in sents]
    printer.title("what the director counted")
    printer.line(f" received {stats['received']}, forwarded {stats['forwarded']},"
                 f" drop_unmatched {stats['drop_unmatched']} (ARP, ND, MLD)")
    printer.line(summary(everything))
    equal = all(sent.equal for sent in everything) and stats["forwarded"] == len(everything)
    return bool(everything) and equal and answered


def final_stats(tools):
    """The counters, once nothing more comes: the last ACK may be sent when its program has ended. Else None."""
    before = tools.cli_json("stats")
    time.sleep(QUIET_S)
    stats = tools.cli_json("stats")
    return stats if stats["forwarded"] == before["forwarded"] else None


def is_gue(frame):
    return inner_of(frame) is not None


def run(build, keep):
    tools, files = Tools(build), Files("/run/lab")
    network = topology.build()
    write_files(tools, files, network.gateway_mac)
    start_proxies(network)
    capture = start_capture(network, files)
    director = start_director(tools, files, network)
    answers = run_traffic(network)
    stats = wait_for("quiet", lambda: final_stats(tools))
    wait_for("tcpdump", lambda: sum(map(is_gue, read_pcap(files.capture))) >= stats["forwarded"])
    if stop(director) != 0:
        raise DemoError("the director did not stop cleanly")
    stop(capture)
    flows = compare(tools, files)
    if keep:
        shutil.copytree(files.folder, keep, dirs_exist_ok=True)
    return show(Printer(), flows, answers, stats)


def main():
    parser = argparse.ArgumentParser(usage="script/demo [--keep FOLDER]")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("--keep", metavar="FOLDER", help="copy the capture, the table and the configuration there")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("demo: making network namespaces needs root: run script/demo as root")
    enter_capsule()
    try:
        sys.exit(0 if run(arguments.build, arguments.keep) else 1)
    except DemoError as error:
        sys.exit(f"demo: {error}")


if __name__ == "__main__":
    main()
