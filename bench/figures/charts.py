# SPDX-License-Identifier: BSD-3-Clause
"""Plain charts in SVG: bars on a logarithmic scale, and lines over a logarithmic axis."""

import math
from html import escape

COLOURS = ["#e07b39", "#f2b134", "#4f8fc0", "#1f4e79", "#0b1e33"]
WIDTH, HEIGHT = 430, 280
GREY = "#d8d8d8"


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1, y1, x2, y2, colour=GREY):
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" fill="none"/>'


def svg(title, width, height, shapes):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">'
            f'<title>{escape(title)}</title>\n<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(shapes) + "\n</svg>\n")


def log_scale(low, high, start, end):
    return lambda value: start + (end - start) * (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))


def legend(names, x, y):
    shapes = []
    for name, colour in zip(names, COLOURS):
        shapes += [f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>', text(x + 14, y, name)]
        x += 30 + 6.2 * len(name)
    return shapes


def bars(title, groups, low, high):
    """`groups` is {name: {series: value}}. A value below `low` has no bar."""
    left, width, bar, y = 210, 520, 14, 66
    scale = log_scale(low, high, left, left + width)
    series = list(next(iter(groups.values())))
    height = y + len(groups) * (len(series) * bar + 16) + 6
    shapes = [text(8, 18, title), *legend(series, 8, 40)]
    for exponent in range(round(math.log10(low)), round(math.log10(high)) + 1):
        x = scale(10**exponent)
        shapes += [line(x, 58, x, height - 8), text(x, 56, f"{10**exponent:g}", "middle")]
    for name, values in groups.items():
        shapes.append(text(left - 8, y + len(series) * bar / 2 + 4, name, "end"))
        for colour, value in zip(COLOURS, values.values()):
            end = scale(value) if value > low else left
            shapes.append(f'<rect x="{left}" y="{y}" width="{end - left:.1f}" height="{bar - 2}" fill="{colour}"/>')
            shapes.append(text(end + 4, y + bar - 4, f"{value:.2g}"))
            y += bar
        y += 16
    return svg(title, left + width + 60, height, shapes)


def lines(title, series, xs, ys, x_ticks, y_ticks):
    """The shapes of a panel. `series` is {name: [(x, y)]}; the x axis is logarithmic. x_ticks may give texts: {x: text}."""
    left, right, top, bottom = 40, WIDTH - 20, 58, HEIGHT - 26
    to_x = log_scale(*xs, left, right)
    to_y = lambda value: bottom + (top - bottom) * (value - ys[0]) / (ys[1] - ys[0])
    shapes = [text(8, 18, title), *legend(series, 8, 38)]
    for tick in x_ticks:
        label = x_ticks[tick] if isinstance(x_ticks, dict) else f"{tick:g}"
        shapes += [line(to_x(tick), top, to_x(tick), bottom), text(to_x(tick), bottom + 16, label, "middle")]
    for tick in y_ticks:
        shapes += [line(left, to_y(tick), right, to_y(tick)), text(left - 5, to_y(tick) + 4, f"{tick:g}", "end")]
    for colour, points in zip(COLOURS, series.values()):
        inside = [(x, y) for x, y in points if xs[0] <= x <= xs[1] and ys[0] <= y <= ys[1]]
        path = "L".join(f"{to_x(x):.1f} {to_y(y):.1f}" for x, y in inside)
        shapes.append(f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"/>')
    return title, shapes


def side_by_side(*panels):
    shapes = []
    for number, (_, panel) in enumerate(panels):
        shapes.append(f'<g transform="translate({number * WIDTH} 0)">' + "\n".join(panel) + "</g>")
    return svg("; ".join(title for title, _ in panels), WIDTH * len(panels), HEIGHT, shapes)
