# SPDX-License-Identifier: BSD-3-Clause
"""Roll-outs through glb-fleet, which builds each table and gives it to a stand-in for the director."""

import json
import signal

import pytest

from agent import PREFIX, table
from rollouts import document, rollout_lines, wait_state

from support.cli import FAILED


@pytest.mark.parametrize("network", ["192.0.2.", "2001:db8::"])
def test_fleet_changes_its_table_by_itself(start, tmp_path, network):
    def of(*numbers):
        return table(*({"ip": f"{network}{i}", "state": "active"} for i in numbers))

    agents, wanted = start(of(1, 2, 3, 4)), tmp_path / "wanted.json"
    wanted.write_text(of(2, 3, 4, 5))
    lines = rollout_lines(agents[0], "rollout", "start", wanted, "--drained-after", "1s")
    assert "done, step 3 of 3 (wanted), used by 3 of 3" in " ".join(lines)
    assert [agent.table.read_text() for agent in agents] == [wanted.read_text()] * 3


def test_agent_that_leads_is_killed_and_started_again(agents, etcd, tmp_path):
    wanted = tmp_path / "wanted.json"
    wanted.write_text(table(2, 3, 4, 5))
    rollout_lines(agents[0], "rollout", "start", wanted, "--drained-after", "1s", "--detach")
    wait_state(etcd, "running", step=1)
    leader, = [agent for agent in agents if agent.name == etcd.get(f"{PREFIX}/leader")]
    leader.stop(signal.SIGKILL)
    leader.start()
    wait_state(etcd, "done")
    assert [agent.table.read_text() for agent in agents] == [wanted.read_text()] * 3


def test_table_that_an_agent_refuses(agents, etcd, tmp_path):
    """The guard of the agents refuses a table that loses most of its backends."""
    wanted = tmp_path / "wanted.json"
    wanted.write_text(table(5))
    rollout_lines(agents[0], "rollout", "start", wanted, "--drained-after", "1s", "--detach", "--max-broken", "100")
    found = wait_state(etcd, "stopped")
    assert "refused the table of step" in found["reason"]
    assert "stopped" in " ".join(rollout_lines(agents[0], "rollout", "status", "--watch", code=FAILED))


def test_loss_that_is_confirmed(start, tmp_path):
    """`replaces` confirms one change only: the last step removes the backends. The plan also adds one, so the step before has another fingerprint."""
    agents = start(table(1, 2, 3, 4, 5))
    wanted = tmp_path / "wanted.json"
    wanted.write_text(table(5, 6, replaces=agents[0].record()["table"]["fingerprint"]))
    lines = rollout_lines(agents[0], "rollout", "start", wanted, "--drained-after", "1s")
    assert "done, step 3 of 3 (wanted), used by 3 of 3" in " ".join(lines)
    assert json.loads(agents[0].table.read_text())["tables"] == json.loads(wanted.read_text())["tables"]
    assert "nothing to do" in rollout_lines(agents[0], "rollout", "start", wanted)[0]


def test_secrets_do_not_go_through_etcd(start, etcd, tmp_path):
    secrets = {"hash_key": "ab" * 16, "seed": "cd" * 16}
    agents = start(None, secrets)
    members = json.loads("{" + agents[0].call("keys", "web").stdout + "}")
    wanted = tmp_path / "wanted.json"
    wanted.write_text(table(2, 3, 4, 5, keys=members))
    lines = rollout_lines(agents[0], "rollout", "start", wanted, code=FAILED)
    assert "paused, step 2 of 3 (switch), used by 3 of 3" in " ".join(" ".join(lines).split())
    found = document(etcd)
    texts = [etcd.get(f"{PREFIX}/rollouts/{found['id']}/{i}") for i in range(4)]
    assert all(text and members["keys_id"] in text and not any(secret in text for secret in secrets.values()) for text in texts)
    assert texts[3] == wanted.read_text() and all(json.loads(text)["tables"][0].keys() >= {"keys", "keys_id"} for text in texts)
    rollout_lines(agents[0], "rollout", "abort", "--drained-after", "1s")
    assert etcd.get(f"{PREFIX}/table") == table(1, 2, 3, 4, keys=members)
