# SPDX-License-Identifier: BSD-3-Clause
"""Checks the documentation: commands have the named options, and examples print the shown output.

The mark of a fenced block says what runs it:

console  this test: lines after `$ ` (and `> `) are commands, the rest is what they print; a line `...` stands for any lines.
         A page's blocks run in order, after the block in docs/README.md that makes the working folder.
lab      tests/lab, at the top of the tree, as root
site     tests/healthcheck, with the proxies of docs/howto/health-checks.md
root     tests/bpf, on a host in a network namespace
host     tests/systemd, or another test, if the commands need systemd or the installed programs. This test checks their syntax.

If no test runs a block, a comment before it says why: test_blocks.py. Other marks are for text that is no command. After a change of output: PYTHONPATH=.:tests python3 tests/docs/test_docs.py --update,
and read the difference.
"""

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap

import pytest

from support.pages import COMMANDS, TEXTS, blocks, commands
from support.facts import VERDICTS, add_rows, listed, same_rows
from support.tree import BUILD, TREE

PAGES = sorted([TREE / "README.md", TREE / "CHANGELOG.md", TREE / "CONTRIBUTING.md", TREE / "bench/targets.md", *(TREE / "docs").rglob("*.md")])
MEASURED = [TREE / "docs/explanation/performance.md", TREE / "bench/targets.md"]
# Options of EAL, ethtool, Envoy and others that pages name without their command.
FOREIGN_OPTIONS = {"--force-confold", "--force-max-simd-bitwidth", "--concurrency", "--drain-time-s", "--parent-shutdown-time-s", "--restart-epoch", "--no-huge", "--vdev", "--main-lcore", "--master-lcore", "--show-ntuple", "--lcores", "--no-pci", "--"}
FOREIGN_OPTIONS |= {"--cap-add", "--device", "--restart", "--stop-timeout", "--ulimit", "--user", "--volume"}  # of podman and docker
FOREIGN_OPTIONS |= {"--v6-rr-semantics"}  # of FRR
FOREIGN_OPTIONS |= {"--max-request-bytes", "--interactive", "--prefix", "--data-dir", "--initial-advertise-peer-urls", "--initial-cluster",
                    "--initial-cluster-token"}  # of etcd and etcdctl
INDEX = TREE / "docs/README.md"
END = "@@ end of a command @@"


def name(page):
    return str(page.relative_to(TREE))


def run_all(lines):
    """Runs the commands in one shell, in the working folder that docs/README.md describes. Returns the output of each."""
    start = [command for command, _ in console_commands(INDEX)]
    programs = [str(BUILD / "src" / name) for name in ("cli", "director", "healthcheck", "redirect")]
    with tempfile.TemporaryDirectory() as home:
        script = "".join(f"{line}\nstatus=$?; echo '{END}'; (exit $status)\n" for line in [*start, *lines])
        path = {"HOME": home, "PATH": ":".join([*programs, os.environ["PATH"]]), "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["bash"], input=script, cwd=TREE, env={**os.environ, **path}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    outputs = [output.splitlines() for output in done.stdout.split(f"{END}\n")[:-1]]
    assert outputs[: len(start)] == [[] for _ in start], outputs[: len(start)]
    return outputs[len(start) :]


def matches(shown, printed):
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line.rstrip()) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed))


def console_commands(page):
    return [command for block in blocks(page) if block.mark == "console" for command in commands(block.text)]


EXAMPLES = [page for page in PAGES if page != INDEX and console_commands(page)]


@pytest.mark.parametrize("page", EXAMPLES, ids=name)
def test_examples_print_what_is_shown(page):
    examples = console_commands(page)
    outputs = run_all([command for command, _ in examples])
    assert len(outputs) == len(examples)
    for (command, shown), printed in zip(examples, outputs):
        assert matches(shown, printed), f"$ {command}\n" + "\n".join(printed)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_what_runs_it(page):
    found = blocks(page)
    assert len(re.findall(r"^ *```", page.read_text(), flags=re.MULTILINE)) == 2 * len(found), "a fence is indented or not closed"
    assert {block.mark for block in found} <= COMMANDS | TEXTS


def test_code_in_go_is_that_of_the_lab():
    """Pages have spaces instead of tabs."""
    sources = [path.read_text().replace("\t", "    ") for path in (TREE / "tests/quic").rglob("*.go")]
    found = [block for page in PAGES for block in blocks(page) if block.mark == "go"]
    assert len(found) == 2
    for block in found:
        assert any(block.text in source or textwrap.indent(block.text, "    ") in source for source in sources), block.text


@pytest.mark.parametrize("page", EXAMPLES, ids=name)
def test_pages_with_examples_name_the_working_folder(page):
    (link,) = re.findall(r"[Ii]n the \[working folder\]\((.*)#run-the-examples\)", page.read_text())
    assert (page.parent / link).resolve() == INDEX


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_that_are_not_run_have_valid_syntax(page):
    for block in blocks(page):
        if block.mark in ("host", "root"):
            lines = block.text.splitlines()
            prompt = next((line[:2] for line in lines if line[:2] in ("$ ", "# ")), "")
            script = "\n".join(command for command, _ in commands(block.text)) if prompt else block.text
            done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
            assert done.stderr == "", block.text


def flags_of(command):
    """The options of a subcommand, or None if there is no such subcommand."""
    done = subprocess.run([BUILD / "src/cli/glb-director-cli", command, "--help"], capture_output=True, text=True)
    return set(re.findall(r"--[a-z-]+", done.stdout)) if done.returncode == 0 else None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_subcommands_and_their_flags_exist(page):
    for command, rest in re.findall(r"glb-director-cli ([a-z][a-z-]*)([^\n`|&;)]*)", page.read_text()):
        known = flags_of(command)
        assert known is not None, f"{name(page)}: glb-director-cli {command}"
        assert set(re.findall(r"(?<=\s)--[a-z][a-z-]*", rest)) <= known, f"{name(page)}: glb-director-cli {command}{rest}"


@pytest.fixture(scope="module")
def own_options():
    """The options of all programs and scripts of the tree."""
    commands = re.findall(r"^  ([a-z-]+) ", help_of("src/cli/glb-director-cli"), flags=re.MULTILINE)
    text = "".join([help_of("src/director/glb-director"), help_of("src/healthcheck/glb-healthcheck"), *(help_of("src/cli/glb-director-cli", name) for name in commands)])
    text += "".join(help_of("src/redirect/glb-redirect", name) for name in ("attach", "check", "drained", "exporter", "reload", "follow", "detach", "status", "stats"))
    text += "".join((TREE / path).read_text() for path in ("lab/cli.py", "lab/chaos/command.py"))
    text += "".join(path.read_text() for path in (TREE / "script").iterdir() if path.is_file())
    return set(re.findall(r"--[a-z][a-z-]*", text))


def help_of(program, *arguments):
    return subprocess.run([BUILD / program, *arguments, "--help"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_options_named_alone_exist(page, own_options):
    named = set(re.findall(r"`(--[a-z0-9-]*)[^`]*`", page.read_text()))
    assert named <= own_options | FOREIGN_OPTIONS


def test_commands_that_replace_packages_do_not_ask():
    """dpkg asks about a file that both sides changed, and stops half-way if nobody can answer."""
    lines = [line for page in PAGES for line in re.findall(r"^apt(?:-get)? .*--(?:only-upgrade|allow-downgrades).*$", page.read_text(), flags=re.MULTILINE)]
    assert len(lines) >= 5
    assert [line for line in lines if " -y " not in line or " -o Dpkg::Options::=--force-confold " not in line] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_of_the_tree_exist(page):
    """Checks paths in backticks that begin with a folder of the tree."""
    tops = "script|config|docs|src|lab|tests|packaging"
    for path in re.findall(rf"`((?:{tops})/[\w./-]*\w)[ `]", page.read_text()):
        assert (TREE / path).exists(), f"{name(page)} names {path}"


def test_every_page_of_the_docs_is_in_the_index():
    index = (TREE / "docs/README.md").read_text()
    for page in (TREE / "docs").rglob("*.md"):
        relative = str(page.relative_to(TREE / "docs"))
        assert relative == "README.md" or f"({relative})" in index, f"docs/README.md does not link {relative}"


def test_reference_of_the_lab_has_every_option_and_scenario():
    page = (TREE / "docs/reference/lab.md").read_text()
    documented = {(command, option) for options, commands in re.findall(r"^\| (`--[^|]*) \| ([a-z, ]+) \|", page, flags=re.MULTILINE)
                  for command in commands.split(", ") for option in re.findall(r"--[a-z]+", options)}
    commands = re.findall(r"^\| `lab/lab ([a-z]+)", page, flags=re.MULTILINE)
    helps = {command: subprocess.run([TREE / "lab/lab", command, "--help"], capture_output=True, text=True).stdout for command in commands}
    known = {(command, option) for command, text in helps.items() for option in re.findall(r"--[a-z]+", text)} - {
        (command, "--help") for command in commands}
    assert documented == known
    listed = subprocess.run([TREE / "lab/lab", "list"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|", page.split("## Scenarios")[1].split("The result")[0], flags=re.MULTILINE)
    assert re.findall(r"`([a-z-]+)`", " ".join(rows)) == [line.split()[0] for line in listed.splitlines() if line[0] != " "]


def known_keys():
    """The keys of director.conf, healthcheck.conf, redirect.conf, announce.conf and bifurcate.conf. The examples in config/ have all of them."""
    return {key for file in ("director.conf", "healthcheck.conf", "redirect.conf", "announce.conf", "bifurcate.conf")
            for key in re.findall(r"(\w+) = ", (TREE / "config" / file).read_text())}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_configuration_keys_exist(page):
    """Checks assignments in backticks, for instance `outbound_mtu = 1600;`."""
    used = re.findall(r"`([a-z_]+) = [^`]*`", page.read_text())
    assert set(used) - {"key"} <= known_keys()  # `key = value;` explains the syntax


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_counters_exist(page):
    assert set(re.findall(r"`(drop_[a-z_]+)`", page.read_text())) - {"drop_", "drop_martians"} <= set(VERDICTS) | redirect_counters()


def redirect_counters():
    return set(re.findall(r'X\(\w+,\s*"(\w+)"', (TREE / "src/redirect/redirect.h").read_text().replace("\\\n", "")))


def test_reference_of_the_redirect_has_every_counter_once():
    page = (TREE / "docs/reference/redirect.md").read_text().split("## Counters")[1]
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)) == sorted(redirect_counters())


def counters():
    """[(name, help)] of the director's counters that are no verdicts."""
    source = (TREE / "src/worker/counters.c").read_text()
    return [(name, text.replace('\\"', '"')) for name, text in re.findall(r'\{COUNTER\((?:NULL|"\w+"), (\w+)\),\s*"((?:[^"\\]|\\.)*)"', source)]


@pytest.mark.parametrize("page, heading, expected", [
    ("counters.md", "Verdicts", listed("src/packet/verdict.h", "VERDICT_LIST")),
    ("counters.md", "Other counters", counters()),
    ("redirect.md", "Counters", listed("src/redirect/redirect.h", "REDIRECT_COUNTER_LIST")),
])
def test_reference_of_counters_is_that_of_the_program(page, heading, expected):
    assert len(expected) >= 10
    same_rows(page, heading, expected)


def golden(name):
    """What tests/golden has seen a program print."""
    return (TREE / "tests/golden/expected" / name).read_text()


def test_reference_of_telemetry_has_every_key():
    sources = "".join(path.read_text() for path in (TREE / "src/director/telemetry").glob("*.c"))
    keys = set(re.findall(r'(?:add_dict_\w+|telemetry_reply_\w+)\(\s*\w+, "(\w+)"', sources))
    keys |= set(re.findall(r"(\w+) (?:integer|text|list)$", golden("glb-director.telemetry"), flags=re.MULTILINE))
    keys -= {name for name, _ in counters()} | {*VERDICTS, "VERDICT"}
    page = (TREE / "docs/reference/telemetry.md").read_text()
    assert len(keys) >= 70
    assert {key for key in keys if not re.search(rf'[`"]{key}[`"]', page)} == set()
    commands = re.findall(r'\{"(/glb/\w+)"', sources)
    assert re.findall(r"^## (/glb/\w+)", page, flags=re.MULTILINE) == commands


def metric_row(exported, before, family):
    """(the metric that is exported before, the row of a metric) in docs/reference/metrics.md."""
    def sample(family):
        return re.search(rf"^(glb_director_{family}(?:_total|_info|_bucket)?)(?:{{(.*)}})?$", exported, flags=re.MULTILINE)

    kind = re.search(rf"^# TYPE glb_director_{family} (\w+)$", exported, flags=re.MULTILINE)[1]
    meaning = re.search(rf"^# HELP glb_director_{family} (.*)$", exported, flags=re.MULTILINE)[1]
    labels = ", ".join(f"`{label}`" for label in re.findall(r'(\w+)="', sample(family)[2] or ""))
    return sample(before)[1], f"| `{sample(family)[1]}` | {kind} | {labels}{' ' * bool(labels)}| {meaning} |"


def test_reference_of_metrics_has_every_metric_with_its_help():
    """A row of the reference begins with the help of the metric, without marks, and may go on."""
    page, exported = (TREE / "docs/reference/metrics.md").read_text(), golden("glb-director.metrics")
    rows = {}
    for name, kind, meaning in re.findall(r"^\| `glb_director_(\w+)` \| (\w+) \| .*?\| (.*) \|$", page, flags=re.MULTILINE):
        suffix = {"counter": "_total", "info": "_info"}.get(kind, "")
        rows[name.removesuffix(suffix)] = kind, re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", meaning).replace("`", "")
    helps = dict(re.findall(r"^# HELP glb_director_(\w+) (.*)$", exported, flags=re.MULTILINE))
    kinds = dict(re.findall(r"^# TYPE glb_director_(\w+) (\w+)$", exported, flags=re.MULTILINE))
    names = list(kinds)
    add_rows("metrics.md", [metric_row(exported, names[at - 1], name) for at, name in enumerate(names) if name not in rows])
    assert {name: kind for name, (kind, _) in rows.items() if name in kinds} == {name: kinds[name] for name in rows} and len(kinds) >= 60
    assert {name: meaning for name, (_, meaning) in rows.items() if not meaning.startswith(helps[name])} == {}


def test_reference_of_health_has_every_cause():
    causes = re.findall(r'X\(\w+, "(\w+)"\)', (TREE / "src/director/health/health.h").read_text())
    page = (TREE / "docs/reference/health.md").read_text()
    assert len(causes) >= 10
    assert re.findall(r"^\| `(\w+)` \|", page.split("\n## Reasons\n")[1], flags=re.MULTILINE) == causes


def test_troubleshooting_has_every_verdict():
    page = (TREE / "docs/howto/troubleshooting.md").read_text()
    assert [verdict for verdict in VERDICTS if f"`{verdict}`" not in page] == []


def test_troubleshooting_quotes_messages_that_the_programs_have():
    """Quotes in first columns must be in string literals of the sources. Parts between `...` with three words or more count."""
    sources = "".join(path.read_text() for path in sorted((TREE / "src").rglob("*.c")))
    literals = re.sub(r'"\s*"', "", sources)
    page = (TREE / "docs/howto/troubleshooting.md").read_text()
    quoted = re.findall(r"`([^`]+)`", "\n".join(re.findall(r"^\| ([^|]*) \|", page, flags=re.MULTILINE)))
    parts = [part.strip(": ") for text in quoted for part in text.split("...") if len(part.split()) >= 3]
    assert len(parts) >= 8
    assert [part for part in parts if part not in literals] == []


def test_settings_of_the_unit_exist():
    known = (TREE / "packaging/systemd/glb-director.service.in").read_text()
    for page in PAGES:
        for variable in re.findall(r"GLB_DIRECTOR_\w+", page.read_text()):
            assert variable in known, f"{name(page)}: {variable}"


@pytest.fixture(name="publish")
def module_publish(monkeypatch):
    monkeypatch.syspath_prepend(TREE / "bench/figures")
    return importlib.import_module("publish")


@pytest.fixture(name="copies")
def copied_pages(publish, monkeypatch, tmp_path):
    """Copies of the measured pages and of the file that they name, without others. publish.py takes them for the real ones."""
    pages = [tmp_path / page.name for page in publish.PAGES]
    named = publish.PAGE.with_name(publish.published().file())
    for page in (*publish.PAGES, named, *map(publish.PAGE.with_name, publish.OTHERS)):
        (tmp_path / page.name).write_bytes(page.read_bytes())
    monkeypatch.setattr(publish, "PAGES", pages)
    monkeypatch.setattr(publish, "PAGE", pages[0])
    figures = publish.published()
    for page in pages:
        page.write_text(publish.render(figures, page.read_text()))
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_measured_pages_have_the_figures_of_the_published_files(publish):
    """After a new measurement run bench/figures/publish.py FILE."""
    plot, tables = (importlib.import_module(name) for name in ("plot", "tables"))
    assert list(publish.PAGES) == MEASURED
    figures = publish.published()
    for page in MEASURED:
        assert publish.render(figures, page.read_text()) == page.read_text()
    assert plot.svg(figures.rows) == publish.PAGE.with_suffix(".svg").read_text()
    shown = re.findall(r"<!--(?:begin|is) ([\w-]+)-->", "".join(page.read_text() for page in MEASURED))
    assert set(shown) == {*publish.known_blocks(figures), *tables.values(figures)}


def big_tables(waits):
    """Figures of all steps and sizes: a microsecond for each backend."""
    sizes = [(step, *size) for size in waits.SIZES for step in (["check"] if size == waits.REFUSED else waits.STEPS)]
    rows = [{"step": step, "tables": tables, "backends": backends, "seconds": 1e-6 * tables * backends, "mib": 20, "runs": 1} for step, tables, backends in sizes]
    return [{"step": "machine", "what": "a CPU", "cpus": 2}, *rows]


def test_big_tables_are_published_only_if_no_figure_is_missing(publish, copies):
    rows = big_tables(importlib.import_module("waits"))
    (copies / "new.json").write_text(json.dumps([row for row in rows if (row["step"], row.get("tables")) != ("plan", 256)]))
    before = contents(copies)
    with pytest.raises(SystemExit, match="the figure of plan with 256 tables of 256 backends is missing: run script/bench --tables"):
        publish.main(copies / "new.json")
    assert contents(copies) == before
    (copies / "new.json").write_text(json.dumps(rows))
    publish.main(copies / "new.json")
    page, targets = ((copies / name).read_text() for name in ("performance.md", "targets.md"))
    assert "| check | 0.00 s, 20 MiB | 0.00 s, 20 MiB | 0.07 s, 20 MiB | 0.02 s, 20 MiB |" in page and "Measured on a CPU, 2 CPUs." in page
    assert json.loads((copies / "big-tables.json").read_text()) == rows and publish.render(publish.published(), page) == page
    assert len(re.findall(r"\| met \| 0.26 s \| met \|", targets)) == len(importlib.import_module("waits").STEPS)


def test_quadratic_growth_and_long_waits_miss_their_targets(publish):
    waits = importlib.import_module("waits")
    rows = [{**row, "seconds": row.get("seconds", 0) ** 2 * 1000} for row in big_tables(waits)]
    assert waits.targets(rows).count(" missed |") == 2 * len(waits.STEPS)
    assert "1024 x 256 |" in waits.waits(rows) and "1024 x 256 |" not in waits.waits(rows[:-1])


def test_a_published_run_of_another_cpu_stands_beside_the_first(publish, copies):
    rows = [dict(row) for row in publish.published().rows if row["path"] != "avx512" or row["what"] != "4 hops"]
    rows[0] |= {"what": "AMD EPYC 9R14", "cpu": {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17", "stepping": "1", "microcode": "0xa101148"}}
    (first,) = [name for name in contents(copies) if name.startswith("performance-")]
    assert "AMD, AVX" not in (copies / "performance.md").read_text()
    (copies / "performance-amd.json").write_text(json.dumps(rows))
    publish.main(copies / first)
    text = (copies / "performance.md").read_text()
    assert "|  | Intel, AVX-512 | Intel, AVX2 | Intel, plain C | AMD, AVX-512 | AMD, AVX2 | AMD, plain C |" in text
    (row,) = re.findall(r"^\| frames in L2 \|(.*)\|$", text, re.MULTILINE)
    assert row.split("|")[:3] == row.split("|")[3:]
    compared = text.partition("<!--begin cpus-->")[2].partition("<!--end-->")[0]
    (row,) = re.findall(r"^\| rows of 4 hops \|(.*)\|$", compared, re.MULTILINE)
    assert row.split("|")[3].strip() == "" and row.split("|")[4] == row.split("|")[1]
    assert "| AMD EPYC 9R14 | 25/17/1 | 0xa101148 |" in text and f"<!--is file-->{first}<!---->" in text
    before = contents(copies)
    publish.main(copies / first)
    assert contents(copies) == before


def test_figures_of_proxies_are_published_by_themselves(publish, copies):
    rows = json.loads((copies / "proxies.json").read_text())
    before = contents(copies)
    publish.main(copies / "proxies.json")
    assert contents(copies) == before
    (syn,) = [row for row in rows if (row["path"], row["what"]) == ("redirect", "SYN")]
    syn["p10"] = 4321
    (copies / "new.json").write_text(json.dumps(rows))
    publish.main(copies / "new.json")
    assert {name for name, bytes_ in contents(copies).items() if before.get(name) != bytes_} == {"new.json", "proxies.json", "performance.md", "targets.md"}
    assert "| SYN | 4321 |" in (copies / "performance.md").read_text()
    (copies / "new.json").write_text(json.dumps([row for row in rows if row["what"] != "SYN"]))
    before = contents(copies)
    with pytest.raises(SystemExit, match="the figure of 'SYN' is missing"):
        publish.main(copies / "new.json")
    assert contents(copies) == before


@pytest.mark.parametrize("missing, shown", [
    (None, "| bursts of 16 | +1.5 | +1.3 | +1.0 |"),
    (16, "Not measured: "),
], ids=["all", "older"])
def test_cost_of_watching_is_published_if_the_file_has_it(missing, shown, publish, copies):
    (first,) = [name for name in contents(copies) if name.startswith("performance-")]
    rows = [row for row in publish.published().rows if "more" not in row]
    (plain,) = [row for row in rows if row["path"] == "scalar" and row["burst"] == 64 and (row["what"], row["set"], row["tables"]) == ("once more", "l2", 1)]
    for path, more in (("scalar", 1.5), ("avx2", 1.3), ("avx512", 1.0)):
        rows += [{**plain, "path": path, "burst": burst, "what": "watched", "more": cost}
                 for burst, cost in ((64, 0.5), (32, 0.6), (16, more)) if burst != missing]
    (copies / "new.json").write_text(json.dumps(rows))
    publish.main(copies / "new.json")
    assert shown in (copies / "performance.md").read_text() and (copies / first).read_bytes() == (copies / "new.json").read_bytes()


def with_necessary_work(rows):
    """The figures as if the necessary work took three floors."""
    plain = [row for row in rows if row["path"] == "floor" and row["what"] == "" and row["family"] == "v4" and row["tables"] == 1]
    return [row for row in rows if row["path"] != "fused"] + [{**row, "path": "fused", "p10": 3 * row["p10"]} for row in plain]


@pytest.mark.parametrize("measured", (True, False))
def test_necessary_work_is_published_if_the_file_has_it(measured, publish, copies):
    rows = [row for row in publish.published().rows if row["path"] != "fused"]
    (copies / "new.json").write_text(json.dumps(with_necessary_work(rows) if measured else rows))
    publish.main(copies / "new.json")
    vendor = publish.published().vendor()
    targets = (copies / "targets.md").read_text()
    assert (f"| {vendor}, necessary work |" in (copies / "performance.md").read_text()) == measured
    assert ("necessary work</text>" in (copies / "performance.svg").read_text()) == measured
    assert re.findall(rf"^\| {vendor}, frames in L2 \|.*\| (3.00) \|", targets, re.MULTILINE) == ["3.00"] * measured
    assert targets.count("Not measured: the figures are older than this table.") == (0 if measured else 2)


def test_stages_explain_what_the_fast_path_takes_more_than_the_necessary_work(publish):
    tables = importlib.import_module("tables")
    figures = tables.Figures(with_necessary_work(publish.published().rows))
    fast, necessary, _, *parts = tables.difference_by_stage(figures)
    assert abs(fast - necessary - sum(parts)) < 0.01 and len(parts) == len(tables.MORE_STAGES) + 1


@pytest.mark.parametrize("vendor, name, target", (("GenuineIntel", "Intel", "3.5"), ("AuthenticAMD", "AMD", "4.8")))
def test_the_first_target_depends_on_the_vendor(vendor, name, target, publish):
    tables = importlib.import_module("tables")
    rows = [dict(row) for row in publish.published().rows]
    rows[0] |= {"what": "some CPU", "cpu": {**rows[0].get("cpu", {}), "vendor_id": vendor}}
    assert f"| {name} | AVX-512, frames in L2 | {target} x floor |" in tables.targets(tables.Figures(rows))


def test_targets_of_another_run_end_where_it_lacks_a_figure(publish):
    tables = importlib.import_module("tables")
    own = publish.published()
    part = [{**row, "what": "AMD EPYC", "cpu": {"vendor_id": "AuthenticAMD"}} if row["path"] == "machine" else row
            for row in own.rows if row["what"] != "pings"]
    shown = tables.targets(tables.Figures(own.rows, [tables.Figures(part)]))
    assert "| AMD | first fragments |" in shown and "| AMD | pings |" not in shown and f"| {own.vendor()} | pings |" in shown
    with pytest.raises(tables.Missing):
        tables.targets(tables.Figures(part, [own]))


@pytest.mark.parametrize("damage, message", [
    (lambda rows: [row for row in rows if row["what"] != "4 hops"], "what '4 hops'.* is missing: run script/bench without --quick"),
    (lambda rows: [{**row, "noisy": index % 5 == 0} for index, row in enumerate(rows)], "figures are noisy: run script/bench again"),
    (lambda rows: [{**rows[0], "what": "Kunpeng", "cpu": {"vendor_id": "0x48"}}, *rows[1:]], "add its vendor to VENDORS"),
    (lambda rows: {"rows": rows}, "not a file of script/bench --json"),
    (lambda rows: [], "not a file of script/bench --json"),
], ids=["part", "noisy", "vendor", "other", "empty"])
def test_a_file_that_cannot_be_published_changes_nothing(damage, message, publish, copies):
    part = copies / "part.json"
    part.write_text(json.dumps(damage(publish.published().rows)))
    before = contents(copies)
    with pytest.raises(SystemExit, match=message):
        publish.main(part)
    assert contents(copies) == before


def test_profile_names_functions_that_exist(monkeypatch):
    """The time of a function that does not exist would silently count for the stage around it."""
    monkeypatch.syspath_prepend(TREE / "bench/figures")
    functions = importlib.import_module("stages").STAGE_OF
    sources = "".join(path.read_text() for folder in ("src", "bench") for path in (TREE / folder).rglob("*.[ch]"))
    prefixes = re.findall(r"ISA_NAME\((\w+)\)", sources)
    defined = {f"{prefix}_{isa}" for prefix in prefixes for isa in ("avx512", "avx2", "plain")}
    assert [name for name in functions if name not in defined and not re.search(rf"\b{name}\(", sources)] == []


@pytest.mark.parametrize("page", MEASURED, ids=name)
def test_handwritten_text_of_measured_pages_has_no_figures(page):
    """Cycles, milliseconds and ratios may stand only where bench/figures/publish.py writes them."""
    words = re.sub(r"<!--begin.*?<!--end-->|<!--is.*?<!---->", "", page.read_text(), flags=re.DOTALL)
    assert re.findall(r"\d[\d.]*\s*(?:cy|cycles|ms|MB|GHz|M/s|%|times|x)\b", words) == []


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
    for each in EXAMPLES:
        update(each)
