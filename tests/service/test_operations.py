# SPDX-License-Identifier: BSD-3-Clause
"""Operation of a director: unusual names, watchdog, telemetry of many and long tables, spare ports."""

import os
import signal
import subprocess

import pytest
from scapy.layers.inet import IP, TCP

from lab.tools import TIMEOUT_S, wait_until
from support import pcap
from support import traffic
from support.cli import run, run_json
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, write_table
from support.frozen import Frozen
from support.service_manager import ServiceManager
from support.tree import CLI

SLEEP = {**CONFIG, "idle": "sleep"}


def vdev(folder, number=0):
    pcap.write(folder / "rx.pcap", [])
    return f"net_pcap{number},rx_pcap={folder}/rx.pcap,tx_pcap={folder}/tx{number}.pcap"


def table_of(number, name, backends=2):
    return {
        "name": name,
        "hash_key": f"{number + 1:032x}",
        "seed": f"{number + 1000:032x}",
        "binds": [{"ip": f"10.0.0.{number}", "proto": "tcp", "port": 80}],
        "backends": [{"ip": f"10.1.{i >> 8}.{i & 255}", "state": "active"} for i in range(backends)],
    }


def test_replies_replace_non_ascii_characters_of_names(tmp_path):
    """DPDK writes broken JSON for other characters, and omits tables that do not fit. So a name has at most 63 bytes."""
    tables = [table_of(i, f"{i:02}" + 125 * "ü") for i in range(64)]
    table = write_table(tmp_path / "table", {"tables": tables}, "json")
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        listed = director.telemetry.ask("/glb/tables")["tables"]
        assert [entry["name"] for entry in listed.values()] == [f"{i:02}" + 31 * "?" for i in range(64)]
        assert director.telemetry.ask("/glb/tables,1")["name"] == "01" + 31 * "?"
        assert director.telemetry.ask("/glb/lookup,1.2.3.4,5,10.0.0.2,80,tcp")["table_name"].startswith("02?")
        write_table(table, {"tables": [{60 * "ü": 1}]}, "json")
        reply = director.telemetry.ask("/glb/reload")
        assert reply["ok"] == 0 and "tables[0].??" in reply["error"]
        assert "tables[0].??" in director.stats()["last_error"]


def test_1024_tables_are_listed_in_pages_over_reloads(tmp_path):
    """Hundreds of tables come and go."""
    tables = [table_of(0, f"t{i}", 64) | {"hash_key": f"{i + 1:032x}", "binds": [{"ip": f"10.{16 + (i >> 8)}.{i & 255}.1", "proto": "tcp", "port": 80}]}
              for i in range(1024)]
    document = lambda kept, new: {"tables": [*kept, *({**table, "name": f"new-{table['name']}"} for table in new)]}
    table = write_table(tmp_path / "table", document(tables, []), "json")
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        pages = [director.telemetry.ask(f"/glb/tables,,{first}") for first in range(0, 1024, 64)]
        assert [list(page["tables"]) for page in pages] == [[str(i) for i in range(first, first + 64)] for first in range(0, 1024, 64)]
        assert [page["truncated"] for page in pages] == 15 * [1] + [0]
        assert director.telemetry.ask("/glb/tables,1023")["name"] == "t1023"
        assert director.telemetry.ask("/glb/tables,,1024")["tables"] == {}
        assert "error" in director.telemetry.ask("/glb/tables,,x")
        for kept in (512, 0, 1024):
            write_table(table, document(tables[1024 - kept:], tables[:1024 - kept]), "json")
            assert director.telemetry.ask("/glb/reload,force")["ok"] == 1
            names = [entry["name"] for first in range(0, 1024, 64) for entry in director.telemetry.ask(f"/glb/tables,,{first}")["tables"].values()]
            assert names == [f"t{i}" for i in range(1024 - kept, 1024)] + [f"new-t{i}" for i in range(1024 - kept)]
        over = document(tables, tables[:1])
        write_table(table, over, "json")
        reply = director.telemetry.ask("/glb/reload,force")
        assert reply["ok"] == 0 and "tables: has 1025 elements; the maximum is 1024" in reply["error"]
        assert director.telemetry.ask("/glb/tables,1023")["name"] == "t1023"


def test_director_ignores_a_closed_log_pipe(tmp_path):
    """In `glb-director 2>&1 | logger` the director survives the end of the logger."""
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        status = open(f"/proc/{director.process.pid}/status", encoding="ascii").read()
        (ignored,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
        assert int(ignored, 16) >> (signal.SIGPIPE - 1) & 1


def test_watchdog_is_fed_while_a_large_table_is_built(tmp_path, monkeypatch):
    """Building this table takes longer than two intervals of this watchdog on any machine."""
    with ServiceManager() as manager:
        monkeypatch.setenv("NOTIFY_SOCKET", manager.path)
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        table = write_table(tmp_path / "table", {"tables": [table_of(0, "t0")]}, "json")
        with DirectorProcess([vdev(tmp_path)], CONFIG, table) as director:
            write_table(table, {"tables": [table_of(i, f"t{i}", 4096) for i in range(4)]}, "json")
            director.process.send_signal(signal.SIGHUP)
            manager.wait_for("RELOADING=1")
            *during, ready = manager.wait_for("READY=1")
    assert ["WATCHDOG=1"] in during
    assert any("4 tables, generation 2" in line for line in ready)


def test_watchdog_is_not_fed_for_an_lcore_that_is_stuck(tmp_path, monkeypatch):
    with ServiceManager() as manager:
        monkeypatch.setenv("NOTIFY_SOCKET", manager.path)
        monkeypatch.setenv("WATCHDOG_USEC", "1000000")

        def signs():
            return manager.arrived().count(["WATCHDOG=1"])

        def stuck(times):
            return lambda: signs() >= 0 and director.log.count("error: lcore 0 is stuck") >= times

        table = write_table(tmp_path / "table", traffic.TABLE)
        with DirectorProcess([vdev(tmp_path)], CONFIG, table) as director:
            wait_until(signs, "a watchdog message")
            with Frozen(director.process.pid):
                wait_until(stuck(1), "the message that the lcore is stuck")
                signs()
                wait_until(lambda: director.log.count("error: lcore 0 is stuck") >= 3, "two more of these messages")
                assert signs() == 0
            wait_until(signs, "another watchdog message")


def test_new_table_starts_with_zero_counters(tmp_path):
    """Counters belong to the table's name. There are more names than counters, so a new name takes those of a removed table."""
    frames = [bytes(traffic.ETHER / IP(src="198.51.100.7", dst="10.0.0.7") / TCP(dport=80))] * 3
    table = write_table(tmp_path / "table", {"tables": [table_of(7, "first")]}, "json")
    device = vdev(tmp_path)
    pcap.write(tmp_path / "rx.pcap", frames)
    with DirectorProcess([device], SLEEP, table) as director:
        assert director.wait_received(3)["forwarded"] == 3

        def ask():
            (entry,) = director.telemetry.ask("/glb/tables")["tables"].values()
            return entry["name"], entry["packets"]

        assert ask() == ("first", 3)
        for name in [f"table {i}" for i in range(140)] + ["first"]:
            write_table(table, {"tables": [table_of(7, name)]}, "json")
            assert director.telemetry.ask("/glb/reload")["ok"] == 1
            assert ask() == (name, 0)


def test_tables_without_names_are_labelled_by_index_and_counted_by_first_bind(tmp_path):
    frames = [bytes(traffic.ETHER / IP(src="198.51.100.7", dst=f"10.0.0.{i}") / TCP(dport=80)) for i in (0, 1, 1, 2, 2, 2)]
    tables = [table_of(i, name) for i, name in enumerate(["", "web", None])]
    device = vdev(tmp_path)
    pcap.write(tmp_path / "rx.pcap", frames)
    table = write_table(tmp_path / "table", {"tables": tables}, "json")
    with DirectorProcess([device], SLEEP, table) as director:
        assert director.wait_received(6)["forwarded"] == 6

        def ask():
            return [(entry["name"], entry["packets"]) for entry in director.telemetry.ask("/glb/tables")["tables"].values()]

        assert ask() == [("#0", 1), ("web", 2), ("#2", 3)]
        assert director.telemetry.ask("/glb/lookup,1.2.3.4,5,10.0.0.2,80,tcp")["table_name"] == "#2"
        write_table(table, {"tables": tables[1:]}, "json")
        assert director.telemetry.ask("/glb/reload,force")["ok"] == 1
        assert ask() == [("web", 2), ("#1", 3)]
        table.unlink()
        write_table(table, {"tables": tables}, 2)
        assert director.telemetry.ask("/glb/reload")["ok"] == 1
        assert [name for name, _ in ask()] == ["#0", "#1", "#2"]


def test_reload_error_says_how_many_faults_the_table_has(tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        for count, more in ((1, ""), (2, " (and 1 more: glb-director-cli check lists them)"),
                            (3, " (and 2 more: glb-director-cli check lists them)")):
            bad = table_of(7, "bad", backends=count)
            for backend in bad["backends"]:
                backend["ip"] = "nowhere"
            write_table(table, {"tables": [bad]}, "json")
            column = table.read_text().index('"nowhere"') + 1
            answer = director.telemetry.ask("/glb/reload")
            assert answer["error"] + answer.get("error_2", "") == (
                f"{table}:1:{column}: tables[0].backends[0].ip: 'nowhere' is not an IPv4 or IPv6 address{more}")


def test_long_tables_are_reported_in_pages(tmp_path):
    document = table_of(0, "long", backends=130)
    document["binds"] = [{"ip": f"10.0.0.{i}", "proto": "tcp", "port": 80} for i in range(70)]
    table = write_table(tmp_path / "table", {"tables": [document]}, "json")
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        for first, binds, backends, more in ((0, 32, 32, 1), (64, 6, 32, 1), (128, 0, 2, 0), (2**32 - 1, 0, 0, 0)):
            page = director.telemetry.ask(f"/glb/tables,0,{first}")
            assert {int(i): bind["bind"] for i, bind in page["binds"].items()} == {
                i: f"10.0.0.{i} tcp 80-80" for i in range(first, first + binds)}
            assert {int(i): backend["ip"] for i, backend in page["backends"].items()} == {
                i: f"10.1.0.{i}" for i in range(first, first + backends)}
            assert page["truncated"] == more


def test_single_packet_is_counted_for_its_bind_and_stays_so_after_a_reload(tmp_path):
    document = table_of(7, "one")
    document["binds"].append({"ip": "10.0.0.7", "proto": "tcp", "port_start": 81, "port_end": 90})
    table = write_table(tmp_path / "table", {"tables": [document]}, "json")
    frame = bytes(traffic.ETHER / IP(src="198.51.100.1", dst="10.0.0.7") / TCP(dport=85))
    device = vdev(tmp_path)
    pcap.write(tmp_path / "rx.pcap", [frame])

    def binds(director):
        (shown,) = run_json("show", "--live", "--file-prefix", director.file_prefix, env=director.environment)["tables"]
        return [(bind["bind"], bind["estimated_packets"], bind["estimated_bytes"]) for bind in shown["binds"]]

    with DirectorProcess([device], SLEEP, table) as director:
        director.wait_received(1)
        size = director.stats()["tx_bytes"]
        assert size >= len(frame) + 36
        assert binds(director) == [("10.0.0.7 tcp 80-80", 0, 0), ("10.0.0.7 tcp 81-90", 1, size)]
        document["binds"].reverse()
        write_table(table, {"tables": [document]}, "json")
        assert director.telemetry.ask("/glb/reload")["ok"] == 1
        assert binds(director) == [("10.0.0.7 tcp 81-90", 1, size), ("10.0.0.7 tcp 80-80", 0, 0)]
        text = run("stats", "--file-prefix", director.file_prefix, env=director.environment).stdout
    assert ["tcp", "10.0.0.7", "port", "81-90", "1"] in [line.split() for line in text.splitlines()]


def spare_port_config(**more):
    path = {"rx_port": 0, "rx_queue": 0, "tx_port": 0, "tx_queue": 0}
    lcore = {"rx": True, "tx": True, "flow_paths": [0]}
    return {**SLEEP, "flow_paths": [path], "lcores": {"lcore-1": lcore}, **more}


def test_port_without_flow_path_stays_off(tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    vdevs = [vdev(tmp_path), vdev(tmp_path, 1)]
    with DirectorProcess(vdevs, spare_port_config(), table, lcores="0@0,1@1") as director:
        assert "warning: port 1 (net_pcap1): no flow path uses it" in director.log
        started = [director.telemetry.ask(f"/ethdev/info,{port}")["dev_started"] for port in (0, 1)]
        assert started == [1, 0]
        assert director.terminate()["received"] == 0


def test_queues_have_the_descriptors_mbufs_and_rss_fields_of_the_configuration(tmp_path):
    keys = {"rx_descriptors": 100, "tx_descriptors": 4096, "mbufs": 20000, "rss_fields": "addresses"}
    table = write_table(tmp_path / "table", traffic.TABLE)
    fields = []
    for config in (keys, {}):
        with DirectorProcess(["net_null0"], {**CONFIG, "idle": "sleep", **config}, table, lcores="0@0,1@0,2@0") as director:
            log, port = director.log, director.telemetry.ask("/ethdev/info,0")
            fields.append(port["ethdev_rss_hf"])
            mbufs = director.telemetry.ask("/mempool/info,frames-0")["size"]
            if config:
                assert "2 rx queues of 100 descriptors, 2 tx queues of 4096 descriptors" in log
                assert mbufs == 20000
            else:
                assert "2 rx queues of 1024 descriptors, 2 tx queues of 1024 descriptors" in log
                assert mbufs < 20000
            assert "takes no RSS key" in log
    assert fields[0] and fields[0] < fields[1] and fields[0] & fields[1] == fields[0]


def test_fifo_is_refused_as_configuration(tmp_path):
    """The command must not wait for a writer, who may never come."""
    os.mkfifo(tmp_path / "director.conf")
    write_table(tmp_path / "TABLE", traffic.TABLE)
    words = "lookup TABLE 192.0.2.9:1 10.10.11.7:80 --config director.conf".split()
    done = subprocess.run([CLI, *words], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert "director.conf: is a FIFO; expected a regular file" in done.stdout + done.stderr
    assert done.returncode != 0


def backends_of(director, index):
    """{address: packets} of a table."""
    page = director.telemetry.ask(f"/glb/tables,{index}")
    return {backend["ip"]: backend["packets"] for backend in page["backends"].values()}


def test_backends_keep_their_counters_over_reloads(tmp_path):
    """The backends move, one leaves and another one joins. Other tables have backends with the same addresses."""
    frames = [bytes(traffic.ETHER / IP(src=f"198.51.100.{i}", dst="10.0.0.7") / TCP(dport=80)) for i in range(200)]
    frames += [bytes(traffic.ETHER / IP(src="198.51.100.7", dst="10.0.0.9") / TCP(dport=80))] * 10
    first, second = table_of(7, "first", backends=4), table_of(9, "second", backends=4)
    table = write_table(tmp_path / "table", {"tables": [first, second]}, "json")
    device = vdev(tmp_path)
    pcap.write(tmp_path / "rx.pcap", frames)
    with DirectorProcess([device], SLEEP, table) as director:
        assert director.wait_received(210)["forwarded"] == 210
        before = backends_of(director, 0)
        assert sum(before.values()) == 200 and min(before.values()) > 20
        assert sum(backends_of(director, 1).values()) == 10
        first["backends"] = [{"ip": f"10.1.0.{i}", "state": "active"} for i in (3, 8, 0, 1)]
        write_table(table, {"tables": [second, first]}, "json")
        for _ in range(2):
            assert director.telemetry.ask("/glb/reload")["ok"] == 1
            assert backends_of(director, 1) == {ip: before.get(ip, 0) for ip in ("10.1.0.3", "10.1.0.8", "10.1.0.0", "10.1.0.1")}
            assert sum(backends_of(director, 0).values()) == 10
        director.terminate()
    sent = [IP(frame[14:]).dst for frame in pcap.read(tmp_path / "tx0.pcap")][:200]
    assert {ip: sent.count(ip) for ip in before} == before


def test_tables_without_names_keep_their_counters_by_their_first_bind(tmp_path):
    frames = [bytes(traffic.ETHER / IP(src="198.51.100.7", dst="10.0.0.9") / TCP(dport=80))] * 3
    tables = [table_of(7, "gone"), table_of(9, "kept")]
    table = write_table(tmp_path / "table", {"tables": tables}, "2")
    device = vdev(tmp_path)
    pcap.write(tmp_path / "rx.pcap", frames)
    with DirectorProcess([device], SLEEP, table) as director:
        assert director.wait_received(3)["forwarded"] == 3
        write_table(table, {"tables": tables[1:]}, "2")
        assert director.telemetry.ask("/glb/reload,force")["ok"] == 1
        (entry,) = director.telemetry.ask("/glb/tables")["tables"].values()
        assert (entry["name"], entry["packets"]) == ("#0", 3)
        assert sum(backends_of(director, 0).values()) == 3


def test_ready_line_names_ports_lcores_isa_and_table(tmp_path):
    table = write_table(tmp_path / "table", {"tables": [table_of(7, "one")]}, "json")
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        (ready,) = director.wait_log(" ready: ")
        assert "1 tables" not in director.log
        stats = director.stats()
    assert ready == (f"glb-director: notice: ready: port 0 (net_pcap0) up 10000 Mbit/s; 1 worker lcore, "
                     f"ISA {stats['packet_path']}, 1 table, digest {stats['digest']}")


@pytest.mark.parametrize("document, message", (
    ({"tables": []}, "has no tables"),
    ({"tables": [{**table_of(7, "one"), "binds": []}]}, "has no binds"),
))
def test_start_with_an_empty_table_warns(document, message, tmp_path):
    table = write_table(tmp_path / "table", document, "3")
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        assert f"warning: {table}: {message}: the director forwards nothing\n" in director.log


def test_a_bind_with_the_directors_own_address_is_warned_about_at_start_and_reload(tmp_path):
    table, device = tmp_path / "table", vdev(tmp_path)
    bind = {"ip": "192.0.2.0/24", "proto": "tcp", "port": 80}
    document = {"tables": [table_of(1, "one"), {**table_of(2, "two"), "binds": [bind]}]}
    warning = f"warning: {table}: tables[1].binds[0]: contains outbound_src_ip 192.0.2.1: "
    with DirectorProcess([device], SLEEP, write_table(table, document, 2)) as director:
        assert director.log.count(warning) == 1
        assert director.telemetry.ask("/glb/reload")["ok"] == 1
        assert director.log.count(warning) == 2
        bind["ip"] = "192.0.2.2/31"
        write_table(table, document, 2)
        assert director.telemetry.ask("/glb/reload,force")["ok"] == 1
        assert director.log.count(warning) == 2


def test_stats_have_the_beginning_of_a_very_long_path(tmp_path):
    """A longer one would leave no room for the lcores in a reply of DPDK."""
    folder = tmp_path / ("a" * 200) / ("b" * 200) / ("c" * 200)
    folder.mkdir(parents=True)
    table = write_table(folder / "table", {"tables": [table_of(7, "one")]}, "json")
    with DirectorProcess([vdev(tmp_path)], SLEEP, table) as director:
        stats = run_json("stats", "--file-prefix", director.file_prefix, env=director.environment)
    assert stats["table_path"] == str(table)[:511]


@pytest.mark.parametrize("version, named", (("json", "JSON"), ("2", "version 2"), ("3", "version 3")))
def test_stats_describe_the_table(version, named, tmp_path):
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    hops = 2 if version == "2" else 3
    table = write_table(folder / "table", {"tables": [{**table_of(7, "one", backends=4), "hops": hops}]}, version)
    config = {**SLEEP, "alt_hash_fields": {"src_addr": True, "src_port": True}}
    with DirectorProcess([vdev(tmp_path)], config, table) as director:
        stats = run_json("stats", "--file-prefix", director.file_prefix, env=director.environment)
        text = run("stats", "--file-prefix", director.file_prefix, env=director.environment).stdout
        shown = run_json("show", "--live", "--file-prefix", director.file_prefix, env=director.environment)
        (entry,) = director.telemetry.ask("/glb/tables")["tables"].values()
        log = director.log
    assert stats["table_path"] == str(table)
    assert stats["table_format"] == named
    assert (stats["hash_fields"], stats["alt_hash_fields"]) == ("src_addr", "src_addr, src_port")
    of_file = run_json("show", table)
    assert [stats[key] for key in ("digest", "first_hops", "fingerprint")] == [of_file[key] for key in ("digest", "first_hops", "fingerprint")]
    assert (stats["prefix_lengths_ipv4"], stats["prefix_lengths_ipv6"]) == (1, 0)
    assert (stats["port_maps"], stats["misfit_prefixes"]) == (1, 0)
    slow = ("tables[0]: rows have 3 hops, and alt_hash_fields is set: the packets of this table take the slower general path; "
            'set "hops" to 2 or remove alt_hash_fields')
    assert stats["slow"] == ("" if hops == 2 else slow)
    assert shown["slow"] == ([] if hops == 2 else [slow])
    assert (f"{table}: {slow}" in log) == (hops == 3)
    assert (f"slow {slow} " in " ".join(text.split())) == (hops == 3)
    assert not {"prefix_lengths_ipv4", "prefix_lengths_ipv6", "port_maps"} & set(text.split())
    assert entry.get("first_bind") == ("tcp 10.0.0.7 port 80" if version == "2" else None)


def test_live_subcommands_show_what_the_director_does(tmp_path):
    """The table of version 2 has no names, and more backends than a page of telemetry."""
    frames = [bytes(traffic.ETHER / IP(src=f"198.51.100.{i}", dst="10.0.0.7") / TCP(sport=5, dport=80)) for i in range(100)]
    table = write_table(tmp_path / "table", {"tables": [table_of(7, "gone", backends=130)]}, "2")
    device = vdev(tmp_path)
    pcap.write(tmp_path / "rx.pcap", frames)
    with DirectorProcess([device], SLEEP, table) as director:
        director.wait_received(100)

        def ask(name, *words):
            return run_json(name, "--live", *words, "--file-prefix", director.file_prefix, env=director.environment)

        (shown,) = ask("show")["tables"]
        (listed,) = ask("tables")["tables"]
        found = ask("lookup", "198.51.100.1:5", "10.0.0.7:80")
        text = run("stats", "--file-prefix", director.file_prefix, env=director.environment).stdout
    (file,) = run_json("show", table)["tables"]
    assert [backend["ip"] for backend in shown["backends"]] == [backend["ip"] for backend in file["backends"]]
    assert sum(backend["packets"] for backend in shown["backends"]) == shown["packets"] == listed["packets"] == 100
    (bind,) = shown["binds"]
    assert bind["bind"] == "10.0.0.7 tcp 80-80"
    assert (listed["name"], listed["first_bind"]) == ("#0", "tcp 10.0.0.7 port 80")
    assert next(backend["packets"] for backend in shown["backends"] if backend["ip"] == found["hops"][0]) > 0
    assert "table #0 tcp 10.0.0.7 port 80\n" in text and "version 2, 1 table, generation 1\n" in text
    assert max(len(line) for line in text.splitlines() if str(table) not in line) <= 80
