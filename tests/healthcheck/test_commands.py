# SPDX-License-Identifier: BSD-3-Clause
"""Runs command checks with --check-once and in the daemon: exit codes, and programs that misbehave."""

import json
import os
import re
import subprocess
import tempfile
import textwrap
import time
from pathlib import Path

import nginx
import pytest
from daemon import PROGRAM, Daemon, backend, table, wait_probes
from lab.tools import wait_until
from network import PROXY
from support.tree import BUILD, CLI


@pytest.fixture
def script(tmp_path):
    """Returns a function that writes a program in sh and returns its path."""
    def write(text, name="plugin", mode=0o755):
        path = tmp_path / name
        path.write_text("#!/bin/sh\n" + textwrap.dedent(text))
        path.chmod(mode)
        return path
    return write


def commands(path, *arguments, name="db"):
    return f'( {{ name = "{name}"; command = {json.dumps([str(path), *arguments])}; }} )'


def once(daemon, path, *arguments, **options):
    """Runs the check once. Returns its result and reason."""
    code, rows = daemon(table(backend(PROXY, command="db")), timeout_ms=options.pop("timeout_ms", 5000),
                        commands=commands(path, *arguments), **options).check_once()
    (name, result), = rows.items()
    assert name == f"command db {PROXY}" and code == (0 if result[0] == "passed" else 1)
    return result


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid_file):
    wait_until(lambda: not is_alive(pid_file.read_text().strip()), "the process is gone")


@pytest.mark.parametrize("text, expected", [
    ("echo 'DB OK | time=1ms'", ("passed", "DB OK")),
    ("exit 0", ("passed", "exit code 0")),
    ("echo slow; exit 1", ("passed", "warning: slow")),
    ("echo 'no primary'; echo more; exit 2", ("bad_exit", "critical: no primary")),
    ("echo 'no configuration' >&2; exit 3", ("not_run", "unknown: no configuration")),
    ("exit 3", ("not_run", "unknown")),
    ("echo odd; exit 4", ("bad_exit", "exit code 4: odd")),
    ("exit 126", ("bad_exit", "exit code 126")),
    ("exit 127", ("bad_exit", "exit code 127")),
    ("kill -SEGV $$", ("bad_exit", "killed by signal 11")),
    (r"printf 'a\033[31m\tb\377\n'; exit 2", ("bad_exit", "critical: a [31m b?")),
    ("exec >&- 2>&-; sleep 0.1; exit 2", ("bad_exit", "critical")),
])
def test_exit_codes(daemon, script, text, expected):
    assert once(daemon, script(text)) == expected


def test_arguments_reach_no_shell(daemon, script, tmp_path):
    arguments = ["-H", "{ip}", "a={ip},{ip}", f"$(touch {tmp_path}/x)", ";id", "'", '{"a": 1}', "*", ""]
    path = script('for a in "$@"; do printf "<%s>" "$a"; done; echo')
    result, reason = once(daemon, path, *arguments)
    expected = "".join(f"<{a.replace('{ip}', PROXY)}>" for a in arguments).replace(" ", "")
    reason = reason.replace(" ", "")  # the output is in lines of 80 columns
    assert result == "passed" and reason == expected[:len(reason)] and len(reason) > 100
    assert not (tmp_path / "x").exists()


UNPRIVILEGED = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+net_raw", "--ambient-caps=-all,+net_raw",
                "--bounding-set=-all,+net_raw", "--no-new-privs")


@pytest.mark.parametrize("prefix", [(), UNPRIVILEGED], ids=["root", "unit"])
def test_what_the_program_inherits(here, servers, prefix):
    """No descriptor, capability, variable or terminal of the daemon. It leads its own process group."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        out.chmod(0o1777)
        path = out / "plugin"
        path.write_text(f"#!/bin/sh\ncd {out}; ls /proc/self/fd > fd; env > env; cat /proc/$$/status > status; wc -c > stdin\n"
                        "cut -d' ' -f1,5 /proc/$$/stat > group\n")
        path.chmod(0o755)
        made = Daemon(here, out, table(backend(PROXY, command="db", tcp=nginx.OK, gue=1)), commands=commands(path), timeout_ms=5000)
        assert made.host.run(*prefix, PROGRAM, "-c", str(made.conf), "-1", check=False).stderr.count("error") == 0
        status = dict(line.split(":", 1) for line in (out / "status").read_text().splitlines())
        assert int(status["CapEff"], 16) & 1 << 13 == 0 and int(status["CapAmb"], 16) & 1 << 13 == 0
        assert (out / "fd").read_text() == "0\n1\n2\n3\n"  # ls itself opened the last one
        assert (out / "stdin").read_text() == "0\n"
        pid, group = (out / "group").read_text().split()
        assert pid == group
        variables = {line.split("=")[0] for line in (out / "env").read_text().splitlines()}
        assert {"PATH", "LC_ALL"} <= variables <= {"PATH", "LC_ALL", "PWD", "SHLVL", "_", "OLDPWD"}


def test_reload_command_has_no_raw_sockets(daemon, tmp_path):
    made = daemon(table(backend(PROXY, tcp=nginx.OK)), reload_command=f'"cat /proc/self/status > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/status"')
    made.start().wait_ready()
    wait_until((tmp_path / "status").exists, "the command ran")
    status = dict(line.split(":", 1) for line in (tmp_path / "status").read_text().splitlines())
    assert int(status["CapEff"], 16) & 1 << 13 == 0


def test_time_out_kills_the_whole_group(daemon, script, tmp_path):
    path = script(f"sleep 1000 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/parent; wait")
    result, reason = once(daemon, path, timeout_ms=300)
    assert result == "timeout" and reason.startswith("no reply within ")
    gone(tmp_path / "child")
    gone(tmp_path / "parent")


def test_what_a_command_leaves_behind_ends_with_it(daemon, script, tmp_path):
    """It also holds the pipe. The check does not wait for that."""
    path = script(f"sleep 1000 & echo $! > {tmp_path}/child; echo done")
    assert once(daemon, path) == ("passed", "done")
    gone(tmp_path / "child")


def test_a_process_of_another_group_that_holds_the_pipe(daemon, script, tmp_path):
    child = tmp_path / "child"  # it has its own group before the script ends
    path = script(f"setsid sh -c 'echo $$ > {child}; exec sleep 1000' & until [ -s {child} ]; do sleep 0.01; done; echo done; exit 2")
    assert once(daemon, path) == ("bad_exit", "critical: done")
    os.kill(int(child.read_text()), 9)


def test_a_command_that_fills_its_output(daemon, script, tmp_path):
    path = script(f"echo $$ > {tmp_path}/pid; exec yes")
    assert once(daemon, path) == ("bad_exit", "the command wrote more than 65536 bytes")
    gone(tmp_path / "pid")
    path = script("head -c 65536 /dev/zero | tr '\\0' x; exit 2")
    result, reason = once(daemon, path)
    assert result == "bad_exit" and reason.replace(" ", "") == "critical:" + 149 * "x"


def test_commands_run_at_most_so_many_at_once(daemon, script, tmp_path):
    path = script(f"""
        cd {tmp_path}; : > run.$$; set -- run.*; echo $# >> counts; sleep 0.02; rm run.$$
    """)
    backends = [backend(f"10.78.2.{i}", command="db") for i in range(1, 101)]
    made = daemon(table(*backends), commands=commands(path), max_commands=4, timeout_ms=5000)
    code, rows = made.check_once()
    assert code == 0 and len(rows) == 100
    counts = [int(line) for line in (tmp_path / "counts").read_text().split()]
    assert len(counts) == 100 and 2 <= max(counts) <= 4


def test_hanging_commands_delay_no_other_check(daemon, script):
    path = script("exec sleep 1000")
    backends = [backend(f"10.78.2.{i}", command="db") for i in range(1, 51)]
    made = daemon(table(backend(PROXY, http=nginx.OK), *backends), commands=commands(path), max_commands=1,
                  panic_threshold=0, max_concurrent=2).start()

    def passed():
        return int(re.search('kind="http",result="passed"} ([0-9]+)', made.get("/metrics")[2])[1])

    made.wait_ready()
    before, started = passed(), time.monotonic()
    wait_until(lambda: passed() >= before + 5, "5 http checks passed")
    assert time.monotonic() - started < 5  # 50 commands in a row take 7.5 s


def test_a_command_that_cannot_be_killed(daemon, script, tmp_path):
    """A library takes the daemon's kill() away. The check runs no second process, others run on, and it recovers."""
    path = script(f"""
        [ "$1" = 10.78.0.1 ] && [ ! -e {tmp_path}/healed ] || exit 0
        echo $$ >> {tmp_path}/pids; exec sleep 1000
    """)
    made = daemon(table(backend("10.78.0.1", command="db"), backend("10.78.0.2", command="db")), panic_threshold=0,
                  commands=commands(path, "{ip}"), max_commands=1)
    made.start(LD_PRELOAD=str(BUILD / "tests/driver/no_kill.so"))
    made.logged("process ")
    stuck = (tmp_path / "pids").read_text().split()
    assert len(stuck) == 1 and is_alive(stuck[0])
    assert f"command db 10.78.0.1 could not be run on this host, its verdict stays: process {stuck[0]} of an earlier run was killed" in made.log()
    wait_probes(made, 6)
    checks = {b["ip"]: b["checks"][0] for b in made.status()["tables"][0]["backends"]}
    assert checks["10.78.0.2"]["result"] == "passed" and checks["10.78.0.1"]["result"] == "not_run"
    assert (tmp_path / "pids").read_text().split() == stuck
    (tmp_path / "healed").touch()
    os.kill(int(stuck[0]), 9)
    made.wait_healthy({"10.78.0.1": True, "10.78.0.2": True})
    made.stop()


@pytest.mark.parametrize("change, expected", [
    (lambda path: path.unlink(), "cannot be run: No such file or directory"),
    (lambda path: path.chmod(0o644), "cannot be run: Permission denied"),
    (lambda path: path.chmod(0o757), "can be changed by every user: chmod o-w"),
    (lambda path: path.write_text("#!/nonexistent\n"), "cannot be run: No such file or directory"),
    (lambda path: path.write_bytes(b"\x7fELF"), "cannot be run: Exec format error"),
    (lambda path: path.parent.chmod(0o777), "can be replaced by every user: chmod o-w its folder"),
])
def test_a_program_that_breaks_after_start_changes_no_verdict(daemon, script, change, expected):
    folder = script("exit 0").parent / "folder"
    folder.mkdir()
    path = script("exit 0", "folder/plugin")
    made = daemon(table(backend(PROXY, command="db")), commands=commands(path), panic_threshold=0).start().wait_ready()
    change(path)
    made.logged(f"its verdict stays: the program {expected}")
    check, = made.status()["tables"][0]["backends"][0]["checks"]
    assert (check["verdict"], check["result"], check["reason"]) == ("healthy", "not_run", f"the program {expected}")


@pytest.mark.parametrize("setting, expected", [
    ('( { name = "db"; command = ["plugin"]; } )', "commands[0].command[0]: 'plugin' is not a full path, which begins with '/'"),
    ('( { name = "db"; command = ["/nonexistent/plugin"]; } )', "'/nonexistent/plugin' cannot be run: No such file or directory"),
    ('( { name = "db"; command = ["/etc/passwd"]; } )', "'/etc/passwd' cannot be run: Permission denied"),
    ('( { name = "db"; command = ["/bin"]; } )', "'/bin' cannot be run: it is not a file"),
    ('( { name = "db"; command = "/bin/true"; } )', 'commands[0].command: is not a list of 1 to 64 strings: ["/full/path", "ARGUMENT"]'),
    ('( { name = "db"; command = []; } )', "is not a list of 1 to 64 strings"),
    ('( { name = "db"; command = ["/bin/true", "{host}"]; } )', "'{host}' is not known; {ip} stands for the address of the proxy"),
    ('( { name = "a b"; command = ["/bin/true"]; } )', "'a b' is not a name of at most 64 letters, digits, '.', '_' and '-'"),
    ('( { name = "a"; command = ["/bin/true"]; }, { name = "a"; command = ["/bin/true"]; } )', "commands[1].name: 'a' is given twice"),
    ('( { command = ["/bin/true"]; } )', "commands[0].name: missing; write the name by which tables call the command"),
    ('{ name = "a"; }', "commands: a group { ... } is not a list"),
])
def test_faults_of_commands(daemon, setting, expected):
    made = daemon(table(backend(PROXY)), commands=setting)
    run = subprocess.run([CLI, "check", made.conf], capture_output=True, text=True, check=False)
    assert run.returncode != 0 and expected in run.stderr


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_program_that_others_can_change_is_refused(daemon, script, mode):
    made = daemon(table(backend(PROXY)), commands=commands(script("exit 0", mode=mode)))
    run = subprocess.run([CLI, "check", made.conf], capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "can be changed by every user" in run.stderr


def test_a_table_cannot_bring_its_own_command(daemon, script):
    made = daemon(table(backend(PROXY, command="db")), commands=commands(script("exit 0"))).start().wait_ready()
    made.write_src(table(backend(PROXY, command="dbx")))
    made.logged("tables[0].backends[0].healthchecks.command: 'dbx' is not one of the commands in healthcheck.conf: db")
    made.write_src(table(backend(PROXY, command="/bin/true")))
    made.logged("'/bin/true' is not a name of at most 64 letters")
    status = made.status()
    assert status["src"]["refused"] == 2 and status["tables"][0]["backends"][0]["verdict"] == "healthy"


def test_no_command_outlives_a_daemon_that_stops(daemon, script, tmp_path):
    """One that still runs may have sockets of the daemon, so that the next daemon could not serve on its port."""
    path = script(f"echo $$ >> {tmp_path}/pids; exec sleep 1000")
    made = daemon(*[table(backend(f"10.78.1.{i + 1}", command="db"), name=f"t{i}", vips=[f"203.0.113.{i}"]) for i in range(100)],
                  commands=commands(path), timeout_ms=100000, max_commands=100).start()
    pids = tmp_path / "pids"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 100, "all commands run")
    made.stop()
    assert not [pid for pid in pids.read_text().split() if is_alive(pid)]


def test_a_running_command_ends_with_the_daemon_and_with_its_check(daemon, script, tmp_path):
    path = script(f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    made = daemon(table(backend(PROXY, command="db", tcp=nginx.OK)), commands=commands(path), timeout_ms=100000).start()
    wait_until((tmp_path / "pid").exists, "the command runs")
    wait_until(lambda: (tmp_path / "pid").read_text(), "the command runs")
    made.write_src(table(backend(PROXY, tcp=nginx.OK)))
    gone(tmp_path / "pid")
    (tmp_path / "pid").unlink()
    made.write_src(table(backend(PROXY, command="db", tcp=nginx.OK)))
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the command runs")
    made.process.kill()
    made.process.wait()
    gone(tmp_path / "pid")
