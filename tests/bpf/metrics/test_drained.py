# SPDX-License-Identifier: BSD-3-Clause
"""glb-redirect drained: every connection that a client could still use counts, and nothing else."""

import contextlib
import json
import socket
import subprocess

import pytest

from host import VIP, Host
from lab.tools import wait_until
from scrape import metrics
from test_sockets import V4, V6, Server

ZERO = {"connections": 0, "udp": 0, "idle_under_1m": 0, "idle_under_10m": 0, "idle_under_1h": 0, "idle_longer": 0}
NONE = "drained: no connection is left\n"


@pytest.fixture
def server(glb_redirect):
    with contextlib.ExitStack() as stack:
        yield Server(glb_redirect, stack)


def drained(server, *words, code):
    result = server.namespace.run(server.glb_redirect, "drained", *words, check=False, timeout=60)
    assert result.returncode == code, result.stdout + result.stderr
    return result.stderr if result.stderr else result.stdout


def left(server, *words):
    """The members that are not 0, by VIP."""
    shown = json.loads(drained(server, "--json", *words, code=1))
    assert shown["drained"] is False
    return {vip: {name: value for name, value in members.items() if value} for vip, members in shown["vips"].items()}


def test_nothing_is_left(server):
    server.listen(V4, 80)
    assert drained(server, code=0) == NONE
    assert json.loads(drained(server, "--json", code=0)) == {"drained": True, "vips": {V4: ZERO, V6: ZERO}}


def test_connections_are_counted_by_vip(server):
    server.listen("::", 80, v6only=0)
    for address in (V4, V4, V6):
        server.connect(address, 80)
    assert left(server) == {V4: {"connections": 2, "idle_under_1m": 2}, V6: {"connections": 1, "idle_under_1m": 1}}
    heading, one, other = drained(server, code=1).splitlines()
    assert heading.split() == ["VIP", "connections", "idle", "<1m", "<10m", "<1h", "longer", "udp"]
    assert [one.split(), other.split()] == [[V6, "1", "1", "0", "0", "0", "0"], [V4, "2", "2", "0", "0", "0", "0"]]


def test_a_connection_of_a_server_that_stopped_listening_is_left(server):
    listener = server.listen(V4, 80)
    client = server.connect(V4, 80)
    connection = listener.accept()[0]
    listener.close()
    assert left(server)[V4]["connections"] == 1
    client.shutdown(socket.SHUT_WR)
    assert connection.recv(1) == b""
    assert left(server)[V4]["connections"] == 1, "the server can still send"
    connection.close()
    client.close()
    wait_until(lambda: server.namespace.run(server.glb_redirect, "drained", check=False).stdout == NONE, "both ends to be closed")


def test_every_state_of_a_connection(glb_redirect):
    """Of two half-open, one established, one in CLOSE_WAIT and one in TIME_WAIT, the last one is closed. UDP counts if it is connected."""
    host = Host()
    with host.close:
        result = host.namespace.run(glb_redirect, "drained", "--json", "--vip", f"{VIP[4]},{VIP[6]}", check=False)
        vips = json.loads(result.stdout)["vips"]
        for family in (4, 6):
            shown = host.namespace.run("ss", "-Htan", "state", "connected", "exclude", "time-wait", "src", VIP[4] if family == 4 else f"[{VIP[6]}]").stdout
            assert vips[VIP[family]]["connections"] == len(shown.splitlines()) >= 4
            assert vips[VIP[family]]["udp"] == 1
        assert result.returncode == 1


def gauge(namespace, glb_redirect):
    """{(VIP, protocol): connections} of the exporter."""
    return {key[1:]: value for key, value in metrics(namespace, glb_redirect).items() if key[0] == "open_connections"}


def test_the_gauge_of_the_exporter_counts_the_same(glb_redirect):
    """Whoever decides by the metrics that a proxy can go must not miss what the command shows: half-open, half-closed, UDP."""
    host = Host()
    with host.close:
        shown = json.loads(host.namespace.run(glb_redirect, "drained", "--json", "--vip", f"{VIP[4]},{VIP[6]}", check=False).stdout)["vips"]
        counted = gauge(host.namespace, glb_redirect)
        assert {vip: (counted[vip, "tcp"], counted[vip, "udp"]) for vip in VIP.values()} == {
            vip: (shown[vip]["connections"], shown[vip]["udp"]) for vip in VIP.values()}
        assert min(counted.values()) >= 1


def test_the_gauge_is_0_for_a_vip_without_connections(server):
    listener = server.listen(V4, 80)
    client = server.connect(V4, 80)
    connection = listener.accept()[0]
    assert gauge(server.namespace, server.glb_redirect) == {(V4, "tcp"): 1, (V4, "udp"): 0, (V6, "tcp"): 0, (V6, "udp"): 0}
    client.close()  # the server's end is then in CLOSE_WAIT
    assert connection.recv(1) == b"" and gauge(server.namespace, server.glb_redirect)[V4, "tcp"] == 1
    connection.close()
    wait_until(lambda: gauge(server.namespace, server.glb_redirect)[V4, "tcp"] == 0, "the connection to be closed")


def test_vips_of_the_command_line(server):
    server.listen(V4, 80)
    server.connect(V4, 80)
    assert drained(server, "--vip", V6, code=0) == NONE
    assert left(server, "--vip", f"{V6},10.10.10.0/24") == {V6: {}, "10.10.10.0/24": {"connections": 1, "idle_under_1m": 1}}


def test_waits_until_the_last_connection_is_closed(server):
    listener = server.listen(V4, 80)
    client = server.connect(V4, 80)
    connection = listener.accept()[0]
    with server.namespace.start(server.glb_redirect, "drained", "--wait", "10m", stdout=subprocess.PIPE) as waiting:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(1.5)
        client.close()
        connection.close()
        assert waiting.communicate(timeout=60)[0] == NONE
    assert waiting.returncode == 0


def test_wait_ends_with_what_is_left(server):
    server.listen(V4, 80)
    server.connect(V4, 80)
    assert drained(server, "--wait", "1s", code=1).splitlines()[1].split()[:2] in ([V4, "1"], [V6, "0"])


@pytest.mark.parametrize("words, message", [
    (["--vip", ""], "--vip: '' is not an address or a prefix"),
    (["--vip", "10.10.10.10,web"], "--vip: 'web' is not an address or a prefix"),
    (["--vip", "10.10.10.10,"], "--vip: '' is not an address or a prefix"),
    *((["--wait", bad], f"--wait: '{bad}' is not a duration from 1s to 24h, such as 30s, 10m or 2h")
      for bad in ("", "10", "0s", "m", "-1m", "10 m", "10mm", "25h", "18446744073709551617s", "2d")),
    (["eth0"], "drained: unexpected operand 'eth0'"),
])
def test_wrong_usage(glb_redirect, words, message):
    result = subprocess.run([glb_redirect, "drained", *words], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert f"glb-redirect: {message}" in result.stderr


def test_a_host_without_vips_is_not_drained(server):
    """The operator may be on the wrong host, or has removed the VIPs already."""
    server.namespace.ip(f"addr del {V4}/32 dev lo", f"addr del {V6}/128 dev lo")
    assert drained(server, code=1) == "glb-redirect: this host has no VIP on lo: name the VIPs with --vip\n"


@pytest.fixture
def other(server, tmp_path):
    """A VIP that is not on lo, with a connection. The address of lo has none."""
    conf = tmp_path / "redirect.conf"
    conf.write_text('allow_to = ["10.20.20.20"];\n')
    server.namespace.ip("link set eth0 up", "link set net0 up", "addr add 10.20.20.20/32 dev net0")
    server.namespace.run(server.glb_redirect, "attach", "eth0", "--config-file", str(conf))
    server.listen("10.20.20.20", 80)
    server.connect("10.20.20.20", 80)
    return {"10.20.20.20": {"connections": 1, "idle_under_1m": 1}}


def test_vips_of_a_renamed_interface(server, other):
    """Its program goes on."""
    assert left(server) == other
    server.namespace.ip("link set eth0 down", "link set eth0 name wan0", "link set wan0 up")
    assert left(server) == other


def test_a_program_whose_settings_cannot_be_read(server, other):
    """Its VIPs may be others than the addresses of lo, which have no connections."""
    status = json.loads(server.namespace.run(server.glb_redirect, "status", "--json").stdout)
    server.namespace.run("rm", f"/sys/fs/bpf/glb-redirect/eth0/{status['eth0']['program_id']}/settings")
    message = drained(server, code=1)
    assert "the settings of an attached program cannot be read" in message and "name the VIPs with --vip" in message
    assert left(server, "--vip", "10.20.20.20") == other


def test_without_the_capability_to_read_the_vips(server):
    prefix = ["setpriv", "--bounding-set=-bpf,-sys_admin", server.glb_redirect, "drained"]
    result = server.namespace.run(*prefix, check=False)
    assert result.returncode == 1 and "not permitted: run glb-redirect as root" in result.stderr
    assert server.namespace.run(*prefix, "--vip", V4).stdout == NONE
