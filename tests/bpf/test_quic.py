# SPDX-License-Identifier: BSD-3-Clause
"""Connection IDs that name a server: the program keeps the packet, passes it on or decides as for other UDP, against the model.

With GLB_QUIC_CIDS=1000000 the random test takes that many connection IDs instead of some thousands.
"""

import dataclasses
import json
import os
import random

import pytest

from cases import frames as f
from conftest import run_frames
from host import CLIENT, ESTABLISHED, PROXY, UDP_CONNECTED, UDP_UNCONNECTED, UNKNOWN, VIP, outside, packet
from model.quic import QuicConfig
from model_of_proxy import Allow, Quic, decide
from packets import HTTP, MOST_HOPS, OTHER_HOP, SELF, gue_frame, icmp, tcp
from support.cli import run as cli
from support.tree import TREE
from test_allow import LO, LOCAL, networks

CIDS = json.loads((TREE / "tests/vectors/quic.json").read_text())["cids"]
RANDOM = int(os.environ.get("GLB_QUIC_CIDS", "6000"))
KEY = bytes.fromhex("8f95f09245765f80256934e50c66207f")
# The cipher has a single pass, three passes with an odd and with an even length, four with both, and no key.
CONFIGS = [
    QuicConfig(0, 3, 4, KEY), QuicConfig(1, 8, 8, KEY), QuicConfig(2, 5, 5, KEY), QuicConfig(3, 10, 9, KEY), QuicConfig(4, 9, 5, KEY),
    QuicConfig(5, 4, 4), QuicConfig(6, 15, 4),
]
MINE, NEXT, LAST, NOBODY, UNKNOWN_ID = range(1, 6)  # the first byte of server IDs
THIRD_HOP = "192.168.51.2"
ADDRESS = {MINE: SELF, NEXT: OTHER_HOP, LAST: THIRD_HOP, NOBODY: "192.168.51.77"}


def server_id(config, server):
    return bytes([server]).rjust(config.server_id_length, b"\x5a")


def cid(config, server, nonce=None):
    return config.encode(server_id(config, server), nonce or bytes(range(config.nonce_length)), 0x15)


def short(cid_, rest=b"\xd2" * 30):
    return b"\x40" + cid_ + rest


def long(dcid, scid=b"", version=1):
    return b"\xc3" + version.to_bytes(4, "big") + bytes([len(dcid)]) + dcid + bytes([len(scid)]) + scid + b"\xd2" * 30


def datagram(family, payload, port=UNKNOWN, to=UDP_UNCONNECTED, **fields):
    return packet(family, f.UDP, f.udp(port, to, payload), **fields)


def own_list(configs):
    """The key quic with these configurations, whose CIDs name this host by MINE."""
    return entries((config, server_id(config, MINE)) for config in configs)


def entries(configs):
    texts = [
        f'{{ id = {config.id}; server_id_length = {config.server_id_length}; nonce_length = {config.nonce_length};'
        + (f' key = "{config.key.hex()}";' if config.key else "") + f' server_id = "{own.hex()}"; }}' for config, own in configs]
    return "quic = ( " + ",\n".join(texts) + " );\n"


def known(configs):
    return Quic({config.id: config for config in configs}, {(config.id, server_id(config, MINE)): None for config in configs})


def allow(outer):
    local = networks(*LOCAL)
    return Allow(macs=(bytes(6),), local=local, destinations=local, max_hops=8)


def to_lo(inner, outer=4, **fields):
    return gue_frame(inner, mac=LO, outer=outer, **fields)


@pytest.fixture
def run(host, tmp_path):
    """Runs frames with a redirect.conf, and checks them against the model. Returns the counters."""

    def run_(conf, quic, frames, outer=4, udp="connected", **options):
        path = tmp_path / "redirect.conf"
        path.write_text(conf)
        outcomes = run_frames(host, frames, interface="lo", conf=path, udp=udp, **options)
        for frame, outcome in zip(frames, outcomes):
            assert outcome == decide(frame, host.sockets, udp=udp, allow=allow(outer), quic=quic), frame.hex()
        return [outcome.counter for outcome in outcomes]

    return run_


def test_all_vectors(run):
    """Those of the draft, and each pair of lengths. The last frame of each has another server ID or nonce."""
    for start in range(0, len(CIDS), 7):
        configs, frames = [], []
        for id_, vector in enumerate(CIDS[start : start + 7]):  # no cipher depends on the ID of the configuration
            own, name = bytes.fromhex(vector["server_id"]), bytes.fromhex(vector["cid"])
            configs.append((dataclasses.replace(QuicConfig.of(vector), id=id_), own))
            name = bytes([id_ << 5 | name[0] & 31]) + name[1:]
            other = bytes([name[0], name[1] ^ 1]) + name[2:]
            frames += [to_lo(datagram(4, payload)) for payload in (short(name), short(name, b""), long(name), short(other))]
        quic = Quic({config.id: config for config, _ in configs}, {(config.id, own): None for config, own in configs})
        counters = run(entries(configs), quic, frames)
        assert counters == ["quic_kept", "quic_kept", "quic_kept", "forwarded_to_alternate"] * len(configs)


@pytest.mark.parametrize("outer", [4, 6])
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("udp", ["first-hop", "connected"])
def test_own_server_id(run, family, outer, udp):
    frames = [to_lo(datagram(family, header(cid(config, MINE))), outer) for config in CONFIGS for header in (short, long)]
    assert set(run(own_list(CONFIGS), known(CONFIGS), frames, outer, udp)) == {"quic_kept"}


def malformed():
    """Payloads whose connection ID decides nothing, though some begin like one of this host."""
    for config in CONFIGS:
        name = cid(config, MINE)
        yield from (short(name[:size], b"") for size in range(len(name)))
        yield from (long(name[:size]) for size in range(len(name)))
        yield long(name)[: 6 + len(name) - 1]  # the datagram ends in the CID
        yield b"\xc0\0\0\0\1\xff" + name  # a CID beyond the datagram
        yield short(bytes([0xE0 | name[0]]) + name[1:])  # configuration 7
        yield short(cid(config, UNKNOWN_ID))
    yield from (b"", b"\x40", b"\xc0", b"\xc0\0\0\0", b"\xc0\0\0\0\1", b"\xff" * 1200, b"\x16\xfe\xfd" + bytes(60), b"\0\1\0\x08\x21\x12\xa4\x42")


@pytest.mark.parametrize("udp", ["first-hop", "connected"])
def test_what_names_no_server_is_decided_as_other_udp(run, udp):
    frames = [to_lo(datagram(4, payload)) for payload in malformed()]
    assert not {"quic_kept", "quic_passed_on"} & set(run(own_list(CONFIGS), known(CONFIGS), frames, udp=udp))


def test_a_longer_connection_id(run):
    """A server may append bytes, and other versions of QUIC have up to 255 of them. Coalesced packets have more connection IDs."""
    payloads = [long(cid(config, MINE) + bytes(size), version=version) for config in CONFIGS for size in (0, 1, 200) for version in (0, 1, 0x6B3343CF)]
    payloads += [long(cid(CONFIGS[0], MINE)) + long(cid(CONFIGS[0], UNKNOWN_ID)), b"\0" + short(cid(CONFIGS[0], MINE))[1:]]
    assert set(run(own_list(CONFIGS), known(CONFIGS), [to_lo(datagram(4, payload)) for payload in payloads])) == {"quic_kept"}


def test_padding_behind_the_inner_packet_is_no_connection_id(run):
    name = cid(CONFIGS[0], MINE)
    inner = datagram(4, short(name[:-1], b"")) + name[-1:]
    assert run(own_list(CONFIGS), known(CONFIGS), [to_lo(inner)]) == ["forwarded_to_alternate"]


def fragment(family, payload):
    whole = f.udp(UNKNOWN, UDP_UNCONNECTED, payload)
    if family == 4:
        return packet(4, f.UDP, whole, fragment=f.MORE_FRAGMENTS)
    return packet(6, f.FRAGMENT, f.fragment_header(f.UDP, more=True) + whole)


@pytest.mark.parametrize("family", [4, 6])
def test_fragments_do_not_follow_the_connection_id(run, family):
    """Later fragments have none, and all must go the same way."""
    assert run(own_list(CONFIGS), known(CONFIGS), [to_lo(fragment(family, short(cid(CONFIGS[0], MINE))))]) != ["quic_kept"]


def too_big(family, payload, keep):
    """An ICMP error that quotes `keep` bytes of a datagram of this host."""

    def body(_):
        sent = packet(family, f.UDP, f.udp(UDP_UNCONNECTED, UNKNOWN, payload), src=VIP[family], dst=CLIENT[family])
        return sent[: (20 if family == 4 else 40) + 8 + keep]

    return icmp(3, 2, body)(None, family)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("outer", [4, 6])
def test_icmp_errors_quote_the_servers_own_id(run, family, outer):
    own, others = [], []
    for config in CONFIGS:
        payload, end = long(b"\x01" * 8, cid(config, MINE)), 5 + 1 + 8 + 1 + 1 + config.length
        own += [too_big(family, payload, keep) for keep in (end, 500)]
        others += [too_big(family, payload, keep) for keep in (0, 1, 5, 6, 14, end - 1)]
        others.append(too_big(family, short(cid(config, MINE)), 500))  # the client's connection ID
        others.append(too_big(family, long(cid(config, MINE), b"\x01" * 8), 500))
    counters = run(own_list(CONFIGS), known(CONFIGS), [to_lo(inner, outer) for inner in own + others], outer)
    assert set(counters[: len(own)]) == {"quic_kept"} and "quic_kept" not in counters[len(own) :]


def test_other_packets_are_decided_as_without_quic(run):
    """The bytes of TCP and of pings that stand where a connection ID would are none."""
    name = short(cid(CONFIGS[0], MINE))
    frames = [to_lo(inner) for inner in (
        packet(4, f.TCP, f.tcp(UNKNOWN, HTTP, name)), packet(4, f.ICMP, f.icmp(8, 0, 0, name)), packet(4, f.ESP, bytes(8) + name))]
    assert run(own_list(CONFIGS), known(CONFIGS), frames) == ["accepted_syn", "accepted_other", "accepted_other"]


def test_random_connection_ids(run):
    """Random bytes, and CIDs of this host of which some have a random bit changed. Server IDs of 1 byte are often right by chance."""
    rng = random.Random(os.environ.get("GLB_SEED", "quic"))
    for start in range(0, RANDOM, 50_000):
        configs = []
        for id_ in range(7):
            server = rng.choice((1, 1, 2, rng.randint(1, 15)))
            configs.append(QuicConfig(id_, server, rng.randint(4, min(18, 19 - server)), rng.randbytes(16) if rng.random() < 0.85 else None))
        frames = [to_lo(datagram(4, random_payload(rng, rng.choice(configs)))) for _ in range(min(50_000, RANDOM - start))]
        counters = run(own_list(configs), known(configs), frames)
        assert counters.count("quic_kept") > len(frames) // 3 and counters.count("forwarded_to_alternate") > len(frames) // 8


def random_payload(rng, config):
    name = bytearray(cid(config, MINE, rng.randbytes(config.nonce_length)))
    kind = rng.randrange(4)
    if kind == 0:
        name = rng.randbytes(rng.randint(0, 24))
    elif kind == 1:
        name[rng.randrange(len(name))] ^= 1 << rng.randrange(8)
    return (short if rng.random() < 0.8 else long)(bytes(name), rng.randbytes(rng.randint(0, 24)))


def table(outer, configs=CONFIGS, servers=ADDRESS, **more):
    """A JSON table. It has only configurations whose server IDs have one of two lengths."""
    lengths = {config.server_id_length for config in configs}
    assert len(lengths) <= 2
    backends = [
        {"ip": outside(outer, place), "state": "active", "healthy": True,
         "server_id": [bytes([server]).rjust(length, b"\x5a").hex() for length in sorted(lengths)]} for server, place in servers.items()]
    binds = [{"ip": f"{VIP[family]}/{32 if family == 4 else 128}", "proto": "udp", "port": 443, "quic": True} for family in (4, 6)]
    quic = [{"id": config.id, "server_id_length": config.server_id_length, "nonce_length": config.nonce_length} for config in configs]
    for entry, config in zip(quic, configs):
        if config.key:
            entry["key"] = config.key.hex()
    return {"name": "web", "hash_key": "12345678901234561234567890123456", "seed": "34567890123456783456789012345678",
            "quic": quic, "binds": binds, "backends": backends, **more}


TWO = [QuicConfig(0, 3, 4, KEY), QuicConfig(4, 9, 5, KEY)]


def of_table(outer, configs, servers=ADDRESS):
    names = {(config.id, server_id(config, server)): outside(outer, place) for config in configs for server, place in servers.items()}
    return Quic({config.id: config for config in configs}, names, (443,))


@pytest.fixture
def write(tmp_path):
    def write_(*tables, binary=False):
        path = tmp_path / "table.json"
        path.write_text(json.dumps({"tables": tables}))
        if binary:
            built = tmp_path / "table.bin"
            cli("build-config", path, built)
            path = built
        return f'quic_table = "{path}";\n'

    return write_


WAYS = [  # hops, index of the next hop, and the result for a packet that names this host, the next, the last or no hop
    ((OTHER_HOP, THIRD_HOP), 0, "kept", "passed_on", "passed_on", None),
    ((OTHER_HOP, THIRD_HOP), 1, "kept", None, "passed_on", None),
    ((OTHER_HOP, THIRD_HOP), 2, "kept", None, None, None),
    ((SELF,), 1, "kept", None, None, None),
    ((), 0, "kept", None, None, None),
    ((OTHER_HOP,) * 6 + (THIRD_HOP,), 0, "kept", "passed_on", "passed_on", None),
    ((OTHER_HOP,) * 29 + (THIRD_HOP,), 0, "kept", "passed_on", "passed_on", None),
]


@pytest.mark.parametrize("outer", [4, 6])
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("udp", ["first-hop", "connected"])
@pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])
def test_hops_of_a_table(run, write, family, outer, udp, binary):
    frames, expected = [], []
    for hops, next_hop, *results in WAYS:
        for server, result in zip((MINE, NEXT, LAST, NOBODY), results):
            for config in TWO:
                for payload in (short(cid(config, server)), long(cid(config, server))):
                    frames.append(to_lo(datagram(family, payload), outer, hops=hops, next_hop=next_hop))
                    expected.append(result and f"quic_{result}")
            frames.append(to_lo(too_big(family, long(b"", cid(TWO[0], server)), 500), outer, hops=hops, next_hop=next_hop))
            expected.append(result and f"quic_{result}")
    counters = run(write(table(outer, TWO), binary=binary), of_table(outer, TWO), frames, outer, udp)
    assert [counter if counter.startswith("quic") else None for counter in counters] == expected


@pytest.mark.parametrize("outer", [4, 6])
def test_what_is_passed_on_obeys_the_rules_of_all_packets(run, write, outer):
    """TTL, max_hops and next_hops. Tags, options and a UDP checksum of the outer header stay right."""
    inner = datagram(4, short(cid(TWO[0], LAST)))
    fields = [{"ttl": 1}, {"ttl": 2}, {"hops": (OTHER_HOP,) * 20 + (THIRD_HOP,), "next_hop": 9}, {"tags": (f.C_TAG,)}, {"checksum": "right"},
              {"hops": (SELF, THIRD_HOP)}, {"tos": 3}]
    if outer == 4:
        fields.append({"options": 10})
    frames = [to_lo(inner, outer, **{"hops": (OTHER_HOP, THIRD_HOP), **field}) for field in fields]
    counters = run(write(table(outer, TWO)), of_table(outer, TWO), frames, outer)
    assert counters[0] == "drop_ttl" and counters[1] == "quic_passed_on" and counters[5] == "forwarded_to_self"
    assert counters[2] == ("drop_hops" if outer == 4 else "quic_passed_on") and set(counters[3:5] + counters[6:]) == {"quic_passed_on"}


def test_a_kept_packet_needs_an_allowed_destination(run, write):
    inner = packet(4, f.UDP, f.udp(1, 443, short(cid(TWO[0], MINE))), dst="198.51.100.1")
    assert run(write(table(4, TWO)), of_table(4, TWO), [to_lo(inner)]) == ["drop_destination"]


def test_an_address_of_the_other_family_is_no_hop(run, write):
    """The bytes of an IPv4 address can stand in an IPv6 header where that of an IPv4 packet is."""
    frames = [to_lo(datagram(4, short(cid(TWO[0], server))), 6, hops=(OTHER_HOP, THIRD_HOP), src=src)
              for server in ADDRESS for src in ("2001:db8::1", "2001:db8::c0a8:320a:0:1")]
    assert set(run(write(table(4, TWO)), of_table(4, TWO), frames, 6)) == {"forwarded_to_alternate"}


def test_server_ids_of_previous_states(run, write):
    """The proxy that left is a later hop of rows. The present proxies come first."""
    left = {"ip": THIRD_HOP, "weight": 100, "server_id": ["5a5a%02x" % LAST, "5a" * 8 + "%02x" % LAST]}
    past = [{"time": "2026-05-01T00:00:00Z", "backends": [left]}]
    now = {server: ADDRESS[server] for server in ADDRESS if server != LAST}
    frames = [to_lo(datagram(4, short(cid(TWO[0], LAST))), hops=(OTHER_HOP, THIRD_HOP))]
    assert run(write(table(4, TWO, now, previous=past)), of_table(4, TWO), frames) == ["quic_passed_on"]


def test_two_tables_of_one_file(run, write):
    """Both have the same server IDs for other proxies, but other IDs of their configurations."""
    one, other = QuicConfig(0, 3, 4, KEY), QuicConfig(1, 3, 4, KEY)
    exchanged = {**ADDRESS, MINE: OTHER_HOP, NEXT: SELF}
    second = {**table(4, [other], exchanged), "name": "api", "binds": [{"ip": "10.10.10.11/32", "proto": "udp", "port": 443, "quic": True}]}
    quic = Quic({0: one, 1: other}, {**of_table(4, [one]).servers, **of_table(4, [other], exchanged).servers}, (443,))
    frames = [to_lo(datagram(4, short(cid(config, server)))) for config in (one, other) for server in (MINE, NEXT)]
    assert run(write(table(4, [one]), second), quic, frames) == ["quic_kept", "quic_passed_on", "quic_passed_on", "quic_kept"]


def test_only_ports_of_binds_with_quic(run, write):
    """The bytes of another service that look like a connection ID do not move its packets to another host."""
    other = {"ip": f"{VIP[4]}/32", "proto": "udp", "port_start": 50, "port_end": 60}
    conf = write({**(web := table(4, TWO)), "binds": [*web["binds"], other]})
    name, hops = cid(TWO[0], NEXT), (OTHER_HOP, THIRD_HOP)
    frames = [to_lo(datagram(4, short(name), to=port), hops=hops) for port in (443, 442, 444, 55, 0, 65535)]
    assert [counter == "quic_passed_on" for counter in run(conf, of_table(4, TWO), frames)] == [True] + [False] * 5


def test_bytes_behind_the_hops_are_no_hop(run, write):
    """The inner packet has the address of the named server, at the place of a further hop."""
    inner = datagram(4, short(cid(TWO[0], LAST)), src=THIRD_HOP)
    assert run(write(table(4, TWO)), of_table(4, TWO), [to_lo(inner)]) == ["forwarded_to_alternate"]


@pytest.mark.parametrize("present_first", [True, False])
def test_a_present_table_wins_over_a_previous_state_of_another(run, write, present_first):
    """The proxy that left one service passed its server ID on to a proxy of another service. Packets follow the present one."""
    left = [{"ip": THIRD_HOP, "weight": 100, "server_id": [server_id(config, MINE).hex() for config in TWO]}]
    past = [{"time": "2026-05-01T00:00:00Z", "backends": left}]
    before = {**table(4, TWO, {NEXT: OTHER_HOP}, previous=past), "name": "api"}
    before["binds"] = [{"ip": "10.10.10.11/32", "proto": "udp", "port": 443, "quic": True}]
    now = table(4, TWO, {MINE: SELF})
    tables = [now, before] if present_first else [before, now]
    frames = [to_lo(datagram(4, short(cid(config, MINE))), hops=(OTHER_HOP, THIRD_HOP)) for config in TWO]
    assert run(write(*tables), of_table(4, TWO, {MINE: SELF, NEXT: OTHER_HOP}), frames) == ["quic_kept"] * 2
