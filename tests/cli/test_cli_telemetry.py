# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli: the subcommands that ask a director, with a stand-in for DPDK's telemetry socket."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from lab.tools import TIMEOUT_S
from support import pcap
from support import traffic
from support.cli import FAILED, USAGE, run, run_json, table
from support.director_conf import CONFIG
from support.director_process import NOBODY, DirectorProcess, write_table
from support.tree import CLI

GREETING = {"version": "DPDK 22.11", "pid": 1, "max_output_len": 16384}
SILENCE = object()


@contextlib.contextmanager
def director(folder, answer, prefix="rte", greeting=GREETING):
    """Answers all requests with `answer`: JSON, bytes, SILENCE, None (closes), or a function that returns one of these for a request.

    Yields the environment and the list of requests.
    """
    path = folder / "dpdk" / prefix / "dpdk_telemetry.v2"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    questions = []
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen()

    def reply(connection):
        connection.send(json.dumps(greeting).encode())
        while question := connection.recv(1024).decode():
            questions.append(question)
            value = answer(question) if callable(answer) else answer
            if value is None:
                return
            if value is not SILENCE:
                connection.send(value if isinstance(value, bytes) else json.dumps(value).encode())

    def serve():
        with contextlib.suppress(OSError):  # until the listener is shut down
            while True:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(OSError):
                    reply(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield {**os.environ, "RUNTIME_DIRECTORY": str(folder)}, questions
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(20)


class Model:
    """A director with tables of `sizes` backends. `reload_at`: numbers of the requests before which it reloads its table."""

    def __init__(self, sizes=(3,), reload_at=()):
        self.sizes, self.reload_at = sizes, reload_at
        self.generation, self.requests, self.packets, self.uptime = 1, 0, 10, 7 * 86400 + 5 * 3600
        self.last_error = ""
        self.binds, self.network = ["10.0.0.1 tcp 80-80"], None

    def table(self, index):
        return {"index": index, "name": f"t{index}", "hops": 2, "bind_count": 1, "backend_count": self.sizes[index],
                "good_backends": self.sizes[index], "packets": self.packets * self.generation, "bytes": 0}

    def stats(self):
        return {"received": self.packets, "forwarded": self.packets, "drop_truncated": 0, "version": "0.1.0", "uptime": self.uptime,
                "packet_path": "avx512",
                "packet_path_why": "the widest that can be used", "generation": self.generation, "digest": "d" * 16, "first_hops": "e" * 16,
                "fingerprint": "f" * 16,
                "table_path": "/etc/glb/t.bin", "table_format": "version 3", "hash_fields": "src_addr", "alt_hash_fields": "",
                "next_hop_mac": "02:00:00:00:00:fe", "reloads": 2, "reload_failures": 1, "last_error": self.last_error,
                "ports": {"0": {"name": "net_pcap0", "link": "up", "mbps": 10000, "rx_packets": self.packets, "rx_missed": 0}},
                "classifier_bytes": 77, "capture_pid": 0,
                "lcores": {"1": {"received": self.packets, "forwarded": self.packets, "drop_truncated": 0, "polls": 0}}, "truncated": 0}

    def page(self, index, first):
        if index >= len(self.sizes):
            return {"error": "there is no table with this index"}
        backends = {str(i): {"ip": f"{self.network}{i}" if self.network else f"10.{self.generation}.{i // 250}.{i % 250}", "state": "active", "healthy": 1,
                             "packets": self.packets if i == 0 else 0, "bytes": 0, "no_next_hop": 4 if i == 1 else 0}
                    for i in range(first, min(first + 32, self.sizes[index]))}
        binds = {str(i): {"bind": bind, "estimated_packets": self.packets if i == 0 else 0, "estimated_bytes": 0}
                 for i, bind in enumerate(self.binds[first:first + 32], first)}
        return {**self.table(index), "generation": self.generation, "first": first, "binds": binds, "backends": backends,
                "truncated": int(first + 32 < max(self.sizes[index], len(self.binds)))}

    def __call__(self, question):
        self.requests += 1
        self.generation += self.requests in self.reload_at
        command, _, parameters = question.partition(",")
        if command == "/glb/stats":
            return {command: self.stats()}
        if parameters and not parameters.startswith(","):
            return {command: self.page(*map(int, parameters.split(",")))}
        first = int(parameters[1:] or 0)
        return {command: {"generation": self.generation, "digest": "d" * 16, "first": first, "truncated": int(len(self.sizes) > first + 64),
                          "tables": {str(i): self.table(i) for i in range(first, min(first + 64, len(self.sizes)))}}}


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
        done = run("reload", "--file-prefix", "two", *options, code=3, env=environment)
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
        done = run("reload", *prefix, code=3, env=director.environment)
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


def words(text):
    return [line.split() for line in text.splitlines() if line]


def test_stats_prints_what_is_not_zero(tmp_path):
    model = Model(sizes=(3, 1))
    model.last_error = "/etc/glb/t.bin: byte 4: " + " ".join(["version"] * 20)
    with director(tmp_path, model) as (environment, _):
        text = run("stats", env=environment).stdout
        everything = run("stats", "--all", env=environment).stdout
    assert "up 7 d 5 h\n" in text and "ISA         avx512, the widest that can be used\n" in text
    for part in ("/etc/glb/t.bin", "version 3, 2 tables, generation 1", "d" * 16, "f" * 16, "src_addr", "2 succeeded, 1 failed"):
        assert part in text
    assert " ".join(text.split("last error")[1].split("\n\n")[0].split()) == model.last_error
    assert max(map(len, text.splitlines())) <= 80
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    lines = words(text)
    assert ["received", "10"] in lines and ["rx_packets", "10"] in lines and ["10.1.0.0", "active", "10"] in lines
    assert ["port", "0,", "link", "up", "10000", "Mbit/s", "total"] in lines
    assert "2 of 3 backends got no packets" in text and ["10.1.0.1", "drop_no_next_hop", "4"] in lines
    assert ["tcp", "10.0.0.1", "port", "80", "10"] in lines and "packets of each bind, estimated from samples:" in text
    for absent in ("drop_truncated", "rx_missed", "bytes", "10.1.0.1        active", "lcore"):
        assert absent not in text
    assert {("drop_truncated", "0"), ("rx_missed", "0"), ("bytes", "0"), ("polls", "0")} <= {tuple(line) for line in words(everything)}
    assert not {"classifier_bytes", "capture_pid", "generation"} & {line[0] for line in words(everything)}  # numbers, but no counters
    assert ["10.1.0.1", "active", "0"] in words(everything) and ["lcore", "1", "total"] in words(everything)


def test_binds_without_samples_are_listed_only_with_all(tmp_path):
    model = Model()
    long = "2001:db80:1111:2222:3333:4444:5555:6660/124 udp 10000-20000"
    model.binds = ["10.0.0.1 tcp 80-80", "10.0.0.2 tcp 80-90", long]
    with director(tmp_path, model) as (environment, _):
        text = run("stats", env=environment).stdout
        everything = run("stats", "--all", env=environment).stdout
        shown = run("show", "--live", env=environment).stdout
    assert "    2 of 3 binds had no sample (--all lists them)\n" in text and "10.0.0.2" not in text
    assert ["tcp", "10.0.0.2", "port", "80-90", "0"] in words(everything)
    assert "    udp 2001:db80:1111:2222:3333:4444:5555:6660/124 port 10000-20000\n" in everything
    assert "had no sample" not in everything
    for output in (text, everything, shown):
        assert max(map(len, output.splitlines())) <= 80


def test_long_addresses_of_proxies_are_whole(tmp_path):
    """They have a line of their own above their numbers, so that lines have at most 80 columns."""
    model = Model()
    ip = model.network = "2001:db80:1111:2222:3333:4444:5555:666"
    with director(tmp_path, model) as (environment, _):
        text = run("stats", "--all", env=environment).stdout
        shown = run("show", "--live", env=environment).stdout
        model.network = "2001:db8:b:1234:"
        short = run("show", "--live", env=environment).stdout
    assert all(f"  {ip}{i} active\n" in text for i in range(3)) and f"  {ip}1 drop_no_next_hop\n{' ' * 54}4\n" in text
    assert f"  {ip}1\n{' ' * 21}active    up      {'0':>20}  {'4':>19}\n" in shown
    assert f"  {model.network}1  active    up" in short
    assert max(map(len, [*text.splitlines(), *shown.splitlines(), *short.splitlines()])) <= 80
    assert {line.index(word) for line in (shown + short).splitlines() for word in ("state", "active") if word in line} == {21}


def test_stats_json_is_the_reply(tmp_path):
    model = Model()
    with director(tmp_path, model) as (environment, questions):
        assert run_json("stats", env=environment) == model.stats()
    assert questions == ["/glb/stats"]


@pytest.mark.parametrize("uptime, text", ((0, "0 s"), (59, "59 s"), (60, "1 min 0 s"), (3660, "1 h 1 min"), (90000, "1 d 1 h")))
def test_uptime_is_human_readable(uptime, text, tmp_path):
    model = Model()
    model.uptime = uptime
    with director(tmp_path, model) as (environment, _):
        assert f"up {text}\n" in run("stats", env=environment).stdout


class Watch:
    """`stats --watch`. Its output is read one view at a time."""

    def __init__(self, environment):
        self.process = subprocess.Popen([CLI, "stats", "--watch", "1"], env=environment, text=True, bufsize=1,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def view(self):
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line == "----\n":
                break
        return "".join(lines)

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        _, stderr = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, stderr


def rate(view, name):
    (line,) = [line for line in words(view) if line[:1] == [name]]
    return line[-1]


def test_watch_prints_rates_and_survives_a_restart(tmp_path):
    model = Model()
    with director(tmp_path, model) as (environment, _):
        watch = Watch(environment)
        first = watch.view()
        model.packets = 10**6
        second = watch.view()
        while rate(second, "received") in "-0":  # it may have asked before the line above
            second = watch.view()
        model.packets, model.uptime = 5, 1
        third = watch.view()
        while "started again" not in third:
            third = watch.view()
        code, stderr = watch.end()
    assert (code, stderr) == (0, "")
    assert rate(first, "received") == "-" and "per second" in first
    assert int(rate(second, "received")) > 0
    assert (rate(third, "received"), rate(third, "10.1.0.0")) == ("-", "-")
    assert max(len(line) for view in (first, second, third) for line in view.splitlines()) <= 80


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
def test_watch_waits_for_a_director_that_is_away(number, tmp_path):
    model = Model()
    with director(tmp_path, model) as (environment, _):
        watch = Watch(environment)
        watch.view()
    assert "glb-director-cli: " in watch.process.stderr.readline()
    with director(tmp_path, model, greeting={**GREETING, "pid": 2}) as _:
        view = watch.view()
        while "started again" not in view:
            view = watch.view()
        assert watch.end(number)[0] == 0


def test_watch_without_a_director_fails_at_once(tmp_path):
    assert "no such socket" in run("stats", "--watch", code=FAILED, env={**os.environ, "RUNTIME_DIRECTORY": str(tmp_path)}).stderr


@pytest.mark.parametrize("arguments", (
    ["stats", "5"], ["stats", "--watch", "0"], ["stats", "--watch", "x"], ["stats", "--watch", "+1"], ["stats", "--watch", "1", "2"], ["stats", "--watch=0"], ["stats", "--watch=1", "2"],
    ["stats", "--json", "--watch"], ["stats", "--json", "--all"], ["show"], ["show", "t.json", "--live"],
    ["show", "t.json", "--file-prefix", "x"], ["tables"], ["tables", "t.json", "--live"], ["lookup", "1.2.3.4:5", "10.0.0.1:80"],
    ["lookup", "--live", "t.json", "1.2.3.4:5", "10.0.0.1:80"], ["lookup", "--live", "1.2.3.4:5"],
    ["lookup", "--live", "1.2.3.4:5", "10.0.0.1:80", "--config", "x"], ["lookup", "--live", "1.2.3.4:5", "10.0.0.1:80", "--hint", "1"],
))
def test_wrong_usage_of_live_subcommands(arguments, tmp_path):
    stderr = run(*arguments, code=USAGE, env={**os.environ, "RUNTIME_DIRECTORY": str(tmp_path)}).stderr
    assert stderr.startswith(f"glb-director-cli: {arguments[0]}: ")


@pytest.mark.parametrize("reload_at", ((2,), (3,), (4,), (2, 3, 7)))
def test_live_tables_are_of_one_generation(reload_at, tmp_path):
    """The director reloads between two pages. Its backends have other addresses in each generation."""
    model = Model(sizes=(130, 2), reload_at=reload_at)
    with director(tmp_path, model) as (environment, questions):
        shown = run_json("show", "--live", env=environment)
    assert questions[-8:] == ["/glb/tables", *(f"/glb/tables,0,{first}" for first in range(0, 130, 32)), "/glb/tables,1,0", "/glb/stats"]
    assert shown["generation"] == 1 + len(reload_at)
    assert [len(table["backends"]) for table in shown["tables"]] == [130, 2]
    assert {backend["ip"].split(".")[1] for table in shown["tables"] for backend in table["backends"]} == {str(1 + len(reload_at))}
    assert shown["tables"][0]["binds"] == [{"bind": "10.0.0.1 tcp 80-80", "estimated_packets": 10, "estimated_bytes": 0}]


@pytest.mark.parametrize("reload_at", ((), (2,), (17,), (18, 20)))
def test_live_list_of_1024_tables(reload_at, tmp_path):
    """A reply has 64 tables. The director reloads between two of them."""
    model = Model(sizes=(1,) * 1024, reload_at=reload_at)
    with director(tmp_path, model) as (environment, questions):
        shown = run_json("tables", "--live", env=environment)
    assert [table["name"] for table in shown["tables"]] == [f"t{i}" for i in range(1024)]
    assert {table["packets"] for table in shown["tables"]} == {10 * (1 + sum(at < 17 for at in reload_at))}
    assert questions[:2] == ["/glb/tables", "/glb/tables,,64"] and f"/glb/tables,,{1024 - 64}" in questions
    assert len(questions) < 60


def test_director_that_reloads_all_the_time_is_an_error(tmp_path):
    with director(tmp_path, Model(reload_at=range(10**6))) as (environment, questions):
        assert "again and again" in run("show", "--live", code=FAILED, env=environment).stderr
    assert len(questions) < 100


def test_pages_without_end_are_read_to_a_limit(tmp_path):
    model = Model()
    page = model.page
    model.page = lambda index, first: {**page(index, first), "truncated": 1}
    with director(tmp_path, model) as (environment, questions):
        run("show", "--live", env=environment)
    assert len(questions) < 2000


def test_tables_and_show_live_print_text(tmp_path):
    with director(tmp_path, Model(sizes=(3, 1))) as (environment, _):
        listed = run("tables", "--live", env=environment).stdout
        shown = run("show", "--live", env=environment).stdout
    assert words(listed) == [["index", "hops", "binds", "backends", "good", "packets", "table"],
                             ["0", "2", "1", "3", "3", "10", "t0"], ["1", "2", "1", "1", "1", "10", "t1"]]
    assert shown.startswith(f"generation 1, digest {'d' * 16}\n")
    assert "table t0: 3 backends, rows of 2 hops\n  binds  tcp 10.0.0.1 port 80, estimated packets: 10\n" in shown and "table t1: 1 backend," in shown
    assert ["10.1.0.0", "active", "up", "10", "0"] in words(shown)
    assert ["10.1.0.1", "active", "up", "0", "4"] in words(shown)


@pytest.mark.parametrize("name", ("x" * 63, "#0"))
def test_long_names_fit_80_columns(name, tmp_path):
    model = Model()
    table = model.table
    bind = "udp 2001:db80:1111:2222:3333:4444:5555:6660/124 port 10000-20000"
    model.table = lambda index: {**table(index), "name": name, **({} if name[0] == "x" else {"first_bind": bind}), "packets": 10**15}
    with director(tmp_path, model) as (environment, _):
        for command in (["tables", "--live"], ["show", "--live"], ["stats"], ["stats", "--all"]):
            text = run(*command, env=environment).stdout
            assert max(map(len, text.splitlines())) <= 80, command
            assert name in text


def test_show_live_of_one_table(tmp_path):
    with director(tmp_path, Model(sizes=(3, 1))) as (environment, questions):
        for name in ("t1", "#1"):
            assert [table["name"] for table in run_json("show", "--live", "--table", name, env=environment)["tables"]] == ["t1"]
        assert "/glb/tables,0,0" not in questions
        assert "has no table 't9'" in run("show", "--live", "--table", "t9", code=FAILED, env=environment).stderr


@pytest.mark.parametrize("slow", ([], ["tables: binds of IPv4 have 9 prefix lengths"]))
def test_show_live_says_what_is_slow(slow, tmp_path):
    model = Model()
    stats = model.stats
    model.stats = lambda: {**stats(), "slow": "".join(slow)}
    with director(tmp_path, model) as (environment, _):
        shown = run_json("show", "--live", env=environment)
        lines = run("show", "--live", env=environment).stdout.splitlines()
    assert shown["slow"] == slow and "stats" not in shown
    assert [line for line in lines if "slow" in line] == [f"slow: {text}" for text in slow]


def test_tables_of_a_file_have_the_same_form(tmp_path):
    document = {"tables": [table("web"), table(None, backends=1, hash_key=2)]}
    (tmp_path / "t.json").write_text(json.dumps(document))
    assert words(run("tables", tmp_path / "t.json").stdout) == [
        ["index", "hops", "binds", "backends", "good", "table"], ["0", "2", "1", "3", "3", "web"],
        ["1", "1", "1", "1", "1", "#1", "tcp", "10.10.10.10", "port", "80"]]
    listed = run_json("tables", tmp_path / "t.json")
    assert listed["digest"] == run_json("show", tmp_path / "t.json")["digest"]
    assert listed["tables"][1] == {"index": 1, "name": "#1", "hops": 1, "bind_count": 1, "backend_count": 1, "good_backends": 1,
                                   "first_bind": "tcp 10.10.10.10 port 80"}
    (tmp_path / "none.json").write_text('{"tables": []}')
    assert run("tables", tmp_path / "none.json").stdout == "There are no tables.\n"


def test_live_lookup_asks_the_director(tmp_path):
    model = Model()
    found = {"verdict": "forwarded", "generation": 3, "source_port_hashed": 0, "table": 0, "table_name": "t0", "hash": "0" * 16, "row": 5,
             "outer_source_port": 40000, "hops": ["10.0.0.1", "10.0.0.2"]}
    hops = [{"port": "0000:01:00.0", "address": "fe80::7", "interface": "eth1", "mac": "02:00:00:00:01:01"},
            {"port": "0000:01:00.1", "address": "", "interface": "", "mac": "unknown"}]
    reply = {**found, "next_hops": {str(i): hop for i, hop in enumerate(hops)}}
    answer = lambda question: {"/glb/lookup": reply} if question.startswith("/glb/lookup") else model(question)
    with director(tmp_path, answer) as (environment, questions):
        text = run("lookup", "--live", "[2001:db8::1]:5", "[2001:db8::2]:80", "--proto", "udp", env=environment).stdout
        assert run_json("lookup", "--live", "1.2.3.4:5", "10.0.0.1:80", env=environment) == {**found, "next_hops": hops}
        without = run_json("lookup", "--live", "1.2.3.4", "10.0.0.1:80", env=environment)
    assert questions == ["/glb/lookup,2001:db8::1,5,2001:db8::2,80,udp", "/glb/lookup,1.2.3.4,5,10.0.0.1,80,tcp",
                         "/glb/lookup,1.2.3.4,0,10.0.0.1,80,tcp"]
    assert ["hop", "2", "10.0.0.2"] in words(text) and ["table", "t0"] in words(text) and "UDP 40000 > 19523" in text
    assert "next hop  fe80::7 02:00:00:00:01:01 on eth1 (port 0000:01:00.0)\nnext hop  none (port 0000:01:00.1)\n" in text
    assert without == {key: value for key, value in found.items() if key != "outer_source_port"}


def test_live_lookup_needs_the_source_port_if_the_director_hashes_it(tmp_path):
    reply = {"verdict": "drop_unmatched", "generation": 3, "source_port_hashed": 1}
    with director(tmp_path, lambda question: {"/glb/lookup": reply}) as (environment, _):
        done = run("lookup", "--live", "1.2.3.4", "10.0.0.1:80", code=USAGE, env=environment)
    assert "SRC: '1.2.3.4' has no port, but the director's hash includes it" in done.stderr


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
    advice = (f"glb-director-cli: {tmp_path}/dpdk/gone/dpdk_telemetry.v2: no such socket: "
              "is glb-director running, with this --file-prefix?\n")
    assert run("stats", "--file-prefix", "gone", code=FAILED, env=environment).stderr == advice
    with director(tmp_path, None, prefix="one"), director(tmp_path, None, prefix="two"):
        assert run("stats", "--file-prefix", "gone", code=FAILED, env=environment).stderr == (
            advice + "glb-director-cli: note: there are sockets for --file-prefix one, two\n")
    done = run("show", "--live", "--file-prefix", "one", code=FAILED, env=environment)
    assert done.stderr == (f"glb-director-cli: {tmp_path}/dpdk/one/dpdk_telemetry.v2: nobody listens: "
                           "glb-director has ended, or does not run yet\n")
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


def test_missing_permission_is_named(tmp_path):
    """As root, the test runs the program as nobody, who may not connect to the socket."""
    if os.getuid() != 0:
        pytest.skip("this test needs root")
    folder = Path(tempfile.mkdtemp(prefix="glb-"))  # pytest's own folders are closed to others
    try:
        with director(folder, None) as (environment, _):
            folder.chmod(0o755)
            (folder / "dpdk").chmod(0o700)
            command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", CLI, "stats"]
            done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
    finally:
        shutil.rmtree(folder)
    assert (done.returncode, done.stderr) == (FAILED, f"glb-director-cli: {folder}/dpdk/rte/dpdk_telemetry.v2: permission denied: "
                                              "run this command as the director's user, usually root\n")


class NextHopsModel:
    """A director with a next hop for each port in `counts`. `change_at`: numbers of the requests before which something changes."""

    def __init__(self, counts=(1,), without=(0,), change_at=()):
        self.counts, self.without, self.change_at = counts, without, change_at
        self.version, self.requests = 1, 0

    def summary(self, index):
        return {"port": f"net_pcap{index}" if len(self.counts) > 1 else "all", "interface": f"eth{index}" if len(self.counts) > 1 else "",
                "next_hop_count": self.counts[index], "unreachable": 0, "backend_count": 9, "without_count": self.without[index],
                "version": self.version}

    def item(self, number):
        return {"address": f"10.{self.version}.0.{number}", "interface": "eth0", "mac": f"02:00:00:00:00:{number:02x}",
                "state": "reachable", "age": 60 ** (number % 4), "backends": 1}

    def page(self, index, first):
        def part(count, item):
            return {str(i): item(i) for i in range(first, min(first + 32, count))}

        count, without = self.counts[index], self.without[index]
        return {**self.summary(index), "first": first, "next_hops": part(count, self.item),
                "without": part(without, lambda number: {"ip": f"192.168.0.{number}", "why": "the kernel has no route to it"}),
                "truncated": int(first + 32 < max(count, without))}

    def __call__(self, question):
        self.requests += 1
        self.version += self.requests in self.change_at
        command, _, parameters = question.partition(",")
        if parameters:
            return {command: self.page(*map(int, parameters.split(",")))}
        return {command: {"sets": {str(i): self.summary(i) for i in range(len(self.counts))}}}


def test_next_hops_are_read_page_after_page(tmp_path):
    with director(tmp_path, NextHopsModel(counts=(33,), without=(65,))) as (environment, questions):
        (found,) = run_json("next-hops", env=environment)["sets"]
    assert questions == ["/glb/next_hops", *(f"/glb/next_hops,0,{first}" for first in (0, 32, 64))]
    assert [item["address"] for item in found["next_hops"]] == [f"10.1.0.{i}" for i in range(33)]
    assert [item["ip"] for item in found["without"]] == [f"192.168.0.{i}" for i in range(65)]


def test_next_hops_that_change_between_two_pages_are_read_again(tmp_path):
    with director(tmp_path, NextHopsModel(counts=(33,), change_at=(3,))) as (environment, _):
        (found,) = run_json("next-hops", env=environment)["sets"]
    assert {item["address"].split(".")[1] for item in found["next_hops"]} == {"2"} and len(found["next_hops"]) == 33


def test_next_hops_that_never_stop_changing_are_listed_with_a_note(tmp_path):
    """That is the time at which people want to see them."""
    with director(tmp_path, NextHopsModel(counts=(33,), change_at=range(1000))) as (environment, _):
        done = run("next-hops", "--json", env=environment)
    assert len(json.loads(done.stdout)["sets"][0]["next_hops"]) == 33
    assert done.stderr.endswith("the next hops changed while they were read, so a line may be missing or occur twice\n")


def test_next_hops_are_printed_for_each_port(tmp_path):
    with director(tmp_path, NextHopsModel(counts=(4, 0), without=(0, 1))) as (environment, _):
        text = run("next-hops", env=environment).stdout
    assert words(text)[:3] == [["port", "net_pcap0,", "interface", "eth0:"],
                               ["next", "hop", "interface", "MAC", "state", "age", "backends"],
                               ["10.1.0.0", "eth0", "02:00:00:00:00:00", "reachable", "1s", "1"]]
    assert [line[-2] for line in words(text)[2:6]] == ["1s", "1m", "1h", "2d"]
    assert text.split("\n\n")[1].splitlines() == [
        "port net_pcap1, interface eth1:", "There are no next hops.",
        "Backends without a reachable next hop, whose packets are dropped:", "192.168.0.0      the kernel has no route to it"]
    assert max(map(len, text.splitlines())) <= 80


def test_next_hops_with_long_addresses_are_aligned(tmp_path):
    """The addresses of BGP unnumbered."""
    def answer(question, model=NextHopsModel(counts=(2,))):
        reply = model(question)
        for item in next(iter(reply.values())).get("next_hops", {}).values():
            if item["mac"].endswith("01"):
                item["address"] = "fe80::e83c:b8ff:fea2:6587"
        return reply

    with director(tmp_path, answer) as (environment, _):
        lines = run("next-hops", env=environment).stdout.splitlines()
    assert len(lines) == 3 and max(map(len, lines)) <= 80
    assert len({line.index(word) for line, word in zip(lines, ("interface", "eth0", "eth0"), strict=True)}) == 1
    assert len({line.index(word) for line, word in zip(lines, ("MAC", "02:", "02:"), strict=True)}) == 1
    assert len({len(line) for line in lines}) == 1


def test_next_hop_of_a_fixed_address_is_listed(tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE, "3")
    pcap.write(tmp_path / "rx.pcap", [])
    with DirectorProcess([f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap={tmp_path}/tx.pcap"], CONFIG, table) as director:
        (found,) = run_json("next-hops", "--file-prefix", director.file_prefix, env=director.environment)["sets"]
        ask = director.telemetry.ask
        errors = [ask(f"/glb/next_hops,{parameters}") for parameters in ("1", "x", "0,x", "-1", "4294967296")]
        assert ask("/glb/stats")["next_hop_mac"] == CONFIG["outbound_gateway_mac"]
    (item,) = found["next_hops"]
    assert (item["address"], item["mac"], item["state"]) == ("", CONFIG["outbound_gateway_mac"], "fixed")
    assert [list(error) for error in errors] == [["error"]] * 5


def test_director_without_next_hops_is_an_error(tmp_path):
    with director(tmp_path, lambda question: {question: {"error": "no such command"}}) as (environment, _):
        done = run("next-hops", code=FAILED, env=environment)
    assert done.stderr == "glb-director-cli: the director does not list its next hops: no such command\n"
