# SPDX-License-Identifier: BSD-3-Clause
"""GUE from a host outside, and GUE that an allowed sender should not send: proxies refuse and count it, and the service goes on."""

import ipaddress
import json
import socket
import struct

from lab.net import mac
from lab.proxy import ALLOW_FROM
from lab.tools import TIMEOUT_S, poll, program, read, wait_until, write
from lab.topology import GUE_PORT, HTTP_PORT, VIP4
from lab.wire import ACK, ICMP, TCP, checksum, ip_packet, tcp_segment

SUMMARY = "a stranger sends GUE to a proxy, and neighbours send what they should not: proxies refuse it"
PACKETS = 10  # of each kind
UDP, SYSLOG = 17, 514
MANAGEMENT, TRUSTED = "10.66.0.1", "10.66.0.9"  # an address of proxy-1, and one that its firewall lets in
ELSEWHERE = {"ipv4": "8.8.8.8", "ipv6": "2001:4860:4860::8888"}  # by underlay
STRANGER = "203.0.113.77"  # a source that no host has
MAX_HOPS, NAMED = 4, 6  # as redirect.conf says, and the hops in a packet that names two proxies again and again
FIREWALL = f"""\
table inet filter {{
	chain in {{
		type filter hook input priority filter;
		ip daddr {MANAGEMENT} ip saddr != {TRUSTED} drop
	}}
}}
"""


def gue(inner, hops=(), ipv6=False):
    packed = b"".join(ipaddress.ip_address(hop).packed for hop in hops)
    return struct.pack("!BBHHBB", 1 + len(packed) // 4, 4, 0, int(ipv6), 0, len(hops)) + packed + inner


def datagram(source, destination, ports, data):
    """A UDP packet without checksum."""
    return ip_packet(source, destination, UDP, struct.pack("!HHHH", *ports, 8 + len(data), 0) + data)


def ping(source, destination):
    body = struct.pack("!BBHHH", 8, 0, 0, 1, 1)
    return ip_packet(source, destination, ICMP, body[:2] + struct.pack("!H", checksum(body)) + body[4:])


def unknown_ack():
    return ip_packet(STRANGER, VIP4, TCP, tcp_segment(STRANGER, VIP4, (1, HTTP_PORT), 1, 1, ACK))


SYSLOG_LINE = datagram(TRUSTED, MANAGEMENT, (SYSLOG, SYSLOG), b"forged")


class Sender:
    """Sends GUE from an ordinary UDP socket of a host."""

    def __init__(self, host, ipv6):
        self.ipv6 = ipv6
        self.socket = host.socket(socket.AF_INET6 if ipv6 else socket.AF_INET, socket.SOCK_DGRAM)

    def send(self, proxy, inner, hops=(), count=PACKETS):
        for _ in range(count):
            self.socket.sendto(gue(inner, hops, self.ipv6), (proxy.address, GUE_PORT))


class Watch:
    """Compares how far counters of proxies grow with what the scenario sends."""

    def __init__(self, stage, *proxies):
        self.stage, self.proxies = stage, proxies
        self.before = [proxy.stats() for proxy in proxies]

    def growth(self, counter):
        return sum(proxy.stats()[counter] - before[counter] for proxy, before in zip(self.proxies, self.before))

    def expect(self, text, **counters):
        names = ("not_for_us", "drop_source", "drop_destination", "drop_next_hop", "drop_hops")
        wanted = {name: counters.get(name, 0) for name in names}
        poll(lambda: {name: self.growth(name) for name in names} == wanted, TIMEOUT_S)
        seen = {name: self.growth(name) for name in names}
        self.stage.expect(text, seen == wanted, seen)
        self.stage.result.details.setdefault("refused", {})[text] = {name: count for name, count in seen.items() if count}
        self.stage.say(f"{text}: " + ", ".join(f"{name} {count}" for name, count in counters.items()))


def flood_frames(router, director, proxy, others_mac, other):
    """The router's switch floods: frames for another host arrive at a proxy. Then its neighbour entry for this host is stale."""
    raw = router.packet_socket(proxy.link.device)
    ipv6 = proxy.link.only_ipv6
    packet = datagram(director.link.address, other.address, (40000, GUE_PORT), gue(unknown_ack(), [proxy.address], ipv6))
    for destination in (others_mac, mac(proxy.host, "eth0")):
        for _ in range(PACKETS):
            addresses = bytes.fromhex(destination.replace(":", "") + mac(router, proxy.link.device).replace(":", ""))
            raw.send(addresses + (b"\x86\xdd" if ipv6 else b"\x08\x00") + packet)
    raw.close()


def forwarded(host):
    """IPv4 packets that the host's kernel has routed for others."""
    return json.loads(host.run("nstat", "-asj", "IpForwDatagrams").stdout)["kernel"]["IpForwDatagrams"]


def without_vip(stage, neighbour):
    """A proxy routes, and loses its VIP. `glb-redirect follow` tells the program, which must not let the kernel route packets for it."""
    proxy = stage.fleet.start_proxy()
    proxy.wait_ready()
    write(proxy.redirect_conf, ALLOW_FROM.format(stage.fleet.shape.network))
    proxy.host.run(program("glb-redirect"), "reload", "eth0")
    proxy.host.sysctl({"net.ipv4.ip_forward": 1})
    follower = proxy.host.start(program("glb-redirect"), "follow")
    wait_until(lambda: proxy.redirect_status()["addresses_followed"], "glb-redirect follow")
    watch = Watch(stage, proxy)
    proxy.host.ip(f"addr del {VIP4}/32 dev lo")

    def refused():
        neighbour.send(proxy, ping(STRANGER, VIP4), count=1)
        return watch.growth("drop_destination")

    stage.expect("a proxy that lost its VIP refuses packets for it", poll(refused, TIMEOUT_S))
    routed = forwarded(proxy.host)
    watch = Watch(stage, proxy)
    neighbour.send(proxy, ping(STRANGER, VIP4))
    watch.expect("a proxy that lost its VIP", drop_destination=PACKETS)
    stage.expect("the kernel of this proxy routes none of them", forwarded(proxy.host) == routed, forwarded(proxy.host) - routed)
    proxy.host.ip(f"addr add {VIP4}/32 dev lo")

    def accepted():
        neighbour.send(proxy, ping(STRANGER, VIP4), count=1)
        return watch.growth("accepted_other")

    stage.expect("it accepts them again when it has the VIP again", poll(accepted, TIMEOUT_S))
    follower.terminate()
    follower.wait(TIMEOUT_S)


def run(stage):
    fleet = stage.fleet
    first, second, third = list(fleet.proxies.values())[:3]
    first.host.ip(f"addr add {MANAGEMENT}/32 dev lo")
    first.host.run("nft", "-f", "-", input=FIREWALL)
    syslog = first.host.socket(socket.AF_INET, socket.SOCK_DGRAM)
    syslog.bind((MANAGEMENT, SYSLOG))
    syslog.setblocking(False)
    # Otherwise the router would send ICMP errors about replies to this address.
    fleet.network.router.ip(f"route add blackhole {STRANGER}/32")
    stage.start_load()
    stage.start_capture()
    stage.say(f"proxy-1 has the address {MANAGEMENT} for management, and its firewall lets only {TRUSTED} in")
    everyone, bounce = (first, second, third), [each.address for each in (second, first) * (NAMED // 2)]
    elsewhere, ipv6 = ELSEWHERE[fleet.shape.underlay], fleet.shape.ipv6
    for proxy in everyone:
        write(proxy.redirect_conf, f"{read(proxy.redirect_conf)}max_hops = {MAX_HOPS};\n")
        proxy.host.run(program("glb-redirect"), "reload", "eth0")

    stranger, watch = Sender(fleet.client, ipv6), Watch(stage, *everyone)
    stranger.send(first, SYSLOG_LINE)
    stranger.send(first, unknown_ack(), [elsewhere])
    stranger.send(first, unknown_ack(), bounce)
    watch.expect("a stranger", drop_source=3 * PACKETS)

    director = fleet.directors["director-1"]
    neighbour, watch = Sender(director.host, ipv6), Watch(stage, *everyone)
    neighbour.send(first, SYSLOG_LINE)
    neighbour.send(first, unknown_ack(), [elsewhere])
    watch.expect("a director to other hosts", drop_destination=PACKETS, drop_next_hop=PACKETS)
    watch = Watch(stage, first, second)
    neighbour.send(first, unknown_ack(), bounce, count=1)
    watch.expect("a packet that names two proxies again and again", drop_hops=1)
    passed = watch.growth("forwarded_to_alternate")
    stage.expect(f"it is passed on {MAX_HOPS} times", passed == MAX_HOPS, passed)

    watch = Watch(stage, *everyone)
    flood_frames(fleet.network.router, director, first, mac(second.host, "eth0"), second)
    watch.expect("frames of proxy-2 at proxy-1", not_for_us=2 * PACKETS)
    try:
        received = syslog.recv(100)
    except BlockingIOError:
        received = None
    stage.expect("nothing reached the address for management", received is None, received)
    without_vip(stage, neighbour)
    stage.finish()
