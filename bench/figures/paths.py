# SPDX-License-Identifier: BSD-3-Clause
"""The table that compares whole paths, from the figures of script/bench --end-to-end."""

from tables import table

COMMAND = "script/bench --end-to-end"
PATH = "end-to-end"
SHARES = (10, 50, 90)


def measured(row):
    """Whether the row is one that only this measurement has."""
    return row.get("path") == PATH


class Figures:
    def __init__(self, rows):
        self.rows = rows


def machine(figures):
    row = next(row for row in figures.rows if row["path"] == "machine")
    return f"{row['what']}, {row['p10']} CPUs, {row['how']}"


def microseconds(share):
    return ", ".join(f"{share[key] / 1000:.0f}" for key in ("p50", "p99", "p999")) + ("" if share["sent"] == share["received"] else " (lost some)")


def comparison(figures):
    rows = []
    for row in figures.rows:
        if row["path"] != PATH:
            continue
        if "why" in row:
            rows.append([row["what"], f"did not run: {row['why']}", *[""] * len(SHARES)])
            continue
        rate = f"{row['rate'] / 1e3:.0f}" + ("" if row["lossless"] else " (lost some)")
        rows.append([row["what"], rate, *map(microseconds, row["shares"])])
    return table(["", "thousand packets a second", *(f"µs at {share} %: p50, p99, p99.9" for share in SHARES)], rows)


BLOCKS = {"end-to-end-machine": machine, "end-to-end": comparison}
