# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli edit and undo keep the previous states of a table, and forget them by age, by number, or because proxies prove that nobody needs them."""

import calendar
import contextlib
import json
import os
import subprocess
import time

import pytest

from cli.test_cli_fleet import Fleet, proxy
from support.cli import BROKEN, FAILED, OK, USAGE, backend, run, table, write_tables
from support.ports import closed_port
from support.tree import BUILD, CLI

FORM = "%Y-%m-%dT%H:%M:%SZ"
OLD, FUTURE = "2026-01-01T00:00:00Z", "2200-01-01T00:00:00Z"
ALL = (".1", ".2", ".3", ".4")


def entry(*ips, when=OLD, **members):
    """A previous state; an IP is the end of an address, with =WEIGHT behind it."""
    return {"time": when, **members, "backends": [{"ip": f"192.168.50{ip.split('=')[0]}", **({"weight": int(ip.split("=")[1])} if "=" in ip else {})} for ip in ips]}


def ago(seconds):
    return time.strftime(FORM, time.gmtime(time.time() - seconds))


def states(path, index=0):
    """[the ends of the addresses, with the weight if it is not 100, and the balance] of the previous states."""
    found = json.loads(path.read_text())["tables"][index].get("previous", [])
    weight = lambda each: f"={each['weight']}" if "weight" in each else ""
    return [tuple(each["ip"].removeprefix("192.168.50") + weight(each) for each in one["backends"]) + ((one["balance"],) if "balance" in one else ()) for one in found]


def times(path):
    return [one["time"] for one in json.loads(path.read_text())["tables"][0].get("previous", [])]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"tables": [table(backends=4, hops=4)]}, indent=2) + "\n")
    return path


def with_previous(path, *entries, **members):
    path.write_text(json.dumps({"tables": [table(backends=4, hops=4, previous=list(entries), **members)]}, indent=2))
    return path


def edit(path, *words, code=OK):
    return run("edit", path, *words, "--max-broken", "100", code=code)


def assert_unchanged(path, *words, code=FAILED):
    before = path.read_bytes()
    done = run("edit", path, *words, code=code)
    assert path.read_bytes() == before
    return done


# What edit writes


@pytest.mark.parametrize("words, expected", [
    (["drain", "192.168.50.1"], [ALL]),
    (["add", "192.168.50.9"], [ALL]),
    (["remove", "192.168.50.1"], [ALL]),
    (["set", "192.168.50.1", "weight=50"], [ALL]),
    (["set", "192.168.50.1", "state=inactive"], [ALL]),
    (["set", "192.168.50.1", "healthy=false"], [ALL]),
    (["balance", "1.02"], [ALL]),
    (["drain", "192.168.50.1", "192.168.50.2"], [ALL]),
])
def test_a_change_of_first_hops_puts_the_state_before_it_first(file, words, expected):
    begin = int(time.time())
    edit(file, *words)
    assert states(file) == expected
    written = time.strptime(times(file)[0], FORM)
    assert begin <= calendar.timegm(written) <= time.time()
    run("check", file)


@pytest.mark.parametrize("words", [
    ["add", "192.168.50.9", "--state", "draining"],
    ["add", "192.168.50.9", "--state", "inactive"],
    ["set", "192.168.50.1", "state=filling"],
    ["set", "192.168.50.1", "weight=100"],
    ["set", "192.168.50.1", "http=80"],
    ["set", "hops=3"],
    ["set", "name=other"],
    ["add-bind", "203.0.113.1:80/tcp"],
    ["balance", "off"],
])
def test_other_changes_leave_the_previous_states_alone(file, words):
    """An entry that is old stays, too: who renames a table expects no other rows."""
    for entries in ([], [entry(".1")]):
        with_previous(file, *entries)
        edit(file, *words)
        assert states(file) == [(".1",)][:len(entries)]


def test_health_that_is_set_by_hand_is_remembered(file):
    """It moves first hops as a failure does. Without balance, a state lists only who was healthy."""
    with_previous(file)
    edit(file, "set", "192.168.50.1", "healthy=false")
    edit(file, "drain", "192.168.50.2")
    assert states(file) == [tuple(name for name in ALL if name != ".1"), ALL]


def test_the_removal_of_a_drained_proxy_writes_nothing_new(file):
    edit(file, "drain", "192.168.50.1")
    edit(file, "remove", "192.168.50.1")
    assert states(file) == [ALL]


def test_changes_are_newest_first_and_have_weights_and_balance(file):
    edit(file, "set", "192.168.50.1", "weight=250")
    edit(file, "balance", "1.005")
    edit(file, "drain", "192.168.50.2")
    edit(file, "balance", "off")
    assert states(file) == [(".1=250", ".3", ".4", 1.005), (".1=250", ".2", ".3", ".4", 1.005), (".1=250", ".2", ".3", ".4"), ALL]
    assert times(file) == sorted(times(file), reverse=True)
    run("check", file)


def test_two_edits_in_the_same_second(file):
    for ip in (1, 2, 3):
        edit(file, "drain", f"192.168.50.{ip}")
    assert states(file) == [(".3", ".4"), (".2", ".3", ".4"), ALL]


def test_a_state_that_comes_back_is_not_repeated(file):
    """The present state and its predecessor are in the rows anyway."""
    for _ in range(3):
        edit(file, "drain", "192.168.50.1")
        assert states(file) == [ALL]
        edit(file, "undrain", "192.168.50.1")
        assert states(file) == [(".2", ".3", ".4")]
    edit(file, "drain", "192.168.50.2")
    assert states(file) == [ALL, (".2", ".3", ".4")]


def test_a_rolling_drain_keeps_a_state_for_each_proxy(file):
    for ip in (1, 2, 3, 4):
        edit(file, "drain", f"192.168.50.{ip}")
        edit(file, "undrain", f"192.168.50.{ip}")
    assert states(file) == [(".1", ".2", ".3"), (".1", ".2", ".4"), (".1", ".3", ".4"), (".2", ".3", ".4")]


def test_the_order_of_an_entry_does_not_count(file):
    with_previous(file, entry(".4", ".2", ".1", ".3", when=ago(60)))
    edit(file, "drain", "192.168.50.1")
    assert states(file) == [ALL] and times(file)[0] > ago(30)


def test_a_state_in_which_no_proxy_could_be_first_is_not_kept(tmp_path):
    path = write_tables(tmp_path / "t.json", table(backends=[backend("192.168.50.1", "draining"), backend("192.168.50.2", "draining")]))
    edit(path, "undrain", "192.168.50.1")
    assert states(path) == []


def test_two_hops_have_previous_states_too(tmp_path):
    """The second hop is then the proxy that was first before, also if weights have moved the natural order."""
    path = write_tables(tmp_path / "t.json", table(backends=4))
    edit(path, "set", "192.168.50.1", "weight=10")
    edit(path, "set", "192.168.50.1", "weight=100")
    old = tmp_path / "old.json"
    old.write_text(path.read_text())
    done = run("edit", path, "set", "192.168.50.1", "weight=20")
    assert " 0 break (0.00%)" in done.stdout
    old.write_text(json.dumps({"tables": [table(backends=4)]}))
    assert "break" in run("edit", old, "set", "192.168.50.1", "weight=20", "--keep", "0", code=BROKEN).stderr


def test_hops_that_no_state_needs_may_be_lost(tmp_path):
    """A later hop has connections only if it was first in a previous state, or drains. All three proxies are in all rows, and some leave."""
    path = write_tables(tmp_path / "t.json", table(backends=3, hops=4))
    run("edit", path, "set", "192.168.50.3", "weight=50")
    run("edit", path, "set", "192.168.50.3", "weight=none")
    done = run("edit", path, "add", "192.168.50.4", "192.168.50.5")
    assert " 0 break (0.00%)" in done.stdout and "other rows lose a later hop" in done.stdout


def test_only_the_table_that_changes_gets_an_entry(tmp_path):
    path = write_tables(tmp_path / "t.json", table("a", hops=3), table("b", hash_key=2, hops=3, binds=[{"ip": "10.10.10.11", "proto": "tcp", "port": 80}]))
    edit(path, "drain", "192.168.50.1", "--table", "b")
    assert (states(path, 0), states(path, 1)) == ([], [(".1", ".2", ".3")])
    edit(path, "drain", "192.168.50.2", "--all-tables")
    assert (states(path, 0), states(path, 1)) == ([(".1", ".2", ".3")], [(".2", ".3"), (".1", ".2", ".3")])


def test_an_address_that_is_added_again_later(file):
    """The new host does not know the old connections, and passes them on."""
    edit(file, "drain", "192.168.50.1")
    edit(file, "remove", "192.168.50.1")
    edit(file, "add", "192.168.50.1")
    assert states(file) == [(".2", ".3", ".4")]
    run("check", file)


# The text


def test_comments_and_the_layout_of_entries_are_kept(file):
    text = file.read_text().replace('"hops": 4', '"hops": 4,\n\t"previous" : [ { "_why": "é",\n "time":"%s", "balance" : 1.500, "backends":[ {"ip":"192.168.50.1"} ] } ]' % ago(60))
    file.write_text(text)
    edit(file, "drain", "192.168.50.1")
    assert '{ "_why": "é",\n "time":"' in file.read_text() and '"balance" : 1.500, "backends":[ {"ip":"192.168.50.1"} ] }' in file.read_text()
    assert states(file) == [ALL, (".1", 1.5)]


@pytest.mark.parametrize("indent, line", [("\t", '\n\t\t\t\t{ "time": "'), (4, '\n                { "time": "'), (None, '[ { "time": "')])
def test_an_entry_is_laid_out_like_the_table(file, indent, line):
    file.write_text(json.dumps({"tables": [table(backends=4)]}, indent=indent).replace("\n", "\r\n" if indent == "\t" else "\n"))
    edit(file, "drain", "192.168.50.1")
    text = file.read_bytes().decode()
    assert line in text.replace("\r\n", "\n") and text.count("\n") == (text.count("\r\n") if indent == "\t" else text.count("\n"))
    run("check", file)


def test_a_killed_edit_and_a_full_disk_change_nothing(file):
    """The previous states are in the same file, which is replaced as a whole."""
    before = file.read_bytes()
    done = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "-", CLI, "edit", with_previous(file, *(entry(*ALL[:3], f".{i}", when=ago(60)) for i in range(5, 21))),
                           "drain", "192.168.50.1"], capture_output=True, text=True, check=False)
    assert done.returncode == FAILED and "cannot be written" in done.stderr and os.listdir(file.parent) == ["t.json"]
    assert len(states(file)) == 16 and file.read_bytes() != before


# Forgetting


def test_old_states_fall_off_and_edit_says_so(file):
    with_previous(file, entry(".1", when=ago(600)), entry(".2", when=ago(23 * 3600)), entry(".3", when=ago(25 * 3600)), entry(".4"))
    done = edit(file, "drain", "192.168.50.1")
    assert states(file) == [ALL, (".1",), (".2",)]
    assert done.stdout.count("web: forgets the previous state of ") == 2
    assert f"web: forgets the previous state of {OLD}: it is older than --keep (24h unless given)\n" in done.stdout


@pytest.mark.parametrize("keep, left", [("5m", 1), ("20m", 2), ("599s", 1), ("24h", 3), ("87600h", 5), ("0", 0)])
def test_keep_is_a_duration(file, keep, left):
    with_previous(file, entry(".1", when=ago(600)), entry(".2", when=ago(23 * 3600)), entry(".3", when=ago(25 * 3600)), entry(".4"))
    edit(file, "drain", "192.168.50.1", "--keep", keep)
    assert len(states(file)) == left
    assert '"previous"' in file.read_text() or left == 0


def test_sixteen_states_are_the_most(file):
    with_previous(file, *(entry(".1", f".{i}", when=ago(60 + i)) for i in range(5, 21)))
    done = edit(file, "drain", "192.168.50.1")
    assert states(file) == [ALL] + [(".1", f".{i}") for i in range(5, 20)]
    assert done.stdout.count("forgets the previous state") == 1 and ": a table has at most 16, and this one adds least for its age\n" in done.stdout
    run("check", file)


def test_a_clock_that_was_set_back_forgets_nothing_early(file):
    """The entries are of a time that this clock has not reached. The new one must not look older than those after it."""
    with_previous(file, entry(".1", when=FUTURE))
    done = edit(file, "drain", "192.168.50.1")
    assert f"warning: {file}: the clock of this host is behind the newest previous state of table web, {FUTURE}" in done.stderr
    assert states(file) == [ALL, (".1",)] and times(file) == [FUTURE, FUTURE]
    run("edit", file, "forget", "--keep", "1s")
    assert len(states(file)) == 2
    run("edit", file, "forget", "--keep", "0")
    assert states(file) == []


def test_a_clock_of_1970_is_reported(file):
    env = {**os.environ, "LD_PRELOAD": str(BUILD / "tests/driver/clock_of_1970.so")}
    done = run("edit", file, "drain", "192.168.50.1", env=env)
    assert "warning: " in done.stderr and "the clock of this host is wrong: it says 1970-01-01T00:00:05Z" in done.stderr
    assert times(file) == ["1970-01-01T00:00:05Z"]
    with_previous(file, entry(".1", when=ago(60)))
    run("edit", file, "drain", "192.168.50.1", env=env)
    assert len(states(file)) == 2


def test_a_dry_run_and_a_refusal_forget_nothing(file):
    with_previous(file, entry(".1"))
    assert_unchanged(file, "drain", "192.168.50.1", "--dry-run", code=OK)
    assert_unchanged(file, "remove", "192.168.50.1", code=BROKEN)
    assert_unchanged(file, "forget", "--dry-run", code=OK)


def test_forget_by_age(file):
    with_previous(file, entry(".1", when=ago(600)), entry(".2", ".3"))
    done = run("edit", file, "forget")
    assert states(file) == [(".1",)] and "web: previous states: 2 -> 1\n" in done.stdout
    assert run("edit", file, "forget").stdout == f"{file}: nothing to do\n"
    run("edit", file, "forget", "--keep", "5m")
    assert states(file) == [] and '"previous"' not in file.read_text()
    run("check", file)


@pytest.mark.parametrize("words, says", [
    (["drain", "192.168.50.1", "--keep", "1"], "--keep: '1' is not 0 or a duration"),
    (["drain", "192.168.50.1", "--keep", "1w"], "--keep: '1w' is not 0 or a duration"),
    (["drain", "192.168.50.1", "--keep", "0s"], "--keep: '0s' is not 0 or a duration"),
    (["drain", "192.168.50.1", "--keep", "87601h"], "--keep: '87601h' is not 0 or a duration of at most 10 years"),
    (["drain", "192.168.50.1", "--keep", ""], "--keep: '' is not 0 or a duration"),
    (["drain", "192.168.50.1", "--keep", "-1h"], "--keep: '-1h' is not 0 or a duration"),
    (["drain", "192.168.50.1", "--wait", "1m"], "--wait is for forget --proxies"),
    (["forget", "--wait", "1m"], "--wait is for forget --proxies"),
    (["forget", "--keep", "1h", "--proxies", "x"], "--keep and --proxies exclude each other"),
    (["forget", "--proxies", "x", "--wait", "0s"], "--wait: '0s' is not a duration from 1s to 24h"),
    (["forget", "web"], "unexpected operand 'web'"),
    (["balance"], "an operand is missing"),
    *((["balance", bad], f"edit: balance: '{bad}' is not off or a number from 1.005 to 2")
      for bad in ("1", "1.004", "2.001", "1.0200", "1.", ".5", "01.5", "1.02x", "on", "nan", "1,02", "102%", "3", "0")),
    (["balance", "1.02", "1.03"], "edit: balance: '1.03' is not off"),
])
def test_wrong_words_are_usage_errors(file, words, says):
    assert says in assert_unchanged(file, *words, code=USAGE).stderr


@pytest.mark.parametrize("value", ("1.005", "1.02", "1.5", "2", "2.0", "2.000", "1.999"))
def test_balance(file, value):
    assert f"web: balance: off -> {float(value):g}\n" in edit(file, "balance", value).stdout
    assert json.loads(file.read_text())["tables"][0]["balance"] == float(value)
    assert run("edit", file, "balance", value).stdout == f"{file}: nothing to do\n"
    assert f"web: balance: {float(value):g} -> off\n" in edit(file, "balance", "off").stdout
    assert "balance" not in json.loads(file.read_text())["tables"][0]


def test_eight_hops(file):
    edit(file, "set", "hops=8")
    assert "'9' is not an integer from 2 to 8" in assert_unchanged(file, "set", "hops=9").stderr


# undo


def test_undo_keeps_the_state_that_it_leaves(file):
    """Connections that began in the meantime are those of that state."""
    text = file.read_text()
    edit(file, "drain", "192.168.50.1")
    run("undo", file)
    assert states(file) == [(".2", ".3", ".4")]
    run("undo", file)
    assert states(file) == [ALL] and json.loads(file.read_text())["tables"][0]["backends"][0]["state"] == "draining"
    run("undo", file, "--keep", "0")
    assert states(file) == [] and json.loads(file.read_text()) == json.loads(text)


def test_undo_takes_forgetting_back(file):
    with_previous(file, entry(".1"), entry(".2"))
    before = file.read_text()
    run("edit", file, "forget")
    assert "web: previous states: 0 -> 2\n" in run("undo", file).stdout
    assert file.read_text() == before


# Forgetting by proof


def page(*hops, last_resort=0, interface="eth0"):
    """The metrics of a proxy that has accepted these numbers of packets at its hops."""
    return proxy() + f'glb_redirect_packets_total{{interface="{interface}",result="accepted_last_resort"}} {last_resort}\n' + "".join(
        f'glb_redirect_accepted_packets_total{{interface="{interface}",hop="{hop + 1}"}} {count}\n' for hop, count in enumerate((*hops, *(8 * [0]))[:8]))


@pytest.fixture
def fleet():
    with contextlib.ExitStack() as stack:
        yield Fleet(stack)


@pytest.fixture
def grown(tmp_path):
    """Three hops; .5 and then .6 were added, and .1 has drained. So .1 to .4 may be later hops because of previous states."""
    backends = [backend("192.168.50.1", "draining")] + [backend(f"192.168.50.{i}") for i in range(2, 7)]
    return write_tables(tmp_path / "t.json", table(hops=3, backends=backends, previous=[
        entry(".1", ".2", ".3", ".4", ".5", ".6", when=ago(10)), entry(".1", ".2", ".3", ".4", ".5", when=ago(20)), entry(*ALL, when=ago(30))]))


def forget(path, fleet, pages, *words, code=OK):
    """`pages`: by the last number of the address, the pages that the proxy serves one after the other."""
    def serve(texts):
        texts = list(texts)
        def answer(handler):
            body = (texts.pop(0) if len(texts) > 1 else texts[0]).encode()
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        return fleet.serve(answer)

    hosts = path.parent / "proxies"
    hosts.write_text("".join(f"192.168.50.{ip}={serve(texts) if isinstance(texts, tuple) else texts}\n" for ip, texts in pages.items()))
    before = path.read_bytes()
    done = run("edit", path, "forget", "--proxies", hosts, "--wait", "1s", "--timeout", "5", *words, code=code)
    if code != OK:
        assert path.read_bytes() == before
    return done


def quiet():
    return {ip: (page(100, 7, 5), page(900, 7, 5)) for ip in range(1, 7)}


def test_states_that_no_proxy_needs_are_forgotten(grown, fleet):
    done = forget(grown, fleet, quiet())
    assert done.stdout.startswith("web: in 1 s no connection needed 3 of 3 previous states\nweb: previous states: 3 -> 0\n")
    assert states(grown) == []
    run("check", grown)


def set_previous(path, *entries):
    """All rows have these proxies as later hops: the first one at hop 2, unless it is the first hop."""
    path.write_text(json.dumps({"tables": [{**json.loads(path.read_text())["tables"][0], "previous": list(entries)}]}))


def test_states_that_a_proxy_needs_stay(grown, fleet):
    set_previous(grown, entry(".2"))
    done = forget(grown, fleet, {**quiet(), 2: (page(100, 7, 5), page(900, 8, 6))}, code=BROKEN)
    assert f"{grown}: refused: 192.168.50.2 has accepted 1 packet at hop 2, so connections need the previous states of table web" in done.stderr
    assert states(grown) == [(".2",)]


def test_the_newest_states_that_are_needed_stay_alone(grown, fleet):
    set_previous(grown, entry(".2"), entry(".1"))
    done = forget(grown, fleet, {**quiet(), 2: (page(100, 7, 5), page(900, 9, 5))})
    assert states(grown) == [(".2",)] and "needed 1 of 2 previous states" in done.stdout


def test_packets_that_no_proxy_knows_need_no_history(grown, fleet):
    """Scans are accepted at the last hop."""
    set_previous(grown, entry(".2"))
    forget(grown, fleet, {**quiet(), 2: (page(0, 3, 50, last_resort=60), page(0, 4, 79, last_resort=90))})
    assert states(grown) == []


def test_more_than_the_packets_that_no_proxy_knows(grown, fleet):
    set_previous(grown, entry(".2"))
    pages = {**quiet(), 2: (page(0, 0, 50, last_resort=60), page(0, 1, 80, last_resort=90))}
    assert "192.168.50.2 has accepted" in forget(grown, fleet, pages, code=BROKEN).stderr


UNKNOWN = {
    "unreachable": (lambda: closed_port(), "its connections are not known: http://127.0.0.1:"),
    "HTML": (lambda: ("<html></html>",), "the page is not that of a proxy"),
    "no counters": (lambda: (proxy(),), "its metrics do not tell at which hop it has accepted packets"),
    "no numbers": (lambda: (page(0, "x"),), "its metrics do not tell at which hop it has accepted packets"),
    "a hop that is none": (lambda: (page() + 'glb_redirect_accepted_packets_total{interface="a",hop="9"} 0\n',), "do not tell at which hop"),
    "gone at the second question": (lambda: (page(), "<html></html>"), "the page is not that of a proxy"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_forgets_nothing(grown, fleet, name):
    host, text = UNKNOWN[name]
    set_previous(grown, entry(".2"))
    done = forget(grown, fleet, {**quiet(), 2: host()}, code=FAILED)
    assert "192.168.50.2: " in done.stderr and text in done.stderr and f"{grown}: refused: no previous state of table web is forgotten" in done.stderr


def test_force_forgets_what_is_not_known(grown, fleet):
    set_previous(grown, entry(".2"))
    assert "warning: 192.168.50.2: " in forget(grown, fleet, {**quiet(), 2: closed_port()}, "--force").stderr and states(grown) == []


def test_a_proxy_that_is_not_in_the_file_forgets_nothing(grown, fleet):
    set_previous(grown, entry(".2"))
    assert "no host in it is known to be 192.168.50.2" in forget(grown, fleet, {1: quiet()[1]}, code=FAILED).stderr


def test_proxies_that_rows_do_not_lose_are_not_asked(grown, fleet):
    """A proxy that is down must not keep the history of the others."""
    set_previous(grown, entry(".2"))
    forget(grown, fleet, {**{ip: closed_port() for ip in (1, 3, 4, 5, 6)}, 2: quiet()[2]})
    assert states(grown) == []


@pytest.mark.parametrize("second", [page(900, 6, 5), page(0, 0, 0), page(900, 7, 5) + page(0, interface="eth1")])
def test_counters_that_began_again_prove_nothing(grown, fleet, second):
    set_previous(grown, entry(".2"))
    done = forget(grown, fleet, {**quiet(), 2: (page(100, 7, 5), second)}, code=FAILED)
    assert "the counters of 192.168.50.2 went back, because its program was attached again" in done.stderr


def test_nobody_is_asked_about_a_table_without_previous_states(file):
    assert run("edit", file, "forget", "--proxies", "/none").stdout == f"{file}: nothing to do\n"
