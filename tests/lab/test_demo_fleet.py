# SPDX-License-Identifier: BSD-3-Clause
"""script/demo --fleet: checks its output, that docs/tutorial/lab.md shows it, and that it leaves nothing behind. To update the page:
PYTHONPATH=.:tests python3 tests/lab/test_demo_fleet.py
"""

import re
import signal
import subprocess
import time

import pytest
from lab_process import DEMO, assert_nothing_left, environment, lab, new_mark, start, wait_for_process
from support.pages import block
from support.tree import TREE

PAGE, END = "docs/tutorial/lab.md", re.compile(r"demo: 0 of (\d+) connections broken")
COMMAND = [TREE / "script/demo", *block("docs/tutorial/lab.md", "script/demo --fleet\n").split()[1:]]
SHOWN = block("docs/tutorial/lab.md", "2 current   healthy")
PROGRESS = re.compile(r"   roll-out [0-9a-f-]+: (running|paused|stopped|done), step (\d) of 3 \(\w+\), used by (\d) of 3$")


@pytest.fixture(scope="module")
def kept():
    """The output of a whole run with --keep, and what commands in the lab print afterwards."""
    mark = new_mark()
    try:
        done = subprocess.run([*COMMAND, "--keep"], env=environment(mark), capture_output=True, text=True)
        print(done.stdout)
        assert (done.returncode, done.stderr) == (0, "")
        after = [lab(*line.split()[1:]).stdout for line in done.stdout.splitlines() if line.startswith("  lab/lab exec ")]
    finally:
        lab("down")
    assert_nothing_left(mark)
    return done.stdout, after


def plain(line):
    """The line without what differs from run to run."""
    line = re.sub(r"\b[0-9a-f]{16}\b", "HASH", re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", line))
    line = re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "ID", re.sub(r"HASH +\d+", "HASH N", line))
    return re.sub(r"\bN+(, N)*\b", "N", re.sub(r"[\d.]+", "N", re.sub(r" +", " ", line)))


def story(lines):
    """All lines but those about the progress of the roll-out, of which a busy machine may see others."""
    return [plain(line) for line in lines if not PROGRESS.match(line) and (not line.startswith("     ") or line.startswith("     step"))]


def ends(lines):
    """How each command that follows the roll-out ended: (state, step, directors)."""
    found = [match.groups() for line in lines if (match := PROGRESS.match(line))]
    return [each for each in found if each[0] != "running"]


def test_page_shows_this_output(kept):
    lines = kept[0].partition("\nThe lab is still up.")[0].splitlines() + [line for line in kept[0].splitlines() if END.match(line)]
    shown = SHOWN.splitlines()
    assert [line for line in story(lines) if line] == [line for line in story(shown) if line]
    assert ends(lines) == ends(shown) == [("paused", "2", "3"), ("stopped", "3", "2"), ("done", "3", "3")]
    assert {line for line in lines if line.startswith("     step")} == {line for line in shown if line.startswith("     step")}


def test_nothing_breaks_and_each_check_passes(kept):
    output, (fleet, history, agent) = kept
    counted = [int(match[1]) for line in output.splitlines() if (match := END.fullmatch(line))]
    assert len(counted) == 1 and counted[0] > 500
    assert output.count("   ok   ") == 7 and "FAIL" not in output
    assert fleet.count(" current ") == 3 and history.count(" done ") == 1 and " in use" in agent


def test_killed_demo_leaves_nothing_behind():
    mark = new_mark()
    process = start([DEMO, "--fleet"], mark)
    wait_for_process(mark, "rollout start")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode != 0
    assert_nothing_left(mark)


if __name__ == "__main__":
    began = time.monotonic()
    printed = subprocess.run(COMMAND, stdout=subprocess.PIPE, text=True, check=True).stdout
    print(f"{time.monotonic() - began:.0f} s")
    (TREE / PAGE).write_text((TREE / PAGE).read_text().replace(SHOWN, printed))
