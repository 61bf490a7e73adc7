# SPDX-License-Identifier: BSD-3-Clause
"""The exception path: the interface that it makes, the frames that it refuses, and its limits."""

import os
import re
import socket
import time

import pytest
from scapy.layers.inet import IP, TCP

from lab.tools import TIMEOUT_S, wait_until
from support import pcap
from support import traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, sum_of_verdicts, write_table
from support.health import wait_cause, wait_reason, wait_health

AF_PACKET = "net_af_packet0,iface=director"
BROADCAST = b"\xff" * 6
IEEE_EXPERIMENT = b"\x88\xb5"  # no kernel answers frames of this type


NO_VHOST = pytest.mark.skipif(not os.path.exists("/dev/vhost-net"), reason="the kernel has no vhost-net: run script/test --kernel SUITE")


@pytest.fixture(params=("tap", pytest.param("virtio-user", marks=NO_VHOST)))
def path(request):
    return request.param


@pytest.fixture
def start(link, path, tmp_path):
    """Starts a director. Only glb0 has addresses, and the kernel ignores IP that it receives on the director's port itself."""
    link.director.sysctl({"net.ipv4.conf.all.rp_filter": 1, "net.ipv4.conf.director.rp_filter": 1})
    link.director.sysctl({"net.ipv6.conf.director.disable_ipv6": 1, "net.ipv4.conf.director.arp_ignore": 8})

    def start(vdev=AF_PACKET, **more):
        config = {**CONFIG, "exception_path": path, "idle": "sleep", **more}
        table = write_table(tmp_path / "table", traffic.TABLE)
        return DirectorProcess([vdev], config, table, prefix=link.director.command())

    return start


def set_mtu(link, mtu):
    link.client.run(*f"ip link set client mtu {mtu}".split())
    link.director.run(*f"ip link set director mtu {mtu}".split())


def add_addresses(link):
    for namespace, device, number in ((link.director, "glb0", 1), (link.client, "client", 33)):
        namespace.run(*f"ip address replace 192.0.2.{number}/24 dev {device}".split())
        namespace.run(*f"ip address replace 2001:db8::{number}/64 dev {device} nodad".split())


def shown(namespace, device, word):
    """The number after a word that `ip -d link` prints."""
    text = namespace.run(*f"ip -d link show {device}".split()).stdout
    return int(re.search(rf" {word} (\d+)", text)[1])


def ping(namespace, address, size=56, lost=0):
    """Sends two pings that must not be fragmented, of `size` bytes each with their ICMP and IP headers. Waits long only for replies that come."""
    headers = 48 if ":" in address else 28
    done = namespace.run(*f"ping -c 2 -i 0.05 -W {0.2 if lost else 10} -M do -s {size - headers} {address}".split(), check=False).stdout
    assert f" {2 - lost} received" in done and "DUP" not in done, done


def send(link, frames):
    with link.client.packet_socket("client") as cable:
        for frame in frames:
            cable.send(frame)


def test_the_interface_has_the_mtu_of_the_port(link, start):
    """With outbound_mtu = 1600, frames above 1522 bytes pass in both directions, and the interface follows later changes."""
    set_mtu(link, 1600)
    with start(outbound_mtu=1600) as director:
        assert shown(link.director, "glb0", "mtu") == 1600
        assert shown(link.director, "director", "allmulti") == 1
        assert "MTU" not in "".join(line for line in director.log.splitlines() if "warning" in line)
        add_addresses(link)
        ping(link.client, "192.0.2.1", 1600)
        ping(link.client, "2001:db8::1", 1600)  # also needs multicast, for neighbour discovery
        assert director.stats()["drop_exception_full"] == 0
        set_mtu(link, 1900)
        wait_until(lambda: shown(link.director, "glb0", "mtu") == 1900, "the MTU of glb0")
        ping(link.client, "192.0.2.1", 1900)
        assert "port 0 (net_af_packet0): the MTU is now 1900" in director.log

        # Someone gives the interface a larger MTU than the port has.
        link.director.run(*"ip link set glb0 mtu 3000".split())
        before = director.stats()
        ping(link.director, "192.0.2.33", 1901, lost=2)
        ping(link.director, "192.0.2.33", 1900)
        after = director.stats()
        assert after["exception_return_refused"] - before["exception_return_refused"] == 2
        assert after["exception_returned"] - before["exception_returned"] >= 2


def test_a_refused_frame_does_not_drop_others(link, path, start):
    """The kernel refuses all frames while the interface is down, with virtio-user after it took them. Forwarding goes on."""
    counter = "drop_exception_full" if path == "tap" else "exception"
    frames = [BROADCAST + bytes(6) + IEEE_EXPERIMENT + bytes(46)] * 200
    with start(exception_limits={"other": 1000000}) as director:
        link.director.run(*"ip link set glb0 down".split())
        before = director.stats()
        send(link, frames)
        wait_until(lambda: director.stats()[counter] - before[counter] >= 200, "refusals")
        wait_cause(director, "exception_down")
        link.director.run(*"ip link set glb0 up".split())
        add_addresses(link)
        ping(link.client, "192.0.2.1")
        stats = director.stats()
        assert stats["received"] == sum_of_verdicts(stats)
        wait_cause(director, "exception_down", there=False)
        link.director.run(*"ip link del glb0".split())
        wait_reason(director, "the interface was removed, so the kernel gets no packets: restart the director")
        counters = director.terminate()
        assert counters["received"] == sum_of_verdicts(counters)


def test_a_flood_of_unmatched_packets_reaches_the_kernel_up_to_its_limit(start, tmp_path):
    """As fast as the director can: one of two packets matches no bind. The others are forwarded, and each has a verdict."""
    limit = 1000
    packets = [IP(src="198.51.100.7", dst=address) / TCP(dport=80) for address in (traffic.VIP4[0], "203.0.113.99")]
    pcap.write(tmp_path / "rx.pcap", [bytes(traffic.ETHER / packet) for packet in packets])
    begin = time.monotonic()
    with start(f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,infinite_rx=1", exception_limits={"other": limit}) as director:
        wait_until(lambda: (stats := director.stats())["exception"] > limit // 10 and stats["forwarded"] > 20 * limit, "more than the bucket holds")
        counters = director.terminate()
    most = limit // 10 + limit * (time.monotonic() - begin)
    unmatched = counters["exception"] + counters["drop_exception_limited"] + counters["drop_exception_full"]
    assert counters["received"] == sum_of_verdicts(counters)
    assert abs(counters["forwarded"] - unmatched) <= 1
    assert counters["exception"] == counters["exception_other"] <= most
    assert counters["drop_exception_limited"] == counters["exception_limited_other"] > 0


def test_a_flood_leaves_the_control_plane_its_share(link, start):
    flood = [BROADCAST + bytes(6) + IEEE_EXPERIMENT + bytes(46)] * 300
    with start(exception_limits={"control": 1000, "other": 1}) as director:
        add_addresses(link)
        send(link, flood)
        ping(link.client, "192.0.2.1")
        ping(link.client, "2001:db8::1")
        send(link, flood)
        stats = wait_until(
            lambda: (stats := director.stats())["received"] == sum_of_verdicts(stats) > 600 and stats, "all frames")
        # 16 frames at once, and one in each second. Nothing here takes that long, but a slow machine may.
        assert 600 - 16 - 60 <= stats["exception_limited_other"] <= 600 - 16
        assert stats["exception_limited_other"] == stats["drop_exception_limited"]
        wait_health(director, "ok")
    with start(exception_limits={"control": 0, "other": 0}) as director:
        send(link, flood)
        link.client.run(*"ip neigh flush dev client".split())
        with link.client.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.sendto(b"", ("192.0.2.1", 9))  # the client asks with ARP
        stats = wait_until(lambda: (stats := director.stats())["exception_limited_neighbour"] and stats, "a limited ARP")
        assert stats["exception_limited_other"] == 300
        assert stats["exception"] == 0
        wait_cause(director, "exception_drops")


def test_a_second_director_leaves_the_interface_alone(link, start):
    with start() as director:
        add_addresses(link)
        link.director.ip("link add second type veth peer name third", "link set second up")
        second = start(vdev="net_af_packet0,iface=second")
        assert second.process.wait(TIMEOUT_S) == 1
        assert "exception path of port 0: the interface glb0 exists already: stop the director that has made it" in second.log
        second.__exit__()
        ping(link.client, "192.0.2.1")
        director.process.kill()
        director.process.wait()
    with start():  # the kernel removed the interface
        add_addresses(link)
        ping(link.client, "192.0.2.1")
