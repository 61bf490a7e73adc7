# SPDX-License-Identifier: BSD-3-Clause
"""No program leaves a core, whatever its limits are, and no other process of its user reads its memory."""

import fcntl
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from lab.tools import wait_until
from support.tree import ANNOUNCE, BIFURCATE, CLI, DIRECTOR, FLEET, HEALTHCHECK, REDIRECT

PROGRAMS = [ANNOUNCE, BIFURCATE, CLI, DIRECTOR, FLEET, HEALTHCHECK, REDIRECT]
NO_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]  # root without any capability is a user as others are


def unlimited():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)


def crash(folder, program, number):
    """Runs a program that waits to print its help, and lets it crash. Returns whether the kernel wrote a core, and whether another process
    of the same user could read its memory."""
    out, full = os.pipe()
    fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
    os.write(full, bytes(4096))
    process = subprocess.Popen([*NO_RIGHTS, program, "--help"], cwd=folder, stdout=full, stderr=full, preexec_fn=unlimited)
    state = Path(f"/proc/{process.pid}")
    wait_until(lambda: (state / "comm").read_text() == f"{Path(program).name[:15]}\n" and (state / "syscall").read_text().split()[1:2] == ["0x1"],
               f"{program} to write")
    read = subprocess.run([*NO_RIGHTS, "cat", state / "environ"], capture_output=True, check=False).returncode == 0
    process.send_signal(number)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -number
    os.close(out)
    os.close(full)
    assert os.WTERMSIG(status) == number
    return os.WCOREDUMP(status) or any(Path(folder).iterdir()), read


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_program_leaves_no_core(tmp_path, program):
    for number in (signal.SIGSEGV, signal.SIGABRT):
        assert crash(tmp_path, program, number) == (False, False)


def test_other_programs_do(tmp_path):
    """So that the test above proves something. A core_pattern that is a pipe may write no core of them either."""
    core, read = crash(tmp_path, "/bin/echo", signal.SIGSEGV)
    assert read and (core or Path("/proc/sys/kernel/core_pattern").read_text().startswith("|"))
