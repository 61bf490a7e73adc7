# SPDX-License-Identifier: BSD-3-Clause
"""Compares the numbers in docs/reference/steering.md and table-rows.md with the model."""

import ipaddress
import json
import re

from model.config import FIELDS
from model.encap import overhead, too_big_reply
from model.flow import EXTENSION_HEADERS, ICMP_ECHO_REQUEST, ICMP_ERRORS, MAX_EXTENSION_HEADERS
from model.siphash import siphash24
from model.table import KNOTS, load_tables, weighted_key
from support.tree import TREE

STEERING = (TREE / "docs/reference/steering.md").read_text()
ROWS = (TREE / "docs/reference/table-rows.md").read_text()
EXAMPLE = load_tables(json.loads((TREE / "config/forwarding_table.json").read_text()))[0]


def section(page, heading):
    return re.split(rf"^#+ {heading}\n", page, flags=re.MULTILINE)[1].split("\n#")[0]


def table(text):
    """Cells of the table rows, without the head; backticks removed."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows[2:]]


def numbers(text):
    return tuple(int(number) for number in re.findall(r"\d+", text))


def test_the_hash_of_the_example_of_siphash():
    key, message, digest = table(section(ROWS, "SipHash"))[0]
    assert (key[:8], message[:8]) == ("00 01 02", "00 01 02")
    assert siphash24(bytes(range(16)), bytes(range(15))) == bytes.fromhex(digest)


def test_the_example_row_is_that_of_the_model():
    text = section(ROWS, "Example")
    row = int(re.search(r"Row (\d+) has", text)[1])
    row_seed = bytes.fromhex(re.search(r"row seed `(\w+)`", text)[1])
    assert EXAMPLE.seed.hex() in text and f"`hops` {EXAMPLE.hops}." in text.replace("\n", " ")
    assert row_seed == siphash24(EXAMPLE.seed, row.to_bytes(4, "big"))
    places = {str(ipaddress.ip_address(b.address)): str(i) for i, b in enumerate(EXAMPLE.natural_order(row), 1)}
    hops = {str(ipaddress.ip_address(b.address)): str(i) for i, b in enumerate(EXAMPLE.row(row), 1)}
    shown = {cells[0]: cells[1:] for cells in table(text)}
    assert list(shown) == [str(ipaddress.ip_address(backend.address)) for backend in EXAMPLE.backends]
    for backend in EXAMPLE.backends:
        address = str(ipaddress.ip_address(backend.address))
        score = siphash24(EXAMPLE.seed, row_seed + backend.address).hex() if backend.state != "inactive" else ""
        assert shown[address] == [backend.state, score, places.get(address, ""), hops.get(address, "")]


def test_the_example_keys_are_those_of_the_model():
    for score, *keys in table(section(ROWS, "Keys")):
        assert keys == [str(weighted_key(bytes.fromhex(score), weight)) for weight in (1, 100, 1000)]
    assert f"L(1) = {KNOTS[1]} and L(256) = 2^40." in ROWS and KNOTS[256] == 2**40


def test_the_example_packet_is_steered_as_by_the_model():
    text = section(STEERING, "Example")
    shown = dict(table(text))
    client = ipaddress.ip_address(re.search(r"client (\S+) sends", text)[1]).packed
    digest = siphash24(EXAMPLE.hash_key, client)
    value = int.from_bytes(digest, "little")
    port = int(re.search(r"from port (\d+)", text.replace("\n", " "))[1])
    source_port = 0x8000 | ((value ^ port) & 0x7FFF)
    assert shown == {
        "table": EXAMPLE.name,
        "hash_key": EXAMPLE.hash_key.hex(),
        "hash input": client.hex(" "),
        "digest": digest.hex(" "),
        "H": f"0x{value:016x}",
        "row": f"0x{value & 0xFFFF:04x} = {value & 0xFFFF}",
        "hops": ", ".join(str(ipaddress.ip_address(b.address)) for b in EXAMPLE.row(value & 0xFFFF)),
        "hint": f"{port} = 0x{port:04x}",
        "outer UDP source port": f"0x8000 \\| ((0x{value & 0xFFFF:04x} ^ 0x{port:04x}) & 0x7fff) = {source_port}",
    }


def test_types_and_headers_are_those_of_the_model():
    icmp = {row[0]: row[1:3] for row in table(section(STEERING, "Flow")) if row[0] in ("IPv4", "IPv6")}
    for name, family in (("IPv4", 4), ("IPv6", 6)):
        assert numbers(icmp[name][0]) == ICMP_ERRORS[family]
        assert numbers(icmp[name][1]) == (ICMP_ECHO_REQUEST[family],)
    text = section(STEERING, "IPv6")
    listed = re.search(r"at most (\d) of them: (.*?)\.\s", text, flags=re.DOTALL)
    assert int(listed[1]) == MAX_EXTENSION_HEADERS
    assert sorted(numbers(listed[2])) == sorted(EXTENSION_HEADERS)


def test_hash_fields_are_in_the_order_of_the_model():
    assert tuple(row[0] for row in table(section(STEERING, "Packet hash"))) == FIELDS


def test_sizes_of_too_big_replies_are_those_of_the_model():
    rows = {row[0]: row[1:] for row in table(section(STEERING, "Too-big replies"))}
    for cells, family, address in ((0, 4, bytes(4)), (1, 6, bytes(16))):
        reply = too_big_reply(family, bytes(9000), address, address, 0)
        header = {4: 20, 6: 40}[family]
        assert numbers(rows["IP header"][cells])[0] == header
        assert numbers(rows["quote"][cells]) == (len(reply) - header - 8,)
        assert numbers(rows["ICMP type, code"][cells])[:2] == tuple(reply[header : header + 2])
        assert numbers(rows["MTU"][cells])[-1] == int.from_bytes(reply[header + 4 : header + 8], "big")
    text = section(STEERING, "Sending").replace("\n", " ")
    assert f"outer headers of {overhead([bytes(4)])} bytes" in text
    assert f"IPv6 addresses of {overhead([bytes(16)])} bytes" in text
