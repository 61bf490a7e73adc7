# SPDX-License-Identifier: BSD-3-Clause
"""The alert rules, and a fleet of time series for promtool.

A fleet is {series: values} in promtool's notation, one value for each minute. The fleets last LENGTH minutes.
"""

import json
import re
import subprocess

from support.tree import TREE

RULES = TREE / "packaging/prometheus/glb.rules.yml"
LENGTH = 80  # minutes: longer than each alert's range and `for` together
DAY_S = 86400

DIRECTORS, PROXIES, LCORES = ("d1", "d2", "d3"), ("p1", "p2"), ("1", "2")
STATES = ("starting", "ok", "degraded", "failing", "stopping")
BUCKETS = ("1e-06", "0.001024", "0.008192", "0.016384", "1.048576", "+Inf")


def alerts():
    """{name: text of the rule}"""
    parts = re.split(r"^      - alert: (\w+)\n", RULES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def names(expression):
    """The metrics of the project in a query or a rule."""
    return set(re.findall(r"\bglb_(?:director|healthcheck|redirect|fleet)_\w+", expression))


def selections(expression):
    """{(metric, label, value)} that a query or a rule selects. Values of variables, and those that it does not want, are left out."""
    return {(metric, label, value) for metric, selectors in re.findall(r"\b(glb_\w+)\{([^}]*)\}", expression)
            for label, values in re.findall(r'(\w+)=~?"([^"$]+)"', selectors) for value in values.split("|")}


def steady(value):
    return f"{value}x{LENGTH}"


def growing(per_minute, start=0):
    return f"{start}+{per_minute}x{LENGTH}"


def listed(values):
    """The notation of single values, of which None is missing."""
    return " ".join("_" if value is None else str(value) for value in values)


def series(metric, instance, **labels):
    job = "glb-" + metric.split("_")[1] if metric != "up" else labels.pop("job")
    pairs = {"job": job, "instance": instance, "fleet": "main", **labels}
    return "%s{%s}" % (metric, ", ".join(f'{name}="{value}"' for name, value in pairs.items()))


def director(name, digest="8f1d3a5c7e9b0d2f", first_hops="5a7c9e1b3d5f7082"):
    """The series of a director that forwards."""
    def one(metric, values, **labels):
        return {series(f"glb_director_{metric}", name, **labels): values}

    found = {series("up", name, job="glb-director"): steady(1)}
    found |= one("start_timestamp_seconds", steady(-DAY_S))
    for state in STATES:
        found |= one("health_state", steady(int(state == "ok")), state=state)
    found |= one("table_info", steady(1), digest=digest, first_hops=first_hops, format="version 3", path="/var/lib/glb/forwarding_table.bin")
    # A reload each half hour.
    found |= one("table_generation", " ".join(f"{4 + half}x29" for half in range(LENGTH // 30 + 1)))
    found |= one("table_loaded_timestamp_seconds", steady(-3600))
    found |= one("reload_failed", steady(0))
    found |= one("table_usable_backends", steady(2), table="web")
    found |= one("received_packets_total", growing(60000))
    for reason in ("no_next_hop", "no_buffer", "tx_full", "unmatched"):
        found |= one("dropped_packets_total", steady(7), reason=reason)
    found |= one("port_rx_missed_packets_total", steady(3), port="0") | one("port_rx_no_mbuf_packets_total", steady(0), port="0")
    found |= one("next_hops_unreachable", steady(0), device="all") | one("backends_without_next_hop", steady(0), device="all")
    for lcore in LCORES:
        found |= one("lcore_busy_seconds_total", growing(18), lcore=lcore)
        for bucket in BUCKETS:
            found |= one("lcore_poll_gap_seconds_bucket", growing(100 if bucket == "1e-06" else 1000), lcore=lcore, le=bucket)
    return found


def healthcheck(name):
    def one(metric, values, **labels):
        return {series(f"glb_healthcheck_{metric}", name, **labels): values}

    found = {series("up", name, job="glb-healthcheck"): steady(1)}
    for metric in ("write_failing", "reload_failing", "director_stale", "src_bad", "trust_bad", "checks_frozen"):
        found |= one(metric, steady(0))
    found |= one("table_panic", steady(0), table="web") | one("stalled_seconds_total", steady(2))
    for backend in PROXIES:
        found |= one("backend_healthy", steady(1), table="web", backend=backend)
        found |= one("check_tls_expiry_timestamp_seconds", steady(60 * DAY_S), check=f"https {backend}:443/")
    return found


def proxy(name):
    def one(metric, values, **labels):
        return {series(f"glb_redirect_{metric}", name, **labels): values}

    found = {series("up", name, job="glb-redirect"): steady(1)} | one("interfaces", steady(1))
    for metric, value in (("attached", 1), ("open_to_any_sender", 0), ("tc_program_attached", 1)):
        found |= one(metric, steady(value), interface="eth0")
    for result in ("accepted_established", "drop_source", "drop_next_hop", "syn_cookie_sent"):
        found |= one("packets_total", growing(6000) if "accepted" in result else steady(9), interface="eth0", result=result)
    found |= one("lost_packets_total", steady(2), interface="eth0", by="kernel")
    found |= one("listener_queue_used_ratio", steady(0.1), address="203.0.113.10", port="80")
    return found | one("listen_overflows_total", steady(4)) | one("syn_cookies_sent_total", steady(4))


def agent(name):
    """glb-fleet with etcd, which has a table and no roll-out."""
    values = {"connected": 1, "watch": 1, "published": 1, "director_answers": 1, "revision_used": 1204, "revision_seen": 1204}
    zeros = ("table_refused", "table_failing", "table_missing", "table_unconfirmed", "unconnected_seconds", "leads",
             "rollout_active", "rollout_paused", "rollout_stopped")
    found = {series("up", name, job="glb-fleet"): steady(1)}
    return found | {series(f"glb_fleet_{metric}", name): steady(value) for metric, value in (values | dict.fromkeys(zeros, 0)).items()}


def fleet():
    parts = [*(make(each) for make in (director, healthcheck, agent) for each in DIRECTORS), *(proxy(each) for each in PROXIES)]
    return {name: values for found in parts for name, values in found.items()}


def without(found, *parts):
    """The fleet without the series that have all these parts in their names."""
    return {name: values for name, values in found.items() if not all(part in name for part in parts)}


def case(name, found, expected, at=LENGTH, query='count by (alertname) (ALERTS{alertstate="firing"})'):
    """A test for promtool: exactly these alerts fire after `at` minutes. `expected` is {alert: number of alerts}."""
    return {
        "name": name, "interval": "1m",
        "input_series": [{"series": series_name, "values": values} for series_name, values in found.items()],
        "promql_expr_test": [{
            "expr": query, "eval_time": f"{at}m",
            "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": count} for alert, count in expected.items()]}]}


def promtool(folder, cases):
    """Runs the cases. Returns the output, which is empty if all succeed."""
    path = folder / "rules.test.yml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": cases}))
    done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True)
    assert done.returncode in (0, 1)
    return "" if done.returncode == 0 else done.stdout + done.stderr
