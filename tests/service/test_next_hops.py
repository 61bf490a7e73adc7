# SPDX-License-Identifier: BSD-3-Clause
"""outbound_gateway_mac = "auto": the director follows the routes, neighbours and links of the kernel. The underlay is IPv4 or IPv6."""

import copy
import json
import time
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
from support.frozen import Frozen
from support.health import wait_health
from support.tree import BUILD
from support.underlay import FAMILIES, Underlay

AUTO = {**CONFIG, "outbound_gateway_mac": "auto"}
ROUTER, OTHER, THIRD = "02:00:00:00:01:01", "02:00:00:00:01:02", "02:00:00:00:01:03"
PROXIES = "192.168.0.0/16"
FRAMES = [bytes(traffic.ETHER / IP(src=f"198.51.100.{i % 250}", dst="10.10.11.7") / UDP(sport=40000 + i, dport=5000))
          for i in range(256)]


@pytest.fixture(params=FAMILIES)
def link(link, request):
    """The namespaces, in which the proxies and routers have addresses of the family. The tests have IPv4 addresses only."""
    link.underlay = Underlay(request.param)
    return link


def document(*backends):
    """A table whose backends are addresses, or (address, state)."""
    members = [{"ip": item, "state": "active"} if isinstance(item, str) else {"ip": item[0], "state": item[1]}
               for item in backends]
    binds = [traffic.bind("10.10.11.0/24", "udp", 5000)]
    return {"tables": [traffic.table("t", 2, binds, members)]}


class Host:
    """A director whose port is an interface of a namespace, and the kernel of that namespace."""

    def __init__(self, link, folder, table, vdevs=("net_af_packet0,iface=director",), config=AUTO):
        self.link, self.underlay, self.path = link, link.underlay, folder / "table.json"
        self.write(table)
        self.director = DirectorProcess(list(vdevs), self.underlay.config(config), self.path, prefix=link.director.command())

    def __enter__(self):
        self.director.__enter__()
        # Now, because the driver sets the interface down and up when it starts, and then the kernel forgets its neighbours.
        self.ip("address add 10.255.0.1/24 dev director")
        self.ip("address add fe80::1/64 dev director")  # without one the kernel solicits no neighbours
        for address, lladdr in (("10.255.0.7", ROUTER), ("10.255.0.8", OTHER), ("10.255.0.9", THIRD)):
            self.ip(f"neigh replace {address} lladdr {lladdr} dev director")
        return self

    def __exit__(self, *_):
        self.director.__exit__()

    def write(self, table):
        self.path.write_text(json.dumps(self.underlay.document(table)), encoding="utf-8")

    def reload(self, table):
        self.write(table)
        assert self.director.telemetry.ask("/glb/reload")["ok"] == 1

    @property
    def log(self):
        return self.underlay.read(self.director.log)

    def ip(self, words):
        return self.underlay.ip(self.link.director, words).stdout

    def ask(self, command):
        return self.underlay.read(self.director.telemetry.ask(command))

    def page(self, index=0):
        return self.ask(f"/glb/next_hops,{index}")

    def destination(self, frame):
        """The proxy that a frame goes to."""
        return self.underlay.read(frame.payload.dst)

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
            counts = wait_until(lambda: self.counted(before, len(frames)), lambda: f"{len(frames)} packets: {self.director.stats()}")
            return [next_outer(sock) for _ in range(counts["forwarded"])], counts

    def counted(self, before, count):
        """The verdicts of `count` packets, if they have them. The kernel's own packets, such as ARP replies, have other verdicts."""
        stats = self.director.stats()
        counts = {name: stats[name] - before[name] for name in ("forwarded", "drop_no_next_hop")}
        return counts if sum(counts.values()) == count and stats["received"] == sum_of_verdicts(stats) else None

    def macs_by_flow(self):
        """The MAC address that each flow goes to, by its outer source port and proxy."""
        return {(frame[UDP].sport, self.destination(frame)): frame.dst for frame in self.send()[0]}

    def lookup(self, frame, protocol="udp"):
        ip = Ether(frame)[IP]
        ports = (ip[UDP].sport, ip[UDP].dport) if protocol == "udp" else (0, 0)
        return self.ask(f"/glb/lookup,{ip.src},{ports[0]},{ip.dst},{ports[1]},{protocol}")

    def macs_by_looked_up_flow(self):
        """The same as macs_by_flow(), as the director says."""
        found = [self.lookup(frame) for frame in FRAMES]
        return {(reply["outer_source_port"], reply["hops"][0]): reply["next_hops"]["0"]["mac"] for reply in found}

    def macs_by_backend(self):
        """Which backends get packets, and the MAC addresses that these go to."""
        result = {}
        for frame in self.send()[0]:
            result.setdefault(self.destination(frame), set()).add(frame.dst)
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
        host.wait_without({})
        host.wait_next_hops({"10.255.0.7": ROUTER, "10.255.0.8": OTHER, "10.255.0.9": THIRD})
        assert host.macs_by_backend() == {"10.255.0.8": {OTHER}, "10.255.0.9": {THIRD}, "192.168.50.10": {ROUTER},
                                          "192.168.51.10": {OTHER}}
        assert host.without() == {}

        # A backend without a route loses its own packets only.
        host.ip("route del 192.168.50.0/24")
        host.wait_without({"192.168.50.10": "the kernel has no route to it"})
        assert sorted(host.macs_by_backend()) == ["10.255.0.8", "10.255.0.9", "192.168.51.10"]
        backends = host.ask("/glb/tables,0")["backends"].values()
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

        # Rules for the director's source decide, if it is an address of the host.
        host.ip("address add 192.0.2.1/32 dev lo")
        host.ip("route add blackhole 192.168.50.0/24 table 77")
        host.ip("rule add from 192.0.2.1 lookup 77")
        host.wait_without({"192.168.50.10": "the route is a blackhole"})
        host.ip("route replace unreachable 192.168.50.0/24 table 77")
        host.wait_without({"192.168.50.10": "the kernel has no route to it"})
        host.ip("route replace 192.168.50.0/24 via 10.255.0.8 table 77")
        host.wait_without({})
        assert host.macs_by_backend()["192.168.50.10"] == {OTHER}


def test_several_next_hops_of_a_route(link, tmp_path):
    """ECMP with weights, failures, nexthop objects, and next hops with IPv6 addresses."""
    all_three = {"10.255.0.7": ROUTER, "10.255.0.8": OTHER, "10.255.0.9": THIRD}
    with Host(link, tmp_path, document("192.168.50.10", "192.168.51.10")) as host:
        def hop(number, weight):
            return f"nexthop via 10.255.0.{number} dev director weight {weight}"

        host.ip(f"route add {PROXIES} {hop(7, 2)} {hop(8, 1)} {hop(9, 1)}")
        host.wait_next_hops(all_three)
        before = host.macs_by_flow()
        counts = Counter(before.values())
        total = sum(counts.values())
        assert 0.4 < counts[ROUTER] / total < 0.6 and 0.15 < counts[OTHER] / total < 0.35, counts
        assert host.macs_by_flow() == before
        assert host.macs_by_looked_up_flow() == before
        found = host.lookup(FRAMES[0])["next_hops"]["0"]
        assert found == {"port": "all", "address": found["address"], "interface": "director", "mac": all_three[found["address"]]}
        ping = host.lookup(FRAMES[0], "icmp")
        assert ping["verdict"] == "forwarded" and not {"next_hops", "outer_source_port"} & ping.keys()
        flow = ("198.51.100.0:40000", "10.10.11.7:5000", "--proto", "udp")
        director = host.director
        cli = run_json("lookup", "--live", *flow, "--file-prefix", director.file_prefix, env=director.environment)
        assert link.underlay.read(cli["next_hops"]) == [found]

        # Only the flows of a next hop that fails move, and they return.
        host.ip("neigh change 10.255.0.9 nud failed dev director")
        host.wait_next_hops({"10.255.0.7": ROUTER, "10.255.0.8": OTHER})
        during = host.macs_by_flow()
        moved = {flow for flow, found in during.items() if found != before[flow]}
        assert moved == {flow for flow, found in before.items() if found == THIRD}
        assert set(during.values()) == {ROUTER, OTHER}
        assert host.macs_by_looked_up_flow() == during
        (reason,) = wait_health(director, "degraded", "next_hop_lost")["reasons"]
        assert "1 of 3 next hops cannot be reached, such as 10.255.0.9, so" in link.underlay.read(reason["text"])
        host.ip(f"neigh replace 10.255.0.9 lladdr {THIRD} dev director")
        host.wait_next_hops(all_three)
        assert host.macs_by_flow() == before

        # The last next hop fails, and the route is withdrawn.
        host.ip(f"route replace {PROXIES} via 10.255.0.7")
        host.wait_next_hops({"10.255.0.7": ROUTER})
        host.ip("neigh change 10.255.0.7 nud failed dev director")
        host.wait_without(dict.fromkeys(("192.168.50.10", "192.168.51.10"), "no next hop of its route is reachable"))
        assert host.send()[1] == {"forwarded": 0, "drop_no_next_hop": len(FRAMES)}
        lost = host.lookup(FRAMES[0])
        assert lost["verdict"] == host.lookup(FRAMES[0], "icmp")["verdict"] == "drop_no_next_hop"
        assert len(lost["hops"]) == 2 and lost["next_hops"]["0"]["mac"] == "unknown"
        wait_health(director, "failing", "no_next_hop")
        host.ip(f"neigh replace 10.255.0.7 lladdr {ROUTER} dev director")
        host.wait_without({})
        host.ip(f"route del {PROXIES}")
        host.wait_without(dict.fromkeys(("192.168.50.10", "192.168.51.10"), "the kernel has no route to it"))

        # Nexthop objects, which a route can show by their id only. A change of an object is no change of the route.
        for mode in (1, 0):
            link.director.sysctl({"net.ipv4.nexthop_compat_mode": mode})
            host.ip("nexthop add id 1 via 10.255.0.7 dev director")
            host.ip("nexthop add id 2 via 10.255.0.8 dev director")
            host.ip("nexthop add id 10 group 1,3/2")
            host.ip(f"route add {PROXIES} nhid 10")
            host.wait_next_hops({"10.255.0.7": ROUTER, "10.255.0.8": OTHER})
            counts = Counter(host.macs_by_flow().values())
            assert counts[ROUTER] > 2 * counts[OTHER] > 0, counts
            host.ip("nexthop replace id 2 via 10.255.0.9 dev director")
            host.wait_next_hops({"10.255.0.7": ROUTER, "10.255.0.9": THIRD})
            for number in (10, 2, 1):
                host.ip(f"nexthop del id {number}")
            host.wait_next_hops({})

        # A link-local address, for IPv4 as in RFC 8950 and BGP unnumbered, alone and beside a router with an address of the family.
        host.ip(f"neigh replace fe80::7 lladdr {ROUTER} dev director")
        host.ip(f"route add {PROXIES} via inet6 fe80::7 dev director")
        host.wait_next_hops({"fe80::7": ROUTER})
        assert set(host.macs_by_flow().values()) == {ROUTER}
        host.ip(f"route replace {PROXIES} nexthop via inet6 fe80::7 dev director {hop(8, 1)}")
        host.wait_next_hops({"fe80::7": ROUTER, "10.255.0.8": OTHER})
        assert set(host.macs_by_flow().values()) == {ROUTER, OTHER}

        # Entries whose MAC nobody receives on. The kernel makes one like the last for each address on an interface without ARP.
        host.ip(f"route replace {PROXIES} via 10.255.0.7")
        for lladdr in ("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01"):
            host.ip(f"neigh replace 10.255.0.7 lladdr {lladdr} nud permanent dev director")
            host.wait_next_hops({})
            assert host.send()[1] == {"forwarded": 0, "drop_no_next_hop": len(FRAMES)}
            # The log has at most one report a second, so it would not show a shorter change.
            wait_until(lambda: "next hop 10.255.0.7 on director: its neighbour entry has no unicast MAC address" in host.log,
                       lambda: host.log)
            host.ip(f"neigh replace 10.255.0.7 lladdr {ROUTER} nud permanent dev director")
            host.wait_next_hops({"10.255.0.7": ROUTER})
        add_port_interface(link, 3)
        host.ip("link set k3 arp off")
        host.ip(f"neigh replace 192.168.50.10 lladdr {mac(link.director, 'k3')} nud noarp dev k3")
        host.ip(f"route replace {PROXIES} dev k3")
        wait_until(lambda: "noarp" in [item["state"] for item in host.page()["next_hops"].values()], lambda: host.page())
        assert host.send()[1] == {"forwarded": 0, "drop_no_next_hop": len(FRAMES)}
        host.ip(f"route replace {PROXIES} via 10.255.0.7")
        host.wait_next_hops({"10.255.0.7": ROUTER})

        # A link without a carrier.
        link.client.run(*"ip link set client down".split())
        host.wait_next_hops({})


@pytest.mark.parametrize("link", ["IPv6"], indirect=True)
def test_the_next_router_of_a_host(link, tmp_path):
    """A host that is no router uses the next one of its IPv6 routers if the best one does not reply (RFC 4191)."""
    with Host(link, tmp_path, document("192.168.50.10")) as host:
        host.ip("route add default via 10.255.0.7 metric 100")
        host.ip("route add default via 10.255.0.8 metric 200")
        host.wait_next_hops({"10.255.0.7": ROUTER})
        begin = time.monotonic()
        host.ip("neigh change 10.255.0.7 nud failed dev director")
        host.wait_next_hops({"10.255.0.8": OTHER})
        assert time.monotonic() - begin < 15  # everything is looked up again every 30 s
        assert set(host.macs_by_flow().values()) == {OTHER}


@pytest.mark.parametrize("link", ["IPv4"], indirect=True)
def test_tables_of_both_families(link, tmp_path):
    """Each with the source address of its family, by which rules decide."""
    table = document("10.255.0.8")
    other = {**document("2001:db8::8")["tables"][0], "name": "v6", "binds": [traffic.bind("10.10.12.0/24", "udp", 5000)]}
    with Host(link, tmp_path, table, config={**AUTO, "outbound_src_ip6": "2001:db8::d"}) as host:
        host.wait_next_hops({"10.255.0.8": OTHER})
        host.reload({"tables": [table["tables"][0], other]})
        host.wait_without({"2001:db8::8": "the kernel has no route to it"})
        link.director.ip("address add 2001:db8::d/128 dev lo", "address add 2001:db8:7::1/64 dev director",
                         f"neigh replace 2001:db8:7::7 lladdr {THIRD} dev director", "route add 2001:db8::/64 via 2001:db8:7::7 table 77")
        host.ip("-6 rule add from 2001:db8::d lookup 77")
        host.wait_next_hops({"10.255.0.8": OTHER, "2001:db8:7::7": THIRD})
        frames = [bytes(traffic.ETHER / IP(src="198.51.100.1", dst=f"10.10.{n}.7") / UDP(sport=40000, dport=5000)) for n in (11, 12)]
        sent, _ = host.send(frames)
        assert {(frame.dst, frame.payload.src, frame.payload.dst) for frame in sent} == {
            (OTHER, "192.0.2.1", "10.255.0.8"), (THIRD, "2001:db8::d", "2001:db8::8")}


def quick_neighbours(link):
    """The kernel finds out within a few seconds that a neighbour is gone."""
    names = {"delay_first_probe_time": 1, "ucast_solicit": 1, "mcast_solicit": 1}
    family = "ipv6" if link.underlay.is_ipv6 else "ipv4"
    link.director.sysctl({f"net.{family}.neigh.director.{name}": value for name, value in names.items()})


def test_neighbours_that_reply(link, tmp_path):
    """The director makes the kernel resolve and confirm its next hops, and a reload waits for those of new backends."""
    def give_client(verb, address):
        link.underlay.ip(link.client, f"address {verb} {address} dev client")

    give_client("add", "10.255.0.20/32")
    link.underlay.ip(link.client, "address add 10.255.0.99/24 dev client")
    with Host(link, tmp_path, document("10.255.0.20")) as host:
        client = mac(link.client, "client")
        host.wait_next_hops({"10.255.0.20": client})

        # The kernel itself sends nothing to the next hop, so it would not notice that it is gone.
        host.ip(f"neigh change 10.255.0.20 lladdr {client} nud stale dev director")
        wait_until(lambda: "STALE" not in host.ip("neigh show 10.255.0.20 dev director"), "the kernel to confirm the neighbour")

        # An entry that the kernel or somebody has deleted costs no packet.
        for _ in range(2):
            host.ip("neigh flush dev director")
            for _ in range(3):
                assert host.send()[1] == {"forwarded": len(FRAMES), "drop_no_next_hop": 0}
            wait_until(lambda: "REACHABLE" in host.ip("neigh show 10.255.0.20 dev director"), "the kernel to ask again")

        # A reload with a new backend.
        give_client("add", "10.255.0.21/32")
        host.reload(document("10.255.0.20", "10.255.0.21"))
        frames, counts = host.send()
        assert counts == {"forwarded": len(FRAMES), "drop_no_next_hop": 0}
        assert {host.destination(frame) for frame in frames} == {"10.255.0.20", "10.255.0.21"}

        # A reload with a backend that is switched off does not wait for it for ever.
        host.reload(document("10.255.0.20", "10.255.0.22"))
        host.wait_without({"10.255.0.22": "no next hop of its route is reachable"})
        assert host.next_hops() == {"10.255.0.20": client}

        # A backend that is switched off later.
        quick_neighbours(link)
        give_client("del", "10.255.0.20/32")
        host.ip(f"neigh change 10.255.0.20 lladdr {client} nud stale dev director")
        host.wait_next_hops({})
        wait_until(lambda: "next hop 10.255.0.20 on director: it does not reply to the kernel" in host.log, "a warning")
        give_client("add", "10.255.0.20/32")
        host.wait_next_hops({"10.255.0.20": client})


@pytest.mark.parametrize("failing", ["0", "3"])  # the third question is that of the first probe
def test_a_permanent_neighbour_that_comes_just_before_the_probe_stays(failing, link, tmp_path, monkeypatch):
    """Since Linux 5.16, it becomes another one if the kernel is asked to resolve it."""
    monkeypatch.setenv("LD_PRELOAD", str(BUILD / "tests/driver/early_neighbour.so"))
    monkeypatch.setenv("EARLY_NEIGHBOUR", link.underlay.write(f"ip neigh replace 10.255.0.17 lladdr {THIRD} dev director"))
    monkeypatch.setenv("FAILING_READS", failing)
    with Host(link, tmp_path, document("10.255.0.17")) as host:
        host.wait_next_hops({"10.255.0.17": THIRD})
        assert "PERMANENT" in host.ip("neigh show 10.255.0.17 dev director")


def test_next_hops_are_resolved_without_cap_net_admin(link, tmp_path):
    """The capability is needed to make the kernel probe a neighbour. Without it the director sends a datagram."""
    link.underlay.ip(link.client, "address add 10.255.0.7/24 dev client")
    link.underlay.ip(link.director, "address add 10.255.0.1/24 dev director")
    link.underlay.ip(link.director, f"route add {PROXIES} via 10.255.0.7")
    pcap.write(tmp_path / "rx.pcap", [])
    table = write_table(tmp_path / "table", link.underlay.document(copy.deepcopy(traffic.TABLE)))
    vdev = f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap=/dev/null"
    prefix = [*link.director.command(), "setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"]
    with DirectorProcess([vdev], link.underlay.config(AUTO), table, prefix=prefix) as director:
        client = mac(link.client, "client")
        wait_until(lambda: director.stats()["next_hop_mac"] == client, lambda: director.log)


def batch(link, lines):
    link.director.run("ip", "-batch", "-", input=link.underlay.write("\n".join(lines)))


def test_many_next_hops(link, tmp_path):
    """200 proxies on the link: replies of several pages, one line of the log for all, and a flood of changes of other routes."""
    addresses = [f"10.255.1.{i}" for i in range(1, 201)]
    macs = {address: f"02:00:00:00:02:{int(address.split('.')[3]):02x}" for address in addresses}
    with Host(link, tmp_path, document(*addresses)) as host:
        host.ip("address add 10.255.1.254/24 dev director")
        batch(link, [f"neigh replace {address} lladdr {macs[address]} nud permanent dev director" for address in addresses])

        def listed():
            director = host.director
            (found,) = run_json("next-hops", "--file-prefix", director.file_prefix, env=director.environment)["sets"]
            return link.underlay.read(found)

        def complete():
            found = {item["address"]: item["mac"] for item in listed()["next_hops"]}
            return found == macs

        wait_until(complete, lambda: f"all: {host.log}")
        found = listed()
        assert (found["next_hop_count"], found["unreachable"], found["backend_count"], found["without"]) == (200, 0, 200, [])
        assert {item["state"] for item in found["next_hops"]} == {"permanent"}
        for address, addressed in host.macs_by_backend().items():
            assert addressed == {macs[address]}
        assert host.director.stats()["next_hop_mac"] == "several"
        host.director.wait_log("changed at once")
        assert host.log.count("next hop 10.255.1.") <= 8

        # More events than the socket holds. A change in their midst is not lost.
        prefixes = [f"172.{16 + i // 4096}.{i // 16 % 256}.{i % 16 * 16}/28" for i in range(20000)]
        batch(link, [f"route add {prefix} via 10.255.0.7" for prefix in prefixes[:10000]]
              + [f"neigh replace 10.255.1.5 lladdr {THIRD} nud permanent dev director", "route add blackhole 10.255.1.9/32"]
              + [f"route add {prefix} via 10.255.0.7" for prefix in prefixes[10000:]])
        host.wait_without({"10.255.1.9": "the route is a blackhole"})
        macs["10.255.1.5"] = THIRD
        del macs["10.255.1.9"]
        wait_until(complete, lambda: f"the change: {host.log}")


@pytest.mark.parametrize("link", ["IPv4"], indirect=True)
def test_an_event_that_is_older_than_a_lost_one_does_not_decide(link, tmp_path):
    """The kernel reports lost events before it hands out those that the socket still holds."""
    def change_a_route():
        """The director looks everything up again 30 s after the last change of a route. Changes put that off."""
        host.ip("route add 172.16.0.0/28 via 10.255.0.9")
        host.ip("route del 172.16.0.0/28")
        return True

    def lost_events():
        rows = [line.split() for line in link.director.run("cat", "/proc/net/netlink").stdout.splitlines()]
        return sum(int(row[rows[0].index("Drops")]) for row in rows[1:])

    with Host(link, tmp_path, document("10.255.0.7")) as host:
        host.wait_next_hops({"10.255.0.7": ROUTER})
        with Frozen(host.director.thread("control")):
            host.ip(f"neigh replace 10.255.0.7 lladdr {OTHER} nud permanent dev director")
            batch(link, [f"route add 172.{16 + i // 4096}.{i // 16 % 256}.{i % 16 * 16}/28 via 10.255.0.8" for i in range(1, 20000)])
            host.ip(f"neigh replace 10.255.0.7 lladdr {THIRD} nud permanent dev director")
            assert lost_events() > 0
        wait_until(lambda: change_a_route() and host.next_hops() == {"10.255.0.7": THIRD}, lambda: f"{host.page()}: {host.log}")


def add_port_interface(link, number):
    link.director.run(*f"ip link add k{number} type veth peer name p{number}".split())
    for name in (f"k{number}", f"p{number}"):
        link.director.run(*f"ip link set {name} up".split())
    link.underlay.ip(link.director, f"address add 10.{number}.0.1/24 dev k{number}")


def add_router(link, number, interface):
    link.underlay.ip(link.director, f"neigh replace 10.{number}.0.7 lladdr {(ROUTER, OTHER)[number - 1]} dev {interface}")


def test_each_port_has_the_next_hops_of_its_interface(link, tmp_path):
    connect(link.client, "client2", link.director, "director2")
    vdevs = [f"net_af_packet{i},iface={name}" for i, name in enumerate(("director", "director2"))]
    for number in (1, 2):
        add_port_interface(link, number)
    config = {**AUTO, "port_interfaces": ["k1", "k2"]}
    with Host(link, tmp_path, document("192.168.50.10"), vdevs, config) as host:
        host.ip(f"route add {PROXIES} nexthop via 10.1.0.7 dev k1 nexthop via 10.2.0.7 dev k2")
        for number in (1, 2):
            add_router(link, number, f"k{number}")
        host.wait_next_hops({"10.1.0.7": ROUTER}, 0)
        host.wait_next_hops({"10.2.0.7": OTHER}, 1)
        for port, name, router in ((0, "client", ROUTER), (1, "client2", OTHER)):
            (frame,) = send_one(link, name)
            assert (frame.dst, frame.src) == (router, host.director.port_mac(port).lower())
        found = host.lookup(FRAMES[0])["next_hops"]
        assert [(found[key]["address"], found[key]["interface"], found[key]["mac"]) for key in ("0", "1")] == [
            ("10.1.0.7", "k1", ROUTER), ("10.2.0.7", "k2", OTHER)]
        assert found["0"]["port"] != found["1"]["port"]

        # The route of another interface is no route of the port.
        host.ip(f"route replace {PROXIES} via 10.2.0.7 dev k2")
        host.wait_without({"192.168.50.10": "the kernel has no route to it"}, 0)
        host.wait_next_hops({"10.2.0.7": OTHER}, 1)
        found = host.lookup(FRAMES[0])
        assert found["verdict"] == "forwarded"
        assert [found["next_hops"][key]["mac"] for key in ("0", "1")] == ["unknown", OTHER]

        # A less specific route uses the interface of the port.
        host.ip("address add 192.0.2.1/32 dev lo")
        host.ip("route add default via 10.1.0.7 dev k1")
        host.wait_next_hops({"10.1.0.7": ROUTER}, 0)
        assert host.next_hops(1) == {"10.2.0.7": OTHER}
        host.ip("route del default")
        host.wait_next_hops({}, 0)

        # An interface that is renamed, and one that is removed and comes back.
        host.ip("link set k2 down")
        host.ip("link set k2 name renamed")
        host.ip("link set renamed up")
        host.ip("address replace 10.2.0.1/24 dev renamed")  # IPv6 addresses are lost when an interface goes down
        add_router(link, 2, "renamed")
        host.ip(f"route replace {PROXIES} via 10.2.0.7 dev renamed")
        host.wait_next_hops({"10.2.0.7": OTHER}, 1)
        with host.director.without_descriptors():
            host.ip(f"neigh replace 10.2.0.8 lladdr {THIRD} dev renamed")
            host.ip(f"route replace {PROXIES} via 10.2.0.8 dev renamed")
            host.wait_next_hops({"10.2.0.8": THIRD}, 1)
        host.ip("link del renamed")
        host.wait_without({"192.168.50.10": "the interface of the port does not exist"}, 1)
        wait_until(lambda: "warning: interface k2 is gone" in host.log, "a warning")
        add_port_interface(link, 2)
        add_router(link, 2, "k2")
        host.ip(f"route replace {PROXIES} via 10.2.0.7 dev k2")
        host.wait_next_hops({"10.2.0.7": OTHER}, 1)
        wait_until(lambda: "notice: interface k2 is back" in host.log, "a message")


def test_next_hops_of_a_port_that_only_receives_do_not_count(link, tmp_path):
    connect(link.client, "client2", link.director, "director2")
    vdevs = [f"net_af_packet{i},iface={name}" for i, name in enumerate(("director", "director2"))]
    config = {**AUTO, "port_interfaces": ["director", "director2"],
              "flow_paths": [{"rx_port": 0, "rx_queue": 0, "tx_port": 1, "tx_queue": 0}],
              "lcores": {"lcore-0": {"rx": True, "tx": True, "flow_paths": [0]}}}
    with Host(link, tmp_path, document("192.168.50.10"), vdevs, config) as host:
        host.ip("address add 10.2.0.1/24 dev director2")
        host.ip(f"neigh replace 10.2.0.7 lladdr {OTHER} dev director2")
        host.ip(f"route add {PROXIES} via 10.2.0.7 dev director2")
        host.wait_next_hops({"10.2.0.7": OTHER}, 1)
        wait_health(host.director, "ok")
        (found,) = host.lookup(FRAMES[0])["next_hops"].values()
        assert found["mac"] == OTHER

        host.ip(f"route replace {PROXIES} via 10.255.0.7 dev director")
        host.wait_next_hops({"10.255.0.7": ROUTER}, 0)
        host.wait_next_hops({}, 1)
        (reason,) = wait_health(host.director, "failing", "no_next_hop")["reasons"]
        assert reason["object"] == "next hops of port 1 (director2)"
        assert host.lookup(FRAMES[0])["verdict"] == "drop_no_next_hop"


def send_one(link, name):
    """Sends one frame into a port. Returns the frame that the director sends there."""
    with link.client.packet_socket(name, ignore_outgoing=True) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.send(FRAMES[0])
        return [next_outer(sock)]


@pytest.mark.parametrize("keys, message", (
    ({"port_interfaces": ["lo", "lo"]}, "port_interfaces: it names 2 interfaces, but DPDK has 1 port: name one for each port"),
    ({"port_interfaces": ["nonesuch"]}, 'port_interfaces: the kernel has no interface "nonesuch": create it, or correct its name'),
    ({"outbound_vrf": "nonesuch"}, 'outbound_vrf: the kernel has no interface "nonesuch": create it, or correct its name'),
    ({"outbound_vrf": "lo"}, 'outbound_vrf: the interface "lo" is not a VRF'),
))
def test_director_does_not_start_with_wrong_interfaces(keys, message, tmp_path):
    pcap.write(tmp_path / "rx.pcap", [])
    table = write_table(tmp_path / "table", traffic.TABLE)
    director = DirectorProcess([f"net_pcap0,rx_pcap={tmp_path}/rx.pcap,tx_pcap=/dev/null"], {**AUTO, **keys}, table)
    try:
        assert director.process.wait(TIMEOUT_S) == 1
        assert f"glb-director: error: {message}" in director.log
    finally:
        director.__exit__()


def test_routes_of_a_vrf(link, tmp_path):
    if link.director.run(*"ip link add blue type vrf table 77".split(), check=False).returncode:
        pytest.skip("the kernel has no VRFs")
    link.director.run(*"ip link set blue up".split())
    add_port_interface(link, 1)
    link.director.run(*"ip link set k1 master blue".split())
    link.underlay.ip(link.director, "address replace 10.1.0.1/24 dev k1")  # IPv6 addresses are lost when an interface joins a VRF
    config = {**AUTO, "outbound_vrf": "blue"}
    with Host(link, tmp_path, document("192.168.50.10"), config=config) as host:
        host.ip(f"route add {PROXIES} via 10.255.0.8")
        host.ip("route add unreachable default metric 4278198272 table 77")  # or the kernel may continue in the table main
        host.wait_without({"192.168.50.10": "the kernel has no route to it"})
        host.ip(f"route add {PROXIES} via 10.1.0.7 vrf blue")
        add_router(link, 1, "k1")
        host.wait_next_hops({"10.1.0.7": ROUTER})
        assert host.macs_by_backend() == {"192.168.50.10": {ROUTER}}
    config["port_interfaces"] = ["director"]
    with pytest.raises(AssertionError, match='"director" does not belong to the VRF "blue" of outbound_vrf'):
        with Host(link, tmp_path, document("192.168.50.10"), config=config):
            pass
