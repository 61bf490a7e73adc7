# SPDX-License-Identifier: BSD-3-Clause
"""script/tally, which counts the tests of a leg, keeps the rules of CONTRIBUTING.md for skipped tests."""

import json
import subprocess

import pytest

from support.tree import TREE

PASSED, FAILED, SKIPPED = "", "<failure/>", '<skipped message="why"/>'


def tally(folder, expected, *results):
    """Returns what it printed, and what it said about failures."""
    (folder / "expected").write_text("".join(f"{name} # reason\n" for name in expected))
    done = subprocess.run([TREE / "script/tally", folder / "expected", *results], capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr.strip()


def junit(path, **tests):
    cases = "".join(f'<testcase classname="c" name="{name}">{child}</testcase>' for name, child in tests.items())
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return path


@pytest.mark.parametrize(
    "tests, expected, counts, said",
    (
        ({"a": PASSED, "b": FAILED}, [], "1 1 0", "failed: c::b"),
        ({"a": PASSED, "b": SKIPPED}, ["c::b"], "1 0 1", ""),
        ({"a": PASSED, "b": SKIPPED}, [], "1 1 0", "unexpected skip: c::b: why"),
        ({"a": SKIPPED, "b": SKIPPED}, ["c::a", "c::b"], "0 1 2", "results.xml: no test ran"),
        ({"a": SKIPPED, "b": SKIPPED}, ["c::a"], "0 1 1", "unexpected skip: c::b: why"),
        ({}, [], "0 1 0", "results.xml: no test ran"),
    ),
    ids=("failed", "expected skip", "unexpected skip", "all skipped", "all skipped, one unexpected", "none"),
)
def test_results_of_pytest(tmp_path, tests, expected, counts, said):
    printed, errors = tally(tmp_path, expected, junit(tmp_path / "results.xml", **tests))
    assert (printed, errors.removeprefix(f"{tmp_path}/")) == (counts, said)


def test_results_of_meson(tmp_path):
    log = tmp_path / "log.json"
    programs = [{"name": "x", "result": "OK", "stdout": "[       OK ] one\n[  SKIPPED ] two\n"}, {"name": "y", "result": "SKIP"}]
    log.write_text("".join(f"{json.dumps(program)}\n" for program in programs))
    assert tally(tmp_path, ["x::two", "y"], log) == ("1 0 2", "")
    log.write_text(json.dumps(programs[1]))
    assert tally(tmp_path, ["y"], log) == ("0 1 1", f"{log}: no test ran")


def test_file_that_is_missing_is_a_failure(tmp_path):
    counts, errors = tally(tmp_path, [], junit(tmp_path / "results.xml", a=PASSED), tmp_path / "missing.xml")
    assert counts == "1 1 0" and f"{tmp_path}/missing.xml: no test ran" in errors
