# SPDX-License-Identifier: BSD-3-Clause
"""What docs/explanation/connections.md promises about its harsh scripts, by glb-director-cli simulate."""

import json
import sys

import pytest

from support.cli import run
from support.tree import TREE

sys.path.insert(0, str(TREE / "bench/figures"))
import draw_changes  # noqa: E402

SEEDS = {"failures": (1, 2, 3)}  # of a script and its table; of the others, one is enough


def simulate(folder, script, *options):
    (folder / "script.sim").write_text(script)
    return json.loads(run("simulate", folder / "script.sim", "--proxies", 32, *options, "--json").stdout)


def broken(folder, name, *options, lengths="forever"):
    """Percent of the connections that break although their proxy works, for each script and table."""
    scripts = {seed: draw_changes.draw(name, seed) for seed in SEEDS.get(name, (1,))}
    assert all("lengths forever" in script for script in scripts.values())
    return [simulate(folder, script.replace("lengths forever", f"lengths {lengths}"), "--seed", seed, *options)["broken_percent"]
            for seed, script in scripts.items()]


@pytest.mark.parametrize("name", ["weights", "changes", "failures"])
def test_script_of_the_page_is_the_first_one_that_is_drawn(name):
    """Otherwise: bench/figures/draw_changes.py NAME 1 > docs/howto/examples/connections/NAME.sim"""
    assert (TREE / f"docs/howto/examples/connections/{name}.sim").read_text() == draw_changes.draw(name, 1)


@pytest.mark.parametrize("name", ["changes", "failures"])
def test_four_hops_keep_connections_of_a_minute(tmp_path, name):
    """When history ignored health, failures broke 0.77 %, the mean of three."""
    assert max(broken(tmp_path, name, "--hops", 4, lengths="exponential 1m")) <= 0.001


@pytest.mark.parametrize("name", ["changes", "failures", "weights"])
def test_eight_hops_keep_connections_that_never_end(tmp_path, name):
    assert max(broken(tmp_path, name, "--hops", 8)) <= 0.15


@pytest.mark.parametrize("name", ["changes", "failures", "weights"])
def test_two_hops_are_not_worse_with_history(tmp_path, name):
    without = broken(tmp_path, name, "--hops", 2, "--history", "off")
    assert all(one <= other for one, other in zip(broken(tmp_path, name, "--hops", 2), without))


def test_a_failure_during_a_drain_breaks_nothing_with_two_hops(tmp_path):
    """The dead proxy must not push the draining one out of the row."""
    for history in ("on", "off"):
        found = simulate(tmp_path, "lengths forever\nwait 1m\ndrain 1-8\nwait 1m\nfail 9\n", "--hops", 2, "--history", history)
        assert found["steps"][-1]["broken"] == 0 < found["steps"][-1]["killed"]
