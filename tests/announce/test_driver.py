# SPDX-License-Identifier: BSD-3-Clause
"""The routing daemon fails, hangs, is missing, or is restarted."""

import os
import signal

import pytest
from announcer import DRIVER, VIP, VIP6

from lab.tools import wait_until

ON, ON6 = "glb_203_0_113_10", "glb_2001_db8_f__10"
NO_CHECK = "\n".join(line for line in DRIVER.splitlines() if not line.startswith(("check", "announced")))


def test_restarted_routing_daemon_is_told_again(announcer, director):
    with announcer:
        announcer.wait_announced(ON, ON6)
        (announcer.folder / "on" / ON).unlink()
        announcer.wait_announced(ON, ON6)
        announcer.wait_log(f"warning: {VIP}: the routing daemon has it withdrawn, although it was told otherwise\n")
        director.fail()
        announcer.wait_announced()
        (announcer.folder / "on" / ON).touch()
        announcer.wait_announced()


def test_driver_without_check_repeats_its_commands_silently(announcer, director):
    announcer.write_driver(NO_CHECK)
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
        announcer.wait_log("no command fails any longer")
        wait_until(lambda: announcer.status()["driver"]["error"] == "", "the status without an error")
        errors = [line for line in announcer.log.splitlines() if "exit code 3" in line]
        assert len(errors) == len(set(errors)) <= 3  # the check, and each VIP


def test_vip_whose_command_fails_does_not_hold_up_the_others(announcer, director):
    """For instance, somebody has added a VIP to the table, and bird.conf has no protocol for it yet."""
    director.set_tables(("new", 1, ["203.0.113.1"]), ("web", 1, [VIP]), ("web6", 1, [VIP6]))
    text = announcer.daemon.read_text()
    announcer.change_daemon(text.replace("case $1 in", "[ $2 != glb_203_0_113_1 ] || { echo no such protocol; exit 1; }\ncase $1 in"))
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.wait_log("error: 203.0.113.1: ")
        director.set_tables(("new", 1, ["203.0.113.1"]), ("web", 0, [VIP]), ("web6", 1, [VIP6]))
        announcer.wait_announced(ON6)
        assert "203.0.113.1: " in announcer.status()["driver"]["error"]
        announcer.call("status", code=1)
        announcer.change_daemon(text)
        announcer.wait_announced("glb_203_0_113_1", ON6)
        announcer.wait_log("no command fails any longer")


def test_hanging_command_is_killed_and_does_not_stop_the_daemon(announcer, director):
    (announcer.folder / "hang").touch()
    with announcer:
        announcer.wait_log("was killed, because it did not end within 3000 ms")
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
        announcer.wait_log("no command fails any longer")
        assert announcer.announced == sorted([ON, ON6])


@pytest.mark.parametrize("trouble, code", (("broken", 1), ("hang", 1)))
def test_stop_that_cannot_withdraw_says_so(announcer, director, trouble, code):
    with announcer:
        announcer.wait_announced(ON, ON6)
        (announcer.folder / trouble).touch()
        assert announcer.stop() == code
    announcer.wait_log("VIPs may still be announced, because the routing daemon could not be told")


def test_stop_withdraws_what_the_check_does_not_find(announcer, director):
    """For instance because `announced` does not match what a new version of the routing daemon prints."""
    announcer.configure(reassert_ms=60000)
    with announcer:
        announcer.wait_announced(ON, ON6)
        announcer.change_daemon(announcer.daemon.read_text().replace("Static master4", "static master4"))
        assert announcer.stop() == 0
    assert announcer.announced == []


def test_check_that_prints_too_much_is_an_error(announcer, director):
    """What it prints is cut, so nobody knows what the rest says."""
    with announcer:
        announcer.wait_announced(ON, ON6)
        text = announcer.daemon.read_text()
        announcer.change_daemon(text.replace("show)", "show) head -c 4194304 /dev/zero | tr '\\0' '\\n';"))
        announcer.wait_log("daemon printed more than 4 MiB")
        assert "the routing daemon has it withdrawn" not in announcer.log
        announcer.change_daemon(text)
        announcer.wait_log("no command fails any longer")
        assert announcer.announced == sorted([ON, ON6])


def wait_states(announcer, *states):
    wait_until(lambda: [vip["state"] for vip in announcer.status()["vips"]] == list(states), lambda: f"{states}: {announcer.status()['vips']}")


@pytest.fixture(params=(DRIVER, NO_CHECK), ids=("check", "no check"))
def doubted(request, announcer, director):
    """The VIPs were withdrawn. Then all commands fail, but those that announce take effect before they do."""
    announcer.write_driver(request.param)
    text = announcer.daemon.read_text()
    announcer.change_daemon(text.replace("[ ! -e broken ]", '[ "$1" != enable ] || touch on/$2\n[ ! -e broken ]'))
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.fail()
        announcer.wait_log(": withdrawn: glb-director is failing", 2)
        (announcer.folder / "broken").touch()
        director.health = {"state": "ok", "reasons": {}}
        announcer.wait_announced(ON, ON6)
        announcer.wait_log(f"error: {VIP6}: ")
        yield announcer


def test_vip_that_may_be_announced_is_not_forgotten(doubted, director):
    director.set_tables(("web6", 1, [VIP6]))
    wait_until(lambda: doubted.status()["vips"][0]["wish"] == "withdrawn", "the wish")
    doubted.wait_rounds(director)
    wait_states(doubted, "unknown", "unknown")
    (doubted.folder / "broken").unlink()
    doubted.wait_announced(ON6)
    wait_until(lambda: [vip["prefix"] for vip in doubted.status()["vips"]] == [VIP6], "one VIP")


def test_withdraw_does_not_claim_that_a_doubted_vip_is_withdrawn(doubted):
    assert "the VIPs are not withdrawn after 1 s" in doubted.call("withdraw", "--timeout", "1", code=1).stderr
    doubted.stop(signal.SIGKILL)
    assert f"{VIP}: may still be announced: " in doubted.call("release", code=1).stderr
    (doubted.folder / "broken").unlink()
    doubted.call("release")
    assert doubted.announced == []


def test_stop_leaves_a_doubted_vip_to_release(doubted):
    assert doubted.stop() == 1
    (doubted.folder / "broken").unlink()
    doubted.call("release")
    assert doubted.announced == []


def test_check_that_finds_nothing_does_not_end_a_doubt(announcer, director):
    """The routing daemon still has the command to announce in its queue."""
    with announcer:
        announcer.wait_announced(ON, ON6)
        director.fail()
        announcer.wait_announced()
        text = announcer.daemon.read_text()
        announcer.change_daemon(text.replace("case $1 in", '[ "$1" = show ] || exit 3\ncase $1 in'))
        director.health = {"state": "ok", "reasons": {}}
        announcer.wait_log("exit code 3", 2)
        checks = announcer.calls.count("show protocols")
        wait_until(lambda: announcer.calls.count("show protocols") >= checks + 3, "checks")
        wait_states(announcer, "unknown", "unknown")
        announcer.change_daemon(text)
        announcer.wait_announced(ON, ON6)
        announcer.wait_log("no command fails any longer")
        wait_states(announcer, "announced", "announced")


def fail_verb(announcer, verb):
    """Commands with this verb take effect, and then fail."""
    text = announcer.daemon.read_text()
    announcer.change_daemon(text + f'[ "$1" != {verb} ] || {{ echo cannot $1; exit 3; }}\n')
    return text


def test_failed_announcement_does_not_delay_the_withdrawal(announcer, director):
    """After three failures the next command to announce is due in 4 s, and each `show` but the first takes 0.1 s at least."""
    announcer.configure(vips=[VIP], reassert_ms=100)
    fail_verb(announcer, "enable")
    with announcer:
        wait_until(lambda: announcer.changes == [f"enable {ON}"] * 3, lambda: str(announcer.changes))
        calls = len(announcer.calls)
        director.kill()
        announcer.wait_announced()
        between = announcer.calls[calls:]
        assert between.index(f"disable {ON}") < 10, between


def test_failed_withdrawal_after_a_failed_announcement_is_logged(announcer, director):
    announcer.configure(vips=[VIP])
    text = fail_verb(announcer, "enable")
    with announcer:
        announcer.wait_log(f"error: {VIP}: {announcer.daemon} failed with exit code 3: cannot enable")
        announcer.change_daemon(text.replace("disable)", "disable) echo no $1; exit 4;;\n\tx)"))
        director.fail()
        announcer.wait_log(f"error: {VIP}: {announcer.daemon} failed with exit code 4: no disable; glb-announce tries again")


def test_error_ends_with_the_wish_for_the_command(announcer, director):
    announcer.configure(vips=[VIP])
    with announcer:
        announcer.wait_announced(ON)
        announcer.change_daemon(announcer.daemon.read_text().replace("disable)", "disable) exit 4;;\n\tx)"))
        director.fail()
        wait_until(lambda: "exit code 4" in announcer.status()["driver"]["error"], lambda: announcer.log)
        director.health = {"state": "ok", "reasons": {}}
        wait_until(lambda: announcer.status()["driver"]["error"] == "", lambda: announcer.log)
        announcer.call("status")


class Pipe:
    """The reader of a pipe, like ExaBGP."""

    DRIVER = """pipe = "{folder}/pipe";
announce_line = "announce route {{prefix}} next-hop self";
withdraw_line = "withdraw route {{prefix}} next-hop self";
"""

    def __init__(self, announcer):
        announcer.write_driver(self.DRIVER)
        self.path = announcer.folder / "pipe"
        os.mkfifo(self.path)
        self._reader = None
        self.lines = []

    def open(self):
        self._reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def close(self):
        os.close(self._reader)
        self.lines = []

    def read(self):
        try:
            self.lines += os.read(self._reader, 65536).decode().splitlines()
        except BlockingIOError:
            pass
        return self.lines

    def wait(self, line):
        wait_until(lambda: line in self.read(), lambda: f"{line}: {self.lines}")


def test_lines_in_a_pipe_and_a_reader_that_is_restarted(announcer, director):
    pipe = Pipe(announcer)
    with announcer:
        announcer.wait_log(f"{pipe.path}: nobody reads this pipe; glb-announce tries again")
        pipe.open()
        pipe.wait("announce route 203.0.113.10/32 next-hop self")
        pipe.wait("announce route 2001:db8:f::10/128 next-hop self")
        pipe.close()
        wait_until(lambda: "nobody reads" in announcer.status()["driver"]["error"], "the error")
        pipe.open()
        pipe.wait("announce route 2001:db8:f::10/128 next-hop self")
        director.fail()
        pipe.wait("withdraw route 203.0.113.10/32 next-hop self")
        announcer.stop()
        pipe.close()


def test_full_pipe_is_an_error_and_no_line_is_cut(announcer, director):
    pipe = Pipe(announcer)
    pipe.open()
    with open(pipe.path, "wb", buffering=0) as other:
        os.set_blocking(other.fileno(), False)
        for size in (100, 1):
            while other.write(b"x\n" * size):
                pass
    with announcer:
        announcer.wait_log(f"{pipe.path}: cannot be written: its reader has stopped reading")
        assert set(pipe.read()) == {"x"}
        pipe.wait("announce route 203.0.113.10/32 next-hop self")
        announcer.process.kill()
    assert {line for line in pipe.read() if line != "x"} <= {f"announce route {each} next-hop self" for each in (f"{VIP}/32", f"{VIP6}/128")}


def test_file_is_no_pipe(announcer, director):
    announcer.write_driver(Pipe.DRIVER)
    (announcer.folder / "pipe").write_text("kept")
    with announcer:
        announcer.wait_log("pipe: is not a pipe")
    assert (announcer.folder / "pipe").read_text() == "kept"
