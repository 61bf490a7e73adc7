# SPDX-License-Identifier: BSD-3-Clause
"""Draws the cost of a packet in each scenario as bars in SVG."""

from html import escape

COLOURS = {
    "macswap": "#c8c8c8",
    "floor": "#969696",
    "stages": "#f2b134",
    "scalar": "#e07b39",
    "avx2": "#4f8fc0",
    "avx512": "#1f4e79",
    "fused": "#5f9e6e",
}
PATH_NAMES = {
    "io": "io",
    "macswap": "macswap",
    "floor": "floor",
    "stages": "general path",
    "scalar": "plain C",
    "avx2": "AVX2",
    "avx512": "AVX-512",
    "fused": "necessary work",
}
BAR, GAP, LEFT, WIDTH = 9, 14, 260, 590


def title(row):
    what = f", {row['what']}" if row["what"] else ""
    burst = "" if row["burst"] == 64 else f", burst {row['burst']}"
    family = "general path" if row["family"] == "odd" else row["family"]
    return f"{family} {row['set'].upper()}, {row['tables']} x {row['binds']} binds{burst}{what}"


# Scenarios that repeat another one, or whose figures stand only in a table of the page.
NOT_DRAWN = {
    "two lcores", "software distributor", "once more", "MTU 65535", "9 prefix lengths", "9 prefix lengths, shortest",
    "24 prefix lengths, shortest", "1025 port maps", "rows of 1 hop", "300 backends", "65600 backends", "ECMP of 4", "too-big flood",
    "too-big replies", "frames for other hosts", "half unmatched, dropped", "half unmatched, exception path",
    "half unmatched, exception path without limits", "no capture", "capture of all packets", "capture, no packet matches",
    "watched", "unwatched",
}


def is_drawn(row):
    """Of the kinds of packets for the general path, only two are drawn."""
    if row["family"] == "odd":
        return row["what"] in ("all kinds", "everything at once")
    return row["what"] not in NOT_DRAWN


def scenarios(rows):
    """{title: {path: row}}, in the order of the rows."""
    groups = {}
    for row in rows:
        if row["path"] in COLOURS and is_drawn(row):
            groups.setdefault(title(row), {})[row["path"]] = row
    return groups


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def bars(groups, most):
    out, y = [], 40
    for name, rows in groups.items():
        out.append(text(LEFT - 8, y + len(rows) * BAR / 2 + 4, name, "end"))
        for path, colour in COLOURS.items():
            if path not in rows:
                continue
            width = WIDTH * rows[path]["p10"] / most
            out.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 1}" fill="{colour}"/>')
            out.append(text(LEFT + width + 4, y + BAR - 2, f"{rows[path]['p10']:.0f}"))
            y += BAR
        y += GAP
    return out, y


def legend(paths):
    out, x = [], LEFT
    for path, colour in COLOURS.items():
        if path not in paths:
            continue
        out.append(f'<rect x="{x}" y="12" width="10" height="10" fill="{colour}"/>')
        out.append(text(x + 14, 21, PATH_NAMES[path]))
        x += 80
    return out


def svg(rows):
    groups = scenarios(rows)
    most = max(row["p10"] for paths in groups.values() for row in paths.values())
    shapes, height = bars(groups, most)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 50}" height="{height}" '
        'font-family="sans-serif" font-size="9"><title>Cycles of the TSC per packet, p10</title>\n'
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(legend(set().union(*groups.values())) + shapes) + "\n</svg>\n"
    )
