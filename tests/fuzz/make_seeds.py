#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes inputs for the fuzzers: `tests/fuzz/make_seeds.py FOLDER` makes FOLDER/NAME for fuzz_NAME, also from those in seeds/.

There are packets and tables of proxies with IPv4 and with IPv6 addresses. Random bytes hardly ever become one of them.
"""

import base64
import json
import shutil
import struct
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


def message(kind, header, *attributes):
    """A message of rtnetlink. Attributes: (type, bytes)."""
    body = header
    for name, value in attributes:
        body += struct.pack("=HH", 4 + len(value), name) + value + bytes(-len(value) % 4)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 0) + body


def netlink():
    """Routes with one and several next hops, a next hop object and a group, a neighbour, and a VLAN."""
    for family, prefix, gateway in ((2, bytes([203, 0, 113, 0]), bytes([192, 0, 2, 1])), (10, bytes([0x20, 1]) + bytes(14), bytes([0xfe, 0x80]) + bytes(14))):
        route = struct.pack("=BBBBBBBBI", family, 24, 0, 0, 254, 3, 0, 1, 0)
        target = [(1, prefix), (15, struct.pack("=I", 254))]
        hops = b"".join(struct.pack("=HBBi", 8 + 4 + len(gateway), 0, 0, n) + struct.pack("=HH", 4 + len(gateway), 5) + gateway for n in (2, 3))
        yield message(24, route, *target, (5, gateway), (4, struct.pack("=i", 2)))
        yield message(24, route, *target, (9, hops))
        yield message(24, route, *target, (30, struct.pack("=I", 7)))
        yield message(104, struct.pack("=BBBBI", family, 0, 0, 0, 0), (1, struct.pack("=I", 7)), (5, struct.pack("=i", 2)), (6, gateway))
        yield message(28, struct.pack("=BBHiHBB", family, 0, 0, 2, 2, 0, 1), (1, gateway), (2, bytes([2, 0, 0, 0, 0, 1])))
    yield message(104, bytes(8), (1, struct.pack("=I", 9)), (2, struct.pack("=IBBHIBBH", 7, 0, 0, 0, 8, 1, 0, 0)))
    kind = struct.pack("=HH", 8, 1) + b"vlan"
    yield message(16, struct.pack("=BBHiII", 0, 0, 1, 5, 1, 0), (3, b"eth0.7\0"), (4, struct.pack("=I", 1500)), (5, struct.pack("=I", 2)),
                  (1, bytes([2, 0, 0, 0, 0, 1])), (18, kind))


CONF = TESTS.parent / "config"


def confs():
    """The first byte is the kind of file, as in fuzz_conf."""
    for kind, files in enumerate((["announce.conf"], sorted(path.relative_to(CONF) for path in CONF.glob("announce.d/*")), ["fleet.conf"], ["redirect.conf"], ["bifurcate.conf"])):
        for file in files:
            yield bytes([kind]) + (CONF / file).read_bytes()


def etcd():
    step = {"fingerprint": "00000000000000aa", "kind": "before", "broken": 0, "wait": "drained", "wait_s": 1}
    rollout = {"id": "20260101-120000-1a2b", "takes_back": "", "by": "me", "reason": "", "began": "2026-01-01T12:00:00Z", "steps": [step] * 2,
               "step": 1, "reached": False, "proved": False, "counted_s": 0, "limit_s": 300, "plan_revision": 1, "table_revision": 1, "without": ["lb9"],
               "seen": {"lb1": {"healthy": True}}, "canary": "", "drains": [], "state": "running"}
    yield json.dumps(rollout).encode()
    pair = {"key": base64.b64encode(b"glb/table").decode(), "value": base64.b64encode(b"{}").decode(), "mod_revision": "7", "lease": "0"}
    yield json.dumps({"header": {"revision": "9"}, "kvs": [pair], "count": "1"}).encode()


def replies():
    yield b"\x07" + b"# HELP m help\n# TYPE m counter\nm{l=\"a\",k=\"b\"} 12\nm 1e3\nglb_director_packets_total{lcore=\"1\"} 7\n# EOF\n"
    yield bytes([0, 0, 0, 0, 2, 8, 1])  # a gRPC message: serving


def scripts():
    for path in sorted((TESTS.parent / "docs/howto/examples/connections").glob("*.sim")):
        yield path.read_bytes()


SEEDS = {
    "conf": confs,
    "conf_director": lambda: [(CONF / "director.conf").read_bytes()],
    "conf_healthcheck": lambda: [(CONF / "healthcheck.conf").read_bytes()],
    "decode": lambda: (bytes.fromhex(packet["frame"]) for packet in vectors("gue.json")),
    "etcd": etcd,
    "flow": lambda: (b"\x00" + frame for frame in frames()),
    "netlink": netlink,
    "pipeline": pipeline,
    "replies": replies,
    "simulate": scripts,
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
