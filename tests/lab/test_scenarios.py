# SPDX-License-Identifier: BSD-3-Clause
"""Runs every scenario of the lab, and checks its result. docs/reference/lab.md lists what each scenario must show."""

import json
import os

import pytest
from lab_process import assert_nothing_left, lab, new_mark, words
from support.pages import block

HELD, HELD_IN_A_MACHINE = 200, 24  # long-lived connections; the second number is for the scenario that runs in a virtual machine


def nothing_more(result):
    """test_scenario() checks broken connections and the capture for all scenarios."""


def all_reloads(result):
    assert result["details"]["reloads"] == [200, 200]
    assert result["details"]["missed"] == {"director-1": 0, "director-2": 0}


def same_build(result):
    """script/upgrade-test runs it with two versions."""
    assert result["details"]["previous"] == "this build"


def keeps_counters(result):
    same_build(result)
    assert (result["details"]["replaced"], result["details"]["counters_restarted"]) == (12, 0)


def no_resets(result):
    assert (result["details"]["reloads"], result["details"]["resets"]) == (30, 0)


def only_its_own(result):
    assert result["broken"] == result["details"]["own"] >= HELD // 6


def cookies(result):
    kernel, xdp = result["details"]["kernel"], result["details"]["xdp"]
    assert (kernel["sent"], xdp["sent"]) == (300_000, 500_000)
    assert kernel["by_xdp"] == 0 < xdp["by_xdp"]
    assert kernel["let_in"] > 0 and xdp["let_in"] > 0
    # The only duration in these tests. The kernel repeats a SYN that gets no answer after 1000 ms.
    assert xdp["p50"] < 1000


def step_by_step(times):
    """The steps from a check to the director must follow in order."""
    assert list(times) == ["verdict", "dst", "bin", "director"]
    assert 0 < times["verdict"] and list(times.values()) == sorted(times.values())


def refused_until_followed(result):
    step_by_step(result["details"]["down"])
    step_by_step(result["details"]["up"])
    assert result["details"]["refused"] > 0


def panic_holds(result):
    for label in ("two", "three", "over"):
        assert len(result["details"][label]) == 3


def nothing_flaps(result):
    assert result["details"]["seconds_dead"] == 10
    step_by_step(result["details"]["down"])
    step_by_step(result["details"]["up"])


def only_its_own_and_followed(result):
    only_its_own(result)
    step_by_step(result["details"]["down"])


def one_write(result):
    details = result["details"]
    assert details["writes"] == details["reloads"] == 1 and details["seconds"] < 10
    assert result["broken"] < details["held"]


def only_the_dead_lose(result):
    details = result["details"]
    assert result["broken"] == details["survivors"]["broken"] <= details["survivors"]["connections"] // 100
    assert details["own"] >= 60 and details["survivors"]["connections"] >= 600
    assert 4 * max(details["predicted_percent"]) < details["without_percent"]


def only_the_share_of_one(result):
    """Of six proxies, whose shares are not equal."""
    assert result["broken"] == result["details"]["own"] >= HELD // 12


def steps_are_kept(result):
    """Four roll-outs are done, one is aborted, and another one takes it back."""
    details = result["details"]
    assert details["samples"] > 100
    assert details["states"] == ["done"] * 4 + ["aborted", "done"]


def only_its_own_beside_a_roll_out(result):
    only_the_share_of_one(result)
    assert result["details"]["samples"] > 20


def drops_there_nothing_here(result):
    nat = result["details"]["nat"]
    assert nat["broken"] > 0 and nat["drop"] > 0
    assert nat["entries"] - 64 < nat["tracked"] <= nat["entries"]
    assert len(result["details"]["tracked"]) == 7 and set(result["details"]["tracked"].values()) == {0}


def sessions_stay_up(result):
    seen = result["details"]["flood"]
    assert result["details"]["changes"] == [0, 0]
    assert seen["drop_exception_limited"] > seen["received"] // 2
    assert seen["drop_exception_limited"] == seen["exception_limited_other"] and seen["drop_exception_full"] == 0


def planned_changes_lose_nothing(result):
    planned, failures = result["details"]["planned_lost"], result["details"]["failures_ms"]
    assert planned == {"withdrawn by the operator": 0, "stopped": 0, "started": 0, "gets a dead table": 0}
    assert set(failures) - {"sends packets that get lost"} == {"killed", "freezes", "loses its path to the router"}


def probe_finds_lost_packets(result):
    planned_changes_lose_nothing(result)
    assert "sends packets that get lost" in result["details"]["failures_ms"]


def routers_are_heard(result):
    assert sum(result["details"]["told"].values()) > 0


def others_stay(result):
    details = result["details"]
    assert sum(details["flows"].values()) == HELD and min(details["flows"].values()) > HELD // 6
    assert details["moved"] == details["flows"]["spine-3"]


def ways_differ(result):
    details = result["details"]
    for name, on_link, after in (("proxy-1", True, False), ("proxy-2", True, True), ("proxy-3", False, False)):
        for arrivals, direct in ((details["arrivals"], on_link), (details["arrivals_after"], after)):
            assert arrivals[name][not direct] > HELD // 6 and arrivals[name][direct] == 0
    assert details["passed_on"] > HELD // 6


def new_proxy_shares(result):
    assert len(result["details"]["added"]) == 4


def strangers_are_refused(result):
    counted = result["details"]["refused"]
    assert counted["a stranger"] == {"drop_source": 30}
    assert counted["a director to other hosts"] == {"drop_destination": 10, "drop_next_hop": 10}
    assert counted["a packet that names two proxies again and again"] == {"drop_hops": 1}
    assert counted["frames of proxy-2 at proxy-1"] == {"not_for_us": 20}
    assert counted["a proxy that lost its VIP"] == {"drop_destination": 10}


def damage_is_found(result):
    damaged = result["details"]["damaged"]
    assert len(damaged) == 6 and min(damaged.values()) > 0


def full_frames_pass(result):
    details = result["details"]
    assert len(details["full_frames"]) == 4 and min(details["full_frames"].values()) > 0 < details["in_several_buffers"]


def tags_stay(result):
    assert result["details"]["passed_on"] > 0 < result["details"]["tagged"]


def as_predicted(result):
    """Connections break if the change is made at once. They are the evidence that the plan saves some."""
    at_once, planned = result["details"]["at_once"], result["details"]["planned"]
    assert result["broken"] == at_once["broken"] > at_once["connections"] // 40
    assert at_once["first"]["broken"] > 0 and at_once["first"]["predicted"] > 4 * at_once["first"]["error"]
    assert planned["connections"] >= 1000 and planned["broken"] == 0


def shares_follow_weights(result):
    details = result["details"]
    for label, weights in (("before", (1, 2, 4)), ("after", (1, 2, 1))):
        for share, weight in zip(details[label].values(), weights, strict=True):
            assert abs(share - 100 * weight / sum(weights)) <= 2
    assert details["planned"]["connections"] == 14000


def balance_bounds(result):
    details = result["details"]
    assert details["hottest"][0] > 1.01 and details["hottest"][1] <= 1.005
    assert details["planned"]["connections"] >= 50 <= details["planned"]["moved"]


def proved(result):
    left, none = result["details"]["left"]
    assert none == 0 and left >= HELD // 6


def forgotten_in_time(result):
    """All that break are those of the state that is forgotten too early."""
    assert result["broken"] == result["details"]["at_once"]["broken"] > 20
    assert result["details"]["states"] == [0, 0]


def connection_ids_decide(result):
    """Connections break without `quic`. They are the evidence that it saves some."""
    without, within = result["details"]["without"], result["details"]["with"]
    assert without["held"] == within["held"] >= 500
    assert 2 * without["broken"] > without["held"]
    assert (within["broken"], within["short_broken"]) == (0, []) and within["short"] > 100
    assert result["broken"] == without["broken"] + len(without["short_broken"])
    assert 2 * within["moved"] > within["held"] and min(within["rebound"], within["migrated"]) > 0


# The connections of these scenarios are others than those of the load.
SILENT = ("behind", "add", "restart", "reweigh", "mixed", "balance", "fail-and-return", "quic")
# These are like `behind`, with more steps. They take a minute together; GLB_LAB_SCENARIOS=all runs them, too.
BY_HAND = ("add", "restart", "reweigh", "mixed")
# These depend on how GUE reaches the proxies, so they also run with an IPv6 underlay; GLB_LAB_SCENARIOS=all runs all so.
BY_UNDERLAY = (
    "proxies", "haproxy", "quic", "behind", "drained", "path-mtu", "half-open", "time-wait", "syn-cookie", "icmp-quote", "syn-flood", "strangers",
    "corruption", "jumbo", "vlan", "bgp", "announce-bird", "announce-frr", "small-underlay", "ecmp", "on-link", "unnumbered", "service-stopped",
    "cut-off",
)
PROMISES = {
    "swap": nothing_more,
    "proxies": nothing_more,
    "directors": nothing_more,
    "both": nothing_more,
    "reloads": all_reloads,
    "skew": nothing_more,
    "hops": nothing_more,
    "upgrade": same_build,
    "redirect-upgrade": keeps_counters,
    "haproxy": no_resets,
    "quic": connection_ids_decide,
    "behind": as_predicted,
    "add": as_predicted,
    "restart": as_predicted,
    "reweigh": as_predicted,
    "mixed": as_predicted,
    "weights": shares_follow_weights,
    "balance": balance_bounds,
    "drained": proved,
    "forgotten": forgotten_in_time,
    "path-mtu": nothing_more,
    "half-open": nothing_more,
    "time-wait": nothing_more,
    "port-reuse": nothing_more,
    "syn-cookie": nothing_more,
    "unknown-ack": nothing_more,
    "icmp-quote": nothing_more,
    "syn-flood": cookies,
    "conntrack": drops_there_nothing_here,
    "strangers": strangers_are_refused,
    "corruption": damage_is_found,
    "jumbo": full_frames_pass,
    "vlan": tags_stay,
    "bgp": nothing_more,
    "bgp-flood": sessions_stay_up,
    "announce-bird": probe_finds_lost_packets,
    "announce-frr": planned_changes_lose_nothing,
    "small-underlay": routers_are_heard,
    "ecmp": others_stay,
    "on-link": ways_differ,
    "unnumbered": new_proxy_shares,
    "rollout": steps_are_kept,
    "proxy-killed": only_its_own,
    "service-stopped": refused_until_followed,
    "all-failing": panic_holds,
    "checks-killed": nothing_flaps,
    "cut-off": only_its_own_and_followed,
    "correlated": one_write,
    "fail-and-return": only_the_dead_lose,
    "rollout-failure": only_its_own_beside_a_roll_out,
}


def test_every_scenario_has_a_check_here():
    lines = lab("list").stdout.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == list(PROMISES)
    assert max(map(len, lines)) <= 80


def check_load(result, held):
    assert result["details"]["held"] >= held
    assert result["details"]["short"] > 0
    assert result["connections"] >= result["details"]["held"] + result["details"]["short"]
    assert result["details"]["exchanges"] > 2 * held


ALL = os.environ.get("GLB_LAB_SCENARIOS") == "all"
RUNS = [pytest.param(name, "ipv4", id=name) for name in PROMISES if ALL or name not in BY_HAND] + [
    pytest.param(name, "ipv6", id=f"{name}-ipv6") for name in PROMISES if ALL or name in BY_UNDERLAY]


@pytest.mark.parametrize("name, underlay", RUNS)
def test_scenario(name, underlay, tmp_path):
    mark, path = new_mark(), tmp_path / "result.json"
    done = lab("scenario", name, "--underlay", underlay, "--json", str(path), mark=mark)
    print(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(path.read_text())
    if result["skipped"]:
        assert f"skipped: {result['skipped']}" in done.stdout and not result["passed"]
        pytest.skip(result["skipped"])
    assert (result["scenario"], result["passed"], result["failed"]) == (name, True, [])
    if name not in ("announce-bird", "announce-frr", "proxy-killed", "cut-off", "correlated", "forgotten", "fail-and-return", "rollout-failure", "quic") and PROMISES[name] is not as_predicted:
        assert result["broken"] == 0
    if name not in SILENT:
        check_load(result, HELD_IN_A_MACHINE if name == "vlan" else HELD)
    assert result["details"]["forwarded"] > 0
    assert result["capture"]["packets"] > 0 and result["capture"]["unknown"] == 0
    PROMISES[name](result)
    if name == "service-stopped" and underlay == "ipv4":
        _, *shown = block("docs/howto/health-checks.md", "lab/lab scenario service-stopped").splitlines()
        assert words(done.stdout.splitlines()) == words(shown)
    assert_nothing_left(mark)
