# SPDX-License-Identifier: BSD-3-Clause
"""The faults of redirect.conf, each with its line and key. `glb-redirect` and `glb-director-cli check` read it with the same code."""

import pytest

from support.cli import CHECK_ERRORS, CHECK_WARNINGS, OK, run
from support.tree import TREE

FROM = 'allow_from = ["192.0.2.0/24"];\n'
FAULTS = [
    ('allow_form = ["192.0.2.0/24"];', "allow_form: unknown key; did you mean allow_from?"),
    ('allow_from = "192.0.2.0/24";', "allow_from: '192.0.2.0/24' (in quotes) is not a list like"),
    ("allow_from = [];", "allow_from: is empty, so this host would accept no packet; name the directors and the proxies"),
    ('allow_from = ["192.0.2.0/24", "192.0.2.1/24"];',
     "allow_from[1]: '192.0.2.1/24' has bits after the prefix; write \"192.0.2.0/24\", or the address alone"),
    ('allow_from = ["192.0.2.0/33"];', "allow_from[0]: '192.0.2.0/33' is not an address or a prefix like"),
    ('allow_from = ["192.0.2"];', "allow_from[0]: '192.0.2' is not an address or a prefix like"),
    ('allow_from = ["director-1"];', "allow_from[0]: 'director-1' is not an address or a prefix like"),
    ("allow_from = [1];", "allow_from[0]: '1' (a number) is not an address or a prefix like"),
    ('allow_from = ["::ffff:192.0.2.1"];', "allow_from[0]: '::ffff:192.0.2.1' is an IPv4-mapped address; write the IPv4 address"),
    ('allow_from = ["2001:db8::/32", "fe80::/64"];', "allow_from[1]: 'fe80::/64' is link-local, but directors and proxies send to and from"),
    ('allow_from = ["ff02::1"];', "allow_from[0]: 'ff02::1' is not a unicast address of another host"),
    ('allow_from = ["::"];', "allow_from[0]: '::' is not a unicast address of another host"),
    ('allow_from = ["192.0.2.0/24",\n\t"192.0.2.0/024"];', "allow_from[1]: "),
    (FROM + FROM, "allow_from: "),
    (FROM + 'allow_to = "locally";', "allow_to: 'locally' is neither \"local\" nor a list like"),
    (FROM + "allow_to = [];", "allow_to: is empty, so this host would accept no packet; name the VIPs, or write \"local\""),
    (FROM + 'allow_to = ["local"];', "allow_to[0]: 'local' is not an address or a prefix like"),
    (FROM + 'allow_to = ["2001:db8::1/64"];', "allow_to[0]: '2001:db8::1/64' has bits after the prefix; write \"2001:db8::/64\""),
    (FROM + 'next_hops = ["::1"];', "next_hops[0]: '::1' is not a unicast address of another host"),
    (FROM + "next_hops = false;", "next_hops: 'false' is not a list like"),
    (FROM + "max_hops = 31;", "max_hops: '31' is not an integer from 0 to 30"),
    (FROM + "max_hops = -1;", "max_hops: '-1' is not an integer from 0 to 30"),
    (FROM + 'max_hops = "4";', "max_hops: '4' (in quotes) is not an integer from 0 to 30"),
    (FROM + "max_hops = 4294967300;", "'4294967300' does not fit an integer"),
    (FROM + "allow_to = [", ""),
]


def check(path, code):
    return run("check", "--kind", "redirect", path, code=code).stderr


@pytest.mark.parametrize("text, says", FAULTS, ids=[text.splitlines()[-1] for text, _ in FAULTS])
def test_fault_names_line_and_key(tmp_path, text, says):
    path = tmp_path / "redirect.conf"
    path.write_text(text + "\n")
    # The fault is in the last line with a key, or in the next line of its list.
    line = len(text.splitlines())
    printed = check(path, CHECK_ERRORS)
    assert f"{path}:{line}: {says}" in printed
    assert len(printed.splitlines()) == 1


def test_all_faults_are_reported(tmp_path):
    path = tmp_path / "x"
    path.write_text('allow_from = ["a", "b"];\nnext_hops = 1;\nfrob = 2;\n')
    assert [line.split(": ")[2] for line in check(path, CHECK_ERRORS).splitlines()] == ["allow_from[0]", "allow_from[1]", "next_hops", "frob"]


@pytest.mark.parametrize("text, says", [
    ("max_hops = 3;\n", "allow_from: missing, so this host accepts packets from any sender"),
    ('allow_from = ["192.0.2.1", "::/0"];\n', ":1: allow_from: has ::/0, so this host accepts packets from any sender"),
    ('allow_from = ["0.0.0.0/0"];\n', ":1: allow_from: has 0.0.0.0/0, so this host accepts packets from any sender"),
    ("", "allow_from: missing"),
])
def test_open_host_is_a_warning(tmp_path, text, says):
    path = tmp_path / "redirect.conf"
    path.write_text(text)
    assert says in check(path, CHECK_WARNINGS)


@pytest.mark.parametrize("text", [
    FROM, FROM + 'allow_to = "local";', FROM + "next_hops = [];", FROM + "max_hops = 0;", FROM.replace("[", "(").replace("]", ")"),
    FROM + 'allow_to = ["203.0.113.10", "2001:db8::/32", "::/0", "0.0.0.0/0"];', 'allow_from = ["192.0.2.1", "192.0.2.1/32"];',
    'allow_from = ["192.0.2.0/24", "2001:db8::/32"]; next_hops = ["2001:db8::1"];',
])
def test_valid(tmp_path, text):
    path = tmp_path / "redirect.conf"
    path.write_text(text)
    assert check(path, OK) == ""


def test_example_has_every_key():
    text = (TREE / "config/redirect.conf").read_text()
    assert check(TREE / "config/redirect.conf", OK) == ""
    for key in ("allow_from", "allow_to", "next_hops", "max_hops"):
        assert f"\n{key} = " in text or f"\n#{key} = " in text
    assert text.count("#max_hops = 8;") == 1


def test_example_with_its_comments_is_valid(tmp_path):
    lines = (TREE / "config/redirect.conf").read_text().splitlines()
    settings = [line[1:] for line in lines if line.startswith("#") and line.endswith(";") and " = " in line and line[1] != " "]
    assert len(settings) == 4
    path = tmp_path / "redirect.conf"
    path.write_text("\n".join([*lines, *settings[1:]]))
    assert check(path, OK) == ""
