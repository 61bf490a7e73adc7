# SPDX-License-Identifier: BSD-3-Clause
"""Many VIPs are set by one program, and a program that fails, hangs or dies does not keep any of them up."""

import signal

import pytest
from announcer import DRIVER

from lab.tools import wait_until

COUNT = 30  # an emulated machine can start so many programs within the longest timeout_ms
VIPS = [f"203.0.113.{i}" for i in range(COUNT)]
NAMES = [f"glb_203_0_113_{i}" for i in range(COUNT)]
BATCH = DRIVER.replace("timeout_ms = 3000", "timeout_ms = {timeout_ms}") + """
batch = ["{folder}/batch"];
announce_line = "touch on/glb_{{name}}";
withdraw_line = "rm on/glb_{{name}}";
"""
# Each line is a command of its own, and its failure does not end the program, like birdc and vtysh.
SCRIPT = """#!/bin/sh
cd {folder} && echo batch >> calls
{start}
while read -r line; do
	{each}
	$line
done
"""
BAD = NAMES[7]


def write_batch(announcer, start="", each=""):
    path = announcer.folder / "batch"
    path.write_text(SCRIPT.format(folder=announcer.folder, start=start, each=each))
    path.chmod(0o755)


@pytest.fixture(autouse=True)
def batch(announcer, director):
    announcer.write_driver(BATCH.replace("{timeout_ms}", "10000"))
    write_batch(announcer)
    director.set_tables(("web", 1, VIPS))


def wait_all(announcer):
    """Waits until all are announced, and until glb-announce has confirmed it: what changes before makes the batch look bad."""
    announcer.wait_announced(*NAMES)
    announcer.wait_log(": announced: ", COUNT)


def singles(announcer, verb):
    return [call for call in announcer.calls if call.startswith(verb)]


def test_many_vips_need_two_runs_of_the_batch(announcer, director):
    with announcer:
        wait_all(announcer)
        director.fail()
        announcer.wait_announced()
        announcer.wait_rounds(director)
        assert announcer.changes == ["batch"] * 2
        announcer.wait_log(": withdrawn: glb-director is failing", COUNT)


def test_stop_and_release_use_the_batch(announcer, director):
    with announcer:
        wait_all(announcer)
        assert announcer.stop() == 0
    assert announcer.announced == [] and announcer.changes == ["batch"] * 2
    with announcer:
        wait_all(announcer)
        announcer.stop(signal.SIGKILL)
    assert announcer.call("release").stderr.count(": withdrawn: ") == COUNT
    assert announcer.announced == [] and announcer.changes == ["batch"] * 4


def test_a_single_vip_gets_its_command(announcer, director):
    with announcer:
        wait_all(announcer)
        director.set_tables(("web", 1, VIPS[1:]))
        announcer.wait_announced(*NAMES[1:])
        assert announcer.changes == ["batch", f"disable {NAMES[0]}"]


def test_error_of_a_vip_is_its_own_and_the_others_are_set(announcer, director):
    text = announcer.daemon.read_text()
    announcer.change_daemon(text.replace("case $1 in", f"[ $2 != {BAD} ] || {{ echo no such protocol; exit 1; }}\ncase $1 in"))
    write_batch(announcer, each=f"case $line in *{BAD}) continue; esac")
    with announcer:
        announcer.wait_announced(*(name for name in NAMES if name != BAD))
        announcer.wait_log(f"error: {VIPS[7]}: {announcer.daemon} failed with exit code 1: no such protocol")
        assert {call for call in announcer.changes if call != "batch"} == {f"enable {BAD}"}
        (announcer.folder / "on" / BAD).touch()  # an operator has announced it
        director.fail()
        announcer.wait_announced(BAD)
        assert VIPS[7] in announcer.status()["driver"]["error"]


def test_release_names_the_vip_that_the_batch_and_its_command_leave(announcer, director):
    with announcer:
        wait_all(announcer)
        announcer.wait_rounds(director)
        announcer.stop(signal.SIGKILL)
    text = announcer.daemon.read_text()
    announcer.change_daemon(text.replace("case $1 in", f"[ $2 != {BAD} ] || {{ echo no such protocol; exit 1; }}\ncase $1 in"))
    write_batch(announcer, each=f"case $line in *{BAD}) continue; esac")
    stderr = announcer.call("release", code=1).stderr
    assert f"{VIPS[7]}: may still be announced: {announcer.daemon} failed with exit code 1: no such protocol" in stderr
    assert stderr.count(": withdrawn: ") == COUNT - 1 and announcer.announced == [BAD]


@pytest.mark.parametrize("start, each", (
    ("exit 1", ""), ("exit 0", ""), ("kill -9 $$", ""), ("yes | head -c 1000000; exit 3", ""),
    ("", f"case $line in *{NAMES[COUNT // 2]}) exit 0; esac"), ("", f"case $line in *{NAMES[COUNT // 2]}) kill -9 $$; esac")))
def test_batch_that_ends_early_leaves_the_rest_to_the_commands(announcer, director, start, each):
    with announcer:
        wait_all(announcer)
        assert not singles(announcer, "enable")
        write_batch(announcer, start, each)
        director.fail()
        announcer.wait_announced()
        assert 0 < len(singles(announcer, "disable")) <= (COUNT // 2 if each else COUNT)


@pytest.mark.parametrize("each", ("sleep 60", f"case $line in *{NAMES[COUNT // 2]}) sleep 60; esac"))
def test_batch_that_hangs_is_killed_and_the_vips_go_one_by_one(announcer, director, each):
    announcer.write_driver(BATCH.replace("{timeout_ms}", "2000"))
    with announcer:
        wait_all(announcer)
        write_batch(announcer, each=each)
        director.fail()
        announcer.wait_announced()
        announcer.wait_log("batch was killed, because it did not end within 2000 ms; glb-announce sets the VIPs one by one")
        wait_until(lambda: announcer.status()["driver"]["error"] == "", "no error, because all was done")


def test_missing_batch_leaves_all_to_the_commands(announcer, director):
    with announcer:
        wait_all(announcer)
        (announcer.folder / "batch").unlink()
        assert announcer.stop() == 0
    assert announcer.announced == [] and len(singles(announcer, "disable")) == COUNT


def test_vips_whose_announcement_is_not_confirmed_are_withdrawn(announcer, director):
    """The batch has announced them, and then the check overlooks them."""
    announcer.configure(reassert_ms=60000)
    announcer.change_daemon(announcer.daemon.read_text().replace("Static master4", "static master4").replace("enable)", "enable) exit 1;;\n\tx)"))
    with announcer:
        announcer.wait_announced(*NAMES)
        director.fail()
        announcer.wait_announced()


def test_stop_leaves_vips_whose_announcement_is_not_confirmed_to_release(announcer, director):
    """The batch has announced them, and then everything fails. The batch takes the time of a round, so that VIPs get no command of their own, unless the machine is slow."""
    announcer.write_driver(BATCH.replace("{timeout_ms}", "3500"))
    with announcer:
        wait_all(announcer)
        director.fail()
        announcer.wait_log(": withdrawn: glb-director is failing", COUNT)
        write_batch(announcer, each=f"case $line in *{NAMES[-1]}) $line; touch broken; sleep 60; esac")
        director.health = {"state": "ok", "reasons": {}}
        announcer.wait_announced(*NAMES)
        director.kill()
        announcer.wait_log("batch was killed, because it did not end within 3500 ms")
        assert announcer.stop() == 1
    (announcer.folder / "broken").unlink()
    write_batch(announcer)
    announcer.call("release")
    assert announcer.announced == []


def test_check_that_overlooks_the_vips_is_not_trusted(announcer, director):
    """What prints nothing would make each batch look well done."""
    announcer.configure(reassert_ms=60000)
    with announcer:
        wait_all(announcer)
        announcer.change_daemon(announcer.daemon.read_text().replace("Static master4", "static master4"))
        write_batch(announcer, "exit 0")
        assert announcer.stop() == 0
    assert announcer.announced == []


def test_routing_daemon_that_lost_all_is_told_in_one_run(announcer, director):
    with announcer:
        wait_all(announcer)
        for path in (announcer.folder / "on").iterdir():
            path.unlink()
        wait_all(announcer)
        assert set(announcer.changes) <= {"batch", *(f"enable {name}" for name in NAMES)}
        assert announcer.changes.count("batch") >= 2
