# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli health: exit codes and output for each state, with a stand-in for DPDK's telemetry socket."""

import subprocess

import pytest
from test_cli_telemetry import SILENCE, director

from support.cli import run, run_json
from support.tree import CLI

REASON = {"severity": "degraded", "cause": "link_down", "object": "port 1 (eth1)", "since": 1795348800,
          "text": "the link is ", "text_2": "down: check the cable"}


def reply(state, *reasons, omitted=0):
    return {"/glb/health": {
        "state": state, "since": 1795348800, "now": 1795348860, "digest": "d" * 16, "generation": 3, "table_age": 60, "last_reload": 0,
        "reasons": {str(i): reason for i, reason in enumerate(reasons)}, "omitted": omitted}}


@pytest.mark.parametrize("state, code", (("ok", 0), ("degraded", 1), ("failing", 2), ("starting", 2), ("stopping", 2), ("later", 2)))
def test_exit_code_tells_the_state(state, code, tmp_path):
    with director(tmp_path, reply(state)) as (environment, questions):
        shown = run("health", code=code, env=environment).stdout
    assert shown == f"{state} since 2026-11-22 12:00:00 UTC\ntable: generation 3, digest dddddddddddddddd, 60 s old\n"
    assert questions == ["/glb/health"]


def test_reasons_are_printed_with_object_and_time(tmp_path):
    with director(tmp_path, reply("degraded", REASON, {**REASON, "object": "port 2 (eth2)"}, omitted=3)) as (environment, _):
        shown = run("health", code=1, env=environment).stdout
        found = run("health", "--json", code=1, env=environment)
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "degraded: link_down: port 1 (eth1): the link is down: check the cable" in " ".join(shown.split())
    assert shown.splitlines()[-1] == "and 3 more"
    assert '"text": "the link is down: check the cable"' in found.stdout and "text_2" not in found.stdout


def test_json_has_a_list_of_reasons(tmp_path):
    with director(tmp_path, reply("ok")) as (environment, _):
        assert run_json("health", env=environment)["reasons"] == []


@pytest.mark.parametrize("answer", (None, SILENCE, b"not JSON", {"/glb/health": None}, {"/glb/health": {}}, {"/glb/health": {"state": 0}}))
def test_director_without_a_valid_reply_does_not_look_degraded(answer, tmp_path):
    with director(tmp_path, answer) as (environment, _):
        run("health", "--timeout", "1", code=2, env=environment)


def test_dead_director_does_not_look_degraded(tmp_path):
    with director(tmp_path, reply("ok")) as (environment, _):
        pass
    assert "nobody listens" in run("health", code=2, env=environment).stderr
    (tmp_path / "dpdk/rte/dpdk_telemetry.v2").unlink()
    assert "no such socket" in run("health", code=2, env=environment).stderr


def test_lost_output_does_not_improve_the_code(tmp_path):
    for state, code in (("degraded", 1), ("failing", 2)):
        with director(tmp_path, reply(state)) as (environment, _), open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([CLI, "health"], env=environment, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
            assert done.returncode == code
