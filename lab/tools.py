# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the tree and of its programs, errors, waits and files."""

import contextlib
import json
import os
import signal
import subprocess
import sysconfig
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("GLB_BUILD") or TREE / "build").resolve()
PROGRAMS = {
    "glb-director": "src/director/glb-director",
    "glb-director-cli": "src/cli/glb-director-cli",
    "glb-healthcheck": "src/healthcheck/glb-healthcheck",
    "glb-redirect": "src/redirect/glb-redirect",
    "glb-bifurcate": "src/bifurcate/glb-bifurcate",
    "glb-announce": "src/announce/glb-announce",
    "glb-fleet": "src/fleet/glb-fleet",
    "bifurcate.bpf.o": "src/bifurcate/bifurcate.bpf.o",
}
# The package glb-lab has no source tree: it runs the installed programs.
INSTALLED = not (TREE / "meson.build").exists()
COMMAND = "glb-lab" if INSTALLED else "lab/lab"
POLL_S, SLOWEST_POLL_S = 0.02, 0.1
# Limit of a wait that normally takes a fraction of a second. The machine may be busy, and tests wait longer than a person would.
TIMEOUT_S = int(os.environ.get("GLB_LAB_TIMEOUT_S", 30))


class LabError(Exception):
    """Its text says what failed and what to do."""


def path_of(name, build=BUILD):
    return installed_path(name) if INSTALLED and build == BUILD else build / PROGRAMS[name]


def program(name, build=BUILD):
    path = path_of(name, build)
    if not path.exists():
        remedy = "install glb-announce, glb-director, glb-fleet, glb-healthcheck and glb-redirect" if INSTALLED else "run script/bootstrap and script/build"
        raise LabError(f"{path} is missing: {remedy}")
    return str(path)


def installed_path(name):
    library = Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "", "glb-director")
    return (library if name.endswith(".o") else Path("/usr/bin")) / name


def program_folders():
    return sorted({os.path.dirname(path_of(name)) for name in PROGRAMS})


# The tools that every lab needs. Those of a single scenario report their absence themselves.
TOOLS = ("bpftool", "curl", "ethtool", "ip", "mount", "nginx", "nsenter", "ping", "ss", "sysctl", "tcpdump", "unshare")


def check_tools(tools=TOOLS):
    for tool in tools:
        if not any(os.access(os.path.join(folder, tool), os.X_OK) for folder in os.get_exec_path()):
            raise LabError(f"{tool} is missing: {'install its package' if INSTALLED else 'run script/bootstrap'}")


def check_programs(shape, build=BUILD):
    for name in PROGRAMS:
        if {"glb-announce": shape.announce, "glb-fleet": shape.etcd}.get(name, True):
            program(name, build)
    if shape.bgp:
        check_tools(("bird", "birdc"))


def cli(*arguments, build=BUILD):
    done = subprocess.run([program("glb-director-cli", build), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"glb-director-cli {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def cli_json(*arguments, build=BUILD):
    return json.loads(cli(*arguments, "--json", build=build))


def endpoint(address, port):
    """ADDRESS:PORT or [ADDRESS]:PORT"""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def poll(condition, timeout_s):
    """Calls condition() until its result is true, or until the time is over, first often and then less. Returns its last result."""
    start = time.monotonic()
    while not (result := condition()) and (waited := time.monotonic() - start) < timeout_s:
        time.sleep(min(max(POLL_S, waited / 10), SLOWEST_POLL_S))
    return result


def wait_until(condition, what, timeout_s=TIMEOUT_S):
    """Like poll(), but raises LabError if the last result is not true. `what` is the text for the error, or a function for it."""
    result = poll(condition, timeout_s)
    if not result:
        raise LabError(f"waited {timeout_s} s for {what() if callable(what) else what}")
    return result


def kill_group(process):
    """Kills a program that leads its process group, and what it runs, such as unshare(1), which is not the parent of its program at once."""
    with contextlib.suppress(OSError):
        children = read(f"/proc/{process.pid}/task/{process.pid}/children").split()
        os.killpg(process.pid, signal.SIGKILL)
        wait_until(lambda: not any(map(runs, children)), f"the end of {children}")
    process.wait(TIMEOUT_S)


def runs(pid):
    try:
        return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
