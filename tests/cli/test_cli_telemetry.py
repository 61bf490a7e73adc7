# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli: reload and stats, with a stand-in for DPDK's telemetry socket."""

import contextlib
import json
import os
import socket
import subprocess
import threading

import pytest

from support import pcap
from support import traffic
from support.cli import FAILED, USAGE, run, run_json
from support.director_conf import CONFIG
from support.director_process import NOBODY, DirectorProcess, write_table
from support.tree import CLI

GREETING = {"version": "DPDK 22.11", "pid": 1, "max_output_len": 16384}
SILENCE = object()


@contextlib.contextmanager
def director(folder, answer, prefix="rte", greeting=GREETING):
    """Answers one request with `answer` (JSON, bytes, or SILENCE). Yields the environment and the list of requests."""
    path = folder / "dpdk" / prefix / "dpdk_telemetry.v2"
    path.parent.mkdir(parents=True)
    questions = []
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen()
    listener.settimeout(20)

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.send(json.dumps(greeting).encode())
            questions.append(connection.recv(1024).decode())
            if answer is SILENCE:
                connection.recv(1024)
            elif answer is not None:
                connection.send(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield {**os.environ, "RUNTIME_DIRECTORY": str(folder)}, questions
    finally:
        thread.join()
        listener.close()


def test_reload_prints_generation_and_digest(tmp_path):
    answer = {"/glb/reload": {"ok": 1, "generation": 7, "digest": "0123456789abcdef"}}
    with director(tmp_path, answer) as (environment, questions):
        assert run("reload", env=environment).stdout == "reloaded: generation 7, digest 0123456789abcdef\n"
    assert questions == ["/glb/reload"]


def test_reload_with_force(tmp_path):
    """DPDK names the reply after the command without its parameters."""
    answer = {"/glb/reload": {"ok": 1, "generation": 7, "digest": "0123456789abcdef"}}
    with director(tmp_path, answer) as (environment, questions):
        assert run("reload", "--force", env=environment).stdout == "reloaded: generation 7, digest 0123456789abcdef\n"
    assert questions == ["/glb/reload,force"]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_reload_of_a_refused_table_prints_the_directors_reason(tmp_path, options):
    answer = {"/glb/reload": {"ok": 0, "error": "table.bin: byte 4: version 9"}}
    with director(tmp_path, answer, prefix="two") as (environment, _):
        done = run("reload", "--file-prefix", "two", *options, code=FAILED, env=environment)
    assert done.stderr == "glb-director-cli: the director keeps its table: table.bin: byte 4: version 9\n"
    assert not options or json.loads(done.stdout) == answer["/glb/reload"]


def test_long_errors_are_printed_in_full(tmp_path):
    """The real director splits them, because strings in telemetry have at most 127 bytes, and it replaces non-ASCII."""
    folder = tmp_path / ("ä" * 100) / ("long" * 20)
    folder.mkdir(parents=True)
    table = write_table(folder / "table", traffic.TABLE)
    pcap.write(tmp_path / "rx.pcap", [])
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"
    with DirectorProcess([vdev], CONFIG, table) as director:
        table.write_bytes(b"GLBD")
        prefix = ["--file-prefix", director.file_prefix]
        done = run("reload", *prefix, code=FAILED, env=director.environment)
        stats = run_json("stats", *prefix, env=director.environment)
        log = director.log
    shown = str(table).replace("ä", "?")
    reason = done.stderr.removeprefix("glb-director-cli: the director keeps its table: ").rstrip("\n")
    assert reason.startswith(f"{shown}: byte 0: ")
    assert f"forwarding table not reloaded: {reason}".replace(shown, str(table)) in log
    assert stats["last_error"] == reason and "last_error_2" not in stats


def test_reply_has_a_table_name_with_non_ascii_characters(tmp_path):
    document = {"tables": [{**traffic.TABLE["tables"][0], "name": "w\u00e4b"}]}
    table = write_table(tmp_path / "table", document, "3")
    pcap.write(tmp_path / "rx.pcap", [])
    with DirectorProcess([f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"], CONFIG, table) as director:
        tables = director.telemetry.ask("/glb/tables")["tables"]
        assert director.telemetry.ask("/glb/tables,0")["name"] == tables["0"]["name"] == "w?b"


def test_stats_prints_every_value(tmp_path):
    stats = {"received": 12, "verdicts": {"forwarded": 11, "drop_truncated": 1}, "gateway": "02:00:00:00:00:fe",
             "lcores": [{"id": 1}, {"id": 2}]}
    with director(tmp_path / "a", {"/glb/stats": stats}) as (environment, questions):
        text = run("stats", env=environment).stdout
    assert questions == ["/glb/stats"]
    words = [line.split() for line in text.splitlines()]
    assert words == [["received", "12"], ["verdicts"], ["forwarded", "11"], ["drop_truncated", "1"],
                     ["gateway", "02:00:00:00:00:fe"], ["lcores"], ["-"], ["id", "1"], ["-"], ["id", "2"]]
    with director(tmp_path / "b", {"/glb/stats": stats}) as (environment, _):
        assert run_json("stats", env=environment) == stats


@pytest.mark.parametrize("answer, message", [
    ({"/glb/reload": None}, "this DPDK program has no command /glb/reload: is it glb-director?"),
    (b"nonsense", "the reply is not JSON"),
    (None, "the connection was closed without a reply"),
    (SILENCE, "no reply before the timeout"),
])
def test_wrong_or_missing_reply_is_an_error(tmp_path, answer, message):
    with director(tmp_path, answer) as (environment, _):
        assert message in run("reload", "--timeout", "1", code=FAILED, env=environment).stderr


def test_wrong_max_output_len_in_the_greeting_is_an_error(tmp_path):
    for index, size in enumerate((0, -1, 1 << 40, "x")):
        folder = tmp_path / str(index)
        with director(folder, None, greeting={"max_output_len": size}) as (environment, _):
            assert "no valid max_output_len" in run("reload", code=FAILED, env=environment).stderr


def test_missing_director_is_an_error_with_advice(tmp_path):
    environment = {**os.environ, "RUNTIME_DIRECTORY": str(tmp_path)}
    error = run("stats", "--file-prefix", "gone", code=FAILED, env=environment).stderr
    assert error == (f"glb-director-cli: {tmp_path}/dpdk/gone/dpdk_telemetry.v2: No such file or directory: "
                     "is glb-director running, with this --file-prefix?\n")
    del environment["RUNTIME_DIRECTORY"]
    environment["XDG_RUNTIME_DIR"] = str(tmp_path)
    folder = "/var/run" if os.getuid() == 0 else tmp_path
    assert f" {folder}/dpdk/gone/" in run("stats", "--file-prefix", "gone", code=FAILED, env=environment).stderr
    assert "too long" in run("stats", "--file-prefix", "x" * 200, code=USAGE, env=environment).stderr


def test_advice_for_other_users_than_root_mentions_the_user():
    """The director runs as root, so its socket is in root's runtime folder."""
    environment = {"XDG_RUNTIME_DIR": "/nonexistent"}
    command = [CLI, "stats"]
    if os.getuid() == 0:
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == FAILED
    assert done.stderr.endswith("is glb-director running, with this --file-prefix and as this user?\n")
