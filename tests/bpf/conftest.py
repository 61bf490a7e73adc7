# SPDX-License-Identifier: BSD-3-Clause
"""Tests of glb-redirect in the kernel, against a model of a proxy. They need root, but no kernel modules."""

import os
import re
import subprocess

import pytest

from host import Host
from model_of_proxy import Outcome
from support.tree import BUILD, REDIRECT


def run_frames(namespace, frames, port=19523, udp="first-hop", interface=None, mtu=0, forward="sender", conf=None, btf=None, **environment):
    """Runs the program on the frames and returns their Outcomes.

    interface   on which they arrive; None: Linux older than 5.15 knows no other than lo
    mtu         of this interface, for SYN cookies; 0: no cookies
    conf        path of a redirect.conf; None: everything is allowed
    btf         path of a file that stands for the kernel's BTF
    environment in lower case, as run_frames.c names it
    """
    words = [str(BUILD / "tests/bpf/programs/run-frames"), str(port), udp]
    if interface:
        words += [interface, str(mtu), forward]
    if conf:
        words.append(str(conf))
    if btf:
        words = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /sys/kernel/btf/vmlinux && exec "$@"', str(btf), *words]
    command = namespace.command(*words)
    lines = "".join(frame.hex() + "\n" for frame in frames)
    variables = {**os.environ, **{name.upper(): str(value) for name, value in environment.items() if value is not None}}
    result = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, env=variables)
    assert result.returncode == 0, result.stderr
    outcomes = [_outcome(line) for line in result.stdout.splitlines()]
    assert len(outcomes) == len(frames)
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
