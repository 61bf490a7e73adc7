# SPDX-License-Identifier: BSD-3-Clause
"""glb-healthcheck remembers who was the first hop before health moved first hops (docs/reference/healthcheck.md#previous-states)."""

import json
import time

import pytest

from daemon import backend, table
from lab.tools import wait_until
from support.cli import run
from support.tree import BUILD

IPS = [f"10.78.0.{n}" for n in range(1, 5)]


@pytest.fixture
def fleet(daemon, tmp_path):
    """Returns a function that starts a daemon with four proxies, which are healthy while they have a file."""
    up = tmp_path / "up"
    up.mkdir()

    def start(*tables, up_now=IPS, **options):
        for ip in IPS:
            (up / ip).unlink(missing_ok=True)
        for ip in up_now:
            (up / ip).touch()
        made = daemon(*(tables or (proxies(balance=1.02, hops=4),)), panic_threshold=0, trigger=1, interval_ms=100,
                      commands=f'( {{ name = "up"; command = ["/bin/sh", "-c", "test -e $0 || exit 2", "{up}/{{ip}}"]; }} )', **options)
        made.up = up
        return made.start().wait_ready()
    return start


def proxies(**more):
    return table(*(backend(ip, command="up") for ip in IPS), **more)


def turn(made, ip, healthy):
    """Returns when dst says so."""
    if healthy:
        (made.up / ip).touch()
    else:
        (made.up / ip).unlink()
    wait_until(lambda: made.healthy()[ip] is healthy, made.log)


def previous(made, index=0):
    return json.loads(made.dst.read_text())["tables"][index].get("previous", [])


def states(made, index=0):
    """The last digits of the proxies of each previous state; those that were down with a minus."""
    def name(proxy):
        return ("" if proxy.get("healthy", True) else "-") + proxy["ip"].rpartition(".")[2]
    return [" ".join(map(name, state["backends"])) for state in previous(made, index)]


def test_failure_and_recovery_are_remembered_with_their_health(fleet):
    made = fleet()
    turn(made, IPS[0], False)
    assert states(made) == ["1 2 3 4"] and previous(made)[0]["by_health"] is True
    turn(made, IPS[1], False)
    assert states(made) == ["-1 2 3 4", "1 2 3 4"]
    turn(made, IPS[0], True)
    assert states(made) == ["-1 -2 3 4", "-1 2 3 4", "1 2 3 4"]
    assert run("check", made.dst).returncode == 0


def test_proxy_that_flaps_adds_nothing_new(fleet):
    made = fleet()
    for _ in range(4):
        turn(made, IPS[0], False)
        assert states(made) == ["1 2 3 4"]
        turn(made, IPS[0], True)
        assert states(made) == ["-1 2 3 4"]


def test_without_balance_a_state_lists_only_who_was_healthy(fleet):
    old = {"time": "2026-01-01T00:00:00Z", "backends": [{"ip": IPS[3]}]}
    made = fleet(proxies(hops=4, previous=[old]))
    turn(made, IPS[0], False)
    turn(made, IPS[1], False)
    assert states(made) == ["2 3 4", "1 2 3 4", "4"] and previous(made)[2] == old


def test_table_without_balance_and_previous_stays_as_it_is(fleet):
    made = fleet(proxies(hops=4), proxies(name="other", balance=1.02))
    turn(made, IPS[0], False)
    document = json.loads(made.dst.read_text())
    assert "previous" not in document["tables"][0] and len(document["tables"][1]["previous"]) == 1


def test_restart_goes_on_with_what_dst_has(fleet):
    made = fleet()
    turn(made, IPS[0], False)
    made.stop()
    (made.up / IPS[1]).unlink()
    made.start().wait_ready()
    wait_until(lambda: not made.healthy()[IPS[1]], made.log)
    assert states(made) == ["-1 2 3 4", "1 2 3 4"]


def test_change_of_src_while_the_daemon_was_down_is_remembered_with_health(fleet):
    """The state of src in edit's entry does not say who was down."""
    made = fleet()
    turn(made, IPS[0], False)
    made.stop()
    run("edit", made.src, "drain", IPS[3], "--max-broken", "100")
    made.start().wait_ready()
    wait_until(lambda: len(states(made)) == 2, made.log)
    assert states(made) == ["-1 2 3 4", "1 2 3 4"]


@pytest.mark.parametrize("content", [None, "{", ""])
def test_damaged_or_missing_dst_is_made_again_without_loss(fleet, content):
    made = fleet()
    turn(made, IPS[0], False)
    made.logged("written, 1 unhealthy")
    expected = made.dst.read_text()
    made.dst.unlink()
    if content is not None:
        made.dst.write_text(content)
    wait_until(lambda: made.dst.exists() and made.dst.read_text() == expected, made.log)


def test_states_that_edit_forgets_leave_and_recorded_ones_stay(fleet):
    old = {"time": "2026-01-01T00:00:00Z", "backends": [{"ip": IPS[3]}]}
    made = fleet(proxies(hops=4, balance=1.02, previous=[old]))
    turn(made, IPS[0], False)
    assert states(made) == ["1 2 3 4", "4"]
    made.write_src(proxies(hops=4, balance=1.02))
    wait_until(lambda: states(made) == ["1 2 3 4"], made.log)


def test_recorded_state_that_src_lists_too_is_there_once(fleet):
    made = fleet()
    turn(made, IPS[0], False)
    copy = {"time": "2026-01-01T00:00:00Z", "balance": 1.02, "backends": [{"ip": ip} for ip in reversed(IPS)]}
    made.write_src(proxies(hops=4, balance=1.02, previous=[copy]))
    wait_until(lambda: previous(made) == [copy], made.log)


def test_another_seed_makes_history_worthless(fleet):
    made = fleet()
    turn(made, IPS[0], False)
    made.write_src(proxies(hops=4, balance=1.02, seed="c0b1c2d3e4f5061728394a5b6c7d8e9f"))
    wait_until(lambda: previous(made) == [], made.log)


def test_another_family_of_proxies_makes_history_worthless(fleet):
    """A table with states of both families would be no valid table, so that health reached no director."""
    made = fleet()
    turn(made, IPS[0], False)
    (made.up / "fd00::2").touch()
    made.write_src(table(*(backend(ip, command="up") for ip in ("fd00::1", "fd00::2")), hops=4, balance=1.02))
    wait_until(lambda: made.healthy().get("fd00::1") is False, made.log)
    assert states(made) in ([], ["1 2"])  # the second one if the first write came before the first checks
    run("check", made.dst)


def test_table_that_is_renamed_keeps_what_was_recorded(fleet):
    """Its binds tell which one it is, unless another table has its name now."""
    first, second = (proxies(name="web", hops=4, balance=1.02), proxies(name="old", hops=4, balance=1.5, vips=("203.0.113.11",)))
    made = fleet(first, second)
    turn(made, IPS[0], False)
    made.write_src({**second, "name": "new"}, {**first, "name": "www"})
    wait_until(lambda: '"www"' in made.dst.read_text(), made.log)
    assert [[state["balance"] for state in previous(made, index)] for index in (0, 1)] == [[1.5], [1.02]]


def test_recorded_states_of_a_clock_that_was_ahead_count_as_recorded_now(fleet):
    made = fleet()
    turn(made, IPS[0], False)
    turn(made, IPS[1], False)
    made.stop()
    document = json.loads(made.dst.read_text())
    document["tables"][0]["previous"][0]["time"] = "2099-01-01T00:00:00Z"
    made.dst.write_text(json.dumps(document))
    made.start().wait_ready()
    wait_until(lambda: previous(made)[0]["time"] < "2099", made.log)
    assert states(made) == ["-1 2 3 4", "1 2 3 4"]
    assert made.log().count("table web: 1 previous state that glb-healthcheck recorded had a time in the future") == 1
    written = made.dst.read_text()
    made.stop()
    made.start().wait_ready()
    assert made.dst.read_text() == written and made.log().count("in the future") == 1


def test_clock_that_is_not_set_forgets_nothing(fleet):
    """NTP sets it after the start. A state that was recorded before that does not look 56 years old."""
    made = fleet()
    turn(made, IPS[0], False)
    recorded = previous(made)
    made.stop()
    made.start(LD_PRELOAD=str(BUILD / "tests/driver/clock_of_1970.so")).wait_ready()
    turn(made, IPS[1], False)
    assert states(made) == ["-1 2 3 4", "1 2 3 4"] and previous(made)[1] == recorded[0]
    assert "had a time in the future" not in made.log()
    document = json.loads(made.dst.read_text())
    for state in document["tables"][0]["previous"]:
        state["time"] = "1970-01-01T00:00:05Z"  # as if that clock had recorded all
    made.stop()
    made.dst.write_text(json.dumps(document))
    (made.up / IPS[2]).unlink()
    made.start().wait_ready()
    wait_until(lambda: not made.healthy()[IPS[2]], made.log)
    assert states(made) == ["-1 -2 3 4", "-1 2 3 4", "1 2 3 4"]
    assert all(state["time"] >= recorded[0]["time"] for state in previous(made))
    made.logged("table web: 2 previous states that glb-healthcheck recorded had a time in the future or before 2026")


def test_tables_without_names_are_told_apart_by_their_place(fleet):
    made = fleet(proxies(balance=1.02, name="", hops=4), proxies(balance=1.5, name="", hops=4, vips=("203.0.113.11",)))
    turn(made, IPS[0], False)
    assert [previous(made, index)[0]["balance"] for index in (0, 1)] == [1.02, 1.5]


def test_at_most_sixteen_states_are_kept_and_the_one_that_adds_least_goes(fleet):
    """The newest and the oldest of src differ little; the one that alone names proxy 4 stays whatever its age is."""
    alone = {"time": "2026-01-01T00:00:00Z", "backends": [{"ip": IPS[3]}]}
    others = [{"time": f"2026-02-{day:02}T00:00:00Z", "backends": [{"ip": IPS[0], "weight": 100 + day}, {"ip": IPS[1]}, {"ip": IPS[2]}]}
              for day in range(15, 0, -1)]
    made = fleet(proxies(hops=4, balance=1.02, previous=[*others, alone]))
    turn(made, IPS[0], False)
    kept = previous(made)
    assert len(kept) == 16 and kept[0]["by_health"] and kept[-1] == alone


def test_states_with_another_balance_are_not_equal_when_one_must_go(fleet):
    """Both newest states of src have the same proxies; the ones behind them hardly differ, and are older."""
    pair = [{"time": f"2026-02-20T00:00:0{second}Z", "balance": balance, "backends": [{"ip": ip} for ip in IPS[1:]]}
            for second, balance in ((1, 1.1), (0, 1.5))]
    others = [{"time": f"2026-02-{day:02}T00:00:00Z", "balance": 1.02, "backends": [{"ip": IPS[1], "weight": 100 + day}, *pair[0]["backends"][1:]]}
              for day in range(15, 1, -1)]
    made = fleet(proxies(hops=4, balance=1.02, previous=[*pair, *others]))
    turn(made, IPS[0], False)
    kept = previous(made)
    assert len(kept) == 16 and kept[0]["by_health"] and kept[1:3] == pair


def test_old_states_leave_when_the_state_changes_again(fleet):
    made = fleet(keep_previous_s=2)
    turn(made, IPS[0], False)
    time.sleep(4)
    assert states(made) == ["1 2 3 4"]
    turn(made, IPS[1], False)
    assert states(made) == ["-1 2 3 4"]


def test_keep_0_records_nothing(fleet):
    made = fleet(keep_previous_s=0)
    turn(made, IPS[0], False)
    assert previous(made) == []


def test_failed_write_loses_no_state(fleet):
    """The state that dst has counts, not one that could not be written."""
    made = fleet()
    turn_text = made.dst.read_text()
    blocked = made.dst.with_name("dst.json.saved")
    made.dst.rename(blocked)
    made.dst.mkdir()
    (made.dst / "full").touch()
    (made.up / IPS[0]).unlink(missing_ok=True)
    made.logged("table not written")
    (made.dst / "full").unlink()
    made.dst.rmdir()
    blocked.rename(made.dst)
    assert made.dst.read_text() == turn_text
    wait_until(lambda: states(made) == ["1 2 3 4"], made.log)
