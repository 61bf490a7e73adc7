# SPDX-License-Identifier: BSD-3-Clause
"""docs/howto/proxies.md and change-proxies.md: what happens to connections in the listen queue of nginx and HAProxy when these are reloaded or restarted.

The configurations are those of the page. A full queue is made without timing: HAProxy may have one connection, and the workers of
nginx are stopped by a signal. The kernel completes the handshakes.
"""

import os
import signal
import socket
import subprocess
from collections import Counter

import pytest

from lab.haproxy import ask_master
from lab.net import Namespace
from lab.tools import TIMEOUT_S, read, wait_until, write
from support.pages import block, commands

VIP4, VIP6, PORT = "10.10.10.10", "fdb4::10", 80
WAITING = 20
FIRST_FD = 3  # of the sockets that systemd passes
REQUEST = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"


@pytest.fixture
def host():
    host = Namespace("proxy")
    host.ip(f"addr add {VIP4}/32 dev lo", f"addr add {VIP6}/128 dev lo nodad")
    yield host
    host.close()


class Service:
    """Processes on a host, which end with the test."""

    def __init__(self, host, folder):
        self.host, self.folder, self.started = host, folder, []
        self.conf, self.log = folder / "service.conf", folder / "log"

    def start(self, *words, fds=()):
        with open(self.log, "a") as log:
            self.started.append(self.host.start(*words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=fds))
        return self.started[-1]

    def wait_listening(self):
        wait_until(lambda: len(self.queues()) >= 2, lambda: f"two listening sockets: {read(self.log)}")

    def queues(self):
        """The number of waiting connections of each listening socket."""
        return [int(line.split()[1]) for line in self.host.run("ss", "-Hltn", f"sport = :{PORT}").stdout.splitlines()]

    def connect(self, count=WAITING, vip=VIP4):
        made = []
        for _ in range(count):
            made.append(self.host.socket(socket.AF_INET6 if ":" in vip else socket.AF_INET, socket.SOCK_STREAM))
            made[-1].settimeout(TIMEOUT_S)
            made[-1].connect((vip, PORT))
        return made

    def fill(self, vip=VIP4):
        made = self.connect(vip=vip)
        wait_until(lambda: sum(self.queues()) == WAITING, lambda: f"connections in the queues: {self.queues()}")
        return made

    def end(self):
        for process in self.started:
            for pid in [*children(process.pid), process.pid]:
                if process.poll() is None or pid != process.pid:
                    signal_process(pid, signal.SIGKILL)
            process.wait()


def children(pid):
    try:
        return [int(child) for child in read(f"/proc/{pid}/task/{pid}/children").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def signal_process(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def ask(connection):
    """Sends a request. Returns "answered", "closed" or "reset"."""
    try:
        connection.sendall(REQUEST)
        return "answered" if connection.recv(1000).startswith(b"HTTP/1.1 200 ") else "closed"
    except ConnectionError:
        return "reset"


def ask_all(connections):
    try:
        return Counter(map(ask, connections))
    finally:
        for connection in connections:
            connection.close()


@pytest.fixture
def service(host, tmp_path):
    service = Service(host, tmp_path)
    yield service
    service.end()


# --- HAProxy ---


def haproxy_conf(service, most, fds=False):
    """The page's configuration. `most`: the number of connections that HAProxy accepts."""
    text = block("docs/howto/proxies.md", "stats socket /run/haproxy/admin.sock")
    text = text.replace("/run/haproxy/admin.sock", f"{service.folder}/admin.sock")
    text = text.replace("\tdefault_backend app\n", f"\tmaxconn {most}\n\thttp-request return status 200\n")
    if fds:
        text = text.replace("\tbind 10.10.10.10:80\n\tbind fdb4::10:80 v6only\n", block("docs/howto/proxies.md", "bind fd@3"))
    assert ("fd@3" in text) == fds and "maxconn" in text
    write(service.conf, text)


def hold_one(service):
    """HAProxy then accepts no other connection."""
    (held,) = service.connect(1)
    assert ask(held) == "answered"
    return held


def start_master(service, fds=()):
    """Starts HAProxy as its unit does. `fds` become the descriptors 3 and 4. Returns when the master process handles signals."""
    path = f"{service.folder}/master.sock"
    moves = " ".join(f"{FIRST_FD + index}<&{fd}" for index, fd in enumerate(fds))
    master = service.start("bash", "-c", f"exec haproxy -W -S {path} -f {service.conf} {moves}", fds=fds)
    wait_until(lambda: ask_master(path, "show proc"), lambda: f"HAProxy: {read(service.log)}")
    return master


@pytest.mark.parametrize("vip", [VIP4, VIP6])
def test_reload_of_haproxys_master_keeps_the_queue(service, vip):
    haproxy_conf(service, 1)
    master, held = start_master(service), hold_one(service)
    waiting = service.fill(vip)
    haproxy_conf(service, 1000)
    master.send_signal(signal.SIGUSR2)
    assert ask_all(waiting) == {"answered": WAITING}
    assert ask(held) == "answered"  # idle-close-on-response


def test_haproxy_does_not_reuse_the_ipv6_socket_without_v6only(service):
    """Linux sets IPV6_V6ONLY on a socket that is bound to an IPv6 address. HAProxy 2.6 then finds it different from its line."""
    haproxy_conf(service, 1)
    write(service.conf, read(service.conf).replace(" v6only", ""))
    master, _ = start_master(service), hold_one(service)
    waiting = service.fill(VIP6)
    master.send_signal(signal.SIGUSR2)
    assert ask_all(waiting) == {"reset": WAITING}


@pytest.mark.parametrize("handed_over, migrate, result", [
    (True, 0, "answered"), (False, 0, "reset"), (False, 1, "answered")])
def test_new_haproxy_needs_the_sockets_of_the_old_one(service, handed_over, migrate, result):
    if migrate:
        run_page_sysctl(service.host)
    haproxy_conf(service, 1)
    old = service.start("haproxy", "-f", str(service.conf))
    service.wait_listening()
    held = hold_one(service)
    waiting = service.fill()
    haproxy_conf(service, 1000)
    options = ("-x", f"{service.folder}/admin.sock") if handed_over else ()
    service.start("haproxy", "-f", str(service.conf), *options, "-sf", str(old.pid))
    wait_until(lambda: "stopped" in read(service.log), "the old HAProxy to stop listening")
    assert ask_all(waiting) == {result: WAITING}
    assert ask(held) == "answered"


def run_page_sysctl(host):
    (line,) = block("docs/howto/proxies.md", "sysctl -w net.ipv4.tcp_migrate_req=1").splitlines()
    host.run(*line.split())


def listen_as_systemd(service):
    """The sockets of the page's haproxy.socket."""
    unit = block("docs/howto/proxies.md", "ListenStream=")
    addresses = [line.partition("=")[2].rpartition(":")[0].strip("[]") for line in unit.splitlines() if line.startswith("ListenStream=")]
    assert addresses == [VIP4, VIP6]
    sockets = []
    for address in addresses:
        sockets.append(service.host.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM))
        sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sockets[-1].bind((address, PORT))
        sockets[-1].listen(4096)
    return sockets


def test_queue_of_systemds_socket_survives_a_restart(service):
    sockets = listen_as_systemd(service)
    fds = [each.fileno() for each in sockets]
    haproxy_conf(service, 1, fds=True)
    first = start_master(service, fds)
    held = hold_one(service)
    waiting = service.fill()
    first.terminate()
    first.wait()
    assert ask(held) in ("reset", "closed")
    waiting += service.connect(5)  # while no HAProxy is running
    haproxy_conf(service, 1000, fds=True)
    second = start_master(service, fds)
    assert ask_all(waiting) == {"answered": WAITING + 5}
    second.send_signal(signal.SIGUSR2)  # a reload keeps the descriptors
    wait_until(lambda: read(service.log).count("New worker") == 3, lambda: read(service.log))
    assert ask_all(service.connect(5, VIP6)) == {"answered": 5}


# --- nginx ---


def nginx_conf(service, workers, options=""):
    text = block("docs/howto/proxies.md", "worker_processes auto;").replace("auto", str(workers))
    text = text.replace("http {\n", "http {\n\taccess_log off;\n").replace("backlog=4096", f"backlog=4096 {options}")
    write(service.conf, f"daemon off;\nuser root;\npid {service.folder}/pid;\nerror_log {service.log};\n{text}")


def start_nginx(service, workers):
    master = service.start("nginx", "-e", str(service.log), "-c", str(service.conf))
    service.wait_listening()
    return master, wait_until(lambda: len(children(master.pid)) == workers and children(master.pid), "the workers of nginx")


@pytest.mark.parametrize("before, after, options, migrate, keeps", [
    (1, 1, "", 0, True), (4, 1, "", 0, True), (2, 2, "reuseport", 0, True), (1, 4, "reuseport", 0, True),
    (4, 1, "reuseport", 0, False), (4, 1, "reuseport", 1, True)])
def test_reload_of_nginx(service, before, after, options, migrate, keeps):
    if migrate:
        run_page_sysctl(service.host)
    nginx_conf(service, before, options)
    master, workers = start_nginx(service, before)
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    waiting = service.fill()
    nginx_conf(service, after, options)
    master.send_signal(signal.SIGHUP)
    wait_until(lambda: len(set(children(master.pid)) - set(workers)) == after, "the new workers of nginx")
    for worker in workers:
        signal_process(worker, signal.SIGKILL)
    result = ask_all(waiting)
    assert (result == {"answered": WAITING}) if keeps else (result["reset"] > 0 and result.total() == WAITING), result


def test_reload_of_nginx_closes_idle_connections(service):
    nginx_conf(service, 1)
    master, _ = start_nginx(service, 1)
    (held,) = service.connect(1)
    assert ask(held) == "answered"
    master.send_signal(signal.SIGHUP)
    assert held.recv(1) == b""


def test_page_shows_the_length_of_the_queue(service):
    nginx_conf(service, 1)
    start_nginx(service, 1)
    for command, shown in commands(block("docs/howto/proxies.md", "# ss -Hltn")):
        printed = service.host.run("sh", "-c", command).stdout.splitlines()
        assert [line.split() for line in printed] == [line.split() for line in shown]


def test_connections_of_a_drained_proxy_are_counted(service):
    nginx_conf(service, 1)
    start_nginx(service, 1)
    held = service.connect(1) + service.connect(1, VIP6)
    assert [ask(each) for each in held] == ["answered"] * 2
    ((command, shown),) = commands(block("docs/howto/change-proxies.md", "ss -Hnt"))
    assert service.host.run("sh", "-c", command).stdout.splitlines() == shown


def test_reload_of_nginx_changes_the_backlog(service):
    nginx_conf(service, 1)
    master, workers = start_nginx(service, 1)
    write(service.conf, read(service.conf).replace("backlog=4096", "backlog=100"))
    master.send_signal(signal.SIGHUP)
    wait_until(lambda: children(master.pid) and not set(children(master.pid)) & set(workers), "the new worker of nginx")
    assert [line.split()[2] for line in service.host.run("ss", "-Hltn").stdout.splitlines()] == ["100", "100"]


@pytest.mark.parametrize("conf", ["nginx", "haproxy"])
def test_proxy_protocol_breaks_each_connection(service, conf):
    if conf == "nginx":
        nginx_conf(service, 1, "proxy_protocol")
        start_nginx(service, 1)
    else:
        haproxy_conf(service, 100)
        write(service.conf, read(service.conf).replace("bind 10.10.10.10:80", "bind 10.10.10.10:80 accept-proxy"))
        service.start("haproxy", "-f", str(service.conf))
        service.wait_listening()
    assert ask_all(service.connect(3))["answered"] == 0
