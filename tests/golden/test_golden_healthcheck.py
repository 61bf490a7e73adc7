# SPDX-License-Identifier: BSD-3-Clause
"""The outlets of glb-healthcheck: metrics, page, /status, and what it prints. One daemon for all of them."""

import contextlib
import os

import nginx
import pytest
from daemon import PROGRAM, Daemon, backend, table
from golden import check, legacy, outline, reflowed, sections, series, shape
from network import PROXY, make_hosts

from lab.tools import wait_until
from support.browser import Page

REFUSED = "10.78.0.2"
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A daemon with checks of all kinds, some of which fail, in panic, whose table and reload are refused."""
    if os.getuid() != 0:
        pytest.skip("network namespaces need root")
    folder = tmp_path_factory.mktemp("golden")
    with contextlib.ExitStack() as stack:
        here, proxies = make_hosts()
        stack.callback(here.close)
        stack.callback(proxies.close)
        nginx.make_certificate(folder)
        nginx.make_clients(folder)
        web = nginx.start(proxies, folder)
        stack.callback(web.wait)
        stack.callback(web.terminate)
        tls = f'{{ tls = true; host = "{nginx.NAME}"; ca_file = "{folder}/cert.pem"; }}'
        daemon = Daemon(
            here, folder,
            table(backend(PROXY, http=nginx.TLS, tcp=nginx.OK), {**backend(REFUSED, "draining", tcp=9), "weight": 300}, backend("10.78.0.3", "inactive")),
            table(backend(REFUSED, gue=19523, fou=19524, tcp=9, command="db", grpc=9), name="second", vips=["203.0.113.11"]),
            http=tls, panic_threshold=60, reload_command='"echo no such unit; exit 3"', commands='({ name = "db"; command = ["/bin/sh", "-c", "exit 2"]; })',
            listen='"127.0.0.1:19521"', timeout_ms=5000, interval_ms=100)
        stack.callback(daemon.stop)
        daemon.start().wait_ready()

        def failed():
            checks = [check for one in daemon.status()["tables"] for each in one["backends"] for check in each["checks"]]
            return all(check["verdict"] == ("healthy" if PROXY in check["check"] else "unhealthy") for check in checks)

        wait_until(failed, lambda: f"the verdicts: {daemon.status()}\n{daemon.log()}")
        wait_until(lambda: daemon.status()["reload"]["failed"], "a failed reload")
        wait_until(lambda: 'check_tls_expiry_timestamp_seconds{' in daemon.get("/metrics")[2], "the certificate")
        good = daemon.src.read_text()
        daemon.src.write_text("{ broken")
        daemon.kill(1)
        wait_until(lambda: daemon.status()["src"]["refused"], "a refused table")
        daemon.good = good
        yield daemon


def test_metrics(made):
    text = series(made.get("/metrics", **OPENMETRICS)[2])
    check("glb-healthcheck.metrics", text)
    assert series(made.get("/metrics")[2]) == legacy(text)


def test_page(made):
    found = {path: outline(Page(made.get(path)[2])) for path in ("/", "/tables/0")}
    check("glb-healthcheck.page", sections(found))


def test_outputs(made):
    found = {"/status": shape(made.status())}
    done = made.host.run(PROGRAM, "status", "--config-file", str(made.conf), check=False)
    found["status"] = f"{reflowed(done.stdout)}\nexit code {done.returncode}"
    made.src.write_text(made.good)
    done = made.host.run(PROGRAM, "--config-file", str(made.conf), "--check-once", check=False)
    found["--check-once"] = f"{reflowed(done.stdout)}\nexit code {done.returncode}"
    check("glb-healthcheck.output", sections(found))
