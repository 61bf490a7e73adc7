# SPDX-License-Identifier: BSD-3-Clause
"""Completion of all programs in bash, zsh and fish. The shells run for real; the programs answer from their tables of options."""

import re
import shlex
import shutil
import subprocess

import pytest

from support.cli import backend, run, table, write_tables
from support.tree import ANNOUNCE, BIFURCATE, CLI, DIRECTOR, HEALTHCHECK, REDIRECT, TREE

FOLDER = TREE / "src" / "program" / "completion"
PROGRAMS = {path.name: path for path in (CLI, DIRECTOR, HEALTHCHECK, REDIRECT, BIFURCATE, ANNOUNCE)}


@pytest.fixture
def folder(tmp_path):
    """A folder with files of each kind, and a name with a space."""
    source = write_tables(tmp_path / "table.json", table(backends=[backend("192.168.50.1"), backend("192.168.50.2", "draining")]),
                          table("mail", backends=1, hash_key=2))
    run("build-config", source, tmp_path / "table.bin")
    for name in ("director.conf", "in.pcap", "with space.json", "notes.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "sub").mkdir()
    return tmp_path


def shell(command, script, folder):
    done = subprocess.run([*command, script], capture_output=True, text=True, cwd=folder, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), script
    return done.stdout.splitlines()


def bash(words, folder):
    program, *rest = words
    line = " ".join(shlex.quote(str(word)) for word in (PROGRAMS[program], *rest))
    return shell(["bash", "--norc", "-c"], f"""source {FOLDER}/glb.bash; COMP_WORDS=({line}); COMP_CWORD={len(rest)}
        _glb_complete; [[ ${{#COMPREPLY[@]}} -eq 0 ]] || printf '%s\\n' "${{COMPREPLY[@]}}" """, folder)


def zsh(words, folder):
    """The functions of zsh's completion system are replaced by ones that print what they get."""
    program, *rest = words
    line = " ".join(shlex.quote(str(word)) for word in (PROGRAMS[program], *rest))
    lines = shell(["zsh", "-f", "-c"], f"""_describe() {{ local i; for i in "${{(@P)2}}"; do print -r -- "$i"; done }}
        _files() {{ setopt extendedglob nullglob; print -rl -- ${{~2}} *(/) }}
        words=({line}); CURRENT={len(rest) + 1}; source {FOLDER}/_glb; true""", folder)
    typed = str(rest[-1])
    names = [name.replace("\\:", "\0").split(":")[0].replace("\0", ":") for name in lines]
    return [name.rstrip("/") for name in names if name.startswith(typed)]


def fish(words, folder):
    program = words[0]
    script = folder / "fish" / f"{program}.fish"
    script.parent.mkdir(exist_ok=True)
    shutil.copy(FOLDER / "glb.fish", script)
    line = " ".join(shlex.quote(word) if word else "" for word in words)
    lines = shell(["fish", "--no-config", "-c"], f"""set PATH {PROGRAMS[program].parent} $PATH; source {script}
        complete -C {shlex.quote(line)}""", folder)
    return [name.split("\t")[0] for name in lines if not name.startswith("fish/")]


@pytest.mark.parametrize("complete", [bash, zsh, fish])
@pytest.mark.parametrize("words, expected", [
    (["glb-director-cli", "re"], {"replay", "reload"}),
    (["glb-director-cli", "diff", "--max"], {"--max-broken", "--max-skew"}),
    (["glb-director-cli", "lookup", "--proto", ""], {"tcp", "udp", "icmp"}),
    (["glb-director-cli", "build-config", "a", "b", "--format", ""], {"2", "3"}),
    (["glb-director-cli", "check", "--kind", "d"], {"director"}),
    (["glb-director-cli", "--v"], {"--version"}),
    (["glb-director-cli", "stats", "x", "y"], set()),
    (["glb-director-cli", "nosuch", "x"], set()),
    (["glb-director-cli", "edit", "table.json", "un"], {"undrain"}),
    (["glb-director-cli", "edit", "table.json", "add", "10.0.0.1", "--state", "dr"], {"draining"}),
    (["glb-director-cli", "edit", "table.json", "drain", ""], {"192.168.50.1"}),
    (["glb-director-cli", "edit", "table.json", "undrain", ""], {"192.168.50.2"}),
    (["glb-director-cli", "edit", "table.json", "remove", "192.168.50.1", ""], {"192.168.50.1", "192.168.50.2"}),
    (["glb-director-cli", "edit", "table.json", "remove", "--table", ""], {"web", "mail"}),
    (["glb-director-cli", "edit", "table.bin", "remove", "--table", "m"], {"mail"}),
    (["glb-director-cli", "simulate", "notes.txt", "table.json", "--table", ""], {"web", "mail"}),
    (["glb-director-cli", "edit", "table.json", "add", ""], set()),
    (["glb-director-cli", "edit", "nosuch.json", "remove", ""], set()),
    (["glb-director-cli", "new", "--gateway-mac", ""], {"auto"}),
    (["glb-redirect", "att"], {"attach"}),
    (["glb-redirect", "attach", "l"], {"lo"}),
    (["glb-redirect", "attach", "lo", "--udp", "c"], {"connected"}),
    (["glb-bifurcate", "s"], {"sync", "show", "status"}),
    (["glb-bifurcate", "apply", "--d"], {"--dry-run"}),
    (["glb-announce", "w"], {"withdraw"}),
    (["glb-announce", "withdraw", "--re"], {"--reason"}),
    (["glb-healthcheck", "--che"], {"--check-once"}),
    (["glb-healthcheck", "s"], {"status"}),
    (["glb-healthcheck", "status", "--j"], {"--json"}),
    (["glb-director", "-l", "0-3", "--", "--deb"], {"--debug"}),
])
def test_words_that_are_offered(complete, words, expected, folder):
    assert set(complete(words, folder)) == expected


@pytest.mark.parametrize("complete", [bash, zsh])
@pytest.mark.parametrize("words, expected", [
    (["glb-director-cli", "show", "t"], {"table.json", "table.bin"}),
    (["glb-director-cli", "show", "w"], {"with space.json"}),
    (["glb-director-cli", "build-config", "t"], {"table.json"}),
    (["glb-director-cli", "replay", "table.json", "i"], {"in.pcap"}),
    (["glb-director-cli", "lookup", "--config", "d"], {"director.conf"}),
    (["glb-director-cli", "check", "n"], {"notes.txt"}),
    (["glb-director-cli", "check", "a", "b", "s"], {"sub"}),
    (["glb-director-cli", "show", "s"], {"sub"}),
    (["glb-director-cli", "new", "--dir", ""], {"sub"}),
    (["glb-healthcheck", "-c", "d"], {"director.conf"}),
    (["glb-director", "-l", "0", "--", "--forwarding-table", "t"], {"table.json", "table.bin"}),
    (["glb-director-cli", "show", "nosuch"], set()),
])
def test_names_of_files_have_the_fitting_ending(complete, words, expected, folder):
    assert set(complete(words, folder)) == expected


def test_fish_prefers_files_with_the_fitting_ending(folder):
    names = fish(["glb-director-cli", "build-config", ""], folder)
    assert {"table.json", "with space.json", "sub/"} <= set(name.replace("\\ ", " ") for name in names)


def test_bash_completes_the_value_behind_an_equals_sign(folder):
    assert bash(["glb-director-cli", "lookup", "--proto", "=", "u"], folder) == ["udp"]
    assert bash(["glb-director-cli", "lookup", "--proto", "="], folder) == ["tcp", "udp", "icmp"]


STRANGE = ["two words", "$(touch x)", "`touch x`", "a;touch x", "'", "\"", "#1", "*", "~", "a:b", "<x", "ü"]


@pytest.mark.parametrize("complete", [bash, zsh])
def test_strange_names_of_tables_are_offered_and_not_executed(complete, folder):
    """zsh quotes what it inserts. Bash does not, so the words must be quoted; eval reads them as a command line."""
    write_tables(folder / "table.json", *(table(name, backends=1, hash_key=i) for i, name in enumerate(STRANGE)))
    offered = complete(["glb-director-cli", "show", "table.json", "--table", ""], folder)
    if complete is bash:
        offered = shell(["bash", "--norc", "-c"], f"eval 'printf \"%s\\n\"' {shlex.quote(' '.join(offered))}", folder)
    assert offered == STRANGE and not (folder / "x").exists()


@pytest.mark.parametrize("typed", ["two", "two\\ w", "\\#", "#"])
def test_bash_completes_names_that_need_quotes(typed, folder):
    write_tables(folder / "table.json", table("two words", backends=1), table("#1", backends=1, hash_key=2))
    offered = bash(["glb-director-cli", "show", "table.json", "--table", typed], folder)
    assert offered == [{"t": "two\\ words"}.get(typed[0], "\\#1")]


@pytest.mark.parametrize("complete", [bash, zsh, fish])
@pytest.mark.parametrize("words", [["glb-director-cli"], ["glb-director-cli", "show"], ["glb-redirect"], ["glb-bifurcate"]])
def test_every_program_offers_what_its_help_lists(complete, words, folder):
    text = subprocess.run([PROGRAMS[words[0]], *words[1:], "--help"], capture_output=True, text=True).stdout
    if len(words) == 1:
        listed = {line.split()[0] for line in text.splitlines() if re.match(r"  \S", line)}
        assert set(complete([*words, ""], folder)) == listed
    else:
        listed = {line.split()[0] for line in text.splitlines() if line.startswith("  --")}
        assert set(complete([*words, "--"], folder)) == listed


def test_all_programs_are_completed_in_all_shells():
    done = shell(["bash", "--norc", "-c"], f"source {FOLDER}/glb.bash; complete -p", TREE)
    assert {line.split()[-1] for line in done} == set(PROGRAMS)
    assert set((FOLDER / "_glb").read_text().splitlines()[0].split()) == {"#compdef", *PROGRAMS}
    meson = (TREE / "src" / "program" / "meson.build").read_text()
    assert all(f"'{name}'" in meson for name in PROGRAMS)


@pytest.mark.parametrize("command", [["bash", "-n", "glb.bash"], ["zsh", "-n", "_glb"], ["fish", "-n", "glb.fish"]])
def test_scripts_have_valid_syntax(command):
    subprocess.run(command, cwd=FOLDER, check=True)


@pytest.mark.parametrize("words", [["--", ""], ["", ""], ["show", "--", "-"], ["show", "--config"], [], ["-"] * 3, ["diff"] + [""] * 300])
def test_strange_words_do_no_harm(words):
    for program in PROGRAMS.values():
        done = subprocess.run([program, "--complete", *words], capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b""), program
