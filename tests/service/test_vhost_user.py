# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts whose directors are joined by a socket of vhost-user: net_vhost on one end, net_virtio_user on the other."""

import contextlib
import os
import random
import select
import signal
import socket
import struct

import pytest

from lab.net import Namespace
from lab.tools import TIMEOUT_S
from support import traffic
from support.compare import count
from support.director_conf import CONFIG, OPEN
from support.director_process import DirectorProcess, sum_of_verdicts, verdicts, write_table
from support.folders import short_folder
from support.health import wait_health
from support.vectors import PACKETS, packet_groups

VHOST = "net_vhost0,iface={path}"  # its MAC is always 56:48:4f:53:54:00
VIRTIO_USER = "net_virtio_user0,path={path},queue_size=1024,mac=02:00:00:00:00:02"
ENDS = (VIRTIO_USER + ",server=1", VHOST + ",client=1")  # net_virtio_user waits for the other end, and both return to it later
UNLIMITED = {"control": 10000000, "other": 10000000}
SHORTEST, LONGEST = 14, 1514  # bytes, of frames that the kernel sends on an interface
AT_ONCE = 200  # frames
JUMBO = 9000  # MTU; frames need several buffers
BGP = 179


class Host:
    """A network namespace with a director. Only glb0 has addresses."""

    def __init__(self, number, vdev, folder):
        self.number, self.folder = number, folder
        self.vdev = vdev.format(path=folder / "socket")
        self.namespace = Namespace(f"host{number}")
        self.namespace.sysctl({"net.ipv6.conf.default.addr_gen_mode": 1})  # no link-local address, so the kernel sends nothing unasked

    def director(self, document=traffic.TABLE, **config):
        table = write_table(self.folder / f"table{self.number}", document)
        config = {**CONFIG, "idle": "sleep", "exception_path": "tap", "exception_limits": UNLIMITED, **config}
        return DirectorProcess([self.vdev], config, table, prefix=self.namespace.command(), memory=64)

    def refused(self):
        """Starts a director that must fail. Returns its log."""
        director = self.director()
        try:
            assert director.process.wait(TIMEOUT_S) == 1, director.log
            return director.log
        finally:
            director.__exit__()

    def add_addresses(self):
        self.namespace.ip(f"address add 192.0.2.{self.number}/24 dev glb0", f"address add 2001:db8::{self.number}/64 dev glb0 nodad")

    def ping(self, other, mtu=1500):
        """Of three packets one must come back: on a busy machine the exception path may drop one, which the director counts."""
        for address, headers in ((f"192.0.2.{other.number}", 28), (f"2001:db8::{other.number}", 48)):
            done = self.namespace.run(*f"ping -c 3 -i 0.2 -W 5 -M do -s {mtu - headers} {address}".split(), check=False).stdout
            assert " 0 received" not in done and " received" in done, done


@pytest.fixture
def hosts():
    """Makes two hosts with these ends of a socket."""
    if os.getuid() != 0:
        pytest.skip("network namespaces need root")
    with short_folder() as folder, contextlib.ExitStack() as stack:

        def make(*ends):
            made = [Host(number, end, folder) for number, end in enumerate(ends, 1)]
            for host in made:
                stack.callback(host.namespace.close)
            return made

        yield make


@contextlib.contextmanager
def running(*directors):
    """Starts directors beside each other."""
    with contextlib.ExitStack() as stack:
        for director in directors:
            stack.enter_context(director)
        for director in directors:
            wait_health(director, "ok")
        yield


def receive(cable, wanted):
    """The next frames, or fewer if none came for a while."""
    frames = []
    while len(frames) < wanted and select.select([cable], [], [], TIMEOUT_S)[0]:
        frames.append(cable.recv(65536))
    return frames


def golden_packets():
    """Of the largest group: its configuration, its table, and [(frame, verdict, frame that leaves)]."""
    (config, table), packets = max(packet_groups().items(), key=lambda group: len(group[1]))
    some = [(bytes.fromhex(each["frame"]), each["verdict"].replace("exception", "drop_unmatched"), bytes.fromhex(each["out"] or ""))
            for each in packets]
    return PACKETS["configs"][config], PACKETS["tables"][table], [each for each in some if SHORTEST <= len(each[0]) <= LONGEST]


@pytest.mark.parametrize("ends", (ENDS[::-1], ENDS), ids=("net_vhost", "net_virtio_user"))
def test_golden_packets_are_forwarded_as_in_the_vectors(hosts, ends):
    """The kernel of the second host sends them through its director, and receives what the first director makes of them."""
    first, second = hosts(*ends)
    second.namespace.sysctl({"net.ipv6.conf.default.disable_ipv6": 1})
    config, table, packets = golden_packets()
    director, other = first.director(table, **{**config, **OPEN, "exception_path": "none"}), second.director()
    with running(director, other), second.namespace.packet_socket("glb0", ignore_outgoing=True) as cable:
        mac = bytes.fromhex(director.port_mac().replace(":", ""))
        for at in range(0, len(packets), AT_ONCE):
            wanted = [out[:6] + mac + out[12:] for _, _, out in packets[at : at + AT_ONCE] if out]
            for frame, _, _ in packets[at : at + AT_ONCE]:
                cable.send(mac + frame[6:])
            assert sorted(receive(cable, len(wanted))) == sorted(wanted)
        stats = director.wait_received(len(packets))
        assert verdicts(stats) == count(verdict for _, verdict, _ in packets)
        assert other.stats()["tx_packets"] == len(packets) > 1500


def test_kernels_of_both_hosts_reach_each_other_after_either_director_was_killed(hosts):
    first, second = hosts(*ENDS)
    one, two = first.director(outbound_mtu=JUMBO), second.director(outbound_mtu=JUMBO)
    with running(one, two):
        first.add_addresses()
        second.add_addresses()
        first.ping(second, JUMBO)
        second.ping(first, JUMBO)
        data = random.Random(1).randbytes(300000)
        with second.namespace.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
            listener.bind(("192.0.2.2", BGP))
            listener.listen()
            with first.namespace.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
                client.connect(("192.0.2.2", BGP))
                server, _ = listener.accept()
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                with server, server.makefile("rb") as stream:
                    assert stream.read() == data

        two.process.send_signal(signal.SIGKILL)
        wait_health(one, "failing", "link_down")
        with running(two := second.director(outbound_mtu=JUMBO)):
            wait_health(one, "ok")
            second.add_addresses()
            first.ping(second, JUMBO)

            one.process.send_signal(signal.SIGKILL)
            wait_health(two, "failing", "link_down")
            with running(one := first.director(outbound_mtu=JUMBO)):
                assert f"{first.folder}/socket: removed the socket that a killed process left" in one.log
                wait_health(two, "ok")
                first.add_addresses()
                second.ping(first, JUMBO)
                for director in (one, two):
                    counters = director.terminate()
                    assert counters["received"] == sum_of_verdicts(counters) > 0
    assert not (first.folder / "socket").exists()


def garbage(seed):
    """Bytes that look more or less like the messages of vhost-user: request, flags, size, payload."""
    dice = random.Random(seed)
    size = dice.choice((0, 4, 8, 64, 0xFFFFFFFF))
    header = struct.pack("<III", dice.randrange(45), dice.choice((0, 1, 5, 9)), size)
    return dice.choice((b"", header)) + dice.randbytes(dice.choice((1, 8, 64, 500)))


def test_other_processes_do_not_disturb_a_director_on_its_socket(hosts):
    first, second = hosts(VHOST, VIRTIO_USER)
    path = first.folder / "socket"
    assert "net_virtio_user0" in second.refused()  # nobody listens
    path.write_text("of somebody", encoding="ascii")
    assert f"another process listens on {path}, or it is no socket" in first.refused()
    assert path.read_text(encoding="ascii") == "of somebody"
    path.unlink()
    with first.director() as one:
        for seed in range(60):
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(str(path))
                peer.send(garbage(seed))
        wait_health(one, "starting", "link_down")
        with running(second.director()):
            wait_health(one, "ok")
            assert f"another process listens on {path}" in first.refused()
            first.add_addresses()
            second.add_addresses()
            first.ping(second)
        wait_health(one, "failing", "link_down")
    first.vdev = first.vdev.replace("socket", "nowhere/socket")
    assert f"cannot listen on the socket {first.folder}/nowhere/socket: No such file or directory" in first.refused()
