# SPDX-License-Identifier: BSD-3-Clause
"""docs/howto/change-proxies.md: a proxy with connections is not removed, and without them it is, with the program's real metrics."""

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


@pytest.fixture
def host(glb_redirect, tmp_path):
    with contextlib.ExitStack() as stack:
        yield Proxy(str(glb_redirect), stack, tmp_path)


def test_a_drained_proxy_is_removed_when_its_connections_have_ended(host):
    listener = host.listen(VIP, 80)
    clients = [host.connect(VIP, 80) for _ in range(2)]
    held = [listener.accept()[0] for _ in clients]

    def close():
        clients.pop().close()
        held.pop().close()

    ((command, shown),) = commands(block(PAGE, "# glb-redirect drained"))
    assert host.shell(command) == shown
    for write, _ in commands(block(PAGE, "cat >proxies")):
        assert host.shell(write) == []
    close()
    wait_until(lambda: host.shell(command)[-1].split()[1] == "1", "one connection to be closed")
    ((remove, shown),) = commands(block(PAGE, "has 1 connection left"))
    with host.exporter():
        assert host.shell(remove) == shown
    close()
    wait_until(lambda: host.shell(command) == ["drained: no connection is left"], "the other one to be closed")
    ((remove, shown),) = commands(block(PAGE, "has no connection left"))
    with host.exporter():
        assert host.shell(remove) == shown
    addresses = [each["ip"] for each in json.loads((host.folder / "table.json").read_text())["tables"][0]["backends"]]
    assert addresses == ["192.168.50.10", "192.168.50.12", "192.168.50.13"]
