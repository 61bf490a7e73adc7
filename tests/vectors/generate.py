#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: generate.py [FOLDER]

Writes the golden vectors to FOLDER, by default the folder of this file, from the model in tests/model and the cases in cases/. The
output is the same in every run.
"""

import collections
import ipaddress
import json
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cases import (  # noqa: E402
    checksum_packets,
    damper_cases,
    fragment_packets,
    gue_packets,
    icmp_packets,
    match_packets,
    mtu_packets,
    next_hop_cases,
    parse_packets,
    quic_cases,
    quic_packets,
    row_cases,
    steer_packets,
    truncated_packets,
)
from cases.collect import Packets  # noqa: E402
from cases.settings import CONFIGS, TABLES  # noqa: E402
from model import Director, decode_gue, load_tables, siphash24  # noqa: E402
from model.damper import Damper  # noqa: E402
from model.next_hops import macs  # noqa: E402
from model.quic import QuicConfig, find_dcid, find_quoted_scid  # noqa: E402

PORT_MAC = "02:00:00:00:00:01"
SUBJECTS = (
    match_packets,
    parse_packets,
    fragment_packets,
    icmp_packets,
    truncated_packets,
    steer_packets,
    mtu_packets,
    checksum_packets,
    quic_packets,
)
MOST_ANSWERS = 50  # the burst of the director's rate limit for a source prefix


def agree(name, what, model, author):
    if model != author:
        raise SystemExit(f"{name}: the model's {what} is {model!r}, but the author of the case expects {author!r}")


def siphash_vectors():
    count_up = bytes(range(256))
    pairs = [(count_up[:16], count_up[:length]) for length in range(64)]
    noise = random.Random(24)
    lengths = [*range(33), 36, 40, 63, 64, 65, 127, 128, 255, 256, 257, 1000]
    pairs += [(noise.randbytes(16), noise.randbytes(length)) for length in lengths]
    pairs += [(bytes(16), b""), (b"\xff" * 16, b"\xff" * 36)]
    return [
        {"key": key.hex(), "message": message.hex(), "digest": siphash24(key, message).hex()}
        for key, message in pairs
    ]


def row_vectors():
    def texts(backends):
        return [str(ipaddress.ip_address(backend.address)) for backend in backends]

    for name, document, rows in row_cases.collect():
        table = load_tables(document)[0]
        hops = {str(row): texts(table.row(row)) for row in rows}
        yield {"name": name, "table": document, "rows": hops}


def packet_vectors():
    packets = Packets()
    for subject in SUBJECTS:
        subject.collect(packets)
    packets.add_outer_ipv6()
    mtu_packets.outer_ipv6(packets)
    directors = {}
    answers = collections.Counter()
    for name, frame, expect, config, table, facts in packets.cases:
        if (config, table) not in directors:
            directors[config, table] = Director(CONFIGS[config], TABLES[table], PORT_MAC)
        verdict, out, explain = directors[config, table].process(frame)
        agree(name, "verdict", verdict, expect)
        found = {**explain, "hops": len(explain["hops"])}
        for fact, expected in facts.items():
            agree(name, fact, found[fact], expected)
        answers[config] += verdict == "answered_too_big"
        yield {
            "name": name,
            "config": config,
            "table": table,
            "frame": frame.hex(),
            "verdict": verdict,
            "out": out.hex() if out is not None else None,
            **{key: explain[key] for key in ("table_index", "row", "hash", "hops", "hint")},
            **({"quic": explain["quic"]} if explain["quic"] else {}),
        }
    if max(answers.values()) > MOST_ANSWERS:
        raise SystemExit(f"{answers} packets get a too-big reply, but the director sends at most {MOST_ANSWERS} at once to a prefix")


def next_hop_vectors():
    for name, next_hops, expect in next_hop_cases.collect():
        slots = macs(next_hops)
        if expect is not None:
            agree(name, "slots", [slots.count(next_hop.mac or b"") for next_hop in next_hops], expect)
        yield {
            "name": name,
            "next_hops": [
                {"id": f"{next_hop.id:016x}", "mac": next_hop.mac and next_hop.mac.hex(":"), "weight": next_hop.weight}
                for next_hop in next_hops
            ],
            "slots": [mac and [next_hop.mac for next_hop in next_hops].index(mac) for mac in slots],
        }


def gue_vectors():
    for name, frame, expect in gue_packets.collect():
        status, fields = decode_gue(frame)
        agree(name, "status", status, expect)
        yield {"name": name, "frame": frame.hex(), "status": status, "fields": fields}


def lines(values):
    """A JSON array with one value per line, so that a diff shows the changed case."""
    return "[\n" + ",\n".join(json.dumps(value) for value in values) + "\n]"


def named(values):
    """A JSON object with one member per line."""
    members = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    return "{\n" + ",\n".join(members) + "\n}"


def damper_vectors():
    for name, rule, first, results, verdict, flaps in damper_cases.collect():
        damper = Damper(rule, first)
        after = []
        for now, passed in results:
            damper.step(passed, now)
            after.append([now, passed, damper.verdict == "healthy", damper.flaps, max(0, damper.held_until - now)])
        if verdict:
            agree(name, "verdict", (damper.verdict, damper.flaps), (verdict, flaps))
        yield {"name": name, "rule": [rule.trigger_healthy, rule.trigger_unhealthy, rule.hold_ms, rule.hold_max_ms],
               "first": first, "results": after}


def quic_cid_vectors():
    for name, config_id, key, server_id, nonce, low_bits, expect in quic_cases.cids():
        sizes = {"id": config_id, "server_id_length": len(server_id) // 2, "nonce_length": len(nonce) // 2, "key": key}
        cid = QuicConfig.of(sizes).encode(bytes.fromhex(server_id), bytes.fromhex(nonce), low_bits)
        agree(name, "decoded CID", QuicConfig.of(sizes).decode(cid), (bytes.fromhex(server_id), bytes.fromhex(nonce)))
        if expect:
            agree(name, "CID", cid.hex(), expect)
        yield {"name": name, **sizes, "server_id": server_id, "nonce": nonce, "cid": cid.hex()}


def quic_header_vectors():
    for name, payload, dcid, long_header, scid in quic_cases.headers():
        found, quoted = find_dcid(bytes.fromhex(payload)), find_quoted_scid(bytes.fromhex(payload))
        agree(name, "destination CID", found and (found[0].hex(), found[1]), dcid and (dcid, long_header))
        agree(name, "source CID", quoted and quoted.hex(), scid)
        yield {"name": name, "payload": payload, "dcid": dcid, "long_header": long_header, "scid": scid}


def vectors():
    """{file name: text}"""
    packets = ",\n".join(
        [
            f'"port_mac": {json.dumps(PORT_MAC)}',
            f'"configs": {named(CONFIGS)}',
            f'"tables": {named(TABLES)}',
            f'"packets": {lines(packet_vectors())}',
        ]
    )
    return {
        "siphash.json": lines(siphash_vectors()) + "\n",
        "rows.json": lines(row_vectors()) + "\n",
        "packets.json": "{\n" + packets + "\n}\n",
        "gue.json": lines(gue_vectors()) + "\n",
        "next_hops.json": lines(next_hop_vectors()) + "\n",
        "quic.json": f'{{\n"cids": {lines(quic_cid_vectors())},\n"headers": {lines(quic_header_vectors())}\n}}\n',
        "damper.json": lines(damper_vectors()) + "\n",
    }


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name, text in vectors().items():
        (folder / name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
