# SPDX-License-Identifier: BSD-3-Clause
"""Reloads under traffic on a veth pair: no packet is lost, and each is steered by exactly one table."""

import contextlib
import copy
import json
import shutil
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from scapy.layers.inet import IP, UDP

from lab.tools import wait_until
from support import traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, write_table
from support.tree import CLI
from support.underlay import Underlay
from model import Director

RELOADS = 50
PACE = 0.0005  # seconds between frames; one core can take far more
CLIENTS = 64
VDEV = "net_af_packet0,iface=director"
CONFIG = {**CONFIG, "max_shrink": 100}  # the tables have no backend in common


def tables():
    """Two documents with equal binds. Everything else differs, so that a mixture of both would show."""
    old, new = traffic.document(hops=2), traffic.document(hops=4)
    for table in new["tables"]:
        table["hash_key"], table["seed"] = table["seed"], table["hash_key"]
        for backend in table["backends"]:
            backend["ip"] = backend["ip"].replace("192.168.", "172.16.")
    return old, new


def frame(number):
    client = f"198.51.100.{number % CLIENTS}"
    flow = UDP(sport=1024 + number % 50000, dport=5000 + number % 1000)
    return bytes(traffic.ETHER / IP(src=client, dst="10.10.11.7") / flow / number.to_bytes(4, "big"))


class Client:
    """Sends numbered frames, and keeps all frames that come back."""

    def __init__(self, link):
        self.socket = link.client.packet_socket("client", ignore_outgoing=True)
        self.socket.settimeout(0.1)
        self.sent, self.received = 0, []
        self._open = True
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    def _receive(self):
        while self._open:
            with contextlib.suppress(TimeoutError):
                self.received.append(self.socket.recv(65536))

    def close(self):
        self._open = False
        self._receiver.join()
        self.socket.close()

    def send(self):
        self.socket.send(frame(self.sent))
        self.sent += 1

    @contextlib.contextmanager
    def pacing(self):
        """Sends frames during the `with` block."""
        stop = threading.Event()

        def run():
            while not stop.wait(PACE):
                self.send()

        sender = threading.Thread(target=run, daemon=True)
        sender.start()
        try:
            yield
        finally:
            stop.set()
            sender.join()


@pytest.fixture
def client(link):
    client = Client(link)
    yield client
    client.close()


class Live:
    """A director on the link, and two built tables for it."""

    def __init__(self, link, folder):
        self.documents = tables()
        self.files = [
            write_table(folder / name, document, "3")
            for name, document in zip(("old", "new"), self.documents)
        ]
        self.table = folder / "table"
        self.put(self.files[0])
        self.director = DirectorProcess([VDEV], CONFIG, self.table, prefix=link.director.command())

    def put(self, file):
        """Replaces the table by a rename, as build-config does."""
        copy = self.table.with_suffix(".next")
        shutil.copy(file, copy)
        copy.rename(self.table)

    def models(self):
        mac = self.director.port_mac()
        return [Director(CONFIG, document, port_mac=mac) for document in self.documents]

    def stat(self, name):
        return self.director.stats()[name]

    def signal(self, number):
        """Reloads with a signal, and waits for the result."""
        before = self.stat("reloads") + self.stat("reload_failures")
        self.director.process.send_signal(number)
        wait_until(lambda: self.stat("reloads") + self.stat("reload_failures") > before, "the reload")

    def command(self):
        """Reloads with the CLI, which waits for the result."""
        return subprocess.run(
            [CLI, "reload", f"--file-prefix={self.director.file_prefix}"],
            env=self.director.environment,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def live(link, tmp_path):
    live = Live(link, tmp_path)
    with live.director:
        yield live


def reload(live, turn):
    if turn % 2:
        done = live.command()
        assert done.returncode == 0, done.stderr
    else:
        live.signal((signal.SIGHUP, signal.SIGUSR1)[turn // 2 % 2])
    assert live.stat("generation") == turn + 2


def test_every_packet_is_steered_by_one_table(live, client):
    only = {}  # {frame number: the table that must have steered it}
    with client.pacing():
        for turn in range(RELOADS):
            begin = client.sent
            # Frames that arrive before the next reload are steered by the current table.
            wait_until(lambda: live.stat("received") > begin + 20, "traffic")
            live.put(live.files[(turn + 1) % 2])
            # Frame `begin` is excepted: it may have left before the last reload without being counted as sent.
            only.update(dict.fromkeys(range(begin + 1, live.stat("received")), turn % 2))
            reload(live, turn)
    stats = live.director.wait_received(client.sent)
    assert stats["forwarded"] == client.sent
    wait_until(lambda: len(client.received) == client.sent, "all frames to come back")
    assert stats["reloads"] == RELOADS and stats["reload_failures"] == 0
    assert len(only) > 20 * RELOADS

    models = live.models()
    used = set()
    for number, out in enumerate(client.received):
        answers = [model.process(frame(number)).out for model in models]
        assert out in answers, f"frame {number} was steered by neither table, or is out of order"
        used.add(answers.index(out))
        if number in only:
            assert out == answers[only[number]], f"frame {number} was steered by the other table"
    assert used == {0, 1}


def test_counts_of_backends_survive_reloads_under_traffic(live, client):
    """The counts of each reader only grow, and at the end no packet is missing or counted twice."""

    def packets():
        pages = [live.director.telemetry.ask(f"/glb/tables,{index}") for index in range(len(live.documents[0]["tables"]))]
        return [(page["generation"], {backend["ip"]: backend["packets"] for backend in page["backends"].values()}) for page in pages]

    seen = packets()
    with client.pacing():
        for turn in range(RELOADS):
            begin = client.sent
            wait_until(lambda: live.stat("received") > begin + 20, "traffic")
            done = subprocess.Popen([CLI, "reload", f"--file-prefix={live.director.file_prefix}"], env=live.director.environment,
                                    stdout=subprocess.DEVNULL)
            while done.poll() is None:
                now = packets()
                assert all(count >= old[1].get(ip, 0) for new, old in zip(now, seen) for ip, count in new[1].items())
                seen = now
            assert done.returncode == 0
    stats = live.director.wait_received(client.sent)
    assert stats["reloads"] == RELOADS and stats["forwarded"] == client.sent
    assert sum(sum(counts.values()) for _, counts in packets()) == client.sent


def corrupted(name, live):
    """The content of a table file that must be refused."""
    data = bytearray(live.files[1].read_bytes())
    if name == "a flipped bit":
        data[len(data) // 2] ^= 0x10
    elif name == "cut":
        del data[-1]
    elif name == "empty":
        data.clear()
    elif name == "another version":
        data[4] = 9
    elif name == "json that ends early":
        data = bytearray(b'{ "tables": [ ')
    elif name == "json with a bad address":
        data = bytearray(b'{ "tables": [ { "binds": [ { "ip": "10.0.0.300" } ] } ] }')
    elif name == "json with proxies for which the director has no source address":
        data = json.dumps(Underlay("IPv6").document(copy.deepcopy(traffic.TABLE))).encode()
    return bytes(data)


BAD_TABLES = (
    "a flipped bit",
    "cut",
    "empty",
    "another version",
    "json that ends early",
    "json with a bad address",
    "json with proxies for which the director has no source address",
)


def errors(live):
    return [line for line in live.director.log.splitlines() if "error" in line]


def assert_old_table_forwards(live, client):
    """Sends a few frames, which the first table must steer."""
    begin = client.sent
    for _ in range(10):
        client.send()
    wait_until(lambda: len(client.received) == client.sent, "the frames to come back")
    model = live.models()[0]
    expected = [model.process(frame(number)).out for number in range(begin, client.sent)]
    assert client.received[begin:] == expected


def test_bad_table_leaves_the_old_one_in_use(live, client):
    digest = live.stat("digest")
    for number, name in enumerate(BAD_TABLES):
        bad = live.table.with_suffix(".bad")
        bad.write_bytes(corrupted(name, live))
        live.put(bad)
        known = len(errors(live))
        live.signal((signal.SIGHUP, signal.SIGUSR1)[number % 2])
        assert live.stat("reload_failures") == 2 * number + 1, name
        (line,) = wait_until(lambda: errors(live)[known:], "the error")
        assert str(live.table) in line, name
        assert str(live.table) in live.stat("last_error"), name
        done = live.command()
        assert done.returncode == 3, name
        assert str(live.table) in done.stderr, name
        assert_old_table_forwards(live, client)
    stats = live.director.stats()
    assert (stats["reloads"], stats["generation"], stats["digest"]) == (0, 1, digest)
    live.put(live.files[1])
    live.signal(signal.SIGHUP)
    stats = live.director.stats()
    assert (stats["reloads"], stats["generation"], stats["last_error"]) == (1, 2, "")
    assert stats["digest"] != digest


def test_missing_table_leaves_the_old_one_in_use(live, client):
    live.table.unlink()
    live.signal(signal.SIGHUP)
    (line,) = wait_until(lambda: errors(live), "the error")
    assert str(live.table) in line and "No such file" in line
    assert_old_table_forwards(live, client)


def test_sigterm_under_load_ends_the_director_cleanly(live, client):
    with client.pacing():
        wait_until(lambda: live.stat("forwarded") > 100, "traffic")
        printed = live.director.terminate()  # exit status 0
    assert printed["forwarded"] > 100
    assert printed["received"] == printed["forwarded"] <= client.sent


def test_concurrent_reloads_all_report_the_new_table(live):
    """Several requests may share a reload, but only one that began after all of them."""
    old = live.stat("digest")
    live.put(live.files[1])
    with ThreadPoolExecutor(5) as executor:
        commands = [executor.submit(live.command) for _ in range(10)]
        for _ in range(20):
            live.director.process.send_signal(signal.SIGHUP)
    digests = {command.result().stdout.split()[-1] for command in commands}
    assert digests == {live.stat("digest")} and old not in digests
    assert live.stat("reloads") >= 1 and live.stat("reload_failures") == 0
