# SPDX-License-Identifier: BSD-3-Clause
"""The director on a veth pair with traffic of a kernel: ping, TCP SYNs, UDP, fragments."""

import contextlib
import os
import select
import socket
import struct
import time

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Dot1AD, Dot1Q

from lab.tools import TIMEOUT_S, wait_until
from support import traffic
from support.director_conf import CONFIG, DEFAULTS, write_config
from support.director_process import DirectorProcess, sum_of_verdicts, verdicts, write_table
from model import Director
from support.compare import count

PACKET_OUTGOING = 4
SOL_PACKET, PACKET_AUXDATA, TP_STATUS_VLAN_VALID = 263, 8, 0x10
AF_PACKET, AF_XDP = "net_af_packet0,iface=director", "net_af_xdp0,iface=director"

# Payload sizes. With net_af_packet the kernel reassembles IPv4 fragments before the port receives them
# (PACKET_FANOUT_FLAG_DEFRAG), so only packets that are not fragmented arrive as they were sent.
WHOLE = (1, 100, 1000, 1400)
FRAGMENTED = (3000, 9000)


class Sniffer:
    """All frames on the client's interface, in both directions."""

    def __init__(self, namespace):
        self._socket = namespace.packet_socket("client")
        self.outgoing, self.incoming = [], []

    def drain(self):
        while select.select([self._socket], [], [], 0)[0]:
            frame, address = self._socket.recvfrom(65536)
            (self.outgoing if address[2] == PACKET_OUTGOING else self.incoming).append(frame)
        return self

    def close(self):
        self._socket.close()


def give_client_addresses(client, gateway_mac):
    """Adds addresses, and routes to the VIPs through the director. Static neighbours keep the kernel from sending ARP and ND."""
    client.run(*"ip address add 192.0.2.33/24 dev client".split())
    client.run(*"ip address add 2001:db8::33/64 dev client nodad".split())
    client.run(*f"ip neigh replace 192.0.2.254 lladdr {gateway_mac} dev client".split())
    client.run(*f"ip neigh replace 2001:db8::fe lladdr {gateway_mac} dev client".split())
    client.run(*"ip route add 10.10.0.0/16 via 192.0.2.254".split())
    client.run(*"ip -6 route add fdb4::/32 via 2001:db8::fe".split())


def send_pings(client, address, sizes):
    for size in sizes:
        # No reply comes, so ping exits with 1.
        client.run(*f"ping -c 2 -i 0.01 -W 0.05 -s {size} {address}".split(), check=False)


def send_syns(client, family, address):
    for port in (80, 443, 5000):
        with client.socket(family, socket.SOCK_STREAM) as tcp:
            tcp.setblocking(False)
            tcp.connect_ex((address, port))


def send_datagrams(client, family, address, sizes):
    with client.socket(family, socket.SOCK_DGRAM) as udp:
        for port in (53, 5000, 6000):
            for size in sizes:
                udp.sendto(bytes(size), (address, port))


def send_everything(client, fragments_v4):
    sizes = {socket.AF_INET: WHOLE, socket.AF_INET6: WHOLE + FRAGMENTED}
    if fragments_v4:
        sizes[socket.AF_INET] += FRAGMENTED
    for family, addresses in ((socket.AF_INET, traffic.VIP4), (socket.AF_INET6, traffic.VIP6)):
        send_pings(client, addresses[0], sizes[family])
        for address in addresses:
            send_syns(client, family, address)
            send_datagrams(client, family, address, sizes[family])


def settled(director, sniffer):
    """The counters, once they include all frames sent so far. The kernel may still send more, for instance MLD."""
    sent = len(sniffer.drain().outgoing)
    stats = director.stats()
    return stats if stats["received"] == sent == sum_of_verdicts(stats) else None


@pytest.mark.parametrize("vdev", (AF_PACKET, AF_XDP), ids=("af_packet", "af_xdp"))
@pytest.mark.parametrize("idle", ("poll", "sleep"))
def test_kernel_traffic_is_forwarded_as_by_the_model(vdev, idle, link, tmp_path):
    config = {**CONFIG, "idle": idle}
    table = write_table(tmp_path / "table", traffic.TABLE)
    sniffer = Sniffer(link.client)
    defaults = write_config(tmp_path / "director.conf", config)
    with DirectorProcess([vdev], defaults, table, prefix=link.director.command()) as director:
        mac = director.port_mac()
        give_client_addresses(link.client, mac)
        send_everything(link.client, fragments_v4=vdev is AF_XDP)
        stats = wait_until(lambda: settled(director, sniffer), "verdicts of all frames")
        wait_until(lambda: len(sniffer.drain().incoming) >= stats["forwarded"], "all forwarded frames")
        director.terminate()
    model = Director({**config, **DEFAULTS}, traffic.TABLE, port_mac=mac)
    results = [model.process(frame) for frame in sniffer.outgoing[: stats["received"]]]
    incoming = sniffer.incoming[: stats["forwarded"]]
    assert [frame.hex() for frame in incoming] == [r.out.hex() for r in results if r.out]
    assert verdicts(stats) == count(result.verdict for result in results)
    assert stats["forwarded"] > 50
    sniffer.close()


def test_exception_path_reaches_the_kernel_and_back(link, tmp_path):
    """The director's kernel answers ARP and ping while the director serves a VIP."""
    config = {**CONFIG, "exception_path": "tap", "idle": "sleep"}
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess([AF_PACKET], config, table, prefix=link.director.command()) as director:
        link.director.run(*"ip address add 192.0.2.1/24 dev glb0".split())
        link.director.run(*"ip link set glb0 up".split())
        link.client.run(*"ip address add 192.0.2.33/24 dev client".split())
        link.client.run(*"ip route add 10.10.0.0/16 via 192.0.2.1".split())
        link.client.run(*"ping -c 3 -i 0.05 192.0.2.1".split())
        send_datagrams(link.client, socket.AF_INET, "10.10.11.7", WHOLE)
        wait_until(lambda: director.stats()["forwarded"] == len(WHOLE), "the VIP's packets")
        stats = director.stats()
        # The kernel must announce the new MAC, because the director takes only frames to this one.
        link.director.run(*"ip link set director address 02:00:00:00:00:99".split())
        wait_until(lambda: "the MAC is now 02:00:00:00:00:99" in director.log, lambda: director.log)
        assert "02:00:00:00:00:99" in link.director.run(*"ip link show glb0".split()).stdout
        link.client.run(*"ip neigh flush dev client".split())
        link.client.run(*"ping -c 3 -i 0.05 192.0.2.1".split())
    assert stats["exception"] >= 4 + 2 * len(WHOLE)  # ARP, three pings, and datagrams to ports without a bind
    assert stats["exception_returned"] >= 4


def test_changes_of_the_link_are_logged(link, tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    config = {**CONFIG, "idle": "sleep"}
    # The kernel tells a new link up to a second late.
    wait_until(lambda: "state UP" in link.director.run(*"ip link show director".split()).stdout, "the link")
    with DirectorProcess([AF_PACKET], config, table, prefix=link.director.command()) as director:
        def lines():
            return [line for line in director.log.splitlines() if "the link is" in line and "health: " not in line]

        assert (director.stats()["ports"]["0"]["link"], director.stats()["ports"]["0"]["mbps"]) == ("up", 10000)
        assert lines() == []
        link.client.run(*"ip link set client down".split())
        wait_until(lambda: lines() == ["glb-director: warning: port 0 (net_af_packet0): the link is down"], "the message")
        assert (director.stats()["ports"]["0"]["link"], director.stats()["ports"]["0"]["mbps"]) == ("down", 0)
        link.client.run(*"ip link set client up".split())
        wait_until(lambda: len(lines()) == 2, "the second message")
        assert lines()[1] == "glb-director: notice: port 0 (net_af_packet0): the link is up 10000 Mbit/s"


def send_syn(link, mac, frame):
    """The client sends a frame from its interface, to the MAC."""
    with link.client.packet_socket("client") as raw:
        raw.send(bytes.fromhex(mac.replace(":", "")) + frame[6:])


@pytest.mark.parametrize("vdev", (AF_PACKET, AF_XDP), ids=("af_packet", "af_xdp"))
def test_frames_are_admitted_by_mac_vlan_and_source_while_the_mac_changes(vdev, link, tmp_path):
    """One run, because each start costs a second. Defaults, but with a virtual MAC."""
    virtual, other, table = "00:00:5e:00:01:0a", "02:00:00:00:00:55", write_table(tmp_path / "table", traffic.TABLE)
    conf = write_config(tmp_path / "director.conf", {**CONFIG, "accept_macs": [virtual, other], "idle": "sleep"})
    link.director.run(*f"ip link add other address {other} type veth".split())
    client, vip = "198.51.100.7", "10.10.10.10"
    frame = bytes(traffic.ETHER / IP(src=client, dst=vip) / TCP(dport=80))
    tagged = bytes(traffic.ETHER / Dot1Q(vlan=7) / IP(src=client, dst=vip) / TCP(dport=80))
    priority = bytes(traffic.ETHER / Dot1Q(vlan=0, prio=5) / IP(src=client, dst=vip) / TCP(dport=80))
    martian = bytes(traffic.ETHER / IP(src=vip, dst=vip) / TCP(dport=80))
    with DirectorProcess([vdev], conf, table, prefix=link.director.command()) as director:
        def counted(**expected):
            wait_until(lambda: all(director.stats()[name] >= count for name, count in expected.items()), lambda: str(director.stats()))
            assert {name: director.stats()[name] for name in expected} == expected

        assert f"cannot add {virtual} of accept_macs to the filter of the port" in director.log.lower()
        assert f"{other} of accept_macs is the MAC of other, so it is not added to the filter" in director.log
        assert ("switched off rxvlan of director" in director.log) == (vdev is AF_XDP)
        mac, base = director.port_mac().lower(), director.stats()["drop_not_for_us"]
        for to in (mac, virtual, other):
            send_syn(link, to, frame)
        counted(forwarded=3)
        for to in ("02:00:00:00:00:99", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05"):
            send_syn(link, to, frame)
        wait_until(lambda: director.stats()["drop_not_for_us"] >= base + 3, lambda: str(director.stats()))
        send_syn(link, mac, tagged)
        send_syn(link, mac, priority)
        send_syn(link, mac, martian)
        counted(forwarded=4, drop_vlan=1, drop_martian=1)
        link.director.run(*"ip link set director address 02:00:00:00:00:99".split())
        wait_until(lambda: "the MAC is now 02:00:00:00:00:99" in director.log, lambda: director.log)
        send_syn(link, "02:00:00:00:00:99", frame)
        counted(forwarded=5)


def receive_with_vlan(socket_, size):
    """The id of the tag of the next incoming frame of `size` bytes without its tag, which the kernel takes out; None: untagged."""
    while True:
        frame, auxiliary, _, address = socket_.recvmsg(65536, 64)
        if address[2] != PACKET_OUTGOING and len(frame) == size:
            status, tci = struct.unpack_from("=I", auxiliary[0][2])[0], struct.unpack_from("=H", auxiliary[0][2], 16)[0]
            return tci & 0xFFF if status & TP_STATUS_VLAN_VALID else None


@pytest.mark.parametrize("vdev", (AF_PACKET, AF_XDP), ids=("af_packet", "af_xdp"))
def test_the_largest_packet_leaves_in_outbound_vlan(vdev, link, tmp_path):
    """The frame has 4 bytes more than the MTU of the interface allows untagged ones."""
    table = write_table(tmp_path / "table", traffic.TABLE_OF_TWO_HOPS)
    vlans = {"accept_vlans": [0, 7, 9], "outbound_vlan": 9}
    conf = write_config(tmp_path / "director.conf", {**CONFIG, **vlans, "idle": "sleep"})
    ip = IP(src="198.51.100.7", dst="10.10.10.10") / TCP(dport=80) / bytes(1500 - 40 - 40)
    incoming = link.client.packet_socket("client")
    incoming.settimeout(TIMEOUT_S)
    incoming.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    with DirectorProcess([vdev], conf, table, prefix=link.director.command()) as director:
        mac = director.port_mac()
        for frame in (traffic.ETHER / ip, traffic.ETHER / Dot1Q(vlan=7) / ip, traffic.ETHER / Dot1AD(vlan=7) / Dot1Q(vlan=9) / ip):
            send_syn(link, mac, bytes(frame))
            assert receive_with_vlan(incoming, 14 + 1500) == 9
        stats = director.stats()
        assert director.log.count("accept_vlans: admits tagged frames, which take the slower general path") == 1
    assert (stats["forwarded"], stats["tx_bytes"]) == (3, 3 * (14 + 4 + 1500))
    assert stats["general_path"] == 2
    incoming.close()


def cpu_s(pid):
    """CPU time of all threads so far, in seconds. The clock is that of clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


@contextlib.contextmanager
def without_traffic(link, folder, vdev, idle):
    """A director that is ready. Yields a function that returns the CPU time that it has used since then, in seconds."""
    table = write_table(folder / "table", traffic.TABLE)
    config = {**CONFIG, "idle": idle}
    with DirectorProcess([vdev], config, table, prefix=link.director.command()) as director:
        pid = director.process.pid
        assert os.readlink(f"/proc/{pid}/exe").endswith("glb-director")
        director.wait_log(" ready: ")
        before = cpu_s(pid)
        yield lambda: cpu_s(pid) - before


@pytest.mark.parametrize("vdev", (AF_PACKET, AF_XDP), ids=("af_packet", "af_xdp"))
def test_sleep_costs_no_cpu(vdev, link, tmp_path):
    """Compares sleeping with polling for the same time. A busy machine makes this time longer."""
    with without_traffic(link, tmp_path, vdev, "poll") as used:
        began = time.monotonic()
        wait_until(lambda: used() > 0.2, lambda: f"a director that polls: {used()} s")
        poll, seconds = used(), time.monotonic() - began
    with without_traffic(link, tmp_path, vdev, "sleep") as used:
        time.sleep(seconds)
        sleep = used()
    assert sleep < poll / 10, f"{sleep} s with idle = sleep, {poll} s with idle = poll, in {seconds} s"


def test_af_packet_receives_reassembled_ipv4_fragments(link, tmp_path):
    """docs/howto/troubleshooting.md says so: the packet is too big for outbound_mtu, or the driver truncates it."""
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess([AF_PACKET], CONFIG, table, prefix=link.director.command()) as director:
        give_client_addresses(link.client, director.port_mac())
        for size, verdict in ((1600, "drop_too_big"), (3000, "drop_truncated")):
            with link.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                udp.sendto(bytes(size), (traffic.VIP4[1], 5000))
            wait_until(lambda: director.stats()[verdict] == 1, f"{size} bytes are {verdict}")
        # If fragments had arrived, the first one of each packet would have been forwarded.
        stats = director.stats()
        assert stats["forwarded"] == stats["drop_fragment"] == 0
        assert stats["drop_too_big"] == stats["drop_truncated"] == 1
