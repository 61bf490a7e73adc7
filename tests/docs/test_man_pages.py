# SPDX-License-Identifier: BSD-3-Clause
"""Man pages and --help have the same options, with the same values, in both directions."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.tree import TREE

BUILD = Path(os.environ.get("GLB_BUILD", TREE / "build"))
EVERYWHERE = {"--help", "--version"}


def man(name):
    return (TREE / "docs/man" / f"{name}.scd").read_text()


def chapter(page, title):
    return re.split(rf"^# {title}$", page, flags=re.MULTILINE)[1].split("\n# ")[0]


def help_of(program, *arguments):
    return subprocess.run([BUILD / program, *arguments, "--help"], capture_output=True, text=True, check=True).stdout


def options_in_help(text):
    """{"--port": "N"} of the lines that describe an option; "" for one without a value. --build[=DST] is like --build DST."""
    text = re.sub(r"\[=(\w+)\]", r" \1", text)
    return dict(re.findall(r"^  (?:-\w, )?(--[a-z-]+)(?: (\S+))?(?:  |$)", text + "\n", flags=re.MULTILINE)) | dict(
        re.findall(r"^  (--[a-z-]+) (\S+\|\S+) ", text, flags=re.MULTILINE))


def options_in_man(text):
    """The same of the terms of a definition list: *--port* _N_, also behind *-p*."""
    text = re.sub(r"\[=(\w+)\]", r" \1", text)
    terms = re.findall(r"^\t?(?:\*-\w\*, )?\*(--[a-z-]+)\*(?: (\S+))?$", text, flags=re.MULTILINE)
    return {option: value.strip("_") for option, value in terms}


def short_options(text, mark):
    return dict(re.findall(rf"^(?:  )?{mark}(-\w){mark}, {mark}(--[a-z-]+){mark}", text, flags=re.MULTILINE))


@pytest.mark.parametrize("program", ["director/glb-director", "healthcheck/glb-healthcheck"])
def test_options_of_a_daemon(program):
    name = program.split("/")[1]
    text, page = help_of(f"src/{program}"), chapter(man(f"{name}.8"), "OPTIONS")
    assert options_in_help(text) == options_in_man(page)
    assert short_options(text, "") == short_options(page, re.escape("*")) != {}
    synopsis = chapter(man(f"{name}.8"), "SYNOPSIS")
    usage = text.splitlines()[0]
    assert set(re.findall(r"--[a-z-]+", usage)) <= set(re.findall(r"--[a-z-]+", synopsis)) <= set(options_in_help(text))


def subcommands():
    for program, page in (("cli/glb-director-cli", "glb-director-cli.1"), ("redirect/glb-redirect", "glb-redirect.8"),
                          ("bifurcate/glb-bifurcate", "glb-bifurcate.8"), ("announce/glb-announce", "glb-announce.8"), ("fleet/glb-fleet", "glb-fleet.8")):
        for name in re.findall(r"^  ([a-z-]+)  ", help_of(f"src/{program}"), flags=re.MULTILINE):
            yield program, page, name


@pytest.mark.parametrize("program, page, name", subcommands())
def test_options_of_a_subcommand(program, page, name):
    known = options_in_help(help_of(f"src/{program}", name))
    own = {option: value for option, value in known.items() if option not in EVERYWHERE}
    assert set(known) - set(own) == EVERYWHERE
    described = re.split(r"^\*([a-z-]+)\*(?: _.*| \[.*)?$", chapter(man(page), "SUBCOMMANDS"), flags=re.MULTILINE)
    bodies = dict(zip(described[1::2], described[2::2]))
    assert options_in_man(bodies[name]) == own
    line = re.search(rf"^\*{program.split('/')[1]}\* {name}\b(.*?)(?:\+\+)?$", chapter(man(page), "SYNOPSIS"), flags=re.MULTILINE)[1]
    line = re.sub(r"\[=(\w+)\]", r" \1", line)
    in_synopsis = dict(re.findall(r"(--[a-z-]+)(?: ([^\s\]]+))?", line))
    assert {option: value.strip("_") for option, value in in_synopsis.items()} == own
    assert all(f"*{option}*" in chapter(man(page), "SUBCOMMANDS") for option in EVERYWHERE)


@pytest.mark.parametrize("page, program", [("glb-director-cli.1", "cli/glb-director-cli"), ("glb-redirect.8", "redirect/glb-redirect"),
                                           ("glb-bifurcate.8", "bifurcate/glb-bifurcate"), ("glb-announce.8", "announce/glb-announce"), ("glb-fleet.8", "fleet/glb-fleet")])
def test_subcommands_are_in_the_order_of_the_help(page, program):
    names = re.findall(r"^  ([a-z-]+)  ", help_of(f"src/{program}"), flags=re.MULTILINE)
    assert re.findall(r"^\*([a-z-]+)\*(?: [_\[]|$)", chapter(man(page), "SUBCOMMANDS"), flags=re.MULTILINE) == names


@pytest.mark.parametrize("path", sorted((TREE / "docs/man").glob("*.scd")), ids=lambda path: path.name)
def test_files_are_named_by_their_installed_paths(path):
    """script/check-install looks for these files after an installation."""
    page = path.read_text()
    assert not re.findall(r"(?<!@)/etc/|[^/\w]docs/", page), "write @sysconfdir@/glb/..., and @docdir@/... for a page below docs/"
    for name in re.findall(r"@docdir@/([\w./-]+\.md)", page):
        assert (TREE / "docs" / name).is_file()


def test_pages_of_the_build_have_no_placeholders():
    pages = [path for path in (BUILD / "docs/man").iterdir() if path.suffix in (".1", ".5", ".8")]
    assert len(pages) == len(list((TREE / "docs/man").glob("*.scd")))
    for page in pages:
        assert not re.findall(r"@\w+@", page.read_text()), page.name


def test_pages_of_the_build_break_no_word():
    """A break within --file-prefix or a path spoils what people copy. .TH switches hyphenation on again, unless HY is set before."""
    for page in (path for path in (BUILD / "docs/man").iterdir() if path.suffix in (".1", ".5", ".8")):
        assert page.read_text().startswith(".nr HY 0\n.cflags 0 -\n"), page.name


@pytest.mark.parametrize("path", sorted((TREE / "docs/man").glob("*.scd")), ids=lambda path: path.name)
def test_examples_of_man_pages_fit_80_columns(path):
    for block in re.findall(r"^```\n(.*?)^```$", path.read_text(), flags=re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            assert len(line.expandtabs(4)) <= 80 - 11, line  # man indents an example by 11 columns


def blocks(name):
    return re.findall(r"^```\n(.*?)^```$", man(name), flags=re.MULTILINE | re.DOTALL)


def test_examples_of_glb_director_cli_run(tmp_path):
    """No director runs here, so the last command of the first example is only looked at."""
    publish, lookup = blocks("glb-director-cli.1")
    assert publish.endswith(" &&\nglb-director-cli reload\n")
    path = {**os.environ, "PATH": f"{BUILD / 'src/cli'}:{os.environ['PATH']}"}
    prepare = ("glb-director-cli new --vip 203.0.113.10:443/tcp --backend 192.168.51.10,192.168.51.11 --source 192.168.50.2; "
               "cp forwarding_table.json new.json; cp new.json table.json; glb-director-cli build-config table.json live.bin")
    for script in (prepare, publish.removesuffix(" &&\nglb-director-cli reload\n"), lookup):
        done = subprocess.run(["bash", "-ec", script], cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
