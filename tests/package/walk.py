# SPDX-License-Identifier: BSD-3-Clause
"""Runs blocks of commands of the pages on machines, and compares what they print with what the page shows."""

import re

from support.pages import commands


def matches(shown, printed):
    """A line `...` of the page stands for any lines."""
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line.rstrip()) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed))


def walk(machine, text, **variables):
    """Runs a block. With prompts, each command must print what the page shows below it. Returns all that was printed."""
    settings = "".join(f"{name}={value}; " for name, value in variables.items())
    if text[:2] not in ("# ", "$ "):
        return machine.run(f"set -e; {settings}{text}").stdout
    printed = []
    for command, shown in commands(text):
        if command.startswith("journalctl"):
            machine.run("journalctl --sync")  # a person is slower than journald
        done = machine.run(settings + command, check=False)
        assert matches(shown, done.stdout.splitlines()), f"{machine.name}: # {command}\n{done.stdout}"
        printed.append(done.stdout)
    return "".join(printed)
