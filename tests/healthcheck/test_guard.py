# SPDX-License-Identifier: BSD-3-Clause
"""glb-healthcheck refuses a src that empties the service by accident, also when it starts, unless somebody confirms it."""

import json
import re

import pytest

import nginx
from daemon import backend, table
from lab.tools import wait_until

PROXIES = ["10.78.0.1", "10.78.0.2", "10.78.0.3", "10.78.0.4"]


def web(count=4, **more):
    return table(*(backend(ip) for ip in PROXIES[:count]), vips=("203.0.113.10", "203.0.113.11"), **more)


GIT = table(backend(PROXIES[0]), name="git", vips=("203.0.113.12",))
GONE = ": 10.78.0.2, 10.78.0.3, 10.78.0.4"
INACTIVE = table(backend(PROXIES[0]), *(backend(ip, "inactive") for ip in PROXIES[1:]), vips=("203.0.113.10", "203.0.113.11"))
BINDS = "tcp 203.0.113.10 port 80, tcp 203.0.113.11 port 80"

LOSSES = {
    "all tables": ((), "all tables vanish: web, git"),
    "a table": ((GIT,), f"table web vanishes with all its binds: {BINDS}"),
    "all binds": (({**web(), "binds": []}, GIT), f"table web loses all its binds: {BINDS}"),
    "backends": ((web(1), GIT), f"table web loses 3 of its 4 usable backends, and max_shrink is 50 %{GONE}"),
    "backends by state": ((INACTIVE, GIT), f"table web loses 3 of its 4 usable backends, and max_shrink is 50 %{GONE}"),
}


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]


def guarded(daemon, **options):
    return daemon(web(), GIT, **{"max_shrink": 50, **options})


def content(made):
    return json.loads(made.dst.read_text())["tables"]


def refused(made, text):
    """Waits until src is refused for this loss. Returns the value of `replaces` that confirms it."""
    error = f"{made.src}: {text}. If this is intended, add \"replaces\": \""
    made.logged(f"error: src {made.src} refused, the last good table stays in use:\n")
    made.logged(f"error: {error}")
    status = made.status()
    assert status["src"]["error"].startswith(error) and status["src"]["refused"] >= 1
    assert [one["name"] for one in status["tables"]] == ["web", "git"]
    assert "glb_healthcheck_src_bad 1\n" in made.get("/metrics")[2]
    return re.search(r'"replaces": "([0-9a-f]{16})" to the JSON table$', status["src"]["error"])[1]


def summary(tables):
    return [(one["name"], one["binds"], [(each["ip"], each["state"]) for each in one["backends"]]) for one in tables]


def accepted(made, tables):
    wait_until(lambda: summary(content(made)) == summary(tables), lambda: f"{summary(tables)} in dst: {made.log()}")
    assert made.status()["src"]["error"] == ""
    assert "glb_healthcheck_src_bad 0\n" in made.get("/metrics")[2]


def test_loss_is_refused_until_it_is_confirmed(daemon, loss):
    tables, text = loss
    made = guarded(daemon).start().wait_ready()
    before = made.dst.read_bytes()
    made.write_src(*tables)
    replaces = refused(made, text)
    assert made.dst.read_bytes() == before
    made.write_src(*tables, replaces=replaces)
    accepted(made, tables)
    assert json.loads(made.dst.read_text())["replaces"] == replaces
    made.logged(f"warning: {made.src}: {text}\n")


def test_restart_refuses_a_loss(daemon, loss):
    """The daemon starts with dst in place of src, so checks and /status work. The confirmation makes it use src."""
    tables, text = loss
    made = guarded(daemon).start().wait_ready()
    made.stop()
    before = made.dst.read_bytes()
    made.write_src(*tables)
    made.start().wait_ready()
    replaces = refused(made, text)
    made.logged(f"warning: dst {made.dst} is used in place of src\n")
    assert made.dst.read_bytes() == before
    made.write_src(*tables, replaces=replaces)
    accepted(made, tables)


def test_refused_restart_goes_on_checking(daemon, own_nginx):
    own_nginx.start()
    tables = [table(backend(PROXIES[0], http=8080), backend(PROXIES[1], http=nginx.OK))]
    made = daemon(*tables, max_shrink=50).start().wait_ready()
    made.wait_healthy({PROXIES[0]: True, PROXIES[1]: True})
    made.stop()
    made.write_src()
    made.start().wait_ready()
    own_nginx.stop()
    made.wait_healthy({PROXIES[0]: False, PROXIES[1]: True})
    made.write_src(*tables)
    made.logged(f"notice: src {made.src} is valid again and in use\n")
    assert made.status()["src"]["error"] == ""


def test_second_restart_refuses_too(daemon):
    made = guarded(daemon).start().wait_ready()
    made.stop()
    made.write_src()
    for times in (1, 2):
        made.start().wait_ready()
        made.logged(f"error: {made.src}: all tables vanish: web, git", times)
        made.stop()
    assert [one["name"] for one in content(made)] == ["web", "git"]


@pytest.mark.parametrize("dst, message", (
    (None, None),
    ("", "warning: src is not compared with dst: {dst}: is empty\n"),
    ("{", "warning: src is not compared with dst: {dst}:1:1: not JSON: "),
))
def test_first_start_without_a_usable_dst(daemon, dst, message):
    made = daemon(max_shrink=50)
    if dst is not None:
        made.dst.write_text(dst)
    made.start().wait_ready()
    made.logged(f"warning: {made.src}: has no tables: the director forwards nothing\n")
    wait_until(lambda: made.status()["dst"]["writes"] == 1, "the first write")
    assert content(made) == []
    assert not message or message.format(dst=made.dst) in made.log()


def test_lost_vip_is_a_warning(daemon):
    made = guarded(daemon).start().wait_ready()
    changed = web()
    changed["binds"][0]["ip"] = "203.0.113.99"
    made.write_src(changed, GIT)
    made.logged(f"warning: {made.src}: table web loses 1 VIP: 203.0.113.10\n")
    wait_until(lambda: content(made)[0]["binds"][0]["ip"] == "203.0.113.99", "the new src")


def test_renamed_and_divided_tables_are_not_lost(daemon):
    made = guarded(daemon).start().wait_ready()
    binds = web()["binds"]
    one, two = {**web(2, name="one"), "binds": binds[:1]}, {**web(4, name="two"), "binds": binds[1:]}
    made.write_src(one, two, {**GIT, "name": ""})
    accepted(made, [one, two, {**GIT, "name": ""}])
    assert "vanish" not in made.log() and "loses" not in made.log()


def test_stale_confirmation_does_not_count(daemon):
    """`replaces` of an earlier generation stays in the file. The message says what to write instead."""
    made = guarded(daemon).start().wait_ready()
    made.write_src()
    first = refused(made, "all tables vanish: web, git")
    made.write_src(web(3), GIT, replaces=first)
    wait_until(lambda: len(content(made)[0]["backends"]) == 3, "three backends")
    made.write_src(web(1), GIT, replaces=first)
    made.logged(f'" in the JSON table (it names another table: {first})\n')
    assert len(content(made)[0]["backends"]) == 3


def test_confirmation_counts_once(daemon):
    """The first change is one of states, so the fingerprint stays the same."""
    made = guarded(daemon).start().wait_ready()
    made.write_src(INACTIVE, GIT)
    replaces = refused(made, LOSSES["backends by state"][1])
    made.write_src(INACTIVE, GIT, replaces=replaces)
    accepted(made, [INACTIVE, GIT])
    made.write_src(replaces=replaces)
    made.logged('the table in use has the same "replaces", which confirms one change only: load that table without it first\n')
    assert len(content(made)) == 2


def test_max_shrink_can_be_turned_off(daemon):
    made = guarded(daemon, max_shrink=100).start().wait_ready()
    made.write_src(web(1), GIT)
    wait_until(lambda: len(content(made)[0]["backends"]) == 1, "one backend")


def test_check_once_compares_nothing(daemon):
    made = guarded(daemon).start().wait_ready()
    made.stop()
    made.write_src()
    assert made.check_once() == (0, {})
