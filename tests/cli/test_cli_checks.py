# SPDX-License-Identifier: BSD-3-Clause
"""How show, diff and edit print health checks and their settings. No value of a header is printed."""

import copy
import json

import pytest

from support.cli import backend, run, table

SECRET = "s3cr3t"
CHECKS = {"http": 80, "http_uri": "/status", "http_headers": {"X-Token": SECRET, "Accept": "*/*"}, "grpc": 50051, "grpc_service": "a.B",
          "gue": 19523, "command": "db"}
DOCUMENT = {
    "healthchecks": {"http_host": "www.example.com", "http_status": "200"},
    "tables": [table("web", [{**backend("192.168.50.10"), "healthchecks": CHECKS}, backend("192.168.50.11")],
                     hash_key=1, healthchecks={"http_status": "204"})],
}
TEXT = "http 80 /status (host www.example.com, status 204, headers X-Token Accept), grpc 50051 a.B (host www.example.com), gue 19523, command db"


def write(path, change=None):
    document = copy.deepcopy(DOCUMENT)
    if change:
        change(document, document["tables"][0]["backends"][0]["healthchecks"])
    path.write_text(json.dumps(document, indent=2))
    return path


def words(text):
    return " ".join(text.split())


def test_show(tmp_path):
    path = write(tmp_path / "t.json")
    shown = run("show", path).stdout
    assert f"backend health checks 192.168.50.10 {TEXT}" in words(shown) and SECRET not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    backends = json.loads(run("show", "--json", path).stdout)["tables"][0]["backends"]
    assert [each["checks"] for each in backends] == [TEXT, None]


def test_show_of_a_binary_table_has_no_checks(tmp_path):
    run("build-config", write(tmp_path / "t.json"), tmp_path / "t.bin")
    assert "health checks" not in run("show", tmp_path / "t.bin").stdout
    assert json.loads(run("show", "--json", tmp_path / "t.bin").stdout)["tables"][0]["backends"][0]["checks"] is None


@pytest.mark.parametrize("change, expected", [
    (lambda document, checks: checks.update(gue=None), f"{TEXT} -> {TEXT.replace(', gue 19523', '')}"),
    (lambda document, checks: document["tables"][0]["healthchecks"].clear(), f"{TEXT} -> {TEXT.replace('204', '200')}"),
    (lambda document, checks: checks.update(http_tls=True), f"{TEXT} -> {TEXT.replace('204,', '204, tls true,').replace('com), gue', 'com, tls true), gue')}"),
    (lambda document, checks: checks.pop("grpc_service"), f"{TEXT} -> {TEXT.replace(' a.B', '')}"),
    (lambda document, checks: checks.clear(), f"{TEXT} -> none"),
    (lambda document, checks: checks["http_headers"].update({"X-Token": SECRET + "2"}), "other http_headers"),
])
def test_diff(tmp_path, change, expected):
    old, new = write(tmp_path / "old.json"), write(tmp_path / "new.json", change)
    shown = run("diff", old, new).stdout
    assert words(shown).endswith(f"web: backend 192.168.50.10: checks: {expected}") and SECRET not in shown
    assert json.loads(run("diff", "--json", old, new).stdout)["checks"] == [f"web: backend 192.168.50.10: checks: {expected}"]


def test_diff_of_equal_checks(tmp_path):
    old, new = write(tmp_path / "old.json"), write(tmp_path / "new.json")
    assert json.loads(run("diff", "--json", old, new).stdout)["checks"] == []
    run("build-config", old, tmp_path / "t.bin")
    assert json.loads(run("diff", "--json", tmp_path / "t.bin", new).stdout)["checks"] == []


def test_edit(tmp_path):
    path = write(tmp_path / "t.json")
    shown = run("edit", path, "set", "192.168.50.10", "http_host=a.example.com", "http_verify=false").stdout
    assert "(host a.example.com, verify false, headers X-Token Accept)" in shown and SECRET not in shown
    shown = run("edit", path, "set", "http_status=200-299", "http_method=HEAD").stdout
    assert "web: http_method of the health checks changed\nweb: http_status of the health checks changed\n" in shown
    checks = json.loads(path.read_text())["tables"][0]["healthchecks"]
    assert checks == {"http_status": "200-299", "http_method": "HEAD"}
