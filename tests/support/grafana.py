# SPDX-License-Identifier: BSD-3-Clause
"""The Grafana dashboard: its panels and queries, and their results from a Prometheus.

Knows what the dashboard uses of Grafana's schema, and fails on anything else, so that a test sees a panel that it cannot check.
"""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

from support.tree import TREE

PATH = TREE / "packaging/grafana/glb-fleet.json"
TIMEOUT_S = 10


def dashboard():
    return json.loads(PATH.read_text(encoding="utf-8"))


def panels(board):
    """All panels with queries, in the order of the page."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(board):
    """[(panel, target)]"""
    return [(panel, target) for panel in panels(board) for target in panel["targets"]]


def with_variables(query, values):
    """A query as Grafana sends it. `values` is {variable: regular expression or duration}."""
    found = re.sub(r"\$\{?(\w+)\}?", lambda name: values[name[1]], query)
    assert "$" not in found.replace('$"', '"'), found
    return found


def legend(target, labels):
    """The name of a series."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), target["legendFormat"])


def merged(panel, results):
    """(columns, rows) of a table panel, as its transformations `merge` and `organize` make them. `results` has [(labels, value)] of each target."""
    steps = {each["id"]: each["options"] for each in panel["transformations"]}
    assert steps.keys() <= {"merge", "organize"}
    values = ["Value"] if len(results) == 1 else [f"Value #{target['refId']}" for target in panel["targets"]]
    rows = []
    for name, result in zip(values, results):
        for labels, value in result:
            same = [row for row in rows if all(row.get(key, word) == word for key, word in labels.items())]
            for row in same or [{}]:
                row.update(labels, **{name: value})
                if not same:
                    rows.append(row)
    names, dropped, order = (steps["organize"][key] for key in ("renameByName", "excludeByName", "indexByName"))
    columns = [column for column in sorted({each for row in rows for each in row}, key=lambda each: order.get(each, len(order)))
               if column not in dropped]
    return ([names.get(column, column) for column in columns],
            sorted(([row.get(column, float("nan")) for column in columns] for row in rows), key=str))


@dataclass(frozen=True)
class Prometheus:
    """The API of a Prometheus. Errors of queries are exceptions."""

    url: str

    def get(self, path, **parameters):
        address = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters, doseq=True)}"
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT_S) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"{parameters}: {error.read().decode()}") from None

    def instant(self, query, **options):
        """[(labels, value)]"""
        return [(each["metric"], float(each["value"][1])) for each in self.get("query", query=query, **options)["result"]]

    def range(self, query, start, end, step):
        """[(labels, [(time, value)])]"""
        found = self.get("query_range", query=query, start=start, end=end, step=step)["result"]
        return [(each["metric"], [(time, float(value)) for time, value in each["values"]]) for each in found]
