# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli simulate, against its model and against connections as objects (tests/model/simulate.py)."""

import json
import math
import re
from decimal import Decimal

import pytest

from model.simulate import Expected, Objects, Script, publish
from model.table import load_tables
from support.cli import BROKEN, FAILED, OK, USAGE, as_ipv6, backend, complete, run, run_json, table, write_tables
from support.tree import TREE

EVERYTHING = """
rate 1000
directors 4
behind 2 20s   # the others use a table at once
add 6 draining weight 200
wait 10s
undrain 6
wait 1m
drain 1,192.168.50.2
wait 15s
unhealthy 3
fail 5
wait 40s
recover 5
undrain 1-2
remove 4
wait 500ms
weight 1-3 300
hops 3
wait 1m
drain 2-3
"""


@pytest.fixture
def folder(tmp_path):
    write_tables(tmp_path / "table.json", table(backends=5))
    return tmp_path


def simulate(folder, script, *options, start="table.json", **kwargs):
    (folder / "script.sim").write_text(script)
    operands = [folder / "script.sim", folder / start] if start else [folder / "script.sim"]
    return run("simulate", *operands, *options, **kwargs)


def simulate_json(folder, script, *options, **kwargs):
    return json.loads(simulate(folder, script, *options, "--json", **kwargs).stdout)


def model_versions(script, hops=2, balance=None, history=False, one=table(backends=5)):
    start, = load_tables({"tables": [one]})
    start.hops, start.balance = hops, balance and Decimal(balance)
    return publish(Script(script), start, history)


@pytest.fixture(scope="module")
def versions():
    """The tables of EVERYTHING."""
    return model_versions(EVERYTHING)


# What it counts


def check_steps(found, expected):
    expected = list(expected.steps())
    assert len(found["steps"]) == len(expected)
    for step, wanted in zip(found["steps"], expected):
        wanted["broken"] += wanted["skew"]
        assert abs(step["time_ms"] - wanted["time_ms"]) <= 1, step["command"]  # a drained proxy, at the rounding of half a connection
        for key in ("begun", "alive", "broken", "skew", "killed", "refused", "skew_percent"):
            assert step[key] == pytest.approx(wanted[key], rel=1e-6, abs=2e-3), (step["command"], key)
        hops_of_model = [100 * each / (wanted["alive"] or 1) for each in wanted["hops"][: len(step["hop_percent"])]]
        assert step["hop_percent"] == pytest.approx(hops_of_model, abs=1e-5), step["command"]
        assert step["blocked_percent"] == pytest.approx(100 * wanted["blocked"] / (wanted["alive"] or 1), abs=1e-5), step["command"]


@pytest.mark.parametrize("lengths", ["exponential 40s", "pareto 1.3 20s", "forever"])
def test_every_step_is_that_of_the_model(folder, versions, lengths):
    script = f"lengths {lengths}\n{EVERYTHING}"
    found = simulate_json(folder, script, "--history", "off")
    check_steps(found, Expected(Script(script), versions))
    end = found["steps"][-1]
    assert end["killed"] > 0 and end["broken"] > end["skew"] > 0


def test_proxies_with_ipv6_addresses_are_those_of_the_model(tmp_path):
    """Number 6 is a new proxy, with an address of the same family."""
    one, script = as_ipv6(table(backends=5)), "lengths exponential 40s\n" + EVERYTHING.replace("192.168.50.2", "FD00:0::50:2")
    write_tables(tmp_path / "table.json", one)
    found = simulate_json(tmp_path, script, "--hops", 3, "--balance", "1.02")
    check_steps(found, Expected(Script(script), model_versions(script, 3, "1.02", True, one)))


def test_balance_history_and_quantiles_are_those_of_the_model(folder):
    script = "lengths quantiles 0 1s 50 8s 90 1m 100 2h\ndrain 1\nwait 1m\nundrain 1\nwait 1m\nadd 6\nwait 10m\ndrain 6\nwait drained 6\n"
    found = simulate_json(folder, script, "--hops", 3, "--balance", "1.02")
    check_steps(found, Expected(Script(script), model_versions(script, 3, "1.02", True)))
    assert found["imbalance"] <= 1.021


FAILURES = """
lengths exponential 5m
wait 10s
fail 1
wait 1m
weight 2 300
wait 30s
recover 1
unhealthy 3
wait 1m
drain 4
fail 2
unhealthy 4    # a draining one: no first hop moves
wait 30s
recover 3-4
undrain 4
wait 30s
recover 2
fail all
wait 10s
recover all
wait 1m
"""


@pytest.mark.parametrize("hops, balance", [(2, None), (3, "1.005")])
def test_previous_states_with_health_are_those_of_the_model(folder, hops, balance):
    found = simulate_json(folder, FAILURES, "--hops", hops, "--balance", balance or "off")
    check_steps(found, Expected(Script(FAILURES), model_versions(FAILURES, hops, balance, True)))


def test_connections_as_objects_agree(folder, versions):
    """Each number is within five standard errors of the count of random connections."""
    script = f"lengths quantiles 50 8s 90 1m 100 5m\n{EVERYTHING}"
    found = simulate_json(folder, script, "--history", "off")
    objects = Objects(Script(script), versions, count=100_000, span_ms=300_000)
    for step, counted in zip(found["steps"], objects.steps()):
        counted["broken"] += counted["skew"]
        for key in ("begun", "alive", "broken", "skew", "killed", "refused"):
            error = 5 * math.sqrt(max(counted[key], objects.weight) * objects.weight)
            assert step[key] == pytest.approx(counted[key], abs=error), (step["command"], key)
    assert min(counted["broken"] - counted["skew"], counted["skew"], counted["killed"]) > 100 * objects.weight


def test_sixteen_proxies_added_break_what_combinatorics_says(tmp_path):
    """A row whose two first places are both taken by new proxies breaks: k (k - 1) / (48 * 47) of those that began k changes ago."""
    script = "lengths forever\nwait 1m\n" + "".join(f"add {number}\nwait 1m\n" for number in range(33, 49))
    found = simulate_json(tmp_path, script, "--proxies", 32, "--history", "off", start=None)
    expected = 100 * sum(k * (k - 1) for k in range(17)) / (48 * 47 * 17)
    assert found["broken_percent"] == pytest.approx(expected, abs=0.15)
    assert [step["proxies"] for step in found["steps"]][::2] == list(range(32, 49))
    more = simulate_json(tmp_path, script, "--proxies", 32, "--hops", 4, "--history", "off", start=None)
    assert more["broken_percent"] < 0.25


def test_two_phases_break_nothing_while_a_director_is_behind(tmp_path):
    start = "lengths exponential 1m\ndirectors 64\nbehind 1 30s\n"
    once = simulate_json(tmp_path, start + "add 33\nwait 1m\n", "--proxies", 32, "--hops", 4, start=None)
    phases = simulate_json(tmp_path, start + "add 33 draining\nwait 1m\nundrain 33\nwait 1m\n", "--proxies", 32, "--hops", 4, start=None)
    assert once["steps"][1]["skew_percent"] == pytest.approx(100 / 33 * 63 / 64, abs=0.2) and once["broken_by"]["skew"] > 0.5
    assert [step["skew_percent"] for step in phases["steps"]] == [0] * 5 and phases["broken_percent"] == 0


def test_history_keeps_connections_that_two_hops_lose(tmp_path):
    """Proxies that come back push those that replaced them out of rows of two hops, but the history names these."""
    script = "lengths forever\nwait 1m\ndrain 1-8\nwait 1m\nundrain 1-8\nwait 1m\n"
    without, with_history = (simulate_json(tmp_path, script, "--proxies", 32, "--history", each, start=None)["broken_percent"] for each in ("off", "on"))
    assert without == pytest.approx(100 * 8 * 7 / (32 * 31) / 3, abs=0.2) and with_history == 0


def test_history_breaks_nothing_that_two_hops_keep(tmp_path):
    """The proxy that fails must not push out those that drain."""
    script = "lengths forever\nwait 1m\ndrain 1-8\nwait 1m\nfail 9\nwait 1m\n"
    for history in ("off", "on"):
        found = simulate_json(tmp_path, script, "--proxies", 32, "--history", history, start=None)
        assert found["broken_percent"] == 0 < found["killed_percent"]


def test_who_took_over_from_a_dead_proxy_is_remembered(tmp_path):
    """New proxies take some of these rows: with two hops, the dead one must not have the place of who took over."""
    script = "lengths forever\nfail 1\nwait 1m\nadd 33-40\nwait 1m\n"
    without, with_history = (simulate_json(tmp_path, script, "--proxies", 32, "--history", each, start=None)["broken_percent"] for each in ("off", "on"))
    assert without > 0.1 and with_history == 0


def test_all_directors_behind_are_the_same_as_none_later(tmp_path):
    def totals(behind, wait):
        found = simulate_json(tmp_path, f"lengths exponential 1m\ndirectors 3\n{behind}remove 1\nwait {wait}\n", "--proxies", 8, start=None)
        return found["steps"][-1]["broken"], found["broken_by"]["skew"]

    assert totals("behind all 30s\n", "1m") == pytest.approx(totals("", "1m"))
    assert totals("behind all 30s\n", "29s") == (0, 0)


def test_failure_of_every_proxy_kills_all_and_refuses_new_connections(tmp_path):
    found = simulate_json(tmp_path, "lengths exponential 1m\nrate 100\nfail all\nwait 10s\nrecover all\nwait 10s\n", "--proxies", 8, start=None)
    start, failed, waited, recovered, end = found["steps"]
    assert start["alive"] == failed["killed"] == 6000 and failed["alive"] == waited["alive"] == 0 and failed["broken"] == 0
    assert waited["refused"] == pytest.approx(1000) and end["refused"] == waited["refused"] and end["alive"] > 900
    assert "1000 new connections were sent to a dead proxy" in simulate(tmp_path, "fail all\nwait 1s\n", "--proxies", 8, start=None).stdout


def test_connections_behind_a_dead_proxy_are_shown(tmp_path):
    """Connections of the first proxies are at the third hop, behind 17 to 24 at the second one, which die and pass nothing on."""
    script = "lengths forever\nwait 1m\nadd 17-24\nwait 1m\nadd 25-32\nwait 1m\nfail 17-24\nwait 1m\nrecover 17-24\n"
    options = ("--proxies", 16, "--hops", 4, "--history", "off")
    found = simulate_json(tmp_path, script, *options, start=None)
    blocked = [step["blocked_percent"] for step in found["steps"]]
    assert blocked[:6] == [0] * 6 and blocked[6] > blocked[7] > 1 and blocked[8] == 0
    shown = simulate(tmp_path, script, *options, start=None).stdout
    assert f"up to {blocked[6]:.3f} % of the connections waited behind a dead proxy" in shown.replace("\n  ", " ")


def test_with_history_connections_wait_behind_a_dead_proxy_only_at_late_directors(tmp_path):
    script = "lengths forever\nwait 1m\nadd 17-24\nwait 1m\nadd 25-32\nwait 1m\nfail 17-24\nwait 10s\nwait 50s\n"
    found = simulate_json(tmp_path, script, "--proxies", 16, "--hops", 4, start=None)
    assert [step["blocked_percent"] for step in found["steps"]] == [0] * 9
    found = simulate_json(tmp_path, f"directors 4\nbehind 2 30s\n{script}", "--proxies", 16, "--hops", 4, start=None)
    blocked = [step["blocked_percent"] for step in found["steps"]]
    assert blocked[:6] == [0] * 6 and min(blocked[6:8]) > 0.2 and blocked[8] == 0


def test_the_example_at_the_scale_of_the_internet_runs_with_a_tenth_of_its_proxies(tmp_path):
    text = (TREE / "docs/howto/examples/connections/internet.sim").read_text()
    tenth = re.sub(r"(?m)^(add|drain|undrain|fail|recover|weight) (\d+)(?:-(\d+))?",
                   lambda line: f"{line[1]} {-(-int(line[2]) // 10)}" + (f"-{-(-int(line[3]) // 10)}" if line[3] else ""), text)
    assert "add 101-105 draining" in tenth and "directors 64" in tenth
    found = simulate_json(tmp_path, tenth, "--proxies", 100, "--hops", 4, start=None)
    assert len(found["steps"]) == 25 and found["steps"][0]["alive"] == pytest.approx(1e8) and found["steps"][-1]["proxies"] == 105
    assert found["broken_percent"] < 0.001 and found["broken_by"]["removed"] == found["broken_by"]["pushed_out"] == 0 < found["killed_percent"]


def test_wait_drained_ends_when_no_connection_is_left(tmp_path):
    """1000 connections a second of 30 s each: 7500 of them on proxy 1. Half a connection is left after 30 s * ln(15000)."""
    found = simulate_json(tmp_path, "drain 1\nwait drained 1\nremove 1\n", "--proxies", 4, start=None)
    assert found["steps"][2]["time_ms"] == pytest.approx(30_000 * math.log(15_000), rel=0.003)
    assert 0 < found["steps"][3]["broken"] <= 0.5


def test_the_start_is_that_of_the_table(folder):
    backends = [backend("192.168.50.1", "draining"), backend("192.168.50.2"), backend("192.168.50.3", "inactive"), {**backend("192.168.50.4"), "weight": 300}]
    write_tables(folder / "table.json", table(backends=backends, hops=3), table("mail", backends=2))
    found = simulate_json(folder, "drain 192.168.50.2\nadd 5\n", "--table", "web")
    assert [step["proxies"] for step in found["steps"]] == [3, 3, 4] and len(found["steps"][0]["hop_percent"]) == 3
    assert found["steps"][1]["moved_rows"] == pytest.approx(65536 / 4, rel=0.05)
    assert simulate_json(folder, "wait 1s\n", "--table", "#1", "--hops", 2)["steps"][0]["proxies"] == 2


def test_output_for_people(tmp_path):
    done = simulate(tmp_path, "lengths exponential 1m\nrate 1000\nremove 1\nwait 1h\n", "--proxies", 4, start=None)
    head, start, removed, waited, empty, *summary = done.stdout.splitlines()
    assert head.split() == ["time", "alive", "broken", "killed", "moved", "imbalance", "later", "change"]
    assert start.split()[:4] == ["0s", "60000", "0", "0"] and start.endswith("  start")
    assert removed.endswith("  remove 1") and waited.split()[0] == "1h00m00s" and empty == ""
    assert summary[0].startswith("3660000 connections: ") and "broken (0.4" in summary[0]
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_output_is_the_same_on_each_run_and_with_one_cpu(tmp_path):
    script = "lengths pareto 1.2 40s\nadd 33-40\nwait 10m\nbalance 1.02\nwait 1h\nweight 1-4 300\n"
    outputs = {simulate(tmp_path, script, "--proxies", 32, "--hops", 6, "--json", start=None, **options).stdout
               for options in ({}, {"preexec_fn": lambda: __import__("os").sched_setaffinity(0, [0])})}
    assert len(outputs) == 1


def test_max_broken_decides_the_exit_code(tmp_path):
    script = "remove 1\nwait 1s\n"
    assert "broken by: proxies removed 24." in simulate(tmp_path, script, "--proxies", 4, "--max-broken", "0", start=None, code=BROKEN).stdout
    for options in ([], ["--max-broken", "30"]):
        simulate(tmp_path, script, "--proxies", 4, *options, start=None, code=OK)


# What it refuses


@pytest.mark.parametrize("script, message", [
    ("", "has no change and no wait, so there is nothing to simulate"),
    ("# nothing\n\nrate 5\n", "has no change and no wait, so there is nothing to simulate"),
    ("drop 1\n", "1: unknown command 'drop': expected lengths, rate, directors, behind, add, "),
    ("wait 1s\nremove 9\n", "2: proxy 9, 198.18.0.9: is not in the table"),
    ("drain 192.0.2.1\n", "1: proxy 192.0.2.1: is not in the table"),
    ("add 3\n", "1: proxy 3, 192.168.50.3: is in the table already"),
    ("add all\n", "1: add: `all` are the proxies that are in the table already"),
    ("remove 1\nremove 1\n", "2: proxy 1, 192.168.50.1: is not in the table"),
    ("remove 1-4\nremove 5\n", "2: remove 5: no proxy would be left: a table needs at least one that is not inactive"),
    ("remove all\n", "1: remove all: no proxy would be left"),
    ("add 6-4096\nadd 4097\n", "2: proxy 4097, 198.18.16.1: does not fit into the table, which has 4096 proxies"),
    ("weight 1 0\n", "1: weight: '0' is not a weight from 1 to 1000"),
    ("weight 1 1001\n", "1: weight: '1001' is not a weight from 1 to 1000"),
    ("add 6 weight\n", "1: add: 'weight' is neither draining nor weight NUMBER"),
    ("drain 1 2\n", "1: drain: unexpected word '2'"),
    ("drain\n", "1: drain: the proxies are missing"),
    ("drain 4-2\n", "1: drain: '4-2' is not a proxy"),
    ("drain 1,,2\n", "1: drain: '' is not a proxy"),
    ("drain 0\n", "1: drain: '0' is not a proxy"),
    ("drain 60001\n", "1: drain: '60001' is not a proxy: give numbers from 1 to 60000"),
    ("drain 18446744073709551617\n", "1: drain: '18446744073709551617' is not a proxy"),
    ("drain 2001:db8::1\n", "1: proxy 2001:db8::1: is not in the table"),
    ("drain 2001:db8::g\n", "1: drain: '2001:db8::g' is not a proxy"),
    ("add fe80::1\n", "1: proxy fe80::1: cannot be a proxy, because no other host can reach this address"),
    ("add 2001:db8::1\n", "1: proxy 2001:db8::1: has another family than the proxies of the table"),
    ("wait -1s\n", "1: wait: '-1s' is not a time of at most 100 years, such as 500ms, 30s, 10m, 2h or 7d"),
    ("wait 30\n", "1: wait: '30' is not a time"),
    ("wait 4294967296s\n", "1: wait: '4294967296s' is not a time"),
    ("wait 36526d\n", "1: wait: '36526d' is not a time"),
    ("wait\n", "1: wait: expected a time such as 10m, or drained and proxies"),
    ("wait drained 9\n", "1: proxy 9, 198.18.0.9: is not in the table"),
    ("wait drained 1\n", "1: wait drained 1: a proxy still gets new connections, so it never has none: drain it first"),
    ("lengths forever\nwait 1s\ndrain 1\nwait drained 1\n", "4: wait drained 1: 200 connections are left after 100 years"),
    ("hops 9\n", "1: hops: expected a number of hops from 2 to 8"),
    ("balance 1\n", "1: balance: expected off, or a number from 1.005 to 2 with at most 3 decimals"),
    ("balance nan\n", "1: balance: expected off"),
    ("history maybe\n", "1: history: expected on or off"),
    ("rate 0\n", "1: rate: expected a number of new connections a second, from 1 to 4294967295"),
    ("directors 1025\n", "1: directors: expected a number of directors, from 1 to 1024"),
    ("behind 2 1s\n", "1: behind: '2' are not numbers of directors from 1 to 1"),
    ("directors 2\nbehind 10.0.0.9 1s\n", "2: behind: '10.0.0.9' are not numbers of directors from 1 to 2"),
    ("wait 1s\nrate 5\n", "2: rate: stands before the first change or wait"),
    ("lengths nan\n", "1: lengths: expected forever, exponential MEAN, pareto SHAPE MEAN, or quantiles PERCENT LENGTH..."),
    ("lengths exponential nan\n", "1: lengths: the mean is not a time"),
    ("lengths exponential 0s\n", "1: lengths: the mean is not a time above 0"),
    ("lengths pareto nan 1s\n", "1: lengths: the shape is not a number from 1.001 to 100"),
    ("lengths pareto 1 1s\n", "1: lengths: the shape is not a number from 1.001 to 100 with at most 3 decimals; up to 1 there is no mean"),
    ("lengths quantiles nan 1s\n", "1: lengths: a quantile is not a percentage from 0 to 100"),
    ("lengths quantiles 50 nan\n", "1: lengths: a length is not a time"),
    ("lengths quantiles 50 8s\n", "1: lengths: the last quantile is not 100"),
    ("lengths quantiles 50 8s 100 7s\n", "1: lengths: a quantile or its length is less than the one before it"),
    ("lengths quantiles 100 0s\n", "1: lengths: all connections have length 0"),
    ("lengths quantiles 100\n", "1: lengths: expected percentages, each with a length"),
    ("wait " + "1s " * 200 + "\n", "1: the line has more than 135 words"),
    ("wait 1s\n\0\n", "is no text: it has a byte 0"),
])
def test_errors_name_the_line(folder, script, message):
    done = simulate(folder, script, code=FAILED)
    separator = ": " if not message[0].isdigit() else ":"
    assert done.stderr.startswith(f"glb-director-cli: {folder}/script.sim{separator}{message}") and done.stdout == ""


def test_all_wrong_lines_are_reported(folder):
    done = simulate(folder, "wait\nhops 1\nwait 1s\nremove x\n", code=FAILED)
    assert [line.split(":")[2] for line in done.stderr.splitlines()] == ["1", "2", "4"]


def test_more_than_10000_lines_are_refused(tmp_path):
    assert "more than 10000 changes and waits" in simulate(tmp_path, "wait 1s\n" * 10001, "--proxies", 2, start=None, code=FAILED).stderr


@pytest.mark.parametrize("args, message", [
    (["script.sim"], "with which table does it start? Give TABLE.json, or --proxies N"),
    (["script.sim", "table.json", "--proxies", "3"], "--proxies and --seed are for a simulation without TABLE.json"),
    (["script.sim", "table.json", "--seed", "3"], "--proxies and --seed are for a simulation without TABLE.json"),
    (["script.sim", "--proxies", "3", "--table", "web"], "--table is for TABLE.json"),
    (["script.sim", "--proxies", "4097"], "--proxies: '4097' is not a number from 1 to 4096"),
    (["script.sim", "--proxies", "3", "--hops", "9"], "--hops: '9' is not a number from 2 to 8"),
    (["script.sim", "--proxies", "3", "--balance", "2.001"], "--balance: '2.001' is neither off nor a number from 1.005 to 2 with at most 3 decimals"),
    (["script.sim", "--proxies", "3", "--history", "yes"], "--history: 'yes' is neither on nor off"),
    (["script.sim", "--proxies", "3", "--max-broken", "nan"], "--max-broken: 'nan' is not a percentage from 0 to 100, such as 5 or 0.25"),
])
def test_usage_errors(folder, args, message):
    done = run("simulate", *args, code=USAGE, cwd=folder)
    assert done.stderr.startswith(f"glb-director-cli: simulate: {message}\n") and done.stdout == ""


def test_wrong_tables(folder):
    run("build-config", folder / "table.json", folder / "table.bin")
    assert "is a binary table, which does not have the seed" in simulate(folder, "wait 1s\n", start="table.bin", code=FAILED).stderr
    assert "none.json: " in simulate(folder, "wait 1s\n", start="none.json", code=FAILED).stderr
    assert "no.sim: " in run("simulate", folder / "no.sim", folder / "table.json", code=FAILED).stderr
    write_tables(folder / "two.json", table(), table("mail"))
    assert "has 2 tables (web, mail): say which one with --table" in simulate(folder, "wait 1s\n", start="two.json", code=FAILED).stderr
    (folder / "empty.json").write_text('{"tables": []}')
    assert "empty.json: has no table" in simulate(folder, "wait 1s\n", start="empty.json", code=FAILED).stderr


def test_completion_offers_the_words_of_history():
    assert complete("simulate", "a", "--history", "") == ["on", "off"]
