# SPDX-License-Identifier: BSD-3-Clause
"""The tables of what a proxy costs, from the figures of script/bench --redirect."""

from tables import table

COMMAND = "script/bench --redirect"
PATH = "redirect"
HELPERS = {  # programs of bench/redirect/programs.bpf.c: columns
    "tcp": "socket", "udp": "socket", "prefixes": "prefixes", "route": "route", "checksum": "checksum", "strip": "headers", "mark": "headers",
}
PARSED = "corrupted: the inner version"
TARGET = 1.5  # times the helpers alone and the parsing
JUDGED = (
    "TCP of a socket here", "TCP of a socket here, 1400 bytes", "IPv6 TCP of a socket here, outer IPv6", "SYN", "UDP",
    "UDP of a connected socket here", "TCP unknown here", "TCP unknown here, 8 hops", "TCP unknown here, by route", "refused: a stranger",
)
COLUMNS = ("socket", "prefixes", "route", "checksum", "headers")


def measured(row):
    """Whether the row is one that only this measurement has."""
    return row.get("path") == PATH


class Figures:
    def __init__(self, rows):
        self.rows = rows

    def of(self, path):
        return {row["what"]: row for row in self.rows if row["path"] == path}

    def helpers(self, what):
        """{column: nanoseconds that the helpers of the kernel take alone}"""
        sums = {}
        for row in self.rows:
            if row["what"] == what and row["path"] in HELPERS:
                column = HELPERS[row["path"]]
                sums[column] = sums.get(column, 0) + row["p10"]
        return sums

    def parsing(self):
        """What it takes to parse the outer headers, check the addresses, begin with the inner header, and count, without any helper."""
        return self.of("redirect")[PARSED]["p10"]

    def machine(self):
        return next(row for row in self.rows if row["path"] == "machine")


def machine(figures):
    row = figures.machine()
    return f"{row['what']}, {row['p10']} CPUs, {row['how']}"


def packets(figures):
    rows = []
    for what, row in figures.of("redirect").items():
        helpers = figures.helpers(what)
        rows.append([what, f"{row['p10']:.0f}", *(f"{helpers[column]:.0f}" if column in helpers else "" for column in COLUMNS),
                     f"{row['p10'] - sum(helpers.values()):.0f}"])
    return table(["packet", "ns", *COLUMNS, "the rest"], rows)


def targets(figures):
    rows = []
    for what in JUDGED:
        measured, limit = figures.of("redirect")[what]["p10"], sum(figures.helpers(what).values()) + figures.parsing()
        rows.append([what, f"{measured:.0f}", f"{limit:.0f}", f"{measured / limit:.2f}", "met" if measured <= TARGET * limit else "missed"])
    return table(["packet", "ns", "helpers and parsing alone", "ratio", f"result (target: {TARGET})"], rows)


def rates(figures):
    rows = [[what, f"{row['median']:.1f}", f"{row['relative']:.2f}"] for what, row in figures.of("throughput").items()]
    return table(["on the receiving interface", "Gbit/s", "relative"], rows)


BLOCKS = {"redirect-machine": machine, "redirect-packets": packets, "redirect-rates": rates, "redirect-targets": targets}
