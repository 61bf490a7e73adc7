# SPDX-License-Identifier: BSD-3-Clause
import faulthandler
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

# The limit of waits, also in the labs that tests start. A test must pass beside a load that takes nearly all of the CPUs.
os.environ.setdefault("GLB_LAB_TIMEOUT_S", "240")

# A shell lets its programs in the background ignore SIGINT. All processes of the tests would inherit that from pytest.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--part", metavar="N/M", help="run only every Mth test, from the Nth: all M parts together run each test once")
    parser.addoption("--leave-out", metavar="FILE", action="append", default=[], help="leave out the tests whose names start with a line of tests/FILE")


def pytest_collection_modifyitems(config, items):
    for file in config.getoption("leave_out"):
        starts = tuple(line for line in (TESTS / file).read_text(encoding="ascii").splitlines() if not line.startswith("#"))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid.startswith(starts)])
        items[:] = [item for item in items if not item.nodeid.startswith(starts)]
    if part := config.getoption("part"):
        first, parts = map(int, part.split("/"))
        items[:] = items[first - 1 :: parts]


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """script/test ends a leg that hangs by SIGTERM: shows in which test, and where. pytest captures file descriptor 2 only during a test."""
    faulthandler.register(signal.SIGTERM, os.dup(2), chain=True)
    # Each run of pytest has folders of its own. A run that begins would close those of all runs to other users, whom tests of another run need.
    if not config.option.basetemp:
        config.option.basetemp = tempfile.mkdtemp(prefix="glb-test-")


def pytest_sessionfinish(session, exitstatus):
    """The folders of tests that failed remain."""
    if exitstatus == pytest.ExitCode.OK and os.path.basename(session.config.option.basetemp).startswith("glb-test-"):
        shutil.rmtree(session.config.option.basetemp, ignore_errors=True)
