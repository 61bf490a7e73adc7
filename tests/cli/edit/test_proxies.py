# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli edit remove --proxies: a proxy is removed if its metrics prove that no connection is left, and only then."""

import contextlib
import json
import os
import socket

import pytest

from cli.test_cli_fleet import HOSTILE, Fleet, director, proxy
from support.cli import BROKEN, FAILED, OK, USAGE, backend, run, table, write_tables
from support.ports import closed_port

GONE, OTHER = "192.168.50.1", "192.168.50.2"
VIP, PREFIX, VIP6 = "10.10.10.10", "10.10.20.0/24", "fdb4:98ce:52d4::42"
BINDS = [{"ip": VIP, "proto": "tcp", "port": 80}, {"ip": PREFIX, "proto": "tcp", "port": 443}, {"ip": VIP6, "proto": "udp", "port": 53}]


def metrics(*left, vips=(VIP, "10.10.20.7", VIP6)):
    """The page of a proxy: 0 connections of each VIP, but `left` of (VIP, protocol, number)."""
    counts = {(vip, protocol): 0 for vip in vips for protocol in ("tcp", "udp")} | {(vip, protocol): count for vip, protocol, count in left}
    return proxy() + "".join(f'glb_redirect_open_connections{{vip="{vip}",protocol="{protocol}"}} {count}\n' for (vip, protocol), count in counts.items())


@pytest.fixture
def fleet():
    with contextlib.ExitStack() as stack:
        yield Fleet(stack)


@pytest.fixture
def file(tmp_path):
    """A table of three proxies, of which the first drains. Two more tables share a VIP with it, or none."""
    return write_tables(
        tmp_path / "t.json", table("web", binds=BINDS, backends=[backend(GONE, "draining"), backend(OTHER), backend("192.168.50.3")]),
        table("git", hash_key=2, binds=[{"ip": "10.10.10.11", "proto": "tcp", "port": 22}], backends=[backend("192.168.50.8"), backend("192.168.50.9")]))


def remove(file, hosts, *words, code=OK):
    """Removes GONE. `hosts`: the words of the file of --proxies."""
    proxies = file.parent / "proxies"
    proxies.write_text("# the fleet\n" + "".join(f"{host}\n" for host in hosts))
    before, names = file.read_bytes(), sorted(os.listdir(file.parent))
    done = run("edit", file, "remove", GONE, *words, "--proxies", proxies, "--timeout", "2", code=code)
    if code != OK:
        assert file.read_bytes() == before and sorted(os.listdir(file.parent)) == names
    return done


def addresses(file, index=0):
    return [each["ip"] for each in json.loads(file.read_text())["tables"][index]["backends"]]


def test_a_proxy_without_connections_is_removed_without_max_broken(file, fleet):
    """Without --proxies the rows of the draining proxy break."""
    run("edit", file, "remove", GONE, code=BROKEN)
    done = remove(file, [f"{GONE}={fleet.serve(metrics())}", f"{OTHER}={fleet.serve(metrics((VIP, 'tcp', 7)))}"])
    assert done.stdout.startswith(f"web: {GONE} has no connection left\n") and done.stderr == ""
    assert "all: 0 of 131072 rows change (0.00%), 0 break (0.00%)" in done.stdout
    assert addresses(file) == [OTHER, "192.168.50.3"]


@pytest.mark.parametrize("left, count", [
    (((VIP, "tcp", 1),), "1 connection left"),
    (((VIP6, "udp", 2),), "2 connections left"),
    ((("10.10.20.7", "tcp", 3),), "3 connections left"),
    ((("10.10.0.0/16", "tcp", 4),), "4 connections left"),
    (((VIP, "tcp", 5), (VIP, "udp", 6), (VIP6, "tcp", 7)), "18 connections left"),
    (((VIP, "tcp", "9" * 15),), "999999999999999 connections left"),
])
def test_connections_that_are_left_refuse_it(file, fleet, left, count):
    host = f"{GONE}={fleet.serve(metrics(*left))}"
    done = remove(file, [host], code=BROKEN)
    assert f"{file}: {GONE} has {count} for VIPs of table web: wait until they have ended" in done.stderr and "--force" in done.stderr
    done = remove(file, [host], "--force")
    assert f"warning: {file}: {GONE} has {count}" in done.stderr and addresses(file) == [OTHER, "192.168.50.3"]


def test_an_old_count_is_no_proof(file, fleet):
    """The connections began after the proxy had counted, and before the drain."""
    asked = []

    def page(handler):
        asked.append(handler)
        new = len(asked) > 2
        body = (metrics((VIP, "tcp", 3)) if new else metrics()) + f"glb_redirect_sockets_timestamp_seconds 1767225600.{int(new)}\n"
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body.encode())

    assert f"{GONE} has 3 connections left" in remove(file, [f"{GONE}={fleet.serve(page)}"], code=BROKEN).stderr
    assert len(asked) == 3


def test_connections_of_other_vips_do_not_count(file, fleet):
    remove(file, [f"{GONE}={fleet.serve(metrics(('10.10.10.11', 'tcp', 9), ('fdb4::1', 'tcp', 9)))}"])


UNKNOWN = {
    "not in the file": (lambda fleet: [f"{OTHER}={fleet.serve(metrics())}"], "proxies: no host in it is known to be 192.168.50.1: add 192.168.50.1=HOST[:PORT]"),
    "an empty file": (lambda fleet: [], "no host in it is known to be 192.168.50.1"),
    "a name for another address": (lambda fleet: ["localhost:" + fleet.serve(metrics()).split(":")[1]], "no host in it is known to be 192.168.50.1"),
    "twice": (lambda fleet: [f"{GONE}={fleet.serve(metrics())}", f"{GONE}={fleet.serve(metrics((VIP, 'tcp', 1)))}"], "are both 192.168.50.1: remove the wrong one"),
    "unreachable": (lambda fleet: [f"{GONE}={closed_port()}"], "192.168.50.1: its connections are not known: http://127.0.0.1:"),
    "an unknown name": (lambda fleet: [f"{GONE}=name.invalid:1"], "its connections are not known: http://name.invalid:1/metrics: "),
    "HTML": (lambda fleet: [f"{GONE}={fleet.serve('<html><body>It works!</body></html>')}"], "the page is not that of a proxy (is it glb-redirect exporter: does it run"),
    "an error": (lambda fleet: [f"{GONE}={fleet.serve(503)}"], "503"),
    "the port of a director": (lambda fleet: [f"{GONE}={fleet.serve(director())}"], "the page is not that of a proxy"),
    "an exporter without the metric": (lambda fleet: [f"{GONE}={fleet.serve(proxy())}"], "its connections of the bind tcp 10.10.10.10 port 80 are not known, because its metrics do not have this VIP"),
    "a VIP is missing": (lambda fleet: [f"{GONE}={fleet.serve(metrics(vips=(VIP, '10.10.20.7')))}"], "its connections of the bind udp fdb4:98ce:52d4::42 port 53 are not known"),
    "no VIP of a prefix": (lambda fleet: [f"{GONE}={fleet.serve(metrics(vips=(VIP, VIP6)))}"], "the bind tcp 10.10.20.0/24 port 443"),
    "too many lines": (lambda fleet: [f"{GONE}={fleet.serve(metrics(*((f'10.{i >> 8}.{i & 255}.1', 'tcp', 0) for i in range(4200))))}"], "lines too many"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_refuses_it(file, fleet, name):
    hosts, text = UNKNOWN[name]
    words = hosts(fleet)
    done = remove(file, words, code=FAILED)
    assert text in done.stderr and f"{file}: refused: if {GONE} has no connections of table web, or may lose them, give --force" in done.stderr
    done = remove(file, words, "--force")
    assert "warning: " in done.stderr and text in done.stderr and addresses(file) == [OTHER, "192.168.50.3"]


@pytest.mark.parametrize("value", ("-1", "NaN", "+Inf", "1e3", "0x10", "1.5", "", "9" * 16, "0 junk", "٣"))
def test_values_that_are_no_count_refuse_it(file, fleet, value):
    page = metrics() + f'glb_redirect_open_connections{{vip="10.10.10.99",protocol="tcp"}} {value}\n'
    assert "is no number of connections of a VIP" in remove(file, [f"{GONE}={fleet.serve(page)}"], code=FAILED).stderr


@pytest.mark.parametrize("label", ("", "a", "10.10.10.10/33", "\\x1b[31m", "%s%n", "x" * 500))
def test_labels_that_are_no_vip_refuse_it(file, fleet, label):
    page = metrics() + f'glb_redirect_open_connections{{vip="{label}",protocol="tcp"}} 0\n'
    done = remove(file, [f"{GONE}={fleet.serve(page)}"], code=FAILED)
    assert "is no number of connections of a VIP" in done.stderr and "\x1b" not in done.stderr


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_refuses_it(file, fleet, name):
    assert "its connections are not known" in remove(file, [f"{GONE}={fleet.serve(HOSTILE[name])}"], code=FAILED).stderr


def test_a_proxy_that_accepts_and_says_nothing_refuses_it(file):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        assert "timed out" in remove(file, [f"{GONE}=127.0.0.1:{silent.getsockname()[1]}"], code=FAILED).stderr


def test_hosts_of_other_backends_are_not_asked(file, fleet):
    """A proxy that is down must not delay or prevent the removal of another one."""
    asked = []
    hosts = [f"{OTHER}={fleet.serve(lambda handler: asked.append(handler))}", closed_port(), "[2001:db8::1]:19522"]
    remove(file, [f"{GONE}={fleet.serve(metrics())}", *hosts])
    assert asked == []


def test_a_host_without_a_port_is_the_address_in_the_table(file):
    """Nothing listens on the ports of the address."""
    text = remove(file, [GONE], code=FAILED).stderr
    assert f"http://{GONE}:19520/metrics: " in text and f"http://{GONE}:19522/metrics: " in text


@pytest.mark.parametrize("words, text", [
    (["a:b"], "proxies: 'a:b' is not HOST, HOST:PORT or [IPV6]:PORT"),
    ([f"{GONE}=", f"{GONE}=a"], f"'{GONE}=' is not HOST"),
    (["192.168.50=a"], "'192.168.50=a' is not HOST"),
    (["\x1b[31mred"], "'?[31mred' is not HOST"),
    (["a"] * 4097, "more than 4096 hosts"),
])
def test_a_file_with_a_typo(file, words, text):
    assert text in remove(file, words, code=FAILED).stderr
    remove(file, words, "--force", code=FAILED)


def test_a_file_that_cannot_be_read(file):
    before = file.read_bytes()
    for path in (file.parent / "none", file.parent):
        assert f"{path}: " in run("edit", file, "remove", GONE, "--proxies", path, code=FAILED).stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize("state", ("active", "filling"))
def test_a_proxy_that_gets_new_connections_must_drain_first(tmp_path, fleet, state):
    """That it has none at the moment says nothing."""
    file = write_tables(tmp_path / "t.json", table(binds=BINDS, backends=[backend(GONE, state), backend(OTHER)]))
    for words in ((), ("--force", "--max-broken", "100")):
        assert f"{GONE} is {state} in table " in remove(file, [f"{GONE}={fleet.serve(metrics())}"], *words, code=FAILED).stderr


def test_other_rows_that_break_still_refuse_it(tmp_path, fleet):
    """The proof is about the proxies that are removed: one of the two has no line in the file."""
    file = write_tables(tmp_path / "t.json", table(binds=BINDS, hops=3, backends=[backend(GONE, "draining"), backend(OTHER, "draining"), backend("192.168.50.3")]))
    host = f"{GONE}={fleet.serve(metrics())}"
    assert f"no host in it is known to be {OTHER}" in remove(file, [host], OTHER, code=FAILED).stderr
    remove(file, [host])
    assert addresses(file) == [OTHER, "192.168.50.3"]


def test_a_dry_run_asks_too(file, fleet):
    host = f"{GONE}={fleet.serve(metrics((VIP, 'tcp', 1)))}"
    remove(file, [host], "--dry-run", code=BROKEN)
    before = file.read_bytes()
    remove(file, [f"{GONE}={fleet.serve(metrics())}"], "--dry-run")
    assert file.read_bytes() == before


def test_two_tables_with_the_proxy(tmp_path, fleet):
    """Each table has its own VIPs."""
    binds = [{"ip": "10.10.10.11", "proto": "tcp", "port": 22}]
    backends = [backend(GONE, "draining"), backend(OTHER)]
    file = write_tables(tmp_path / "t.json", table("web", binds=BINDS, backends=backends), table("git", hash_key=2, binds=binds, backends=backends))
    host = f"{GONE}={fleet.serve(metrics((VIP, 'tcp', 3), ('10.10.10.11', 'tcp', 0)))}"
    assert "for VIPs of table web" in remove(file, [host], "--all-tables", code=BROKEN).stderr
    remove(file, [host], "--table", "git")
    assert (addresses(file, 0), addresses(file, 1)) == ([GONE, OTHER], [OTHER])


@pytest.mark.parametrize("words, text", [
    (["drain", OTHER, "--proxies", "x"], "--proxies is for remove"),
    (["remove", GONE, "--proxies", "x", "--timeout", "0"], "--timeout: '0' is not a number of seconds"),
])
def test_wrong_usage(file, words, text):
    assert text in run("edit", file, *words, code=USAGE).stderr
