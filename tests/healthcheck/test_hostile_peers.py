# SPDX-License-Identifier: BSD-3-Clause
"""A proxy that keeps libcurl or OpenSSL busy delays no other check, and fails its own.

Another check that passes at each interval is the clock of these tests, so that they need no quiet machine.
"""

import re
import socket

import hostile_peers
import pytest
from daemon import backend, table
from lab.tools import wait_until
from test_trust import https

BAD, GOOD, DYING = "10.78.0.1", "10.78.0.2", "10.78.0.3"
TRIGGER = 3


@pytest.fixture(scope="module")
def hostile(proxies):
    process = hostile_peers.start(proxies)
    yield
    process.kill()
    process.wait()


@pytest.fixture
def manager(tmp_path):
    """A service manager that counts watchdog messages."""
    class Manager(socket.socket):
        def __init__(self):
            super().__init__(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            self.bind(str(tmp_path / "notify"))
            self.alive = 0

        def count(self):
            try:
                while True:
                    self.alive += b"WATCHDOG=1" in self.recv(4096)
            except BlockingIOError:
                return self.alive

    with Manager() as made:
        yield made


def hostile_backend(name, ip=BAD):
    version = {"http_version": "2"} if hostile_peers.KINDS[name] == "http2" else {}
    return backend(ip, http=hostile_peers.PORTS[name], **version)


def start(made, manager):
    return made.start(NOTIFY_SOCKET=manager.getsockname(), WATCHDOG_USEC="600000").wait_ready()


def results_in(log, ip):
    return re.findall(rf": https? {ip}:\d+/(?: as \S+)?: (\w+): .*, [\d.]+ ms$", log, re.MULTILINE)


def results(daemon, ip):
    """Returns the results of all probes of a proxy."""
    return results_in(daemon.log(), ip)


def while_dying(log):
    """What the daemon logged from the last probe that the dying proxy passed until it was unhealthy, however late a test reads that."""
    death = log.rindex("\n", 0, [found.start() for found in re.finditer(rf"backend {DYING}: .* -> unhealthy", log)][-1])
    passed = [found.end() for found in re.finditer(rf": http {DYING}:\d+/: passed: ", log[:death])]
    return log[passed[-1] : death]


def failures(daemon, ip):
    """Returns the results that count against the proxy. On a busy machine, there may be others, `not_run`."""
    found = results(daemon, ip)
    assert "passed" not in found, found
    return [result for result in found if result != "not_run"]


def wait_results(daemon, ip, count):
    wait_until(lambda: len(results(daemon, ip)) >= count, lambda: f"{count} probes of {ip}:\n{daemon.log()}")


@pytest.mark.parametrize("name", list(hostile_peers.PORTS))
def test_hostile_proxy_fails_alone(daemon, servers, hostile, own_nginx, manager, name):
    own_nginx.start()
    kind = hostile_peers.KINDS[name]
    options = {"tables": f'( {{ name = "bad"; http = {https(servers / "cert.pem")}; }} )'} if kind == "https" else {}
    made = daemon(table(hostile_backend(name), name="bad"),
                  table(backend(GOOD, http=80), backend(DYING, http=8080), name="good", vips=["203.0.113.11"]),
                  panic_threshold=0, trigger=TRIGGER, timeout_ms=150, log_probes=True, **options)
    start(made, manager)
    made.wait_healthy({BAD: False})
    made.wait_healthy({GOOD: True, DYING: True}, index=1)
    before, alive, bad = len(results(made, GOOD)), manager.count(), len(results(made, BAD))
    own_nginx.stop()
    made.wait_healthy({GOOD: True, DYING: False}, index=1)
    # The dying proxy leaves after `trigger` probes. One more may run when it dies.
    assert 0 < len(results_in(while_dying(made.log()), GOOD)) <= TRIGGER + 3
    wait_results(made, GOOD, before + 8)
    assert made.get("/metrics")[0] == 200
    good = len(results(made, GOOD)) - before
    assert manager.count() - alive >= good // 2  # one for each interval
    assert not re.search(rf"backend {GOOD}: .* -> unhealthy", made.log())
    assert len(failures(made, BAD)) >= good // 2, results(made, BAD)


def test_many_hostile_proxies_at_once(daemon, hostile, own_nginx, manager):
    """Their threads compete for the CPUs, so CPU time is limited. Checks of other proxies pass."""
    own_nginx.start()
    names = [name for name in hostile_peers.PORTS if hostile_peers.KINDS[name] != "https"]
    bad = {f"10.78.1.{number}": name for number, name in enumerate(names * 3, 1)}
    made = daemon(table(*(hostile_backend(name, ip) for ip, name in bad.items()), name="bad"),
                  table(*(backend(f"10.78.2.{number}", http=80) for number in range(1, 11)), backend(DYING, http=8080), name="good",
                        vips=["203.0.113.11"]), interval_ms=2000, timeout_ms=1000, panic_threshold=0, trigger=TRIGGER, log_probes=True)
    start(made, manager)
    made.wait_healthy(dict.fromkeys(bad, False))
    own_nginx.stop()
    wait_until(lambda: made.healthy(1)[DYING] is False, made.log)
    assert [ip for ip, healthy in made.healthy(1).items() if not healthy] == [DYING]
    for ip in bad:
        assert failures(made, ip), (bad[ip], results(made, ip))


def der(kind, content):
    size = len(content)
    return bytes([kind]) + (bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")) + content


@pytest.mark.parametrize("bits, result", [(2048, "passed"), (10000, "bad_tls")])
def test_large_modulus_is_refused(daemon, proxies, tmp_path, bits, result):
    """OpenSSL would compute with 10 000 bits for hundreds of milliseconds."""
    modulus = (1 << (bits - 1) | 1 << 1000 | 1).to_bytes(bits // 8, "big")
    (tmp_path / "dh.der").write_bytes(der(0x30, der(2, b"\0" + modulus) + der(2, b"\x02")))
    proxies.run("openssl", "dhparam", "-inform", "DER", "-in", str(tmp_path / "dh.der"), "-out", str(tmp_path / "dh.pem"))
    proxies.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=rsa", "-out", str(tmp_path / "cert.pem"),
                "-keyout", str(tmp_path / "key.pem"))
    server = proxies.start("openssl", "s_server", "-accept", "8446", "-cert", str(tmp_path / "cert.pem"), "-key", str(tmp_path / "key.pem"),
                           "-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256", "-dhparam", str(tmp_path / "dh.pem"), "-www", "-quiet")
    made = daemon(table(backend(BAD, http=8446)), http="{ tls = true; verify = false; }", timeout_ms=30000, interval_ms=60000)
    try:
        wait_until(lambda: proxies.run("ss", "-Hltn", "sport = 8446").stdout, "the server listens")
        _, rows = made.check_once()
    finally:
        server.kill()
        server.wait()
    assert [row[0] for row in rows.values()] == [result], rows
    assert result == "passed" or "dh key too small" in str(rows), rows
