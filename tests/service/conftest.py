# SPDX-License-Identifier: BSD-3-Clause
import os

import pytest

from support.namespace import Link


@pytest.fixture
def link():
    if os.getuid() != 0:
        pytest.skip("needs root: makes network namespaces and a veth pair")
    link = Link()
    yield link
    link.close()
