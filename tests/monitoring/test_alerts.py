# SPDX-License-Identifier: BSD-3-Clause
"""Each alert fires on its fault and on nothing else, and a healthy fleet, a restart and missing metrics are silent. Runs promtool."""

import re
import subprocess

import pytest

from support.alerts import (
    DAY_S, DIRECTORS, LENGTH, RULES, agent, alerts, case, director, fleet, growing, healthcheck, listed, names, promtool, series, steady, without)
from support.pages import block
from support.tree import TREE

EVER = f'count by (alertname) (count_over_time(ALERTS{{alertstate="firing"}}[{LENGTH}m]))'


def changed(*changes):
    """A healthy fleet in which these series, [(metric, instance, labels, values)], have other values."""
    found = fleet()
    for metric, instance, labels, values in changes:
        name = series(metric, instance, **labels)
        assert name in found or "cause" in labels or "digest" in labels, f"the fleet has no {name}"
        found[name] = values
    return found


def state(instance, name):
    return [("glb_director_health_state", instance, {"state": each}, steady(int(each == name))) for each in ("ok", name)]


def gone(job, *instances):
    """These programs do not reply, so only `up` is left of their series."""
    found = fleet()
    for instance in instances:
        found = without(found, f'job="{job}"', f'instance="{instance}"') | {series("up", instance, job=job): steady(0)}
    return found


def other_table(instance, **labels):
    """A healthy fleet in which the table of this director has other labels. None: no such label."""
    found, table = fleet(), "glb_director_table_info"
    old = next(name for name in found if name.startswith(table) and f'instance="{instance}"' in name)
    new = dict(re.findall(r'(\w+)="([^"]*)"', old)) | labels
    del found[old]
    return found | {series(table, **{name: value for name, value in new.items() if value and name not in ("job", "fleet")}): steady(1)}


def only(instance, **metrics):
    """These metrics of an agent."""
    return {series(f"glb_fleet_{name}", instance): steady(value) for name, value in metrics.items()}


def agents(instance, **metrics):
    """A healthy fleet in which the agent on this director has other values."""
    other = only(instance, **metrics)
    assert other.keys() <= fleet().keys()
    return fleet() | other


def older(found):
    """The same fleet with directors of a version that does not tell first_hops."""
    return {re.sub(', first_hops="[^"]*"', "", name): values for name, values in found.items()}


FAULTS = {
    "GlbTooFewDirectors": (changed(*state("d1", "failing"), *state("d2", "starting")), {"GlbTooFewDirectors": 1, "GlbDirectorFailing": 2}),
    "GlbTooFewDirectors, all are down": (gone("glb-director", "d1", "d2", "d3"), {"GlbTooFewDirectors": 1, "GlbDirectorDown": 3}),
    "GlbDirectorDown": (gone("glb-director", "d2"), {"GlbDirectorDown": 1}),
    "GlbDirectorFailing": (changed(*state("d3", "failing")), {"GlbDirectorFailing": 1}),
    "GlbDirectorFailing, it never starts": (changed(*state("d3", "starting")), {"GlbDirectorFailing": 1}),
    "GlbDirectorDegraded": (
        changed(*state("d1", "degraded"),
                ("glb_director_health_reason", "d1", {"cause": "mtu_too_small", "severity": "degraded", "object": "port 0"}, steady(1)),
                ("glb_director_health_reason", "d1", {"cause": "mtu_too_small", "severity": "degraded", "object": "port 1"}, steady(1))),
        {"GlbDirectorDegraded": 1}),
    "GlbDirectorIdle": (changed(("glb_director_received_packets_total", "d1", {}, steady(4711))), {"GlbDirectorIdle": 1}),
    "GlbDirectorDrops": (
        changed(("glb_director_dropped_packets_total", "d1", {"reason": "tx_full"}, growing(600)),
                ("glb_director_dropped_packets_total", "d1", {"reason": "no_next_hop"}, growing(300))), {"GlbDirectorDrops": 2}),
    "GlbDirectorMissesPackets": (
        changed(("glb_director_port_rx_missed_packets_total", "d2", {"port": "0"}, growing(600))), {"GlbDirectorMissesPackets": 1}),
    "GlbNextHopLost": (
        changed(("glb_director_next_hops_unreachable", "d1", {"device": "all"}, steady(1)),
                ("glb_director_backends_without_next_hop", "d1", {"device": "all"}, steady(2)),
                ("glb_director_health_reason", "d1", {"cause": "no_next_hop", "severity": "degraded", "object": "all"}, steady(1))),
        {"GlbNextHopLost": 2}),
    "GlbLcoreStalls": (
        changed(*(("glb_director_lcore_poll_gap_seconds_bucket", "d1", {"lcore": "2", "le": le}, growing(1001)) for le in ("0.016384", "1.048576", "+Inf"))),
        {"GlbLcoreStalls": 1}),
    "GlbLcoreBusy": (changed(("glb_director_lcore_busy_seconds_total", "d1", {"lcore": "1"}, growing(57))), {"GlbLcoreBusy": 1}),
    "GlbDirectorsDisagree": (
        other_table("d3", digest="0000000000000001", first_hops="0000000000000002"), {"GlbDirectorsDisagree": 1}),
    "GlbDirectorsDisagree, all are of an older version": (older(other_table("d3", digest="0000000000000001")), {"GlbDirectorsDisagree": 1}),
    "GlbDirectorsDisagree, one is of an older version": (other_table("d3", digest="0000000000000001", first_hops=None), {"GlbDirectorsDisagree": 1}),
    "GlbDirectorsDisagree, a fleet without the label": (
        {name.replace(', fleet="main"', ""): values for name, values in other_table("d3", first_hops="0000000000000002").items()},
        {"GlbDirectorsDisagree": 1}),
    "GlbDirectorMissesReloads": (
        changed(("glb_director_table_generation", "d2", {}, steady(4)),
                *(("glb_director_table_generation", each, {}, growing(1)) for each in ("d1", "d3"))), {"GlbDirectorMissesReloads": 1}),
    "GlbReloadFailed": (
        changed(("glb_director_reload_failed", "d2", {}, steady(1)), *state("d2", "degraded"),
                ("glb_director_health_reason", "d2", {"cause": "reload_failed", "severity": "degraded", "object": "x"}, steady(1))),
        {"GlbReloadFailed": 1}),
    "GlbTableOld": (changed(("glb_director_table_loaded_timestamp_seconds", "d2", {}, steady(-31 * DAY_S))), {"GlbTableOld": 1}),
    "GlbNoGoodProxy": (
        changed(("glb_director_table_usable_backends", "d1", {"table": "web"}, steady(0)),
                ("glb_director_health_reason", "d1", {"cause": "no_good_backend", "severity": "failing", "object": "x"}, steady(1))),
        {"GlbNoGoodProxy": 1}),
    "GlbHealthcheckPanic": (
        changed(*(("glb_healthcheck_table_panic", each, {"table": "web"}, steady(1)) for each in ("d1", "d2"))), {"GlbHealthcheckPanic": 1}),
    "GlbTableStuck": (
        changed(("glb_healthcheck_write_failing", "d1", {}, steady(1)), ("glb_healthcheck_reload_failing", "d2", {}, steady(1)),
                ("glb_healthcheck_director_stale", "d3", {}, steady(1))), {"GlbTableStuck": 3}),
    "GlbHealthcheckInputRefused": (
        changed(("glb_healthcheck_src_bad", "d1", {}, steady(1)), ("glb_healthcheck_trust_bad", "d2", {}, steady(2))),
        {"GlbHealthcheckInputRefused": 2}),
    "GlbChecksNotRun": (
        changed(("glb_healthcheck_checks_frozen", "d1", {}, steady(3)), ("glb_healthcheck_stalled_seconds_total", "d2", {}, growing(10))),
        {"GlbChecksNotRun": 2}),
    "GlbProxyUnhealthy": (
        changed(*(("glb_healthcheck_backend_healthy", each, {"table": "web", "backend": "p2"}, steady(0)) for each in ("d1", "d2", "d3"))),
        {"GlbProxyUnhealthy": 1}),
    "GlbCertificateExpires": (
        changed(*(("glb_healthcheck_check_tls_expiry_timestamp_seconds", each, {"check": "https p1:443/"}, steady(13 * DAY_S)) for each in ("d1", "d2"))),
        {"GlbCertificateExpires": 1}),
    "GlbHealthcheckDown": (gone("glb-healthcheck", "d1"), {"GlbHealthcheckDown": 1}),
    "GlbProxyDetached": (
        without(changed(("glb_redirect_attached", "p1", {"interface": "eth0"}, steady(0)), ("glb_redirect_interfaces", "p2", {}, steady(0))),
                'instance="p2"', "interface="), {"GlbProxyDetached": 2}),
    "GlbAcceptQueueFull": (
        changed(("glb_redirect_listener_queue_used_ratio", "p1", {"address": "203.0.113.10", "port": "80"}, steady(0.9)),
                ("glb_redirect_listen_overflows_total", "p2", {}, growing(12))), {"GlbAcceptQueueFull": 2}),
    "GlbProxyDrops": (
        changed(("glb_redirect_packets_total", "p1", {"interface": "eth0", "result": "drop_source"}, growing(120)),
                ("glb_redirect_lost_packets_total", "p2", {"interface": "eth0", "by": "kernel"}, growing(120))), {"GlbProxyDrops": 2}),
    "GlbProxyOpen": (
        changed(("glb_redirect_open_to_any_sender", "p1", {"interface": "eth0"}, steady(1)),
                ("glb_redirect_tc_program_attached", "p2", {"interface": "eth0"}, steady(0))), {"GlbProxyOpen": 2}),
    "GlbSynCookies": (
        changed(("glb_redirect_syn_cookies_sent_total", "p1", {}, growing(700)),
                ("glb_redirect_packets_total", "p2", {"interface": "eth0", "result": "syn_cookie_sent"}, growing(700))), {"GlbSynCookies": 2}),
    "GlbExporterDown": (gone("glb-redirect", "p2"), {"GlbExporterDown": 1}),
    "GlbFleetDisagrees": (agents("d2", revision_used=1203), {"GlbFleetDisagrees": 1}),
    "GlbFleetDisagrees, a table that is not from etcd": (agents("d2", revision_used=0), {"GlbFleetDisagrees": 1}),
    "GlbFleetDisagrees, a roll-out is paused": (agents("d1", rollout_active=1, rollout_paused=1, revision_used=1203), {"GlbFleetDisagrees": 1}),
    "GlbFleetDisagrees, an agent without etcd still sees a roll-out": (
        agents("d3", revision_used=1203, connected=0, watch=0, published=0, rollout_active=1), {"GlbFleetDisagrees": 1, "GlbFleetWithoutEtcd": 1}),
    "GlbFleetWithoutEtcd": (
        agents("d1", connected=0, watch=0, published=0, unconnected_seconds=900) | only("d2", watch=0) | only("d3", published=0), {"GlbFleetWithoutEtcd": 3}),
    "GlbFleetTableRefused": (agents("d1", table_refused=1) | only("d2", table_failing=1), {"GlbFleetTableRefused": 2}),
    "GlbFleetTableLost": (agents("d1", table_missing=1) | only("d2", table_missing=1), {"GlbFleetTableLost": 1}),
    "GlbFleetTableLost, etcd went back": (agents("d1", table_unconfirmed=1, table_refused=1), {"GlbFleetTableLost": 1}),
    "GlbRolloutStopped": (
        agents("d1", rollout_active=1, rollout_stopped=1) | only("d2", rollout_active=1, rollout_stopped=1, revision_used=1203), {"GlbRolloutStopped": 1}),
    "GlbRolloutWithoutLeader": (agents("d1", rollout_active=1) | only("d2", rollout_active=1), {"GlbRolloutWithoutLeader": 1}),
    "GlbFleetDown": (gone("glb-fleet", "d3"), {"GlbFleetDown": 1}),
}

SLOW = {"GlbDirectorMissesReloads", "GlbTableOld", "GlbCertificateExpires"}  # these look at an hour, or wait for one


def restarted():
    """d1 stops after 15 minutes, cannot be scraped twice, starts, has an older table for five minutes, and counts from 0."""
    found = fleet()
    for name in director("d1"):
        def over_time(before, after, first=None, gone=None):
            """Values before and after the restart, `first` for the minutes just after it."""
            first = [after] * 5 if first is None else first
            return listed([before] * 15 + [gone] * 2 + first + [after] * (LENGTH - 17 - len(first)))

        if name.startswith("up{"):
            found[name] = over_time(1, 1, gone=0)
        elif 'state="starting"' in name:
            found[name] = over_time(0, 0, first=[1])
        elif 'state="ok"' in name:
            found[name] = over_time(1, 1, first=[0])
        elif "_total{" in name or "_bucket{" in name:
            rate = next((rate for key, rate in (("received", 60000), ("busy", 18), ("bucket", 1000)) if key in name), 0)
            found[name] = listed([900000 + rate * minute for minute in range(15)] + [None] * 2 + [rate * minute for minute in range(LENGTH - 17)])
        elif "start_timestamp" in name:
            found[name] = over_time(-DAY_S, 17 * 60)
        elif "generation" in name:
            found[name] = over_time(4, 1)
        elif "table_info" in name:
            found[name] = over_time(1, 1, first=[None] * 5)
            found[name.replace("8f1d3a5c7e9b0d2f", "0000000000000001")] = listed([None] * 17 + [1] * 5)
    return found


def added():
    """d1 is added after a quarter of an hour. The others load a table each minute, and d1 has its first one."""
    found = fleet()
    for each in DIRECTORS[1:]:
        found[series("glb_director_table_generation", each)] = growing(1)
    for name in director("d1"):
        rate = 60000 if "received" in name else 1000 if "_bucket{" in name else 0
        value = 15 * 60 if "start_timestamp" in name or "loaded" in name else int('="ok"' in name or "info" in name or name.startswith("up{"))
        value = 2 if "usable" in name else value
        found[name] = listed([None] * 15 + [value + rate * minute for minute in range(LENGTH - 15)])
    return found


QUIET = {
    "a healthy fleet": fleet(),
    "one director alone": {**director("d1"), **healthcheck("d1")},
    "a fleet without the label": {name.replace(', fleet="main"', ""): values for name, values in fleet().items()},
    "a director restarts": restarted(),
    "a director is added": added(),
    "a roll-out that a director follows slowly": agents("d1", rollout_active=1, leads=1) | only("d2", rollout_active=1, revision_used=1203),
    "a roll-out that is paused": agents("d1", rollout_active=1, rollout_paused=1),
    "an agent without etcd has seen a roll-out that stopped": {
        name: values if 'instance="d3"' not in name or "rollout" not in name else steady(1)
        for name, values in fleet().items() if not ('instance="d3"' in name and "glb_fleet" in name and "rollout" not in name)},
    "a director that does not reply to its agent": agents("d2", director_answers=0, revision_used=0),
    "one agent alone": agent("d1"),
    "no agents": {name: values for name, values in fleet().items() if "glb-fleet" not in name},
    "two fleets with etcd of their own": {
        **agent("d1"), **{name.replace('fleet="main"', 'fleet="other"'): steady(77) if "revision" in name else values for name, values in agent("d2").items()}},
    "no traffic": {name: steady(0) if "_total{" in name else values for name, values in fleet().items()},
    "metrics are missing": {name: values for name, values in fleet().items() if name.startswith("up{") or "health_state{" in name},
    "two fleets with different tables": {
        **{name: values for name, values in director("d1").items()},
        **{name.replace('fleet="main"', 'fleet="other"'): values for name, values in director("d2", digest="0000000000000001").items()}},
    "a director saw a failure that the others did not see": other_table("d3", digest="0000000000000001"),
    "directors of an older version": older(fleet()),
    "one director is of an older version": other_table("d3", first_hops=None),
    "another fleet has an older version": {
        **other_table("d3", digest="0000000000000001"),
        **{name.replace('fleet="main"', 'fleet="other"'): values for name, values in older(director("d4")).items()}},
    "drops that attackers cause": changed(("glb_director_dropped_packets_total", "d1", {"reason": "unmatched"}, growing(50000))),
}


def test_each_alert_fires_on_its_fault_alone(tmp_path):
    cases = [case(name, found, expected, at=LENGTH if name in SLOW else 25) for name, (found, expected) in FAULTS.items()]
    assert promtool(tmp_path, cases) == ""
    assert {name.split(",")[0] for name in FAULTS} == set(alerts()), "alerts without a fault"


def test_quiet_fleets_are_silent_at_every_moment(tmp_path):
    assert promtool(tmp_path, [case(name, found, {}, query=EVER) for name, found in QUIET.items()]) == ""


def test_no_alert_fires_before_its_time(tmp_path):
    """A fault that lasts a minute wakes nobody."""
    short = [case(name, found, {}, at=1) for name, (found, _) in FAULTS.items()]
    assert promtool(tmp_path, short) == ""


def test_counters_that_start_again_raise_no_alert(tmp_path):
    """All counters of all directors fall to 0 at once."""
    def after_reset(name, values):
        rate = 60000 if "received" in name else 0
        restarts = any(part in name for part in ("received", "dropped", "missed", "no_mbuf", "stalled", "glb_redirect_packets", "overflows", "cookies", "lost"))
        return f"900000+{rate}x15 0+{rate}x{LENGTH - 16}" if restarts else values

    found = {name: after_reset(name, values) for name, values in fleet().items()}
    assert promtool(tmp_path, [case("reset", found, {}, query=EVER)]) == ""


def test_promtool_accepts_the_rules_and_the_example(tmp_path):
    example = tmp_path / "prometheus.yml"
    example.write_text((TREE / "packaging/prometheus/prometheus.yml").read_text().replace("/usr/share/glb/prometheus", str(RULES.parent)))
    for arguments in (["check", "rules", "--lint-fatal", RULES], ["check", "config", "--lint-fatal", example]):
        done = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_runbooks_can_be_on_a_web_site(tmp_path):
    command = block("docs/howto/monitoring.md", "sed '").replace("/usr/share/glb/prometheus", str(RULES.parent)).replace("/etc/prometheus", str(tmp_path))
    subprocess.run(["sh", "-ec", command], check=True)
    found = re.findall(r"runbook_url: (.*)#", (tmp_path / RULES.name).read_text())
    assert found == ["https://docs.example.com/glb/howto/alerts.html"] * len(alerts())


@pytest.mark.parametrize("name, rule", alerts().items(), ids=list(alerts()))
def test_every_alert_says_what_to_do(name, rule):
    assert re.fullmatch(r"Glb[A-Z][A-Za-z]+", name)
    assert re.findall(r"^        labels: \{severity: (page|ticket)\}$", rule, flags=re.MULTILINE) != []
    assert re.findall(r"^          (\w+): ", rule.split("annotations:")[1], flags=re.MULTILINE) == ["summary", "description", "runbook_url"]
    assert f"runbook_url: file:///usr/share/doc/glb-director/howto/alerts.md#{name.lower()}\n" in rule
    assert re.search(r"^        for: \d+[mh]$", rule, flags=re.MULTILINE), "it has no `for`"
    assert names(rule) or "up{" in rule
