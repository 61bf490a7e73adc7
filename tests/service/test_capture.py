# SPDX-License-Identifier: BSD-3-Clause
"""`glb-director-cli capture` on a running director: what it shows, and what failing and hostile clients cannot do to the director."""

import contextlib
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import time

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP

from lab.tools import TIMEOUT_S, wait_until
from model import Director
from support import pcap, traffic
from support.cli import FAILED, OK, USAGE
from support.director_conf import CONFIG, OPEN
from support.director_process import NOBODY, DirectorProcess, usable_isas, write_table
from support.pages import block
from support.tree import CLI, TREE
from support.underlay import FAMILIES, Underlay

CLIENT, VIP, OTHER = "198.51.100.7", "10.10.10.10", "203.0.113.9"
VDEV = "net_af_packet0,iface=director"
CONF = {**CONFIG, **OPEN, "idle": "sleep", "send_icmp_too_big": True}
PROTOCOL = 4 << 16 | 18  # as in src/packet/capture_messages.h
DISSECTOR = TREE / "packaging/wireshark/glb_gue.lua"


def frame(layers, size=0):
    data = bytes(traffic.ETHER / layers)
    return data + bytes(max(0, size - len(data)))


def syn(sport=1234, dport=80, destination=VIP, **ip):
    return frame(IP(src=CLIENT, dst=destination, **ip) / TCP(sport=sport, dport=dport))


FORWARDED, UNMATCHED = syn(), frame(IP(src=CLIENT, dst=OTHER) / UDP(dport=53) / b"no bind")
# All kinds of packets, for the fast path and for the general path.
MIXED = [
    FORWARDED,
    syn(dport=443, sport=2),
    frame(IPv6(src="2001:db8::7", dst="fdb4::10") / TCP(dport=80)),
    frame(IP(src=CLIENT, dst=VIP) / ICMP(id=3) / b"ping"),
    frame(IP(src=CLIENT, dst="10.10.11.7") / UDP(sport=1, dport=5000) / b"payload"),
    frame(IP(src=CLIENT, dst=VIP, flags="DF") / TCP(dport=80) / bytes(1460)),
    UNMATCHED,
    frame(IP(src=CLIENT, dst=VIP, version=5) / TCP(dport=80)),
    frame(IP(src=CLIENT, dst=VIP, len=200) / TCP(dport=80)),
    frame(ARP(psrc=CLIENT, pdst=VIP)),
]


class Setup:
    """A director on a link, and captures on it."""

    def __init__(self, link, director):
        self.link, self.director = link, director

    def send(self, *frames):
        with self.link.client.packet_socket("client") as raw:
            for data in frames:
                raw.send(data)

    def state(self):
        return self.director.stats()

    def command(self, *options):
        return [CLI, "capture", "--file-prefix", self.director.file_prefix, *map(str, options)]

    @contextlib.contextmanager
    def start(self, *options, **popen):
        """A capture that runs."""
        process = subprocess.Popen(
            self.command(*options), env=self.director.environment,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen})
        try:
            wait_until(lambda: self.state()["capture"] == 1 or process.poll() is not None, "the capture")
            assert process.poll() is None, process.communicate()[1].decode()
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()
            if self.director.process.poll() is None:
                self.wait_idle()

    def wait_idle(self):
        wait_until(lambda: self.state()["capture"] == 0, "the end of the capture")

    def capture(self, frames, *options, code=OK):
        """Captures these frames until there are as many records as --count says. Returns (standard output, standard error)."""
        with self.start(*options) as process:
            self.send(*frames)
            out, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == code, err.decode()
        return out, err.decode()

    def refused(self, *options, code, **options_of_run):
        done = subprocess.run(self.command(*options), env=self.director.environment, capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False, **options_of_run)
        assert (done.returncode, done.stdout) == (code, "")
        self.wait_idle()
        return done.stderr

    def still_forwards(self):
        before = self.state()["forwarded"]
        self.send(FORWARDED)
        wait_until(lambda: self.state()["forwarded"] > before, "a forwarded packet")


@contextlib.contextmanager
def running(link, folder, config=CONF, document=traffic.TABLE, **options):
    table = write_table(folder / "table", document)
    with DirectorProcess([VDEV], config, table, prefix=link.director.command(), **options) as director:
        # Until the kernel has told that the link is up, it may lose frames.
        wait_until(lambda: director.stats()["ports"]["0"]["link"] == "up", "the link")
        yield Setup(link, director)


@pytest.fixture(name="setup", scope="module")
def shared_setup(shared_link, tmp_path_factory):
    """One director for several tests, because each start costs a second."""
    with running(shared_link, tmp_path_factory.mktemp("shared")) as setup:
        yield setup


@pytest.fixture(scope="module")
def stopped(other_link, tmp_path_factory):
    """A director with traffic whose capture has stopped reading: (setup, the capture, the counters before). The director ends it after 5 seconds."""
    with running(other_link, tmp_path_factory.mktemp("stopped")) as setup, setup.start("-w", "-", stdout=subprocess.DEVNULL) as process:
        before = setup.state()
        process.send_signal(signal.SIGSTOP)
        for _ in range(60):
            setup.send(*[frame(IP(src=CLIENT, dst=VIP) / TCP(dport=80), 1400)] * 50)
        yield setup, process, before


def test_stopped_client_loses_none_of_the_traffic(stopped):
    """test_capture_of_a_stopped_client_ends() looks at the same director when the 5 seconds are over."""
    setup, _, before = stopped
    wait_until(lambda: setup.state()["forwarded"] - before["forwarded"] > 2000, "forwarded packets")
    assert setup.state()["drop_tx_full"] == before["drop_tx_full"]


def ipv6_table():
    """The tables with IPv6 proxies. The first has rows of 8 hops, the most that a record holds, with the longest texts."""
    document = Underlay("IPv6").document(traffic.document(hops=4))
    longest = [{"ip": f"2001:db8:aaaa:bbbb:cccc:dddd:eeee:ff{index:02x}", "state": "active"} for index in range(16, 24)]
    document["tables"][0].update(hops=8, backends=longest)
    return document


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("isa", usable_isas())
def test_packets_in_and_out_are_those_of_the_model(isa, family, link, tmp_path):
    frames = MIXED * 3
    document = ipv6_table() if family == "IPv6" else traffic.TABLE
    config = Underlay(family).config(CONF)
    with running(link, tmp_path, config, document, isa=isa) as setup:
        assert setup.state()["packet_path"] == isa
        out, _ = setup.capture(frames, "-w", "-", "--count", len(frames))
        model = Director(config, document, port_mac=setup.director.port_mac())
    (interface,), packets = pcap.read_ng(out)
    received = [packet for packet in packets if packet.direction == "in"]
    sent = {packet.id: packet for packet in packets if packet.direction == "out"}
    names = [table["name"] for table in document["tables"]]
    assert [packet.frame for packet in received] == frames
    assert len({packet.id for packet in received}) == len(frames)
    for packet in received:
        result = model.process(packet.frame)
        explain = result.explain
        text = result.verdict
        if result.explain["row"] is not None:
            text += f", table {names[explain['table_index']]}, row {explain['row']}, hops {' '.join(explain['hops'])}"
        assert packet.comment.startswith(f"{text}, generation 1, lcore 0"), result
        assert (packet.size, packet.id in sent) == (len(packet.frame), result.out is not None)
        if result.out:
            assert (sent[packet.id].frame.hex(), sent[packet.id].comment) == (result.out.hex(), packet.comment)
    assert interface[0] == 16384
    assert interface[1][2] == [b"net_af_packet0"]


def test_lines_name_flow_verdict_table_row_and_hops(setup):
    out, err = setup.capture([FORWARDED, UNMATCHED], "--count", 2, "--filter", "udp port 53 or tcp port 80")
    lines = [line.split(" ", 1)[1] for line in out.decode().splitlines()]
    assert lines == [
        "net_af_packet0 in  tcp 198.51.100.7:1234 > 10.10.10.10:80 [S], 54 bytes: forwarded, table web, row 10100, "
        "hops 192.168.50.10 192.168.50.13",
        "net_af_packet0 in  udp 198.51.100.7:53 > 203.0.113.9:53, 49 bytes: drop_unmatched",
    ]
    assert err == "2 packets captured\nglb-director-cli: note: the capture ended at its number of packets: --count 2\n"


def test_lines_show_the_hops_of_ipv6_proxies(link, tmp_path):
    document = ipv6_table()
    config = Underlay("IPv6").config(CONF)
    with running(link, tmp_path, config, document) as setup:
        out, _ = setup.capture([FORWARDED], "--count", 1)
        hops = Director(config, document, port_mac=setup.director.port_mac()).process(FORWARDED).explain["hops"]
    assert len(hops) == 8
    assert out.decode().endswith(f"54 bytes: forwarded, table web, row 10100, hops {' '.join(hops)}\n")


def test_filters_choose_by_packet_verdict_and_table(setup):
    def comments(*options, count=1):
        _, packets = pcap.read_ng(setup.capture(MIXED, "-w", "-", "--count", count, *options)[0])
        return [packet.comment.split(",")[0] for packet in packets if packet.direction == "in"]

    assert comments("--filter", "icmp") == ["forwarded"]
    assert comments("--verdict", "drop_unmatched,drop_malformed", count=3) == ["drop_unmatched", "drop_malformed", "drop_unmatched"]
    assert comments("--verdict", "drop", "--filter", "not arp", count=3) == ["drop_unmatched", "drop_malformed", "drop_truncated"]
    assert comments("--table", "range", count=1) == ["forwarded"]
    assert comments("--table", "#0", "--verdict", "answered_too_big") == ["answered_too_big"]


def test_bad_options_are_refused_before_the_capture_begins(setup, tmp_path):
    unknown = setup.refused("--verdict", "forwarded,droped", code=USAGE)
    assert "there is no verdict 'droped'; the verdicts are:\n  forwarded\n  answered_too_big\n" in unknown
    assert unknown.endswith("  exception_returned\n  drop (all that begin with drop_)\n")
    assert "there is no table 'wbe'; the director has: web, range, rest" in setup.refused("--table", "wbe", code=FAILED)
    assert "there is no table '#3'" in setup.refused("--table", "#3", code=FAILED)
    assert "it jumps backwards or over its end; protochain is not possible" in setup.refused("--filter", "ip6 protochain 6", code=USAGE)
    assert "--filter: 'tcp prot 80'" in setup.refused("--filter", "tcp prot 80", code=USAGE)
    long = " or ".join(f"tcp port {port}" for port in range(1, 500, 2))
    assert "the director accepts at most 512" in setup.refused("--filter", long, code=USAGE)
    for option, value in (("--count", "0"), ("--seconds", "3601"), ("--snaplen", "-1"), ("--seconds", "x")):
        assert re.search(rf"{option}: '{value}' is not a number (of seconds )?from 1 to", setup.refused(option, value, code=USAGE))
    assert "--force needs --write" in setup.refused("--force", code=USAGE)
    (tmp_path / "kept.pcapng").write_bytes(b"evidence")
    message = setup.refused("-w", tmp_path / "kept.pcapng", code=FAILED)
    assert "kept.pcapng: the file exists: name another file, or give --force to replace it" in message
    assert (tmp_path / "kept.pcapng").read_bytes() == b"evidence"
    assert "Is a directory" in setup.refused("-w", tmp_path, code=FAILED)
    done = subprocess.run([CLI, "capture", "--file-prefix", "nobody"], capture_output=True, text=True, check=False)
    assert (done.returncode, "no such socket: is glb-director running" in done.stderr) == (FAILED, True)
    setup.still_forwards()


def test_refusal_lists_whole_names_of_tables(link, tmp_path):
    tables = [traffic.table(f"table{index:02}", 2, [traffic.bind(f"10.0.0.{index}", "tcp", 80)], traffic.backends(1, 1)) for index in range(70)]
    with running(link, tmp_path, document={"tables": tables}) as setup:
        listed = setup.refused("--table", "wbe", code=FAILED).split("the director has: ")[1].strip().split(", ")
        assert listed[-1] == "..." and len(listed) > 50
        assert listed[:-1] == [f"table{index:02}" for index in range(len(listed) - 1)]
        assert "0 packets captured" in setup.capture([], "--table", "table69", "--seconds", 1)[1]


def test_file_is_private_and_replaced_only_with_force(setup, tmp_path):
    path = tmp_path / "new.pcapng"
    setup.capture([FORWARDED], "-w", path, "-c", 1, "-s", 20)
    first = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    interfaces, packets = pcap.read_ng(first)
    assert interfaces[0][0] == 20
    assert [(len(packet.frame), packet.size) for packet in packets] == [(20, len(FORWARDED)), (20, len(FORWARDED) + 40)]
    path.chmod(0o644)
    setup.capture([UNMATCHED], "-w", path, "-c", 1, "--force")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [packet.comment.split(",")[0] for packet in pcap.read_ng(path.read_bytes())[1]] == ["drop_unmatched"]


def test_full_disk_keeps_whole_packets_and_forwarding(setup, tmp_path):
    limit = lambda: (resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)), signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    with setup.start("-w", tmp_path / "full.pcapng", preexec_fn=limit) as process:
        setup.send(*[FORWARDED] * 100)
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == FAILED
    assert "full.pcapng: cannot write the capture: File too large" in err.decode()
    _, packets = pcap.read_ng((tmp_path / "full.pcapng").read_bytes())
    assert len(packets) > 3
    setup.still_forwards()


def test_capture_ends_with_its_client(setup):
    before = setup.director.log
    for end in (signal.SIGKILL, signal.SIGHUP):
        with setup.start("--filter", "port 9") as process:
            process.send_signal(end)
            process.wait(TIMEOUT_S)
            assert process.returncode == (-end if end == signal.SIGKILL else OK)
            setup.wait_idle()
    with setup.start("-w", "-", "--filter", "port 9") as process:
        process.stdout.close()  # the reader of the pipe ends while there is nothing to write
        process.stdout = None
        assert process.wait(TIMEOUT_S) == FAILED
    with setup.start("--seconds", 1) as process:
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, err) == (
            OK, b"0 packets captured\nglb-director-cli: note: the capture ended after its time: --seconds 1\n")
    new = lambda: setup.director.log[len(before):]
    wait_until(lambda: "because the time is over" in new(), "the last line")
    assert new().count("capture: ended after 0 packets, because the client has ended or does not read") == 2
    assert new().count("because the client asked for it") == 1
    setup.still_forwards()


@pytest.mark.parametrize("number", (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))
def test_signal_before_the_reply_ends_the_capture_in_order(number, tmp_path):
    """It handles signals before the director can show the capture. A director that never replies keeps it only for a moment."""
    folder = tmp_path / "dpdk/busy"
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / "glb_capture"))
        listener.listen()
        listener.settimeout(TIMEOUT_S)
        command = [CLI, "capture", "--file-prefix", "busy", "--timeout", "3600"]
        environment = {**os.environ, "RUNTIME_DIRECTORY": str(tmp_path)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            client, _ = listener.accept()
            with client:
                client.settimeout(TIMEOUT_S)
                assert client.recv(1 << 16)  # the request
                process.send_signal(number)
                assert client.recv(1) == b""  # the request to end
                _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == FAILED and b"no reply before the timeout" in err


@pytest.mark.parametrize("options, chosen", [
    ((), "at most 100000 packets and 1 s, verdicts all, table '', filter ''\n"),
    (("--filter", "port 9", "--table", "web", "--verdict", "forwarded,exception_returned", "-c", 7),
     "at most 7 packets and 1 s, verdicts forwarded,exception_returned, table 'web', filter 'port 9'\n"),
    (("--table", "#1", "--verdict", "drop"), "at most 100000 packets and 1 s, verdicts drop_not_for_us,drop_vlan,"),
])
def test_log_tells_what_a_capture_chooses(setup, options, chosen):
    before = len(setup.director.log)
    with setup.start("--seconds", 1, *options) as process:
        process.communicate(timeout=TIMEOUT_S)
        wait_until(lambda: "capture: started" in setup.director.log[before:], "the line")
        assert f"capture: started for process {process.pid} of user 0: {chosen}" in setup.director.log[before:]


def test_second_capture_is_refused_with_the_first_ones_process(setup):
    with setup.start() as first:
        state = setup.state()
        assert (state["capture_pid"], state["capture_uid"]) == (first.pid, 0)
        done = subprocess.run(setup.command(), env=setup.director.environment, capture_output=True, text=True, check=False)
        assert done.returncode == FAILED
        assert f"process {first.pid} of user 0 is capturing already" in done.stderr
        setup.send(FORWARDED)
        wait_until(lambda: setup.state()["capture_matched"] == 1, "a captured packet")
        shown = subprocess.run([CLI, "stats", "--file-prefix", setup.director.file_prefix], env=setup.director.environment,
                               capture_output=True, text=True, check=True).stdout
        assert f"capture     by process {first.pid}, user 0: 1 packets, 0 lost, 0 not examined" in shown
        first.send_signal(signal.SIGINT)
        out, err = first.communicate(timeout=TIMEOUT_S)
    assert (first.returncode, out.count(b"\n"), err) == (OK, 1, b"1 packet captured\n")


def test_other_users_may_not_capture(setup):
    path = setup.director.folder / f"dpdk/{setup.director.file_prefix}/glb_capture"
    assert path.stat().st_mode & 0o777 == 0o600
    # Even a socket whose mode somebody has changed lets nobody in: the director asks the kernel who the client is.
    for folder in (path, *list(path.parents)[:3]):
        folder.chmod(0o777)
    message = setup.refused(code=FAILED, user=NOBODY)
    assert message == "glb-director-cli: capture: permission denied: run this command as root or as the director's user\n"


def request(protocol=PROTOCOL, verdicts=1, snaplen=100, seconds=1, count=1, size=0, table=b"", text=b"", program=b""):
    head = struct.pack("<6I", protocol, verdicts, snaplen, seconds, count, size)
    return head + table.ljust(256, b"\0") + text.ljust(512, b"\0") + program


def instruction(code, yes=0, no=0, k=0):
    return struct.pack("<HBBI", code, yes, no, k)


RETURN = instruction(6, k=1)
WRONG = {
    "empty": b"",
    "short": b"\1",
    "other protocol": request(PROTOCOL + 1),
    "cut": request()[:-1],
    "longer": request() + b"\0",
    "program missing": request(size=2, program=RETURN),
    "huge program": request(size=0xFFFFFFFF),
    "table without end": request(table=b"x" * 256),
    "filter without end": request(text=b"x" * 512),
    "no verdict": request(verdicts=0),
    "unknown verdict": request(verdicts=1 << 31),
    "snaplen": request(snaplen=1 << 20),
    "seconds": request(seconds=1 << 31),
    "count": request(count=0),
    "jump over the end": request(size=2, program=instruction(0x15, 200, 200) + RETURN),
    "endless jump": request(size=2, program=instruction(0x05, k=0xFFFFFFFF) + RETURN),
    "no return": request(size=1, program=instruction(0)),
    "unknown instruction": request(size=2, program=instruction(0xFFFF) + RETURN),
    "memory": request(size=2, program=instruction(0x60, k=99) + RETURN),
    "division": request(size=2, program=instruction(0x34, k=0) + RETURN),
}


def test_hostile_requests_end_in_a_refusal(setup):
    path = setup.director.folder / f"dpdk/{setup.director.file_prefix}/glb_capture"

    def connect():
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(TIMEOUT_S)
        client.connect(str(path))
        return client

    silent = [connect() for _ in range(3)]  # the thread waits for each of them, but not long
    for name, data in WRONG.items():
        with connect() as client:
            client.send(data)
            reply = client.recv(65536)
            assert reply[:4] in (b"", bytes(4)), name  # CAPTURE_REFUSED
    for client in silent:
        client.close()
    assert setup.state()["capture"] == 0
    out, _ = setup.capture([FORWARDED], "-c", 1)
    assert b": forwarded" in out


def test_a_busy_host_may_send_the_request_later(setup):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(TIMEOUT_S)
        client.connect(str(setup.director.folder / f"dpdk/{setup.director.file_prefix}/glb_capture"))
        time.sleep(0.5)
        client.send(request())
        assert client.recv(65536)[:4] not in (b"", bytes(4)), "CAPTURE_STARTED"
    setup.wait_idle()


def test_reload_names_each_packets_table_and_generation(setup):
    renamed = traffic.document(hops=4)
    renamed["tables"].insert(0, {**renamed["tables"][0], "name": "first", "binds": [traffic.bind("10.99.0.1", "tcp", 1)]})
    first = setup.state()["generation"]
    with setup.start("-w", "-", "--table", "web", "-c", 2) as process:
        setup.send(FORWARDED)
        wait_until(lambda: setup.state()["capture_matched"] == 1, "a captured packet")
        write_table(setup.state()["table_path"], renamed)
        assert setup.director.telemetry.ask("/glb/reload")["generation"] == first + 1
        setup.send(FORWARDED)
        out, _ = process.communicate(timeout=TIMEOUT_S)
    comments = [packet.comment for packet in pcap.read_ng(out)[1] if packet.direction == "in"]
    write_table(setup.state()["table_path"], traffic.TABLE)
    setup.director.telemetry.ask("/glb/reload,force")
    web = "forwarded, table web, row 10100, hops 192.168.50.10 192.168.50.13"
    assert comments == [f"{web}, generation {number}, lcore 0" for number in (first, first + 1)]


def test_table_that_takes_the_place_of_the_chosen_one_is_not_captured(setup):
    """The counters of a table that is gone are given to a new table after the next reload."""
    web, *others = traffic.document(hops=4)["tables"]
    path = setup.state()["table_path"]
    with setup.start("--table", "web", "--seconds", 20) as process:
        for tables in (others, [{**web, "name": "newcomer"}, *others]):
            write_table(path, {"tables": tables})
            assert setup.director.telemetry.ask("/glb/reload,force")["ok"] == 1
        before = setup.state()["forwarded"]
        setup.send(*[FORWARDED] * 3)
        wait_until(lambda: setup.state()["forwarded"] == before + 3, "the packets")
        write_table(path, traffic.TABLE)
        setup.director.telemetry.ask("/glb/reload,force")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out, err) == (OK, b"", b"0 packets captured\n")


@pytest.mark.parametrize("count, loses", [(300, False), (1500, True)])
def test_packets_after_the_count_are_not_lost(setup, count, loses):
    """The client stops until the ring (2 MiB) is full. It gets the first packets; only behind them is a gap."""
    burst = [frame(IP(src=CLIENT, dst=VIP) / TCP(dport=80), 1400)] * 50
    with setup.start("-w", "-", "-c", count, "--verdict", "forwarded", stdout=subprocess.DEVNULL) as process:
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: setup.send(*burst) or setup.state()["capture_lost"] > 200, "lost packets")
        process.send_signal(signal.SIGCONT)
        while process.poll() is None:
            setup.send(*burst)
        err = process.communicate(timeout=TIMEOUT_S)[1].decode()
    assert (process.returncode, err.startswith(f"{count} packets captured")) == (OK, True), err
    assert ("lost because" in err) == loses


def packets_in(path):
    """The number of packets of a file that grows, or 0 while its last block is not whole."""
    try:
        return len(pcap.read_ng(path.read_bytes())[1])
    except (AssertionError, struct.error):
        return 0


@pytest.mark.parametrize("end", (signal.SIGTERM, signal.SIGKILL))
def test_end_of_the_director_ends_the_capture_and_keeps_the_file(end, link, tmp_path):
    path = tmp_path / "last.pcapng"
    with running(link, tmp_path) as setup:
        with setup.start("-w", path) as process:
            setup.send(FORWARDED)
            wait_until(lambda: packets_in(path) == 2, "both packets in the file")
            setup.director.process.send_signal(end)
            _, err = process.communicate(timeout=TIMEOUT_S)
            setup.director.process.wait(TIMEOUT_S)
        assert process.returncode == FAILED
        reason = "the capture ended, because the director stops" if end == signal.SIGTERM else "the director has ended"
        assert reason in err.decode()
        assert len(pcap.read_ng(path.read_bytes())[1]) == 2
        socket_left = (setup.director.folder / f"dpdk/{setup.director.file_prefix}/glb_capture").exists()
        assert socket_left == (end == signal.SIGKILL)


def test_socket_of_a_killed_director_is_replaced(link, tmp_path):
    with running(link, tmp_path) as setup:
        old = setup.director.process
        old.kill()
        old.wait()
        done = subprocess.run(setup.command(), env=setup.director.environment, capture_output=True, text=True, check=False)
        assert (done.returncode, "nobody listens" in done.stderr) == (FAILED, True)
        with subprocess.Popen(old.args, env=setup.director.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as new:
            try:
                command = setup.command("--seconds", 1)
                run = lambda: subprocess.run(command, env=setup.director.environment, capture_output=True, check=False)
                wait_until(lambda: run().returncode == OK, "a capture")
            finally:
                new.kill()


def test_distributed_packets_name_the_lcore_of_the_worker(link, tmp_path):
    """The port has one queue. The distributor and another lcore share the work."""
    with running(link, tmp_path, lcores="(0-2)@(0-1)") as setup:
        frames = [syn(sport=port) for port in range(1, 65)]
        out, _ = setup.capture(frames, "-w", "-", "-c", len(frames))
    packets = pcap.read_ng(out)[1]
    assert sorted(packet.frame for packet in packets if packet.direction == "in") == sorted(frames)
    assert len([packet for packet in packets if packet.direction == "out"]) == len(frames)
    assert len({packet.comment.rpartition(" ")[2] for packet in packets}) == 2


def test_frames_of_the_exception_path_are_shown_both_ways(link, tmp_path):
    with running(link, tmp_path, {**CONF, "exception_path": "tap"}) as setup:
        link.director.run(*"ip address add 192.0.2.1/24 dev glb0".split())
        link.director.run(*"ip link set glb0 up".split())
        link.client.run(*"ip address add 192.0.2.33/24 dev client".split())
        with setup.start("--filter", "icmp", "--verdict", "exception,exception_returned", "-c", 2) as process:
            link.client.run(*"ping -c 1 192.0.2.1".split())
            out, _ = process.communicate(timeout=TIMEOUT_S)
    # A slow machine reads the rings of the two directions one after the other.
    assert {line.split(" ", 1)[1] for line in out.decode().splitlines()} == {
        "net_af_packet0 in  icmp echo request 192.0.2.33 > 192.0.2.1, 98 bytes: exception",
        "net_af_packet0 out  IP protocol 1 192.0.2.1 > 192.0.2.33, 98 bytes: exception_returned",
    }


def test_pipe_into_tshark_shows_comments_and_hops(setup):
    with setup.start("-w", "-", "-c", 1) as process:
        fields = "frame.comment glb.hop frame.interface_name".split()
        options = [word for field in fields for word in ("-e", field)]
        tshark = subprocess.Popen(
            ["tshark", "-X", f"lua_script:{DISSECTOR}", "-T", "fields", *options, "-r", "-"],
            stdin=process.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        setup.send(FORWARDED)
        out, err = tshark.communicate(timeout=60)
        assert process.wait(TIMEOUT_S) == OK
    generation = setup.state()["generation"]
    comment = f"forwarded, table web, row 10100, hops 192.168.50.10 192.168.50.13, generation {generation}, lcore 0"
    assert out.splitlines() == [f"{comment}\t\tnet_af_packet0", f"{comment}\t192.168.50.13\tnet_af_packet0"], err


def test_commands_on_the_page_show_a_client_and_count_drops(setup, tmp_path):
    script = tmp_path / "glb-director-cli"
    script.write_text(f'#!/bin/sh\nshift\nexec {CLI} capture --file-prefix {setup.director.file_prefix} "$@"\n')
    script.chmod(0o755)
    environment = {**setup.director.environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(["bash", "-ec", block("docs/howto/debug-a-packet.md", "glb-director-cli capture --filter")], cwd=tmp_path,
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as shell:
        while shell.poll() is None:
            setup.send(FORWARDED, UNMATCHED, syn(dport=443))
            with contextlib.suppress(subprocess.TimeoutExpired):
                shell.wait(0.05)
        out, err = shell.communicate()
    assert shell.returncode == 0, err
    lines = out.splitlines()
    assert [line.split("  ", 1)[1].split(" [")[0] for line in lines[:2]] == ["tcp 198.51.100.7:1234 > 10.10.10.10:80"] * 2
    assert lines[2].split(", ")[0].split() == ["20", "drop_unmatched"]


def test_capture_of_a_stopped_client_ends(stopped):
    setup, process, before = stopped
    wait_until(lambda: setup.state()["capture"] == 0, "the end of the capture")
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, "because this program read nothing for 5 seconds" in err.decode()) == (FAILED, True)
    assert setup.state()["drop_tx_full"] == before["drop_tx_full"]
    wait_until(lambda: "because the client has ended or does not read" in setup.director.log, "the reason")
    setup.still_forwards()
