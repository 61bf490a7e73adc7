# SPDX-License-Identifier: BSD-3-Clause
"""The tables about what an operator waits for, from the figures of script/bench --tables."""

import itertools
import math

from tables import Missing, table

COMMAND = "script/bench --tables"
SIZES = [(1, 256), (1, 4096), (1, 65536), (16, 4096), (64, 256), (256, 256), (1024, 256)]  # (tables, backends of each)
REFUSED = (1, 65536)  # a table has at most 4096 backends
QUICK = [(1, 256), (4, 256), (1, 1024), REFUSED]
OPTIONAL = (1024, 256)  # published if the machine had time and memory for it
STEPS = {
    "edit": "edit: drain a proxy of one table",
    "edit_all": "edit: drain a proxy of all tables",
    "edit_bind": "edit: add a bind to one table",
    "check": "check",
    "diff": "diff, after the first and the third edit",
    "plan": "plan for both edits",
    "build-config": "build-config",
    "reload": "reload",
    "first_packet": "first packet by the new table, since reload",
}
TARGET_S = 60  # for any step with the largest tables
GROWTHS = [
    # from, to: the second is so many times the first, and nothing else differs
    ((1, 256), (1, 4096)), ((1, 4096), (16, 4096)), ((1, 256), (64, 256)), ((64, 256), (256, 256)), ((256, 256), (1024, 256)),
]


def memory_mib(size):
    """The memory that a size needs: that of plan, and the files in the page cache."""
    return round(300 + size[0] * 2.5 + size[0] * size[1] / 1000)


def disk_mib(size):
    """The JSON tables with their backups, and two binary tables."""
    return round(10 + size[0] * 1.2 + size[0] * size[1] / 1500)


def rows_of(rows):
    found = {(row["step"], row["tables"], row["backends"]): row for row in rows if row["step"] != "machine"}
    for size, step in itertools.product(SIZES, STEPS):
        if (step == "check" or size != REFUSED) and size != OPTIONAL and (step, *size) not in found:
            raise Missing(f"{step} with {size[0]} tables of {size[1]} backends")
    return found


Figures = list


def measured(row):
    """Whether the row is one that only this measurement has."""
    return "step" in row


def complete(found):
    """The sizes with figures of all steps, the largest one last."""
    return [size for size in SIZES if all((step, *size) in found for step in STEPS)]


def seconds(value):
    return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


def machine(rows):
    (found,) = [row for row in rows if row["step"] == "machine"]
    return f"{found['what']}, {found['cpus']} CPUs"


def waits(rows):
    """A row for each step, and a column for each size."""
    found = rows_of(rows)
    sizes = complete(found)
    lines = [[text, *(f"{seconds(found[step, *size]['seconds'])}, {found[step, *size]['mib']:.0f} MiB" for size in sizes)] for step, text in STEPS.items()]
    head = ["tables x backends of each", *(f"{tables} x {backends}" for tables, backends in sizes)]
    refused = found["check", *REFUSED]
    return (f"{table(head, lines)}\n\nMeasured on {machine(rows)}. `check` refuses a table of {REFUSED[1]} backends after {seconds(refused['seconds'])}."
            f" {OPTIONAL[0]} x {OPTIONAL[1]} needs {memory_mib(OPTIONAL)} MiB of memory and {disk_mib(OPTIONAL)} MiB of disk.")


def ideal(smaller, larger):
    """How much longer n log n takes, with n backends in all tables."""
    less, more = (tables * backends for tables, backends in (smaller, larger))
    return more * math.log(more) / (less * math.log(less))


def growth(found, step):
    """(times, n log n, from, to) of the growth that is nearest to its limit or beyond."""
    grown = [(found[step, *larger]["seconds"] / found[step, *smaller]["seconds"], ideal(smaller, larger), smaller, larger)
             for smaller, larger in GROWTHS if larger in complete(found)]
    return max(grown, key=lambda each: each[0] / each[1])


def targets(rows):
    found = rows_of(rows)
    lines, largest = [], complete(found)[-1]
    for step, text in STEPS.items():
        times, limit, smaller, larger = growth(found, step)
        longest = found[step, *largest]["seconds"]
        lines.append([text, f"{smaller[0]} x {smaller[1]} to {larger[0]} x {larger[1]}", f"{limit:.1f}", f"{times:.1f}", "met" if times <= limit else "missed",
                      seconds(longest), "met" if longest <= TARGET_S else "missed"])
    return table(["", "steepest growth", "n log n", "measured", "result", f"{largest[0]} x {largest[1]}", f"target {TARGET_S} s"], lines, left=2)


BLOCKS = {"waits": waits, "wait-targets": targets}
