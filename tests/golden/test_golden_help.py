# SPDX-License-Identifier: BSD-3-Clause
"""--help of every program and subcommand, and the words that a shell offers for each option."""

import os
import re
import subprocess

import pytest
from golden import EXPECTED, FILES, check, sections

from support.tree import ANNOUNCE, BIFURCATE, CLI, DIRECTOR, FLEET, HEALTHCHECK, REDIRECT

PROGRAMS = {path.name: path for path in (CLI, DIRECTOR, HEALTHCHECK, REDIRECT, BIFURCATE, ANNOUNCE, FLEET)}


def printed(program, *words, cwd=None):
    done = subprocess.run([PROGRAMS[program], *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, cwd=cwd, check=False,
                          env={**os.environ, "RUNTIME_DIRECTORY": str(cwd)})
    assert (done.returncode, done.stderr) == (0, ""), (program, words, done.stderr)
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_and_completion(program, tmp_path):
    text = printed(program, "--help")
    found = {f"{program} --help": text}
    for name in re.findall(r"^  ([a-z-]+)  ", text, re.MULTILINE):
        found[f"{program} {name} --help"] = printed(program, name, "--help")
        # Completion takes options and their texts from the same table as --help. What it adds are the words that an option takes.
        operand = printed(program, "--complete", name, "", cwd=tmp_path)
        options = re.findall(r"^(--\S+)", printed(program, "--complete", name, "--", cwd=tmp_path), re.MULTILINE)
        offers = {option: printed(program, "--complete", name, option, "", cwd=tmp_path) for option in options}
        lines = [f"{option} {words.strip()}".replace("\n", "\n  ") for option, words in offers.items() if words not in (operand, "")]
        if lines:
            found[f"{program} --complete {name} OPTION"] = "\n".join(lines)
    found[f"{program} --complete"] = printed(program, "--complete", "", cwd=tmp_path) + printed(program, "--complete", "--", cwd=tmp_path)
    check(f"{program}.help", sections(found))


def test_every_golden_file_belongs_to_a_test():
    assert {path.name for path in EXPECTED.iterdir()} <= FILES
