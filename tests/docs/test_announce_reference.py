# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/announce.md, config/announce.conf, the driver files and the program have the same keys and defaults."""

import re
import subprocess

import pytest

from support.tree import ANNOUNCE, TREE

PAGE = (TREE / "docs/reference/announce.md").read_text()
EXAMPLE = (TREE / "config/announce.conf").read_text()
DRIVERS = sorted((TREE / "config/announce.d").glob("*.conf"))


def section(title):
    return re.split(rf"^## {title}$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]


def rows(text):
    """{key: default} of the first table whose head is `key`."""
    body = re.search(r"^\| key.*\n\|[-|]+\n((?:\|.*\n)+)", text, flags=re.MULTILINE)[1]
    found = {}
    for line in body.splitlines():
        keys, default = [cell.strip() for cell in line.strip("|").split("|")[:2]]
        found |= {key: default.strip("`") for key in re.findall(r"`([a-z_]+)`", keys)}
    return found


def keys_of_program(folder, text, place):
    """The keys that the program lists for an unknown one."""
    path = folder / "announce.conf"
    path.write_text(text)
    stderr = subprocess.run([ANNOUNCE, "check", "--config-file", path], capture_output=True, text=True, check=False).stderr
    return set(re.search(rf"{place}frob: unknown key; expected one of (.*)", stderr)[1].split(", "))


def defaults(text, indent=""):
    return dict(re.findall(rf"^#?{indent}([a-z_]+) = (.*);$", text, flags=re.MULTILINE))


def test_keys_of_announce_conf(tmp_path):
    table = rows(section("announce.conf"))
    assert set(table) == keys_of_program(tmp_path, "frob = 1;", "") == set(defaults(EXAMPLE)) | {"probe"}
    numbers = {key: value for key, value in table.items() if value.isdigit() or value.startswith('"')}
    assert numbers == {key: value for key, value in defaults(EXAMPLE).items() if key in numbers}
    assert len(numbers) >= 10


def test_keys_of_the_probe(tmp_path):
    table = rows(section("The proof"))
    assert set(table) == keys_of_program(tmp_path, "probe = { frob = 1; };", r"probe\.") == set(defaults(EXAMPLE, "\t"))
    numbers = {key: value for key, value in table.items() if value.isdigit()}
    assert numbers == {key: value for key, value in defaults(EXAMPLE, "\t").items() if key in numbers} and len(numbers) == 3


def test_keys_of_driver_files(tmp_path):
    (tmp_path / "driver.conf").write_text("frob = 1;")
    known = keys_of_program(tmp_path, f'driver = "{tmp_path}/driver.conf";', "")
    assert set(rows(section("Driver files"))) == known
    assert set().union(*(defaults(path.read_text()) for path in DRIVERS)) - {"check"} <= known


@pytest.mark.parametrize("path", DRIVERS, ids=lambda path: path.name)
def test_shipped_driver_files_are_valid(tmp_path, path):
    """The commands that they name are installed where the tests run, because the lab uses them."""
    (tmp_path / "announce.conf").write_text(EXAMPLE.replace("/etc/glb/announce.d/bird.conf", str(path)))
    done = subprocess.run([ANNOUNCE, "check", "--config-file", tmp_path / "announce.conf"], capture_output=True, text=True, check=False)
    missing = [line for line in done.stderr.splitlines() if not re.search(r"\[0\]: '/usr/s?bin/(birdc|vtysh)' cannot be run", line)]
    assert missing == []
