# SPDX-License-Identifier: BSD-3-Clause
"""Checks the links of all pages: files and anchors of the tree exist. Of links to other sites only the syntax is checked."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.pages import anchors, prose
from support.tree import TREE

PAGES = sorted(str(path.relative_to(TREE)) for path in TREE.rglob("*.md") if not path.relative_to(TREE).parts[0].startswith(("build", ".")))


def links(text):
    """[(text, target)] of inline links and images."""
    return re.findall(r"\[((?:[^][]|\[[^][]*\])*)\]\(([^)]*)\)", text)


def local_fault(page, target):
    """Says what is wrong with a link to a file or an anchor of the tree."""
    path, _, anchor = target.partition("#")
    linked = (TREE / page).parent.joinpath(path).resolve() if path else TREE / page
    if TREE not in [linked, *linked.parents]:
        return "is outside the tree"
    if not linked.exists():
        return "does not exist"
    if "#" in target and linked.suffix != ".md":
        return "has an anchor, but is no page"
    if "#" in target and anchor not in anchors(linked.relative_to(TREE)):
        return "has no such heading"
    return None


def external_fault(target):
    """Says what is wrong with the syntax of a URL."""
    try:
        url = urlsplit(target)
        host, port = url.hostname or "", url.port
    except ValueError as error:
        return str(error)
    if url.scheme not in ("http", "https", "mailto"):
        return "has an unknown scheme"
    if url.scheme != "mailto" and not re.fullmatch(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}|localhost|127\.0\.0\.1", host):
        return "has no valid host"
    return "has port 0" if port == 0 else None


def fault(page, target):
    if not target or re.search(r"\s", target):
        return "is empty or has a space"
    return external_fault(target) if re.match(r"[a-zA-Z][\w+.-]*:|//", target) else local_fault(page, target)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    found = links(prose(page))
    assert [f"{target}: {why}" for _, target in found if (why := fault(page, target))] == []
    assert [target for text, target in found if not text.strip()] == [], "links without a text"


@pytest.mark.parametrize("page", PAGES)
def test_headings_stand_after_a_blank_line(page):
    """script/docs takes a heading right below a table for a row of the table."""
    assert re.findall(r"^.+\n(#+ .*)$", prose(page), flags=re.MULTILINE) == []


def test_links_of_installed_pages_lead_somewhere(tmp_path, monkeypatch):
    subprocess.run([TREE / "packaging/install-docs", tmp_path], env={**os.environ, "MESON_SOURCE_ROOT": str(TREE)}, check=True)
    shutil.copytree(TREE / "config", tmp_path / "examples")
    monkeypatch.setattr(sys.modules[__name__], "TREE", tmp_path)
    monkeypatch.setattr("support.pages.TREE", tmp_path)
    pages = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.md")]
    assert "CHANGELOG.md" in pages
    assert [f"{page}: {target}: {why}" for page in pages for _, target in links(prose(page)) if (why := fault(page, target))] == []


@pytest.mark.parametrize("page", PAGES)
def test_bare_addresses_of_other_sites_are_valid(page):
    assert [f"{target}: {why}" for target in re.findall(r"<(https?://[^>]*)>", prose(page)) if (why := external_fault(target))] == []


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_only_links_that_are_checked(page):
    """Neither reference links nor HTML."""
    text = prose(page)
    assert re.findall(r"^ *\[[^]]+\]: .*$|\][ ]?\[[^]]*\]|<a [^>]*>|<img [^>]*>", text, flags=re.MULTILINE) == []
    assert len(links(text)) == text.count("]("), "a link that the other tests do not see"


@pytest.mark.parametrize("target, why", [
    ("nowhere.md", "does not exist"), ("reference/cli.md#nothing", "has no such heading"), ("reference/cli.md#", "has no such heading"),
    ("#run-the-example", "has no such heading"), ("../../outside.md", "is outside the tree"), ("../LICENSE#x", "has an anchor, but is no page"),
    ("reference/CLI.md", "does not exist"), ("", "is empty or has a space"), ("reference/cli.md 'x'", "is empty or has a space"),
    ("htp://example.com", "has an unknown scheme"), ("https://", "has no valid host"), ("https://example", "has no valid host"),
    ("//example.com/x", "has an unknown scheme"), ("https://example.com:0/", "has port 0"), ("https://[::1/", "Invalid IPv6 URL"),
    ("reference/cli.md", None), ("#run-the-examples", None), ("https://www.rfc-editor.org/rfc/rfc1191#section-3", None),
])
def test_faults_are_found(target, why):
    assert fault("docs/README.md", target) == why


def test_repeated_headings_have_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("support.pages.TREE", tmp_path)
    (tmp_path / "page.md").write_text("# A b\n## Two: `x_y`\n## Two: `x_y`\n```text\n# no heading\n```\n### [Link](x.md) end\n")
    assert anchors("page.md") == {"a-b", "two-x_y", "two-x_y-1", "link-end"}


def test_pages_that_code_cites_exist():
    """Sources cite a page by its path and a section by its anchor: docs/reference/steering.md#flow."""
    tops = ("src", "tests", "lab", "bench", "packaging", "script", "config")
    suffixes = (".c", ".h", ".py", ".lua", ".md", ".in", ".conf", ".json", "")
    sources = [path for top in tops for path in (TREE / top).rglob("*") if path.is_file() and path.suffix in suffixes]
    cited = [(path.name, page, anchor) for path in [*sources, TREE / "Dockerfile"] for page, anchor in
             re.findall(r"(docs/[\w/.-]+\.md)(?:#([\w-]+))?", path.read_text(encoding="utf-8", errors="replace"))]
    assert len([anchor for _, _, anchor in cited if anchor]) >= 15
    assert [cite for cite in cited if not Path(TREE / cite[1]).exists()] == []
    assert [cite for cite in cited if cite[2] and cite[2] not in anchors(cite[1])] == []
