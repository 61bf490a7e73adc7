# SPDX-License-Identifier: BSD-3-Clause
"""Checks the model with values computed by hand, and the golden vectors with the model and with scapy."""

import ipaddress
import itertools
import json

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import generate
from model import (
    Backend,
    Director,
    decode_gue,
    load_tables,
    read_v2,
    siphash24,
    siphash24_many,
    write_v2,
    write_v3,
)
from model.encap import checksum
from model.next_hops import NextHop, macs
from model.table import ROWS, State, hold_rows, order_hops
from support.facts import VERDICTS
from support.tree import TREE

VECTORS = TREE / "tests/vectors"

COUNT_UP = bytes(range(256))
CONFIG = {"outbound_gateway_mac": "02:00:00:00:00:fe", "outbound_src_ip": "192.0.2.1"}


def table_of(backends, hops=2, **members):
    return {
        "name": "web",
        "hash_key": COUNT_UP[:16].hex(),
        "seed": COUNT_UP[16:32].hex(),
        "hops": hops,
        "binds": [
            {"ip": "10.10.10.10", "proto": "tcp", "port": 80},
            {"ip": "fdb4::/64", "proto": "udp", "port_start": 1000, "port_end": 1999},
        ],
        "backends": backends,
        **members,
    }


def active(count):
    return [{"ip": f"192.168.50.{10 + n}", "state": "active"} for n in range(count)]


# The unhealthy proxy is the second hop of every row, with any seed.
FIRST_AND_SECOND = {
    "tables": [
        table_of(
            [
                {"ip": "192.168.50.11", "state": "active", "healthy": False},
                {"ip": "192.168.50.10", "state": "active", "healthy": True},
            ]
        )
    ]
}


def committed(name):
    return json.loads((VECTORS / name).read_text())


# --- hashing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "length, digest",
    [
        (0, "310e0edd47db6f72"),
        (1, "fd67dc93c539f874"),
        (4, "b7877127e09427cf"),
        (15, "e545be4961ca29a1"),
        (16, "db9bc2577fcc2a3f"),
    ],
)
def test_siphash_equals_the_vectors_of_its_paper(length, digest):
    assert siphash24(COUNT_UP[:16], COUNT_UP[:length]).hex() == digest


@pytest.mark.parametrize("length", [0, 4, 7, 8, 12, 24])
def test_siphash_of_many_equals_siphash_of_each(length):
    key = bytes.fromhex("ff" * 8 + "0123456789abcdef")
    messages = [bytes((n * 7 + at * n) & 0xFF for at in range(length)) for n in range(300)]
    assert siphash24_many(key, messages) == [siphash24(key, message) for message in messages]


def test_checksum_equals_the_example_of_rfc_1071():
    data = bytes.fromhex("0001f203f4f5f6f7")
    assert checksum(data) == 0xFFFF ^ 0xDDF2
    assert checksum(data[:7]) == checksum(data[:7] + b"\0")


# --- rows ------------------------------------------------------------------------------------


def hops_of(kinds, hops):
    """Hops as indices into the natural order. a/f/d: active, filling, draining; A: unhealthy."""
    states = {"a": "active", "f": "filling", "d": "draining"}
    natural = [
        Backend(bytes([n]), states[kind.lower()], kind.islower()) for n, kind in enumerate(kinds)
    ]
    return [backend.address[0] for backend in order_hops(natural, hops)]


@pytest.mark.parametrize(
    "kinds, hops, expected",
    [
        ("aaaa", 2, [0, 1]),
        ("aaaa", 4, [0, 1, 2, 3]),
        ("faaa", 2, [0, 1]),
        ("daaa", 2, [1, 0]),
        ("Aaaa", 2, [1, 0]),
        ("adaa", 2, [0, 1]),  # a bad second chance stays
        ("ddaa", 2, [2, 0]),
        ("DDDa", 2, [3, 0]),
        ("ddda", 3, [3, 0, 1]),
        ("dada", 3, [1, 0, 2]),
        ("dddd", 2, [0, 1]),
        ("Dddd", 2, [1, 0]),
        ("AAdA", 2, [2, 0]),  # no good one: the first healthy
        ("AFDA", 3, [0, 1, 2]),  # none healthy: the natural order
        ("A", 4, [0]),
        ("da", 4, [1, 0]),
    ],
)
def test_hops_are_ordered_by_state_and_health(kinds, hops, expected):
    assert hops_of(kinds, hops) == expected


def hops_with_holders(kinds, holders, hops):
    """As hops_of(), in a table with previous states. `holders` are indices: the present one first, "-" if a state has none."""
    natural = [Backend(bytes([n]), {"a": "active", "d": "draining"}[kind.lower()], kind.islower()) for n, kind in enumerate(kinds)]
    held = [None if each == "-" else natural[int(each)] for each in holders]
    return [backend.address[0] for backend in order_hops(natural, hops, held)]


def test_holder_that_lives_is_before_one_that_is_down():
    assert hops_with_holders("aaAaa", "023", 4) == [0, 3, 1, 2]
    assert hops_with_holders("aaAaa", "023", 3) == [0, 3, 2]  # but before 1, which holds nothing


def test_unhealthy_hop_takes_no_place_of_a_living_holder():
    assert hops_with_holders("Aaaa", "03", 2) == [1, 3]
    assert hops_with_holders("AAAaaa", "0125", 3) == [3, 5, 0]
    assert hops_with_holders("AAaaa", "0432", 4) == [2, 4, 3, 0]


def test_a_holder_that_is_down_keeps_its_place_before_those_that_hold_nothing():
    """It may only look down to this director."""
    assert hops_with_holders("Aaaa", "0", 2) == [1, 0]
    assert hops_with_holders("Aaaa", "0", 3) == [1, 2, 0]


def test_later_hops_are_the_living_holders_from_the_present_state_to_the_oldest():
    assert hops_with_holders("aaaaaa", "0543", 3) == [0, 5, 4]
    assert hops_with_holders("aaaaaa", "0-5053", 4) == [0, 5, 3, 1]
    assert hops_with_holders("daaaaa", "10", 2) == [1, 0]  # a draining one still holds


def test_the_other_hops_are_healthy_ones_first():
    assert hops_with_holders("aAaAa", "0", 5) == [0, 2, 4, 1, 3]
    assert hops_with_holders("aAaAa", "0", 2) == [0, 2]
    assert hops_of("aAaAa", 5) == [0, 1, 2, 3, 4]  # without balance and previous states, as ever


def test_if_nobody_is_healthy_holders_still_come_first():
    assert hops_with_holders("AAAA", "032", 3) == [0, 3, 2]
    assert hops_with_holders("DAAA", "13", 3) == [0, 1, 3]


def firsts(backends, **members):
    table = load_tables({"tables": [table_of(backends, **members)]})[0]
    return [row[0].address for row in table.all_rows()]


def past(ips, ill=(), **members):
    backends = [{"ip": ip, "weight": 100 + 50 * n, **({"healthy": False} if ip in ill else {})} for n, ip in enumerate(ips)]
    return {"time": "2026-01-01T00:00:00Z", **members, "backends": backends}


IPS = [backend["ip"] for backend in active(8)]


@pytest.mark.parametrize("balance", [None, "1.005"])
@pytest.mark.parametrize("ill", [(), IPS[:1], IPS[1:4], IPS[:7]])
def test_state_remembers_who_really_was_first(balance, ill):
    """The holders of a previous state are the first hops of the table that had this state."""
    state = past(IPS, ill, balance=balance)
    table = load_tables({"tables": [table_of(active(9)[8:], previous=[state])]})[0]
    then = [{"state": "active", **backend} for backend in state["backends"]]
    assert hold_rows(table.seed, table.previous[0]) == firsts(then, balance=balance)


def test_a_state_without_a_healthy_backend_has_no_holders():
    for balance in (None, "1.005"):
        table = load_tables({"tables": [table_of(active(8), previous=[past(IPS, IPS, balance=balance), past([])])]})[0]
        assert all(table.holders(row)[1:] == [None, None] for row in range(0, ROWS, 97))


def test_without_a_balance_unhealthy_backends_of_a_state_change_nothing():
    """So edit and glb-healthcheck leave them out."""
    ill = IPS[2:5]
    whole = past(IPS, ill)
    healthy = {**whole, "backends": [backend for backend in whole["backends"] if backend["ip"] not in ill]}
    held = [hold_rows(COUNT_UP[:16], State.from_json(state)) for state in (whole, healthy)]
    assert held[0] == held[1]
    held = [hold_rows(COUNT_UP[:16], State.from_json({**state, "balance": 1.005})) for state in (whole, healthy)]
    assert held[0] != held[1]


def test_by_health_changes_nothing():
    states = [{**past(IPS[:4]), **members} for members in ({}, {"by_health": True}, {"by_health": False}, {"by_health": None})]
    files = {write_v3(load_tables({"tables": [table_of(active(8), previous=[state])]})) for state in states}
    assert len(files) == 1


def test_version_3_has_the_health_of_previous_backends():
    """A file with two of them ends with 4 bytes of address, 2 of weight, 1 for the health and a zero."""
    data = write_v3(load_tables({"tables": [table_of(active(2), previous=[past(IPS[:2], IPS[1:])])]}))
    assert data[-16:].hex(" ") == "c0 a8 32 0a 64 00 00 00 c0 a8 32 0b 96 00 01 00"


def glb_hops(kinds):
    """The hops in GLB, as docs/reference/table-rows.md describes them."""
    first_is_bad = kinds[0] == "d" or kinds[0].isupper()
    return [1, 0] if first_is_bad and kinds[1].lower() == "a" else [0, 1]


def test_rows_are_those_of_glb_if_at_most_one_backend_is_not_good_and_none_is_filling():
    """For every kind of three backends in natural order, in rows of two hops."""
    differ = {kinds for kinds in itertools.product("afdAFD", repeat=3) if hops_of(kinds, 2) != glb_hops(kinds)}
    for kinds in differ:
        assert sum(kind not in "af" for kind in kinds) > 1 or "f" in kinds
    assert {("d", "f", "a"), ("A", "f", "a")} < differ  # one of three is not good, and the next one is filling
    assert {("d", "A", "a"), ("d", "d", "a"), ("D", "d", "d")} < differ  # more than one is not good
    assert not {("f", "d", "a"), ("a", "f", "d"), ("d", "a", "f")} & differ  # a filling one need not matter


def test_natural_order_is_by_digest():
    table = load_tables({"tables": [table_of(active(3))]})[0]
    row_seed = siphash24(table.seed, b"\x00\x01\x02\x03")
    digests = {
        siphash24(table.seed, row_seed + bytes([192, 168, 50, 10 + n])): n for n in range(3)
    }
    expected = [bytes([192, 168, 50, 10 + digests[digest]]) for digest in sorted(digests)]
    assert [backend.address for backend in table.natural_order(0x00010203)] == expected


def test_inactive_backends_are_in_no_row():
    backends = active(4)
    backends[2]["state"] = "inactive"
    with_inactive = load_tables({"tables": [table_of(backends)]})[0]
    without = load_tables({"tables": [table_of(backends[:2] + backends[3:])]})[0]
    assert all(with_inactive.row(row) == without.row(row) for row in range(500))


def test_removing_a_backend_changes_only_its_rows():
    before = load_tables({"tables": [table_of(active(5))]})[0].all_rows()
    fewer = load_tables({"tables": [table_of(active(4))]})[0].all_rows()
    removed = ipaddress.ip_address("192.168.50.14").packed
    had = 0
    for old, new in zip(before, fewer):
        assert len(set(old)) == len(set(new)) == 2
        if removed in [backend.address for backend in old]:
            had += 1
            assert [backend for backend in old if backend.address != removed] == [
                backend for backend in new if backend in old
            ]
        else:
            assert old == new
    assert 0.38 < had / ROWS < 0.42  # two of five


def test_first_hops_are_shared_evenly():
    rows = load_tables({"tables": [table_of(active(8))]})[0].all_rows()
    firsts = [row[0].address for row in rows]
    for address in set(firsts):
        assert abs(firsts.count(address) - ROWS / 8) < ROWS / 8 * 0.05


def test_all_rows_equal_each_row():
    document = {"tables": [table_of(active(4), hops=3)]}
    document["tables"][0]["backends"] += [{"ip": "fd50::1", "state": "draining"}]
    bulk = load_tables(document)[0].all_rows()
    single = load_tables(document)[0]
    assert all(single.row(row) == bulk[row] for row in range(0, ROWS, 211))


# --- version 2 files -------------------------------------------------------------------------


def test_version_2_file_equals_bytes_written_by_hand():
    backends = (
        "01000000 c0a8320b 000000000000000000000000 0100 0000"  # active, down
        "01000000 c0a8320a 000000000000000000000000 0100 0100"  # active, up
    )
    binds = (
        "01000000 0a0a0a0a 000000000000000000000000 2000 5000 5000 06 00"
        "02000000 fdb40000 000000000000000000000000 4000 e803 cf07 11 00"
    )
    expected = (
        bytes.fromhex("474c4244 02000000 01000000 00000100 00010000 00010000")
        + bytes.fromhex("02000000" + backends).ljust(4 + 6144, b"\0")
        + bytes.fromhex("02000000" + binds).ljust(4 + 7168, b"\0")
        + COUNT_UP[:16]
        + bytes.fromhex("01000000 00000000") * ROWS
    )
    assert len(expected) == 24 + 537624
    assert write_v2(load_tables(FIRST_AND_SECOND)) == expected


def test_version_2_table_of_one_backend_repeats_its_hop():
    document = {"tables": [table_of(active(1))]}
    data = write_v2(load_tables(document))
    assert data[-8 * ROWS :] == bytes(8 * ROWS)
    assert [len(row) for row in read_v2(data)[0].all_rows()] == [1] * ROWS


def test_version_2_file_reads_back():
    states = ("active", "filling", "draining", "inactive")
    backends = [
        {"ip": f"192.168.50.{n}", "state": state, "healthy": healthy}
        for n, (state, healthy) in enumerate(itertools.product(states, (True, False)))
    ]
    tables = load_tables({"tables": [table_of(backends), table_of(active(3))]})
    data = write_v2(tables)
    again = read_v2(data)
    for table, copy in zip(tables, again):
        assert copy.binds == table.binds and copy.hash_key == table.hash_key
        for row, same in zip(table.all_rows(), copy.all_rows()):
            assert [b.address for b in row] == [b.address for b in same]
    assert again[0].backends[7] == Backend(bytes([192, 168, 50, 7]), "draining", False)
    assert write_v2(again) == data


def test_version_2_refuses_longer_rows():
    with pytest.raises(ValueError, match="3 hops"):
        write_v2(load_tables({"tables": [table_of(active(3), hops=3)]}))


def test_version_2_file_of_wrong_length_is_refused():
    data = write_v2(load_tables({"tables": [table_of(active(1))]}))
    with pytest.raises(ValueError, match="ends at byte"):
        read_v2(data[:-1])
    with pytest.raises(ValueError, match="1 bytes follow"):
        read_v2(data + b"\0")


# --- whole frames, written out by hand -------------------------------------------------------

# Client 0.1.2.3 and key 00..0f: H is the paper's vector of 4 bytes, b7 87 71 27 e0 94 27 cf, so
# row 0x87b7, and the outer source port is 0x8000 | ((0x87b7 ^ 0x9c40) & 0x7fff) = 0x9bf7.
INNER_IPV4 = (
    "4500 0028 1234 4000 3f06 0000 00010203 0a0a0a0a"  # to 10.10.10.10, TCP
    "9c40 0050 01020304 00000000 5002 ffff 0000 0000"  # 40000 to 80, SYN
)
OUTER_OF_IPV4 = (
    "0200000000fe 020000000001 0800"
    "4500 0050 0000 4000 4011 85e9 c0000201 c0a8320a"
    "9bf7 4c43 003c 0000"
    "02 04 0000"  # hlen 2, IPv4 inside
    "0000 00 01 c0a8320b"  # type 0, next hop 0 of 1
)

# The same for 16 bytes: db 9b ..., row 0x9bdb, 0x8000 | ((0x9bdb ^ 0x1234) & 0x7fff) = 0x89ef.
INNER_IPV6 = (
    "60000000 0008 11 40 000102030405060708090a0b0c0d0e0f fdb40000000000000000000000000077"
    "1234 03e8 0008 0000"  # 4660 to 1000
)
OUTER_OF_IPV6 = (
    "0200000000fe 020000000001 0800"
    "4500 0058 0000 4000 4011 85e1 c0000201 c0a8320a"
    "89ef 4c43 0044 0000"
    "02 29 0000"  # hlen 2, IPv6 inside
    "0000 00 01 c0a8320b"
)


@pytest.mark.parametrize(
    "ethertype, inner, outer, hash_, row, hint",
    [
        ("0800", INNER_IPV4, OUTER_OF_IPV4, "cf2794e0277187b7", 0x87B7, 40000),
        ("86dd", INNER_IPV6, OUTER_OF_IPV6, "3f2acc7f57c29bdb", 0x9BDB, 0x1234),
    ],
)
@pytest.mark.parametrize("padding", [0, 6])
def test_forwarded_frame_equals_bytes_written_by_hand(ethertype, inner, outer, hash_, row, hint, padding):
    director = Director(CONFIG, FIRST_AND_SECOND, "02:00:00:00:00:01")
    received = bytes.fromhex("020000000001 020000000002" + ethertype + inner) + bytes(padding)
    verdict, out, explain = director.process(received)
    assert verdict == "forwarded"
    assert out.hex(" ") == bytes.fromhex(outer + inner).hex(" ")
    assert explain == {
        "table_index": 0,
        "row": row,
        "alt_row": None,
        "hash": hash_,
        "hint": hint,
        "hops": ["192.168.50.10", "192.168.50.11"],
        "quic": None,
    }


def test_icmp_error_is_steered_like_its_flow():
    """A router's "fragmentation needed" about a packet from 10.10.10.10:80 to 0.1.2.3:40000."""
    director = Director(CONFIG, FIRST_AND_SECOND, "02:00:00:00:00:01")
    quote = "4500 05dc 0000 4000 3f06 0000 0a0a0a0a 00010203 0050 9c40 00000000"
    packet = "4500 0038 0000 0000 3f01 0000 cb007101 0a0a0a0a 0304 0000 0000 0578" + quote
    received = bytes.fromhex("020000000001 020000000002 0800" + packet)
    verdict, out, explain = director.process(received)
    assert verdict == "forwarded"
    assert (explain["row"], explain["hint"]) == (0x87B7, 40000)
    assert out[34:36].hex() == "9bf7"  # the outer source port of the flow's packets
    assert out[-56:] == bytes.fromhex(packet)


def test_next_hop_follows_from_first_hop_and_outer_source_port():
    document = committed("packets.json")
    case = next(case for case in document["packets"] if case["verdict"] == "forwarded")
    config = {**document["configs"][case["config"]], "outbound_gateway_mac": "auto"}
    table, frame, out = document["tables"][case["table"]], bytes.fromhex(case["frame"]), bytes.fromhex(case["out"])
    two = [NextHop(number, bytes([2, 0, 0, 0, 0, number])) for number in (1, 2)]
    slots = macs(two)
    found = Director(config, table, next_hops={case["hops"][0]: two}).process(frame)
    assert found.out == slots[out[35]] + bytes.fromhex("020000000001") + out[12:]
    assert Director(config, table, next_hops={"192.0.2.99": two}).process(frame)[:2] == ("drop_no_next_hop", None)


def test_auto_gateway_is_refused():
    with pytest.raises(ValueError, match="gateway_mac"):
        Director({**CONFIG, "outbound_gateway_mac": "auto"}, FIRST_AND_SECOND)


# --- golden vectors --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def generated():
    return generate.vectors()


@pytest.mark.parametrize("name", ["siphash.json", "rows.json", "packets.json", "gue.json", "next_hops.json"])
def test_committed_vectors_equal_the_generator(generated, name):
    # An assert on the texts would print megabytes.
    if (VECTORS / name).read_text() != generated[name]:
        pytest.fail(f"{name} is stale: run tests/vectors/generate.py")


def test_vectors_cover_every_verdict_and_status():
    verdicts = {case["verdict"] for case in committed("packets.json")["packets"]}
    elsewhere = {  # decided before or after the packet itself; other tests have them
        "underlay_too_big", "drop_not_for_us", "drop_vlan", "drop_martian", "drop_no_next_hop", "drop_no_buffer", "drop_tx_full",
        "drop_exception_limited", "drop_exception_full",
    }
    assert verdicts == set(VERDICTS) - elsewhere
    statuses = {case["status"] for case in committed("gue.json")}
    assert statuses == {
        "ok",
        "not_gue",
        "truncated",
        "bad_version",
        "control",
        "bad_flags",
        "bad_protocol",
        "bad_length",
        "bad_type",
        "bad_index",
    }
    hops = {len(case["hops"]) for case in committed("packets.json")["packets"]}
    assert hops == set(range(15))  # two rows of 8 hops overlap


@pytest.mark.parametrize("name", ["rows.json", "gue.json", "next_hops.json"])
def test_vector_names_are_unique(name):
    names = [case["name"] for case in committed(name)]
    assert len(names) == len(set(names))


def without_checksums(packet, *layers):
    """The packet with lengths and checksums that scapy computes."""
    for layer, fields in layers:
        for name in fields:
            delattr(packet[layer], name)
    return bytes(packet)


def test_forwarded_vectors_have_the_lengths_and_checksums_of_scapy():
    """The model's decoder checks the other fields."""
    for case in committed("packets.json")["packets"]:
        if case["verdict"] != "forwarded":
            assert case["verdict"] == "answered_too_big" or case["out"] is None
            continue
        out, frame = bytes.fromhex(case["out"]), bytes.fromhex(case["frame"])
        size = 42 if out[12:14] == b"\x08\x00" else 62
        header = Ether(out[:size])
        if size == 42:
            del header[IP].chksum
            assert header[IP].len == len(out) - 14
        else:
            assert (header[IPv6].plen, header[IPv6].fl) == (len(out) - 54, header[UDP].sport)
        assert bytes(header) == out[:size], case["name"]
        assert header[UDP].len == len(out) - size + 8
        assert header[Ether].payload.dst == case["hops"][0]
        assert (header[UDP].chksum != 0) == case["config"].startswith("udp checksum")  # tests/cli/replay/test_replay_checksum.py has its value
        assert header[UDP].sport == 0x8000 | (int(case["hash"], 16) ^ case["hint"]) & 0x7FFF
        assert int(case["hash"], 16) & 0xFFFF == case["row"]
        status, fields = decode_gue(out)
        assert (status, fields["hops"]) == ("ok", case["hops"][1:]), case["name"]
        inner = bytes.fromhex(fields["inner"])
        assert frame[14:].startswith(inner) or frame[18:].startswith(inner) or (
            frame[22:].startswith(inner)
        )


def test_too_big_replies_have_the_lengths_and_checksums_of_scapy():
    answers = 0
    for case in committed("packets.json")["packets"]:
        if case["verdict"] != "answered_too_big":
            continue
        answers += 1
        out, frame = bytes.fromhex(case["out"]), bytes.fromhex(case["frame"])
        # Header by header, so that scapy neither repairs the quoted packet nor reads it as ICMP extensions (RFC 4884).
        network, below = (IP, 34) if out[12:14] == b"\x08\x00" else (IPv6, 54)
        layer, quote = ICMP if network is IP else ICMPv6PacketTooBig, out[below + 8 :]
        answer = Ether(out[:14]) / network(out[14:below]) / layer(out[below : below + 8]) / Raw(quote)
        assert (answer.dst, answer.src) == ("02:00:00:00:00:fe", "02:00:00:00:00:01")
        received = Ether(frame)
        if IP in answer:
            assert (answer[IP].src, answer[IP].dst) == (received[IP].dst, received[IP].src)
            assert (answer[ICMP].type, answer[ICMP].code) == (3, 4)
            assert len(quote) == min(548, received[IP].len)
            summed = (IP, ("chksum", "len")), (ICMP, ("chksum",))
        else:
            assert (answer[IPv6].src, answer[IPv6].dst) == (received[IPv6].dst, received[IPv6].src)
            assert answer[ICMPv6PacketTooBig].code == 0
            assert len(quote) == min(1232, 40 + received[IPv6].plen)
            summed = (IPv6, ("plen",)), (ICMPv6PacketTooBig, ("cksum",))
        assert quote in frame
        assert without_checksums(answer, *summed) == out, case["name"]
    assert answers > 30


