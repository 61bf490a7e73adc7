# SPDX-License-Identifier: BSD-3-Clause
"""An XDP program of another tool that runs after glb-redirect: `glb-redirect next`."""

import contextlib
import json
import os
import socket

import pytest

from cases import frames as f
from host import FAMILY, UNKNOWN, VIP, packet
from lab.tools import wait_until
from packets import gue_frame
from support.tree import BUILD
from test_loader import PINS, Proxy

HAS_FRAGS = tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 18)
OTHER, PORT, PACKETS = "/sys/fs/bpf/other", 7777, 20
PING = gue_frame(f.ipv4("198.51.100.7", VIP[4], f.ICMP, f.echo(4)))
DATAGRAM = gue_frame(packet(4, f.UDP, f.udp(UNKNOWN, PORT, b"data")))


def load(proxy, frags, path=OTHER):
    """Loads another program, and pins it and its map."""
    kind = "frags" if frags else "plain"
    proxy.namespace.run("/usr/sbin/bpftool", "prog", "load", str(BUILD / f"tests/bpf/count_all_{kind}.bpf.o"), path, "pinmaps", f"{path}_maps")


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
        server.settimeout(10)
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
