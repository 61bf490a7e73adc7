# SPDX-License-Identifier: BSD-3-Clause
"""outbound_gateway_mac = "auto": the director follows the routes and neighbours of the kernel."""

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from lab.net import mac
from lab.tools import TIMEOUT_S, wait_until
from support import pcap
from support import traffic
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, sum_of_verdicts, write_table

AUTO = {**CONFIG, "outbound_gateway_mac": "auto"}
ROUTER, OTHER = "02:00:00:00:01:01", "02:00:00:00:01:02"
PROXIES = "192.168.0.0/16"
MAC = "gateway_mac"
FRAME = bytes(traffic.ETHER / IP(src="198.51.100.7", dst="10.10.11.7") / UDP(sport=40000, dport=5000))


@pytest.fixture
def kernel(link):
    """Gives the director's host an address on the link. Returns a function that runs ip(8) there."""
    link.director.run(*"ip address add 10.255.0.1/24 dev director".split())
    return lambda words: link.director.run("ip", *words.split()).stdout


@pytest.fixture
def director(kernel, link, tmp_path):
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess(["net_af_packet0,iface=director"], AUTO, table, prefix=link.director.command()) as director:
        yield director


def wait_for_mac(director, gateway):
    return wait_until(lambda: director.stats()[MAC] == gateway, lambda: f"gateway {gateway}: {director.log}")


def send(link, director, verdict):
    """Sends a frame to a VIP and waits for its verdict. Returns the frame that the director sent, if any."""
    with link.client.packet_socket("client", ignore_outgoing=True) as client:
        before = director.stats()[verdict]
        client.settimeout(TIMEOUT_S)
        client.send(FRAME)
        stats = wait_until(lambda: counted(director, verdict, before), verdict)
        assert stats["received"] == sum_of_verdicts(stats)
        return next_outer(client) if verdict == "forwarded" else None


def counted(director, verdict, before):
    stats = director.stats()
    return stats if stats[verdict] > before else None


def next_outer(client):
    """The next GUE frame. Skips what the kernel itself sends, for instance ARP and IGMP."""
    while True:
        frame = Ether(client.recv(65536))
        if UDP in frame and frame[UDP].dport == 19523:
            return frame


def test_nothing_is_sent_without_a_route(director, link):
    assert director.stats()[MAC] == "unknown"
    send(link, director, "drop_no_next_hop")
    assert "no route to proxy" in director.log


def test_gateway_that_does_not_answer_is_named(director, link, kernel):
    kernel(f"route add {PROXIES} via 10.255.0.7")
    wait_until(lambda: "warning: gateway 10.255.0.7 on director: " in director.log, "a warning")
    send(link, director, "drop_no_next_hop")


def test_gateway_follows_routes_and_neighbours(director, link, kernel):
    kernel(f"neigh replace 10.255.0.7 lladdr {ROUTER} dev director")
    kernel(f"neigh replace 10.255.0.8 lladdr {OTHER} dev director")
    assert director.stats()[MAC] == "unknown"

    kernel(f"route add {PROXIES} via 10.255.0.7")
    wait_for_mac(director, ROUTER)
    assert send(link, director, "forwarded").dst == ROUTER

    kernel(f"route replace {PROXIES} via 10.255.0.8")
    wait_for_mac(director, OTHER)
    assert send(link, director, "forwarded").dst == OTHER

    changed = "02:00:00:00:01:03"
    kernel(f"neigh replace 10.255.0.8 lladdr {changed} dev director")
    wait_for_mac(director, changed)
    assert send(link, director, "forwarded").dst == changed


def test_director_makes_the_kernel_resolve_an_unknown_gateway(director, link, kernel):
    link.client.run(*"ip address add 10.255.0.7/24 dev client".split())
    kernel(f"route add {PROXIES} via 10.255.0.7")
    client_mac = mac(link.client, "client")
    wait_for_mac(director, client_mac)
    assert send(link, director, "forwarded").dst == client_mac


def test_gateway_is_resolved_without_cap_net_admin(link, kernel, tmp_path):
    """The capability is needed to ask the kernel by netlink. Without it the director sends a datagram to the gateway."""
    link.client.run(*"ip address add 10.255.0.7/24 dev client".split())
    kernel(f"route add {PROXIES} via 10.255.0.7")
    pcap.write(tmp_path / "rx.pcap", [])
    table = write_table(tmp_path / "table", traffic.TABLE)
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap=/dev/null"
    prefix = [*link.director.command(), "setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"]
    with DirectorProcess([vdev], AUTO, table, prefix=prefix) as director:
        wait_for_mac(director, mac(link.client, "client"))


def test_director_makes_the_kernel_confirm_a_stale_gateway(link, kernel, tmp_path, monkeypatch):
    """The kernel itself sends nothing to the gateway, so it would not notice that the gateway's MAC has changed."""
    monkeypatch.setenv("WATCHDOG_USEC", "20000")  # half of this is the interval of the control thread
    link.client.run(*"ip address add 10.255.0.7/24 dev client".split())
    kernel(f"route add {PROXIES} via 10.255.0.7")
    table = write_table(tmp_path / "table", traffic.TABLE)
    with DirectorProcess(["net_af_packet0,iface=director"], AUTO, table, prefix=link.director.command()) as director:
        known = wait_until(lambda: director.stats()[MAC].replace("unknown", ""), "a gateway")
        kernel(f"neigh replace 10.255.0.7 lladdr {known} nud stale dev director")
        wait_until(lambda: "STALE" not in kernel("neigh show 10.255.0.7 dev director"), "the kernel to confirm the neighbour")


@pytest.mark.parametrize("loss", ("neigh del 10.255.0.7 dev director", f"route del {PROXIES}"))
def test_lost_gateway_stays_in_use(loss, director, link, kernel):
    """The old MAC is usually still right, so the director keeps it and logs a warning."""
    kernel(f"neigh replace 10.255.0.7 lladdr {ROUTER} dev director")
    kernel(f"route add {PROXIES} via 10.255.0.7")
    wait_for_mac(director, ROUTER)
    kernel(loss)
    wait_until(lambda: "warning" in director.log.rpartition("MAC unknown ->")[2], "a warning")
    assert send(link, director, "forwarded").dst == ROUTER

    kernel(f"neigh replace 10.255.0.7 lladdr {OTHER} dev director")
    kernel(f"route replace {PROXIES} via 10.255.0.7")
    wait_for_mac(director, OTHER)
