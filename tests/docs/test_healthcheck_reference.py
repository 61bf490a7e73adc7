# SPDX-License-Identifier: BSD-3-Clause
"""Compares the tables of results and errors in docs/reference/healthcheck.md with the code."""

import errno
import re

import pytest

from support.tree import TREE

REFERENCE = (TREE / "docs/reference/healthcheck.md").read_text()
PAGE = REFERENCE.split("## Results of errors")[1].split("\n## ")[0]
CODE = (TREE / "src/healthcheck/checks/error_result.c").read_text()
RESULTS = re.findall(r'X\((\w+), "(\w+)", "(.*)"\)', (TREE / "src/healthcheck/checks/check.h").read_text())
NAMES = {symbol: name for symbol, name, _ in RESULTS}


def documented(prefix):
    """{result: errors} of the table whose errors begin with `prefix`."""
    rows = re.findall(rf"^\| (`{prefix}.*) \| `(\w+)` \|$", PAGE, re.MULTILINE)
    return {result: set(re.findall(r"`(\w+)`", errors)) for errors, result in rows}


def coded(function):
    """{result: errors} of the function's switch."""
    body = CODE.split(f"{function}(")[1].split("\n}\n")[0]
    found = {}
    for cases, result in re.findall(r"((?:\tcase \w+:[^\n]*\n)+)\t\treturn (?:ready \? CHECK_BAD_REPLY : )?CHECK_(\w+);", body):
        found.setdefault(NAMES[result], set()).update(re.findall(r"case (\w+):", cases))
    return found


@pytest.mark.parametrize("function, prefix", [("error_result_errno", "E"), ("error_result_curl", "CURLE_")])
def test_reference_lists_the_result_of_each_error(function, prefix):
    expected = coded(function)
    expected.pop("passed", None)
    if prefix == "CURLE_":
        assert expected.pop("unreachable") == {"CURLE_COULDNT_CONNECT"} and "| `CURLE_COULDNT_CONNECT` | that of the socket" in PAGE
    assert documented(prefix) == expected and "not_run" in expected


def test_errors_of_the_reference_exist():
    names = set(re.findall(r"`(E[A-Z0-9]+)`", PAGE))
    assert names <= set(errno.errorcode.values()) | {"ENOTSUP"} and len(names) > 20


def test_reference_lists_every_result():
    section = REFERENCE.split("## Results of a check")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", section, flags=re.MULTILINE) == [(name, text) for _, name, text in RESULTS]
