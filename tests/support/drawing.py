# SPDX-License-Identifier: BSD-3-Clause
"""Draws the panels of the Grafana dashboard as SVG and HTML, from the results of their own queries.

A stand-in for Grafana where Grafana cannot run. It draws the types of panels that the dashboard has, plainly.
"""

import html
import math
import time

PALETTE = ["#3274d9", "#e0752d", "#56a64b", "#a352cc", "#c4162a", "#00a3a3", "#8f6f00", "#7d6bf0", "#d6409f", "#5b6d7d"]
COLOURS = {"green": "#37872d", "yellow": "#b78a00", "orange": "#d9611e", "red": "#c4162a", "blue": "#1f60c4", "text": "#24292e"}
DEAD = "#8a929a"  # of lines, numbers at axes, and panels without data


def number(value, digits=3):
    return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:.0f}"


def scaled(value, steps, suffix):
    for factor, prefix in steps:
        if abs(value) >= factor:
            return f"{number(value / factor)} {prefix}{suffix}"
    return f"{number(value)} {suffix}".rstrip()


LARGE = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
SMALL = ((1, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def with_unit(value, unit):
    if math.isnan(value):
        return "no value"
    if unit == "s":
        return scaled(value, ((86400, "d"), (3600, "h"), (60, "min")), "") if abs(value) >= 120 else scaled(value, SMALL, "s") if value else "0 s"
    if unit == "percentunit":
        return f"{number(100 * value)} %"
    if unit == "dateTimeFromNow":
        return with_unit(time.time() - value / 1000, "s") + " ago"
    names = {"pps": "p/s", "Bps": "B/s", "bps": "bit/s", "ops": "/s", "reqps": "/s", "cps": "/s", "bytes": "B"}
    return scaled(value, LARGE, names.get(unit, "")) if value % 1 or abs(value) >= 1000 or unit in names else f"{value:.0f}"


def mapped(value, defaults):
    """(text, colour or None) of a value by the panel's mappings and thresholds."""
    for mapping in defaults.get("mappings", []):
        option = mapping["options"].get(f"{value:g}") if mapping["type"] == "value" else None
        if option:
            return option["text"], COLOURS[option["color"]]
    colour = None
    for step in defaults.get("thresholds", {}).get("steps", []):
        if step["value"] is None or value >= step["value"]:
            colour = COLOURS[step["color"]]
    return with_unit(value, defaults.get("unit", "short")), colour


def text(x, y, words, size=11, colour=COLOURS["text"], anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">'
            f"{html.escape(words)}</text>")


def nice_top(value):
    if value <= 0:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * 0.999)


class Frame:
    """The axes of a panel with a time axis."""

    def __init__(self, width, height, start, end, left=62):
        self.left, self.right, self.top, self.bottom = left, width - 8, 4, height - 20
        self.start, self.end = start, end

    def x(self, moment):
        return self.left + (moment - self.start) / (self.end - self.start) * (self.right - self.left)

    def time_axis(self):
        parts, last = [], max(1, min(4, int((self.right - self.left) / 75)))
        for index in range(last + 1):
            moment = self.start + (self.end - self.start) * index / last
            anchor = "start" if index == 0 else "end" if index == last else "middle"
            parts.append(text(self.x(moment), self.bottom + 14, time.strftime("%H:%M:%S", time.gmtime(moment)), 9, DEAD, anchor))
        return parts


def lines(series, width, height, start, end, defaults):
    """`series` is [(name, [(time, value)])]. Missing times are gaps."""
    in_row = max(1, min(len(series), 6, int(width / (24 + 5.4 * max(len(name) for name, _ in series)))))
    rows = min(4, math.ceil(len(series) / in_row))
    frame = Frame(width, height - 14 * rows, start, end)
    custom = defaults.get("custom", {})
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    total, drawn = {}, []
    for name, points in series:
        if stacked:
            points = [(moment, value + total.get(moment, 0)) for moment, value in points]
            total.update(points)
        drawn.append((name, [(moment, value) for moment, value in points if not math.isnan(value)]))
    top = defaults.get("max") or nice_top(max((value for _, points in drawn for _, value in points), default=0))
    parts = frame.time_axis()
    for index in range(5):
        level = frame.bottom - (frame.bottom - frame.top) * index / 4
        parts.append(f'<line x1="{frame.left}" x2="{frame.right}" y1="{level:.1f}" y2="{level:.1f}" stroke="#e4e7ea"/>')
        parts.append(text(frame.left - 5, level + 3, with_unit(top * index / 4, defaults.get("unit", "short")), 9, DEAD, "end"))
    step = (end - start) / 60
    for index, (name, points) in reversed(list(enumerate(drawn))):
        path, before = [], None
        for moment, value in points:
            y = frame.bottom - min(1, max(0, value / top)) * (frame.bottom - frame.top)
            path.append(f"{'L' if before is not None and moment - before < step else 'M'}{frame.x(moment):.1f},{y:.1f}")
            before = moment
        colour = PALETTE[index % len(PALETTE)]
        if stacked and path:
            area = "".join(path).replace("M", "L")[1:]
            parts.append(f'<path d="M{frame.x(points[0][0]):.1f},{frame.bottom}L{area}L{frame.x(points[-1][0]):.1f},{frame.bottom}Z" fill="{colour}" fill-opacity="0.35"/>')
        parts.append(f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="1.4"/>')
    column = (width - 16) / in_row
    for index, (name, _) in enumerate(drawn[:in_row * rows]):
        x, y = 8 + column * (index % in_row), height - 14 * rows + 11 + 14 * (index // in_row)
        parts.append(f'<rect x="{x:.1f}" y="{y - 6}" width="10" height="3" fill="{PALETTE[index % len(PALETTE)]}"/>')
        parts.append(text(x + 14, y, name, 10))
    return parts


def timeline(series, width, height, start, end, defaults):
    frame = Frame(width, height, start, end, left=110)
    row = (frame.bottom - frame.top) / max(1, len(series))
    parts = frame.time_axis()
    for index, (name, points) in enumerate(series):
        y = frame.top + index * row
        parts.append(text(frame.left - 6, y + row / 2 + 4, name, 11, anchor="end"))
        for (moment, value), after in zip(points, [*(each for each, _ in points[1:]), None]):
            stop = min(after or end, moment + (end - start) / 60)
            words, colour = mapped(value, defaults)
            parts.append(f'<rect x="{frame.x(moment):.1f}" y="{y + 2:.1f}" width="{max(0.5, frame.x(stop) - frame.x(moment) + 0.5):.1f}" '
                         f'height="{row - 4:.1f}" fill="{colour}"><title>{words}</title></rect>')
    return parts


def heatmap(series, width, height, start, end, unit):
    """`series` is [(upper limit, [(time, count)])] of cumulative buckets."""
    frame = Frame(width, height, start, end)
    series = sorted(((float(limit), dict(points)) for limit, points in series), key=lambda each: each[0])
    moments = sorted({moment for _, points in series for moment in points})
    cells = [[max(0, points.get(moment, 0) - (series[index - 1][1].get(moment, 0) if index else 0)) for moment in moments]
             for index, (_, points) in enumerate(series)]
    most = max((value for row in cells for value in row), default=0)
    row = (frame.bottom - frame.top) / max(1, len(series))
    parts = frame.time_axis()
    for index, (limit, _) in enumerate(series):
        y = frame.bottom - (index + 1) * row
        words = "more" if math.isinf(limit) else "≤ " + with_unit(limit, unit)
        parts.append(text(frame.left - 5, y + row / 2 + 3, words, 9, DEAD, "end"))
        for moment, after, value in zip(moments, [*moments[1:], end], cells[index]):
            if value >= 0.5:
                shade = math.log1p(value) / math.log1p(most)
                parts.append(f'<rect x="{frame.x(moment):.1f}" y="{y + 0.5:.1f}" width="{max(0.5, frame.x(after) - frame.x(moment)):.1f}" '
                             f'height="{row - 1:.1f}" fill="#c4162a" fill-opacity="{0.08 + 0.9 * shade:.2f}"/>')
    return parts


def stats(values, width, height, defaults):
    """`values` is [(name, value)]."""
    if not values:
        return [text(width / 2, height / 2, "no data", 12, DEAD, "middle")]
    part, tiles = width / len(values), []
    for index, (name, value) in enumerate(values):
        words, colour = mapped(value, defaults)
        size = min(30, height / 2.4, part / max(1, len(words)) * 1.6)
        middle = index * part + part / 2
        tiles.append(text(middle, height / 2 + (0 if name else size / 3), words, round(size), colour or COLOURS["text"], "middle", "bold"))
        if name:
            tiles.append(text(middle, height / 2 + size * 0.75, name, 10, DEAD, "middle"))
    return tiles


def table(columns, rows):
    """`columns` are names, `rows` lists of (text, colour)."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f'<td style="color:{colour or COLOURS["text"]}">{html.escape(words)}</td>' for words, colour in row) + "</tr>"
                   for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
