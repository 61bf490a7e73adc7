# SPDX-License-Identifier: BSD-3-Clause
import pytest

from support.cli import run, table, write_conf, write_tables


@pytest.fixture
def files(tmp_path):
    """A folder with a valid file of each kind."""
    run("build-config", write_tables(tmp_path / "table.json", table()), tmp_path / "table.bin")
    write_conf(tmp_path / "director.conf")
    return tmp_path
