# SPDX-License-Identifier: BSD-3-Clause
"""Reads the pages for people: as a strict parser sees them, and as Chromium does."""

import json
import subprocess

import html5lib

from lab.tools import TIMEOUT_S
from support.folders import short_folder


class Page:
    """A page. Raises an exception if it is not valid HTML, or if two elements have the same id."""

    def __init__(self, source):
        self.source = source
        self.tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(source)
        ids = [element.get("id") for element in self.tree.iter() if element.get("id")]
        assert len(ids) == len(set(ids)), f"elements with the same id: {sorted(ids)}"
        handlers = [name for element in self.tree.iter() for name in element.attrib if name.startswith("on") or name == "style"]
        assert not handlers, handlers

    def find(self, name):
        """The element with this id."""
        return next(element for element in self.tree.iter() if element.get("id") == name)

    def count(self, tag):
        return sum(1 for _ in self.tree.iter(tag))

    def rows(self, within=None):
        """Each row of the tables in an element, as {heading: Cell}."""
        rows = []
        for table in (self.tree if within is None else within).iter("table"):
            heads = [words(head) for head in table.find("thead").iter("th")]
            for row in table.find("tbody").findall("tr"):
                rows.append(dict(zip(heads, map(Cell, row))))
        return rows

    def figures(self):
        """The figures at the top, as {name: Cell}."""
        return {words(each.find("dt")): Cell(each.find("dd")) for each in self.find("figures").iter("div")}


class Cell:
    """What a cell shows, and the exact numbers behind it."""

    def __init__(self, element):
        self.text = words(element)
        self.values = [float(data.get("value")) for data in element.iter("data")]
        self.labels = [image.get("aria-label") for image in element.iter("{http://www.w3.org/2000/svg}svg")]

    @property
    def value(self):
        return self.values[0]


def words(element):
    """The text of an element, without that of its drawings."""
    def parts(at):
        if at.tag in ("script", "style", "{http://www.w3.org/2000/svg}svg"):
            return
        if at.tag == "br" or "note" in at.get("class", ""):
            yield " "
        yield at.text or ""
        for child in at:
            yield from parts(child)
            yield child.tail or ""

    return " ".join("".join(parts(element)).split())


def run_here(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True)


def browse(host, url, scripts=True, seconds=0):
    """Opens a page in Chromium on a host, or here if it is None, and returns what it has made of it after so many seconds of the browser's clock."""
    with short_folder() as profile:
        if not scripts:
            preferences = profile / "Default/Preferences"
            preferences.parent.mkdir()
            preferences.write_text(json.dumps({"profile": {"default_content_setting_values": {"javascript": 2}}}))
        done = (host.run if host else run_here)(
            "timeout", str(TIMEOUT_S), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", f"--user-data-dir={profile}", "--enable-logging=stderr",
            *([f"--virtual-time-budget={1000 * seconds}"] if seconds else []), "--dump-dom", url)
    complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    assert not complaints, complaints
    return Page(done.stdout)
