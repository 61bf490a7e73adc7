#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures what an operator waits for with big tables: edit, check, diff, plan, build, reload, and the first packet by the new table.

Usage: script/bench --tables [--quick] [--size TABLESxBACKENDS] [--step STEP] [--json FILE]

  --quick      measures only tables that take some seconds
  --size SIZE  measures only this size, such as 64x256; may be repeated
  --step STEP  measures only the edits and this step: check, diff, plan, build-config or reload, which includes build-config; may be repeated
  --json FILE  writes the figures for bench/figures/publish.py. Keeps other figures that the file has

A figure is the shortest of up to three times. The memory of a command is its peak, and that of reload is the peak of the director, which has
both tables for a moment. The director runs on one lcore without hugepages, and gets packets from a file. It needs no root. A size that
needs more memory or disk than there is, is skipped. TMPDIR names the folder of the files.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("GLB_LAB_TIMEOUT_S", "600")
TREE = Path(__file__).resolve().parents[1]
sys.path += [str(TREE), str(TREE / "tests"), str(TREE / "bench/figures")]
import waits  # noqa: E402

from lab.tools import LabError, poll  # noqa: E402
from support import pcap  # noqa: E402
from support.director_conf import CONFIG  # noqa: E402
from support.director_process import DirectorProcess, Telemetry  # noqa: E402
from support.tree import CLI, DIRECTOR  # noqa: E402

ROUNDS, ENOUGH_S = 3, 1  # a step is repeated until it was run so often, or for so long; with --quick it is run once
STEPS = ("check", "diff", "plan", "build-config", "reload")  # those that may be left out
BINDS = (("tcp", 80), ("tcp", 443), ("udp", 443), ("tcp", 22))
PROXY, VIP = "10.1.0.0", "198.19.0.1"  # a proxy of every table; the address that only the new table has
FRAME = bytes(12) + bytes.fromhex("0800 4500002800010000400600000a630007c6130001 9c400050000000010000000050020400 00000000")  # TCP to port 80 of VIP
MIB = 1 << 20
FOLDER = tempfile.gettempdir()
MAX_FOLDER = 48  # DirectorProcess makes a socket in its folder, and the path of a socket has at most 107 bytes


class Failed(Exception):
    """Its text says what failed and what to do."""


def write_tables(path, tables, backends):
    """Writes JSON as people indent it, table by table: this process must stay small, because a child's peak includes that of its parent."""
    with open(path, "w", encoding="ascii") as file:
        file.write('{\n  "tables": [\n')
        for t in range(tables):
            key = f"{0x9E3779B97F4A7C15 * (t + 1) % (1 << 64):016x}"
            file.write(f'    {{\n      "name": "t{t}",\n      "hash_key": "{key}{key[::-1]}",\n      "seed": "{key[::-1]}{key}",\n      "hops": 4,\n')
            binds = [f'        {{ "ip": "198.18.{t >> 8}.{t & 255}", "proto": "{proto}", "port": {port} }}' for proto, port in BINDS]
            members = [f'        {{ "ip": "10.{1 + (b >> 16)}.{b >> 8 & 255}.{b & 255}", "state": "active", "healthy": true }}' for b in range(backends)]
            file.write('      "binds": [\n' + ",\n".join(binds) + '\n      ],\n      "backends": [\n' + ",\n".join(members) + "\n      ]\n    }")
            file.write(",\n" if t + 1 < tables else "\n")
        file.write("  ]\n}\n")


def run(*args, refused=False):
    """(seconds, seconds of CPU time, MiB at its peak) of glb-director-cli."""
    start = time.monotonic()
    with subprocess.Popen([CLI, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            text = process.stderr.read().decode(errors="replace")
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            process.kill()
            raise
    seconds = time.monotonic() - start
    if (process.returncode != 0) != refused:
        raise Failed(f"glb-director-cli {' '.join(map(str, args))}: exit code {process.returncode}: {text.strip()[-2000:]}")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


@contextlib.contextmanager
def own_folder():
    """A folder. When it ends, whatever the reason, no file in it and no child process remains."""
    with tempfile.TemporaryDirectory(prefix="glb-bench-", dir=FOLDER) as folder:
        tempfile.tempdir = folder if len(FOLDER) <= MAX_FOLDER else "/tmp"
        try:
            yield Path(folder)
        finally:
            for child in Path("/proc/self/task").glob("*/children"):
                for pid in child.read_text().split():
                    os.kill(int(pid), signal.SIGKILL)


def measure(rounds, *args, fresh=None, refused=False):
    """(seconds, seconds of CPU time, MiB, runs) of the shortest run. `fresh`: files (from, to) to copy before each run, which is not measured."""
    runs, end = [], time.monotonic() + ENOUGH_S
    while not runs or (len(runs) < rounds and time.monotonic() < end):
        if fresh:
            shutil.copyfile(*fresh)
        runs.append(run(*args, refused=refused))
    return (*min(runs), len(runs))


def commands(folder, rounds, steps):
    """Yields (step, figures). Leaves the new table, JSON and binary, in the folder."""
    current, drained, wanted, every = (folder / f"{name}.json" for name in ("current", "drained", "wanted", "every"))
    yield "edit", measure(rounds, "edit", drained, "drain", PROXY, "--table", "t0", fresh=(current, drained))
    yield "edit_all", measure(rounds, "edit", every, "drain", PROXY, "--all-tables", fresh=(current, every))
    every.unlink()
    Path(f"{every}~").unlink()
    yield "edit_bind", measure(rounds, "edit", wanted, "add-bind", f"{VIP}:80/tcp", "--table", "t0", fresh=(drained, wanted))
    for step, args in (("check", [wanted]), ("diff", [current, wanted]), ("plan", [current, wanted]), ("build-config", [wanted, folder / "wanted.bin"])):
        if step in steps:
            yield step, measure(rounds, step, *args)


def peak_mib(pid):
    return int(next(line.split()[1] for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:"))) / 1024


class Watch(threading.Thread):
    """Asks the director until it forwards. `at` is when it did."""

    def __init__(self, telemetry):
        super().__init__(daemon=True)
        self.telemetry, self.at, self.stop = telemetry, None, False

    def run(self):
        while not self.stop:
            if self.telemetry.ask("/glb/stats")["forwarded"]:
                self.at = time.monotonic()
                return
            time.sleep(0.001)


def reload(folder):
    """(seconds until `reload` ends, until the first packet by the new table; MiB of the director's peak)"""
    packets = pcap.write(folder / "in.pcap", [FRAME])
    vdev = f"net_pcap0,rx_pcap={packets},tx_pcap=/dev/null,infinite_rx=1"
    cpu = max(os.sched_getaffinity(0))
    with DirectorProcess([vdev], CONFIG, folder / "table.bin", lcores=f"0@{cpu}") as director:
        if director.stats()["forwarded"]:
            raise Failed("the director forwards before it has the new table: this benchmark is wrong")
        (folder / "wanted.bin").replace(folder / "table.bin")
        watch = Watch(Telemetry(director.folder / f"dpdk/{director.file_prefix}/dpdk_telemetry.v2"))
        watch.start()
        os.environ["RUNTIME_DIRECTORY"] = str(director.folder)
        start = time.monotonic()
        try:
            run("reload", "--file-prefix", director.file_prefix, "--timeout", "600")
            seconds = time.monotonic() - start
            poll(lambda: watch.at, 60)
        finally:
            watch.stop = True
            watch.join()
            watch.telemetry.close()
        if not watch.at:
            raise Failed(f"no packet was forwarded by the new table:\n{director.log[-2000:]}")
        return seconds, watch.at - start, peak_mib(director.process.pid)


def row(step, size, seconds, mib, runs=1, cpu_s=None):
    return {"step": step, "tables": size[0], "backends": size[1], "seconds": round(seconds, 4), "mib": round(mib, 1), "runs": runs,
            **({} if cpu_s is None else {"cpu_s": round(cpu_s, 4)})}


def measure_size(size, folder, rounds, steps):
    """Yields a row for each step."""
    write_tables(folder / "current.json", *size)
    if size == waits.REFUSED:
        seconds, cpu_s, mib, runs = measure(rounds, "check", folder / "current.json", refused=True)
        yield row("check", size, seconds, mib, runs, cpu_s)
        return
    for step, (seconds, cpu_s, mib, runs) in commands(folder, rounds, steps):
        yield row(step, size, seconds, mib, runs, cpu_s)
    if "reload" not in steps:
        return
    run("build-config", folder / "current.json", folder / "table.bin")
    seconds, first, mib = reload(folder)
    yield row("reload", size, seconds, mib)
    yield row("first_packet", size, first, mib)


def lacks(size, folder):
    """What there is too little of for this size, as text, or None."""
    memory, disk = waits.memory_mib(size), waits.disk_mib(size)
    meminfo = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = int(meminfo["MemAvailable"].split()[0]) / 1024
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY:
        free = min(free, allowed / MIB)
    if free < memory:
        return f"needs about {memory} MiB of memory, and there are {free:.0f} MiB"
    room = shutil.disk_usage(folder).free / MIB
    return f"needs about {disk} MiB in {folder}, and there are {room:.0f} MiB: set TMPDIR" if room < disk else None


def show(size, rows):
    print(f"{size[0]} x {size[1]} backends{', which check refuses: a table has at most 4096' if size == waits.REFUSED else ''}", flush=True)
    for each in rows:
        print(f"  {waits.STEPS[each['step']]:<44} {each['seconds']:9.3f} s  {each['mib']:7.0f} MiB", flush=True)
        yield each


def machine():
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "unknown")
    return {"step": "machine", "what": cpu, "cpus": len(os.sched_getaffinity(0))}


def write(path, rows):
    """Replaces the file at once, so that a full disk or a signal leaves the old one. Keeps its other rows."""
    new = {(row["step"], row.get("tables"), row.get("backends")) for row in rows}
    try:
        kept = [row for row in json.loads(path.read_text(encoding="utf-8")) if (row["step"], row.get("tables"), row.get("backends")) not in new]
    except FileNotFoundError:
        kept = []
    except (ValueError, KeyError, TypeError):
        raise Failed(f"{path}: is not a file of script/bench --tables --json: remove it, or name another one") from None
    order = {size: index for index, size in enumerate(waits.SIZES)}
    whole = sorted(kept + rows, key=lambda row: order.get((row.get("tables"), row.get("backends")), -1))
    copy = path.with_name(f"{path.name}.new")
    try:
        copy.write_text("[\n" + ",\n".join(map(json.dumps, whole)) + "\n]\n", encoding="utf-8")
        copy.replace(path)
    except OSError:
        copy.unlink(missing_ok=True)
        raise


def parse(text):
    size = tuple(int(part) for part in text.split("x")) if text.replace("x", "", 1).isdigit() else None
    if size not in waits.SIZES:
        raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(f'{tables}x{backends}' for tables, backends in waits.SIZES)}")
    return size


def main():
    parser = argparse.ArgumentParser(prog="script/bench --tables", usage=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--size", action="append", type=parse)
    parser.add_argument("--step", action="append", choices=STEPS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.step and "reload" in options.step:
        options.step.append("build-config")
    sizes = options.size or (waits.QUICK if options.quick else waits.SIZES)
    missing = [str(path) for path in (CLI, DIRECTOR) if not path.exists()]
    if missing:
        raise Failed(f"{missing[0]} is missing: run script/build")
    rows = [machine()]
    if options.json:
        write(options.json, rows)  # a wrong file fails before the measurement
    for size in sizes:
        with own_folder() as folder:
            why = lacks(size, folder)
            if why:
                print(f"{size[0]} x {size[1]} backends: skipped: {why}", flush=True)
                continue
            rows += show(size, measure_size(size, folder, 1 if options.quick else ROUNDS, options.step or STEPS))
        if options.json:
            write(options.json, rows)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except (Failed, LabError, OSError) as error:
        sys.exit(f"script/bench --tables: {error}")
