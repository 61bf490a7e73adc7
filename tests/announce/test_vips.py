# SPDX-License-Identifier: BSD-3-Clause
"""When glb-announce announces a VIP, and when it withdraws it."""

import json

import pytest
from announcer import VIP, VIP6, FakeDirector

from lab.tools import wait_until

ON, ON6 = "glb_203_0_113_10", "glb_2001_db8_f__10"


def test_vips_of_the_binds_are_announced_once_the_director_forwards(announcer, director):
    director.fail("starting")
    with announcer:
        announcer.wait_rounds(director)
        assert announcer.announced == []
        director.health = {"state": "ok", "reasons": {}}
        announcer.wait_announced(ON, ON6)
        announcer.wait_rounds(director)
        assert announcer.stop() == 0
    assert announcer.changes == [f"enable {ON}", f"enable {ON6}", f"disable {ON}", f"disable {ON6}"]
    announcer.wait_log(f"notice: {VIP}: announced: glb-director is ok, and table web has a good backend\n")
    announcer.wait_log(f"notice: {VIP}: withdrawn: glb-announce stops\n")


@pytest.mark.parametrize("state", ("failing", "starting", "stopping", "later"))
def test_director_that_cannot_forward_loses_all_vips_and_gets_them_back(announcer, director, state):
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.fail(state)
        announcer.wait_announced()
        director.health = {"state": "degraded", "reasons": {}}
        announcer.wait_announced(ON, ON6)
    reason = "glb-director is stopping" if state == "stopping" else f"glb-director is {state}: link_down: port 0 (eth0): the link is down"
    announcer.wait_log(f"notice: {VIP}: withdrawn: {reason}\n")


def test_killed_director_loses_its_vips_at_once(announcer, director):
    announcer.configure(interval_ms=60000, timeout_ms=10000, rise=1)
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.kill()
        announcer.wait_announced()
        announcer.wait_log(f"{VIP}: withdrawn: glb-director has ended\n")


def test_restart_between_two_rounds_is_seen(announcer, director, folder):
    announcer.configure(interval_ms=60000, timeout_ms=10000, rise=1)
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.kill()
        with FakeDirector(folder, pid=101):
            announcer.wait_log(f"{VIP6}: withdrawn: ")


def test_vip_without_a_good_backend_is_withdrawn_alone(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.set_tables(("web", 0, [VIP]), ("web6", 1, [VIP6]))
        announcer.wait_announced(ON6)
        announcer.wait_log(f"{VIP}: withdrawn: no table of this VIP has a good backend, for instance table web\n")
        director.set_tables(("web", 0, [VIP]), ("web6", 1, [VIP6]), ("tls", 2, [VIP]))
        announcer.wait_announced(ON, ON6)


def test_vip_that_leaves_the_table_is_withdrawn_and_forgotten(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.set_tables(("web6", 1, [VIP6]))
        announcer.wait_announced(ON6)
        wait_until(lambda: [vip["prefix"] for vip in announcer.status()["vips"]] == [VIP6], "one VIP")
    announcer.wait_log(f"{VIP}: withdrawn: neither the configuration nor the forwarding table has it any more\n")


def test_listed_vips_need_a_bind(announcer, director):
    announcer.configure(vips=["203.0.113.0/24", "198.51.100.7"])
    with announcer:
        announcer.wait_announced("glb_203_0_113_0_24")
        wait_until(lambda: announcer.status()["vips"][1]["state"] == "withdrawn", "the other VIP")
        assert announcer.status()["vips"][1]["reason"] == "the forwarding table has no bind with this VIP"


def test_large_prefixes_are_announced_only_if_they_are_listed(announcer, director):
    director.set_tables(("all", 1, ["0.0.0.0/0", "203.0.113.0/24", "10.0.0.0/8", "::/0", "2001:db8::/47", "2001:db8::/48"]))
    with announcer:
        announcer.wait_announced("glb_203_0_113_0_24", "glb_2001_db8___48")
        announcer.wait_log("4 prefixes of the binds are not announced, because they are larger than /24 or /48")


@pytest.mark.parametrize("fail, expected", (("closed", []), ("static", [ON, ON6])))
def test_silence_withdraws_or_changes_nothing(announcer, director, fail, expected):
    announcer.configure(fail=fail)
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.silent = True
        wait_until(lambda: announcer.status()["director"]["state"] == "unknown", "silence")
        announcer.wait_announced(*sorted(expected))
        assert "does not say whether it forwards" in announcer.status()["director"]["reason"]
        director.kill()
        announcer.wait_announced()


def test_table_of_many_binds_is_read_in_pages(announcer, director):
    director.set_tables(("web", 1, [f"203.0.113.{i}" for i in range(1, 101)]))
    with announcer:
        wait_until(lambda: len(announcer.announced) == 100, "100 VIPs")
        director.set_tables(("web", 1, [f"203.0.113.{i}" for i in range(1, 101) if i != 77]))
        wait_until(lambda: len(announcer.announced) == 99, "99 VIPs")
        assert "glb_203_0_113_77" not in announcer.announced


def test_list_of_many_tables_is_read_in_pages(announcer, director):
    """A reply lists 64 tables. The last table of 130 has the VIP."""
    tables = [(f"t{i}", 1, [f"198.51.100.{i}"]) for i in range(129)]
    director.set_tables(*tables, ("web", 1, [VIP]))
    with announcer:
        announcer.wait_announced(ON, *(f"glb_198_51_100_{i}" for i in range(129)))
        director.set_tables(*tables, ("web", 0, [VIP]))
        announcer.wait_announced(*(f"glb_198_51_100_{i}" for i in range(129)))


def test_texts_that_are_cut_stay_valid(announcer, director):
    """Texts are cut to fixed sizes, perhaps within a character, and JSON has only whole ones."""
    director.set_tables(("ä" * 200, 0, [VIP]), ("web6", 1, [VIP6]))
    with announcer:
        announcer.wait_announced(ON6)
        wait_until(lambda: "for instance table ää" in announcer.status()["vips"][0]["reason"], "the reason")
        (announcer.folder / "broken").write_text("ß" * 300)
        wait_until(lambda: "ßß" in announcer.status()["driver"]["error"], "the error")


NONSENSE = (None, [], {}, "text", 7, {"state": 7}, {"tables": []}, {"generation": "x", "tables": {"0": 1, "1": []}},
            {"generation": 1, "tables": {"0": {"name": 5, "good_backends": -1}}}, {"error": "no"},
            {"generation": 2, "binds": {"0": 5, "1": {"bind": 5}, "2": {"bind": ""}, "3": {"bind": "1.2.3.4.5 tcp"}}, "truncated": 1})


@pytest.mark.parametrize("question", ("/glb/health", "/glb/tables", "/glb/tables,0,0"))
def test_nonsense_neither_announces_nor_ends_the_daemon(announcer, director, question):
    with announcer:
        announcer.wait_announced(ON, ON6)
        for nonsense in NONSENSE:
            director.answers = {question: nonsense}
            director.generation += 1
            announcer.wait_rounds(director, 1)
        director.answers = {}
        director.generation += 1
        announcer.wait_announced(ON, ON6)
        assert announcer.process.poll() is None
        director.answers = {"/glb/tables": {"generation": director.generation, "tables": {}}}  # the binds remain, and their tables do not
        announcer.wait_announced()


def test_hold_keeps_a_vip_withdrawn(announcer, director):
    announcer.configure(hold_ms=3600000, hold_max_ms=3600000)
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.fail()
        announcer.wait_announced()
        director.health = {"state": "ok", "reasons": {}}
        announcer.wait_rounds(director, 10)
        assert announcer.announced == []
        assert all(vip["held_ms"] > 3000000 for vip in announcer.status()["vips"])


def test_a_hold_goes_on_in_the_next_process(announcer, director):
    """systemd restarts glb-announce with a director that crashes again and again."""
    announcer.configure(hold_ms=3600000, hold_max_ms=3600000)
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.fail()
        announcer.wait_announced()
    director.health = {"state": "ok", "reasons": {}}
    with announcer:
        announcer.wait_rounds(director, 10)
        assert announcer.announced == []
        assert all(vip["held_ms"] > 3000000 for vip in announcer.status()["vips"])


def test_flaps_are_counted_over_restarts(announcer, director):
    announcer.configure(hold_ms=400, hold_max_ms=3600000)
    for flaps in range(3):
        with announcer:
            announcer.wait_announced(ON, ON6)
            director.fail()
            announcer.wait_announced()
        assert [vip["flaps"] for vip in announcer.status()["vips"]] == [flaps, flaps]
        director.health = {"state": "ok", "reasons": {}}


@pytest.mark.parametrize("member", ({"held_ms": -1}, {"held_ms": 1 << 62, "flaps": 1 << 62}, {"flaps": -5}, {"held_ms": "x", "flaps": []}))
def test_nonsense_in_the_status_of_an_earlier_process(announcer, director, member):
    with announcer:
        announcer.wait_announced(ON, ON6)
    status = announcer.status()
    for vip in status["vips"]:
        vip.update(member, state="announced")
    (announcer.folder / "status.json").write_text(json.dumps({**status, "updated": 1, "vips": status["vips"] * 2}))
    with announcer:
        announcer.wait_announced(ON, ON6)
