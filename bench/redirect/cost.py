#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures how many nanoseconds glb-redirect needs for a packet, and what it costs other traffic. script/bench --redirect runs it."""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / path) for path in ("", "tests", "tests/vectors", "tests/bpf", "bench/figures")]
import costs  # noqa: E402
import throughput  # noqa: E402
from host import Host, outside  # noqa: E402
from kinds import make_cases  # noqa: E402
from packets import OTHER_HOP  # noqa: E402
from program import Bench, Redirect  # noqa: E402

XDP_ABORTED = 0
# Before and after the runs, the kernel waits for 10 ms each (bpf_dispatcher_change_prog), so few calls have many runs.
ROUNDS, RUNS = {False: 20, True: 2}, {False: 20000, True: 200}  # with --quick
NOISY, RESOLUTION_NS = 1.15, 2  # of the low quantiles of both halves of the rounds


def prepare(host):
    """Makes the routes and neighbours of the next hops known, and forwarding of the kind that a query of routes needs."""
    host.namespace.sysctl({"net.ipv4.conf.lo.forwarding": 1, "net.ipv6.conf.lo.forwarding": 1})
    host.namespace.ip(*(f"neigh replace {router} lladdr {':'.join(f'{byte:02x}' for byte in host.router_mac)} nud permanent dev eth0"
                        for router in ("192.168.50.1", outside(6, "192.168.50.1"))), f"route replace {OTHER_HOP} via 192.168.50.1")


def load(host, cases, build, folder):
    """{setting: (glb-redirect, programs to compare with)}"""
    programs, benches = {}, {}
    for case in cases:
        setting = case.setting
        if setting in programs:
            continue
        path = Path(folder) / f"{len(programs)}.conf"
        path.write_text(setting.conf)
        path.chmod(0o600)
        options = [*setting.options, *(["--config-file", str(path)] if setting.conf else [])]
        redirect = Redirect(host.namespace, "eth0", str(build / "src/redirect/glb-redirect"), *options)
        if redirect.frags not in benches:
            benches[redirect.frags] = Bench(host.namespace, "eth0", build, redirect.frags, redirect.lists)
        programs[setting] = redirect, benches[redirect.frags]
    return programs


def measure(cases, programs, rounds, runs):
    """{(case name, program): [ns]}, with what stands before each program, all in turns. The program `nothing` has only that."""
    found = {}
    for number in range(rounds + 1):  # the first round is not counted
        for case in cases:
            redirect, bench = programs[case.setting]
            bench.want(case)
            before = redirect.counted()
            for name in ("nothing", "redirect", *case.helpers):
                ns, action = bench.run(redirect.fd if name == "redirect" else name, case.frame, runs)
                assert action != XDP_ABORTED, f"{case.name}: {name} failed"
                if number:
                    found.setdefault((case.name, name), []).append(ns)
            counted = {counter: value - before[counter] for counter, value in redirect.counted().items() if value != before[counter]}
            assert counted == ({"total": runs, case.counter: runs} if case.counter else {}), f"{case.name}: {counted}"
    return found


def low_and_middle(samples):
    samples = sorted(samples)
    return samples[(len(samples) - 1) // 10], statistics.median_low(samples)


def row(path, what, unit, samples, empty=(0,), **more):
    """A figure. What `empty` took is subtracted."""
    p10, median = low_and_middle(samples)
    empty_p10, empty_median = low_and_middle(empty)
    halves = [low_and_middle(samples[half::2] or samples)[0] for half in (0, 1)]
    return {"path": path, "what": what, "unit": unit, "p10": round(p10 - empty_p10, 3), "median": round(median - empty_median, 3),
            "noisy": max(halves) > NOISY * min(halves) + RESOLUTION_NS, **more}


def machine():
    cpu = dict(line.split("\t: ", 1) for line in Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines() if "\t: " in line)
    cpu = {key.strip(): value for key, value in cpu.items()}
    return {"path": "machine", "what": cpu.get("model name", "unknown"), "unit": "CPUs", "p10": os.cpu_count(), "median": os.cpu_count(),
            "how": f"Linux {os.uname().release.partition('-')[0]}", "noisy": False}


def main():
    parser = argparse.ArgumentParser(prog="script/bench --redirect", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measures for a shorter time, which says little")
    parser.add_argument("--json", metavar="FILE", help="writes the figures for bench/figures/publish.py")
    parser.add_argument("--build", type=Path, default=TREE / "build", help="folder of the build (default: build)")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("script/bench --redirect: needs root (network namespaces, XDP programs)")
    build = options.build.resolve()
    rows = [machine()]
    allowed = os.sched_getaffinity(0)
    with contextlib.ExitStack() as stack:
        host = Host()
        stack.enter_context(host.close)
        prepare(host)
        os.sched_setaffinity(0, {min(allowed)})
        cases = make_cases(host)
        programs = load(host, cases, build, stack.enter_context(tempfile.TemporaryDirectory()))
        found = measure(cases, programs, ROUNDS[options.quick], RUNS[options.quick])
        os.sched_setaffinity(0, allowed)
    rows += [row(name, what, "ns", samples, found[what, "nothing"]) for (what, name), samples in found.items() if name != "nothing"]
    rows += [row("throughput", kind, "Gbit/s", rates, relative=relative) for kind, rates, relative in throughput.measure(build, options.quick)]
    print("\n\n".join(block(costs.Figures(rows)) for block in (costs.machine, costs.packets, costs.targets, costs.rates)))
    if options.json:
        Path(options.json).write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
