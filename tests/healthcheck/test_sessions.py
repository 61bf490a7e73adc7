# SPDX-License-Identifier: BSD-3-Clause
"""Https checks resume TLS sessions. A proxy's certificate is seen again after full_handshake_ms at the latest."""

import shutil
import signal

import nginx
import pytest
import tls_peer
from daemon import backend, table, wait_probes
from lab.tools import wait_until
from network import PROXY
from test_trust import https, replace, wait_result

LONG = 86400000  # ms; the first period has a random length up to this


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """Another certificate for the name, which is not trusted."""
    folder = tmp_path_factory.mktemp("stranger")
    nginx.make_certificate(folder)
    return folder


@pytest.fixture
def peer(proxies, servers, tmp_path):
    """Returns a function that starts a TLS server with the certificate that is trusted."""
    made = []

    def make(version=3, mode=""):
        folder = tmp_path / "peer"
        folder.mkdir()
        for name in ("cert.pem", "key.pem"):
            shutil.copy(servers / name, folder)
        made.append(tls_peer.Peer(proxies, folder, version, mode))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def start(daemon, ca, period_ms=LONG, **more):
    return daemon(table(backend(PROXY, http=tls_peer.PORT)), http=https(ca), interval_ms=100, timeout_ms=5000, panic_threshold=0,
                  full_handshake_ms=period_ms, **more).start().wait_ready()


def metrics(daemon, *names):
    """Their values at one time."""
    values = dict(line.rsplit(" ", 1) for line in daemon.get("/metrics")[2].splitlines() if not line.startswith("#"))
    return [int(values[f"glb_healthcheck_{name}"]) for name in names]


def metric(daemon, name):
    return metrics(daemon, name)[0]


def failures(daemon):
    return sum(int(line.split()[1]) for line in daemon.get("/metrics")[2].splitlines()
               if line.startswith("glb_healthcheck_probes_total") and 'result="passed"' not in line)


@pytest.mark.parametrize("version", [2, 3])
def test_probes_resume_the_session_of_the_first(daemon, servers, peer, version):
    server = peer(version)
    made = start(daemon, servers / "cert.pem")
    expires = made.status()["tables"][0]["backends"][0]["checks"][0]["tls_expires"]
    wait_probes(made, 10)
    first, *rest = server.handshakes()
    # No other handshake is full until the first period ends.
    assert first == "full" and set(rest) == {"resumed"}
    assert {line.split()[0] for line in server.lines() if line.startswith("TLS")} == {f"TLSv1.{version}"}
    resumed, all_ = metrics(made, "tls_resumed_total", "tls_handshakes_total")
    assert 10 <= resumed <= all_ - 1 and failures(made) == 0
    check, = made.status()["tables"][0]["backends"][0]["checks"]
    assert check["tls_expires"] == expires > 0


IDS = """
    server {{ listen 8443 ssl; ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_session_tickets off;
              ssl_session_cache shared:sessions:1m; return 200; }}
"""


def test_sessions_without_tickets_are_resumed(daemon, proxies, servers, tmp_path):
    folder = tmp_path / "nginx"
    folder.mkdir()
    for name in ("cert.pem", "key.pem"):
        shutil.copy(servers / name, folder)
    server = nginx.start(proxies, folder, IDS)
    try:
        made = start(daemon, servers / "cert.pem")
        wait_result(made, "passed")
        wait_probes(made, 10)
        handshakes, resumed = metrics(made, "tls_handshakes_total", "tls_resumed_total")
        assert handshakes == resumed + 1
    finally:
        server.kill()
        server.wait()


SUITE = """
    server {{ listen 8443 ssl; ssl_protocols TLSv1.3; ssl_certificate cert.pem; ssl_certificate_key key.pem; return 200 "$ssl_cipher"; }}
"""
ONLY_256 = """
openssl_conf = all
[all]
ssl_conf = tls
[tls]
system_default = policy
[policy]
Ciphersuites = TLS_AES_256_GCM_SHA384
"""


def test_suite_with_fast_instructions_is_offered_first_unless_the_system_forbids_it(daemon, proxies, servers, tmp_path):
    """Without ssl_prefer_server_ciphers, nginx takes the first suite that the client offers."""
    folder, policy = tmp_path / "nginx", tmp_path / "openssl.cnf"
    folder.mkdir()
    policy.write_text(ONLY_256)
    for name in ("cert.pem", "key.pem"):
        shutil.copy(servers / name, folder)
    server = nginx.start(proxies, folder, SUITE)
    try:
        for suite, environment in (("TLS_AES_128_GCM_SHA256", {}), ("TLS_AES_256_GCM_SHA384", {"OPENSSL_CONF": str(policy)})):
            made = daemon(table(backend(PROXY, http=tls_peer.PORT)), http=https(servers / "cert.pem", body=suite), interval_ms=100,
                          timeout_ms=5000).start(**environment).wait_ready()
            wait_result(made, "passed")
            made.stop()
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("version", [2, 3])
def test_server_without_sessions_has_only_full_handshakes(daemon, servers, peer, version):
    server = peer(version, "forgets")
    made = start(daemon, servers / "cert.pem")
    wait_probes(made, 10)
    assert set(server.handshakes()) == {"full"} and failures(made) == 0
    assert metric(made, "tls_resumed_total") == 0


def test_memory_of_sessions_is_freed(daemon, servers):
    """libcurl lost it in each handle that had checked an http port before. A build with AddressSanitizer fails at its exit if it is lost."""
    made = daemon(table(backend(PROXY, http=nginx.OK), name="plain"), table(backend(PROXY, http=nginx.TLS), name="tls", vips=["203.0.113.11"]),
                  tables=f'( {{ name = "tls"; http = {https(servers / "cert.pem")}; }} )').start().wait_ready()
    wait_probes(made, 20)
    made.stop()


def test_period_0_switches_sessions_off(daemon, servers, peer):
    server = peer()
    made = start(daemon, servers / "cert.pem", 0)
    wait_probes(made, 10)
    assert set(server.handshakes()) == {"full"} and metric(made, "tls_resumed_total") == 0


def longest_run(handshakes):
    return max(map(len, "".join("r" if one == "resumed" else " " for one in handshakes).split()))


def test_changed_certificate_is_found_after_the_period(daemon, servers, peer, stranger):
    """A period of 1 s has at most 10 probes at intervals of 100 ms."""
    server = peer()
    made = start(daemon, servers / "cert.pem", 1000)
    wait_probes(made, 40)
    assert longest_run(server.handshakes()) <= 11 and failures(made) == 0
    server.use_certificate(stranger)
    wait_result(made, "bad_tls")
    made.wait_healthy({PROXY: False})


@pytest.mark.parametrize("how", ["SIGHUP", "ca_file"])
def test_new_trust_ends_the_session(daemon, servers, peer, stranger, tmp_path, how):
    server, ca = peer(), tmp_path / "ca.pem"
    shutil.copy(servers / "cert.pem", ca)
    made = start(daemon, ca)
    server.use_certificate(stranger)
    wait_probes(made, 10)
    assert failures(made) == 0  # the session hides it
    if how == "SIGHUP":
        made.kill(signal.SIGHUP)
    else:
        replace(ca, (servers / "cert.pem").read_text() + "\n")
    wait_result(made, "bad_tls")


def test_distrusted_certificate_is_found_when_its_ca_is_removed(daemon, servers, peer, stranger, tmp_path):
    peer()
    ca = tmp_path / "ca.pem"
    shutil.copy(servers / "cert.pem", ca)
    made = start(daemon, ca)
    wait_probes(made, 5)
    replace(ca, (stranger / "cert.pem").read_text())
    wait_result(made, "bad_tls")


def test_new_client_certificate_ends_the_session(daemon, servers, peer, tmp_path):
    server, own = peer(), tmp_path / "own.pem"
    own.write_text((servers / "a-cert.pem").read_text() + (servers / "a-key.pem").read_text())
    own.chmod(0o600)
    made = daemon(table(backend(PROXY, http=tls_peer.PORT)), http=https(servers / "cert.pem", cert_file=own), interval_ms=100,
                  timeout_ms=5000, full_handshake_ms=LONG).start().wait_ready()
    wait_until(lambda: server.handshakes()[-3:] == 3 * ["resumed"], lambda: f"sessions: {server.handshakes()}")
    before = server.handshakes().count("full")
    replace(own, (servers / "b-cert.pem").read_text() + (servers / "b-key.pem").read_text())
    wait_until(lambda: server.handshakes().count("full") > before, lambda: f"a full handshake: {server.handshakes()}\n{made.log()}")
    wait_probes(made, 5)
    assert server.handshakes()[-1] == "resumed" and failures(made) == 0


def test_probe_after_a_failed_one_has_a_full_handshake(daemon, servers, peer):
    server = peer()
    made = start(daemon, servers / "cert.pem")
    (server.folder / "status").write_text("503")
    wait_result(made, "bad_status")
    (server.folder / "status").write_text("200")
    wait_result(made, "passed")
    wait_probes(made, 3)
    failed = failures(made)
    assert failed > 0 and server.handshakes().count("full") == 1 + failed


def test_restarted_server_with_new_keys_fails_no_probe(daemon, servers, peer):
    """The restart itself fails probes, but no handshake does."""
    server = peer()
    made = start(daemon, servers / "cert.pem")
    server.stop()
    wait_result(made, "refused")
    server.start()
    wait_result(made, "passed")
    wait_probes(made, 5)
    assert server.handshakes()[-1] == "resumed"
    assert 'result="bad_tls"} 0\n' in made.get("/metrics")[2]


def test_server_that_breaks_on_resumption_is_not_blamed(daemon, servers, peer):
    """The probe repeats its request with a full handshake."""
    server = peer(3, "breaks")
    made = start(daemon, servers / "cert.pem")
    wait_probes(made, 10)
    assert server.lines().count("broken") >= 10 and set(server.handshakes()) == {"full"}
    assert failures(made) == 0 and "unhealthy:" not in made.log()


def test_full_handshakes_of_many_checks_do_not_stay_together(daemon, servers, peer):
    """After the start, the first periods have different lengths."""
    proxies = [backend(f"10.78.0.{i}", http=nginx.TLS) for i in range(1, 101)]
    made = daemon(table(*proxies), http=https(servers / "cert.pem"), interval_ms=500, timeout_ms=5000,
                  full_handshake_ms=20000).start().wait_ready()
    wait_probes(made, 300)
    handshakes, resumed = metrics(made, "tls_handshakes_total", "tls_resumed_total")
    full = handshakes - resumed
    assert 100 < full < 200
