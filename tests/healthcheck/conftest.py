# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures that run glb-healthcheck against real servers. Hosts are network namespaces. Needs root."""

import pytest

import nginx
import peers
from daemon import Daemon
from lab.tools import wait_until
from network import make_hosts


@pytest.fixture(scope="session")
def hosts():
    here, proxies = make_hosts()
    yield here, proxies
    here.close()
    proxies.close()


@pytest.fixture(scope="session")
def here(hosts):
    return hosts[0]


@pytest.fixture(scope="session")
def proxies(hosts):
    return hosts[1]


@pytest.fixture(scope="session")
def servers(proxies, tmp_path_factory):
    """Runs nginx and the peers that misbehave. Returns the folder with the certificate."""
    folder = tmp_path_factory.mktemp("servers")
    nginx.make_certificate(folder)
    nginx.make_clients(folder)
    web = nginx.start(proxies, folder)
    misbehaving = peers.start(proxies)
    yield folder
    for process in (web, misbehaving):
        process.terminate()
        process.wait()


@pytest.fixture
def own_nginx(proxies, tmp_path):
    """An nginx on port 8080 that the test starts and stops."""
    class Own:
        process = None

        def start(self):
            self.process = nginx.start(proxies, tmp_path / "nginx", "server {{ listen 8080; return 200; }}")
            pid_file = tmp_path / "nginx/nginx.pid"
            wait_until(lambda: pid_file.exists() and pid_file.read_text() == f"{self.process.pid}\n", "nginx listens")

        def stop(self):
            if self.process:
                self.process.terminate()
                self.process.wait()
            self.process = None

    own = Own()
    yield own
    own.stop()


@pytest.fixture
def daemon(here, servers, tmp_path):
    """Returns a function that makes a daemon. The daemons are stopped at the end."""
    made = []

    def make(*tables, **options):
        made.append(Daemon(here, tmp_path, *tables, **options))
        return made[-1]

    yield make
    for one in made:
        one.stop()
        assert "Sanitizer" not in one.log() and "runtime error" not in one.log(), one.log()
