# SPDX-License-Identifier: BSD-3-Clause
"""lab/lab: its commands and errors, what it leaves behind, and whether its load detects broken connections."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from lab.proxy import DOWNLOAD_BYTES
from lab.tools import TIMEOUT_S, wait_until
from lab.topology import NETWORKS, UNDERLAYS, Shape
from lab_process import LAB, assert_nothing_left, environment, lab, new_mark, start, wait_for_process
from support.ports import reserved_port
from support.tree import CLI, TREE


@pytest.fixture
def up():
    """A function that starts a lab and returns its name and mark. The labs end with the test."""
    labs = []

    def function(*options):
        name, mark = new_mark(), new_mark()
        done = lab("up", "--name", name, *options, mark=mark)
        assert (done.returncode, done.stderr) == (0, "")
        labs.append((name, mark))
        return name, mark

    yield function
    for name, mark in labs:
        lab("down", "--name", name)
        assert_nothing_left(mark)


@pytest.fixture
def port():
    with reserved_port() as number:
        yield number


def on(name, host, *command):
    done = lab("exec", "--name", name, host, *command)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("underlay", UNDERLAYS)
def test_up_status_exec_shell_down(up, underlay):
    name, _ = up("--underlay", underlay)
    assert on(name, "client", "curl", "-s", "http://203.0.113.10/").startswith("proxy-")
    assert on(name, "client", "curl", "-s", "http://[2001:db8:f::10]/").startswith("proxy-")
    assert on(name, "proxy-2", "hostname") == "proxy-2\n"
    status = lab("status", "--name", name).stdout
    for host in ("client", "router", "director-1", "director-2", "proxy-1", "proxy-2", "proxy-3"):
        assert f"\n{host} " in status
    for host, address in (("director-2", Shape(underlay=underlay).director_link(2).address), ("proxy-1", Shape(underlay=underlay).proxy_link(1).address)):
        assert f"\n{host:12} {address} " in status
        assert bool(on(name, host, "ip", "-4", "address", "show", "dev", "eth0")) == (underlay == "ipv4")
    shell = subprocess.run(
        [LAB, "shell", "--name", name, "director-2"], input="hostname\n", capture_output=True, text=True)
    assert "director-2\n" in shell.stdout
    on(name, "proxy-2", "glb-redirect", "detach", "eth0")
    on(name, "proxy-3", "ip", "address", "flush", "dev", "eth0")
    status = lab("status", "--name", name)
    assert (status.returncode, status.stderr) == (0, "")
    assert re.search(r"^proxy-2 .* glb-redirect is not attached$", status.stdout, re.MULTILINE)
    assert re.search(r"^proxy-3 +no address ", status.stdout, re.MULTILINE)
    assert lab("down", "--name", name).returncode == 0
    assert "is not up" in lab("status", "--name", name).stderr


def test_the_table_has_the_hops_and_the_balance_of_new(tmp_path, up):
    cli = [CLI, "new", "--dir", tmp_path, "--vip", "203.0.113.10:80/tcp", "--backend", "192.0.2.70", "--source", "192.0.2.6"]
    subprocess.run(cli, check=True, capture_output=True)
    (wanted,) = json.loads((tmp_path / "forwarding_table.json").read_text())["tables"]
    name, _ = up("--directors", "1", "--proxies", "1")
    (table,) = json.loads(on(name, "director-1", "cat", "forwarding_table.json"))["tables"]
    for member in ("hops", "balance"):
        assert table[member] == wanted[member]
    name, _ = up("--directors", "1", "--proxies", "1", "--hops", "2")
    assert json.loads(on(name, "director-1", "cat", "forwarding_table.json"))["tables"][0]["hops"] == 2


@pytest.mark.parametrize("underlay", UNDERLAYS)
def test_the_preflight_finds_nothing_on_a_proxy(up, underlay):
    name, _ = up("--directors", "1", "--proxies", "1", "--underlay", underlay)
    conf = f'echo \'allow_from = ["{NETWORKS[underlay]}"];\' >redirect.conf'
    on(name, "proxy-1", "sh", "-ec", f"{conf}; glb-redirect attach eth0 --config-file $PWD/redirect.conf")
    report = on(name, "proxy-1", "glb-redirect", "check", "eth0")
    lines = report.splitlines()
    assert [line for line in lines if line.split()[0] in ("warn", "fail", "run:")] == []
    assert lines[-1] == "eth0: 0 failures, 0 warnings" and len(lines) > 15
    on(name, "proxy-1", "ip", "address", "del", "203.0.113.10/32", "dev", "lo")
    broken = lab("exec", "--name", name, "proxy-1", "glb-redirect", "check", "eth0", "--vip", "203.0.113.10")
    assert broken.returncode == 2
    assert "fail  vips: 203.0.113.10: it is not an address of this host" in broken.stdout


def test_kernel_of_a_director_keeps_packets_that_are_not_for_vips(up):
    """With AF_XDP the kernel answers ARP, ND and ping for the director's addresses. VIPs can change while the director runs."""
    name, _ = up("--directors", "1")
    on(name, "router", "ping", "-c1", "-W20", "192.0.2.6")
    on(name, "router", "ping", "-c1", "-W20", "2001:db8:b:1::2")
    on(name, "client", "curl", "-s", "http://203.0.113.10/")

    def all_forwarded():
        stats = json.loads(on(name, "director-1", "glb-director-cli", "stats", "--file-prefix", "director-1", "--json"))
        return stats["received"] == stats["forwarded"] > 0

    wait_until(all_forwarded, "the verdicts of all packets")  # curl ends before its last packets arrive
    assert on(name, "director-1", "glb-bifurcate", "show") == "203.0.113.10\n2001:db8:f::10\n"
    on(name, "director-1", "glb-bifurcate", "clear")
    assert lab("exec", "--name", name, "client", "curl", "-s", "-m1", "http://203.0.113.10/").returncode == 28
    on(name, "director-1", "glb-bifurcate", "sync", "forwarding_table.bin")
    on(name, "client", "curl", "-s", "http://203.0.113.10/")


def test_healthcheck_checks_each_proxy_and_follows_the_operators_table(up):
    name, _ = up("--healthcheck", "--directors", "1", "--proxies", "2")

    def results():
        status = json.loads(on(name, "director-1", "curl", "-s", "127.0.0.1:19521/status"))
        checks = [check for backend in status["tables"][0]["backends"] for check in backend["checks"]]
        return status["reload"]["state"], [check["result"] for check in checks]

    wait_until(lambda: results() == ("done", ["passed"] * 4), lambda: f"four checks that passed: {results()}")  # a probe may time out
    on(name, "director-1", "sed", "-i", "0,/active/s//draining/", "healthcheck.json")
    show = "glb-director-cli show forwarding_table.bin --json".split()
    wait_until(lambda: "draining" in on(name, "director-1", *show), "the operators' table")


def forwarded(name, *arguments, mark):
    """A running `lab/lab forward`, and the line that it prints."""
    process = start([LAB, "forward", "--name", name, *arguments], mark)
    return process, process.stdout.readline()


def test_a_port_of_a_host_is_forwarded_until_the_lab_ends(up, port):
    name, mark = up("--directors", "1", "--proxies", "1")
    process, line = forwarded(name, "proxy-1", "80", "--local", str(port), mark=mark)
    assert line == f"http://127.0.0.1:{port}/ is port 80 of proxy-1, until the lab ends or you press Ctrl-C\n"
    url = f"http://127.0.0.1:{port}/download"
    sizes = [subprocess.run(["curl", "-s", url], capture_output=True, check=True).stdout for _ in range(3)]
    assert [len(each) for each in sizes] == [DOWNLOAD_BYTES] * 3
    again = lab("forward", "--name", name, "proxy-1", "80", "--local", str(port))
    assert (again.returncode, again.stderr) == (1, f"lab: 127.0.0.1:{port}: Address already in use: choose another --local\n")
    assert "the lab has no host 'proxy-9'; its hosts are client," in lab("forward", "--name", name, "proxy-9", "80").stderr
    # A client whose connection is open when the lab ends does not keep the namespace.
    with socket.create_connection(("127.0.0.1", port)):
        assert lab("down", "--name", name).returncode == 0
        assert process.communicate(timeout=TIMEOUT_S)[1] == "" and process.returncode == 0


def test_forward_of_a_port_without_a_server_closes_the_connection_and_goes_on(up, port):
    name, mark = up("--directors", "1", "--proxies", "1")
    process, _ = forwarded(name, "proxy-1", "81", "--local", str(port), mark=mark)
    for _ in range(2):
        # An empty reply (52), or a reset (56) if the connection was closed before the request was read.
        assert subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/"]).returncode in (52, 56)
        assert process.stdout.readline() == "proxy-1: 127.0.0.1:81: Connection refused\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=TIMEOUT_S)[1] == "" and process.returncode == 0


def test_two_labs_run_side_by_side(up):
    one, _ = up("--proxies", "1", "--directors", "1")
    two, _ = up("--proxies", "2", "--directors", "1", "--hops", "3", "--pmd", "af_packet")
    for name in (one, two):
        assert on(name, "client", "curl", "-s", "http://203.0.113.10/").startswith("proxy-")
    assert "proxy-2" not in lab("status", "--name", one).stdout
    assert "proxy-2" in lab("status", "--name", two).stdout


def test_name_of_a_running_lab_is_refused(up):
    name, _ = up("--proxies", "1", "--directors", "1")
    again = lab("up", "--name", name)
    assert (again.returncode, again.stderr) == (1, f"lab: lab '{name}' is already up: run lab/lab down, or choose another --name\n")


@pytest.mark.parametrize("word", ["unshare", "_up"], ids=["capsule", "process 1"])
def test_killed_lab_leaves_nothing(up, word):
    name, mark = up("--metrics")
    os.kill(wait_for_process(mark, word)[0], signal.SIGKILL)
    assert_nothing_left(mark)
    assert "is not up" in lab("status", "--name", name).stderr


def test_lab_that_is_interrupted_at_its_start_leaves_nothing():
    name, mark = new_mark(), new_mark()
    process = start([LAB, "up", "--name", name, "--healthcheck", "--metrics"], mark)
    try:
        wait_for_process(mark, "glb-director")  # the checks and Prometheus start seconds later
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()
        assert process.returncode == 1
        assert_nothing_left(mark)
    finally:
        lab("down", "--name", name)


def test_killed_scenario_leaves_nothing():
    mark = new_mark()
    process = start([LAB, "scenario", "skew"], mark)
    wait_for_process(mark, "load.py")
    process.kill()
    process.communicate()
    assert_nothing_left(mark)


def test_scenario_passes_with_af_packet(tmp_path):
    path = tmp_path / "result.json"
    assert lab("scenario", "swap", "--pmd", "af_packet", "--json", str(path)).returncode == 0
    assert json.loads(path.read_text())["broken"] == 0


def sabotage(name):
    """The result of tests/lab/sabotage.py, which must have failed."""
    done = subprocess.run(
        [sys.executable, "-B", TREE / "tests/lab/sabotage.py", name], env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert not result["passed"]
    return result


def test_load_detects_directors_that_disagree():
    result = sabotage("load")
    assert result["broken"] > 20
    assert any(failed.startswith("no connection breaks") for failed in result["failed"])


@pytest.mark.parametrize("name, expectations", [
    ("ecmp", ["the director no longer uses it", "the flows of spine-3 move", "no connection breaks"]),
    ("on-link", ["each proxy on the link has its own MAC address", "proxy-2 gets its packets one way"]),
    ("unnumbered", ["no packet had no next hop"]),
    ("haproxy", ["every reload took effect", "no proxy sends an RST", "no connection breaks"]),
    ("fail-and-return", ["hardly any connection breaks", "the same breaks far more"]),
])
def test_scenarios_detect_what_is_done_wrong(name, expectations):
    failed = sabotage(name)["failed"]
    for expectation in expectations:
        assert any(each.startswith(expectation) for each in failed), failed


def test_lab_needs_root():
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", LAB, "up"], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "lab: network namespaces need root: run this command as root\n")


@pytest.mark.parametrize("arguments, says", [
    (["scenario", "nonsense"], "there is no scenario 'nonsense'"),
    (["scenario", "swap", "--json", "/nowhere/result.json"], "--json: /nowhere/result.json: No such file or directory"),
    (["scenario", "bgp", "--announce", "bird"], "--announce: scenario 'bgp' stops and freezes BIRD itself"),
    (["scenario", "swap", "--previous", "/nowhere"], "--previous: scenario 'swap' upgrades nothing"),
    (["scenario", "upgrade", "--previous", "/nowhere"], "/nowhere/src/director/glb-director is missing"),
    (["scenario", "swap", "--seconds", "5"], "--seconds: scenario 'swap' has no wait that can be set"),
    (["scenario", "swap", "--reloads", "5"], "--reloads: scenario 'swap' makes no reloads"),
    (["exec", "client", "true"], "is not up"),
])
def test_errors_name_the_offender(arguments, says):
    if arguments[0] == "exec":
        arguments = ["exec", "--name", new_mark(), *arguments[1:]]
    done = lab(*arguments)
    assert done.returncode == 1
    assert says in done.stderr


@pytest.mark.parametrize("arguments, says", [
    (["up", "--name", "two words"], "argument --name: 'two words' is not a name of 1 to 64 letters"),
    ([], "usage: lab/lab up|down|status|shell|exec|forward|demo|scenario|list "),
    (["nonsense"], "(choose from 'up', 'shell', 'exec', 'forward', 'down', 'status', 'list', 'demo', 'scenario')"),
])
def test_usage_errors(arguments, says):
    done = lab(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_missing_tool_is_named(tmp_path):
    for tool in ("unshare", "mount", "ip"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    done = subprocess.run(
        [sys.executable, "-B", LAB, "up", "--name", new_mark()], env={**environment(), "PATH": str(tmp_path)},
        capture_output=True, text=True)
    assert done.returncode == 1
    assert "lab: bpftool is missing: run script/bootstrap" in done.stderr


def test_missing_program_is_named():
    done = subprocess.run(
        [LAB, "up", "--name", new_mark()], env={**environment(), "GLB_BUILD": "/nowhere"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "/nowhere/src/director/glb-director is missing: run script/bootstrap and script/build" in done.stderr
