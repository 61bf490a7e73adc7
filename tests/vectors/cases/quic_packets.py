# SPDX-License-Identifier: BSD-3-Clause
"""Packets to binds with `quic`: the server that the connection ID names is among the hops, or the packet goes by its row."""

import ipaddress

from model.quic import QuicConfig

from . import frames as f
from .collect import ICMP_OF_FAMILY, ROUTER, VIP, ip_frame
from .icmp_packets import error, quote
from .settings import CONFIGS, TABLES, backends, bind, secret, table

LENGTHS = {"four passes": (3, 4), "one pass": (3, 13), "plain": (5, 7), "longest": (3, 16), "even": (3, 7)}
NONCE = bytes(range(0xA0, 0xB2))
PORT = 4433


def server_ids(number):
    return [f"{0x112200 + number:06x}", f"{0x9900000000 + number:010x}"]


def _quic_table(name, members, hops):
    document = table(name, [{**bind(ip, "udp", 443), "quic": True} for ip in ("10.10.10.10", "fdb4::10")], members, hops)
    document["binds"] += [bind("10.10.10.10", "tcp", 443), bind("10.10.10.10", "udp", 53), bind("fdb4::10", "udp", 1, 442),
                          {**bind("10.10.10.10", "udp", 1000, 2000), "quic": True}, bind("10.10.10.0/24", "udp", 1500, 2500)]
    document["quic"] = [
        {"id": (0, 2, 4, 1, 3)[at], "server_id_length": lengths[0], "nonce_length": lengths[1],
         **({} if kind == "plain" else {"key": secret("quic " + kind)})}
        for at, (kind, lengths) in enumerate(LENGTHS.items())
    ]
    return {"tables": [document]}


def _members(count):
    return [{**backend, "server_id": server_ids(n)} for n, backend in enumerate(backends(count))]


def _changed(members, **changes):
    """`changes`: by `bN`, members of backend N. None: the backend does not have the member."""
    changed = [{**member, **changes.get(f"b{n}", {})} for n, member in enumerate(members)]
    return [{name: value for name, value in member.items() if value is not None} for member in changed]


STATES = {"b1": {"state": "draining"}, "b2": {"healthy": False}, "b3": {"state": "inactive"}, "b4": {"state": "filling"},
          "b5": {"state": "draining", "healthy": False}, "b6": {"server_id": server_ids(6)[1]}, "b7": {"server_id": None}}

TABLES.update({
    "quic": _quic_table("quic", _changed(_members(12), **STATES), 2),
    "quic4": _quic_table("quic4", _changed(_members(12), **STATES), 4),
    "quic8": _quic_table("quic8", _members(16), 8),
    "quic one": _quic_table("quic one", _members(1), 2),
    "quic two": _quic_table("quic two", _changed(_members(2), b1={"healthy": False}), 2),
    "quic down": _quic_table("quic down", [{**member, "healthy": False} for member in _members(5)], 3),
})
for _name in [name for name in TABLES if name.startswith("quic")]:
    TABLES[_name + " ipv6"] = {"tables": [{**one, "backends": [
        {**backend, "ip": "fd00:{}:{}:{}::{}".format(*backend["ip"].split("."))} for backend in one["backends"]]}
        for one in TABLES[_name]["tables"]]}


def cid(kind, server, table_name="quic", **changes):
    configs = {k: QuicConfig.of(entry) for k, entry in zip(LENGTHS, TABLES[table_name]["tables"][0]["quic"])}
    config = configs[kind]
    server_id = bytes.fromhex(server_ids(server)[config.server_id_length == 5])
    return config.encode(server_id, NONCE[: config.nonce_length], changes.get("low_bits", 9))


def short(dcid, rest=bytes(24), first=0x41):
    return bytes([first]) + dcid + rest


def long(dcid, scid=b"\x05" * 8, version=1, rest=bytes(40), first=0xC3):
    return bytes([first]) + version.to_bytes(4, "big") + bytes([len(dcid)]) + dcid + bytes([len(scid)]) + scid + rest


def _fate(quic):
    """config, short and server stand for unroutable_config and so on."""
    return f"unroutable_{quic}" if quic in ("config", "short", "server") else quic


def _add(packets, name, data, quic, family=4, port=443, client=PORT, table_name="quic", config="default", expect="forwarded", **facts):
    fields = {"src": f"198.51.100.{client % 256}"} if family == 4 else {"src": f"2001:db8::{client:x}"}
    packets.add(f"quic/{name}", ip_frame(family, f.UDP, f.udp(client, port, data), **fields), expect, config, table_name,
                quic=_fate(quic), **facts)


def _servers(packets):
    """Every state of the server, in rows whose first hop is up or down."""
    fates = {2: "down", 3: "server", 5: "down"}
    for table_name in ("quic", "quic4"):
        for server in range(12):
            for number in range(3):
                kind = tuple(LENGTHS)[(server + number) % len(LENGTHS)]
                fate = fates.get(server, "routed")
                if server == 7 or (server == 6 and kind != "plain"):
                    fate = "server"
                _add(packets, f"{table_name}, server {server}, {kind}, client {number}", short(cid(kind, server)), fate,
                     (4, 6)[number % 2], client=3000 + number, table_name=table_name)
    for server in range(16):
        _add(packets, f"eight hops, server {server}", short(cid("longest", server)), "routed", client=41, table_name="quic8", hops=8)
    for server in range(5):
        _add(packets, f"all down, server {server}", short(cid("plain", server)), "down", table_name="quic down", hops=3)
    for server in range(2):
        for client in range(4):
            _add(packets, f"two backends, server {server}, client {client}", long(cid("one pass", server)), ("routed", "down")[server],
                 client=client, table_name="quic two", hops=2)
    _add(packets, "one backend", short(cid("even", 0)), "routed", table_name="quic one", hops=1)


def _unroutable(packets):
    whole = cid("four passes", 0)
    for family in (4, 6):
        for config_id in (5, 6, 7):
            for form in (short, long):
                _add(packets, f"ipv{family} configuration {config_id}, {form.__name__}", form(bytes([config_id << 5 | 3]) + NONCE), "config", family)
        for name, data, fate in (
            ("empty datagram", b"", "short"),
            ("one byte", b"\x41", "short"),
            ("one byte, long", b"\xc1", "short"),
            ("short header, one byte missing", short(whole, b"")[:-1], "short"),
            ("short header, just enough", short(whole, b""), "routed"),
            ("long header, CID too short", long(whole[:-1]), "short"),
            ("long header, CID too short, no configuration", long(b"\xe0"), "config"),
            ("long header, CID beyond the datagram", long(whole)[: 5 + len(whole)], "short"),
            ("long header, empty CID", long(b""), "short"),
            ("long header, nothing behind the CID", long(whole)[: 6 + len(whole)], "routed"),
            ("long header, CID of another version", long(whole + bytes(240), version=0x1A2A3A4A), "routed"),
            ("version negotiation", long(whole, version=0), "routed"),
            ("fixed bit cleared", short(whole, first=0x01), "routed"),
            ("fixed bit cleared, long", long(whole, first=0x80), "routed"),
            ("client's own CID", long(NONCE[:8]), "config"),
            ("client's own CID, of a configuration", long(b"\x01" + NONCE[:17]), "server"),
            ("CID of a longer configuration", short(cid("longest", 1)), "routed"),
            ("bytes of the server behind the CID", long(whole + b"12345678"), "routed"),
            ("coalesced packets", long(whole) + short(cid("plain", 4)), "routed"),
            ("STUN", bytes.fromhex("000100002112a442") + NONCE[:12], "server"),
            ("DTLS 1.2", bytes.fromhex("16fefd0000000000000000003a") + bytes(58), "config"),
            ("DTLS 1.3", bytes.fromhex("2f1234567890") + bytes(40), "server"),
            ("low bits", short(cid("four passes", 0, low_bits=31)), "routed"),
        ):
            _add(packets, f"ipv{family} {name}", data, fate, family)


def _binds(packets):
    data = short(cid("plain", 4))
    _add(packets, "bind without quic", data, None, port=53)
    _add(packets, "bind without quic, IPv6", data, None, 6, port=442)
    _add(packets, "several binds, one with quic", data, "routed", port=1700)
    _add(packets, "several binds, only one matches", data, "routed", port=1200)
    _add(packets, "several binds, quic ended", data, None, port=2200)
    packets.add("quic/TCP", ip_frame(4, f.TCP, f.tcp(PORT, 443, data)), table="quic", quic=None)


def _other_packets(packets):
    data, scid = short(cid("plain", 4)), cid("one pass", 1)
    for name, fragment, expect in (("first", f.MORE_FRAGMENTS, "forwarded"), ("later", 5, "forwarded")):
        packets.add(f"quic/{name} fragment", ip_frame(4, f.UDP, f.udp(PORT, 443, data), fragment=fragment), expect, table="quic", quic=None)
    payload = f.fragment_header(f.UDP) + f.udp(PORT, 443, data)
    packets.add("quic/atomic fragment", ip_frame(6, f.FRAGMENT, payload), table="quic", quic=None)
    packets.add("quic/ping", ip_frame(4, f.ICMP, f.echo(4)), table="quic", quic=None)
    packets.add("quic/options", ip_frame(4, f.UDP, f.udp(PORT, 443, data), options=f.nops(3)), table="quic", quic="routed")
    packets.add("quic/tags", f.ethernet(f.ipv4("198.51.100.7", VIP[4], f.UDP, f.udp(PORT, 443, data)), tags=(f.S_TAG, f.C_TAG)),
                table="quic", quic="routed")
    for family in (4, 6):
        for name, quoted, quic in (
            ("long header", long(b"\x07" * 8, scid), "routed"),
            ("long header, no DCID", long(b"", scid, rest=b""), "routed"),
            ("server is down", long(b"\x07" * 8, cid("longest", 2)), "down"),
            ("unknown server", long(b"\x07" * 8, cid("four passes", 9)[:-1] + b"\x00"), "server"),
            ("SCID cut", long(b"\x07" * 8, scid)[: 15 + len(scid) - 1], None),
            ("SCID too short", long(b"\x07" * 8, scid[:8]), "short"),
            ("no configuration", long(b"\x07" * 8, b"\xff" + scid), "config"),
            ("empty SCID", long(b"\x07" * 8, b""), None),
            ("short header", short(b"\x07" * 8), None),
            ("no data", b"", None),
        ):
            quoted_packet = quote(family, f.UDP, f.udp(443, PORT, quoted))
            packets.add(f"quic/ipv{family} error, {name}", error(family, quoted_packet), table="quic", quic=_fate(quic))
    fragment = quote(4, f.UDP, f.udp(443, PORT, long(b"\x07" * 8, scid)), fragment=f.MORE_FRAGMENTS)
    packets.add("quic/error about a fragment", error(4, fragment), table="quic", quic=None)


def _settings(packets):
    for config in ("alt ports", "alt from ports"):
        for table_name in ("quic", "quic4", "quic two", "quic one"):
            for server in (0, 1)[: len(TABLES[table_name]["tables"][0]["backends"])]:
                for client in range(3):
                    _add(packets, f"{config}, {table_name}, server {server}, client {client}", short(cid("four passes", server)),
                         "down" if server and table_name == "quic two" else "routed", client=client, table_name=table_name, config=config)
    _add(packets, "too big", short(cid("plain", 4), bytes(540)), "routed", config="mtu 576", expect="drop_too_big")


def collect(packets):
    _servers(packets)
    _unroutable(packets)
    _binds(packets)
    _other_packets(packets)
    _settings(packets)
