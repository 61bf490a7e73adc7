# SPDX-License-Identifier: BSD-3-Clause
"""`rollout start --from DIR`, --wait and --timeout, as a CI job uses them, on a real etcd, with directors that are records."""

import json
import subprocess

import pytest
from rollouts import BACKENDS, FAST, check_done, timeless, writes

from support.cli import BROKEN, CLI, FAILED, USAGE, run, table, write_tables

TIMEOUT = 4  # exit code


@pytest.fixture
def folder(fleet, tmp_path):
    """What a reviewer approved."""
    return tmp_path / "plan"


def start_from(fleet, folder, *args, **kwargs):
    return fleet.rollout("start", "--from", folder, *FAST, *args, **kwargs)


def change(path, of):
    document = json.loads(path.read_text())
    of(document)
    path.write_text(json.dumps(document))


def test_job_rolls_out_the_steps_that_were_approved_and_runs_again(fleet, folder):
    (folder / "README.md").write_text("approved")
    change(folder / "2.json", lambda document: document.update({"x-ticket": "in the review"}))
    fleet.plan[2] = timeless((folder / "2.json").read_text())
    fleet.lead("leader")
    done = start_from(fleet, folder, "--wait", "--timeout", "5m")
    assert "step 1 approved" in done.stdout and "step 3 wanted" in done.stdout
    assert [step["wait"] for step in check_done(fleet)["steps"]] == ["none", "none", "drained", "none"]
    assert json.loads(fleet.steps()[2])["x-ticket"] == "in the review"
    again = start_from(fleet, folder, "--wait")
    assert again.stdout.startswith("nothing to do") and again.stdout.count("\n") == 1 and writes(fleet) == 4


def test_table_that_changed_after_the_review(fleet, folder):
    """Nobody loses a connection by it, but the steps would take the change of somebody else back."""
    fleet.put("table", json.dumps({**json.loads(fleet.plan[0]), "x-owner": "somebody else"}))
    fleet.settle()
    done = start_from(fleet, folder, code=FAILED)
    assert "begins with another table than the one in etcd" in done.stderr and "compute the plan again" in done.stderr
    assert fleet.document() == {} and writes(fleet) == 2


def test_table_that_changed_in_its_layout_only(fleet, folder):
    fleet.put("table", json.dumps(json.loads(fleet.plan[0]), indent=3) + "\n")
    fleet.settle()
    start_from(fleet, folder, "--detach")
    assert json.loads(fleet.kv(f"rollouts/{fleet.document()['id']}/0")[0]) == json.loads(fleet.plan[0])


@pytest.mark.parametrize("name, spoil, said", [
    ("no step before", lambda folder: (folder / "0.json").unlink(), "0.json: "),
    ("a gap", lambda folder: (folder / "1.json").unlink(), "1.json: "),
    ("too many", lambda folder: [(folder / f"{i}.json").write_text("{}") for i in range(4, 9)], "has not what `plan --write` writes"),
    ("a step that is no table", lambda folder: (folder / "2.json").write_text('{"tables": 5}'), "2.json:1:12: tables"),
    ("binary", lambda folder: (folder / "2.json").write_bytes(b"\0" * 100), "2.json"),
    ("a folder", lambda folder: ((folder / "3.json").unlink(), (folder / "3.json").mkdir()), "3.json: "),
    ("only the step before", lambda folder: [(folder / f"{i}.json").unlink() for i in (1, 2, 3)], "has not what `plan --write` writes"),
    ("no folder", lambda folder: folder.rename(folder.parent / "gone"), "cannot be read as a folder"),
])
def test_folder_that_is_no_plan(fleet, folder, name, spoil, said):
    spoil(folder)
    assert said in start_from(fleet, folder, code=FAILED).stderr, name
    assert fleet.document() == {} and writes(fleet) == 1


def test_step_that_breaks_connections_of_its_neighbour(fleet, folder):
    """Without the step that announces the new proxy, a director that is one step behind loses its new connections."""
    (folder / "1.json").write_text((folder / "3.json").read_text())
    (folder / "2.json").unlink()
    (folder / "3.json").unlink()
    write_tables(folder / "1.json", table(backends=[BACKENDS[4]], hash_key=7))
    done = start_from(fleet, folder, code=BROKEN)
    assert "refused: its steps break 100.00% of the rows" in done.stderr and fleet.document() == {}
    start_from(fleet, folder, "--max-broken", "100", "--detach")


def test_wait_begins_when_an_earlier_roll_out_has_ended(fleet, folder):
    fleet.rollout("start", fleet.wanted, "--detach")
    fleet.rollout("pause")
    earlier = fleet.document()["id"]
    assert "is paused: wait until it is done" in start_from(fleet, folder, code=FAILED).stderr
    with subprocess.Popen([CLI, "rollout", "start", "--from", folder, "--wait", "--detach", "--config", fleet.conf], stdout=subprocess.PIPE,
                          text=True) as job:
        assert "paused" in job.stdout.readline()
        fleet.rollout("abort", "--detach")
        assert "3 steps from the table in etcd" in job.communicate(timeout=60)[0] and job.returncode == 0
    assert fleet.wait_state("running")["id"] != earlier


def test_job_whose_time_is_over(fleet, folder):
    """The roll-out goes on without it; one that waits for another roll-out writes nothing."""
    assert "the roll-out goes on" in start_from(fleet, folder, "--timeout", "1s", code=TIMEOUT).stderr
    first = fleet.wait_state("running")["id"]
    done = start_from(fleet, folder, "--wait", "--timeout", "1s", code=TIMEOUT)
    assert "nothing is written" in done.stderr and fleet.document()["id"] == first
    fleet.rollout("status", "--watch", "--timeout", "1s", code=TIMEOUT)


def test_job_that_is_called_wrongly(fleet, folder):
    for words in (["start"], ["start", fleet.wanted, "--from", folder], ["start", fleet.wanted, "--timeout", "0s"]):
        assert "rollout: " in run("rollout", *words, "--config", fleet.conf, code=USAGE).stderr
