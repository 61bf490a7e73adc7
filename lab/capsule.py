# SPDX-License-Identifier: BSD-3-Clause
"""Capsules: mount, process and network namespaces that end with their first process, and labs that stay up in one.

enter_capsule() re-executes the calling program in a capsule. Nothing that is made in it outlives it, not even after kill -9.

A lab in the background is found again by its name. The name is that of an abstract Unix socket, on which the capsule's process 1 listens once the lab is up. The kernel tells a
client which process that is. There is no file, so nothing to go stale: the name ends with the process, whatever ends it.
"""

import errno
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time

from lab.tools import BUILD, PROGRAMS, LabError

MARK = "GLB_LAB_CAPSULE"
# The kernel keeps nothing of a capsule: `unshare` asks it to kill its child, which is process 1 of the capsule.
UNSHARE = [
    "unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL", "--mount-proc",
]
PREFIX = "glb-lab-"
UP_TIMEOUT_S, STOP_TIMEOUT_S = 60, 10
COLOURS = "GLB_LAB_COLOURS"  # in the environment: what is said ends up on a terminal


def capsule_argv(command):
    """The command line that runs `command`, which calls enter_capsule(), as process 1 of a new capsule."""
    return ["env", f"{MARK}=1", *UNSHARE, *command]


def dying_with_us(argv):
    """The command line that also ends when the process that starts it does, even by kill -9."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]


def enter_capsule():
    """Returns inside the capsule; outside it, replaces this process. Needs root."""
    if os.environ.get(MARK) != "1":
        os.environ[MARK] = "1"
        os.execvp(UNSHARE[0], UNSHARE + sys.orig_argv)
    del os.environ[MARK]
    # A private /run holds DPDK's sockets and our own files.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "capsule", "/run"], check=True)
    for folder in ("/run/hosts", "/run/dpdk", "/run/lab"):
        os.mkdir(folder)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    os.environ.pop("RUNTIME_DIRECTORY", None)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def _address(name):
    return f"\0{PREFIX}{name}"


def running_labs():
    with open("/proc/net/unix") as file:
        return sorted({match[1] for match in re.finditer(rf"@{PREFIX}(\S+)$", file.read(), re.MULTILINE)})


def find(name):
    """The pid of the lab's process 1, or None."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(_address(name))
        except ConnectionRefusedError:
            return None
        pid, uid, _ = struct.unpack("iii", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if uid != 0:
        raise LabError(f"the name of lab '{name}' is taken by process {pid}, which is not root's: choose another --name")
    return pid


def find_or_fail(name):
    pid = find(name)
    if pid is None:
        others = ", ".join(running_labs())
        raise LabError(f"lab '{name}' is not up" + (f"; these are: {others}" if others else ": run lab/lab up"))
    return pid


def start(name, command):
    if not launch(name, command, "lab/lab down, or choose another --name"):
        raise LabError("the lab did not come up: see the message above")


def launch(name, command, advice):
    """Runs `command` in a capsule in the background. Returns when it has called announce(), or False when it ended before."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(_address(name))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise LabError(f"lab '{name}' is already up: {advice}") from None
    ready, told = os.pipe()
    fds = [str(listener.fileno()), str(told)]
    # Pipes of its own, which we copy from: unshare(1) keeps its output open, and who waits for ours would wait for the lab.
    colours = {COLOURS: "1"} if sys.stdout.isatty() else {}
    process = subprocess.Popen(
        capsule_argv([*command, "--fds", ",".join(fds)]), pass_fds=[listener.fileno(), told], start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **colours})
    os.close(told)
    listener.close()
    try:
        up = _follow(process, ready)
        if not up:
            process.wait()
        return up
    except BaseException:
        process.kill()
        process.wait()
        raise


def _follow(process, ready):
    """Copies what the capsule says until it is up (True), or has ended."""
    copies = {process.stdout.fileno(): sys.stdout, process.stderr.fileno(): sys.stderr}
    deadline, up = time.monotonic() + UP_TIMEOUT_S, False
    waiting = {ready, *copies}
    while waiting and (left := deadline - time.monotonic()) > 0:
        # Once it is up, only what it has said already.
        readable = select.select(list(waiting), [], [], 0 if up else left)[0]
        if up and not readable:
            break
        for fd in readable:
            data = os.read(fd, 1 << 16)
            if fd == ready:
                up = up or bool(data)
            elif data:
                copies[fd].write(data.decode(errors="replace"))
                copies[fd].flush()
            if not data or fd == ready:
                waiting.discard(fd)
    if waiting and not up:
        raise LabError(f"the lab was not up after {UP_TIMEOUT_S} s")
    return up


def announce(fds):
    """In the capsule, when the lab is up: makes the name known, and leaves the terminal."""
    listener, told = map(int, fds.split(","))
    keep = socket.socket(fileno=listener)
    keep.listen()
    log = os.open("/run/lab/lab.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for fd in (1, 2):
        os.dup2(log, fd)
    os.write(told, b"!")
    os.close(told)
    return keep


def stop(name):
    pid = find_or_fail(name)
    process = os.pidfd_open(pid)
    # unshare(1), its parent, has the kernel kill it; and all others in its process namespace die with it.
    os.kill(_parent(pid), signal.SIGKILL)
    select.select([process], [], [], STOP_TIMEOUT_S)


def _parent(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"^PPid:\s+(\d+)$", file.read(), re.MULTILINE)[1])


def hosts(pid):
    return sorted(os.listdir(f"/proc/{pid}/root/run/hosts"))


def host_argv(pid, host, command):
    """The command line that runs `command` on a host of the lab whose process 1 is `pid`, where the host's files are."""
    names = hosts(pid)
    if host not in names:
        raise LabError(f"the lab has no host '{host}', but {', '.join(names)}")
    with open(f"/proc/{pid}/root/run/hosts/{host}") as file:
        holder = file.read().strip()
    folder = f"/run/lab/{host}" if os.path.isdir(f"/proc/{pid}/root/run/lab/{host}") else "/run/lab"
    return inside_argv(
        pid, ["nsenter", f"--target={holder}", "--net", "--mount", "--uts", "--", "env", f"--chdir={folder}", *command])


def inside_argv(pid, command):
    folders = sorted({BUILD / os.path.dirname(path) for path in PROGRAMS.values()})
    path = ":".join([*map(str, folders), os.environ.get("PATH", os.defpath)])
    return ["nsenter", f"--target={pid}", "--all", "--", "env", f"PATH={path}", f"GLB_BUILD={BUILD}", *command]


def self_argv(*arguments):
    return [sys.executable, "-B", os.path.abspath(sys.argv[0]), *arguments]
