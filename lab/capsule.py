# SPDX-License-Identifier: BSD-3-Clause
"""Capsules: namespaces that end with their first process, and labs that run in a capsule in the background.

enter_capsule() runs the calling program again in a capsule. Everything made in the capsule ends with it, even by kill -9.

A lab in the background has a name: process 1 of its capsule listens on an abstract Unix socket of this name once the lab is up, and
the kernel tells a client the process's pid. No file can be left behind, because the socket ends with the process.
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

from lab.tools import BUILD, COMMAND, TIMEOUT_S, LabError, program_folders

MARK = "GLB_LAB_CAPSULE"
# If unshare(1) dies, the kernel kills its child, which is process 1 of the capsule, and so all processes in the capsule.
UNSHARE = [
    "unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL", "--mount-proc",
]
PREFIX = "glb-lab-"
UP_TIMEOUT_S, STOP_TIMEOUT_S = 2 * TIMEOUT_S, 10
COLOURS = "GLB_LAB_COLOURS"  # environment variable: the output goes to a terminal


def capsule_argv(command):
    """The command line that runs `command` as process 1 of a new capsule. `command` must call enter_capsule()."""
    return ["env", f"{MARK}=1", *UNSHARE, *command]


def dying_with_us(argv):
    """The command line that runs `argv` so that it ends when the process that starts it ends, even by kill -9."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]


def enter_capsule():
    """Returns inside the capsule; outside it, replaces this process. Needs root."""
    if os.environ.get(MARK) != "1":
        os.environ[MARK] = "1"
        os.execvp(UNSHARE[0], UNSHARE + sys.orig_argv)
    del os.environ[MARK]
    # A private /run holds the sockets of DPDK and the files of the lab.
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
        raise LabError(f"the name of lab '{name}' belongs to process {pid}, which is not root's: choose another --name")
    return pid


def find_or_fail(name):
    pid = find(name)
    if pid is None:
        others = ", ".join(running_labs())
        raise LabError(f"lab '{name}' is not up" + (f"; these labs are: {others}" if others else f": run {COMMAND} up"))
    return pid


def start(name, command):
    if not launch(name, command, f"run {COMMAND} down, or choose another --name"):
        raise LabError("the lab did not start: see the message above")


def launch(name, command, advice):
    """Runs `command` in a capsule in the background. Returns True once it has called announce(), False if it ended before."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(_address(name))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise LabError(f"lab '{name}' is already up: {advice}") from None
    ready, told = os.pipe()
    fds = [str(listener.fileno()), str(told)]
    # unshare(1) keeps its output open. With our output, a caller that reads it to the end would wait for the end of the lab.
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
    """Copies the capsule's output until the lab is up (returns True) or has ended."""
    copies = {process.stdout.fileno(): sys.stdout, process.stderr.fileno(): sys.stderr}
    deadline, up = time.monotonic() + UP_TIMEOUT_S, False
    waiting = {ready, *copies}
    while waiting and (left := deadline - time.monotonic()) > 0:
        # Once the lab is up, copy only the output that is there already.
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
    """Called in the capsule when the lab is up: accepts clients on the named socket, and detaches from the terminal."""
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
    # Its parent is unshare(1), see UNSHARE.
    os.kill(_parent(pid), signal.SIGKILL)
    select.select([process], [], [], STOP_TIMEOUT_S)


def _parent(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"^PPid:\s+(\d+)$", file.read(), re.MULTILINE)[1])


def hosts(pid):
    return sorted(os.listdir(f"/proc/{pid}/root/run/hosts"))


def holder(pid, host):
    """The pid, in the capsule, of a process on a host of the lab whose process 1 is `pid`."""
    names = hosts(pid)
    if host not in names:
        raise LabError(f"the lab has no host '{host}'; its hosts are {', '.join(names)}")
    with open(f"/proc/{pid}/root/run/hosts/{host}") as file:
        return file.read().strip()


def host_argv(pid, host, command):
    """The command line that runs `command` on a host of the lab whose process 1 is `pid`, in the host's folder."""
    target = holder(pid, host)
    folder = f"/run/lab/{host}" if os.path.isdir(f"/proc/{pid}/root/run/lab/{host}") else "/run/lab"
    return inside_argv(
        pid, ["nsenter", f"--target={target}", "--net", "--mount", "--uts", "--", "env", f"--chdir={folder}", *command])


def inside_argv(pid, command):
    path = ":".join([*program_folders(), os.environ.get("PATH", os.defpath)])
    return ["nsenter", f"--target={pid}", "--all", "--", "env", f"PATH={path}", f"GLB_BUILD={BUILD}", *command]


def self_argv(*arguments):
    return [sys.executable, "-B", os.path.abspath(sys.argv[0]), *arguments]
