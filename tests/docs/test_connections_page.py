# SPDX-License-Identifier: BSD-3-Clause
"""The figures of docs/explanation/connections.md are those that bench/figures/connections.py makes with this build."""

import importlib
import json

import pytest

from support.tree import BUILD, TREE


@pytest.fixture
def figures(monkeypatch):
    """(the module, the published figures)"""
    monkeypatch.syspath_prepend(TREE / "bench/figures")
    module = importlib.import_module("connections")
    return module, json.loads(module.PAGE.with_suffix(".json").read_text())


def test_page_and_plots_have_the_published_figures(figures):
    module, published = figures
    assert module.render(published, module.PAGE.read_text()) == module.PAGE.read_text()
    plots = module.plots(published)
    assert {name: (module.PAGE.parent / name).read_text() for name in plots} == plots
    assert all(f"({name})" in module.PAGE.read_text() for name in plots)


@pytest.mark.parametrize("settings", ["2 hops, no history", "6 hops"])
def test_published_figures_are_those_of_this_build(figures, settings):
    """After a change run bench/figures/connections.py."""
    module, published = figures
    simulator, options = module.Simulator(BUILD), module.SETTINGS[settings]
    for change in ("rolling restart in batches of 8", "20 changes with failures"):
        assert simulator.broken(module.CHANGES[change], options) == published["broken"][change][settings]
    assert {change: simulator.skew(script, options) for change, script in module.SKEW.items()} == {
        change: values[settings] for change, values in published["skew"].items()}


def test_published_balance_is_that_of_this_build(figures):
    module, published = figures
    assert list(module.Simulator(BUILD).balance(32, "1.02")) == published["balance"]["balance 1.02"]["32"]
