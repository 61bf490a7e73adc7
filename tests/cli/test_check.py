# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli check: recognises each kind of file by its content, and says what it saw."""

import subprocess

import pytest

from support.cli import CHECK_ERRORS, CHECK_WARNINGS, OK, USAGE, run, run_json, table, write_conf, write_tables
from support.tree import CLI, TREE

HEALTHCHECK = 'forwarding_table = { src = "/etc/glb/a.json"; dst = "/var/lib/glb/b.json"; };\n'


@pytest.fixture
def good(tmp_path):
    """{kind: a valid file}"""
    run("build-config", write_tables(tmp_path / "table.json", table()), tmp_path / "table.bin")
    (tmp_path / "healthcheck.conf").write_text(HEALTHCHECK)
    return {
        "JSON table": tmp_path / "table.json",
        "binary table": tmp_path / "table.bin",
        "director.conf": write_conf(tmp_path / "director.conf"),
        "healthcheck.conf": tmp_path / "healthcheck.conf",
    }


NAMES = ["table.json", "table.bin", "director.conf", "healthcheck.conf", "glb-director", "x", "x.txt"]


@pytest.mark.parametrize("name", NAMES)
def test_content_decides_the_kind_whatever_the_name(name, good, tmp_path):
    for kind, path in good.items():
        (tmp_path / "other").mkdir(exist_ok=True)
        copy = tmp_path / "other" / name
        copy.write_bytes(path.read_bytes())
        done = run("check", copy)
        assert done.stdout.startswith(f"{copy}: valid {kind}") and done.stderr == ""
        assert run_json("check", copy)["files"] == [{"file": str(copy), "kind": kind, "errors": [], "warnings": []}]


def test_the_kind_of_a_faulty_file_is_told_too(good, tmp_path):
    bad = tmp_path / "bad"
    for kind, old, new in (("JSON table", '"tcp"', '"sctp"'), ("director.conf", "outbound_src_ip", "outbound_source_ip"),
                           ("healthcheck.conf", "src", "source")):
        bad.write_text(good[kind].read_text().replace(old, new, 1))
        done = run("check", bad, code=CHECK_ERRORS)
        assert done.stdout.startswith(f"{bad}: invalid {kind}, ") and done.stderr.startswith(f"glb-director-cli: {bad}:")
    bad.write_bytes(good["binary table"].read_bytes()[:-1])
    assert run("check", bad, code=CHECK_ERRORS).stdout == f"{bad}: invalid binary table, 1 error\n"


def test_glb_s_configurations_in_json_are_not_taken_for_tables(tmp_path):
    director, healthcheck = tmp_path / "director.conf", tmp_path / "x"
    director.write_text('{ "outbound_gateway_mac": "00:11:22:33:44:55", "lcores": {}, "flow_paths": [] }\n')
    healthcheck.write_text('{ "forwarding_table": { "src": "a", "dst": "b" }, "reload_command": "true" }\n')
    for path, kind in ((director, "director.conf"), (healthcheck, "healthcheck.conf")):
        done = run("check", path, code=CHECK_ERRORS)
        assert done.stdout == f"{path}: invalid {kind}, 1 error\n" and "looks like JSON" in done.stderr


@pytest.mark.parametrize("text, name, kind", [
    ("", "table.json", "JSON table"), ("", "healthcheck.conf", "healthcheck.conf"), ("# only a comment\n", "my.conf", "director.conf"),
    ("", "old-healthcheck-2.conf", "healthcheck.conf"), ("frob = 1;\n", "x", "director.conf"), ("[1]", "x", "JSON table"),
    ("", "x.bin", "binary table"), ("{}", "x.conf", "director.conf"),
])
def test_the_name_decides_if_the_content_does_not_tell(text, name, kind, tmp_path):
    (tmp_path / name).write_text(text)
    assert f": invalid {kind}, " in run("check", tmp_path / name, code=CHECK_ERRORS).stdout


def test_option_kind_decides_for_all_files(good, tmp_path):
    for word, kind in (("json", "JSON table"), ("binary", "binary table"), ("director", "director.conf"), ("healthcheck", "healthcheck.conf")):
        run("check", "--kind", word, good[kind])
        for other in good:
            if other != kind:
                assert f": invalid {kind}, " in run("check", "--kind", word, good[other], code=CHECK_ERRORS).stdout
    done = run("check", "--kind", "table", good["JSON table"], code=USAGE)
    assert done.stderr.splitlines()[0] == (
        "glb-director-cli: check: --kind: 'table' is not one of json|binary|director|healthcheck")


def test_stdin_is_checked_like_a_file(good):
    for kind, path in good.items():
        for how in ({"stdin": open(path, "rb")}, {"input": path.read_bytes()}):
            done = subprocess.run([CLI, "check", "-"], capture_output=True, **how)
            assert done.returncode == OK and done.stdout.decode().startswith(f"stdin: valid {kind}")
    done = run("check", good["JSON table"], "-", input='{"tables": [1]}', code=CHECK_ERRORS)
    assert done.stderr.startswith("glb-director-cli: stdin:1:13: tables[0]: ")
    assert done.stdout.splitlines()[1].startswith("stdin: invalid JSON table, 1 error")


def test_stdin_that_cannot_be_checked_is_an_error(tmp_path):
    closed = subprocess.run(f"exec {CLI} check - <&-", shell=True, capture_output=True, text=True)
    assert (closed.returncode, closed.stdout) == (CHECK_ERRORS, "stdin: not checked\n")
    assert closed.stderr == "glb-director-cli: stdin: cannot be read: Bad file descriptor\n"
    assert "'-' is given twice" in run("check", "-", "-", code=USAGE, input="").stderr
    endless = subprocess.run(f"exec {CLI} check - </dev/zero", shell=True, capture_output=True, text=True, timeout=60)
    assert endless.returncode == CHECK_ERRORS and "a table has at most" in endless.stderr


def test_healthcheck_conf_is_checked_as_glb_healthcheck_reads_it(tmp_path):
    path = tmp_path / "healthcheck.conf"
    path.write_text(HEALTHCHECK.replace("/var/lib/glb/b.json", "/etc/glb/a.json") + 'watch = yes;\n')
    assert run("check", path, code=CHECK_ERRORS).stderr.startswith(f"glb-director-cli: {path}:2: watch: 'yes' is not a number, true, ")
    path.write_text(path.read_text().replace("yes", "true"))
    assert "forwarding_table.dst: '/etc/glb/a.json' is also src" in run("check", path, code=CHECK_ERRORS).stderr
    run("check", TREE / "config" / "healthcheck.conf")


def test_faults_go_to_stderr_and_json_to_stdout(tmp_path):
    warned = write_tables(tmp_path / "warned.json", table("a"), table("b", hash_key=2))
    done = run("check", warned, code=CHECK_WARNINGS)
    assert done.stdout == f"{warned}: valid JSON table, 2 tables, 2 binds, 6 backends, 1 warning\n"
    assert done.stderr.startswith(f"glb-director-cli: warning: {warned}:")
    done = run("check", "--json", warned, code=CHECK_WARNINGS)
    assert done.stderr == ""
