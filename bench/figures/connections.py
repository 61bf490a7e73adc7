#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: bench/figures/connections.py [BUILD]

Runs glb-director-cli simulate of BUILD (build/ by default), and publishes the figures of docs/explanation/connections.md: the tables
between the markers, connections.json, and the plots. It takes some minutes. The figures are the same on every machine.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import charts
import draw_changes

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs/explanation/connections.md"
SCRIPTS = TREE / "docs/howto/examples/connections"

SETTINGS = {
    "2 hops, no history": "--hops 2 --history off",
    "2 hops": "--hops 2",
    "4 hops": "--hops 4",
    "6 hops": "--hops 6",
    "8 hops": "--hops 8",
}
CHANGES = {
    "16 proxies added, one a minute": "add",
    "rolling restart in batches of 8": "restart",
    "10 changes of 4 weights": "weights",
    "20 changes": "changes",
    "20 changes with failures": "failures",
}
SHORT = ("20 changes", "20 changes with failures")  # also with connections of 1 minute on average
TABLE_SEEDS = (1, 2, 3)  # the scripts of draw_changes.py have the same seeds
SKEW = {"added at once": "at-once", "in two phases": "two-phases"}
SIZES, SEEDS = (8, 32, 64, 128, 256), (1, 2, 3, 4, 5)
LIMITS = {"without a limit": "off", "balance 1.1": "1.1", "balance 1.02": "1.02"}
LENGTHS = {"exponential": "exponential 1m", "pareto, shape 1.5": "pareto 1.5 1m", "pareto, shape 1.2": "pareto 1.2 1m"}
WAITS = ("1s", "10s", "30s", "1m", "3m", "10m", "30m", "1h", "3h", "6h", "12h", "1d", "3d", "7d")


def script(name, seed):
    return draw_changes.draw(name, seed) if name in draw_changes.HEAD else (SCRIPTS / f"{name}.sim").read_text()


class Simulator:
    def __init__(self, build):
        self.program = Path(build) / "src/cli/glb-director-cli"

    def run(self, path, options):
        done = subprocess.run([self.program, "simulate", path, *options.split(), "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def script(self, name, options):
        return self.run(SCRIPTS / f"{name}.sim", options)

    def text(self, script, options):
        with tempfile.NamedTemporaryFile("w", suffix=".sim") as file:
            file.write(script)
            file.flush()
            return self.run(file.name, options)

    def broken(self, name, options, lengths="forever"):
        """[mean over the seeds, worst], in percent"""
        scripts = {seed: script(name, seed).replace("lengths forever", f"lengths {lengths}") for seed in TABLE_SEEDS}
        found = [self.text(scripts[seed], f"--proxies 32 --seed {seed} {options}")["broken_percent"] for seed in TABLE_SEEDS]
        return [round(sum(found) / len(found), 7), max(found)]

    def skew(self, name, options):
        return max(step["skew_percent"] for step in self.script(name, f"--proxies 32 {options}")["steps"])

    def balance(self, size, limit):
        """(imbalance, rows that move when one proxy is added, times the number of proxies), the means over the seeds."""
        found = [self.text(f"add {size + 1}\n", f"--proxies {size} --balance {limit} --seed {seed}") for seed in SEEDS]
        moved = [run["steps"][1]["moved_rows"] / 65536 * (size + 1) for run in found]
        imbalance = [run["steps"][0]["imbalance"] for run in found]
        return round(sum(imbalance) / len(SEEDS), 4), round(sum(moved) / len(SEEDS), 4)

    def drained(self, lengths):
        """[(minutes since a proxy drains, connections that are left on it in percent)]"""
        found = []
        for wait in WAITS:
            steps = self.text(f"lengths {lengths}\ndrain 1\nwait {wait}\nremove 1\n", "--proxies 32 --hops 4")["steps"]
            share = steps[1]["hop_percent"][1] / 100 * steps[1]["alive"]
            found.append((steps[3]["time_ms"] / 60000, round(100 * (steps[3]["broken"] - steps[2]["broken"]) / share, 6)))
        return found

    def later(self, lengths):
        """[(minutes since the last change, packets that later hops than the first accept, in percent)]"""
        waits = "".join(f"wait {wait}\n" for wait in WAITS)
        start = f"lengths {lengths}\ndrain 1-8\nwait 10m\nundrain 1-8\n"
        steps = self.text(start + waits, "--proxies 32 --hops 4")["steps"]
        return [((step["time_ms"] - steps[3]["time_ms"]) / 60000, round(100 - step["hop_percent"][0], 6)) for step in steps[4:]]


def measure(build):
    simulator = Simulator(build)
    return {
        "broken": {change: {name: simulator.broken(script, options) for name, options in SETTINGS.items()} for change, script in CHANGES.items()},
        "short": {change: {name: simulator.broken(CHANGES[change], options, "exponential 1m") for name, options in SETTINGS.items()} for change in SHORT},
        "skew": {change: {name: simulator.skew(script, options) for name, options in SETTINGS.items()} for change, script in SKEW.items()},
        "balance": {limit: {str(size): simulator.balance(size, value) for size in SIZES} for limit, value in LIMITS.items()},
        "drained": {name: simulator.drained(lengths) for name, lengths in LENGTHS.items()},
        "later": {name: simulator.later(lengths) for name, lengths in LENGTHS.items()},
    }


def markdown(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percent(value):
    return "0" if value == 0 else f"{value:.2f} %" if value >= 0.01 else f"{value:.4f} %" if value >= 0.0001 else "< 0.0001 %"


def mean_and_worst(values):
    mean, worst = (percent(value).removesuffix(" %") for value in values)
    return mean if mean == worst else f"{mean} ({worst})"


def broken_table(figures, lengths="broken"):
    return markdown(["percent: mean (worst)", *SETTINGS],
                    [[change, *(mean_and_worst(values[name]) for name in SETTINGS)] for change, values in figures[lengths].items()])


def skew_table(figures):
    return markdown(["one proxy is added", *SETTINGS], [[change, *(percent(values[name]) for name in SETTINGS)] for change, values in figures["skew"].items()])


def balance_table(figures):
    head = ["proxies", *(str(size) for size in SIZES)]
    imbalance = [[f"imbalance, {limit}", *(f"{values[str(size)][0]:.3f}" for size in SIZES)] for limit, values in figures["balance"].items()]
    moved = [[f"rows moved, {limit}", *(f"{values[str(size)][1]:.2f}" for size in SIZES)] for limit, values in figures["balance"].items()]
    return markdown(head, imbalance + moved)


def drained_table(figures):
    shown = ("1m", "10m", "1h", "6h", "1d", "7d")
    return markdown(["wait", *LENGTHS], [[wait, *(percent(figures["drained"][name][WAITS.index(wait)][1]) for name in LENGTHS)] for wait in shown])


TABLES = {"broken": broken_table, "short": lambda figures: broken_table(figures, "short"), "skew": skew_table, "balance": balance_table, "drained": drained_table}


def render(figures, page):
    return re.sub(r"<!--begin ([\w-]+)-->\n.*?<!--end-->", lambda found: f"<!--begin {found[1]}-->\n{TABLES[found[1]](figures)}\n<!--end-->", page, flags=re.DOTALL)


def plots(figures):
    """{file name: SVG}"""
    imbalance, moved = ({limit: [(int(size), pair[at]) for size, pair in values.items()] for limit, values in figures["balance"].items()} for at in (0, 1))
    return {
        "connections-broken.svg": charts.bars(
            "Broken connections, percent of all (logarithmic), mean", {change: {name: value[0] for name, value in values.items()} for change, values in figures["broken"].items()},
            0.0001, 100),
        "connections-balance.svg": charts.side_by_side(
            charts.lines("Imbalance by number of proxies", imbalance, (8, 256), (1, 1.2), SIZES, (1, 1.05, 1.1, 1.15, 1.2)),
            charts.lines("Rows moved by one more proxy, times the number of proxies", moved, (8, 256), (0.9, 1.4), SIZES, (0.9, 1, 1.1, 1.2, 1.3, 1.4))),
        "connections-waits.svg": charts.side_by_side(
            charts.lines("Connections left on a draining proxy, percent", figures["drained"], TIMES, (0, 100), TICKS, (0, 25, 50, 75, 100)),
            charts.lines("Packets for later hops after a restart, percent", figures["later"], TIMES, (0, 30), TICKS, (0, 10, 20, 30))),
    }


TIMES = (1 / 60, 10080)
TICKS = {1 / 60: "1s", 1: "1m", 10: "10m", 60: "1h", 360: "6h", 1440: "1d", 10080: "7d"}


def main(build):
    figures = json.loads(json.dumps(measure(build)))
    page = render(figures, PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")
    PAGE.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for name, svg in plots(figures).items():
        (PAGE.parent / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 2 or sys.argv[-1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1] if len(sys.argv) == 2 else TREE / "build")
