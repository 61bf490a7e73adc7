# SPDX-License-Identifier: BSD-3-Clause
"""Compares docs/reference/gue.md with the C headers, and reads GUE packets with its offsets alone."""

import ipaddress
import re

from support.tree import TREE
from support.vectors import PACKETS


def read(path):
    return (TREE / path).read_text()


def tables(page):
    """{heading: rows of cells, without the head}; backticks removed."""
    found = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        rows = [line for line in section.splitlines() if line.startswith("|")]
        cells = [[cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
        found[heading] = cells[2:]
    return found


PAGE = tables(read("docs/reference/gue.md"))
WIRE = read("src/gue/gue_wire.h")


def fields(heading):
    """{field: (offset, bytes)} of a table whose sizes are numbers."""
    return {row[2]: (int(row[0]), int(row[1])) for row in PAGE[heading] if row[1].isdigit()}


def test_constants_are_those_of_the_header():
    defined = dict(re.findall(r"^#define (GUE_\w+) +(\w+)", WIRE, flags=re.MULTILINE))
    documented = {name: int(value, 0) for name, value in PAGE["Constants"]}
    assert documented == {name: int(value, 0) for name, value in defined.items()}
    assert len(documented) == 15


def test_fields_are_those_of_the_structs():
    sizes = {"__u8": 1, "__be16": 2, "__be32": 4}
    for heading, struct in (("GUE", "gue_header"), ("Private data", "gue_private")):
        body = re.search(rf"struct {struct} {{(.*?)}};", WIRE, flags=re.DOTALL)[1]
        members = [sizes[kind] for kind in re.findall(r"(__\w+) \w+;", body)]
        assert list(fields(heading).values()) == [(sum(members[:i]), size) for i, size in enumerate(members)]


def test_headers_and_fields_have_no_gaps():
    rows = PAGE["The frame"]
    assert [row[0] for row in rows] == ["0", "14", "34", "42", "46", "50 + 4n"]
    assert [row[2] for row in rows] == ["0", "14", "54", "62", "66", "70 + 16n"]
    for at in (0, 2):
        for row, following in zip(rows[:4], rows[1:]):
            assert int(row[at]) + int(row[at + 1]) == int(following[at])
    for heading, size in (("IPv4", 20), ("IPv6", 40), ("UDP", 8), ("GUE", 4)):
        at = 0
        for offset, width in fields(heading).values():
            assert offset == at
            at += width
        assert at == size


def test_decode_statuses_are_those_of_the_decoder():
    listed = re.findall(r'X\(DECODE_\w+, "(\w+)",\s+"([^"]*)"\)', read("src/gue/decode.h"))
    assert [tuple(row) for row in PAGE["Decode statuses"]] == listed
    assert len(listed) == 10


def test_packets_read_by_the_documented_offsets():
    """Fields of forwarded golden packets, read at the offsets of the page, have the values of the vectors."""
    names = ["Ethernet", "IP", "UDP", "GUE", "Private data"]
    starts = {family: dict(zip(names, (int(row[at]) for row in PAGE["The frame"]))) for family, at in ((4, 0), (6, 2))}
    seen = set()
    for case in PACKETS["packets"]:
        if case["verdict"] != "forwarded":
            continue
        frame, hops = bytes.fromhex(case["out"]), case["hops"]
        outer = frame[14] >> 4
        size = {4: 4, 6: 16}[outer]

        def field(heading, name, frame=frame, outer=outer):
            offset, width = fields(heading)[name]
            start = starts[outer]["IP" if heading.startswith("IPv") else heading] + offset
            return int.from_bytes(frame[start : start + width], "big")

        n = field("Private data", "hop count")
        hops_at = starts[outer]["Private data"] + 4
        destination = field(f"IPv{outer}", "destination").to_bytes(size, "big")
        later = [frame[hops_at + size * i : hops_at + size * (i + 1)] for i in range(n)]
        assert [str(ipaddress.ip_address(hop)) for hop in [destination, *later]] == hops
        source_port = 0x8000 | ((int(case["hash"], 16) ^ case["hint"]) & 0x7FFF)
        if outer == 4:
            assert field("IPv4", "version, header length") == 0x45
            assert field("IPv4", "flags, fragment offset") == 0x4000
            assert field("IPv4", "time to live") == 64
            assert field("IPv4", "total length") == len(frame) - 14
        else:
            assert field("IPv6", "version, traffic class, flow label") == 0x60000000 | source_port
            assert field("IPv6", "payload length") == len(frame) - 54
            assert field("IPv6", "next header") == 17
            assert field("IPv6", "hop limit") == 64
        assert frame[12:14] == {4: b"\x08\x00", 6: b"\x86\xdd"}[outer]
        assert field("UDP", "length") == len(frame) - starts[outer]["UDP"]
        assert field("UDP", "source port") == source_port
        assert field("UDP", "destination port") == 19523
        assert field("GUE", "version, control, header length") == 1 + size // 4 * n
        assert field("GUE", "inner protocol") == {4: 4, 6: 41}[frame[hops_at + size * n] >> 4]
        assert field("GUE", "flags") == 0
        assert field("Private data", "type") == {4: 0, 6: 1}[outer]
        assert (field("UDP", "checksum") != 0) == case["config"].startswith("udp checksum")
        seen.add((outer, n, field("GUE", "inner protocol")))
    assert seen >= {(4, n, inner) for n in range(8) for inner in (4, 41)} | {(6, n, inner) for n in range(5) for inner in (4, 41)}
