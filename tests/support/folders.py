# SPDX-License-Identifier: BSD-3-Clause
"""Folders of tests."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from lab.tools import wait_until


@contextlib.contextmanager
def short_folder():
    """A folder with a short path, until the end of `with`. pytest's folders can be too long: a socket's path has at most 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="glb-"))
    try:
        yield path
    finally:
        # A child of a program that was killed may still write a file.
        wait_until(lambda: shutil.rmtree(path, ignore_errors=True) or not path.exists(), f"the removal of {path}")
