# SPDX-License-Identifier: BSD-3-Clause
"""The tables of metrics in docs/reference have each metric that the golden files of glb-healthcheck and glb-redirect have, and no other."""

import re

from support.tree import TREE

SUFFIXES = {"counter": "_total", "info": "_info"}


def served(program):
    """{name of the samples: (type, labels)} of a golden file of metrics."""
    text = (TREE / f"tests/golden/expected/{program}.metrics").read_text()
    found = {}
    for family, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, flags=re.MULTILINE):
        name = family + SUFFIXES.get(kind, "")
        sample = name + ("_count" if kind == "summary" else "")
        (labels,) = {tuple(re.findall(r'(\w+)="', labels)) for labels in re.findall(rf"^{sample}(?:{{(.*)}})?$", text, flags=re.MULTILINE)}
        found[name] = kind, labels
    return found


def rows(page, heading):
    """The cells of the rows that begin with a name, in the tables below a heading."""
    section = (TREE / "docs/reference" / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in row.split("|")] for row in re.findall(r"^\| (`.*) \|$", section, flags=re.MULTILINE)]


def names(cell):
    return tuple(re.findall(r"`(\w+)`", cell))


def test_metrics_of_glb_healthcheck():
    documented = {f"glb_healthcheck_{name}": names(row[1]) for row in rows("healthcheck.md", "GET /metrics") for name in names(row[0])}
    assert documented == {name: labels for name, (_, labels) in served("glb-healthcheck").items()} and len(documented) > 30


def test_metrics_of_a_proxy():
    documented = {name: (row[1], names(row[2])) for row in rows("metrics.md", "Metrics of a proxy") for name in names(row[0])}
    assert documented == served("glb-redirect") and len(documented) > 25
