# SPDX-License-Identifier: BSD-3-Clause
"""A process that locks a folder, if it may."""

import contextlib
import subprocess

SCRIPT = """
import fcntl, os, sys
try:
    fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
except PermissionError:
    pass
print(flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def locked(namespace, folder, *user):
    words = ["setpriv", *user, "--clear-groups"] if user else []
    command = namespace.command(*words, "/usr/bin/python3", "-c", SCRIPT, folder)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "\n"
        yield process
        process.stdin.close()
