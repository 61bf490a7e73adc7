# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli doctor beside a running director, and on this host: what a copy of a host (tests/cli/test_cli_doctor.py) does not have."""

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from lab.tools import wait_until
from support import traffic
from support.director_conf import CONFIG, write_config
from support.director_process import NOBODY, DirectorProcess, write_table
from support.outputs import check_output
from support.tree import BUILD, CLI

LEVELS = ["ok", "warn", "fail"]
CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text(encoding="ascii").strip()
FAKE_CLOCK = {"LD_PRELOAD": str(BUILD / "tests/driver/fake_clock.so")}
CONF = {**CONFIG, "idle": "sleep", "send_icmp_too_big": True}


class Host:
    """A director on a veth pair, with the files of its unit."""

    def __init__(self, link, folder):
        self.link, self.folder, self.director = link, folder, None
        self.conf = write_config(folder / "director.conf", CONF)
        self.table = write_table(folder / "table.bin", traffic.TABLE)
        for path in (self.table, f"{self.table}.json"):
            os.chmod(path, 0o640)
        os.utime(self.conf, (time.time() - 3600,) * 2)

    def start(self, stack):
        process = DirectorProcess(["net_af_packet0,iface=director"], self.conf, self.table, prefix=self.link.director.command())
        self.director = stack.enter_context(process)
        wait_until(lambda: self.health()["state"] == "ok", lambda: self.director.log)
        return self

    def health(self):
        return self.director.telemetry.ask("/glb/health")

    def report(self, *options, env=None, prefix=()):
        environment = {**(self.director.environment if self.director else os.environ), **FAKE_CLOCK, **(env or {})}
        done = subprocess.run([*self.link.director.command(), *prefix, CLI, "doctor", "--file-prefix", "suite", "--timeout", "5", "--json", *options],
                              capture_output=True, text=True, timeout=60, env=environment)
        assert done.stderr == ""
        report = json.loads(done.stdout)
        check_output("doctor", report)
        assert report["host"] == "this host"
        assert done.returncode == LEVELS.index(report["result"])
        return report["findings"]

    def doctor(self, **how):
        """(level, check, object) of the findings that are not ok. A virtual machine may have a clock source that doctor warns about."""
        self.findings = [each for each in self.report(**how) if each["level"] != "ok" and each["object"] != CLOCK_SOURCE]
        return [(each["level"], each["check"], each["object"]) for each in self.findings]


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def running(shared_link, tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield Host(shared_link, tmp_path_factory.mktemp("director")).start(stack)


@pytest.fixture
def host(running):
    """The director, which all tests share and leave as it was."""
    assert running.doctor() == []
    yield running
    os.utime(running.conf, (time.time() - 3600,) * 2)
    running.link.client.run(*"ip link set client up".split())
    subprocess.run([CLI, "reload", "--file-prefix", "suite"], check=True, capture_output=True, env=running.director.environment)
    wait_until(lambda: not running.doctor(), lambda: running.findings)


def test_a_healthy_director(host):
    assert host.doctor() == []
    texts = {each["check"]: each["text"] for each in host.report()}
    for check in ("iommu", "hugepages", "numa"):
        assert texts[check].startswith("not needed: ") and "no PCI port" in texts[check]
    assert host.director.stats()["digest"] in texts["loaded"]


def test_a_table_that_the_director_has_not_loaded(host):
    document = json.loads(open(f"{host.table}.json").read())
    document["tables"][0]["backends"].append({"ip": "192.168.77.77", "state": "active", "healthy": True})
    write_table(host.table, document)
    assert host.doctor() == [("warn", "loaded", str(host.table))]
    (finding,) = host.findings
    assert finding["command"] == "glb-director-cli reload" and host.director.stats()["digest"] in finding["text"]
    subprocess.run([CLI, "reload", "--file-prefix", "suite"], check=True, env=host.director.environment)
    assert host.doctor() == []


def test_a_reload_that_failed(host):
    good = open(host.table, "rb").read()
    open(host.table, "wb").write(good[:-1])
    subprocess.run([CLI, "reload", "--file-prefix", "suite"], check=False, capture_output=True, env=host.director.environment)
    open(host.table, "wb").write(good)
    # The health has the reason until its next evaluation, at the latest.
    assert ("warn", "loaded", str(host.table)) in host.doctor()
    assert [each["text"] for each in host.findings if each["check"] == "loaded"][0].startswith("the last reload failed, so the director uses an earlier table: ")


def test_a_configuration_that_the_director_has_not_read(host):
    future = time.time() + 30
    os.utime(host.conf, (future, future))
    assert host.doctor() == [("warn", "loaded", str(host.conf))]
    assert host.findings[0]["command"] == "systemctl restart glb-director"


def test_reasons_of_the_health_are_findings(host):
    host.link.client.run(*"ip link set client down".split())
    wait_until(lambda: host.health()["state"] == "failing", lambda: host.health())
    found = host.doctor()
    assert ("fail", "director", "port 0 (net_af_packet0)") in found
    assert ("fail", "ports", "director") in found
    assert any(each["text"].startswith("link_down: ") for each in host.findings)


def test_an_interface_that_merges_packets(host):
    host.link.director.run(*"ethtool -K director gro on".split())
    assert host.doctor() == [("warn", "offloads", "director")]
    assert "GRO merges packets" in host.findings[0]["text"]
    host.link.director.run(*host.findings[0]["command"].split())
    assert host.doctor() == []


def test_an_mtu_below_outbound_mtu(host):
    host.link.director.run(*"ip link set director mtu 1400".split())
    assert ("fail", "mtu", "director") in host.doctor()
    (command,) = [each["command"] for each in host.findings if each["check"] == "mtu"]
    host.link.director.run(*command.split())
    wait_until(lambda: not host.doctor(), lambda: host.findings)


def test_a_clock_that_is_not_synchronised(host):
    assert host.doctor(env={"FAKE_CLOCK": "unsynchronised"}) == [("warn", "clock", "")]


def test_another_user_sees_less_and_is_told(host):
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    found = host.doctor(prefix=prefix)
    assert ("warn", "privileges", "") in found
    texts = {each["check"]: each["text"] for each in host.report(prefix=prefix)}
    assert texts["director"] == "not known: this user may not ask the director"


def test_another_file_prefix_is_named(host):
    done = subprocess.run([*host.link.director.command(), CLI, "doctor", "--json"], capture_output=True, text=True, env=host.director.environment)
    texts = {each["check"]: each["text"] for each in json.loads(done.stdout)["findings"]}
    assert texts["director"].startswith("no director runs here with this --file-prefix,")
    assert texts["director"].endswith("there are sockets for --file-prefix suite")


def test_without_a_director(link, tmp_path):
    host = Host(link, tmp_path)
    assert ("warn", "director", "") in host.doctor(env={"RUNTIME_DIRECTORY": str(tmp_path)})


def test_next_hops_that_do_not_reply(link, tmp_path, stack):
    """Half of the proxies have a next hop, and the others none."""
    host = Host(link, tmp_path)
    document = {"tables": [{**traffic.TABLE["tables"][0], "backends": [{"ip": f"192.168.50.{n}", "state": "active", "healthy": True} for n in (1, 2)]}]}
    write_table(host.table, document)
    write_config(host.conf, {**CONF, "outbound_gateway_mac": "auto"})
    os.utime(host.conf, (time.time() - 3600,) * 2)
    link.client.run(*"ip address add 192.168.50.1/24 dev client".split())
    link.director.run(*"ip address add 192.168.50.254/24 dev director".split())
    process = DirectorProcess(["net_af_packet0,iface=director"], host.conf, host.table, prefix=link.director.command())
    host.director = stack.enter_context(process)
    wait_until(lambda: host.health()["state"] == "degraded", lambda: host.health())
    assert ("fail", "next_hops", "all") in host.doctor()
    assert "1 of 2 proxies have no reachable next hop" in [each["text"] for each in host.findings if each["check"] == "next_hops"][0]


def test_an_interface_that_loses_its_link_local_address(link, tmp_path, stack):
    """At first the director still has its next hop. Once the kernel forgets it, the kernel does not look for it."""
    host = Host(link, tmp_path)
    document = {"tables": [{**traffic.TABLE["tables"][0], "backends": [{"ip": "2001:db8:50::1", "state": "active"}]}]}
    write_table(host.table, document)
    conf = {**CONF, "outbound_gateway_mac": "auto", "outbound_src_ip6": "2001:db8:50::d"}
    write_config(host.conf, conf)
    os.utime(host.conf, (time.time() - 3600,) * 2)
    link.client.run(*"ip address add 2001:db8:50::1/64 dev client".split())
    process = DirectorProcess(["net_af_packet0,iface=director"], host.conf, host.table, prefix=link.director.command())
    host.director = stack.enter_context(process)
    link.director.run(*"ip address add 2001:db8:50::d/64 dev director".split())
    link.director.run(*"ip address replace fe80::d/64 dev director".split())
    wait_until(lambda: host.health()["state"] == "ok", lambda: host.health())
    assert [each for each in host.doctor() if each[1] == "next_hops"] == []
    link.director.run(*"ip -6 address flush dev director scope link".split())
    assert ("warn", "next_hops", "director") in host.doctor()
    link.director.run(*"ip -6 neigh flush dev director".split())
    wait_until(lambda: host.health()["state"] == "failing", lambda: host.health())
    assert {("fail", "next_hops", "all"), ("fail", "next_hops", "director")} <= set(host.doctor())


def test_the_metrics_of_a_running_director(link, tmp_path, stack):
    """--fleet finds what it needs on the page of a real director."""
    link.director.run(*"ip link set lo up".split())
    config = {**CONF, "metrics": "127.0.0.1:19520"}
    table = write_table(tmp_path / "table.bin", traffic.TABLE)
    director = stack.enter_context(DirectorProcess(["net_af_packet0,iface=director"], config, table, prefix=link.director.command()))
    wait_until(lambda: director.telemetry.ask("/glb/health")["state"] == "ok", lambda: director.log)
    command = [*link.director.command(), CLI, "doctor", "--fleet", "127.0.0.1", "--timeout", "5"]
    ask = lambda: subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    done = wait_until(lambda: (done := ask()).returncode == 0 and done, lambda: ask().stdout)
    text = " ".join(done.stdout.split())
    assert f"digests: 1 director: digest {director.stats()['digest']}" in text and "ok health: 127.0.0.1: ok" in text
    page = link.director.run("curl", "-s", "http://127.0.0.1:19520/metrics").stdout
    assert f'glb_director_source_info{{address="{CONF["outbound_src_ip"]}"}} 1' in page
