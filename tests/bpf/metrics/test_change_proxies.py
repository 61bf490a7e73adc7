# SPDX-License-Identifier: BSD-3-Clause
"""docs/howto/change-proxies.md: a proxy with connections is not removed, and without them it is, with the program's real metrics."""

import concurrent.futures
import contextlib
import json
import signal
import subprocess

import pytest

from lab.tools import wait_until
from support.cli import backend, table
from support.pages import block, commands
from support.tree import CLI
from test_sockets import V4, V6, Server

PAGE = "docs/howto/change-proxies.md"
VIP, PROXY = "203.0.113.10", "192.168.50.11"


class Proxy(Server):
    """The host of 192.168.50.11 with one VIP. The commands of the page run on it, too."""

    def __init__(self, glb_redirect, stack, folder):
        super().__init__(glb_redirect, stack)
        self.folder = folder
        self.namespace.ip(f"addr del {V4}/32 dev lo", f"addr del {V6}/128 dev lo", f"addr add {VIP}/32 dev lo", "link set lo up",
                          f"addr add {PROXY}/24 dev eth0", "link set eth0 up")
        backends = [backend(f"192.168.50.{last}", "draining" if last == 11 else "active") for last in (10, 11, 12, 13)]
        (folder / "table.json").write_text(json.dumps({"tables": [table(backends=backends, hops=4, binds=[{"ip": VIP, "proto": "tcp", "port": 80}])]}))

    @contextlib.contextmanager
    def exporter(self):
        """A new one has read no sockets yet."""
        process = self.namespace.start(self.glb_redirect, "exporter", "--listen", f"{PROXY}:19522", stderr=subprocess.PIPE)
        try:
            assert "serving metrics" in process.stderr.readline()
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            process.stderr.close()

    def shell(self, command):
        path = f"{CLI.parent}:{self.glb_redirect.rsplit('/', 1)[0]}"
        done = self.namespace.run("sh", "-c", f'PATH={path}:$PATH; exec 2>&1; {command}', check=False, cwd=self.folder)
        return done.stdout.splitlines()


class Connections:
    """Of clients with a proxy."""

    def __init__(self, host, count):
        listener = host.listen(VIP, 80)
        self.clients = [host.connect(VIP, 80) for _ in range(count)]
        self.held = [listener.accept()[0] for _ in self.clients]

    def close(self):
        self.clients.pop().close()
        self.held.pop().close()


@pytest.fixture
def make_host(glb_redirect, tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield lambda: Proxy(str(glb_redirect), stack, tmp_path_factory.mktemp("proxy"))


def test_a_drained_proxy_is_removed_when_its_connections_have_ended(make_host):
    """`edit` waits up to 5 seconds for a new count. So it asks a host with a connection and one without at the same time."""
    host, other = make_host(), make_host()
    connections, ended = Connections(host, 2), Connections(other, 1)

    ((command, shown),) = commands(block(PAGE, "# glb-redirect drained"))
    assert host.shell(command) == shown
    for write, _ in commands(block(PAGE, "cat >proxies")):
        assert host.shell(write) == other.shell(write) == []
    connections.close()
    ended.close()
    wait_until(lambda: host.shell(command)[-1].split()[1] == "1", "one connection to be closed")
    wait_until(lambda: other.shell(command) == ["drained: no connection is left"], "the connection of the other host to be closed")
    ((refused, why),) = commands(block(PAGE, "has 1 connection left"))
    ((remove, shown),) = commands(block(PAGE, "has no connection left"))
    assert refused == remove
    with host.exporter(), other.exporter(), concurrent.futures.ThreadPoolExecutor() as both:
        said = [both.submit(each.shell, remove) for each in (host, other)]
        assert [each.result() for each in said] == [why, shown]
    addresses = [[each["ip"] for each in json.loads((one.folder / "table.json").read_text())["tables"][0]["backends"]] for one in (host, other)]
    assert addresses == [[f"192.168.50.{last}" for last in (10, 11, 12, 13)], ["192.168.50.10", "192.168.50.12", "192.168.50.13"]]
