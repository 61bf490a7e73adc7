#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures how much glb-redirect slows down traffic other than GUE: TCP over a veth pair between two namespaces. Needs root.

Usage: bench/redirect_throughput.py [BUILDDIR [ROUNDS]]

Each round measures every XDP program in turn. A figure is the median over the rounds, and a ratio is the median of the rounds' ratios.
`pass` is a program that passes every packet. Native XDP switches off the segmentation offload of a veth pair, which does not happen on
a network card, so the ratio to `pass` shows the cost of glb-redirect itself.
"""

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
sys.path.append(str(TREE))
from lab.net import Namespace, connect  # noqa: E402

SECONDS = 1.0
CHUNK = bytes(1 << 20)
PASS = '__attribute__((section("xdp"))) int pass(void *c) { return 2; } char l[] __attribute__((section("license"))) = "GPL";'


def receive(listener, counts, stop):
    connection, _ = listener.accept()
    buffer = bytearray(1 << 20)
    with connection:
        while not stop.is_set():
            got = connection.recv_into(buffer)
            if not got:
                break
            counts[0] += got


def throughput(server, client):
    """The rate of one TCP connection in Gbit/s."""
    with server:
        listener = socket.create_server(("192.0.2.1", 5000))
    counts, stop = [0], threading.Event()
    thread = threading.Thread(target=receive, args=(listener, counts, stop))
    thread.start()
    with client:
        sender = socket.socket()
    sender.connect(("192.0.2.1", 5000))
    deadline = time.monotonic() + SECONDS + 0.2
    start = None
    while (now := time.monotonic()) < deadline:
        if start is None and now > deadline - SECONDS:
            start, before = now, counts[0]
        sender.send(CHUNK)
    rate = (counts[0] - before) * 8 / (time.monotonic() - start) / 1e9
    sender.close()
    thread.join()
    listener.close()
    return rate


def main():
    build = Path(sys.argv[1] if len(sys.argv) > 1 else TREE / "build").resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    glb_redirect = str(build / "src/redirect/glb-redirect")
    server, client = Namespace(), Namespace()
    connect(server, "eth0", client, "eth0")
    server.ip("addr add 192.0.2.1/24 dev eth0")
    client.ip("addr add 192.0.2.2/24 dev eth0")
    with tempfile.NamedTemporaryFile(suffix=".o") as program:
        compile_ = ["clang", "-target", "bpf", "-O2", "-x", "c", "-", "-c", "-o", program.name]
        subprocess.run(compile_, input=PASS, text=True, check=True)
        server.run("bpftool", "prog", "load", program.name, "/sys/fs/bpf/pass")

    def with_pass(mode):
        server.run("bpftool", "net", "attach", mode, "pinned", "/sys/fs/bpf/pass", "dev", "eth0")
        rate = throughput(server, client)
        server.run("bpftool", "net", "detach", mode, "dev", "eth0")
        return rate

    def with_redirect(mode):
        server.run(glb_redirect, "attach", "eth0", "--mode", mode)
        rate = throughput(server, client)
        server.run(glb_redirect, "detach", "eth0")
        return rate

    kinds = {
        "no program": lambda: throughput(server, client),
        "native, pass": lambda: with_pass("xdpdrv"),
        "native, glb-redirect": lambda: with_redirect("native"),
        "generic, pass": lambda: with_pass("xdpgeneric"),
        "generic, glb-redirect": lambda: with_redirect("generic"),
    }
    rates = {kind: [] for kind in kinds}
    for number in range(rounds):
        order = list(kinds.items())
        for kind, measure in order[number % len(order) :] + order[: number % len(order)]:
            rates[kind].append(measure())

    def ratio(kind, to):
        return statistics.median(a / b for a, b in zip(rates[kind], rates[to]))

    for kind, values in rates.items():
        print(f"{kind:22} {statistics.median(values):6.2f} Gbit/s  {ratio(kind, 'no program'):.3f} of no program")
    for mode in ("native", "generic"):
        print(f"{mode}: glb-redirect / pass = {ratio(f'{mode}, glb-redirect', f'{mode}, pass'):.3f}")
    print(f"time of the program for a TCP packet: {program_time(server, glb_redirect)} ns")
    server.close()
    client.close()


def program_time(namespace, glb_redirect):
    """The time in ns that BPF_PROG_TEST_RUN measures for a million runs on the same packet, which is in the CPU's cache."""
    namespace.run(glb_redirect, "attach", "eth0")
    frame = bytes.fromhex("0200000000010200000000020800450005dc00004000400600000a0000010a0000020050c000") + bytes(1462)
    shown = json.loads(namespace.run("bpftool", "-j", "link", "show", "pinned", "/sys/fs/bpf/glb-redirect/eth0/link").stdout)
    with tempfile.NamedTemporaryFile() as file:
        file.write(frame)
        file.flush()
        run = namespace.run(
            "bpftool", "-j", "prog", "run", "id", str(shown["prog_id"]), "data_in", file.name, "repeat", "1000000"
        )
    return json.loads(run.stdout)["duration"]


if __name__ == "__main__":
    main()
