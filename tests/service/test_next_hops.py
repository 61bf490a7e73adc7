# SPDX-License-Identifier: BSD-3-Clause
"""outbound_gateway_mac = "auto": the director follows the routes, neighbours and links of the kernel."""

import json
from collections import Counter

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from lab.net import connect, mac
from lab.tools import TIMEOUT_S, wait_until
from support import pcap
from support import traffic
from support.cli import run_json
from support.director_conf import CONFIG
from support.director_process import DirectorProcess, sum_of_verdicts, write_table

AUTO = {**CONFIG, "outbound_gateway_mac": "auto"}
ROUTER, OTHER, THIRD = "02:00:00:00:01:01", "02:00:00:00:01:02", "02:00:00:00:01:03"
PROXIES = "192.168.0.0/16"
FRAMES = [bytes(traffic.ETHER / IP(src=f"198.51.100.{i % 250}", dst="10.10.11.7") / UDP(sport=40000 + i, dport=5000))
          for i in range(256)]


def document(*backends):
    """A table whose backends are addresses, or (address, state)."""
    members = [{"ip": item, "state": "active"} if isinstance(item, str) else {"ip": item[0], "state": item[1]}
               for item in backends]
    binds = [traffic.bind("10.10.11.0/24", "udp", 5000)]
    return {"tables": [traffic.table("t", 2, binds, members)]}


class Host:
    """A director whose port is an interface of a namespace, and the kernel of that namespace."""

    def __init__(self, link, folder, table, vdevs=("net_af_packet0,iface=director",), config=AUTO):
        self.link, self.path = link, folder / "table.json"
        self.path.write_text(json.dumps(table), encoding="utf-8")
        self.director = DirectorProcess(list(vdevs), config, self.path, prefix=link.director.command())

    def __enter__(self):
        self.director.__enter__()
        # Now, because the driver sets the interface down and up when it starts, and then the kernel forgets its neighbours.
        self.ip("address add 10.255.0.1/24 dev director")
        for address, lladdr in (("10.255.0.7", ROUTER), ("10.255.0.8", OTHER), ("10.255.0.9", THIRD)):
            self.ip(f"neigh replace {address} lladdr {lladdr} dev director")
        return self

    def __exit__(self, *_):
        self.director.__exit__()

    @property
    def log(self):
        return self.director.log

    def ip(self, words):
        return self.link.director.run("ip", *words.split()).stdout

    def page(self, index=0):
        return self.director.telemetry.ask(f"/glb/next_hops,{index}")

    def next_hops(self, index=0):
        """The MAC addresses by next hop, of those that can be used."""
        items = self.page(index)["next_hops"].values()
        return {item["address"]: item["mac"] for item in items if item["mac"] != "unknown"}

    def without(self, index=0):
        return {item["ip"]: item["why"] for item in self.page(index)["without"].values()}

    def wait_next_hops(self, expected, index=0):
        wait_until(lambda: self.next_hops(index) == expected, lambda: f"{expected}, not {self.page(index)}: {self.log}")

    def wait_without(self, expected, index=0):
        wait_until(lambda: self.without(index) == expected, lambda: f"{expected}, not {self.page(index)}: {self.log}")

    def send(self, frames=FRAMES):
        """Sends the frames and waits for their verdicts. Returns the frames that the director sent, and what was counted."""
        client = self.link.client
        with client.packet_socket("client", ignore_outgoing=True) as sock:
            before = self.director.stats()
            sock.settimeout(TIMEOUT_S)
            for frame in frames:
                sock.send(frame)
            wanted = before["received"] + len(frames)
            stats = wait_until(lambda: self.counted(wanted), lambda: f"{wanted} packets: {self.director.stats()}")
            assert stats["received"] == sum_of_verdicts(stats)
            counts = {name: stats[name] - before[name] for name in ("forwarded", "drop_no_next_hop")}
            return [next_outer(sock) for _ in range(counts["forwarded"])], counts

    def counted(self, wanted):
        """The kernel's own packets, such as ARP replies, are received, too."""
        stats = self.director.stats()
        return stats if stats["received"] >= wanted and stats["received"] == sum_of_verdicts(stats) else None

    def macs_by_backend(self):
        """Which backends get packets, and the MAC addresses that these go to."""
        result = {}
        for frame in self.send()[0]:
            result.setdefault(frame[IP].dst, set()).add(frame.dst)
        return result


def next_outer(client):
    """The next GUE frame. Skips what the kernel itself sends, for instance ARP and IGMP."""
    while True:
        frame = Ether(client.recv(65536))
        if UDP in frame and frame[UDP].dport == 19523:
            return frame


def test_each_backend_has_its_own_next_hop(link, tmp_path):
    """The three faults of version 0.1.0, which followed the route to the first backend of the table."""
    table = document(("192.0.2.99", "inactive"), "10.255.0.8", "10.255.0.9", "192.168.50.10", "192.168.51.10")
    with Host(link, tmp_path, table) as host:
        host.ip("route add 192.168.50.0/24 via 10.255.0.7")
        host.ip("route add 192.168.51.0/24 via 10.255.0.8")
        host.wait_next_hops({"10.255.0.7": ROUTER, "10.255.0.8": OTHER, "10.255.0.9": THIRD})
        assert host.macs_by_backend() == {"10.255.0.8": {OTHER}, "10.255.0.9": {THIRD}, "192.168.50.10": {ROUTER},
                                          "192.168.51.10": {OTHER}}
        assert host.without() == {}

        # A backend without a route loses its own packets only.
        host.ip("route del 192.168.50.0/24")
        host.wait_without({"192.168.50.10": "the kernel has no route to it"})
        assert sorted(host.macs_by_backend()) == ["10.255.0.8", "10.255.0.9", "192.168.51.10"]
        backends = host.director.telemetry.ask("/glb/tables,0")["backends"].values()
        assert [b["ip"] for b in backends if b["no_next_hop"]] == ["192.168.50.10"]
        for route, why in (("blackhole", "the route is a blackhole"), ("prohibit", "the route is prohibited"),
                           ("unreachable", "the kernel has no route to it")):
            host.ip(f"route add {route} 192.168.50.0/24")
            host.wait_without({"192.168.50.10": why})
            host.ip(f"route del {route} 192.168.50.0/24")

        # So does one whose address is on the host itself.
        host.ip("address add 192.168.50.10/32 dev lo")
        host.wait_without({"192.168.50.10": "the address belongs to this host"})
        host.ip("address del 192.168.50.10/32 dev lo")

        host.ip("route add 192.168.50.0/24 via 10.255.0.9")
        host.wait_without({})
        assert host.macs_by_backend()["192.168.50.10"] == {THIRD}
