# SPDX-License-Identifier: BSD-3-Clause
"""script/test ends a leg that hangs, and no other one."""

import os
import re
import shutil
import signal
import subprocess

import pytest

from lab.tools import TIMEOUT_S, wait_until
from support.tree import TREE

# A test that hangs.
HANGS = """
import os, signal, threading
def test_ends(): pass
def test_hangs(): threading.Event().wait()
"""


@pytest.fixture
def tree(tmp_path):
    """Returns a function that makes a tree whose legs `shell`, `format` and `unit` are these lines, and returns its script/test."""

    def make(**legs):
        shutil.copytree(TREE / "script", tmp_path / "script")
        (tmp_path / "tests").mkdir()
        shutil.copy(TREE / "tests/conftest.py", tmp_path / "tests")
        (tmp_path / "tests/test_hangs.py").write_text(HANGS, encoding="ascii")
        (tmp_path / "script/bootstrap").write_text("#!/bin/sh\n", encoding="ascii")
        path = tmp_path / "script/test"
        text = path.read_text(encoding="ascii")
        text, count = re.subn("quiet_s=[0-9]+ tick_s=[0-9]+", "quiet_s=3 tick_s=1", text)
        assert count == 1
        for name, lines in legs.items():
            head = f"leg_{name}() {{\n"
            assert head in text
            text = text.replace(head, f"{head}{lines}\nreturn\n")
        path.write_text(text, encoding="ascii")
        return path

    return make


def run(*command):
    environment = {name: value for name, value in os.environ.items() if name != "GLB_TEST_WITHOUT"}  # of the run that runs this
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S * 4, check=False)
    return done.returncode, done.stdout


def test_leg_that_prints_is_not_ended(tree):
    """However long it takes, and also if it prints to another file of its own."""
    steps = "for i in 1 2 3 4 5 6 7 8; do echo $i{}; sleep 1; done"
    code, out = run(tree(shell=steps.format(""), format=steps.format(' >>"$logs/format-other.log"')), "shell", "format")
    assert code == 0 and "2 passed, 0 failed" in out, out


def test_leg_that_hangs_is_named_with_the_last_thing_that_it_did(tree):
    """By name, and with the line of Python at which it waits. A busy machine starts pytest slowly, so until then the leg prints."""
    pytest_until_it_hangs = """
until grep -q "py [.]" "$logs/shell-pytest.log"; do echo >>"$logs/shell-other.log"; sleep 1; done 2>/dev/null && touch -d @0 "$logs/shell-other.log" &
/usr/bin/python3 -m pytest -p no:cacheprovider --basetemp base tests/test_hangs.py >"$logs/shell-pytest.log" 2>&1"""
    code, out = run(tree(shell=pytest_until_it_hangs, format="echo good"), "shell", "format")
    assert code == 1
    assert re.search(r"shell: the leg shell printed nothing for 3 s, so it was ended; its last line was: tests/test_hangs.py \.", out), out
    assert re.search(r'shell:   File ".*test_hangs.py", line 4 in test_hangs', out), out
    assert "1 passed, 1 failed" in out


def test_last_line_comes_from_the_newest_file_of_the_leg(tree):
    code, out = run(tree(shell='echo first; sleep 1; echo second >"$logs/shell-other.log"; sleep 1000'), "shell")
    assert code == 1
    assert "its last line was: second" in out, out


def test_interrupted_run_says_which_legs_ran(tree):
    path = tree(shell="while echo .; do sleep 1; done", format="true")
    with subprocess.Popen([path, "shell", "format"], stdout=subprocess.PIPE, text=True) as process:
        wait_until(lambda: "format" in process.stdout.readline(), "the end of the other leg")
        os.kill(process.pid, signal.SIGTERM)
        assert "interrupted; these legs ran: shell\n" in process.communicate(timeout=TIMEOUT_S)[0]
    assert process.returncode == 130


@pytest.mark.parametrize("file", ["slow.txt", "slowest.txt"])
def test_tests_that_are_named_in_a_file_are_left_out(file):
    header, *lines = (TREE / "tests" / file).read_text(encoding="ascii").splitlines()
    assert header.startswith("#") and lines == sorted(set(lines), key=lines.index)
    for line in lines:
        path, _, name = line.partition("::")
        assert f"def {name.partition('[')[0]}(" in (TREE / "tests" / path).read_text(encoding="utf-8") if name else (TREE / "tests" / path).is_file(), line
    both = [TREE / "tests" / lines[0].partition("::")[0], TREE / "tests/docs/test_man_pages.py"]
    code, out = run("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--leave-out", file, "--collect-only", *both)
    assert code == 0 and "test_man_pages.py::" in out and lines[0] not in out and "deselected" in out, out


@pytest.mark.parametrize("words, expected", [(["shell"], "slowest.txt"), (["--all", "shell"], ""), (["--quick"], "slowest.txt slow.txt")])
def test_which_tests_are_left_out(tree, words, expected):
    tell = 'echo "without: $GLB_TEST_WITHOUT."; false'
    code, out = run(tree(shell=tell, build=tell), *words)
    assert code == 1 and f": without: {expected}.\n" in out, out
