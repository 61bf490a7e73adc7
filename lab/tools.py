# SPDX-License-Identifier: BSD-3-Clause
"""The project's programs, as built, and the errors that the lab reports."""

import json
import os
import subprocess
import time

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("GLB_BUILD") or os.path.join(TREE, "build")
PROGRAMS = {
    "glb-director": "src/director/glb-director",
    "glb-director-cli": "src/cli/glb-director-cli",
    "glb-healthcheck": "src/healthcheck/glb-healthcheck",
    "glb-redirect": "src/redirect/glb-redirect",
    "bifurcate.bpf.o": "src/bifurcate/bifurcate.bpf.o",
}
PATIENCE_S = 20  # for anything that should be there in a moment


class LabError(Exception):
    """Says what went wrong and what to look at."""


def program(name):
    path = os.path.join(BUILD, PROGRAMS[name])
    if not os.path.exists(path):
        raise LabError(f"{path} is missing: run script/bootstrap and script/build")
    return path


# Of iproute2, util-linux and others; what a single scenario needs beyond these it says itself.
TOOLS = ("bpftool", "curl", "ethtool", "ip", "mount", "nginx", "nsenter", "ping", "ss", "sysctl", "tcpdump", "unshare")


def check_tools(tools=TOOLS):
    for tool in tools:
        if not any(os.access(os.path.join(folder, tool), os.X_OK) for folder in os.get_exec_path()):
            raise LabError(f"{tool} is missing: run script/bootstrap")


def check_programs(bgp):
    for name in PROGRAMS:
        program(name)
    if bgp:
        check_tools(("bird", "birdc"))


def cli(*arguments):
    done = subprocess.run([program("glb-director-cli"), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"glb-director-cli {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def cli_json(*arguments):
    return json.loads(cli(*arguments, "--json"))


def wait_for(what, condition, patience_s=PATIENCE_S):
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise LabError(f"waited {patience_s} s for {what}")


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
