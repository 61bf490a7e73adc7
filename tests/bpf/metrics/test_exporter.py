# SPDX-License-Identifier: BSD-3-Clause
"""glb-redirect exporter: the counters of all programs over HTTP, with hostile clients and on a host that changes."""

import contextlib
import re
import signal
import socket
import subprocess

import pytest

from cases import frames as f
from lab.net import connect
from lab.tools import TIMEOUT_S
from packets import OTHER_HOP, gue_frame
from scrape import PORT, Exporter, metrics
from support.pages import block
from support.tree import TREE
from test_loader import MALFORMED, PING, Proxy, layout_of, older_version

AT_HOP_2 = gue_frame(f.ipv4("198.51.100.7", "10.10.10.10", f.ICMP, f.echo(4)), hops=(OTHER_HOP,), next_hop=1)
HOWTO = "docs/howto/set-up-a-proxy.md"


@pytest.fixture
def proxy(glb_redirect):
    with contextlib.closing(Proxy(glb_redirect)) as proxy:
        yield proxy


@pytest.fixture
def exporting(proxy):
    """Starts exporters, and ends them after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *words: stack.enter_context(contextlib.closing(Exporter(proxy.namespace, proxy.glb_redirect, *words)))


def test_counters_are_those_of_stats(proxy):
    proxy("attach", "eth0")
    proxy.count([PING, PING, AT_HOP_2, MALFORMED])
    found = metrics(proxy.namespace, proxy.glb_redirect)
    packets = {key[2]: value for key, value in found.items() if key[:2] == ("packets_total", "eth0")}
    stats = proxy.stats()
    assert sum(packets.values()) == stats.pop("total") == 4
    assert packets == stats
    assert [found["accepted_packets_total", "eth0", str(hop + 1)] for hop in range(8)] == [2, 1, 0, 0, 0, 0, 0, 0] == proxy.hops()
    assert (found["lost_packets_total", "eth0", "kernel"], found["lost_packets_total", "eth0", "driver"]) == (0, 0)


def test_state_of_the_program(proxy, tmp_path):
    conf = tmp_path / "redirect.conf"
    conf.write_text('allow_from = ["192.0.2.0/24"];\n')
    proxy("attach", "eth0")
    status = proxy.status()
    found = metrics(proxy.namespace, proxy.glb_redirect)
    assert found["program_info", "eth0", status["version"], "native", status["tc_program"]] == 1
    assert {name: found[name, "eth0"] for name in ("attached", "tc_program_attached", "outer_ipv6", "open_to_any_sender", "counters_readable")} == {
        "attached": 1, "tc_program_attached": 1, "outer_ipv6": 1, "open_to_any_sender": 1, "counters_readable": 1}
    assert (found["interfaces",], found["programs_readable",], found["addresses_followed",]) == (1, 1, 0)
    proxy("attach", "eth0", "--config-file", str(conf))
    assert metrics(proxy.namespace, proxy.glb_redirect)["open_to_any_sender", "eth0"] == 0


def test_a_program_of_a_version_that_does_not_know_outer_ipv6(proxy):
    """The exporter is of this version, but the program was not replaced after the upgrade."""
    proxy("attach", "eth0")
    names = list(proxy.stats())
    older_version(proxy, layout_of(names), len(names))
    assert metrics(proxy.namespace, proxy.glb_redirect)["outer_ipv6", "eth0"] == 0


def test_who_may_send(proxy, tmp_path):
    conf = tmp_path / "redirect.conf"
    allowed = [f"192.0.{n}.0/24" for n in range(70)]
    for prefixes, listed, omitted in ((["192.0.2.1", "198.51.100.0/24"], {"192.0.2.1", "198.51.100.0/24"}, 0), (allowed, None, 6)):
        conf.write_text(f"allow_from = {prefixes!r};\n".replace("'", '"'))
        proxy("attach", "eth0", "--config-file", str(conf))
        found = metrics(proxy.namespace, proxy.glb_redirect)
        shown = {key[2] for key in found if key[0] == "allow_from_info"}
        assert shown == listed if listed else shown < set(allowed) and len(shown) == 64
        assert found["allow_from_omitted", "eth0"] == omitted
        proxy("detach", "eth0")
    proxy("attach", "eth0")
    assert not any(key[0].startswith("allow_from") for key in metrics(proxy.namespace, proxy.glb_redirect))


def test_missing_tc_program_is_seen(proxy):
    proxy("attach", "eth0")
    proxy.namespace.run("rm", "-f", "/sys/fs/bpf/glb-redirect/eth0/companion")  # detaches a tcx link
    proxy.namespace.run("tc", "qdisc", "del", "dev", "eth0", "clsact", check=False)
    assert metrics(proxy.namespace, proxy.glb_redirect)["tc_program_attached", "eth0"] == 0


def test_both_formats(proxy, exporting):
    proxy("attach", "eth0")
    exporter = exporting()
    status, kind, text = exporter.get(Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert (status, kind) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    assert text.endswith("# EOF\n") and "# TYPE glb_redirect_packets counter\n" in text
    status, kind, legacy = exporter.get()
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "# TYPE glb_redirect_packets_total counter\n" in legacy
    assert exporter.get("/nothing")[0] == 404
    checked = subprocess.run(["promtool", "check", "metrics"], input=legacy, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_no_program(exporting):
    found = exporting().metrics()
    assert found["interfaces",] == 0 and found["programs_readable",] == 1
    assert not [key for key in found if "eth0" in key]


def test_two_interfaces_and_one_is_detached(proxy, exporting):
    connect(proxy.namespace, "eth1.5", proxy.network, "net1")
    proxy("attach", "eth0")
    proxy("attach", "eth1.5", "--mode", "generic")
    proxy.count([PING])
    exporter = exporting()
    found = exporter.metrics()
    assert found["interfaces",] == 2
    assert [found["accepted_packets_total", name, "1"] for name in ("eth0", "eth1.5")] == [1, 0]
    proxy("detach", "eth0")
    found = exporter.wait(lambda found: found if found["interfaces",] == 1 else None, "the program to be gone")
    assert found["attached", "eth1.5"] == 1 and ("attached", "eth0") not in found


def test_interface_is_deleted_and_made_anew(proxy, exporting):
    proxy("attach", "eth0")
    proxy.count([PING, PING])
    exporter = exporting()
    assert exporter.metrics()["packets_total", "eth0", "accepted_other"] == 2
    proxy.namespace.ip("link del eth0")
    found = exporter.wait(lambda found: found if found["attached", "eth0"] == 0 else None, "the interface to be gone")
    assert not [key for key in found if key[0] in ("program_info", "tc_program_attached")]
    connect(proxy.namespace, "eth0", proxy.network, "net0")
    proxy("attach", "eth0")
    found = exporter.wait(lambda found: found if found["attached", "eth0"] == 1 else None, "the new program")
    assert found["packets_total", "eth0", "accepted_other"] == 0 and found["tc_program_attached", "eth0"] == 1


def test_program_that_is_replaced_keeps_its_counters(proxy, exporting):
    proxy("attach", "eth0")
    proxy.count([AT_HOP_2])
    exporter = exporting()
    proxy("attach", "eth0", "--udp", "connected")
    proxy.count([AT_HOP_2])
    exporter.wait(lambda found: found["accepted_packets_total", "eth0", "2"] == 2, "the second packet")


def test_program_of_an_older_version(proxy):
    """After an upgrade of the package, the exporter is newer than the program until the operator replaces it."""
    proxy("attach", "eth0")
    names = list(proxy.stats())
    older_version(proxy, layout_of(names[:-1]), len(names) - 1)
    found = metrics(proxy.namespace, proxy.glb_redirect)
    assert found["counters_readable", "eth0"] == 1
    assert [key[2] for key in found if key[0] == "packets_total"] == names[1:-1]
    proxy.namespace.run("rm", f"{proxy.folder()}/hops")
    older_version(proxy, 0, 1)
    found = metrics(proxy.namespace, proxy.glb_redirect)
    assert found["counters_readable", "eth0"] == 0 and found["attached", "eth0"] == 1
    assert not [key for key in found if key[0] in ("packets_total", "accepted_packets_total")]


def test_idle_clients_do_not_keep_others_out(proxy, exporting):
    proxy("attach", "eth0")
    exporter = exporting()
    with contextlib.ExitStack() as stack:
        for number in range(40):
            client = stack.enter_context(exporter.connect())
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost" if number % 2 else b"")
        assert exporter.metrics()["attached", "eth0"] == 1
    assert exporter.metrics()["attached", "eth0"] == 1
    assert exporter.process.poll() is None


def test_clients_that_ask_often_cause_one_reading(proxy, exporting):
    """The sockets are read at most every 5 seconds."""
    exporter = exporting()
    first = exporter.metrics()
    assert {exporter.metrics()["sockets_timestamp_seconds",] for _ in range(20)} == {first["sockets_timestamp_seconds",]}


def test_killed_exporter_starts_again_on_its_port(proxy, exporting):
    proxy("attach", "eth0")
    exporter = exporting()
    with exporter.connect() as client:
        exporter.metrics()
        exporter.process.kill()
        exporter.process.wait()
        assert client.recv(1) == b""
        assert exporting().metrics()["attached", "eth0"] == 1


def test_sigterm_ends_it(exporting):
    exporter = exporting()
    exporter.process.terminate()
    assert exporter.process.wait(TIMEOUT_S) == -signal.SIGTERM


@pytest.mark.parametrize("words, code, message", [
    ([], 1, "cannot listen on 127.0.0.1:19522: another program does: stop it, or choose another port with --listen"),
    (["--listen", "192.0.2.99:19522"], 1, "cannot listen on 192.0.2.99:19522: no interface has this address: see --listen"),
    (["--listen", "19522"], 2, "--listen: '19522' is not ADDRESS:PORT, such as 127.0.0.1:19522"),
    (["--listen", "127.0.0.1"], 2, "--listen: '127.0.0.1' is not ADDRESS:PORT, such as 127.0.0.1:19522"),
    (["--listen", "localhost:19522"], 2, "--listen: 'localhost:19522' is not ADDRESS:PORT"),
    (["eth0"], 2, "exporter: unexpected operand 'eth0'"),
])
def test_errors_of_the_start(proxy, exporting, words, code, message):
    exporting()
    result = proxy.namespace.run(proxy.glb_redirect, "exporter", *words, check=False, timeout=TIMEOUT_S)
    assert result.returncode == code
    assert f"glb-redirect: {message}" in result.stderr


def test_ipv6_address(proxy, exporting):
    exporting("--listen", "[::1]:19522")
    with proxy.namespace, socket.create_connection(("::1", PORT), timeout=TIMEOUT_S) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("words", [["exporter"], ["stats", "--openmetrics"]])
def test_without_the_capability(proxy, words):
    """Also if no program is attached: an exporter that never sees one would be worse than none."""
    command = ["setpriv", "--bounding-set=-bpf,-sys_admin", proxy.glb_redirect, *words]
    result = proxy.namespace.run(*command, check=False, timeout=TIMEOUT_S)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("glb-redirect: not permitted: run glb-redirect as root; missing: CAP_BPF")


def test_capabilities_of_the_unit_suffice(proxy):
    proxy("attach", "eth0")
    unit = (TREE / "packaging/systemd/glb-redirect-exporter.service.in").read_text()
    (capabilities,) = re.findall(r"^CapabilityBoundingSet=(.*)$", unit, flags=re.MULTILINE)
    sets = ",".join(["-all", *("+" + name.removeprefix("CAP_").lower() for name in capabilities.split())])
    command = ["setpriv", f"--bounding-set={sets}", proxy.glb_redirect, "stats", "--openmetrics"]
    printed = proxy.namespace.run(*command).stdout
    volatile = re.compile(r"^glb_redirect_sockets_(timestamp|read)_seconds .*$", flags=re.MULTILINE)
    assert volatile.sub("", printed) == volatile.sub("", proxy.namespace.run(proxy.glb_redirect, "stats", "--openmetrics").stdout)


@pytest.mark.parametrize("words", [["eth0"], ["--json"], ["--watch"]])
def test_openmetrics_goes_with_nothing_else(proxy, words):
    assert "--openmetrics takes no interface and no other option" in proxy("stats", "--openmetrics", *words, code=2)


def test_textfile_is_replaced_as_a_whole_and_survives_an_error(proxy, tmp_path):
    """The example of the page, in a folder of the test."""
    script = block(HOWTO, "stats --openmetrics").replace("/var/lib/prometheus/node-exporter", str(tmp_path))
    script = script.replace("glb-redirect stats", f"{proxy.glb_redirect} stats")
    proxy("attach", "eth0")
    proxy.namespace.run("sh", "-ec", script)
    (file,) = tmp_path.iterdir()
    text = file.read_text()
    assert file.name == "glb-redirect.prom" and 'glb_redirect_attached{interface="eth0"} 1\n' in text
    failed = proxy.namespace.run("setpriv", "--bounding-set=-bpf,-sys_admin", "sh", "-c", script, check=False)
    assert failed.returncode == 1 and file.read_text() == text
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_full_disk_is_an_error(proxy):
    result = proxy.namespace.run("sh", "-c", f"exec {proxy.glb_redirect} stats --openmetrics >/dev/full", check=False)
    assert result.returncode == 1 and "glb-redirect: " in result.stderr
