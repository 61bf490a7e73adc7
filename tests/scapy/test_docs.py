# SPDX-License-Identifier: BSD-3-Clause
"""The documentation tells the truth: its links exist, its commands know their flags, its examples print what it shows.

Fenced blocks marked `console` are run: lines after `$ ` (and `> `) are commands, the rest is what they print; a line `...`
stands for any lines. A page's blocks run in order, in an empty folder with config/ and examples/ in it. Blocks marked otherwise are
not run. After a change of output: python3 tests/scapy/test_docs.py --update, and read the difference.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GLB_BUILD", TREE / "build"))
PAGES = sorted([TREE / "README.md", TREE / "CHANGELOG.md", TREE / "CONTRIBUTING.md", *(TREE / "docs").rglob("*.md")])
END = "@@ end of a command @@"


def name(page):
    return str(page.relative_to(TREE))


def blocks(text):
    """[(language, text)] of the fenced blocks."""
    return re.findall(r"^```(\S*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def commands(block):
    """[(command, printed lines)] of a console block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        else:
            assert found, f"{line!r} comes before any command"
            found[-1][1].append(line)
    return found


def run_all(lines):
    """What each command prints, in one shell."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(TREE / "config", Path(folder) / "config")
        shutil.copytree(TREE / "docs/howto/examples", Path(folder) / "examples")
        script = "".join(f"{line}\nstatus=$?; echo '{END}'; (exit $status)\n" for line in lines)
        path = ":".join([str(BUILD / "src/cli"), str(BUILD / "src/director"), os.environ["PATH"]])
        done = subprocess.run(
            ["bash"], input=script, cwd=folder, env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return [output.splitlines() for output in done.stdout.split(f"{END}\n")[:-1]]


def matches(shown, printed):
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line.rstrip()) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed))


def console_commands(page):
    return [command for language, block in blocks(page.read_text()) if language == "console" for command in commands(block)]


@pytest.mark.parametrize("page", [page for page in PAGES if console_commands(page)], ids=name)
def test_examples_print_what_is_shown(page):
    examples = console_commands(page)
    outputs = run_all([command for command, _ in examples])
    assert len(outputs) == len(examples)
    for (command, shown), printed in zip(examples, outputs):
        assert matches(shown, printed), f"$ {command}\n" + "\n".join(printed)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_exist(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{name(page)} links {target}"
        if anchor:
            assert anchor in anchors(linked), f"{name(page)} links {target}"


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def flags_of(command):
    """The options of a subcommand; None if there is none of that name."""
    done = subprocess.run([BUILD / "src/cli/glb-director-cli", command, "--help"], capture_output=True, text=True)
    return set(re.findall(r"--[a-z-]+", done.stdout)) if done.returncode == 0 else None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_subcommands_and_their_flags_exist(page):
    for command, rest in re.findall(r"glb-director-cli ([a-z][a-z-]*)([^\n`|&;)]*)", page.read_text()):
        known = flags_of(command)
        assert known is not None, f"{name(page)}: glb-director-cli {command}"
        assert set(re.findall(r"(?<=\s)--[a-z][a-z-]*", rest)) <= known, f"{name(page)}: glb-director-cli {command}{rest}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_of_the_tree_exist(page):
    """Paths of files in backticks that begin like the tree's folders."""
    tops = "script|config|docs|src|lab|tests|packaging"
    for path in re.findall(rf"`((?:{tops})/[\w./-]*\w)[ `]", page.read_text()):
        assert (TREE / path).exists(), f"{name(page)} names {path}"


def test_every_page_of_the_docs_is_in_the_index():
    index = (TREE / "docs/README.md").read_text()
    for page in (TREE / "docs").rglob("*.md"):
        relative = str(page.relative_to(TREE / "docs"))
        assert relative == "README.md" or f"({relative})" in index, f"docs/README.md does not link {relative}"


def update(page):
    text = page.read_text()
    outputs = iter(run_all([command for command, _ in console_commands(page)]))

    def rewrite(block):
        lines = []
        for command, shown in commands(block[1]):
            printed = next(outputs)
            lines += [("$ " + command).replace("\n", "\n> "), *(shown if matches(shown, printed) else printed)]
        return "```console\n" + "".join(line.rstrip() + "\n" for line in lines) + "```"

    page.write_text(re.sub(r"^```console\n(.*?)^```$", rewrite, text, flags=re.MULTILINE | re.DOTALL))


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit("usage: test_docs.py --update")
    for each in PAGES:
        if console_commands(each):
            update(each)
