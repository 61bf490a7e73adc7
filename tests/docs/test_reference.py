# SPDX-License-Identifier: BSD-3-Clause
"""Compares docs/reference/table-binary.md with the C structs, and reads files with its offsets alone."""

import ipaddress
import json
import re

from support import cli as cli_helpers
from support.tree import TREE
import pytest
from model import load_tables
from model.siphash import siphash24
from model.table import label

PAGE = (TREE / "docs/reference/table-binary.md").read_text()
LAYOUT = (TREE / "src/table/file/table_file_layout.h").read_text()
STRUCTS = {f"Version {v}: {what}": f"v{v}_{what}" for v in (2, 3) for what in ("header", "table", "backend", "bind")}
STRUCTS |= {"Version 3: head of an extension": "v3_extension", "Version 3: previous state": "v3_past", "Version 3: previous backend": "v3_past_backend",
            "Version 3: QUIC configuration": "v3_quic", "Version 3: server ID": "v3_server_id"}
ROWS = 65536
STATES = ["filling", "active", "draining", "inactive"]


def rows_of(heading):
    """The cells of the table below a heading, backticks removed."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in lines[2:]]


def fields(heading):
    """{field: (offset, bytes)}"""
    return {row[2]: (int(row[0]), int(row[1])) for row in rows_of(heading)}


def size(heading):
    return sum(width for _, width in fields(heading).values())


def members(struct):
    """{member: bytes} of a C struct of the layout header."""
    known = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8, "int64_t": 8}
    constants = {"V2_SLOTS": 256, "V2_HOPS": 2, "SIPHASH_KEY_SIZE": 16, "QUIC_KEY_SIZE": 16, "QUIC_MAX_SERVER_ID": 15, "TABLE_ROWS": ROWS}
    found = {}
    body = re.search(rf"struct {struct} {{(.*?)}} PACKED;", LAYOUT, flags=re.DOTALL)[1]
    for kind, name, dimensions in re.findall(r"((?:struct )?\w+) (\w+)((?:\[\w+\])*);", body):
        if kind == "struct table_file_start":
            found |= members("table_file_start")
            continue
        width = known.get(kind) or sum(members(kind.removeprefix("struct ")).values())
        for dimension in re.findall(r"\w+", dimensions):
            width *= constants.get(dimension) or int(dimension)
        found[name] = width
    return found


@pytest.mark.parametrize("heading", STRUCTS)
def test_fields_are_those_of_the_struct(heading):
    documented = fields(heading)
    assert {name: width for name, (_, width) in documented.items()} == members(STRUCTS[heading])
    assert list(documented) == list(members(STRUCTS[heading]))
    at = 0
    for offset, width in documented.values():
        assert offset == at
        at += width


def test_sizes_in_the_text_are_right():
    whole = {row[2]: row[3] for row in rows_of("Version 2: table")}
    assert whole["backends"] == f"256 slots of {size('Version 2: backend')}"
    assert whole["binds"] == f"256 slots of {size('Version 2: bind')}"
    assert rows_of("Version 2: file")[0][1] == str(size("Version 2: header"))
    assert rows_of("Version 2: file")[1][1] == f"{size('Version 2: table')} each"
    assert f"537 624 | {size('Version 3: table') + ROWS * 4:,}".replace(",", " ") in PAGE.replace("`", "")


class Entry:
    """A part of a file that has the fields of a table of the page."""

    def __init__(self, data, at, heading):
        self.data, self.at, self.fields = data, at, fields(heading)
        assert len(data) >= at + size(heading)

    def bytes(self, field):
        offset, width = self.fields[field]
        return self.data[self.at + offset : self.at + offset + width]

    def __getitem__(self, field):
        return int.from_bytes(self.bytes(field), "little")


def address(entry):
    length = {1: 4, 2: 16}[entry["family"]]
    assert not any(entry.bytes("address")[length:])
    return str(ipaddress.ip_address(entry.bytes("address")[:length]))


def backend_of(entry):
    return {"ip": address(entry), "state": STATES[entry["state"]], "healthy": entry["health"] == 1}


def server_id_of(data, at):
    """`server_id` in JSON of the two server IDs there."""
    both = [Entry(data, at + i * size("Version 3: server ID"), "Version 3: server ID") for i in range(2)]
    ids = [each.bytes("bytes")[: each["length"]].hex() for each in both if each["length"]]
    assert not any(any(each.bytes("bytes")[each["length"]:]) for each in both)
    return ids if len(ids) > 1 else ids[0] if ids else None


def bind_of(entry):
    assert "flags" in entry.fields or entry["zero"] == 0
    return {
        **({"quic": True} if "flags" in entry.fields and entry["flags"] else {}),
        "ip": f"{address(entry)}/{entry['prefix_length']}",
        "proto": {6: "tcp", 17: "udp"}[entry["protocol"]],
        "port_start": entry["port_start"],
        "port_end": entry["port_end"],
    }


def entries(data, at, heading, count):
    return [Entry(data, at + i * size(heading), heading) for i in range(count)]


def row_at(data, at, width, hops):
    return [int.from_bytes(data[at + i * width : at + (i + 1) * width], "little") for i in range(hops)]


def decode_v2(data):
    header = Entry(data, 0, "Version 2: header")
    assert header.bytes("magic") == b"GLBD"
    assert [header[f] for f in ("version", "rows", "backend_slots", "bind_slots")] == [2, ROWS, 256, 256]
    at = size("Version 2: header")
    assert len(data) == at + header["table_count"] * size("Version 2: table")
    for table in entries(data, at, "Version 2: table", header["table_count"]):
        offsets = {name: table.at + offset for name, (offset, _) in table.fields.items()}
        yield {
            "hash_key": table.bytes("hash_key").hex(),
            "backends": [backend_of(e) for e in entries(data, offsets["backends"], "Version 2: backend", table["backend_count"])],
            "binds": [bind_of(e) for e in entries(data, offsets["binds"], "Version 2: bind", table["bind_count"])],
            "row": lambda row, at=offsets["rows"]: row_at(data, at + row * 8, 4, 2),
        }


def decode_extensions(data, tables, at):
    """What the extension of each table says, or {}, and where the last one ends."""
    found = []
    for table in tables:
        assert table["extended"] in (0, 1)
        if not table["extended"]:
            found.append({})
            continue
        width = {1: 4, 2: 16}[Entry(data, table["backends_offset"], "Version 3: backend")["family"]]
        head = Entry(data, at, "Version 3: head of an extension")
        start = at + size("Version 3: head of an extension")
        weights = row_at(data, start, 2, table["backend_count"])
        end = start + 2 * table["backend_count"]
        at = -(-end // 8) * 8
        assert not any(data[end:at]) and head["zero"] == 0
        quic = entries(data, at, "Version 3: QUIC configuration", head["quic_count"])
        at += len(quic) * size("Version 3: QUIC configuration")
        own, ids_size = [], 2 * size("Version 3: server ID") if quic else 0
        for _ in range(table["backend_count"] if quic else 0):
            own.append(server_id_of(data, at))
            at += ids_size
        states = []
        for _ in range(head["past_count"]):
            state = Entry(data, at, "Version 3: previous state")
            at += size("Version 3: previous state")
            backends = []
            for _ in range(state["backend_count"]):
                backends.append(Entry(data, at + width, "Version 3: previous backend"))
                at += width + size("Version 3: previous backend") + ids_size
            states.append((state["time"], state["balance"], [
                (str(ipaddress.ip_address(data[each.at - width:each.at])), each["weight"],
                 *([server_id_of(data, each.at + size("Version 3: previous backend"))] if quic else [])) for each in backends]))
        found.append({"weights": weights, "balance": head["balance"], "previous": states, "server_ids": own, "quic": [
            (each["id"], each["server_id_length"], each["nonce_length"], each["keyed"], each.bytes("key").hex()) for each in quic]})
    return found, at


def decode_v3(data):
    header = Entry(data, 0, "Version 3: header")
    assert header.bytes("magic") == b"GLBD"
    assert [header[f] for f in ("version", "total_size", "rows")] == [3, len(data), ROWS]
    offset, width = header.fields["digest"]
    unsigned = data[:offset] + bytes(width) + data[offset + width :]
    assert siphash24(bytes(16), unsigned) == header.bytes("digest")
    end = size("Version 3: header") + header["table_count"] * size("Version 3: table")
    tables, owners = [], {}  # owners: the hops of the rows at an offset
    for table in entries(data, size("Version 3: header"), "Version 3: table", header["table_count"]):
        shares = table["rows_offset"] in owners
        assert not shares or owners[table["rows_offset"]] == table["row_hops"]
        owners[table["rows_offset"]] = table["row_hops"]
        for section, width in (
            ("name", table["name_size"]),
            ("backends", table["backend_count"] * size("Version 3: backend")),
            ("binds", table["bind_count"] * size("Version 3: bind")),
            *((("rows", ROWS * 2 * table["row_hops"]),) if not shares else ()),
        ):
            assert table[f"{section}_offset"] == -(-end // 8) * 8
            assert not any(data[end : table[f"{section}_offset"]])
            end = table[f"{section}_offset"] + width
        tables.append(table)
    extensions, end = decode_extensions(data, tables, end)
    for table, extension in zip(tables, extensions):
        name = data[table["name_offset"] : table["name_offset"] + table["name_size"]].decode()
        yield {
            "name": name,
            "hops": table["hops"],
            **extension,
            "hash_key": table.bytes("hash_key").hex(),
            "backends": [backend_of(e) for e in entries(data, table["backends_offset"], "Version 3: backend", table["backend_count"])],
            "binds": [bind_of(e) for e in entries(data, table["binds_offset"], "Version 3: bind", table["bind_count"])],
            "row": lambda row, t=table: row_at(data, t["rows_offset"] + row * 2 * t["row_hops"], 2, t["row_hops"]),
        }
    assert end == len(data)


BINDS = [
    {"ip": "10.10.0.0/16", "proto": "tcp", "port_start": 80, "port_end": 81},
    {"ip": "fdb4::/64", "proto": "udp", "port_start": 1000, "port_end": 65535},
    {"ip": "10.10.10.10/32", "proto": "udp", "port_start": 443, "port_end": 443},
]
BACKENDS = [
    cli_helpers.backend("192.168.50.1", "filling"),
    cli_helpers.backend("192.168.50.2", "active", False),
    cli_helpers.backend("192.168.50.3", "draining"),
    cli_helpers.backend("192.168.50.4", "inactive"),
    cli_helpers.backend("192.168.50.5", "active"),
]


def with_ipv6(document):
    """The same tables with other addresses of proxies."""
    return json.loads(re.sub(r'"192\.(\d+)\.(\d+)\.(\d+)"', r'"fd00:\1:\2::\3"', json.dumps(document)))


FAMILIES = pytest.mark.parametrize("family", [lambda document: document, with_ipv6], ids=["ipv4", "ipv6"])


def documents(hops):
    return {
        "tables": [
            cli_helpers.table("wäb", BACKENDS, 1, binds=BINDS, hops=hops),
            cli_helpers.table("one", 1, 2, binds=[]),
            cli_helpers.table("more", 7, 3, binds=BINDS[:1]),
            cli_helpers.table("twin", BACKENDS, 1, binds=[], hops=hops),  # has the rows of the first table
        ]
    }


def build(tmp_path, document, version):
    source, out = tmp_path / "t.json", tmp_path / "t.bin"
    source.write_text(json.dumps(document))
    cli_helpers.run("build-config", source, out, "--format", version)
    return out.read_bytes()


def check_rows(found, model):
    for row in (0, 1, 17, 4095, 65535):
        hops = [str(ipaddress.ip_address(backend.address)) for backend in model.row(row)]
        assert [found["backends"][i]["ip"] for i in dict.fromkeys(found["row"](row))] == hops


@pytest.mark.parametrize("hops, family", [*((hops, dict) for hops in (2, 3, 4, 5, 8)), *((hops, with_ipv6) for hops in (2, 3, 4, 5))])
def test_version_3_file_is_readable_by_the_page_alone(tmp_path, hops, family):
    document = family(documents(hops))
    tables = list(decode_v3(build(tmp_path, document, 3)))
    assert len(tables) == 4
    for found, wanted, model in zip(tables, document["tables"], load_tables(document)):
        assert {key: found[key] for key in ("name", "hash_key", "backends", "binds")} == {
            key: wanted[key] for key in ("name", "hash_key", "backends", "binds")
        }
        assert found["hops"] == wanted.get("hops", 2)
        check_rows(found, model)


@FAMILIES
def test_extension_is_readable_by_the_page_alone(tmp_path, family):
    """The second table has no weights, balance or previous states, so it has no extension."""
    document = documents(5)
    first, _, third = document["tables"][:3]
    first["backends"] = [{**each, "weight": 7 * number} for number, each in enumerate(first["backends"], 1)]
    third |= {"balance": 1.02, "previous": [
        {"time": "2026-02-01T00:00:01Z", "balance": 1.5, "backends": [{"ip": "192.168.50.1"}, {"ip": "192.0.2.7", "weight": 3}]},
        {"time": "1970-01-01T00:00:00Z", "backends": []}]}
    document = family(document)
    found = list(decode_v3(build(tmp_path, document, 3)))
    assert [found[0][key] for key in ("weights", "balance", "previous")] == [[7, 14, 21, 28, 35], 0, []]
    assert "weights" not in found[1]
    assert [found[2][key] for key in ("weights", "balance", "previous")] == [
        [100] * 7, 1020, [(1769904001, 1500, [tuple(each) for each in family([("192.168.50.1", 100), ("192.0.2.7", 3)])]), (0, 0, [])]]
    for each, model in zip(found, load_tables(document)):
        check_rows(each, model)


def with_quic(document):
    """Two of the tables with QUIC configurations, and a third one without them."""
    for table in document["tables"][::3]:
        table["quic"] = [{"id": 6, "server_id_length": 3, "nonce_length": 8, "key": "5a1bc3d4e5f60718293a4b5c6d7e8f90"},
                         {"id": 1, "server_id_length": 15, "nonce_length": 4}]
        table["backends"] = [{**each, **more} for each, more in zip(table["backends"], [
            {"server_id": "ed793a"}, {"server_id": ["0f" * 15, "000000"]}, {}, {"server_id": "c4605e"}, {"server_id": "0e" * 15}])]
        table["previous"] = [{"time": "1970-01-01T00:00:00Z", "backends": [{"ip": "192.168.50.2"}, {"ip": "192.0.2.7", "server_id": "7788"}]}]
        table["binds"] = [*BINDS[:2], {**BINDS[2], "quic": True}]
    return document


@FAMILIES
def test_quic_is_readable_by_the_page_alone(tmp_path, family):
    document = family(with_quic(documents(5)))
    found = list(decode_v3(build(tmp_path, document, 3)))
    assert [len(each.get("quic", [])) for each in found] == [2, 0, 0, 2]
    for each in found[::3]:
        assert each["binds"] == document["tables"][0]["binds"]
        assert each["quic"] == [(6, 3, 8, 1, "5a1bc3d4e5f60718293a4b5c6d7e8f90"), (1, 15, 4, 0, "00" * 16)]
        assert each["server_ids"] == ["ed793a", ["000000", "0f" * 15], None, "c4605e", "0e" * 15]
        assert [ids for *_, ids in each["previous"][0][2]] == [None, "7788"]


def test_version_2_file_is_readable_by_the_page_alone(tmp_path):
    document = documents(2)
    tables = list(decode_v2(build(tmp_path, document, 2)))
    assert len(tables) == 4
    for found, wanted, model in zip(tables, document["tables"], load_tables(document)):
        assert found["hash_key"] == wanted["hash_key"]
        assert found["binds"] == wanted["binds"]
        for backend, source in zip(found["backends"], wanted["backends"], strict=True):
            state = "draining" if source["state"] == "inactive" else source["state"]
            assert backend == {**source, "state": state}
        check_rows(found, model)


def numbers(*values, width=4):
    return b"".join(value.to_bytes(width, "little") for value in values)


def packed(ip):
    """(family, 16 bytes)"""
    ip = ipaddress.ip_address(ip)
    return {4: 1, 6: 2}[ip.version], ip.packed.ljust(16, b"\0")


def sum_of_digests(entries):
    digests = (int.from_bytes(siphash24(bytes(16), entry), "little") for entry in entries)
    return (sum(digests) % 2**64).to_bytes(8, "little")


def bind_entry(bind):
    ip, length = bind["ip"].split("/")
    family, address_bytes = packed(ip)
    protocol = {"tcp": 6, "udp": 17}[bind["proto"]]
    return numbers(family, int(length) + 256 * protocol + 65536 * bind.get("quic", False)) + address_bytes + numbers(bind["port_start"], bind["port_end"])


def backend_entry(backend):
    family, address_bytes = packed(backend["ip"])
    return numbers(family, 0) + address_bytes


def binds_message(table):
    """What all digests have of a table."""
    return bytes.fromhex(table["hash_key"]) + sum_of_digests(map(bind_entry, table["binds"]))


def backends_message(table):
    return sum_of_digests(map(backend_entry, table["backends"]))


def quic_message(table, route):
    """What the digests have only of a table with QUIC configurations. `route`: of the proxies that get packets, with their health."""
    if not table["quic"]:
        return b""
    def server_ids(ids):
        return b"".join(bytes([len(each) // 2]) + bytes.fromhex(each).ljust(15, b"\0") for each in ([ids] if isinstance(ids, str) else ids)).ljust(32, b"\0")

    configs = [bytes(config[:4]) + bytes.fromhex(config[4]) for config in table["quic"]]
    backends = []
    for backend, ids in zip(table["backends"], table["server_ids"]):
        if ids and not (route and backend["state"] == "inactive"):
            family, address_bytes = packed(backend["ip"])
            backends.append(numbers(family, int(route and not backend["healthy"])) + address_bytes + server_ids(ids))
    return sum_of_digests(configs + backends)


def addresses_of(table):
    return [ipaddress.ip_address(backend["ip"]).packed for backend in table["backends"]]


def rows_message(table):
    addresses = addresses_of(table)
    rows = [list(dict.fromkeys(table["row"](row))) for row in range(ROWS)]
    return b"".join(b"".join(addresses[hop] for hop in hops).ljust(4 * len(addresses[0]), b"\0") for hops in rows)


def first_hops_message(table):
    addresses = addresses_of(table)
    return b"".join(addresses[table["row"](row)[0]] for row in range(ROWS))


def digest_of(message):
    return f"{int.from_bytes(siphash24(bytes(16), message), 'little'):016x}"


VERSIONS = pytest.mark.parametrize("version, decode, family", [(2, decode_v2, dict), (3, decode_v3, dict), (3, decode_v3, with_ipv6)])


@VERSIONS
def test_route_digest_is_that_of_the_page(tmp_path, version, decode, family):
    document = family({"tables": documents(2)["tables"][:2]})
    tables = list(decode(build(tmp_path, document, version)))
    shown = cli_helpers.run_json("show", tmp_path / "t.bin")
    assert shown["digest"] == digest_of(b"".join(binds_message(table) + rows_message(table) for table in tables))


@VERSIONS
def test_digest_of_the_first_hops_is_that_of_the_page(tmp_path, version, decode, family):
    document = family({"tables": documents(2)["tables"][:2]})
    expected = digest_of(b"".join(binds_message(table) + first_hops_message(table) for table in decode(build(tmp_path, document, version))))
    for file in ("t.bin", "t.json"):
        assert cli_helpers.run_json("show", tmp_path / file)["first_hops"] == expected


@VERSIONS
def test_fingerprint_is_that_of_the_page(tmp_path, version, decode, family):
    document = family({"tables": documents(2)["tables"][:2], "replaces": "0123456789ABCDEF"})
    data = build(tmp_path, document, version)
    fingerprint = digest_of(b"".join(binds_message(table) + backends_message(table) for table in decode(data)))
    for file, replaces in (("t.bin", "0123456789abcdef" if version == 3 else None), ("t.json", "0123456789abcdef")):
        shown = cli_helpers.run_json("show", tmp_path / file)
        assert (shown["fingerprint"], shown["replaces"]) == (fingerprint, replaces)
    if version == 3:
        assert Entry(data, 0, "Version 3: header")["replaces"] == 0x0123456789ABCDEF


@FAMILIES
def test_digests_of_a_table_with_quic_are_those_of_the_page(tmp_path, family):
    document = family({"tables": with_quic(documents(4))["tables"][:1]})
    (table,) = decode_v3(build(tmp_path, document, 3))
    for file in ("t.bin", "t.json"):
        shown = cli_helpers.run_json("show", tmp_path / file)
        assert shown["digest"] == digest_of(binds_message(table) + quic_message(table, True) + rows_message(table))
        assert shown["first_hops"] == digest_of(binds_message(table) + quic_message(table, True) + first_hops_message(table))
        assert shown["fingerprint"] == digest_of(binds_message(table) + backends_message(table) + quic_message(table, False))


def test_file_without_tables_is_readable(tmp_path):
    assert not list(decode_v2(build(tmp_path, {"tables": []}, 2)))
    assert not list(decode_v3(build(tmp_path, {"tables": []}, 3)))


def test_the_example_of_the_rows_is_right():
    example = (TREE / "docs/reference/table-rows.md").read_text().split("## Example")[1]
    seed, row_seed, *scores = map(bytes.fromhex, re.findall(r"`((?:[0-9a-f]{2}){7,})`", example))
    assert siphash24(seed, (6).to_bytes(4, "big")) == row_seed
    *scores, ipv6_label, last = scores
    addresses = [ipaddress.ip_address(text).packed for text in re.findall(r"\| (192[0-9.]+) \| `(?!inactive)", example)]
    assert [siphash24(seed, row_seed + address) for address in addresses] == scores and len(scores) == 3
    address = ipaddress.ip_address("2001:db8::10").packed
    assert label(seed, address) == ipv6_label == siphash24(seed, address)[1:] and siphash24(seed, row_seed + ipv6_label) == last
