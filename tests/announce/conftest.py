# SPDX-License-Identifier: BSD-3-Clause

import pytest
from announcer import Announcer, FakeDirector

from support.folders import short_folder


@pytest.fixture
def folder():
    with short_folder() as path:
        yield path


@pytest.fixture
def announcer(folder):
    announcer = Announcer(folder)
    yield announcer
    announcer.__exit__()


@pytest.fixture
def director(folder):
    with FakeDirector(folder) as director:
        yield director
