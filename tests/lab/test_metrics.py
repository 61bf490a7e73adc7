# SPDX-License-Identifier: BSD-3-Clause
"""lab/lab up --metrics: a real Prometheus scrapes a lab, loads the shipped alerts, and answers the queries of the dashboard."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from lab.tools import TIMEOUT_S, wait_until
from lab_process import LAB, assert_nothing_left, environment, lab, new_mark, start
from support.alerts import alerts, names, selections
from support.grafana import Prometheus, dashboard, queries, with_variables
from support.ports import reserved_port
from support.tree import CLI, REDIRECT, TREE

VALUES = {"fleet": ".*", "director": ".*", "proxy": ".*", "__rate_interval": "10s"}
# Alerts about the machine on which the test runs. Its load can stop the lcores of a lab.
MACHINE = {"GlbLcoreStalls", "GlbLcoreBusy", "GlbDirectorMissesPackets", "GlbChecksNotRun"}
# Metrics that a healthy lab has no series of: reasons of the health, and certificates.
ABSENT = {"glb_director_health_reason", "glb_healthcheck_check_tls_expiry_timestamp_seconds"}
# The lab has no etcd: tests/fleet/test_fleet_metrics.py compares the metrics of glb-fleet. Panels that are empty if nothing is wrong, or until something happens.
EMPTY = {"Roll-outs", "Revisions in use", "Agents of etcd", "Alerts", "Why directors are not ok", "Packets dropped, by reason", "Exception path", "Probes by result", "Reloads", "Packets of directors, by result"}


class Monitored:
    """A lab, and its Prometheus by `lab/lab forward`."""

    def __init__(self, *options):
        self.name, self.mark = new_mark(), new_mark()
        done = lab("up", "--name", self.name, "--healthcheck", "--metrics", "--directors", "2", "--proxies", "2", *options, mark=self.mark)
        assert (done.returncode, done.stderr) == (0, "")
        self.says = done.stdout
        with reserved_port() as local:
            self.forward = start([LAB, "forward", "--name", self.name, "monitor", "9090", "--local", str(local)], self.mark)
            assert self.forward.stdout.readline().startswith(f"http://127.0.0.1:{local}/ is port 9090 of monitor")
        self.prometheus = Prometheus(f"http://127.0.0.1:{local}")

    def wait_targets(self):
        expected = {(job, f"{host}:{port}") for job, port, kind in (
            ("glb-director", 19520, "director"), ("glb-healthcheck", 19521, "director"), ("glb-redirect", 19522, "proxy"))
            for host in (f"{kind}-1", f"{kind}-2")}
        # Prometheus takes new targets after 5 s. A rate needs two scrapes.
        wait_until(lambda: self.targets() == dict.fromkeys(expected, ("up", "")), lambda: f"all targets: {self.targets()}")

    def on(self, host, *command):
        done = lab("exec", "--name", self.name, host, *command)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def fleet(self, *hosts):
        """[[level, check, object, text]] of `doctor --fleet` on the monitor."""
        done = lab("exec", "--name", self.name, "monitor", CLI, "doctor", "--fleet", "--json", *hosts)
        assert done.stderr == "" and done.returncode in (0, 1, 2), done.stderr
        return [[each[key] for key in ("level", "check", "object", "text")] for each in json.loads(done.stdout)["findings"]]

    def targets(self):
        """{(job, instance): (health, error)}"""
        return {(each["labels"]["job"], each["labels"]["instance"]): (each["health"], each["lastError"])
                for each in self.prometheus.get("targets", state="active")["activeTargets"]}

    def alerts(self):
        """{alert: [labels]} of those that are pending or firing."""
        found = {}
        for each in self.prometheus.get("alerts")["alerts"]:
            found.setdefault(each["labels"]["alertname"], []).append(each["labels"])
        return {name: labels for name, labels in found.items() if name not in MACHINE}

    def close(self):
        lab("down", "--name", self.name)
        assert self.forward.communicate(timeout=TIMEOUT_S)[1] == ""
        assert_nothing_left(self.mark)


@pytest.fixture(scope="module")
def monitored():
    made = Monitored()
    try:
        for url in ("http://203.0.113.10/", "http://[2001:db8:f::10]/"):
            made.on("client", "curl", "-s", url)
        made.wait_targets()
        wait_until(lambda: len(made.prometheus.instant("rate(glb_redirect_listen_overflows_total[10s])")) == 2, "two scrapes")
        yield made
    finally:
        made.close()


def test_up_tells_how_to_look_at_it(monitored):
    pages = r"page of director-1: http://127\.0\.0\.1:\d+/\npage of its health checks: http://127\.0\.0\.1:\d+/\n"
    assert re.sub(pages, "", monitored.says) == (
        "up: client, director-1, director-2, monitor, proxy-1, proxy-2, router\n"
        f"Prometheus: run `lab/lab forward --name {monitored.name} monitor 9090`, and open http://127.0.0.1:9090/alerts in a browser\n")
    assert "monitor      192.0.2.254     Prometheus on port 9090\n" in lab("status", "--name", monitored.name).stdout
    query = ("promtool", "query", "instant", "http://127.0.0.1:9090", "glb_director_health_state == 1")
    wait_until(lambda: monitored.on("monitor", *query).count('state="ok"') == 2, "two directors that are ok")


def test_the_exporter_gives_the_preflight_nothing_to_change(monitored):
    assert monitored.on("proxy-1", "glb-redirect", "check", "eth0").endswith("eth0: 0 failures, 0 warnings\n")


def test_all_rules_are_loaded_and_no_alert_is_pending_in_a_healthy_lab(monitored):
    rules = [rule for group in monitored.prometheus.get("rules")["groups"] for rule in group["rules"]]
    wait_until(lambda: all(rule["health"] == "ok" for group in monitored.prometheus.get("rules")["groups"] for rule in group["rules"]), "all rules")
    assert sorted({rule["name"] for rule in rules}) == sorted(alerts())
    # On a busy machine, checks may time out for a while.
    wait_until(lambda: monitored.alerts() == {}, lambda: f"no alert: {monitored.alerts()}")


def test_every_metric_of_alerts_and_dashboard_is_exported(monitored):
    used = set().union(*(names(rule.split("        for:")[0]) for rule in alerts().values()), *(names(target["expr"]) for _, target in queries(dashboard())))
    exported = set(monitored.prometheus.get("label/__name__/values"))
    assert sorted(name for name in used - exported - ABSENT if not name.startswith("glb_fleet_")) == []
    families = set(monitored.prometheus.get("metadata"))
    assert sorted(name for name in ABSENT & used if name not in families) == []


def test_every_label_of_alerts_and_dashboard_has_a_series(monitored):
    wanted = set().union(*map(selections, alerts().values()), *(selections(target["expr"]) for _, target in queries(dashboard())))
    assert len(wanted) >= 18
    assert [each for each in sorted(wanted) if not monitored.prometheus.instant('%s{%s="%s"}' % each)] == []


def test_every_query_of_the_dashboard_has_a_result(monitored):
    def empty():
        return {panel["title"] for panel, target in queries(dashboard())
                if not monitored.prometheus.instant(with_variables(target["expr"], VALUES))}

    wait_until(lambda: empty() <= EMPTY, lambda: f"results of {empty() - EMPTY}")  # a rate needs two scrapes in 10 s


def test_the_dashboard_is_drawn_from_its_own_queries(monitored, tmp_path):
    page = tmp_path / "dashboard.html"
    subprocess.run([TREE / "script/dashboard", monitored.prometheus.url, page, "--seconds", "30"], check=True)
    drawn = page.read_text()
    for title in ("Health of the directors", "Gaps between two polls", "Packets kept, by hop"):
        panel = drawn.split(f"<h2>{title}</h2>")[1].split("</div>")[0]
        assert panel.startswith("<svg") and "no data" not in panel, title
    assert "<td style=\"color:#24292e\">director-2:19520</td>" in drawn


HOSTS = ("director-1", "director-2", "proxy-1", "proxy-2")


def test_doctor_finds_that_the_fleet_fits_together(monitored):
    found = monitored.fleet(*HOSTS)
    assert [each for each in found if each[0] != "ok"] == []
    expected = [("reachable", host) for host in HOSTS] + [("health", host) for host in HOSTS[:2]] + [("digests", "")]
    expected += [("versions", "")] * 2 + [(check, host) for check in ("attached", "senders") for host in HOSTS[2:]] + [("underlay", "")]
    assert [(check, name) for _, check, name, _ in found] == expected


def faults(monitored):
    return [each for each in monitored.fleet(*HOSTS) if each[0] != "ok"]


@pytest.fixture(scope="module")
def mended(monitored):
    """The findings of `doctor --fleet` about three faults, which are mended again, and the addresses of the hosts."""
    def shell(host, command):
        monitored.on(host, "sh", "-ec", f"cd /run/lab/{host}; {command}")

    def use_table(document):
        shell("director-2", f"{CLI} build-config {document} forwarding_table.bin; {CLI} reload --file-prefix director-2")

    address = {host: re.search(rf"^{host} +(\S+)", lab("status", "--name", monitored.name).stdout, re.MULTILINE)[1] for host in HOSTS}
    shell("director-2", """sed 's/"seed": "./"seed": "0/' forwarding_table.json > other.json""")
    use_table("other.json")
    shell("proxy-1", f"""sed 's|^allow_from.*|allow_from = ["{address['director-1']}"];|' redirect.conf > new; cp redirect.conf old; mv new redirect.conf""")
    monitored.on("proxy-1", REDIRECT, "reload", "eth0")
    monitored.on("proxy-2", REDIRECT, "detach", "eth0")
    # The exporter reads allow_from every 5 s.
    found = wait_until(lambda: (seen := faults(monitored)) and len(seen) == 3 and seen, lambda: f"three faults: {faults(monitored)}")
    use_table("forwarding_table.json")
    shell("proxy-1", f"mv old redirect.conf; {REDIRECT} reload eth0")
    shell("proxy-2", f"{REDIRECT} attach eth0 --config-file redirect.conf")
    return found, address


def test_doctor_finds_each_fault_of_the_fleet(mended):
    (digest, attached, senders), address = mended
    assert digest[:3] == ["fail", "digests", "director-2"] and "1 of 2 directors" in digest[3]
    assert attached[:3] == ["fail", "attached", "proxy-2"] and "run glb-redirect attach" in attached[3]
    assert senders[:3] == ["fail", "senders", "proxy-1"]
    assert f"does not have {address['director-2']}, the source address of director-2" in senders[3]


def test_a_lost_next_hop_raises_its_alert_until_it_is_back(monitored):
    def lost():
        return [(each["instance"], each["lost"], each["severity"]) for each in monitored.alerts().get("GlbNextHopLost", [])]

    # The second way leads to a router that does not exist. The checks of the same host do not take it once the kernel knows.
    monitored.on("director-1", "sysctl", "-qw", "net.ipv4.fib_multipath_use_neigh=1")
    two_ways = "192.0.2.70 nexthop via 192.0.2.5 nexthop via 192.0.2.250 dev eth0 onlink".split()
    monitored.on("director-1", "ip", "route", "add", *two_ways)
    wait_until(lambda: lost() == [("director-1:19520", "next hops", "ticket")], lambda: f"the alert: {monitored.alerts()}")
    monitored.on("director-1", "ip", "route", "del", *two_ways)
    wait_until(lambda: monitored.alerts() == {}, lambda: f"no alert: {monitored.alerts()}")


@pytest.mark.usefixtures("mended")
def test_doctor_finds_no_fault_that_is_mended(monitored):
    wait_until(lambda: not faults(monitored), lambda: f"no fault: {faults(monitored)}")


def test_a_dead_director_raises_its_alert(monitored):
    monitored.on("director-2", "sh", "-c", "kill -9 $(cat director.pid)")
    wait_until(lambda: "GlbDirectorDown" in monitored.alerts(), lambda: f"the alert: {monitored.alerts()}")
    assert [each["instance"] for each in monitored.alerts()["GlbDirectorDown"]] == ["director-2:19520"]


def test_an_ipv6_underlay_is_scraped_too():
    """All programs then listen on IPv6 alone, also for `up` and `lab/lab forward`, which show their pages."""
    made = Monitored("--underlay", "ipv6")
    try:
        made.wait_targets()
        pages = re.findall(r"^page of .*: (http://127\.0\.0\.1:\d+/)$", made.says, re.MULTILINE)
        for page, title in zip(pages, ("glb-director", "glb-healthcheck"), strict=True):
            assert title in subprocess.run(["curl", "-sS", page], capture_output=True, text=True, check=True).stdout
        assert "monitor      2001:db8:b:" in lab("status", "--name", made.name).stdout
        wait_until(lambda: not [each for each in made.fleet(*HOSTS) if each[0] != "ok"], lambda: f"no fault: {made.fleet(*HOSTS)}")
    finally:
        made.close()


def test_a_lab_without_prometheus_says_what_is_missing(tmp_path):
    for folder in os.get_exec_path():
        for tool in os.listdir(folder) if os.path.isdir(folder) else []:
            if tool != "prometheus" and not (tmp_path / tool).exists():
                (tmp_path / tool).symlink_to(shutil.which(tool) or f"{folder}/{tool}")
    name = new_mark()
    done = subprocess.run([sys.executable, "-B", LAB, "up", "--name", name, "--metrics"], env={**environment(), "PATH": str(tmp_path)},
                          capture_output=True, text=True)
    assert done.returncode == 1
    assert "lab: prometheus is missing: run script/bootstrap\n" in done.stderr
    assert "is not up" in lab("status", "--name", name).stderr
