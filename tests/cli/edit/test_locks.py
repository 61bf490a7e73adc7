# SPDX-License-Identifier: BSD-3-Clause
"""The lock that keeps two edits apart: who may have it, and what a hostile folder does to it."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cli.test_cli_edit import EXAMPLE, NO_HISTORY, edit, file, lock_of, stopped_edit
from support.cli import FAILED, OK, run
from support.director_process import NOBODY
from support.tree import CLI


@contextlib.contextmanager
def held_by_nobody(*paths):
    """Another user of this host opens what it can, and locks it."""
    script = ("import fcntl, os, sys\n"
              "for path in sys.argv[1:]:\n"
              "    try: fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)\n"
              "    except PermissionError: print('refused', path)\n"
              "print('done', flush=True); sys.stdin.read()")
    with subprocess.Popen([sys.executable, "-c", script, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          user=NOBODY, group=NOBODY, extra_groups=[]) as process:
        lines = []
        while not lines or lines[-1] != "done":
            lines.append(process.stdout.readline().strip())
        yield lines[:-1]
        process.stdin.close()


@pytest.fixture
def open_file():
    """A table in a folder that everybody may read, as /etc/glb is."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        table = Path(folder) / "t.json"
        table.write_text(EXAMPLE)
        table.chmod(0o644)
        yield table


def test_another_user_cannot_block_edit_and_undo(open_file):
    if os.geteuid() != 0:
        return  # only root can act as another user
    with held_by_nobody(open_file.parent, open_file) as refused:
        assert refused == []
        assert run("edit", open_file, "drain", "192.168.50.20").returncode == OK
        assert run("undo", open_file, *NO_HISTORY).returncode == OK
    assert open_file.read_text() == EXAMPLE


def test_only_those_who_may_write_to_the_folder_may_have_its_locks(open_file):
    """Also where root edits a table of another user: that user's next edit opens the lock file that a killed edit has left."""
    if os.geteuid() != 0:
        return
    lock, folder = Path(f"{open_file}.edit.lock"), open_file.parent
    for mode, owner, rights in ((0o755, 1, 0o600), (0o2775, 2, 0o660), (0o1777, 0, 0o600)):
        os.chown(folder, owner, owner)
        folder.chmod(mode)
        with stopped_edit(open_file) as (process, _):
            assert (lock.stat().st_mode & 0o777, lock.stat().st_uid, lock.read_text()) == (rights, owner, f"{process.pid}\n")
            with held_by_nobody(lock) as refused:
                assert refused == [f"refused {lock}"]
        lock.unlink()


@pytest.mark.parametrize("mode, groups, rights", [(0o2775, [3000], 0o660), (0o775, [3000], 0o660), (0o777, [], 0o666)])
def test_a_killed_edit_does_not_keep_out_those_who_share_the_folder(open_file, mode, groups, rights):
    """Only root can give the lock file to the folder's owner, but its group can be that of the folder."""
    if os.geteuid() != 0:
        return
    lock, folder = Path(f"{open_file}.edit.lock"), open_file.parent
    for path, rights_of_path in ((folder, mode), (open_file, mode & 0o666)):
        os.chown(path, 0, 3000)
        path.chmod(rights_of_path)
    with stopped_edit(open_file, user=2001, group=2001, extra_groups=groups):
        assert lock.stat().st_mode & 0o777 == rights
    assert lock.exists()
    colleague = {"user": 2002, "group": 2002, "extra_groups": groups}
    done = subprocess.run([CLI, "edit", open_file, "drain", "192.168.50.20"], capture_output=True, text=True, check=False, **colleague)
    assert done.returncode == OK and not lock.exists(), done.stderr


def test_a_lock_file_that_leads_elsewhere_is_refused_and_nothing_is_written_there(file, tmp_path):
    victim, lock = tmp_path / "victim", Path(f"{file}.edit.lock")
    victim.write_text("content")
    for make, why in ((lock.symlink_to, "Too many levels of symbolic links"), (lock.hardlink_to, "Too many links"),
                      (lambda _: os.mkfifo(lock), "Invalid argument"), (lambda _: lock.mkdir(), "Is a directory")):
        make(victim)
        done = run("edit", file, "drain", "192.168.50.20", code=FAILED)
        assert f"{file}: cannot be locked by {lock}: {why}" in done.stderr
        assert victim.read_text() == "content" and victim.stat().st_mode & 0o777 == 0o644 and file.read_text() == EXAMPLE
        lock.rmdir() if lock.is_dir() and not lock.is_symlink() else lock.unlink()


def test_dry_run_needs_no_lock(file):
    """So it works in a folder that this user may not write to, and on a read-only file system."""
    with lock_of(file):
        assert "nothing is written" in edit(file, "drain", "192.168.50.20", "--dry-run").stdout
