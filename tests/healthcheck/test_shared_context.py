# SPDX-License-Identifier: BSD-3-Clause
"""The https checks of a thread share one context of OpenSSL. The settings of a check must not reach another one."""

import shutil
import signal

import nginx
import pytest
from daemon import PROGRAM, backend, table, wait_probes
from network import PROXY
from test_sessions import LONG, metric
from test_trust import https, result

ANY, CURVE, OLD = 8443, 8444, 8445
SERVERS = """
    ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_verify_client optional_no_ca;
    server {{ listen 8443 ssl http2; return 200 "[$ssl_client_s_dn] $server_protocol"; }}
    server {{ listen 8444 ssl; ssl_protocols TLSv1.3; ssl_ecdh_curve secp384r1; return 200 "$ssl_curve [$ssl_client_s_dn]"; }}
    server {{ listen 8445 ssl; ssl_protocols TLSv1.2; return 200 "$ssl_protocol [$ssl_client_s_dn]"; }}
"""


@pytest.fixture
def web(proxies, servers, tmp_path):
    folder = tmp_path / "nginx"
    folder.mkdir()
    for name in ("cert.pem", "key.pem"):
        shutil.copy(servers / name, folder)
    server = nginx.start(proxies, folder, SERVERS)
    yield folder
    server.kill()
    server.wait()


@pytest.fixture
def stranger(tmp_path):
    folder = tmp_path / "stranger"
    folder.mkdir()
    nginx.make_certificate(folder)
    return folder / "cert.pem"


def test_libcurl_uses_the_shared_context(daemon, servers):
    """If libcurl called OpenSSL's function, the checks would work, too, but cost more."""
    made = daemon(table(backend(PROXY, http=nginx.TLS)), http=https(servers / "cert.pem"))
    made.start(LD_DEBUG="bindings", LD_BIND_NOW="1").wait_ready()
    assert f"/libcurl.so.4 [0] to {PROGRAM} [0]: normal symbol `SSL_CTX_new'" in made.log()


def results(daemon, names):
    return {name: result(daemon, index) for index, name in enumerate(names)}


@pytest.mark.parametrize("period_ms", [LONG, 0])
def test_settings_of_checks_do_not_mix(daemon, servers, web, stranger, period_ms):
    """One proxy asks for client certificates, one answers HelloRetryRequest, and one has only TLS 1.2."""
    good, pairs = servers / "cert.pem", {name: {"cert_file": servers / f"{name}-cert.pem", "key_file": servers / f"{name}-key.pem"} for name in "ab"}
    every = {  # table: (http settings, port, checks, expected result)
        "none": (https(good), ANY, {"http_body": "[] HTTP/1.1"}, "passed"),
        "a": (https(good, **pairs["a"]), ANY, {"http_body": "[CN=client-a] HTTP/1.1"}, "passed"),
        "stranger": (https(stranger), ANY, {"http_body": "[] HTTP/1.1"}, "bad_tls"),
        "any": ("{ tls = true; verify = false; }", ANY, {"http_body": "[] HTTP/1.1"}, "passed"),
        "b": (https(good, **pairs["b"]), ANY, {"http_body": "[CN=client-b] HTTP/1.1"}, "passed"),
        "h2": (https(good), ANY, {"http_body": "[] HTTP/2.0", "http_version": "2"}, "passed"),
        "curve": (https(good), CURVE, {"http_body": "secp384r1 []"}, "passed"),
        "old": (https(good), OLD, {"http_body": "TLSv1.2 []"}, "passed"),
        "system": (f'{{ tls = true; host = "{nginx.NAME}"; }}', OLD, {"http_body": "TLSv1.2 []"}, "bad_tls"),
    }
    tables = [table(backend(PROXY, http=port, **checks), name=name, vips=[f"203.0.113.{10 + i}"])
              for i, (name, (_, port, checks, _)) in enumerate(every.items())]
    settings = ", ".join(f'{{ name = "{name}"; http = {http}; }}' for name, (http, *_) in every.items())
    made = daemon(*tables, tables=f"( {settings} )", interval_ms=100, timeout_ms=5000, panic_threshold=0,
                  full_handshake_ms=period_ms).start().wait_ready()
    expected = {name: row[-1] for name, row in every.items()}
    for _ in range(5):
        wait_probes(made, 10)
        seen = results(made, every)
        assert {name: verdict for name, (verdict, _) in seen.items()} == expected, seen
    made.kill(signal.SIGHUP)
    wait_probes(made, 30)
    page = made.get("/metrics")[2]
    for never in ("bad_body", "bad_status", "bad_reply", "timeout", "reset", "not_run"):
        assert f'probes_total{{kind="http",result="{never}"}} 0\n' in page
    assert bool(metric(made, "tls_resumed_total")) == bool(period_ms)


def test_certificates_of_open_connections_belong_to_their_checks(daemon, servers, stranger):
    """All handshakes are full and overlap. One half of the checks trusts the certificate, the other half does not."""
    names = ("good", "bad")
    tables = [table(*(backend(f"10.78.{i}.{j}", http=nginx.TLS) for j in range(1, 41)), name=name, vips=[f"203.0.113.{10 + i}"])
              for i, name in enumerate(names)]
    made = daemon(*tables, interval_ms=100, timeout_ms=5000, panic_threshold=0, full_handshake_ms=0,
                  tables=f'( {{ name = "good"; http = {https(servers / "cert.pem")}; }}, {{ name = "bad"; http = {https(stranger)}; }} )')
    made.start().wait_ready()
    wait_probes(made, 400)
    good, bad = ([check for proxy in one["backends"] for check in proxy["checks"]] for one in made.status()["tables"])
    assert {check["result"] for check in good} == {"passed"} and {check["result"] for check in bad} == {"bad_tls"}
    assert all(check["tls_expires"] > 0 for check in good + bad)
    assert metric(made, "tls_handshakes_total") > 0 and metric(made, "tls_resumed_total") == 0
