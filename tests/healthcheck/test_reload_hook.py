# SPDX-License-Identifier: BSD-3-Clause
"""The reload hook of glb-healthcheck: reload_command, or build and notify."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import nginx
import peers
import pytest
from daemon import PROGRAM, backend, table, wait_probes
from lab.tools import wait_until
from network import ELSEWHERE, PROXY
from support.tree import CLI


def digest_of(path):
    return json.loads(subprocess.run([CLI, "show", "--json", path], check=True, capture_output=True).stdout)["digest"]


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
    made.write_conf(reload_command=f'"sleep 1000 & echo $! > {pid_file}; sleep 1000"', reload_timeout_ms=8000)
    made.start().wait_ready()
    wait_until(lambda: pid_file.exists() and pid_file.read_text(), "the command")
    grandchild = f"/proc/{pid_file.read_text().strip()}/cmdline"
    wait_probes(made, 3)
    assert made.status()["reload"]["state"] == "running"
    made.logged("reload_command: still running after 8000 ms, killed")
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


def test_director_whose_libraries_are_not_loaded_yet_gets_no_signal(daemon):
    """SIGHUP would end it. It gets the signal as soon as it takes it."""
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    binary, pid_file, ran, loaded = (made.folder / name for name in ("table.bin", "pid", "hup", "loaded"))
    program = ("import os, signal, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.05)\n"
               "signal.signal(signal.SIGHUP, lambda *_: open(sys.argv[2], 'a').write('hup\\n'))\nwhile True: signal.pause()")
    director = subprocess.Popen(["env", "--default-signal=HUP", sys.executable, "-c", program, loaded, ran])
    try:
        pid_file.write_text(f"{director.pid}\n")
        made.write_conf(reload=f'{{ build = "{binary}"; notify = "{pid_file}"; }}')
        made.start().wait_ready()
        wait_until(binary.exists, "the table, which is built before the notification")
        loaded.touch()
        wait_until(lambda: director.poll() is not None or (ran.exists() and ran.read_text() == "hup\n"), "SIGHUP")
        assert director.poll() is None
    finally:
        director.kill()
        director.wait()


def test_process_that_sighup_would_end_gets_none(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    other = subprocess.Popen(["env", "--default-signal=HUP", "sleep", "1000"])
    try:
        (made.folder / "pid").write_text(f"{other.pid}\n")
        made.write_conf(reload=f'{{ build = "{made.folder}/table.bin"; notify = "{made.folder}/pid"; }}', reload_timeout_ms=400)
        made.start().wait_ready()
        made.logged(f"exit code 1: {made.folder}/pid: process {other.pid} gets no SIGHUP, because it would end by it: is it a director?\n")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


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
    assert digest_of(binary) == digest_of(made.dst)
    made.logged(f"warning: reload: {pid_file} was notified, but does not tell which table it uses\n")


def test_reload_command_does_not_inherit_capabilities(daemon):
    made = daemon(table(backend(PROXY, gue=peers.GUE)))
    made.write_conf(reload_command='"grep CapAmb /proc/self/status; exit 1"')
    made.start("setpriv", "--inh-caps=+net_raw", "--ambient-caps=+net_raw").wait_ready()
    made.logged("exit code 1: CapAmb: 0000000000000000\n")
    own, = re.findall(r"CapEff:\t(\w+)", Path(f"/proc/{made.pid()}/status").read_text())
    assert int(own, 16) & 1 << 13  # the daemon keeps CAP_NET_RAW


SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$HERE/ran"
[ "$1" = reload ] || cat "$HERE/status"
"""


def metric(made, name):
    return next(line.split()[1] for line in made.get("/metrics")[2].splitlines() if line.startswith(f"glb_healthcheck_{name} "))


def test_table_of_the_director_is_compared_with_the_one_that_was_built(daemon):
    """The director's unit may name another file than `build`: its reload then succeeds with an old table."""
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    binary, status = made.folder / "table.bin", made.folder / "status"
    (made.folder / "systemctl").write_text(SYSTEMCTL)
    (made.folder / "systemctl").chmod(0o755)
    made.write_conf(reload=f'{{ build = "{binary}"; notify = "glb-director.service"; }}')
    status.write_text("ok; 1 table, generation 7, digest 0123456789abcdef\n")
    made.start(PATH=f"{made.folder}:{os.environ['PATH']}", HERE=str(made.folder)).wait_ready()
    wait_until(binary.exists, "the table was built")
    made.logged("error: reload failed (1 in a row), next attempt in 1 s: the director does not use the new table: "
                "the director (glb-director.service) uses a table with digest 0123456789abcdef, "
                f"but {binary} was built with digest {digest_of(binary)}: start the director with --forwarding-table {binary}\n")
    state = made.status()["reload"]
    assert state["director"] == "stale" and "0123456789abcdef" in state["error"]
    assert metric(made, "director_stale") == "1" and metric(made, "reload_failing") == "1"
    shown = made.host.run(PROGRAM, "status", "--config-file", str(made.conf), check=False)
    assert shown.returncode == 1 and "the director uses another table" in " ".join(shown.stdout.split())

    status.write_text(f"degraded: x; 1 table, generation 8, digest {digest_of(binary)}\n")
    made.logged("notice: reload works again, after ")
    assert made.status()["reload"]["director"] == "current" and metric(made, "director_stale") == "0"
    assert (made.folder / "ran").read_text().startswith(
        "reload glb-director.service\nshow --property=StatusText --value glb-director.service\n")

    status.write_text("starting\n")
    made.kill(signal.SIGHUP)
    made.logged("warning: reload: glb-director.service was notified, but does not tell which table it uses\n")
    assert made.status()["reload"]["director"] == "unknown"
    assert (metric(made, "director_unverified"), metric(made, "reload_failing")) == ("1", "0")


def test_notify_without_a_pid_file(daemon):
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.write_conf(reload=f'{{ build = "{made.folder}/table.bin"; notify = "{made.folder}/pid"; }}')
    made.start().wait_ready()
    made.logged(f"reload failed (1 in a row), next attempt in 1 s: exit code 1: {made.folder}/pid: No such file or directory")


def truncate(path):
    path.write_bytes(b"")


def damage(path):
    path.write_bytes(path.read_bytes()[::-1])


def replace(path):
    os.rename(shutil.copy(path, f"{path}.other"), path)
    path.write_bytes(path.read_bytes() + b" ")


def remove_the_folder(path):
    shutil.rmtree(path.parent)
    path.parent.mkdir()


def built(daemon, **options):
    """A daemon whose binary table and dst are in a folder of their own. Returns both paths, too."""
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    folder = made.folder / "out"
    folder.mkdir()
    made.dst = folder / "dst.json"
    made.write_conf(reload=f'{{ build = "{folder}/table.bin"; }}', **options)
    made.start().wait_ready()
    wait_until(lambda: made.status()["reload"]["state"] == "done" and all(made.healthy().values()), "reload")
    return made, made.dst, folder / "table.bin"


@pytest.mark.parametrize("watch", ["true", "false"])
@pytest.mark.parametrize("harm", [os.unlink, truncate, damage, replace, remove_the_folder])
def test_what_another_program_did_to_the_tables_is_undone(daemon, harm, watch):
    made, dst, binary = built(daemon, watch=watch)
    contents = {path: path.read_bytes() for path in (dst, binary)}
    for path in (binary, dst):
        harm(path)
        wait_until(lambda: all(path.exists() and path.read_bytes() == content for path, content in contents.items()), f"{harm}: {path}")
        made.logged(f"warning: table {path} was changed or removed by another program, so it is made again")
    wait_until(lambda: made.status()["reload"]["state"] == "done", "reload")


@pytest.mark.parametrize("harm", [os.unlink, replace])
def test_what_another_program_did_while_a_write_ended_is_undone(daemon, harm):
    """The daemon has renamed the file, but waits for fsync() of the folder."""
    made = daemon(table(backend(PROXY, http=nginx.OK)))
    made.start("strace", "-D", "-f", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:delay_exit=500000").wait_ready()
    made.dst.unlink()
    wait_until(made.dst.exists, "dst")
    content = made.dst.read_bytes()
    harm(made.dst)
    made.logged(f"warning: table {made.dst} was changed or removed by another program, so it is made again", 2)
    wait_until(lambda: made.dst.exists() and made.dst.read_bytes() == content, made.log)


def test_nothing_is_made_again_for_a_new_mode_or_the_same_content(daemon):
    made, dst, binary = built(daemon)
    before = made.status()
    binary.chmod(0o644)
    dst.chmod(0o644)
    os.rename(shutil.copy(dst, f"{dst}.other"), dst)
    damage(binary)
    made.logged(f"warning: table {binary} was changed or removed")
    wait_until(lambda: made.status()["reload"]["state"] == "done", "reload")
    assert (made.status()["dst"]["writes"], made.status()["reload"]["runs"]) == (before["dst"]["writes"], before["reload"]["runs"] + 1)


def test_a_program_that_always_replaces_the_table_does_not_keep_the_daemon_busy(daemon):
    made, _, binary = built(daemon)
    before, start = made.status()["reload"]["runs"], time.monotonic()
    stop = threading.Event()

    def fight():
        while not stop.wait(0.01):
            binary.write_bytes(b"mine")

    thread = threading.Thread(target=fight)
    thread.start()
    try:
        made.logged(f"warning: table {binary} was changed or removed", 3)
    finally:
        runs, took = made.status()["reload"]["runs"] - before, time.monotonic() - start
        stop.set()
        thread.join()
    assert runs <= 3 and took > 2 * 5  # a look each 5 s


def test_a_full_disk_does_not_end_the_repair(daemon):
    made, dst, binary = built(daemon)
    content = binary.read_bytes()
    made.host.run("mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2", "tmpfs", str(binary.parent))
    made.logged("error: table not written (2 in a row)")
    assert made.process.poll() is None and "No space left" in made.status()["dst"]["error"]
    made.host.run("umount", str(binary.parent))
    wait_until(lambda: not made.status()["dst"]["error"], "a write")
    assert binary.read_bytes() == content and dst.exists()
