# SPDX-License-Identifier: BSD-3-Clause
"""Commands of an operator, for tests that install into the virtual machine on which they run."""

import json
import os
import signal
import subprocess

from lab.tools import wait_until
from support.tree import BUILD

TIMEOUT_S = 120  # the processor may be emulated


def run(*command, check=True):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        state = subprocess.run("journalctl --no-pager -n 40", shell=True, capture_output=True, text=True, check=False)
        raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}\n{state.stdout}")
    return done


def systemctl(*arguments, check=True):
    return run("systemctl", *arguments, check=check)


def show(unit, name):
    return systemctl("show", "--value", f"--property={name}", unit).stdout.strip()


def kill(unit, number=signal.SIGKILL):
    """Sends this signal to the unit's process. A unit without one has the MainPID 0, which would be the processes of the test."""
    os.kill(wait(lambda: int(show(unit, "MainPID")), f"a process of {unit}"), number)


def wait(condition, what):
    return wait_until(condition, what, TIMEOUT_S)


def log(unit):
    return run("journalctl", "--no-pager", "--output=cat", f"--unit={unit}").stdout


def stats():
    return json.loads(run("glb-director-cli", "stats", "--json").stdout)


def install(command):
    """Installs the tree. `command` is what to run instead, on a machine that is not disposable."""
    assert os.environ.get("GLB_DISPOSABLE") == "yes", f"these tests install into this machine: run them with {command}"
    run("meson", "install", "-C", str(BUILD), "--no-rebuild", "--quiet")
    run("systemd-sysusers")
    systemctl("daemon-reload")
