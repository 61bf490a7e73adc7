# SPDX-License-Identifier: BSD-3-Clause
"""script/bench --tables: what it measures, and what it does if the machine is too small or somebody interrupts it."""

import importlib
import json
import os
import resource
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from lab.tools import wait_until
from support.tree import BUILD, TREE


@pytest.fixture(name="waits")
def module_waits(monkeypatch):
    monkeypatch.syspath_prepend(TREE / "bench/figures")
    return importlib.import_module("waits")


@pytest.fixture
def files():
    """The folder of the benchmark's files. Its name is short, so that the director's files are there, too."""
    with tempfile.TemporaryDirectory(prefix="glb-") as folder:
        yield Path(folder)


@pytest.fixture
def start(files):
    """start(OPTION...) runs the benchmark in a session of its own."""
    environment = {**os.environ, "TMPDIR": str(files), "GLB_BUILD": str(BUILD)}

    def run(*options, **keys):
        keys = {"env": environment, **keys}
        return subprocess.Popen([TREE / "script/bench", "--tables", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True, **keys)

    return run


def members(session):
    """The names of the processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = path.read_text().rpartition(") ")
        except OSError:
            continue
        state, _, _, of, *_ = rest.split()
        if int(of) == session and state not in "ZX":
            found.append(head.partition("(")[2])
    return found


def one_cpu():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def run_with_disk(files, size, *options, fill=""):
    """Runs the benchmark of one size with a disk of its own for its files. The last line of stdout are the files that remain."""
    script = f'mount -t tmpfs -o size={size} none {files} || exit; {fill}\n"$@"; code=$?; ls -d {files}/*; exit $code'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", TREE / "script/bench", "--tables", "--size", "1x256", *options]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(files), "GLB_BUILD": str(BUILD)})


def finish(process, code=0):
    out, err = process.communicate()
    assert process.returncode == code, err
    assert members(process.pid) == []
    return out, err


def test_quick_run_has_a_row_for_each_step_and_size_on_one_cpu(start, files, tmp_path, waits):
    out, err = finish(start("--quick", "--json", tmp_path / "rows.json", preexec_fn=one_cpu))
    rows = json.loads((tmp_path / "rows.json").read_text())
    expected = {(step, *size) for size in waits.QUICK for step in (["check"] if size == waits.REFUSED else waits.STEPS)}
    assert err == "" and {(row["step"], row["tables"], row["backends"]) for row in rows[1:]} == expected and len(rows) == 1 + len(expected)
    assert rows[0]["step"] == "machine" and rows[0]["cpus"] == 1
    assert all(0 < row["seconds"] < 60 and 1 < row["mib"] <= waits.memory_mib((row["tables"], row["backends"])) for row in rows[1:])
    assert len(out.splitlines()) == len(expected) + len(waits.QUICK)
    assert f"{waits.REFUSED[1]} backends, which check refuses: a table has at most 4096" in out
    assert list(files.iterdir()) == []


def test_a_long_name_of_the_folder_is_no_problem(start, files):
    (files / ("long" * 30)).mkdir()
    finish(start("--size", "1x256", env={**os.environ, "TMPDIR": str(files / ("long" * 30)), "GLB_BUILD": str(BUILD)}))


def test_a_size_is_measured_again_and_the_others_are_kept(start, tmp_path):
    path = tmp_path / "rows.json"
    old = {"step": "edit", "tables": 64, "backends": 256, "seconds": 1, "mib": 1, "runs": 1}
    path.write_text(json.dumps([{"step": "machine"}, old]))
    finish(start("--quick", "--size", "1x65536", "--json", path))
    finish(start("--quick", "--size", "1x65536", "--json", path))
    rows = json.loads(path.read_text())
    assert [row["step"] for row in rows] == ["machine", "check", "edit"] and rows[2] == old and "what" in rows[0]
    finish(start("--quick", "--size", "1x256", "--step", "check", "--json", path))
    finish(start("--quick", "--size", "1x256", "--step", "diff", "--json", path))
    steps = [row["step"] for row in json.loads(path.read_text()) if (row.get("tables"), row.get("backends")) == (1, 256)]
    assert sorted(steps) == ["check", "diff", "edit", "edit_all", "edit_bind"]


@pytest.mark.parametrize("content", ["not JSON", '{"tables": []}', "[1]"])
def test_a_file_of_something_else_is_refused_before_the_measurement(start, tmp_path, content):
    path = tmp_path / "rows.json"
    path.write_text(content)
    out, err = finish(start("--quick", "--json", path), code=1)
    assert out == "" and err.startswith(f"script/bench --tables: {path}: is not a file of script/bench --tables --json: remove it")
    assert path.read_text() == content


def test_a_size_that_is_not_measured_is_refused(start):
    _, err = finish(start("--size", "3x7"), code=2)
    assert "'3x7' is none of 1x256, " in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("running", ["glb-director-cl", "glb-director"])
def test_a_signal_leaves_no_process_and_no_file(start, files, number, running):
    process = start("--quick")
    wait_until(lambda: running in members(process.pid), running)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, err = finish(process, code=128 + number)
    assert err == ""
    assert list(files.iterdir()) == []


def test_a_disk_that_fills_up_ends_the_run_and_leaves_no_file(files, tmp_path):
    fill = f"(until ls {files}/*/drained.json 2>/dev/null; do :; done; cat /dev/zero >{files}/other) >/dev/null 2>&1 &"
    done = run_with_disk(files, "20m", "--json", tmp_path / "rows.json", fill=fill)
    assert done.returncode == 1 and "No space left on device" in done.stderr and len(done.stderr.splitlines()) < 4
    assert done.stderr.startswith("script/bench --tables: ")
    assert done.stdout.splitlines()[-1] == f"{files}/other"
    assert [row["step"] for row in json.loads((tmp_path / "rows.json").read_text())] == ["machine"]


def test_sizes_that_need_more_memory_or_disk_are_skipped(start, files):
    limit = 250 << 20
    out, _ = finish(start("--size", "1024x256", "--size", "1x256", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))))
    assert [line.partition(": skipped: ")[0] for line in out.splitlines()] == ["1024 x 256 backends", "1 x 256 backends"]
    assert "1 x 256 backends: skipped: needs about 303 MiB of memory, and there are 250 MiB" in out
    done = run_with_disk(files, "5m")
    assert done.returncode == 0
    assert "skipped: needs about 11 MiB in " in done.stdout and "and there are 5 MiB: set TMPDIR" in done.stdout
