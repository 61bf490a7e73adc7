# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/explanation/performance.md, from the figures of script/bench."""

from stages import OTHER, STAGES

GROWTH = 40  # bytes that two hops add to a frame, beside its own Ethernet header
WIRE = 20    # preamble, start and gap of a frame on Ethernet; CRC is in its 64 bytes

# What was asked for (issue "the hot path at the limit of the machine"): cycles on the machine of the prototypes, the floor there, and
# what the same prototypes took, once, on the machine that this page is about.
TARGETS = [
    # name, figure, target, floor there, prototype here
    ("AVX-512, frames in L2", dict(path="avx512"), 14, 3.7, 18),
    ("AVX-512, bursts of 32", dict(path="avx512", burst=32), 14, 3.7, None),
    ("AVX2", dict(path="avx2"), 22, 3.7, 25),
    ("plain C", dict(path="scalar"), 34, 3.7, 38),
    ("IPv6, AVX-512", dict(path="avx512", family="v6"), 18, 3.7, 21),
    ("AVX-512, frames in L3", dict(path="avx512", set="l3"), 19, 5.6, 35),
    ("AVX-512, frames in DRAM", dict(path="avx512", set="dram"), 24, 11.4, 104),
    ("AVX-512, 64 tables", dict(path="avx512", tables=64), 24, 3.7, 41),
]
BUILD_TARGETS_MS = {16: 1, 64: 4, 256: 15, 4096: 220}
CLASSIFIER_TARGET_MS = 100
SCALING_TARGET = 1.9
ABOVE_IO_TARGET = 13
FLOOR_TARGET = 3.5
ODD_TARGET = 3  # times what the scalar twin takes for ordinary packets

PATHS = ("io", "macswap", "floor", "stages", "scalar", "avx2", "avx512")
STANDARD = dict(what="", set="l2", family="v4", tables=1, binds=16, hops=2, burst=64, lcores=1)
BEST = "avx512"

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
    ("none: plain steering once more", dict(what="once more")),
    ("alternative hash (two lookups)", dict(what="alternative hash")),
    ("rows of 4 hops", dict(what="4 hops", hops=4)),
    ("hash of all four fields", dict(what="hash of four fields")),
    ("binds that are prefixes (/28)", dict(what="prefixes")),
    ("MTU check, where the limit is 65535", dict(what="MTU 65535")),
    ("MTU check, where every packet fails it and is dropped", dict(what="all over the MTU")),
]
ODD = [
    "IPv4 options", "first fragments", "later fragments", "ICMP errors", "pings", "tags", "8 extension headers", "IPv6 first fragments",
    "ICMPv6 errors", "unmatched", "two segments", "shared mbufs", "indirect mbufs", "all kinds", "everything at once",
    "everything, in two segments",
]
# Cannot be made by who sends frames that fit an mbuf.
NOT_SENT = {"two segments", "shared mbufs", "indirect mbufs", "everything, in two segments"}
WORST = "everything at once"  # as far as we could find
PROFILED = [
    ("L2", {}), ("L3", dict(set="l3")), ("DRAM", dict(set="dram")), ("64 tables", dict(tables=64)), ("IPv6", dict(family="v6")),
    ("the worst", dict(family="odd", what=WORST)),
]


class Missing(Exception):
    """A figure that the file does not have."""


class Figures:
    """The rows of the JSON file."""

    def __init__(self, rows):
        self.rows = rows

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
    """Markdown; the first `left` columns are words."""
    lines = [head, ["---"] * left + ["---:"] * (len(head) - left), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def brief(value):
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}"


def ratio(value, to):
    return f"{value / to:.2f}"


def verdict(met):
    return "met" if met else "missed"


def biggest(figures, path, different):
    """Where most of the time goes, for a target that is missed."""
    cycles = figures.cycles(path, **different)
    shares = sorted(((figures.share(stage, path, **different), stage) for stage in STAGES), reverse=True)[:3]
    return ", ".join(f"{stage} {brief(share * cycles)}" for share, stage in shares)


def packet_targets(figures):
    for name, figure, target, floor, prototype in TARGETS:
        different = {key: value for key, value in figure.items() if key != "path"}
        measured, own = figures.cycles(figure["path"], **different), figures.cycles("floor", **different)
        profiled = {key: value for key, value in different.items() if key != "burst"}
        why = "" if measured <= target else biggest(figures, figure["path"], profiled)
        yield [name, f"{target} cy", brief(measured), ratio(measured, target), verdict(measured <= target),
               ratio(target, floor), ratio(measured, own), str(prototype or ""), why]


def other_targets(figures):
    best, floor, io = (figures.cycles(path) for path in (BEST, "floor", "io"))
    yield ["AVX-512 in L2, in floors", f"{FLOOR_TARGET} x", ratio(best, floor), ratio(best / floor, FLOOR_TARGET),
           verdict(best / floor <= FLOOR_TARGET), "", ratio(best, floor), "", ""]
    yield ["an lcore end to end, above io", f"{ABOVE_IO_TARGET} cy", brief(best - io), ratio(best - io, ABOVE_IO_TARGET),
           verdict(best - io <= ABOVE_IO_TARGET), "", ratio(best - io, floor), "", "as the first line"]
    if figures.has_two_lcores():
        one, two = (figures.cycles(BEST, what="two lcores", lcores=lcores) for lcores in (1, 2))
        floors = [figures.cycles("floor", what="two lcores", lcores=lcores) for lcores in (1, 2)]
        yield ["two lcores, times one", f"{SCALING_TARGET} x", ratio(one, two), ratio(one / two, SCALING_TARGET),
               verdict(one / two >= SCALING_TARGET), "", "", "",
               "" if one / two >= SCALING_TARGET else f"the floor scales {ratio(floors[0], floors[1])} times"]
    for backends, target in BUILD_TARGETS_MS.items():
        measured = figures.build("table_build", backends)
        yield [f"rows of {backends} backends, one core", f"{target} ms", brief(measured), ratio(measured, target),
               verdict(measured <= target), "", "", "", "" if measured <= target else f"{measured * 1e6 / 65536 / backends:.1f} ns for each backend of each row"]
    measured = figures.row(path="classifier", unit="ms")["p10"]
    yield ["classifier of 64 tables of 256 binds", f"{CLASSIFIER_TARGET_MS} ms", brief(measured), ratio(measured, CLASSIFIER_TARGET_MS),
           verdict(measured <= CLASSIFIER_TARGET_MS), "", "", "", ""]
    ordinary, worst = figures.cycles("scalar"), max(odd_cycles(figures, what) for what in ODD if what not in NOT_SENT)
    yield ["a flood of the worst packet, times the plain C path", f"{ODD_TARGET} x", ratio(worst, ordinary),
           ratio(worst / ordinary, ODD_TARGET), verdict(worst / ordinary <= ODD_TARGET), "", "", "",
           "" if worst / ordinary <= ODD_TARGET else biggest(figures, BEST, dict(family="odd", what=WORST))]


def targets(figures):
    head = ["", "target", "measured", "measured / target", "", "target / floor there", "measured / floor here", "prototype here",
            "most of it"]
    return table(head, [*packet_targets(figures), *other_targets(figures)])


def scenarios(figures):
    rows = [[name, *(brief(figures.cycles(path, **different)) for path in PATHS)] for name, different in SCENARIOS]
    return table(["", *PATHS], rows)


def features(figures):
    paths = ("scalar", "avx2", BEST)
    rows = []
    for name, different in FEATURES:
        rows.append([name, *(f"{figures.cycles(path, **different) - figures.cycles(path):+.1f}" for path in paths)])
    rows.append(["UDP checksum", *["none to compute"] * len(paths)])
    return table(["", *paths], rows)


def odd_cycles(figures, what, path=BEST):
    return figures.cycles(path, what=what, family="odd")


def odd(figures):
    ordinary = figures.cycles("scalar")
    rows = [[what, brief(odd_cycles(figures, what, "stages")), brief(odd_cycles(figures, what)),
             ratio(odd_cycles(figures, what), ordinary)] for what in ODD]
    return table(["", "stages", BEST, "/ plain C, ordinary"], rows)


def lcores(figures):
    if not figures.has_two_lcores():
        return "Not measured: there was one CPU."
    rows = []
    for name, memory in (("L2", "l2"), ("L3", "l3")):
        for path in ("io", "floor", BEST):
            one, two = (figures.cycles(path, what="two lcores", set=memory, lcores=lcores) for lcores in (1, 2))
            rows.append([f"{path}, frames in {name}", brief(one), brief(two), ratio(one, two)])
        spread = figures.cycles(BEST, what="software spread", set=memory, lcores=2)
        rows.append([f"{BEST}, spread in software, frames in {name}", brief(one), brief(spread), ratio(one, spread)])
    return table(["", "one lcore", "two lcores", "times as fast"], rows)


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
    return table(["", *(name for name, _ in PROFILED), "avx2, L2", "scalar, L2"], rows)


def network_cards(figures):
    hertz = figures.row(path="machine")["p10"] * 1e9
    rows = []
    for gigabit in (10, 25, 100):
        arriving, leaving = (gigabit * 1e9 / 8 / (size + WIRE) for size in (64, 64 + GROWTH))
        rows.append([f"{gigabit} GbE", f"{arriving / 1e6:.1f} M/s", f"{leaving / 1e6:.1f} M/s", f"{hertz / leaving:.0f}"])
    return table(["", "frames in", "frames out at most", "cycles for each"], rows)


BLOCKS = {
    "targets": targets, "scenarios": scenarios, "features": features, "odd": odd, "lcores": lcores, "builds": builds,
    "profile": profile, "network-cards": network_cards,
}


def blocks(figures):
    return {name: block(figures) for name, block in BLOCKS.items()}


def values(figures):
    """Single numbers for the text."""
    machine = figures.row(path="machine")
    classifier = figures.row(path="classifier", unit="bytes")
    floors = [row for row in figures.rows if row["path"] == "floor"]
    noisy = sum(row["noisy"] for row in figures.rows)
    return {
        "cpu": machine["what"],
        "software": machine["how"],
        "tsc": f"{machine['p10']:.2f} GHz",
        "floor": brief(figures.cycles("floor")),
        "floor-there": str(TARGETS[0][3]),
        "floor-how": figures.row(path="floor", **STANDARD)["how"],
        "floors": str(len({row["how"] for row in floors})),
        "noisy": str(noisy),
        "figures": str(len(figures.rows)),
        "classifier-ms": brief(figures.row(path="classifier", unit="ms")["p10"]),
        "classifier-mb": f"{classifier['p10'] / 1e6:.1f} MB",
        "lcores-for-100g": f"{cores(figures, 64):.1f}",
        "lcores-for-100g-500": f"{cores(figures, 500):.1f}",
    }


def cores(figures, size):
    """Lcores that fill 100 GbE on the way out with frames of this size."""
    return 100e9 / 8 / (size + GROWTH + WIRE) * figures.cycles(BEST) / (figures.row(path="machine")["p10"] * 1e9)
