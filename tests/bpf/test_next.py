# SPDX-License-Identifier: BSD-3-Clause
"""An XDP program of another tool that runs after glb-redirect: `glb-redirect next`."""

import contextlib
import json
import os
import re
import shutil
import socket

import pytest

from cases import frames as f
from host import FAMILY, UNKNOWN, VIP, packet
from lab.tools import TIMEOUT_S, wait_until
from packets import gue_frame
from support.pages import block, commands
from support.tree import BUILD
from test_loader import PINS, Proxy

HAS_FRAGS = tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 18)
OTHER, PORT, PACKETS = "/sys/fs/bpf/other", 7777, 20
PING = gue_frame(f.ipv4("198.51.100.7", VIP[4], f.ICMP, f.echo(4)))
DATAGRAM = gue_frame(packet(4, f.UDP, f.udp(UNKNOWN, PORT, b"data")))


def load(proxy, frags, path=OTHER):
    """Loads another program, and pins it and its map."""
    kind = "frags" if frags else "plain"
    proxy.namespace.run("/usr/sbin/bpftool", "prog", "load", str(BUILD / f"tests/bpf/programs/count_all_{kind}.bpf.o"), path, "pinmaps", f"{path}_maps")


def counted(proxy):
    shown = proxy.namespace.run("/usr/sbin/bpftool", "-j", "map", "lookup", "pinned", f"{OTHER}_maps/packets", "key", "0", "0", "0", "0")
    return int.from_bytes(bytes(int(byte, 16) for byte in json.loads(shown.stdout)["value"]), "little")


@pytest.fixture(params=["native", "generic"])
def proxy(request, glb_redirect):
    made = Proxy(glb_redirect)
    with contextlib.closing(made):
        made.namespace.sysctl({"net.ipv6.conf.eth0.disable_ipv6": 1})
        made.network.sysctl({"net.ipv6.conf.net0.disable_ipv6": 1})
        made("attach", "eth0", "--mode", request.param)
        made.mode = request.param
        load(made, HAS_FRAGS and request.param == "native")
        yield made


def test_next_program_gets_what_passes(proxy):
    """It does not get packets that glb-redirect drops or sends on."""
    assert proxy.status()["next_program"] is None
    said = proxy("next", "eth0", OTHER)
    number = proxy.status()["next_program"]
    assert said == f"eth0: next program is {number}\n" and f"\n  next program {number}\n" in proxy("status")
    unknown = gue_frame(packet(4, f.TCP, f.tcp(UNKNOWN, 80, b"data", 0x10)), ("192.168.51.1",))
    plain = f.ethernet(f.ipv4("192.168.50.1", VIP[4], f.UDP, f.udp(1, PORT, b"plain")), 0x0800)
    proxy.receive([PING, unknown, gue_frame(b"\x45"), plain])
    wait_until(lambda: proxy.stats()["total"] == 3 and counted(proxy) == 2, "ping and plain packet")
    assert proxy("next", "eth0", "--none") == "eth0: no next program\n"
    assert proxy.status()["next_program"] is None
    proxy.receive([PING])
    wait_until(lambda: proxy.stats()["total"] == 4, "the ping")
    assert counted(proxy) == 2
    assert proxy("next", "eth0", "--none", code=1).endswith("eth0: there is no next program\n")


def test_no_packet_is_lost_while_it_comes_and_goes(proxy):
    """Also while glb-redirect is replaced."""
    with proxy.namespace.socket(FAMILY[4], socket.SOCK_DGRAM) as server:
        server.bind((VIP[4], PORT))
        server.settimeout(TIMEOUT_S)
        commands = f"next eth0 {OTHER}", "attach eth0", "next eth0 --none"
        script = "".join(f"{proxy.glb_redirect} {command} >/dev/null || exit 1; " for command in commands)
        loader = proxy.namespace.start("sh", "-c", f"for i in 1 2 3; do {script} done")
        sent = 0
        while loader.poll() is None:
            proxy.receive([DATAGRAM] * PACKETS)
            sent += PACKETS
            for _ in range(PACKETS):
                assert server.recv(100) == b"data"
        assert loader.returncode == 0
    counters = proxy.stats()
    assert counters["total"] == counters["accepted_other"] == sent
    assert 0 < counted(proxy) < sent


def test_an_upgrade_keeps_it(proxy):
    proxy("next", "eth0", OTHER)
    number = proxy.status()["next_program"]
    proxy("attach", "eth0", "--udp", "connected")
    proxy.namespace.run("rm", "-r", OTHER)  # the tool's own pin is not needed
    proxy("attach", "eth0")
    assert proxy.status()["next_program"] == number
    proxy("detach", "eth0")
    assert "glb-redirect" not in proxy.namespace.run("ls", "/sys/fs/bpf").stdout.split()


def test_what_is_no_fitting_program_is_refused(proxy):
    proxy("next", "eth0", OTHER)
    before = proxy.status()["next_program"]
    for path, says in ((f"{PINS}/eth0/link", "not an XDP program"), (f"{OTHER}_maps/packets", "not an XDP program"), ("/sys/fs/bpf/none", "cannot open the pinned program")):
        assert says in proxy("next", "eth0", path, code=1)
    if HAS_FRAGS:
        load(proxy, proxy.mode == "generic", "/sys/fs/bpf/misfit")
        assert "fragments" in proxy("next", "eth0", "/sys/fs/bpf/misfit", code=1)
    assert proxy.status()["next_program"] == before
    assert "give the path of a pinned program, or --none" in proxy("next", "eth0", code=2)
    assert "give the path of a pinned program, or --none" in proxy("next", "eth0", OTHER, "--none", code=2)
    assert "eth9: not attached" in proxy("next", "eth9", OTHER, code=1)


def test_a_program_of_an_older_version_runs_no_next_program(proxy):
    """It has no map for it. An upgrade helps."""
    proxy.namespace.run("sh", "-c", f"rm {PINS}/eth0/[0-9]*/next")
    for operand in (OTHER, "--none"):
        said = proxy("next", "eth0", operand, code=1)
        assert "eth0: the attached program is from an older glb-redirect" in said and "(glb-redirect attach eth0)" in said
    proxy("attach", "eth0")
    assert "eth0: next program is " in proxy("next", "eth0", OTHER)


def test_commands_of_the_page(proxy, tmp_path):
    kind = "frags" if HAS_FRAGS and proxy.mode == "native" else "plain"
    shutil.copy(BUILD / f"tests/bpf/programs/count_all_{kind}.bpf.o", tmp_path / "filter.bpf.o")
    path = {**os.environ, "PATH": f"{os.path.dirname(proxy.glb_redirect)}:{os.environ['PATH']}"}
    for command, shown in commands(block("docs/howto/set-up-a-proxy.md", "glb-redirect next eth0")):
        printed = proxy.namespace.run("bash", "-c", command, cwd=tmp_path, env=path).stdout
        assert re.sub(r"\d+$", "N", printed, flags=re.MULTILINE).splitlines() == [re.sub(r"\d+$", "N", line) for line in shown]


# Other tools that attach by libxdp


def refused(proxy, number):
    """What attach and check say about the dispatcher of libxdp. Returns the command that removes it."""
    said, remedy = proxy("attach", "eth0", code=1), "xdp-loader unload eth0 --all"
    assert said == (
        f"glb-redirect: eth0 already has the dispatcher of libxdp, id {number}, which glb-redirect does not join: remove it first ({remedy}). "
        "glb-redirect next then runs another program after this one\n")
    report = json.loads(proxy.namespace.run(proxy.glb_redirect, "check", "eth0", "--json", check=False).stdout)
    (finding,) = (each for each in report["findings"] if each["check"] == "program")
    assert (finding["level"], finding["command"]) == ("fail", remedy) and "the dispatcher of libxdp" in finding["text"]
    return remedy


def attached_id(proxy):
    (link,) = json.loads(proxy.namespace.run("ip", "-json", "-details", "link", "show", "eth0").stdout)
    return link["xdp"]["prog"]["id"]


def test_dispatcher_of_libxdp_is_named(proxy):
    """libxdp pins the programs of a dispatcher in a folder with its name. A killed tool can leave the folder without the program."""
    proxy("detach", "eth0")
    proxy.namespace.run("ip", "link", "set", "dev", "eth0", "xdpgeneric" if proxy.mode == "generic" else "xdpdrv", "pinned", OTHER)
    number = attached_id(proxy)
    index = json.loads(proxy.namespace.run("ip", "-json", "link", "show", "eth0").stdout)[0]["ifindex"]
    folder = f"/sys/fs/bpf/xdp/dispatch-{index}-"
    proxy.namespace.run("mkdir", "-p", f"{folder}{number + 1}")
    assert f"another XDP program, 'count_all' id {number}" in proxy("attach", "eth0", code=1)
    proxy.namespace.run("mkdir", f"{folder}{number}")
    refused(proxy, number)
    proxy.namespace.run("ip", "link", "set", "dev", "eth0", "xdpgeneric" if proxy.mode == "generic" else "xdpdrv", "off")
    proxy("attach", "eth0", "--mode", proxy.mode)


@pytest.mark.skipif(not shutil.which("xdp-loader"), reason="xdp-loader of the package xdp-tools is missing")
def test_dispatcher_of_libxdp_is_not_joined(proxy):
    """The tool of libxdp attaches two programs. Its own command removes them, and one of them runs after glb-redirect."""
    proxy("detach", "eth0")
    load = ("xdp-loader", "load", "-m", "skb" if proxy.mode == "generic" else "native", "eth0", str(BUILD / "tests/bpf/programs/count_all_plain.bpf.o"))
    for _ in range(2):
        proxy.namespace.run(*load)
    remedy = refused(proxy, attached_id(proxy))
    proxy.namespace.run(*remedy.split())
    proxy("attach", "eth0", "--mode", proxy.mode)
    proxy("next", "eth0", OTHER)
    assert proxy.namespace.run(*load, check=False).returncode != 0
    proxy.receive([PING])
    wait_until(lambda: counted(proxy) == 1, "the program that runs after glb-redirect")
