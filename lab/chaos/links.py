# SPDX-License-Identifier: BSD-3-Clause
"""The links of the lab: cuts and impairs them, and counts the GUE packets on them. All rules are nftables of the router, and of the
directors, whose kernels send GUE of their health checks. So one host knows what each link lost."""

import json

from lab.chaos.judge import Account
from lab.net import mac
from lab.topology import GUE_PORT

GUE = f"udp dport {GUE_PORT}"
# Of each link. The router sends `out` to the host, and receives `in` from it. `twice` and `detour` pass `out` a second time.
COUNTERS = ("in", "out", "cut_in", "cut_out", "lost", "twice", "detour")
COPY = 1  # mark of packets that were sent twice: a copy of a copy of a copy is one too many for the kernel, which loses it without a count
LINK = """\
table netdev chaos {{
	{counters}
	chain cut_in_{name} {{ }}
	chain cut_out_{name} {{ }}
	chain hurt_{name} {{ }}
	chain lose_{name} {{
		{gue} counter name lost_{name}
		drop
	}}
	chain double_{name} {{
		meta mark {copy} return
		{gue} counter name twice_{name}
		meta mark set {copy}
		dup to "{device}"
	}}
	chain delay_{name} {{
		{gue} counter name detour_{name}
		fwd to "{detour}a"
	}}
	chain back_{name} {{
		type filter hook ingress device "{detour}b" priority 0;
		fwd to "{device}"
	}}
	chain in_{name} {{
		type filter hook ingress device "{device}" priority 0;
		{gue} counter name in_{name}
		jump cut_in_{name}
	}}
	chain out_{name} {{
		type filter hook egress device "{device}" priority 0;
		{gue} counter name out_{name}
		jump cut_out_{name}
		jump hurt_{name}
	}}
}}
"""
OF_KERNEL = f"""\
table netdev chaos {{
	counter kernel {{ }}
	chain out {{
		type filter hook egress device "eth0" priority 0;
		{GUE} counter name kernel
	}}
}}
"""
SLOW_BITS, QUEUE_BYTES, FAST = 4_000_000, 100_000, ("rate", "10gbit", "burst", "1m", "limit", "10m")
DETOUR = ("rate", "1mbit", "burst", "5k", "limit", str(QUEUE_BYTES))
IN_RING = 256  # packets that a director may have counted before it was killed, and that the kernel had not sent


def word(name):
    return name.replace("-", "_")


def counters_of(host):
    done = host.run("nft", "-j", "list", "counters", "table", "netdev", "chaos")
    return {each["counter"]["name"]: each["counter"]["packets"] for each in json.loads(done.stdout)["nftables"] if "counter" in each}


class Links:
    def __init__(self, network):
        self.network, self.router = network, network.router
        self.devices = {"client": "to-client"}
        self._rules("client")

    def add(self, host, link):
        """A host with a link to the router. Its address is permanent at the router, which would lose packets without a count if it asked for it."""
        self.devices[link.name] = self.network.port(link)
        self._rules(link.name)
        self.router.ip(*(f"neigh replace {address} lladdr {mac(host, 'eth0')} nud permanent dev {link.device}" for address in self._addresses(link)))
        if link.name.startswith("director"):
            host.run("nft", "-f", "-", input=OF_KERNEL)

    @staticmethod
    def _addresses(link):
        return {link.address, link.address6}

    def _rules(self, name):
        detour, device = f"detour{len(self.devices)}", self.devices[name]
        self.router.ip(f"link add {detour}a type veth peer name {detour}b")
        self.router.sysctl({f"net.ipv6.conf.{detour}{end}.disable_ipv6": 1 for end in "ab"})
        self.router.ip(f"link set {detour}a up", f"link set {detour}b up")
        self.router.run("tc", "qdisc", "add", "dev", f"{detour}a", "root", "tbf", *DETOUR)
        counters = "\n\t".join(f"counter {each}_{word(name)} {{ }}" for each in COUNTERS)
        self.router.run("nft", "-f", "-", input=LINK.format(counters=counters, name=word(name), device=device, detour=detour, gue=GUE, copy=COPY))

    def cut(self, name):
        """Nothing passes the link. What is lost is counted. Routes stay, as behind a broken switch."""
        self._nft(*(f"add rule netdev chaos cut_{way}_{word(name)} {rule}" for way in ("in", "out")
                    for rule in (f"{GUE} counter name cut_{way}_{word(name)} drop", "drop")))

    def mend(self, name):
        self._nft(*(f"flush chain netdev chaos cut_{way}_{word(name)}" for way in ("in", "out")))

    def impair(self, name, how, percent):
        """What the router sends to the host is lost, comes twice, overtakes other packets, or waits in a queue."""
        if how == "slow":
            self._tbf(name, "rate", f"{SLOW_BITS // percent}bit", "burst", "5k", "limit", str(QUEUE_BYTES))
        else:
            chain = {"loss": "lose", "duplicate": "double", "reorder": "delay"}[how]
            self._nft(f"add rule netdev chaos hurt_{word(name)} numgen random mod 100 < {percent} jump {chain}_{word(name)}")

    def repair(self, name, how):
        if how == "slow":
            self._tbf(name, *FAST)  # it stays: a queue that goes would drop what it has without a count
        else:
            self._nft(f"flush chain netdev chaos hurt_{word(name)}")

    def _tbf(self, name, *words):
        self.router.run("tc", "qdisc", "replace", "dev", self.devices[name], "root", "handle", "1:", "tbf", *words)

    def _nft(self, *lines):
        self.router.run("nft", "-f", "-", input="\n".join([*lines, ""]))

    def counters(self):
        return counters_of(self.router)

    def of_host(self, name, counters=None):
        """{counter: packets} of a link."""
        counters = counters or self.counters()
        return {each: counters[f"{each}_{word(name)}"] for each in COUNTERS}

    def to_directors(self, names):
        """GUE packets that the router sent to directors."""
        counters = self.counters()
        return sum(self.of_host(name, counters)["out"] for name in names)

    @staticmethod
    def other_drops(host, device):
        """Packets of any kind that an interface could not send. A full queue of the other end counts here, too."""
        stats = json.loads(host.run("ip", "-json", "-s", "link", "show", device).stdout)[0]["stats64"]["tx"]
        return stats["dropped"] + stats["errors"]

    def detour_drops(self):
        """Packets of any kind that the detours lost."""
        shown = json.loads(self.router.run("ip", "-json", "-s", "link", "show").stdout)
        return sum(each["stats64"]["tx"]["dropped"] for each in shown if each["ifname"].startswith("detour"))

    @staticmethod
    def xdp_drops(host):
        """Packets that an XDP program sent and the interface could not."""
        shown = host.run("ethtool", "-S", "eth0").stdout
        return sum(int(line.split()[-1]) for line in shown.splitlines() if "_errors:" in line)

    def queue_drops(self):
        """{device of the router: packets of any kind that a full queue dropped}"""
        shown = json.loads(self.router.run("tc", "-s", "-json", "qdisc", "show").stdout)
        return {each["dev"]: each["drops"] for each in shown if each["kind"] == "tbf"}


class Ledger:
    """What the programs counted in all of their lives. Counters of a program that is killed are those of its last sample."""

    def __init__(self, links):
        self.links = links
        self.sent, self.taken, self.passed = {}, {}, {}  # of ended lives: by directors, by proxies, and on by proxies
        self.unsure = {}
        self.first = {}  # counters of the router when the ledger began

    def begin(self, directors, proxies):
        """Takes what was counted before. No GUE packet may be under way."""
        self.first = self.links.counters()
        for name, director in directors.items():
            self.sent[name] = -counters_of(director.host)["kernel"] - director.stats()["forwarded"]
        for name, proxy in proxies.items():
            stats = proxy.stats()
            self.taken[name], self.passed[name] = -stats["total"], -passed_on(stats)

    def before(self, name):
        """Call this before the sample of a life that ends; ended() takes the result."""
        return self.links.of_host(name)

    def director_ended(self, name, before, stats):
        after = self.links.of_host(name)
        self.sent[name] = self.sent.get(name, 0) + stats["forwarded"]
        self.unsure[name] = self.unsure.get(name, 0) + after["in"] - before["in"] + IN_RING

    def proxy_replaced(self, name, before, old, new, other=False):
        """glb-redirect was attached again. The same version keeps its counters; another one may copy them, or begin at 0."""
        after = self.links.of_host(name)
        fell = new["total"] < old["total"]
        if fell:
            self.taken[name] = self.taken.get(name, 0) + old["total"]
            self.passed[name] = self.passed.get(name, 0) + passed_on(old)
        if fell or other:
            self.unsure[name] = self.unsure.get(name, 0) + after["out"] - before["out"]

    def accounts(self, directors, proxies):
        """The accounts of all links. `directors`: {name: (host, stats or None)}, `proxies` likewise. No packet is under way."""
        counters = {name: count - self.first.get(name, 0) for name, count in self.links.counters().items()}
        of = {name: self.links.of_host(name, counters) for name in [*directors, *proxies]}
        found, queue = [], self.links.queue_drops()
        for name, (host, stats) in directors.items():
            sent = self.sent.get(name, 0) + (stats["forwarded"] if stats else 0) + counters_of(host)["kernel"]
            found.append(Account(f"{name} to the router", sent, of[name]["in"], unsure=self.unsure.get(name, 0) + self.links.other_drops(host, "eth0")))
        arrived = sum(each["in"] - each["cut_in"] for each in of.values())
        found.append(Account("through the router", arrived, sum(each["out"] - each["twice"] - each["detour"] for each in of.values()), unsure=self.links.detour_drops() + sum(drops for device, drops in queue.items() if device.startswith("detour"))))
        for name, (host, stats) in proxies.items():
            out, device = of[name], self.links.devices[name]
            drops = queue.get(device, 0) + self.links.other_drops(self.links.router, device) + self.unsure.get(name, 0)
            found.append(Account(f"the router to {name}", out["out"] - out["detour"], self.taken.get(name, 0) + stats["total"],
                                 out["cut_out"] + out["lost"], drops))
            found.append(Account(f"{name} to the router", self.passed.get(name, 0) + passed_on(stats), out["in"],
                                 unsure=self.unsure.get(name, 0) + self.links.xdp_drops(host)))
        return found


def passed_on(stats):
    return sum(stats.get(name, 0) for name in ("forwarded_to_alternate", "forwarded_by_route", "quic_passed_on", "returned_to_first_hop"))
