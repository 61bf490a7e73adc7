# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli: edit and undo change what they are told, keep every other byte, and lose no version of a table."""

import difflib
import contextlib
import fcntl
import hashlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli.test_cli_telemetry import director
from support.cli import BROKEN, FAILED, OK, USAGE, backend, run, table, write_tables
from support.director_process import NOBODY
from support.folders import open_to_all
from support.tree import CLI, TREE

EXAMPLE = (TREE / "config/forwarding_table.json").read_text()
for name in re.findall(r'"(?:hash_key|seed)": "(.*)"', EXAMPLE):  # these keys are published, which check reports
    EXAMPLE = EXAMPLE.replace(name, hashlib.md5(name.encode()).hexdigest())
ACL = bytes.fromhex("0200000001000600ffffffff0200040 0d20400000400000 0ffffffff10000400ffffffff20000000ffffffff".replace(" ", ""))


@pytest.fixture
def file(tmp_path):
    """The example table: web with two active, a draining and an inactive backend, git with three active ones."""
    path = tmp_path / "t.json"
    path.write_text(EXAMPLE)
    return path


NO_HISTORY = ("--keep", "0")  # edit/test_history.py is about the previous states that edit and undo write


def edit(path, *words, code=OK, **kwargs):
    return run("edit", path, *words, *NO_HISTORY, code=code, **kwargs)


def changed_lines(before, after):
    lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    return [line[0] + line[1:].strip() for line in lines]


def assert_refused(path, *words, code=FAILED, says=()):
    """The edit fails, says why, and changes no file."""
    before = {entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns) for entry in path.parent.iterdir() if entry.is_file()}
    done = edit(path, *words, code=code)
    assert {entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns)
            for entry in path.parent.iterdir() if entry.is_file()} == before
    for text in [says] if isinstance(says, str) else says:
        assert text in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("words, lines", [
    (["drain", "192.168.50.20"],
     ['-{ "ip": "192.168.50.20", "state": "active", "healthy": true },', '+{ "ip": "192.168.50.20", "state": "draining", "healthy": true },']),
    (["undrain", "192.168.50.13", "192.168.50.12", "--max-broken", "100"],
     ['-{ "ip": "192.168.50.12", "state": "draining", "healthy": true },',
      '+{ "ip": "192.168.50.12", "state": "active", "healthy": true },',
      '-{ "ip": "192.168.50.13", "state": "inactive", "healthy": true }',
      '+{ "ip": "192.168.50.13", "state": "active", "healthy": true }']),
    (["remove", "192.168.50.13"],
     ['-{ "ip": "192.168.50.12", "state": "draining", "healthy": true },',
      '+{ "ip": "192.168.50.12", "state": "draining", "healthy": true }',
      '-{ "ip": "192.168.50.13", "state": "inactive", "healthy": true }']),
    (["add", "192.168.50.23", "192.168.50.24", "--table", "git", "--state", "filling"],
     ['-{ "ip": "192.168.50.22", "state": "active", "healthy": true }', '+{ "ip": "192.168.50.22", "state": "active", "healthy": true },',
      '+{ "ip": "192.168.50.23", "state": "filling", "healthy": true },', '+{ "ip": "192.168.50.24", "state": "filling", "healthy": true }']),
    (["set", "192.168.50.22", "state=draining", "http=80", "http_uri=/ü\"", "healthy=false", "gue=none", "grpc=50051", "grpc_service=a.B"],
     ['-{ "ip": "192.168.50.22", "state": "active", "healthy": true }',
      '+{ "ip": "192.168.50.22", "state": "draining", "healthy": false, "healthchecks": { "http": 80, "http_uri": "/ü\\"", "grpc": 50051, "grpc_service": "a.B" } }']),
    (["set", "hops=4", "name=ssh", "--table", "git", "--max-broken", "100"],
     ['-"name": "git",', '+"name": "ssh",', '-"hops": 3,', '+"hops": 4,']),
    (["add-bind", "203.0.113.99:80-90/udp", "[2001:db8::/64]:53/tcp", "--table", "web"],
     ['-{ "ip": "2001:db8:113::10", "proto": "tcp", "port_start": 80, "port_end": 443 }',
      '+{ "ip": "2001:db8:113::10", "proto": "tcp", "port_start": 80, "port_end": 443 },',
      '+{ "ip": "203.0.113.99", "proto": "udp", "port_start": 80, "port_end": 90 },',
      '+{ "ip": "2001:db8::/64", "proto": "tcp", "port": 53 }']),
    (["remove-bind", "203.0.113.10:80/tcp", "[2001:db8:113::10]:80-443/tcp", "--force", "--max-broken", "100"], None),
])
def test_an_edit_changes_only_its_lines(file, words, lines):
    done = edit(file, *words)
    after = file.read_text()
    if lines is not None:
        # Versions of difflib differ in how they mix removed and added lines.
        assert sorted(changed_lines(EXAMPLE, after), key=lambda line: line[0]) == sorted(lines, key=lambda line: line[0])
    else:
        assert after.count('"ip": "203.0.113.10"') == 2 and "2001:db8:113::10" not in after
    assert f"{file}: written; the previous version is in {file}~\n" in done.stdout
    assert (file.parent / "t.json~").read_text() == EXAMPLE
    run("check", file)


def test_crlf_and_tabs_and_unicode_are_kept(tmp_path):
    text = EXAMPLE.replace("  ", "\t").replace("\n", "\r\n").replace('"This file', '"\\u00dcber äöü 😀 {[\\"]}')
    path = tmp_path / "t.json"
    path.write_bytes(text.encode())
    edit(path, "drain", "192.168.50.20")
    assert path.read_bytes().decode() == text.replace('50.20", "state": "active"', '50.20", "state": "draining"')
    edit(path, "add", "192.168.50.29", "--table", "git", "--state", "inactive")
    assert b'"active", "healthy": true },\r\n\t\t\t\t{ "ip": "192.168.50.29", "state": "inactive", "healthy": true }\r\n' in path.read_bytes()


def written(path):
    """What differs if somebody has written the file. Reading it changes only st_atime."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def test_nothing_to_do_writes_nothing(file):
    for words in (["drain", "192.168.50.12"], ["undrain", "192.168.50.20"], ["set", "192.168.50.20", "tcp=none"]):
        before = written(file)
        assert edit(file, *words).stdout == f"{file}: nothing to do\n"
        assert os.listdir(file.parent) == ["t.json"] and written(file) == before


def test_dry_run_shows_the_rows_and_writes_nothing(file):
    before = written(file)
    done = edit(file, "drain", "192.168.50.20", "--dry-run", "--build", "--reload")
    assert "git: backend 192.168.50.20: active -> draining\n" in done.stdout
    assert "21875 of 131072 rows change" in done.stdout
    assert done.stdout.endswith(f"{file}: nothing is written, because of --dry-run\n")
    assert os.listdir(file.parent) == ["t.json"] and written(file) == before


def test_rows_that_break_are_refused_with_3(file):
    for more in ((), ("--dry-run",)):
        done = assert_refused(file, "remove", "192.168.50.20", *more, code=BROKEN, says="refused: 16.69% of the rows break")
        allow, = re.findall(r"--max-broken ([0-9.]+)$", done.stderr, re.M)
        assert "drain a proxy until its connections have ended" in done.stderr and float(allow) < 17
    assert_refused(file, "remove", "192.168.50.20", "--max-broken", float(allow) - 0.02, code=BROKEN)
    edit(file, "remove", "192.168.50.20", "--max-broken", allow)
    assert sorted(os.listdir(file.parent)) == ["t.json", "t.json~"]


@pytest.mark.parametrize("tables, binds, lost, share", [
    (1, 53, 22, "41.51%"),  # hardly more than that
    (6, 4096, 1, "<0.01%"),
])
def test_the_suggested_limit_is_enough(tmp_path, tables, binds, lost, share):
    bind = lambda table, i: {"ip": f"10.{table}.{i // 256}.{i % 256}", "proto": "tcp", "port": 80}
    path = write_tables(tmp_path / "t.json", *(
        table(f"t{i}", hash_key=i, binds=[bind(i, j) for j in range(1 if i else binds)]) for i in range(tables)))
    words = ["remove-bind", *(f"{bind(0, i)['ip']}:80/tcp" for i in range(lost)), "--force"]
    done = edit(path, *words, code=BROKEN)
    assert f"refused: {share} of the rows break" in done.stderr
    allow, = re.findall(r"--max-broken ([0-9.]+)$", done.stderr, re.M)
    edit(path, *words, "--max-broken", allow)


@pytest.mark.parametrize("words, says", [
    (["add", "192.168.50.20", "--table", "git"], "192.168.50.20 is in table git already, with the state active"),
    (["add", "192.168.50.99"], "has 2 tables (web, git): say which one with --table"),
    (["remove", "192.168.50.99"], "192.168.50.99 is not a backend of the selected tables"),
    (["remove", "192.168.50.20", "--table", "web"], "192.168.50.20 is not a backend of the selected tables"),
    (["drain", "192.168.50.20", "192.168.50.99"], "192.168.50.99 is not a backend"),
    (["drain", "192.168.50.20", "--table", "wob"], "there is no table 'wob'; the file has: web, git"),
    (["drain", "192.168.50.20", "--table", "#2"], "there is no table '#2'; the file has: web, git"),
    (["add-bind", "203.0.113.64/29:22/tcp", "--table", "git"], "203.0.113.64/29:22/tcp is a bind of table git already"),
    (["remove-bind", "203.0.113.64:22/tcp"], "203.0.113.64:22/tcp is not a bind of the selected tables"),
    (["set", "192.168.50.20", "http=http"], "tables[1].backends[0].healthchecks.http: 'http' (a string) is not an integer"),
    (["set", "192.168.50.20", "state=off"], "tables[1].backends[0].state: 'off' is not a state"),
    (["set", "192.168.50.20", "state=none"], "tables[1].backends[0].state: missing"),
    (["set", "hops=9", "--table", "git"], "tables[1].hops: '9' is not an integer from 2 to 8"),
    (["add", "192.168.50.99", "--table", "git", "--copy-checks-from", "192.168.50.20"],
     "table git has no backend 192.168.50.20 with health checks"),
    (["remove", "192.168.50.20", "192.168.50.21", "192.168.50.22"], "no backend; a table needs at least one"),
    (["remove-bind", "203.0.113.64/29:22/tcp", "--max-broken", "100"], "give --force"),
])
def test_wrong_edits_change_nothing(file, words, says):
    assert_refused(file, *words, says=[says, str(file)])


@pytest.mark.parametrize("words, says", [
    (["frob", "10.0.0.1"], "'frob' is none of add, remove, drain"),
    (["drain"], "an operand is missing"),
    (["drain", "web1"], "'web1' is not an address"),
    (["drain", "10.0.0.1", "10.0.0.1"], "'10.0.0.1' is given twice"),
    (["add", "10.0.0.1", "--state", "on"], "--state: 'on' is none of active"),
    (["drain", "10.0.0.1", "--state", "active"], "are for add"),
    (["add", "10.0.0.1", "--table", "a", "--all-tables"], "exclude each other"),
    (["set", "10.0.0.1"], "KEY=VALUE is missing"),
    (["set", "http=1", "10.0.0.1"], "'10.0.0.1' is not KEY=VALUE"),
    (["set", "10.0.0.1", "hops=2"], "the keys of a backend are state, healthy, weight, server_id, http, http_uri, "),
    (["set", "hash_key=00"], "the keys of a table are name, hops, interval_ms"),
    (["add-bind", "203.0.113.10:443"], "is not a bind: ADDRESS:PORT/tcp"),
    (["add-bind", "203.0.113.10/24:443/tcp"], "is not a bind"),
    (["add-bind", "2001:db8::1:443/tcp"], "is not a bind"),
    (["add-bind", "[203.0.113.10]:443/tcp"], "is not a bind"),
    (["add-bind", "203.0.113.10:65536/tcp"], "is not a bind"),
    (["add-bind", "203.0.113.10:90-80/tcp"], "is not a bind"),
    (["add-bind", "203.0.113.10:443/sctp"], "is not a bind"),
    (["drain", "192.168.50.20", "--max-broken", "-1"], "'-1' is not a percentage"),
    (["drain", "192.168.50.20", "--max-broken", "nan"], "'nan' is not a percentage"),
    (["drain", "192.168.50.20", "--max-broken", "101"], "'101' is not a percentage"),
])
def test_wrong_words_are_usage_errors(file, words, says):
    assert_refused(file, *words, code=USAGE, says=says)


def test_a_backend_in_two_tables_needs_a_choice(tmp_path):
    path = write_tables(tmp_path / "t.json", table("a", hops=3), table("b", hash_key=2, hops=3,
        binds=[{"ip": "10.10.10.11", "proto": "tcp", "port": 80}]))
    assert_refused(path, "drain", "192.168.50.1", says="is a backend of the tables a and b: say which one with --table")
    edit(path, "drain", "192.168.50.1", "--table", "#1")
    states = lambda: [one["backends"][0]["state"] for one in json.loads(path.read_text())["tables"]]
    assert states() == ["active", "draining"]
    edit(path, "drain", "192.168.50.1", "--all-tables")
    assert states() == ["draining", "draining"]
    edit(path, "add", "192.168.50.9", "--all-tables", "--max-broken", "100")
    assert [one["backends"][-1]["ip"] for one in json.loads(path.read_text())["tables"]] == 2 * ["192.168.50.9"]


def test_checks_are_copied_and_missing_ones_are_noted(tmp_path):
    checked = {**backend("192.168.50.1"), "healthchecks": {"_why": "x", "http": 80}}
    path = write_tables(tmp_path / "t.json", table(backends=[checked], hops=4))
    assert "--copy-checks-from 192.168.50.1" in edit(path, "add", "192.168.50.2").stderr
    assert edit(path, "add", "192.168.50.3", "--copy-checks-from", "192.168.50.1").stderr == ""
    backends = json.loads(path.read_text())["tables"][0]["backends"]
    assert "healthchecks" not in backends[1] and backends[2]["healthchecks"] == checked["healthchecks"]


def test_force_writes_the_fingerprint_that_is_replaced(file, tmp_path):
    done = edit(file, "remove-bind", "203.0.113.64/29:22/tcp", "--force", "--max-broken", "100")
    assert f"warning: {file}: table git loses all its binds" in done.stderr
    fingerprint = json.loads(file.read_text())["replaces"]
    old = tmp_path / "old.json"
    old.write_text(EXAMPLE)
    assert fingerprint in run("show", old, "--json").stdout


@pytest.mark.parametrize("text, says", [
    ("", "is empty"), ("{", "not JSON"), ('{"tables": [{}]}', ":1:13: tables[0].hash_key: missing"),
    ("GLBD", "not JSON")])
def test_a_file_that_is_not_a_valid_table_is_not_edited(file, text, says):
    file.write_text(text)
    assert_refused(file, "drain", "192.168.50.20", says=[says, "only a valid JSON table can be changed"])


def test_mode_owner_and_acl_are_kept_also_by_the_backup(file):
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 1234, 4321)
    os.setxattr(file, "system.posix_acl_access", ACL)
    before = file.stat()
    for command in (["edit", file, "drain", "192.168.50.20"], ["undo", file, *NO_HISTORY]):
        run(*command)
        for path in (file, f"{file}~"):
            found = os.stat(path)
            assert (found.st_mode, found.st_uid, found.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
            assert os.getxattr(path, "system.posix_acl_access") == ACL


def test_an_owner_that_cannot_be_kept_is_reported(file):
    if os.geteuid() != 0:
        return  # only root can give files away
    os.chown(file.parent, NOBODY, NOBODY)
    open_to_all(file.parent.parent)
    done = edit(file, "drain", "192.168.50.20", user=NOBODY, group=NOBODY)
    assert f"warning: {file}: its owner was 0:0 and is now {NOBODY}:{NOBODY}" in done.stderr


def test_the_target_of_a_link_is_changed(file, tmp_path):
    (tmp_path / "etc").mkdir()
    link = tmp_path / "etc/link.json"
    link.symlink_to("../t.json")
    done = edit(link, "drain", "192.168.50.20")
    assert f"{link} is a symbolic link: this changes {file}" in done.stderr
    assert link.is_symlink() and '"draining"' in file.read_text() and os.listdir(link.parent) == ["link.json"]
    run("undo", link, *NO_HISTORY)
    assert file.read_text() == EXAMPLE


def test_a_read_only_folder_changes_nothing(file):
    file.chmod(0o644)
    open_to_all(file.parent)
    file.parent.chmod(0o555)
    other = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    done = edit(file, "drain", "192.168.50.20", code=FAILED, **other)
    assert f"{file}: cannot be locked by {file}.edit.lock: Permission denied" in done.stderr
    assert os.listdir(file.parent) == ["t.json"] and file.read_text() == EXAMPLE


def test_a_full_disk_changes_nothing(file):
    limit = ["bash", "-c", 'ulimit -f 1; exec "$@"', "-"]
    padded = EXAMPLE.replace("{", '{ "x-pad": "' + 3000 * "p" + '",', 1)
    file.write_text(padded)
    done = subprocess.run([*limit, CLI, "edit", file, "drain", "192.168.50.20"], capture_output=True, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    assert done.returncode == FAILED and "the new file cannot be written: File too large" in done.stderr
    assert os.listdir(file.parent) == ["t.json"] and file.read_text() == padded


def test_add_bind_to_a_table_whose_binds_are_null(file):
    document = json.loads(EXAMPLE)
    document["tables"][0]["binds"] = None
    file.write_text(json.dumps(document))
    edit(file, "add-bind", "198.51.100.1:80/tcp", "198.51.100.2:80/tcp", "--table", document["tables"][0]["name"])
    assert [bind["ip"] for bind in json.loads(file.read_text())["tables"][0]["binds"]] == ["198.51.100.1", "198.51.100.2"]


def test_a_change_that_cannot_be_shown_is_not_written(file):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([CLI, "edit", file, "drain", "192.168.50.20"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == FAILED and "nothing is written, because the change cannot be shown" in done.stderr
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", CLI, "edit", file, "drain", "192.168.50.20", f"--build={file}.bin"]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True)
    assert done.returncode == FAILED and "nothing is written, because the change cannot be shown" in done.stderr
    assert os.listdir(file.parent) == ["t.json"] and file.read_text() == EXAMPLE


def test_a_table_does_not_grow_beyond_what_programs_read(file):
    """The file has 128 MiB, which is allowed: an edit may make it shorter, but not longer."""
    pad = '{ "x-pad": "%s",'
    size = (128 << 20) - len(EXAMPLE.replace("{", pad % "", 1).encode())
    file.write_text(EXAMPLE.replace("{", pad % (size * "p"), 1))
    assert file.stat().st_size == 128 << 20
    assert_refused(file, "drain", "192.168.50.20", says="the result would have 134217730 bytes; a table has at most 134217728")
    edit(file, "undrain", "192.168.50.12", "--max-broken", "100")


def test_a_file_of_another_kind_is_not_taken_for_the_backup(file):
    (file.parent / "t.json~").write_text("notes of the operator")
    assert_refused(file, "drain", "192.168.50.20", says="t.json~: contains text")
    edit(file, "drain", "192.168.50.20", "--force")
    assert (file.parent / "t.json~").read_text() == EXAMPLE


def test_undo_takes_a_table_that_begins_with_a_long_comment(file):
    """The kind of an output is recognised by its first 64 KiB, but undo reads all of the backup."""
    text = EXAMPLE.replace("{", '{ "x-history": "' + 70000 * "h" + '",', 1)
    file.write_text(text)
    edit(file, "drain", "192.168.50.20")
    run("undo", file, *NO_HISTORY)
    assert file.read_text() == text


@contextlib.contextmanager
def lock_of(path):
    """What an edit of the file holds. Closing a file ends its lock; edits remove theirs."""
    with open(f"{path}.edit.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        print(os.getpid(), file=lock, flush=True)
        yield Path(lock.name)
        os.unlink(lock.name)


def test_two_edits_wait_for_each_other_and_none_is_lost(file):
    with lock_of(file):
        edits = [subprocess.Popen([CLI, "edit", file, "drain", ip, "--max-broken", "100"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) for ip in ("192.168.50.20", "192.168.50.10")]
        name = Path("/proc/self/comm").read_text().strip()
        for process in edits:
            note = f"note: {file}: waits for process {os.getpid()} ({name}), which has locked {file}.edit.lock\n"
            assert process.stderr.readline().endswith(note)
    assert [process.wait(60) for process in edits] == [OK, OK]
    for process in edits:
        process.stderr.close()
    assert EXAMPLE.count('"draining"') + 2 == file.read_text().count('"draining"')
    assert sorted(os.listdir(file.parent)) == ["t.json", "t.json~"]


@contextlib.contextmanager
def stopped_edit(path, **options):
    """An edit that has read the file and waits, because nobody reads what it prints. Yields the process and the pipe's other end."""
    read, write = os.pipe()
    fcntl.fcntl(write, 1031, 4096)  # F_SETPIPE_SZ
    os.write(write, bytes(4096))
    process = subprocess.Popen([CLI, "edit", path, "drain", "192.168.50.20"], stdout=write, stderr=subprocess.PIPE, text=True, **options)
    os.close(write)
    state = lambda: Path(f"/proc/{process.pid}/stat").read_text().split(") ")[1][0]
    sleeps = 0
    while sleeps < 30 and process.poll() is None:  # it sleeps in write(2), and not only for a moment
        sleeps = sleeps + 1 if state() == "S" else 0
        time.sleep(0.01)
    try:
        yield process, read
    finally:
        process.kill()
        process.wait(60)
        process.stderr.close()
        os.close(read)


def test_a_change_by_another_program_is_not_overwritten(file):
    with stopped_edit(file) as (process, read):
        file.write_text(EXAMPLE + "\n")
        while os.read(read, 65536):
            pass
        assert process.wait(60) == FAILED
        assert "another program has changed the file since it was read" in process.stderr.read()
    assert file.read_text() == EXAMPLE + "\n" and os.listdir(file.parent) == ["t.json"]


def test_a_killed_edit_changes_nothing_and_releases_its_lock(file):
    with stopped_edit(file) as (process, _):
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
        assert sorted(os.listdir(file.parent)) == ["t.json", "t.json.edit.lock"] and file.read_text() == EXAMPLE
        assert edit(file, "drain", "192.168.50.20").stderr == ""
        assert sorted(os.listdir(file.parent)) == ["t.json", "t.json~"]


def test_a_file_with_the_state_of_healthcheck_is_refused(file):
    (file.parent / "t.json.state").write_text('{ "_comment": "", "verdicts": {} }')
    assert_refused(file, "drain", "192.168.50.20", says=["glb-healthcheck writes this file", "`src` in healthcheck.conf"])
    edit(file, "drain", "192.168.50.20", "--force")
    assert "replaces" not in file.read_text()


def test_the_files_of_the_installed_healthcheck_are_left_to_it(file, tmp_path):
    if os.geteuid() != 0:
        return  # only root can hide the machine's own /etc/glb
    (tmp_path / "healthcheck.conf").write_text(
        f'forwarding_table = {{ src = "{file}"; dst = "{tmp_path}/dst.json"; }}; reload = {{ build = "{tmp_path}/t.bin"; }};')
    (tmp_path / "dst.json").write_text(EXAMPLE)
    script = (f'mkdir -p /etc/glb && mount -t tmpfs none /etc/glb && cp {tmp_path}/healthcheck.conf /etc/glb && exec "$@"')

    def hidden(*words):
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", CLI, "edit", *words], capture_output=True, text=True)

    done = hidden(tmp_path / "dst.json", "drain", "192.168.50.20")
    assert done.returncode == FAILED and f"writes this file: change its source {file} instead" in done.stderr
    with open(tmp_path / "t.bin.lock", "w") as lock:  # as a running glb-healthcheck does
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = hidden(file, "drain", "192.168.50.20", "--build")
    assert done.returncode == FAILED and f"{tmp_path}/t.bin: glb-healthcheck builds this file" in done.stderr
    assert file.read_text() == (tmp_path / "dst.json").read_text() == EXAMPLE
    done = hidden(file, "drain", "192.168.50.20", "--build")  # it does not run any more
    assert done.returncode == OK and "glb-healthcheck reads this file" in done.stdout and "t.bin: built" in done.stdout


def test_the_installed_table_is_built_where_the_director_reads_it(file):
    if os.geteuid() != 0:
        return  # only root can hide the machine's own folders
    script = ('mkdir -p /etc/glb /var/lib/glb && mount -t tmpfs none /etc/glb && mount -t tmpfs none /var/lib/glb && '
              f'cp {file} /etc/glb/forwarding_table.json && "$@" && ls /etc/glb /var/lib/glb')
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", CLI, "edit", "/etc/glb/forwarding_table.json",
                           "drain", "192.168.50.20", "--build"], capture_output=True, text=True, check=True)
    assert "/var/lib/glb/forwarding_table.bin: built\n" in done.stdout
    assert done.stdout.endswith("/etc/glb:\nforwarding_table.json\nforwarding_table.json~\n\n/var/lib/glb:\nforwarding_table.bin\n")


def test_only_new_warnings_are_shown(tmp_path):
    """The example keys are a warning that the table had before; an empty array of binds is new."""
    path = tmp_path / "t.json"
    path.write_text((TREE / "config/forwarding_table.json").read_text())
    assert edit(path, "drain", "192.168.50.20").stderr == ""
    lines = edit(path, "remove-bind", "203.0.113.64/29:22/tcp", "--force", "--max-broken", "100").stderr.splitlines()
    assert [line for line in lines if "as changed" in line] == [
        f"glb-director-cli: warning: {path}, as changed:38:16: tables[1].binds: is empty: this table gets no packets"]


# build and reload

RELOADED = {"/glb/reload": {"ok": 1, "generation": 7, "digest": "0123456789abcdef"}}
REFUSED = {"/glb/reload": {"ok": 0, "generation": 1, "error": "no"}}


def test_build_and_reload_follow_in_this_order(file, tmp_path):
    with director(tmp_path / "run", RELOADED) as (environment, questions):
        done = edit(file, "drain", "192.168.50.20", "--build", "--reload", env=environment)
    lines = done.stdout.splitlines()[-3:]
    assert [line.split(": ")[1].split(";")[0] for line in lines] == ["written", "built", "generation 7, digest 0123456789abcdef"]
    assert questions == ["/glb/reload"]
    assert run("diff", file, tmp_path / "t.bin").stdout.endswith(" 0 of 131072 rows change (0.00%), 0 break (0.00%)\n")


def test_build_takes_another_name(file, tmp_path):
    edit(file, "drain", "192.168.50.20", f"--build={tmp_path / 'x.bin'}")
    assert sorted(os.listdir(tmp_path)) == ["t.json", "t.json~", "x.bin"]


def test_a_failed_build_stops_and_the_same_command_goes_on(file, tmp_path):
    (tmp_path / "t.bin").write_text("not a table")
    done = edit(file, "drain", "192.168.50.20", "--build", "--reload", code=FAILED)
    assert "t.json, and the director was not told: correct the cause" in done.stderr
    assert '50.20", "state": "draining"' in file.read_text()
    (tmp_path / "t.bin").unlink()
    with director(tmp_path / "run", RELOADED) as (environment, _):
        done = edit(file, "drain", "192.168.50.20", "--build", "--reload", env=environment)
    assert "nothing to do" in done.stdout and "reloaded: generation 7" in done.stdout


def test_a_reader_that_stops_does_not_stop_build_and_reload(file, tmp_path):
    """Like `edit ... | head -1`: the first output arrives before the table is written."""
    with director(tmp_path / "run", RELOADED) as (environment, questions):
        process = subprocess.Popen([CLI, "edit", file, "drain", "192.168.50.20", "--build", "--reload"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env={**os.environ, **environment})
        os.read(process.stdout.fileno(), 1)
        process.stdout.close()
        assert process.wait(60) in (OK, FAILED)
        assert questions == ["/glb/reload"]
    assert (tmp_path / "t.bin").exists()


def test_a_refused_reload_says_what_is_in_use(file, tmp_path):
    with director(tmp_path / "run", REFUSED) as (environment, _):
        done = edit(file, "drain", "192.168.50.20", "--reload", env=environment, code=FAILED)
    assert "t.json: the director still uses the table that it had: correct the cause" in done.stderr
    assert "run the same command again" in done.stderr


# undo


def test_undo_takes_the_last_edit_back_and_forward_again(file):
    edit(file, "drain", "192.168.50.20")
    edited = file.read_text()
    done = run("undo", file, *NO_HISTORY)
    assert "git: backend 192.168.50.20: draining -> active\n" in done.stdout
    assert f"{file}: the last edit is taken back; the previous version is in {file}~\n" in done.stdout
    assert file.read_text() == EXAMPLE and (file.parent / "t.json~").read_text() == edited
    run("undo", file, *NO_HISTORY)
    assert file.read_text() == edited and (file.parent / "t.json~").read_text() == EXAMPLE


def test_undo_needs_a_backup_that_is_a_valid_table(file):
    done = run("undo", file, *NO_HISTORY, code=FAILED)
    assert "t.json~: cannot be opened" in done.stderr and "there is no edit to take back" in done.stderr
    (file.parent / "t.json~").write_text('{"tables": 1}')
    done = run("undo", file, *NO_HISTORY, code=FAILED)
    assert "as changed:1:12: tables: '1' (a number) is not an array" in done.stderr
    assert file.read_text() == EXAMPLE


@pytest.mark.parametrize("at", (1, 2, 3))
@pytest.mark.parametrize("calls", ["rename,renameat,renameat2", "fsync,fdatasync"])
def test_a_killed_undo_loses_no_version(file, calls, at):
    """Whichever step the kill interrupts, the file and its backup are both versions, and a second undo works."""
    edit(file, "drain", "192.168.50.20")
    edited = file.read_text()
    subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", f"inject={calls}:signal=SIGKILL:when={at}", CLI, "undo", file, *NO_HISTORY],
                   capture_output=True)
    assert {file.read_text(), (file.parent / "t.json~").read_text()} == {EXAMPLE, edited}
    run("undo", file, *NO_HISTORY)
    assert {file.read_text(), (file.parent / "t.json~").read_text()} == {EXAMPLE, edited}


def test_an_undo_works_where_files_cannot_change_places(file):
    edit(file, "drain", "192.168.50.20")
    edited = file.read_text()
    subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "inject=renameat2:error=EINVAL", CLI, "undo", file, *NO_HISTORY],
                   capture_output=True, check=True)
    assert (file.read_text(), (file.parent / "t.json~").read_text()) == (EXAMPLE, edited)


def test_an_undo_that_cannot_build_does_not_ask_for_another_undo(file, tmp_path):
    edit(file, "drain", "192.168.50.20")
    (tmp_path / "t.bin").write_text("not a table")
    done = run("undo", file, *NO_HISTORY, "--build", code=FAILED)
    assert "run build-config and reload; do not run undo again" in done.stderr and "same command" not in done.stderr
    assert file.read_text() == EXAMPLE


def test_undo_has_the_same_limits_and_options(file, tmp_path):
    edit(file, "add", "192.168.50.23", "--table", "git")
    edited = file.read_text()
    assert "--max-broken" in run("undo", file, *NO_HISTORY, code=BROKEN).stderr
    run("undo", file, *NO_HISTORY, "--dry-run", "--max-broken", "100")
    assert file.read_text() == edited
    run("undo", file, *NO_HISTORY, "--max-broken", "100", "--build")
    assert file.read_text() == EXAMPLE and (tmp_path / "t.bin").exists()

def test_a_folder_is_no_table(file):
    said = assert_refused(file.parent, "drain", "192.168.51.10", says="is a directory").stderr
    assert "hard link" not in said
