#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes inputs for the fuzzers: `tests/fuzz/make_seeds.py FOLDER` makes FOLDER/NAME for fuzz_NAME, also from those in seeds/.

There are packets and tables of proxies with IPv4 and with IPv6 addresses. Random bytes hardly ever become one of them.
"""

import base64
import json
import re
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


def with_checks_and_quic():
    """The members that the others lack: connection IDs of QUIC and health checks."""
    timing = {"interval_ms": 2000, "timeout_ms": 1000, "trigger": 3, "trigger_healthy": 2, "trigger_unhealthy": 4}
    http = {"http_uri": "/ok", "http_host": "a.example", "http_status": "200-299", "http_headers": {"X-A": "b"}, "http_method": "HEAD"}
    table = document("IPv4", healthchecks={**timing, **http})
    table["quic"] = [{"id": 0, "server_id_length": 3, "nonce_length": 8, "key": "8f" * 16}, {"id": 1, "server_id_length": 1, "nonce_length": 4}]
    table["binds"].append({"ip": "203.0.113.10", "proto": "udp", "port": 443, "quic": True})
    checks = ({"http": 80, "gue": 19523}, {"https": 443, **http}, {"tcp": 22, "grpc": 50051}, {"fou": 5555, "command": "look"})
    for number, (backend, check) in enumerate(zip(table["backends"], checks, strict=True)):
        backend["server_id"] = [f"ed793{number}", f"0{number}"] if number % 2 else f"ed793{number}"
        backend["healthchecks"] = check
    return json.dumps({"healthchecks": timing, "tables": [table]}).encode()


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
    yield with_checks_and_quic()
    yield (CONF / "forwarding_table.json").read_bytes()
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


def examples(path):
    """An example of a configuration, and it with each of the keys that stand in comments."""
    text = path.read_text(encoding="utf-8")
    yield text.encode()
    for key in re.finditer(r"^#(?=\s?[a-z_]+ = .*;$)", text, re.MULTILINE):
        yield (text[: key.start()] + text[key.end() :]).encode()


def confs():
    """The first byte is the kind of file, as in fuzz_conf."""
    for kind, files in enumerate((["announce.conf"], sorted(path.relative_to(CONF) for path in CONF.glob("announce.d/*")), ["fleet.conf"], ["redirect.conf"], ["bifurcate.conf"])):
        for file in files:
            for example in examples(CONF / file):
                yield bytes([kind]) + example


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


def pcap(*packets):
    """A capture of Ethernet frames, with nanoseconds."""
    records = b"".join(struct.pack("=IIII", 1, n, len(frame), len(frame) + (n == 2)) + frame for n, frame in enumerate(packets))
    return struct.pack("=IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1) + records


def captures():
    """The first byte is the command line, as in fuzz_replay."""
    some = list(frames())[::9]
    tunnelled = [bytes.fromhex(packet["frame"]) for packet in vectors("gue.json")]
    for line in range(4):
        yield bytes([line]) + pcap(*(some if line < 2 else tunnelled))


def sized(*messages):
    return b"".join(struct.pack(">H", len(message)) + message for message in messages)


def capture_messages():
    """The messages of packet/capture_messages.h, and a filter: accept IPv4."""
    start = struct.pack("=II64s", 1, 1, b"0.1.0") + 32 * struct.pack("=64sH6s", b"port0", 0, bytes(6))
    tables = struct.pack("=IIQ", 2, 1, 1) + b"v4\0"
    counters = struct.pack("=QQQ", 3, 2, 1)
    frame = next(frames())
    data = frame + bytes(-len(frame) % 8)
    head = struct.pack("=QQQ", 1, 1, 1) + counters + struct.pack("=HHHHHHIIII", 7, 1, 1, 0, 0, 0xffff, len(frame), len(frame), 0, 0) + bytes(8 * 17)
    record = struct.pack("=IBBH", 8 + len(head) + len(data), 0, 1, 0) + head + data
    packets = struct.pack("=II", 3, 1) + counters + record
    end = struct.pack("=II", 4, 1) + counters + bytes(1024)
    for kind in (0, 1):
        yield bytes([kind]) + sized(start, tables, packets, end)
    filter_ = b"".join(struct.pack("=HBBI", *each) for each in ((0x28, 0, 0, 12), (0x15, 0, 1, 0x800), (6, 0, 0, 65535), (6, 0, 0, 0)))
    yield bytes([2, 4]) + filter_ + frame


def lanes():
    """The first bytes are the configuration, as in fuzz_lanes. A frame follows its size, of which the upper bits are the copies."""
    for number, frame in enumerate(frames()):
        if len(frame) < 170:
            yield bytes([number & 255, number * 7 & 255, number * 5 & 255, number * 3 & 255]) + struct.pack(">H", 0x7800 // 176 * 176 + len(frame)) + frame


def requests():
    for target, headers in (("/", "Accept: text/html\r\nHost: localhost"), ("/tables/3", "Host: 127.0.0.1:19531"), ("/%2e?a=b", "Host: [::1]:1"), ("/x", "Connection: close")):
        for method in ("GET", "HEAD", "POST"):
            yield f"{method} {target} HTTP/1.1\r\n{headers}\r\nContent-Length: 0\r\n\r\n".encode()


def kept_files():
    """The first byte is the kind of file, as in fuzz_state."""
    yield b"\0" + json.dumps({"by": "root", "reason": "new card", "since": 1790000000}).encode()
    yield b"\1" + json.dumps({"cluster": "1a", "newest": 7, "value": "2b", "applied": 6, "applied_value": "3c", "written": "4d", "digest": "00" * 32}).encode()
    yield b"\2" + json.dumps({"verdicts": {"tcp 10.0.0.1:22 of web": "unhealthy", "tcp 10.0.0.1:22": "healthy"}}).encode()
    yield b"\x030-3,8,127"


REASON = {"severity": "failing", "cause": "port_down", "object": "0000:03:00.0", "text": "no", "text_2": "link", "since": 1}
HOP = {"port": "net_tap0", "address": "192.0.2.1", "interface": "eth0", "mac": "02:00:00:00:00:01", "state": "reachable", "backends": 1}


def replies_of_director():
    """The first byte is the subcommand, as in fuzz_telemetry. Each line is a reply."""
    health = {"state": "degraded", "since": 1, "now": 9, "generation": 2, "digest": "ab", "table_age": 3, "omitted": 1, "reasons": {"0": REASON},
              "ports": {"0": {"name": "net_tap0", "state": "up", "resets": 1}}, "capture_pid": 7, "capture_since": 1}
    numbers = {"received": 9, "forwarded": 8, "drop_no_next_hop": 1}
    stats = {"version": "0.1.0", "pid": 7, "uptime": 60, "generation": 2, "digest": "ab", "packets": numbers, "bytes": numbers, "counters": numbers,
             "lcores": {"1": numbers}, "ports": {"0": {"name": "net_tap0", "rx_packets": 9}}, "isa": "avx2"}
    tables = {"generation": 2, "tables": {"0": {"name": "v4", "index": 0, "backends": 2, "good_backends": 1, "binds": 1, "packets": 9, "bytes": 99}}, "truncated": 0}
    table = {"generation": 2, "name": "v4", "binds": {"0": {"bind": "203.0.113.0/24 tcp 80-90", "packets": 1}}, "truncated": 0,
             "backends": {"0": {"address": "10.0.0.1", "state": "active", "healthy": 1, "packets": 4, "share": 50}}}
    hops = {"sets": {"0": {"port": "net_tap0", "interface": "eth0", "next_hops": {"0": HOP}, "backends": {"0": "10.0.0.1"}}}, "truncated": 0, **HOP}
    lookup = {"generation": 2, "table": 0, "table_name": "v4", "hash": "00aa", "row": 7, "outer_source_port": 33000, "hops": ["10.0.0.1", "10.0.0.2"],
              "source_port_hashed": 1, "next_hops": {"0": HOP}, "verdict": "forwarded"}
    reload = {"reloaded": 1, "generation": 2, "error": "no", "outcome": "done"}
    orders = [[health], [health], [stats], [stats], [tables, table], [hops, hops], [hops, hops], [tables, table], [tables, table], [lookup], [reload], [health, tables, table]]
    for line, order in enumerate(orders):
        yield bytes([line]) + b"\n".join(json.dumps(reply).encode() for reply in order + [tables, table])


NTUPLE = """Features for eth0:
ntuple-filters: on
\0 1 RX rings available
Total 1 rules

Filter: 7
\tRule Type: Raw IPv4
\tSrc IP addr: 0.0.0.0 mask: 255.255.255.255
\tDest IP addr: 203.0.113.0 mask: 0.0.0.255
\tAction: Direct to VF 1 queue 0
"""


def outputs():
    """The first byte says who asks, as in fuzz_tools. A NUL ends an output."""
    folder = TESTS / "cli/bifurcate/outputs"
    link, filters, qdisc = ((folder / f"{name}.json").read_bytes() for name in ("ip_link", "tc_filter", "tc_qdisc"))
    yield b"\0" + link + b"\0" + json.dumps({"dev": {"pci/0000:03:00.0": {"mode": "switchdev"}}}).encode()
    yield b"\1" + NTUPLE.encode()
    on = b"Features:\nhw-tc-offload: on\n"
    yield b"\2" + b"\0".join((on, qdisc, on, qdisc, filters, filters))
    left = {"payload": {"protocol": "tcp", "field": "dport"}}
    rule = {"family": "inet", "table": "filter", "chain": "input", "expr": [
        {"match": {"op": "==", "left": left, "right": {"set": [22, {"range": [80, 90]}]}}},
        {"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["invalid"]}},
        {"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "daddr"}}, "right": {"prefix": {"addr": "203.0.113.0", "len": 24}}}},
        {"match": {"op": "!=", "left": {"meta": {"key": "iifname"}}, "right": "eth0"}}, {"drop": None}]}
    chain = {"family": "inet", "table": "filter", "name": "input", "type": "filter", "hook": "input", "prio": 0, "policy": "accept"}
    yield b"\3" + json.dumps({"nftables": [{"chain": chain}, {"rule": rule}]}).encode()


SEEDS = {
    "capture": capture_messages,
    "conf": confs,
    "conf_director": lambda: examples(CONF / "director.conf"),
    "conf_healthcheck": lambda: examples(CONF / "healthcheck.conf"),
    "decode": lambda: (bytes.fromhex(packet["frame"]) for packet in vectors("gue.json")),
    "etcd": etcd,
    "flow": lambda: (b"\x00" + frame for frame in frames()),
    "http": requests,
    "lanes": lanes,
    "netlink": netlink,
    "pipeline": pipeline,
    "replay": captures,
    "replies": replies,
    "simulate": scripts,
    "state": kept_files,
    "table_file": table_files,
    "table_json": table_documents,
    "telemetry": replies_of_director,
    "tools": outputs,
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
