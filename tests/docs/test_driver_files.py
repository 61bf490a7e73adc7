# SPDX-License-Identifier: BSD-3-Clause
"""The driver files of config/announce.d are valid."""

import re
import subprocess

import pytest

from support.tree import ANNOUNCE, TREE

EXAMPLE = (TREE / "config/announce.conf").read_text()
DRIVERS = sorted((TREE / "config/announce.d").glob("*.conf"))


@pytest.mark.parametrize("path", DRIVERS, ids=lambda path: path.name)
def test_shipped_driver_files_are_valid(tmp_path, path):
    """The commands that they name are installed where the tests run, because the lab uses them."""
    (tmp_path / "announce.conf").write_text(EXAMPLE.replace("/etc/glb/announce.d/bird.conf", str(path)))
    done = subprocess.run([ANNOUNCE, "check", "--config-file", tmp_path / "announce.conf"], capture_output=True, text=True, check=False)
    missing = [line for line in done.stderr.splitlines() if not re.search(r"\[0\]: '/usr/s?bin/(birdc|vtysh)' cannot be run", line)]
    assert missing == []
