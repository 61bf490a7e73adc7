# SPDX-License-Identifier: BSD-3-Clause
"""Root works in /var/lib/glb, which belongs to glb-healthcheck: links of that user lead root to nothing that is not theirs."""

import os
import tempfile
from pathlib import Path

import pytest

from cli.test_cli_edit import EXAMPLE
from support.cli import FAILED, OK, USAGE, run
from support.director_process import NOBODY

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of another user")
REFUSED = "it is a symbolic link of another user, which leads to a file that is not theirs: remove the link, or name the file"


@pytest.fixture
def host(tmp_path):
    """A table of root's, and a folder of another user."""
    (tmp_path / "t.json").write_text(EXAMPLE)
    run("build-config", tmp_path / "t.json", tmp_path / "t.bin")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        yield tmp_path, Path(folder)


def link(path, to, owner=NOBODY):
    path.symlink_to(to)
    os.chown(path, owner, owner, follow_symlinks=False)
    return path


@pytest.mark.parametrize("victim", ["t.bin", "empty", "missing"])
def test_root_writes_nothing_through_a_link_of_another_user(host, victim):
    own, folder = host
    (own / "empty").touch()
    before = {entry.name: entry.read_bytes() for entry in own.iterdir()}
    link(folder / "second", own / victim)
    for place in (link(folder / "first", own / victim), link(folder / "chain", "second", 0)):
        said = run("build-config", own / "t.json", place, code=FAILED).stderr
        step = "cannot be replaced" if victim == "missing" else "exists and cannot be read, so its kind is unknown"
        assert f"{place}: {step}: {REFUSED}" in said
        said = run("build-config", "--force", own / "t.json", place, code=FAILED).stderr
        assert f"{place}: cannot be replaced: {REFUSED}; the file is unchanged" in said
        assert {entry.name: entry.read_bytes() for entry in own.iterdir()} == before


def test_root_reads_nothing_through_a_link_of_another_user(host):
    own, folder = host
    for name in ("t.json", "t.bin"):
        place = link(folder / name, own / name)
        for command, code in (("check", USAGE), ("show", FAILED)):
            assert f"{place}: cannot be opened: {REFUSED}" in run(command, place, code=code).stderr


def test_root_edits_nothing_through_a_link_of_another_user(host):
    own, folder = host
    place = link(folder / "t.json", own / "t.json")
    assert f"{place}: cannot be opened: {REFUSED}" in run("edit", place, "drain", "192.168.50.20", code=FAILED).stderr
    assert (own / "t.json").read_text() == EXAMPLE


def test_links_of_root_and_links_to_files_of_their_owner_are_followed(host):
    own, folder = host
    for name, to, owner in (("roots", own / "t.bin", 0), ("theirs", folder / "new.bin", NOBODY)):
        place = link(folder / name, to, owner)
        run("build-config", own / "t.json", place, code=OK)
        os.chown(to, owner, owner)
        run("build-config", own / "t.json", place, code=OK)
        assert place.is_symlink() and "192.168.50.21" in run("show", place).stdout
