# SPDX-License-Identifier: BSD-3-Clause
"""Folders of tests."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from lab.tools import wait_until


def open_to_all(folder):
    """Lets other users enter a folder of pytest, which closes it and those above it. They belong to one run, see tests/conftest.py."""
    while not folder.stat().st_mode & 0o001:
        folder.chmod(0o755)
        folder = folder.parent


@contextlib.contextmanager
def short_folder():
    """A folder with a short path, until the end of `with`. pytest's folders can be too long: a socket's path has at most 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="glb-"))
    try:
        yield path
    finally:
        # A child of a program that was killed may still write a file.
        wait_until(lambda: shutil.rmtree(path, ignore_errors=True) or not path.exists(), f"the removal of {path}")
