# SPDX-License-Identifier: BSD-3-Clause
"""A test plants the fault of every finding of doctor, glb-redirect check and glb-bifurcate status.

A finding is a `static const struct finding` above the code of its check. Its text is in a golden file, which has the whole finding about each
planted fault, or a test looks for a part of it. NOT_PLANTED has the others, with the reason.
"""

import ast
import re

import pytest

from support.tree import TREE

FINDING = re.compile(r"const struct finding (\w+) = \{((?:[^{};\"]|\"(?:[^\"\\]|\\.)*\")*)\};")
DEFINE = re.compile(r"^#define (\w+)\s(?:\\\n)?\s*(\".*\")$", re.MULTILINE)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
FEWEST = 8  # characters of the text that a test looks for, besides a value
TESTS = ("bpf/test_preflight.py", "cli/test_cli_doctor.py", "cli/test_cli_fleet.py", "fleet/test_fleet_doctor.py", "service/test_doctor.py", "cli/bifurcate/*.py")
NOT_PLANTED = {
    "cli/doctor/clock.c:unsynchronised": "the machine that runs the tests has this clock",
    "redirect/check/host.c:old_kernel": "the tests run on newer kernels",
    "redirect/check/program.c:elsewhere": "tests/bpf/test_loader.py plants it, and looks at what attach says",
}
HEADER = (TREE / "src/cli/fleet/peers.h").read_text()


def findings():
    """{file:name: text}, with what macros stand for; and {file:name: the highest number of a value in the command and the text}."""
    found, numbers = {}, {}
    for path in sorted((TREE / "src").rglob("*.c")):
        source = path.read_text()
        defines = {name: STRING.findall(text)[0] for name, text in DEFINE.findall(HEADER + source)}
        for name, body in FINDING.findall(source):
            words = re.findall(r'"(?:[^"\\]|\\.)*"|\w+|,', body)
            last = len(words) - words[::-1].index(",")  # level, command, text
            text = "".join(each[1:-1] if each[0] == '"' else defines.get(each, "{1}") for each in words[last:])
            both = " ".join(defines.get(each, each) for each in words)
            numbers[f"{path.relative_to(TREE / 'src')}:{name}"] = max(map(int, re.findall(r"\{(\d)\}", both)), default=0)
            if len(re.sub(r"\{\d\}", "", text)) >= FEWEST:  # others are texts of other programs
                found[f"{path.relative_to(TREE / 'src')}:{name}"] = text.replace('\\"', '"')
    return found, numbers


def calls():
    """(file:name, number of values) of each finding that a call names."""
    for path in sorted((TREE / "src").rglob("*.c")):
        for call in re.findall(r"findings_add\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\);", path.read_text()):
            strings_gone = STRING.sub('""', call)
            values = re.sub(r"\((?:[^()]|\([^()]*\))*\)", "", strings_gone).count(",") - 1
            for name in re.findall(r"&(\w+)", strings_gone.split(",")[0]):
                yield f"{path.relative_to(TREE / 'src')}:{name}", values


def literals():
    found = set()
    for pattern in TESTS:
        for path in (TREE / "tests").glob(pattern):
            found |= {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {each for each in found if len(each) >= FEWEST}


def fits(part, text):
    """Whether the test looks for a part of the text, which has at most one value."""
    words = re.split(r"\{\d\}", text)
    if any(part in each for each in words):
        return True
    for before, after in zip(words, words[1:]):
        heads = [size for size in range(len(part) + 1) if before.endswith(part[:size])]
        tails = [size for size in range(len(part) + 1) if after.startswith(part[len(part) - size:])]
        if any(FEWEST <= head + tail <= len(part) for head in heads for tail in tails):
            return True
    return False


FINDINGS, NUMBERS = findings()
LITERALS = literals()
GOLDEN = "".join(path.read_text() for path in (TREE / "tests/golden/expected").glob("*.findings"))


def test_there_are_findings():
    assert len(FINDINGS) > 100 and all(FINDINGS.values())


@pytest.mark.parametrize("name", FINDINGS)
def test_a_test_plants_the_fault(name):
    whole = re.sub(r"\\{\d\\}", ".+", re.escape(FINDINGS[name]))
    planted = FINDINGS[name].count(" ") > 1 and re.search(f": {whole}($| \\[)", GOLDEN, re.MULTILINE) or any(fits(each, FINDINGS[name]) for each in LITERALS)
    assert bool(planted) != (name in NOT_PLANTED), f"plant the fault of {name}, and look for its text; or remove it from NOT_PLANTED"


def test_calls_have_all_values():
    named = [(name, values) for name, values in calls() if name in NUMBERS]
    assert len(named) > 100 and [(name, values) for name, values in named if values < NUMBERS[name]] == []
