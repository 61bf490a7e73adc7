# SPDX-License-Identifier: BSD-3-Clause
"""The tables and numbers of docs/explanation/performance.md and bench/targets.md, from the figures of script/bench."""

import contextlib
import itertools

from plot import PATH_NAMES
from stages import OTHER, STAGES

GROWTH = 40  # bytes that the director adds to a frame, with two hops
WIRE = 20  # bytes of preamble, start delimiter and gap for each frame on Ethernet; the frame's 64 bytes include the CRC

LINKS_GBIT = (10, 25, 100)
MIXES = [
    # name, mean frame size in bytes
    ("64 bytes", 64),
    ("IMIX", (7 * 64 + 4 * 594 + 1518) / 12),
]

# Cycles of a packet, as a multiple of the floor of the same run.
TARGETS = [
    # name, figure, target: of all CPUs, or by vendor
    ("AVX-512, frames in L2", dict(path="avx512"), {"Intel": 3.5, "AMD": 4.8}),
    ("AVX-512, bursts of 32", dict(path="avx512", burst=32), 3.5),
    ("AVX-512, IPv6", dict(path="avx512", family="v6"), 5),
    ("AVX-512, 64 tables", dict(path="avx512", tables=64), 5),
    ("AVX-512, frames in L3", dict(path="avx512", set="l3"), 2),
    ("AVX-512, frames in DRAM", dict(path="avx512", set="dram"), 1.5),
    ("plain C", dict(path="scalar"), 6),
]
# Cycles of a packet on the general path, as a multiple of an ordinary one in plain C.
GENERAL_TARGETS = [("IPv4 options", 2), ("first fragments", 2), ("pings", 2), ("everything at once", 3)]
# One packet of FEW in a burst of ordinary ones.
FEW = 16
FEW_KINDS = ["IPv4 options", "first fragments", "tags", "with everything at once"]
FEW_TARGET = 3  # cycles of the most expensive kind, as a multiple of an ordinary packet in plain C
BUILD_TARGET = (256, 15)  # backends, ms
BUILD_LIMITS = [16, 64, 256, 4096]  # backends, compared with the time that nothing but hashing takes
CLASSIFIER_TARGET_MS = 100
SCALING_TARGET = 1.9
EXCEPTION_TARGET = 1.25  # cycles with an exception path and its limits, as a multiple of those without

PATHS = ("io", "macswap", "floor", "stages", "scalar", "avx2", "avx512")
ISAS = ("avx512", "avx2", "scalar")
SIMPLE_FIRST = tuple(reversed(ISAS))
STANDARD = dict(what="", set="l2", family="v4", tables=1, binds=16, hops=2, burst=64, lcores=1)
BEST = "avx512"
NECESSARY = "fused"  # the necessary work alone; files from before it was measured lack it
NECESSARY_SCENARIOS = [("frames in L2", {}), ("bursts of 32", dict(burst=32)), ("frames in L3", dict(set="l3")), ("frames in DRAM", dict(set="dram"))]
# The stages of the fast path that the necessary work has not.
MORE_STAGES = ["parse", "find the table", "send and count", "once a burst", "other"]

VENDORS = {"Intel": ("GenuineIntel",), "AMD": ("AuthenticAMD",)}
COMPARED = [
    ("frames in L2", {}),
    ("bursts of 32", dict(burst=32)),
    ("frames in L3", dict(set="l3")),
    ("frames in DRAM", dict(set="dram")),
    ("IPv6", dict(family="v6")),
    ("64 tables", dict(tables=64)),
    ("IPv6, 64 tables", dict(family="v6", tables=64)),
    ("rows of 4 hops", dict(what="4 hops", hops=4)),
    ("everything at once", dict(what="everything at once", family="odd")),
]
SCENARIOS = [
    ("1 table, 16 binds", {}),
    ("bursts of 32", dict(burst=32)),
    ("1 bind", dict(binds=1)),
    ("256 binds", dict(binds=256)),
    ("16 tables", dict(tables=16)),
    ("64 tables", dict(tables=64)),
    ("64 tables of 256 binds", dict(tables=64, binds=256)),
    ("IPv6", dict(family="v6")),
    ("IPv6, 64 tables", dict(family="v6", tables=64)),
    ("IPv4 and IPv6 mixed", dict(family="mixed")),
    ("frames in L3", dict(set="l3")),
    ("frames in DRAM", dict(set="dram")),
]
FEATURES = [
    ("none: the first scenario, measured again", dict(what="once more")),
    ("`alt_hash_fields`: two rows for each packet", dict(what="alternative hash")),
    ("rows of 4 hops", dict(what="4 hops", hops=4)),
    ("rows of 6 hops", dict(what="6 hops", hops=6)),
    ("rows of 8 hops", dict(what="8 hops", hops=8)),
    ("all four `hash_fields`", dict(what="hash of four fields")),
    ("binds that are prefixes (/28)", dict(what="prefixes")),
    ("MTU check: limit 65535", dict(what="MTU 65535")),
    ("MTU check: every packet fails and is dropped", dict(what="all over the MTU")),
]
TABLE_COSTS = [
    ("1 table, 16 binds: the first row above", {}),
    ("9 prefix lengths, packets match the longest", dict(what="9 prefix lengths")),
    ("9 prefix lengths, packets match the shortest", dict(what="9 prefix lengths, shortest")),
    ("24 prefix lengths, packets match the shortest", dict(what="24 prefix lengths, shortest")),
    ("24 prefix lengths of IPv6, packets match the shortest", dict(what="24 prefix lengths, shortest", family="v6")),
    ("1025 different port maps", dict(what="1025 port maps")),
    ("rows of 1 hop", dict(what="rows of 1 hop", hops=1)),
    ("rows of 4 hops", dict(what="4 hops", hops=4)),
    ("rows of 6 hops", dict(what="6 hops", hops=6)),
    ("rows of 8 hops", dict(what="8 hops", hops=8)),
    ("64 tables of rows of 8 hops", dict(what="8 hops", tables=64, hops=8)),
    ("300 backends", dict(what="300 backends")),
    ("41 tables of 1600 backends, 65600 in all", dict(what="65600 backends", tables=41)),
]
NEXT_HOPS = [
    # name, figure, the figure with one next hop for all packets
    ("one for all packets, measured again", dict(what="once more"), {}),
    ("64 proxies on-link", dict(what="64 next hops"), {}),
    ("ECMP over 4 routers to all proxies", dict(what="ECMP of 4"), {}),
    ("64 tables of 64 proxies on-link", dict(what="64 next hops", tables=64), dict(tables=64)),
]
IPV6_HOPS = [
    # name, figure with IPv4 hops; the one with IPv6 hops differs only in that
    ("frames in L2", {}),
    ("frames in L3", dict(set="l3")),
    ("IPv6 clients", dict(family="v6")),
    ("rows of 8 hops", dict(what="8 hops", hops=8)),
]
QUIC = [("key, several passes", "QUIC, several passes"), ("key, one pass", "QUIC, one pass"), ("no key", "QUIC without key")]
WATCHED_BURSTS = (64, 32, 16)
FLOODS = [
    ("frames for another host's MAC", dict(what="frames for other hosts")),
    ("packets over the MTU, no too-big replies", dict(what="all over the MTU")),
    ("packets over the MTU, too-big replies within the limit", dict(what="too-big flood")),
    ("IPv6 packets over the MTU, too-big replies within the limit", dict(what="too-big flood", family="v6")),
    ("packets over the MTU, a too-big reply to each", dict(what="too-big replies")),
]
EXCEPTIONS = [
    ("dropped", "half unmatched, dropped"),
    ("exception path with the default limits", "half unmatched, exception path"),
    ("exception path without limits", "half unmatched, exception path without limits"),
]
GENERAL_KINDS = [
    "IPv4 options", "first fragments", "later fragments", "ICMP errors", "pings", "tags", "8 extension headers", "IPv6 first fragments",
    "ICMPv6 errors", "unmatched", "two segments", "shared mbufs", "indirect mbufs", "all kinds", "everything at once",
    "everything, in two segments",
]
# A sender cannot cause these: only drivers and other software make such mbufs.
NOT_SENT = {"two segments", "shared mbufs", "indirect mbufs", "everything, in two segments"}
WORST = "everything at once"  # the most expensive frame that we found
PROFILED = [
    ("L2", {}), ("L3", dict(set="l3")), ("DRAM", dict(set="dram")), ("64 tables", dict(tables=64)), ("IPv6", dict(family="v6")),
    ("most expensive", dict(family="odd", what=WORST)),
]


class Missing(Exception):
    """The file lacks a figure."""


class Figures:
    """The rows of a JSON file. `others` are the figures of other CPUs, for the table that compares them."""

    def __init__(self, rows, others=()):
        self.rows = rows
        self.runs = [self, *others]

    def cpu(self, key):
        """A value of /proc/cpuinfo."""
        machine = self.row(path="machine")
        return machine["what"] if key == "model name" else machine.get("cpu", {}).get(key, "not recorded")

    def vendor(self):
        for vendor, names in VENDORS.items():
            if self.cpu("vendor_id") in names or vendor in self.cpu("model name"):
                return vendor
        raise Missing(f"a CPU of {' or '.join(VENDORS)} (found: {self.cpu('model name')}; add its vendor to VENDORS in tables.py)")

    def file(self):
        return f"performance-{self.vendor().lower()}.json"

    def row(self, **wanted):
        for row in self.rows:
            if all(row.get(key) == value for key, value in wanted.items()):
                return row
        raise Missing(", ".join(f"{key} {value!r}" for key, value in wanted.items()))

    def cycles(self, path, **different):
        return self.row(path=path, **{**STANDARD, **different})["p10"]

    def build(self, path, backends, lcores=1, tables=1):
        return self.row(path=path, backends=backends, lcores=lcores, tables=tables)["p10"]

    def has_two_lcores(self):
        return any(row["lcores"] == 2 and row["path"] == "floor" for row in self.rows)

    def share(self, stage, path=BEST, **different):
        wanted = {key: value for key, value in {**STANDARD, **different}.items() if key in ("set", "family", "tables")}
        return self.row(path="profile", what=stage, how=path, **wanted)["p10"]


def table(head, rows, left=1):
    """A table in Markdown. The first `left` columns are left-aligned words, the others right-aligned numbers."""
    lines = [head, ["---"] * left + ["---:"] * (len(head) - left), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def brief(value):
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}"


def ratio(value, to):
    return f"{value / to:.2f}"


def biggest(figures, path, different):
    """The three stages that take most of the time."""
    cycles = figures.cycles(path, **different)
    shares = sorted(((figures.share(stage, path, **different), stage) for stage in STAGES), reverse=True)[:3]
    return ", ".join(f"{stage} {brief(share * cycles)}" for share, stage in shares)


def target_row(name, target, unit, measured, cycles="", why="", met=None):
    met = measured <= target if met is None else met
    return [name, f"{target:g} {unit}", brief(measured) if unit == "ms" else f"{measured:.2f}", ratio(measured, target),
            "met" if met else "missed", cycles, "" if met else why]


def packet_targets(figures):
    for name, figure, target in TARGETS:
        different = {key: value for key, value in figure.items() if key != "path"}
        cycles = figures.cycles(figure["path"], **different)
        profiled = {key: value for key, value in different.items() if key != "burst"}
        target = target[figures.vendor()] if isinstance(target, dict) else target
        yield target_row(name, target, "x floor", cycles / figures.cycles("floor", **different), brief(cycles),
                         biggest(figures, figure["path"], profiled))
    for what, target in GENERAL_TARGETS:
        cycles = general_cycles(figures, what)
        why = biggest(figures, BEST, dict(family="odd", what=WORST)) if what == WORST else ""
        yield target_row(what, target, "x plain C", cycles / figures.cycles("scalar"), brief(cycles), why)


def other_targets(figures):
    if figures.has_two_lcores():
        one, two = (figures.cycles(BEST, what="two lcores", lcores=lcores) for lcores in (1, 2))
        floors = [figures.cycles("floor", what="two lcores", lcores=lcores) for lcores in (1, 2)]
        yield target_row("two lcores, speedup", SCALING_TARGET, "x", one / two, brief(two),
                         f"speedup of the floor: {ratio(floors[0], floors[1])}", one / two >= SCALING_TARGET)
    with contextlib.suppress(Missing):  # without permission for a TAP interface there is no exception path
        dropped, limited = (figures.cycles(BEST, what=what, set="l3") for _, what in EXCEPTIONS[:2])
        yield target_row("half unmatched, with exception path", EXCEPTION_TARGET, "x without", limited / dropped, brief(limited))
    with contextlib.suppress(Missing):
        worst, kind = max((few_cycles(figures, kind), kind) for kind in FEW_KINDS)
        yield target_row(f"few {kind}", FEW_TARGET, "x plain C", worst / figures.cycles("scalar"), brief(worst), "per packet of this kind")
    backends, target = BUILD_TARGET
    yield target_row(f"rows of {backends} backends, one core", target, "ms", figures.build("table_build", backends))
    with contextlib.suppress(Missing):
        for backends in BUILD_LIMITS:
            measured, hashing = figures.build("table_build", backends), figures.build("hashing", BUILD_TARGET[0]) * backends / BUILD_TARGET[0]
            yield [f"rows of {backends} backends, one core", f"limit: {brief(hashing)} ms", brief(measured), ratio(measured, hashing), "", "",
                   "the limit is hashing alone"]
    yield target_row("classifier of 64 tables of 256 binds", CLASSIFIER_TARGET_MS, "ms", figures.row(path="classifier", unit="ms")["p10"])


def targets(figures):
    """The targets of each run. Only the published run must have all figures."""
    rows = []
    for run in figures.runs:
        try:
            for row in itertools.chain(packet_targets(run), other_targets(run)):
                rows.append([run.vendor(), *row])
        except Missing:
            if run is figures:
                raise
    return table(["CPU", "", "target", "measured", "measured / target", "result", "cycles", "largest stages"], rows, left=2)


def difference_by_stage(run):
    """What the fast path takes more than the necessary work with frames in L2, and which stages explain how much."""
    fast, necessary = run.cycles(BEST), run.cycles(NECESSARY)
    stages = [run.share(stage) * fast for stage in MORE_STAGES]
    return [fast, necessary, run.cycles("floor"), *stages, fast - necessary - sum(stages)]


def necessary(figures):
    """The stages that take the fast path longer than the necessary work, of each run that measured it."""
    head, columns = ["cycles"], []
    for run in figures.runs:
        with contextlib.suppress(Missing):
            columns.append([f"{each:.1f}" for each in difference_by_stage(run)])
            head.append(run.vendor())
    names = ["fast path", "necessary work", "floor", *(f"only in the fast path: {stage}" for stage in MORE_STAGES), "the stages of both, in loops of their own"]
    return table(head, [[name, *cells] for name, *cells in zip(names, *columns)]) if columns else "Not measured: the figures are older than this table."


def necessary_ratios(figures):
    """The necessary work in each scenario that has it."""
    rows = []
    for run in figures.runs:
        with contextlib.suppress(Missing):
            for name, different in NECESSARY_SCENARIOS:
                floor, least, fast = (run.cycles(path, **different) for path in ("floor", NECESSARY, BEST))
                rows.append([f"{run.vendor()}, {name}", brief(floor), brief(least), ratio(least, floor), brief(fast), ratio(fast, least)])
    head = ["", "floor", "necessary work", "/ floor", "AVX-512", "/ necessary work"]
    return table(head, rows) if rows else "Not measured: the figures are older than this table."


def scenarios(figures):
    rows = [[name, *(brief(figures.cycles(path, **different)) for path in PATHS)] for name, different in SCENARIOS]
    return table(["", *(PATH_NAMES[path] for path in PATHS)], rows)


def with_ratio(figures, path, different):
    """Cycles, and in parentheses their ratio to the floor; nothing if this run has not measured them."""
    try:
        cycles = figures.cycles(path, **different)
        return f"{brief(cycles)} ({ratio(cycles, figures.cycles('floor', **different))})"
    except Missing:
        return ""


def cpus(figures):
    """The runs side by side. A run has columns for the ISAs of its CPU."""
    head, columns = [""], []
    for run in figures.runs:
        for path in (*ISAS, NECESSARY):
            cells = [with_ratio(run, path, different) for _, different in COMPARED]
            if any(cells):
                head.append(f"{run.vendor()}, {PATH_NAMES[path]}")
                columns.append(cells)
    return table(head, [[name, *cells] for (name, _), cells in zip(COMPARED, zip(*columns))])


def machines(figures):
    rows = []
    for run in figures.runs:
        machine = run.row(path="machine")
        model = "/".join(run.cpu(key) for key in ("cpu family", "model", "stepping")) if "cpu" in machine else run.cpu("model")
        rows.append([run.cpu("model name"), model, run.cpu("microcode"), f"{machine['p10']:.2f} GHz", machine["how"],
                     f"[{run.file()}]({run.file()})"])
    return table(["CPU", "family/model/stepping", "microcode", "TSC", "software", "figures"], rows, left=6)


def differences(figures, scenarios_and_bases):
    rows = []
    for name, different, base in scenarios_and_bases:
        rows.append([name, *(f"{figures.cycles(path, **different) - figures.cycles(path, **base):+.1f}" for path in SIMPLE_FIRST)])
    return table(["", *(PATH_NAMES[path] for path in SIMPLE_FIRST)], rows)


def features(figures):
    return differences(figures, [(name, different, {}) for name, different in FEATURES])


def table_costs(figures):
    rows = [[name, *(brief(figures.cycles(path, **different)) for path in SIMPLE_FIRST)] for name, different in TABLE_COSTS]
    return table(["", *(PATH_NAMES[path] for path in SIMPLE_FIRST)], rows)


def next_hops(figures):
    return differences(figures, NEXT_HOPS)


def ipv6_hops(figures):
    """IPv4 hops, IPv6 hops and their ratio, of each run that measured them."""
    rows = []
    for run in figures.runs:
        with contextlib.suppress(Missing):
            for name, different in IPV6_HOPS:
                pairs = [(run.cycles(path, **different), run.cycles(path, **{**different, "what": "IPv6 hops"})) for path in SIMPLE_FIRST]
                rows.append([f"{run.vendor()}, {name}", *(f"{brief(v4)}, {brief(v6)} ({ratio(v6, v4)})" for v4, v6 in pairs)])
    return of_runs(["IPv4 hops, IPv6 hops (ratio)", *(PATH_NAMES[path] for path in SIMPLE_FIRST)], rows)


def of_runs(head, rows):
    return table(head, rows) if rows else "Not measured in this run."


def quic(figures):
    """Cycles more than UDP, of each run that measured them."""
    rows = []
    for run in figures.runs:
        with contextlib.suppress(Missing):
            for name, what in QUIC:
                more = [run.cycles(path, what=what) - run.cycles(path, what="UDP") for path in SIMPLE_FIRST]
                rows.append([f"{run.vendor()}, {name}", *(f"{each:+.1f}" for each in more)])
    return of_runs(["connection IDs with", *(PATH_NAMES[path] for path in SIMPLE_FIRST)], rows)


def watching(figures):
    rows = []
    for burst in WATCHED_BURSTS:
        try:
            more = [figures.row(path=path, **{**STANDARD, "what": "watched", "burst": burst})["more"] for path in SIMPLE_FIRST]
        except Missing:
            return "Not measured: the figures are older than this table."
        rows.append([f"bursts of {burst}", *(f"{round(each, 1) + 0:+.1f}" for each in more)])  # + 0: there is no -0.0
    return table(["", *(PATH_NAMES[path] for path in SIMPLE_FIRST)], rows)


def floods(figures):
    paths = ("stages", *SIMPLE_FIRST)
    rows = [[name, *(brief(figures.cycles(path, **different)) for path in paths)] for name, different in FLOODS]
    return table(["", *(PATH_NAMES[path] for path in paths)], rows)


def exceptions(figures):
    dropped = figures.cycles(BEST, what=EXCEPTIONS[0][1], set="l3")
    if not any(row["what"] == EXCEPTIONS[1][1] for row in figures.rows):
        return "Not measured: script/bench had no permission for a TAP interface."
    rows = [[name, brief(figures.cycles(BEST, what=what, set="l3")), ratio(figures.cycles(BEST, what=what, set="l3"), dropped)]
            for name, what in EXCEPTIONS]
    return table(["", PATH_NAMES[BEST], "/ dropped"], rows)


def general_cycles(figures, what, path=BEST):
    return figures.cycles(path, what=what, family="odd")


def general_path(figures):
    ordinary = figures.cycles("scalar")
    rows = [[what, brief(general_cycles(figures, what, "stages")), brief(general_cycles(figures, what)),
             ratio(general_cycles(figures, what), ordinary)] for what in GENERAL_KINDS]
    return table(["", PATH_NAMES["stages"], PATH_NAMES[BEST], "/ ordinary, plain C"], rows)


def few_cycles(figures, kind, path=BEST):
    """Cycles that each packet of the kind takes among ordinary ones: what the burst takes, less its ordinary packets."""
    return FEW * figures.cycles(path, what=f"few {kind}") - (FEW - 1) * figures.cycles(path)


def few(figures):
    def cells(cost):
        return [brief(cost(path)) for path in SIMPLE_FIRST] + [ratio(cost(BEST), figures.cycles("scalar"))]

    try:
        rows = [[kind.removeprefix("with "), *cells(lambda path, kind=kind: few_cycles(figures, kind, path))] for kind in FEW_KINDS]
    except Missing:
        return "Not measured in this run."
    again = cells(lambda path: FEW * figures.cycles(path, what="once more") - (FEW - 1) * figures.cycles(path))
    return table(["", *(PATH_NAMES[path] for path in SIMPLE_FIRST), "/ ordinary, plain C"], [["none: ordinary packets, measured again", *again], *rows])


def lcores(figures):
    if not figures.has_two_lcores():
        return "Not measured: the machine has one CPU."
    rows = []
    for name, memory in (("L2", "l2"), ("L3", "l3")):
        for path in ("io", "floor", BEST):
            one, two = (figures.cycles(path, what="two lcores", set=memory, lcores=lcores) for lcores in (1, 2))
            rows.append([f"{PATH_NAMES[path]}, frames in {name}", brief(one), brief(two), ratio(one, two)])
        distributed = figures.cycles(BEST, what="software distributor", set=memory, lcores=2)
        rows.append([f"{PATH_NAMES[BEST]} with a distributor, frames in {name}", brief(one), brief(distributed), ratio(one, distributed)])
    return table(["", "one lcore", "two lcores", "speedup"], rows)


def milliseconds(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def builds(figures):
    rows = []
    sizes = [(1, 1 << power) for power in range(1, 13)] + [(64, 64)]
    for tables, backends in sizes:
        cells = [figures.build("table_build", backends, tables=tables)]
        cells += [figures.build("build_config", backends, lcores, tables) for lcores in ((1, 2) if figures.has_two_lcores() else (1,))]
        rows.append([f"{tables} x {backends}", *map(milliseconds, cells)])
    head = ["tables x backends", "rows, one CPU", "`build-config`, one CPU", "`build-config`, two CPUs"]
    return table(head[:len(rows[0])], rows)


def profile(figures):
    rows = []
    for stage in [*STAGES, OTHER]:
        cells = [figures.share(stage, **different) * figures.cycles(BEST, **different) for _, different in PROFILED]
        cells += [figures.share(stage, path) * figures.cycles(path) for path in ("avx2", "scalar")]
        rows.append([stage, *(f"{cell:.1f}" for cell in cells)])
    return table(["", *(name for name, _ in PROFILED), "AVX2, L2", "plain C, L2"], rows)


def one_lcore(figures):
    rows = []
    for path in ISAS:
        cycles = [figures.cycles(path, set=memory) for memory in ("l2", "l3", "dram")]
        rows.append([PATH_NAMES[path], *(f"{brief(each)} cycles, {hertz(figures) / each / 1e6:.0f} M/s" for each in cycles)])
    return table(["", "headers in L2", "headers in L3", "headers in DRAM"], rows)


def links(figures):
    rows = []
    for gigabit in LINKS_GBIT:
        for name, size in MIXES:
            arriving, leaving = (frames_per_second(gigabit, bytes_) for bytes_ in (size, size + GROWTH))
            lcores_needed = [f"{lcores_for(figures, path, gigabit, size):.2f}" for path in ISAS]
            rows.append([f"{gigabit} GbE, {name}", f"{arriving / 1e6:.2f} M/s", f"{leaving / 1e6:.2f} M/s", f"{hertz(figures) / leaving:.0f}",
                         *lcores_needed])
    return table(["", "in at most", "out at most", "cycles per packet", *(f"lcores, {PATH_NAMES[path]}" for path in ISAS)], rows)


BLOCKS = {
    "targets": targets, "scenarios": scenarios, "features": features, "general-path": general_path, "lcores": lcores, "builds": builds,
    "profile": profile, "one-lcore": one_lcore, "links": links, "table-costs": table_costs, "next-hops": next_hops, "ipv6-hops": ipv6_hops, "quic": quic,
    "watching": watching, "floods": floods,
    "exceptions": exceptions, "few": few, "necessary": necessary, "necessary-ratios": necessary_ratios, "cpus": cpus, "machines": machines,
}


def values(figures):
    """Single numbers for the text."""
    machine = figures.row(path="machine")
    classifier = figures.row(path="classifier", unit="bytes")
    noisy = sum(row["noisy"] for row in figures.rows)
    return {
        "file": figures.file(),
        "repeated": str(sum(row.get("attempts", 1) > 1 for row in figures.rows)),
        "tsc": f"{machine['p10']:.2f} GHz",
        "floor": brief(figures.cycles("floor")),
        "floor-how": figures.row(path="floor", **STANDARD)["how"],
        "noisy": str(noisy),
        "figures": str(len(figures.rows)),
        "classifier-ms": brief(figures.row(path="classifier", unit="ms")["p10"]),
        "classifier-mb": f"{classifier['p10'] / 1e6:.1f} MB",
        "imix-bytes": f"{dict(MIXES)['IMIX']:.0f} bytes",
    }


def hertz(figures):
    return figures.row(path="machine")["p10"] * 1e9


def frames_per_second(gigabit, size):
    return gigabit * 1e9 / 8 / (size + WIRE)


def lcores_for(figures, path, gigabit, size):
    """The number of lcores that fill the outgoing link with received frames of this size, while headers arrive in L3."""
    return frames_per_second(gigabit, size + GROWTH) * figures.cycles(path, set="l3") / hertz(figures)
