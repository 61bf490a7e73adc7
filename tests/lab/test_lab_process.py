# SPDX-License-Identifier: BSD-3-Clause
"""How tests run labs: beside a lab that the user has up, and from any shell."""

import os
import signal
import subprocess
import sys

import pytest
from lab import cli
from lab_process import LAB, NAME, environment, lab
from support.tree import TREE


def test_labs_of_tests_do_not_have_the_name_of_the_users_lab():
    assert NAME not in ("main", os.environ.get("GLB_LAB_NAME"))
    for command in (["status"], ["down"], ["exec", "client", "true"]):
        assert f"lab: lab '{NAME}' is not up" in lab(*command).stderr


@pytest.mark.parametrize("value, name", [(None, "main"), ("", "main"), ("mine", "mine")])
def test_name_of_a_lab_comes_from_the_environment_or_is_main(monkeypatch, value, name):
    monkeypatch.delenv(cli.NAME_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(cli.NAME_VARIABLE, value)
    assert cli.usual_name() == name


def test_wrong_name_in_the_environment_is_refused():
    done = subprocess.run([LAB, "status"], env={**environment(), cli.NAME_VARIABLE: "two words"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "lab: GLB_LAB_NAME: 'two words' is not a name of 1 to 64 letters, digits, '_', '.' or '-'\n"


def test_processes_of_tests_take_sigint_though_pytest_runs_in_the_background():
    """tests/conftest.py, in a Python that ignores SIGINT, starts a program that shows what it ignores."""
    code = "import conftest, subprocess; subprocess.run(['grep', 'SigIgn', '/proc/self/status'])"
    done = subprocess.run(
        ["env", "--ignore-signal=INT", sys.executable, "-B", "-c", code], cwd=TREE / "tests", capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[1], 16) & 1 << (signal.SIGINT - 1) == 0
