#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Copies a man page in scdoc's format from stdin to stdout, with a page of docs/reference in place of the line KEYS PAGE.

The tables of keys of the page become a list of definitions, so that each key is described once.
"""

import re
import sys
from pathlib import Path


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(section):
    """The tables of a section whose first column is `key`, each a list of rows {column: text}."""
    for head, body in re.findall(r"^(\| key .*)\n\|[-|]+\n((?:\|.*\n)+)", section, re.MULTILINE):
        yield [dict(zip(cells(head), cells(row))) for row in body.splitlines()]


def plain(text):
    """Markdown as scdoc: keys in bold, links as their texts, without links that say nothing else."""
    text = re.sub(r",? see (\[below\]\(#[\w-]+\)|below)| \(\[[^\]]*\]\([^)]*\)\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = text.replace("[", r"\[").replace("]", r"\]").replace("<", r"\<")
    return re.sub(r"`([^`]*)`", lambda code: f"*{code[1]}*" if re.fullmatch(r"[a-z]\w+", code[1]) else code[1].replace("_", r"\_"), text)


def sentence(row):
    default = row.get("default", "required")
    text = plain(row["meaning"][0].upper() + row["meaning"][1:])
    return text + ("." if default == "required" else f". Default: {plain(row['default']).strip('*')}.")


def define(row, members):
    required = " (required)" if row.get("default", "") == "required" else ""
    yield f"*{row['key'].strip('`')}* = {plain(row['type']).replace('*', '')}{required}"
    yield f"\t{sentence(row)}"
    for member in members:
        yield ""
        yield f"\t*{member['key'].strip('`')}* = {plain(member['type'])}: {sentence(member)}"
    yield ""


def definitions(page):
    first, *rest = re.split(r"^## ", page.split("\n## Keys\n")[1], flags=re.MULTILINE)
    members = {}
    for section in rest:
        heading = section.splitlines()[0].split(" and ")
        members.update(zip(heading, tables(section)))
    for row in next(tables(first)):
        yield from define(row, members.get(row["key"].strip("`"), []))


for line in sys.stdin:
    if line.startswith("KEYS "):
        reference = Path(__file__).resolve().parent.parent / "reference" / line.split()[1]
        print("\n".join(definitions(reference.read_text())).rstrip())
    else:
        print(line, end="")
