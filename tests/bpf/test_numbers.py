# SPDX-License-Identifier: BSD-3-Clause
"""A kernel that does not let the program read its sockets: the program cannot tell connections with the same ports apart, and runs nevertheless."""

import dataclasses

import pytest

from conftest import run_frames
from model_of_proxy import decide
from packets import NUMBERED, gue_frame

BTF = "/sys/kernel/btf/vmlinux"


def refused(folder):
    """BTF by which the program would read 4 bytes of a pointer, which no kernel permits: the names of two members are exchanged."""
    number, pointer, other = b"\0skc_tw_snd_nxt\0", b"\0skc_nulls_node\0", b"\0--------------\0"
    with open(BTF, "rb") as file:
        data = file.read()
    assert data.count(number) == data.count(pointer) == 1
    path = folder / "btf"
    path.write_bytes(data.replace(number, other).replace(pointer, number).replace(other, pointer))
    return path


@pytest.mark.parametrize("btf", [lambda folder: "/dev/null", refused], ids=["no BTF", "refused"])
@pytest.mark.parametrize("family", [4, 6])
def test_every_segment_is_kept(host, tmp_path, family, btf):
    frames = [gue_frame(kind.build(host, family)) for kind in NUMBERED]
    sockets = dataclasses.replace(host.sockets, expected={})
    outcomes = run_frames(host.namespace, frames, btf=btf(tmp_path))
    assert outcomes == [decide(frame, sockets) for frame in frames]
    assert {outcome.counter for outcome in outcomes} == {"accepted_established", "accepted_syn"}
