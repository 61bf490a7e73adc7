#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes inputs for the fuzzers: `tests/fuzz/make_seeds.py FOLDER` makes FOLDER/NAME for fuzz_NAME, also from those in seeds/.

There are packets and tables of proxies with IPv4 and with IPv6 addresses. Random bytes hardly ever become one of them.
"""

import json
import shutil
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from model.table import ROWS, Table  # noqa: E402
from model.table_v3 import write_v3  # noqa: E402
from vectors.cases import frames as f  # noqa: E402

FAMILIES = ("IPv4", "IPv6")
BLOCK = 4096  # bytes of zeros that fuzz_table_file appends, see there
GUE_PORT = 19523


def vectors(name):
    return json.loads((TESTS / "vectors" / name).read_text(encoding="ascii"))


def proxies(family, count=4):
    return [f"10.0.0.{n}" if family == "IPv4" else f"fd00:b::{n}" for n in range(1, count + 1)]


def document(family, **members):
    """A forwarding table with binds of each family."""
    vips = ("203.0.113.0/24", "2001:db8:f::/64") if family == "IPv4" else ("198.51.100.0/24", "2001:db8:e::/64")
    binds = [{"ip": ip, "proto": proto, "port_start": 80, "port_end": 90} for ip in vips for proto in ("tcp", "udp")]
    backends = [{"ip": ip, "state": state, "healthy": state != "filling"}
                for ip, state in zip(proxies(family), ("active", "active", "draining", "filling"), strict=True)]
    return {"name": family, "hash_key": "00112233445566778899aabbccddeeff", "seed": "11" * 16, "hops": 2, "binds": binds, "backends": backends, **members}


def with_past(family):
    """The same with weights, balance and a previous state, which the binary table has in its extension."""
    table = document(family, balance=1.02)
    table["backends"][0]["weight"] = 200
    first, second, *_ = proxies(family)
    table["previous"] = [{"time": "2026-01-02T03:04:05Z", "balance": 1.02, "backends": [{"ip": first, "weight": 50}, {"ip": second, "healthy": False}]}]
    return table


class SameRows(Table):
    """All rows have the same hops. A reader cannot know better."""

    def all_rows(self):
        return [tuple(self.backends[:self.hops])] * ROWS


def table_files():
    for family in FAMILIES:
        file = write_v3([SameRows.from_json(document(family, backends=[{"ip": proxies(family)[0], "state": "active"}]))])
        zeros = ROWS * 2  # the rows of one hop, at the end of the file
        assert file.endswith(bytes(zeros))
        yield bytes([zeros // BLOCK]) + file[:-zeros]
        yield write_v3([SameRows.from_json(with_past(family))])


def table_documents():
    mixed = document("IPv6")
    mixed["backends"][3]["ip"] = "10.0.0.4"
    for family in FAMILIES:
        yield json.dumps({"tables": [document(family)]}).encode()
        yield json.dumps({"tables": [with_past(family)]}).encode()
    yield json.dumps({"tables": [document(family) for family in FAMILIES]}).encode()
    yield json.dumps({"tables": [mixed]}).encode()


def frames():
    """Frames of the golden packets, and frames whose proxies have IPv6 addresses in fuzz_pipeline."""
    packets = vectors("packets.json")["packets"]
    # Fuzzers cut frames themselves.
    yield from dict.fromkeys(bytes.fromhex(packet["frame"]) for packet in packets if packet["verdict"] != "drop_truncated")
    for payload, protocol in ((f.tcp(1234, 8080), f.TCP), (f.udp(1234, 53, f.text(1400)), f.UDP)):
        yield f.ethernet(f.ipv4("198.51.100.7", "10.10.10.10", protocol, payload))
        yield f.ethernet(f.ipv4("198.51.100.7", "203.0.113.10", protocol, payload))


def pipeline():
    """The first two bytes say how to hash, and which keys of director.conf are set."""
    for frame in frames():
        yield bytes([0x0f, 0x17, 0, 0]) + frame
    for frame in list(frames())[-4:]:  # appended hops of alt_hash_fields, and an MTU of 576
        yield bytes([0x31, 0x1d, 0, 0]) + frame


def underlay():
    """ICMP errors about the director's own packets. fuzz_underlay says what its own addresses are."""
    own = {"IPv4": "192.0.2.1", "IPv6": "c000:201::"}
    for mtu in (0, 68, 1279, 1280, 1400, 1499, 1500, 65535):
        quoted = f.ipv4(own["IPv4"], "10.0.0.1", f.UDP, f.udp(0x8123, GUE_PORT, f.text(64)), total_length=1500)
        error = f.icmp(3, 4, mtu, quoted)
        yield b"\x00\x01" + f.ipv4("203.0.113.1", own["IPv4"], f.ICMP, error)
        quoted = f.ipv6(own["IPv6"], "fd00:b::1", f.UDP, f.udp(0x8123, GUE_PORT, f.text(64)), payload_length=1460)
        error = f.icmp(2, 0, mtu, quoted)
        yield b"\x02\x01" + f.ipv6("2001:db8::1", own["IPv6"], f.ICMPV6, error)
        yield b"\x02\x01" + f.ipv6("ff02::1", own["IPv6"], f.ICMPV6, error)  # no router has this source


SEEDS = {
    "decode": lambda: (bytes.fromhex(packet["frame"]) for packet in vectors("gue.json")),
    "flow": lambda: (b"\x00" + frame for frame in frames()),
    "pipeline": pipeline,
    "table_file": table_files,
    "table_json": table_documents,
    "underlay": underlay,
}


def main(folder):
    shutil.copytree(TESTS / "fuzz/seeds", folder, dirs_exist_ok=True)
    for name, seeds in SEEDS.items():
        path = Path(folder, name)
        path.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds()):
            (path / f"{number:04}").write_bytes(seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
