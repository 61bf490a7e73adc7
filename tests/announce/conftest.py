# SPDX-License-Identifier: BSD-3-Clause
import tempfile
from pathlib import Path

import pytest
from announcer import Announcer, FakeDirector


@pytest.fixture
def folder():
    # pytest's folders can be too long: a socket's path has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="glb-") as name:
        yield Path(name)


@pytest.fixture
def announcer(folder):
    announcer = Announcer(folder)
    yield announcer
    announcer.__exit__()


@pytest.fixture
def director(folder):
    with FakeDirector(folder) as director:
        yield director
