# SPDX-License-Identifier: BSD-3-Clause
"""The pages and examples have the keys of the programs' tables (conf/conf_key.h), with the same ranges, choices and defaults."""

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from support.tree import TREE

BUILD = Path(os.environ.get("GLB_BUILD", TREE / "build"))


class Key(NamedTuple):
    kind: str  # boolean, integer, group, other, or choices like "poll", "sleep"
    range: str
    required: bool
    default: str  # "": none, or it depends on other keys


def read_keys():
    """{file: {group: {name: Key}}}, where the group of keys at the top level is ""."""
    found = {}
    for line in subprocess.run([BUILD / "tests/unit/print_keys"], capture_output=True, text=True, check=True).stdout.splitlines():
        file, path, kind, least, most, required, default = line.split("\t")
        group, _, name = path.rpartition(".")
        found.setdefault(file, {}).setdefault(group, {})[name] = Key(kind, f"{least} to {most}", bool(required), default)
    return found


KEYS = read_keys()


def defaults_of(file, group):
    return "{ " + " ".join(f"{name} = {key.default};" for name, key in KEYS[file][group].items()) + " }"


def check(file, group, name, value, default):
    """Compares a key with what a page says about its value and its default."""
    key = KEYS[file][group][name]
    if key.kind == "integer":
        assert key.range in value, name
    elif key.kind == "boolean":
        assert value == "boolean", name
    elif key.kind.startswith('"'):
        assert re.findall(r'"[\w-]+"', value) == key.kind.split(", "), name
    expected = defaults_of(file, f"{group}.{name}".strip(".")) if key.default == "{}" else key.default
    if key.required or expected:
        assert default == ("required" if key.required else expected), name
    else:
        assert not re.match(r'\d|"|true|false|required$', default), f"{name}: the program has no such default"


def tables(page, heading):
    """The tables with a column `key` in a section: [{name: row}]."""
    section = re.split(rf"^##+ {heading}$", (TREE / "docs/reference" / page).read_text(), flags=re.MULTILINE)[1].split("\n## ")[0]
    for head, body in re.findall(r"^(\| key.*)\n\|[-|]+\n((?:\|.*\n)+)", section, re.MULTILINE):
        columns = ["key", *[cell.strip() for cell in head.strip("|").split("|")][1:]]
        rows = [dict(zip(columns, [cell.strip() for cell in row.strip("|").split("|")])) for row in body.splitlines()]
        yield {name: row for row in rows for name in re.findall(r"`(\w+)`", row["key"])}


@pytest.mark.parametrize("file, page, heading, groups", [
    ("director.conf", "director-conf.md", "Keys", [""]),
    ("director.conf", "director-conf.md", "hash_fields and alt_hash_fields", ["hash_fields"]),
    ("director.conf", "director-conf.md", "exception_limits", ["exception_limits"]),
    ("director.conf", "director-conf.md", "statsd", ["statsd"]),
    ("director.conf", "director-conf.md", "flow_paths and lcores", ["flow_paths", "lcores"]),
    ("redirect.conf", "redirect.md", "redirect.conf", [""]),
    ("bifurcate.conf", "bifurcate.md", "Configuration", [""]),
    ("announce.conf", "announce.md", "announce.conf", [""]),
    ("announce.conf", "announce.md", "The proof", ["probe"]),
    ("fleet.conf", "fleet.md", "fleet.conf", ["", "etcd"]),
    ("driver file", "announce.md", "Driver files", [""]),
])
def test_reference(file, page, heading, groups):
    found = list(tables(page, heading))
    assert len(found) == len(groups)
    for group, rows in zip(groups, found):
        assert sorted(rows) == sorted(KEYS[file][group])
        for name, row in rows.items():
            check(file, group, name, row.get("type", row.get("value")), row.get("default", "required").strip("`"))


def test_groups_of_director_conf_have_equal_fields():
    assert KEYS["director.conf"]["alt_hash_fields"] == KEYS["director.conf"]["hash_fields"]


def test_man_page_of_healthcheck_conf():
    """The man page is the reference. Groups have the names of their keys in braces."""
    page = (TREE / "docs/man/glb-healthcheck.conf.5.scd").read_text().split("\n# KEYS\n")[1].split("\n# ")[0]
    known, seen = KEYS["healthcheck.conf"], []
    for terms, value, body in re.findall(r"^(\*\w+\*(?:, \*\w+\*)*) = (.*)\n((?:\t.*\n)+)", page, re.MULTILINE):
        default = re.search(r"Default: (\S+?)[.,](?:\s|$)", " ".join(body.split()))
        for name in re.findall(r"\w+", terms):
            seen.append(name)
            key = known[""][name]
            if key.kind == "group":
                assert sorted(re.findall(r"(\w+);", value)) == sorted(known[name])
            if key.default or key.kind == "boolean":
                check("healthcheck.conf", "", name, value, default[1])
            elif key.kind == "integer":
                assert key.range in value, name
            assert key.required == ("(required)" in value), name
    assert sorted(seen) == sorted(known[""])


def test_built_man_page_of_director_conf():
    """docs/man/keys.py makes it of the reference. alt_hash_fields refers to hash_fields."""
    page = (BUILD / "docs/man/glb-director.conf.5").read_text()
    groups = {group: keys for group, keys in KEYS["director.conf"].items() if group != "alt_hash_fields"}
    assert sorted(re.findall(r"^\\fB(\w+)\\fR = ", page, re.MULTILINE)) == sorted(name for keys in groups.values() for name in keys)


@pytest.mark.parametrize("file", sorted(set(KEYS) - {"driver file"}))
def test_example_has_all_keys(file):
    """What is commented out is the default, unless the key has none."""
    example = (TREE / "config" / file).read_text()
    for name, key in KEYS[file][""].items():
        lines = re.findall(rf"^(#?) ?{name} = (.*)$", example, re.MULTILINE)
        assert lines, f"config/{file} lacks {name}"
        if key.kind != "group" and key.default and lines[0][0]:
            assert f"{key.default};" in [value.split("#")[0].strip() for _, value in lines], name


def test_shipped_driver_files_have_known_keys():
    paths = list((TREE / "config/announce.d").glob("*.conf"))
    assert len(paths) >= 3
    for path in paths:
        assert set(re.findall(r"^#?(\w+) = ", path.read_text(), re.MULTILINE)) <= set(KEYS["driver file"][""]), path.name
