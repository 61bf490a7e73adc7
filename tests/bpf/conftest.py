# SPDX-License-Identifier: BSD-3-Clause
"""Tests of glb-redirect in the kernel, against a model of a proxy. They need root, but no kernel modules."""

import contextlib
import os
import re
import subprocess
import tempfile

import pytest

from host import Host
from model_of_proxy import Outcome
from support.tree import BUILD, REDIRECT


KEPT = 4  # processes of a Host: each holds the maps of a program


class Run:
    """A process that runs the program on frames, one by one."""

    def __init__(self, command, environment):
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, bufsize=1,
            env={**os.environ, **environment})

    def outcome_of(self, frame):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(frame.hex() + "\n")
        line = self._process.stdout.readline()
        if not line:
            self.end()
        return _outcome(line)

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()
        self._errors.seek(0)
        assert self._process.returncode == 0, self._errors.read()
        self._errors.close()


def run_frames(where, frames, port=19523, udp="first-hop", interface=None, mtu=0, forward="sender", conf=None, btf=None, **environment):
    """Runs the program on the frames and returns their Outcomes.

    where       a Namespace, or a Host: it keeps the process for the next frames that are run with the same settings, because it takes
                a tenth of a second to load the program
    interface   on which they arrive; None: Linux older than 5.15 knows no other than lo
    mtu         of this interface, for SYN cookies; 0: no cookies
    conf        path of a redirect.conf; None: everything is allowed
    btf         path of a folder that stands for /sys/kernel/btf
    environment in lower case, as run_frames.c names it
    """
    words = [str(BUILD / "tests/bpf/programs/run-frames"), str(port), udp]
    if interface:
        words += [interface, str(mtu), forward]
    variables = {name.upper(): str(value) for name, value in environment.items() if value is not None}
    settings = (*words, conf and conf.read_text(), *variables.items())
    if conf:
        words.append(str(conf))
    if btf:
        words = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /sys/kernel/btf && exec "$@"', str(btf), *words]
    if isinstance(where, Host):
        if settings not in where.runs:
            if len(where.runs) == KEPT:
                where.runs.pop(next(iter(where.runs))).end()
            where.runs[settings] = Run(where.namespace.command(*words), variables)
        return [where.runs[settings].outcome_of(frame) for frame in frames]
    run = Run(where.command(*words), variables)
    outcomes = [run.outcome_of(frame) for frame in frames]
    run.end()
    return outcomes


def _outcome(line):
    verdict, frame, *grown = line.split()
    counter = hop = None
    if grown:
        # The program counts a packet in `total` and in exactly one other counter, and at most at one hop.
        total, counter = grown[0].split(",")
        assert total == "total=1" and counter.endswith("=1"), line
        counter = counter[: -len("=1")]
    if grown[1:]:
        (hop,) = re.fullmatch(r"hop(\d+)=1", grown[1]).groups()
    return Outcome(counter, int(verdict), bytes.fromhex(frame), hop and int(hop))


@pytest.fixture(scope="module")
def host():
    host = Host()
    with host.close:
        yield host


@pytest.fixture(scope="session")
def glb_redirect():
    return str(REDIRECT)
