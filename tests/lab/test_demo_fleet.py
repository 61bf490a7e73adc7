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
from support.rollout_text import ends, story
from support.tree import TREE

PAGE, END = "docs/tutorial/lab.md", re.compile(r"demo: 0 of (\d+) connections broken")
COMMAND = [TREE / "script/demo", *block("docs/tutorial/lab.md", "script/demo --fleet\n").split()[1:]]
SHOWN = block("docs/tutorial/lab.md", "2 current   healthy")


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


def without_numbers(lines):
    """The story, without numbers and the names of proxies that answered."""
    told = (re.sub(r"[\d.]+", "N", line) for line in story(lines) if line)
    return [re.sub(r"answered by .*", "answered by PROXIES", line) for line in told]


def test_page_shows_this_output(kept):
    before, _, after = kept[0].partition("\nThe lab is still up.")
    last = [line for line in after.splitlines() if END.match(line)]
    lines, shown = ([line.removeprefix("   ") for line in text] for text in ([*before.splitlines(), *last], SHOWN.splitlines()))
    assert without_numbers(lines) == without_numbers(shown)
    assert ends(lines) == ends(shown)
    assert [each[0] for each in ends(lines)] == ["paused", "stopped", "done"]


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
