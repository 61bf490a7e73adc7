# SPDX-License-Identifier: BSD-3-Clause
import os

import pytest


def pytest_collection_modifyitems(items):
    if os.geteuid() != 0:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="network namespaces need root"))
