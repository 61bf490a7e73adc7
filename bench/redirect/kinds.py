# SPDX-License-Identifier: BSD-3-Clause
"""The packets that bench/redirect/cost.py measures: what glb-redirect does with each, and the helpers of the kernel that this needs."""

import dataclasses
import struct

from cases import frames as f
from host import CLIENT, ESTABLISHED, HTTP, UDP_CONNECTED, UNKNOWN, VIP, checksummed_tcp, outside, packet
from model.quic import QuicConfig
from packets import ACK, DIRECTOR, OTHER_HOP, SELF, SYN, gue_frame, too_big

STRANGER = "203.0.113.9"
SENDERS = 4096  # more than a CPU remembers
SMALL, LARGE = 64, 1380  # bytes of data
KEY = bytes.fromhex("8f95f09245765f80256934e50c66207f")
CID = struct.pack(">BHHBB", 4, 0, 0, 4, 4) + bytes(range(1, 17))  # its first 3 bits are the id 0
PORT = 19523

ALLOWED = f'"192.0.2.0/24", "{outside(6, "192.0.2.0/24")}", "10.1.0.0/16"'
TO = f'allow_to = ["{VIP[4]}", "{VIP[6]}", "{SELF}"];\n'
NEXT = f'next_hops = ["{OTHER_HOP}", "{outside(6, OTHER_HOP)}"];\n'
FEW = f"allow_from = [{ALLOWED}];\n{TO}{NEXT}"
MANY = f"allow_from = [{ALLOWED}, %s];\nallow_to = \"local\";\n{NEXT}" % ", ".join(f'"172.16.{n // 250}.{n % 250}"' for n in range(1000))


def quic_conf(server, nonce, key=None, own=True):
    """redirect.conf with a configuration by which CID names this host, or another one."""
    name = QuicConfig(0, server, nonce, key).decode(CID)[0]
    name = name if own else bytes([name[0] ^ 1]) + name[1:]
    key = f'key = "{key.hex()}";' if key else ""
    return FEW + f'quic = ( {{ id = 0; server_id_length = {server}; nonce_length = {nonce}; {key} server_id = "{name.hex()}"; }} );\n'


@dataclasses.dataclass(frozen=True)
class Setting:
    """How glb-redirect is attached. Settings with equal values are one program."""

    conf: str = FEW
    options: tuple = ()


@dataclasses.dataclass
class Case:
    name: str
    counter: str  # of glb-redirect; "": it counts nothing, because the packet is no GUE
    frame: bytes
    inner: bytes = b""
    setting: Setting = Setting()
    helpers: tuple = ()  # of programs.bpf.c
    senders: int = 0
    keys: tuple = ()  # what the helper `prefixes` looks up
    route: bytes = b""  # what the helper `route` looks up
    summed: int = 0  # bytes of the checksum
    quoted: bool = False  # the inner packet is an ICMP error about a packet of this host

    @property
    def outer(self):
        return len(self.frame) - 14 - len(self.inner)

    @property
    def tuple(self):
        """Addresses and ports of the socket that takes the inner packet: struct bpf_sock_tuple."""
        inner = self.inner[28:] if self.quoted else self.inner
        if not inner:
            return b""
        at, size = (12, 4) if inner[0] >> 4 == 4 else (8, 16)
        header = at + 2 * size
        ends = inner[at : at + size], inner[at + size : header], inner[header : header + 2], inner[header + 2 : header + 4]
        if self.quoted:
            ends = ends[1], ends[0], ends[3], ends[2]
        return b"".join(ends)


def tcp(family, port, flags=ACK, size=SMALL, right=True):
    segment = bytearray(f.tcp(port, HTTP, f.text(size), flags))
    if not right:
        return packet(family, f.TCP, bytes(segment))
    return packet(family, f.TCP, checksummed_tcp(family, CLIENT[family], VIP[family], bytes(segment)))


def udp(family, port, to, payload=f.text(SMALL)):
    return packet(family, f.UDP, f.udp(port, to, payload))


def prefix(list_, address, bits):
    """A key of glb-redirect's map `lists`. list_: enum redirect_list"""
    return struct.pack("=II", 32 + bits, list_) + address.ljust(16, b"\0")


MAC, LOCAL, FROM, NEXT_HOP, IPV4 = 0, 1, 2, 4, 0x100  # enum redirect_list, and REDIRECT_IPV4


def make_cases(host):
    """All cases on this host (tests/bpf/host.py)."""
    cases = []

    def add(name, counter, inner, setting=Setting(), helpers=(), **more):
        fields = {key: more.pop(key) for key in ("senders", "keys", "route", "quoted") if key in more}
        frame = host.mac + host.router_mac + gue_frame(inner, **more)[12:]
        header = 20 if inner[0] >> 4 == 4 else 40
        cases.append(Case(name, counter, frame, inner, setting, helpers, summed=(len(inner) - header + 3) // 4 * 4, **fields))

    def path(source):
        return (prefix(MAC, host.mac, 128), prefix(LOCAL | IPV4, f.ip(SELF), 128), prefix(FROM | IPV4, f.ip(source), 128))

    kept, looked_up = ("checksum", "strip"), ("tcp", "checksum", "strip")
    known = tcp(4, ESTABLISHED)
    add("TCP of a socket here", "accepted_established", known, helpers=looked_up)
    add("TCP of a socket here, 1400 bytes", "accepted_established", tcp(4, ESTABLISHED, size=LARGE), helpers=looked_up)
    add("TCP of a socket here, 8 hops", "accepted_established", known, helpers=looked_up, hops=(OTHER_HOP,) * 7 + (SELF,))
    add("TCP of a socket here, generic mode", "accepted_established", known, Setting(options=("--mode", "generic")), ("tcp", "strip", "mark"))
    add("TCP of a socket here, without redirect.conf", "accepted_established", known, Setting(conf=""), looked_up)
    add("TCP of a socket here, 1003 prefixes", "accepted_established", known, Setting(conf=MANY), looked_up)
    add("TCP of a socket here, each from another director", "accepted_established", known, helpers=(*looked_up, "prefixes"), senders=SENDERS,
        keys=path("10.1.0.1"), src="10.1.0.1")
    add("TCP of a socket here, wrong checksum", "accepted_established", tcp(4, ESTABLISHED, right=False), helpers=(*looked_up, "mark"))
    add("IPv6 TCP of a socket here", "accepted_established", tcp(6, ESTABLISHED), helpers=looked_up)
    add("IPv6 TCP of a socket here, outer IPv6", "accepted_established", tcp(6, ESTABLISHED), helpers=looked_up, outer=6)
    add("SYN", "accepted_syn", tcp(4, UNKNOWN, SYN), helpers=kept)
    add("SYN, outer IPv6", "accepted_syn", tcp(6, UNKNOWN, SYN), helpers=kept, outer=6)
    add("ICMP error about a socket here", "accepted_established", too_big(f.TCP, ESTABLISHED, HTTP)(host, 4), helpers=("tcp", "strip", "mark"), quoted=True)
    add("UDP", "accepted_other", udp(4, UNKNOWN, UDP_CONNECTED), helpers=("strip",))
    connected = Setting(options=("--udp", "connected"))
    add("UDP of a connected socket here", "accepted_established", udp(4, ESTABLISHED, UDP_CONNECTED), connected, ("udp", "strip"))
    hop, hop6 = prefix(NEXT_HOP | IPV4, f.ip(OTHER_HOP), 128), prefix(NEXT_HOP, f.ip(outside(6, OTHER_HOP)), 128)
    unknown, sent_on = tcp(4, UNKNOWN), "forwarded_to_alternate"
    add("TCP unknown here", sent_on, unknown, helpers=("tcp", "prefixes"), keys=(hop,))
    add("TCP unknown here, 8 hops", sent_on, unknown, helpers=("tcp", "prefixes"), keys=(hop,), hops=(OTHER_HOP,) * 8)
    add("TCP unknown here, outer IPv6", sent_on, tcp(6, UNKNOWN), helpers=("tcp", "prefixes"), keys=(hop6,), outer=6)
    query = struct.pack("=BB2s2sHII", 2, f.UDP, struct.pack(">H", 0x8ABC), struct.pack(">H", PORT), 0, 1, 0)
    query += f.ip(SELF).ljust(16, b"\0") + f.ip(OTHER_HOP).ljust(16, b"\0") + bytes(16)
    add("TCP unknown here, by route", "forwarded_by_route", unknown, Setting(options=("--forward", "fib")), ("tcp", "prefixes", "route"),
        keys=(hop,), route=query)
    add("UDP unknown here", sent_on, udp(4, UNKNOWN, UDP_CONNECTED), connected, ("udp", "prefixes"), keys=(hop,))
    add("refused: a stranger", "drop_source", known, helpers=("prefixes",), keys=path(STRANGER), src=STRANGER)
    add("refused: for another destination", "drop_destination", packet(4, f.UDP, f.udp(1, 2, b"data"), dst="10.10.10.99"))
    damaged = bytearray(known)
    damaged[0] ^= 0x70
    add("corrupted: the inner version", "drop_inner_malformed", bytes(damaged))
    add("corrupted: the GUE version", "drop_bad_version", known)
    at = len(cases[-1].frame) - len(known) - 12
    cases[-1].frame = cases[-1].frame[:at] + bytes([cases[-1].frame[at] | 0x40]) + cases[-1].frame[at + 1 :]
    _add_quic(add)
    plain = tcp(4, ESTABLISHED)
    cases.append(Case("no GUE: TCP", "", host.mac + host.router_mac + f.ethernet(plain)[12:], plain))
    return cases


def _add_quic(add):
    inner = udp(4, UNKNOWN, UDP_CONNECTED, b"\x40" + CID + f.text(SMALL - 1 - len(CID)))
    for name, conf, counter in (
            ("QUIC for this host, no key", quic_conf(3, 8), "quic_kept"),
            ("QUIC for this host, one pass", quic_conf(8, 8, KEY), "quic_kept"),
            ("QUIC for this host, three passes", quic_conf(3, 8, KEY), "quic_kept"),
            ("QUIC for this host, four passes", quic_conf(10, 9, KEY), "quic_kept"),
            ("QUIC for no host, three passes", quic_conf(3, 8, KEY, own=False), "accepted_other"),
            ("QUIC of another configuration", quic_conf(3, 8, KEY).replace("id = 0", "id = 1"), "accepted_other")):
        add(name, counter, inner, Setting(conf=conf), ("strip",))
