# SPDX-License-Identifier: BSD-3-Clause
"""What all programs have in common: help in 80 columns, and errors on stderr that begin with the program's name."""

import re
import subprocess

import pytest

from support.tree import ANNOUNCE, BIFURCATE, CLI, DIRECTOR, FLEET, HEALTHCHECK, REDIRECT, TREE

PROGRAMS = {path.name: path for path in (CLI, DIRECTOR, HEALTHCHECK, REDIRECT, BIFURCATE, ANNOUNCE, FLEET)}
WITH_SUBCOMMANDS = ("glb-director-cli", "glb-redirect", "glb-bifurcate", "glb-announce", "glb-fleet")


def call(program, *words, **kwargs):
    return subprocess.run([PROGRAMS[program], *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **kwargs)


def subcommands(program):
    return re.findall(r"^  ([a-z-]+)  ", call(program, "--help").stdout, re.M) if program in WITH_SUBCOMMANDS else []


COMMANDS = [(program, *name) for program in PROGRAMS for name in [[], *([name] for name in subcommands(program))]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_fits_80_columns_and_goes_to_stdout(command):
    done = call(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {' '.join(command)} ")
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert "  --help" in done.stdout or "-h, --help" in done.stdout or len(command) == 1
    assert call(*command, "-h").stdout == done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_version_has_one_line(program):
    done = call(program, "--version")
    assert (done.returncode, done.stderr) == (0, "") and re.fullmatch(rf"{program} \d+\.\d+\.\d+( \(DPDK .*\))?\n", done.stdout)


# Words after the program, and the first line of the error after the program's name.
WRONG = [
    ("glb-director-cli", [], "a subcommand is missing"),
    ("glb-director-cli", [""], "unknown subcommand ''"),
    ("glb-director-cli", ["--frob"], "unknown subcommand '--frob'"),
    ("glb-director-cli", ["check", "--kind", "table", "x"], "check: --kind: 'table' is none of "),
    ("glb-director-cli", ["check", "--json=1", "x"], "check: unknown option '--json=1'"),
    ("glb-director-cli", ["build-config", "a"], "build-config: missing operand; the operands are: SRC.json DST.bin"),
    ("glb-redirect", [], "a subcommand is missing"),
    ("glb-redirect", ["frob"], "unknown subcommand 'frob'"),
    ("glb-redirect", ["attach"], "attach: missing operand; the operands are: INTERFACE"),
    ("glb-redirect", ["attach", "lo", "eth0"], "attach: unexpected operand 'eth0'"),
    ("glb-redirect", ["attach", "--mode", "lo"], "attach: missing operand; the operands are: INTERFACE"),
    ("glb-redirect", ["attach", "lo", "--mode", "fast"], "attach: --mode: 'fast' is neither native nor generic"),
    ("glb-redirect", ["attach", "lo", "--mode"], "attach: --mode needs an argument"),
    ("glb-redirect", ["attach", "a/b"], "'a/b' is not an interface name"),
    ("glb-redirect", ["detach", "-x", "lo"], "detach: unknown option '-x'"),
    ("glb-bifurcate", [], "a subcommand is missing"),
    ("glb-bifurcate", ["sync", "a", "b"], "sync: unexpected operand 'b'"),
    ("glb-bifurcate", ["apply"], "apply: missing operand; the operands are: NAME"),
    ("glb-bifurcate", ["show", "x"], "show: unexpected operand 'x'"),
    ("glb-announce", [], "a subcommand is missing"),
    ("glb-announce", ["run", "x"], "run: unexpected operand 'x'"),
    ("glb-announce", ["withdraw", "--timeout", "0"], "withdraw: --timeout: '0' is not a number of seconds from 1 to 3600"),
    ("glb-healthcheck", ["x"], "unexpected operand 'x'"),
    ("glb-healthcheck", ["status", "x"], "unexpected operand 'x'"),
    ("glb-healthcheck", ["stat"], "unexpected operand 'stat'"),
    ("glb-healthcheck", ["status", "-1"], "status takes neither --check-once nor --debug"),
    ("glb-healthcheck", ["status", "--debug"], "status takes neither --check-once nor --debug"),
    ("glb-healthcheck", ["--json"], "--json is an option of status: glb-healthcheck status --json"),
    ("glb-healthcheck", ["--frob"], "unknown option '--frob'"),
    ("glb-healthcheck", ["-x"], "unknown option '-x'"),
    ("glb-healthcheck", ["-1x"], "unknown option '-x'"),
    ("glb-healthcheck", ["--config-file"], "--config-file needs an argument"),
    ("glb-healthcheck", ["-c"], "-c needs an argument"),
    ("glb-healthcheck", ["--debug=yes"], "unknown option '--debug=yes'"),
    ("glb-director", [], 'write "--" between the EAL options and the director\'s own'),
    ("glb-director", ["--config-file", "x"], 'write "--" between the EAL options and the director\'s own'),
    ("glb-director", ["--", "x"], "unexpected operand 'x'"),
    ("glb-director", ["-l", "0", "--", "-l", "1"], "unknown option '-l'"),
    ("glb-director", ["--", "--config-file"], "--config-file needs an argument"),
    ("glb-director", ["--", "-dt"], "-dt needs an argument"),
]


@pytest.mark.parametrize("program, words, error", WRONG)
def test_wrong_usage_exits_with_2_and_names_program_and_offender(program, words, error):
    done = call(program, *words)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"{program}: {error}") and all(len(line) <= 80 for line in lines[1:])
    assert lines[1:] == [f"Try '{program} --help'" + (f" or '{program} SUBCOMMAND --help'." if program in WITH_SUBCOMMANDS else ".")]


# Commands that fail for another reason: exit code, words.
FAILS = [
    ("glb-director-cli", 1, ["show", "/nonexistent"]),
    ("glb-director-cli", 1, ["build-config", "/nonexistent", "/nonexistent.bin"]),
    ("glb-director-cli", 1, ["lookup", "/nonexistent", "1.1.1.1:1", "2.2.2.2:2", "--config", "/nonexistent"]),
    ("glb-director-cli", 1, ["diff", "/nonexistent", "/nonexistent"]),
    ("glb-director-cli", 1, ["replay", "/nonexistent", "/nonexistent", "--config", "/nonexistent"]),
    ("glb-director-cli", 1, ["decode", "/nonexistent"]),
    ("glb-director-cli", 1, ["reload", "--file-prefix", "glb-no-such-director"]),
    ("glb-director-cli", 1, ["stats", "--file-prefix", "glb-no-such-director"]),
    ("glb-director-cli", 2, ["check", "/nonexistent"]),
    ("glb-redirect", 1, ["attach", "none0"]),
    ("glb-redirect", 1, ["detach", "none0"]),
    ("glb-redirect", 1, ["status", "none0"]),
    ("glb-redirect", 1, ["stats", "none0"]),
    ("glb-bifurcate", 1, ["sync", "/nonexistent"]),
    ("glb-announce", 1, ["check", "--config-file", "/nonexistent"]),
    ("glb-announce", 1, ["status", "--config-file", "/nonexistent"]),
    ("glb-fleet", 1, ["check", "--config-file", "/nonexistent"]),
    ("glb-fleet", 1, ["status", "--config-file", "/nonexistent"]),
    ("glb-fleet", 6, ["run", "--config-file", "/nonexistent"]),
    ("glb-healthcheck", 6, ["--config-file", "/nonexistent"]),
    ("glb-director", 6, ["--", "--config-file", "/nonexistent", "--forwarding-table", "/nonexistent"]),
]


@pytest.mark.parametrize("program, code, words", FAILS)
def test_every_line_of_an_error_begins_with_the_program(program, code, words):
    done = call(program, *words)
    assert done.returncode == code
    assert done.stderr and all(line.startswith(f"{program}: ") for line in done.stderr.splitlines()), done.stderr
    assert "/nonexistent" not in words or "/nonexistent" in done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_lost_help_is_an_error(program):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAMS[program], "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, f"{program}: cannot write to standard output\n")
    done = subprocess.run(["sh", "-c", 'exec "$0" --help >&-', PROGRAMS[program]], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, f"{program}: cannot write to standard output\n")


def test_exit_codes_of_every_program_are_on_the_page():
    page = (TREE / "docs/reference/exit-codes.md").read_text()
    assert all(re.search(rf"^\| `{program}", page, re.M) for program in PROGRAMS)


def test_defaults_are_those_of_the_installation():
    """--help names the installed files. Without options, each program reads them."""
    def shown(*command):
        return " ".join(call(*command, "--help").stdout.split())

    folder = re.search(r"\(default: (\S*)/director\.conf\)", shown("glb-director"))[1]
    assert "(default: /var/lib/glb/forwarding_table.bin)" in shown("glb-director")  # glb-healthcheck may write there
    assert f"(default: {folder}/healthcheck.conf)" in shown("glb-healthcheck")
    for name in ("lookup", "replay"):
        assert f"(default: {folder}/director.conf)" in shown("glb-director-cli", name)
    hidden = ["unshare", "--mount", "sh", "-c", f'mkdir -p {folder} && mount -t tmpfs none {folder} && exec "$@"', "sh"]
    for program, words, missing in (
        ("glb-director", ["--"], "director.conf"), ("glb-healthcheck", [], "healthcheck.conf"),
        ("glb-director-cli", ["lookup", TREE / "config/forwarding_table.json", "1.1.1.1:1", "2.2.2.2:2"], "director.conf"),
    ):
        done = subprocess.run([*hidden, PROGRAMS[program], *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == (1 if program == "glb-director-cli" else 6) and f"{folder}/{missing}: " in done.stderr, done.stderr
        assert (done.returncode == 6) == ("not configured yet: " in done.stderr), done.stderr


@pytest.mark.parametrize("program, words", [
    *((program, []) for program in WITH_SUBCOMMANDS),
    ("glb-director-cli", ["show"]),
    ("glb-healthcheck", ["-c"]),
])
def test_a_terminal_does_not_obey_a_name_in_a_message(program, words):
    """A message stays one line, whatever a name has in it."""
    done = subprocess.run([PROGRAMS[program], *words, b"ok\n\x1b[2Jall is well\r\x9b\xff\xc3\xbc"], capture_output=True, timeout=60)
    assert done.returncode != 0 and "ok??[2Jall is well???ü" in done.stderr.decode()
    assert not re.search(rb"[\0-\t\v-\x1f\x7f]", done.stderr)
    assert all(line.startswith((program.encode() + b": ", b"Try ")) for line in done.stderr.splitlines())
