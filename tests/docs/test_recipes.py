# SPDX-License-Identifier: BSD-3-Clause
"""CONTRIBUTING.md says which files one touches to add a fact. The example of each recipe stands in these files, and in no other."""

import re
from fnmatch import fnmatch

import pytest

from support.tree import TREE

TEXT = (TREE / "CONTRIBUTING.md").read_text()
RECIPES = re.findall(r"^(\*\*An? [^*]+\*\*.*?)(?=^\*\*An? |\Z)", TEXT[TEXT.index("## How to add"):], re.MULTILINE | re.DOTALL)
EXAMPLES = {match[1]: recipe for recipe in RECIPES if (match := re.search(r"Example: `(\w+)`", recipe))}
FACTS = ("src", "config", "docs/reference", "docs/man", "tests/model", "tests/golden/expected")


def files_of(recipe):
    return re.findall(r"`(\w[\w./*-]*/[\w.*-]*)`", recipe)


def files_with(fact):
    """The files that have the fact as a word, also as the name of a metric, but not those that use it as a member of a struct."""
    word = re.compile(rf"(?<![\w.>])(?:glb_[a-z]+[_.])?{fact}(?:_total)?(?!\w)")
    for folder in FACTS:
        for path in sorted((TREE / folder).rglob("*")):
            if path.is_file() and path.suffix != ".pyc" and word.search(path.read_text(errors="replace")):
                yield str(path.relative_to(TREE))


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.split("**")[1])
def test_files_of_a_recipe_exist(recipe):
    missing = [name for name in files_of(recipe) if not list(TREE.glob(name))]
    assert not missing


@pytest.mark.parametrize("fact", EXAMPLES)
def test_a_fact_stands_only_where_its_recipe_says(fact):
    allowed = files_of(EXAMPLES[fact])
    stray = [path for path in files_with(fact) if not any(fnmatch(path, name.rstrip("/") + "*" * name.endswith("/")) for name in allowed)]
    assert not stray, f"{fact} is typed in files that CONTRIBUTING.md does not name"


@pytest.mark.parametrize("fact", EXAMPLES)
def test_example_is_a_fact_of_the_programs(fact):
    assert any(path.startswith("src/") for path in files_with(fact))
