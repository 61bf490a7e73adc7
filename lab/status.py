# SPDX-License-Identifier: BSD-3-Clause
"""Prints the output of `lab/lab status`. Runs in the lab's capsule."""

import json
import os
import subprocess

from lab import monitor
from lab.tools import LabError, cli_json, program
from lab.topology import MONITOR, VIP4, VIP6


def hosts():
    """{host: pid of a process on it}"""
    found = {}
    for name in sorted(os.listdir("/run/hosts")):
        with open(f"/run/hosts/{name}") as file:
            found[name] = int(file.read())
    return found


def json_on(pid, command):
    """The JSON that a command prints in the namespaces of a process, or None if the command fails."""
    argv = ["nsenter", f"--target={pid}", "--net", "--mount", "--", *command]
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout) if done.returncode == 0 else None


def address(pid):
    """The first one. In a lab with both families that is IPv4."""
    links = json_on(pid, ["ip", "-json", "address", "show", "dev", "eth0", "scope", "global"])
    addresses = [each["local"] for link in links or () for each in link.get("addr_info", ()) if "local" in each]
    return addresses[0] if addresses else "no address"


def director_line(name):
    try:
        stats = cli_json("stats", "--file-prefix", name)
    except LabError:
        return "not running"
    dropped = sum(count for key, count in stats.items() if key.startswith("drop_"))
    return f"table generation {stats['generation']}, forwarded {stats['forwarded']}, dropped {dropped}"


def proxy_line(pid):
    stats = json_on(pid, [program("glb-redirect"), "stats", "eth0", "--json"])
    if stats is None:
        return "glb-redirect is not attached"
    stats = stats["eth0"]
    return f"GUE packets {stats['total']}, second chance {stats['forwarded_to_alternate']}"


def show():
    print(f"VIPs {VIP4} and {VIP6}: HTTP on port 80, echo on port 7000")
    addresses = {name: address(pid) for name, pid in hosts().items()}
    width = max(15, *map(len, addresses.values()))
    for name, pid in hosts().items():
        if name == "router":
            print(f"{name:12} {'':{width}} ECMP to the directors")
            continue
        line = f"Prometheus on port {monitor.PORT}" if name == MONITOR else "curl, ping ... from here"
        if name.startswith("director"):
            line = director_line(name)
        elif name.startswith("proxy"):
            line = proxy_line(pid)
        print(f"{name:12} {addresses[name]:{width}} {line}")
