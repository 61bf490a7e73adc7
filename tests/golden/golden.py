# SPDX-License-Identifier: BSD-3-Clause
"""Compares what programs print with the golden files in expected/, and writes these files again with GLB_GOLDEN=write.

A golden file has what is the same on every machine and in every run: names, types, help texts, order. The functions of this module take
the rest away: numbers, times, versions, paths.
"""

import difflib
import os
import re
import textwrap
from pathlib import Path

import pytest

from support.browser import words
from support.facts import DROPS, VERDICTS

EXPECTED = Path(__file__).parent / "expected"
FILES = {
    "doctor.findings", "fleet.findings", "proxy.findings",
    "announce.conf.errors", "bifurcate.conf.errors", "director.conf.errors", "driver.conf.errors", "fleet.conf.errors", "forwarding-table.json.errors",
    "healthcheck.conf.errors", "redirect.conf.errors",
    "glb-announce.help", "glb-announce.output",
    "glb-bifurcate.help",
    "glb-director.help", "glb-director.metrics", "glb-director.output", "glb-director.page", "glb-director.statsd", "glb-director.telemetry",
    "glb-director-cli.help", "glb-director-cli.output", "glb-director-cli.live",
    "glb-fleet.help",
    "glb-healthcheck.help", "glb-healthcheck.metrics", "glb-healthcheck.output", "glb-healthcheck.page",
    "glb-redirect.help", "glb-redirect.metrics", "glb-redirect.output",
}
RENEW = "GLB_GOLDEN=write python3 -m pytest tests/golden"


def without_verdicts(text):
    """The text with one line for each list of all verdicts, or of all reasons of drops, so that a new one changes no golden file."""
    for names, word in ((VERDICTS, "VERDICT"), ([name.removeprefix("drop_") for name in DROPS], "REASON")):
        lines, kept, at = text.split("\n"), [], 0
        while at < len(lines):
            part = [re.sub(rf"(?<![a-z_]){name}(?![a-z_])(?:\t.*)?", word, line) for name, line in zip(names, lines[at:])]
            found = len(part) == len(names) and word in part[0] and len(set(part[1:])) == 1 and word in part[1]
            kept.append(part[0] if found else lines[at])
            at += len(names) if found else 1
        text = "\n".join(kept)
    return text


def sections(parts):
    """{title: text} as one text."""
    return "\n".join(f"=== {title}\n{text.rstrip()}\n" for title, text in parts.items())


def check(name, text):
    """Fails the test with a diff unless the golden file has exactly this text."""
    assert name in FILES, f"add {name} to FILES of {__file__}"
    path, text = EXPECTED / name, without_verdicts(text)
    mode = os.environ.get("GLB_GOLDEN", "")
    assert mode in ("", "write"), f"GLB_GOLDEN={mode}: the only value is write"
    if mode:
        path.write_text(text, encoding="utf-8")
        return
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != expected:
        diff = difflib.unified_diff(expected.splitlines(), text.splitlines(), f"tests/golden/expected/{name}", "what the program prints now", lineterm="")
        remedy = f"The output differs from its golden file. If this is on purpose, run `{RENEW}`, look at `git diff`, and commit both."
        pytest.fail("\n".join([*diff, "", remedy]), pytrace=False)


def shape(*documents):
    """The paths of all members of these JSON documents, with the types of their values, in the order of their first appearance.

    "[]" stands for each item of a list, and "N" for each member whose name is a number: telemetry has such objects instead of lists.
    """
    found = {}

    def walk(path, value):
        types = found.setdefault(path or ".", set())
        if isinstance(value, dict):
            types.add("object")
            for key, member in value.items():
                walk(f"{path}.{'N' if key.isdigit() else key}", member)
        elif isinstance(value, list):
            types.add("list")
            for member in value:
                walk(f"{path}[]", member)
        else:
            types.add({bool: "boolean", int: "integer", float: "real", str: "text", type(None): "null"}[type(value)])

    for document in documents:
        walk("", document)
    return "\n".join(f"{path} {'|'.join(sorted(types))}" for path, types in found.items() if types != {"object"} or path.endswith(("N", "[]")))


MASKS = (
    (r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", "MAC"),
    (r"\b[0-9a-f]{16,}\b", "HEX"),
    (r"(?:/[\w.-]+)*/(?:pytest|glb)-[\w./-]*/", "FOLDER/"),
    (r"(?<![A-Za-z_\d])\d+(?:[.,]\d+)*", "#"),
    (r"[ \t]+", " "),
)


def no_values(text):
    """The words of a text: without addresses, folders and numbers, and without the widths of columns."""
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return "\n".join(line.strip() for line in text.splitlines())


def reflowed(text):
    """The words of a text whose lines are broken where values end: without values, and with lines of one width."""
    words_ = re.sub(r"\b(time|backend|connection)s\b", r"\1", no_values(re.sub(r"\n +", " ", text)))
    return "\n".join(textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False) for line in words_.splitlines())


def once(text):
    """The lines of a text without repetitions."""
    return "\n".join(dict.fromkeys(text.splitlines()))


WRONG = {"a group": "{ colour = 1; }", "a number": "-999999999", "a list": "( { colour = 1; } )", "a string": '"?"'}


def errors_about_keys(errors):
    """{title: errors} about a configuration: its keys, which the error about an unknown one lists, and values that no key can have.

    errors(text) returns what a program prints about a configuration.
    """
    found = {"an unknown key": errors("colour = 1;\n")}
    keys = re.search(r"colour: unknown key; expected one of (.*)", found["an unknown key"])[1].split(", ")
    for name, value in WRONG.items():
        found[name] = errors("".join(f"{key} = {value};\n" for key in keys))
    return found


LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def series(text, *hidden):
    """A page of metrics without its values. Labels that are `hidden` lose their values, too."""
    def label(match):
        return f'{match[1]}="#"' if match[1] in hidden else match[0]

    def line(line):
        return line if line.startswith("#") else LABEL.sub(label, line.rpartition(" ")[0])

    return once("\n".join(map(line, text.splitlines())))


def legacy(text):
    """What the older format must be, from a page in OpenMetrics without its values: names have their suffixes in all lines, and no EOF."""
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))

    def line(line):
        words = line.split(" ", 3)
        if words[0] != "#" or words[1] == "EOF":
            return line
        kind = kinds[words[2]]
        words[2] += {"counter": "_total", "info": "_info"}.get(kind, "")
        return " ".join(words).replace("_info info", "_info gauge")

    return "\n".join(line(each) for each in text.splitlines() if each != "# EOF")


def outline(page):
    """What the reader sees of a page (support.browser.Page) besides values: headings, names of figures and columns, the first cell of each row."""
    lines = []

    def walk(element):
        tag = element.tag
        if tag == "tr" and element.find("td") is not None:
            lines.append(f"row: {no_values(words(element[0]))}")
            return
        if tag in ("title", "h1", "h2", "h3", "h4", "dt", "th", "summary", "caption", "label", "button"):
            lines.append(f"{tag}: {no_values(words(element))}")
        for child in element:
            if isinstance(child.tag, str):
                walk(child)

    walk(page.tree)
    return once("\n".join(lines))
