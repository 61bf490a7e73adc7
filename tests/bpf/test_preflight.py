# SPDX-License-Identifier: BSD-3-Clause
"""glb-redirect check: a healthy proxy has no finding but ok, and a proxy with one fault has exactly the finding about it.

The command of a finding, if there is one, mends the fault.
"""

import contextlib
import dataclasses
import json
import os
import platform
import re
import socket
import types

import pytest

from cases import frames as f
from host import HTTP, PROXY, UNKNOWN, packet
from lab.net import Namespace, connect, mac
from lab.tools import LabError, wait_until
from packets import gue_frame
from support.outputs import check_output
from support.tree import BUILD, REDIRECT_OBJECT, TREE
from test_loader import older_version

VIP4, VIP6 = "10.10.10.10", "fdb4::10"
CONF = 'allow_from = ["192.0.2.0/24", "192.168.51.0/24"];\n'
KERNEL = tuple(map(int, platform.release().split(".")[:2]))
OK, WARN, FAIL = 0, 1, 2
CONF6 = """echo 'allow_from = ["2001:db8:1::/64", "fd51::/64"];' >$CONF\n"""  # of a proxy behind outer IPv6
ROOM6 = CONF6 + "ip link set eth0 mtu 1700\n"
QUIC = "quic = ( { id = 0; server_id_length = 1; nonce_length = 4; server_id = \"%s\"; } );\n"
ALLOW_TO = f'allow_to = ["{VIP4}", "{VIP6}"];'


TABLE = json.dumps({"tables": [{
    "hash_key": "12345678901234561234567890123456", "seed": "34567890123456783456789012345678",
    "quic": [{"id": 0, "server_id_length": 1, "nonce_length": 4, "key": "8f95f09245765f80256934e50c66207f"}],
    "binds": [{"ip": f"{VIP4}/32", "proto": "udp", "port": 443, "quic": True}],
    "backends": [{"ip": f"192.168.51.{n}", "state": "active", "healthy": True, "server_id": f"0{n}"} for n in (1, 2)]}]})


class Proxy:
    """A healthy proxy. `network` is the other end of eth0, and `other` that of eth1, which has no addresses."""

    def __init__(self, glb_redirect, stack, folder):
        self.program, self.stack = glb_redirect, stack
        self.conf = folder / "redirect.conf"
        self.conf.write_text(CONF)
        self.host, self.network = Namespace(), Namespace()
        stack.callback(self.host.close)
        stack.callback(self.network.close)
        connect(self.host, "eth0", self.network, "net0", mtu=1600)
        connect(self.host, "eth1", self.network, "net1")
        self.network.offload("net0", "gro", "on")
        self.host.ip(
            "addr add 192.168.51.10/24 dev eth0", "addr add fd51::10/64 dev eth0 nodad",
            f"addr add {VIP4}/32 dev lo", f"addr add {VIP6}/128 dev lo nodad",
            "route add default via 192.168.51.1 mtu 1500", "route add default via fd51::1 mtu 1500")
        self.listen((VIP4, 80))
        self.listen((VIP6, 80))

    def listen(self, address, backlog=512):
        with self.host:
            listener = self.stack.enter_context(socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(backlog)
        return listener

    def udp(self, address):
        with self.host:
            udp = self.stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(address)
        return udp

    def attach(self, *options):
        self.host.run(self.program, "attach", "eth0", "--config-file", self.conf, *options)

    def shell(self, script):
        path = {**os.environ, "CONF": str(self.conf), "PATH": f"{os.path.dirname(self.program)}:{os.environ['PATH']}"}
        return self.host.run("sh", "-ec", script, env=path)

    def check(self, *options, interface="eth0", prefix=(), env=None, conf=True):
        """The findings that are not ok."""
        file = ("--config-file", self.conf) if conf else ()
        result = self.host.run(*prefix, self.program, "check", interface, "--json", *file, *options, check=False,
                               env={**os.environ, **(env or {})})
        assert result.stderr == ""
        report = self.report = json.loads(result.stdout)
        check_output("redirect check", report)
        levels = [finding["level"] for finding in report["findings"]]
        assert result.returncode == max(map(["ok", "warn", "fail"].index, levels))
        assert report["result"] == ["ok", "warn", "fail"][result.returncode]
        return [finding for finding in report["findings"] if finding["level"] != "ok"]


@pytest.fixture
def proxy(glb_redirect, tmp_path):
    with contextlib.ExitStack() as stack:
        yield Proxy(glb_redirect, stack, tmp_path)


def test_a_healthy_proxy(proxy):
    assert proxy.check() == []
    proxy.attach()
    assert proxy.check() == []
    proxy.host.run(proxy.program, "detach", "eth0")
    proxy.attach("--mode", "generic")
    assert proxy.check() == []
    text = proxy.host.run(proxy.program, "check", "eth0", "--config-file", proxy.conf).stdout
    assert text.endswith("\neth0: 0 failures, 0 warnings\n")
    assert {line[:6] for line in text.splitlines()[:-1]} <= {"ok    ", "      "}


def test_the_reference_lists_the_checks_in_their_order(proxy):
    text = proxy.host.run(proxy.program, "check", "eth0", "--config-file", proxy.conf).stdout
    page = (TREE / "docs/reference/redirect.md").read_text().split("## The preflight")[1].split("\n## ")[0]
    assert re.findall(r"^ok    (\w+):", text, re.MULTILINE) == re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Fault:
    """`plant`: shell commands on the host, or a function with the Proxy."""

    name: str
    plant: object
    level: str
    check: str
    object: str
    text: str  # a part of it
    mends: bool = True  # the command of the finding does
    whole: bool = True  # it mends everything: False: the kernel forgot the routes, too
    attach: tuple = None  # options; None: the program is not attached
    vips: tuple = (VIP4, VIP6)


def nft(*lines):
    return "\n".join(f"nft '{line}'" for line in lines)


def broken_nft(script):
    return f"printf '%s\\n' '#!/bin/sh' '{script}' >$CONF.nft; chmod +x $CONF.nft; mount --bind $CONF.nft /usr/sbin/nft"


INPUT = nft("add table inet filter", "add chain inet filter input { type filter hook input priority 0; }")
KNOWN = nft("add rule inet filter input ct state established,related accept")
NO_POLICY = nft("add chain inet filter input { policy drop; }")


def full_queue(proxy):
    listener = proxy.listen((VIP4, 81), 0)
    with proxy.host:
        for _ in range(4):
            client = proxy.stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
    # With a backlog of 0, one connection waits. The queue is full then.


def foreign_program(proxy):
    proxy.shell(f"bpftool prog load {REDIRECT_OBJECT} /sys/fs/bpf/foreign\n"
                "bpftool net attach xdp pinned /sys/fs/bpf/foreign dev eth0")


def foreign_link(proxy):
    proxy.attach()
    proxy.shell("mv /sys/fs/bpf/glb-redirect/eth0/link /sys/fs/bpf/foreign; glb-redirect detach eth0")


def deleted_interface(proxy):
    proxy.attach()
    proxy.host.ip("link del eth0")
    connect(proxy.host, "eth0", proxy.network, "net0", mtu=1600)
    proxy.network.offload("net0", "gro", "on")
    proxy.host.ip("addr add 192.168.51.10/24 dev eth0", "addr add fd51::10/64 dev eth0 nodad",
                  "route add default via 192.168.51.1 mtu 1500", "route add default via fd51::1 mtu 1500")


FAULTS = [
    Fault("QUIC table does not have this host", f"""echo '{TABLE}' >$CONF.json; echo "quic_table = \\"$CONF.json\\";" >>$CONF""", "warn", "allow", "eth0",
          "no address of this host has a server ID in /", mends=False),
    Fault("VIP is missing", f"ip addr del {VIP4}/32 dev lo; sysctl -qw net.ipv4.ip_forward=1", "fail", "vips", VIP4,
          "so glb-redirect drops clients' packets"),
    Fault("VIP of allow_to is missing", f"ip addr del {VIP4}/32 dev lo; echo '{ALLOW_TO}' >>$CONF",
          "fail", "vips", VIP4, "so the kernel drops clients' packets"),
    Fault("VIP of allow_to is missing and the host forwards",
          f"ip addr del {VIP4}/32 dev lo; echo '{ALLOW_TO}' >>$CONF; sysctl -qw net.ipv4.ip_forward=1",
          "fail", "vips", VIP4, "routes clients' packets out again"),
    Fault("IPv6 VIP of allow_to is missing and the host forwards",
          f"ip addr del {VIP6}/128 dev lo; echo '{ALLOW_TO}' >>$CONF; sysctl -qw net.ipv6.conf.all.forwarding=1",
          "fail", "vips", VIP6, "routes clients' packets out again"),
    Fault("VIP is on the interface", f"ip addr del {VIP4}/32 dev lo; ip addr add {VIP4}/32 dev eth0", "warn", "vips", VIP4,
          "every proxy claims it"),
    Fault("VIP is on an interface that is down", f"ip link add br7 type bridge; ip addr del {VIP4}/32 dev lo; ip addr add {VIP4}/32 dev br7",
          "fail", "vips", VIP4, "br7, which is down", mends=False),
    Fault("lo has no VIP", "true", "fail", "vips", "10.20.0.0/16", "no address in it", mends=False, vips=("10.20.0.0/16",)),
    Fault("VIP is of the segment", "ip addr add 192.168.51.80/32 dev lo", "warn", "arp", "192.168.51.80", "answers ARP requests",
          vips=(VIP4, "192.168.51.80")),
    Fault("rp_filter is strict, default route elsewhere", "ip route del default; ip addr add 192.168.60.10/24 dev eth1\n"
          "ip route add default via 192.168.60.1; sysctl -qw net.ipv4.conf.eth0.rp_filter=1", "fail", "rp_filter", "eth0", "another interface"),
    Fault("rp_filter is strict for all", "ip route del default; sysctl -qw net.ipv4.conf.all.rp_filter=1",
          "fail", "rp_filter", "eth0", "there is no default route"),
    Fault("rp_filter without IPv4 outside of lo", ROOM6 + "ip addr del 192.168.51.10/24 dev eth0; sysctl -qw net.ipv4.conf.eth0.rp_filter=2",
          "fail", "rp_filter", "eth0", "ip -4 route add default via inet6 ROUTER dev eth0", mends=False),
    Fault("MTU has no room for outer IPv6", CONF6, "warn", "mtu", "eth0", "the outer headers (104 bytes with 4 hops"),
    Fault("path to an IPv6 next hop is narrow", ROOM6 + "ip route add fd51::77 dev eth0 mtu 1600; echo 'next_hops = [\"fd51::77\"];' >>$CONF",
          "warn", "mtu", "fd51::77", "packets of 1500 bytes for the next hop need 1604 with 4 hops", mends=False),
    Fault("MTU has no room", "ip link set eth0 mtu 1500", "warn", "mtu", "eth0", "large uploads can hang"),
    Fault("path to a next hop is narrow", "ip route add 192.168.51.77 dev eth0 mtu 1500; echo 'next_hops = [\"192.168.51.0/24\", \"192.168.51.77\"];' >>$CONF",
          "warn", "mtu", "192.168.51.77", "MTU of 1500", mends=False),
    Fault("replies are large", "ip route change default via 192.168.51.1", "warn", "mtu", "eth0", "MTU of 1600 is also that of replies", mends=False),
    Fault("interface is down", "ip link set eth0 down", "fail", "interface", "eth0", "it is down", whole=False),
    Fault("policy is drop", INPUT + "\n" + NO_POLICY, "fail", "firewall", None, "chain input of the table inet filter drops all packets"),
    Fault("only SSH and ping are accepted", INPUT + "\n" + NO_POLICY + "\n" + KNOWN.replace("ct state established,related", "tcp dport { 22, 8000-9000 }") + "\n"
          + nft("add rule inet filter input iif lo accept", "add rule inet filter input meta l4proto { icmp, ipv6-icmp } accept",
                "add rule inet filter input icmp type echo-request accept"), "fail", "firewall", None, "drops all packets"),
    Fault("a rule drops", INPUT + "\n" + nft("add rule inet filter input ip daddr { 10.9.9.9, 10.10.0.0/16 } drop"),
          "fail", "firewall", VIP4, "chain input of the table inet filter drops all packets"),
    Fault("a prerouting chain drops one family", nft("add table ip6 x", "add chain ip6 x pre { type filter hook prerouting priority 0; policy drop; }"),
          "fail", "firewall", VIP6, "chain pre of the table ip6 x drops"),
    Fault("connections are tracked", INPUT + "\n" + nft("add rule inet filter input ct state new accept"), "warn", "conntrack", None,
          "the table inet filter tracks its connections"),
    Fault("invalid packets are dropped", INPUT + "\n" + nft("add rule inet filter input ct state invalid drop"), "fail", "conntrack", None,
          "are invalid and dropped"),
    Fault("NAT", nft("add table ip nat", "add chain ip nat post { type nat hook postrouting priority 100; }", "add rule ip nat post oifname eth1 masquerade"),
          "warn", "conntrack", VIP4, "the table ip nat tracks"),
    Fault("iptables-nft track", "iptables-nft -A INPUT -m conntrack --ctstate INVALID -j DROP", "warn", "conntrack", VIP4, "the table ip filter tracks"),
    Fault("legacy iptables", "iptables-legacy -A INPUT -p tcp --dport 22 -j DROP", "warn", "iptables", "iptables-legacy-save", "have 1 rule,", mends=False),
    Fault("legacy ip6tables", "ip6tables-legacy -P INPUT DROP", "warn", "iptables", "ip6tables-legacy-save", "have 1 rule,", mends=False),
    Fault("nft cannot run", INPUT + "\nmount --bind /dev/null /usr/sbin/nft", "warn", "firewall", "nftables", "there are 1 tables, but", mends=False),
    Fault("nft prints garbage", INPUT + "\n" + broken_nft("echo what"), "warn", "firewall", "nftables", "failed: it did not print JSON", mends=False),
    Fault("nft is killed", INPUT + "\n" + broken_nft("kill -9 $$"), "warn", "firewall", "nftables", "failed: signal 9 ended it", mends=False),
    Fault("no SYN cookies", "sysctl -qw net.ipv4.tcp_syncookies=0", "warn", "syn_cookies", "", "keeps clients out"),
    Fault("--syn-cookies without route look-ups", lambda proxy: proxy.shell("sysctl -qw net.ipv4.conf.lo.forwarding=1 net.ipv6.conf.lo.forwarding=1\n"
          "glb-redirect attach eth0 --config-file $CONF --syn-cookies on; sysctl -qw net.ipv6.conf.lo.forwarding=0"), "warn", "syn_cookies", "lo", "finds no routes"),
    Fault("--forward fib without route look-ups", lambda proxy: proxy.shell("sysctl -qw net.ipv4.conf.lo.forwarding=1\n"
          "glb-redirect attach eth0 --config-file $CONF --forward fib; sysctl -qw net.ipv4.conf.lo.forwarding=0"), "fail", "syn_cookies", "lo", "finds no routes"),
    Fault("--forward fib without IPv6 route look-ups", lambda proxy: proxy.shell(ROOM6 + "sysctl -qw net.ipv6.conf.lo.forwarding=1\n"
          "glb-redirect attach eth0 --config-file $CONF --forward fib; sysctl -qw net.ipv6.conf.lo.forwarding=0"), "fail", "syn_cookies", "lo", "finds no routes"),
    Fault("somaxconn is small", "sysctl -qw net.core.somaxconn=128", "warn", "backlog", "", "net.core.somaxconn is 128"),
    Fault("backlog is small", lambda proxy: proxy.listen(("0.0.0.0", 8080), 5), "warn", "backlog", "0.0.0.0:8080 (5)", "bursts", mends=False),
    Fault("queue is full", full_queue, "fail", "backlog", f"{VIP4}:81", "1 connections wait", mends=False),
    Fault("nothing listens", lambda proxy: proxy.host.ip("addr add 10.10.10.99/32 dev lo"), "warn", "backlog", "", "no socket serves a VIP",
          mends=False, vips=("10.10.10.99",)),
    Fault("UDP server does not connect its sockets", lambda proxy: proxy.udp((VIP4, 443)), "warn", "udp", f"{VIP4}:443", "--udp first-hop",
          mends=False, attach=("--udp", "connected")),
    Fault("another XDP program", foreign_program, "fail", "program", "eth0", "another XDP program"),
    Fault("another XDP program by a link", foreign_link, "fail", "program", "eth0", "another XDP program"),
    Fault("interface was deleted", deleted_interface, "fail", "program", "eth0", "was deleted"),
    Fault("the tc program was removed", "rm -f /sys/fs/bpf/glb-redirect/eth0/companion; tc qdisc del dev eth0 clsact 2>/dev/null || true",
          "fail", "checksums", "eth0", "damaged data can reach the services", attach=()),
    Fault("no bpffs", "while umount /sys/fs/bpf 2>/dev/null; do :; done", "fail", "bpffs", "/sys/fs/bpf", "there is no bpffs"),
]


def plant(proxy, fault):
    """Returns the findings that are not ok."""
    if fault.attach is not None:
        proxy.attach(*fault.attach)
    if callable(fault.plant):
        fault.plant(proxy)
    else:
        proxy.shell(fault.plant)
    return proxy.check("--vip", ",".join(fault.vips))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_exactly_its_finding(proxy, fault):
    options = ("--vip", ",".join(fault.vips))
    findings = plant(proxy, fault)
    assert {(each["level"], each["check"]) for each in findings} == {(fault.level, fault.check)}, findings
    objects = [fault.object] if fault.object is not None else list(fault.vips)
    assert [each["object"] for each in findings] == objects, findings
    for finding in findings:
        assert fault.text in finding["text"], finding
        assert (finding["command"] is not None) == fault.mends, finding
        if fault.mends:
            proxy.shell(finding["command"])
    if fault.mends and fault.whole:
        assert proxy.check(*options) == []


def test_open_to_any_sender(proxy):
    (finding,) = proxy.check(conf=False)
    assert (finding["level"], finding["check"], finding["object"]) == ("warn", "allow", "eth0") and "open to any sender" in finding["text"]
    proxy.host.run(proxy.program, "attach", "eth0")
    assert [each["check"] for each in proxy.check(conf=False)] == ["allow"]
    proxy.attach()
    assert proxy.check(conf=False) == []


def test_vips_of_the_configuration(proxy):
    proxy.conf.write_text(CONF + f'allow_to = ["{VIP4}", "10.10.10.11"];\n')
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"]) == ("fail", "vips", "10.10.10.11")
    proxy.conf.write_text(CONF + 'allow_to = ["10.10.10.0/24"];\n')
    assert proxy.check() == []
    (finding,) = proxy.check("--vip", f"{VIP4},{VIP6}")
    assert (finding["level"], finding["check"], finding["object"]) == ("fail", "allow", VIP6)
    assert f"allow_to in {proxy.conf} does not have it" in finding["text"]


@pytest.mark.parametrize("text, message", [
    ('allow_from = ["192.0.2.1/24"];\n', "line 1: allow_from[0]: '192.0.2.1/24' has bits"),
    ("allow_from = [\n", "line 1: the '[' is not closed"),
    (None, "No such file or directory"),
])
def test_a_configuration_that_cannot_be_read(proxy, text, message):
    proxy.attach()
    if text:
        proxy.conf.write_text(text)
    else:
        proxy.conf.unlink()
    for options in ({}, {"conf": False}):
        findings = proxy.check(**options)
        assert {(each["level"], each["check"], each["object"]) for each in findings} == {("fail", "allow", str(proxy.conf))}
        assert message in findings[0]["text"]


@pytest.mark.parametrize("text", ['allow_from = ["192.0.2.0/24"];\n', CONF + "max_hops = 2;\n", CONF + 'next_hops = ["192.168.51.11"];\n',
                                  CONF + f'allow_to = ["{VIP4}", "{VIP6}"];\n', CONF + QUIC % "0a", CONF.replace("192.0.2.0", "192.0.3.0")])
def test_a_configuration_that_was_not_reloaded(proxy, text):
    proxy.attach()
    proxy.conf.write_text(text)
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"], finding["command"]) == ("warn", "allow", str(proxy.conf), "glb-redirect reload eth0")
    proxy.shell(finding["command"])
    assert proxy.check() == []


def test_a_prefix_that_was_added_beside_one_for_all_of_the_other_family(proxy):
    proxy.conf.write_text(CONF + 'next_hops = ["0.0.0.0/0"];\n')
    proxy.attach()
    assert proxy.check() == []
    proxy.conf.write_text(CONF + 'next_hops = ["0.0.0.0/0", "2001:db8::/64"];\n')
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"]) == ("warn", "allow", str(proxy.conf))
    proxy.shell(finding["command"])
    assert proxy.check() == []


@pytest.mark.parametrize("address", ["10.10.10.12/32", "fdb4::12/128"])
def test_an_address_that_the_program_does_not_know(proxy, address):
    proxy.attach()
    proxy.host.ip(f"addr add {address} dev lo" + (" nodad" if ":" in address else ""))
    proxy.listen((address.split("/")[0], 80))
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"]) == ("fail", "allow", address.split("/")[0])
    proxy.shell(finding["command"])
    assert proxy.check() == []


HEALTHY = {
    "VIPs on lo are found without --vip": ("true", ()),
    "an AnyIP route instead of an address": (f"ip addr del {VIP4}/32 dev lo; ip route add local 10.10.0.0/16 dev lo", ("--vip", VIP4)),
    "a prefix of VIPs": ("true", ("--vip", "10.10.10.0/24")),
    "strict rp_filter with the default route": ("sysctl -qw net.ipv4.conf.eth0.rp_filter=1", ()),
    "outer IPv6": (ROOM6, ()),
    "no IPv4 outside of lo": (ROOM6 + "ip addr del 192.168.51.10/24 dev eth0; sysctl -qw net.ipv4.conf.eth0.rp_filter=2\n"
                              "ip -4 route add default via inet6 fd51::1 dev eth0 mtu 1500", ()),
    "advmss instead of a large MTU": ("ip link set eth0 mtu 1500; ip route change default via 192.168.51.1 advmss 1392\n"
                                      "ip -6 route change default via fd51::1 advmss 1392", ()),
    "arp_ignore": ("ip addr add 192.168.51.80/32 dev lo; sysctl -qw net.ipv4.conf.all.arp_ignore=1", ()),
    "a firewall that accepts the service": (INPUT + "\n" + NO_POLICY + "\n" + nft("add rule inet filter input tcp dport 80 accept"), ()),
    "a firewall that accepts a range of ports": (INPUT + "\n" + NO_POLICY + "\n" + nft("add rule inet filter input tcp dport { 22, 79-81 } accept"), ()),
    "a firewall that accepts named addresses": (nft("add table inet filter", "add set inet filter vips { type ipv4_addr; }",
        "add chain inet filter input { type filter hook input priority 0; policy drop; }", "add rule inet filter input ip daddr @vips accept",
        "add rule inet filter input meta nfproto ipv6 accept"), ()),
    "a VIP that netfilter translates": (f"ip addr del {VIP4}/32 dev lo; echo '{ALLOW_TO}' >>$CONF\n" + nft("add table ip nat",
        "add chain ip nat pre { type nat hook prerouting priority -100; }", f"add rule ip nat pre ip daddr {VIP4} dnat to 192.168.51.10",
        "add chain ip nat raw { type filter hook prerouting priority raw; }", "add rule ip nat raw ip daddr 10.10.10.0/24 notrack"), ()),
    "a firewall that drops others": (INPUT + "\n" + nft("add rule inet filter input iifname eth1 drop", "add rule inet filter input ip daddr 192.168.51.10 drop",
                                     "add rule inet filter input ip saddr 192.0.2.0/24 drop", "add rule inet filter input tcp dport 22 drop"), ()),
    "a firewall that jumps": (INPUT + "\n" + NO_POLICY + "\n" + nft("add chain inet filter more", "add rule inet filter input jump more"), ()),
    "tracking with exempted VIPs": (INPUT + "\n" + nft("add rule inet filter input ct state invalid drop", "add table inet raw",
                                    "add chain inet raw pre { type filter hook prerouting priority raw; }", f"add rule inet raw pre ip daddr {VIP4} notrack",
                                    f"add rule inet raw pre ip6 daddr {{ {VIP6}, fdb4::11 }} notrack"), ()),
    "iptables-nft with exempted VIPs": (f"iptables-nft -A INPUT -m conntrack --ctstate INVALID -j DROP\niptables-nft -t raw -A PREROUTING -d {VIP4} -j CT --notrack", ()),
    "forwarding": ("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1", ()),
    "a backlog of 128": (lambda proxy: proxy.listen(("0.0.0.0", 8080), 128), ()),
    "a small backlog of an address that is no VIP": (lambda proxy: proxy.listen(("127.0.0.1", 8080), 5), ()),
    "legacy iptables without rules": ("iptables-legacy -L", ()),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_is_no_fault(proxy, name):
    plant, options = HEALTHY[name]
    if callable(plant):
        plant(proxy)
    else:
        proxy.shell(plant)
    assert proxy.check(*options) == []


def mtu_findings(proxy, *options):
    return [each["text"] for each in proxy.check(*options) if each["check"] == "mtu"]


@pytest.mark.parametrize("options, hops, headers", [((), 4, 48), (("--hops", "2"), 2, 40), (("--hops", "8"), 8, 64), (("--hops", "16"), 16, 96)])
def test_the_room_for_the_outer_headers_is_that_of_the_hops(proxy, options, hops, headers):
    """Four hops, as in a table of `glb-director-cli new`, unless --hops says otherwise. Each text says for how many hops it is."""
    proxy.host.ip(f"link set eth0 mtu {1500 + headers}")
    assert mtu_findings(proxy, *options) == []
    assert f"and the outer headers of {hops} hops" in next(each["text"] for each in proxy.report["findings"] if each["check"] == "mtu")
    proxy.host.ip(f"link set eth0 mtu {1500 + headers - 1}")
    (text,) = mtu_findings(proxy, *options)
    assert f"({headers} bytes with {hops} hops;" in text and f"'advmss {1500 - 1 - 60}'" in text


def test_the_mss_of_a_page_for_two_hops_is_too_large_for_four(proxy):
    """An MTU of 1500, and advmss 1400 from an older page or for a fleet of GLB, which has two hops."""
    proxy.shell("ip link set eth0 mtu 1500; ip route change default via 192.168.51.1 advmss 1400; ip -6 route change default via fd51::1 advmss 1400")
    assert mtu_findings(proxy, "--hops", "2") == []
    (text,) = mtu_findings(proxy)
    assert "(48 bytes with 4 hops;" in text and "'advmss 1392'" in text
    proxy.shell("ip route change default via 192.168.51.1 advmss 1392; ip -6 route change default via fd51::1 advmss 1392")
    assert mtu_findings(proxy) == []
    assert "small enough for 4 hops" in next(each["text"] for each in proxy.report["findings"] if each["check"] == "mtu")


def test_a_path_to_a_next_hop_that_has_room_for_two_hops_only(proxy):
    proxy.shell("ip route add 192.168.51.77 dev eth0 mtu 1540; echo 'next_hops = [\"192.168.51.77\"];' >>$CONF")
    assert mtu_findings(proxy, "--hops", "2") == []
    (text,) = mtu_findings(proxy)
    assert "has an MTU of 1540, and packets of 1500 bytes for the next hop need 1548 with 4 hops" in text


@pytest.mark.parametrize("word", ["0", "32", "two", "-1", ""])
def test_numbers_of_hops_that_are_none(proxy, word):
    done = proxy.host.run(proxy.program, "check", "eth0", "--hops", word, check=False)
    assert done.returncode == 2 and "--hops" in done.stderr


@pytest.mark.skipif(KERNEL < (6, 3), reason="Linux tells from 6.3 on what drivers can do for XDP")
def test_a_driver_that_cannot_send_redirected_packets(proxy):
    proxy.network.offload("net0", "gro", "off")
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"]) == ("warn", "transmit", "eth0")
    proxy.attach()
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"]) == ("fail", "transmit") and "has no GRO" in finding["text"]
    proxy.host.run(proxy.program, "detach", "eth0")
    proxy.attach("--mode", "generic")
    assert proxy.check() == []


@pytest.mark.skipif(KERNEL < (6, 3), reason="Linux tells from 6.3 on what drivers can do for XDP")
def test_a_driver_without_redirected_packets(proxy):
    proxy.host.ip("link add br7 type bridge", "link set br7 up mtu 1600")
    (finding,) = [each for each in proxy.check(interface="br7") if each["check"] == "transmit"]
    assert (finding["level"], finding["object"], finding["command"]) == ("warn", "br7", "glb-redirect attach br7 --mode generic")
    assert "its driver cannot send what XDP redirects" in finding["text"]


def test_a_host_without_vips(proxy):
    proxy.host.ip("addr flush dev lo")
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"]) == ("fail", "vips", "lo") and "it has no VIP: add the VIPs" in finding["text"]


def test_packets_for_the_next_hop_that_were_lost(proxy):
    proxy.host.ip(f"addr add {PROXY}/32 dev eth0")
    proxy.network.offload("net0", "gro", "off")
    proxy.attach()
    frame = gue_frame(packet(4, f.TCP, f.tcp(UNKNOWN, HTTP, b"data", 0x10)), ("192.168.51.1",))
    with proxy.network.packet_socket("net0") as raw:
        for _ in range(7):
            raw.send(f.mac(mac(proxy.host, "eth0")) + frame[6:])
    stats = lambda: json.loads(proxy.host.run(proxy.program, "stats", "eth0", "--json").stdout)["eth0"]
    wait_until(lambda: stats()["forwarded_to_alternate"] == 7, "the program to get all packets")
    proxy.network.offload("net0", "gro", "on")
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"]) == ("warn", "transmit", "eth0")
    assert sum(map(int, re.search(r"refused (\d+), the driver (\d+)", finding["text"]).groups())) == 7


@pytest.mark.parametrize("name, level, command, text", [("rx-lro", "fail", "ethtool -K eth0 lro off", "LRO is on: it merges packets"),
                                                        ("rx-gro-hw", "warn", "ethtool -K eth0 rx-gro-hw off", "hardware GRO is on: it can merge packets")])
def test_offloads_of_a_card(proxy, name, level, command, text):
    env = {"LD_PRELOAD": str(BUILD / "tests/bpf/programs/fake-offloads.so"), "FAKE_OFFLOADS": name}
    (finding,) = proxy.check(env=env)
    assert (finding["level"], finding["check"], finding["object"], finding["command"]) == (level, "offloads", "eth0", command)
    assert text in finding["text"]


def add_vlan(proxy):
    try:
        proxy.host.ip("link add link eth0 name eth0.100 type vlan id 100")
    except LabError as error:
        if "Unknown device type" in str(error):
            pytest.skip("the kernel has no VLANs")
        raise
    proxy.host.ip("link set eth0.100 up")


@pytest.mark.parametrize("level", ["fail", "warn"])
def test_a_card_that_removes_vlan_tags(proxy, level):
    add_vlan(proxy)
    assert proxy.check() == []  # GUE cannot arrive on a VLAN without an address
    proxy.host.ip("addr add 192.168.60.10/24 dev eth0.100")
    if level == "fail":
        proxy.host.ip("addr flush dev eth0")
    (finding,) = [each for each in proxy.check() if each["check"] == "offloads"]
    assert (finding["level"], finding["object"]) == (level, "eth0")
    assert "tags of eth0.100" in finding["text"] and finding["command"] == "ethtool -K eth0 rxvlan off"
    proxy.shell(finding["command"])
    assert [each for each in proxy.check() if each["check"] == "offloads"] == []


def test_a_card_that_removes_the_tags_of_outer_ipv6_only(proxy):
    """IPv4 without tags, for instance of the management, says nothing about an IPv6 underlay in a VLAN."""
    add_vlan(proxy)
    proxy.host.ip("addr add 2001:db8:60::10/64 dev eth0.100 nodad")
    assert [each for each in proxy.check() if each["check"] == "offloads"] == []
    proxy.conf.write_text(CONF.replace("allow_from = [", 'allow_from = ["2001:db8:60::/64", '))
    (finding,) = [each for each in proxy.check() if each["check"] == "offloads"]
    assert (finding["level"], finding["object"], "tags of eth0.100" in finding["text"]) == ("warn", "eth0", True)


def test_a_service_that_is_bound_to_a_vlan(proxy):
    add_vlan(proxy)
    proxy.host.offload("eth0", "rxvlan", "off")
    listener = proxy.listen((VIP4, 8080))
    listener.setsockopt(socket.SOL_SOCKET, 25, b"eth0.100")  # SO_BINDTODEVICE
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"]) == ("fail", "bound_sockets", f"{VIP4}:8080")
    assert "bound to eth0.100" in finding["text"]
    assert proxy.check(interface="eth0.100") == []


def test_a_service_that_is_bound_to_the_bridge(proxy):
    proxy.host.ip("link add br0 type bridge", "link set br0 up mtu 1600", "link set eth0 master br0", "addr add 192.168.51.11/24 dev br0",
                  "route change default via 192.168.51.1 dev br0 mtu 1500")
    assert proxy.check("--vip", VIP4) == []
    proxy.listen((VIP4, 8080)).setsockopt(socket.SOL_SOCKET, 25, b"br0")
    (finding,) = proxy.check("--vip", VIP4)
    assert (finding["level"], finding["check"], finding["object"]) == ("fail", "bound_sockets", f"{VIP4}:8080")


def test_an_interface_in_a_vrf(proxy):
    try:
        proxy.host.ip("link add red type vrf table 10")
    except LabError:
        pytest.skip("the kernel has no VRFs")
    proxy.host.ip("link set red up", "link set eth0 master red")
    finding = next(each for each in proxy.check("--vip", VIP4) if each["check"] == "interface")
    assert (finding["level"], finding["command"]) == ("fail", "ip link set dev eth0 nomaster") and "belongs to the VRF red" in finding["text"]


def test_no_such_interface_and_no_ethernet(proxy):
    assert [(each["level"], each["check"], each["object"]) for each in proxy.check(interface="nosuch0")] == [("fail", "interface", "nosuch0")]
    proxy.host.ip("tuntap add tun7 mode tun")
    findings = proxy.check(interface="tun7")
    assert ("fail", "interface", "tun7") in [(each["level"], each["check"], each["object"]) for each in findings]


def test_a_program_of_another_version(proxy):
    proxy.attach()
    number = json.loads(proxy.host.run(proxy.program, "status", "--json").stdout)["eth0"]["program_id"]
    older_version(types.SimpleNamespace(namespace=proxy.host, folder=lambda: f"/sys/fs/bpf/glb-redirect/eth0/{number}"), 0, 1)
    (finding,) = proxy.check()
    assert (finding["level"], finding["check"], finding["object"]) == ("warn", "program", "eth0")
    assert "version unknown" in finding["text"] and finding["command"] == "systemctl reload glb-redirect@eth0"


def test_the_unit_of_an_interface_with_a_special_name(proxy):
    proxy.host.ip("link set eth1 down", "link set eth1 name lan-0", "link set lan-0 up")
    proxy.host.run(proxy.program, "attach", "lan-0")
    number = json.loads(proxy.host.run(proxy.program, "status", "--json").stdout)["lan-0"]["program_id"]
    older_version(types.SimpleNamespace(namespace=proxy.host, folder=lambda: f"/sys/fs/bpf/glb-redirect/lan-0/{number}"), 0, 1)
    commands = [each["command"] for each in proxy.check(interface="lan-0") if each["check"] == "program"]
    assert commands == ["systemctl reload \"$(systemd-escape --template=glb-redirect@.service 'lan-0')\""]


def test_a_renamed_interface(proxy):
    proxy.attach()
    proxy.host.ip("link set eth0 down", "link set eth0 name wan0", "link set wan0 up", "link set eth1 down", "link set eth1 name eth0")
    findings = proxy.check("--vip", VIP4)
    assert [each["text"] for each in findings if each["check"] == "program"] == [
        "the program is attached to the interface that had this name, and is called wan0 now"]


def test_without_privileges(proxy):
    proxy.attach()
    findings = proxy.check(prefix=("setpriv", "--reuid=65534", "--clear-groups"), conf=False)
    assert ("fail", "privileges", "") == tuple(findings[0][key] for key in ("level", "check", "object"))
    assert "CAP_BPF CAP_PERFMON CAP_NET_ADMIN" in findings[0]["text"]
    assert {each["check"] for each in findings} <= {"privileges", "firewall"}


@pytest.mark.parametrize("words, message", [
    (["check"], "check: missing operand"),
    (["check", "eth0", "--vip", "10.10.10"], "--vip: '10.10.10' is not an address or a prefix"),
    (["check", "eth0", "--vip", ""], "--vip: '' is not an address or a prefix"),
])
def test_wrong_usage(proxy, words, message):
    result = proxy.host.run(proxy.program, *words, check=False)
    assert (result.returncode, result.stdout) == (2, "") and message in result.stderr


def test_more_vips_than_anyone_reads(proxy):
    proxy.host.ip(*(f"addr add 10.20.{number // 250}.{number % 250 + 1}/32 dev lo" for number in range(1100)))
    (finding,) = proxy.check()
    assert finding["text"] == "only 1024 of 1102 VIPs are checked: name others with --vip"
    proxy.host.ip("addr flush dev lo")
    vips = ",".join(f"10.20.0.{number}" for number in range(20))
    assert len([each for each in proxy.check("--vip", vips) if each["check"] == "vips"]) == 20
    text = proxy.host.run(proxy.program, "check", "eth0", "--vip", vips, check=False).stdout
    assert text.count("fail  vips: 10.20.0.") == 8 and "\n      vips: 12 more, which --json shows\n" in text


def test_output_that_cannot_be_written_is_no_success(proxy):
    result = proxy.host.run("sh", "-c", f"{proxy.program} check eth0 --config-file {proxy.conf} >/dev/full", check=False)
    assert result.returncode == 2 and "cannot write to standard output" in result.stderr
