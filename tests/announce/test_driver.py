# SPDX-License-Identifier: BSD-3-Clause
"""The routing daemon fails, hangs, is missing, or is restarted."""

import pytest
from conftest import DRIVER, VIP

from lab.tools import wait_until

ON, ON6 = "glb_203_0_113_10", "glb_2001_db8_f__10"


def test_restarted_routing_daemon_is_told_again(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        (announcer.folder / "on" / ON).unlink()
        announcer.wait_announced(ON, ON6)
        assert f"warning: {VIP}: the routing daemon has it withdrawn, although it was told otherwise\n" in announcer.log
        director.fail()
        announcer.wait_announced()
        (announcer.folder / "on" / ON).touch()
        announcer.wait_announced()


def test_driver_without_check_repeats_its_commands_silently(announcer, director):
    announcer.write_driver("\n".join(line for line in DRIVER.splitlines() if not line.startswith(("check", "announced"))))
    with announcer:
        announcer.wait_announced(ON, ON6)
        wait_until(lambda: announcer.changes.count(f"enable {ON}") >= 3, "three calls")
        assert announcer.log.count(f"{VIP}: announced") == 1


def test_failing_command_is_logged_once_and_tried_again(announcer, director):
    (announcer.folder / "broken").write_text("no such protocol\n")
    with announcer:
        announcer.wait_log("daemon failed with exit code 3: no such protocol; glb-announce tries again")
        wait_until(lambda: len(announcer.calls) >= 2, "a second call")
        assert "exit code 3" in announcer.status()["driver"]["error"]
        announcer.call("status", code=1)
        (announcer.folder / "broken").unlink()
        announcer.wait_announced(ON, ON6)
        announcer.wait_log("work again")
        assert announcer.log.count("exit code 3") == 1 and announcer.status()["driver"]["error"] == ""


def test_hanging_command_is_killed_and_does_not_stop_the_daemon(announcer, director):
    (announcer.folder / "hang").touch()
    with announcer:
        announcer.wait_log("was killed, because it did not end within 500 ms")
        announcer.wait_rounds(director)
        (announcer.folder / "hang").unlink()
        announcer.wait_announced(ON, ON6)


def test_missing_command_refuses_the_start_and_names_the_line(announcer, director):
    announcer.daemon.unlink()
    assert f"driver.conf:2: announce[0]: '{announcer.daemon}' cannot be run: No such file" in announcer.call("run", code=1).stderr
    announcer.call("check", code=1)


def test_command_that_vanishes_is_reported(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.daemon.rename(announcer.folder / "moved")
        announcer.wait_log("failed with exit code 127: it cannot be run: No such file or directory")
        (announcer.folder / "moved").rename(announcer.daemon)
        announcer.wait_log("work again")
        assert announcer.announced == sorted([ON, ON6])


@pytest.mark.parametrize("trouble, code", (("broken", 1), ("hang", 1)))
def test_stop_that_cannot_withdraw_says_so(announcer, director, trouble, code):
    with announcer:
        announcer.wait_announced(ON, ON6)
        (announcer.folder / trouble).touch()
        assert announcer.stop() == code
    assert "VIPs may still be announced, because the routing daemon could not be told" in announcer.log
