# SPDX-License-Identifier: BSD-3-Clause
"""Measures how much glb-redirect slows down traffic other than GUE: TCP over a veth pair between two namespaces. Needs root.

Each round measures every XDP program in turn. A ratio is the median of the rounds' ratios. `pass` is a program that passes every packet.
Native XDP switches off the segmentation offload of a veth pair, which does not happen on a network card, so the ratio to `pass` shows the
cost of glb-redirect itself.
"""

import contextlib
import socket
import statistics
import threading
import time

from lab.net import Namespace, connect

SECONDS, ROUNDS = {False: 0.5, True: 0.1}, {False: 7, True: 1}  # with --quick
CHUNK = bytes(1 << 20)
PASS = "/sys/fs/bpf/pass"
MODES = {"native": "xdpdrv", "generic": "xdpgeneric"}


def receive(listener, counts, stop):
    connection, _ = listener.accept()
    buffer = bytearray(1 << 20)
    with connection:
        while not stop.is_set():
            got = connection.recv_into(buffer)
            if not got:
                break
            counts[0] += got


def throughput(server, client, seconds):
    """The rate of one TCP connection in Gbit/s."""
    with server:
        listener = socket.create_server(("192.0.2.1", 5000))
    counts, stop = [0], threading.Event()
    thread = threading.Thread(target=receive, args=(listener, counts, stop))
    thread.start()
    with client:
        sender = socket.socket()
    sender.connect(("192.0.2.1", 5000))
    deadline = time.monotonic() + 1.2 * seconds
    start = None
    while (now := time.monotonic()) < deadline:
        if start is None and now > deadline - seconds:
            start, before = now, counts[0]
        sender.send(CHUNK)
    rate = (counts[0] - before) * 8 / (time.monotonic() - start) / 1e9
    sender.close()
    thread.join()
    listener.close()
    return rate


def contestants(server, redirect, rate):
    """{name: function that measures the rate}"""

    def with_pass(mode):
        server.run("bpftool", "net", "attach", MODES[mode], "pinned", f"{PASS}/nothing", "dev", "eth0")
        found = rate()
        server.run("bpftool", "net", "detach", MODES[mode], "dev", "eth0")
        return found

    def with_redirect(mode):
        server.run(redirect, "attach", "eth0", "--mode", mode)
        found = rate()
        server.run(redirect, "detach", "eth0")
        return found

    return {
        "no program": rate,
        "native, pass": lambda: with_pass("native"),
        "native, glb-redirect": lambda: with_redirect("native"),
        "generic, pass": lambda: with_pass("generic"),
        "generic, glb-redirect": lambda: with_redirect("generic"),
    }


def measure(build, quick):
    """[(name, rates in Gbit/s, ratio to no program, or of glb-redirect to the program that passes everything)]"""
    with contextlib.ExitStack() as stack:
        server, client = (stack.enter_context(contextlib.closing(Namespace())) for _ in range(2))
        connect(server, "eth0", client, "eth0")
        server.ip("addr add 192.0.2.1/24 dev eth0")
        client.ip("addr add 192.0.2.2/24 dev eth0")
        server.run("bpftool", "prog", "loadall", str(build / "bench/redirect_programs_plain.bpf.o"), PASS)
        kinds = contestants(server, str(build / "src/redirect/glb-redirect"), lambda: throughput(server, client, SECONDS[quick]))
        rates = {kind: [] for kind in kinds}
        for number in range(ROUNDS[quick]):
            order = list(kinds.items())
            for kind, measure_one in order[number % len(order) :] + order[: number % len(order)]:
                rates[kind].append(measure_one())

    def ratio(kind):
        to = kind.replace("glb-redirect", "pass") if kind.endswith("glb-redirect") else "no program"
        return round(statistics.median(a / b for a, b in zip(rates[kind], rates[to])), 3)

    return [(kind, values, ratio(kind)) for kind, values in rates.items()]
