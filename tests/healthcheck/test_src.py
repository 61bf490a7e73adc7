# SPDX-License-Identifier: BSD-3-Clause
"""How glb-healthcheck notices a changed src, and which src it refuses."""

import json
import signal
import subprocess

import nginx
import pytest
from daemon import backend, table, wait_probes
from lab.tools import wait_until
from network import ELSEWHERE, PROXY
from support.folders import open_to_all
from support.tree import CLI

OWN = nginx.OWN


def test_new_src_is_used_at_once(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)), hold_ms=3600000).start().wait_ready()
    made.write_src(table(backend(PROXY, http=nginx.OK), backend(ELSEWHERE, tcp=9), backend("10.78.0.1", tcp=80)))
    made.wait_healthy({PROXY: True, ELSEWHERE: False, "10.78.0.1": True})
    assert made.status()["dst"]["writes"] == 2  # dst was written once, after the first checks of the new backends


def test_release_that_a_link_leads_to_and_rights_are_noticed(daemon, tmp_path):
    """src -> current/src.json, and current -> releases/N, as deployment tools do it."""
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    releases = [tmp_path / "releases" / str(number) for number in range(3)]
    for number, release in enumerate(releases):
        release.mkdir(parents=True)
        (release / "src.json").write_text(json.dumps({"tables": [table(backend(f"10.78.0.{number}", http=nginx.OK))]}))
    (tmp_path / "current").symlink_to(releases[0])
    made.src.unlink()
    made.src.symlink_to(tmp_path / "current" / "src.json")
    made.start().wait_ready().wait_healthy({"10.78.0.0": True})
    (tmp_path / "new").symlink_to(releases[1])
    (tmp_path / "new").rename(tmp_path / "current")
    made.wait_healthy({"10.78.0.1": True})
    (releases[1] / "src.json").write_text((releases[2] / "src.json").read_text())  # in place
    made.wait_healthy({"10.78.0.2": True})
    made.src.unlink()
    made.src.symlink_to(releases[0] / "src.json")
    made.wait_healthy({"10.78.0.0": True})


def test_src_that_becomes_readable_is_noticed(daemon, here):
    """The daemon is not root, so that it may not read everything. Only other users have the right."""
    made = daemon(table(backend(PROXY, tcp=nginx.OK)))
    open_to_all(made.folder)
    made.folder.chmod(0o777)
    made.src.chmod(0o644)
    made.start("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups").wait_ready()
    made.src.chmod(0o600)
    made.logged(f"error: {made.src}: cannot be opened: Permission denied")
    made.src.chmod(0o644)
    made.logged(f"notice: src {made.src} is valid again and in use")


def test_src_that_is_moved_in_is_noticed(daemon, tmp_path):
    made = daemon(table(backend(PROXY, http=nginx.OK))).start().wait_ready()
    new = tmp_path / "elsewhere" / "src.json"
    new.parent.mkdir()
    new.write_text(json.dumps({"tables": [table(backend(ELSEWHERE, http=nginx.OK))]}))
    wait_probes(made, 5)  # the event for the new folder has been handled
    new.rename(made.src)
    wait_until(lambda: list(made.healthy()) == [ELSEWHERE], "the new table")


def test_folder_of_src_is_replaced(daemon, tmp_path):
    """The new folder is watched from then on."""
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    current, old = tmp_path / "current", tmp_path / "old"
    current.mkdir()
    made.src = made.src.rename(current / "src.json")
    made.write_conf(forwarding_table=f'{{ src = "{made.src}"; dst = "{made.dst}"; }}')
    made.start().wait_ready()
    current.rename(old)
    current.mkdir()
    for ip in (ELSEWHERE, PROXY):
        made.write_src(table(backend(ip, http=nginx.OK)))
        wait_until(lambda: list(made.healthy()) == [ip], f"the table with {ip}")


def test_src_behind_a_symbolic_link(daemon, tmp_path):
    """The link is replaced, as configuration managers do it."""
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    for name, ip in (("a", PROXY), ("b", ELSEWHERE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "src.json").write_text(json.dumps({"tables": [table(backend(ip, http=nginx.OK))]}))
    made.src.unlink()
    made.src.symlink_to("data/src.json")
    (tmp_path / "data").symlink_to("a")
    made.start().wait_ready()
    (tmp_path / "data.new").symlink_to("b")
    (tmp_path / "data.new").rename(tmp_path / "data")
    wait_until(lambda: list(made.healthy()) == [ELSEWHERE], "the new table")


def test_sighup_reads_src_if_it_is_not_watched(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)), watch=False).start().wait_ready()
    made.write_src(table(backend(ELSEWHERE, tcp=9)), _edited=True)
    wait_probes(made, 5)
    assert list(made.healthy()) == [PROXY]
    made.kill(signal.SIGHUP)
    wait_until(lambda: list(made.healthy()) == [ELSEWHERE], "the new table")


def test_each_load_warns_about_settings_that_contradict_each_other(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK), healthchecks={"interval_ms": 100}),
                  table(backend(PROXY, http=nginx.OK), name="git", vips=("203.0.113.11",)),
                  tables='( { name = "wob"; }, { name = "git"; } )', interval_ms=2000)
    made.start().wait_ready()
    timing = "src.json: table web: timeout_ms 1000 is not less than interval_ms 100: a check that times out runs less often\n"
    name = "src.json: has no table 'wob', but `tables` in healthcheck.conf names it\n"
    assert (made.log().count(timing), made.log().count(name), made.log().count("warning: ")) == (1, 1, 2), made.log()
    made.kill(signal.SIGHUP)
    made.logged(name, times=2)
    made.stop()
    assert made.log().count(timing) == 2 and made.log().count(name) == 2  # and not again when it stops


@pytest.mark.parametrize("text, fault", [
    ('{"tables": [', "src.json:1:12: not JSON: "),
    ('{"tables": [{"name": "web"}]}', "src.json:1:13: tables[0].hash_key: missing; expected 32 hex digits"),
    ('{"tables": [], "x": 1, "colour": 2}', "src.json:1:16: x: unknown key"),
    ("", "src.json: is empty"),
])
def test_bad_src_is_refused_and_the_old_one_stays_in_use(daemon, own_nginx, text, fault):
    own_nginx.start()
    good = table(backend(PROXY, http=OWN), backend(ELSEWHERE, http=nginx.OK))
    made = daemon(good).start().wait_ready()
    made.wait_healthy({PROXY: True, ELSEWHERE: True})
    made.src.write_text(text)
    made.logged("src.json refused, the last good table stays in use:")
    made.logged(fault)
    assert made.status()["src"]["refused"] >= 1 and made.status()["src"]["error"]
    own_nginx.stop()
    made.wait_healthy({PROXY: False, ELSEWHERE: True})
    made.write_src(good)
    made.logged("src.json is valid again and in use")
    assert made.status()["src"]["error"] == ""
    assert made.log().count("src.json refused") == 1


def test_src_is_changed_by_edit_and_undo(daemon, own_nginx):
    own_nginx.start()
    made = daemon(table(backend(PROXY, http=OWN), backend(ELSEWHERE, http=nginx.OK))).start().wait_ready()
    made.wait_healthy({PROXY: True, ELSEWHERE: True})
    for words in (["edit", made.src, "drain", PROXY, "--max-broken", "100"], ["undo", made.src, "--max-broken", "100"]):
        subprocess.run([CLI, *words], check=True, stdout=subprocess.DEVNULL)
        state = "draining" if words[0] == "edit" else "active"
        wait_until(lambda: json.loads(made.dst.read_text())["tables"][0]["backends"][0]["state"] == state, made.log)
    made.wait_healthy({PROXY: True, ELSEWHERE: True})


def test_src_is_deleted_and_comes_back(daemon, own_nginx):
    own_nginx.start()
    good = table(backend(PROXY, http=OWN), backend(ELSEWHERE, http=nginx.OK))
    made = daemon(good).start().wait_ready()
    made.wait_healthy({PROXY: True, ELSEWHERE: True})
    made.src.unlink()
    made.logged("src.json: cannot be opened: No such file or directory")
    own_nginx.stop()
    made.wait_healthy({PROXY: False, ELSEWHERE: True})
    made.write_src(good)
    made.logged("src.json is valid again and in use")
