# SPDX-License-Identifier: BSD-3-Clause
"""Runs every kind of check with --check-once against servers that reply, misbehave or do not exist."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import nginx
import peers
import pytest
from daemon import PROGRAM, Daemon, backend, table
from lab.net import Namespace
from lab.tools import TIMEOUT_S, wait_until
from network import ELSEWHERE, HERE6, NOBODY, PROXY, PROXY6, VIP, VIP6
from support.tree import CLI, REDIRECT, TREE

GUE_REDIRECT = 19524


def once(daemon, *backends, timeout_ms=2000, **options):
    code, rows = daemon(table(*backends), timeout_ms=timeout_ms, **options).check_once()
    assert code == (0 if all(result == "passed" for result, _ in rows.values()) else 1)
    return rows


def test_tables_without_a_name_are_called_by_their_index(daemon):
    tables = [table(backend(PROXY, http=nginx.OK)), table(backend(NOBODY))]
    for each in tables:
        del each["name"]
    made = daemon(*tables)
    shown = made.host.run(PROGRAM, "--config-file", str(made.conf), "--check-once").stdout.splitlines()
    assert shown[1] == f"table #0: {PROXY}" and shown[3] == f"table #1: {NOBODY}, no checks: healthy"


@pytest.mark.parametrize("port, expected", [
    (nginx.OK, ("passed", "status 200")),
    (nginx.ERROR, ("bad_status", "status 500")),
    (peers.HANG, ("timeout", "no reply within ")),
    (peers.SLOW, ("timeout", "no reply within ")),
    (peers.RESET, ("reset", "Recv failure: Connection reset by peer")),
    (peers.CLOSE, ("reset", "Empty reply from server")),
    (peers.GARBAGE, ("bad_reply", "Received HTTP/0.9 when not allowed")),
    (peers.HUGE, ("bad_reply", "the body has more than 1048576 bytes")),
    (9, ("refused", "Connection refused")),
])
def test_http(daemon, port, expected):
    (result, reason), = once(daemon, backend(PROXY, http=port)).values()
    assert result == expected[0] and reason.startswith(expected[1])


def test_no_reply_of_the_proxy_counts_as_a_failure_of_this_host(daemon):
    """Also those that libcurl reports as "out of memory" or "unsupported protocol"."""
    ports = [*peers.HOSTILE, peers.GARBAGE, nginx.TLS]
    rows = once(daemon, *(backend(f"10.78.0.{i}", http=port) for i, port in enumerate(ports, 1)))
    replies = dict(zip(ports, rows.values(), strict=True))
    assert "not_run" not in {result for result, _ in replies.values()}, rows
    line = ("a line of the reply is too long", "A value or data field grew larger than allowed")  # libcurl 7, 8
    for port, texts in ((peers.LONG_STATUS, line), (peers.LONG_HEADER, line),
                        (peers.MANY_HEADERS, ("the headers have more than 65536 bytes", "Too many response headers, 5000 is max"))):
        assert replies[port][0] == "bad_reply" and replies[port][1] in texts, replies[port]


@pytest.mark.parametrize("options, expected", [
    ({}, "passed"),
    ({"status": "204"}, "bad_status"),
    ({"status": "100-199,200"}, "passed"),
    ({"host": nginx.NAME, "body": f"for {nginx.NAME}"}, "passed"),  # the Host header arrived
    ({"body": f"for {PROXY}"}, "passed"),
    ({"body": "all is lost"}, "bad_body"),
])
def test_http_expectations(daemon, options, expected):
    text = "".join(f' {key} = "{value}";' for key, value in options.items())
    (result, _), = once(daemon, backend(PROXY, http=nginx.OK), http=f"{{{text} }}").values()
    assert result == expected


ASK = {"http": nginx.OK, "http_uri": "/ask"}


@pytest.mark.parametrize("settings, expected", [
    ({"http_body": f"GET {PROXY} token= agent=glb-healthcheck/"}, "passed"),
    ({"http_host": nginx.NAME, "http_body": f"GET {nginx.NAME} "}, "passed"),
    ({"http_method": "OPTIONS", "http_body": "OPTIONS "}, "passed"),
    ({"http_method": "HEAD"}, "passed"),
    ({"http_status": "201-299"}, "bad_status"),
    ({"http_headers": {"X-Token": "abc"}, "http_body": "token=abc"}, "passed"),
    ({"http_headers": {"User-Agent": "me"}, "http_body": "agent=me"}, "passed"),
    ({"http_version": "2"}, "reset bad_reply"),  # nginx does not know HTTP/2 there and closes the connection, or libcurl 8 does
    ({"http": nginx.H2, "http_version": "2", "http_body": "HTTP/2.0"}, "passed"),
    ({"http": nginx.H2, "http_version": "2", "http_host": nginx.NAME, "http_headers": {"x-token": "abc"},
      "http_body": f"HTTP/2.0 {nginx.NAME} abc"}, "passed"),
    ({"http": nginx.TLS, "http_tls": True, "http_verify": False, "http_host": nginx.NAME, "http_body": f"secret for {nginx.NAME}"},
     "passed"),
    ({"http": nginx.TLS, "http_tls": True, "http_verify": False, "http_version": "2"}, "bad_reply"),  # HTTP/1.1 in ALPN
    ({"http": nginx.TLS_H2, "http_tls": True, "http_verify": False, "http_version": "2", "http_body": "HTTP/2.0"}, "passed"),
    ({"http": nginx.TLS_H2, "http_tls": True, "http_verify": False, "http_body": "HTTP/1.1"}, "passed"),
])
def test_http_settings_of_a_backend(daemon, settings, expected):
    (result, reason), = once(daemon, backend(PROXY, **{**ASK, **settings})).values()
    assert result in expected.split(), reason


def test_no_descriptor_for_a_socket_is_no_failure_of_the_proxy(daemon):
    made = daemon(table(backend(PROXY, http=80)), log_probes=True).start().wait_ready()
    made.wait_healthy({PROXY: True})
    subprocess.run(["prlimit", f"--pid={made.pid()}", "--nofile=4:"], check=True)
    made.logged("not_run: Too many open files", times=5)
    subprocess.run(["prlimit", f"--pid={made.pid()}", "--nofile=1024:"], check=True)
    passed = made.log().count(": passed:")
    made.logged(": passed:", times=passed + 2)
    assert "-> unhealthy" not in made.log()


def test_bodies_of_http2_arrive_whatever_their_size(daemon, servers):
    """libcurl must not wait for the socket while it has received data that it did not read."""
    sizes = [0, 1, 4097, 16383, 16384, 16385, 20_000, 33_000, 61_440, 65_535, 65_536, 200_000, 900_000, 1 << 20]
    nginx.make_bodies(servers, sizes)
    backends = [backend(f"10.78.0.{i}", http=nginx.H2, http_version="2", http_uri=f"/bodies/{size}") for i, size in enumerate(sizes, 1)]
    rows = daemon(table(*backends), timeout_ms=1000, interval_ms=2000).check_once()[1]
    assert dict(zip(sizes, rows.values(), strict=True)) == dict.fromkeys(sizes, ("passed", "status 200"))


def test_the_most_specific_http_setting_wins(daemon):
    """healthcheck.conf, its table, the document, the table, the backend: each overrides the ones before."""
    def hosts(conf, conf_table, document, of_table, of_backend):
        def some(host):
            return {"http_host": host} if host else {}

        made = daemon(http=f'{{ host = "{conf}"; body = "GET expected "; }}',
                      tables=f'( {{ name = "web"; http = {{ host = "{conf_table}"; }}; }} )' if conf_table else "()")
        made.write_src(table(backend(PROXY, **ASK, **some(of_backend)), healthchecks=some(of_table)), healthchecks=some(document))
        (result, reason), = made.check_once()[1].values()
        return result

    for level in range(5):
        names = ["other"] * level + ["expected"] + [None] * (4 - level)
        assert hosts(*names) == "passed", names
        assert level == 4 or hosts(*names[:level + 1], "other", *names[level + 2:]) == "bad_body", names


def test_http_settings_of_the_table_need_no_restart(daemon):
    made = daemon(table(backend(PROXY, **ASK, http_body="token=abc")), panic_threshold=0).start().wait_ready()
    made.wait_healthy({PROXY: False})
    pid = made.process.pid
    made.write_src(table(backend(PROXY, **ASK, http_body="token=abc", http_headers={"X-Token": "abc"})))
    made.wait_healthy({PROXY: True})
    made.write_src(table(backend(PROXY, **ASK, http_status="204", http_headers={"X-Token": "abc"})))
    made.wait_healthy({PROXY: False})
    assert made.process.pid == pid and made.process.poll() is None


def test_values_of_headers_are_shown_nowhere(daemon):
    """Not in the log with every result, /status, /metrics, the state file or --check-once. They are in dst, as in src."""
    secret, listed = "s3cr3t-t0k3n", "c0nf-t0k3n"
    backends = [backend(PROXY, **ASK, http_headers={"X-Token": secret}, http_status="204"), backend(ELSEWHERE, **ASK)]
    made = daemon(table(*backends), log_probes=True, http=f'{{ headers = {{ X-Token = "{listed}"; }}; }}').start()
    made.wait_ready().wait_healthy({PROXY: False, ELSEWHERE: True})
    shown = made.log() + json.dumps(made.status()) + str(made.get("/metrics")) + made.host.run(
        PROGRAM, "-c", str(made.conf), "-1", check=False).stdout
    made.stop()
    shown += (made.folder / "dst.json.state").read_text()
    assert "status 200" in shown and secret not in shown and listed not in shown
    assert secret in made.dst.read_text()


@pytest.mark.parametrize("name, value", [("X-A", "b\r\nX-Injected: yes"), ("X-A\r\nX-Injected", "yes"), ("X-A:", "b"), ("Host", "evil"),
                                         ("Content-Length", "5"), ("Transfer-Encoding", "chunked")])
def test_headers_cannot_smuggle(daemon, name, value):
    made = daemon(table(backend(PROXY, **ASK, http_headers={name: value})))
    run = subprocess.run([PROGRAM, "-c", str(made.conf), "-1"], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "healthchecks.http_headers." in run.stderr and "yes" not in run.stderr.replace("Injected", "")


def test_settings_that_contradict_each_other_only_together(daemon):
    made = daemon(table(backend(PROXY, **ASK, http_method="HEAD")), http='{ body = "ok"; }')
    run = subprocess.run([PROGRAM, "-c", str(made.conf), "-1"], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "tables[0].backends[0].healthchecks: together with healthcheck.conf: a text is expected in the body, but" in run.stderr


def test_http_uri(daemon):
    (result, reason), = once(daemon, backend(PROXY, http=nginx.OK, http_uri="/made")).values()
    assert (result, reason) == ("bad_status", "status 204")


@pytest.mark.parametrize("uri, expected", [
    ("/moved", "status 301, and redirects are not followed"),
    ("/unchanged", "status 304"),
])
def test_http_redirect_is_not_followed_and_says_so(daemon, uri, expected):
    (result, reason), = once(daemon, backend(PROXY, http=nginx.OK, http_uri=uri)).values()
    assert (result, reason) == ("bad_status", expected)
    (result, reason), = once(daemon, backend(PROXY, http=nginx.OK, http_uri=uri), http='{ status = "301,304"; }').values()
    assert (result, reason) == ("passed", expected.split(",")[0])


def test_longest_http_uri(daemon):
    uri = "/" + 2047 * "x"
    (result, reason), = once(daemon, backend(PROXY, http=nginx.OK, http_uri=uri), http=f'{{ host = "{253 * "a"}"; }}').values()
    assert (result, reason) == ("passed", "status 200")
    made = daemon(table(backend(PROXY, http=nginx.OK, http_uri=uri + "x")))
    run = subprocess.run([PROGRAM, "-c", str(made.conf), "-1"], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "is not a path that starts with '/', of at most 2048 characters" in run.stderr


def test_results_that_cannot_be_written(daemon, here):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    with open("/dev/full", "w") as full:
        run = subprocess.run(here.command(PROGRAM, "-c", str(made.conf), "-1"), stdout=full, stderr=subprocess.PIPE,
                             text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.endswith("error: cannot write the results to stdout: No space left on device\n")


@pytest.mark.parametrize("options, port, expected", [
    ('host = "{name}"; ca_file = "{ca}";', nginx.TLS, "passed"),
    ('host = "{name}"; ca_file = "{ca}"; body = "secret for {name}";', nginx.TLS, "passed"),  # SNI arrived
    ('host = "other.example.com"; ca_file = "{ca}";', nginx.TLS, "bad_tls"),
    ('ca_file = "{ca}";', nginx.TLS, "bad_tls"),  # no name: the certificate has no address
    ('host = "{name}";', nginx.TLS, "bad_tls"),  # the system does not know the issuer
    ("verify = false;", nginx.TLS, "passed"),
    ("verify = false;", nginx.OK, "bad_tls"),
])
def test_https(daemon, servers, options, port, expected):
    options = options.format(name=nginx.NAME, ca=servers / "cert.pem")
    ((name, (result, _)),) = once(daemon, backend(PROXY, http=port), http=f"{{ tls = true; {options} }}").items()
    assert result == expected and name.startswith(f"https {PROXY}")


def client(servers, cert="a-cert.pem", key="a-key.pem"):
    return f'{{ tls = true; verify = false; cert_file = "{servers / cert}"; key_file = "{servers / key}"; }}'


def test_client_certificate(daemon, servers):
    (result, reason), = once(daemon, backend(PROXY, http=nginx.TLS_CLIENT), http="{ tls = true; verify = false; }").values()
    assert (result, reason) == ("bad_status", "status 400")
    (result, reason), = once(daemon, backend(PROXY, http=nginx.TLS_CLIENT, http_body="hello CN=client-a"), http=client(servers)).values()
    assert (result, reason) == ("passed", "status 200")


def test_client_certificate_with_its_key_in_one_file_and_for_one_table(daemon, servers, tmp_path):
    pair = tmp_path / "pair.pem"
    pair.write_text((servers / "b-key.pem").read_text() + (servers / "b-cert.pem").read_text())
    pair.chmod(0o600)
    (result, reason), = once(
        daemon, backend(PROXY, http=nginx.TLS_CLIENT, http_body="hello CN=client-b"), http=client(servers),
        tables=f'( {{ name = "web"; http = {{ cert_file = "{pair}"; }}; }} )').values()
    assert (result, reason) == ("passed", "status 200")


@pytest.mark.parametrize("cert, key, expected", [
    ("a-cert.pem", "b-key.pem", "b-key.pem: is not the key of the certificate"),
    ("a-cert.pem", "a-cert.pem", "a-cert.pem: has no private key in PEM"),
    ("a-key.pem", "a-key.pem", "a-key.pem: has no certificate in PEM"),
    ("a-cert.pem", "encrypted.pem", "encrypted.pem: has an encrypted key: store it without a passphrase"),
    ("/dev/zero", "a-key.pem", "/dev/zero: is no regular file of at most 1 MiB"),
    ("weak-cert.pem", "weak-key.pem", "weak-cert.pem: ee key too small"),
])
def test_bad_client_certificate_is_an_error_at_start(daemon, servers, cert, key, expected):
    subprocess.run(["openssl", "pkey", "-in", servers / "a-key.pem", "-aes256", "-passout", "pass:secret", "-out",
                    servers / "encrypted.pem"], check=True, capture_output=True)
    nginx.make_certificate(servers, "weak", "weak-", ("rsa:1024",))
    made = daemon(table(backend(PROXY, http=nginx.TLS_CLIENT)), http=client(servers, cert, key))
    run = subprocess.run([PROGRAM, "-c", made.conf], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
    assert run.returncode == 1 and f"{expected}\n" in run.stderr and "error: " in run.stderr
    assert "client certificate: " in run.stderr and "PRIVATE" not in run.stderr


def test_faults_of_client_certificates(daemon, servers):
    key = servers / "b-key.pem"
    for setting, expected in ((f'{{ key_file = "{key}"; }}', "http.key_file: given without cert_file; give both"),
                              ('{ cert_file = "/nonexistent"; }', "http.cert_file: '/nonexistent' cannot be read")):
        made = daemon(table(backend(PROXY)), http=setting)
        assert expected in subprocess.run([CLI, "check", made.conf], capture_output=True, text=True, check=False).stderr
    key.chmod(0o644)
    made = daemon(table(backend(PROXY)), http=client(servers, "b-cert.pem", "b-key.pem"))
    run = subprocess.run([CLI, "check", made.conf], capture_output=True, text=True, check=False)
    key.chmod(0o600)
    assert f"warning: {made.conf}:" in run.stderr and f"http.key_file: '{key}' can be read by every user: chmod o-r" in run.stderr


def test_headers_in_a_file_that_everybody_can_read_are_a_warning(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    for options in ({"http": '{ headers = { X-Token = "secret"; }; }'},
                    {"tables": '( { name = "web"; http = { headers = { X-Token = "secret"; }; }; } )'}):
        made.write_conf(**options)
        for mode, warns in ((0o644, True), (0o640, False)):
            made.conf.chmod(mode)
            says = f"{made.conf}: every user of this host can read the values of `headers`: chgrp glb-healthcheck {made.conf} && chmod 0640"
            for words in ((PROGRAM, "--config-file", made.conf, "--check-once"), (CLI, "check", made.conf)):
                run = made.host.run(*map(str, words), check=False)
                assert (says in run.stdout + run.stderr) == warns and "secret" not in run.stdout + run.stderr
    made.write_conf()
    made.conf.chmod(0o644)
    assert "every user" not in made.host.run(str(CLI), "check", str(made.conf), check=False).stderr



def test_client_certificate_is_read_again_when_it_changes(daemon, servers, tmp_path):
    """Its two files change one after the other. Meanwhile, the old pair stays in use."""
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_bytes((servers / f"a-{name}").read_bytes())
    made = daemon(table(backend(PROXY, http=nginx.TLS_CLIENT, http_body="CN=client-a")), http=client(tmp_path, "cert.pem", "key.pem"),
                  panic_threshold=0).start().wait_ready()
    made.wait_healthy({PROXY: True})
    (tmp_path / "cert.pem").write_bytes((servers / "b-cert.pem").read_bytes())
    made.logged("key.pem: is not the key of the certificate; the certificate that was loaded before stays in use")
    assert made.status()["tables"][0]["backends"][0]["checks"][0]["result"] == "passed"
    (tmp_path / "key.pem").write_bytes((servers / "b-key.pem").read_bytes())
    made.logged(f"client certificate {tmp_path}/cert.pem is valid again and in use")
    made.wait_healthy({PROXY: False})
    assert made.status()["tables"][0]["backends"][0]["checks"][0]["result"] == "bad_body"


@pytest.mark.parametrize("address, port, expected", [
    (PROXY, nginx.OK, "passed"),
    (PROXY, peers.HANG, "passed"),
    (PROXY, 9, "refused"),
])
def test_tcp(daemon, address, port, expected):
    (result, _), = once(daemon, backend(address, tcp=port)).values()
    assert result == expected


def test_proxies_of_both_families_are_checked_alike(daemon):
    checks = {"http": nginx.OK, "tcp": nginx.OK, "gue": peers.GUE, "fou": peers.FOU}
    made = daemon(table(backend(PROXY, **checks)), table(backend(PROXY6, **checks), name="six"))
    code, rows = made.check_once()
    assert code == 0 and [result for result, _ in rows.values()] == ["passed"] * 8
    assert list(rows)[4:] == [f"http [{PROXY6}]:{nginx.OK}/", f"tcp [{PROXY6}]:{nginx.OK}", f"gue [{PROXY6}]:{peers.GUE} to {PROXY6}",
                              f"fou [{PROXY6}]:{peers.FOU} to {PROXY6}"]


def test_host_that_does_not_exist(daemon):
    rows = once(daemon, backend(NOBODY, http=80, tcp=80, gue=peers.GUE))
    assert {result for result, _ in rows.values()} <= {"timeout", "unreachable"}


@pytest.mark.parametrize("proxy", (PROXY, PROXY6))
@pytest.mark.parametrize("check, expected", [
    ({"gue": peers.GUE}, ("passed", "echo reply")),
    ({"fou": peers.FOU}, ("passed", "echo reply")),
    ({"gue": peers.GUE_DROPS}, ("timeout", "no reply within ")),
    ({"gue": peers.GUE_ELSEWHERE}, ("timeout", "no reply within ")),
    ({"gue": peers.GUE_ALTERED}, ("timeout", "no reply within ")),
    ({"gue": peers.GUE_LATE}, ("timeout", "no reply within ")),
    ({"gue": 19999}, ("refused", "Connection refused")),  # the ICMP error ends its probe
])
def test_tunnel(daemon, check, expected, proxy):
    # A slow machine runs the daemon late. Then a reply that is there is taken, so the late one comes two seconds after the timeout.
    limit = {"timeout_ms": int(peers.LATE_S * 1000) - 2000} if check == {"gue": peers.GUE_LATE} else {}
    (result, reason), = once(daemon, backend(proxy, **check), outbound_udp_checksum=True, **limit).values()
    assert result == expected[0] and reason.startswith(expected[1])


@pytest.mark.parametrize("proxy, host, vip", ((PROXY, PROXY, VIP), (PROXY6, f"[{PROXY6}]", VIP6)))
def test_tunnel_to_the_vips(daemon, proxy, host, vip):
    rows = once(daemon, backend(proxy, gue=peers.GUE, fou=peers.FOU), tunnel_vip=True)
    assert rows == {f"{kind} {host}:{port} to {to}": ("passed", "echo reply") for kind, port, to in (
        ("gue", peers.GUE, proxy), ("gue", peers.GUE, VIP), ("gue", peers.GUE, VIP6),
        ("fou", peers.FOU, proxy), ("fou", peers.FOU, vip))}


@pytest.mark.parametrize("checksum, result", ((False, "timeout"), (True, "passed")))
def test_ipv6_tunnels_have_a_checksum_if_those_of_the_director_have(daemon, checksum, result):
    """A network may drop UDP over IPv6 without a checksum. The kernel of this proxy does."""
    rows = once(daemon, backend(PROXY6, gue=peers.GUE_CHECKSUM), outbound_udp_checksum=checksum)
    assert [each for each, _ in rows.values()] == [result]
    assert once(daemon, backend(PROXY, gue=peers.GUE_CHECKSUM)) == {f"gue {PROXY}:{peers.GUE_CHECKSUM} to {PROXY}": ("passed", "echo reply")}


NO_REDIRECT = "glb-redirect there is not attached, or too old for IPv6 proxies"


@pytest.mark.parametrize("checksum, expected", (
    (False, ("timeout", rf"no reply within \d+ ms: {NO_REDIRECT}, or the network drops UDP without checksum")),
    (True, ("refused", f"Connection refused: {NO_REDIRECT}")),
))
def test_ipv6_proxy_without_glb_redirect_is_named(daemon, checksum, expected):
    """An old glb-redirect leaves outer IPv6 to the kernel, which has no such port. It sends no ICMP error about UDP without checksum."""
    ((result, reason),) = once(daemon, backend(PROXY6, gue=19999), outbound_udp_checksum=checksum).values()
    assert result == expected[0] and re.fullmatch(expected[1], reason), reason


@pytest.mark.parametrize("fou_gre, port, expected", [
    (False, peers.FOU, "passed"),
    (True, peers.FOU_GRE, "passed"),
    (False, peers.FOU_GRE, "timeout"),
    (True, peers.FOU, "timeout"),
])
def test_fou_with_and_without_gre(daemon, fou_gre, port, expected):
    (result, _), = once(daemon, backend(PROXY, fou=port), fou_gre=fou_gre).values()
    assert result == expected


def test_gre_carries_both_families(daemon):
    """A FOU port bound to IPv4 takes nothing but IPv4. GRE names the family of each packet."""
    rows = once(daemon, backend(PROXY, fou=peers.FOU_GRE), tunnel_vip=True, fou_gre=True)
    assert rows == {f"fou {PROXY}:{peers.FOU_GRE} to {to}": ("passed", "echo reply") for to in (PROXY, VIP, VIP6)}


def test_fou_without_a_port_ends_with_its_icmp_error(daemon):
    (result, reason), = once(daemon, backend(PROXY, fou=19999), fou_gre=True).values()
    assert (result, reason) == ("refused", "Connection refused")


@pytest.mark.parametrize("proxy, host, end", ((PROXY, PROXY, ""), (PROXY6, f"[{PROXY6}]", f": {NO_REDIRECT}")))
def test_tunnel_through_glb_redirect(daemon, proxies, proxy, host, end):
    """glb-redirect is the end of the tunnel, on a port on which no process listens."""
    checks = [f"gue {host}:{GUE_REDIRECT} to {to}" for to in (proxy, VIP, VIP6)]
    proxies.run(str(REDIRECT), "attach", "wire", "--port", str(GUE_REDIRECT))
    for checksum in (False, True):
        rows = once(daemon, backend(proxy, gue=GUE_REDIRECT), tunnel_vip=True, outbound_udp_checksum=checksum)
        assert rows == dict.fromkeys(checks, ("passed", "echo reply"))
    proxies.run(str(REDIRECT), "detach", "wire")
    rows = once(daemon, backend(proxy, gue=GUE_REDIRECT), tunnel_vip=True, outbound_udp_checksum=True)
    assert rows == dict.fromkeys(checks, ("refused", f"Connection refused{end}"))


def test_host_without_an_address_for_the_reply(servers, tmp_path):
    """The underlay has only IPv6 addresses, and the route to an IPv4 VIP has an IPv6 next hop."""
    host = Namespace("six")
    host.ip("link add name wire type veth peer name other", "link set wire up", "link set other up", f"addr add {HERE6}/64 dev wire nodad",
            f"route add 0.0.0.0/0 via inet6 {PROXY6} dev wire")
    _, rows = Daemon(host, tmp_path, table(backend(PROXY6, gue=peers.GUE)), tunnel_vip=True).check_once()
    host.close()
    assert rows[f"gue [{PROXY6}]:{peers.GUE} to {VIP}"] == ("not_run", "this host has no IPv4 address to which the proxy could reply")


def test_source_address(daemon, here):
    here.ip("address add 10.77.0.2/24 dev wire")
    rows = once(daemon, backend(PROXY, http=80, tcp=80, gue=peers.GUE), source_ip='"10.77.0.2"')
    assert {result for result, _ in rows.values()} == {"passed"}
    rows = once(daemon, backend(PROXY, http=80, tcp=80), source_ip='"10.99.0.1"')
    assert {result for result, _ in rows.values()} == {"not_run"}


def test_each_proxy_has_its_own_source_address(daemon, here, proxies):
    """This host has two addresses, and each proxy can only reply to one of them."""
    proxies.ip("""
        address add 10.79.0.10/32 dev wire
        rule add from 10.79.0.10 to 10.77.0.1 prohibit
        route add 10.79.0.1/32 dev wire
    """)
    here.ip("""
        address add 10.79.0.1/32 dev wire
        route add 10.79.0.10/32 dev wire src 10.79.0.1
    """)
    rows = once(daemon, backend(PROXY, gue=peers.GUE), backend("10.79.0.10", gue=peers.GUE, fou=peers.FOU))
    assert {result for result, _ in rows.values()} == {"passed"}, rows


def test_missing_capability_is_named(daemon, here):
    made = daemon(table(backend(PROXY, gue=peers.GUE)))
    run = here.run("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", PROGRAM, "-c", str(made.conf), "-1", check=False)
    assert run.returncode == 1
    assert re.search(r"error: .*src.json: gue and fou checks need the capability CAP_NET_RAW, which is missing", run.stderr)


def test_one_capability_is_enough(here, servers):
    """The unit starts it like this: as an unprivileged user with CAP_NET_RAW."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        made = Daemon(here, folder, table(backend(PROXY, http=nginx.OK, gue=peers.GUE), backend(ELSEWHERE, tcp=9)))
        made.start("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+net_raw",
                   "--ambient-caps=-all,+net_raw", "--bounding-set=-all,+net_raw", "--no-new-privs")
        made.wait_ready().wait_healthy({PROXY: True, ELSEWHERE: False})
        assert made.dst.stat().st_uid == 65534
        made.stop()


def test_no_privilege_is_needed_without_tunnels(daemon, here):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.folder.chmod(0o755)
    run = here.run("setpriv", "--bounding-set=-all", "--inh-caps=-all", PROGRAM, "-c", str(made.conf), "-1", check=False)
    assert (run.returncode, run.stderr.count("error")) == (0, 0), run.stderr


def test_hanging_proxies_delay_no_other(daemon):
    """All proxies but one hang, for most of an interval. No probe has to wait for another. A stall of the test machine is shorter."""
    hanging = [backend(f"10.78.1.{i}", tcp=9, http=peers.HANG) for i in range(1, 200)]
    made = daemon(table(backend(PROXY, http=nginx.OK), *hanging), panic_threshold=0, interval_ms=1500, timeout_ms=1000).start().wait_ready()

    def results():
        return {check["result"] for one in made.status()["tables"][0]["backends"][1:] for check in one["checks"]}

    wait_until(lambda: results() == {"refused", "timeout"}, lambda: f"these results, not {results()}")
    assert made.status()["tables"][0]["backends"][0]["checks"][0]["verdict"] == "healthy"
    assert "glb_healthcheck_delayed_total 0\n" in made.get("/metrics")[2]


def test_example_configuration(tmp_path):
    """config/healthcheck.conf is valid as it is, and also with all of its commented-out keys set."""
    text = (TREE / "config" / "healthcheck.conf").read_text()
    # A comment is "# text". A key that is commented out is "#key" or, in a group, "#<tab>key".
    key = tmp_path / "key"
    key.touch(0o600)
    whole = re.sub(r"^#(?! )", "", text, flags=re.MULTILINE)
    whole = re.sub(r"^reload = \{.*?^\};", "", whole, flags=re.MULTILINE | re.DOTALL).replace("/etc/glb/ca.pem", "/dev/null").replace("/etc/glb/client.pem", "/dev/null").replace(
        "/etc/glb/client.key", str(key)).replace(
        "/usr/lib/nagios/plugins/check_mysql", "/bin/true")
    for number, conf in enumerate((text, whole)):
        path = tmp_path / f"{number}.conf"
        path.touch(0o640)  # it has headers, which may be secret
        path.write_text(conf)
        run = subprocess.run([PROGRAM, "-c", path, "-1"], capture_output=True, text=True, check=False)
        assert run.stderr == ("glb-healthcheck: error: /etc/glb/forwarding_table.json: cannot be opened: "
                              "No such file or directory\n")
    keys = set(re.findall(r"^([a-z_0-9]+) =", whole + text, flags=re.MULTILINE))
    assert keys == set(re.findall(r"^\*([a-z_0-9]+)\*", re.sub(r"\*, \*", "*\n*", (
        TREE / "docs/man/glb-healthcheck.conf.5.scd").read_text()), flags=re.MULTILINE)) - {"glb"}
