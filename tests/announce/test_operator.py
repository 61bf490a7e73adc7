# SPDX-License-Identifier: BSD-3-Clause
"""What operators do: status, withdraw, announce, two daemons, a daemon that was killed."""

import contextlib
import json
import os
import signal
import subprocess

import pytest
from announcer import DRIVER, VIP, VIP6, FakeDirector

from lab.tools import TIMEOUT_S, wait_until
from support.service_manager import ServiceManager

ON, ON6 = "glb_203_0_113_10", "glb_2001_db8_f__10"


def test_withdrawal_survives_a_restart_and_tells_who_did_it(announcer, director):
    announcer.environment["SUDO_USER"] = "alice"
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.call("withdraw", "--reason", "new memory")
        assert announcer.announced == []
        assert f"{VIP}: withdrawn: alice withdrew the VIPs at 20" in announcer.log and " UTC: new memory\n" in announcer.log
        assert announcer.stop() == 0
    with announcer:
        announcer.wait_rounds(director)
        assert announcer.announced == []
        shown = announcer.call("status", code=1).stdout
        assert "operator: alice withdrew the VIPs at 20" in shown
        announcer.call("announce")
        announcer.wait_announced(ON, ON6)
        announcer.wait_rounds(director)
        assert json.loads(announcer.call("status", "--json").stdout)["operator"] is None


def test_withdraw_and_announce_may_be_repeated(announcer, director):
    with announcer:
        for _ in range(2):
            announcer.call("withdraw")
        for _ in range(2):
            announcer.call("announce")
        announcer.wait_announced(ON, ON6)


def test_withdraw_before_the_daemon_runs(announcer, director):
    assert "it will announce nothing when it starts" in announcer.call("withdraw").stderr
    with announcer:
        announcer.wait_rounds(director)
        assert announcer.announced == []


def test_damaged_switch_keeps_the_vips_withdrawn(announcer, director):
    (announcer.folder / "withdrawn.json").write_text("{")
    with announcer:
        announcer.wait_rounds(director)
        assert announcer.announced == []
        assert "an operator withdrew the VIPs at an unknown time" in announcer.call("status", code=1).stdout


def test_switch_with_a_time_that_no_calendar_has(announcer, director):
    """A script has written nanoseconds."""
    (announcer.folder / "withdrawn.json").write_text('{"by": "bob", "reason": "disk", "since": 1763843400000000000}')
    with announcer:
        announcer.wait_rounds(director)
        assert announcer.announced == []
        shown = announcer.call("status", code=1).stdout
        assert "operator: bob withdrew the VIPs at an unknown time: disk" in shown
        assert announcer.stop() == 0


@pytest.mark.parametrize("content", ("folder", "large", "fifo", "loop", "file as folder", "long name"))
def test_switch_that_cannot_be_read_keeps_the_vips_withdrawn(announcer, director, content):
    path = announcer.folder / "withdrawn.json"
    if content == "folder":
        path.mkdir()
    elif content == "fifo":
        os.mkfifo(path)
    elif content == "loop":
        path.symlink_to(path)
    elif content == "file as folder":
        announcer.configure(switch_file="driver.conf/withdrawn.json")
    elif content == "long name":
        announcer.configure(switch_file=f"{'x' * 300}/withdrawn.json")
    else:
        announcer.call("withdraw", "--reason", "x" * 70000)
    with announcer:
        announcer.wait_log("withdrawn.json: ")
        announcer.wait_rounds(director)
        assert announcer.announced == []


def test_switch_that_becomes_unreadable_withdraws_and_its_absence_announces(announcer, director):
    path = announcer.folder / "withdrawn.json"
    with announcer:
        announcer.wait_announced(ON, ON6)
        path.symlink_to(path)
        announcer.wait_announced()
        announcer.wait_rounds(director, 1)  # the status follows the last command of the daemon
        assert "the switch_file cannot be read" in announcer.call("status", code=1).stdout
        path.unlink()
        announcer.wait_announced(ON, ON6)


def test_withdraw_that_cannot_write_says_what_to_do_instead(announcer, director):
    announcer.configure(switch_file="missing/withdrawn.json")
    with announcer:
        announcer.wait_announced(ON, ON6)
        stderr = announcer.call("withdraw", code=1).stderr
        assert stderr.endswith("To withdraw the VIPs without this file: systemctl stop glb-announce\n")
        assert announcer.announced == sorted([ON, ON6])


def test_withdraw_waits_for_a_routing_daemon_that_fails(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        (announcer.folder / "broken").touch()
        assert "the VIPs are not withdrawn after 1 s" in announcer.call("withdraw", "--timeout", "1", code=1).stderr


def test_second_daemon_is_refused_with_the_number_of_the_first(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        assert f"another glb-announce runs with this status_file: process {announcer.process.pid}" in announcer.call("run", code=1).stderr
        assert announcer.announced == sorted([ON, ON6])


def test_killed_daemon_leaves_the_vips_and_a_new_one_takes_them_over(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
        assert announcer.announced == sorted([ON, ON6])
        assert "glb-announce does not run" in announcer.call("status", code=1).stderr
    before = announcer.changes
    with announcer:
        announcer.wait_rounds(director, 10)
        assert announcer.changes == before  # nothing was withdrawn in between
        director.fail()
        announcer.wait_announced()


def test_vips_of_a_killed_daemon_are_withdrawn_if_the_director_is_gone(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    director.kill()
    with announcer:
        announcer.wait_announced()
        announcer.wait_log(f"{VIP}: withdrawn: glb-director does not run\n")


def test_vips_of_a_killed_daemon_are_withdrawn_although_the_check_overlooks_them(announcer, director):
    """For instance because `announced` does not match what a new version of the routing daemon prints."""
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    announcer.change_daemon(announcer.daemon.read_text().replace("Static master4", "static master4"))
    director.kill()
    with announcer:
        announcer.wait_announced()
        assert announcer.stop() == 0


def test_vips_are_announced_only_while_they_can_be_recorded(announcer, director):
    """If this process were killed, nobody would withdraw them."""
    path = announcer.folder / "status.json"
    path.mkdir()
    with announcer:
        announcer.wait_log("status.json: ")
        announcer.wait_rounds(director, 10)
        assert announcer.announced == []
        path.rmdir()
        announcer.wait_announced(ON, ON6)
        announcer.wait_log("status.json: can be written again")


def test_service_manager_is_told(announcer, director):
    with ServiceManager() as manager:
        announcer.environment.update(NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="10000000")
        with announcer:
            assert manager.next() == ["READY=1"]
            manager.wait_for("STATUS=announces 2 of 2 VIPs; glb-director is ok")
            manager.wait_for("WATCHDOG=1")
            director.fail()
            manager.wait_for("STATUS=announces 0 of 2 VIPs; glb-director is failing: link_down: port 0 (eth0): the link is down")
            announcer.process.send_signal(signal.SIGTERM)
            manager.wait_for("STOPPING=1")
            assert announcer.process.wait(TIMEOUT_S) == 0


def test_stop_waits_only_if_something_was_announced(announcer, director):
    announcer.configure(withdraw_ms=200)
    with announcer:
        announcer.wait_announced(ON, ON6)
        assert announcer.stop() == 0
    assert announcer.log.count("waits 200 ms for the routers") == 1 and announcer.announced == []
    director.fail()
    with announcer:
        wait_until(lambda: announcer.status()["pid"] == announcer.process.pid, "the status")
        announcer.wait_rounds(director)
        assert announcer.stop() == 0
    assert announcer.log.count("waits 200 ms") == 1


def test_signals_arrive_while_each_round_takes_longer_than_the_interval(announcer, director):
    """The director hangs, and so each question takes timeout_ms."""
    announcer.configure(fail="static", timeout_ms=100)
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.silent = True
        wait_until(lambda: announcer.status()["director"]["state"] == "unknown", "silence")
        announcer.configure(fail="static", timeout_ms=100, vips=[VIP])
        announcer.process.send_signal(signal.SIGHUP)
        announcer.wait_announced(ON)
        assert announcer.stop() == 0
    assert announcer.announced == []

def test_release_withdraws_what_a_killed_daemon_has_left(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        assert "glb-announce runs: stop it instead" in announcer.call("release", code=1).stderr
        announcer.stop(signal.SIGKILL)
    assert f"{VIP}: withdrawn: glb-announce ended without withdrawing it" in announcer.call("release").stderr
    assert announcer.announced == []
    assert announcer.call("release").stderr == ""


def test_release_takes_a_vip_for_withdrawn_that_the_check_does_not_find(announcer, director):
    """FRR was restarted, too. It refuses to withdraw what it does not announce."""
    announcer.change_daemon(announcer.daemon.read_text().replace("rm -f", "rm"))
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    (announcer.folder / "on" / ON).unlink()
    announcer.call("release")
    assert announcer.announced == []


def test_release_after_a_clean_stop_does_nothing(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop()
    calls = announcer.calls
    assert announcer.call("release").stderr == "" and announcer.calls == calls


def test_release_leaves_everything_if_it_fails_static(announcer, director):
    announcer.configure(fail="static")
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    announcer.call("release")
    assert announcer.announced == sorted([ON, ON6])


def test_release_without_any_run_since_boot_does_nothing(announcer):
    assert announcer.call("release").stderr == "" and announcer.calls == []
    assert not (announcer.folder / "status.json.lock").exists()


LOST = ("missing", "", "{", "[]", "{}", '{"vips": {}}', "folder", "loop")


def lose_status(announcer, how):
    path = announcer.folder / "status.json"
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "loop":
        path.symlink_to(path)
    elif how != "missing":
        path.write_text(how)


@pytest.mark.parametrize("how", LOST)
def test_release_fails_if_nobody_knows_what_is_announced(announcer, director, how):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    lose_status(announcer, how)
    for _ in range(2):
        stderr = announcer.call("release", code=1).stderr
        assert f"{announcer.folder}/status.json" in stderr
        assert how == "loop" or "other VIPs may still be announced: ask the routing daemon" in stderr


@pytest.mark.parametrize("how", LOST[:-2])
def test_release_without_its_file_withdraws_the_listed_vips(announcer, director, how):
    announcer.configure(vips=[VIP, VIP6, "198.51.100.1"])
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    lose_status(announcer, how)
    stderr = announcer.call("release").stderr
    assert "so all VIPs that the configuration lists are withdrawn" in stderr and announcer.announced == []
    assert announcer.call("release").stderr == ""


def test_release_withdraws_what_a_damaged_file_still_tells(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    path = announcer.folder / "status.json"
    path.write_text(path.read_text().replace(f'"{VIP6}"', '"nonsense"'))
    assert "status.json: is not a status of glb-announce, or damaged" in announcer.call("release", code=1).stderr
    assert announcer.announced == [ON6]


def test_damaged_file_is_reported_at_start_and_replaced(announcer, director):
    (announcer.folder / "status.json").write_text("{")
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.wait_log("status.json: is not a status of glb-announce, or damaged; a VIP of an earlier glb-announce")
        assert announcer.status()["pid"] == announcer.process.pid


def test_kill_between_record_and_command_leaves_a_record(announcer, director):
    """The routing daemon did what it was told, and glb-announce was killed before it knew."""
    announcer.change_daemon(announcer.daemon.read_text().replace("enable) touch on/$2", "enable) touch on/$2; sleep 60"))
    with announcer:
        wait_until(lambda: announcer.announced, "a VIP")
        announcer.stop(signal.SIGKILL)
    assert f"{VIP}: withdrawn: " in announcer.call("release").stderr
    assert announcer.announced == []


@pytest.mark.parametrize("name, text", [
    ("announce.conf", "nonsense = 1;"), ("driver.conf", "nonsense = 1;"), ("driver.conf", "("), ("driver.conf", None)])
def test_release_uses_the_last_configuration_if_the_files_have_errors(announcer, director, name, text):
    """The operator edits the files, and glb-announce is killed before they are right."""
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    path = announcer.folder / name
    if text is None:
        path.unlink()
    else:
        path.write_text(path.read_text() + text)
    stderr = announcer.call("release").stderr
    assert "announce.conf cannot be used, so what glb-announce used last applies: " in stderr
    assert f"{VIP}: withdrawn: glb-announce ended without withdrawing it" in stderr
    assert announcer.announced == []


def test_release_without_a_usable_configuration_fails(announcer):
    conf = announcer.folder / "announce.conf"
    conf.write_text(conf.read_text() + "nonsense = 1;")
    assert "nonsense" in announcer.call("release", code=1).stderr


def test_copies_of_the_configuration_have_its_mode(announcer, director):
    conf = announcer.folder / "announce.conf"
    conf.chmod(0o600)
    with announcer:
        announcer.wait_announced(ON, ON6)
        (kept,) = announcer.folder.glob("*.json.conf")
        assert kept.stat().st_mode & 0o777 == 0o600 and kept.read_text() == conf.read_text()


def test_release_that_fails_remembers_the_vips(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    (announcer.folder / "broken").touch()
    assert f"{VIP}: may still be announced: " in announcer.call("release", code=1).stderr
    (announcer.folder / "broken").unlink()
    announcer.call("release")
    assert announcer.announced == []


def test_release_withdraws_the_vips_after_one_whose_command_fails(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.stop(signal.SIGKILL)
    text = announcer.daemon.read_text()
    announcer.change_daemon(text.replace("case $1 in", f"[ $2 != {ON} ] || {{ echo no such protocol; exit 1; }}\ncase $1 in"))
    stderr = announcer.call("release", code=1).stderr
    assert f"{VIP}: may still be announced: " in stderr and f"{VIP6}: withdrawn: " in stderr
    assert announcer.announced == [ON]
    announcer.change_daemon(text)
    announcer.call("release")
    assert announcer.announced == []


def test_reload_uses_a_new_configuration_without_withdrawing(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.configure(vips=[VIP6, "203.0.113.0/24"])
        announcer.process.send_signal(signal.SIGHUP)
        announcer.wait_announced(ON6, "glb_203_0_113_0_24")
        assert announcer.changes == [f"enable {ON}", f"enable {ON6}", f"disable {ON}", "enable glb_203_0_113_0_24"]
        announcer.configure(vips=["nonsense"])
        announcer.process.send_signal(signal.SIGHUP)
        announcer.wait_log("has errors; the last configuration stays in use")
        announcer.wait_log("vips[0]: 'nonsense' is not an address or a prefix")
        announcer.configure(status_file="other.json")
        announcer.process.send_signal(signal.SIGHUP)
        announcer.wait_log("status_file has changed: restart glb-announce")
        announcer.configure()
        announcer.write_driver(DRIVER.replace("disable", "delete"))
        announcer.process.send_signal(signal.SIGHUP)
        announcer.wait_log("driver.conf: announces or withdraws in another way than before: restart glb-announce")
        announcer.wait_rounds(director)
        assert announcer.announced == sorted([ON6, "glb_203_0_113_0_24"])


def test_daemon_that_nobody_has_configured_exits_with_6(announcer):
    (announcer.folder / "announce.conf").unlink()
    assert "glb-announce is not configured yet: " in announcer.call("run", code=6).stderr
    announcer.call("release")


def test_full_disk(announcer, director):
    """The status and the switch are on a file system without room."""
    if os.getuid() != 0:
        pytest.skip("a file system needs root")
    full = announcer.folder / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "full", full], check=True)

    def fill():
        with open(full / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(4096))

    try:
        announcer.configure(status_file="full/status.json", switch_file="full/withdrawn.json")
        (full / "status.json.lock").touch()
        fill()
        with announcer:
            announcer.wait_log("full/status.json: ")
            announcer.wait_rounds(director, 10)
            assert announcer.announced == []  # a process that is killed could not leave them to `release`
            assert "No space left on device; the file is unchanged. To withdraw " in announcer.call("withdraw", code=1).stderr
            wait_until(lambda: sorted(path.name for path in full.iterdir()) == ["ballast", "status.json.lock"], "no file is left of an attempt")
            announcer.stop(signal.SIGKILL)
        assert "other VIPs may still be announced" in announcer.call("release", code=1).stderr
        (full / "ballast").unlink()
        with announcer:
            announcer.wait_announced(ON, ON6)
            fill()
            director.set_tables(("web", 1, [VIP, "203.0.113.11"]), ("web6", 0, [VIP6]))
            announcer.wait_announced(ON)  # the disk is full when one is withdrawn
            announcer.wait_rounds(director, 10)
            assert announcer.announced == [ON]  # and the new one cannot be recorded
            announcer.stop(signal.SIGKILL)
        director.kill()
        assert f"{VIP}: withdrawn: " in announcer.call("release").stderr
        assert announcer.announced == []
        (full / "ballast").unlink()
        with FakeDirector(announcer.folder), announcer:
            announcer.wait_announced(ON, ON6)
            fill()
            assert announcer.stop() == 0  # the disk is full at the stop
        assert announcer.announced == []
    finally:
        announcer.__exit__()
        wait_until(lambda: subprocess.run(["umount", full], check=False).returncode == 0, "the end of a command of a killed daemon")
