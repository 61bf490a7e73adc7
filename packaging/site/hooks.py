# SPDX-License-Identifier: BSD-3-Clause
"""Adapts the pages to mkdocs: the navigation is that of docs/README.md, and lists need a blank line before them."""

import re

ITEM = r"(?:[-*]|\d+\.) "


def on_config(config):
    """The sections of the index are bold lines. All links in a section become pages of the navigation, which mkdocs names by their headings."""
    with open(f"{config['docs_dir']}/README.md", encoding="utf-8") as file:
        _, *parts = re.split(r"^\*\*(.+)\*\*$", file.read(), flags=re.MULTILINE)
    sections = [{title: re.findall(r"\]\(([^):#]+\.md)\)", text)} for title, text in zip(parts[::2], parts[1::2])]
    config["nav"] = [{"Start": "README.md"}, *sections, {"Changes": "CHANGELOG.md"}]
    return config


def on_page_markdown(markdown, **_):
    """Python-Markdown takes a list for a part of the paragraph before it."""
    fenced, lines = False, []
    for line in markdown.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        before = lines[-1] if lines else ""
        if not fenced and re.match(ITEM, line) and before.strip() and not re.match(rf"{ITEM}|  ", before):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"
