# SPDX-License-Identifier: BSD-3-Clause
"""The reload hook of glb-healthcheck: reload_command, or build and notify."""

import json
import os
import re
import subprocess

import nginx
import peers
import pytest
from daemon import backend, table, wait_probes
from lab.tools import wait_until
from network import ELSEWHERE, PROXY
from support.tree import CLI


def test_reload_command(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.write_conf(reload_command=f'"echo ran >> {made.folder}/ran"')
    made.start().wait_ready()
    wait_until(lambda: made.status()["reload"]["state"] == "done", "reload")
    assert (made.folder / "ran").read_text() == "ran\n"


def test_failing_reload_command_is_logged_and_retried(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.write_conf(reload_command=f'"test -e {made.folder}/works || {{ echo no works >&2; exit 3; }}"')
    made.start().wait_ready()
    made.logged("warning: reload_command: no works")
    made.logged("error: reload_command failed (2 in a row), next attempt in 2 s: exit code 3: no works")
    state = made.status()["reload"]
    assert state["state"] in ("failed", "running") and state["failed"] >= 2 and state["error"] == "exit code 3: no works"
    assert "glb_healthcheck_reload_failing 1\n" in made.get("/metrics")[2]
    (made.folder / "works").touch()
    made.logged("notice: reload_command works again, after")
    assert made.status()["reload"]["state"] == "done"


def test_status_replaces_bytes_that_are_not_utf8(daemon):
    """The last output of a command is Latin-1, and a reason is cut in the middle of a character."""
    text = 63 * "x" + "é"
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.write_conf(reload_command=r'''"printf 'caf\\351 ferm\\351\\n'; exit 3"''', http=f'{{ body = "{text}"; }}')
    made.start().wait_ready()
    wait_until(lambda: made.get("/status")[0] == 200 and made.status()["reload"]["state"] == "failed", "a failed reload")
    status = made.status()
    assert status["reload"]["error"] == "exit code 3: caf? ferm?"
    check, = status["tables"][0]["backends"][0]["checks"]
    assert check["reason"] == f'status 200, but no "{text[:63]}?" in the body'
    assert "warning: reload_command: caf? ferm?\n" in made.log()


def test_write_during_a_reload_hook_runs_it_again(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    copy = made.folder / "copy"
    made.write_conf(reload_command=f'"cp {made.dst} {copy}.new && mv {copy}.new {copy}; sleep 1"')
    made.start().wait_ready()
    wait_until(copy.exists, "first reload")
    made.write_src(table(backend(ELSEWHERE, http=nginx.OK)))
    wait_until(lambda: list(made.healthy()) == [ELSEWHERE], "the new table")
    assert made.status()["reload"]["runs"] == 1  # still running
    wait_until(lambda: copy.read_text() == made.dst.read_text(), "another reload")


def test_hanging_reload_command_is_killed_and_delays_no_check(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    pid_file = made.folder / "pid"
    made.write_conf(reload_command=f'"sleep 1000 & echo $! > {pid_file}; sleep 1000"', reload_timeout_ms=1000)
    made.start().wait_ready()
    wait_until(lambda: pid_file.exists() and pid_file.read_text(), "the command")
    grandchild = f"/proc/{pid_file.read_text().strip()}/cmdline"
    wait_probes(made, 3)
    assert made.status()["reload"]["state"] == "running"
    made.logged("reload_command: still running after 1000 ms, killed")
    made.logged("reload_command failed (1 in a row), next attempt in 1 s: killed by signal 9")
    wait_until(lambda: not os.path.exists(grandchild) or not open(grandchild, "rb").read(), "the end of the grandchild")


def test_long_output_of_the_reload_command_does_not_flood_the_log(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.write_conf(reload_command='"seq 1 100000; echo the last; exit 1"')
    made.start().wait_ready()
    made.logged("reload_command failed (1 in a row), next attempt in 1 s: exit code 1: the last")
    made.logged("warning: reload_command: the rest of the output is not logged\n")
    first = made.log().split("reload_command failed (1 in a row)")[0]
    assert first.count("warning: reload_command: ") == 101 and "reload_command: 100\n" in first
    made.logged("reload_command failed (2 in a row)")  # each run may log a hundred lines
    assert made.log().count("reload_command: 100\n") == 2


def test_reload_command_inherits_no_descriptor(daemon):
    """Checks are running meanwhile, each with an open connection."""
    made = daemon(table(*(backend(f"10.78.1.{i}", http=peers.HANG, gue=peers.GUE) for i in range(1, 50))))
    made.write_conf(reload_command=f'"exec >> {made.folder}/fds; ls -l /proc/$$/fd; echo end; exit 1"',
                    interval_ms=400, timeout_ms=400, hold_ms=0)
    made.start().wait_ready()
    made.logged("reload_command failed (2 in a row)")
    text = (made.folder / "fds").read_text()
    assert text.count("end\n") >= 2 and set(re.findall(r" (\d+) -> ", text)) == {"0", "1", "2"}, text


@pytest.mark.parametrize("text", ["12abc", "", "x", "0", "1", "-5", "99999999999", "12 34"])
def test_pid_file_without_a_process_id(daemon, text):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    (made.folder / "pid").write_text(text)
    made.write_conf(reload=f'{{ build = "{made.folder}/table.bin"; notify = "{made.folder}/pid"; }}')
    made.start().wait_ready()
    made.logged(f"next attempt in 1 s: exit code 1: {made.folder}/pid: does not contain a process id\n")


def test_build_and_notify_by_pid_file(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK), backend(ELSEWHERE, tcp=9)))
    binary, pid_file, ran = (made.folder / name for name in ("table.bin", "pid", "hup"))
    # A shell cannot trap a signal that it inherits as ignored, as under nohup.
    director = subprocess.Popen(["env", "--default-signal=HUP", "sh", "-c", f"trap 'echo hup >> {ran}' HUP; echo $$ > {pid_file}; "
                                 "while :; do sleep 0.05; done"])
    try:
        wait_until(lambda: pid_file.exists() and pid_file.read_text(), "pid file")
        made.write_conf(reload=f'{{ build = "{binary}"; notify = "{pid_file}"; }}')
        made.start().wait_ready()
        wait_until(lambda: ran.exists() and ran.read_text() == "hup\n", "SIGHUP")
    finally:
        director.kill()
        director.wait()
    digests = [json.loads(subprocess.run([CLI, "show", "--json", file], check=True, capture_output=True).stdout)["digest"]
               for file in (binary, made.dst)]
    assert digests[0] == digests[1]


def test_notify_without_a_pid_file(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.write_conf(reload=f'{{ build = "{made.folder}/table.bin"; notify = "{made.folder}/pid"; }}')
    made.start().wait_ready()
    made.logged(f"reload failed (1 in a row), next attempt in 1 s: exit code 1: {made.folder}/pid: No such file or directory")
