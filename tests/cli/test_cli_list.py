# SPDX-License-Identifier: BSD-3-Clause
"""glb-director-cli replay --list and --drops; captures on standard input and output; one table; 80 columns."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

import pytest

from support import pcap
from support.cli import BROKEN, FAILED, OK, USAGE, backend, run, run_json, table, tcp_frame, write_conf, write_tables
from support.tree import CLI
from support.vectors import PACKETS

ARP = bytes(12) + b"\x08\x06" + bytes(28)


def ip_frame(protocol, payload=bytes(8)):
    frame = bytearray(tcp_frame(payload=payload))
    frame[23] = protocol
    return bytes(frame)


@pytest.fixture
def setup(tmp_path):
    backends = [backend("192.168.50.1", "draining"), backend("192.168.50.2"), backend("192.168.50.3")]
    write_tables(tmp_path / "table.json", table(backends=backends))
    run("build-config", tmp_path / "table.json", tmp_path / "table.bin")
    write_conf(tmp_path / "director.conf")
    return tmp_path


def replay(folder, capture, *args, source="table.json", conf="director.conf", **kwargs):
    return run("replay", folder / source, capture, *args, "--config", folder / conf, **kwargs)


def listed(folder, capture, *args, **kwargs):
    return json.loads(replay(folder, capture, "--json", *args, **kwargs).stdout)


# --list and --drops


def test_list_has_every_packet_and_what_lookup_says(setup):
    frames = [tcp_frame(sport=1000 + i) for i in range(200)]
    found = listed(setup, pcap.write(setup / "in.pcap", frames), "--list")
    assert [entry["number"] for entry in found["list"]] == list(range(1, 201))
    assert [entry["time"] for entry in found["list"]] == [f"{1000 + i}.000000000" for i in range(200)]
    assert found["packets"] == found["sent"] == sum(found["verdicts"].values()) == 200
    for entry in found["list"][:40]:
        flow = run_json("lookup", setup / "table.json", entry["source"], entry["destination"], "--config",
                        setup / "director.conf")
        assert (entry["what"], entry["verdict"], entry["size"]) == ("tcp", "forwarded", 54)
        assert (entry["table"], entry["table_index"], entry["row"]) == ("web", 0, flow["row"])
        assert (entry["first_hop"], entry["reason"]) == (flow["hops"][0]["ip"], flow["hops"][0]["reason"])


def test_list_agrees_with_the_packets_that_are_written(setup):
    frames = [tcp_frame(sport=1000 + i, dport=80 + i % 2) for i in range(130)] + [ARP] * 3
    found = listed(setup, pcap.write(setup / "in.pcap", frames), setup / "out.pcap", "--list")["list"]
    sent = run_json("decode", setup / "out.pcap")["packets"]
    assert [entry["first_hop"] for entry in found if entry["verdict"] == "forwarded"] == [
        packet["destination"] for packet in sent]
    assert [entry["source"] for entry in found if entry["verdict"] == "forwarded"] == [
        packet["inner"]["source"] for packet in sent]


def test_every_golden_packet_is_listed_with_its_verdict(tmp_path):
    write_tables(tmp_path / "table.json", table())
    write_conf(tmp_path / "director.conf")
    frames = [bytes.fromhex(packet["frame"]) for packet in PACKETS["packets"]]
    capture = pcap.write(tmp_path / "in.pcap", frames)
    found = listed(tmp_path, capture, "--list")
    counts = {}
    for entry in found["list"]:
        counts[entry["verdict"]] = counts.get(entry["verdict"], 0) + 1
        assert entry["reason"] and entry["what"]
    assert counts == {name: count for name, count in found["verdicts"].items() if count}
    dropped = listed(tmp_path, capture, "--drops")["list"]
    assert dropped == [entry for entry in found["list"] if entry["verdict"] != "forwarded"]
    for option in ("--list", "--drops"):
        assert [line for line in replay(tmp_path, capture, option).stdout.splitlines() if len(line) > 80] == []


def test_drops_prints_only_the_packets_that_are_not_forwarded(setup):
    frames = [tcp_frame(), tcp_frame(dport=81), tcp_frame(destination="10.10.10.9"), ARP, ip_frame(47), ARP[:13]]
    capture = pcap.write(setup / "in.pcap", frames, times=[1000 + i / 4 for i in range(6)])
    text = replay(setup, capture, "--drops").stdout
    assert text.startswith("""\
2  0.250000  tcp 198.51.100.7:40000 > 10.10.10.10:81
    drop_unmatched: binds cover the destination address, but not this protocol
      and port
3  0.500000  tcp 198.51.100.7:40000 > 10.10.10.9:80
    drop_unmatched: no bind covers the destination address
4  0.750000  EtherType 0x0806
    drop_unmatched: only TCP, UDP, pings and ICMP errors about TCP or UDP can
      match a bind
5  1.000000  IP protocol 47 198.51.100.7 > 10.10.10.10
    drop_unmatched: only TCP, UDP, pings and ICMP errors about TCP or UDP can
      match a bind
6  1.250000  frame of 13 bytes
    drop_truncated: the frame is shorter than its headers, or than a length in
      them

           1   16.67%  forwarded """)
    assert listed(setup, pcap.write(setup / "in.pcap", [tcp_frame()]), "--drops")["list"] == []
    assert replay(setup, setup / "in.pcap", "--drops").stdout == replay(setup, setup / "in.pcap").stdout


def test_list_has_sizes_and_the_exception_path(setup):
    write_conf(setup / "small.conf", outbound_mtu=576, send_icmp_too_big=True, drop_martians=False)
    write_conf(setup / "tap.conf", exception_path="tap", forward_icmp_ping_responses=False)
    frames = [tcp_frame(payload=bytes(600), flags=0x4000)] * 51
    frames += [tcp_frame(payload=bytes(600)), tcp_frame("127.0.0.1", payload=bytes(600), flags=0x4000)]
    big = pcap.write(setup / "big.pcap", frames, times=[1000] * len(frames))
    found = listed(setup, big, "--list", conf="small.conf")["list"]
    sizes = "680 bytes with the outer headers; outbound_mtu is 576; "
    assert [(entry["verdict"], entry["reason"]) for entry in found[49:]] == [
        ("answered_too_big", sizes + "the director sent a too-big reply"),
        ("drop_too_big", sizes + "it gets no too-big reply because of the rate limit"),
        ("drop_too_big", sizes + "it gets no too-big reply because it has no DF bit"),
        ("drop_too_big", sizes + "standards forbid a too-big reply to it"),
    ]
    ping = bytearray(ip_frame(1))
    ping[34:36] = b"\x08\x00"
    found = listed(setup, pcap.write(setup / "in.pcap", [bytes(ping), tcp_frame(dport=1)]), "--list", conf="tap.conf")["list"]
    assert [(entry["verdict"], entry["what"], entry["reason"]) for entry in found] == [
        ("exception", "icmp echo request", "forward_icmp_ping_responses is off"),
        ("exception", "tcp", "binds cover the destination address, but not this protocol and port")]


def test_list_says_that_the_snap_length_has_cut_a_packet(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()], snap=40)
    entry, = listed(setup, capture, "--list")["list"]
    assert (entry["verdict"], entry["reason"]) == (
        "drop_truncated", "the snap length of the capture has cut it to 40 of 54 bytes")


def test_list_of_a_binary_table_has_no_reason_for_the_hop(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()])
    entry, = listed(setup, capture, "--list", source="table.bin")["list"]
    assert entry["reason"] == "sent to a proxy in GUE"


def test_packets_that_go_back_in_time_are_listed(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()] * 2, times=[1000.5, 998.25])
    assert "\n2  -2.250000  tcp " in replay(setup, capture, "--list").stdout


def test_list_and_drops_exclude_each_other(setup):
    error = replay(setup, setup / "in.pcap", "--list", "--drops", code=USAGE).stderr
    assert error.startswith("glb-director-cli: replay: --list and --drops exclude each other: give one of them\n")


def test_list_as_json_is_complete_if_the_capture_is_not(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()] * 3)
    capture.write_bytes(capture.read_bytes()[:-5])
    assert len(listed(setup, capture, "--list", code=FAILED)["list"]) == 2


# Standard input and output


def pipe(command, data, code=OK):
    done = subprocess.run([CLI, *map(str, command)], input=data, capture_output=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr.decode()


@pytest.mark.parametrize("write", [pcap.write, pcap.write_ng])
def test_replay_and_decode_work_in_a_pipe(setup, write):
    data = write(setup / "in.pcap", [tcp_frame(sport=i) for i in range(1, 100)] + [ARP]).read_bytes()
    files = replay(setup, setup / "in.pcap", setup / "out.pcap").stdout
    command = ["replay", setup / "table.json", "-", "-", "--config", setup / "director.conf"]
    out, text = pipe(command, data)
    assert out == (setup / "out.pcap").read_bytes()
    assert text.split() == files.replace(str(setup / "out.pcap"), "standard output").split()
    decoded, errors = pipe(["decode", "-", "--json"], out)
    assert json.loads(decoded) == run_json("decode", setup / "out.pcap") and errors == ""
    out, text = pipe([*command, "--json", "--list"], data)
    assert out == (setup / "out.pcap").read_bytes() and len(json.loads(text)["list"]) == 100


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_text_does_not_get_into_a_capture_on_standard_output(setup, name):
    """Also if standard output is a file: with two file offsets, the text would overwrite the capture."""
    capture = pcap.write(setup / "in.pcap", [tcp_frame()] * 3)
    replay(setup, capture, setup / "expected.pcap")
    with open(setup / "out.pcap", "wb") as out:
        done = subprocess.run([CLI, "replay", setup / "table.json", capture, name, "--list", "--config", setup / "director.conf"],
                              stdout=out, stderr=subprocess.PIPE, text=True)
    assert done.returncode == OK and "packets read" in done.stderr
    assert (setup / "out.pcap").read_bytes() == (setup / "expected.pcap").read_bytes()


def test_bad_standard_input_is_named(setup):
    command = ["replay", setup / "table.json", "-", "--config", setup / "director.conf"]
    raw = pcap.write(setup / "raw.pcap", [tcp_frame()], link_type=101).read_bytes()
    whole = pcap.write(setup / "in.pcap", [tcp_frame()]).read_bytes()
    for data, message in ((b"", "truncated"), (b"nonsense", "unknown file format"), (b"x" * 99, "unknown file format"),
                          (raw, "(RAW), but only Ethernet"), (whole[:-1], "truncated")):
        for args in (command, ["decode", "-"]):
            error = pipe(args, data, FAILED)[1]
            assert error.startswith("glb-director-cli: standard input: ") and message in error


def test_standard_output_that_fails_or_is_an_input_or_no_capture(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()])
    before = capture.read_bytes()

    def replay_to(name, mode, source=capture, stdin=None, *options):
        with open(name, mode) as out:
            return subprocess.run([CLI, "replay", setup / "table.json", source, "-", "--config", setup / "director.conf", *options],
                                  stdout=out, stdin=stdin, stderr=subprocess.PIPE, text=True)

    done = replay_to("/dev/full", "w")
    assert done.returncode == FAILED
    assert "standard output: cannot write the capture: No space left on device" in done.stderr
    done = replay_to(capture, "a")
    assert (done.returncode, capture.read_bytes()) == (FAILED, before)
    assert f"/dev/stdout: the output is the same file as the input {capture}: " in done.stderr
    with open(capture) as stdin:
        assert replay_to(capture, "a", "-", stdin).returncode == FAILED
    assert capture.read_bytes() == before
    table_before = (setup / "table.bin").read_bytes()
    assert "/dev/stdout: contains a binary table, not a capture: " in replay_to(setup / "table.bin", "a").stderr
    assert (setup / "table.bin").read_bytes() == table_before


def test_a_list_for_a_closed_descriptor_is_not_in_the_capture(setup):
    """The file of the capture would get the descriptor of standard output."""
    command = [CLI, "replay", setup / "table.json", pcap.write(setup / "in.pcap", [tcp_frame()]), setup / "out.pcap", "--config",
               setup / "director.conf", "--list"]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True)
    assert done.returncode == FAILED and "cannot write to standard output" in done.stderr
    assert not (setup / "out.pcap").exists() or len(pcap.read(setup / "out.pcap")) == 1


def test_replay_to_the_file_that_is_standard_input_is_refused(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()])
    before = capture.read_bytes()
    with open(capture) as stdin:
        error = run("replay", setup / "table.json", "-", capture, "--config", setup / "director.conf", stdin=stdin,
                    code=FAILED).stderr
    assert f"{capture}: the output is the same file as the input /dev/stdin: " in error
    assert capture.read_bytes() == before


def on_terminal(command, columns):
    """Runs the command on a terminal with this many columns. Returns its exit code and what it printed."""
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([CLI, *map(str, command)], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal) as child:
        os.close(terminal)
        text = b""
        while True:
            try:
                chunk = os.read(reader, 65536)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
    os.close(reader)
    return child.returncode, text.decode().replace("\r\n", "\n")


def test_a_capture_is_not_written_to_a_terminal(setup):
    capture = pcap.write(setup / "in.pcap", [tcp_frame()])
    assert on_terminal(["replay", setup / "table.json", capture, "-", "--config", setup / "director.conf"], 80) == (
        FAILED, "glb-director-cli: standard output is a terminal: send the capture to a file or a pipe\n")


# One table


@pytest.fixture
def tables(tmp_path):
    binds = [[{"ip": f"10.10.10.{i}", "proto": "tcp", "port": 80}] for i in range(3)]
    return [table("web", 3, binds=binds[0]), table("git", 4, hash_key=2, binds=binds[1]),
            table(None, 1, hash_key=3, binds=binds[2])]


@pytest.mark.parametrize("name, index", [("web", 0), ("git", 1), ("#0", 0), ("#1", 1), ("#2", 2)])
def test_show_of_one_table(tmp_path, tables, name, index):
    source = write_tables(tmp_path / "table.json", *tables)
    whole = run_json("show", source)
    assert run_json("show", source, "--table", name) == {**whole, "tables": [whole["tables"][index]]}
    text = run("show", source, "--table", name).stdout
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("table ")] == [
        f"table {['web', 'git', '#2'][index]}"]


@pytest.mark.parametrize("name", ["we", "WEB", "", "#3", "#", "#01", "#-1", "#4294967296", "2"])
def test_unknown_table_lists_the_names(tmp_path, tables, name):
    source = write_tables(tmp_path / "table.json", *tables)
    for option in [], ["--json"]:
        done = run("show", source, "--table", name, *option, code=FAILED)
        assert done.stderr == f"glb-director-cli: {source}: there is no table '{name}'; the file has: web, git, #2\n"
        assert done.stdout == ""
    done = run("diff", source, source, "--table", name, code=FAILED)
    assert done.stderr == f"glb-director-cli: diff: there is no table '{name}'; the tables are: web, git, #2\n"
    assert done.stdout == ""


def test_unknown_table_of_a_file_without_tables(tmp_path):
    source = write_tables(tmp_path / "table.json")
    assert f"{source}: there is no table 'web', because the file has no tables\n" in run(
        "show", source, "--table", "web", code=FAILED).stderr


def test_a_name_wins_over_an_index(tmp_path, tables):
    source = write_tables(tmp_path / "table.json", {**tables[0], "name": "#1"}, tables[1])
    assert [entry["name"] for entry in run_json("show", source, "--table", "#1")["tables"]] == ["#1"]
    assert [entry["name"] for entry in run_json("diff", source, source, "--table", "#1")["tables"]] == ["#1"]


def test_diff_of_one_table_counts_only_this_table(tmp_path, tables):
    old = write_tables(tmp_path / "old.json", *tables)
    new = write_tables(tmp_path / "new.json", tables[0], {**tables[1], "backends": tables[1]["backends"][:3]})
    whole = run_json("diff", old, new, code=BROKEN)
    for name, index, code in (("web", 0, OK), ("git", 1, BROKEN), ("#1", 1, BROKEN)):
        found = run_json("diff", old, new, "--table", name, code=code)
        assert found["tables"] == [whole["tables"][index]]
        assert (found["rows"], found["broken_rows"]) == (65536, whole["tables"][index]["broken_rows"])
    text = run("diff", old, new, "--table", "git", code=BROKEN).stdout
    assert text.startswith("table git: ") and "all:" not in text and "table web" not in text
    run("diff", old, new, "--table", "git", "--max-broken", "50")


# 80 columns


LONG = "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff"


def too_wide(text, columns=80):
    return [line for line in text.splitlines() if len(line) > columns and " " in line.strip()]


def test_show_and_diff_of_long_names_and_addresses_fit_80_columns(tmp_path):
    backends = [backend(f"192.168.150.{i}", "draining", False) for i in range(101, 105)]
    binds = [{"ip": LONG, "proto": "tcp", "port_start": 10000, "port_end": 65535}]
    wide = write_tables(tmp_path / "wide.json", table("w" * 64, backends, hops=4, binds=binds))
    text = run("show", wide).stdout
    assert too_wide(text) == []
    assert "\n  192.168.150.101  draining  down  " in text
    text = run("diff", wide, write_tables(tmp_path / "new.json"), code=BROKEN).stdout
    assert too_wide(text) == []
    assert "\n  192.168.150.101  draining down  " in text


def test_lookup_fits_80_columns(tmp_path):
    conf = write_conf(tmp_path / "director.conf", hash_fields={"src_addr": True, "src_port": True},
                      alt_hash_fields={"src_addr": True})
    backends = [backend(f"192.168.150.{i}", "draining", False) for i in range(100, 150)]
    binds = [{"ip": LONG, "proto": "tcp", "port_start": 10000, "port_end": 65535}]
    source = write_tables(tmp_path / "table.json", table("w" * 64, backends, hops=4, binds=binds))
    for client in range(20):
        flow = [f"[2001:db8:aaaa:bbbb:cccc:dddd:eeee:{client + 1000}]:60000", f"[{LONG}]"]
        for port in (60000, 1):
            assert too_wide(run("lookup", source, flow[0], f"{flow[1]}:{port}", "--config", conf).stdout) == []


def test_decode_and_replay_fit_80_columns(tmp_path):
    conf = write_conf(tmp_path / "director.conf", outbound_src_ip="192.168.250.200")
    backends = [backend(f"192.168.150.{i}") for i in range(100, 104)]
    source = write_tables(tmp_path / "table.json", table("w" * 64, backends, hops=4, binds=[
        {"ip": LONG, "proto": "tcp", "port": 50000}]))
    client = bytes.fromhex("20010db8aaaabbbbccccddddeeeeaaaa")
    tcp = struct.pack("!HHIIBBHHH", 50000, 50000, 1, 0, 0x50, 2, 65535, 0, 0)
    packet = struct.pack("!IHBB", 6 << 28, len(tcp), 6, 64) + client + bytes.fromhex(
        "20010db8aaaabbbbccccddddeeeeffff") + tcp
    frame = bytes(12) + b"\x86\xdd" + packet
    text = run("replay", source, pcap.write(tmp_path / "in.pcap", [frame] * 1000), tmp_path / "out.pcap", "--config", conf,
               "--list").stdout
    assert too_wide(text) == [] and text.split().count("forwarded:") == 1000
    text = run("decode", tmp_path / "out.pcap").stdout
    assert too_wide(text) == []
    assert text.startswith("1  192.168.250.200 > 192.168.150.1")


def test_one_is_singular(tmp_path):
    source = write_tables(tmp_path / "table.json", table(backends=1))
    write_conf(tmp_path / "director.conf")
    text = run("show", source).stdout
    assert "1 table," in text.replace("\n", " ") and "table web: 1 backend, rows of 1 hop\n" in text
    assert "mean of 1 backend\n" in text
    text = replay(tmp_path, pcap.write(tmp_path / "in.pcap", [tcp_frame()], snap=54)).stdout
    assert "           1  packet read, each with one verdict\n           1  packet would be sent\n" in text
