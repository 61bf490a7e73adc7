# SPDX-License-Identifier: BSD-3-Clause
"""The argument of a scenario: a fleet under load, a function to say what happens, and checks that write the result."""

import re
import signal
import subprocess
import time
from dataclasses import asdict, dataclass, field

from lab.clients import Load
from lab.healthcheck import follow
from lab.packet import read_pcap
from lab.tools import TIMEOUT_S, LabError, cli_json, poll, wait_until
from lab.topology import HTTP_PORT, JUMBO_MTU

PMTU = re.compile(r"pmtu:(\d+)")
# Counters of packets that a director received and did not forward, besides the drop_ counters.
NOT_FORWARDED = ("answered_too_big", "exception")


@dataclass
class Result:
    scenario: str
    summary: str
    broken: int = 0
    connections: int = 0
    failed: list = field(default_factory=list)  # expectations that were not met
    skipped: str = None  # why it did not run
    details: dict = field(default_factory=dict)
    capture: dict = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def passed(self):
        return not self.failed and not self.skipped

    def as_dict(self):
        return {**asdict(self), "passed": self.passed, "seconds": round(self.seconds, 2)}


class Capture:
    """Captures GUE on links of directors and proxies with tcpdump. stop() reads it with `glb-director-cli decode`."""

    LIMIT = 20000  # packets per link

    def __init__(self, router, devices):
        self.processes = []
        for device in devices:
            path = self.path(device)
            process = router.start(
                "tcpdump", f"--interface={device}", "--immediate-mode", "--packet-buffered", "-s", str(JUMBO_MTU + 64),
                "-Z", "root", "-c", str(self.LIMIT), "-w", path, "udp port 19523 or (vlan and udp port 19523)",
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.processes.append((process, path))
        for process, _ in self.processes:
            if "listening on" not in process.stderr.readline():
                raise LabError(f"tcpdump: {process.stderr.read()}")

    @staticmethod
    def path(device):
        return f"/run/lab/{device}.pcap"

    def stop(self):
        """{"packets": captured packets, "unknown": packets that the decoder does not understand}"""
        packets = unknown = 0
        for process, path in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(TIMEOUT_S)
            count = len(read_pcap(path))
            decoded = cli_json("decode", path)["packets"]
            packets += count
            unknown += count - sum(1 for packet in decoded if packet_is_known(packet))
        return {"packets": packets, "unknown": unknown}


def packet_is_known(packet):
    """The decoder gives an inner packet addresses if it understands its flow."""
    return "source" in packet["inner"]


def was_refused(broken, labels):
    """Whether a short connection met a service that did not listen, or that stopped before it accepted the connection."""
    return broken["label"] in labels and broken["why"] in ("refused", "reset", "closed")


class Stage:
    def __init__(self, fleet, result, say, seconds=None, reloads=None, connections=None):
        self.fleet, self.result, self.say = fleet, result, say
        self.seconds, self.reloads, self.connections = seconds, reloads, connections  # see scenario.py
        self.load = self.capture = None

    # Load

    def start_load(self, quiet=False, **options):
        self.load = Load(self.fleet.client, **options)
        first = self.load.first
        self.expect("every long-lived connection opens", not first["held_broken"], first["held_broken"])
        shares = ", ".join(f"{name} {count}" for name, count in first["held_by_proxy"].items())
        if not quiet:
            self.say(f"{first['held']} long-lived connections ({shares}), and new short ones all the time")
        return first

    def settle(self, seconds=0.5):
        """Lets the load run. By default for twice the pause of a long-lived connection, so that each has exchanged data."""
        time.sleep(seconds)

    def new_connections(self, label, at_least=20):
        """Waits for short connections that were opened after this call. Returns {proxy: count}."""
        self.load.mark(label)

        def counts():
            found = self.load.report()["short_by_label"].get(label, {})
            return found if sum(found.values()) >= at_least else None

        return wait_until(counts, f"{at_least} new connections")

    # Story

    def expect(self, text, truth, seen=None):
        """Records a failure unless `truth`. The scenario continues, because its other messages help to find the cause."""
        if not truth:
            self.result.failed.append(text if seen is None else f"{text}: {seen}")
            self.say(f"FAILED: {self.result.failed[-1]}")

    def transfer(self, text, failed):
        """Counts a connection that the scenario opened itself. `failed` is None or the reason."""
        self.result.connections += 1
        self.result.broken += failed is not None
        self.expect(text, failed is None, failed)

    def note(self, name, value):
        self.result.details[name] = value

    def start_capture(self):
        fleet = self.fleet
        proxies = [proxy for proxy in fleet.proxies.values() if proxy.powered]
        self.capture = Capture(
            fleet.network.router, [fleet.network.port(each.link) for each in [*fleet.directors.values(), *proxies]])

    # Health checks

    def follow(self, proxy, healthy, since):
        """Waits until every director uses a table with the new health of a proxy. Says how long each step took."""
        times = follow(self.fleet.healthchecks(), self.fleet.proxies[proxy].address, healthy, since)
        self.note("up" if healthy else "down", times)
        self.say(f"{proxy} is {'healthy' if healthy else 'unhealthy'} after {times['verdict']:.2f} s: dst written after "
                 f"{times['dst']:.2f} s, binary table built after {times['bin']:.2f} s, in use after {times['director']:.2f} s")
        return times

    def accepted_syns(self, proxy):
        """SYNs that glb-redirect accepted on a proxy."""
        return self.fleet.proxies[proxy].stats()["accepted_syn"]

    def expect_only_its_own(self, short_broken, proxy, *tables):
        """Checks that one of the tables sends each of the broken short connections to `proxy`."""
        for each in short_broken:
            vip, address, port = each["flow"]
            firsts = {self.fleet.running()[0].hops(address, port, vip, HTTP_PORT, table)[0] for table in tables}
            self.expect("only short connections of this proxy break", proxy in map(self.fleet.proxy_at, firsts), each)

    # State of a proxy's kernel

    def row(self, connection):
        """The names of a connection's hops."""
        hops = self.fleet.running()[0].hops(connection.address, connection.port, connection.vip, connection.vip_port)
        return [self.fleet.proxy_at(hop) for hop in hops]

    def owners(self, connection):
        """The names of a connection's first and second hop."""
        return self.row(connection)[:2]

    def sockets(self, proxy, port):
        """The lines of ss(8) about the sockets of a proxy with this client port."""
        return self.fleet.proxies[proxy].host.run("ss", "-tanOi", f"dport = :{port}").stdout.splitlines()[1:]

    def socket_state(self, proxy, port):
        """"ESTAB", "TIME-WAIT" ..., or None."""
        found = self.sockets(proxy, port)
        return found[0].split()[0] if found else None

    def wait_pmtu(self, proxy, port, wanted):
        """The path MTU of a proxy's socket, None if there is none. Waits a moment until it is `wanted`."""
        def pmtu():
            return next((int(match[1]) for line in self.sockets(proxy, port) if (match := PMTU.search(line))), None)

        poll(lambda: pmtu() in (wanted, None), TIMEOUT_S)
        return pmtu()

    def route_mtu(self, proxy, client):
        """The path MTU to a client that a proxy's kernel knows, or None."""
        found = self.fleet.proxies[proxy].host.run("ip", "route", "get", client).stdout
        return int(found.split("mtu ")[1].split()[0]) if "mtu " in found else None

    # End

    def finish(self, allowed_broken=(), may_refuse=()):
        """Stops the load and checks what every scenario promises.

        Connections to proxies in `allowed_broken`, and short ones with these labels, may break. Short connections with labels in
        `may_refuse` may be refused by a service that has stopped; they are counted separately.
        """
        if self.capture:
            self.result.capture = capture = self.capture.stop()
            self.expect("the capture has GUE packets", capture["packets"] > 0)
            self.expect("the decoder understands every captured packet", capture["unknown"] == 0, capture)
        if self.load:
            self._count(self.load.stop(), allowed_broken, may_refuse)
        self._directors_dropped_nothing()

    def _count(self, report, allowed_broken, may_refuse):
        refused = [each for each in report["short_broken"] if was_refused(each, may_refuse)]
        broken = report["held_broken"] + [each for each in report["short_broken"] if each not in refused]
        short = report["short"] - len(refused)
        self.result.connections += report["held"] + short
        self.result.broken += len(broken)
        unexpected = [each for each in broken if not self._allowed(each, allowed_broken)]
        self.expect("no connection breaks", not unexpected, unexpected[:5])
        self.expect("data flows on every long-lived connection", report["fewest_exchanges"] > 1, report["fewest_exchanges"])
        self.note("held", report["held"])
        self.note("short", short)
        self.note("exchanges", report["exchanges"])
        self.note("longest_answer_s", report["longest_answer_s"])
        if may_refuse:
            self.note("refused", len(refused))
        if broken:
            self.note("broken_connections", broken)

    def _allowed(self, broken, names):
        return bool(names) and broken.get("proxy", broken.get("label")) in names

    def _directors_dropped_nothing(self):
        stats = [*self.fleet.retired, *(director.stats() for director in self.fleet.running())]
        dropped = {
            key: sum(each.get(key, 0) for each in stats)  # directors of another version may lack a counter
            for key in set().union(*stats) if key.startswith("drop_") or key in NOT_FORWARDED
        }
        lost = {key: count for key, count in dropped.items() if count}
        # With AF_PACKET and libpcap the director also receives packets of its kernel, for instance ARP and ND.
        if any(director.pmd != "af_xdp" for director in self.fleet.directors.values()):
            lost.pop("drop_unmatched", None)
            lost.pop("drop_not_for_us", None)  # broadcast and multicast
        # With an exception path it also receives BGP, and `bgp-flood` has what its limits must drop.
        if self.fleet.shape.exception_path:
            lost.pop("exception", None)
            lost.pop("drop_exception_limited", None)
        self.expect("no director dropped a packet", not lost, lost)
        self.note("forwarded", sum(each["forwarded"] for each in stats))
        if self.load and len(stats) > 1:
            self.expect("every director forwarded packets", all(each["forwarded"] for each in stats))
