# SPDX-License-Identifier: BSD-3-Clause
"""glb-fleet and an operator who edits the table's file: what a person wrote is never lost, and never counts as the table in etcd."""

import json
import signal
import subprocess

import pytest
from agent import build, table

from lab.tools import wait_until
from support.tree import BUILD


def edit(agent, text):
    """As an editor does it: no reader finds a half of it."""
    (agent.folder / "edit").write_text(text)
    (agent.folder / "edit").rename(agent.table)


def test_file_that_an_operator_has_edited_is_kept_beside(agent):
    agent.table.write_text(table(1, 2, 9))
    agent.table.chmod(0o640)
    revision = agent.put(table(1, 2, 3))
    before = agent.folder / "table.json.before"
    with agent:
        agent.wait_used(revision)
        assert before.read_text() == table(1, 2, 9) and agent.table.read_text() == table(1, 2, 3)
        assert before.stat().st_mode & 0o777 == agent.table.stat().st_mode & 0o777 == 0o640
        agent.wait_log("was not as glb-fleet had written it")
        edit(agent, table(1, 2, 8))
        wait_until(lambda: agent.table.read_text() == table(1, 2, 3), lambda: agent.log)
        agent.wait_log("was changed or removed by another program")
        assert (before.read_text(), before.with_suffix(".before.2").read_text()) == (table(1, 2, 9), table(1, 2, 8))
        edit(agent, table(1, 2, 8))
        agent.wait_log("was not as glb-fleet had written it", 3)
        wait_until(lambda: agent.table.read_text() == table(1, 2, 3), lambda: agent.log)
        assert len(list(agent.folder.glob("table.json.before*"))) == 2  # the text is kept already
        agent.table.unlink()
        wait_until(lambda: agent.table.exists() and agent.table.read_text() == table(1, 2, 3), lambda: agent.log)
        assert agent.metrics()["glb_fleet_tables_edited_total"] >= 2


def test_edit_is_kept_although_the_agent_is_killed_while_it_applies(agent):
    """After its start, the file has a text that the agent does not remember. It does not take the place of the operator's."""
    agent.table.write_text(table(1, 2, 9))
    before = agent.folder / "table.json.before"
    agent.answer(silent=True)  # the child process waits for the director
    agent.put(table(1, 2, 3))
    with agent:
        wait_until(lambda: agent.table.read_text() == table(1, 2, 3), lambda: agent.log)
        agent.kill_with_children()
        agent.answer()
        newer = agent.put(table(1, 2, 3, 4))
        agent.start()
        agent.wait_used(newer)
        assert before.read_text() == table(1, 2, 9)


def test_edit_during_a_reload_that_is_refused(agent):
    """The files are restored after a refusal, but not over what an operator has written meanwhile."""
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        agent.answer(hold=True, refuse="no")
        bad = agent.put(table(1, 2, 3, 4))
        wait_until(lambda: agent.table.read_text() == table(1, 2, 3, 4), lambda: agent.log)
        edit(agent, table(1, 2, 9))
        agent.answer(refuse="no")
        agent.wait_refused(bad, "the director refuses it")
        wait_until(lambda: agent.table.read_text() == table(1, 2, 3), lambda: agent.log)
        assert (agent.folder / "table.json.before").read_text() == table(1, 2, 9)


@pytest.mark.parametrize("refuse", [False, True])
def test_edit_while_the_file_is_written(agent, refuse):
    """The agent has read the old text, and writes the new one, or writes the old one again after a refusal."""
    new = agent.folder / "edit"
    agent.environment |= {"LD_PRELOAD": str(BUILD / "tests/driver/edit_during_write.so"), "EDIT_NEW": str(new), "EDIT_FILE": str(agent.table)}
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        if refuse:
            agent.answer(hold=True, refuse="no")
        else:
            new.write_text(table(1, 2, 9))
        latest = agent.put(table(1, 2, 3, 4))
        if refuse:
            wait_until(lambda: agent.table.read_text() == table(1, 2, 3, 4), lambda: agent.log)
            new.write_text(table(1, 2, 9))
            agent.answer(refuse="no")
            agent.wait_refused(latest, "the director refuses it")
            wait_until(lambda: agent.table.read_text() == table(1, 2, 3), lambda: agent.log)
        else:
            agent.wait_used(latest)
            assert agent.table.read_text() == table(1, 2, 3, 4)
        assert not new.exists() and (agent.folder / "table.json.before").read_text() == table(1, 2, 9)


def test_edit_before_a_table_that_is_refused(agent):
    """The refusal leaves the edited file as it was, and it is mended then, because it is not from etcd."""
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_used(agent.etcd_table_revision())
        agent.answer(refuse="no")
        edit(agent, table(1, 2, 9))
        agent.wait_refused(agent.put(table(1, 2, 3, 4)), "the director refuses it")
        wait_until(lambda: agent.table.read_text() == table(1, 2, 3), lambda: agent.log)
        assert (agent.folder / "table.json.before").read_text() == table(1, 2, 9)
        agent.stop()


def test_more_edits_than_are_kept(agent):
    """The agent would have to destroy one, so it waits for an operator."""
    for i in range(1, 100):
        (agent.folder / f"table.json.before{f'.{i}' if i > 1 else ''}").write_text(str(i))
    agent.table.write_text(table(1, 2, 9))
    agent.put(table(1, 2, 3))
    with agent:
        agent.wait_record(lambda record: "the files .before to .before.99 exist: remove them" in " ".join(record["reasons"]))
        assert agent.table.read_text() == table(1, 2, 9)
        (agent.folder / "table.json.before.7").unlink()
        agent.wait_used(agent.etcd_table_revision())
        assert (agent.folder / "table.json.before.7").read_text() == table(1, 2, 9)


def test_edit_on_a_full_disk_is_not_current(make_agent):
    """glb-healthcheck builds the edited table, and the agent cannot mend the file: the director does not use the fleet's table."""
    agent = make_agent(build=None, binary=str(make_agent("d1").folder / "table.bin"))
    disk = agent.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        agent.configure(table=str(disk / "table.json"), build=None, binary=agent.path("table.bin"))
        revision = agent.put(table(1, 2, 3))
        with agent:
            wait_until((disk / "table.json").exists, lambda: agent.log)
            build(agent.folder, table(1, 2, 3), agent.folder / "table.bin")
            agent.director.send_signal(signal.SIGHUP)
            agent.wait_used(revision)
            (disk / "filler").write_bytes(bytes(60 << 10))
            (disk / "table.json").write_text(table(1, 2, 9))
            agent.wait_log("No space left")
            build(agent.folder, table(1, 2, 9), agent.folder / "table.bin")
            agent.director.send_signal(signal.SIGHUP)
            edited = json.loads(agent.show())["digest"]
            assert agent.wait_record(lambda record: record["table"]["digest"] == edited)["table"]["revision"] == 0
            assert (disk / "table.json").read_text() == table(1, 2, 9)
    finally:
        agent.__exit__()
        subprocess.run(["umount", disk], check=True)
