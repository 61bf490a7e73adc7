# SPDX-License-Identifier: BSD-3-Clause
"""A kernel that does not let the program read its sockets: the program cannot tell connections with the same ports apart, and runs nevertheless.

An error that can pass does not replace a program that can by one that cannot.
"""

import dataclasses
import json

import pytest

from conftest import run_frames
from model_of_proxy import decide
from packets import NUMBERED, gue_frame
from support.tree import BUILD
from test_loader import Proxy

BTF = "/sys/kernel/btf/vmlinux"


def refused(folder):
    """BTF by which the program would read 4 bytes of a pointer, which no kernel permits: the names of two members are exchanged."""
    number, pointer, other = b"\0skc_tw_snd_nxt\0", b"\0skc_nulls_node\0", b"\0--------------\0"
    with open(BTF, "rb") as file:
        data = file.read()
    assert data.count(number) == data.count(pointer) == 1
    (folder / "vmlinux").write_bytes(data.replace(number, other).replace(pointer, number).replace(other, pointer))
    return folder


@pytest.mark.parametrize("btf", [lambda folder: folder, refused], ids=["no BTF", "refused"])
@pytest.mark.parametrize("family", [4, 6])
def test_every_segment_is_kept(host, tmp_path, family, btf):
    frames = [gue_frame(kind.build(host, family)) for kind in NUMBERED]
    sockets = dataclasses.replace(host.sockets, expected={})
    outcomes = run_frames(host.namespace, frames, btf=btf(tmp_path))
    assert outcomes == [decide(frame, sockets) for frame in frames]
    assert {outcome.counter for outcome in outcomes} == {"accepted_established", "accepted_syn"}


@pytest.fixture
def proxy(glb_redirect):
    proxy = Proxy(glb_redirect)
    yield proxy
    proxy.close()


def with_btf(proxy, folder, *words):
    """Runs glb-redirect with another folder as /sys/kernel/btf."""
    script = 'mount --bind "$0" /sys/kernel/btf && exec "$@"'
    return proxy.namespace.run("unshare", "--mount", "sh", "-c", script, str(folder), proxy.glb_redirect, *words, check=False)


@pytest.mark.parametrize("btf", [lambda folder: folder, refused], ids=["no BTF", "refused"])
def test_the_operator_learns_of_it(proxy, tmp_path, btf):
    said = "cannot tell a new connection from an old one"
    assert said not in proxy.namespace.run(proxy.glb_redirect, "attach", "eth0").stderr
    assert proxy.status()["warnings"] == []
    done = with_btf(proxy, btf(tmp_path), "reload", "eth0")
    assert done.returncode == 0 and done.stderr.count(said) == 1
    (warning,) = proxy.status()["warnings"]
    assert said in warning and f"  warning: {warning}\n" in proxy("status")
    report = json.loads(proxy.namespace.run(proxy.glb_redirect, "check", "eth0", "--json", check=False).stdout)
    assert [finding["level"] for finding in report["findings"] if said in finding["text"]] == ["warn"]
    proxy("reload", "eth0")
    assert proxy.status()["warnings"] == []


def test_btf_that_cannot_be_read_replaces_nothing(proxy, tmp_path):
    proxy("attach", "eth0")
    before = proxy.status()
    (tmp_path / "vmlinux").touch()
    for command in ("attach", "reload"):
        done = with_btf(proxy, tmp_path, command, "eth0")
        assert done.returncode == 1 and "cannot read /sys/kernel/btf/vmlinux: " in done.stderr
    assert proxy.status() == before
    proxy("detach", "eth0")
    assert with_btf(proxy, tmp_path, "attach", "eth0").returncode == 1
    assert proxy("status") == "not attached to any interface\n"


@pytest.mark.parametrize("mode", ["native", "generic"])
def test_an_error_that_can_pass_replaces_nothing(proxy, mode):
    """In native mode the loader would also give up XDP fragments, without which a driver refuses large MTUs."""
    proxy("attach", "eth0", "--mode", mode)
    before = proxy.status()
    preload = f"LD_PRELOAD={BUILD / 'tests/bpf/programs/fail-load.so'}"
    done = proxy.namespace.run("env", preload, proxy.glb_redirect, "reload", "eth0", check=False)
    assert (done.returncode, done.stderr) == (1, "glb-redirect: out of memory while loading the program\n")
    assert proxy.status() == before
