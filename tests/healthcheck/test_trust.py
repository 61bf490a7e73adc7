# SPDX-License-Identifier: BSD-3-Clause
"""Which certificates https checks trust, also after the file changes."""

import datetime
import shutil
import signal
import subprocess

import nginx
import pytest
from daemon import PROGRAM, backend, table, wait_probes
from lab.tools import wait_until
from network import PROXY

GARBAGE = "-----BEGIN CERTIFICATE-----\nthis is no certificate\n-----END CERTIFICATE-----\n"


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A certificate for the same name, which the proxy does not have."""
    folder = tmp_path_factory.mktemp("stranger")
    nginx.make_certificate(folder)
    return folder / "cert.pem"


def replace(file, content):
    new = file.with_suffix(".new")
    new.write_text(content)
    new.rename(file)


def https(ca_file, **more):
    options = "".join(f' {key} = "{value}";' for key, value in more.items())
    return f'{{ tls = true; host = "{nginx.NAME}"; ca_file = "{ca_file}";{options} }}'


def result(daemon, index=0):
    """The result and the reason of the first check of a table."""
    check = daemon.status()["tables"][index]["backends"][0]["checks"][0]
    return check["result"], check["reason"]


def wait_result(daemon, expected):
    wait_until(lambda: result(daemon)[0] == expected, lambda: f"{expected}; it is {result(daemon)}\n{daemon.log()}")


def test_changed_file_is_read_again(daemon, servers, stranger, tmp_path):
    ca, good = tmp_path / "ca.pem", (servers / "cert.pem").read_text()
    ca.write_text(stranger.read_text())
    made = daemon(table(backend(PROXY, http=nginx.TLS)), http=https(ca), panic_threshold=0).start().wait_ready()
    wait_result(made, "bad_tls")
    replace(ca, good)  # added to the trust
    wait_result(made, "passed")
    ca.write_text(stranger.read_text() + good)  # written in place
    made.logged("trusted certificates in", 2)
    wait_result(made, "passed")
    replace(ca, stranger.read_text())  # removed from the trust
    wait_result(made, "bad_tls")


@pytest.mark.parametrize("bad, why", [
    (GARBAGE, "bad base64 decode"),
    ("", "no certificate or crl found"),
    ("certificates come here\n", "no certificate or crl found"),
    (None, "No such file or directory"),
])
def test_bad_file_keeps_the_old_trust_and_says_so(daemon, servers, tmp_path, bad, why):
    ca = tmp_path / "ca.pem"
    shutil.copy(servers / "cert.pem", ca)
    made = daemon(table(backend(PROXY, http=nginx.TLS)), http=https(ca)).start().wait_ready()
    ca.write_text(bad) if bad is not None else ca.unlink()
    made.logged(f"error: trusted certificates in {ca} cannot be loaded: {why}: the certificates that were loaded before stay trusted")
    made.kill(signal.SIGHUP)
    before = made.get("/metrics")[2]
    wait_until(lambda: made.get("/metrics")[2] != before, "more probes")
    assert result(made) == ("passed", "status 200")
    shutil.copy(servers / "cert.pem", ca)
    made.logged(f"notice: trusted certificates in {ca} are valid again and in use")
    assert result(made)[0] == "passed" and "bad_tls" not in made.log()


def test_certificate_that_expires_soon_is_warned_about_once(daemon, servers):
    """The test's certificate is valid for two days. It is also noted if it is not verified."""
    end = subprocess.run(["openssl", "x509", "-enddate", "-noout", "-dateopt", "iso_8601", "-in", servers / "cert.pem"],
                         check=True, capture_output=True, text=True).stdout.strip().removeprefix("notAfter=")
    expires = int(datetime.datetime.fromisoformat(end.replace("Z", "+00:00")).timestamp())
    for settings in (https(servers / "cert.pem"), "{ tls = true; verify = false; }"):
        made = daemon(table(backend(PROXY, http=nginx.TLS)), http=settings).start().wait_ready()
        wait_probes(made, 4)
        check, = made.status()["tables"][0]["backends"][0]["checks"]
        assert (check["result"], check["tls_expires"]) == ("passed", expires)
        name = check["check"]
        assert f'check_tls_expiry_timestamp_seconds{{check="{name}"}} {expires}\n' in made.get("/metrics")[2]
        warning = f"warning: check {name}: a certificate of the proxy expires on {end[:10]}, in 1 day: renew it\n"
        assert made.log().count(warning) == 1, made.log()
        shown = made.host.run(PROGRAM, "status", "--config-file", str(made.conf)).stdout
        assert f"\n    a certificate of the proxy expires on {end[:10]}\n" in shown
        made.stop()
        made.log_file.unlink()


def test_refused_file_is_in_status_and_metrics(daemon, servers, tmp_path):
    ca = tmp_path / "ca.pem"
    shutil.copy(servers / "cert.pem", ca)
    made = daemon(table(backend(PROXY, http=nginx.TLS)), http=https(ca)).start().wait_ready()
    ca.write_text(GARBAGE)
    made.logged("error: trusted certificates in")
    trust, = made.status()["trust"]
    assert (trust["file"], trust["loads"]) == (str(ca), 1) and "bad base64 decode" in trust["error"]
    assert "glb_healthcheck_trust_bad 1\n" in made.get("/metrics")[2]
    shown = made.host.run(PROGRAM, "status", "--config-file", str(made.conf), check=False)
    assert shown.returncode == 1 and "glb-healthcheck 0.1.0: trusted certificates refused\n" in shown.stdout


def test_sighup_reads_it_without_watching(daemon, servers, stranger, tmp_path):
    ca = tmp_path / "ca.pem"
    ca.write_text(stranger.read_text())
    made = daemon(table(backend(PROXY, http=nginx.TLS)), http=https(ca), watch=False, panic_threshold=0).start().wait_ready()
    wait_result(made, "bad_tls")
    replace(ca, (servers / "cert.pem").read_text())
    made.kill(signal.SIGHUP)
    wait_result(made, "passed")


def test_file_that_is_bad_at_start_fails_no_proxy(daemon, servers, tmp_path):
    ca = tmp_path / "ca.pem"
    ca.write_text(GARBAGE)
    made = daemon(table(backend(PROXY, http=nginx.TLS), backend("10.78.0.1", tcp=nginx.OK)), http=https(ca))
    code, rows = made.check_once()
    assert code == 1 and rows[f"tcp 10.78.0.1:{nginx.OK}"][0] == "passed"
    (check, (verdict, reason)), = ((name, row) for name, row in rows.items() if name.startswith("https"))
    assert verdict == "not_run" and f"trustedcertificatesin{ca}cannotbeloaded:badbase64decode" in reason.replace(" ", ""), check
    made.start().wait_ready()
    replace(ca, (servers / "cert.pem").read_text())
    wait_result(made, "passed")


def test_tables_with_different_files_do_not_share_trust(daemon, servers, stranger):
    """Also libcurl, which caches trust, must not mix them."""
    proxies = backend(PROXY, http=nginx.TLS)
    made = daemon(table(proxies), table(proxies, name="other", vips=["203.0.113.11"]), table(proxies, name="system", vips=["203.0.113.12"]),
                  http=f'{{ tls = true; host = "{nginx.NAME}"; }}', panic_threshold=0,
                  tables=f'( {{ name = "web"; http = {https(servers / "cert.pem")}; }}, {{ name = "other"; http = {https(stranger)}; }} )')
    made.start().wait_ready()
    expected = ["passed", "bad_tls", "bad_tls"]
    for _ in range(3):
        wait_probes(made, 6)
        wait_until(lambda: [result(made, index)[0] for index in range(3)] == expected, lambda: f"{expected} in {made.status()}")
    assert made.log().count(" -> ") == 3, made.log()


def test_reload_during_handshakes_fails_no_proxy(daemon, servers):
    """Probes keep the trust with which they started."""
    proxies = [backend(f"10.78.0.{i}", http=nginx.TLS) for i in range(1, 50)]
    made = daemon(table(*proxies), http=https(servers / "cert.pem"), interval_ms=50, timeout_ms=5000).start().wait_ready()
    for _ in range(40):
        made.kill(signal.SIGHUP)
        wait_probes(made, 10)
    assert made.status()["trust"][0]["loads"] > 10
    assert 'glb_healthcheck_probes_total{kind="http",result="bad_tls"} 0\n' in made.get("/metrics")[2]


def test_many_checks_share_one_copy_of_the_trust(daemon, servers, tmp_path):
    """Parsing it for each probe made healthy proxies time out."""
    ca = tmp_path / "ca.pem"
    ca.write_text(200 * (servers / "cert.pem").read_text())
    proxies = [backend(f"10.78.0.{i}", http=nginx.TLS) for i in range(1, 151)]
    made = daemon(table(*proxies), http=https(ca), interval_ms=1000, timeout_ms=1000).start().wait_ready()
    wait_probes(made, 450)
    assert [trust["loads"] for trust in made.status()["trust"]] == [1]
    page = made.get("/metrics")[2]
    assert all(f'probes_total{{kind="http",result="{result}"}} 0\n' in page for result in ("timeout", "bad_tls", "reset"))
    assert set(made.healthy().values()) == {True} and "unhealthy:" not in made.log()
