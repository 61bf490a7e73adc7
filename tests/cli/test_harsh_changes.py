# SPDX-License-Identifier: BSD-3-Clause
"""What docs/explanation/connections.md promises about its harsh scripts, by glb-director-cli simulate."""

import json

import pytest

from support.cli import run
from support.tree import TREE

SCRIPTS = TREE / "docs/howto/examples/connections"


def broken(folder, name, *options, lengths="forever"):
    """Percent of the connections that break although their proxy works."""
    script = (SCRIPTS / f"{name}.sim").read_text()
    assert "lengths forever" in script
    (folder / "script.sim").write_text(script.replace("lengths forever", f"lengths {lengths}"))
    return json.loads(run("simulate", folder / "script.sim", "--proxies", 32, *options, "--json").stdout)["broken_percent"]


def test_failures_are_a_third_of_the_changes_and_nobody_takes_them_back_in_order():
    verbs = [line.split()[0] for line in (SCRIPTS / "failures.sim").read_text().splitlines() if line and line[0] not in "#lw"]
    weights = [line for line in (SCRIPTS / "failures.sim").read_text().splitlines() if line.startswith("weight")]
    failures = [verb for verb in verbs if verb in ("fail", "recover")]
    assert len(verbs) + len(weights) == 20 and len(failures) >= 7
    down = [failures[: at + 1].count("fail") - failures[: at + 1].count("recover") for at in range(len(failures))]
    assert max(down) == 4


@pytest.mark.parametrize("name", ["changes", "failures"])
def test_four_hops_keep_connections_of_a_minute(tmp_path, name):
    """The scripts are the worst of those that were drawn. When history ignored health, failures.sim broke 0.5 %."""
    assert broken(tmp_path, name, "--hops", 4, lengths="exponential 1m") <= 0.0015


@pytest.mark.parametrize("name", ["changes", "failures", "weights"])
def test_eight_hops_keep_connections_that_never_end(tmp_path, name):
    assert broken(tmp_path, name, "--hops", 8) <= 0.15


@pytest.mark.parametrize("name", ["changes", "failures", "weights"])
def test_two_hops_are_not_worse_with_history(tmp_path, name):
    assert broken(tmp_path, name, "--hops", 2) <= broken(tmp_path, name, "--hops", 2, "--history", "off")


def test_a_failure_during_a_drain_breaks_nothing_with_two_hops(tmp_path):
    """The dead proxy must not push the draining one out of the row."""
    (tmp_path / "script.sim").write_text("lengths forever\nwait 1m\ndrain 1-8\nwait 1m\nfail 9\n")
    for history in ("on", "off"):
        found = json.loads(run("simulate", tmp_path / "script.sim", "--proxies", 32, "--hops", 2, "--history", history, "--json").stdout)
        assert found["steps"][-1]["broken"] == 0 < found["steps"][-1]["killed"]
