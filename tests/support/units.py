# SPDX-License-Identifier: BSD-3-Clause
"""What the systemd units allow: their settings, and their system calls as a filter that runs a program outside of systemd.

    python3 units.py NAME WITHOUT PROGRAM ARGUMENT...

runs a program under the SystemCallFilter= of a unit, without the calls and groups of WITHOUT ("" for none)."""

import ctypes
import errno
import functools
import os
import subprocess
import sys
from pathlib import Path

UNITS = Path(__file__).resolve().parents[2] / "packaging/systemd"
ALLOW, ERRNO = 0x7FFF0000, 0x00050000  # actions of seccomp(2)


def names():
    """The units that start a program."""
    return sorted(path.name.removesuffix(".service.in") for path in UNITS.glob("*.service.in"))


def settings(name, key):
    """The values of a key in the order of the unit."""
    lines = (UNITS / f"{name}.service.in").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(f"{key}=") for line in lines if line.startswith(f"{key}=")]


def capabilities(name):
    return set(" ".join(settings(name, "CapabilityBoundingSet")).split())


@functools.cache
def groups():
    """The groups of systemd: {name: its calls and groups}."""
    found = {}
    for line in subprocess.run(["systemd-analyze", "syscall-filter"], check=True, capture_output=True, text=True).stdout.splitlines():
        word = line.strip()
        if line.startswith("@"):
            members = found.setdefault(word, set())
        elif word and not word.startswith("#"):
            members.add(word)
    return found


def calls(words):
    """The calls of these calls and groups."""
    found = set()
    for word in words:
        found |= calls(groups()[word]) if word.startswith("@") else {word}
    return found


def allowed(name):
    """The calls that the unit allows, by systemd.exec(5): @default, then each line adds or removes."""
    found = calls(["@default"])
    for value in settings(name, "SystemCallFilter"):
        words = calls(value.removeprefix("~").split())
        found = found - words if value.startswith("~") else found | words
    return found


def filtered(name, *command, without=""):
    """The command that runs a command under the filter."""
    return ["/usr/bin/python3", __file__, name, without, *map(str, command)]


def main(name, without, *command):
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(ERRNO | errno.EPERM)))
    # execve() starts the program.
    for call in sorted(allowed(name) - calls(without.split()) | {"execve"}):
        number = lib.seccomp_syscall_resolve_name(call.encode())
        if number >= 0 and lib.seccomp_rule_add(context, ctypes.c_uint32(ALLOW), number, 0) < 0:
            raise OSError(f"no rule for {call}")
    if lib.seccomp_load(context) < 0:
        raise OSError("no filter")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
