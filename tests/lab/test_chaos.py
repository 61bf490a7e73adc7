# SPDX-License-Identifier: BSD-3-Clause
"""script/chaos: its plan, its judge, and whole runs, also of a lab in which something is wrong that it must find."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from types import SimpleNamespace

import pytest
from lab import quic
from lab.chaos import plan
from lab.chaos.events import Events, method
from lab.chaos.judge import Account, Broken, Fact, Judge, Use, verdicts_missing
from lab.chaos.links import Links
from lab.chaos.run import Run
from lab.chaos.tables import Recorder, Rows, said
from lab.net import Namespace, connect, mac
from lab.table import Table
from lab.tools import TIMEOUT_S, kill_group, runs, wait_until
from lab.topology import GUE_PORT
from lab_process import assert_nothing_left, environment, new_mark, started_by
from support.tree import TREE

CHAOS, SABOTAGE = str(TREE / "script/chaos"), str(TREE / "tests/lab/chaos_sabotage.py")
PATIENCE_S = "60"  # GLB_LAB_TIMEOUT_S of these runs. A connection that hangs must end in the time of a test
FLOW = ("203.0.113.10", "198.51.100.11", 20000)


def shape(seed=1, **options):
    return plan.shape_of(seed, **options)


def begin(arguments, mark, **variables):
    return subprocess.Popen([*arguments], env={**environment(mark), "GLB_LAB_TIMEOUT_S": PATIENCE_S, **variables},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


# The plan


def test_plan_is_a_pure_function_of_seed_minutes_and_shape():
    made = [plan.make(5, 30, shape(5)) for _ in range(2)]
    assert made[0] == made[1] != plan.make(6, 30, shape(5))
    assert plan.steps(made[0]) == plan.steps(made[1])
    assert [event.number for event in made[0]] == list(range(1, len(made[0]) + 1))


def test_plan_is_the_same_in_another_process_with_other_hashes():
    texts = {subprocess.run([CHAOS, "--seed", "5", "--minutes", "30", "--plan"], env={**os.environ, "PYTHONHASHSEED": seed},
                            capture_output=True, text=True, check=True).stdout for seed in ("1", "2")}
    assert len(texts) == 1


@pytest.mark.parametrize("seed", range(20))
def test_plan_keeps_its_limits(seed):
    """Every event ends before the run does, a subject has one event of a group at a time, and enough directors and proxies are left."""
    events, states = plan.make(seed, 10, shape(seed), other=True), {f"proxy-{number}": "active" for number in range(1, 6)}
    for event in events:
        assert event.at + event.length <= 600 - plan.LAST_S
        group = plan.KINDS[event.kind].group
        beside = [other for other in events if plan.KINDS[other.kind].group == group and other.at <= event.at < other.at + other.length and other is not event]
        assert len(beside) < plan.LIMITS[group] and event.subject not in {other.subject for other in beside}
        if event.kind == "operator":
            name = event.detail["proxy"]
            states[name] = {"drain": "draining", "undrain": "active", "add": "active", "remove": None}.get(event.detail["verb"], states.get(name))
            assert list(states.values()).count("active") >= plan.LEAST_ACTIVE


def test_every_kind_of_event_is_planned_and_can_be_done():
    planned = {event.kind for seed in range(5) for event in plan.make(seed, 30, shape(seed), other=True)}
    assert planned == set(plan.KINDS)
    for kind, about in plan.KINDS.items():
        assert hasattr(Events, f"begin_{method(kind)}") and hasattr(Events, f"end_{method(kind)}") == bool(about.length_s)


def test_plan_does_not_depend_on_how_long_clients_wait():
    texts = {subprocess.run([CHAOS, "--seed", "5", "--minutes", "30", "--plan"], env={**os.environ, "GLB_LAB_TIMEOUT_S": seconds},
                            capture_output=True, text=True, check=True).stdout for seconds in ("30", "240")}
    assert len(texts) == 1


def test_a_slow_machine_leaves_events_out_but_no_end_of_one_that_began():
    events = [plan.Event(1, 1, "cut proxy", "proxy-1", 9), plan.Event(2, 2, "freeze director", "director-1", 1), plan.Event(3, 5, "kill agent", "director-1", 1)]
    slow = Run.__new__(Run)
    slow.settings, slow.events, slow.left_out, slow.done, done, said = {"minutes": 0.2}, events, set(), Counter(), [], []
    slow.say, slow.look = said.append, lambda: None

    def do(step):
        done.append((step.event.number, step.begins))
        slow.start -= 5

    slow.chaos = SimpleNamespace(do=do)
    slow.start = time.monotonic() - 4
    slow.play()
    assert done == [(1, True), (2, True), (2, False), (1, False)] and slow.left_out == {3}
    assert said[-1] == "the machine is too slow for this plan: 1 of 3 events are left out"


def test_without_another_build_no_version_changes():
    assert not set(plan.NEED_OTHER) & {event.kind for event in plan.make(1, 60, shape())}


def test_an_end_is_done_before_a_begin_at_the_same_time():
    events = [plan.Event(1, 2.0, "cut proxy", "proxy-1", 1.5), plan.Event(2, 3.5, "cut proxy", "proxy-1", 1.0)]
    assert [(step.event.number, step.begins) for step in plan.steps(events)] == [(1, True), (1, False), (2, True), (2, False)]


def test_seeds_choose_hops_and_underlay_unless_that_is_given():
    shapes = [shape(seed) for seed in range(20)]
    assert {each.hops for each in shapes} == {2, 3, 4} and {each.underlay for each in shapes} == {"ipv4", "ipv6"}
    assert {shape(seed, underlay="ipv6").underlay for seed in range(20)} == {"ipv6"}


# The judge


ROWS = {"old": ["proxy-1", "proxy-2"], "new": ["proxy-3", "proxy-1"], "without": ["proxy-2", "proxy-3"]}


def explain(uses, facts, proxy="proxy-1", why="reset", since=10, asked=10, until=20):
    judge = Judge(facts, uses, lambda table, flow: ROWS[table])
    return judge.explain(Broken(FLOW, proxy, since, asked, until, why))


OLD, NEW = Use("director-1", "old", 0, 15), Use("director-1", "new", 15, 30)
WITHOUT = Use("director-2", "without", 0, 30)


@pytest.mark.parametrize("why", ["reset", "closed", "timeout", "refused"])
def test_a_row_with_the_proxy_explains_no_broken_connection(why):
    assert explain([OLD, NEW], [], why=why) is None


def test_a_row_without_the_proxy_explains_it():
    assert explain([OLD, WITHOUT], []) == "row"


def test_a_table_that_was_used_at_another_time_explains_nothing():
    assert explain([OLD, NEW, Use("director-2", "without", 0, 9.9), Use("director-2", "without", 20.1, 30)], []) is None


@pytest.mark.parametrize("fact, explained", [
    (Fact("dead", "proxy-1", 12, 13), "died"), (Fact("off", "proxy-1", 12, 13), "died"), (Fact("dead", "proxy-2", 12, 13), None),
    (Fact("dead", "proxy-1", 8, 9.9), None), (Fact("away", "proxy-1", 12, 13), None), (Fact("hurt", "lab", 0, 30), None)])
def test_a_reset_needs_a_proxy_that_died_meanwhile(fact, explained):
    assert explain([OLD], [fact]) == explained


@pytest.mark.parametrize("facts, explained", [
    ([Fact("away", "proxy-1", 0, 14.9)], None), ([Fact("away", "proxy-1", 0, 15)], "cut"), ([Fact("hurt", "proxy-2", 12, 18)], "cut"),
    ([Fact("away", "director-1", 10, 13), Fact("away", "proxy-1", 12, 14.9)], None), ([Fact("away", "director-1", 10, 13), Fact("away", "proxy-1", 12, 15)], "cut"),
    ([Fact("away", "proxy-4", 0, 30)], None), ([Fact("off", "proxy-1", 0, 30)], None), ([Fact("hurt", "lab", 0, 30)], "cut")])
def test_a_timeout_needs_a_way_that_was_cut_for_half_of_the_time(facts, explained):
    assert explain([OLD], facts, why="timeout") == explained


def test_nothing_explains_wrong_data():
    assert explain([OLD, WITHOUT], [Fact("dead", "proxy-1", 0, 30)], why="wrong data") is None


def test_a_connection_without_an_answer_belongs_to_the_first_hops():
    assert explain([OLD], [Fact("off", "proxy-1", 0, 30)], proxy=None, why="refused") == "died"
    assert explain([OLD], [Fact("off", "proxy-2", 0, 30)], proxy=None, why="refused") is None


@pytest.mark.parametrize("proxy, facts, right", [
    ("proxy-1", [], True), ("proxy-2", [], False), ("proxy-3", [], False), ("proxy-2", [Fact("off", "proxy-1", 12, 13)], True),
    ("proxy-2", [Fact("away", "proxy-1", 12, 13)], False), ("proxy-2", [Fact("off", "proxy-1", 0, 9)], False)])
def test_a_new_connection_reaches_the_first_hop_that_has_the_service(proxy, facts, right):
    assert Judge(facts, [OLD], lambda table, flow: ROWS[table]).landed_right(FLOW, proxy, 10, 14) == right


@pytest.mark.parametrize("account, missing", [
    (Account("a", 10, 10), 0), (Account("a", 10, 8, 2), 0), (Account("a", 10, 8, 1), 1), (Account("a", 10, 8, 1, 1), 0), (Account("a", 10, 12, 0, 1), -2)])
def test_accounts(account, missing):
    assert account.missing == missing and ("MISSING" in str(account)) == bool(missing)


def test_frames_without_a_verdict_are_missing():
    assert verdicts_missing({"received": 10, "forwarded": 7, "drop_martian": 2}, ["forwarded", "drop_martian"]) == 1


@pytest.mark.parametrize("proxy, why, facts, explained", [
    ("proxy-2", "timeout: 30 s", [], "removed"),
    ("proxy-2", "timeout: 30 s", [("away", "proxy-2", 0, 99)], "removed"),
    ("proxy-3", "timeout: 30 s", [], None),  # in no table before and after it
    ("proxy-1", "timeout: 30 s", [("away", "proxy-1", 0, 15), ("hurt", "director-1", 15, 25)], "cut"),
    ("proxy-1", "timeout: 30 s", [("away", "proxy-1", 0, 15), ("hurt", "director-1", 15, 24)], None),
    ("proxy-1", "timeout: 30 s", [("away", "proxy-2", 0, 99), ("away", "etcd-1", 0, 99)], None),
    ("proxy-1", "wrong answer", [("away", "proxy-1", 0, 99)], None)])
def test_a_quic_connection_needs_its_proxy_and_the_ways_to_it(proxy, why, facts, explained):
    names = {"before": ["proxy-1"], "now": ["proxy-1", "proxy-2", "proxy-3"], "other": ["proxy-1", "proxy-3"], "after": ["proxy-1"]}
    uses = [Use("director-1", "before", 0, 9.9), Use("director-1", "now", 9.9, 41), Use("director-2", "other", 20, 30), Use("director-1", "after", 41, 50)]
    judge = Judge([Fact(*fact) for fact in facts], uses, None, names.get)
    assert judge.explain_quic(Broken(None, proxy, 10, 10, 40, why)) == explained


def test_a_table_that_nobody_saw_explains_a_broken_quic_connection():
    judge = Judge([], [Use("director-1", "now", 0, 50), Use("director-2", None, 39, 50)], None, lambda table: ["proxy-1"])
    assert [judge.explain_quic(Broken(None, "proxy-1", 10, 10, until, "timeout: 30 s")) for until in (38, 40)] == [None, "unseen"]


# The links


def test_a_link_that_sends_packets_twice_counts_each():
    """Copies are not copied: the kernel loses a copy of a copy of a copy."""
    router, proxy = Namespace("router"), Namespace("proxy-1")
    try:
        connect(router, "to-proxy", proxy, "eth0")
        router.ip("link add to-client type veth peer name client", "addr add 192.0.2.1/24 dev to-proxy", f"neigh replace 192.0.2.2 lladdr {mac(proxy, 'eth0')} dev to-proxy")
        links = Links(SimpleNamespace(router=router, port=lambda link: link.device))
        links.add(proxy, SimpleNamespace(name="proxy-1", device="to-proxy", address="192.0.2.2", address6="192.0.2.2"))
        links.impair("proxy-1", "duplicate", 90)
        with router, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(500):
                sender.sendto(b"GUE", ("192.0.2.2", GUE_PORT))
        counted = links.of_host("proxy-1")
        assert counted["out"] - counted["twice"] == 500 and 400 < counted["twice"] < 500
    finally:
        proxy.close()
        router.close()


# Programs that are killed


def test_a_program_in_another_namespace_is_killed_however_early():
    """unshare(1) tells the kernel that its child must die with it only after the child has begun to run."""
    mark = new_mark()
    for number in range(300):
        process = subprocess.Popen(["unshare", "--time", "--fork", "--kill-child=KILL", "sleep", "600"], env=environment(mark), process_group=0)
        time.sleep(number * 1e-5)
        kill_group(process)
    assert not {pid for pid in started_by(mark) if runs(pid)}


# The record of a run


class Nobody:
    name = "director-1"


def test_a_table_is_in_use_from_the_sample_before_to_the_sample_after():
    recorder = Recorder(Nobody)
    recorder.samples = [[0, 0.1, "a", 1], [1, 1.1, "a", 1], [2, 2.1, "b", 2], [3, 3.1, None, 0], [4, 4.1, "b", 1]]
    found, unknown = recorder.uses({"a": "A", "b": "B"})
    assert [(use.table, use.start, use.end) for use in found] == [("A", -math.inf, 1.1), ("A", 0, 2.1), ("B", 1, 3.1), ("B", 3, 4.1)] and not unknown


def test_tables_between_two_samples_may_have_been_in_use():
    recorder = Recorder(Nobody)
    recorder.texts = [(0, "A"), (1.5, "C"), (1.9, "B")]
    recorder.samples = [[1, 1.1, "a", 1], [2, 2.1, "b", 3]]
    found, _ = recorder.uses({"a": "A", "b": "B"})
    assert {use.table for use in found} == {"A", "B", "C"}
    recorder.samples[1][3] = 5
    found, _ = recorder.uses({"a": "A", "b": "B"})
    assert {use.table for use in found} == {"A", "B", "C", None}  # more tables than were seen


def test_nothing_is_a_fault_while_a_table_is_used_that_nobody_saw():
    nobody_saw = Use("director-1", None, 11, 12)
    assert explain([OLD], []) is None and explain([OLD, nobody_saw], []) == "unseen"
    assert explain([OLD, Use("director-1", None, 0, 9.9)], []) is None
    for uses, right in ([OLD], False), ([OLD, nobody_saw], True):
        assert Judge([], uses, lambda table, flow: ROWS[table]).landed_right(FLOW, "proxy-3", 10, 14) == right


def test_health_and_previous_states_do_not_make_another_table():
    table = Table().with_backend("192.0.2.66")
    assert said(table.json()) == said(table.with_members(previous=[]).changed("192.0.2.66", healthy=False).json())
    assert said(table.json()) != said(table.changed("192.0.2.66", weight=50).json())


class Ended:
    """A run with a program that has ended."""

    def __init__(self, down):
        self.chaos, self.said = SimpleNamespace(down=down), []

    def _programs(self):
        ended, runs = SimpleNamespace(poll=lambda: 139, returncode=139), SimpleNamespace(poll=lambda: None)
        return {("agent", "director-1"): (ended, "/dev/null"), ("agent", "director-2"): (runs, "/dev/null")}

    def fault(self, text):
        self.said.append(text)


@pytest.mark.parametrize("down, faults", [(set(), 1), ({("agent", "director-1")}, 0), ({("agent", "director-2")}, 1)])
def test_a_program_that_ends_without_an_event_is_one_fault(down, faults):
    made = Ended(down)
    for _ in range(2):
        Run.look(made)
    assert len(made.said) == faults


def test_rows_have_names_of_proxies():
    table = Table(hops=2).with_backend("192.0.2.66").with_backend("192.0.2.70").json()
    assert sorted(Rows({"192.0.2.66": "proxy-1"}).of(table, FLOW)) == ["a stranger", "proxy-1"]


# Whole runs


def finish(process):
    out, errors = process.communicate(timeout=4 * TIMEOUT_S)
    print(out, errors)
    return out, errors


def check_good(process, path, mark):
    out, errors = finish(process)
    report = json.loads(path.read_text())
    assert (process.returncode, errors, report["faults"]) == (0, "", [])
    assert "no fault" in out and out.count("  #") + 2 * report["left_out"] >= sum(1 + bool(event.length) for event in plan.make(12, 1, shape(12)))
    assert report["passed"] and report["unpredicted"] == 0 and report["connections"] > 100 < report["exchanges"]
    assert report["packets"]["sent"] > 1000 and report["packets"]["unsure"] < report["packets"]["sent"]
    assert report["quic"] == (quic.missing() is None)
    assert_nothing_left(mark)


def check_found(process, text, mark):
    out, errors = finish(process)
    assert (process.returncode, errors) == (1, "")
    assert f"FAULT: {text}" in out and "to replay: script/chaos --seed " in out
    assert_nothing_left(mark)


def test_a_run_finds_no_fault(tmp_path):
    mark, path = new_mark(), tmp_path / "report.json"
    check_good(begin([CHAOS, "--seed", "12", "--minutes", "1", "--json", str(path)], mark), path, mark)


@pytest.mark.parametrize("sabotage, seed, fault", [
    ("steering", 7, "a new connection reached a proxy that is not the first hop of its row"), ("forwarding", 20, "packets are missing: proxy-2 to the router")])
def test_sabotage_is_found(sabotage, seed, fault):
    mark = new_mark()
    check_found(begin([sys.executable, "-B", SABOTAGE, "--seed", str(seed), "--minutes", "0.2", "--without-quic"], mark, CHAOS_SABOTAGE=sabotage), fault, mark)


SAID = "chaos: interrupted: all namespaces and processes of the lab are gone\n"


@pytest.mark.parametrize("number, code, said_last", [(signal.SIGINT, 1, SAID), (signal.SIGKILL, -signal.SIGKILL, "")])
def test_whoever_ends_a_run_leaves_nothing(number, code, said_last):
    mark = new_mark()
    process = begin([CHAOS, "--seed", "1", "--minutes", "5", "--without-quic"], mark)
    wait_until(lambda: any("glb-director" in command for command in started_by(mark).values()), "a director")
    process.send_signal(number)
    _, errors = finish(process)
    assert (process.returncode, errors) == (code, said_last)
    assert_nothing_left(mark)


@pytest.mark.parametrize("arguments, message", [
    (["--other", "/nowhere"], "/nowhere/src/director/glb-director is missing"), (["--minutes", "0"], "0 is not from 0.2 to 1440"), (["--json", "/nowhere/report.json"], "/nowhere/report.json"), (["--underlay", "x"], "invalid choice")])
def test_wrong_arguments(arguments, message):
    done = subprocess.run([CHAOS, *arguments], capture_output=True, text=True)
    assert done.returncode in (1, 2) and message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_root_it_says_so():
    done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", CHAOS, "--seed", "1"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "chaos: network namespaces need root: run this command as root\n")
