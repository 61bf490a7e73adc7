# SPDX-License-Identifier: BSD-3-Clause
"""glb-healthcheck against real servers, on hosts that are network namespaces. Needs root."""

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
    """nginx and the peers that misbehave. -> the folder with the certificate."""
    folder = tmp_path_factory.mktemp("servers")
    nginx.make_certificate(folder)
    web = nginx.start(proxies, folder)
    odd = peers.start(proxies)
    yield folder
    for process in (web, odd):
        process.terminate()
        process.wait()


@pytest.fixture
def own_nginx(proxies, tmp_path):
    """Starts and stops an nginx of the test's own on port 8080."""
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
    """Makes a daemon, which is stopped at the end."""
    made = []

    def make(*tables, **options):
        made.append(Daemon(here, tmp_path, *tables, **options))
        return made[-1]

    yield make
    for one in made:
        one.stop()
        assert "Sanitizer" not in one.log() and "runtime error" not in one.log(), one.log()
