# SPDX-License-Identifier: BSD-3-Clause
"""Compares docs/reference/gue.md with the C headers, and reads GUE packets with its offsets alone."""

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
    assert len(documented) == 12


def test_fields_are_those_of_the_structs():
    sizes = {"__u8": 1, "__be16": 2, "__be32": 4}
    for heading, struct in (("GUE", "gue_header"), ("Private data", "gue_private")):
        body = re.search(rf"struct {struct} {{(.*?)}};", WIRE, flags=re.DOTALL)[1]
        members = [sizes[kind] for kind in re.findall(r"(__\w+) \w+;", body)]
        assert list(fields(heading).values()) == [(sum(members[:i]), size) for i, size in enumerate(members)]


def test_headers_and_fields_have_no_gaps():
    rows = PAGE["The frame"]
    assert [row[0] for row in rows] == ["0", "14", "34", "42", "46", "50 + 4n"]
    for row, following in zip(rows[:4], rows[1:]):
        assert int(row[0]) + int(row[1]) == int(following[0])
    for heading, size in (("IPv4", 20), ("UDP", 8), ("GUE", 4)):
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
    starts = {row[2].split(",")[0].split(":")[0]: int(row[0]) for row in PAGE["The frame"][:5]}
    seen = set()
    for case in PACKETS["packets"]:
        if case["verdict"] != "forwarded":
            continue
        frame, hops = bytes.fromhex(case["out"]), case["hops"]

        def field(heading, name, frame=frame):
            offset, width = fields(heading)[name]
            start = starts["private data" if heading == "Private data" else heading] + offset
            return int.from_bytes(frame[start : start + width], "big")

        def address(value):
            return ".".join(str(byte) for byte in value.to_bytes(4, "big"))

        n = field("Private data", "hop count")
        hops_at = starts["private data"] + 4
        later = [address(int.from_bytes(frame[hops_at + 4 * i : hops_at + 4 * i + 4], "big")) for i in range(n)]
        assert [address(field("IPv4", "destination")), *later] == hops
        assert field("IPv4", "version, header length") == 0x45
        assert field("IPv4", "flags, fragment offset") == 0x4000
        assert field("IPv4", "time to live") == 64
        assert field("IPv4", "total length") == len(frame) - 14
        assert field("UDP", "length") == len(frame) - 34
        assert field("UDP", "source port") == 0x8000 | ((int(case["hash"], 16) ^ case["hint"]) & 0x7FFF)
        assert field("UDP", "destination port") == 19523
        assert field("GUE", "version, control, header length") == 1 + n
        assert field("GUE", "inner protocol") == {4: 4, 6: 41}[frame[50 + 4 * n] >> 4]
        assert field("GUE", "flags") == field("Private data", "type") == 0
        assert (field("UDP", "checksum") != 0) == case["config"].startswith("udp checksum")
        seen.add((n, field("GUE", "inner protocol")))
    assert {n for n, _ in seen} >= {0, 1, 2, 3} and {protocol for _, protocol in seen} == {4, 41}
